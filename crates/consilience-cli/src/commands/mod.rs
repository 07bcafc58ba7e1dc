//! One file per command.

pub(crate) mod advise;
pub(crate) mod aggregate;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod density;
pub(crate) mod evaluate;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod fuse;
pub(crate) mod generate;
pub(crate) mod inspect;
mod pictures;
pub(crate) mod prevalence;
pub(crate) mod report;
pub(crate) mod simulate;
mod stream;
mod votes;
