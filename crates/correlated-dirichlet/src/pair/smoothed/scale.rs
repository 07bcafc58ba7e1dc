//! One line of the outer integral at a finite resolution, from tables in both variables.

use std::f64::consts::TAU;
use std::sync::Arc;

use pulp::Arch;

use super::integrate::Integrand;
use super::line_kernel::{Columns, LineSum, MAX_POINTS, SumLine};
use super::table::{ComponentTable, Part, SERIES, SLACK, TAPS, Tables};
use crate::pair::component::Component;
use crate::pair::exact::kernel::{GROUP, run};
use crate::pair::item::OutputPair;
use consilience_numerics::exponential_tail;
use consilience_numerics::special::ln_gamma;

/// Number of exponentials in a closed end, and weights that let an alternating sum fade out over them, the
/// outermost first (Euler's transformation).
const CLOSING: usize = 4;
const FADE: [f64; CLOSING] = [1.0 / 16.0, 5.0 / 16.0, 11.0 / 16.0, 15.0 / 16.0];
/// Attempts at placing a line's points.
const MAX_TRIES: usize = 60;
/// Sets of points that a line may interleave.
pub(crate) const MAX_PHASES: usize = 32;

/// What does not change from line to line, and the points in ln s.
pub(crate) struct SmoothLines<'a> {
    pub(crate) arch: Arch,
    pub(crate) tables: &'a Tables,
    pub(crate) components: &'a [Component],
    pub(crate) outputs: &'a [OutputPair],
    pub(crate) epsilon: f64,
    /// N.
    pub(crate) power: f64,
    /// Terms below e^−cut of the largest are left out.
    pub(crate) cut: f64,
    /// ln s(1+ρ) below which the integrand is a power of s and a few more, and the sum is closed.
    pub(crate) ln_onset: f64,
    /// Interleaved sets of points, and how many of each lie below and above the expected centre.
    pub(crate) phases: usize,
    pub(crate) below: i64,
    pub(crate) above: i64,
    /// Points of each set on the current line.
    pub(crate) points: usize,
    /// Ratio of s from one phase to the next.
    pub(crate) ratio: f64,
    /// Columns of the current line.
    pub(crate) columns: Vec<Columns<'a>>,
    pub(crate) buffers: &'a mut Buffers,
}

/// Components at the line's y, N ln s along it, exponents of its points and a blended column.
#[derive(Debug, Clone, Default)]
pub(crate) struct Buffers {
    at: Vec<At>,
    ramp: Vec<f64>,
    exponents: Vec<f64>,
    column: Vec<f64>,
}

/// The result of a line.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SmoothLine {
    /// ln of the integral over s, with every constant.
    pub(crate) ln_value: f64,
    /// ln s at the largest term.
    pub(crate) ln_s: f64,
    /// |even − odd| / sum: the relative error at twice the step.
    pub(crate) coarse: f64,
}

/// One component at one y.
#[derive(Debug, Clone, Copy)]
struct At {
    tau: f64,
    smaller: f64,
    ln_smaller: f64,
    /// e^|τ| − 1.
    excess: f64,
}

impl At {
    fn new(place: &OutputPair, y: f64, rho: f64) -> Self {
        let tau = y - place.kink;
        let first = rho * place.x[0];
        let (smaller, ln_smaller, larger) = if tau > 0.0 {
            (place.x[1], place.ln_x[1], first)
        } else {
            (first, y + place.ln_x[0], place.x[1])
        };
        // what cancels is lost: 1e-16 of an exponent
        Self { tau, smaller, ln_smaller, excess: larger / smaller - 1.0 }
    }
}

/// What a line collects besides the tables: the constant, and the rate of the exponential in s.
struct Linear {
    constant: f64,
    rate: f64,
}

impl<'a> SmoothLines<'a> {
    /// Fits the points to an integrand that is about a gamma of this shape in s; `step` is wanted in ln s.
    pub(crate) fn fit(&mut self, shape: f64, step: f64) {
        let wanted = (self.tables.step / step).ceil();
        self.phases = (wanted as usize).clamp(1, MAX_PHASES);
        self.ratio = self.step().exp();
        let [left, right] = extent(shape, self.cut + 1.0);
        self.below = (left / self.tables.step) as i64 + 1;
        self.above = (right / self.tables.step) as i64 + 2;
        let rise = self.power * self.tables.step;
        self.buffers.ramp.clear();
        self.buffers.ramp.extend((0..MAX_POINTS).map(|i| rise * i as f64));
    }

    /// The step in ln s.
    pub(crate) fn step(&self) -> f64 {
        self.tables.step / self.phases as f64
    }

    /// Moves all components to y; the largest argument of a table over s, in logarithms.
    fn move_to(&mut self, y: f64, rho: f64) -> f64 {
        let at = &mut self.buffers.at;
        at.clear();
        at.extend(self.outputs.iter().map(|place| At::new(place, y, rho)));
        let one = |(at, table): (&At, &Arc<ComponentTable>)| {
            at.ln_smaller + if table.is_far(at.tau) { at.tau.abs() } else { 0.0 }
        };
        at.iter().zip(&self.tables.components).map(one).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Adds what lies below the first point, where the terms are s^N times a power series.
    fn close(&self, sum: &mut LineSum) {
        let weights: [f64; CLOSING] =
            exponential_tail::integer_spaced_weights(self.power, self.step());
        for (k, weight) in weights.iter().rev().enumerate() {
            let term = self.buffers.exponents[k % self.phases * self.points + k / self.phases];
            sum.sum += (weight / self.power - 1.0) * term;
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            sum.difference += sign * (FADE[k] - 1.0) * term;
        }
    }

    fn sum(&mut self, start: i64, linear: &mut Linear) -> Option<LineSum> {
        let skipped = usize::try_from(start - self.tables.first_scale).ok()?;
        self.columns.clear();
        for l in 0..self.components.len() {
            self.add_component(l, start, linear)?;
        }
        let Buffers { ramp, exponents, column, .. } = &mut *self.buffers;
        exponents.resize(self.phases * self.points, 0.0);
        column.resize(MAX_POINTS + SLACK, 0.0);
        Some(run(
            self.arch,
            SumLine {
                components: &self.columns,
                phases: self.phases,
                points: self.points,
                scales: self.tables.scales.get(skipped..skipped + self.points)?,
                ratio: self.ratio,
                rate: linear.rate,
                ramp,
                column,
                exponents,
            },
        ))
    }

    /// Takes more points where the ends matter; none where there is no room for them.
    fn widen(&mut self, open: [bool; 2]) -> Option<()> {
        self.below += if open[0] { GROUP as i64 } else { 0 };
        self.above += if open[1] { GROUP as i64 } else { 0 };
        (self.points < MAX_POINTS).then_some(())
    }

    fn add_component(&mut self, l: usize, start: i64, linear: &mut Linear) -> Option<()> {
        let tables: &'a Tables = self.tables;
        let (c, table) = (&self.components[l], &*tables.components[l]);
        let at = self.buffers.at[l];
        linear.constant += (c.power() - 2.0) * at.ln_smaller - at.tau.abs();
        if table.rigid {
            let z = at.tau / self.epsilon;
            linear.constant -= 0.5 * z * z + (self.epsilon * TAU.sqrt()).ln() + ln_gamma(c.shared);
            linear.rate -= at.smaller * (1.0 + at.excess);
            return Some(());
        }
        let blend = table.blend(at.tau);
        let (mut ln_argument, mut argument) = (at.ln_smaller, at.smaller);
        match blend.part {
            Part::Core => linear.rate -= at.smaller * (table.pivot + at.excess),
            Part::Side => linear.rate -= at.smaller * table.pivot,
            Part::Empty => {
                linear.rate -= at.smaller * (table.pivot + at.excess);
                linear.constant -= 0.5 * (at.tau / self.epsilon).powi(2);
            }
            Part::Far { larger } => {
                linear.rate += at.smaller;
                linear.constant += larger * at.tau.abs();
                ln_argument += at.tau.abs();
                argument *= 1.0 + at.excess;
            }
        }
        let top = ln_argument + self.tables.step * (start + self.points as i64) as f64;
        if top < SERIES.ln() {
            let [constant, slope] = table.series(&blend);
            linear.constant += constant;
            linear.rate -= argument * slope;
            return Some(());
        }
        let (base, fraction) = self.position(ln_argument, start, table)?;
        self.columns.push(Columns {
            entries: &blend.entries[base..],
            stride: table.stride,
            weights: blend.weights,
            fraction,
        });
        Some(())
    }

    /// The first entry of the first point's eight, and its place between the middle two.
    fn position(
        &self,
        ln_argument: f64,
        start: i64,
        table: &ComponentTable,
    ) -> Option<(usize, f64)> {
        let position = ln_argument / self.tables.step + (start - self.tables.first) as f64;
        let whole = position as usize;
        let base = whole.checked_sub(TAPS / 2 - 1)?;
        (base + self.points + TAPS < table.count).then_some((base, position - whole as f64))
    }
}

impl Integrand for SmoothLines<'_> {
    fn evaluate(&mut self, y: f64, ln_s: f64) -> Option<SmoothLine> {
        let rho = y.exp();
        let step = self.tables.step;
        let lowest = ((self.ln_onset - rho.ln_1p()) / step) as i64 - 1 - CLOSING as i64;
        let room = (GROUP + TAPS + 3) as i64;
        let highest = self.tables.last - (self.move_to(y, rho) / step) as i64 - room;
        // what is expected far from the last line may lie beyond the tables, where nothing is
        let mut centre = ((ln_s / step) as i64).min(highest);
        for _ in 0..MAX_TRIES {
            let start = (centre - self.below).max(lowest);
            let closed = start == lowest;
            let points = ((centre + self.above).min(highest) - start).max(1) as usize;
            self.points = points.next_multiple_of(GROUP).min(MAX_POINTS);
            let mut linear = Linear { constant: self.components.len() as f64 * y, rate: 1.0 + rho };
            let mut sum = self.sum(start, &mut linear)?;
            let best = start + sum.best as i64;
            let open = [sum.ends[0] > -self.cut && !closed, sum.ends[1] > -self.cut];
            if open[0] || open[1] {
                if (best - centre).abs() > 1 {
                    centre = best;
                } else {
                    self.widen(open)?;
                }
                continue;
            }
            if closed {
                self.close(&mut sum);
            }
            let start = start as f64 * step;
            return Some(SmoothLine {
                ln_value: sum.largest
                    + (sum.sum * self.step()).ln()
                    + linear.constant
                    + self.power * start,
                ln_s: best as f64 * step,
                coarse: (sum.difference / sum.sum).abs(),
            });
        }
        None
    }

    fn outputs(&self) -> &[OutputPair] {
        self.outputs
    }
}

/// How far below and above its mode, in ln s, a gamma of this shape falls to e^−cut.
fn extent(shape: f64, cut: f64) -> [f64; 2] {
    let target = cut / shape;
    // eˣ − 1 − x = target
    let mut left = -(1.0 + target);
    let mut right = (2.0 * target).sqrt().min((1.0 + 2.0 * target).ln() + 0.5);
    for _ in 0..4 {
        left -= (left.exp_m1() - left - target) / left.exp_m1();
        right -= (right.exp_m1() - right - target) / right.exp_m1();
    }
    [-left, right]
}
