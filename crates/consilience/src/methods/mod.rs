//! Fusion methods: from the outputs of several classifiers to one distribution over the classes.
//!
//! Every method has a folder of its own with its options, its fit, its fitted form and its form
//! in the model file; `list.rs` is the list of all methods. The options of every method are named
//! at the crate's root. The other contents of the folders are hidden from this documentation: tests
//! and experiments look at fitted methods through them, and they have no stable interface.

#[doc(hidden)]
pub mod auto;
#[doc(hidden)]
pub mod bcc;
mod block;
#[doc(hidden)]
pub mod correlated;
#[doc(hidden)]
pub mod discounted;
mod explain;
mod fusion;
#[doc(hidden)]
pub mod independent;
mod list;
mod log_linear;
mod log_ratio;
#[doc(hidden)]
pub mod logit_normal;
#[doc(hidden)]
pub mod meta;
mod method;
#[doc(hidden)]
pub mod normal_mixture;
#[doc(hidden)]
pub mod pools;
mod predictive;
mod presence;
mod regression;
mod rows;
#[doc(hidden)]
pub mod shares;
mod softmax;
#[doc(hidden)]
pub mod stacking;

pub use block::Block;
pub use correlated::PairInsight;
pub use explain::explain;
pub use fusion::{Fused, Fusion, fuse, ln_densities};
pub(crate) use fusion::{check_schema, fuse_with};
pub use list::{Method, MethodConfig, MethodInfo};
pub use method::{Draw, MethodOption, PairPosterior};
pub(crate) use method::{
    Fit, FitDetails, FitMethod, FitReport, FittedMethod, SEED, TrainingSet, read,
};
pub use predictive::PosteriorPredictive;

// Fusing into memory of the caller, for front ends; no stable interface.
#[doc(hidden)]
pub use fusion::{fuse_into, ln_densities_with};
#[doc(hidden)]
pub use rows::{Rows, Source, fuse_rows, ln_density_rows};
