//! The gamma function's relatives and the normal quantile, to full relative accuracy.
//!
//! `ln Γ` and `erfc` are those of `libm`. Digamma, trigamma and the normal quantile are implemented here
//! because available crates lose digits at relevant arguments: digamma at its
//! root 1.4616…, digamma and trigamma near 0, the quantile in the tails. Tests compare all of them with the tables in
//! `reference/` (mpmath, 50 digits), to a few units in the last place.

use std::f64::consts::{PI, SQRT_2};

/// ln Γ(x) for x > 0; +∞ at 0.
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// ln of the multivariate beta function, Σ ln Γ(αₗ) − ln Γ(Σ αₗ): a Dirichlet's normaliser.
pub fn ln_multivariate_beta(concentration: &[f64]) -> f64 {
    let total: f64 = concentration.iter().sum();
    concentration.iter().map(|&a| ln_gamma(a)).sum::<f64>() - ln_gamma(total)
}

/// ln Γ(a + h/2) − ln Γ(a) for a > 0 and an integer h.
///
/// # Numerics
/// Whole steps are products. For a remaining half step the two logarithms are
/// subtracted below 32; above, where they would cancel, the series of
/// ln Γ(a + ½) − ln Γ(a) in 1/a has converged.
pub fn ln_gamma_increment(a: f64, half_steps: usize) -> f64 {
    const SERIES: [f64; 4] = [-1.0 / 8.0, 1.0 / 192.0, -1.0 / 640.0, 17.0 / 14_336.0];
    let whole: f64 = (0..half_steps / 2).map(|i| (a + i as f64).ln()).sum();
    let top = a + (half_steps / 2) as f64;
    let half = match half_steps % 2 {
        0 => 0.0,
        _ if top < 32.0 => ln_gamma(top + 0.5) - ln_gamma(top),
        _ => 0.5 * top.ln() + polynomial(&SERIES, 1.0 / (top * top)) / top,
    };
    whole + half
}

/// The argument above which the asymptotic series of digamma and trigamma have converged.
const ASYMPTOTIC: f64 = 10.0;

/// The digamma function ψ(x) = d ln Γ(x)/dx for x > 0; NaN elsewhere.
///
/// # Numerics
/// Relative error below 1e-15 for all x, also next to the root: there the root is subtracted in
/// three parts, so that x − root keeps its digits.
///
/// # References
/// Rational approximation on [1, 2]: coefficients of J. Maddock in Boost.Math's `digamma`.
pub fn digamma(x: f64) -> f64 {
    if !(x > 0.0) {
        return f64::NAN;
    }
    if x >= ASYMPTOTIC {
        return digamma_asymptotic(x);
    }
    let (mut x, mut shift) = (x, 0.0);
    while x > 2.0 {
        x -= 1.0;
        shift += 1.0 / x;
    }
    if x < 1.0 {
        shift = -1.0 / x;
        x += 1.0;
    }
    shift + digamma_one_to_two(x)
}

fn digamma_asymptotic(x: f64) -> f64 {
    // B₂ₙ / 2n, n = 1..7
    const TERMS: [f64; 7] = [
        1.0 / 12.0,
        -1.0 / 120.0,
        1.0 / 252.0,
        -1.0 / 240.0,
        1.0 / 132.0,
        -691.0 / 32_760.0,
        1.0 / 12.0,
    ];
    let square = 1.0 / (x * x);
    x.ln() - 0.5 / x - polynomial(&TERMS, square) * square
}

fn digamma_one_to_two(x: f64) -> f64 {
    const ROOT: [f64; 3] = [
        1_569_415_565.0 / 1_073_741_824.0,
        381_566_830.0 / 1_073_741_824.0 / 1_073_741_824.0,
        9.016_312_093_258_696e-20,
    ];
    const Y: f64 = 0.995_581_626_892_089_843_75;
    const P: [f64; 6] = [
        0.254_798_510_611_315_51,
        -0.325_550_311_868_044_91,
        -0.650_318_537_708_965_07,
        -0.289_191_264_447_747_84,
        -0.045_251_321_448_739_056,
        -0.002_071_332_116_774_595_2,
    ];
    const Q: [f64; 7] = [
        1.0,
        2.076_711_702_373_046_9,
        1.460_624_290_976_351_5,
        0.435_935_296_926_659_69,
        0.054_151_797_245_674_225,
        0.002_128_498_701_782_114_4,
        -5.578_984_132_167_551_3e-7,
    ];
    let distance = x - ROOT[0] - ROOT[1] - ROOT[2];
    distance * Y + distance * (polynomial(&P, x - 1.0) / polynomial(&Q, x - 1.0))
}

/// The trigamma function ψ′(x) for x > 0; NaN elsewhere.
pub fn trigamma(x: f64) -> f64 {
    // B₂ₙ, n = 1..8
    const TERMS: [f64; 8] = [
        1.0 / 6.0,
        -1.0 / 30.0,
        1.0 / 42.0,
        -1.0 / 30.0,
        5.0 / 66.0,
        -691.0 / 2730.0,
        7.0 / 6.0,
        -3617.0 / 510.0,
    ];
    if !(x > 0.0) {
        return f64::NAN;
    }
    let (mut x, mut shift) = (x, 0.0);
    while x < ASYMPTOTIC {
        shift += 1.0 / (x * x);
        x += 1.0;
    }
    let (inverse, square) = (1.0 / x, 1.0 / (x * x));
    shift + inverse * (1.0 + 0.5 * inverse + polynomial(&TERMS, square) * square)
}

/// The quantile function of the standard normal distribution.
///
/// # Numerics
/// P. J. Acklam's rational approximation (relative error 1.2e-9), then one Halley step on `erfc` (near p = ½ on `erf`,
/// where ½ − p must keep its digits).
pub fn normal_quantile(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        return match p {
            0.0 => f64::NEG_INFINITY,
            1.0 => f64::INFINITY,
            _ => f64::NAN,
        };
    }
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    let x = acklam_lower_half(p);
    let excess = if p > 0.25 {
        0.5 * libm::erf(x / SQRT_2) - (p - 0.5)
    } else {
        0.5 * libm::erfc(-x / SQRT_2) - p
    };
    let step = excess * (2.0 * PI).sqrt() * (0.5 * x * x).exp();
    x - step / (1.0 + 0.5 * x * step)
}

fn acklam_lower_half(p: f64) -> f64 {
    const CENTRE_P: [f64; 6] = [
        2.506_628_277_459_239,
        -30.664_798_066_147_16,
        138.357_751_867_269,
        -275.928_510_446_968_7,
        220.946_098_424_520_5,
        -39.696_830_286_653_76,
    ];
    const CENTRE_Q: [f64; 6] = [
        1.0,
        -13.280_681_552_885_72,
        66.801_311_887_719_72,
        -155.698_979_859_886_6,
        161.585_836_858_040_9,
        -54.476_098_798_224_06,
    ];
    const TAIL_P: [f64; 6] = [
        2.938_163_982_698_783,
        4.374_664_141_464_968,
        -2.549_732_539_343_734,
        -2.400_758_277_161_838,
        -0.322_396_458_041_136_5,
        -0.007_784_894_002_430_293,
    ];
    const TAIL_Q: [f64; 5] = [
        1.0,
        3.754_408_661_907_416,
        2.445_134_137_142_996,
        0.322_467_129_070_039_8,
        0.007_784_695_709_041_462,
    ];
    const TAIL: f64 = 0.02425;
    if p < TAIL {
        let q = (-2.0 * p.ln()).sqrt();
        return polynomial(&TAIL_P, q) / polynomial(&TAIL_Q, q);
    }
    let q = p - 0.5;
    q * polynomial(&CENTRE_P, q * q) / polynomial(&CENTRE_Q, q * q)
}

/// Σ cᵢ xⁱ by Horner's rule.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest relative error allowed against the 50-digit table.
    const TOLERANCE: f64 = 2e-15;

    #[test]
    fn agrees_with_the_reference_table() {
        let table = include_str!("../../../reference/special.csv");
        let mut seen = 0;
        for line in table.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let (x, expected): (f64, f64) = (cells[1].parse().unwrap(), cells[2].parse().unwrap());
            let got = match cells[0] {
                "ln_gamma" => ln_gamma(x),
                "digamma" => digamma(x),
                "trigamma" => trigamma(x),
                "normal_quantile" => normal_quantile(x),
                other => panic!("unknown function {other}"),
            };
            let off = ((got - expected) / expected).abs();
            assert!(off < TOLERANCE || got == expected, "{line}: got {got}, off by {off:e}");
            seen += 1;
        }
        assert!(seen > 200, "the table has only {seen} rows");
    }

    #[test]
    fn arguments_at_the_edges_of_the_domain_are_handled() {
        assert_eq!(ln_gamma(0.0), f64::INFINITY);
        for function in [digamma, trigamma] {
            assert!(
                function(0.0).is_nan() && function(-1.0).is_nan() && function(f64::NAN).is_nan()
            );
        }
        assert_eq!(digamma(f64::INFINITY), f64::INFINITY);
        assert_eq!(trigamma(f64::INFINITY), 0.0);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert_eq!(normal_quantile(0.5), 0.0);
        assert!(normal_quantile(-0.1).is_nan() && normal_quantile(f64::NAN).is_nan());
    }
}
