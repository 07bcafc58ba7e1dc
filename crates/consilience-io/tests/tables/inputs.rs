//! Inputs other than files, compressed text, and inputs that would take all memory.

use std::io::{self, Cursor, Read, Write};

use consilience::Outputs;
use consilience_io::{Error, read_outputs_from};
use consilience_io::{Format, Input, Location, ReadOptions, TableReader, read_outputs};

use crate::{Files, fixture, options, schema};

fn bytes_of(name: &str) -> Vec<u8> {
    let Location::Path(path) = fixture(name) else { unreachable!() };
    std::fs::read(path).unwrap()
}

/// Missing outputs are NaN, so the outputs are not equal to themselves.
#[track_caller]
fn assert_same(found: &Outputs, expected: &Outputs) {
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
}

#[test]
fn bytes_and_streams_give_the_outputs_of_the_file() {
    for (name, format) in [
        ("polars_zstd.parquet", Format::Parquet),
        ("polars.arrow", Format::Arrow),
        ("pyarrow_lz4.arrow", Format::Arrow),
        ("pyarrow_stream.arrow", Format::Arrow),
    ] {
        let (bytes, expected) = (bytes_of(name), read_outputs(&fixture(name), &options()).unwrap());
        let memory = Input::from_bytes(name, format, bytes.clone());
        assert_same(&read_outputs_from(memory, &options()).unwrap(), &expected);
        let stream = Input::from_read(name, format, Cursor::new(bytes.clone()));
        assert_same(&read_outputs_from(stream, &options()).unwrap(), &expected);
        let memory = Input::from_bytes(name, format, bytes);
        let mut reader = TableReader::new(memory, &schema(), &options()).unwrap();
        let chunk = reader.next_chunk().unwrap().unwrap();
        assert_eq!(chunk.outputs.output(0, 1), expected.output(0, 1), "{name}");
    }
    let lines = b"{\"label\":\"x\",\"a_x\":1,\"a_y\":0}\n{\"label\":\"y\",\"a_x\":1,\"a_y\":0}\n";
    let memory = Input::from_bytes("lines", Format::JsonLines, &lines[..]);
    assert_eq!(read_outputs_from(memory, &options()).unwrap().n_items(), 2);
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[test]
fn gzip_is_unpacked_by_its_first_bytes() {
    let (head, tail) = ("label,a_x,a_y\nx,1,0\n", "y,0,1\n");
    let packed = [gzip(head), gzip(tail)].concat(); // as `cat a.gz b.gz` makes it
    let files = Files::new();
    for name in ["t.csv.gz", "t.csv"] {
        let outputs = read_outputs(&files.with(name, &packed), &options()).unwrap();
        assert_eq!((outputs.n_items(), outputs.label(1)), (2, Some(1)), "{name}");
    }
    let cut = files.with("cut.csv.gz", &packed[..packed.len() - 9]);
    let message = files.message(&read_outputs(&cut, &options()).unwrap_err());
    assert!(message.starts_with("cannot read cut.csv.gz: "), "{message}");
}

/// The lengths in compressed buffers are believed by the Arrow library: it would ask for all of
/// this memory at once and abort.
#[test]
fn a_damaged_length_does_not_take_memory() {
    for (name, format) in
        [("pyarrow_lz4.arrow", Format::Arrow), ("polars_zstd.parquet", Format::Parquet)]
    {
        let bytes = bytes_of(name);
        for place in (0..bytes.len() - 8).step_by(8) {
            for length in [300 << 30, i64::MAX] {
                let mut damaged = bytes.clone();
                damaged[place..place + 8].copy_from_slice(&i64::to_le_bytes(length));
                let input = Input::from_bytes(name, format, damaged);
                drop(read_outputs_from(input, &options()));
            }
        }
    }
}

/// The error of a table that begins with `start` and never ends.
fn endless(format: Format, start: &'static str) -> Error {
    let stream = start.as_bytes().chain(io::repeat(b'1'));
    let mut reader =
        TableReader::new(Input::from_read("pipe", format, stream), &schema(), &options());
    loop {
        match reader.and_then(|mut open| open.next_chunk().map(|chunk| (open, chunk))) {
            Err(error) => return error,
            Ok((open, chunk)) => {
                assert!(chunk.is_some(), "the stream has no end");
                reader = Ok(open);
            }
        }
    }
}

#[test]
fn a_row_without_an_end_is_refused() {
    let csv = endless(Format::Csv, "a_x,a_y,b_x,b_y\n1,0,1,0\n1,0,\"1\n1\n,");
    assert_eq!(csv.to_string(), "pipe, row 2 (line 3): the row has more than 67108864 bytes");
    assert!(csv.hint().unwrap().to_string().starts_with("close every quote"));
    let header = endless(Format::Csv, "a_x,a_y");
    assert_eq!(header.to_string(), "pipe: header (line 1): the row has more than 67108864 bytes");
    let json = endless(Format::JsonLines, "{\"a_x\":");
    assert_eq!(json.to_string(), "pipe, row 1 (line 1): the line has more than 67108864 bytes");
}

/// Separators take no bytes of text, so the limit on the length of a row does not count them.
#[test]
fn a_row_of_separators_is_refused() {
    let commas = ",".repeat(3_000_000);
    let refused = |text: String| {
        let input = Input::from_bytes("t", Format::Csv, text);
        TableReader::new(input, &schema(), &options())
            .and_then(|mut reader| reader.next_chunk())
            .unwrap_err()
    };
    let row = refused(format!("a_x,a_y,b_x,b_y\n1,0,1,0\n{commas}\n"));
    assert_eq!(row.to_string(), "t, row 2 (line 3): the row has more than 1000000 cells");
    let header = refused(commas.clone() + "\n");
    assert_eq!(header.to_string(), "t: header (line 1): the row has more than 1000000 cells");
    assert!(header.hint().unwrap().to_string().starts_with("use the long layout"));
}

#[test]
fn a_quote_that_is_not_closed_is_refused_with_its_line() {
    let refused = |text: &'static str| {
        let input = Input::from_bytes("t", Format::Csv, text);
        let options = ReadOptions { classes: Some(vec!["x".into(), "y".into()]), ..options() };
        let error = read_outputs_from(input, &options).unwrap_err();
        (error.to_string(), error.hint().map(|hint| hint.to_string()).unwrap_or_default())
    };
    // The last column would swallow the rest of the file.
    let (message, hint) = refused("a_x,a_y,note\n1,0,\"two\nlines\"\n0,1,\"open\n1,0,\n1,0,\n");
    assert_eq!(message, "t, row 2 (line 4): a quote is not closed");
    assert_eq!(hint, "close every quote; a quote inside a quoted cell is written twice");
    assert_eq!(refused("a_x,\"a_y\n1,0\n").0, "t: header (line 1): a quote is not closed");
    assert_eq!(refused("a_x,a_y\n1,\"0").0, "t, row 1 (line 2): a quote is not closed");
}

#[test]
fn other_separators_are_named() {
    let input = Input::from_bytes("t", Format::Csv, "label;a_x;a_y\nx;0,5;0,5\n");
    let error = read_outputs_from(input, &options()).unwrap_err();
    assert_eq!(error.to_string(), "t: the columns are separated by semicolons, not by commas");
}

#[test]
fn objects_without_keys_are_refused() {
    let input = Input::from_bytes("t", Format::JsonLines, "{}\n{}\n");
    let error = TableReader::new(input, &schema(), &options()).unwrap_err();
    assert_eq!(error.to_string(), "t, row 1 (line 2): the object has no keys");
}

#[test]
fn text_in_utf_16_has_a_cure() {
    let text: Vec<u8> = "\u{feff}label,a_x\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let error = read_outputs_from(Input::from_bytes("t", Format::Csv, text), &options());
    let error = error.unwrap_err();
    assert_eq!(error.to_string(), "t: the header is not UTF-8");
    assert!(error.hint().unwrap().to_string().starts_with("write the file as UTF-8"));
}

#[test]
fn too_many_columns_are_refused() {
    let columns = (0..=1_000_000).map(|i| format!("\"{i}\":0")).collect::<Vec<_>>().join(",");
    let json = format!("{{{columns}}}\n");
    let csv = columns.replace(":0", "") + "\n";
    for (format, text) in [(Format::Csv, csv), (Format::JsonLines, json)] {
        let error = read_outputs_from(Input::from_bytes("t", format, text), &options());
        let message = "t: the table has more than 1000000 columns";
        assert_eq!(error.unwrap_err().to_string(), message);
    }
}

/// No label is compared with all others, and no name is divided at every place.
#[test]
fn many_labels_and_odd_names_are_read_in_linear_time() {
    let begun = std::time::Instant::now();
    let rows: Vec<String> = (0..200_000).map(|i| format!("{i}.5,0.5,0.5\n")).collect();
    let labels = format!("label,a_x,a_y\n{}", rows.concat());
    assert!(read_outputs_from(Input::from_bytes("t", Format::Csv, labels), &options()).is_err());
    let name = format!("a_x,a_y,{}\n0.5,0.5,\n", "_".repeat(200_000));
    let outputs = read_outputs_from(Input::from_bytes("t", Format::Csv, name), &options()).unwrap();
    assert_eq!(outputs.schema().classes(), ["x", "y"]);
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}
