//! stress
use consilience::distributions::correlated_dirichlet::pair::{PairDensity, Scratch};
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha8Rng};
use rand_distr::{Distribution, Gamma};
fn gamma(rng: &mut ChaCha8Rng, a: f64) -> f64 {
    if a <= 0.0 { return 0.0; }
    let g: f64 = Gamma::new(a + 1.0, 1.0).unwrap().sample(rng);
    let u: f64 = rng.random();
    g * u.powf(1.0 / a)
}
fn normal(x: &mut Vec<f64>) { for v in x.iter_mut() { *v = v.max(1e-12); } let s: f64 = x.iter().sum(); for v in x.iter_mut() { *v /= s; } }
struct Case { name: String, x1: Vec<f64>, x2: Vec<f64>, a1: Vec<f64>, a2: Vec<f64>, d: Vec<f64> }
fn case(rng: &mut ChaCha8Rng) -> Case {
    let j = *[2usize, 2, 3, 3, 3, 4, 5, 10, 20].get((rng.next_u32() % 9) as usize).unwrap();
    let scale = 10f64.powf(rng.random_range(-0.7..3.5));
    let mut p: Vec<f64> = (0..j).map(|_| gamma(rng, 2.0) + 0.05).collect(); normal(&mut p);
    let a1: Vec<f64> = p.iter().map(|p| p * j as f64 * scale * rng.random_range(0.7..1.4)).collect();
    let a2: Vec<f64> = if rng.random_bool(0.3) { a1.clone() } else { p.iter().map(|p| p * j as f64 * scale * rng.random_range(0.7..1.4)).collect() };
    let kind = rng.next_u32() % 6;
    let r0: f64 = rng.random();
    let d: Vec<f64> = (0..j).map(|l| { let m = a1[l].min(a2[l]); match kind { 0 => m * rng.random::<f64>(), 1 => m * r0, 2 => m * 0.98, 3 => (m - 0.2 * rng.random::<f64>()).max(0.1 * m), 4 => m * 1e-3, _ => if rng.random_bool(0.25) { m } else if rng.random_bool(0.2) { 0.0 } else { m * r0 } } }).collect();
    let xk = rng.next_u32() % 5;
    let com: Vec<f64> = d.iter().map(|&d| gamma(rng, d)).collect();
    let mut x1: Vec<f64> = (0..j).map(|l| com[l] + gamma(rng, a1[l] - d[l])).collect();
    let mut x2: Vec<f64> = (0..j).map(|l| com[l] + gamma(rng, a2[l] - d[l])).collect();
    normal(&mut x1); normal(&mut x2);
    match xk { 0 => { x2 = x1.iter().map(|x| x * (1e-4 * rng.random::<f64>()).exp()).collect(); normal(&mut x2); }
      1 => { let mut q: Vec<f64> = (0..j).map(|_| gamma(rng, 1.0)).collect(); normal(&mut q); let w = 1.0 / (1.0 + scale.sqrt()); x2 = x2.iter().zip(&q).map(|(a, b)| (1.0 - w) * a + w * b).collect(); normal(&mut x2); }
      _ => {} }
    Case { name: format!("J{j} sc{scale:.2} d{kind} x{xk}"), x1, x2, a1, a2, d }
}
#[test]
fn stress() {
    let get = |k: &str, d: f64| std::env::var(k).ok().map(|s| s.parse().unwrap()).unwrap_or(d);
    let tol = get("TOL", 1e-6);
    let truth = get("TRUTH", 1e-11);
    let n = get("N", 500.0) as usize;
    let show = get("SHOW", 3.0);
    let mut rng = ChaCha8Rng::seed_from_u64(get("SEED", 1.0) as u64);
    let mut scratch = Scratch::default();
    let (mut bad, mut lied, mut finite, mut time, mut claim) = (0, 0, 0, 0.0, 0);
    for i in 0..n {
        let c = case(&mut rng);
        if get("CASE", -1.0) >= 0.0 && get("CASE", -1.0) as usize != i { continue; }
        let d = PairDensity::new(&c.a1, &c.a2, &c.d).unwrap();
        let t = d.clone().with_tolerance(truth).unwrap().ln_density(&c.x1, &c.x2, &mut scratch);
        let d = d.with_tolerance(tol).unwrap();
        let clock = std::time::Instant::now();
        let e = d.ln_density(&c.x1, &c.x2, &mut scratch);
        let us = clock.elapsed().as_secs_f64() * 1e6;
        time += us;
        if t.ln_density.is_infinite() && t.ln_density == e.ln_density { continue; }
        finite += 1;
        let off = (e.ln_density - t.ln_density).abs();
        if !(off < tol) { bad += 1; }
        if e.error > 2.0 * tol { claim += 1; }
        if !(off <= e.error + 1e-10) { lied += 1; }
        if !(off < show * tol) || (get("LIES", 0.0) > 0.0 && !(off <= e.error + 1e-10)) { eprintln!("{i} {:26} got {:.10} truth {:.10} off {:.2e} est {:.1e} lines {} us {us:.0}", c.name, e.ln_density, t.ln_density, off, e.error, 0); 
          if get("FULL", -1.0) as i64 == i as i64 { eprintln!("x1={:?}\nx2={:?}\na1={:?}\na2={:?}\nd={:?}", c.x1, c.x2, c.a1, c.a2, c.d); } }
    }
    eprintln!("tol {tol:e}: {finite} finite, {bad} off by more than tol, {lied} beyond the estimate, {claim} claim more than 2 tol, mean {:.0} us", time / n as f64);
}

#[test]
fn speed() {
    for (j, scale, ratio) in if std::env::var("ONLY").is_ok() { vec![(3, std::env::var("ONLY").unwrap().parse().unwrap(), 0.5)] } else { vec![(2, 10.0, 0.5), (3, 10.0, 0.5), (5, 10.0, 0.5), (10, 10.0, 0.5), (50, 10.0, 0.5), (3, 100.0, 0.5), (3, 1e5, 0.5), (50, 100.0, 0.5), (3, 10.0, 0.8), (3, 10.0, 0.95), (3, 10.0, 0.99), (3, 1.0, 0.5), (3, 3.0, 0.5), (10, 1.0, 0.5), (3, 0.2, 0.5)] } {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut cases = Vec::new();
        for _ in 0..40 {
            let a: Vec<f64> = (0..j).map(|_| scale * rng.random_range(0.8..1.25)).collect();
            let b: Vec<f64> = (0..j).map(|_| scale * rng.random_range(0.8..1.25)).collect();
            let d: Vec<f64> = (0..j).map(|l| ratio * a[l].min(b[l])).collect();
            let com: Vec<f64> = d.iter().map(|&d| gamma(&mut rng, d)).collect();
            let mut x1: Vec<f64> = (0..j).map(|l| com[l] + gamma(&mut rng, a[l] - d[l])).collect();
            let mut x2: Vec<f64> = (0..j).map(|l| com[l] + gamma(&mut rng, b[l] - d[l])).collect();
            normal(&mut x1); normal(&mut x2);
            cases.push((PairDensity::new(&a, &b, &d).unwrap(), x1, x2));
        }
        let mut scratch = Scratch::default();
        let mut best = f64::INFINITY;
        let mut count = 0;
        let mut all = Vec::new();
        for rep in 0..20 {
            let t = std::time::Instant::now();
            count = 0;
            for (d, a, b) in &cases { let t = std::time::Instant::now(); let _ = d.ln_density(a, b, &mut scratch); count += 1; if rep > 0 { all.push(t.elapsed().as_secs_f64() * 1e6); } }
            best = best.min(t.elapsed().as_secs_f64() / cases.len() as f64 * 1e6);
        }
        all.sort_by(f64::total_cmp);
        eprintln!("J {j} alpha {scale} r {ratio}: mean {best:.1} median {:.1} us, {:.1} lines, {:.2} us/line", all[all.len() / 2], count as f64 / 40.0, best / (count as f64 / 40.0));
    }
}
#[test]
fn smooth_speed() {
    for (j, scale, ratio) in [(3, 10.0, 0.2), (3, 10.0, 0.5), (3, 10.0, 0.8), (3, 10.0, 0.95), (3, 10.0, 0.99), (3, 1.0, 0.5), (3, 100.0, 0.5), (3, 1000.0, 0.9), (10, 10.0, 0.5)] {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut cases = Vec::new();
        let t = std::time::Instant::now();
        for _ in 0..20 {
            let a: Vec<f64> = (0..j).map(|_| scale * rng.random_range(0.8..1.25)).collect();
            let b: Vec<f64> = (0..j).map(|_| scale * rng.random_range(0.8..1.25)).collect();
            let d: Vec<f64> = (0..j).map(|l| ratio * a[l].min(b[l])).collect();
            let com: Vec<f64> = d.iter().map(|&d| gamma(&mut rng, d)).collect();
            let mut x1: Vec<f64> = (0..j).map(|l| com[l] + gamma(&mut rng, a[l] - d[l])).collect();
            let mut x2: Vec<f64> = (0..j).map(|l| com[l] + gamma(&mut rng, b[l] - d[l])).collect();
            normal(&mut x1); normal(&mut x2);
            cases.push((PairDensity::new(&a, &b, &d).unwrap().with_resolution(0.03).unwrap(), x1, x2));
        }
        let build = t.elapsed().as_secs_f64() / 20.0 * 1e6;
        let mut scratch = Scratch::default();
        let mut count = 0;
        let mut all = Vec::new();
        for (d, a, b) in &cases { for rep in 0..std::env::var("REPS").map_or(10, |r| r.parse().unwrap()) { let t = std::time::Instant::now(); let c = 1; let _ = d.ln_density(a, b, &mut scratch); if rep > 0 { count += c; all.push(t.elapsed().as_secs_f64() * 1e6); } } }
        all.sort_by(f64::total_cmp);
        let lines = count as f64 / all.len() as f64;
        eprintln!("smooth J {j} alpha {scale} r {ratio}: median {:.1} us, {:.1} lines, {:.2} us/line build {build:.0}", all[all.len() / 2], lines, all[all.len() / 2] / lines);
    }
}
