//! Regressions of labels on features, fitted by passes over blocks of items.
//!
//! A pass loads the features of a block of items, column by column, and lets every regression add the value, gradient
//! and curvature of its log posterior. So no table of features is needed beside the table of outputs, however many
//! items and regressions there are. Sums over blocks are added in a fixed order: the result does not depend on the
//! number of threads.

mod blocks;
mod class_columns;
mod logistic;
mod search;

pub(in crate::methods) use blocks::{Blocks, ItemBlock, Loader, Picked, Source};
pub(in crate::methods) use class_columns::{ClassColumns, Work};
pub(in crate::methods) use logistic::{LogMoments, LogisticRegression};
#[cfg(test)]
pub(in crate::methods) use search::tests::check_derivatives;
pub(in crate::methods) use search::{
    Fitted, Prior, Regression, Room, Sums, curvatures, find_modes, probabilities,
};
