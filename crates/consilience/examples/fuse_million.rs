//! Fuses a million items on one thread, once for every line of standard input, and prints rows
//! per CPU second. `benches/fuse_vs_numpy.py` runs it beside numpy. With the argument `check` the
//! items come as raw numbers and are checked first, as `benches/python_overhead.py` compares.

use std::io::BufRead;
use std::sync::Arc;
use std::time::{Duration, Instant};

use consilience::fusion::independent::IndependentFusion;
use consilience::fusion::{Fused, fuse_into, fuse_rows};
use consilience::simulation::Preset;
use consilience::{ClassPrior, Intake, Outputs, OutputsBuilder, Result};

const ITEMS_PER_CLASS: usize = 333_334;

/// Items checked and fused at a time.
const PIECE: usize = 4096;

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
    let (n_classes, width) = (schema.n_classes(), schema.width());
    let (mut fused, mut errors) = (vec![0.0; raw.n_items() * n_classes], vec![0.0; raw.n_items()]);
    let mut builder = OutputsBuilder::new(Arc::clone(schema), Intake::default())?;
    let pieces = raw.all().values().chunks(PIECE * width);
    let rows = fused.chunks_mut(PIECE * n_classes).zip(errors.chunks_mut(PIECE));
    for (values, rows) in pieces.zip(rows) {
        builder.clear();
        builder.push_all(values, |_| None)?;
        fuse_rows(model, builder.outputs(), prior, rows)?;
    }
    Ok((fused, errors))
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
