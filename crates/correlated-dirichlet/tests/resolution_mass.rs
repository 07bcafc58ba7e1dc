//! The density at a finite resolution integrates to 1 near the bound of δ, and is finite for impossible outputs.

use correlated_dirichlet::pair::{PairDensity, Scratch};

/// It integrates to 1 down to private shapes of almost 0, by the trapezoid rule in the logits of the outputs.
#[test]
fn has_mass_one_near_the_bound() {
    let alpha = [12.0, 8.0];
    let expit = |u: f64| 1.0 / (1.0 + (-u).exp());
    let (mut scratch, [du, dw]) = (Scratch::default(), [0.25, 0.015]);
    for private in [0.1, 1e-3] {
        let delta = alpha.map(|a| a - private);
        let density = PairDensity::new(&alpha, &alpha, &delta).unwrap();
        let density = density.with_tolerance(1e-4).unwrap().with_resolution(0.03).unwrap();
        let mut mass = 0.0;
        for u in (-6..=10).map(|i| du * f64::from(i)) {
            for w in (-60..=60).map(|i| u + dw * f64::from(i)) {
                let (x, y) = (expit(u), expit(w));
                let at = density.ln_density(&[x, 1.0 - x], &[y, 1.0 - y], &mut scratch);
                mass += at.ln_density.exp() * x * (1.0 - x) * y * (1.0 - y) * du * dw;
            }
        }
        assert!((mass - 1.0).abs() < 0.01, "private {private}: {mass}");
    }
}

/// Outputs that are impossible under the parameters still have a finite density and error.
#[test]
fn outputs_far_apart_have_a_density() {
    for (alpha1, alpha2, delta) in [
        ([12.0, 8.0], [12.0, 8.0], [6.0, 4.0]),
        ([2.0, 5.0], [4.0, 3.0], [0.5, 0.5]),
        ([30.0, 20.0], [25.0, 30.0], [20.0, 15.0]),
        ([300.0, 200.0], [250.0, 300.0], [249.0, 199.0]),
    ] {
        // tables for large shapes take longer
        let resolutions = if alpha1[0] > 100.0 { &[0.03][..] } else { &[0.001, 0.03, 0.1, 0.2] };
        for &epsilon in resolutions {
            let density = PairDensity::new(&alpha1, &alpha2, &delta).unwrap();
            let density = density.with_resolution(epsilon).unwrap();
            let mut scratch = Scratch::default();
            for a in [1e-6, 0.01, 0.3] {
                for b in [0.3, 0.8, 0.99, 1.0 - 1e-6] {
                    let estimate = density.ln_density(&[a, 1.0 - a], &[b, 1.0 - b], &mut scratch);
                    let known = estimate.ln_density.is_finite() && estimate.error.is_finite();
                    assert!(known, "{delta:?} {epsilon} {a} {b}: {estimate:?}");
                }
            }
        }
    }
}
