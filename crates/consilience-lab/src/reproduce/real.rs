//! Real data sets: the paper's methods with its splits and priors, and our methods by default.

use consilience::evaluation::Weighting;
use consilience::evaluation::compare::{
    Candidate, CompareSettings, Protocol, all_methods, by_mode, compare,
};
use consilience::methods::correlated::learning::DeltaPrior;
use consilience::methods::independent::AlphaPrior;
use consilience::{FitConfig, MethodChoice, Outputs, PriorChoice, Progress};

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
    let defaults = FitConfig::default().with_seed(seed);
    let mut paper = by_mode(&defaults);
    paper.independent.alpha_prior = AlphaPrior::Paper;
    paper.correlated.independent.alpha_prior = AlphaPrior::Paper;
    paper.correlated.delta_prior = DeltaPrior::Paper;
    let of = |name: String, method: MethodChoice| Candidate {
        name,
        config: FitConfig { method, ..paper.clone() },
    };
    let mut candidates = vec![
        of("CFM".into(), MethodChoice::Correlated),
        of("IFM".into(), MethodChoice::Independent),
        of("IOP".into(), MethodChoice::OpinionPool),
    ];
    for (k, name) in outputs.schema().classifiers().iter().enumerate() {
        candidates.push(of(format!("M{}", k + 1), MethodChoice::Meta(name.clone())));
    }
    for name in [PIRS, PIRS_UNIFORM] {
        candidates.push(Candidate { name: name.into(), config: published(&defaults) });
    }
    candidates.extend(all_methods(outputs.schema(), &by_mode(&defaults)));
    // The slowest method comes last, so that an interrupted run has all others.
    candidates.sort_by_key(|candidate| candidate.name == "correlated");
    candidates
}
