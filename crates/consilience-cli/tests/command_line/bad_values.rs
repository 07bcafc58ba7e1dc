//! Values that make no output, in every layout and format: refused with place, value and advice.

use super::{Bench, TABLE};

const ADD_UP: &str = "the probabilities of a classifier must add up to 1 within \
                      `--sum-tolerance`; for other values use `--values log-probabilities`, `logits` or `odds`";
const NO_NUMBER: &str = "numbers have a decimal point; a missing output is an empty cell or null";
const ALL_OR_NONE: &str =
    "give a value for every class of a classifier, or leave all of them empty";
const INFINITE: &str = "if the classifier has no output, leave all its classes empty";
const UNKNOWN_LABEL: &str = "correct the label, or add it to `--classes` of the fit (the classes of \
                             a fitted model cannot be changed)";
const LABELS: &str = "give the true class of some items in the column `label`";

/// Fitting and everything that uses a model refuse the same.
#[track_caller]
fn refused_by_all(bench: &Bench, data: &str, message: &str, hint: &str) {
    bench.refused(&format!("fit {data}"), message, hint);
    for command in ["fuse", "density", "evaluate"] {
        bench.refused(&format!("{command} model.json {data}"), message, hint);
    }
}

#[test]
fn cells_of_csv() {
    let bench = Bench::stocked();
    for (cells, place, problem, hint) in [
        (
            "0.25,0.5",
            "columns `a_x` and `a_y`",
            "the probabilities add up to 0.75, not 1 (values `0.25` and `0.5`)",
            ADD_UP,
        ),
        (
            "0.5,0.53125",
            "columns `a_x` and `a_y`",
            "the probabilities add up to 1.03125, not 1 (values `0.5` and `0.53125`)",
            ADD_UP,
        ),
        ("-0.2,1.2", "column `a_x`", "negative probability -0.2 (value `-0.2`)", ADD_UP),
        ("1.5,-0.5", "column `a_x`", "probability above 1 (1.5) (value `1.5`)", ADD_UP),
        (
            "NaN,0.7",
            "column `a_x`",
            "some classes have a value and others are empty (value `NaN`)",
            ALL_OR_NONE,
        ),
        (
            "0.3,",
            "column `a_y`",
            "some classes have a value and others are empty (the cell is empty)",
            ALL_OR_NONE,
        ),
        ("0.5,inf", "column `a_y`", "infinite value inf (value `inf`)", INFINITE),
        ("-inf,0.5", "column `a_x`", "infinite value -inf (value `-inf`)", INFINITE),
        ("0.5,abc", "column `a_y`", "`abc` is not a number", NO_NUMBER),
        ("\"0,5\",0.5", "column `a_x`", "`0,5` is not a number", NO_NUMBER),
    ] {
        bench.write("bad.csv", format!("{TABLE}x,{cells},0.5,0.5\nx,9,9,9,9\n"));
        let message = format!("bad.csv, row 3 (line 4), {place}: {problem}");
        refused_by_all(&bench, "bad.csv", &message, hint);
    }
}

#[test]
fn other_kinds_of_values() {
    let bench = Bench::stocked();
    for (kind, cells, place, problem, hint) in [
        (
            "odds",
            "0.5,2",
            "column `a_x`",
            "decimal odds below 1 (0.5) (value `0.5`)",
            "decimal odds include the stake, so they are at least 1; American odds +m are 1 + m/100 \
             and -m are 1 + 100/m; probabilities are another kind of values",
        ),
        ("logits", "1,inf", "column `a_y`", "infinite value inf (value `inf`)", INFINITE),
        (
            "log-probabilities",
            "-0.5,-0.5",
            "columns `a_x` and `a_y`",
            "the probabilities add up to 1.2130613194252668, not 1 (values `-0.5` and `-0.5`)",
            ADD_UP,
        ),
    ] {
        bench.write("bad.csv", format!("label,a_x,a_y,b_x,b_y\nx,{cells},,\n"));
        let message = format!("bad.csv, row 1 (line 2), {place}: {problem}");
        bench.refused(&format!("fit bad.csv --values {kind} --classes x,y"), &message, hint);
        bench.refused(&format!("fuse model.json bad.csv --values {kind}"), &message, hint);
    }
}

#[test]
fn values_of_json_lines() {
    let bench = Bench::stocked();
    let good = r#"{"label": "x", "a_x": 0.7, "a_y": 0.3, "b_x": 0.6, "b_y": 0.4}
{"label": "y", "a_x": 0.2, "a_y": 0.8, "b_x": 0.4, "b_y": 0.6}
"#;
    for (cells, place, problem, hint) in [
        (
            r#""a_x": 0.25, "a_y": 0.5"#,
            "columns `a_x` and `a_y`",
            "the probabilities add up to 0.75, not 1 (values `0.25` and `0.5`)",
            ADD_UP,
        ),
        (
            r#""a_x": -0.5, "a_y": 1.5"#,
            "column `a_x`",
            "negative probability -0.5 (value `-0.5`)",
            ADD_UP,
        ),
        (
            r#""a_x": null, "a_y": 1.0"#,
            "column `a_x`",
            "some classes have a value and others are empty (value `null`)",
            ALL_OR_NONE,
        ),
        (
            r#""a_x": 0.5"#,
            "column `a_y`",
            "some classes have a value and others are empty (the cell is empty)",
            ALL_OR_NONE,
        ),
        (
            r#""a_x": 1e999, "a_y": 0.5"#,
            "column `a_x`",
            "infinite value inf (value `1e999`)",
            INFINITE,
        ),
        (r#""a_x": "abc", "a_y": 0.5"#, "column `a_x`", r#"`"abc"` is not a number"#, NO_NUMBER),
        (r#""a_x": [0.5], "a_y": 0.5"#, "column `a_x`", "`[0.5]` is not a number", NO_NUMBER),
        (r#""a_x": true, "a_y": 0.5"#, "column `a_x`", "`true` is not a number", NO_NUMBER),
    ] {
        let bad = format!(r#"{{"label": "x", {cells}, "b_x": 0.5, "b_y": 0.5}}"#);
        bench.write("bad.jsonl", format!("{good}{bad}\n{good}"));
        let message = format!("bad.jsonl, row 3 (line 3), {place}: {problem}");
        refused_by_all(&bench, "bad.jsonl", &message, hint);
    }
}

/// Three items of one classifier in the long layout; the cells are those of the last.
fn long_table(x: &str, y: &str) -> String {
    format!(
        "item,label,classifier,class,probability\n1,x,a,x,0.7\n1,x,a,y,0.3\n2,y,a,x,0.2\n\
         2,y,a,y,0.8\n3,x,a,x,{x}\n3,x,a,y,{y}\n"
    )
}

#[test]
fn cells_of_the_long_layout() {
    let bench = Bench::stocked();
    let output = "item `3`, classifier `a`: ";
    for (x, y, row, item, problem, hint) in [
        (
            "0.25",
            "0.5",
            5,
            output,
            "the probabilities add up to 0.75, not 1 (values `0.25` and `0.5`)",
            ADD_UP,
        ),
        ("1.5", "-0.5", 5, output, "probability above 1 (1.5) (value `1.5`)", ADD_UP),
        ("0.5", "-0.5", 6, output, "negative probability -0.5 (value `-0.5`)", ADD_UP),
        (
            "0.3",
            "",
            6,
            output,
            "some classes have a value and others are empty (the cell is empty)",
            ALL_OR_NONE,
        ),
        (
            "NaN",
            "1",
            5,
            output,
            "some classes have a value and others are empty (value `NaN`)",
            ALL_OR_NONE,
        ),
        ("0.5", "inf", 6, output, "infinite value inf (value `inf`)", INFINITE),
        ("0.5", "abc", 6, "", "`abc` is not a number", NO_NUMBER),
    ] {
        bench.write("bad.csv", long_table(x, y));
        let line = row + 1;
        let message =
            format!("bad.csv, row {row} (line {line}), column `probability`: {item}{problem}");
        refused_by_all(&bench, "bad.csv --layout long", &message, hint);
    }
}

#[test]
fn values_of_parquet_and_arrow() {
    let bench = Bench::stocked();
    let bad = [
        (
            "0.25,0.5",
            "columns `a_x` and `a_y`: the probabilities add up to 0.75, not 1 (values `0.25` and \
             `0.5`)",
        ),
        ("-0.5,1.5", "column `a_x`: negative probability -0.5 (value `-0.5`)"),
    ];
    for (cells, problem) in bad {
        bench.write("bad.csv", format!("{TABLE}x,{cells},0.5,0.5\n"));
        for name in ["bad.parquet", "bad.arrow"] {
            // As scores, the cells are no fault: that makes a file that has them.
            bench.good(&format!("fuse model.json bad.csv --values logits -o {name}"));
            refused_by_all(&bench, name, &format!("{name}, row 3, {problem}"), ADD_UP);
        }
    }
}

#[test]
fn the_first_bad_row_of_a_long_table_is_named() {
    let bench = Bench::stocked();
    let mut table = String::from("label,a_x,a_y,b_x,b_y\n");
    for _ in 0..20_000 {
        table += "x,0.7,0.3,0.6,0.4\ny,0.2,0.8,0.4,0.6\n";
    }
    bench.write("bad.csv", table + "x,0.5,0.25,0.5,0.5\nx,0.5,0.25,0.5,oh\n");
    refused_by_all(
        &bench,
        "bad.csv",
        "bad.csv, row 40001 (line 40002), columns `a_x` and `a_y`: the probabilities add up to \
         0.75, not 1 (values `0.5` and `0.25`)",
        ADD_UP,
    );
}

#[test]
fn standard_input_is_named_as_such() {
    let bench = Bench::stocked();
    let run = bench.feed("fuse model.json -", format!("{TABLE}x,2,0,0.5,0.5\n").as_bytes());
    let message = "error: standard input, row 3 (line 4), column `a_x`: probability above 1 (2) \
                   (value `2`)\n";
    assert_eq!((run.code, run.err), (Some(1), format!("{message}hint: {ADD_UP}\n")));
}

#[test]
fn unknown_labels() {
    let bench = Bench::stocked();
    bench.write("bad.csv", format!("{TABLE}z,0.5,0.5,0.5,0.5\n"));
    bench.write(
        "bad.jsonl",
        r#"{"label": "x", "a_x": 0.7, "a_y": 0.3, "b_x": 0.6, "b_y": 0.4}
{"label": "y", "a_x": 0.2, "a_y": 0.8, "b_x": 0.4, "b_y": 0.6}
{"label": "z", "a_x": 0.2, "a_y": 0.8, "b_x": 0.4, "b_y": 0.6}
"#,
    );
    for (name, line) in [("bad.csv", 4), ("bad.jsonl", 3)] {
        let unknown = "unknown label `z`; the classes are `x` and `y`";
        let message = format!("{name}, row 3 (line {line}), column `label`: {unknown}");
        bench.refused(&format!("fit {name} --classes x,y"), &message, UNKNOWN_LABEL);
        bench.refused(&format!("evaluate model.json {name}"), &message, UNKNOWN_LABEL);
        bench.refused(
            &format!("fit {name}"),
            &format!(
                "{name}: classifier `a` has columns for `x` and `y` but none for `z`; label `z` \
                 first occurs in row 3"
            ),
            "add the column `a_z`, or correct the label `z`",
        );
    }
    bench.write("long.csv", long_table("0.5", "0.5").replace("3,x,", "3,z,"));
    for command in ["fit", "evaluate model.json"] {
        bench.refused(
            &format!("{command} long.csv --layout long"),
            "long.csv, row 5 (line 6), column `label`: unknown label `z`; the classes are `x` and `y`",
            UNKNOWN_LABEL,
        );
    }
}

#[test]
fn missing_labels() {
    let bench = Bench::stocked();
    bench.write("bare.csv", "a_x,a_y,b_x,b_y\n0.5,0.5,0.5,0.5\n");
    let message =
        "bare.csv: there is no column `label`; the columns are `a_x`, `a_y`, `b_x` and `b_y`";
    bench.refused("fit bare.csv --method stacking", message, LABELS);
    bench.refused("compare bare.csv", message, LABELS);
    bench.refused("evaluate model.json bare.csv", message, LABELS);
    bench.good("fuse model.json bare.csv -o bare_fused.csv");

    bench.write("empty.csv", "label,a_x,a_y,b_x,b_y\n,0.5,0.5,0.5,0.5\n,0.4,0.6,0.5,0.5\n");
    bench.refused(
        "fit empty.csv --method independent",
        "empty.csv: method `independent` needs labels, and none of the 2 items has one; methods \
         without labels are `auto`, `opinion-pool`, `linear-pool` with equal or given weights and \
         `log-pool` with equal or given weights",
        LABELS,
    );
    let message = "empty.csv: none of the 2 items has a label";
    bench.refused("evaluate model.json empty.csv", message, LABELS);
    bench.refused("compare empty.csv", message, LABELS);
}
