//! The common part of a component integrated out at many M at once, for tables at a finite resolution.
//!
//! As in `inner` the variable is the logit of the common part's share, with both ends closed; here one lattice and
//! one set of powers e^(Mv) serve all distances from the kink.

use std::f64::consts::TAU;

use pulp::Arch;

use super::kernel::{Exponentiate, SumRows};
use crate::pair::component::{Component, left_out, ln_gamma_safe};
use crate::pair::exact::kernel::{Exponents, FillNodes, GROUP, run};
use consilience_numerics::exponential_tail;
use consilience_numerics::special::ln_gamma;

/// Relative accuracy that tables aim at.
pub(crate) const ACCURACY: f64 = 1e-8;
/// Number of exponentials in a closed end.
const INNER_CLOSING: usize = 4;

/// About the smaller gamma's mean.
pub(crate) fn typical(c: &Component) -> f64 {
    c.shared + c.private[0].min(c.private[1]) + 0.5
}

/// Nodes of the inner integrals that serve every M and τ of a table.
pub(crate) struct Lattice {
    step: f64,
    start: f64,
    v: Vec<f64>,
    q: Vec<f64>,
    ln_v: Vec<f64>,
    ln_q: Vec<f64>,
    pivot: f64,
}

impl Lattice {
    /// Nodes for all distances from the kink down to `nearest`.
    pub(crate) fn new(arch: Arch, c: &Component, typical: f64, nearest: f64) -> Self {
        let power = c.shared + c.private[0] + c.private[1];
        let target = -ACCURACY.ln() + 1.0;
        let precision = 0.25 * (power + 3.0 * typical);
        let omega = (2.0 * target * precision).sqrt().hypot(2.0 * target / std::f64::consts::PI);
        let step = TAU / omega;
        let onset = 0.3 * ACCURACY.powf(0.25);
        let start = (onset / (1.0 + 10.0 * typical + power)).ln() - INNER_CLOSING as f64 * step;
        // the right end is closed where q is small against the distance, see `weights`
        let sharpest = 1.0 + 10.0 * typical + power + (1.0 + power) / nearest.min(1.0);
        let end = -(onset / sharpest).ln() + (INNER_CLOSING + 1) as f64 * step;
        let count = ((end - start) / step) as usize / GROUP * GROUP + GROUP;
        let mut lattice = Self {
            step,
            start,
            v: vec![0.0; count],
            q: vec![0.0; count],
            ln_v: vec![0.0; count],
            ln_q: vec![0.0; count],
            pivot: c.shared.max(0.5) / (c.shared.max(0.5) + c.private[0].min(c.private[1]) + 0.5),
        };
        run(
            arch,
            FillNodes {
                first: start,
                step,
                v: &mut lattice.v,
                q: &mut lattice.q,
                ln_v: &mut lattice.ln_v,
                ln_q: &mut lattice.ln_q,
            },
        );
        lattice
    }

    /// e^((M − typical)(v − pivot)), one row a node.
    pub(crate) fn powers(&self, arch: Arch, masses: &[f64], typical: f64) -> Vec<f64> {
        let mut powers = Vec::with_capacity(self.v.len() * masses.len());
        for v in &self.v {
            powers.extend(masses.iter().map(|m| ((m - typical) * (v - self.pivot)).min(650.0)));
        }
        let zeros = vec![0.0; powers.len()];
        run(arch, Exponentiate { factor: 1.0, reference: &zeros, values: &mut powers });
        flush(&mut powers);
        powers
    }

    /// ln h(M, ±τ) − (n−1) ln M + 2M for every M.
    #[expect(clippy::too_many_arguments, reason = "three shapes, a node and the shared lattices")]
    pub(crate) fn row(
        &self,
        arch: Arch,
        shared: f64,
        near: f64,
        far: f64,
        node: f64,
        masses: &[f64],
        typical: f64,
        powers: &[f64],
    ) -> Vec<f64> {
        let excess = node.exp_m1();
        let ln_far = ln_gamma(far);
        let rest = |m: f64, ln_inner: f64| node - m * excess + ln_inner - ln_far;
        if shared == 0.0 {
            let ln_inner = (far - 1.0) * node - ln_gamma(near);
            return masses.iter().map(|&m| rest(m, ln_inner)).collect();
        }
        if near == 0.0 {
            let ln_inner = (far - 1.0) * excess.ln() - ln_gamma(shared);
            return masses.iter().map(|&m| rest(m, ln_inner + m)).collect();
        }
        let (weights, largest) = self.weights(arch, shared, near, far, excess, typical);
        let mut logs = vec![0.0; masses.len()];
        let stride = masses.len();
        run(arch, SumRows { weights: &weights, rows: powers, stride, out: &mut logs });
        let gammas = ln_gamma_safe(shared) + ln_gamma_safe(near) - self.step.ln() - largest;
        masses
            .iter()
            .zip(logs)
            .map(|(&m, log)| rest(m, log + (m - typical) * self.pivot - gammas))
            .collect()
    }

    /// Terms of the inner integral at the typical M with closed ends, and what was taken out of them.
    fn weights(
        &self,
        arch: Arch,
        shared: f64,
        near: f64,
        far: f64,
        excess: f64,
        typical: f64,
    ) -> (Vec<f64>, f64) {
        let count = self.v.len();
        let (mut ln_cq, mut terms) = (vec![0.0; count], vec![0.0; count]);
        let largest = run(
            arch,
            Exponents {
                shape_v: shared,
                shape_q: near,
                power: far - 1.0,
                distance: excess,
                tilt: typical,
                v: &self.v,
                q: &self.q,
                ln_v: &self.ln_v,
                ln_q: &self.ln_q,
                ln_cq: &mut ln_cq,
                out: &mut terms,
            },
        );
        let (left, right) = (left_out(shared), left_out(near));
        let reference = vec![largest; count];
        run(arch, Exponentiate { factor: left * right, reference: &reference, values: &mut terms });
        for term in &mut terms {
            if *term < 1e-30 * left * right {
                *term = 0.0;
            }
        }
        let close = |shape: f64, left_out: f64| -> [f64; INNER_CLOSING] {
            let weights = exponential_tail::integer_spaced_weights(shape, self.step);
            // relative to the ordinary weight, which contains the factor left out
            if shape >= 1.0 { weights.map(|w| w / shape) } else { weights.map(|w| w / left_out) }
        };
        for (j, w) in close(shared, left).iter().rev().enumerate() {
            terms[j] *= w;
        }
        let onset = 0.3 * ACCURACY.powf(0.25);
        let limit = onset / (1.0 + 10.0 * typical + shared + (1.0 + (far - 1.0).abs()) / excess);
        let last = (((-limit.ln() - self.start) / self.step) as usize).min(count - INNER_CLOSING);
        for (j, w) in close(near, right).iter().enumerate() {
            terms[last + j] *= w;
        }
        terms[last + INNER_CLOSING..].fill(0.0);
        (terms, largest)
    }
}

/// Vanishing values, of either sign, become 0: arithmetic with numbers below 1e-308 is a hundred times slower.
pub(crate) fn flush(values: &mut [f64]) {
    values.iter_mut().for_each(|value| *value = if value.abs() < 1e-250 { 0.0 } else { *value });
}
