//! The correlated model's parameters, checked, with the fusion rule that they make.

use std::sync::Arc;

use crate::data::class_prior::ClassPrior;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::methods::Draw;
use crate::methods::Fusion;
use crate::methods::correlated::tree::TreePair;
use crate::methods::correlated::{CorrelatedFusion, FullFusion, PairInsight, SMALLEST_PRIVATE};
use crate::methods::independent::{Alpha, IndependentFusion, check_alpha};
use crate::simulation::Truth;
use crate::warning::Warning;
use correlated_dirichlet::pair::LARGEST_SHAPE;
use correlated_dirichlet::{CorrelatedDirichlet, SharedPair};

/// Margins α and shared shapes δ of the paper's model for every class.
#[derive(Debug, Clone)]
pub struct CorrelatedParameters {
    schema: Arc<Schema>,
    /// `alpha[k][j]`, a Dirichlet each.
    alpha: Alpha,
    classes: Vec<CorrelatedDirichlet>,
    resolution: f64,
    rule: Rule,
}

/// The rule for fusing.
#[derive(Debug, Clone)]
enum Rule {
    /// One classifier: its meta classifier.
    Alone(IndependentFusion),
    /// Two: quadrature.
    Pair(CorrelatedFusion),
    /// More: estimated, with an error.
    Full(FullFusion),
}

/// Equal parameters make equal rules.
impl PartialEq for CorrelatedParameters {
    fn eq(&self, other: &Self) -> bool {
        (&self.schema, &self.classes, self.resolution)
            == (&other.schema, &other.classes, other.resolution)
    }
}

impl CorrelatedParameters {
    /// From one correlated Dirichlet per class, observed at a resolution (0: exactly).
    pub fn new(
        schema: &Arc<Schema>,
        classes: &[CorrelatedDirichlet],
        resolution: f64,
    ) -> Result<Self> {
        let margins = |k: usize| classes.iter().map(|c| c.alpha()[k].clone()).collect();
        let alpha: Alpha = (0..schema.n_classifiers()).map(margins).collect();
        let own = || Arc::clone(schema);
        let rule = match schema.n_classifiers() {
            1 => Rule::Alone(IndependentFusion::new(own(), alpha.clone())?),
            2 => Rule::Pair(CorrelatedFusion::new(own(), classes, resolution)?),
            _ => Rule::Full(FullFusion::new(own(), classes, resolution)?),
        };
        Ok(Self { schema: own(), alpha, classes: classes.to_vec(), resolution, rule })
    }

    /// From α, the common shapes of every class and the shapes of pairs for every class.
    pub fn from_parts(
        schema: &Arc<Schema>,
        alpha: &Alpha,
        common: Option<&[Vec<f64>]>,
        pairs: &[(usize, usize, Vec<Vec<f64>>)],
        resolution: f64,
    ) -> Result<Self> {
        let classes = distributions(schema, alpha, common, pairs)?;
        Self::new(schema, &classes, resolution)
    }

    /// Of two classifiers, from α and the δ that they share in every class.
    pub fn of_pair(
        schema: &Arc<Schema>,
        alpha: &Alpha,
        delta: &[Vec<f64>],
        resolution: f64,
    ) -> Result<Self> {
        Self::from_parts(schema, alpha, Some(delta), &[], resolution)
    }

    /// The rule that a draw from the posterior makes.
    pub(crate) fn drawn(&self, draw: &Draw) -> Result<Box<dyn Fusion>> {
        let classes = self.drawn_classes(draw)?;
        let schema = Arc::clone(&self.schema);
        Ok(match self.schema.n_classifiers() {
            2 => Box::new(CorrelatedFusion::new(schema, &classes, self.resolution)?),
            _ => Box::new(FullFusion::new(schema, &classes, self.resolution)?),
        })
    }

    /// The distribution of every class that a draw makes: what all share first, then the pairs.
    pub(crate) fn drawn_classes(&self, draw: &Draw) -> Result<Vec<CorrelatedDirichlet>> {
        let own = self.classes[0].pairs();
        let Some((common, pairs)) =
            draw.delta.split_first().filter(|(_, pairs)| pairs.len() == own.len())
        else {
            return Err(Error::Mismatch {
                what: "parts in `delta`",
                expected: (own.len() + 1).to_string(),
                found: draw.delta.len().to_string(),
            });
        };
        let pairs =
            own.iter().zip(pairs).map(|(pair, rows)| (pair.first, pair.second, rows.clone()));
        distributions(&self.schema, &draw.alpha, Some(common), &pairs.collect::<Vec<_>>())
    }

    /// Names and shape.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The margins.
    pub fn alpha(&self) -> &Alpha {
        &self.alpha
    }

    /// The distribution of every class.
    pub fn classes(&self) -> &[CorrelatedDirichlet] {
        &self.classes
    }

    /// The resolution of observation, 0 for the exact density.
    pub fn resolution(&self) -> f64 {
        self.resolution
    }

    /// A warning if the full density is not available and a tree of pairs fuses instead.
    pub(super) fn fallback_warning(&self) -> Option<Warning> {
        let Rule::Full(full) = &self.rule else { return None };
        let smallest = full.smallest_private();
        (smallest < SMALLEST_PRIVATE).then(|| {
            Warning::data(format!(
                "the full model leaves a private shape of {smallest:.2}, and its density cannot be \
                 computed below {SMALLEST_PRIVATE}: a tree of pairs fuses the items, and their \
                 `error` is 1"
            ))
            .with_hint(Hint::TreeStructure)
        })
    }

    /// The rule for fusing.
    pub fn fusion(&self) -> &dyn Fusion {
        match &self.rule {
            Rule::Alone(fusion) => fusion,
            Rule::Pair(fusion) => fusion,
            Rule::Full(fusion) => fusion,
        }
    }

    /// The implied correlation of every pair of classifiers.
    pub fn pairs(&self, prior: &ClassPrior) -> Result<Vec<PairInsight>> {
        let k = self.schema.n_classifiers();
        let pairs = (0..k).flat_map(|a| (a + 1..k).map(move |b| (a, b)));
        pairs.map(|between| PairInsight::new(&self.classes, between, prior)).collect()
    }

    /// The independent model with the same margins.
    pub fn margins(&self) -> Result<IndependentFusion> {
        IndependentFusion::new(Arc::clone(&self.schema), self.alpha.clone())
    }

    /// For simulation.
    pub fn truth(&self) -> Result<Truth> {
        Truth::new(Arc::clone(&self.schema), self.classes.clone())
    }
}

/// The distribution of two classifiers of a tree, class by class.
pub(crate) fn pair_classes(alpha: &Alpha, pair: &TreePair) -> Result<Vec<CorrelatedDirichlet>> {
    let (a, b) = pair.between;
    let class = |(j, delta): (usize, &Vec<f64>)| {
        let margins = vec![alpha[a][j].clone(), alpha[b][j].clone()];
        Ok(CorrelatedDirichlet::new(margins, Some(delta.clone()), Vec::new())?)
    };
    pair.delta.iter().enumerate().map(class).collect()
}

/// Whether every classifier and class has a Dirichlet with shapes for which densities of pairs are computed.
pub(crate) fn check_margins(schema: &Schema, alpha: &Alpha) -> Result<()> {
    check_alpha(schema, alpha)?;
    for (k, rows) in alpha.iter().enumerate() {
        for (j, row) in rows.iter().enumerate() {
            if let Some(l) = row.iter().position(|a| *a > LARGEST_SHAPE) {
                let name = format!("alpha[{k}][{j}][{l}]");
                return Err(Error::parameter(
                    name,
                    "at most 1e7 for correlated classifiers",
                    row[l],
                ));
            }
        }
    }
    Ok(())
}

fn distributions(
    schema: &Schema,
    alpha: &Alpha,
    common: Option<&[Vec<f64>]>,
    pairs: &[(usize, usize, Vec<Vec<f64>>)],
) -> Result<Vec<CorrelatedDirichlet>> {
    check_margins(schema, alpha)?;
    let rows = common.into_iter().chain(pairs.iter().map(|(_, _, rows)| rows.as_slice()));
    for rows in rows {
        if rows.len() != schema.n_classes() {
            return Err(Error::Mismatch {
                what: "rows of `delta` and classes",
                expected: schema.n_classes().to_string(),
                found: rows.len().to_string(),
            });
        }
    }
    let class = |j: usize| {
        let margins = alpha.iter().map(|rows| rows[j].clone()).collect();
        let common = common.map(|rows| rows[j].clone());
        let pair = |(first, second, delta): &(usize, usize, Vec<Vec<f64>>)| SharedPair {
            first: *first,
            second: *second,
            delta: delta[j].clone(),
        };
        Ok(CorrelatedDirichlet::new(margins, common, pairs.iter().map(pair).collect())?)
    };
    (0..schema.n_classes()).map(class).collect()
}
