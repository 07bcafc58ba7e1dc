//! CPU seconds of learning what two classifiers share: `cargo run --release --example learn_pair`.
//!
//! Three classes of 1000 items each (or as many as the first argument says) of the paper's second
//! simulated set at a correlation of 0.5. One thread: `RAYON_NUM_THREADS=1`.

#![allow(clippy::print_stdout)]

use consilience::methods::correlated::learning::{Correlated, CorrelatedInference};
use consilience::simulation::Preset;
use consilience::{NoProgress, Result};

/// CPU seconds of this process so far, from Linux's accounting; 0 elsewhere.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn main() -> Result<()> {
    let items = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1000);
    let outputs = Preset::Sim2.truth(0.5)?.simulate(items, 1)?;
    for inference in [CorrelatedInference::Map, CorrelatedInference::TwoStep] {
        let config = Correlated { inference, ..Correlated::default() };
        let before = cpu_seconds();
        let fitted = config.fit_pair(&outputs, &NoProgress)?;
        println!("{inference:?}, 3 × {items} items: {:.2} CPU s", cpu_seconds() - before);
        println!("δ {:.3?}", fitted.delta);
        if let Some(report) = fitted.delta_posterior {
            println!(
                "least ESS {:.0} of {} draws, R-hat {:.3}, log density off by {:.3}",
                report.worst.ess_bulk.min(report.worst.ess_tail),
                report.chains * report.draws,
                report.worst.r_hat,
                report.surrogate_error,
            );
        }
        fitted.warnings.iter().for_each(|warning| println!("{warning}"));
    }
    Ok(())
}
