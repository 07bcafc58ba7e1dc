//! Files of other programs, and files that are damaged.

use std::sync::Arc;

use arrow_array::builder::{StringViewBuilder, UnionBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, DictionaryArray,
    DurationMillisecondArray, Float64Array, NullArray, RecordBatch, Time64MicrosecondArray,
};
use arrow_ipc::writer::FileWriter;
use consilience_io::{
    Format, Input, Layout, Location, ReadOptions, TableReader, VoteReadOptions, read_outputs,
    read_outputs_from, read_votes_from,
};

use crate::formats::{EXTENSIONS, recopy};
use crate::{Files, copy, fixture, options};

#[test]
fn files_of_other_programs_are_read() {
    for name in [
        "polars_zstd.parquet",
        "polars.arrow",
        "pyarrow_dictionary.parquet",
        "pyarrow_float32.parquet",
        "pyarrow_dates.parquet",
        "pyarrow_gzip.parquet",
        "pyarrow_lz4.arrow",
        "pyarrow_stream.arrow",
    ] {
        for chunk_items in [1, 2, 8192] {
            let options = ReadOptions { chunk_items, ..options() };
            let outputs = read_outputs(&fixture(name), &options).unwrap();
            let first: Vec<_> =
                (0..7).map(|item| outputs.output(item, 0).map(|output| output[1])).collect();
            let floor = 1e-6 / (1.0 + 1e-6);
            for (got, want) in first.iter().zip([0.25, 0.5, 0.75, 0.875, 0.125, 0.9375, floor]) {
                assert!((got.unwrap() - want).abs() < 1e-15, "{name}: {got:?}");
            }
            assert!(outputs.output(2, 1).is_none(), "{name}");
            let labels: Vec<_> = (0..7).map(|item| outputs.label(item)).collect();
            let (x, y) = (Some(0), Some(1));
            assert_eq!(labels, [x, y, y, x, None, y, x], "{name}");
        }
    }
}

#[test]
fn files_of_other_programs_are_carried_into_every_format() {
    for name in ["polars_zstd.parquet", "pyarrow_lz4.arrow", "pyarrow_stream.arrow"] {
        for extension in EXTENSIONS {
            let files = Files::new();
            let middle = files.at(&format!("o.{extension}"));
            let options = ReadOptions { chunk_items: 2, ..options() };
            copy(&fixture(name), &middle, &options).unwrap();
            recopy(&middle, &files.at("end.csv"));
            let text = files.text("end.csv");
            assert_eq!(text.lines().next(), Some("id,label,a_x,a_y,b_x,b_y,fresh,half,part"));
            assert_eq!(text.lines().nth(1), Some("101,x,0.75,0.25,0.5,0.5,true,0.5,early"));
            assert_eq!(text.lines().nth(3), Some("103,y,0.25,0.75,,,,1.5,late"), "{name}");
            assert_eq!(text.lines().nth(5), Some("105,,0.875,0.125,0.375,0.625,true,2.5,late"));
        }
    }
}

#[test]
fn parquet_to_parquet_keeps_types() {
    let files = Files::new();
    for name in ["pyarrow_dictionary.parquet", "pyarrow_dates.parquet"] {
        let copied = files.at("o.parquet");
        copy(&fixture(name), &copied, &options()).unwrap();
        let types = |location: &Location| {
            let Location::Path(path) = location else { unreachable!() };
            let file = std::fs::File::open(path).unwrap();
            let builder =
                parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file);
            let schema = builder.unwrap().schema().clone();
            schema.fields().iter().map(|field| field.data_type().clone()).collect::<Vec<_>>()
        };
        let (before, after) = (types(&fixture(name)), types(&copied));
        assert_eq!(before[..], after[..before.len()], "{name}");
    }
}

#[test]
fn dates_and_times_are_written_as_text() {
    let files = Files::new();
    for (name, end) in [
        ("o.csv", "1970-01-02,1970-01-01T00:00:01.500000Z,1.0,early"),
        ("o.jsonl", r#""time":"1970-01-01T00:00:01.500000Z","half":1.0,"part":"early"}"#),
    ] {
        copy(&fixture("pyarrow_dates.parquet"), &files.at(name), &options()).unwrap();
        let text = files.text(name);
        assert!(text.lines().any(|line| line.ends_with(end)), "{text}");
    }
}

#[test]
fn types_that_cannot_be_used_or_written_are_named() {
    let files = Files::new();
    let list = fixture("pyarrow_list.parquet");
    let error = copy(&list, &files.at("o.csv"), &options()).unwrap_err();
    let message = files.message(&error);
    assert!(message.starts_with("o.csv, column `list`: the type List("), "{message}");
    assert!(message.ends_with("cannot be written as text"), "{message}");
    assert!(files.names().is_empty());
    copy(&list, &files.at("o.parquet"), &options()).unwrap();
    let schema = consilience::Schema::new(["a"], ["x", "y"]).unwrap();
    let long = ReadOptions { layout: Layout::Long, ..options() };
    assert!(TableReader::open(&list, &schema.into(), &long).is_err());
}

#[test]
fn cut_off_files_are_refused_at_every_length() {
    let files = Files::new();
    for name in ["polars_zstd.parquet", "pyarrow_lz4.arrow", "polars.arrow"] {
        let Location::Path(path) = fixture(name) else { unreachable!() };
        let bytes = std::fs::read(path).unwrap();
        for length in (0..bytes.len()).step_by(37).chain([bytes.len() - 1]) {
            let cut = files.with(name, &bytes[..length]);
            let error = read_outputs(&cut, &options()).unwrap_err();
            let message = files.message(&error);
            assert!(message.starts_with(&format!("{name}: ")), "{length}: {message}");
        }
    }
}

#[test]
fn damaged_files_never_panic() {
    let files = Files::new();
    for name in ["polars_zstd.parquet", "polars.arrow", "pyarrow_stream.arrow"] {
        let Location::Path(path) = fixture(name) else { unreachable!() };
        let bytes = std::fs::read(path).unwrap();
        for place in (0..bytes.len()).step_by(23) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x55;
            // Some damage goes unnoticed, such as another probability; none may panic.
            if let Err(error) = read_outputs(&files.with(name, &damaged), &options()) {
                assert!(files.message(&error).starts_with(name), "{place}: {error}");
            }
        }
    }
}

#[test]
fn a_probability_of_an_unusable_type_is_named() {
    let files = Files::new();
    let flag = Arc::new(BooleanArray::from(vec![true])) as ArrayRef;
    let table = arrow_file(&files, ["a_x", "a_y"].map(|name| (name, flag.clone())).to_vec());
    let error = read_outputs(&table, &options()).unwrap_err();
    assert_eq!(
        files.message(&error),
        "t.arrow, column `a_x`: the type Boolean cannot be read as probabilities"
    );
}

/// A batch as a file in memory.
pub(crate) fn arrow_bytes(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn arrow_file(files: &Files, columns: Vec<(&str, ArrayRef)>) -> Location {
    files.with("t.arrow", arrow_bytes(&RecordBatch::try_from_iter(columns).unwrap()))
}

fn decimals(values: [i128; 2]) -> ArrayRef {
    let decimals = Decimal128Array::from_iter_values(values);
    Arc::new(decimals.with_precision_and_scale(10, 3).unwrap())
}

#[test]
fn decimals_are_numbers_and_times_durations_and_bytes_are_text() {
    let files = Files::new();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a_x", decimals([250, 1000])),
        ("a_y", decimals([750, 0])),
        ("b_x", decimals([500, 500])),
        ("b_y", decimals([500, 500])),
        ("price", decimals([-1050, 7])),
        ("time", Arc::new(Time64MicrosecondArray::from(vec![3_600_000_001, 0]))),
        ("lasted", Arc::new(DurationMillisecondArray::from(vec![Some(1500), None]))),
        ("bytes", Arc::new(BinaryArray::from(vec![&b"text"[..], &[0xff, 0x00]]))),
    ];
    let from = arrow_file(&files, columns);
    let outputs = read_outputs(&from, &options()).unwrap();
    assert_eq!(outputs.output(0, 0), Some(&[0.25, 0.75][..]));
    copy(&from, &files.at("o.csv"), &options()).unwrap();
    let text = files.text("o.csv");
    let mut rows = text.lines().skip(1);
    assert_eq!(
        rows.next(),
        Some("0.250,0.750,0.500,0.500,-1.050,01:00:00.000001,PT1.500S,text,0.5,early")
    );
    assert_eq!(rows.next(), Some("1.000,0.000,0.500,0.500,0.007,00:00:00,,0xff00,1.0,early"));
    copy(&from, &files.at("o.jsonl"), &options()).unwrap();
    let text = files.text("o.jsonl");
    assert!(
        text.contains(r#""price":0.007,"time":"00:00:00","lasted":null,"bytes":"0xff00""#),
        "{text}"
    );
    copy(&from, &files.at("o.parquet"), &options()).unwrap();
}

/// The Parquet writer panics at unions.
#[test]
fn a_union_is_refused_by_its_name() {
    let files = Files::new();
    let mut union = UnionBuilder::new_dense();
    union.append::<Int32Type>("i", 1).unwrap();
    let half: ArrayRef = Arc::new(Float64Array::from(vec![0.5]));
    let mut columns: Vec<(&str, ArrayRef)> =
        ["a_x", "a_y", "b_x", "b_y"].map(|name| (name, half.clone())).to_vec();
    columns.push(("either", Arc::new(union.build().unwrap())));
    let from = arrow_file(&files, columns);
    for name in ["o.parquet", "o.csv", "o.jsonl"] {
        let error = copy(&from, &files.at(name), &options()).unwrap_err();
        let message = files.message(&error);
        assert!(
            message.starts_with(&format!("{name}, column `either`: the type Union(")),
            "{message}"
        );
    }
    copy(&from, &files.at("o.arrow"), &options()).unwrap();
}

/// Columns without values, which take no bytes in a file, whatever their length.
fn nothing_but_rows(n_sources: usize) -> Vec<u8> {
    let columns = (0..n_sources).flat_map(|k| [format!("a{k}_x"), format!("a{k}_y")]);
    let none = Arc::new(NullArray::new(1 << 24)) as ArrayRef;
    arrow_bytes(&RecordBatch::try_from_iter(columns.map(|name| (name, Arc::clone(&none)))).unwrap())
}

#[test]
fn a_small_file_cannot_fill_the_memory() {
    let bytes = nothing_but_rows(100);
    let file = || Input::from_bytes("t", Format::Arrow, bytes.clone());
    let stream = || Input::from_read("t", Format::Arrow, std::io::Cursor::new(bytes.clone()));
    let names: Vec<String> = (0..100).map(|k| format!("a{k}")).collect();
    let schema = Arc::new(consilience::Schema::new(names, ["x", "y"]).unwrap());
    let options = ReadOptions { keeps_all: true, ..options() };
    let refused = |error: consilience_io::Error| {
        assert!(error.to_string().contains(" bytes and more than "), "{error}");
    };
    for input in [file(), stream()] {
        refused(read_outputs_from(input, &options).unwrap_err());
    }
    for input in [file(), stream()] {
        let mut reader = TableReader::new(input, &schema, &options).unwrap();
        refused(std::iter::repeat_with(|| reader.next_chunk()).find_map(Result::err).unwrap());
    }
}

/// Rows without votes take no bytes either, but every one is an item.
#[test]
fn items_without_votes_cannot_fill_the_memory() {
    let options = VoteReadOptions { layout: Layout::WideLabels, ..VoteReadOptions::default() };
    let input = Input::from_bytes("t", Format::Arrow, nothing_but_rows(1));
    let mut n_calls = 0;
    let stop = |_, _| {
        n_calls += 1;
        if n_calls > 1000 { Err(consilience::Error::Interrupted) } else { Ok(()) }
    };
    let error = read_votes_from(input, None, &options, stop).unwrap_err();
    assert!(error.to_string().contains(" bytes and more than "), "{error}");
}

/// Rows that share one value take the memory of all of them once the values are written out.
#[test]
fn a_long_value_that_all_rows_share_is_refused() {
    let long = "x".repeat(1 << 20);
    let shared: DictionaryArray<Int32Type> = std::iter::repeat_n(long.as_str(), 4096).collect();
    let mut view = StringViewBuilder::new().with_deduplicate_strings();
    (0..4096).for_each(|_| view.append_value(&long));
    let columns: [ArrayRef; 2] = [Arc::new(shared), Arc::new(view.finish())];
    for column in columns {
        let files = Files::new();
        let half: ArrayRef = Arc::new(Float64Array::from(vec![0.5; 4096]));
        let mut table: Vec<(&str, ArrayRef)> =
            ["a_x", "a_y", "b_x", "b_y"].map(|name| (name, Arc::clone(&half))).to_vec();
        table.push(("label", column));
        let error = read_outputs(&arrow_file(&files, table), &options()).unwrap_err();
        assert_eq!(
            files.message(&error),
            "t.arrow: the values of column `label` take more than 268435456 bytes in 4096 rows"
        );
    }
}
