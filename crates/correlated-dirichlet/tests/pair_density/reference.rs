//! Values from tables and from the literature.

use super::{ln_density, rows};

/// The number of rows, and those whose error at this tolerance exceeds `factor` tolerances and twice the error of the table.
fn misses(table: &str, tolerance: f64, factor: f64) -> (usize, Vec<String>) {
    let rows = rows(table);
    let missed = rows
        .iter()
        .filter_map(|row| {
            let got = row.evaluate(tolerance).ln_density;
            let off = (got - row.rest[0]).abs();
            let limit = (factor * tolerance).max(2.0 * row.rest[1]);
            (!(off <= limit)).then(|| format!("{}: got {got}, off by {off:e}", row.name))
        })
        .collect();
    (rows.len(), missed)
}

#[test]
fn agrees_with_the_table_at_the_default_tolerance() {
    let (count, missed) = misses(include_str!("../../../../reference/density_k2.csv"), 1e-6, 2.0);
    assert!(count == 133 && missed.len() <= 2, "{missed:#?}");
}

#[test]
fn agrees_with_the_table_at_a_tight_tolerance() {
    let (count, missed) = misses(include_str!("../../../../reference/density_k2.csv"), 1e-9, 10.0);
    assert!(missed.len() * 20 <= count, "{missed:#?}");
}

#[test]
fn agrees_with_tanh_sinh_quadrature_on_random_cases() {
    let (count, missed) =
        misses(include_str!("../../../../reference/density_stress.csv"), 1e-8, 5.0);
    assert!(count > 40 && missed.len() <= 1, "{missed:#?}");
}

#[test]
fn agrees_with_published_values() {
    let (a, b) = (&[3.0, 2.0, 2.0], &[2.0, 4.0, 3.0]);
    let (x, y) = (&[0.5, 0.3, 0.2], &[0.2, 0.45, 0.35]);
    for (delta, expected) in [
        ([1.0, 1.0, 1.0], 3.797_227_081),
        ([1.5, 0.7, 1.2], 3.777_165_943),
        ([0.3, 1.9, 0.1], 3.843_524_631),
        ([1.95, 1.95, 1.95], 3.820_559_314),
        ([0.001, 0.001, 0.001], 3.701_504_869),
    ] {
        let got = ln_density(x, y, a, b, &delta);
        assert!((got - expected).abs() < 2e-6, "{delta:?}: {got}");
    }
    let got = ln_density(&[0.7, 0.3], &[0.55, 0.45], &[4.0, 2.0], &[3.0, 2.5], &[1.2, 0.9]);
    assert!((got - 1.413_123_796).abs() < 2e-6, "{got}");
    let got = ln_density(&[0.97, 0.03], &[0.9, 0.1], &[0.8, 0.4], &[0.7, 0.5], &[0.3, 0.2]);
    assert!((got - 1.640_876_80).abs() < 2e-6, "{got}");
    let equal = [12.0, 8.0, 8.0];
    let got = ln_density(&[0.45, 0.3, 0.25], &[0.5, 0.2, 0.3], &equal, &equal, &[9.0, 6.0, 6.0]);
    assert!((got - 5.448_812_776).abs() < 2e-6, "{got}");
}

#[test]
fn agrees_with_published_values_at_the_extremes() {
    let got = ln_density(
        &[0.4, 0.1, 0.2, 0.05, 0.25],
        &[0.3, 0.2, 0.2, 0.1, 0.2],
        &[4.0, 1.0, 2.0, 0.6, 2.5],
        &[3.0, 2.0, 2.0, 1.0, 2.0],
        &[1.0, 0.5, 0.8, 0.3, 1.1],
    );
    assert!((got - 10.849_936_704).abs() < 2e-6, "{got}");
    let (x, alpha) = ([0.6, 0.2, 0.2], [101.0, 100.0, 100.0]);
    let got = ln_density(&x, &x, &alpha, &alpha, &[50.5, 50.0, 50.0]);
    assert!((got + 44.323_044_812).abs() < 2e-6, "{got}");
    let got = ln_density(
        &[0.52, 0.28, 0.2],
        &[0.5, 0.3, 0.2],
        &[1040.0, 560.0, 400.0],
        &[1000.0, 600.0, 400.0],
        &[800.0, 450.0, 300.0],
    );
    assert!((got - 15.941_19).abs() < 1e-5, "{got}");
    let got = ln_density(
        &[0.999, 0.0009, 0.0001],
        &[0.98, 0.019, 0.001],
        &[9.0, 0.5, 0.3],
        &[8.0, 0.6, 0.4],
        &[6.0, 0.3, 0.2],
    );
    assert!((got - 16.708_841_902).abs() < 2e-6, "{got}");
}

/// Figure 2: two identical outputs fused under growing correlation.
#[test]
fn fuses_as_in_figure_two() {
    const ONE: [f64; 11] = [
        0.817_157, 0.767_977, 0.738_214, 0.714_063, 0.693_004, 0.674_075, 0.656_791, 0.640_869,
        0.626_124, 0.612_434, 0.601_185,
    ];
    const TWO: [f64; 11] = [
        0.975_583, 0.956_450, 0.940_963, 0.925_905, 0.910_772, 0.895_456, 0.879_969, 0.864_372,
        0.848_749, 0.833_197, 0.819_647,
    ];
    let ratios = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99];
    let x = [0.6, 0.2, 0.2];
    for (diagonal, expected) in [(101.0, ONE), (102.0, TWO)] {
        for (ratio, expected) in ratios.into_iter().zip(expected) {
            let joint: Vec<f64> = (0..3)
                .map(|class| {
                    let mut alpha = [100.0; 3];
                    alpha[class] = diagonal;
                    let delta = alpha.map(|a| if ratio == 0.0 { 0.1 } else { ratio * a });
                    ln_density(&x, &x, &alpha, &alpha, &delta)
                })
                .collect();
            let others: f64 = joint.iter().map(|j| (j - joint[0]).exp()).sum();
            assert!((1.0 / others - expected).abs() < 1e-5, "r = {ratio}: {}", 1.0 / others);
        }
    }
}
