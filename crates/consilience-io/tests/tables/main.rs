//! Tables through the public interface: every layout and format, good and bad.

mod foreign;
mod formats;
mod inputs;
mod long;
mod streams;
mod votes;
mod wide;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use consilience::{Outputs, Schema};
use consilience_io::{
    Added, AddedValues, Error, Layout, Location, ReadOptions, Result, TableReader, TableWriter,
    read_outputs, write_whole,
};
use tempfile::TempDir;

/// A folder of files for one test.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn at(&self, name: &str) -> Location {
        self.path(name).into()
    }

    /// Writes a file and tells where it is.
    fn with(&self, name: &str, content: impl AsRef<[u8]>) -> Location {
        write_whole(&self.at(name), content.as_ref()).unwrap();
        self.at(name)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names of all files, to see that nothing was left behind.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A message without the folder, which differs from run to run.
    fn message(&self, error: &Error) -> String {
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn fixture(name: &str) -> Location {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name).into()
}

fn options() -> ReadOptions {
    ReadOptions::default()
}

fn long_options() -> ReadOptions {
    ReadOptions { layout: Layout::Long, ..options() }
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(["a", "b"], ["x", "y"]).unwrap())
}

/// Reads chunk by chunk and copies the table with a column of row numbers and one of names.
fn copy(from: &Location, to: &Location, options: &ReadOptions) -> Result<Vec<Outputs>> {
    let mut reader = TableReader::open(from, &schema(), options)?;
    let mut writer = TableWriter::create(to, None)?;
    let mut chunks = Vec::new();
    writer.write(&reader.empty_batch()?, &added(&[], &[]))?;
    let mut row = 0.0;
    while let Some(chunk) = reader.next_chunk()? {
        let n = chunk.carried.n_rows();
        assert_eq!(chunk.outputs.n_items(), n);
        let (mut numbers, mut index) = (Vec::new(), Vec::new());
        for _ in 0..n {
            row += 0.5;
            numbers.push(row);
            index.push(u32::from(row > 1.0));
        }
        writer.write(&chunk.carried, &added(&numbers, &index))?;
        chunks.push(chunk.outputs);
    }
    writer.finish()?;
    Ok(chunks)
}

fn added<'a>(numbers: &'a [f64], index: &'a [u32]) -> [Added<'a>; 2] {
    static NAMES: std::sync::LazyLock<[String; 2]> =
        std::sync::LazyLock::new(|| ["early".into(), "late".into()]);
    [
        Added { name: "half".into(), values: AddedValues::Numbers(numbers) },
        Added { name: "part".into(), values: AddedValues::Names { index, names: &*NAMES } },
    ]
}

/// The message and the advice with which a table is refused when read as a whole.
#[track_caller]
fn refusal(content: &str, options: &ReadOptions) -> (String, String) {
    let files = Files::new();
    let error = read_outputs(&files.with("t.csv", content), options).unwrap_err();
    (files.message(&error), error.hint().map(|hint| hint.to_string()).unwrap_or_default())
}

/// The message with which a table is refused when read with a known schema.
#[track_caller]
fn known_refusal(name: &str, content: impl AsRef<[u8]>, options: &ReadOptions) -> String {
    let files = Files::new();
    files.message(&copy(&files.with(name, content), &files.at("o.csv"), options).unwrap_err())
}
