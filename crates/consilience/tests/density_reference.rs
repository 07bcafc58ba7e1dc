//! reference
use consilience::distributions::correlated_dirichlet::pair::{PairDensity, Scratch};
fn parse(s: &str) -> Vec<f64> { s.split(' ').map(|x| x.parse().unwrap()).collect() }
#[test]
fn table() {
    let tol: f64 = std::env::var("TOL").ok().map(|s| s.parse().unwrap()).unwrap_or(1e-6);
    let all = std::env::var("ALL").is_ok();
    let table = include_str!("../../../reference/density_k2.csv");
    let mut scratch = Scratch::default();
    let (mut bad, mut n) = (0, 0);
    for line in table.lines().skip(1) {
        let c: Vec<&str> = line.split(',').collect();
        let v: Vec<Vec<f64>> = c[1..6].iter().map(|s| parse(s)).collect();
        let want: f64 = c[6].parse().unwrap();
        let err: f64 = c[7].parse().unwrap();
        let d = PairDensity::new(&v[2], &v[3], &v[4]).unwrap().with_tolerance(tol).unwrap();
        let t = std::time::Instant::now();
        let e = d.ln_density(&v[0], &v[1], &mut scratch);
        let us = t.elapsed().as_secs_f64() * 1e6;
        let off = (e.ln_density - want).abs();
        n += 1;
        let limit = (2.0 * tol).max(2.0 * err);
        let isbad = !(off < limit);
        if isbad { bad += 1; }
        if isbad || all { eprintln!("{}{:32} got {:.10} want {:.10} off {:.2e} err {:.1e} est {:.1e} lines {} us {:.0}", if isbad {"BAD "} else {""}, c[0], e.ln_density, want, off, err, e.error, 0, us); }
    }
    eprintln!("{bad} bad of {n}");
}
