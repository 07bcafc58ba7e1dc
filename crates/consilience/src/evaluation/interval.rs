//! Numbers with intervals.

use serde::{Deserialize, Serialize};

/// A number with an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The number.
    pub value: f64,
    /// Lower end of the interval; NaN if there is none.
    pub low: f64,
    /// Upper end of the interval; NaN if there is none.
    pub high: f64,
}
