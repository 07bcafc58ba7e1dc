//! The vector loops of the quadrature; every one runs over whole groups of four nodes.

use pulp::{Arch, Simd, WithSimd};

use crate::math::vector::{exp, fma, ln};

/// Nodes are handled in groups of this size, whatever the instruction set.
pub(crate) const GROUP: usize = 4;

/// Values of the map z ↦ v = 1/(1+e⁻ᶻ) on a stretch of the lattice z₀ + i h.
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

/// Logarithms of an inner integrand at the nodes, and ln(c+q) for those who need it.
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
        for i in 0..out.len() {
            let log = ln(simd, simd.add_f64s(distance, q[i]));
            ln_cq[i] = log;
            let sum = fma(simd, shape_v, ln_v[i], simd.mul_f64s(shape_q, ln_q[i]));
            let sum = fma(simd, power, log, fma(simd, tilt, v[i], sum));
            largest = simd.max_f64s(largest, sum);
            out[i] = sum;
        }
        simd.reduce_max_f64s(largest)
    }
}

/// Turns exponents into terms at the first s, and the factor from one s to the next.
pub(crate) struct Terms<'a> {
    /// Subtracted from every exponent.
    pub(crate) offset: f64,
    /// Coefficient of v − `pivot` to be added.
    pub(crate) shift: f64,
    /// Coefficient of v − `pivot` in the step.
    pub(crate) step: f64,
    pub(crate) pivot: f64,
    pub(crate) v: &'a [f64],
    pub(crate) exponents: &'a [f64],
    pub(crate) terms: &'a mut [f64],
    pub(crate) ratios: &'a mut [f64],
}

impl WithSimd for Terms<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (v, _) = S::as_simd_f64s(self.v);
        let (exponents, _) = S::as_simd_f64s(self.exponents);
        let (terms, _) = S::as_mut_simd_f64s(self.terms);
        let (ratios, _) = S::as_mut_simd_f64s(self.ratios);
        let (offset, pivot) = (simd.splat_f64s(self.offset), simd.splat_f64s(self.pivot));
        let (shift, step) = (simd.splat_f64s(self.shift), simd.splat_f64s(self.step));
        for i in 0..terms.len() {
            let away = simd.sub_f64s(v[i], pivot);
            let exponent = simd.sub_f64s(exponents[i], offset);
            terms[i] = exp(simd, fma(simd, shift, away, exponent));
            ratios[i] = exp(simd, simd.mul_f64s(step, away));
        }
    }
}

/// Sums the terms at four successive s and moves them on by four steps.
pub(crate) struct FourSums<'a> {
    pub(crate) terms: &'a mut [f64],
    pub(crate) ratios: &'a [f64],
}

impl WithSimd for FourSums<'_> {
    type Output = [f64; 4];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 4] {
        let (terms, _) = S::as_mut_simd_f64s(self.terms);
        let (ratios, _) = S::as_simd_f64s(self.ratios);
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
}

/// Σ wᵢ exp(exponentᵢ − offset + shift (vᵢ − pivot)): one inner integral at one s.
pub(crate) struct OneSum<'a> {
    pub(crate) offset: f64,
    pub(crate) shift: f64,
    pub(crate) pivot: f64,
    pub(crate) v: &'a [f64],
    pub(crate) exponents: &'a [f64],
    pub(crate) weights: &'a [f64],
}

impl WithSimd for OneSum<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let (v, _) = S::as_simd_f64s(self.v);
        let (exponents, _) = S::as_simd_f64s(self.exponents);
        let (weights, _) = S::as_simd_f64s(self.weights);
        let (offset, pivot) = (simd.splat_f64s(self.offset), simd.splat_f64s(self.pivot));
        let shift = simd.splat_f64s(self.shift);
        let mut sum = simd.splat_f64s(0.0);
        for i in 0..v.len() {
            let away = simd.sub_f64s(v[i], pivot);
            let exponent = fma(simd, shift, away, simd.sub_f64s(exponents[i], offset));
            sum = fma(simd, weights[i], exp(simd, exponent), sum);
        }
        simd.reduce_sum_f64s(sum)
    }
}

/// Runs a loop with the best instruction set of the machine.
#[inline]
pub(crate) fn run<T: WithSimd>(arch: Arch, task: T) -> T::Output {
    arch.dispatch(task)
}
