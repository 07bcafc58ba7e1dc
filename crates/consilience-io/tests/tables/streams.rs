//! Pipes, which cannot be read twice or from their end, nor replaced.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use consilience_io::{
    Added, AddedValues, Location, ReadOptions, TableWriter, batch_of, read_outputs,
};

use crate::{Files, fixture, options};

/// A named pipe.
fn pipe(files: &Files, name: &str) -> PathBuf {
    let path = files.path(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[test]
fn every_format_is_read_from_a_pipe() {
    for name in ["polars_zstd.parquet", "polars.arrow", "pyarrow_stream.arrow"] {
        let Location::Path(path) = fixture(name) else { unreachable!() };
        assert_read_from_pipe(name, &std::fs::read(path).unwrap(), 7);
    }
    assert_read_from_pipe("t.csv", b"label,a_x,a_y\nx,1,0\ny,0,1\n", 2);
    let lines = b"{\"label\":\"x\",\"a_x\":1,\"a_y\":0}\n{\"label\":\"y\",\"a_x\":1,\"a_y\":0}\n";
    assert_read_from_pipe("t.jsonl", lines, 2);
}

fn assert_read_from_pipe(name: &str, bytes: &[u8], n_items: usize) {
    let files = Files::new();
    let path = pipe(&files, name);
    for classes in [None, Some(vec!["x".into(), "y".into()])] {
        let (target, bytes) = (path.clone(), bytes.to_vec());
        let sender = thread::spawn(move || {
            std::fs::File::create(target).unwrap().write_all(&bytes).unwrap();
        });
        let options = ReadOptions { classes, ..options() };
        let outputs = read_outputs(&path.clone().into(), &options).unwrap();
        assert_eq!(outputs.n_items(), n_items, "{name}");
        sender.join().unwrap();
    }
}

#[test]
fn a_reader_that_goes_away_is_told_from_other_failures() {
    let files = Files::new();
    let table = "label,a_x,a_y\n".to_owned() + &"x,1,0\ny,0,1\n".repeat(2048);
    let outputs = read_outputs(&files.with("t.csv", table), &options()).unwrap();
    let batch = batch_of(&outputs, 0..4096);
    let mut number = 1.0;
    for name in ["p.csv", "p.jsonl", "p.parquet", "p.arrow"] {
        let path = pipe(&files, name);
        let source = path.clone();
        let reader = thread::spawn(move || {
            let mut few = [0; 4];
            std::fs::File::open(source).unwrap().read_exact(&mut few).unwrap();
        });
        let mut writer = TableWriter::create(&path.into(), None).unwrap();
        let mut result = Ok(());
        for _ in 0..100 {
            // Numbers without a pattern, so that no format can write them in a few bytes.
            let mut next = || {
                number = f64::fract(number * 1234.567 + 0.1);
                number
            };
            let numbers: Vec<f64> = (0..4096).map(|_| next()).collect();
            let added = Added { name: "n".into(), values: AddedValues::Numbers(&numbers) };
            result = writer.write(&batch, &[added]);
            if result.is_err() {
                break;
            }
        }
        let error = result.and_then(|()| writer.finish()).unwrap_err();
        assert!(error.is_broken_pipe(), "{name}: {error:?}");
        reader.join().unwrap();
    }
}
