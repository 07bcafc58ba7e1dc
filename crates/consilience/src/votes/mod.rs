//! Labels from votes: many sources, each of which gives a label to some of the items.
//!
//! Three lines: collect the votes, fit, read the result.
//!
//! ```
//! use consilience::votes::{VoteConfig, VoteModel, VotesBuilder};
//!
//! let mut builder = VotesBuilder::new();
//! for (item, source, label) in [
//!     ("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q1", "eve", "no"),
//!     ("q2", "ann", "no"), ("q2", "bob", "no"), ("q2", "eve", "no"),
//! ] {
//!     builder.push(item, source, label)?;
//! }
//! let votes = builder.finish()?;
//! let result = VoteConfig::default().fit(&votes)?;
//! assert_eq!(result.classes()[result.label(0)], "yes");
//! assert!(result.probabilities(0)[1] < 0.95 && result.source(2).accuracy.low < 0.5);
//!
//! // What was learned about the sources labels new items.
//! let model = VoteModel::from_json(&result.model().to_json())?;
//! let mut new = VotesBuilder::with_classes(model.classes())?;
//! new.push("q3", "ann", "yes")?;
//! assert_eq!(model.predict(&new.finish()?)?.label(0), 1);
//! # Ok::<(), consilience::Error>(())
//! ```
//!
//! Gold labels, where some are known, go into the builder with
//! [`VotesBuilder::gold`]; a source's probability for its label with
//! [`VotesBuilder::push_with_probability`]. [`VoteConfig`] lists the methods; `docs/methods/votes.md`
//! has the mathematics.

mod aggregation;
mod auto;
mod builder;
mod compare;
mod config;
mod copies;
mod core;
mod dbcc;
mod ebcc;
mod estimates;
mod family;
mod file;
mod gibbs;
mod learned;
mod model;
mod names;
#[cfg(test)]
mod reference;
mod report;
mod sharing;
mod table;
mod text;
mod weights;

pub use aggregation::Aggregation;
pub use builder::VotesBuilder;
pub use compare::{HeldOut, VoteComparison, VoteDifference, VoteScores, compare_votes};
pub use config::{
    AutoVotes, DawidSkene, Dbcc, Ebcc, Ibcc, Majority, Ueda, VoteConfig, VoteInference,
};
pub use copies::SimilarSources;
pub use estimates::Interval;
pub use model::{PredictedVotes, VoteModel};
pub use report::{Bias, GoldCheck, Rho, RhoOrigin, SourceReport};
pub use table::Votes;

/// Some passes of `auto` over votes without gold labels, for benchmarks; returns the last change.
#[doc(hidden)]
pub fn passes(votes: &Votes, n: usize) -> f64 {
    let gold = vec![None; votes.n_items()];
    let core = core::Core::new(votes, &gold);
    let mut fit = auto::fit::IndependentFit::start(&core);
    (0..n).fold(0.0, |_, _| fit.pass(&core))
}
