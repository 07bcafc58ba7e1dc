//! The Dirichlet distribution.

use correlated_dirichlet::Dirichlet;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

fn numbers(cell: &str) -> Vec<f64> {
    cell.split(' ').map(|number| number.parse().unwrap()).collect()
}

/// The true error of every row of the reference table is below the bound, and that of one row is above half of it.
#[test]
fn the_bound_on_rounding_is_tight() {
    let table = include_str!("../../../../reference/dirichlet.csv");
    let ratio = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let (alpha, x) = (numbers(cells[0]), numbers(cells[1]));
        let expected: f64 = cells[2].parse().unwrap();
        let got = Dirichlet::new(&alpha).unwrap().ln_pdf_with_error(&x);
        (got.ln_density - expected).abs() / got.error
    };
    let ratios: Vec<f64> = table.lines().skip(1).map(ratio).collect();
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    assert!(ratios.len() >= 30 && worst <= 1.0 && worst > 0.5, "{ratios:?}");
}

#[test]
fn draws_have_the_mean_and_variance_and_survive_tiny_shapes() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let dirichlet = Dirichlet::new(&[2.0, 1.0, 0.5]).unwrap();
    let n = 40_000;
    let mut mean = [0.0; 3];
    for _ in 0..n {
        for (m, x) in mean.iter_mut().zip(dirichlet.sample(&mut rng)) {
            *m += x / f64::from(n);
        }
    }
    for ((got, want), variance) in mean.iter().zip(dirichlet.mean()).zip(dirichlet.variance()) {
        assert!((got - want).abs() < 6.0 * (variance / f64::from(n)).sqrt());
    }
    let tiny = Dirichlet::new(&[1e-8; 3]).unwrap();
    for _ in 0..1000 {
        let sum: f64 = tiny.sample(&mut rng).iter().sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }
}

/// The definition, as a mean over draws; the bound is six standard errors.
#[test]
fn the_divergence_is_the_mean_log_ratio() {
    let (a, b) = (Dirichlet::new(&[3.0, 1.0, 0.7]), Dirichlet::new(&[1.0, 2.0, 1.5]));
    let (a, b) = (a.unwrap(), b.unwrap());
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let n = 40_000;
    let ratio = |x: Vec<f64>| a.ln_pdf(&x) - b.ln_pdf(&x);
    let ratios: Vec<f64> = (0..n).map(|_| ratio(a.sample(&mut rng))).collect();
    let mean = ratios.iter().sum::<f64>() / f64::from(n);
    let variance = ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / f64::from(n);
    let bound = 6.0 * (variance / f64::from(n)).sqrt();
    assert!((mean - a.divergence(&b)).abs() < bound, "{mean} {}", a.divergence(&b));
    assert!(a.divergence(&a).abs() < 1e-14);
}

#[test]
fn bad_concentrations_are_named() {
    for bad in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
        let message = Dirichlet::new(&[1.0, 2.0, bad]).unwrap_err().to_string();
        let expected = format!("`concentration[2]` must be finite and > 0, got {bad}");
        assert_eq!(message, expected);
    }
    assert!(Dirichlet::new(&[1.0]).is_err());
}

#[test]
fn the_density_at_the_boundary_follows_the_formula() {
    let flat = Dirichlet::new(&[1.0, 1.0]).unwrap();
    assert_eq!(flat.ln_pdf(&[0.0, 1.0]), 0.0);
    assert_eq!(Dirichlet::new(&[2.0, 1.0]).unwrap().ln_pdf(&[0.0, 1.0]), f64::NEG_INFINITY);
    assert_eq!(Dirichlet::new(&[0.5, 1.0]).unwrap().ln_pdf(&[0.0, 1.0]), f64::INFINITY);
}
