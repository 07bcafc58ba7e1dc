//! Options of `export`.

use clap::Args;
use consilience::DEFAULT_SUM_TOLERANCE;
use consilience_io::Location;
use std::path::PathBuf;

use crate::args::Values;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    consilience export model.json -o model.onnx\n  \
    consilience export model.json --python -o scorer.py")]
pub(crate) struct ExportOptions {
    /// Model file.
    pub(crate) model: PathBuf,
    /// File to write; `-` is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Location,
    /// Write a Python module without dependencies instead of ONNX.
    #[arg(long)]
    pub(crate) python: bool,
    /// Compute in 32 bits: results then agree with those of `fuse` to about 1e-5 only.
    #[arg(long, conflicts_with = "python")]
    pub(crate) float32: bool,
    /// The kind of numbers that the exported model takes [default: the model's].
    #[arg(long, value_enum)]
    pub(crate) values: Option<Values>,
    /// Renormalise outputs whose sum differs from 1 by at most this much.
    #[arg(
        long,
        value_name = "D",
        default_value_t = DEFAULT_SUM_TOLERANCE,
        allow_negative_numbers = true
    )]
    pub(crate) sum_tolerance: f64,
}
