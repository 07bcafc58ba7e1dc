//! The long layout: rows collected into items, bad ones refused with their place.

use std::fmt::Write;

use consilience_io::{Layout, ReadOptions, read_outputs};

use crate::{Files, copy, known_refusal, long_options, refusal};

const GOOD: &str = "\
item,classifier,class,probability,label
i1,a,x,0.75,x
i1,b,x,0.5,x
i1,a,y,0.25,
i1,b,y,0.5,x
i2,a,x,0.5,
i2,a,y,0.5,y
i3,b,y,,
i3,b,x,,
i3,a,x,0.25,
i3,a,y,0.75,
";

#[test]
fn rows_become_items_in_any_chunk_size() {
    let files = Files::new();
    let location = files.with("t.csv", GOOD);
    let outputs = read_outputs(&location, &long_options()).unwrap();
    assert_eq!(outputs.schema().classifiers(), ["a", "b"]);
    assert_eq!(outputs.schema().classes(), ["x", "y"]);
    assert_eq!(outputs.output(0, 0), Some(&[0.75, 0.25][..]));
    assert_eq!((outputs.output(1, 1), outputs.output(2, 1)), (None, None));
    let labels: Vec<_> = (0..3).map(|item| outputs.label(item)).collect();
    assert_eq!(labels, [Some(0), Some(1), None]);
    for chunk_items in [1, 2, 3, 100] {
        let options = ReadOptions { chunk_items, ..long_options() };
        let chunks = copy(&location, &files.at("o.csv"), &options).unwrap();
        assert_eq!(chunks.iter().map(consilience::Outputs::n_items).sum::<usize>(), 3);
        assert_eq!(
            files.text("o.csv"),
            "item,label,half,part\ni1,x,0.5,early\ni2,y,1.0,early\ni3,,1.5,late\n"
        );
    }
}

#[test]
fn items_may_span_batches_of_any_format() {
    let files = Files::new();
    let mut table = String::from("item,classifier,class,probability\n");
    for item in 0..3000 {
        for (classifier, class) in [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")] {
            writeln!(table, "{item},{classifier},{class},0.5").unwrap();
        }
    }
    let csv = files.with("t.csv", &table);
    let options = ReadOptions { chunk_items: 700, ..long_options() };
    let chunks = copy(&csv, &files.at("o.csv"), &options).unwrap();
    let sizes: Vec<usize> = chunks.iter().map(consilience::Outputs::n_items).collect();
    assert_eq!(sizes, [700, 700, 700, 700, 200]);
    assert!(files.text("o.csv").ends_with("\n2999,1500.0,late\n"));
}

#[test]
fn long_tables_are_read_from_every_format() {
    let files = Files::new();
    let csv = files.with("t.csv", GOOD);
    let whole = read_outputs(&csv, &long_options()).unwrap();
    let lines = r#"{"item":1,"classifier":"a","class":"x","probability":0.75,"label":"x"}
{"item":1,"classifier":"a","class":"y","probability":0.25}
{"item":1,"classifier":"b","class":"x","probability":0.5}
{"item":1,"classifier":"b","class":"y","probability":0.5}
"#;
    let json = files.with("t.jsonl", lines);
    let outputs = read_outputs(&json, &long_options()).unwrap();
    assert_eq!(outputs.output(0, 0), whole.output(0, 0));
    copy(&json, &files.at("o.jsonl"), &long_options()).unwrap();
    assert_eq!(
        files.text("o.jsonl"),
        "{\"item\":1,\"label\":\"x\",\"half\":0.5,\"part\":\"early\"}\n"
    );
}

#[test]
fn bad_rows_are_refused_with_their_place() {
    let table = |rows: &str| format!("item,classifier,class,probability,label\n{rows}\n");
    for (rows, problem) in [
        (
            "1,a,x,0.5,\n1,b,x,0.5,\n1,b,y,0.5,",
            "row 1 (line 2): item `1`, classifier `a`: there is no row for class `y`",
        ),
        (
            "1,a,x,0.5,\n1,a,y,0.5,\n1,a,x,0.5,",
            "row 3 (line 4), column `item`: item `1` has classifier `a`, class `x` twice",
        ),
        (
            "1,a,x,0.5,x\n1,a,y,0.5,y",
            "row 2 (line 3), column `label`: label `y` contradicts label `x` of the same item `1`",
        ),
        (
            "1,a,x,0.5,\n1,a,y,0.5,\n2,a,x,0.5,\n2,a,y,0.5,\n1,b,x,0.5,\n1,b,y,0.5,",
            "row 5 (line 6), column `item`: item `1` occurs again after other items",
        ),
        (
            "1,c,x,0.5,",
            "row 1 (line 2), column `classifier`: unknown classifier `c`; known are `a` and `b`",
        ),
        ("1,a,z,0.5,", "row 1 (line 2), column `class`: unknown class `z`; known are `x` and `y`"),
        (
            "1,a,x,0.5,z",
            "row 1 (line 2), column `label`: unknown label `z`; the classes are `x` and `y`",
        ),
        ("1,a,x,half,z", "row 1 (line 2), column `probability`: `half` is not a number"),
        (",a,x,0.5,", "row 1 (line 2), column `item`: the name of the item is empty"),
        (
            "1,a,x,0.5,\n1,a,y,-0.50,",
            "row 2 (line 3), column `probability`: item `1`, classifier `a`: negative probability \
             -0.5 (value `-0.50`)",
        ),
        (
            "1,a,x,0.5,\n1,a,y,0.25,",
            "row 1 (line 2), column `probability`: item `1`, classifier `a`: the probabilities \
             add up to 0.75, not 1 (values `0.5` and `0.25`)",
        ),
        (
            "1,a,x,0.5,\n1,a,y,,",
            "row 2 (line 3), column `probability`: item `1`, classifier `a`: some classes have \
             a value and others are empty (the cell is empty)",
        ),
    ] {
        let message = known_refusal("t.csv", table(rows), &long_options());
        assert_eq!(message, format!("t.csv, {problem}"));
    }
}

#[test]
fn an_item_split_by_others_is_found_in_a_later_chunk_too() {
    let rows = "item,classifier,class,probability\n1,a,x,1\n1,a,y,0\n2,a,x,1\n2,a,y,0\n\
                3,a,x,1\n3,a,y,0\n1,b,x,1\n1,b,y,0\n";
    let options = ReadOptions { chunk_items: 1, ..long_options() };
    let message = known_refusal("t.csv", rows, &options);
    assert_eq!(
        message,
        "t.csv, row 7 (line 8), column `item`: item `1` occurs again after other items"
    );
}

#[test]
fn whole_tables_without_rows_or_with_one_class_are_refused() {
    let header = "item,classifier,class,probability\n";
    assert_eq!(refusal(header, &long_options()).0, "t.csv: there are no items");
    let (message, hint) = refusal(&format!("{header}1,a,x,1\n"), &long_options());
    assert_eq!(message, "t.csv: at least two classes are needed, found `x`");
    assert!(hint.starts_with("add items of a second class"));
    let classes = Some(vec!["x".into(), "y".into()]);
    let options = ReadOptions { classes, layout: Layout::Long, ..ReadOptions::default() };
    let (message, _) = refusal(&format!("{header}1,a,x,1\n"), &options);
    assert!(message.ends_with("there is no row for class `y`"));
}

#[test]
fn an_item_that_comes_again_as_a_whole_is_refused() {
    let rows = |item: &str, label: &str| {
        let row = |cell: &str| format!("{item},{cell},0.5,{label}\n");
        ["a,x", "a,y", "b,x", "b,y"].map(row).concat()
    };
    let table = "item,classifier,class,probability,label\n".to_owned()
        + &rows("1", "x")
        + &rows("2", "y")
        + &rows("1", "y");
    let (message, hint) = refusal(&table, &long_options());
    assert_eq!(
        message,
        "t.csv, row 9 (line 10), column `item`: item `1` occurs again after other items"
    );
    assert!(hint.ends_with("give every item once"), "{hint}");
}
