//! The softmax of a block of items, class by class. (See `block.rs` on why kernels are types.)

use pulp::{Simd, WithSimd};

use consilience_numerics::vector;

/// Kernel: softmax over classes of every item at once. Infinite weights (densities at exact ties) share
/// the mass among themselves; an item without any weight gets equal shares.
///
/// The probabilities replace the values or, times a weight, are added to a mixture.
pub(super) struct SoftmaxColumns<'a> {
    pub(super) values: &'a mut [f64],
    pub(super) n_classes: usize,
    pub(super) mixture: Option<(&'a mut [f64], f64)>,
}

impl WithSimd for SoftmaxColumns<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let n_classes = self.n_classes;
        let values = S::as_mut_simd_f64s(self.values).0;
        let mixture = self
            .mixture
            .map(|(mixture, weight)| (S::as_mut_simd_f64s(mixture).0, simd.splat_f64s(weight)));
        // Loops over a number of classes that the compiler knows are unrolled.
        match n_classes {
            2 => softmax::<S, 2>(simd, values, n_classes, mixture),
            3 => softmax::<S, 3>(simd, values, n_classes, mixture),
            4 => softmax::<S, 4>(simd, values, n_classes, mixture),
            5 => softmax::<S, 5>(simd, values, n_classes, mixture),
            _ => softmax::<S, 0>(simd, values, n_classes, mixture),
        }
    }
}

/// `N` is the number of classes, or 0 for any.
#[inline(always)]
fn softmax<S: Simd, const N: usize>(
    simd: S,
    values: &mut [S::f64s],
    n_classes: usize,
    mut mixture: Option<(&mut [S::f64s], S::f64s)>,
) {
    let n_classes = if N == 0 { n_classes } else { N };
    let n = values.len() / n_classes;
    let (one, zero) = (simd.splat_f64s(1.0), simd.splat_f64s(0.0));
    let underflow = simd.splat_f64s(vector::EXP_UNDERFLOW);
    for item in 0..n {
        let mut max = simd.splat_f64s(f64::NEG_INFINITY);
        for class in 0..n_classes {
            max = simd.max_f64s(max, values[class * n + item]);
        }
        let mut sum = zero;
        for class in 0..n_classes {
            let value = &mut values[class * n + item];
            let below = simd.sub_f64s(*value, max);
            let weight = vector::exp(simd, below);
            let weight = simd.select_f64s(simd.less_than_f64s(below, underflow), zero, weight);
            *value = simd.select_f64s(simd.equal_f64s(*value, max), one, weight);
            sum = simd.add_f64s(sum, *value);
        }
        let scale = simd.div_f64s(one, sum);
        for class in 0..n_classes {
            let place = class * n + item;
            let probability = simd.mul_f64s(values[place], scale);
            match &mut mixture {
                None => values[place] = probability,
                Some((sums, weight)) => {
                    sums[place] = vector::fma(simd, *weight, probability, sums[place]);
                }
            }
        }
    }
}
