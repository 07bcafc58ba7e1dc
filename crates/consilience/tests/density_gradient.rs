//! gradient
use consilience::distributions::correlated_dirichlet::pair::{Gradient, PairDensity, Scratch};
fn parse(s: &str) -> Vec<f64> { s.split(' ').map(|x| x.parse().unwrap()).collect() }
#[test]
fn table() {
    let tol: f64 = std::env::var("TOL").ok().map(|s| s.parse().unwrap()).unwrap_or(1e-9);
    let table = include_str!("../../../reference/density_k2.csv");
    let mut scratch = Scratch::default();
    let mut gradient = Gradient::default();
    let mut worst = Vec::new();
    for line in table.lines().skip(1) {
        let c: Vec<&str> = line.split(',').collect();
        if c[0].starts_with("zero") { continue; }
        let v: Vec<Vec<f64>> = c[1..6].iter().map(|s| parse(s)).collect();
        let d = PairDensity::new(&v[2], &v[3], &v[4]).unwrap().with_tolerance(tol).unwrap();
        let value = d.ln_density_and_gradient(&v[0], &v[1], &mut scratch, &mut gradient);
        let plain = d.ln_density(&v[0], &v[1], &mut scratch);
        assert_eq!(value, plain);
        let mut off = 0f64;
        for l in 0..v[0].len() {
            for which in 0..3 {
                let h = 1e-4 * v[4][l].min(v[2][l] - v[4][l]).min(v[3][l] - v[4][l]).max(1e-5);
                let h = h.min(0.5 * v[4][l]);
                let at = |by: f64| { let mut p = v.clone(); p[[4, 2, 3][which]][l] += by; PairDensity::new(&p[2], &p[3], &p[4]).unwrap().with_tolerance(1e-11).unwrap().ln_density(&v[0], &v[1], &mut Scratch::default()).ln_density };
                let numeric = (at(h) - at(-h)) / (2.0 * h);
                let got = [&gradient.delta, &gradient.alpha1, &gradient.alpha2][which][l];
                let e = (got - numeric).abs() / (1.0 + numeric.abs());
                off = off.max(e);
                if e > 1e-3 { eprintln!("{} {l} {which} got {got} numeric {numeric}", c[0]); }
            }
        }
        worst.push((off, c[0].to_string()));
    }
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    for w in worst.iter().take(25) { eprintln!("{:.2e} {}", w.0, w.1); }
    eprintln!("median {:.2e}", worst[worst.len() / 2].0);
}
