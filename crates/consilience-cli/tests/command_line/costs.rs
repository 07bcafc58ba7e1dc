//! Decisions with costs.

use super::Bench;
use super::formats::column;

/// Calling `y` an `x` is dear, asking somebody cheap.
const COSTS: &str = "label,x,y,abstain\nx,0,1,0.2\ny,10,0,0.2\n";

#[test]
fn decisions_cost_least_on_average() {
    let bench = Bench::stocked();
    bench.write("costs.csv", COSTS);
    let plain = bench.good("fuse model.json table.csv").out;
    assert!(!plain.contains("decision"), "{plain}");
    let decided = bench.good("fuse model.json table.csv --costs costs.csv").out;
    assert!(decided.lines().next().unwrap().ends_with(",decision,expected_cost"), "{decided}");
    let numbers = |name: &str| -> Vec<f64> {
        column(&decided, name).iter().map(|cell| cell.parse().unwrap()).collect()
    };
    let (x, y) = (numbers("fused_x"), numbers("fused_y"));
    let told = column(&decided, "decision").into_iter().zip(numbers("expected_cost"));
    for (item, (decision, cost)) in told.enumerate() {
        let expected = [("x", 10.0 * y[item]), ("y", x[item]), ("abstain", 0.2)];
        let (best, least) = expected.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert_eq!(decision, best, "item {item}");
        assert!((cost - least).abs() < 1e-12, "item {item}: {cost} for {least}");
    }
    // Probabilities and the most probable class stay what they were.
    for name in ["fused_x", "predicted", "error"] {
        assert_eq!(column(&plain, name), column(&decided, name));
    }
}

#[test]
fn columns_and_rows_come_in_any_order_and_format() {
    let bench = Bench::stocked();
    bench.write("costs.csv", COSTS);
    bench.write("other.csv", "abstain,y,label,x\n0.2,0,y,10\n0.2,1,x,0\n");
    bench.write(
        "costs.jsonl",
        "{\"label\":\"x\",\"x\":0,\"y\":1,\"abstain\":0.2}\n\
         {\"label\":\"y\",\"x\":10,\"y\":0,\"abstain\":0.2}\n",
    );
    let decide =
        |costs: &str| bench.good(&format!("fuse model.json table.csv --costs {costs}")).out;
    assert_eq!(decide("costs.csv"), decide("other.csv"));
    assert_eq!(decide("costs.csv"), decide("costs.jsonl"));
}

#[test]
fn bad_tables_of_costs_are_refused() {
    let bench = Bench::stocked();
    let shape = "a table of costs has a row per true class, named in the column `label`, and a \
                 column per decision: every class and, if abstaining is allowed, `abstain`";
    let number = "numbers have a decimal point; a missing output is an empty cell or null";
    let label = "correct the label, or add it to `--classes` of the fit (the classes of a fitted \
                 model cannot be changed)";
    let finite = "give a decision that must never be made a very high cost instead";
    for (table, problem, hint) in [
        ("x,y\n0,1\n", ": there is no column `label`; the columns are `x` and `y`", shape),
        ("label,x\nx,0\n", ": there is no column `y`; the columns are `label` and `x`", shape),
        ("label,x,y,z\nx,0,1,1\n", ": the column `z` is not one of the classes `x` and `y`", shape),
        ("label,x,y\nx,0,1\n", ": there is no row for the class `y`", shape),
        (
            "label,x,y\nx,0,1\nx,0,1\n",
            ", row 2 (line 3), column `label`: the class `x` has two rows",
            "remove one of the two",
        ),
        (
            "label,x,y\nz,0,1\n",
            ", row 1 (line 2), column `label`: unknown label `z`; the classes are `x` and `y`",
            label,
        ),
        ("label,x,y\nx,0,much\n", ", row 1 (line 2), column `y`: `much` is not a number", number),
        (
            "label,x,y\nx,0,\n",
            ", row 1 (line 2), column `y`: a cost must be a finite number, got ``",
            finite,
        ),
        (
            "label,x,y\nx,0,inf\n",
            ", row 1 (line 2), column `y`: a cost must be a finite number, got `inf`",
            finite,
        ),
    ] {
        bench.write("costs.csv", table);
        let words = "fuse model.json table.csv --costs costs.csv";
        bench.refused(words, &format!("costs.csv{problem}"), hint);
    }
}
