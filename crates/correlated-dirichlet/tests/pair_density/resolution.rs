//! The density at a finite resolution.

use correlated_dirichlet::pair::{Gradient, PairDensity, Scratch};

use super::{ln_density, rows};

#[test]
fn agrees_with_an_independent_implementation() {
    for row in rows(include_str!("../../../../reference/density_resolution.csv")) {
        let density = row.density(1e-6).with_resolution(row.rest[0]).unwrap();
        let got = density.ln_density(&row.x[0], &row.x[1], &mut Scratch::default()).ln_density;
        let (expected, limit) = (row.rest[1], (3.0 * row.rest[2]).max(1e-4));
        assert!((got - expected).abs() < limit, "{}: {got}, not {expected}", row.name);
    }
}

/// Difficult cases from the definition: shapes of 0, ties and near-ties, outputs near the floor.
///
/// The error of a table is about 1e-8 per component, and 1e-6 if its density is narrower than the resolution, so that a
/// tolerance of 1e-8 is not reached; the reported error is larger accordingly.
#[test]
fn agrees_with_the_definition() {
    let rows = rows(include_str!("../../../../reference/density_resolution_stress.csv"));
    let mut scratch = Scratch::default();
    let limits = [(1e-4, 1e-4), (1e-6, 2e-6), (1e-8, 2e-6)];
    let mut beyond = [0; 3];
    for row in &rows {
        let [resolution, expected, uncertain] = row.rest[..] else { panic!("three numbers") };
        let density = row.density(1e-6).with_resolution(resolution).unwrap();
        for ((tolerance, limit), beyond) in limits.into_iter().zip(&mut beyond) {
            let density = density.clone().with_tolerance(tolerance).unwrap();
            let got = density.ln_density(&row.x[0], &row.x[1], &mut scratch);
            let off = (got.ln_density - expected).abs();
            let close = off < limit + 3.0 * uncertain;
            assert!(close, "{} {resolution} at {tolerance}: {got:?}, not {expected}", row.name);
            *beyond += usize::from(off > got.error + uncertain);
        }
    }
    assert!(beyond.iter().all(|&n| 50 * n <= rows.len()), "{beyond:?} beyond their error");
}

#[test]
fn tends_to_the_exact_density() {
    let (x, y) = ([0.5, 0.3, 0.2], [0.2, 0.45, 0.35]);
    let (a, b, d) = ([3.0, 2.0, 2.0], [2.0, 4.0, 3.0], [1.5, 0.7, 1.2]);
    let exact = ln_density(&x, &y, &a, &b, &d);
    let off = |epsilon: f64| {
        let density = PairDensity::new(&a, &b, &d).unwrap().with_resolution(epsilon).unwrap();
        (density.ln_density(&x, &y, &mut Scratch::default()).ln_density - exact).abs()
    };
    let (coarse, fine) = (off(0.03), off(0.003));
    assert!(fine < 0.05 * coarse && fine < 1e-4, "{coarse:e} {fine:e}");
    assert!(off(0.0) < 1e-12);
}

/// Ten components with extreme outputs, for which the first guess of the scale lies beyond the tables. A resolution of 0.01 to
/// 0.1 changes ln f by 0.001 to 0.13 here.
#[test]
fn a_poor_guess_of_the_scale_does_no_harm() {
    let private = [
        [3.049, 0.01096, 0.09272, 0.03942, 0.1224, 0.1277, 0.1443, 0.07911, 0.1253, 0.1265],
        [0.7385, 0.02923, 0.08513, 0.06362, 0.1484, 0.1456, 0.1499, 0.08816, 0.1534, 0.1849],
    ];
    let d =
        [4.132, 0.08531, 0.03266, 0.06182, 0.01247, 0.01699, 0.01639, 0.03563, 0.01829, 0.01628];
    let x = [
        0.991_200_14,
        1e-6,
        1.654e-4,
        1.666e-5,
        4.476e-4,
        0.00766,
        2.969e-4,
        1.2e-5,
        1.579e-4,
        4.22e-5,
    ];
    let y = [0.919_996, 1e-6, 0.01, 1e-6, 1e-6, 0.01, 0.01, 1e-6, 0.01, 0.04];
    let [a, b] = private.map(|p| p.iter().zip(&d).map(|(p, d)| p + d).collect::<Vec<f64>>());
    let exact = ln_density(&x, &y, &a, &b, &d);
    for (epsilon, change) in [(0.01, 0.005), (0.03, 0.02), (0.1, 0.2)] {
        let density = PairDensity::new(&a, &b, &d).unwrap().with_resolution(epsilon).unwrap();
        let got = density.ln_density(&x, &y, &mut Scratch::default());
        let off = (got.ln_density - exact).abs();
        assert!(off < change && got.error < 1e-4, "{epsilon}: {got:?}, exactly {exact}");
    }
}

#[test]
fn is_finite_at_ties_and_boundaries() {
    let (x, a) = ([0.45, 0.3, 0.25], [12.0, 8.0, 8.0]);
    for delta in [[11.9, 7.9, 7.9], a, [12.0, 7.0, 0.0], [0.0; 3]] {
        let density = PairDensity::new(&a, &a, &delta).unwrap().with_resolution(0.03).unwrap();
        let got = density.ln_density(&x, &x, &mut Scratch::default());
        assert!(got.ln_density.is_finite() && got.error < 1e-4, "{delta:?}: {got:?}");
    }
}

#[test]
fn has_derivatives() {
    let (x, y) = ([0.45, 0.3, 0.25], [0.46, 0.29, 0.25]);
    let (a, d) = ([6.0, 4.0, 4.0], [5.5, 3.5, 3.6]);
    let mut gradient = Gradient::default();
    let density = PairDensity::new(&a, &a, &d).unwrap().with_resolution(0.05).unwrap();
    density.ln_density_and_gradient(&x, &y, &mut Scratch::default(), &mut gradient);
    let at = |by: f64| {
        let d = [d[0] + by, d[1], d[2]];
        let density = PairDensity::new(&a, &a, &d).unwrap().with_tolerance(1e-8).unwrap();
        let density = density.with_resolution(0.05).unwrap();
        density.ln_density(&x, &y, &mut Scratch::default()).ln_density
    };
    let expected = (at(0.02) - at(-0.02)) / 0.04;
    assert!((gradient.delta[0] - expected).abs() < 2e-3, "{} {expected}", gradient.delta[0]);
}

#[test]
fn tolerances_agree() {
    let mut scratch = Scratch::default();
    let outputs = [
        ([0.5, 0.3, 0.2], [0.52, 0.27, 0.21]),
        ([0.45, 0.3, 0.25], [0.45, 0.3, 0.25]),
        ([0.7, 0.25, 0.05], [0.5, 0.4, 0.1]),
        ([0.9, 0.0999, 1e-4], [0.85, 0.149, 1e-3]),
    ];
    for (scale, ratio) in [(3.0, 0.8), (12.0, 0.95), (12.0, 0.2), (40.0, 0.9)] {
        let times = |by: [f64; 3]| by.map(|a| scale * a);
        let (a, b) = (times([1.5, 1.0, 0.8]), times([1.3, 1.1, 1.0]));
        let delta: Vec<f64> = a.iter().zip(&b).map(|(a, b)| ratio * a.min(*b)).collect();
        let density = PairDensity::new(&a, &b, &delta).unwrap().with_resolution(0.03).unwrap();
        let fine = density.clone().with_tolerance(1e-10).unwrap();
        for (x, y) in outputs {
            let got = density.ln_density(&x, &y, &mut scratch);
            let expected = fine.ln_density(&x, &y, &mut scratch).ln_density;
            let off = (got.ln_density - expected).abs();
            assert!(
                off < 2e-6 && got.error < 3e-6,
                "{scale} {ratio} {x:?}: {got:?}, not {expected}"
            );
        }
    }
}

/// If a private shape is 0 the exact density ends at its kink, and the smoothed one a little beyond.
#[test]
fn vanishing_private_shapes_are_limits() {
    let (x, y) = ([0.578, 0.422], [0.649, 0.351]);
    let (a, b) = ([2.75, 0.48], [3.25, 0.38]);
    for epsilon in [0.01, 0.03] {
        let at = |by: f64| {
            let density = PairDensity::new(&a, &b, &[2.75 - by, 0.38 - by]).unwrap();
            let density = density.with_resolution(epsilon).unwrap();
            density.ln_density(&x, &y, &mut Scratch::default()).ln_density
        };
        let (zero, near) = (at(0.0), at(1e-7));
        assert!((zero - near).abs() < 3e-6, "{epsilon}: {zero} at 0, {near} beside it");
    }
}

/// Large shapes and fine resolutions, where the smoothed density tends to the exact one: smoothing changes ln f by about
/// ½ε² Σ(∂ ln h/∂τ)² at most, with private shapes for the derivatives.
#[test]
fn large_shapes_and_fine_resolutions_are_served() {
    let (x, y) = ([0.41, 0.35, 0.24], [0.407, 0.349, 0.244]);
    for (scale, epsilon) in [(0.3, 1e-5), (10.0, 1e-4), (300.0, 1e-4), (6000.0, 1e-5)] {
        let (a, b) = ([1.2, 1.0, 0.7].map(|a| scale * a), [1.2, 1.0, 0.72].map(|a| scale * a));
        let delta = a.map(|a| 0.5 * a);
        let exact = ln_density(&x, &y, &a, &b, &delta);
        let density = PairDensity::new(&a, &b, &delta).unwrap().with_resolution(epsilon).unwrap();
        let got = density.ln_density(&x, &y, &mut Scratch::default());
        let change = 0.5 * epsilon * epsilon * a.iter().map(|a| a * a).sum::<f64>();
        let off = (got.ln_density - exact).abs();
        assert!(off < change + 1e-5 && got.error < 1e-4, "{scale} {epsilon}: {got:?}, {exact}");
    }
}
