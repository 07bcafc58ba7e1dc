//! Input data: names of classifiers and classes, outputs, their format, class priors.

pub(crate) mod class_prior;
pub(crate) mod input_format;
mod odds;
pub(crate) mod outputs;
pub(crate) mod schema;
