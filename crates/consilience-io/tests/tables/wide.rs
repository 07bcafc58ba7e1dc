//! The wide layout: columns found, cells read, bad ones refused with their place.

use consilience::{InputFormat, ValueKind};
use consilience_io::{Layout, ReadOptions, read_outputs};

use crate::{Files, copy, known_refusal, long_options, options, refusal};

const GOOD: &str = "\
id,label,a_x,a_y,b_x,b_y
1,x,0.75,0.25,0.5,0.5
2,y,0.5,0.5,,
3,,0.25,0.75,1,0
";

#[test]
fn a_table_is_read_with_labels_and_gaps() {
    let files = Files::new();
    let outputs = read_outputs(&files.with("t.csv", GOOD), &options()).unwrap();
    assert_eq!(outputs.schema().classifiers(), ["a", "b"]);
    assert_eq!(outputs.schema().classes(), ["x", "y"]);
    assert_eq!(outputs.n_items(), 3);
    assert_eq!(outputs.output(0, 0), Some(&[0.75, 0.25][..]));
    assert_eq!(outputs.output(1, 1), None);
    let labels: Vec<_> = (0..3).map(|item| outputs.label(item)).collect();
    assert_eq!(labels, [Some(0), Some(1), None]);
    assert_eq!(outputs.n_raised(), 1);
}

/// What `fuse` and `density` have added is not taken for classifiers; a classifier called `fused`
/// in a table of its own is one.
#[test]
fn a_fused_table_can_be_read_again() {
    let files = Files::new();
    for (header, classifiers) in [
        (
            "label,a_x,a_y,fused_x,fused_y,predicted,entropy,error,evidence_a_x,evidence_a_y",
            &["a"][..],
        ),
        ("label,a_x,a_y,log_density_x,log_density_y,log_evidence,error", &["a"]),
        ("label,a_x,a_y,fused_x,fused_y,entropy", &["a", "fused"]),
    ] {
        let cells = header.split(',').map(|name| match name {
            "label" => "x",
            "predicted" => "y",
            _ => "0.5",
        });
        let row = cells.collect::<Vec<_>>().join(",");
        let table =
            files.with("t.csv", format!("{header}\n{row}\n{}\n", row.replacen('x', "y", 1)));
        let outputs = read_outputs(&table, &options()).unwrap();
        assert_eq!(outputs.schema().classifiers(), classifiers, "{header}");
    }
}

#[test]
fn a_byte_order_mark_line_ends_quotes_and_missing_words_are_tolerated() {
    let files = Files::new();
    let odd = "\u{feff}\"id\",label,a_x,a_y,b_x,b_y\r\n\"1, or so\",x, 0.75 ,0.25,NA,NaN\r\n\r\n\
               2,y,+.5,5e-1,null, \r\n";
    let location = files.with("t.csv", odd);
    let outputs = read_outputs(&location, &options()).unwrap();
    assert_eq!(outputs.n_items(), 2);
    assert_eq!(outputs.output(0, 0), Some(&[0.75, 0.25][..]));
    assert!(outputs.output(0, 1).is_none() && outputs.output(1, 1).is_none());
    copy(&location, &files.at("o.csv"), &options()).unwrap();
    assert_eq!(
        files.text("o.csv"),
        "id,label,a_x,a_y,b_x,b_y,half,part\n\
         \"1, or so\",x, 0.75 ,0.25,NA,NaN,0.5,early\n\
         2,y,+.5,5e-1,null, ,1.0,early\n"
    );
}

#[test]
fn chunks_make_the_same_outputs_as_the_whole() {
    let files = Files::new();
    let location = files.with("t.csv", GOOD);
    let whole = read_outputs(&location, &options()).unwrap();
    for chunk_items in [0, 1, 2, 3, 100] {
        let options = ReadOptions { chunk_items, ..options() };
        let chunks = copy(&location, &files.at("o.csv"), &options).unwrap();
        assert_eq!(chunks.len(), 3_usize.div_ceil(chunk_items.max(1)));
        let items = |item| whole.items(item..item + 1).values().to_vec();
        let singles: Vec<_> = chunks.iter().flat_map(|c| c.all().values().chunks(4)).collect();
        for (item, single) in singles.into_iter().enumerate() {
            assert_eq!(format!("{single:?}"), format!("{:?}", items(item)));
        }
    }
}

#[test]
fn columns_may_come_in_any_order_and_others_are_left_alone() {
    let files = Files::new();
    let shuffled = "b_y,a_x,c_x,note,b_x,a_y\n0.25,0.5,nonsense,,0.75,0.5\n";
    let chunks = copy(&files.with("t.csv", shuffled), &files.at("o.csv"), &options()).unwrap();
    assert_eq!(chunks[0].all().values(), [0.5, 0.5, 0.75, 0.25]);
    assert_eq!(chunks[0].label(0), None);
}

#[test]
fn given_classes_set_the_order() {
    let files = Files::new();
    let options = ReadOptions { classes: Some(vec!["y".into(), "x".into()]), ..options() };
    let outputs = read_outputs(&files.with("t.csv", GOOD), &options).unwrap();
    assert_eq!(outputs.schema().classes(), ["y", "x"]);
    assert_eq!(outputs.output(0, 0), Some(&[0.25, 0.75][..]));
    assert_eq!(outputs.label(0), Some(1));
}

#[test]
fn other_kinds_of_values_are_converted() {
    let files = Files::new();
    let input_format = InputFormat { kind: ValueKind::Odds, floor: 0.0, ..InputFormat::default() };
    let odds = files.with("t.csv", "label,a_x,a_y\nx,1.25,5\ny,2,2\n");
    let outputs = read_outputs(&odds, &ReadOptions { input_format, ..options() }).unwrap();
    assert!((outputs.output(0, 0).unwrap()[0] - 0.8).abs() < 1e-15);
}

#[test]
fn bad_cells_are_refused_with_their_place_and_value() {
    let row = |cells: &str| format!("label,a_x,a_y,b_x,b_y\nx,0.5,0.5,0.5,0.5\n{cells}\n");
    for (cells, problem) in [
        ("y,-0.50,1.5,0,1", "column `a_x`: negative probability -0.5 (value `-0.50`)"),
        ("y,0.5,0.5,1.5,0", "column `b_x`: probability above 1 (1.5) (value `1.5`)"),
        ("y,0.5,0.5,inf,0", "column `b_x`: infinite value inf (value `inf`)"),
        (
            "y,0.5,,0,1",
            "column `a_y`: some classes have a value and others are empty (the cell is empty)",
        ),
        (
            "y,0.5,0.25,0,1",
            "columns `a_x` and `a_y`: the probabilities add up to 0.75, not 1 (values `0.5` and \
             `0.25`)",
        ),
        ("y,0.5,0.5,zero,1", "column `b_x`: `zero` is not a number"),
        ("y,0.5,0.5,\"0,5\",1", "column `b_x`: `0,5` is not a number"),
    ] {
        assert_eq!(refusal(&row(cells), &options()).0, format!("t.csv, row 2 (line 3), {problem}"));
        let known = known_refusal("t.csv", row(cells), &options());
        assert_eq!(known, format!("t.csv, row 2 (line 3), {problem}"));
    }
    let ragged = "t.csv, row 2 (line 3): found 3 cells where the header has 5";
    assert_eq!(refusal(&row("y,0.5,0.5"), &options()).0, ragged);
}

#[test]
fn the_first_bad_row_is_reported_whatever_is_wrong_with_it() {
    let table = "label,a_x,a_y,b_x,b_y\nx,0.5,0.6,1,0\nx,oops,0.5,1,0\n";
    assert!(known_refusal("t.csv", table, &options()).contains("row 1 (line 2)"));
}

#[test]
fn lines_are_counted_over_blanks_quotes_and_line_ends() {
    let header = "id,a_x,a_y,b_x,b_y";
    for (rows, row, line) in [
        ("\n\n\n1,oops,0,1,0\n", 1, 4),
        ("\r\n\r\n1,1,0,1,0\r\n\r\n2,oops,0,1,0\r\n", 2, 5),
        ("\n\"a\nb\",1,0,1,0\n2,oops,0,1,0", 2, 4),
        ("\r\n\"a\r\nb\",oops,0,1,0\r\n", 1, 2),
        ("\r\n1,1,0,1,0\r\n1,oops,0,1,0", 2, 3),
    ] {
        let message = known_refusal("t.csv", format!("{header}{rows}"), &options());
        let place = format!("t.csv, row {row} (line {line}), column `a_x`");
        assert_eq!(message, format!("{place}: `oops` is not a number"), "{rows:?}");
    }
    let message = known_refusal("t.csv", format!("{header}\r\n\r\n1,2\r\n"), &options());
    assert_eq!(message, "t.csv, row 1 (line 3): found 2 cells where the header has 5");
}

#[test]
fn an_unknown_label_is_refused() {
    let table = "a_x,a_y,b_x,b_y,label\n1,0,1,0,x\n1,0,1,0,z\n";
    assert_eq!(
        known_refusal("t.csv", table, &options()),
        "t.csv, row 2 (line 3), column `label`: unknown label `z`; the classes are `x` and `y`"
    );
    let (message, hint) = refusal(table, &options());
    assert_eq!(
        message,
        "t.csv: classifier `a` has columns for `x` but none for `z`; label `z` first occurs in \
         row 2"
    );
    assert_eq!(hint, "add the column `a_z`, or correct the label `z`");
}

#[test]
fn a_missing_or_doubled_column_is_refused() {
    assert_eq!(
        known_refusal("t.csv", "a_x,a_y,b_x\n", &options()),
        "t.csv: there is no column `b_y`; the columns are `a_x`, `a_y` and `b_x`"
    );
    let twice = known_refusal("t.csv", "a_x,a_y,b_x,b_y,id,id\n", &options());
    assert_eq!(twice, "t.csv: column `id` occurs twice");
    let long = ReadOptions { layout: Layout::Long, ..options() };
    assert_eq!(
        known_refusal("t.csv", "item,class\n", &long),
        "t.csv: there is no column `probability`; the columns are `item` and `class`"
    );
}

#[test]
fn empty_files_and_tables_without_rows() {
    assert_eq!(refusal("", &options()).0, "t.csv: the file is empty: there is no header");
    assert_eq!(refusal("a_x,a_y\n", &options()).0, "t.csv: there are no items");
    let files = Files::new();
    let header = files.with("t.csv", "id,a_x,a_y,b_x,b_y\n");
    assert!(copy(&header, &files.at("o.csv"), &options()).unwrap().is_empty());
    assert_eq!(files.text("o.csv"), "id,a_x,a_y,b_x,b_y,half,part\n");
    let lines = files.with("t.jsonl", "\n\n");
    assert!(copy(&lines, &files.at("o.jsonl"), &options()).unwrap().is_empty());
    let error = read_outputs(&lines, &options()).unwrap_err();
    assert_eq!(files.message(&error), "t.jsonl: there are no items");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let files = Files::new();
    let error = read_outputs(&files.at("gone.csv"), &options()).unwrap_err();
    assert!(files.message(&error).starts_with("cannot read gone.csv: No such file"));
    let error = read_outputs(
        &files.0.path().into(),
        &ReadOptions { format: Some(consilience_io::Format::Csv), ..options() },
    )
    .unwrap_err();
    assert!(error.to_string().ends_with("is a directory"), "{error}");
}

#[test]
fn needed_labels_are_missed_with_their_place() {
    let needs_labels = ReadOptions { needs_labels: true, ..options() };
    let (message, hint) = refusal("label,a_x,a_y\nx,0.5,0.5\n,0.5,0.5\ny,0.5,0.5\n", &needs_labels);
    assert_eq!(message, "t.csv, row 2 (line 3), column `label`: the label is empty");
    assert_eq!(hint, "fitting and scoring need the true class of every item");
    let (message, _) = refusal("a_x,a_y\n0.5,0.5\n", &needs_labels);
    assert_eq!(message, "t.csv: there is no column `label`; the columns are `a_x` and `a_y`");
    let message = known_refusal("t.csv", "a_x,a_y,b_x,b_y\n", &needs_labels);
    assert!(message.starts_with("t.csv: there is no column `label`"), "{message}");
    let long = ReadOptions { needs_labels: true, ..long_options() };
    let table = "item,classifier,class,probability,label\n1,a,x,0.5,\n1,a,y,0.5,\n";
    let (message, _) = refusal(table, &long);
    assert_eq!(message, "t.csv, row 1 (line 2), column `label`: the label is empty");
}
