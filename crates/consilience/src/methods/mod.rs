//! Fusion methods: from the outputs of several classifiers to one distribution over the classes.
//!
//! Every method has a folder of its own with its options, its fit, its fitted form and its form
//! in the model file; `list.rs` is the list of all methods.

pub mod auto;
pub mod bcc;
mod block;
pub mod correlated;
pub mod discounted;
mod explain;
mod fusion;
pub mod independent;
mod list;
mod log_linear;
mod log_ratio;
pub mod logit_normal;
pub mod meta;
mod method;
pub mod normal_mixture;
pub mod pools;
mod predictive;
mod presence;
mod rows;
pub mod shares;
pub mod stacking;

pub use block::Block;
pub use explain::explain;
pub use fusion::{Fused, Fusion, fuse, fuse_into, ln_densities, ln_densities_with};
pub(crate) use fusion::{check_schema, fuse_with};
pub use list::{Method, MethodConfig, MethodInfo};
pub use method::{Draw, MethodOption, PairPosterior};
pub(crate) use method::{Fit, FitMethod, FitReport, FittedMethod, SEED, TrainingSet, read};
pub use predictive::PosteriorPredictive;
pub use rows::{Rows, Source, fuse_rows, ln_density_rows};
