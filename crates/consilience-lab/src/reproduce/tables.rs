//! Tables: our numbers beside the printed ones, and all methods under one class prior.

use std::path::Path;

use consilience_io::write_whole;

use super::records::{Record, printed_bars, printed_log_losses};
use crate::Failure;
use crate::output::{csv_number, markdown};

/// A printed value with ours.
struct Pairing {
    printed: Record,
    ours: Record,
}

impl Pairing {
    fn difference(&self) -> f64 {
        self.ours.mean - self.printed.mean
    }

    /// The standard error of the difference of two means over independent test sets.
    fn error(&self) -> f64 {
        let variance = |r: &Record| r.sd * r.sd / r.n as f64;
        (variance(&self.printed) + variance(&self.ours)).sqrt()
    }

    /// Within two standard errors.
    fn agrees(&self) -> bool {
        self.difference().abs() <= 2.0 * self.error()
    }
}

/// All printed values for which we have a result.
fn pair(printed: Vec<Record>, ours: &[Record]) -> Vec<Pairing> {
    let pairing = |printed: Record| {
        let ours = ours.iter().find(|ours| ours.is_of(&printed))?.clone();
        Some(Pairing { printed, ours })
    };
    printed.into_iter().filter_map(pairing).collect()
}

/// Writes all tables and returns the report.
pub(super) fn write(folder: &Path, ours: &[Record]) -> Result<String, Failure> {
    let losses = pair(printed_log_losses(), ours);
    let bars = pair(printed_bars(), ours);
    for (name, pairings) in [("log-losses", &losses), ("bars", &bars)] {
        let path = folder.join(format!("{name}.csv"));
        write_whole(&path.into(), csv(pairings).as_bytes())?;
    }
    let baselines = Baselines::new(ours);
    write_whole(&folder.join("baselines.csv").into(), baselines.csv().as_bytes())?;
    let mut text = String::from(
        "# The paper's results, reproduced\n\n\
         Means over test sets ± standard deviation; `agree` is a difference of at most two standard \
         errors, from both deviations and numbers of test sets (the paper's: 25 simulated sets, 5 \
         splits of real ones). About one in twenty disagrees by chance alone.\n",
    );
    text += &format!("\n## Log-losses (tables 1 and D.2)\n\n{}\n", verdict(&losses));
    text += &format!("\n{}", markdown(&HEADER, &losses.iter().map(row).collect::<Vec<_>>()));
    text += &format!("\n## Bars of the figures\n\n{}\n", verdict(&bars));
    let apart: Vec<Vec<String>> = bars.iter().filter(|bar| !bar.agrees()).map(row).collect();
    if !apart.is_empty() {
        text += &format!("The bars that differ:\n\n{}", markdown(&HEADER, &apart));
    }
    text += &baselines.markdown();
    write_whole(&folder.join("report.md").into(), text.as_bytes())?;
    Ok(text)
}

/// How many agree, by method.
fn verdict(pairings: &[Pairing]) -> String {
    let mut methods: Vec<&str> = Vec::new();
    for pairing in pairings {
        if !methods.contains(&pairing.printed.method.as_str()) {
            methods.push(&pairing.printed.method);
        }
    }
    let count = |method: &str| {
        let own = || pairings.iter().filter(|pairing| pairing.printed.method == method);
        format!("{method} {} of {}", own().filter(|p| p.agrees()).count(), own().count())
    };
    let all = pairings.iter().filter(|pairing| pairing.agrees()).count();
    let parts: Vec<String> = methods.into_iter().map(count).collect();
    format!("{all} of {} agree: {}.", pairings.len(), parts.join(", "))
}

const HEADER: [&str; 8] =
    ["set", "method", "score", "ours", "test sets", "printed", "difference ± se", "verdict"];

fn row(pairing: &Pairing) -> Vec<String> {
    let Pairing { printed, ours } = pairing;
    let mean = |record: &Record| format!("{:.3} ± {:.3}", record.mean, record.sd);
    vec![
        printed.data_set.clone(),
        printed.method.clone(),
        printed.metric.replace('_', "-"),
        mean(ours),
        ours.n.to_string(),
        mean(printed),
        format!("{:+.3} ± {:.3}", pairing.difference(), pairing.error()),
        if pairing.agrees() { "agree".into() } else { "differ".into() },
    ]
}

fn csv(pairings: &[Pairing]) -> String {
    let mut text = String::from(
        "data_set,method,metric,mean,sd,n,printed_mean,printed_sd,printed_n,difference,\
         difference_se,agrees\n",
    );
    for pairing in pairings {
        let Pairing { printed, ours } = pairing;
        text += &format!(
            "{},{},{},{},{},{},{},{},{},{},{},{}\n",
            printed.data_set,
            printed.method,
            printed.metric,
            csv_number(ours.mean),
            csv_number(ours.sd),
            ours.n,
            csv_number(printed.mean),
            csv_number(printed.sd),
            printed.n,
            csv_number(pairing.difference()),
            csv_number(pairing.error()),
            pairing.agrees()
        );
    }
    text
}

/// Log-losses of all methods on all data sets under the uniform class prior; `Pirs` uses the class
/// frequencies of its training items.
struct Baselines<'a> {
    sets: Vec<&'a str>,
    methods: Vec<&'a str>,
    records: Vec<&'a Record>,
}

impl<'a> Baselines<'a> {
    fn new(records: &'a [Record]) -> Self {
        let records: Vec<&Record> = records.iter().filter(|r| r.metric == "log_loss").collect();
        let mut baselines = Self { sets: Vec::new(), methods: Vec::new(), records };
        for record in baselines.records.clone() {
            if !baselines.sets.contains(&record.data_set.as_str()) {
                baselines.sets.push(&record.data_set);
            }
            // Meta classifiers are named after classifiers of one data set; M1, M2 are the same.
            let known = baselines.methods.contains(&record.method.as_str());
            if !known && !record.method.starts_with("meta:") {
                baselines.methods.push(&record.method);
            }
        }
        baselines
    }

    fn find(&self, set: &str, method: &str) -> Option<&Record> {
        self.records.iter().find(|r| r.data_set == set && r.method == method).copied()
    }

    fn csv(&self) -> String {
        let mut text = format!("data_set,{}\n", self.methods.join(","));
        for set in &self.sets {
            let cell =
                |method: &&str| csv_number(self.find(set, method).map_or(f64::NAN, |r| r.mean));
            let cells: Vec<String> = self.methods.iter().map(cell).collect();
            text += &format!("{set},{}\n", cells.join(","));
        }
        text
    }

    /// One row per method, one column per data set, the smallest value of each in bold.
    fn markdown(&self) -> String {
        let mut text = String::from(
            "\n## All methods under the same class prior\n\n\
             Log-loss under the uniform class prior; `Pirs` uses the class frequencies, as its \
             program does (`normal-mixture` is the repaired method). CFM, IFM, IOP, M and Pirs are \
             the paper's methods: on simulated data all but Pirs use the true parameters; on real \
             data they use the paper's priors, posterior modes and resolution 0.03. Names in lower \
             case are our methods, fitted with their defaults, the correlated and Dirichlet models \
             by posterior modes. Bold: the smallest value of the fitted methods.\n",
        );
        for (title, chosen) in [("Simulated", true), ("Real", false)] {
            let sets: Vec<&str> =
                self.sets.iter().copied().filter(|set| set.starts_with("sim") == chosen).collect();
            if sets.is_empty() {
                continue;
            }
            let rows: Vec<Vec<String>> =
                self.methods.iter().filter_map(|method| self.row(method, &sets, chosen)).collect();
            let header: Vec<&str> = std::iter::once("method").chain(sets).collect();
            text += &format!("\n### {title}\n\n{}", markdown(&header, &rows));
        }
        text
    }

    fn row(&self, method: &str, sets: &[&str], simulated: bool) -> Option<Vec<String>> {
        let knows = |method: &str| simulated && known_truth(method);
        let least = |set: &str| {
            let fitted = self.records.iter().filter(|r| r.data_set == set && !knows(&r.method));
            fitted.map(|r| r.mean).fold(f64::INFINITY, f64::min)
        };
        let cell = |set: &&str| match self.find(set, method) {
            None => String::new(),
            Some(r) if !knows(method) && r.mean <= least(set) => format!("**{:.3}**", r.mean),
            Some(r) => format!("{:.3}", r.mean),
        };
        let cells: Vec<String> = sets.iter().map(cell).collect();
        if cells.iter().all(String::is_empty) {
            return None;
        }
        Some(std::iter::once(method.to_owned()).chain(cells).collect())
    }
}

/// Whether a method uses the true parameters of simulated data.
fn known_truth(method: &str) -> bool {
    ["CFM", "IFM", "M1", "M2"].contains(&method)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(mean: f64, sd: f64, n: usize) -> Record {
        let (data_set, method) = ("dna_a".to_owned(), "CFM".to_owned());
        Record { data_set, method, metric: "log_loss".into(), mean, sd, n }
    }

    /// se² = 0.01/25 + 0.04/100 = 0.0008, so 2 se = 0.0566.
    #[test]
    fn agreement_is_within_two_standard_errors() {
        let pairing =
            |mean: f64| Pairing { printed: record(1.0, 0.1, 25), ours: record(mean, 0.2, 100) };
        assert!((pairing(1.0).error() - 0.0008f64.sqrt()).abs() < 1e-12);
        assert!(pairing(1.056).agrees() && pairing(0.944).agrees());
        assert!(!pairing(1.057).agrees() && !pairing(0.943).agrees());
    }

    #[test]
    fn values_are_paired_by_set_method_and_score() {
        let ours = vec![record(0.17, 0.08, 20)];
        let losses = pair(printed_log_losses(), &ours);
        assert_eq!(losses.len(), 1);
        assert_eq!(losses[0].printed.mean, 0.169);
        assert!(verdict(&losses).contains("1 of 1 agree"));
    }
}
