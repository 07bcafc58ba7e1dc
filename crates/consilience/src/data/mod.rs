//! The data that everything works on: names, outputs, their format, class priors.

pub(crate) mod class_prior;
pub(crate) mod input_format;
pub(crate) mod outputs;
pub(crate) mod schema;
