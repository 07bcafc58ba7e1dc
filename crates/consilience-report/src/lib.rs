//! One self-contained HTML page about a fusion model and its sources.
//!
//! Two layers. [`Report`] is everything that the page shows, computed from a model and items or from
//! aggregated votes; [`Report::to_json`] is its JSON. [`Report::html`] is the page: it contains that
//! JSON, its own style and its own scripts, and loads nothing. The library never opens a file and
//! never prints, so that it also runs in a browser.
//!
//! ```
//! use consilience::{Auto, simulation::Preset};
//! use consilience_report::{Report, ReportOptions};
//!
//! let truth = Preset::Sim2.truth(0.5)?;
//! let model = Auto::default().fit(&truth.simulate(100, 1)?)?;
//! let report = Report::of(&model, &truth.simulate(100, 2)?, &ReportOptions::default())?;
//! assert!(report.verdict.contains("gain"));
//! assert!(report.html().starts_with("<!doctype html>"));
//! # Ok::<(), consilience::Error>(())
//! ```

#![forbid(unsafe_code)]

mod agreement;
mod cases;
mod clusters;
mod contributions;
mod labelled;
mod options;
mod page;
mod redundancy;
mod report;
mod sample;
mod text;
mod votes;

pub use agreement::Agreement;
pub use cases::{Case, CaseSource};
pub use contributions::Contribution;
pub use labelled::{ClassRow, Labelled, ReliabilityOf, SourceReliability};
pub use options::ReportOptions;
pub use redundancy::{Redundancy, RedundancyOrigin};
pub use report::{Kind, Note, Report, Subject};
pub use sample::Sample;
pub use votes::{VoteCase, VotePair, VoteReport};
