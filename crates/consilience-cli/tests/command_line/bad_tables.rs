//! Tables whose columns, rows or bytes make no sense.

use super::{Bench, TABLE};

const NO_HEADER: &str = "the first line must name the columns";
const NAME_CLASSES: &str = "name every class with `--classes a,b,c`";
const ONE_WAY: &str =
    "rename classifiers or classes so that every column can be read in only one way";
const DAMAGED: &str = "the file may be incomplete, damaged or of another format";
const OBJECTS: &str = "every line must hold one object; missing values are null";

#[test]
fn columns_that_the_model_needs() {
    let bench = Bench::stocked();
    bench.write("bad.csv", "label,a_x,a_y,b_x\nx,0.5,0.5,0.5\n");
    for command in ["fuse", "density", "evaluate"] {
        bench.refused(
            &format!("{command} model.json bad.csv"),
            "bad.csv: there is no column `b_y`; the columns are `label`, `a_x`, `a_y` and `b_x`",
            "a wide table needs a column `<classifier>_<class>` for every classifier (`a` and `b`) \
             and class (`x` and `y`); for one row per probability use `--layout long`",
        );
    }
    bench.refused(
        "fuse model.json table.csv --layout long",
        "table.csv: there is no column `probability`; the columns are `label`, `a_x`, `a_y`, \
         `b_x` and `b_y`",
        "a long table needs the columns `item`, `classifier`, `class` and `probability`; for one \
         row per item use `--layout wide`",
    );
}

#[test]
fn headers() {
    let bench = Bench::stocked();
    for (content, options, problem, hint) in [
        ("label,a_x,a_y,a_x\n", "", "column `a_x` occurs twice", "rename or remove one of the two"),
        (
            "label,m_b,m_x_b,m_x_x_b\nb,0.5,0.5,0.5\n",
            "--classes b,x_b",
            "column `m_x_b` can belong to classifier `m` or `m_x`; the classes are `b` and `x_b`",
            ONE_WAY,
        ),
        (
            "label,a_x,a_y,b_x\nx,0.5,0.5,0.5\ny,0.5,0.5,0.5\n",
            "",
            "classifier `b` has columns for `x` but none for `y`; label `y` first occurs in row 2",
            "add the column `b_y`, or correct the label `y`",
        ),
        (
            "label,a_x,a_y\nx,0.5,0.5\n",
            "--classes x,y,z",
            "classifier `a` has columns for `x` and `y` but none for `z`",
            "add the column `a_z`, or leave `z` out of `--classes`",
        ),
        (
            "label,a_x,a_y\nx,0.5,0.5\n",
            "--classes x,y,x",
            "class `x` is named twice",
            "name every class once with `--classes a,b,c`",
        ),
        (
            "label,p,q\nx,0.5,0.5\ny,0.5,0.5\n",
            "",
            "no column is named `<classifier>_<class>` with one of the classes `x` and `y`; the \
             columns are `p` and `q`",
            "name the columns `<classifier>_<class>`, such as `resnet_x`; for one column of labels \
             per source use `aggregate` with the layout `wide-labels`; for one row per probability \
             use `--layout long`",
        ),
    ] {
        bench.write("bad.csv", content);
        bench.refused(&format!("fit bad.csv {options}"), &format!("bad.csv: {problem}"), hint);
    }
    bench.write("twice.csv", "a_x,a_y,b_x,b_y,a_x\n");
    bench.refused(
        "fuse model.json twice.csv",
        "twice.csv: column `a_x` occurs twice",
        "rename or remove one of the two",
    );
}

#[test]
fn classes_that_never_occur() {
    let bench = Bench::stocked();
    bench.write("one.csv", "label,a_x\nx,1\n");
    let problem = "one.csv: at least two classes are needed, found `x`";
    bench.refused(
        "fit one.csv",
        problem,
        "add items of a second class; every classifier needs a value for each class",
    );
    bench.refused("fit one.csv --classes x", problem, NAME_CLASSES);
    bench.write("same.csv", "label,a_x,a_y\nx,0.5,0.5\nx,0.6,0.4\n");
    bench.refused(
        "fit same.csv",
        "same.csv: column `a_y` of classifier `a`: class `y` never occurs as a label; the classes \
         found are `x`",
        "if `y` is a class, add items with this label; if not, use `--classes x`",
    );
    bench.write("three.csv", "label,a_x,a_y,a_z\nx,0.5,0.3,0.2\ny,0.2,0.5,0.3\n");
    bench.refused(
        "fit three.csv",
        "three.csv: column `a_z` of classifier `a`: class `z` never occurs as a label; the \
         classes found are `x` and `y`",
        "if `z` is a class, add items with this label; if not, use `--classes x,y`",
    );
    for method in ["discounted", "stacking"] {
        bench.refused(
            &format!("fit three.csv --classes x,y,z --method {method}"),
            "three.csv: class `z` has no training items",
            "add items with this label; to leave the class out, remove it from `--classes` and \
             renormalise the other probabilities",
        );
    }
    let told = bench.good("fit three.csv --classes x,y,z --method log-pool -o m.json").err;
    assert!(
        told.contains("no labelled item has the class `z`: the weights are fitted to the other"),
        "{told}"
    );
}

#[test]
fn classifiers_that_never_speak() {
    let bench = Bench::stocked();
    let hint = "leave the classifier out, or add items of this class for which it has an output";
    let header = "label,a_x,a_y,b_x,b_y\n";
    for (rows, class) in [
        ("x,0.5,0.5,0.5,0.5\ny,0.4,0.6,,\ny,0.3,0.7,,\n", "y"),
        ("x,0.5,0.5,,\ny,0.4,0.6,,\n", "x"),
    ] {
        bench.write("bad.csv", format!("{header}{rows}"));
        let told = bench.good("fit bad.csv --method independent -o m.json").err;
        let left_out = format!(
            "warning: classifier `b` is missing for every training item of class `{class}`, so it \
             is left out\n"
        );
        assert!(told.contains(&left_out), "{told}");
        let fused = bench.good("fuse m.json bad.csv -o fused.csv").err;
        assert!(fused.contains("has outputs of b, which the model does not have"), "{fused}");
        bench.refused(
            "fit bad.csv --method meta:b",
            &format!(
                "bad.csv: classifier `b` is missing for every training item of class `{class}`"
            ),
            hint,
        );
        // these can use a classifier that lacks a class, but not one that is never there
        for method in ["linear-pool", "auto"] {
            let told = bench.good(&format!("fit bad.csv --method {method} -o m.json")).err;
            let never =
                "warning: classifier `b` has no output for any training item, so it is left out\n";
            assert_eq!(told.contains(never), class == "x", "{told}");
        }
    }
}

#[test]
fn ragged_rows() {
    let bench = Bench::stocked();
    let hint = "every row needs a cell for every column; it may be empty";
    for (row, found) in [("x,0.5,0.5,0.5", 4), ("x,0.5,0.5,0.5,0.5,", 6)] {
        bench.write("bad.csv", format!("{TABLE}{row}\n"));
        let message =
            format!("bad.csv, row 3 (line 4): found {found} cells where the header has 5");
        bench.refused("fit bad.csv", &message, hint);
        bench.refused("fuse model.json bad.csv", &message, hint);
    }
}

#[test]
fn empty_files_and_headers_alone() {
    let bench = Bench::stocked();
    for name in ["empty.csv", "empty.parquet", "empty.arrow", "empty.jsonl"] {
        bench.write(name, "");
    }
    for command in ["fit", "fuse model.json", "evaluate model.json"] {
        bench.refused(
            &format!("{command} empty.csv"),
            "empty.csv: the file is empty: there is no header",
            NO_HEADER,
        );
        for name in ["empty.parquet", "empty.arrow"] {
            bench.refused(&format!("{command} {name}"), &format!("{name}: the file is empty"), "");
        }
    }
    bench.write("header.csv", "label,a_x,a_y,b_x,b_y\n");
    for command in ["fit", "evaluate model.json", "fit --update model.json"] {
        for name in ["empty.jsonl", "header.csv"] {
            let message = format!("{name}: there are no items");
            bench.refused(&format!("{command} {name}"), &message, "");
        }
    }
    bench.write("long.csv", "item,classifier,class,probability,label\n");
    bench.refused("fit long.csv --layout long", "long.csv: there are no items", "");
    let run = bench.good("fuse model.json header.csv");
    assert_eq!(run.err, "fused 0 items with `independent` -> standard output\n");
    assert_eq!(
        run.out, "label,a_x,a_y,b_x,b_y,fused_x,fused_y,predicted,entropy,error\n",
        "no items are no fault when fusing"
    );
}

#[test]
fn files_cut_off_or_of_another_format() {
    let bench = Bench::stocked();
    for (format, problem) in [
        ("parquet", "cannot be read as Parquet: Invalid Parquet file. Corrupt footer"),
        ("arrow", "cannot be read as Arrow IPC: Ipc error: the file ends too early"),
    ] {
        let (whole, cut) = (format!("whole.{format}"), format!("cut.{format}"));
        bench.good(&format!("fuse model.json table.csv -o {whole}"));
        let bytes = bench.read(&whole);
        bench.write(&cut, &bytes[..bytes.len() / 2]);
        for command in ["fit", "fuse model.json", "evaluate model.json"] {
            bench.refused(&format!("{command} {cut}"), &format!("{cut}: {problem}"), DAMAGED);
        }
    }
    bench.write("table.parquet", TABLE);
    bench.refused(
        "fuse model.json table.parquet",
        "table.parquet: cannot be read as Parquet: Invalid Parquet file. Corrupt footer",
        DAMAGED,
    );
    bench.write("table.jsonl", TABLE);
    bench.refused(
        "fit table.jsonl",
        "table.jsonl, row 1 (line 1): not a JSON object: expected value",
        OBJECTS,
    );
}

#[test]
fn damaged_files_are_refused_without_a_word_of_panic() {
    let bench = Bench::stocked();
    bench.good("simulate --preset sim1 --items-per-class 20 -o whole.arrow");
    bench.good("fit whole.arrow --method independent --inference map -o fitted.json");
    let bytes = bench.read("whole.arrow");
    let mut refused = 0;
    for place in (700..900).step_by(9) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x99;
        bench.write("damaged.arrow", damaged);
        let run = bench.run("fuse fitted.json damaged.arrow -o out.csv -q");
        if run.code == Some(0) {
            continue; // some damage goes unnoticed, such as another probability
        }
        assert_eq!(run.code, Some(1), "byte {place}: {}", run.err);
        assert!(run.err.starts_with("error: damaged.arrow"), "byte {place}: {}", run.err);
        assert!(!run.err.contains("panic"), "byte {place}: {}", run.err);
        refused += usize::from(run.err.contains(": the file is damaged\n"));
    }
    assert!(refused > 0, "no damage made the reader panic, so this proves nothing");
}

#[test]
fn broken_json_lines() {
    let bench = Bench::stocked();
    let good = r#"{"label": "x", "a_x": 0.7, "a_y": 0.3, "b_x": 0.6, "b_y": 0.4}"#;
    for (line, problem, hint) in [
        ("[0.5, 0.5]", "not a JSON object: invalid type: sequence, expected an object", OBJECTS),
        (
            "0.5",
            "not a JSON object: invalid type: floating point `0.5`, expected an object",
            OBJECTS,
        ),
        ("{\"label\": \"x\", \"a_x\"", "not a JSON object: EOF while parsing an object", OBJECTS),
        ("{\"label\": \"x\", \"label\": \"y\"}", "key `label` occurs twice", ""),
    ] {
        bench.write("bad.jsonl", format!("{good}\n\n{line}\n"));
        let message = format!("bad.jsonl, row 2 (line 3): {problem}");
        bench.refused("fit bad.jsonl", &message, hint);
        bench.refused("fuse model.json bad.jsonl", &message, hint);
    }
}

#[test]
fn faults_of_the_long_layout() {
    let bench = Bench::stocked();
    for (rows, problem, hint) in [
        (
            "1,x,a,x,0.5\n1,x,a,y,0.5\n2,y,a,x,0.5\n",
            "row 3 (line 4): item `2`, classifier `a`: there is no row for class `y`",
            "give every class of a classifier or none, and sort the table by item",
        ),
        (
            "1,x,a,x,0.5\n1,x,a,x,0.5\n",
            "row 2 (line 3), column `item`: item `1` has classifier `a`, class `x` twice",
            "every item needs a name of its own, and one row per classifier and class",
        ),
        (
            "1,x,a,x,0.5\n1,y,a,y,0.5\n",
            "row 2 (line 3), column `label`: label `y` contradicts label `x` of the same item `1`",
            "",
        ),
        (
            "1,x,a,x,0.5\n1,x,a,y,0.5\n,x,a,x,0.5\n",
            "row 3 (line 4), column `item`: the name of the item is empty",
            "",
        ),
        (
            "1,x,a,x,0.5\n1,x,a,y,0.5\n2,y,a,x,0.5\n2,y,a,y,0.5\n1,x,b,x,0.5\n1,x,b,y,0.5\n",
            "row 5 (line 6), column `item`: item `1` occurs again after other items",
            "sort the table by item, so that the rows of an item are consecutive, and give every item \
             once",
        ),
    ] {
        bench.write("bad.csv", format!("item,label,classifier,class,probability\n{rows}"));
        let message = format!("bad.csv, {problem}");
        bench.refused("fit bad.csv --layout long --classes x,y", &message, hint);
        if !problem.contains("label") {
            bench.refused("fuse model.json bad.csv --layout long", &message, hint);
        }
    }
    bench.write("bad.csv", "item,classifier,class,probability\n1,c,x,0.5\n1,c,y,0.5\n");
    bench.refused(
        "fuse model.json bad.csv --layout long",
        "bad.csv, row 1 (line 2), column `classifier`: unknown classifier `c`; known are `a` and \
         `b`",
        "correct the name, or remove such rows",
    );
}

#[test]
fn columns_that_would_be_there_twice() {
    let bench = Bench::stocked();
    for (command, column) in [("fuse", "fused_x"), ("density", "log_density_x")] {
        bench.good(&format!("{command} model.json table.csv -o once.csv"));
        bench.refused(
            &format!("{command} model.json once.csv -o twice.csv"),
            &format!("cannot write twice.csv: the input already has a column `{column}`"),
            &format!(
                "remove or rename the column `{column}` of the input; the table may have been \
                 fused before"
            ),
        );
        bench.refused(
            &format!("{command} model.json once.csv -o once.csv"),
            &format!("cannot write once.csv: the input already has a column `{column}`"),
            &format!(
                "remove or rename the column `{column}` of the input; the table may have been \
                 fused before"
            ),
        );
    }
}
