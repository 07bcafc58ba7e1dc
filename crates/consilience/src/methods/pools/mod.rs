//! Opinion pools: rules that combine the classifiers' probabilities as they are.
//!
//! A pool takes every output for a posterior that already contains the class prior p in force.
//! So with weights w
//!
//! ```text
//! logarithmic pool   P(t|x) ∝ pₜ^(1−Σw) ∏ₖ (xᵏₜ)^wₖ
//! linear pool        P(t|x) = Σₖ wₖ xᵏₜ / Σₖ wₖ
//! ```
//!
//! and the independent opinion pool is the logarithmic one with every weight 1 (supplement A.11
//! of Trick & Rothkopf 2022). Where classifiers are missing, weights that make an average (none
//! negative, adding up to 1; always in the linear pool) are shared out among those present, in
//! proportion. Other weights are exponents of evidence: an absent classifier has none, as in the
//! independent opinion pool. If all outputs are missing, the result is the class prior.

mod config;
mod exponents;
mod fit;
mod greedy;
mod scoring;

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Block, FitDetails, FittedMethod, Fusion};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::formula::{Scoring, Value as FormulaValue};
use crate::simulation::Truth;
use crate::text;
use consilience_numerics::log_space::ln_at_least_tiny;

pub use config::{LinearPool, LogPool, OpinionPool, Weights};
pub use fit::{FittedWeights, fit_weights};

/// Which rule a pool follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolKind {
    /// Product of all opinions.
    Opinion,
    /// Weighted average of probabilities.
    Linear,
    /// Weighted average of logarithms.
    Logarithmic,
}

impl PoolKind {
    /// The name of the method.
    pub fn name(self) -> &'static str {
        match self {
            Self::Opinion => "opinion-pool",
            Self::Linear => "linear-pool",
            Self::Logarithmic => "log-pool",
        }
    }
}

/// Largest size of a weight; larger ones are a mistake, and would overflow.
const LARGEST_WEIGHT: f64 = 1e6;

/// A pool with its weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    schema: Arc<Schema>,
    kind: PoolKind,
    weights: Vec<f64>,
}

impl Pool {
    /// The independent opinion pool.
    pub fn opinion(schema: Arc<Schema>) -> Self {
        let weights = vec![1.0; schema.n_classifiers()];
        Self { schema, kind: PoolKind::Opinion, weights }
    }

    /// A pool with given weights, one per classifier; a linear pool's must not be negative.
    pub fn new(schema: Arc<Schema>, kind: PoolKind, weights: Vec<f64>) -> Result<Self> {
        if weights.len() != schema.n_classifiers() {
            return Err(Error::mismatch(
                "weights and classifiers",
                schema.n_classifiers(),
                weights.len(),
            ));
        }
        for (k, weight) in weights.iter().enumerate() {
            let name = || format!("weights[{k}]");
            if !(weight.abs() <= LARGEST_WEIGHT) {
                return Err(Error::parameter(name(), "a number of at most 1e6 in size", weight));
            }
            if kind == PoolKind::Linear && *weight < 0.0 {
                return Err(Error::parameter(name(), ">= 0 in a linear pool", weight));
            }
        }
        if kind == PoolKind::Linear && weights.iter().sum::<f64>() == 0.0 {
            return Err(Error::parameter("weights", "positive somewhere", "only zeros"));
        }
        Ok(Self { schema, kind, weights })
    }

    /// Which rule it follows.
    pub fn kind(&self) -> PoolKind {
        self.kind
    }

    /// The weights.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Whether the weights make an average, to be shared out where classifiers are missing.
    fn is_average(&self) -> bool {
        let sum: f64 = self.weights.iter().sum();
        let sums_to_one = self.weights.iter().all(|w| *w >= 0.0) && (sum - 1.0).abs() < 1e-9;
        match self.kind {
            PoolKind::Opinion => false,
            PoolKind::Linear => true,
            PoolKind::Logarithmic => sums_to_one,
        }
    }

    /// The weights of the classifiers present for one item.
    fn weights_present<'a>(
        &self,
        items: &Items<'a>,
        item: usize,
    ) -> impl Iterator<Item = (&'a [f64], f64)> {
        let present: f64 = items.present(item).map(|(k, _)| self.weights[k]).sum();
        let scale = match self.kind {
            _ if !self.is_average() => 1.0,
            _ if present == 0.0 => 0.0,
            _ => 1.0 / present,
        };
        items.present(item).map(move |(k, output)| (output, scale * self.weights[k]))
    }

    /// Writes the log weights of one item; returns the size of the terms that they are made of.
    fn ln_joint_of(
        &self,
        items: &Items<'_>,
        item: usize,
        ln_prior: &[f64],
        joint: &mut [f64],
    ) -> f64 {
        joint.fill(0.0);
        let (mut sum, mut size) = (0.0, 1.0);
        for (output, weight) in self.weights_present(items, item) {
            sum += weight;
            if weight == 0.0 {
                continue; // 0 · ln 0 is no evidence
            }
            let mut largest = 0.0f64;
            for (joint, x) in joint.iter_mut().zip(output) {
                let term = if self.kind == PoolKind::Linear { *x } else { ln_at_least_tiny(*x) };
                *joint += weight * term;
                largest = largest.max((weight * term).abs());
            }
            size += largest;
        }
        match self.kind {
            PoolKind::Linear if sum == 0.0 => joint.copy_from_slice(ln_prior),
            PoolKind::Linear => {
                joint.iter_mut().for_each(|joint| *joint = ln_at_least_tiny(*joint));
            }
            _ => {
                joint.iter_mut().zip(ln_prior).for_each(|(joint, p)| *joint += (1.0 - sum) * p);
                let largest = ln_prior.iter().fold(0.0f64, |max, p| max.max(p.abs()));
                size += (1.0 - sum).abs() * largest;
            }
        }
        size
    }
}

impl FittedMethod for Pool {
    fn file_parameters(&self) -> Value {
        match self.kind {
            PoolKind::Opinion => Value::Null,
            _ => json!({ "weights": self.weights }),
        }
    }

    fn describe(&self, _: &FitDetails<'_>) -> Result<String> {
        let names = self.schema.classifiers().iter().zip(&self.weights);
        let rows: Vec<Vec<String>> =
            names.map(|(name, weight)| vec![name.clone(), format!("{weight:.4}")]).collect();
        Ok(format!("\n{}", text::aligned(&["classifier", "weight"], &rows)))
    }

    fn ln_joint_formula(&self, scoring: &mut Scoring) -> Result<FormulaValue, &'static str> {
        Ok(scoring::ln_joint(self, scoring))
    }

    fn truth(&self) -> Result<Truth, &'static str> {
        Err("a pool does not model the classifiers")
    }
}

impl Fusion for Pool {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        let mut joint = vec![0.0; items.n_classes()];
        for item in 0..items.len() {
            let size = self.ln_joint_of(items, item, prior.ln(), &mut joint);
            block.errors_mut()[item] = 4.0 * f64::EPSILON * size;
            for (class, value) in joint.iter().enumerate() {
                block.class_mut(class)[item] = *value;
            }
        }
    }

    fn ln_density(&self, _: &Items<'_>, _: &mut Block) -> Result<()> {
        Err(Error::unsupported(
            self.kind.name(),
            "has no density: a pool does not model the classifiers",
        ))
    }
}
