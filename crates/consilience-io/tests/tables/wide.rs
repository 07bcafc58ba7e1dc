//! The wide layout: columns found, cells read, bad ones refused with their place.

use consilience::{InputFormat, ValueKind};
use consilience_io::{
    Format, Input, Layout, ReadOptions, TableReader, read_outputs, read_outputs_from,
};

use crate::{Files, copy, known_refusal, long_options, options, refusal, schema};

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
    let header = "label,a_x,a_y,b_x,b_y\nx,1,0,1,0\n";
    let (label, sum, text) = ("q,1,0,1,0\n", "x,0.5,0.6,1,0\n", "x,oops,0.5,1,0\n");
    for (first, second) in [(label, sum), (label, text), (sum, label), (sum, text), (text, sum)] {
        let refused = |rows: &str| known_refusal("t.csv", format!("{header}{rows}"), &options());
        let message = refused(&format!("{first}{second}"));
        assert!(message.contains("row 2 (line 3)"), "{message}");
        assert_eq!(message, refused(first));
    }
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
fn a_needed_column_of_labels_is_missed() {
    let needs_labels = ReadOptions { needs_labels: true, ..options() };
    let (message, hint) = refusal("a_x,a_y\n0.5,0.5\n", &needs_labels);
    assert_eq!(message, "t.csv: there is no column `label`; the columns are `a_x` and `a_y`");
    assert_eq!(hint, "give the true class of some items as their label");
    let message = known_refusal("t.csv", "a_x,a_y,b_x,b_y\n", &needs_labels);
    assert!(message.starts_with("t.csv: there is no column `label`"), "{message}");
}

/// The labels and classes of a table.
fn labels_of(content: &str, options: &ReadOptions) -> (Vec<Option<usize>>, Vec<String>) {
    let files = Files::new();
    let outputs = read_outputs(&files.with("t.csv", content), options).unwrap();
    let labels = (0..outputs.n_items()).map(|item| outputs.label(item)).collect();
    (labels, outputs.schema().classes().to_vec())
}

#[test]
fn an_empty_label_is_an_unlabelled_item() {
    let needs_labels = ReadOptions { needs_labels: true, ..options() };
    let table = "label,a_x,a_y\nx,0.5,0.5\n,0.5,0.5\ny,0.5,0.5\n";
    let (labels, _) = labels_of(table, &needs_labels);
    assert_eq!(labels, [Some(0), None, Some(1)]);
    let table = "item,classifier,class,probability,label\n1,a,x,0.5,\n1,a,y,0.5,\n";
    let long = ReadOptions { needs_labels: true, ..long_options() };
    assert_eq!(labels_of(table, &long).0, [None]);
}

/// If every item has a label, a class that never occurs is taken for a mistake.
#[test]
fn classes_among_unlabelled_items_only_are_those_of_the_columns() {
    let header = "label,a_x,a_y,a_z,b_x,b_y,b_z\n";
    let row = "0.5,0.3,0.2,0.5,0.3,0.2";
    for labels in [["y", ""], ["", ""]] {
        let table = format!("{header}{},{row}\n{},{row}\n", labels[0], labels[1]);
        assert_eq!(labels_of(&table, &options()).1, ["x", "y", "z"], "{labels:?}");
    }
    let (message, _) = refusal(&format!("{header}x,{row}\ny,{row}\n"), &options());
    assert!(message.contains("class `z` never occurs as a label"), "{message}");
    let (message, _) = refusal(&format!("{header}w,{row}\n,{row}\n"), &options());
    assert!(message.contains('w'), "{message}");
}

fn classifiers_of(content: &str) -> Vec<String> {
    let files = Files::new();
    let outputs = read_outputs(&files.with("t.csv", content), &options()).unwrap();
    outputs.schema().classifiers().to_vec()
}

#[test]
fn results_of_an_earlier_run_are_told_from_classifiers_by_their_place() {
    let run = "label,a_x,a_y,fused_x,fused_y,predicted,entropy,error,evidence_a_x,evidence_a_y\n\
               x,1,0,1,0,x,0,0,1,0\ny,0,1,0,1,y,0,0,1,0\n";
    assert_eq!(classifiers_of(run), ["a"]);
    let alone = "label,a_x,a_y,fused_x,fused_y\nx,1,0,1,0\ny,0,1,0,1\n";
    assert_eq!(classifiers_of(alone), ["a", "fused"]);
    let moved = "label,fused_x,fused_y,a_x,a_y,predicted,entropy,error\nx,1,0,1,0,x,0,0\n";
    let (message, hint) = refusal(moved, &options());
    assert_eq!(
        message,
        "t.csv: column `fused_x` may be a result of an earlier run or a classifier's output"
    );
    assert_eq!(hint, "remove the results of the earlier run, or rename the classifier");
    let dense = "label,log_density_x,a_x,a_y,log_evidence,error\nx,1,0,1,0,0\n";
    assert!(refusal(dense, &options()).0.contains("`log_density_x` may be a result"));
}

#[test]
fn labels_that_are_not_read_may_be_anything() {
    let table = "label,a_x,a_y,b_x,b_y\nwhatever,1,0,1,0\n";
    let (ignored, read) = (ReadOptions { ignores_labels: true, ..options() }, options());
    let input = || Input::from_bytes("t", Format::Csv, table);
    let mut reader = TableReader::new(input(), &schema(), &ignored).unwrap();
    let chunk = reader.next_chunk().unwrap().unwrap();
    assert_eq!((chunk.outputs.label(0), chunk.carried.names()[0].as_str()), (None, "label"));
    assert!(TableReader::new(input(), &schema(), &read).unwrap().next_chunk().is_err());
}

#[test]
fn classifiers_that_the_schema_does_not_have_are_told() {
    let table = "a_x,a_y,b_x,b_y,c_x,c_y,d_x,fused_x,fused_y,predicted,entropy,error\n";
    let input = Input::from_bytes("t", Format::Csv, table);
    let reader = TableReader::new(input, &schema(), &options()).unwrap();
    assert_eq!(reader.unknown_classifiers(), ["c"]);
}

#[test]
fn whole_numbers_are_the_same_label_with_and_without_a_fraction() {
    let labels = |content: &str| {
        let files = Files::new();
        let outputs = read_outputs(&files.with("t.csv", content), &options()).unwrap();
        let labels: Vec<_> = (0..outputs.n_items()).map(|item| outputs.label(item)).collect();
        (outputs.schema().classes().to_vec(), labels)
    };
    let numbers = vec![Some(0), Some(1), Some(0)];
    let (one, float) = (vec!["1".to_owned(), "2".into()], vec!["1.0".to_owned(), "2.0".into()]);
    let found = labels("label,a_1,a_2\n1.0,1,0\n2.0,0,1\n1,1,0\n");
    assert_eq!(found, (one, numbers.clone()));
    let found = labels("label,a_1.0,a_2.0\n1,1,0\n2,0,1\n1.0,1,0\n");
    assert_eq!(found, (float, numbers));
    let names = labels("label,a_1,a_1.0\n1.0,1,0\n1,0,1\n").0;
    assert_eq!(names, ["1", "1.0"], "exact names come first");
    assert!(refusal("label,a_1,a_2\n1.5,1,0\n2.0,0,1\n", &options()).0.contains("1.5"));
}

/// Looking up every column in a list of all took minutes.
#[test]
fn very_wide_tables_are_read_in_linear_time() {
    let begun = std::time::Instant::now();
    let columns = (0..30_000).map(|k| format!("c{k}_x,c{k}_y"));
    let header = columns.collect::<Vec<_>>().join(",");
    for label in ["", "label,"] {
        let cells = if label.is_empty() { "" } else { "x," };
        let row = cells.to_owned() + &vec!["1,0"; 30_000].join(",");
        let other = row.replacen('x', "y", 1);
        let table = format!("{label}{header}\n{row}\n{other}\n");
        let input = Input::from_bytes("t", Format::Csv, table.clone());
        let outputs = read_outputs_from(input, &options()).unwrap();
        assert_eq!(outputs.schema().n_classifiers(), 30_000);
        let input = Input::from_bytes("t", Format::Csv, table);
        TableReader::new(input, outputs.schema(), &options()).unwrap().next_chunk().unwrap();
    }
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

#[test]
fn only_fractional_odds_get_the_advice_on_odds() {
    let hint = |cell: &str| refusal(&format!("label,a_x,a_y\nx,{cell},1\ny,1,1\n"), &options()).1;
    assert_eq!(hint("5/2"), "fractional odds a/b are decimal odds of 1 + a/b");
    for cell in ["N/A", "n/a", "1/", "2024/05/01"] {
        assert!(hint(cell).starts_with("numbers have a decimal point; a missing output"), "{cell}");
    }
}
