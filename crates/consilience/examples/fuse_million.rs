//! Fuses a million items on one thread, once for every line of standard input, and prints rows
//! per CPU second. `benches/fuse_vs_numpy.py` runs it beside numpy.

use std::io::BufRead;
use std::sync::Arc;
use std::time::{Duration, Instant};

use consilience::fusion::independent::IndependentFusion;
use consilience::fusion::{Fused, fuse_into};
use consilience::simulation::Preset;
use consilience::{ClassPrior, Result};

const ITEMS_PER_CLASS: usize = 333_334;

#[allow(clippy::print_stdout)] // a program for a script to read
fn main() -> Result<()> {
    let outputs = Preset::Sim2.truth(0.5)?.simulate(ITEMS_PER_CLASS, 1)?;
    let alpha: Vec<Vec<f64>> = Preset::Sim2.alpha().iter().map(|row| row.to_vec()).collect();
    let model = IndependentFusion::new(Arc::clone(outputs.schema()), vec![alpha; 2])?;
    let prior = ClassPrior::uniform(3);
    let mut fused = Fused::default();
    println!("ready");
    for _ in std::io::stdin().lock().lines() {
        let start = cpu_time();
        fuse_into(&model, &outputs, &prior, &mut fused)?;
        let seconds = cpu_time().saturating_sub(start).as_secs_f64();
        println!("{}", fused.n_items() as f64 / seconds);
    }
    Ok(())
}

/// Time on the processor of this process, where Linux tells; else the clock's.
fn cpu_time() -> Duration {
    let told = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(clock, Duration::from_nanos)
}

fn clock() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
