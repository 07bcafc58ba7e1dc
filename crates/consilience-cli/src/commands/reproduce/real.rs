//! The real sets: the paper's splits with the paper's priors, our defaults beside them.

use std::path::{Path, PathBuf};

use consilience::evaluation::Weighting;
use consilience::evaluation::compare::{
    Candidate, CompareSettings, Protocol, all_methods, compare,
};
use consilience::methods::correlated::Correlated;
use consilience::methods::correlated::learning::DeltaPrior;
use consilience::methods::independent::{AlphaPrior, Independent};
use consilience::methods::meta::Meta;
use consilience::methods::pools::OpinionPool;
use consilience::{MethodConfig, Outputs, PriorChoice, Progress};
use consilience_io::{ReadOptions, read_outputs};

use super::records::{Record, records};
use super::{PIRS, PIRS_UNIFORM, published};
use crate::error::Failure;

/// Where the real sets are: the folder named, that of the environment, or the one beside the
/// working folder's parent; none if it is not there.
pub(super) fn folder(named: Option<&Path>) -> Option<PathBuf> {
    let found = named
        .map(Path::to_path_buf)
        .or_else(|| std::env::var_os("CONSILIENCE_DATA").map(PathBuf::from))
        .or_else(|| Some(PathBuf::from("../shared/data")))?;
    found.is_dir().then_some(found)
}

/// What is said where the sets are not there.
pub(super) const WHERE: &str = "the real sets are skipped: no folder with them (`--data DIR` or \
    CONSILIENCE_DATA). The originals are published: bookmakers' odds by football-data.co.uk (England, file \
    E0, and Germany, file D1, seasons 2005-06 to 2018-19), DNA splice junctions by the UCI repository \
    (Molecular Biology, Splice-junction Gene Sequences); section D of the paper's supplement tells how \
    they became outputs of classifiers";

/// Reads a set.
pub(super) fn read(name: &str, folder: &Path) -> Result<Outputs, Failure> {
    let file = folder.join(format!("{name}.csv"));
    let reading = ReadOptions { needs_labels: true, ..ReadOptions::default() };
    Ok(read_outputs(&file.into(), &reading)?)
}

/// The scores of one method, and of the single classifiers, on all splits.
pub(super) fn run(
    (name, outputs): (&str, &Outputs),
    candidate: &Candidate,
    splits: usize,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<Record>, Failure> {
    // The test sets have all classes alike, so that items count alike under any class prior.
    let settings = CompareSettings {
        protocol: Protocol::paper(splits),
        class_prior: if candidate.name == PIRS {
            PriorChoice::Empirical
        } else {
            PriorChoice::Uniform
        },
        weighting: Weighting::Items,
        seed,
    };
    let comparison = compare(outputs, std::slice::from_ref(candidate), &settings, progress)
        .map_err(Failure::in_data(name))?;
    let mut all = Vec::new();
    for method in &comparison.methods {
        if let Some(failure) = method.failures.first() {
            return Err(Failure::message(format!(
                "{name}: `{}` failed on split {}: {}",
                method.method, failure.split, failure.message
            )));
        }
        all.extend(records(name, &paper_name(outputs, &method.method), &method.splits));
    }
    Ok(all)
}

/// Single classifiers are called C1, C2, ... as in the paper.
fn paper_name(outputs: &Outputs, method: &str) -> String {
    let place = |name: &str| outputs.schema().classifier_index(name);
    match method.strip_prefix("classifier:").and_then(place) {
        Some(k) => format!("C{}", k + 1),
        None => method.into(),
    }
}

/// The paper's methods with its priors, then ours.
pub(super) fn candidates(outputs: &Outputs, seed: u64) -> Vec<Candidate> {
    let correlated = Correlated {
        alpha_prior: AlphaPrior::Paper,
        delta_prior: DeltaPrior::Paper,
        seed,
        ..Correlated::default()
    };
    let independent =
        Independent { alpha_prior: AlphaPrior::Paper, seed, ..Independent::default() };
    let of = |name: String, config: MethodConfig| Candidate { name, config: config.at_mode() };
    let mut candidates = vec![
        of("CFM".into(), correlated.into()),
        of("IFM".into(), independent.clone().into()),
        of("IOP".into(), OpinionPool::default().into()),
    ];
    for (k, name) in outputs.schema().classifiers().iter().enumerate() {
        let meta = Meta { classifier: name.clone(), dirichlets: independent.clone() };
        candidates.push(of(format!("M{}", k + 1), meta.into()));
    }
    for name in [PIRS, PIRS_UNIFORM] {
        candidates.push(Candidate { name: name.into(), config: published(seed) });
    }
    let ours = |config: &MethodConfig| config.with_seed(seed).at_mode();
    candidates.extend(all_methods(outputs.schema(), ours));
    // What takes longest comes last, so that an interrupted run has all else.
    candidates.sort_by_key(|candidate| candidate.name == "correlated");
    candidates
}
