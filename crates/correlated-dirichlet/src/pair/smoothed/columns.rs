//! The density at a finite resolution from single columns, for shapes and resolutions that tables in both variables do not
//! serve: the panels of `panels` over the lines of `line`, whose components are convolved line by line.

use super::integrate::{self, Integrand, Panels};
use super::scale::SmoothLine;
use crate::pair::exact::adaptive::{LineBuffers, Steps};
use crate::pair::exact::kinks;
use crate::pair::exact::scale::{Lines, Position};
use crate::pair::exact::shared::SharedIntegral;
use crate::pair::item::OutputPair;
use crate::pair::laplace::Mode;
use crate::pair::{EQUIDISTANT_FROM, Estimate, PairDensity, Scratch};

/// Relative accuracy of the columns, a component.
const COLUMNS: f64 = 3e-6;
/// The reported error over the estimated one.
const SAFETY: f64 = 5.0;
/// Passes with ever finer steps in s.
const MAX_PASSES: usize = 4;

/// Lines and the inner integrals that components far from their kink still need.
struct ColumnLines<'a, 'b> {
    lines: Lines<'b>,
    inner: &'a mut [SharedIntegral],
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

    fn outputs(&self) -> &[OutputPair] {
        self.lines.outputs
    }
}

impl PairDensity {
    /// The log density with one convolution a line.
    pub(crate) fn by_columns(&self, mode: &Mode, scratch: &mut Scratch) -> Estimate {
        let (corner, near) = self.corner(mode, self.accuracy.tolerance);
        let mut steps = Steps::NORMAL;
        for pass in 1.. {
            let rest = self.prepare_components(mode, scratch, steps).0;
            let shape = mode.precision_s.min(self.power);
            let gauss = shape < EQUIDISTANT_FROM && !self.laguerre.is_empty();
            if !gauss {
                scratch.grid.fit(shape, self.power, &self.accuracy, steps.s);
            }
            let Scratch { inner, outputs, active, grid, breaks, tabled, smooth, .. } =
                &mut *scratch;
            kinks::corners(&self.components, outputs, mode, &self.accuracy, self.epsilon, breaks);
            let buffers = LineBuffers { outputs, active, grid, record: None, tabled };
            let lines = self.lines(mode, rest, gauss, buffers);
            let mut lines = ColumnLines { lines, inner, loss: 0.0 };
            let total = Panels {
                lines: &mut lines,
                rules: integrate::rules(),
                panels: &mut smooth.panels,
                mode: *mode,
                tolerance: self.accuracy.tolerance,
                corner,
                last: (0.0, 0.0),
            }
            .integrate(breaks, near);
            let loss = lines.loss;
            let Some(total) = total else {
                return Estimate { ln_density: f64::NAN, error: f64::INFINITY };
            };
            let in_s = if gauss { 0.0 } else { scratch.grid.decay(total.coarse).error() };
            if in_s <= 0.3 * self.accuracy.tolerance || pass == MAX_PASSES {
                let tables = COLUMNS * self.components.len() as f64;
                let error = total.error + in_s + loss + (-self.accuracy.cut).exp();
                return Estimate { ln_density: total.ln_value, error: SAFETY * error + tables };
            }
            steps.s *= 0.7;
        }
        unreachable!("the last pass returns")
    }
}
