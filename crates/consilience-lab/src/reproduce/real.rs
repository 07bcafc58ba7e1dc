//! Real data sets: the paper's methods with its splits and priors, and our methods by default.

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

use super::records::{Record, records};
use super::{PIRS, PIRS_UNIFORM, published};
use crate::Failure;

/// The scores of one method, and of the single classifiers, on all splits.
pub(super) fn run(
    (name, outputs): (&str, &Outputs),
    candidate: &Candidate,
    splits: usize,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<Record>, Failure> {
    // Test sets have equally many items per class, so that all items have the same weight.
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
    let comparison = compare(outputs, std::slice::from_ref(candidate), &settings, progress)?;
    let mut all = Vec::new();
    for method in &comparison.methods {
        if let Some(failure) = method.failures.first() {
            let (split, message) = (failure.split, &failure.message);
            return Err(
                format!("{name}: {} failed on split {split}: {message}", method.method).into()
            );
        }
        all.extend(records(name, &paper_name(outputs, &method.method), &method.splits));
    }
    Ok(all)
}

/// The paper's names of single classifiers: C1, C2, ...
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
