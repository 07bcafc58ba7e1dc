//! Vector loops of the exact density; all run over whole groups of four nodes.

use pulp::{Arch, Simd, WithSimd};

use super::shared::{Parts, SharedIntegral};
use consilience_numerics::vector::{exp, fma, ln};

/// Nodes per group, for every instruction set.
pub(crate) const GROUP: usize = 4;

/// Values of the map z ↦ v = 1/(1+e⁻ᶻ) at z = z₀ + i h.
pub(crate) struct FillNodes<'a> {
    /// z of the first node and the step.
    pub(crate) first: f64,
    pub(crate) step: f64,
    /// v, 1 − v and their logarithms.
    pub(crate) v: &'a mut [f64],
    pub(crate) q: &'a mut [f64],
    pub(crate) ln_v: &'a mut [f64],
    pub(crate) ln_q: &'a mut [f64],
}

impl WithSimd for FillNodes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (i, z) in self.v.iter_mut().enumerate() {
            *z = self.first + self.step * i as f64;
        }
        let (v, _) = S::as_mut_simd_f64s(self.v);
        let (q, _) = S::as_mut_simd_f64s(self.q);
        let (ln_v, _) = S::as_mut_simd_f64s(self.ln_v);
        let (ln_q, _) = S::as_mut_simd_f64s(self.ln_q);
        let (one, zero) = (simd.splat_f64s(1.0), simd.splat_f64s(0.0));
        for (((v, q), ln_v), ln_q) in v.iter_mut().zip(q).zip(ln_v).zip(ln_q) {
            let z = *v;
            let t = exp(simd, simd.neg_f64s(simd.abs_f64s(z)));
            let sum = simd.add_f64s(one, t);
            let (large, log) = (simd.div_f64s(one, sum), simd.neg_f64s(ln(simd, sum)));
            let small = simd.mul_f64s(t, large);
            let positive = simd.greater_than_or_equal_f64s(z, zero);
            let log_small = simd.sub_f64s(log, simd.abs_f64s(z));
            *v = simd.select_f64s(positive, large, small);
            *q = simd.select_f64s(positive, small, large);
            *ln_v = simd.select_f64s(positive, log, log_small);
            *ln_q = simd.select_f64s(positive, log_small, log);
        }
    }
}

/// Logarithms of the integrand over a shared gamma at its nodes, and ln(c+q).
///
/// `out = δ ln v + a ln q + b ln(c+q) + w v`
pub(crate) struct Exponents<'a> {
    pub(crate) shape_v: f64,
    pub(crate) shape_q: f64,
    pub(crate) power: f64,
    pub(crate) distance: f64,
    pub(crate) tilt: f64,
    pub(crate) v: &'a [f64],
    pub(crate) q: &'a [f64],
    pub(crate) ln_v: &'a [f64],
    pub(crate) ln_q: &'a [f64],
    pub(crate) ln_cq: &'a mut [f64],
    pub(crate) out: &'a mut [f64],
}

impl WithSimd for Exponents<'_> {
    /// The largest.
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let (v, _) = S::as_simd_f64s(self.v);
        let (q, _) = S::as_simd_f64s(self.q);
        let (ln_v, _) = S::as_simd_f64s(self.ln_v);
        let (ln_q, _) = S::as_simd_f64s(self.ln_q);
        let (ln_cq, _) = S::as_mut_simd_f64s(self.ln_cq);
        let (out, _) = S::as_mut_simd_f64s(self.out);
        let (shape_v, shape_q) = (simd.splat_f64s(self.shape_v), simd.splat_f64s(self.shape_q));
        let (power, tilt) = (simd.splat_f64s(self.power), simd.splat_f64s(self.tilt));
        let distance = simd.splat_f64s(self.distance);
        let mut largest = simd.splat_f64s(f64::NEG_INFINITY);
        let nodes = v.iter().zip(q).zip(ln_v).zip(ln_q);
        for ((((&v, &q), &ln_v), &ln_q), (ln_cq, out)) in nodes.zip(ln_cq.iter_mut().zip(out)) {
            let log = ln(simd, simd.add_f64s(distance, q));
            *ln_cq = log;
            let sum = fma(simd, shape_v, ln_v, simd.mul_f64s(shape_q, ln_q));
            *out = fma(simd, power, log, fma(simd, tilt, v, sum));
            largest = simd.max_f64s(largest, *out);
        }
        simd.reduce_max_f64s(largest)
    }
}

/// Computes the terms of one component at the first s, and their ratios from one s to the next.
#[inline(always)]
fn start<S: Simd>(simd: S, parts: &mut Parts<'_>, from_centre: f64, step: f64) {
    let (v, _) = S::as_simd_f64s(parts.v);
    let (exponents, _) = S::as_simd_f64s(parts.exponents);
    let (terms, _) = S::as_mut_simd_f64s(parts.terms);
    let (ratios, _) = S::as_mut_simd_f64s(parts.ratios);
    let (offset, pivot) = (simd.splat_f64s(parts.offset), simd.splat_f64s(parts.pivot));
    let shift = simd.splat_f64s(from_centre * parts.smaller);
    let step = simd.splat_f64s(step * parts.smaller);
    for (((term, ratio), &v), &exponent) in terms.iter_mut().zip(ratios).zip(v).zip(exponents) {
        let away = simd.sub_f64s(v, pivot);
        *term = exp(simd, fma(simd, shift, away, simd.sub_f64s(exponent, offset)));
        *ratio = exp(simd, simd.mul_f64s(step, away));
    }
    if let Some(weights) = parts.weights {
        for (term, &weight) in terms.iter_mut().zip(S::as_simd_f64s(weights).0) {
            *term = simd.mul_f64s(*term, weight);
        }
    }
}

/// Sums the terms of one component at four successive s, and advances them by four steps.
#[inline(always)]
fn four_sums<S: Simd>(simd: S, terms: &mut [f64], ratios: &[f64]) -> [f64; 4] {
    let (terms, _) = S::as_mut_simd_f64s(terms);
    let (ratios, _) = S::as_simd_f64s(ratios);
    let mut sums = [simd.splat_f64s(0.0); 4];
    for (term, &ratio) in terms.iter_mut().zip(ratios) {
        let mut t = *term;
        for sum in &mut sums {
            *sum = simd.add_f64s(*sum, t);
            t = simd.mul_f64s(t, ratio);
        }
        *term = t;
    }
    sums.map(|sum| simd.reduce_sum_f64s(sum))
}

/// The sum over equidistant s = centre · t_k.
pub(crate) struct Equidistant<'a, I> {
    /// The integrals over the shared gammas.
    pub(crate) inner: &'a mut [I],
    pub(crate) active: &'a [usize],
    /// t_k and (N−1) ln t_k, in whole groups; the first is the lowest.
    pub(crate) grid: &'a [f64],
    pub(crate) ln_grid: &'a [f64],
    pub(crate) centre: f64,
    /// The rate of the exponential in s without the pivots.
    pub(crate) rate: f64,
    /// The sum ends at terms smaller than this times the largest.
    pub(crate) cut: f64,
    /// Receives the terms, for derivatives.
    pub(crate) record: Option<&'a mut TermRecord>,
}

/// Terms of a sum over s and the sums over shared gammas in them, for derivatives.
#[derive(Debug, Clone, Default)]
pub(crate) struct TermRecord {
    /// One per point in s.
    pub(crate) terms: Vec<f64>,
    /// The sums of all active components, point by point.
    pub(crate) sums: Vec<f64>,
    /// s of each point, less the centre.
    pub(crate) from_centre: Vec<f64>,
}

impl TermRecord {
    pub(crate) fn clear(&mut self) {
        self.terms.clear();
        self.sums.clear();
        self.from_centre.clear();
    }
}

/// The result of a sum over equidistant s.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SumOverS {
    pub(crate) even: f64,
    pub(crate) odd: f64,
    pub(crate) first: f64,
    pub(crate) last: f64,
    pub(crate) largest: f64,
    /// Index of the largest term.
    pub(crate) best: usize,
}

impl WithSimd for Equidistant<'_, SharedIntegral> {
    type Output = SumOverS;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> SumOverS {
        let n_active = self.active.len();
        let step = self.centre * (self.grid[1] - self.grid[0]);
        let from_centre = self.centre * (self.grid[0] - 1.0);
        for &l in self.active {
            start(simd, &mut self.inner[l].parts(), from_centre, step);
        }
        let mut out = SumOverS::default();
        let rate = -self.rate * self.centre;
        for (block, (t, ln_t)) in
            self.grid.chunks_exact(GROUP).zip(self.ln_grid.chunks_exact(GROUP)).enumerate()
        {
            let mut product = four_powers(simd, t, ln_t, rate);
            if let Some(record) = &mut self.record {
                record.sums.resize((block + 1) * GROUP * n_active, 0.0);
                record.from_centre.extend(t.iter().map(|t| self.centre * (t - 1.0)));
            }
            for (a, &l) in self.active.iter().enumerate() {
                let (terms, ratios) = self.inner[l].terms_and_ratios();
                let sums = four_sums(simd, terms, ratios);
                if let Some(record) = &mut self.record {
                    for (i, sum) in sums.iter().enumerate() {
                        record.sums[(block * GROUP + i) * n_active + a] = *sum;
                    }
                }
                for (p, sum) in product.iter_mut().zip(sums) {
                    *p *= sum;
                }
            }
            if let Some(record) = &mut self.record {
                record.terms.extend(product);
            }
            if block == 0 {
                out.first = product[0];
            }
            for (i, &p) in product.iter().enumerate() {
                if p > out.largest {
                    (out.largest, out.best) = (p, GROUP * block + i);
                }
            }
            out.even += product[0] + product[2];
            out.odd += product[1] + product[3];
            out.last = product[3];
            // far below the centre all terms may be the smallest number
            if t[GROUP - 1] > 1.0 && out.last < self.cut * out.largest {
                break;
            }
        }
        out
    }
}

/// exp(ln t_k + rate (t_k − 1)) for four k.
#[inline(always)]
fn four_powers<S: Simd>(simd: S, t: &[f64], ln_t: &[f64], rate: f64) -> [f64; 4] {
    let mut out = [0.0; GROUP];
    let (t, _) = S::as_simd_f64s(t);
    let (ln_t, _) = S::as_simd_f64s(ln_t);
    let (powers, _) = S::as_mut_simd_f64s(&mut out);
    for i in 0..powers.len() {
        let away = simd.sub_f64s(t[i], simd.splat_f64s(1.0));
        powers[i] = exp(simd, fma(simd, simd.splat_f64s(rate), away, ln_t[i]));
    }
    out
}

/// The sum over the points of a Gauss-Laguerre rule in s.
pub(crate) struct AtNodes<'a, I> {
    pub(crate) inner: &'a mut [I],
    pub(crate) active: &'a [usize],
    pub(crate) nodes: &'a [f64],
    pub(crate) ln_weights: &'a [f64],
    /// The largest of them, which is taken out.
    pub(crate) largest: f64,
    pub(crate) centre: f64,
    /// s = node / scale; the exponential rate left in the integrand; tilt of the pivots.
    pub(crate) scale: f64,
    pub(crate) rate: f64,
    pub(crate) tilt: f64,
    pub(crate) record: Option<&'a mut TermRecord>,
}

impl WithSimd for AtNodes<'_, SharedIntegral> {
    /// The sum and the s of its largest term.
    type Output = (f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> (f64, f64) {
        let (mut sum, mut largest, mut best) = (0.0, 0.0, self.centre);
        for (node, weight) in self.nodes.iter().zip(self.ln_weights) {
            let s = node / self.scale;
            let away = s - self.centre;
            let mut term = (weight - self.largest - self.rate * s + self.tilt * away).exp();
            for &l in self.active {
                let inner = one_sum(simd, &self.inner[l].parts(), away);
                term *= inner;
                if let Some(record) = &mut self.record {
                    record.sums.push(inner);
                }
            }
            if let Some(record) = &mut self.record {
                record.terms.push(term);
                record.from_centre.push(away);
            }
            sum += term;
            if term > largest {
                (largest, best) = (term, s);
            }
        }
        (sum, best)
    }
}

/// The sum over the shared gamma of one component at one s.
#[inline(always)]
fn one_sum<S: Simd>(simd: S, parts: &Parts<'_>, from_centre: f64) -> f64 {
    let (v, _) = S::as_simd_f64s(parts.v);
    let (exponents, _) = S::as_simd_f64s(parts.exponents);
    let (offset, pivot) = (simd.splat_f64s(parts.offset), simd.splat_f64s(parts.pivot));
    let shift = simd.splat_f64s(from_centre * parts.smaller);
    let weights = parts.weights.map(|weights| S::as_simd_f64s(weights).0);
    let mut sum = simd.splat_f64s(0.0);
    for i in 0..v.len() {
        let away = simd.sub_f64s(v[i], pivot);
        let exponent = fma(simd, shift, away, simd.sub_f64s(exponents[i], offset));
        let term = exp(simd, exponent);
        sum = match weights {
            Some(weights) => fma(simd, weights[i], term, sum),
            None => simd.add_f64s(sum, term),
        };
    }
    simd.reduce_sum_f64s(sum)
}

/// The normalised terms of one component at its nodes, summed over the points in s.
pub(crate) struct Posterior<'a> {
    pub(crate) parts: Parts<'a>,
    pub(crate) from_centre: &'a [f64],
    /// The share of a point in the sum over s, divided by the sum of the component there.
    pub(crate) coefficients: &'a [f64],
    /// Receives Σ vᵢ termᵢ of every point.
    pub(crate) means: &'a mut [f64],
}

impl WithSimd for Posterior<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let parts = self.parts;
        let (v, _) = S::as_simd_f64s(parts.v);
        let (exponents, _) = S::as_simd_f64s(parts.exponents);
        let (posterior, _) = S::as_mut_simd_f64s(parts.posterior);
        let weights = parts.weights.map(|weights| S::as_simd_f64s(weights).0);
        let (offset, pivot) = (simd.splat_f64s(parts.offset), simd.splat_f64s(parts.pivot));
        let zero = simd.splat_f64s(0.0);
        for p in posterior.iter_mut() {
            *p = zero;
        }
        for ((&away, &coefficient), mean) in
            self.from_centre.iter().zip(self.coefficients).zip(self.means)
        {
            let shift = simd.splat_f64s(away * parts.smaller);
            let coefficient = simd.splat_f64s(coefficient);
            let mut sum = zero;
            for i in 0..v.len() {
                let d = simd.sub_f64s(v[i], pivot);
                let exponent = fma(simd, shift, d, simd.sub_f64s(exponents[i], offset));
                let mut term = exp(simd, exponent);
                if let Some(weights) = weights {
                    term = simd.mul_f64s(term, weights[i]);
                }
                posterior[i] = fma(simd, coefficient, term, posterior[i]);
                sum = fma(simd, term, v[i], sum);
            }
            *mean = simd.reduce_sum_f64s(sum);
        }
    }
}

/// Runs a vector loop with the best instruction set of the machine.
#[inline]
pub(crate) fn run<T: WithSimd>(arch: Arch, task: T) -> T::Output {
    arch.dispatch(task)
}
