//! Outputs as softmax of normal or Student t variables, for all methods on log-ratios.
//!
//! ```text
//! xᵏ = softmax(gᵏ),   g = (g¹, …, gᴷ) normal or Student t
//! ```
//!
//! Only differences within each gᵏ matter, so all is computed in isometric log-ratios, K(J−1)
//! coordinates; parameters are reported for the K·J logarithms, which need no reference class. An
//! absent classifier is marginalised exactly: its coordinates are dropped.

mod describe;
mod table;

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

pub(super) use describe::describe;
pub(super) use table::{ClassRows, LogRatioTable};

use super::presence::{ByPresence, presence};
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::distributions::MultivariateT;
use crate::error::{Error, Result};
use crate::math::log_ratio;

/// The distribution of all logarithms g given one true class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogDistribution {
    /// Degrees of freedom of a Student t distribution; a normal one if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degrees: Option<f64>,
    /// Where g is centred, `[classifier][class]`; a number added to a classifier's row changes
    /// nothing.
    pub location: Vec<Vec<f64>>,
    /// The scale matrix (a normal's covariance), K·J × K·J, classifier by classifier.
    pub scale: Vec<Vec<f64>>,
}

impl LogDistribution {
    /// From the distribution of the coordinates, with every classifier's logarithms centred.
    pub(super) fn of(t: &MultivariateT, schema: &Schema) -> Self {
        let contrasts = log_ratio::contrasts(schema.n_classes(), schema.n_classifiers());
        let back = contrasts.transpose();
        let location = &back * DMatrix::from_column_slice(t.location().len(), 1, t.location());
        let scale = &back * t.scale_matrix() * &contrasts;
        // Rounded in the last place, a product need not be symmetric.
        let entry = |a: usize, b: usize| 0.5 * (scale[(a, b)] + scale[(b, a)]);
        let width = schema.width();
        Self {
            degrees: t.degrees().is_finite().then_some(t.degrees()),
            location: location.as_slice().chunks(schema.n_classes()).map(<[f64]>::to_vec).collect(),
            scale: (0..width).map(|a| (0..width).map(|b| entry(a, b)).collect()).collect(),
        }
    }

    /// The distribution of the coordinates; an error names what has the wrong shape or value.
    pub(super) fn coordinates(&self, schema: &Schema) -> Result<MultivariateT> {
        let (k, j, width) = (schema.n_classifiers(), schema.n_classes(), schema.width());
        let fits = self.location.len() == k
            && self.location.iter().all(|row| row.len() == j)
            && self.scale.len() == width
            && self.scale.iter().all(|row| row.len() == width);
        if !fits {
            return Err(Error::mismatch(
                "shapes of `location` and `scale` and the model",
                format!("{k} × {j} and {width} × {width}"),
                format!("{} and {} rows", self.location.len(), self.scale.len()),
            ));
        }
        let contrasts = log_ratio::contrasts(j, k);
        let location = DMatrix::from_iterator(width, 1, self.location.iter().flatten().copied());
        let given = DMatrix::from_fn(width, width, |a, b| self.scale[a][b]);
        if (&given - given.transpose()).abs().max() > 1e-9 * given.abs().max() {
            return Err(Error::parameter("scale", "symmetric", "something else"));
        }
        let scale = &contrasts * given * contrasts.transpose();
        let location = (&contrasts * location).as_slice().to_vec();
        MultivariateT::from_matrix(self.degrees.unwrap_or(f64::INFINITY), location, scale)
    }
}

/// Largest number of entries of all scale matrices together: 64 MB in each of the forms that a fit
/// needs, and about 160 MB in a model file.
const LARGEST_MODEL: usize = 8_000_000;

/// Refuses, before the work, a model whose scale matrices would have too many entries.
pub(super) fn check_size(schema: &Schema, method: &str, distributions: usize) -> Result<()> {
    let width = schema.width();
    let entries =
        [schema.n_classes(), width, width].into_iter().fold(distributions, usize::saturating_mul);
    if entries <= LARGEST_MODEL {
        return Ok(());
    }
    let cure = match distributions {
        1 => "use `auto` or `stacking`",
        _ => "use fewer components, chains or draws, or another method",
    };
    Err(Error::unsupported(
        method,
        format!(
            "would need {entries} numbers for {} classifiers and {} classes, and the limit is \
             {LARGEST_MODEL}: {cure}",
            schema.n_classifiers(),
            schema.n_classes()
        ),
    ))
}

/// A mixture of such distributions for every class.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mixtures {
    classes: Vec<Vec<Weighted>>,
}

/// A component of a mixture.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Weighted {
    pub(super) ln_weight: f64,
    pub(super) distribution: MultivariateT,
}

impl Mixtures {
    /// One list of components per class, none of them empty.
    pub(super) fn new(classes: Vec<Vec<Weighted>>) -> Self {
        Self { classes }
    }

    pub(super) fn classes(&self) -> &[Vec<Weighted>] {
        &self.classes
    }

    /// Writes the log density of every class at a point; returns its error.
    pub(super) fn ln_densities(&self, point: &[f64], densities: &mut [f64]) -> f64 {
        let mut worst = 0.0f64;
        for (class, density) in self.classes.iter().zip(densities) {
            // Log-sum-exp in one pass: `sum` counts in units of e^max.
            let (mut max, mut sum) = (f64::NEG_INFINITY, 0.0);
            let mut error = 0.0f64;
            for Weighted { ln_weight, distribution } in class {
                let (ln, own) = distribution.ln_pdf_with_error(point);
                let ln = ln + ln_weight;
                if ln > max {
                    sum = sum * (max - ln).exp() + 1.0;
                    (max, error) = (ln, error.max(own));
                } else {
                    sum += (ln - max).exp();
                    // The error of a component counts in proportion to its weight.
                    error = error.max(own * (ln - max).exp());
                }
            }
            *density = max + sum.ln();
            worst = worst.max(error + 4.0 * f64::EPSILON * (1.0 + max.abs()));
        }
        worst
    }

    /// The marginal mixtures of the classifiers that are present.
    fn of_present(&self, present: &[bool], per_classifier: usize) -> Self {
        let own = |k: usize| k * per_classifier..(k + 1) * per_classifier;
        let places: Vec<usize> = (0..present.len()).filter(|&k| present[k]).flat_map(own).collect();
        let part = |component: &Weighted| Weighted {
            ln_weight: component.ln_weight,
            distribution: component.distribution.marginal(&places),
        };
        Self {
            classes: self.classes.iter().map(|class| class.iter().map(part).collect()).collect(),
        }
    }
}

/// Hands every item to `f` with its coordinates and the mixtures of the classifiers that it has,
/// one for each of `rules`.
pub(super) fn for_each_item(
    items: &Items<'_>,
    rules: &[Mixtures],
    mut f: impl FnMut(usize, &[f64], &[Mixtures]),
) {
    let (k, per_classifier) = (items.n_classifiers(), items.n_classes() - 1);
    let mut partial: ByPresence<Vec<Mixtures>> = ByPresence::default();
    let mut point = vec![0.0; k * per_classifier];
    for item in 0..items.len() {
        let mut n = 0;
        for (_, output) in items.present(item) {
            log_ratio::isometric(output, &mut point[n..n + per_classifier]);
            n += per_classifier;
        }
        if n == point.len() {
            f(item, &point, rules);
            continue;
        }
        let present = presence(items, item);
        let marginal =
            || rules.iter().map(|rule| rule.of_present(&present, per_classifier)).collect();
        f(item, &point[..n], partial.get(&present, marginal));
    }
}

/// ln |dy/dx| of the outputs that an item has, which makes a density of coordinates one of outputs.
pub(super) fn ln_jacobian(items: &Items<'_>, item: usize) -> f64 {
    items.present(item).map(|(_, output)| log_ratio::ln_jacobian(output)).sum()
}
