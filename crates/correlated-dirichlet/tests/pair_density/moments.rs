//! Exact moments, and δ for given correlations.

use correlated_dirichlet::pair::{
    delta_for_correlation, delta_for_correlations, moment_match, moments,
};

/// Accuracy of the published values.
const TOLERANCE: f64 = 1e-8;

fn correlations(alpha1: &[f64], alpha2: &[f64], delta: &[f64]) -> Vec<f64> {
    moments(alpha1, alpha2, delta).unwrap().iter().map(|m| m.correlation).collect()
}

#[test]
fn agrees_with_values_by_two_dimensional_quadrature() {
    let wide = correlations(&[12.0, 8.0, 8.0], &[12.0, 8.0, 8.0], &[6.0, 4.0, 4.0]);
    let narrow = correlations(&[3.0, 2.0, 2.0], &[3.0, 2.0, 2.0], &[0.75, 0.5, 0.5]);
    for (got, expected) in wide.iter().zip([0.491_661_88; 3]) {
        assert!((got - expected).abs() < TOLERANCE, "{got}");
    }
    for (got, expected) in narrow.iter().zip([0.230_010_5; 3]) {
        assert!((got - expected).abs() < 1e-7, "{got}");
    }
    let skew = correlations(&[3.0, 2.0, 2.0], &[2.0, 4.0, 3.0], &[1.5, 0.7, 1.2]);
    for (got, expected) in skew.iter().zip([0.489_166_11, 0.329_486_16, 0.435_317_99]) {
        assert!((got - expected).abs() < TOLERANCE, "{got}");
    }
}

#[test]
fn reaches_its_limits() {
    for scale in [0.05, 1.0, 30.0, 1e5] {
        let alpha = [scale, 0.5 * scale, 2.0 * scale];
        for r in correlations(&alpha, &alpha, &alpha) {
            assert!((r - 1.0).abs() < 1e-6, "identical outputs, scale {scale}: {r}");
        }
        let other = [2.0 * scale, scale, scale];
        assert_eq!(correlations(&alpha, &other, &[0.0; 3]), [0.0; 3]);
        let tiny = alpha.map(|a| 1e-9 * a);
        assert!(correlations(&alpha, &alpha, &tiny).iter().all(|r| r.abs() < 1e-6));
    }
}

#[test]
fn follows_an_exchange_of_classifiers() {
    let (a, b, d) = ([3.0, 2.0, 2.0], [2.0, 4.0, 3.0], [1.5, 0.7, 1.2]);
    for (x, y) in correlations(&a, &b, &d).iter().zip(correlations(&b, &a, &d)) {
        assert!((x - y).abs() < 1e-12);
    }
}

fn near(got: &[f64], expected: &[f64], tolerance: f64) {
    for (g, e) in got.iter().zip(expected) {
        assert!((g - e).abs() < tolerance, "{got:?} {expected:?}");
    }
}

/// Expected values are from two-dimensional quadrature elsewhere, to eight digits.
#[test]
fn finds_the_delta_of_published_correlations() {
    let wide = [12.0, 8.0, 8.0];
    near(&delta_for_correlation(&wide, &wide, 0.491_661_88).unwrap(), &[6.0, 4.0, 4.0], 1e-6);
    let narrow = [3.0, 2.0, 2.0];
    let delta = delta_for_correlations(&narrow, &narrow, &[0.230_010_5; 3]).unwrap();
    near(&delta, &[0.75, 0.5, 0.5], 1e-6);
    let wanted = [0.489_166_11, 0.329_486_16, 0.435_317_99];
    let delta = delta_for_correlations(&narrow, &[2.0, 4.0, 3.0], &wanted).unwrap();
    near(&delta, &[1.5, 0.7, 1.2], 1e-6);
}

#[test]
fn correlations_come_back() {
    let cases: [(&[f64], &[f64], &[f64]); 4] = [
        (&[0.3, 5.0], &[0.7, 2.0], &[0.2, 1.5]),
        (&[300.0, 40.0, 900.0], &[200.0, 60.0, 1000.0], &[150.0, 2.0, 890.0]),
        (&[0.05, 0.02, 0.4, 0.1], &[0.04, 0.03, 0.3, 0.2], &[0.04, 0.0, 0.1, 0.05]),
        (&[4.0; 12], &[3.0; 12], &[1.0, 2.0, 3.0, 0.5, 0.0, 2.5, 1.5, 1.0, 1.0, 2.0, 2.9, 0.1]),
    ];
    for (alpha1, alpha2, delta) in cases {
        let of = |delta: &[f64]| -> Vec<f64> {
            let all = moments(alpha1, alpha2, delta).unwrap();
            all.iter().map(|m| m.correlation).collect()
        };
        let wanted = of(delta);
        let found = moment_match(alpha1, alpha2, &wanted).unwrap();
        near(&of(&found.delta), &wanted, 1e-6);
        near(&found.correlation, &of(&found.delta), 1e-12);
    }
}

#[test]
fn impossible_correlations_are_errors() {
    let (first, second) = ([3.0, 2.0, 2.0], [2.0, 4.0, 3.0]);
    let error = delta_for_correlation(&first, &second, 0.95).unwrap_err().to_string();
    // the mean correlation at δ = min(α¹, α²)
    let most = moments(&first, &second, &[2.0, 2.0, 2.0]).unwrap();
    let most = most.iter().map(|m| m.correlation).sum::<f64>() / 3.0;
    assert!(error.contains(&format!("{most:.6}")), "{error} {most}");
    let error = delta_for_correlations(&first, &second, &[0.9, 0.0, 0.0]).unwrap_err();
    assert!(error.to_string().contains("nearest set"), "{error}");
    assert!(delta_for_correlation(&first, &second, f64::NAN).is_err());
    assert!(delta_for_correlations(&first, &second, &[0.1]).is_err());
    assert!(delta_for_correlations(&first, &second, &[-0.1, 0.1, 0.1]).is_err());
}

#[test]
fn ends_are_reached_exactly() {
    let alpha = [3.0, 2.0, 2.0];
    assert_eq!(delta_for_correlation(&alpha, &alpha, 0.0).unwrap(), [0.0; 3]);
    assert_eq!(delta_for_correlation(&alpha, &alpha, 1.0).unwrap(), alpha);
    let negative = moment_match(&alpha, &alpha, &[-0.3, -0.1, -0.2]).unwrap();
    assert_eq!(negative.delta, [0.0; 3]);
    near(&moment_match(&alpha, &alpha, &[1.0; 3]).unwrap().delta, &alpha, 1e-6);
}
