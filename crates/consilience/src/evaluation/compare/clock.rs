//! Elapsed time, on targets with a clock.

/// Measures the seconds since its start.
#[cfg(not(target_family = "wasm"))]
pub(super) struct Stopwatch(std::time::Instant);

#[cfg(not(target_family = "wasm"))]
impl Stopwatch {
    pub(super) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub(super) fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// Without an operating system there is no clock: all times are NaN.
#[cfg(target_family = "wasm")]
pub(super) struct Stopwatch(f64);

#[cfg(target_family = "wasm")]
impl Stopwatch {
    pub(super) fn start() -> Self {
        Self(f64::NAN)
    }

    pub(super) fn seconds(&self) -> f64 {
        self.0
    }
}
