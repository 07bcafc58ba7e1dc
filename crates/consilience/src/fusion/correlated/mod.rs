//! The correlated fusion model.

pub mod learning;
