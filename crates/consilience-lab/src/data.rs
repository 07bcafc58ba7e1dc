//! The real data sets, which are not part of the repository.

use std::path::{Path, PathBuf};

use consilience::Outputs;
use consilience_io::{ReadOptions, read_outputs};

use crate::Failure;
use crate::output::note;

/// The message for a run without the data sets.
pub(crate) const MISSING: &str = "the real data sets are skipped: set CONSILIENCE_DATA or `--data` \
    to the folder that contains bookies_a.csv, ..., dna_c.csv. The originals are published: \
    bookmakers' odds by football-data.co.uk (England, file E0, and Germany, file D1, seasons \
    2005-06 to 2018-19), DNA splice junctions by the UCI repository (Molecular Biology, \
    Splice-junction Gene Sequences); section D of the paper's supplement describes how they became \
    outputs of classifiers";

/// A folder beside the repository, used if it exists.
const BESIDE: &str = "../shared/data";

/// The folder of the data sets: the one given, else `CONSILIENCE_DATA`, else one beside the
/// repository; `None` if it does not exist.
pub(crate) fn folder(given: Option<&Path>) -> Option<PathBuf> {
    let found = given
        .map(Path::to_path_buf)
        .or_else(|| std::env::var_os("CONSILIENCE_DATA").map(PathBuf::from))
        .unwrap_or_else(|| BESIDE.into());
    found.is_dir().then_some(found)
}

/// The labelled outputs of a real data set for tests; `None` with a message if it is not there.
#[allow(clippy::missing_panics_doc)] // a damaged file should fail a test
pub fn real_data_set(name: &str) -> Option<Outputs> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let found = folder(None).or_else(|| folder(Some(Path::new(beside))));
    if found.is_none() {
        note(format_args!("{name}: {MISSING}"));
    }
    Some(read(name, &found?).expect("a readable data set"))
}

/// Reads the labelled outputs of one data set.
pub(crate) fn read(name: &str, folder: &Path) -> Result<Outputs, Failure> {
    let file = folder.join(format!("{name}.csv"));
    let reading = ReadOptions { needs_labels: true, ..ReadOptions::default() };
    Ok(read_outputs(&file.into(), &reading)?)
}
