//! The pipeline of commands that add columns to a table of any length.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use consilience::{Doubts, Outputs, Progress};
use consilience_io::{Added, AddedValues, Chunk, Location, ReadOptions, TableReader, TableWriter};

use crate::args::TableOutput;
use crate::error::Failure;
use crate::output::Messages;
use crate::progress::{TerminalProgress, Unit, stoppable};

/// Numbers of items and of values raised to the floor.
#[derive(Debug, Default)]
pub(super) struct Streamed {
    pub(super) n_items: u64,
    pub(super) n_raised: u64,
}

/// Writes a chunk with the columns added to it.
pub(super) type Write<'a> = &'a mut dyn FnMut(&[Added<'_>]) -> Result<(), Failure>;

/// Chunks read ahead of the one in work.
const READ_AHEAD: usize = 2;

/// Time between checks for an interruption while waiting for input.
const PATIENCE: Duration = Duration::from_millis(100);

/// Reads `data` chunk by chunk, lets `compute` add columns to each, and writes the result, whole
/// or not at all. Reading runs beside computing and writing; memory holds a few chunks.
pub(super) fn add_columns(
    data: &Location,
    schema: &std::sync::Arc<consilience::Schema>,
    options: &ReadOptions,
    table: &TableOutput,
    quiet: bool,
    mut compute: impl FnMut(&Outputs, &dyn Progress, Write<'_>) -> Result<(), Failure>,
) -> Result<Streamed, Failure> {
    let reader = stoppable(|| TableReader::open(data, schema, options))?;
    let mut writer = TableWriter::create(&table.output, table.output_format)?;
    let progress = TerminalProgress::new(quiet, Unit::Bytes);
    progress.begin("fusing", reader.total_bytes().unwrap_or(0));
    let empty = reader.empty_batch()?;
    let (mut streamed, mut doubts) = (Streamed::default(), Doubts::default());
    if !reader.unknown_classifiers().is_empty() {
        Messages::warning(format_args!(
            "{data} has outputs of {}, which the model does not have; they are not used",
            reader.unknown_classifiers().join(", ")
        ));
    }
    let (chunks, reading) = read_ahead(reader);
    while let Some((chunk, bytes)) = next(&chunks, &progress)? {
        compute(&chunk.outputs, &progress, &mut |added| Ok(writer.write(&chunk.carried, added)?))?;
        streamed.n_items += chunk.outputs.n_items() as u64;
        streamed.n_raised += chunk.outputs.n_raised() as u64;
        doubts.merge(&chunk.outputs.doubts());
        progress.set(bytes);
    }
    reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    if streamed.n_items == 0 {
        let nothing =
            consilience::OutputsBuilder::new(std::sync::Arc::clone(schema), options.input_format)?;
        compute(&nothing.finish(), &progress, &mut |added| Ok(writer.write(&empty, added)?))?;
    }
    progress.check()?;
    writer.finish()?;
    Messages::doubts(&doubts, data);
    Ok(streamed)
}

/// A chunk and how many bytes of the input were read with it.
type Read = (Chunk, u64);

/// Reads in a thread of its own. If the work ends early, the thread is left alone: it may be
/// waiting for an input that never comes.
fn read_ahead(
    mut reader: TableReader,
) -> (Receiver<Read>, thread::JoinHandle<Result<(), Failure>>) {
    let (sender, receiver) = sync_channel(READ_AHEAD);
    let reading = thread::spawn(move || {
        while let Some(chunk) = reader.next_chunk()? {
            if sender.send((chunk, reader.bytes_read())).is_err() {
                break; // the other side has failed and reports why
            }
        }
        Ok(())
    });
    (receiver, reading)
}

/// The next chunk, `None` when the reader has ended; an error if the user wants to stop.
fn next(chunks: &Receiver<Read>, progress: &TerminalProgress) -> Result<Option<Read>, Failure> {
    loop {
        progress.check()?;
        match chunks.recv_timeout(PATIENCE) {
            Ok(read) => return Ok(Some(read)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// A column of numbers.
pub(super) fn number_column<'a>(name: &'a str, values: &'a [f64]) -> Added<'a> {
    Added { name: name.into(), values: AddedValues::Numbers(values) }
}
