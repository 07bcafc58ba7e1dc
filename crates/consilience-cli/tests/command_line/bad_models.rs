//! Model files that cannot be used, or not with the data.

use super::{Bench, MODEL};

const NO_MODEL: &str = "a model is the JSON file that `consilience fit -o model.json` writes; it is \
                        given before the data";

#[test]
fn files_that_are_no_json() {
    let bench = Bench::stocked();
    for (content, problem) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("label,a_x\n", "expected value at line 1 column 1"),
        (&MODEL[..60], "EOF while parsing a string at line 1 column 60"),
    ] {
        bench.write("bad.json", content);
        let message = format!("bad.json: not a usable model: {problem}");
        for words in ["fuse bad.json table.csv", "inspect bad.json", "simulate --model bad.json"] {
            bench.refused(words, &message, NO_MODEL);
        }
    }
    bench.refused(
        "fuse table.csv model.json --input-format csv",
        "table.csv: not a usable model: expected value at line 1 column 1",
        NO_MODEL,
    );
    bench.write("bad.json", b"\xff\xfe{");
    bench.refused("inspect bad.json", "bad.json: not a usable model: it is not UTF-8 text", "");
}

#[test]
fn fields_and_values() {
    let bench = Bench::stocked();
    for (from, to, problem) in [
        (
            "\"version\": 1",
            "\"version\": 2",
            "not a usable model: it has version 2, and this program reads version 1",
        ),
        (
            "\"consilience\"",
            "\"pickle\"",
            "not a usable model: `format` is `pickle`, not `consilience`",
        ),
        (
            "\"version\": 1,",
            "\"version\": 1, \"extra\": 1,",
            "not a usable model: unknown field `extra`, expected one of `format`, `version`, \
             `method`, `classifiers`, `classes`, `class_prior`, `parameters`, `settings`, \
             `training`, `estimator`, `diagnostics`, `pair_diagnostics`, `shared_diagnostics`, \
             `draws` at line 1 column 47",
        ),
        ("\"version\": 1, ", "", "not a usable model: missing field `version` at line 3 column 63"),
        (
            "\"alpha\"",
            "\"beta\"",
            "not a usable model: `parameters`: unknown field `beta`, expected `alpha`",
        ),
        ("independent", "psychic", "not a usable model: unknown method `psychic`"),
        ("[3, 2]", "[-3, 2]", "`alpha[0][0][0]` must be finite and > 0, got -3"),
        (
            "[3, 2]",
            "[3, 2, 1]",
            "shapes of `alpha` and the model do not match: expected 2 classifiers × 2 classes × 2 \
             classes, found 2 × 2 × 3",
        ),
        (
            "\"a\", \"b\"",
            "\"a\", \"b\", \"c\"",
            "shapes of `alpha` and the model do not match: expected 3 classifiers × 2 classes × 2 \
             classes, found 2 × 2 × 2",
        ),
        ("\"a\", \"b\"", "\"a\", \"a\"", "classifier `a` is named twice"),
        ("[0.5, 0.5]", "[1]", "class prior and classes do not match: expected 2, found 1"),
        ("[0.5, 0.5]", "[1, -1]", "`class_prior[1]` must be finite and > 0, got -1"),
        ("independent", "meta:z", "not a usable model: a meta classifier has one classifier"),
    ] {
        let content = MODEL.replacen(from, to, 1);
        assert_ne!(content, MODEL);
        bench.write("bad.json", content);
        let message = format!("bad.json: {problem}");
        for words in [
            "fuse bad.json table.csv",
            "density bad.json table.csv",
            "evaluate bad.json table.csv",
            "fit table.csv --update bad.json",
            "inspect bad.json",
        ] {
            bench.refused(words, &message, "");
        }
    }
}

#[test]
fn models_of_other_classifiers_or_classes() {
    let bench = Bench::stocked();
    let columns = "the columns are `label`, `a_x`, `a_y`, `b_x` and `b_y`";
    bench.write("other.json", MODEL.replace(r#"["a", "b"]"#, r#"["a", "c"]"#));
    bench.refused(
        "fuse other.json table.csv",
        &format!("table.csv: there is no column `c_x`; {columns}"),
        "a wide table needs a column `<classifier>_<class>` for every classifier (`a` and `c`) and \
         class (`x` and `y`); for one row per probability use `--layout long`",
    );
    bench.write("other.json", MODEL.replace(r#"["x", "y"]"#, r#"["x", "z"]"#));
    bench.refused(
        "evaluate other.json table.csv",
        &format!("table.csv: there is no column `a_z`; {columns}"),
        "a wide table needs a column `<classifier>_<class>` for every classifier (`a` and `b`) and \
         class (`x` and `z`); for one row per probability use `--layout long`",
    );
}
