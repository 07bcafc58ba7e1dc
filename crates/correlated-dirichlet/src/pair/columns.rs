//! The density at a finite resolution from single columns, for shapes and resolutions that tables in both variables do not
//! serve: the panels of `panels` over the lines of `line`, whose components are convolved line by line.

use super::engine::{LineBuffers, Steps};
use super::inner::Inner;
use super::kinks;
use super::line::{Lines, Position};
use super::panels::{self, Integrand, Sweep};
use super::place::Place;
use super::smooth_line::SmoothLine;
use super::surrogate::Mode;
use super::{EQUIDISTANT_FROM, Estimate, PairDensity, Scratch};

/// Relative accuracy of the columns, a component.
const COLUMNS: f64 = 3e-6;
/// The reported error over the estimated one.
const SAFETY: f64 = 5.0;
/// Passes with ever finer steps in s.
const MAX_PASSES: usize = 4;

/// Lines and the inner integrals that components far from their kink still need.
struct ColumnLines<'a, 'b> {
    lines: Lines<'b>,
    inner: &'a mut [Inner],
    /// The largest error of an inner integral.
    loss: f64,
}

impl Integrand for ColumnLines<'_, '_> {
    fn evaluate(&mut self, y: f64, ln_s: f64) -> Option<SmoothLine> {
        let at = Position { anchor: y, offset: 0.0 };
        let mut line = self.lines.evaluate(self.inner, at, ln_s);
        if (line.ln_s - ln_s).abs() > 2.0 / self.lines.mode.precision_s.sqrt() {
            line = self.lines.settle(self.inner, at);
        }
        self.loss = self.loss.max(line.inner);
        Some(SmoothLine { ln_value: line.ln_value, ln_s: line.ln_s, coarse: line.coarse_s })
    }

    fn places(&self) -> &[Place] {
        self.lines.places
    }
}

impl PairDensity {
    /// The log density with one convolution a line.
    pub(super) fn by_columns(&self, mode: &Mode, scratch: &mut Scratch) -> Estimate {
        let (corner, near) = self.corner(mode, self.rules.tolerance);
        let mut steps = Steps::NORMAL;
        for pass in 1.. {
            let rest = self.prepare_components(mode, scratch, steps).0;
            let shape = mode.precision_s.min(self.power);
            let gauss = shape < EQUIDISTANT_FROM && !self.laguerre.is_empty();
            if !gauss {
                scratch.grid.fit(shape, self.power, &self.rules, steps.s);
            }
            let Scratch { inner, places, active, grid, breaks, tabled, smooth, .. } = &mut *scratch;
            kinks::corners(&self.components, places, mode, &self.rules, self.epsilon, breaks);
            let buffers = LineBuffers { places, active, grid, record: None, tabled };
            let lines = self.lines(mode, rest, gauss, buffers);
            let mut lines = ColumnLines { lines, inner, loss: 0.0 };
            let total = Sweep {
                lines: &mut lines,
                rules: panels::rules(),
                panels: &mut smooth.panels,
                mode: *mode,
                tolerance: self.rules.tolerance,
                corner,
                last: (0.0, 0.0),
            }
            .integrate(breaks, near);
            let loss = lines.loss;
            let Some(total) = total else {
                return Estimate { ln_density: f64::NAN, error: f64::INFINITY };
            };
            let in_s = if gauss { 0.0 } else { scratch.grid.decay(total.coarse).error() };
            if in_s <= 0.3 * self.rules.tolerance || pass == MAX_PASSES {
                let tables = COLUMNS * self.components.len() as f64;
                let error = total.error + in_s + loss + (-self.rules.cut).exp();
                return Estimate { ln_density: total.ln_value, error: SAFETY * error + tables };
            }
            steps.s *= 0.7;
        }
        unreachable!("the last pass returns")
    }
}
