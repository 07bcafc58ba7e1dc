//! Adaptive refinement of the exact density: places the nodes, integrates, and repeats with finer steps until the estimated
//! error is small enough.

use super::constants::{
    ACCEPT, BETWEEN_BREAKS, BEYOND_BREAKS, EQUIDISTANT_FROM, MAX_PASSES, MAX_TERMS, ROUNDING,
    SAFETY,
};
use super::gradient::GradientSum;
use super::kernel::TermRecord;
use super::kinks::{self, AtKink};
use super::pieces::Piece;
use super::poles;
use super::ratio::{Convergence, LogSum, RatioIntegral};
use super::scale::{EquidistantScales, KnownFactors, Position, ScaleIntegrals};
use super::shared::SharedIntegral;
use super::trapezoid_error::Decay;
use crate::pair::component::Component;
use crate::pair::item::OutputPair;
use crate::pair::laplace::{self, Mode, Share};
use crate::pair::smoothed::SmoothedScratch;
use crate::pair::{Estimate, PairDensity};

/// Buffers of one thread, reused for every density.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    pub(crate) inner: Vec<SharedIntegral>,
    shares: Vec<Share>,
    pub(crate) outputs: Vec<OutputPair>,
    pub(crate) active: Vec<usize>,
    pub(crate) grid: EquidistantScales,
    pub(crate) breaks: Vec<f64>,
    pieces: Vec<Piece>,
    convergence: Vec<Convergence>,
    record: TermRecord,
    /// Terms that may still be summed for the present item.
    work: f64,
    pub(crate) tally: GradientSum,
    pub(crate) smoothed: SmoothedScratch,
}

/// Factors on the default steps in the ratio, the scale and the shared gammas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Steps {
    y: f64,
    pub(crate) s: f64,
    inner: f64,
}

impl Steps {
    pub(crate) const NORMAL: Self = Self { y: 1.0, s: 1.0, inner: 1.0 };
}

/// The result of one pass, and the steps that the next one should use.
struct Pass {
    ln_density: f64,
    error: f64,
    wanted: Steps,
}

impl Scratch {
    /// Stores the outputs of an item; returns the mode and the width of its integrand.
    pub(crate) fn locate(&mut self, components: &[Component], [x1, x2]: [&[f64]; 2]) -> Mode {
        self.outputs.clear();
        self.outputs.extend(x1.iter().zip(x2).map(|(&a, &b)| OutputPair::new(a, b)));
        laplace::find(components, x1, x2, &mut self.shares)
    }
}

impl PairDensity {
    /// The exact log density, computed with finer and finer steps until the estimated error is small enough.
    pub(crate) fn refine(
        &self,
        [x1, x2]: [&[f64]; 2],
        scratch: &mut Scratch,
        slopes: bool,
    ) -> Estimate {
        let mode = scratch.locate(&self.components, [x1, x2]);
        scratch.tally.reset(self.components.len());
        if let Some(ln_density) = poles::ln_density(&self.components, &scratch.outputs) {
            return Estimate { ln_density, error: 0.0 };
        }
        if !mode.is_finite() {
            return self.unresolved([x1, x2]);
        }
        scratch.work = MAX_TERMS;
        let mut steps = Steps::NORMAL;
        for pass in 1.. {
            let result = self.one_pass(&mode, scratch, steps, slopes);
            let done = result.error <= ACCEPT * self.accuracy.tolerance || result.wanted == steps;
            if scratch.work < 0.0 || !result.ln_density.is_finite() {
                return self.unresolved([x1, x2]);
            }
            if done || pass == MAX_PASSES {
                let error = SAFETY * result.error + ROUNDING * self.power;
                return Estimate { ln_density: result.ln_density, error };
            }
            steps = result.wanted;
        }
        unreachable!("the last pass returns")
    }

    fn one_pass(&self, mode: &Mode, scratch: &mut Scratch, steps: Steps, slopes: bool) -> Pass {
        scratch.tally.reset(self.components.len());
        scratch.convergence.clear();
        let (rest, rigid) = self.prepare_components(mode, scratch, steps);
        let shape_s = mode.precision_s.min(self.power);
        let laguerre = if shape_s < EQUIDISTANT_FROM { self.laguerre() } else { &[] };
        let gauss = !laguerre.is_empty();
        if !gauss {
            scratch.grid.fit(shape_s, self.power, &self.accuracy, steps.s);
        }
        let normal =
            self.accuracy.step_y * mode.sd_y / (1.0 + 0.6 * mode.sd_y * mode.sd_y).sqrt() * steps.y;
        let Scratch { outputs, breaks, pieces, .. } = scratch;
        let plan = kinks::plan(&self.components, outputs, mode, &self.accuracy, normal, breaks);
        let step = steps.y * self.accuracy.step_y;
        lay_pieces(mode, normal * plan.factor, step, breaks, pieces);
        kinks::drop_far_pieces(&self.components, mode, pieces);
        let mut lines = ScaleIntegrals {
            arch: self.arch,
            accuracy: self.accuracy,
            components: &self.components,
            outputs: &scratch.outputs,
            active: &scratch.active,
            rest,
            power: self.power,
            mode: *mode,
            laguerre,
            rule: (0, 1.0),
            grid: &mut scratch.grid,
            record: slopes.then_some(&mut scratch.record),
            work: &mut scratch.work,
        };
        if let Some(rigid) = rigid {
            let at = Position { anchor: scratch.outputs[rigid].kink, offset: 0.0 };
            let line = lines.settle(&mut scratch.inner, at);
            let mut wanted = steps;
            wanted.inner *= self.inner_factor(line.inner);
            let error = self.accuracy.tolerance / 3.0 + line.inner;
            return Pass { ln_density: line.ln_value, error, wanted };
        }
        let mut walk = RatioIntegral {
            lines: &mut lines,
            inner: &mut scratch.inner,
            sum: LogSum::new(),
            coarse_s: 0.0,
            convergence: &mut scratch.convergence,
            tally: slopes.then_some(&mut scratch.tally),
        };
        for piece in &scratch.pieces {
            walk.piece(piece);
        }
        let (ln_sum, loss) = (walk.sum.ln(), walk.sum.loss());
        let grid = (!gauss).then_some(&scratch.grid);
        let base = plan.error + loss;
        let (error, mut wanted) = self.judge(&scratch.convergence, grid, ln_sum, base, steps);
        wanted.inner *= self.inner_factor(loss);
        Pass { ln_density: ln_sum, error, wanted }
    }

    /// The factor on the steps over the shared gammas that makes their error small enough.
    fn inner_factor(&self, error: f64) -> f64 {
        if error <= 0.3 * self.accuracy.tolerance {
            return 1.0;
        }
        let level = |error: f64| -(0.5 * error / self.components.len() as f64).min(0.5).ln();
        (level(error) / level(0.05 * self.accuracy.tolerance)).sqrt().max(0.25)
    }

    /// Separates the components with an integral over their shared gamma from those in closed form; returns the index of
    /// a component that fixes the ratio, if there is one.
    pub(crate) fn prepare_components(
        &self,
        mode: &Mode,
        scratch: &mut Scratch,
        steps: Steps,
    ) -> (KnownFactors, Option<usize>) {
        let Scratch { inner, shares, outputs, active, .. } = scratch;
        inner.resize(self.components.len(), SharedIntegral::default());
        let target = -(0.5 * self.accuracy.target_inner / self.components.len() as f64).ln();
        let total = kinks::smaller_total(&self.components);
        let (mut rest, mut rigid) = (KnownFactors::default(), None);
        active.clear();
        for (l, c) in self.components.iter().enumerate() {
            if c.is_independent() {
                rest.add_independent(c, &outputs[l]);
            } else if c.is_rigid() {
                rest.add_rigid(c, &outputs[l]);
                rigid = Some(l);
            } else {
                let kink = AtKink::new(c, &outputs[l], mode, total);
                inner[l].reset(shares[l], kink, target, steps.inner);
                active.push(l);
            }
        }
        (rest, rigid)
    }

    /// The error of all three integrals together, and the steps that would make it small enough.
    fn judge(
        &self,
        convergence: &[Convergence],
        grid: Option<&EquidistantScales>,
        ln_sum: f64,
        base: f64,
        steps: Steps,
    ) -> (f64, Steps) {
        let tolerance = self.accuracy.tolerance;
        let (mut error, mut wanted) = (base + 3.0 * (-self.accuracy.cut).exp(), steps);
        for c in convergence {
            let share = (c.ln_piece - ln_sum).exp();
            if share < 1e-3 * tolerance {
                continue;
            }
            let in_s = grid.map_or(Decay::gaussian(0.0), |grid| grid.decay(c.coarse_s));
            for (decay, step, old) in
                [(c.y, &mut wanted.y, steps.y), (in_s, &mut wanted.s, steps.s)]
            {
                let part = share * decay.error();
                error += part;
                if part > 0.3 * tolerance {
                    *step = step.min(old * decay.factor(0.05 * tolerance / share));
                }
            }
        }
        if error.is_nan() { (f64::INFINITY, wanted) } else { (error, wanted) }
    }
}

/// Cuts the y axis at the breaks; the piece that contains the mode comes first. `lattice` is the step in y without breaks, `step`
/// that for a Gaussian of standard deviation 1.
fn lay_pieces(mode: &Mode, lattice: f64, step: f64, breaks: &[f64], pieces: &mut Vec<Piece>) {
    pieces.clear();
    let mut lower = f64::NEG_INFINITY;
    for upper in breaks.iter().copied().chain([f64::INFINITY]) {
        let (scale, step) = match (lower.is_finite(), upper.is_finite()) {
            (false, false) => (lattice, 1.0),
            (true, true) => (mode.sd_y, BETWEEN_BREAKS * step),
            _ => (mode.sd_y, BEYOND_BREAKS * step),
        };
        pieces.push(Piece::new([lower, upper], scale, mode.y, step));
        lower = upper;
    }
    pieces.sort_by_key(|piece| piece.nearest(mode.y) != mode.y);
}
