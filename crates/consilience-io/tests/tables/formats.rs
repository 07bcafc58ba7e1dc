//! Every format: round trips, crossings, files of other programs, damaged files.

use consilience_io::{
    Added, AddedValues, Format, Location, ReadOptions, TableReader, TableWriter, batch_of,
    read_outputs,
};

use crate::{Files, copy, fixture, known_refusal, options};

pub(crate) const EXTENSIONS: [&str; 4] = ["csv", "jsonl", "parquet", "arrow"];

const TABLE: &str = "\
id,label,a_x,a_y,b_x,b_y
007,x,0.750,.25,0.5,0.5
\"a, \"\"b\"\"\",y,0.1,0.9,,
,,0.25,0.75,1,0
";

/// What `TABLE` becomes in CSV after a way through another format: numbers are respelt.
const RESPELT: &str = "\
id,label,a_x,a_y,b_x,b_y,half,part
007,x,0.75,0.25,0.5,0.5,0.5,early
\"a, \"\"b\"\"\",y,0.1,0.9,,,1.0,early
,,0.25,0.75,1.0,0.0,1.5,late
";

#[test]
fn csv_cells_go_back_as_they_were() {
    let files = Files::new();
    copy(&files.with("t.csv", TABLE), &files.at("o.csv"), &options()).unwrap();
    let carried: Vec<String> = files
        .text("o.csv")
        .lines()
        .map(|line| line.rsplitn(3, ',').last().unwrap().to_owned())
        .collect();
    assert_eq!(carried.join("\n") + "\n", TABLE);
}

#[test]
fn every_format_carries_the_table_through_every_other() {
    for first in EXTENSIONS {
        for second in EXTENSIONS {
            let files = Files::new();
            let one = files.at(&format!("one.{first}"));
            let before = copy(&files.with("t.csv", TABLE), &one, &options()).unwrap();
            let two = files.at(&format!("two.{second}"));
            let after = recopy(&one, &two);
            assert_eq!(format!("{before:?}"), format!("{after:?}"), "{first}");
            recopy(&two, &files.at("end.csv"));
            let mut respelt = files.text("end.csv");
            for (spelt, shortest) in
                [("0.750,", "0.75,"), (",.25", ",0.25"), (",1,0,", ",1.0,0.0,")]
            {
                respelt = respelt.replace(spelt, shortest);
            }
            assert_eq!(respelt, RESPELT, "{first} to {second}");
        }
    }
}

/// Copies a table without adding anything.
pub(crate) fn recopy(from: &Location, to: &Location) -> Vec<consilience::Outputs> {
    let mut reader = TableReader::open(from, &crate::schema(), &options()).unwrap();
    let mut writer = TableWriter::create(to, None).unwrap();
    let mut chunks = Vec::new();
    while let Some(chunk) = reader.next_chunk().unwrap() {
        writer.write(&chunk.carried, &[]).unwrap();
        chunks.push(chunk.outputs);
    }
    writer.finish().unwrap();
    chunks
}

#[test]
fn outputs_come_back_the_same_from_every_format() {
    let files = Files::new();
    let csv = files.with(
        "t.csv",
        "label,m_1_x,m_1_y,b_x,b_y\nx,0.1,0.9,0.3,0.7\ny,,,0.123456789012345678,0.876543210987654322\n",
    );
    let outputs = read_outputs(&csv, &options()).unwrap();
    for extension in EXTENSIONS {
        let location = files.at(&format!("o.{extension}"));
        let mut writer = TableWriter::create(&location, None).unwrap();
        writer.write(&batch_of(&outputs, 0..1), &[]).unwrap();
        writer.write(&batch_of(&outputs, 1..2), &[]).unwrap();
        writer.finish().unwrap();
        let back = read_outputs(&location, &options()).unwrap();
        assert_eq!(format!("{outputs:?}"), format!("{back:?}"), "{extension}");
    }
    assert!(files.text("o.csv").starts_with("label,m_1_x,m_1_y,b_x,b_y\nx,0.1,0.9,0.3,0.7\ny,,,"));
}

#[test]
fn json_lines_write_numbers_as_numbers() {
    let files = Files::new();
    copy(&fixture("pyarrow_float32.parquet"), &files.at("o.jsonl"), &options()).unwrap();
    let text = files.text("o.jsonl");
    assert!(text.starts_with(
        r#"{"id":101,"label":"x","a_x":0.75,"a_y":0.25,"b_x":0.5,"b_y":0.5,"fresh":true,"half":0.5,"part":"early"}"#
    ));
    assert!(text.lines().nth(2).unwrap().contains(r#""b_x":null,"b_y":null,"fresh":null"#));
}

#[test]
fn json_values_keep_their_spelling() {
    let files = Files::new();
    let line = r#"{"id":{"k":[1, 2]},"label":"\u0078","a_x":7.50e-1,"a_y":0.25,"b_x":"0.5","b_y":0.5,"n":1.0}"#;
    let location = files.with(
        "t.jsonl",
        format!("\u{feff}\n{line}\n{{\"label\":null,\"b_y\":1,\"b_x\":0,\"a_x\":1,\"a_y\":0}}"),
    );
    let chunks = copy(&location, &files.at("o.jsonl"), &options()).unwrap();
    assert_eq!(chunks[0].all().values()[..4], [0.75, 0.25, 0.5, 0.5]);
    assert_eq!((chunks[0].label(0), chunks[0].label(1)), (Some(0), None));
    let text = files.text("o.jsonl");
    let first = text.lines().next().unwrap();
    assert_eq!(first, format!("{},\"half\":0.5,\"part\":\"early\"}}", &line[..line.len() - 1]));
    assert!(text.lines().nth(1).unwrap().starts_with(r#"{"id":null,"label":null,"a_x":1,"#));
}

#[test]
fn bad_json_lines_are_refused_with_their_line() {
    let good = r#"{"a_x":1,"a_y":0,"b_x":1,"b_y":0}"#;
    let one = ReadOptions { chunk_items: 1, ..options() };
    for (line, problem) in [
        ("[1]", "not a JSON object: invalid type: sequence, expected an object"),
        (r#"{"a_x":NaN}"#, "not a JSON object: expected value"),
        (r#"{"a_x":1"#, "not a JSON object: EOF while parsing an object"),
        (r#"{"a_x":1} 2"#, "not a JSON object: trailing characters"),
        (r#"{"a_x":1,"a_x":0}"#, "key `a_x` occurs twice"),
        (r#"{"new":1}"#, "key `new` does not occur in the first rows"),
    ] {
        let message = known_refusal("t.jsonl", format!("{good}\n\n{line}\n"), &one);
        assert_eq!(message, format!("t.jsonl, row 2 (line 3): {problem}"));
    }
    let bad = r#"{"a_x":true,"a_y":0,"b_x":1,"b_y":0}"#;
    assert_eq!(
        known_refusal("t.jsonl", format!("{good}\n{bad}"), &one),
        "t.jsonl, row 2 (line 2), column `a_x`: `true` is not a number"
    );
}

#[test]
fn a_file_of_another_format_is_refused() {
    let csv = "a_x,a_y,b_x,b_y\n1,0,1,0\n";
    for (name, start) in [
        ("t.parquet", "t.parquet: cannot be read as Parquet"),
        ("t.arrow", "t.arrow: cannot be read as Arrow IPC"),
        ("t.jsonl", "t.jsonl, row 1 (line 1): not a JSON object"),
    ] {
        let message = known_refusal(name, csv, &options());
        assert!(message.starts_with(start), "{message}");
    }
    assert_eq!(known_refusal("t.parquet", "", &options()), "t.parquet: the file is empty");
    assert_eq!(known_refusal("t.arrow", "", &options()), "t.arrow: the file is empty");
}

#[test]
fn a_given_format_overrides_the_extension() {
    let files = Files::new();
    let location = files.with("t.data", TABLE);
    assert!(read_outputs(&location, &options()).is_err());
    let csv = ReadOptions { format: Some(Format::Csv), ..options() };
    assert_eq!(read_outputs(&location, &csv).unwrap().n_items(), 3);
}

#[test]
fn infinite_and_missing_numbers_are_written_as_documented() {
    let files = Files::new();
    let location = files.with("t.csv", TABLE);
    let mut reader = TableReader::open(&location, &crate::schema(), &options()).unwrap();
    let chunk = reader.next_chunk().unwrap().unwrap();
    assert!(reader.bytes_read() > 0 && reader.total_bytes() == Some(TABLE.len() as u64));
    let numbers = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let texts = ["é".to_owned(), "\"".to_owned(), String::new()];
    let added = [
        Added { name: "n".into(), values: AddedValues::Numbers(&numbers) },
        Added { name: "t".into(), values: AddedValues::Text(&texts) },
    ];
    for (name, ends) in [
        ("o.csv", ["0.5,inf,é", ",-inf,\"\"\"\"", "0,,"]),
        ("o.jsonl", [":null,\"t\":\"é\"}", ":null,\"t\":\"\\\"\"}", ":null,\"t\":\"\"}"]),
    ] {
        let mut writer = TableWriter::create(&files.at(name), None).unwrap();
        writer.write(&chunk.carried, &added).unwrap();
        writer.finish().unwrap();
        let text = files.text(name);
        let rows = text.lines().skip(usize::from(name == "o.csv"));
        for (row, end) in rows.zip(ends) {
            assert!(row.ends_with(end), "{row}");
        }
    }
}
