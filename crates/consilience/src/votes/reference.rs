//! The tables of `reference/votes.json`, for tests of private parts.

use serde_json::Value;

use super::{Votes, VotesBuilder};

pub(super) fn cases() -> Vec<Value> {
    let file: Value =
        serde_json::from_str(include_str!("../../../../reference/votes.json")).unwrap();
    file["cases"].as_array().unwrap().clone()
}

pub(super) fn table(case: &Value) -> Votes {
    let classes = (0..case["classes"].as_u64().unwrap()).map(|class| class.to_string());
    let mut builder = VotesBuilder::with_classes(classes.collect::<Vec<_>>()).unwrap();
    let cell = |row: &Value, i: usize| row[i].to_string();
    for row in case["votes"].as_array().unwrap() {
        builder.push(&cell(row, 0), &cell(row, 1), &cell(row, 2)).unwrap();
    }
    for row in case["gold"].as_array().unwrap() {
        builder.gold(&cell(row, 0), &cell(row, 1)).unwrap();
    }
    builder.finish().unwrap()
}

/// Rows of numbers of the reference, in the order of the table's items.
pub(super) fn rows(votes: &Votes, table: &Value) -> Vec<Vec<f64>> {
    let row = |item: usize| &table[votes.item(item).parse::<usize>().unwrap()];
    let numbers =
        |row: &Value| row.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    (0..votes.n_items()).map(|item| numbers(row(item))).collect()
}
