//! The paper's evaluation: Figures 2, 3, 4, D.8 and D.9, Tables 1 and D.2.

mod figure_2;
mod figures;
mod options;
mod real;
mod records;
mod simulated;
mod tables;

use std::path::Path;

use consilience::simulation::Preset;

pub use self::options::Options;
use self::options::PaperPart;
use self::records::{Record, Store};
use self::simulated::Entry;
use crate::output::note;
use crate::progress::Lines;
use crate::{Failure, data};

/// Computes the parts that are not finished, then draws all figures and writes all tables.
pub fn run(options: &Options) -> Result<(), Failure> {
    let folder = &options.output;
    std::fs::create_dir_all(folder.join("results"))?;
    let data = data::folder(options.data.as_deref());
    let parts = options.parts();
    if data.is_none() && parts.iter().any(|part| part.real_set().is_some()) {
        match &options.data {
            Some(given) => return Err(format!("{}: no such folder", given.display()).into()),
            None => note(format_args!("warning: {}", data::MISSING)),
        }
    }
    let work = Work { options, data: data.as_deref() };
    for part in &parts {
        work.part(*part)?;
    }
    let records = work.finished();
    if !records.is_empty() {
        let drawn = figures::draw(folder, &records)?;
        tables::write(folder, &records)?;
        note(format_args!("{}, report.md -> {}", drawn.join(", "), folder.display()));
    }
    Ok(())
}

/// The mixture of Pirs & Štrumbelj with the class prior of their program, the class frequencies.
const PIRS: &str = "Pirs";
/// The same with the uniform prior of all other methods.
const PIRS_UNIFORM: &str = "Pirs (uniform prior)";

struct Work<'a> {
    options: &'a Options,
    data: Option<&'a Path>,
}

impl Work<'_> {
    /// Computes the methods of one part that an earlier run has not computed.
    fn part(&self, part: PaperPart) -> Result<(), Failure> {
        let folder = &self.options.output;
        let name = part.name();
        if part == PaperPart::Figure2 {
            figure_2::write(folder)?;
            note(format_args!("{name} -> {}", folder.display()));
            return Ok(());
        }
        let store = self.store(part);
        let computed = match (part.preset(), part.real_set(), self.data) {
            (Some(preset), ..) => self.simulate(&name, preset, &store)?,
            (None, Some(set), Some(data)) => self.split(&set, data, &store)?,
            _ => return Ok(()),
        };
        match computed {
            0 => note(format_args!("{name}: finished by an earlier run")),
            n => note(format_args!("{name}: {n} methods -> {}", folder.display())),
        }
        Ok(())
    }

    /// Scores all methods on simulated data; returns how many were not there before.
    fn simulate(&self, name: &str, preset: Preset, store: &Store) -> Result<usize, Failure> {
        let done = store.load().unwrap_or_default();
        let mut entries = Entry::all()?;
        entries.retain(|entry| done.iter().all(|record| record.method != entry.name()));
        let (size, seed, progress) = (self.size(), self.options.seed, Lines::default());
        for entry in &entries {
            store.add(simulated::run((name, preset), entry, &size, seed, &progress)?)?;
        }
        Ok(entries.len())
    }

    /// Scores all methods on splits of a real data set; returns how many were not there before.
    fn split(&self, name: &str, folder: &Path, store: &Store) -> Result<usize, Failure> {
        let outputs = data::read(name, folder)?;
        let done = store.load().unwrap_or_default();
        let mut candidates = real::candidates(&outputs, self.options.seed);
        candidates.retain(|own| done.iter().all(|record| record.method != own.name()));
        let Options { splits, seed, .. } = *self.options;
        let progress = Lines::default();
        for candidate in &candidates {
            note(format_args!("{name}, {}", candidate.name()));
            store.add(real::run((name, &outputs), candidate, splits, seed, &progress)?)?;
        }
        Ok(candidates.len())
    }

    fn size(&self) -> simulated::Size {
        let trainings = self.options.training_sets;
        let tests = self.options.test_sets.div_ceil(trainings);
        simulated::Size { trainings, tests, items: 500 }
    }

    /// The file with a part's results and the settings that they were made with.
    fn store(&self, part: PaperPart) -> Store {
        let settings = match part.preset() {
            Some(_) => {
                let simulated::Size { trainings, tests, items } = self.size();
                format!(
                    "{trainings} training sets of {items} items per class, {tests} test sets for each"
                )
            }
            None => format!("{} splits", self.options.splits),
        };
        let version = env!("CARGO_PKG_VERSION");
        let recipe = format!("consilience {version}, seed {}, {settings}", self.options.seed);
        Store::new(&self.options.output, &part.name(), &recipe)
    }

    /// The results of all parts, computed now or before.
    fn finished(&self) -> Vec<Record> {
        let all = PaperPart::all().into_iter().filter(|part| *part != PaperPart::Figure2);
        all.filter_map(|part| self.store(part).load()).flatten().collect()
    }
}
