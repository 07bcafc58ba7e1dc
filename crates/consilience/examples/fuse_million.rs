//! Fuses a million items on one thread, once for every line of standard input, and prints rows
//! per CPU second. `benches/fuse_vs_numpy.py` runs it beside numpy. With the argument `check` the
//! items come as raw numbers and are checked first, as `benches/python_overhead.py` compares.

use std::io::BufRead;
use std::sync::Arc;
use std::time::{Duration, Instant};

use consilience::methods::independent::IndependentFusion;
use consilience::methods::{Fused, Rows, Source, fuse_into, fuse_rows};
use consilience::simulation::Preset;
use consilience::{ClassPrior, InputFormat, NoProgress, Outputs, Result};

const ITEMS_PER_CLASS: usize = 333_334;

#[allow(clippy::print_stdout)] // a program for a script to read
fn main() -> Result<()> {
    let outputs = Preset::Sim2.truth(0.5)?.simulate(ITEMS_PER_CLASS, 1)?;
    let alpha: Vec<Vec<f64>> = Preset::Sim2.alpha().iter().map(|row| row.to_vec()).collect();
    let model = IndependentFusion::new(Arc::clone(outputs.schema()), vec![alpha; 2])?;
    let prior = ClassPrior::uniform(3);
    let (mut fused, mut rows) = (Fused::default(), Vec::new());
    let check = std::env::args().nth(1).is_some_and(|mode| mode == "check");
    println!("ready");
    for _ in std::io::stdin().lock().lines() {
        let start = cpu_time();
        if check {
            check_and_fuse(&model, &outputs, &prior, &mut rows)?;
        } else {
            fuse_into(&model, &outputs, &prior, &mut fused, &NoProgress)?;
        }
        let seconds = cpu_time().saturating_sub(start).as_secs_f64();
        println!("{}", outputs.n_items() as f64 / seconds);
    }
    Ok(())
}

/// From raw numbers, as Python's `predict_proba` does it.
fn check_and_fuse(
    model: &IndependentFusion,
    raw: &Outputs,
    prior: &ClassPrior,
    fused: &mut Vec<f64>,
) -> Result<()> {
    let (schema, values) = (raw.schema(), raw.all().values());
    fused.resize(raw.n_items() * schema.n_classes(), 0.0);
    let source = Source::Raw { schema, input_format: InputFormat::default(), values };
    fuse_rows(model, source, prior, Rows { values: fused, errors: None }, &NoProgress)
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
