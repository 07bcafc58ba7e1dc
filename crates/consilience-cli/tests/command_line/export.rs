//! `export`: files for other programs, or a reason why there is none.

use super::Bench;

#[test]
fn a_model_is_written_as_onnx_or_python() {
    let bench = Bench::stocked();
    let run = bench.good("export model.json -o model.onnx");
    assert_eq!(
        run.err,
        "method `independent`, ONNX, opset 13, IR version 7, 64-bit numbers -> model.onnx\n"
    );
    // The IR version in field 1, then the producer in field 2.
    assert!(bench.read("model.onnx").starts_with(b"\x08\x07\x12\x0bconsilience"));
    let half = bench.good("export model.json --float32 -o small.onnx");
    assert!(half.err.contains("32-bit"), "{}", half.err);
    assert!(bench.read("small.onnx").len() < bench.read("model.onnx").len());
    let run = bench.good("export model.json --python -o - --quiet");
    assert!(run.out.contains("\nCLASSIFIERS = [\"a\",\"b\"]\n"), "{}", run.out);
    assert!(run.out.contains("\ndef score(outputs, class_prior=CLASS_PRIOR):\n"));
}

#[test]
fn what_cannot_be_exported_is_refused_with_the_reason() {
    let bench = Bench::stocked();
    bench.good("simulate --preset sim2 --correlation 0.5 --items-per-class 30 -o train.csv");
    let decomposed = "its densities need a matrix decomposition for every set of outputs present";
    for (method, reason) in [
        ("correlated", "its densities are integrals without a closed form"),
        ("logit-normal", decomposed),
        ("normal-mixture", decomposed),
    ] {
        let mode = if method == "correlated" { "--inference map" } else { "" };
        bench.good(&format!("fit train.csv --method {method} {mode} -o fitted.json"));
        let message = format!(
            "fitted.json: method `{method}` cannot be exported: {reason}. Export `auto`, or fuse with \
             the command line, Python or Rust"
        );
        bench.refused("export fitted.json -o out.onnx", &message, "");
        bench.refused("export fitted.json --python -o out.py", &message, "");
    }
    let same = "the export and the model are the same file, model.json";
    bench.refused("export model.json -o model.json", same, "give the output a name of its own");
    let nowhere = "cannot write nowhere/out.onnx: there is no folder `nowhere`";
    bench.refused("export model.json -o nowhere/out.onnx", nowhere, "");
    let message = "model.json: `sum_tolerance` must be at least 0 and below 1, got 1";
    bench.refused("export model.json -o out.onnx --sum-tolerance 1", message, "");
    bench.write("votes.csv", "item,source,label\n1,a,x\n1,b,y\n2,a,y\n2,b,y\n");
    bench.good("aggregate votes.csv -o labels.csv --model votes.json");
    bench.refused(
        "export votes.json -o out.onnx",
        "votes.json is a model of votes, which only `fuse`, `evaluate` and `report` can use",
        "`consilience aggregate` writes models of votes, `consilience fit` all others",
    );
}
