//! Results: files that are kept between runs, and the paper's printed numbers.

use std::path::{Path, PathBuf};

use consilience::evaluation::ScoreSet;
use consilience_io::write_whole;

use crate::Failure;
use crate::output::csv_number;

/// The mean of a score over test sets.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pub(super) data_set: String,
    pub(super) method: String,
    /// `log_loss` or `entropy`.
    pub(super) metric: String,
    pub(super) mean: f64,
    /// Standard deviation over test sets; NaN if unknown.
    pub(super) sd: f64,
    /// Number of test sets.
    pub(super) n: usize,
}

impl Record {
    /// Whether both are the same score of the same method on the same data set.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        let key = |r: &Self| (r.data_set.clone(), r.method.clone(), r.metric.clone());
        key(self) == key(other)
    }
}

const HEADER: &str = "data_set,method,metric,mean,sd,n";

/// Log-loss and entropy of one method over all test sets.
pub(super) fn records(data_set: &str, method: &str, scores: &[ScoreSet]) -> [Record; 2] {
    let record = |metric: &str, value: fn(&ScoreSet) -> f64| {
        let n = scores.len() as f64;
        let mean = scores.iter().map(value).sum::<f64>() / n;
        let squares: f64 = scores.iter().map(|score| (value(score) - mean).powi(2)).sum();
        Record {
            data_set: data_set.into(),
            method: method.into(),
            metric: metric.into(),
            mean,
            sd: (squares / (n - 1.0)).sqrt(),
            n: scores.len(),
        }
    };
    [record("log_loss", |score| score.log_loss), record("entropy", |score| score.entropy)]
}

/// The results of one part in a file. Its first line states the settings, so that a run with other
/// settings does not reuse them.
pub(super) struct Store {
    path: PathBuf,
    recipe: String,
}

impl Store {
    pub(super) fn new(folder: &Path, part: &str, recipe: &str) -> Self {
        let path = folder.join("results").join(format!("{part}.csv"));
        Self { path, recipe: format!("# {recipe}") }
    }

    /// The results of an earlier run with the same settings.
    pub(super) fn load(&self) -> Option<Vec<Record>> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let (recipe, table) = text.split_once('\n')?;
        if recipe == self.recipe { parse(table) } else { None }
    }

    /// Adds the results of further methods.
    pub(super) fn add(&self, more: Vec<Record>) -> Result<(), Failure> {
        let mut all = self.load().unwrap_or_default();
        let known = |r: &Record| all.iter().any(|old| old.is_of(r));
        let more: Vec<Record> = more.into_iter().filter(|record| !known(record)).collect();
        all.extend(more);
        self.save(&all)
    }

    fn save(&self, records: &[Record]) -> Result<(), Failure> {
        let mut text = format!("{}\n{HEADER}\n", self.recipe);
        for Record { data_set, method, metric, mean, sd, n } in records {
            let (mean, sd) = (csv_number(*mean), csv_number(*sd));
            text += &format!("{data_set},{method},{metric},{mean},{sd},{n}\n");
        }
        Ok(write_whole(&self.path.clone().into(), text.as_bytes())?)
    }
}

/// Parses a table without quoted cells; names of methods contain no commas.
fn parse(table: &str) -> Option<Vec<Record>> {
    let record = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let [data_set, method, metric, mean, sd, n] = cells.as_slice() else { return None };
        let number = |cell: &str| if cell.is_empty() { Some(f64::NAN) } else { cell.parse().ok() };
        Some(Record {
            data_set: (*data_set).into(),
            method: (*method).into(),
            metric: (*metric).into(),
            mean: number(mean)?,
            sd: number(sd)?,
            n: n.parse().ok()?,
        })
    };
    let (header, lines) = table.split_once('\n')?;
    if header == HEADER { lines.lines().map(record).collect() } else { None }
}

/// Number of test sets behind a printed value.
fn printed_sets(data_set: &str) -> usize {
    if data_set.starts_with("sim") { 25 } else { 5 }
}

/// The printed log-losses of CFM and Pirs (tables 1 and D.2).
pub(super) fn printed_log_losses() -> Vec<Record> {
    printed(include_str!("../../paper/log_losses.csv"), 0)
}

/// The bars of the figures (3, 4, D.8 and D.9).
pub(super) fn printed_bars() -> Vec<Record> {
    let bars = printed(include_str!("../../paper/figures.csv"), 1);
    bars.into_iter().filter(|bar| !bar.data_set.starts_with("figure2")).collect()
}

fn printed(text: &str, skipped: usize) -> Vec<Record> {
    let record = |line: &str| {
        let cells: Vec<&str> = line.split(',').skip(skipped).collect();
        let number = |cell: &str| cell.parse().unwrap_or(f64::NAN);
        Record {
            data_set: cells[0].into(),
            method: cells[1].into(),
            metric: cells[2].into(),
            mean: number(cells[3]),
            sd: number(cells[4]),
            n: printed_sets(cells[0]),
        }
    };
    text.lines().skip(1).map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_loaded_with_the_same_settings_only() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("results")).unwrap();
        let scores = |log_loss: f64| ScoreSet {
            log_loss,
            brier: 0.1,
            accuracy: 0.5,
            entropy: 2.0 * log_loss,
            ece: 0.0,
        };
        let saved = records("sim1_r0.00", "CFM", &[scores(1.0), scores(2.0), scores(6.0)]);
        assert_eq!((saved[0].mean, saved[0].n), (3.0, 3));
        assert!((saved[0].sd - 7.0f64.sqrt()).abs() < 1e-12);
        assert_eq!(saved[1].mean, 6.0);
        let store = Store::new(folder.path(), "sim1", "seed 0");
        assert_eq!(store.load(), None);
        store.add(saved.to_vec()).unwrap();
        assert_eq!(store.load().unwrap(), saved);
        let more = records("sim1_r0.00", "IFM", &[scores(1.0), scores(2.0)]);
        store.add([&saved[..], &more[..]].concat()).unwrap();
        assert_eq!(store.load().unwrap(), [&saved[..], &more[..]].concat());
        assert_eq!(Store::new(folder.path(), "sim1", "seed 1").load(), None);
    }

    #[test]
    fn all_printed_values_are_read() {
        let losses = printed_log_losses();
        assert_eq!(losses.len(), 42);
        let bookies = losses.iter().find(|r| r.data_set == "bookies_c" && r.method == "Pirs");
        assert_eq!(bookies.map(|r| (r.mean, r.sd, r.n)), Some((1.297, 0.046, 5)));
        let bars = printed_bars();
        assert!(bars.iter().all(|bar| bar.mean.is_finite() && bar.sd.is_finite()));
        // Two scores; 15 simulated and 5 real data sets with 7 bars, one with 9.
        assert_eq!(bars.len(), 2 * (20 * 7 + 9));
    }
}
