//! Tables as people have them: rounded, of another kind, with labels that do not matter, and written
//! to or read from open files.

use super::{Bench, MODEL, PROGRAM, Run};

#[test]
fn rounded_outputs_are_renormalised_and_counted() {
    let bench = Bench::stocked();
    bench.write("rounded.csv", "a_x,a_y,b_x,b_y\n0.33,0.66,0.5,0.5\n0.701,0.3,1,-0.0000001\n");
    let run = bench.good("fuse model.json rounded.csv -o out.csv");
    let warning = "warning: rounded.csv: 2 outputs did not add up to 1 (largest deviation 1.00e-2) \
                   and were renormalised\n";
    assert!(run.err.contains(warning), "{}", run.err);
    bench.write("exact.csv", "a_x,a_y,b_x,b_y\n0.3333333333333333,0.6666666666666667,0.5,0.5\n");
    let exact = bench.good("fuse model.json exact.csv");
    assert!(!exact.err.contains("warning"), "{}", exact.err);
    let fused = |text: &str| text.lines().nth(1).unwrap().split(',').nth(4).unwrap().to_owned();
    let (rounded, exact): (f64, f64) =
        (fused(&bench.text("out.csv")).parse().unwrap(), fused(&exact.out).parse().unwrap());
    assert!((rounded - exact).abs() < 1e-12, "{rounded} {exact}");
    bench.refused(
        "fuse model.json rounded.csv --sum-tolerance 0.005",
        "rounded.csv, row 1 (line 2), columns `a_x` and `a_y`: the probabilities add up to 0.99, \
         not 1 (values `0.33` and `0.66`)",
        "the probabilities of a classifier must add up to 1 within `--sum-tolerance`; for other \
         values use `--values log-probabilities`, `logits` or `odds`",
    );
    bench.refused(
        "fuse model.json rounded.csv --sum-tolerance 1",
        "`sum_tolerance` must be at least 0 and below 1, got 1",
        "",
    );
}

#[test]
fn values_of_another_kind_are_recognised() {
    let bench = Bench::stocked();
    bench.write("percent.csv", "a_x,a_y,b_x,b_y\n60,40,33,66\n");
    bench.refused(
        "fuse model.json percent.csv",
        "percent.csv, row 1 (line 2), columns `a_x` and `a_y`: the values add up to 100, not 1: they \
         look like percentages (values `60` and `40`)",
        "divide percentages by 100",
    );
    let odds = bench.good("fuse model.json percent.csv --values odds");
    let warning = "warning: percent.csv: the odds look like percentages: they add up to 100; ";
    assert!(odds.err.contains(warning), "{}", odds.err);
    let logits = bench.good("fuse model.json table.csv --values logits");
    let warning = "warning: table.csv: the logits look like probabilities: they add up to 1; ";
    assert!(logits.err.contains(warning), "{}", logits.err);
    let fit = "fit table.csv --values logits --method opinion-pool -o fitted.json";
    let fit = bench.good(fit);
    assert!(fit.err.contains("the logits look like probabilities"), "{}", fit.err);
}

#[test]
fn labels_that_are_not_used_may_be_anything() {
    let bench = Bench::stocked();
    bench.write("other.csv", "label,a_x,a_y,b_x,b_y\nzebra,0.7,0.3,0.6,0.4\n");
    for command in ["fuse", "density"] {
        let run = bench.good(&format!("{command} model.json other.csv"));
        assert!(run.out.contains("\nzebra,0.7,"), "{}", run.out);
    }
    assert_eq!(bench.run("evaluate model.json other.csv").code, Some(1));
}

#[test]
fn classifiers_that_the_model_does_not_have_are_mentioned() {
    let bench = Bench::stocked();
    bench.write("more.csv", "a_x,a_y,b_x,b_y,c_x,c_y\n0.7,0.3,0.6,0.4,1,0\n");
    let run = bench.good("fuse model.json more.csv");
    let warning = "warning: more.csv has outputs of c, which the model does not have; they are not \
                   used\n";
    assert!(run.err.contains(warning), "{}", run.err);
}

/// Runs a line of a shell in which `$PROGRAM` is the program.
fn shell(bench: &Bench, line: &str) -> Run {
    bench.shell("sh").args(["-c", line]).env("PROGRAM", PROGRAM).output().unwrap().into()
}

#[test]
fn open_files_are_written_and_read_as_streams() {
    let bench = Bench::stocked();
    let expected = bench.good("fuse model.json table.csv").out;
    for output in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        bench.write("log.csv", "old\n");
        let line = format!("$PROGRAM fuse model.json table.csv -o {output} >> log.csv");
        let run = shell(&bench, &line);
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert_eq!(bench.text("log.csv"), format!("old\n{expected}"), "{output}");
        shell(&bench, &format!("$PROGRAM fuse model.json table.csv -o {output} > new.csv"));
        assert_eq!(bench.text("new.csv"), expected, "{output}");
    }
    bench.write("log.csv", "old\n");
    let run = shell(&bench, "$PROGRAM fuse model.json table.csv -o /dev/fd/3 3>> log.csv");
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(bench.text("log.csv"), format!("old\n{expected}"));
    for input in ["/dev/stdin", "/dev/fd/0"] {
        let run = shell(&bench, &format!("$PROGRAM fuse model.json {input} < table.csv"));
        assert_eq!(run.out, expected, "{input}: {}", run.err);
    }
}

#[test]
fn a_stream_that_cannot_be_copied_is_told_with_the_folder() {
    let bench = Bench::stocked();
    let line = "cat table.csv | TMPDIR=/nowhere $PROGRAM fit - -o fitted.json";
    let run = shell(&bench, line);
    assert!(
        run.err.contains("error: cannot make a temporary copy of standard input in /nowhere: "),
        "{}",
        run.err
    );
    assert!(run.err.contains("hint: give the table as a file, or set TMPDIR"), "{}", run.err);
}

#[test]
fn gzip_is_read_and_not_written() {
    let bench = Bench::stocked();
    let expected = bench.good("fuse model.json table.csv").out;
    assert_eq!(shell(&bench, "gzip -k table.csv").code, Some(0));
    assert_eq!(bench.good("fuse model.json table.csv.gz").out, expected);
    let run = shell(&bench, "gzip -c table.csv | $PROGRAM fuse model.json -");
    assert_eq!(run.out, expected, "{}", run.err);
    let run = bench.run("fuse model.json table.csv -o out.csv.gz");
    assert!(run.err.contains("also .csv.gz and .jsonl.gz for reading"), "{}", run.err);
}

/// Comparing every name with all others took minutes.
#[test]
fn a_model_of_many_classifiers_is_read_in_linear_time() {
    let bench = Bench::stocked();
    let names: Vec<String> = (0..200_000).map(|k| format!("\"c{k}\"")).collect();
    let alpha = vec!["[[3,2],[2,3]]"; names.len()].join(",");
    let model = MODEL
        .replace("\"a\", \"b\"", &names.join(","))
        .replace("[[3, 2], [2, 3]], [[4, 2], [1, 2]]", &alpha);
    bench.write("wide.json", model);
    let begun = std::time::Instant::now();
    let run = bench.run("fuse wide.json table.csv");
    assert!(run.err.contains("there is no column `c0_x`"), "{}", &run.err[..200]);
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}
