//! Figures 3, 4, D.8 and D.9: entropy and log-loss of every method, with the standard deviation
//! over test sets.

use std::path::Path;

use super::records::Record;
use super::simulated::{LEVELS, data_set};
use crate::Failure;
use crate::plots::{Bar, Bars, COLOURS, GroupedPanel};

/// A figure; `sets` are the data sets with their names in the figure.
struct Figure {
    file: &'static str,
    title: &'static str,
    x_label: &'static str,
    sets: Vec<(String, String)>,
    methods: &'static [&'static str],
}

/// The bars for data sets with two classifiers.
const TWO: [&str; 7] = ["C1", "C2", "IOP", "IFM", "CFM", "M1", "M2"];
/// The bars for data sets with three classifiers.
const THREE: [&str; 9] = ["C1", "C2", "C3", "IOP", "IFM", "CFM", "M1", "M2", "M3"];

const LEVEL_LABEL: &str = "correlation (bars ± one standard deviation over test sets)";
const SPLIT_LABEL: &str = "bars ± one standard deviation over splits";

/// Draws every figure that has any result.
pub(super) fn draw(folder: &Path, records: &[Record]) -> Result<Vec<&'static str>, Failure> {
    let mut drawn = Vec::new();
    for figure in all() {
        let there = |(set, _): &&(String, String)| records.iter().any(|r| r.data_set == *set);
        let sets: Vec<&(String, String)> = figure.sets.iter().filter(there).collect();
        if !sets.is_empty() {
            figure.draw(folder, &sets, records)?;
            drawn.push(figure.file);
        }
    }
    Ok(drawn)
}

fn all() -> [Figure; 5] {
    let simulated = |name: &str| -> Vec<(String, String)> {
        LEVELS.iter().map(|&level| (data_set(name, level), format!("r = {level:.2}"))).collect()
    };
    let real = |sets: &[(&str, &str)]| -> Vec<(String, String)> {
        sets.iter().map(|(set, name)| ((*set).to_owned(), (*name).to_owned())).collect()
    };
    let figure =
        |file, title, x_label, sets, methods| Figure { file, title, x_label, sets, methods };
    [
        figure("figure-3a", "SIM 1", LEVEL_LABEL, simulated("sim1"), &TWO[..]),
        figure("figure-3b", "SIM 2", LEVEL_LABEL, simulated("sim2"), &TWO[..]),
        figure(
            "figure-4",
            "Real sets",
            SPLIT_LABEL,
            real(&[
                ("bookies_a", "Bookies A"),
                ("bookies_b", "Bookies B"),
                ("dna_a", "DNA A"),
                ("dna_b", "DNA B"),
                ("dna_c", "DNA C"),
            ]),
            &TWO[..],
        ),
        figure("figure-d8", "SIM 3", LEVEL_LABEL, simulated("sim3"), &TWO[..]),
        figure(
            "figure-d9",
            "Bookies C: three bookmakers",
            SPLIT_LABEL,
            real(&[("bookies_c", "Bookies C")]),
            &THREE[..],
        ),
    ]
}

impl Figure {
    fn draw(
        &self,
        folder: &Path,
        sets: &[&(String, String)],
        records: &[Record],
    ) -> Result<(), Failure> {
        let bar = |set: &str, method: &str, metric: &str| {
            let own = |r: &&Record| r.data_set == set && r.method == method && r.metric == metric;
            let record = records.iter().find(own)?;
            Some(Bar { value: record.mean, error: record.sd })
        };
        let panel = |(metric, y_label): (&str, &'static str)| -> GroupedPanel<'_> {
            let group = |(set, name): &&(String, String)| {
                let bars = self.methods.iter().map(|method| bar(set, method, metric));
                (name.clone(), bars.map(Option::unwrap_or_default).collect())
            };
            (y_label, sets.iter().map(group).collect())
        };
        let panels = [("entropy", "entropy in nats"), ("log_loss", "log-loss in nats")].map(panel);
        let series: Vec<(&str, &str)> =
            self.methods.iter().map(|method| (*method, colour(method))).collect();
        let figure = Bars { title: self.title, x_label: self.x_label, series: &series };
        figure.write_grouped(&panels, folder, self.file)
    }
}

/// The colour of a method; none is black, which would hide error bars.
fn colour(method: &str) -> &'static str {
    match method {
        "C1" => COLOURS[4],
        "C2" => COLOURS[6],
        "IOP" => COLOURS[3],
        "IFM" => COLOURS[1],
        "CFM" => COLOURS[0],
        "M1" => COLOURS[2],
        "M2" => COLOURS[5],
        "C3" => "#999999",
        _ => "#DDDDDD",
    }
}
