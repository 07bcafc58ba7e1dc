//! resolution
use consilience::distributions::correlated_dirichlet::pair::{PairDensity, Scratch};
fn parse(s: &str) -> Vec<f64> { s.split(' ').map(|x| x.parse().unwrap()).collect() }
#[test]
fn table() {
    let table = include_str!("../../../reference/density_resolution.csv");
    let mut scratch = Scratch::default();
    for line in table.lines().skip(1) {
        let c: Vec<&str> = line.split(',').collect();
        let v: Vec<Vec<f64>> = c[1..6].iter().map(|s| parse(s)).collect();
        let epsilon: f64 = c[6].parse().unwrap();
        let want: f64 = c[7].parse().unwrap();
        let err: f64 = c[8].parse().unwrap();
        let tol: f64 = std::env::var("TOL").map_or(1e-6, |t| t.parse().unwrap()); let d = PairDensity::new(&v[2], &v[3], &v[4]).unwrap().with_tolerance(tol).unwrap();
        let t = std::time::Instant::now();
        let d = d.with_resolution(epsilon).unwrap();
        let build = t.elapsed().as_secs_f64() * 1e6;
        let t = std::time::Instant::now();
        let e = d.ln_density(&v[0], &v[1], &mut scratch);
        let us = t.elapsed().as_secs_f64() * 1e6;
        eprintln!("{:12} {epsilon} got {:.8} want {:.8} off {:.1e} err {:.1e} est {:.1e} lines {} us {us:.0} build {build:.0}", c[0], e.ln_density, want, (e.ln_density - want).abs(), err, e.error, 0);
    }
}
