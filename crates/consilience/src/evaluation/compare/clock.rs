//! How long something takes, where there is a clock.

/// Runs from when it is started.
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

/// No clock without an operating system.
#[cfg(target_family = "wasm")]
pub(super) struct Stopwatch;

#[cfg(target_family = "wasm")]
impl Stopwatch {
    pub(super) fn start() -> Self {
        Self
    }

    pub(super) fn seconds(&self) -> f64 {
        f64::NAN
    }
}
