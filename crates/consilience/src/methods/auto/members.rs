//! The members of the mixture: layers and linear pools, for one item and for a block of items.

use pulp::{Simd, WithSimd};
use serde::{Deserialize, Serialize};

use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::block::{Block, Features};
use crate::methods::stacking::LARGEST_COEFFICIENT;
use consilience_numerics::instructions::instructions;
use consilience_numerics::vector;

/// One member of the mixture and its weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Its weight; the weights of all members add up to 1.
    pub weight: f64,
    /// How it combines the outputs.
    pub rule: Rule,
}

/// A rule that turns the outputs for an item into a predictor Uₜ of every class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Sums of logarithms, evidence and probabilities.
    Layer(Layer),
    /// The logarithm of a weighted mean of the probabilities.
    LinearPool(LinearRule),
}

/// Uₜ = bₜ + Σₖ (uₖ gᵏₜ + vₖ Dᵏₜ + qₖ xᵏₜ).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// bₜ.
    pub bias: Vec<f64>,
    /// uₖ: the exponent of the output of classifier k.
    pub output_exponents: Vec<f64>,
    /// vₖ: the exponent of the evidence of its output; empty if all are 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_exponents: Vec<f64>,
    /// qₖ: the coefficient of its probability; empty if all are 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probability_coefficients: Vec<f64>,
}

/// Uₜ = bₜ + a ln Σₖ wₖ xᵏₜ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearRule {
    /// bₜ.
    pub bias: Vec<f64>,
    /// a.
    pub exponent: f64,
    /// wₖ, none negative, adding up to 1.
    pub weights: Vec<f64>,
}

impl Layer {
    /// (uₖ, vₖ, qₖ).
    fn coefficients(&self, classifier: usize) -> [f64; 3] {
        let of = |values: &[f64]| values.get(classifier).copied().unwrap_or(0.0);
        [
            self.output_exponents[classifier],
            of(&self.evidence_exponents),
            of(&self.probability_coefficients),
        ]
    }
}

impl Rule {
    /// Checks shape and range of the parameters; `has_evidence` if the model has Dirichlets.
    pub(super) fn check(&self, schema: &Schema, has_evidence: bool) -> Result<()> {
        let (k, j) = (schema.n_classifiers(), schema.n_classes());
        match self {
            Self::Layer(layer) => {
                let Layer { bias, output_exponents, evidence_exponents, probability_coefficients } =
                    layer;
                check_numbers("layer.bias", bias, j)?;
                check_numbers("layer.output_exponents", output_exponents, k)?;
                if !evidence_exponents.is_empty() {
                    check_numbers("layer.evidence_exponents", evidence_exponents, k)?;
                    if !has_evidence {
                        let reason = "`evidence_exponents` need `alpha`";
                        return Err(Error::InvalidModel(reason.into()));
                    }
                }
                if !probability_coefficients.is_empty() {
                    check_numbers("layer.probability_coefficients", probability_coefficients, k)?;
                }
            }
            Self::LinearPool(LinearRule { bias, exponent, weights }) => {
                check_numbers("linear-pool.bias", bias, j)?;
                check_numbers("linear-pool.exponent", &[*exponent], 1)?;
                check_numbers("linear-pool.weights", weights, k)?;
                let sum: f64 = weights.iter().sum();
                if weights.iter().any(|w| *w < 0.0) || !((sum - 1.0).abs() < 1e-6) {
                    let requirement = "not negative and adding up to 1";
                    return Err(Error::parameter("linear-pool.weights", requirement, sum));
                }
            }
        }
        Ok(())
    }

    /// Whether the rule reads probabilities, not only their logarithms.
    pub(super) fn needs_probabilities(&self) -> bool {
        match self {
            Self::Layer(layer) => !layer.probability_coefficients.is_empty(),
            Self::LinearPool(_) => true,
        }
    }

    /// The evidence exponent of a classifier.
    pub(super) fn evidence_exponent(&self, classifier: usize) -> f64 {
        match self {
            Self::Layer(layer) => layer.coefficients(classifier)[1],
            Self::LinearPool(_) => 0.0,
        }
    }

    /// A bound on the sum of all absolute terms of U but the evidence, for logarithms of at most
    /// `largest_log` in size.
    pub(super) fn size(&self, largest_log: f64) -> f64 {
        let largest = |values: &[f64]| values.iter().fold(0.0f64, |max, b| max.max(b.abs()));
        let total = |values: &[f64]| values.iter().map(|b| b.abs()).sum::<f64>();
        match self {
            Self::Layer(layer) => {
                largest(&layer.bias)
                    + largest_log * total(&layer.output_exponents)
                    + total(&layer.probability_coefficients)
            }
            Self::LinearPool(pool) => largest(&pool.bias) + largest_log * pool.exponent.abs(),
        }
    }

    /// Adds U to `joint` for one item with these logarithms and this evidence, K·J each; returns
    /// the size of its terms.
    pub(super) fn add_to(&self, logs: &[f64], evidence: &[f64], joint: &mut [f64]) -> f64 {
        let j = joint.len();
        let mut size = 0.0f64;
        for (t, joint) in joint.iter_mut().enumerate() {
            let (value, own) = match self {
                Self::Layer(layer) => {
                    let mut terms = (layer.bias[t], layer.bias[t].abs());
                    for (k, log) in logs.iter().skip(t).step_by(j).enumerate() {
                        let [u, v, q] = layer.coefficients(k);
                        let d = if v == 0.0 { 0.0 } else { v * evidence[k * j + t] };
                        let q = q * log.exp();
                        terms.0 += u * log + d + q;
                        terms.1 += (u * log).abs() + d.abs() + q.abs();
                    }
                    terms
                }
                Self::LinearPool(LinearRule { bias, exponent, weights }) => {
                    let logs = logs.iter().skip(t).step_by(j).zip(weights);
                    let mean = logs.map(|(log, w)| w * log.exp()).sum::<f64>();
                    let ln = mean.max(f64::MIN_POSITIVE).ln();
                    (bias[t] + exponent * ln, bias[t].abs() + (exponent * ln).abs())
                }
            };
            *joint += value;
            size = size.max(own);
        }
        size
    }

    /// Replaces the values of the block by ln p + U of all items; the features must have been loaded.
    pub(super) fn write_to_block(&self, ln_prior: &[f64], block: &mut Block) {
        let (values, features) = block.with_features();
        match self {
            Self::Layer(layer) => {
                instructions().dispatch(WriteLayer { layer, ln_prior, values, features });
            }
            Self::LinearPool(rule) => {
                instructions().dispatch(WriteLinear { rule, ln_prior, values, features });
            }
        }
    }
}

fn check_numbers(name: &str, values: &[f64], length: usize) -> Result<()> {
    if values.len() != length {
        return Err(Error::Mismatch {
            what: "shapes of a member and the model",
            expected: format!("{length} numbers in `{name}`"),
            found: values.len().to_string(),
        });
    }
    match values.iter().position(|value| !(value.abs() <= LARGEST_COEFFICIENT)) {
        None => Ok(()),
        Some(i) => {
            let name = format!("{name}[{i}]");
            Err(Error::parameter(name, "a number of at most 1e6 in size", values[i]))
        }
    }
}

/// Kernel: ln p + b + Σₖ (uₖ g + vₖ D + qₖ x) of every class. (See `block.rs` on why kernels are types.)
struct WriteLayer<'a> {
    layer: &'a Layer,
    ln_prior: &'a [f64],
    values: &'a mut [f64],
    features: Features<'a>,
}

impl WithSimd for WriteLayer<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { layer, ln_prior, values, features } = self;
        let Features { n_classes, logs, evidence, probabilities } = features;
        let columns = [logs, evidence, probabilities].map(|part| S::as_simd_f64s(part).0);
        let values = S::as_mut_simd_f64s(values).0;
        let n = values.len() / n_classes;
        for (t, values) in values.chunks_exact_mut(n).enumerate() {
            values.fill(simd.splat_f64s(ln_prior[t] + layer.bias[t]));
            let (mut terms, mut n_terms) = ([(0.0, &columns[0][..n]); TERMS], 0);
            for k in 0..layer.output_exponents.len() {
                let first = (k * n_classes + t) * n;
                for (coefficient, column) in layer.coefficients(k).into_iter().zip(columns) {
                    if coefficient != 0.0 {
                        terms[n_terms] = (coefficient, &column[first..][..n]);
                        n_terms += 1;
                    }
                    if n_terms == TERMS {
                        add_terms(simd, values, &terms);
                        n_terms = 0;
                    }
                }
            }
            add_terms(simd, values, &terms[..n_terms]);
        }
    }
}

/// Terms that are added in one pass over the values.
const TERMS: usize = 3;

/// values += Σ c·x over at most three terms (c, x), in their order.
#[inline(always)]
fn add_terms<S: Simd>(simd: S, values: &mut [S::f64s], terms: &[(f64, &[S::f64s])]) {
    match *terms {
        [(a, xs)] => {
            let a = simd.splat_f64s(a);
            for (value, x) in values.iter_mut().zip(xs) {
                *value = vector::fma(simd, a, *x, *value);
            }
        }
        [(a, xs), (b, ys)] => {
            let (a, b) = (simd.splat_f64s(a), simd.splat_f64s(b));
            for ((value, x), y) in values.iter_mut().zip(xs).zip(ys) {
                *value = vector::fma(simd, b, *y, vector::fma(simd, a, *x, *value));
            }
        }
        [(a, xs), (b, ys), (c, zs)] => {
            let (a, b, c) = (simd.splat_f64s(a), simd.splat_f64s(b), simd.splat_f64s(c));
            for (((value, x), y), z) in values.iter_mut().zip(xs).zip(ys).zip(zs) {
                let sum = vector::fma(simd, b, *y, vector::fma(simd, a, *x, *value));
                *value = vector::fma(simd, c, *z, sum);
            }
        }
        _ => {}
    }
}

/// Kernel: ln p + b + a ln Σₖ wₖ x of every class.
struct WriteLinear<'a> {
    rule: &'a LinearRule,
    ln_prior: &'a [f64],
    values: &'a mut [f64],
    features: Features<'a>,
}

impl WithSimd for WriteLinear<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let LinearRule { bias, exponent, weights } = self.rule;
        let n_classes = self.features.n_classes;
        let probabilities = S::as_simd_f64s(self.features.probabilities).0;
        let values = S::as_mut_simd_f64s(self.values).0;
        let n = values.len() / n_classes;
        let (a, smallest) = (simd.splat_f64s(*exponent), simd.splat_f64s(f64::MIN_POSITIVE));
        for (t, values) in values.chunks_exact_mut(n).enumerate() {
            let (start, b) = (simd.splat_f64s(self.ln_prior[t]), simd.splat_f64s(bias[t]));
            for (i, value) in values.iter_mut().enumerate() {
                let mut mean = simd.splat_f64s(0.0);
                for (k, weight) in weights.iter().enumerate() {
                    let x = probabilities[(k * n_classes + t) * n + i];
                    mean = vector::fma(simd, simd.splat_f64s(*weight), x, mean);
                }
                let ln = vector::ln(simd, simd.max_f64s(mean, smallest));
                *value = simd.add_f64s(start, vector::fma(simd, a, ln, b));
            }
        }
    }
}
