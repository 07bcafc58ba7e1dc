//! The integral over the shared gamma of one component: a trapezoid rule in the logit of its share v of the smaller total.
//!
//! With m the smaller of s₁x¹ and s₂x² (in units of s₂), c = e^|y−yₗ| − 1 the distance to the kink,
//! v = 1/(1+e⁻ᶻ) and q = 1 − v:
//!
//! ```text
//! φ = m^(δ+a¹+a²−2) ∫ exp(δ ln v + a ln q + (b−1) ln(c+q) + s m v) dz
//! ```
//!
//! a is the private shape of the smaller of the two, b that of the larger. The singularities lie at Im z = π for every c,
//! so that one step serves all distances from the kink; ends at which the integrand does not vanish are summed in closed form.

use std::f64::consts::TAU;
use std::ops::Range;

use pulp::Arch;

use super::constants::{KINK_ALLOWANCE, LENGTH, SHARED_CLOSING as CLOSING};
use super::kernel::{Exponents, FillNodes, GROUP, run};
use super::kinks::AtKink;
use super::trapezoid_error::EndShapes;
use crate::pair::accuracy::Accuracy;
use crate::pair::component::left_out;
use crate::pair::item::Side;
use crate::pair::laplace::Share;
use consilience_numerics::exponential_tail;

/// The index of the node at the mode of the Laplace approximation.
const ORIGIN: usize = LENGTH / 2;

/// The nodes of one component, and its terms at the current ratio.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedIntegral {
    step: f64,
    centre: f64,
    /// The nodes computed so far.
    filled: Range<usize>,
    v: Vec<f64>,
    q: Vec<f64>,
    ln_v: Vec<f64>,
    ln_q: Vec<f64>,
    ln_cq: Vec<f64>,
    exponents: Vec<f64>,
    weights: Vec<f64>,
    pub(crate) terms: Vec<f64>,
    pub(crate) ratios: Vec<f64>,
    posterior: Vec<f64>,
    /// The nodes in use at the current ratio, in whole groups.
    pub(crate) window: Range<usize>,
    closed: [Closed; 2],
    side: Side,
    largest: f64,
    /// The node of the largest term, and its v.
    peak: usize,
    pub(crate) pivot: f64,
    ln_step: f64,
    /// All weights are equal and part of the constant.
    plain: bool,
    /// The ends that the step was chosen for, and −ln of half the relative error of the rule for them.
    ends: EndShapes,
    level: f64,
    /// The same at the current ratio, where the integrand may be narrower than the Laplace approximation.
    pub(crate) line_level: f64,
}

/// A closed end: its innermost node, and the weights of its nodes from there outwards.
#[derive(Debug, Clone, Copy, Default)]
struct Closed {
    node: Option<usize>,
    weights: [f64; CLOSING],
    key: f64,
}

impl SharedIntegral {
    /// Prepares the nodes for a new item.
    ///
    /// The step suits the integrand at the mode of the Laplace approximation and, as far as ratios near it matter, at the
    /// kink of the component.
    pub(crate) fn reset(&mut self, share: Share, kink: AtKink, target: f64, refine: f64) {
        if self.v.is_empty() {
            for array in [
                &mut self.v,
                &mut self.q,
                &mut self.ln_v,
                &mut self.ln_q,
                &mut self.ln_cq,
                &mut self.exponents,
                &mut self.weights,
                &mut self.terms,
                &mut self.ratios,
                &mut self.posterior,
            ] {
                array.resize(LENGTH, 0.0);
            }
        }
        let ends = EndShapes::new(share);
        let mut omega = ends.frequency(target);
        let narrower = kink.precision / ends.precision();
        let wanted = target - kink.tail - KINK_ALLOWANCE;
        if narrower > 1.05 && wanted > 1.0 {
            omega = omega.max(ends.scaled(narrower).frequency(wanted));
        }
        omega /= refine;
        self.step = TAU / omega;
        self.ends = ends;
        self.level = ends.level(omega).0;
        self.line_level = self.level;
        self.ln_step = self.step.ln();
        self.peak = ORIGIN;
        self.centre = share.logit;
        self.filled = ORIGIN..ORIGIN;
        self.window = ORIGIN - 2 * GROUP..ORIGIN + 2 * GROUP;
        self.closed = [Closed::default(); 2];
    }

    fn z(&self, index: usize) -> f64 {
        self.centre + self.step * (index as f64 - ORIGIN as f64)
    }

    fn fill(&mut self, arch: Arch) {
        let (start, end) = (self.window.start, self.window.end);
        if self.filled.is_empty() {
            self.filled = start..start;
        }
        if start < self.filled.start {
            self.fill_range(arch, start..self.filled.start);
            self.filled.start = start;
        }
        if end > self.filled.end {
            self.fill_range(arch, self.filled.end..end);
            self.filled.end = end;
        }
    }

    fn fill_range(&mut self, arch: Arch, range: Range<usize>) {
        let first = self.z(range.start);
        run(
            arch,
            FillNodes {
                first,
                step: self.step,
                v: &mut self.v[range.clone()],
                q: &mut self.q[range.clone()],
                ln_v: &mut self.ln_v[range.clone()],
                ln_q: &mut self.ln_q[range],
            },
        );
    }

    fn exponents(&mut self, arch: Arch, range: Range<usize>, s: f64) -> f64 {
        let side = self.side;
        run(
            arch,
            Exponents {
                shape_v: side.shared,
                shape_q: side.near,
                power: side.far - 1.0,
                distance: side.distance,
                tilt: s * side.smaller,
                v: &self.v[range.clone()],
                q: &self.q[range.clone()],
                ln_v: &self.ln_v[range.clone()],
                ln_q: &self.ln_q[range.clone()],
                ln_cq: &mut self.ln_cq[range.clone()],
                out: &mut self.exponents[range],
            },
        )
    }

    /// Prepares one ratio at the central s: exponents, window, closed ends. Returns the logarithm of the factors that the
    /// terms leave out.
    pub(crate) fn prepare(&mut self, arch: Arch, accuracy: &Accuracy, side: Side, s: f64) -> f64 {
        self.side = side;
        let power = side.shared + side.near + side.far - 2.0;
        let constant = power * side.ln_smaller + side.ln_constant;
        if side.near == 0.0 {
            return constant + self.prepare_boundary(s);
        }
        self.fill(arch);
        self.largest = self.exponents(arch, self.window.clone(), s);
        let onsets = self.onsets(accuracy, s);
        self.settle_left(arch, accuracy, s, onsets[0]);
        self.settle_right(arch, accuracy, s, onsets[1]);
        self.find_peak();
        self.judge_peak();
        constant + self.set_weights() + self.ln_step + self.largest
    }

    /// A private shape of 0: all mass is at q = 0, which is a single node.
    fn prepare_boundary(&mut self, s: f64) -> f64 {
        let side = self.side;
        self.window = ORIGIN..ORIGIN + GROUP;
        self.line_level = f64::INFINITY;
        self.filled = ORIGIN..ORIGIN;
        self.largest = 0.0;
        self.pivot = 1.0;
        self.plain = false;
        for i in self.window.clone() {
            self.v[i] = 1.0;
            self.exponents[i] = 0.0;
            self.weights[i] = 0.0;
        }
        self.weights[ORIGIN] = 1.0;
        (side.far - 1.0) * side.distance.ln() + s * side.smaller
    }

    /// The odds v/q below which the left end, and q/v below which the right end, is a sum of known exponentials.
    fn onsets(&self, accuracy: &Accuracy, s: f64) -> [f64; 2] {
        let side = self.side;
        let tilt = s * side.smaller;
        let left = 1.0 + tilt + side.near + side.far / (1.0 + side.distance);
        let right = 1.0 + tilt + side.shared + (1.0 + (side.far - 1.0).abs()) / side.distance;
        [accuracy.onset / left, accuracy.onset / right]
    }

    /// Whether a node lies beyond the onset of the left end.
    fn beyond_left(&self, node: usize, onset: f64) -> bool {
        self.v[node] <= onset * self.q[node]
    }

    /// Whether a node lies beyond the onset of the right end.
    fn beyond_right(&self, node: usize, onset: f64) -> bool {
        self.q[node] < onset * self.v[node]
    }

    /// Moves the left end of the window to where terms are negligible, or to the last node that closes the end.
    fn settle_left(&mut self, arch: Arch, accuracy: &Accuracy, s: f64, onset: f64) {
        let cut = accuracy.cut_inner - self.side.ln_left_out[0];
        let is_closed = |this: &Self| this.beyond_left(this.window.start + CLOSING - 1, onset);
        while self.window.start >= GROUP
            && self.exponents[self.window.start] > self.largest - cut
            && !is_closed(self)
        {
            let range = self.window.start - GROUP..self.window.start;
            self.window.start -= GROUP;
            self.fill(arch);
            self.largest = self.largest.max(self.exponents(arch, range, s));
        }
        while self.window.start + 2 * GROUP < self.window.end
            && self.exponents[self.window.start + GROUP] < self.largest - cut
            && self.exponents[self.window.start + GROUP] > self.exponents[self.window.start]
        {
            self.window.start += GROUP;
        }
        while self.window.start + 2 * GROUP < self.window.end
            && self.beyond_left(self.window.start + GROUP + CLOSING - 1, onset)
        {
            self.window.start += GROUP;
        }
        let closed = is_closed(self).then(|| {
            let mut nodes = self.window.start + CLOSING..self.window.end;
            nodes.find(|&node| !self.beyond_left(node, onset)).map(|node| node - 1)
        });
        self.close(0, closed.flatten(), self.side.shared);
    }

    /// The same for the right end.
    fn settle_right(&mut self, arch: Arch, accuracy: &Accuracy, s: f64, onset: f64) {
        let cut = accuracy.cut_inner - self.side.ln_left_out[1];
        let is_closed = |this: &Self| this.beyond_right(this.window.end - CLOSING, onset);
        let rising = self.side.near + self.side.far < 1.05;
        while self.window.end + GROUP <= LENGTH && !is_closed(self) {
            let last = self.window.end - 1;
            let beyond_kink = !rising || self.q[last] < self.side.distance;
            if beyond_kink && self.exponents[last] <= self.largest - cut {
                break;
            }
            let range = self.window.end..self.window.end + GROUP;
            self.window.end += GROUP;
            self.fill(arch);
            self.largest = self.largest.max(self.exponents(arch, range, s));
        }
        while self.window.start + 2 * GROUP < self.window.end
            && self.exponents[self.window.end - 1 - GROUP] < self.largest - cut
            && self.exponents[self.window.end - 1 - GROUP] > self.exponents[self.window.end - 1]
        {
            self.window.end -= GROUP;
        }
        while self.window.start + 2 * GROUP < self.window.end
            && self.beyond_right(self.window.end - GROUP - CLOSING, onset)
        {
            self.window.end -= GROUP;
        }
        let closed = is_closed(self).then(|| {
            let mut nodes = (self.window.start..self.window.end - CLOSING).rev();
            nodes.find(|&node| !self.beyond_right(node, onset)).map(|node| node + 1)
        });
        self.close(1, closed.flatten(), self.side.near);
    }

    fn close(&mut self, end: usize, node: Option<usize>, shape: f64) {
        let closed = &mut self.closed[end];
        closed.node = node;
        if node.is_some() && (closed.key.to_bits() != shape.to_bits() || closed.weights[0] == 0.0) {
            closed.key = shape;
            closed.weights = exponential_tail::integer_spaced_weights(shape, self.step);
            if shape >= 1.0 {
                closed.weights = closed.weights.map(|w| w / shape);
            }
        }
    }

    /// Sets the weights of the nodes; returns the logarithm of their common factor.
    fn set_weights(&mut self) -> f64 {
        self.plain = self.closed[0].node.is_none() && self.closed[1].node.is_none();
        if self.plain {
            return self.side.ln_left_out.iter().sum();
        }
        let (left, right) = (left_out(self.side.shared), left_out(self.side.near));
        self.weights[self.window.clone()].fill(left * right);
        if let Some(node) = self.closed[0].node {
            let beyond = (node + 1).saturating_sub(CLOSING);
            self.weights[self.window.start..beyond.max(self.window.start)].fill(0.0);
            for (j, w) in self.closed[0].weights.iter().enumerate() {
                self.weights[node - j] = w * right;
            }
        }
        if let Some(node) = self.closed[1].node {
            let beyond = (node + CLOSING).min(self.window.end);
            self.weights[beyond..self.window.end].fill(0.0);
            for (j, w) in self.closed[1].weights.iter().enumerate() {
                self.weights[node + j] = w * left;
            }
        }
        0.0
    }

    /// Finds the largest term, starting from that of the last ratio.
    fn find_peak(&mut self) {
        let Range { start, end } = self.window;
        let e = &self.exponents[..end];
        let mut i = self.peak.clamp(start, end - 1);
        while i + 1 < end && e[i + 1] > e[i] {
            i += 1;
        }
        while i > start && e[i - 1] > e[i] {
            i -= 1;
        }
        self.peak = i;
        self.pivot = self.v[i];
    }

    /// Estimates the error of the rule at this ratio from the curvature at the largest term.
    ///
    /// The step was chosen for the mode of the Laplace approximation. Near a kink between unequal private shapes the larger
    /// shape of the other side makes the integrand narrower, as if the shapes of the ends were larger.
    fn judge_peak(&mut self) {
        self.line_level = self.level;
        let i = self.peak;
        if i > self.window.start && i + 1 < self.window.end {
            let e = &self.exponents[i - 1..=i + 1];
            let precision = (2.0 * e[1] - e[0] - e[2]) / (self.step * self.step);
            let narrower = precision / self.ends.precision();
            if narrower > 1.05 {
                self.line_level = self.ends.scaled(narrower).level(TAU / self.step).0;
            }
        }
    }

    /// The terms at the current s and their ratios to those at the next.
    pub(crate) fn terms_and_ratios(&mut self) -> (&mut [f64], &[f64]) {
        let window = self.window.clone();
        (&mut self.terms[window.clone()], &self.ratios[window])
    }

    /// The nodes as the sums over s need them; valid after `prepare`.
    pub(crate) fn parts(&mut self) -> Parts<'_> {
        let window = self.window.clone();
        Parts {
            offset: self.largest,
            pivot: self.pivot,
            smaller: self.side.smaller,
            v: &self.v[window.clone()],
            exponents: &self.exponents[window.clone()],
            weights: if self.plain { None } else { Some(&self.weights[window.clone()]) },
            terms: &mut self.terms[window.clone()],
            ratios: &mut self.ratios[window.clone()],
            posterior: &mut self.posterior[window],
        }
    }
}

/// Derivatives of one component's inner integral in its three shapes.
impl SharedIntegral {
    /// E[ln v], E[ln q] and E[ln(c+q)] over the terms, with the derivatives of closed ends and of the factors left out of Γ; in
    /// the order shared, near, far.
    pub(crate) fn shape_slopes(&self) -> [f64; 3] {
        let side = self.side;
        if side.near == 0.0 {
            return [0.0, f64::NEG_INFINITY, side.distance.ln()];
        }
        let mut sums = [0.0; 3];
        for i in self.window.clone() {
            let p = self.posterior[i];
            sums[0] += p * self.ln_v[i];
            sums[1] += p * self.ln_q[i];
            sums[2] += p * self.ln_cq[i];
        }
        sums[0] += self.weight_slope(0, side.shared);
        sums[1] += self.weight_slope(1, side.near);
        sums
    }

    /// Σ pᵢ ∂ln wᵢ/∂shape of one end.
    fn weight_slope(&self, end: usize, shape: f64) -> f64 {
        let mut ordinary = self.posterior[self.window.clone()].iter().sum::<f64>();
        let mut sum = 0.0;
        if let Some(node) = self.closed[end].node {
            let mut slopes =
                exponential_tail::integer_spaced_weights_derivative::<CLOSING>(shape, self.step);
            if shape >= 1.0 {
                for (slope, w) in slopes.iter_mut().zip(self.closed[end].weights) {
                    *slope = (*slope - w) / shape;
                }
            }
            for (j, slope) in slopes.iter().enumerate() {
                let p = self.posterior[if end == 0 { node - j } else { node + j }];
                ordinary -= p;
                sum += p * slope / self.closed[end].weights[j];
            }
        }
        if shape < 1.0 { sum + ordinary / shape } else { sum }
    }

    /// The side of the kink at the current ratio.
    pub(crate) fn side(&self) -> Side {
        self.side
    }
}

/// The nodes of one component at the current ratio.
pub(crate) struct Parts<'a> {
    /// The largest exponent.
    pub(crate) offset: f64,
    /// v near the largest term.
    pub(crate) pivot: f64,
    pub(crate) smaller: f64,
    pub(crate) v: &'a [f64],
    pub(crate) exponents: &'a [f64],
    /// None if all are 1.
    pub(crate) weights: Option<&'a [f64]>,
    pub(crate) terms: &'a mut [f64],
    pub(crate) ratios: &'a mut [f64],
    pub(crate) posterior: &'a mut [f64],
}
