//! Speed of reading and copying tables: three classifiers, two classes and a label.

use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;

use consilience::Schema;
use consilience_io::{
    Added, AddedValues, Location, ReadOptions, TableReader, TableWriter, batch_of, read_outputs,
    write_whole,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const ROWS: u32 = 200_000;

/// Numbers without a pattern, of full length as models write them.
fn table() -> String {
    let mut text = String::from("label,a_x,a_y,b_x,b_y,c_x,c_y\n");
    let mut number = 0.5;
    for row in 0..ROWS {
        text.push(if row % 2 == 0 { 'x' } else { 'y' });
        for _ in 0..3 {
            number = f64::fract(number * 1234.567 + 0.1);
            write!(text, ",{},{}", number, 1.0 - number).unwrap();
        }
        text.push('\n');
    }
    text
}

fn read(location: &Location, schema: &Arc<Schema>) {
    let mut reader = TableReader::open(location, schema, &ReadOptions::default()).unwrap();
    while let Some(chunk) = reader.next_chunk().unwrap() {
        black_box(chunk.outputs.n_items());
    }
}

fn copy(from: &Location, to: &Location, schema: &Arc<Schema>) {
    let mut reader = TableReader::open(from, schema, &ReadOptions::default()).unwrap();
    let mut writer = TableWriter::create(to, None).unwrap();
    while let Some(chunk) = reader.next_chunk().unwrap() {
        let numbers = vec![0.123_456_789_012_345_6; chunk.outputs.n_items()];
        let added = Added { name: "n".into(), values: AddedValues::Numbers(&numbers) };
        writer.write(&chunk.carried, &[added]).unwrap();
    }
    writer.finish().unwrap();
}

fn bench(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| Location::from(folder.path().join(name));
    write_whole(&at("t.csv"), table().as_bytes()).unwrap();
    let outputs = read_outputs(&at("t.csv"), &ReadOptions::default()).unwrap();
    let mut group = criterion.benchmark_group("200k rows of 7 columns");
    group.throughput(Throughput::Elements(u64::from(ROWS))).sample_size(10);
    for extension in ["csv", "jsonl", "parquet", "arrow"] {
        let (file, output) = (at(&format!("t.{extension}")), at(&format!("o.{extension}")));
        let mut writer = TableWriter::create(&file, None).unwrap();
        writer.write(&batch_of(&outputs, 0..ROWS as usize), &[]).unwrap();
        writer.finish().unwrap();
        group.bench_function(format!("read {extension}"), |bencher| {
            bencher.iter(|| read(&file, outputs.schema()));
        });
        group.bench_function(format!("copy {extension}"), |bencher| {
            bencher.iter(|| copy(&file, &output, outputs.schema()));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
