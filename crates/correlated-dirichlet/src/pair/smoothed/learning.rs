//! The density at a finite resolution for many items at once, to the accuracy that learning needs.
//!
//! It reads the same tables as [`PairDensity`](crate::pair::PairDensity), with two or three times the spacing and with slopes in δ. The
//! density of an item is a sum over ratios of the totals that are fixed beforehand ([`RatioNodes`]), so that it is a smooth
//! function of δ.
//!
//! # Numerics
//! The nodes are those of a trapezoid rule, denser around ties if that needs fewer nodes. M has a corner at τ = 0, which
//! causes an error of about 4e-3 per item. Its sign depends on where the corner lies between two nodes, so that the errors
//! of many items cancel.

use pulp::Arch;

use super::constants::{
    Grain, LEARNING, LEARNING_ACCURACY, LEARNING_CUT, LEARNING_KINK_ERROR, LEARNING_SLOPE_CUT,
    LEARNING_STEP, MAX_RATIOS, ROUGH,
};
use super::nodes::{Cluster, Node, RatioNodes};
use super::scale::{Buffers, ScaleConfig, ScaleIntegral, ScaleIntegrals};
use super::step_in_ln_s;
use super::table::{Direction, TableConfig, Tables};
use crate::pair::accuracy::Accuracy;
use crate::pair::component::{self, Component};
use crate::pair::exact::kinks;
use crate::pair::four_lanes;
use crate::pair::item::OutputPair;
use crate::pair::laplace::{self, Mode, Share};
use crate::{Error, Result};
use consilience_numerics::parallel;

/// The log density of many items under one true class, with derivatives in δ, for learning δ.
///
/// The density is that of [`PairDensity::with_resolution`](crate::pair::PairDensity::with_resolution), with an error of about
/// 4e-3 per item for shapes of about 10, less for smaller ones (2e-2 at most in the tests) in place of a tolerance, and without an error estimate. It is smooth in δ as long
/// as the nodes of the items are kept.
///
/// # Example
/// ```
/// use correlated_dirichlet::pair::{LearningDensity, LearningScratch};
///
/// let (alpha1, alpha2) = ([3.0, 2.0, 2.0], [2.0, 4.0, 3.0]);
/// let (x1, x2) = ([0.5, 0.3, 0.2], [0.2, 0.45, 0.35]);
/// let density = LearningDensity::new([&alpha1, &alpha2], &[1.5, 0.7, 1.2], 0.03, true)?;
/// let mut scratch = LearningScratch::default();
/// let nodes = density.nodes(&x1, &x2, &mut scratch);
/// let mut gradient = [0.0; 3];
/// let ln_density = density.ln_density(&x1, &x2, &nodes, &mut scratch, &mut gradient);
/// assert!((ln_density - 3.774_862).abs() < 2e-3);
/// # Ok::<(), correlated_dirichlet::Error>(())
/// ```
#[derive(Debug)]
pub struct LearningDensity {
    shapes: LearningShapes,
    tables: Tables,
    /// δ, if the tables have slopes.
    directions: &'static [Direction],
    power: f64,
    arch: Arch,
}

/// The shapes of a [`LearningDensity`] without its tables, which place the nodes of items.
#[derive(Debug, Clone)]
pub struct LearningShapes {
    components: Vec<Component>,
    epsilon: f64,
}

/// Buffers of one thread.
#[derive(Debug, Clone, Default)]
pub struct LearningScratch {
    shares: Vec<Share>,
    outputs: Vec<OutputPair>,
    buffers: Buffers,
    /// Derivatives at one ratio, and their weighted sums.
    slopes: Vec<f64>,
    sums: Vec<f64>,
}

impl LearningDensity {
    /// Makes the tables for α¹, α² and δ at the resolution ε > 0, with derivatives in δ or without.
    ///
    /// # Errors
    /// For parameters outside their range, and if the tables would take more than 4 s or 500 MB.
    pub fn new(alpha: [&[f64]; 2], delta: &[f64], epsilon: f64, with_slopes: bool) -> Result<Self> {
        Self::with_grain(alpha, delta, epsilon, (LEARNING, with_slopes))
    }

    /// The same from tables that take half the time: their relative error is up to 2e-2 per component.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn rough(
        alpha: [&[f64]; 2],
        delta: &[f64],
        epsilon: f64,
        with_slopes: bool,
    ) -> Result<Self> {
        Self::with_grain(alpha, delta, epsilon, (ROUGH, with_slopes))
    }

    fn with_grain(
        alpha: [&[f64]; 2],
        delta: &[f64],
        epsilon: f64,
        (grain, with_slopes): (Grain, bool),
    ) -> Result<Self> {
        let shapes = LearningShapes::new(alpha, delta, epsilon)?;
        let components = &shapes.components;
        let arch = four_lanes();
        let directions: &[Direction] = if with_slopes { &[Direction::DELTA] } else { &[] };
        let config = TableConfig { arch, epsilon, grain, directions };
        let tables = Tables::new(&config, components, |n, table| parallel::map(n, table));
        let tables = tables.ok_or_else(|| {
            let largest = alpha.concat().into_iter().fold(0.0, f64::max);
            let requirement = "small enough for tables at this resolution";
            Error::parameter("alpha", requirement, format!("{largest} at {epsilon}"))
        })?;
        let power = components.iter().map(Component::power).sum();
        Ok(Self { shapes, tables, directions, power, arch })
    }

    /// Nodes for one item, see [`LearningShapes::nodes`].
    pub fn nodes(&self, x1: &[f64], x2: &[f64], scratch: &mut LearningScratch) -> RatioNodes {
        self.shapes.nodes(x1, x2, scratch)
    }

    /// ln f(x¹, x²); writes its derivatives in δ, or 0 if the tables have none.
    pub fn ln_density(
        &self,
        x1: &[f64],
        x2: &[f64],
        nodes: &RatioNodes,
        scratch: &mut LearningScratch,
        gradient: &mut [f64],
    ) -> f64 {
        let LearningShapes { components, epsilon } = &self.shapes;
        let mode = laplace::find(components, x1, x2, &mut scratch.shares);
        let LearningScratch { outputs, buffers, slopes, sums, .. } = scratch;
        outputs.clear();
        outputs.extend(x1.iter().zip(x2).map(|(&a, &b)| OutputPair::new(a, b)));
        for list in [&mut *slopes, &mut *sums] {
            list.clear();
            list.resize(components.len(), 0.0);
        }
        let accuracy = Accuracy::new(LEARNING_ACCURACY);
        let config = ScaleConfig {
            arch: self.arch,
            tables: &self.tables,
            components,
            epsilon: *epsilon,
            power: self.power,
            cut: LEARNING_CUT,
            onset: accuracy.onset,
        };
        let mut scales = ScaleIntegrals::new(&config, outputs, buffers);
        let shape = mode.precision_s.min(self.power);
        scales.fit(shape, step_in_ln_s(shape, accuracy.target_s));
        let directions = self.directions;
        let mut sum = RatioSum {
            scales,
            directions,
            mode,
            nodes,
            largest: f64::NEG_INFINITY,
            total: 0.0,
            with_slopes: 0.0,
            slopes,
            sums,
        };
        sum.both_ways(kinks::smaller_total(components));
        let (total, with_slopes, largest) = (sum.total, sum.with_slopes, sum.largest);
        for (out, weighted) in gradient.iter_mut().zip(&*sums) {
            *out = if with_slopes > 0.0 { weighted / with_slopes } else { 0.0 };
        }
        largest + total.ln()
    }
}

impl LearningShapes {
    /// Checks α¹, α² and δ at the resolution ε > 0.
    pub fn new(alpha: [&[f64]; 2], delta: &[f64], epsilon: f64) -> Result<Self> {
        let components = component::components(alpha[0], alpha[1], delta)?;
        Ok(Self { components, epsilon })
    }

    /// Nodes for one item, for these parameters and others near them.
    pub fn nodes(&self, x1: &[f64], x2: &[f64], scratch: &mut LearningScratch) -> RatioNodes {
        let mode = laplace::find(&self.components, x1, x2, &mut scratch.shares);
        let sd_y = mode.sd_y;
        let coarse = LEARNING_STEP * sd_y / (1.0 + 0.6 * sd_y * sd_y).sqrt();
        let n = self.components.len() as f64;
        let fine = coarse.min(self.epsilon * (1.5 / n.sqrt()).min(1.0));
        let total = kinks::smaller_total(&self.components);
        let mut clusters = Vec::new();
        let (mut low, mut high) = reach(&mode, total);
        for (c, (&a, &b)) in self.components.iter().zip(x1.iter().zip(x2)) {
            let power = c.kink_power() + 1.0;
            let kink = OutputPair::new(a, b).kink;
            let step = if c.is_rigid() || c.is_independent() || power < 0.5 {
                if kinks::tail(kink, &mode, total) < LEARNING_CUT { fine } else { coarse }
            } else {
                let ln_error = kinks::ln_error(c, b, kink, &mode, coarse, total);
                coarse * ((LEARNING_KINK_ERROR.ln() - ln_error) / power).exp()
            };
            if step < coarse {
                clusters.push(Cluster::new(kink, step.max(fine)));
                (low, high) = (low.min(kink - coarse), high.max(kink + coarse));
            }
        }
        RatioNodes::new(coarse, clusters, (low, high))
    }
}

/// The sum over the nodes of one item.
struct RatioSum<'a> {
    scales: ScaleIntegrals<'a>,
    directions: &'static [Direction],
    mode: Mode,
    nodes: &'a RatioNodes,
    /// ln of the largest integral over the scale, relative to which the sums are stored.
    largest: f64,
    total: f64,
    /// The part of the sum whose derivatives are known.
    with_slopes: f64,
    slopes: &'a mut [f64],
    sums: &'a mut [f64],
}

impl RatioSum<'_> {
    /// Sums from the node nearest to the mode in both directions, until the terms are negligible and no relevant tie is ahead.
    fn both_ways(&mut self, smaller_total: f64) {
        let kinks = self.scales.outputs.iter().map(|outputs| outputs.kink);
        let mut near: Vec<f64> = kinks
            .filter(|&kink| kinks::tail(kink, &self.mode, smaller_total) < LEARNING_CUT)
            .collect();
        near.sort_unstable_by(f64::total_cmp);
        near.dedup();
        let middle = self.nodes.nearest(self.mode.y);
        let first = self.nodes.node(middle, self.mode.y);
        let start = self.add(first, self.mode.ln_s).map_or(self.mode.ln_s, |line| line.ln_s);
        for direction in [1, -1] {
            let (mut ln_s, mut y) = (start, first.y);
            for k in 1..MAX_RATIOS {
                let node = self.nodes.node(middle + direction * k, y);
                let line = self.add(node, ln_s + self.mode.slope * (node.y - y));
                ln_s = line.map_or(ln_s + self.mode.slope * (node.y - y), |line| line.ln_s);
                y = node.y;
                let ahead = |kink: f64| (kink - y) * direction as f64 > 0.0;
                if line.is_none_or(|line| line.ln_value < self.largest - LEARNING_CUT) {
                    near.retain(|&kink| !ahead(kink) || self.matters(kink, (y, ln_s)));
                    if !near.iter().any(|&kink| ahead(kink)) {
                        break;
                    }
                }
            }
        }
    }

    /// Whether the integrand at a tie is not negligible, given a node and ln s of its largest term.
    fn matters(&mut self, kink: f64, (y, ln_s): (f64, f64)) -> bool {
        let line = self.scales.evaluate(kink, ln_s + self.mode.slope * (kink - y));
        line.is_some_and(|line| line.ln_value > self.largest - LEARNING_CUT)
    }

    /// Adds a node; returns its integral over the scale.
    fn add(&mut self, node: Node, ln_s: f64) -> Option<ScaleIntegral> {
        let line = self.scales.evaluate(node.y, ln_s)?;
        if line.ln_value > self.largest {
            let factor = (self.largest - line.ln_value).exp();
            self.total *= factor;
            self.with_slopes *= factor;
            self.sums.iter_mut().for_each(|sum| *sum *= factor);
            self.largest = line.ln_value;
        } else if line.ln_value < self.largest - LEARNING_CUT {
            return Some(line);
        }
        let share = node.weight * (line.ln_value - self.largest).exp();
        self.total += share;
        let counts = line.ln_value > self.largest - LEARNING_SLOPE_CUT;
        if counts && !self.directions.is_empty() {
            self.with_slopes += share;
            self.scales.slopes(&line, self.directions, self.slopes);
            self.sums.iter_mut().zip(&*self.slopes).for_each(|(sum, slope)| *sum += share * slope);
        }
        Some(line)
    }
}

/// The range of y in which the integrand may exceed e^−[`LEARNING_CUT`] of its maximum (see [`kinks::tail`]).
fn reach(mode: &Mode, total: f64) -> (f64, f64) {
    let gaussian = (LEARNING_CUT / 0.35).sqrt() * mode.sd_y;
    let exponential = 2.0 * mode.sd_y + LEARNING_CUT / (0.7 * total);
    let reach = gaussian.max(exponential);
    (mode.y - reach, mode.y + reach)
}
