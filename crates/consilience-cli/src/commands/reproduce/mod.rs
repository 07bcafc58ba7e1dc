//! `consilience reproduce`: the paper's results, computed anew.

mod figure_2;
mod figures;
mod real;
mod records;
mod simulated;
mod tables;

use std::path::Path;

use consilience::MethodConfig;
use consilience::methods::normal_mixture::{MixtureVariant, NormalMixture};
use consilience::simulation::Preset;

use self::records::{Record, Store};
use self::simulated::Entry;
use crate::args::{CommonOptions, PaperPart, ReproduceOptions};
use crate::error::Failure;
use crate::output::{self, Talk};
use crate::progress::{TerminalProgress, Unit, stoppable};

pub(crate) fn run(
    options: &ReproduceOptions,
    common: &CommonOptions,
    talk: &Talk,
) -> Result<(), Failure> {
    let folder = &options.output;
    output::make_folder(&folder.join("results"))?;
    let data = real::folder(options.data.as_deref());
    let parts = options.parts();
    if data.is_none() && parts.iter().any(|part| part.real_set().is_some()) {
        match &options.data {
            Some(named) => {
                return Err(Failure::message(format!(
                    "{}: there is no such folder",
                    named.display()
                )));
            }
            None => Talk::warning(real::WHERE),
        }
    }
    let work = Work { options, data: data.as_deref(), seed: common.seed, talk };
    for part in &parts {
        work.part(*part)?;
    }
    let records = work.finished();
    if records.is_empty() {
        return Ok(());
    }
    let drawn = figures::draw(folder, &records)?;
    tables::write(folder, &records)?;
    talk.note(format_args!("{}, report.md -> {}", drawn.join(", "), folder.display()));
    Ok(())
}

/// The published method with the class prior that its program has: the class frequencies.
const PIRS: &str = "Pirs";
/// The same with the uniform prior of all others.
const PIRS_UNIFORM: &str = "Pirs (uniform prior)";

/// The method of Pirs & Štrumbelj as their program runs.
fn published(seed: u64) -> MethodConfig {
    let variant = MixtureVariant::Published;
    NormalMixture { variant, seed, ..NormalMixture::default() }.into()
}

struct Work<'a> {
    options: &'a ReproduceOptions,
    data: Option<&'a Path>,
    seed: u64,
    talk: &'a Talk,
}

impl Work<'_> {
    /// Computes what an earlier run has not of one part.
    fn part(&self, part: PaperPart) -> Result<(), Failure> {
        let folder = &self.options.output;
        let name = part.name();
        if part == PaperPart::Figure2 {
            figure_2::write(folder)?;
            self.talk.note(format_args!("{name} -> {}", folder.display()));
            return Ok(());
        }
        let store = self.store(part);
        let progress = TerminalProgress::new(self.talk.is_quiet(), Unit::Steps);
        let computed = match (part.preset(), part.real_set(), self.data) {
            (Some(preset), ..) => self.simulate((&name, preset), &store, &progress)?,
            (None, Some(set), Some(data)) => self.split(&set, data, &store, &progress)?,
            _ => return Ok(()),
        };
        drop(progress);
        match computed {
            0 => self.talk.note(format_args!("{name}: as computed before")),
            n => self.talk.note(format_args!("{name}: {n} methods -> {}", folder.display())),
        }
        Ok(())
    }

    /// Scores on simulated sets what is not yet there; returns how many that were.
    fn simulate(
        &self,
        (name, preset): (&str, Preset),
        store: &Store,
        progress: &TerminalProgress,
    ) -> Result<usize, Failure> {
        let done = store.load().unwrap_or_default();
        let mut entries = Entry::all()?;
        entries.retain(|entry| done.iter().all(|record| record.method != entry.name()));
        for entry in &entries {
            let run = || simulated::run((name, preset), entry, &self.size(), self.seed, progress);
            store.add(stoppable(run)?)?;
        }
        Ok(entries.len())
    }

    /// The same on splits of a real set.
    fn split(
        &self,
        name: &str,
        data: &Path,
        store: &Store,
        progress: &TerminalProgress,
    ) -> Result<usize, Failure> {
        let outputs = real::read(name, data)?;
        let done = store.load().unwrap_or_default();
        let mut candidates = real::candidates(&outputs, self.seed);
        candidates.retain(|own| done.iter().all(|record| record.method != own.name));
        for candidate in &candidates {
            let splits = self.options.splits;
            let run = || real::run((name, &outputs), candidate, splits, self.seed, progress);
            store.add(stoppable(run)?)?;
        }
        Ok(candidates.len())
    }

    fn size(&self) -> simulated::Size {
        let trainings = self.options.training_sets;
        let tests = self.options.test_sets.div_ceil(trainings);
        simulated::Size { trainings, tests, items: 500 }
    }

    /// Where a part's results are, and how they were made.
    fn store(&self, part: PaperPart) -> Store {
        let how = match part.preset() {
            Some(_) => {
                let simulated::Size { trainings, tests, items } = self.size();
                format!("{trainings} training sets of {items} a class, {tests} test sets for each")
            }
            None => format!("{} splits", self.options.splits),
        };
        let version = env!("CARGO_PKG_VERSION");
        let recipe = format!("consilience {version}, seed {}, {how}", self.seed);
        Store::new(&self.options.output, &part.name(), &recipe)
    }

    /// The results of all parts, asked for now or computed before.
    fn finished(&self) -> Vec<Record> {
        let all = PaperPart::all().into_iter().filter(|part| *part != PaperPart::Figure2);
        all.filter_map(|part| self.store(part).load()).flatten().collect()
    }
}

impl PaperPart {
    fn preset(self) -> Option<Preset> {
        match self {
            Self::Sim1 => Some(Preset::Sim1),
            Self::Sim2 => Some(Preset::Sim2),
            Self::Sim3 => Some(Preset::Sim3),
            _ => None,
        }
    }

    /// The name of its file.
    fn real_set(self) -> Option<String> {
        let simulated = self.preset().is_some() || self == Self::Figure2;
        (!simulated).then(|| self.name().replace('-', "_"))
    }
}
