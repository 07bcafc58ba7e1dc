//! Temperatures of the plain pools from the outputs alone, without labels.
//!
//! Two signs show how often the geometric pool errs, beside the error e that it expects itself, the
//! mean of 1 − max p:
//! - **Disagreement.** If the sources name another class than the pool in a share D of the items, the
//!   pool hardly errs less often than that, unless their errors are independent.
//! - **Separation.** The pooled evidence z of items of different classes lies in different places. A
//!   mixture of spherical normal distributions, one per class, with means m(1ₜ − 1/J) and variance v
//!   has the posterior softmax(ln π + (m/v) z). This is the pool with the temperature m/v.
//!
//! If D > e, the pool is overconfident: it gets the temperature a at which it expects D, as a^(e/D).
//! Otherwise, with three sources or more, it may be underconfident: it gets the temperature a at which
//! it expects E, the larger one of D' = D·K/(K − 1) and the error that the mixture expects, as a^(D'/E):
//! the agreement of sources that never disagree shows nothing. The linear pool is sharpened no
//! more than the geometric one. See experiments/auto for what this gains and costs.

use super::features::{MeanOutputs, centre};
use crate::data::outputs::Outputs;
use crate::math::thinning::at_most;
use crate::methods::stacking::floored_logs;
use consilience_numerics::simplex;

/// Temperatures of the plain linear and the plain geometric pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Temperatures {
    pub(super) linear: f64,
    pub(super) geometric: f64,
}

/// Most items that are looked at.
const ITEMS: usize = 2000;

/// Items with which ln of a temperature has half of its value.
const PRIOR_ITEMS: f64 = 100.0;

/// The largest temperature; its inverse is the smallest.
const LARGEST: f64 = 4.0;

/// Fewest sources whose agreement can sharpen a pool. The disagreement of two says little: near
/// copies of an overconfident source would be sharpened.
const FEWEST_SOURCES: usize = 3;

/// Steps of expectation maximisation, and the relative change at which it stops.
const STEPS: usize = 100;
const TOLERANCE: f64 = 1e-3;

/// Halvings of the range of ln of a temperature.
const HALVINGS: usize = 24;

impl Temperatures {
    const ONE: Self = Self { linear: 1.0, geometric: 1.0 };

    /// From all items, labelled or not. One source alone cannot disagree: its outputs are believed.
    pub(super) fn of(outputs: &Outputs, means: &MeanOutputs) -> Self {
        let pooled = Pooled::of(outputs, means);
        if outputs.schema().n_classifiers() < 2 || pooled.weights.is_empty() {
            return Self::ONE;
        }
        let n: f64 = pooled.weights.iter().sum();
        let Self { linear, geometric } = pooled.temperatures(outputs.schema().n_classifiers());
        let shrunk = |temperature: f64| temperature.powf(n / (n + PRIOR_ITEMS));
        Self { linear: shrunk(linear), geometric: shrunk(geometric) }
    }
}

/// What both plain pools make of the items, J numbers per item, centred and relative to π.
struct Pooled<'a> {
    ln_prior: &'a [f64],
    weights: Vec<f64>,
    linear: Vec<f64>,
    geometric: Vec<f64>,
    /// The mean over sources of the share of items for which they name another class than the pool.
    disagreement: f64,
}

impl<'a> Pooled<'a> {
    fn of(outputs: &Outputs, means: &'a MeanOutputs) -> Self {
        let (k, j) = (outputs.schema().n_classifiers(), outputs.schema().n_classes());
        let items = outputs.all();
        let ln_prior = &means.ln_all[..];
        let mut pooled = Self {
            ln_prior,
            weights: Vec::new(),
            linear: Vec::new(),
            geometric: Vec::new(),
            disagreement: 0.0,
        };
        let (mut against, mut present) = (vec![0.0; k], vec![0.0; k]);
        let mut logs = vec![0.0; j];
        for item in at_most(ITEMS, items.len()) {
            let weight = outputs.weight(item);
            let n = items.present(item).count() as f64;
            if n == 0.0 || weight == 0.0 {
                continue;
            }
            let (mut linear, mut geometric) = (vec![0.0; j], vec![0.0; j]);
            for (c, output) in items.present(item) {
                floored_logs(output, &mut logs);
                let own = logs.iter().zip(&means.ln_each[c * j..][..j]);
                for ((linear, geometric), (log, ln)) in
                    linear.iter_mut().zip(&mut geometric).zip(own)
                {
                    *linear += log.exp() / n;
                    *geometric += (log - ln) / n;
                }
            }
            linear.iter_mut().zip(ln_prior).for_each(|(x, ln)| *x = x.ln() - ln);
            centre(&mut linear);
            centre(&mut geometric);
            let sums: Vec<f64> = geometric.iter().zip(ln_prior).map(|(z, ln)| z + ln).collect();
            for (c, output) in items.present(item) {
                present[c] += weight;
                against[c] += if share_a_largest(&sums, output) { 0.0 } else { weight };
            }
            pooled.weights.push(weight);
            pooled.linear.extend(linear);
            pooled.geometric.extend(geometric);
        }
        let shares = against.iter().zip(&present).filter(|(_, n)| **n > 0.0).map(|(d, n)| d / n);
        let shares: Vec<f64> = shares.collect();
        pooled.disagreement = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        pooled
    }

    /// The temperatures of both pools of `k` sources, as if the items were many.
    fn temperatures(&self, k: usize) -> Temperatures {
        let linear = Evidence { values: &self.linear, pooled: self };
        let geometric = Evidence { values: &self.geometric, pooled: self };
        let (expected, seen) = (geometric.expected_error(1.0), self.disagreement);
        if seen > expected {
            let softened = |pool: Evidence| pool.with_error(seen).min(1.0).powf(expected / seen);
            return Temperatures { linear: softened(linear), geometric: softened(geometric) };
        }
        if k < FEWEST_SOURCES {
            return Temperatures::ONE;
        }
        let seen = seen * k as f64 / (k - 1) as f64;
        let error = seen.max(geometric.expected_error(geometric.separation().max(1.0)));
        if error >= expected {
            return Temperatures::ONE;
        }
        let sharpened = geometric.with_error(error).powf(seen / error);
        Temperatures { linear: linear.with_error(error).min(sharpened), geometric: sharpened }
    }
}

/// Whether a class is among the largest values of both, up to rounding.
fn share_a_largest(a: &[f64], b: &[f64]) -> bool {
    let largest = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (of_a, of_b) = (largest(a) - 1e-9, largest(b) - 1e-9);
    a.iter().zip(b).any(|(x, y)| *x >= of_a && *y >= of_b)
}

/// The evidence of one plain pool for all items.
struct Evidence<'a> {
    values: &'a [f64],
    pooled: &'a Pooled<'a>,
}

impl Evidence<'_> {
    /// The weighted mean of a function of softmax(ln π + a z) and z.
    fn mean(&self, temperature: f64, of: impl Fn(&[f64], &[f64]) -> f64) -> f64 {
        let Pooled { ln_prior, weights, .. } = self.pooled;
        let mut p = vec![0.0; ln_prior.len()];
        let mut sum = 0.0;
        for (z, weight) in self.values.chunks_exact(p.len()).zip(weights) {
            let joint = ln_prior.iter().zip(z).map(|(ln, z)| ln + temperature * z);
            p.iter_mut().zip(joint).for_each(|(p, joint)| *p = joint);
            simplex::softmax(&mut p);
            sum += weight * of(&p, z);
        }
        sum / weights.iter().sum::<f64>()
    }

    fn expected_error(&self, temperature: f64) -> f64 {
        self.mean(temperature, |p, _| 1.0 - p.iter().copied().fold(0.0, f64::max))
    }

    /// m/v of the mixture of normal distributions, within the range of temperatures.
    fn separation(&self) -> f64 {
        let j = self.pooled.ln_prior.len() as f64;
        let square = self.mean(1.0, |_, z| z.iter().map(|z| z * z).sum());
        let mut temperature = 1.0f64;
        for _ in 0..STEPS {
            let own = |p: &[f64], z: &[f64]| p.iter().zip(z).map(|(p, z)| p * z).sum();
            let m = self.mean(temperature, own) * j / (j - 1.0);
            let v = (square - m * m * (j - 1.0) / j) / (j - 1.0);
            let next = (m / v.max(1e-3)).clamp(1.0 / LARGEST, LARGEST);
            let change = (next / temperature).ln().abs();
            temperature = next;
            if change < TOLERANCE {
                break;
            }
        }
        temperature
    }

    /// The temperature at which the expected error is `error`.
    fn with_error(&self, error: f64) -> f64 {
        if (self.expected_error(1.0) - error).abs() < 1e-9 {
            return 1.0; // constant outputs expect the same error at any temperature
        }
        let (mut low, mut high) = (-LARGEST.ln(), LARGEST.ln());
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if self.expected_error(middle.exp()) > error {
                low = middle;
            } else {
                high = middle;
            }
        }
        (0.5 * (low + high)).exp()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::schema::Schema;
    use crate::{InputFormat, OutputsBuilder};
    use consilience_numerics::special::normal_quantile;

    /// Three sources whose logits are `sharpness` times 1.5 for the class of the item, plus a sine of
    /// this size.
    fn table(sharpness: f64, size: f64) -> Outputs {
        let schema = Arc::new(Schema::new(["a", "b", "c"], ["x", "y", "z"]).unwrap());
        let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
        for i in 0..200 {
            let mut row = Vec::new();
            for k in 0..3 {
                let mut output: Vec<f64> = (0..3)
                    .map(|t| {
                        let own = f64::from(u8::from(t == i % 3));
                        let phase = 1.3 * f64::from(i * (k + 1)) + 2.3 * f64::from(t);
                        let noise = (phase + 0.7 * f64::from(k)).sin();
                        sharpness * (1.5 * own + size * noise)
                    })
                    .collect();
                simplex::softmax(&mut output);
                row.extend(output);
            }
            builder.push(&row, None).unwrap();
        }
        builder.finish()
    }

    /// Values of a separate program (numpy, scipy's root finder).
    #[test]
    fn disagreement_and_separation_set_the_temperatures() {
        for (sharpness, size, linear, geometric) in [
            (0.5, 1.0, 1.763_426, 1.763_426),
            (4.0, 1.5, 1.0, 0.771_684),
            (1.0, 2.5, 0.974_296, 0.749_092),
            (0.2, 0.88, 1.575_826, 1.575_826),
            (2.4, 0.88, 1.0, 0.949_093),
            (1.6, 0.92, 1.0, 1.0),
        ] {
            let outputs = table(sharpness, size);
            let found = Temperatures::of(&outputs, &MeanOutputs::of(&outputs));
            let errors = [found.linear - linear, found.geometric - geometric];
            assert!(errors.iter().all(|e| e.abs() < 1e-5), "{sharpness} {size} {found:?}");
        }
    }

    /// Two classes at ±1 with standard deviation 0.8: m = 2, v = 2 · 0.64.
    #[test]
    fn the_separation_of_normal_classes_is_found() {
        let quantiles = (0..400).map(|i| 0.8 * normal_quantile((f64::from(i) + 0.5) / 400.0));
        let values = quantiles.flat_map(|q| [1.0 + q, -1.0 - q, q - 1.0, 1.0 - q]).collect();
        let pooled = Pooled {
            ln_prior: &[-std::f64::consts::LN_2; 2],
            weights: vec![1.0; 800],
            linear: Vec::new(),
            geometric: values,
            disagreement: 0.0,
        };
        let found = Evidence { values: &pooled.geometric, pooled: &pooled }.separation();
        assert!((found - 2.0 / 1.28).abs() < 0.03, "{found}");
    }
}
