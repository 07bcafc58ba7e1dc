//! Fuses a million items on one thread, once for every line of standard input, and prints rows
//! per CPU second. `benches/fuse_vs_numpy.py` runs it beside numpy. With the argument `check` the
//! items come as raw numbers and are checked first, as `benches/python_overhead.py` compares.

use std::io::BufRead;
use std::sync::Arc;
use std::time::{Duration, Instant};

use consilience::fusion::independent::IndependentFusion;
use consilience::fusion::{Fused, fuse_into};
use consilience::simulation::Preset;
use consilience::{ClassPrior, Intake, Outputs, OutputsBuilder, Result};

const ITEMS_PER_CLASS: usize = 333_334;

#[allow(clippy::print_stdout)] // a program for a script to read
fn main() -> Result<()> {
    let outputs = Preset::Sim2.truth(0.5)?.simulate(ITEMS_PER_CLASS, 1)?;
    let alpha: Vec<Vec<f64>> = Preset::Sim2.alpha().iter().map(|row| row.to_vec()).collect();
    let model = IndependentFusion::new(Arc::clone(outputs.schema()), vec![alpha; 2])?;
    let prior = ClassPrior::uniform(3);
    let mut fused = Fused::default();
    let check = std::env::args().nth(1).is_some_and(|mode| mode == "check");
    println!("ready");
    for _ in std::io::stdin().lock().lines() {
        let start = cpu_time();
        if check {
            std::hint::black_box(check_and_fuse(&model, &outputs, &prior)?);
        } else {
            fuse_into(&model, &outputs, &prior, &mut fused)?;
        }
        let seconds = cpu_time().saturating_sub(start).as_secs_f64();
        println!("{}", outputs.n_items() as f64 / seconds);
    }
    Ok(())
}

/// From raw numbers to new memory, piece by piece.
fn check_and_fuse(
    model: &IndependentFusion,
    raw: &Outputs,
    prior: &ClassPrior,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let schema = raw.schema();
    let mut fused = Fused::default();
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    all.reserve_exact(raw.n_items() * schema.n_classes());
    errors.reserve_exact(raw.n_items());
    for values in raw.all().values().chunks(4096 * schema.width()) {
        let mut builder = OutputsBuilder::new(Arc::clone(schema), Intake::default())?;
        builder.reserve(values.len() / schema.width());
        values.chunks_exact(schema.width()).try_for_each(|row| builder.push_indexed(row, None))?;
        fuse_into(model, &builder.finish(), prior, &mut fused)?;
        all.extend_from_slice(fused.all());
        errors.extend((0..fused.n_items()).map(|item| fused.error(item)));
    }
    Ok((all, errors))
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
