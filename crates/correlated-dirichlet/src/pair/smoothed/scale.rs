//! The integral over the scale s at one ratio of the totals, from tables.

use std::f64::consts::TAU;

use pulp::Arch;

use super::constants::{FADE, LOWER_CLOSING, MAX_PHASES, MAX_TERMS, MAX_TRIES, TRUNCATED};
use super::layout::{LINE_ROOM, Part, SLACK, TAPS};
use super::line_kernel::{Columns, LineSum, MAX_POINTS, SumLine, SumMoments, SumSlope};
use super::table::{Blend, ComponentTable, Direction, Tables};
use crate::pair::component::Component;
use crate::pair::exact::kernel::{GROUP, run};
use crate::pair::exact::scale::possible_ln_s;
use crate::pair::item::OutputPair;
use consilience_numerics::exponential_tail;
use consilience_numerics::special::ln_gamma;

/// The integrals over the scale of one item.
pub(crate) struct ScaleIntegrals<'a> {
    arch: Arch,
    tables: &'a Tables,
    components: &'a [Component],
    pub(crate) outputs: &'a [OutputPair],
    epsilon: f64,
    /// N.
    power: f64,
    /// Terms below e^−cut of the largest are left out.
    cut: f64,
    /// ln s(1+ρ) below which the integrand is a power of s times a short power series, and the sum is closed.
    ln_onset: f64,
    /// Interleaved sets of points, and how many of each lie below and above the expected centre.
    pub(crate) phases: usize,
    below: i64,
    above: i64,
    /// Points of each set at the current ratio, and the index of the first one on the lattice in ln s.
    points: usize,
    start: i64,
    /// Ratio of s from one phase to the next.
    ratio: f64,
    /// The columns of all components at the current ratio, and of those that are not linear in M there.
    blends: Vec<Option<Blend<'a>>>,
    columns: Vec<Columns<'a>>,
    /// Terms that may still be summed for this item.
    work: f64,
    buffers: &'a mut Buffers,
}

/// Properties of these integrals that depend on the class and the tolerance alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScaleConfig<'a> {
    pub(crate) arch: Arch,
    pub(crate) tables: &'a Tables,
    pub(crate) components: &'a [Component],
    pub(crate) epsilon: f64,
    pub(crate) power: f64,
    pub(crate) cut: f64,
    pub(crate) onset: f64,
}

/// Components at one ratio, N ln s at its points, their exponents, and one blended column.
#[derive(Debug, Clone, Default)]
pub(crate) struct Buffers {
    at: Vec<At>,
    ramp: Vec<f64>,
    exponents: Vec<f64>,
    column: Vec<f64>,
}

/// The integral over the scale at one ratio.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScaleIntegral {
    /// ln of the integral, with all constants.
    pub(crate) ln_value: f64,
    /// ln s at the largest term.
    pub(crate) ln_s: f64,
    /// |even − odd| / sum: the relative error at twice the step; [`TRUNCATED`] if there was no room for all points.
    pub(crate) coarse: f64,
    /// Σ of the terms over the largest one, and whether the lower end was closed.
    sum: f64,
    closed: bool,
}

/// One component at one ratio.
#[derive(Debug, Clone, Copy)]
struct At {
    tau: f64,
    smaller: f64,
    ln_smaller: f64,
    /// e^|τ| − 1.
    excess: f64,
}

impl At {
    fn new(outputs: &OutputPair, y: f64, rho: f64) -> Self {
        let tau = y - outputs.kink;
        let first = rho * outputs.x[0];
        let (smaller, ln_smaller, larger) = if tau > 0.0 {
            (outputs.x[1], outputs.ln_x[1], first)
        } else {
            (first, y + outputs.ln_x[0], outputs.x[1])
        };
        // cancellation costs 1e-16 of an exponent at most
        Self { tau, smaller, ln_smaller, excess: larger / smaller - 1.0 }
    }
}

/// The exponent without the tables: a constant, and the rate of the exponential in s.
struct Linear {
    constant: f64,
    rate: f64,
}

impl<'a> ScaleIntegrals<'a> {
    /// Prepares the integrals of an item; [`Self::fit`] must follow.
    pub(crate) fn new(
        config: &ScaleConfig<'a>,
        outputs: &'a [OutputPair],
        buffers: &'a mut Buffers,
    ) -> Self {
        let ScaleConfig { arch, tables, components, epsilon, power, cut, onset } = *config;
        Self {
            arch,
            tables,
            components,
            outputs,
            epsilon,
            power,
            cut,
            ln_onset: onset.ln(),
            phases: 1,
            below: 0,
            above: 0,
            points: 0,
            start: 0,
            ratio: 1.0,
            blends: Vec::with_capacity(components.len()),
            columns: Vec::with_capacity(components.len()),
            work: MAX_TERMS,
            buffers,
        }
    }

    /// Chooses the points for an integrand that is about a gamma density of this shape in s, with this step in ln s or less.
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

    /// The integral at y, with the integrand expected around `ln_s`; none if the tables do not reach or the item is too difficult.
    pub(crate) fn evaluate(&mut self, y: f64, ln_s: f64) -> Option<ScaleIntegral> {
        let (rho, ln_s) = (y.exp(), possible_ln_s(ln_s, y, self.power));
        if !(rho.is_finite() && ln_s.is_finite()) {
            return None;
        }
        let step = self.tables.step;
        let lowest = ((self.ln_onset - rho.ln_1p()) / step) as i64 - 1 - LOWER_CLOSING as i64;
        let highest = self.tables.last - (self.move_to(y, rho)? / step) as i64 - LINE_ROOM;
        let mut centre = ((ln_s / step) as i64).min(highest);
        for _ in 0..MAX_TRIES {
            self.start = (centre - self.below).max(lowest);
            let closed = self.start == lowest;
            let points = ((centre + self.above).min(highest) - self.start).max(1) as usize;
            self.points = points.next_multiple_of(GROUP).min(MAX_POINTS);
            let mut linear = Linear { constant: self.components.len() as f64 * y, rate: 1.0 + rho };
            let sum = self.sum(&mut linear)?;
            let best = self.start + sum.best as i64;
            let open = [sum.ends[0] > -self.cut && !closed, sum.ends[1] > -self.cut];
            let mut line = self.finish(sum, closed, &linear, best as f64 * step);
            if !(open[0] || open[1]) {
                return Some(line);
            }
            if (best - centre).abs() > 1 {
                centre = best;
            } else if self.points < MAX_POINTS && centre < highest {
                self.widen(open);
            } else {
                line.coarse = TRUNCATED;
                return Some(line);
            }
        }
        None
    }

    fn finish(
        &mut self,
        mut sum: LineSum,
        closed: bool,
        linear: &Linear,
        ln_s: f64,
    ) -> ScaleIntegral {
        if closed {
            self.close(&mut sum);
        }
        let start = self.start as f64 * self.tables.step;
        ScaleIntegral {
            ln_value: sum.largest
                + (sum.sum * self.step()).ln()
                + linear.constant
                + self.power * start,
            ln_s,
            coarse: (sum.difference / sum.sum).abs(),
            sum: sum.sum,
            closed,
        }
    }

    /// Moves all components to y; returns the largest ln of a table's argument over s, none without the columns there.
    fn move_to(&mut self, y: f64, rho: f64) -> Option<f64> {
        let at = &mut self.buffers.at;
        at.clear();
        at.extend(self.outputs.iter().map(|outputs| At::new(outputs, y, rho)));
        let tables: &'a Tables = self.tables;
        let mut all = at.iter().zip(&tables.components);
        if !tables.with_tails && all.any(|(at, table)| table.is_tail(at.tau)) {
            return None;
        }
        self.blends.clear();
        let blend =
            |(at, table): (&At, &'a ComponentTable)| (!table.rigid).then(|| table.blend(at.tau));
        self.blends.extend(at.iter().zip(&tables.components).map(blend));
        let one = |(at, blend): (&At, &Option<Blend<'_>>)| {
            blend.as_ref().map_or(at.ln_smaller, |blend| argument(at, blend).1)
        };
        Some(at.iter().zip(&self.blends).map(one).fold(f64::NEG_INFINITY, f64::max))
    }

    /// Adds the terms below the first point, which are s^N times a power series.
    fn close(&mut self, sum: &mut LineSum) {
        let weights: [f64; LOWER_CLOSING] =
            exponential_tail::integer_spaced_weights(self.power, self.step());
        for (k, weight) in weights.iter().rev().enumerate() {
            let term = &mut self.buffers.exponents[k % self.phases * self.points + k / self.phases];
            sum.sum += (weight / self.power - 1.0) * *term;
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            sum.difference += sign * (FADE[k] - 1.0) * *term;
            *term *= weight / self.power;
        }
    }

    /// Sums the derivatives in N of the weights of a closed end.
    fn closing_slope(&self) -> f64 {
        let weights: [f64; LOWER_CLOSING] =
            exponential_tail::integer_spaced_weights(self.power, self.step());
        let slopes: [f64; LOWER_CLOSING] =
            exponential_tail::integer_spaced_weights_derivative(self.power, self.step());
        let pairs = weights.iter().zip(&slopes).rev().enumerate();
        pairs
            .map(|(k, (weight, slope))| {
                let term = self.buffers.exponents[k % self.phases * self.points + k / self.phases];
                term * (slope / weight - 1.0 / self.power)
            })
            .sum()
    }

    fn sum(&mut self, linear: &mut Linear) -> Option<LineSum> {
        if self.work < 0.0 {
            return None;
        }
        self.columns.clear();
        for l in 0..self.components.len() {
            self.add_component(l, linear)?;
        }
        let scales = self.scales()?;
        let Buffers { ramp, exponents, column, .. } = &mut *self.buffers;
        self.work -= (self.phases * self.points * (1 + self.columns.len())) as f64;
        exponents.resize(self.phases * self.points, 0.0);
        column.resize(MAX_POINTS + SLACK, 0.0);
        Some(run(
            self.arch,
            SumLine {
                blends: &self.blends,
                components: &self.columns,
                phases: self.phases,
                points: self.points,
                scales,
                ratio: self.ratio,
                rate: linear.rate,
                ramp,
                column,
                exponents,
            },
        ))
    }

    /// s of the first phase's points.
    fn scales(&self) -> Option<&'a [f64]> {
        let skipped = usize::try_from(self.start - self.tables.first_scale).ok()?;
        self.tables.scales.get(skipped..skipped + self.points)
    }

    /// Adds points at the ends that are not negligible.
    fn widen(&mut self, open: [bool; 2]) {
        self.below += if open[0] { GROUP as i64 } else { 0 };
        self.above += if open[1] { GROUP as i64 } else { 0 };
    }

    fn add_component(&mut self, l: usize, linear: &mut Linear) -> Option<()> {
        let tables: &'a Tables = self.tables;
        let (c, table) = (&self.components[l], &tables.components[l]);
        let at = self.buffers.at[l];
        linear.constant += (c.power() - 2.0) * at.ln_smaller - at.tau.abs();
        let Some(blend) = &self.blends[l] else {
            let z = at.tau / self.epsilon;
            linear.constant -= 0.5 * z * z + (self.epsilon * TAU.sqrt()).ln() + ln_gamma(c.shared);
            linear.rate -= at.smaller * (1.0 + at.excess);
            return Some(());
        };
        match blend.part {
            Part::Core => linear.rate -= at.smaller * (table.pivot + at.excess),
            Part::Side => linear.rate -= at.smaller * table.pivot,
            Part::Empty => {
                linear.rate -= at.smaller * (table.pivot + at.excess);
                linear.constant -= 0.5 * (at.tau / self.epsilon).powi(2);
            }
            Part::Tail => {
                linear.rate += at.smaller;
                linear.constant += table.larger(at.tau) * at.tau.abs();
            }
        }
        let (argument, ln_argument) = argument(&at, blend);
        if self.is_series(ln_argument) {
            let [constant, slope] = blend.series(0);
            linear.constant += constant;
            linear.rate -= argument * slope;
            return Some(());
        }
        let (base, fraction) = self.position(ln_argument, table)?;
        self.columns.push(Columns {
            component: l,
            entries: &blend.entries(0)[base..],
            base,
            stride: table.stride,
            fraction,
        });
        Some(())
    }

    /// Whether a component is linear in its argument at all points.
    fn is_series(&self, ln_argument: f64) -> bool {
        let top = ln_argument + self.tables.step * (self.start + self.points as i64) as f64;
        top < self.tables.ln_series
    }

    /// The first of the eight entries around the first point, and where the point lies between the middle two.
    fn position(&self, ln_argument: f64, table: &ComponentTable) -> Option<(usize, f64)> {
        let position = ln_argument / self.tables.step + (self.start - self.tables.first) as f64;
        let whole = position as usize;
        let base = whole.checked_sub(TAPS / 2 - 1)?;
        (base + self.points + TAPS < table.count).then_some((base, position - whole as f64))
    }
}

/// Derivatives of the integral that was evaluated last.
impl ScaleIntegrals<'_> {
    /// Writes the derivatives of `ln_value`, all directions of a component one after another; 0 if the tables have none.
    pub(crate) fn slopes(
        &mut self,
        line: &ScaleIntegral,
        directions: &[Direction],
        out: &mut [f64],
    ) {
        out.fill(0.0);
        let Some(scales) = self.scales() else { return };
        let closing = if line.closed { self.closing_slope() } else { 0.0 };
        let Buffers { at, ramp, exponents, column } = &mut *self.buffers;
        let (phases, points, ratio) = (self.phases, self.points, self.ratio);
        let terms: &[f64] = exponents;
        let [ramps, scaled] =
            run(self.arch, SumMoments { terms, phases, points, scales, ratio, ramp });
        let start = self.start as f64 * self.tables.step;
        let mean_ln_s = start + (ramps / self.power + closing) / line.sum;
        let mean_s = scaled / line.sum;
        let per = directions.len();
        let mut columns = self.columns.iter().peekable();
        for (l, (at, blend)) in at.iter().zip(&self.blends).enumerate() {
            let columns = columns.next_if(|columns| columns.component == l);
            let Some(blend) = blend.as_ref().filter(|blend| blend.has_slopes()) else { continue };
            for (d, (out, direction)) in out[l * per..].iter_mut().zip(directions).enumerate() {
                *out = direction.power() * (at.ln_smaller + mean_ln_s);
                if blend.part == Part::Tail {
                    *out += direction.private[usize::from(at.tau < 0.0)] * at.tau.abs();
                }
                if let Some(columns) = columns {
                    let slopes = &blend.entries(1 + d)[columns.base..];
                    let weights = blend.weights;
                    let sum = SumSlope { terms, phases, points, columns, weights, slopes, column };
                    *out += run(self.arch, sum) / line.sum;
                } else {
                    let [constant, slope] = blend.series(1 + d);
                    *out += constant + slope * argument(at, blend).0 * mean_s;
                }
            }
        }
    }
}

/// The argument of the columns of a component over s, which is M or L, and its logarithm.
fn argument(at: &At, blend: &Blend<'_>) -> (f64, f64) {
    if blend.part == Part::Tail {
        (at.smaller * (1.0 + at.excess), at.ln_smaller + at.tau.abs())
    } else {
        (at.smaller, at.ln_smaller)
    }
}

/// The distances below and above the mode, in ln s, at which a gamma density of this shape falls to e^−cut.
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
