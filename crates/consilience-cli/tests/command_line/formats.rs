//! The same numbers from every format, layout and kind of value.

use super::{Bench, MODEL, TABLE};

const FORMATS: [&str; 4] = ["csv", "parquet", "arrow", "jsonl"];

/// Outputs of 60 items in every format, and a model.
fn in_every_format() -> Bench {
    let bench = Bench::new();
    for format in FORMATS {
        bench.good(&format!("simulate --preset sim1 --items-per-class 20 -o data.{format}"));
    }
    bench.good("fit data.csv --method independent --inference map -o model.json");
    bench
}

#[test]
fn every_format_in_gives_the_same_numbers() {
    let bench = in_every_format();
    let (model, fused) = (bench.text("model.json"), bench.good("fuse model.json data.csv").out);
    let scores = bench.good("evaluate model.json data.csv").out;
    for format in FORMATS {
        bench
            .good(&format!("fit data.{format} --method independent --inference map -o other.json"));
        assert_eq!(bench.text("other.json"), model, "{format}");
        assert_eq!(bench.good(&format!("fuse model.json data.{format}")).out, fused, "{format}");
        let run = bench.good(&format!("evaluate model.json data.{format}"));
        assert_eq!(run.out, scores, "{format}");
    }
}

#[test]
fn every_format_out_has_the_same_numbers() {
    let bench = in_every_format();
    let fused = bench.good("fuse model.json data.csv").out;
    for format in FORMATS {
        bench.good(&format!("fuse model.json data.csv -o out.{format}"));
        // A fit remembers its statistics to the last bit; what was added is not taken for outputs.
        bench.good(&format!(
            "fit out.{format} --method independent --inference map -o {format}.json"
        ));
        assert!(bench.text(&format!("{format}.json")).contains(r#"["c1", "c2"]"#));
        assert_eq!(bench.text(&format!("{format}.json")), bench.text("csv.json"), "{format}");
    }
    assert_eq!(bench.text("out.csv"), fused);
    let names: Vec<&str> = fused.lines().next().unwrap().split(',').collect();
    for (line, row) in bench.text("out.jsonl").lines().zip(fused.lines().skip(1)) {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        for (name, cell) in names.iter().zip(row.split(',')) {
            match &object[name] {
                serde_json::Value::String(text) => assert_eq!(text, cell, "{name}"),
                number => assert_eq!(number.as_f64(), cell.parse().ok(), "{name}"),
            }
        }
    }
}

pub(crate) fn column(table: &str, name: &str) -> Vec<String> {
    let mut lines = table.lines();
    let place = lines.next().unwrap().split(',').position(|column| column == name).unwrap();
    lines.map(|line| line.split(',').nth(place).unwrap().to_owned()).collect()
}

#[test]
fn standard_input_and_output_serve_for_files() {
    let bench = in_every_format();
    let fused = bench.good("fuse model.json data.csv").out;
    for format in FORMATS {
        let data = bench.read(&format!("data.{format}"));
        let run = bench.feed(&format!("fuse model.json - --input-format {format}"), &data);
        assert_eq!((run.code, &run.out), (Some(0), &fused), "{format}: {}", run.err);
        let fit = format!("fit - --method independent --input-format {format} --inference map");
        let run = bench.feed(&fit, &data);
        assert_eq!((run.code, run.out), (Some(0), bench.text("model.json")), "{format}");
        assert!(run.err.ends_with("model        standard output\n"), "{}", run.err);
    }
    let run = bench.feed("fuse model.json -", &bench.read("data.csv"));
    assert_eq!((run.code, run.out), (Some(0), fused));
    let lines = bench.good("fuse model.json data.csv -o - --output-format jsonl").out;
    bench.good("fuse model.json data.csv -o out.jsonl");
    assert_eq!(lines, bench.text("out.jsonl"));
}

#[test]
fn missing_outputs_are_left_out() {
    let bench = Bench::stocked();
    bench.write("gaps.csv", "a_x,a_y,b_x,b_y\n0.7,0.3,,\nNaN,NaN,0.6,0.4\n,,,\n");
    bench.write(
        "gaps.jsonl",
        "{\"a_x\": 0.7, \"a_y\": 0.3, \"b_x\": null, \"b_y\": null}\n\
         {\"b_x\": 0.6, \"b_y\": 0.4}\n{\"a_x\": null}\n",
    );
    bench.write("gaps_long.csv", "item,classifier,class,probability\n1,a,x,0.7\n1,a,y,0.3\n2,b,x,0.6\n2,b,y,0.4\n3,a,x,\n3,a,y,\n");
    let alone = |name: &str, parameters: &str, row: &str| {
        let model = MODEL
            .replace(r#"["a", "b"]"#, &format!("[\"{name}\"]"))
            .replace("[[[3, 2], [2, 3]], [[4, 2], [1, 2]]]", parameters);
        bench.write("alone.json", model);
        bench.write("alone.csv", format!("{name}_x,{name}_y\n{row}\n"));
        column(&bench.good("fuse alone.json alone.csv").out, "fused_x").remove(0)
    };
    let expected = [
        alone("a", "[[[3, 2], [2, 3]]]", "0.7,0.3"),
        alone("b", "[[[4, 2], [1, 2]]]", "0.6,0.4"),
        "0.5".to_owned(), // the class prior
    ];
    for data in ["gaps.csv", "gaps.jsonl", "gaps_long.csv --layout long"] {
        let fused = bench.good(&format!("fuse model.json {data}")).out;
        assert_eq!(column(&fused, "fused_x"), expected, "{data}");
    }
}

/// The same table with one row a probability.
fn to_long(wide: &str) -> String {
    let mut lines = wide.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut long = String::from("item,label,classifier,class,probability\n");
    for (item, line) in lines.enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        for (name, cell) in header.iter().zip(&cells).skip(1) {
            let (classifier, class) = name.split_once('_').unwrap();
            long += &format!("{item},{},{classifier},{class},{cell}\n", cells[0]);
        }
    }
    long
}

#[test]
fn both_layouts_give_the_same_numbers() {
    let bench = in_every_format();
    bench.write("long.csv", to_long(&bench.text("data.csv")));
    bench.good("fit long.csv --method independent --layout long --inference map -o long.json");
    assert_eq!(bench.text("long.json"), bench.text("model.json"));
    let wide = bench.good("fuse model.json data.csv").out;
    let long = bench.good("fuse model.json long.csv --layout long").out;
    assert!(long.starts_with("item,label,fused_1,fused_2,fused_3,predicted,entropy,error\n"));
    for name in ["label", "fused_1", "fused_2", "fused_3", "predicted", "entropy", "error"] {
        assert_eq!(column(&long, name), column(&wide, name), "{name}");
    }
    let words = "evaluate model.json long.csv --layout long";
    assert_eq!(bench.good(words).out, bench.good("evaluate model.json data.csv").out);
}

/// The table with its numbers changed.
fn converted(table: &str, convert: impl Fn(f64) -> f64) -> String {
    let mut lines = table.lines();
    let mut text = format!("{}\n", lines.next().unwrap());
    for line in lines {
        let (label, cells) = line.split_once(',').unwrap();
        let cells = cells.split(',').map(|cell| convert(cell.parse().unwrap()).to_string());
        text += &format!("{label},{}\n", cells.collect::<Vec<_>>().join(","));
    }
    text
}

#[test]
fn kinds_of_values_are_equal_to_probabilities() {
    let bench = in_every_format();
    let data = bench.text("data.csv");
    let expected = bench.good("fuse model.json data.csv").out;
    bench.write("logs.csv", converted(&data, f64::ln));
    bench.write("logits.csv", converted(&data, |p| p.ln() + 3.0));
    bench.write("odds.csv", converted(&data, |p| 1.0 / p));
    for words in [
        "logs.csv --values log-probabilities",
        "logits.csv --values logits",
        "odds.csv --values odds",
    ] {
        let fused = bench.good(&format!("fuse model.json {words}")).out;
        for name in ["fused_1", "fused_2", "fused_3", "entropy"] {
            for (one, two) in column(&fused, name).iter().zip(column(&expected, name)) {
                let (one, two): (f64, f64) = (one.parse().unwrap(), two.parse().unwrap());
                assert!((one - two).abs() < 1e-12, "{words}: {one} and {two}");
            }
        }
        // The model keeps the kind, and every command reads new tables as it says.
        bench.good(&format!("fit {words} --method independent --inference map -o other.json"));
        let table = words.split(' ').next().unwrap();
        let kept = bench.good(&format!("fuse other.json {table}")).out;
        assert_eq!(kept, bench.good(&format!("fuse other.json {words}")).out);
        let probabilities = bench.good("fuse other.json data.csv --values probabilities").out;
        for (one, two) in column(&kept, "fused_1").iter().zip(column(&probabilities, "fused_1")) {
            let (one, two): (f64, f64) = (one.parse().unwrap(), two.parse().unwrap());
            assert!((one - two).abs() < 1e-12, "{words}: {one} and {two}");
        }
    }
}

#[test]
fn names_may_contain_underscores() {
    let bench = Bench::new();
    bench.write(
        "data.csv",
        "label,my_net_not_ok,my_net_ok,net_not_ok,net_ok\nok,0.2,0.8,0.3,0.7\n\
         not_ok,0.9,0.1,0.6,0.4\nok,0.3,0.7,0.4,0.6\nnot_ok,0.7,0.3,0.8,0.2\n",
    );
    let run = bench.good("fit data.csv --method independent --inference map -o model.json");
    assert!(run.out.contains("classifiers  my_net, net\n"), "{}", run.out);
    assert!(run.out.contains("items        4 (not_ok: 2, ok: 2)\n"), "{}", run.out);
    let fused = bench.good("fuse model.json data.csv").out;
    assert_eq!(column(&fused, "predicted"), ["ok", "not_ok", "ok", "not_ok"]);
    assert_eq!(column(&fused, "fused_not_ok").len(), 4);
}

#[test]
fn columns_may_stand_in_any_order_and_others_are_carried() {
    let bench = Bench::stocked();
    let expected = bench.good("fuse model.json table.csv").out;
    bench.write(
        "other.csv",
        "id,b_y,a_y,when,a_x,b_x\n7,0.4,0.3,\"now, or never\",0.7,0.6\n8,0.6,0.8,,0.2,0.4\n",
    );
    let fused = bench.good("fuse model.json other.csv").out;
    assert!(fused.contains("\n7,0.4,0.3,\"now, or never\",0.7,0.6,"), "{fused}");
    let ends = |text: &str| -> Vec<String> {
        let last = |line: &str| line.rsplitn(6, ',').take(5).collect::<Vec<_>>().join(",");
        text.lines().map(last).collect()
    };
    assert_eq!(ends(&fused), ends(&expected));
    assert_eq!(TABLE.lines().count(), fused.lines().count());
}

#[test]
fn no_items_make_a_table_with_a_header() {
    let bench = Bench::new();
    let run = bench.good("simulate --preset sim1 --items-per-class 0");
    assert_eq!(run.out, "label,c1_1,c1_2,c1_3,c2_1,c2_2,c2_3\n");
}
