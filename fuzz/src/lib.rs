//! Fuzz targets: functions of arbitrary bytes that must neither panic nor abort nor hang.
//!
//! A target is a file with a function of bytes, a line in [`TARGETS`] and a folder of seeds,
//! `corpus/<name>`. `make fuzz TARGET=<name>` runs it in libFuzzer. `cargo test -p consilience-fuzz`
//! replays the seeds and every past finding without it.

#![forbid(unsafe_code)]

mod models;
mod tables;
mod values;
mod votes;

/// A target: its name and the function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("csv", tables::csv),
    ("jsonl", tables::json_lines),
    ("parquet", tables::parquet),
    ("arrow", tables::arrow),
    ("model", models::file),
    ("fuse", models::fusion),
    ("values", values::values),
    ("votes", votes::table),
    ("vote-model", votes::model),
];

/// The target of a name.
pub fn target(name: &str) -> Option<fn(&[u8])> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, run)| *run)
}
