//! Real data sets: the paper's methods with its splits and priors, and our methods by default.

use consilience::evaluation::compare::{
    Candidate, CompareSettings, Protocol, all_methods, compare, splits,
};
use consilience::evaluation::{Predictions, Weighting, score};
use consilience::methods::correlated::Correlated;
use consilience::methods::correlated::learning::DeltaPrior;
use consilience::methods::independent::{AlphaPrior, Independent};
use consilience::methods::meta::Meta;
use consilience::methods::pools::OpinionPool;
use consilience::{MethodConfig, Outputs, PriorChoice, Progress};

use super::records::{Record, records};
use super::{PIRS, PIRS_UNIFORM};
use crate::Failure;
use crate::published_mixture::PublishedMixture;

/// A method that is scored on splits of real data.
pub(super) enum Method {
    /// One of the library's methods.
    Ours(Box<Candidate>),
    /// The mixture of Pirs & Štrumbelj as published, under a class prior.
    Published(&'static str, PriorChoice),
}

impl Method {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Ours(candidate) => &candidate.name,
            Self::Published(name, _) => name,
        }
    }
}

/// The scores of one method on all splits; with a method of ours also those of the single classifiers.
pub(super) fn run(
    data: (&str, &Outputs),
    method: &Method,
    n_splits: usize,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<Record>, Failure> {
    // Test sets have equally many items per class, so that all items have the same weight.
    let settings = CompareSettings {
        protocol: Protocol::paper(n_splits),
        class_prior: PriorChoice::Uniform,
        weighting: Weighting::Items,
        seed,
    };
    match method {
        Method::Ours(candidate) => ours(data, candidate, &settings, progress),
        Method::Published(name, prior) => published(data, (name, prior), &settings, progress),
    }
}

fn ours(
    (name, outputs): (&str, &Outputs),
    candidate: &Candidate,
    settings: &CompareSettings,
    progress: &dyn Progress,
) -> Result<Vec<Record>, Failure> {
    let comparison = compare(outputs, std::slice::from_ref(candidate), settings, progress)?;
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

fn published(
    (name, outputs): (&str, &Outputs),
    (method, prior): (&str, &PriorChoice),
    settings: &CompareSettings,
    progress: &dyn Progress,
) -> Result<Vec<Record>, Failure> {
    let counts: Vec<f64> = outputs.class_counts().iter().map(|count| *count as f64).collect();
    let prior = prior.resolve(outputs.schema().classes(), Some(&counts))?;
    let splits = splits(outputs, settings)?;
    progress.begin(method, splits.len() as u64);
    let mut scores = Vec::new();
    for (train, test) in splits {
        let mixture = PublishedMixture::fit(&outputs.select_items(&train), settings.seed)?;
        let test = outputs.select_items(&test);
        let probabilities = mixture.fuse(&test, &prior)?;
        let predictions = Predictions { name: method.into(), probabilities };
        let scored = score(&predictions, &test.require_labels()?, &prior, settings.weighting)?;
        scores.push(scored[0]);
        progress.advance(1);
    }
    Ok(records(name, method, &scores).to_vec())
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
pub(super) fn candidates(outputs: &Outputs, seed: u64) -> Vec<Method> {
    let correlated = Correlated {
        alpha_prior: AlphaPrior::Paper,
        delta_prior: DeltaPrior::Paper,
        seed,
        ..Correlated::default()
    };
    let independent =
        Independent { alpha_prior: AlphaPrior::Paper, seed, ..Independent::default() };
    let of = |name: String, config: MethodConfig| Candidate { name, config: config.at_mode() };
    let mut ours = vec![
        of("CFM".into(), correlated.into()),
        of("IFM".into(), independent.clone().into()),
        of("IOP".into(), OpinionPool::default().into()),
    ];
    for (k, name) in outputs.schema().classifiers().iter().enumerate() {
        let meta = Meta { classifier: name.clone(), dirichlets: independent.clone() };
        ours.push(of(format!("M{}", k + 1), meta.into()));
    }
    let n_paper = ours.len();
    ours.extend(all_methods(outputs.schema(), |config| config.with_seed(seed).at_mode()));
    let mut methods: Vec<Method> = ours.into_iter().map(|own| Method::Ours(own.into())).collect();
    let published = [(PIRS, PriorChoice::Empirical), (PIRS_UNIFORM, PriorChoice::Uniform)];
    let published = published.map(|(name, prior)| Method::Published(name, prior));
    methods.splice(n_paper..n_paper, published);
    // The slowest method comes last, so that an interrupted run has all others.
    methods.sort_by_key(|method| method.name() == "correlated");
    methods
}
