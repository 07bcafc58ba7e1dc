//! Tables: any bytes in any format and layout are read to the end or refused. What was read are
//! distributions, the same at any size of chunks, and can be written in every format.

use std::sync::Arc;

use consilience::{InputFormat, Outputs, Schema, ValueKind};
use consilience_io::{
    Format, Input, Layout, Location, ReadOptions, TableReader, TableWriter, read_outputs_from,
};

/// Items that are read at most; a few bytes can hold millions of rows.
const MOST_ITEMS: usize = 4096;

pub(crate) fn csv(bytes: &[u8]) {
    table(Format::Csv, bytes);
}

pub(crate) fn json_lines(bytes: &[u8]) {
    table(Format::JsonLines, bytes);
}

pub(crate) fn parquet(bytes: &[u8]) {
    table(Format::Parquet, bytes);
}

pub(crate) fn arrow(bytes: &[u8]) {
    table(Format::Arrow, bytes);
}

/// The last byte chooses the options, so that a seed is an ordinary file with a byte more.
fn table(format: Format, bytes: &[u8]) {
    let Some((choice, file)) = bytes.split_last() else { return };
    let options = options(*choice);
    let input = || Input::from_bytes("table", format, file.to_vec());
    let schema = match read_outputs_from(input(), &options) {
        Ok(outputs) => {
            check(&outputs);
            Arc::clone(outputs.schema())
        }
        Err(error) => {
            let _ = (error.to_string(), error.hint().map(|hint| hint.to_string()));
            Arc::new(Schema::new(["a", "b"], ["x", "y"]).expect("names are fine"))
        }
    };
    let Ok(reader) = TableReader::new(input(), &schema, &options) else { return };
    copy(reader);
}

fn options(choice: u8) -> ReadOptions {
    let bit = |place: u8| choice >> place & 1 == 1;
    let kinds =
        [ValueKind::Probabilities, ValueKind::LogProbabilities, ValueKind::Logits, ValueKind::Odds];
    let kind = kinds[usize::from(choice & 3)];
    ReadOptions {
        layout: if bit(2) { Layout::Long } else { Layout::Wide },
        input_format: InputFormat { kind, ..InputFormat::default() },
        classes: bit(3).then(|| vec!["x".into(), "y".into()]),
        chunk_items: if bit(4) { 3 } else { 8192 },
        needs_labels: bit(5),
        ..ReadOptions::default()
    }
}

fn check(outputs: &Outputs) {
    let schema = outputs.schema();
    for item in 0..outputs.n_items().min(MOST_ITEMS) {
        assert!(outputs.label(item).is_none_or(|label| label < schema.n_classes()));
        for output in (0..schema.n_classifiers()).filter_map(|k| outputs.output(item, k)) {
            let sum: f64 = output.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9 && output.iter().all(|p| *p >= 0.0), "{output:?}");
        }
    }
}

/// Writes every chunk in every format; a format that cannot hold a column refuses it.
fn copy(mut reader: TableReader) {
    let formats = [Format::Csv, Format::JsonLines, Format::Parquet, Format::Arrow];
    let writer = |format| TableWriter::create(&Location::from("/dev/null"), Some(format)).ok();
    let mut writers: Vec<TableWriter> = formats.into_iter().filter_map(writer).collect();
    let mut n_items = 0;
    while let Ok(Some(chunk)) = reader.next_chunk() {
        check(&chunk.outputs);
        writers.retain_mut(|writer| writer.write(&chunk.carried, &[]).is_ok());
        n_items += chunk.outputs.n_items();
        if n_items > MOST_ITEMS {
            break;
        }
    }
    for writer in writers {
        let _ = writer.finish();
    }
}
