//! Exponential and logarithm on vectors of `f64`, for kernels that are compiled for several instruction sets.
//!
//! Both are written with `pulp`'s vector types, so that one source serves AVX2 with fused
//! multiply-add and the portable path with one lane; the two agree to rounding (about 1 ulp).

use pulp::{Simd, bytemuck};

const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Arguments of [`exp`] below this are raised to it; the result, 3e-308, counts as 0.
pub const EXP_UNDERFLOW: f64 = -708.0;
/// 1.5·2⁵²: adding it rounds to an integer, which is then in the lowest bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// a·b + c, fused where the instruction set has it.
#[inline(always)]
pub fn fma<S: Simd>(simd: S, a: S::f64s, b: S::f64s, c: S::f64s) -> S::f64s {
    simd.mul_add_e_f64s(a, b, c)
}

#[inline(always)]
fn horner<S: Simd>(simd: S, coefficients: &[f64], x: S::f64s) -> S::f64s {
    let mut sum = simd.splat_f64s(coefficients[coefficients.len() - 1]);
    for &c in coefficients.iter().rev().skip(1) {
        sum = fma(simd, sum, x, simd.splat_f64s(c));
    }
    sum
}

/// Applies an integer operation to every lane; the loop has a fixed length and compiles to one vector instruction.
#[inline(always)]
fn map_bits<S: Simd>(simd: S, x: S::f64s, f: impl Fn(u64) -> u64) -> S::f64s {
    let mut bits = [simd.transmute_u64s_f64s(x)];
    for lane in bytemuck::cast_slice_mut::<_, u64>(&mut bits) {
        *lane = f(*lane);
    }
    simd.transmute_f64s_u64s(bits[0])
}

/// eˣ for x ≤ 709, to about one unit in the last place; below −708 the value at −708.
///
/// # Numerics
/// x = k ln 2 + r with |r| ≤ ln 2 / 2, then the Taylor polynomial of degree 12 in r, its pairs of
/// terms in parallel.
#[inline(always)]
pub fn exp<S: Simd>(simd: S, x: S::f64s) -> S::f64s {
    let x = simd.max_f64s(x, simd.splat_f64s(EXP_UNDERFLOW));
    let shifted = fma(simd, x, simd.splat_f64s(std::f64::consts::LOG2_E), simd.splat_f64s(ROUNDER));
    let k = simd.sub_f64s(shifted, simd.splat_f64s(ROUNDER));
    let r = fma(simd, k, simd.splat_f64s(-LN2_HIGH), x);
    let r = fma(simd, k, simd.splat_f64s(-LN2_LOW), r);
    let power = map_bits(simd, shifted, |bits| (bits.wrapping_add(1023)) << 52);
    simd.mul_f64s(taylor(simd, r), power)
}

/// Σ rⁿ/n!, n ≤ 12, by Estrin's scheme.
#[inline(always)]
fn taylor<S: Simd>(simd: S, r: S::f64s) -> S::f64s {
    let pair = |low: f64, high: f64| fma(simd, simd.splat_f64s(high), r, simd.splat_f64s(low));
    let r2 = simd.mul_f64s(r, r);
    let r4 = simd.mul_f64s(r2, r2);
    let quad = |low: S::f64s, high: S::f64s| fma(simd, high, r2, low);
    let first = quad(pair(1.0, 1.0), pair(1.0 / 2.0, 1.0 / 6.0));
    let second = quad(pair(1.0 / 24.0, 1.0 / 120.0), pair(1.0 / 720.0, 1.0 / 5_040.0));
    let third =
        quad(pair(1.0 / 40_320.0, 1.0 / 362_880.0), pair(1.0 / 3_628_800.0, 1.0 / 39_916_800.0));
    let last = simd.splat_f64s(1.0 / 479_001_600.0);
    fma(simd, fma(simd, fma(simd, last, r4, third), r4, second), r4, first)
}

/// x = 2ᵏ·m with m in [√½, √2), as (k, m), for positive normal x.
#[inline(always)]
fn split<S: Simd>(simd: S, x: S::f64s) -> (S::f64s, S::f64s) {
    /// Bits of √½.
    const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const TWO_52: u64 = 0x4330_0000_0000_0000;
    // The exponent, biased by 1024 to stay positive, read as the low bits of 2⁵² + k.
    let k = map_bits(simd, x, |bits| {
        ((bits.wrapping_sub(ROOT_HALF).wrapping_add(1024 << 52)) >> 52) | TWO_52
    });
    let k = simd.sub_f64s(k, simd.splat_f64s(4_503_599_627_370_496.0 + 1024.0));
    let mantissa = map_bits(simd, x, |bits| {
        (bits.wrapping_sub(ROOT_HALF) & 0x000f_ffff_ffff_ffff).wrapping_add(ROOT_HALF)
    });
    (k, mantissa)
}

/// ln x for positive normal x, to about one unit in the last place.
///
/// # Numerics
/// x = 2ᵏ(1+f) with 1+f in [√½, √2), then ln(1+f) = 2 artanh(f/(2+f)) by a minimax polynomial.
///
/// # References
/// Coefficients of FreeBSD's `e_log.c` (Sun Microsystems, 1993).
#[inline(always)]
pub fn ln<S: Simd>(simd: S, x: S::f64s) -> S::f64s {
    let (k, mantissa) = split(simd, x);
    ln_of_parts(simd, k, mantissa)
}

/// ln(2ᵏ·m) for m in [√½, √2).
#[inline(always)]
pub fn ln_of_parts<S: Simd>(simd: S, k: S::f64s, mantissa: S::f64s) -> S::f64s {
    const ODD: [f64; 7] = [
        6.666_666_666_666_735e-1,
        3.999_999_999_940_942e-1,
        2.857_142_874_366_239e-1,
        2.222_219_843_214_978_4e-1,
        1.818_357_216_161_805e-1,
        1.531_383_769_920_937_3e-1,
        1.479_819_860_511_658_6e-1,
    ];
    let f = simd.sub_f64s(mantissa, simd.splat_f64s(1.0));
    let s = simd.div_f64s(f, simd.add_f64s(f, simd.splat_f64s(2.0)));
    let square = simd.mul_f64s(s, s);
    let rest = simd.mul_f64s(square, horner(simd, &ODD, square));
    let half = simd.mul_f64s(simd.splat_f64s(0.5), simd.mul_f64s(f, f));
    // ln(1+f) = f − (f²/2 − s(f²/2 + R)), smallest terms first
    let low = fma(simd, k, simd.splat_f64s(LN2_LOW), simd.mul_f64s(s, simd.add_f64s(half, rest)));
    let small = simd.sub_f64s(half, low);
    fma(simd, k, simd.splat_f64s(LN2_HIGH), simd.sub_f64s(f, small))
}

/// The product 2ᵏ·m·x as (k, m), m in [√½, √2), for positive normal m·x.
///
/// Products of many factors may exceed the range of `f64`; their logarithm takes a single [`ln_of_parts`].
#[inline(always)]
pub fn times<S: Simd>(simd: S, (k, m): (S::f64s, S::f64s), x: S::f64s) -> (S::f64s, S::f64s) {
    let (more, m) = split(simd, simd.mul_f64s(m, x));
    (simd.add_f64s(k, more), m)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulp::{Arch, Scalar, WithSimd};

    struct Both<'a>(&'a [f64]);
    impl WithSimd for Both<'_> {
        type Output = Vec<(f64, f64)>;
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let mut out = Vec::new();
            for &x in self.0 {
                let lanes = simd.splat_f64s(x);
                out.push((
                    simd.reduce_max_f64s(exp(simd, lanes)),
                    simd.reduce_max_f64s(ln(simd, simd.splat_f64s(x.abs().max(1e-300)))),
                ));
            }
            out
        }
    }

    #[test]
    fn agree_with_the_standard_library_on_every_path() {
        let mut points: Vec<f64> = (-7000..7000).map(|i| f64::from(i) * 0.100_37).collect();
        points.extend((1..400).map(|i| 1.0 + f64::from(i - 200) * 0.003));
        points.extend((1..60).map(|i| 1.0 + 0.5f64.powi(i)));
        let (scalar, vector) =
            (Both(&points).with_simd(Scalar), Arch::new().dispatch(Both(&points)));
        for ((&x, one), two) in points.iter().zip(scalar).zip(vector) {
            let (exp, ln) = (x.exp(), x.abs().max(1e-300).ln());
            for (got_exp, got_ln) in [one, two] {
                assert!((got_exp / exp - 1.0).abs() < 5e-16, "exp({x}) = {got_exp}, not {exp}");
                assert!((got_ln - ln).abs() <= 5e-16 * ln.abs(), "ln({x}) = {got_ln}, not {ln}");
            }
        }
    }

    struct LnProduct<'a>(&'a [f64]);
    impl WithSimd for LnProduct<'_> {
        type Output = f64;
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f64 {
            let none = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
            let product = |parts, x: &f64| times(simd, parts, simd.splat_f64s(*x));
            let (k, m) = self.0.iter().fold(none, product);
            simd.reduce_max_f64s(ln_of_parts(simd, k, m))
        }
    }

    /// Five hundred factors of 1e200, and numbers about 1. The logarithms of these factors were summed with 60 digits
    /// (Python's `decimal`); a plain sum has an error of 1e-14.
    #[test]
    fn a_product_may_exceed_the_range_of_numbers() {
        const LN: f64 = 230_290.765_481_264_54;
        let mut factors = vec![1e200; 500];
        factors.extend((1..300).map(|i| f64::from(i) * 0.01));
        let inverse: Vec<f64> = factors.iter().map(|x| 1.0 / x).collect();
        for (factors, want) in [(&factors, LN), (&inverse, -LN)] {
            let scalar = LnProduct(factors).with_simd(Scalar);
            for got in [scalar, Arch::new().dispatch(LnProduct(factors))] {
                assert!((got / want - 1.0).abs() < 1e-15, "{got}, not {want}");
            }
        }
    }
}
