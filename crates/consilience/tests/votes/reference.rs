//! Values of `reference/votes.json`, which an independent dense implementation makes.

use consilience::votes::Votes;
use serde_json::Value;

use crate::{fit, votes_of};

/// Twelve digits are stored; sums in another order and Newton steps that end at 1e-6 add the rest.
const TOLERANCE: f64 = 2e-9;

fn cases() -> Vec<Value> {
    let text = include_str!("../../../../reference/votes.json");
    let file: Value = serde_json::from_str(text).unwrap();
    file["cases"].as_array().unwrap().clone()
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn table(case: &Value) -> Votes {
    let rows: Vec<(usize, usize, usize)> = case["votes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (number(&row[0]), number(&row[1]), number(&row[2])))
        .collect();
    let gold: Vec<(usize, usize)> = case["gold"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (number(&row[0]), number(&row[1])))
        .collect();
    votes_of(number(&case["classes"]), &rows, &gold)
}

fn assert_close(got: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap();
    assert!((got - expected).abs() < TOLERANCE, "{what}: {got} is not {expected}");
}

#[test]
fn probabilities_are_those_of_the_reference() {
    let methods = [
        ("auto", "auto"),
        ("dawid-skene", "dawid-skene"),
        (r#"{"method": "ibcc", "inference": "vb"}"#, "vb"),
        ("ibcc", "cvb"),
        ("ueda", "ueda"),
    ];
    for (number_of_case, case) in cases().iter().enumerate() {
        let votes = table(case);
        for (method, key) in methods {
            let (got, expected) = (fit(method, &votes), &case["expected"][key]);
            assert_eq!(got.passes(), number(&expected["passes"]), "{key}");
            for item in 0..votes.n_items() {
                // Items are numbered in the order in which votes on them occur.
                let row = &expected["p"][votes.item(item).parse::<usize>().unwrap()];
                for (j, p) in got.probabilities(item).iter().enumerate() {
                    assert_close(
                        *p,
                        &row[j],
                        &format!("case {number_of_case}, {key}, item {item}"),
                    );
                }
            }
        }
    }
}

#[test]
fn sources_and_rho_are_those_of_the_reference() {
    for case in cases() {
        let votes = table(&case);
        let (got, expected) = (fit("auto", &votes), &case["expected"]["auto"]);
        assert_close(got.rho().value, &expected["rho"], "rho");
        for source in 0..votes.n_sources() {
            let name: usize = votes.sources()[source].parse().unwrap();
            for (j, right) in got.source(source).right.iter().enumerate() {
                let logit = |p: f64| (p / (1.0 - p)).ln();
                assert_close(logit(right.value), &expected["x"][name][j], "x");
                let sd = (logit(right.high) - logit(right.low)) / 2.0 / 1.644_853_626_951_472_7;
                assert_close(sd, &expected["sd"][name][j], "sd");
            }
        }
    }
}
