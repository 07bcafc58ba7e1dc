//! Limits, symmetries, the marginal distribution and derivatives.

use consilience_numerics::special::ln_multivariate_beta;
use correlated_dirichlet::pair::{Gradient, PairDensity, Scratch};

use super::{ln_density, rows};

fn ln_dirichlet(x: &[f64], alpha: &[f64]) -> f64 {
    x.iter().zip(alpha).map(|(x, a)| (a - 1.0) * x.ln()).sum::<f64>() - ln_multivariate_beta(alpha)
}

#[test]
fn independent_outputs_are_two_dirichlets() {
    let (a, b) = ([3.0, 2.0, 0.5], [2.0, 4.0, 3.0]);
    let (x, y) = ([0.5, 0.3, 0.2], [0.2, 0.45, 0.35]);
    let expected = ln_dirichlet(&x, &a) + ln_dirichlet(&y, &b);
    assert!((ln_density(&x, &y, &a, &b, &[0.0; 3]) - expected).abs() < 1e-12);
    for tiny in [1e-11, 1e-14, 1e-100] {
        let density = PairDensity::new(&a, &b, &[tiny; 3]).unwrap().with_tolerance(1e-10).unwrap();
        let got = density.ln_density(&x, &y, &mut Scratch::default()).ln_density;
        assert!((got - expected).abs() < 1e-9, "{tiny}: {got} {expected}");
    }
    let got = ln_density(&x, &y, &a, &b, &[0.0, 1e-300, 0.0]);
    assert!((got - expected).abs() < 2e-6);
}

#[test]
fn zero_shapes_are_limits() {
    let (x, y) = ([0.3, 0.5, 0.2], [0.35, 0.4, 0.25]);
    let (a, b) = ([3.0, 2.0, 2.0], [3.0, 4.0, 3.0]);
    for delta in [[3.0, 1.0, 1.0], [0.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 2.0, 2.0]] {
        let at = ln_density(&x, &y, &a, &b, &delta);
        let near: Vec<f64> = delta.iter().zip(&a).map(|(d, a)| d.clamp(1e-9, a - 1e-9)).collect();
        let got = ln_density(&x, &y, &a, &b, &near);
        assert!((at - got).abs() < 3e-6, "{delta:?}: {at} and {got} beside it");
    }
}

#[test]
fn is_infinite_only_at_poles() {
    let (x, a) = ([0.5, 0.3, 0.2], [3.0, 2.0, 2.0]);
    assert_eq!(ln_density(&x, &x, &a, &a, &[2.9, 1.9, 1.9]), f64::INFINITY);
    assert!(ln_density(&x, &x, &a, &a, &[2.6, 1.6, 1.6]).is_finite());
    let y = [0.5 + 1e-9, 0.3 - 1e-9, 0.2];
    assert!(ln_density(&x, &y, &a, &a, &[2.9, 1.9, 1.9]).is_finite());
    assert_eq!(ln_density(&x, &[0.4, 0.4, 0.2], &a, &a, &a), f64::NEG_INFINITY);
    assert_eq!(ln_density(&x, &x, &a, &a, &a), f64::INFINITY);
    // one component without private parts fixes the ratio of the totals; that is no pole
    assert!(ln_density(&x, &x, &a, &a, &[3.0, 1.0, 1.0]).is_finite());
}

#[test]
fn serves_the_whole_range() {
    let mut scratch = Scratch::default();
    for n in [2usize, 7, 20, 50] {
        for scale in [0.02, 1.0, 50.0, 1e5] {
            let alpha: Vec<f64> = (0..n).map(|l| scale * (1.0 + 0.3 * (l as f64).sin())).collect();
            let delta: Vec<f64> = alpha.iter().map(|a| 0.6 * a).collect();
            let total: f64 = alpha.iter().sum();
            let x: Vec<f64> = alpha.iter().map(|a| a / total).collect();
            let mut y: Vec<f64> =
                x.iter().enumerate().map(|(l, x)| x * (1.0 + 0.01 * (l as f64).cos())).collect();
            if scale < 2.0 {
                y[0] = 1e-12;
            }
            let sum: f64 = y.iter().sum();
            y.iter_mut().for_each(|y| *y /= sum);
            let density = PairDensity::new(&alpha, &alpha, &delta).unwrap();
            let got = density.ln_density(&x, &y, &mut scratch);
            assert!(got.ln_density.is_finite() && got.error < 1e-3, "J {n}, α {scale}: {got:?}");
        }
    }
}

#[test]
fn follows_exchanges_of_classifiers_and_classes() {
    for row in rows(include_str!("../../../../reference/density_k2.csv")).iter().step_by(3) {
        let here = row.evaluate(1e-8);
        let swapped = PairDensity::new(&row.alpha[1], &row.alpha[0], &row.delta)
            .unwrap()
            .with_tolerance(1e-8)
            .unwrap()
            .ln_density(&row.x[1], &row.x[0], &mut Scratch::default());
        let limit = 2e-8 + here.error + swapped.error;
        assert!((here.ln_density - swapped.ln_density).abs() < limit, "{}", row.name);
        let turn = |v: &[f64]| -> Vec<f64> { v.iter().rev().copied().collect() };
        let turned =
            PairDensity::new(&turn(&row.alpha[0]), &turn(&row.alpha[1]), &turn(&row.delta))
                .unwrap()
                .with_tolerance(1e-8)
                .unwrap()
                .ln_density(&turn(&row.x[0]), &turn(&row.x[1]), &mut Scratch::default());
        let limit = 1e-9 + 0.1 * here.error;
        assert!((here.ln_density - turned.ln_density).abs() < limit, "{}", row.name);
    }
}

/// ∫ f(x¹, x²) dx² is the first classifier's Dirichlet: no reference value needed.
#[test]
fn has_dirichlet_marginals() {
    const STEP: f64 = 0.2;
    for (first, alpha1, alpha2, delta) in [
        (0.7, [4.0, 2.0], [3.0, 2.5], [1.2, 0.9]),
        (0.3, [0.5, 0.6], [0.7, 0.5], [0.05, 0.04]),
        (1e-12, [0.9, 1.5], [1.2, 0.8], [0.3, 0.2]),
        (0.45, [60.0, 70.0], [50.0, 65.0], [40.0, 50.0]),
    ] {
        let density =
            PairDensity::new(&alpha1, &alpha2, &delta).unwrap().with_tolerance(1e-10).unwrap();
        let mut scratch = Scratch::default();
        let x: [f64; 2] = [first, 1.0 - first];
        let centre = (x[0] / x[1]).ln();
        let mut sum = 0.0;
        for side in [-1.0, 1.0] {
            for k in -150..450 {
                // distance from the tie in logits: ln(1+e^θ)
                let theta = STEP * f64::from(k);
                let logit: f64 = centre + side * theta.exp().ln_1p();
                let y = [1.0 / (1.0 + (-logit).exp()), 1.0 / (1.0 + logit.exp())];
                let weight = STEP / (1.0 + (-theta).exp()) * y[0] * y[1];
                if y[0] > 1e-250 && y[1] > 1e-250 {
                    sum += weight * density.ln_density(&x, &y, &mut scratch).ln_density.exp();
                }
            }
        }
        let off = sum.ln() - ln_dirichlet(&x, &alpha1);
        assert!(off.abs() < 1e-8, "{first} {alpha1:?}: off by {off:e}");
    }
}

#[test]
fn derivatives_agree_with_differences() {
    let mut scratch = Scratch::default();
    let mut gradient = Gradient::default();
    for row in rows(include_str!("../../../../reference/density_k2.csv")).iter().step_by(4) {
        if row.name.starts_with("zero") || row.name.starts_with("tinydelta") {
            continue;
        }
        let density = row.density(1e-9);
        let value =
            density.ln_density_and_gradient(&row.x[0], &row.x[1], &mut scratch, &mut gradient);
        assert_eq!(value, density.ln_density(&row.x[0], &row.x[1], &mut scratch));
        for l in 0..row.delta.len() {
            let room = row.delta[l]
                .min(row.alpha[0][l] - row.delta[l])
                .min(row.alpha[1][l] - row.delta[l]);
            for (which, slope) in
                [gradient.delta[l], gradient.alpha1[l], gradient.alpha2[l]].into_iter().enumerate()
            {
                let at = |by: f64| {
                    let (mut alpha, mut delta) = (row.alpha.clone(), row.delta.clone());
                    match which {
                        0 => delta[l] += by,
                        k => alpha[k - 1][l] += by,
                    }
                    let density = PairDensity::new(&alpha[0], &alpha[1], &delta).unwrap();
                    let density = density.with_tolerance(1e-11).unwrap();
                    density.ln_density(&row.x[0], &row.x[1], &mut Scratch::default()).ln_density
                };
                let step = 1e-3 * room;
                let expected = (at(step) - at(-step)) / (2.0 * step);
                let off = (slope - expected).abs() / (1.0 + expected.abs());
                assert!(off < 2e-5, "{} {l} {which}: {slope} {expected}", row.name);
            }
        }
    }
}

#[test]
fn refuses_illegal_parameters() {
    let new = |a: [f64; 2], b: [f64; 2], d: [f64; 2]| PairDensity::new(&a, &b, &d);
    for (a, b, d) in [
        ([0.0, 1.0], [1.0, 1.0], [0.0, 0.5]),
        ([1.0, f64::NAN], [1.0, 1.0], [0.5, 0.5]),
        ([1.0, 1.0], [1.0, f64::INFINITY], [0.5, 0.5]),
        ([1.0, 1.0], [1.0, 1.0], [0.5, 1.5]),
        ([1.0, 1.0], [1.0, 1.0], [-0.1, 0.5]),
        ([1.0, 1.0], [1.0, 1.0], [f64::NAN, 0.5]),
    ] {
        assert!(new(a, b, d).is_err(), "{a:?} {b:?} {d:?}");
    }
    assert!(PairDensity::new(&[1.0], &[1.0], &[0.5]).is_err());
    assert!(PairDensity::new(&[1.0, 1.0], &[1.0], &[0.5, 0.5]).is_err());
    let legal = new([1.0, 1.0], [1.0, 1.0], [0.5, 0.5]).unwrap();
    assert!(legal.clone().with_tolerance(0.0).is_err());
    assert!(legal.clone().with_resolution(-1.0).is_err());
    assert!(legal.with_resolution(f64::NAN).is_err());
}
