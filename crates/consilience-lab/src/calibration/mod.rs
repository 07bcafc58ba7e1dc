//! Simulation-based calibration: parameters drawn from the prior, data from the parameters; the ranks of the
//! parameters among posterior draws must be uniform.
//!
//! # References
//! Talts, Betancourt, Simpson, Vehtari, Gelman, "Validating Bayesian inference algorithms with simulation-based
//! calibration", 2018. <https://arxiv.org/abs/1804.06788>

mod delta;
mod full;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::Failure;

/// Which posterior to calibrate, and how often.
#[derive(Debug, Args)]
pub struct Options {
    /// The posterior.
    #[arg(value_enum)]
    posterior: Posterior,
    /// Number of replications [default: 200 for delta, 40 for full].
    #[arg(long, value_name = "N")]
    replications: Option<usize>,
    /// Number of classes, for full.
    #[arg(long, value_name = "J", default_value_t = 2)]
    classes: usize,
    /// Folder for the tables.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Posterior {
    /// δ of two classifiers given α: writes `sbc_delta.csv`.
    Delta,
    /// All shared shapes of three classifiers: writes `calibration.csv` and `calibration_summary.csv`, with another number
    /// of classes `calibration_3_classes.csv` and so on.
    Full,
}

/// Writes the tables of one calibration; an error if ranks are not uniform.
pub fn run(options: &Options) -> Result<(), Failure> {
    std::fs::create_dir_all(&options.output)?;
    match options.posterior {
        Posterior::Delta => delta::run(options.replications.unwrap_or(200), &options.output),
        Posterior::Full => {
            full::run(options.classes, options.replications.unwrap_or(40), &options.output)
        }
    }
}

/// Number of draws that a parameter is ranked among; ranks are 0, …, 98.
const RANKED: usize = 98;

/// Deviations of ranks from the uniform distribution.
struct Uniformity {
    /// χ² of the counts in bins.
    chi_square: f64,
    /// P(χ² > `chi_square`).
    p_value: f64,
    /// Deviation of the mean rank in standard errors.
    mean_z: f64,
    /// Deviation of the mean square distance from the middle in standard errors.
    spread_z: f64,
}

impl Uniformity {
    /// From ranks in an odd number of bins, a divisor of 99.
    fn of(ranks: impl Iterator<Item = usize>, n_bins: usize) -> Self {
        let (mut bins, mut n, mut mean, mut square) = (vec![0.0; n_bins], 0.0, 0.0, 0.0);
        for rank in ranks {
            bins[rank * n_bins / (RANKED + 1)] += 1.0;
            let centred = (rank as f64 + 0.5) / (RANKED + 1) as f64 - 0.5;
            n += 1.0;
            mean += centred;
            square += centred * centred;
        }
        let expected = n / n_bins as f64;
        let chi_square = bins.iter().map(|b| (b - expected).powi(2) / expected).sum::<f64>();
        // A uniform number has variance 1/12; its squared distance from the middle has variance 1/180.
        Self {
            chi_square,
            p_value: survival(chi_square, n_bins - 1),
            mean_z: mean / n * (12.0 * n).sqrt(),
            spread_z: (square / n - 1.0 / 12.0) * (180.0 * n).sqrt(),
        }
    }
}

/// P(χ² > x) with an even number of degrees of freedom.
fn survival(x: f64, degrees: usize) -> f64 {
    let mut term = (-0.5 * x).exp();
    let mut sum = term;
    for i in 1..degrees / 2 {
        term *= 0.5 * x / i as f64;
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles from tables of χ².
    #[test]
    fn survival_at_tabulated_quantiles() {
        for (x, degrees, p) in [(18.307, 10, 0.05), (15.507, 8, 0.05), (26.124, 8, 0.001)] {
            assert!((survival(x, degrees) - p).abs() < 1e-5, "{x} {degrees}");
        }
    }

    #[test]
    fn even_ranks_are_uniform_and_low_ranks_are_not() {
        let even = Uniformity::of(0..99, 9);
        assert!(even.chi_square == 0.0 && even.mean_z.abs() < 1e-9 && even.p_value > 0.999);
        let low = Uniformity::of((0..99).map(|rank| rank / 2), 9);
        assert!(low.p_value < 1e-6 && low.mean_z < -4.0 && low.spread_z.abs() < 1.0);
    }
}
