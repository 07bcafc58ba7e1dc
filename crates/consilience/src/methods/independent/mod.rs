//! The independent fusion model: a Dirichlet for every classifier and true class.
//!
//! ```text
//! xᵏ | t=j ~ Dirichlet(αᵏⱼ),   P(t=j|x) ∝ pⱼ ∏ₖ Dir(xᵏ; αᵏⱼ)
//! ```
//!
//! Linear in log x, so the generative twin of multinomial logistic regression on logarithms. With
//! one classifier it is that classifier's *meta classifier*; with αᵏⱼ = 1 + eⱼ it is the
//! independent opinion pool.
//!
//! # References
//! Trick & Rothkopf, AISTATS 2022, section 3.2, eq. 4 and 5.

mod config;
mod describe;
mod fit;
mod posterior;
mod statistics;

use std::sync::Arc;

use serde_json::{Value, json};

pub(crate) use config::{ALPHA_PRIOR, CHAINS, DRAWS, KEEP_DRAWS, PRIOR_ITEMS, WARMUP};
pub use config::{AlphaPrior, Independent, Inference};
pub(crate) use describe::describe_dirichlets;
pub(super) use fit::posterior_modes;
pub use fit::{FittedIndependent, PosteriorReport};
pub(super) use posterior::PooledMeans;
pub use statistics::SufficientStatistics;

use super::log_linear::{self, LogLinear};
use super::{Block, Draw, FitDetails, FittedMethod, Fusion};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::formula::{Scoring, Value as FormulaValue};
use crate::simulation::Truth;
use consilience_numerics::special::{digamma, ln_gamma, ln_multivariate_beta};
use correlated_dirichlet::{CorrelatedDirichlet, Dirichlet};

/// Concentrations of all classifiers and classes: `alpha[k][j]` is classifier k's Dirichlet when
/// the true class is j.
pub type Alpha = Vec<Vec<Vec<f64>>>;

/// The independent fusion model with its parameters.
///
/// # Example
/// ```
/// use consilience::methods::{fuse, independent::IndependentFusion};
/// use consilience::{ClassPrior, InputFormat, OutputsBuilder, Schema};
/// use std::sync::Arc;
///
/// let schema = Arc::new(Schema::new(["a", "b"], ["x", "y"])?);
/// let alpha = vec![vec![vec![2.0, 1.0], vec![1.0, 2.0]]; 2];
/// let model = IndependentFusion::new(Arc::clone(&schema), alpha)?;
///
/// let mut builder = OutputsBuilder::new(schema, InputFormat::default())?;
/// builder.push(&[0.6, 0.4, 0.6, 0.4], None)?;
/// let fused = fuse(&model, &builder.finish(), &ClassPrior::uniform(2))?;
/// // With these parameters it is the independent opinion pool: 0.36 / (0.36 + 0.16).
/// assert!((fused.probabilities(0)[0] - 0.36 / 0.52).abs() < 1e-14);
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct IndependentFusion {
    schema: Arc<Schema>,
    alpha: Alpha,
    evidence: LogLinear,
}

impl IndependentFusion {
    /// Checks shape and range of the concentrations.
    pub fn new(schema: Arc<Schema>, alpha: Alpha) -> Result<Self> {
        check_alpha(&schema, &alpha)?;
        let (mut constants, mut coefficients) = (Vec::new(), Vec::new());
        let mut constant_size = 0.0;
        for rows in &alpha {
            let mut largest = 0.0f64;
            for row in rows {
                constants.push(-Dirichlet::new(row)?.ln_normaliser());
                coefficients.extend(row.iter().map(|a| a - 1.0));
                let parts = row.iter().map(|a| ln_gamma(*a).abs()).sum::<f64>();
                largest = largest.max(parts + ln_gamma(row.iter().sum()).abs());
            }
            constant_size += largest;
        }
        let evidence = LogLinear::new(schema.n_classes(), constants, coefficients, constant_size);
        Ok(Self { schema, alpha, evidence })
    }

    /// The mode of the posterior under the default prior. A classifier without outputs for a class
    /// has its prior there, which is taken from its outputs for the other classes; without any
    /// output at all it is uniform.
    pub fn at_mode(schema: Arc<Schema>, statistics: &SufficientStatistics) -> Result<Self> {
        Self::new(schema, posterior_modes(statistics).0)
    }

    /// The concentrations.
    pub fn alpha(&self) -> &Alpha {
        &self.alpha
    }

    /// The same model of one classifier alone: its meta classifier.
    pub fn meta(&self, classifier: usize) -> Result<Self> {
        let schema = Arc::new(self.schema.only(classifier));
        Self::new(schema, vec![self.alpha[classifier].clone()])
    }

    /// The meta classifiers of all classifiers.
    pub(crate) fn metas(&self) -> Result<Vec<Self>> {
        (0..self.alpha.len()).map(|k| self.meta(k)).collect()
    }

    /// The evidence with every classifier's part multiplied by its weight.
    pub(super) fn weighted_evidence(&self, weights: &[f64]) -> LogLinear {
        self.evidence.weighted(weights)
    }

    /// The strength of every classifier: the evidence in nats that its output for one item is
    /// expected to give for the true class against another one, both drawn from the prior.
    pub fn strengths(&self, prior: &ClassPrior) -> Result<Vec<f64>> {
        Ok(self.alpha.iter().map(|rows| strength(rows, prior)).collect())
    }

    /// ln Dir(xᵏ; αᵏⱼ) as a linear function of ln x.
    pub(super) fn evidence(&self) -> &LogLinear {
        &self.evidence
    }
}

impl FittedMethod for IndependentFusion {
    fn file_parameters(&self) -> Value {
        json!(fit::Parameters { alpha: self.alpha.clone() })
    }

    fn margins(&self) -> Result<Option<IndependentFusion>> {
        Ok(Some(self.clone()))
    }

    fn describe(&self, details: &FitDetails<'_>) -> Result<String> {
        describe_dirichlets(details, self)
    }

    fn has_posterior(&self) -> bool {
        true
    }

    fn rule_of_draw(&self, draw: &Draw) -> Result<Box<dyn Fusion>> {
        Ok(Box::new(Self::new(Arc::clone(&self.schema), draw.alpha.clone())?))
    }

    fn ln_joint_formula(&self, scoring: &mut Scoring) -> Result<FormulaValue, &'static str> {
        let f = &mut scoring.formula;
        let logs = f.ln(scoring.outputs);
        let evidence = self.evidence.formula(f, logs);
        let evidence = scoring.of_present(evidence);
        let sum = scoring.sum_over_classifiers(evidence);
        Ok(scoring.formula.add(sum, scoring.ln_prior))
    }

    fn truth(&self) -> Result<Truth, &'static str> {
        let class = |j: usize| {
            let margins = self.alpha.iter().map(|rows| rows[j].clone()).collect();
            CorrelatedDirichlet::new(margins, None, Vec::new()).expect("α was checked")
        };
        let classes = (0..self.schema.n_classes()).map(class).collect();
        Ok(Truth::new(Arc::clone(&self.schema), classes).expect("one distribution per class"))
    }
}

impl Fusion for IndependentFusion {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        block.add_per_class(prior.ln());
        log_linear::add_evidence(&self.evidence, items, block);
    }

    fn ln_density(&self, items: &Items<'_>, block: &mut Block) -> Result<()> {
        log_linear::add_evidence(&self.evidence, items, block);
        Ok(())
    }
}

/// The expected evidence in nats of a classifier with these Dirichlets for the true class against
/// another one, both drawn from the prior: a mean of Kullback–Leibler divergences.
pub(crate) fn strength(rows: &[Vec<f64>], prior: &ClassPrior) -> f64 {
    let p = prior.probabilities();
    let expected_logs = |row: &Vec<f64>| -> Vec<f64> {
        let total = digamma(row.iter().sum());
        row.iter().map(|a| digamma(*a) - total).collect()
    };
    let (logs, normalisers): (Vec<_>, Vec<_>) =
        rows.iter().map(|row| (expected_logs(row), ln_multivariate_beta(row))).unzip();
    let mut sum = 0.0;
    for (j, row) in rows.iter().enumerate() {
        for (m, other) in rows.iter().enumerate().filter(|(m, _)| *m != j) {
            let terms = row.iter().zip(other).zip(&logs[j]).map(|((a, b), log)| (a - b) * log);
            let divergence = terms.sum::<f64>() + normalisers[m] - normalisers[j];
            sum += p[j] * p[m] / (1.0 - p[j]) * divergence;
        }
    }
    sum
}

/// Largest concentration: sums of log densities with 1e305 overflow.
const LARGEST: f64 = 1e100;

/// Refuses concentrations that are not one valid Dirichlet per classifier and class.
pub(crate) fn check_alpha(schema: &Schema, alpha: &Alpha) -> Result<()> {
    check_dirichlets("alpha", "shapes of `alpha` and the model", schema, alpha)
}

/// The same for Dirichlets of another name; `shapes` is the subject of an error about their shape.
pub(crate) fn check_dirichlets(
    name: &str,
    shapes: &'static str,
    schema: &Schema,
    alpha: &Alpha,
) -> Result<()> {
    check_shape(shapes, schema, alpha)?;
    for (k, rows) in alpha.iter().enumerate() {
        for (j, row) in rows.iter().enumerate() {
            let name = format!("{name}[{k}][{j}]");
            correlated_dirichlet::check_concentration(&name, row)?;
            if let Some(l) = row.iter().position(|a| *a > LARGEST) {
                return Err(Error::parameter(format!("{name}[{l}]"), "at most 1e100", row[l]));
            }
        }
    }
    Ok(())
}

fn check_shape(what: &'static str, schema: &Schema, alpha: &Alpha) -> Result<()> {
    let (k, j) = (schema.n_classifiers(), schema.n_classes());
    let fits = alpha.len() == k
        && alpha.iter().all(|rows| rows.len() == j && rows.iter().all(|row| row.len() == j));
    if fits {
        return Ok(());
    }
    Err(Error::Mismatch {
        what,
        expected: format!("{k} classifiers × {j} classes × {j} classes"),
        found: format!(
            "{} × {} × {}",
            alpha.len(),
            alpha.first().map_or(0, Vec::len),
            alpha.first().and_then(|rows| rows.first()).map_or(0, Vec::len)
        ),
    })
}
