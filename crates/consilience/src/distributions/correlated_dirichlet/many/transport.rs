//! The exact density, ε = 0: smooth transport and randomised quasi-Monte Carlo.
//!
//! The integral over totals and shared gammas is taken in the coordinates of [`Chart`], every innovation drawn from a
//! [`Law`] fitted to the integrand's profile along its axis, at scrambled Sobol points.

use pulp::Arch;

use super::block::Block;
use super::centre::Centre;
use super::chart::Chart;
use super::kernel::{Batch, POINTS, Work};
use super::law::{self, Law, NODES};
use super::learned::Learned;
use super::points::{LONGEST, Points, REPLICATES, Which};
use super::replicates::Replicates;
use super::tilted::Tilted;
use super::{Estimate, Goal};
use crate::math::special::ln_gamma;

/// Points of a replicate to begin with.
const FIRST: usize = 128;

/// Private shapes of 0, which confine the integral to a surface, are raised to this, and the result is unresolved.
const SMALLEST: f64 = 1e-3;
/// Profiles are taken on scales of at most this. A gamma of small shape spreads ln D over hundreds, but all that bends its
/// profile happens within a few units of the wall; beyond, it is a straight line that is continued.
const WIDEST: f64 = 1.2;
/// By stage, the share of effective points that a pilot must have for the map to be kept; below, the map learns from the
/// pilot. Learning costs a pilot, so a second time must be worth more, and the last map is kept as it is.
const GOOD: [f64; 4] = [0.95, 0.6, 0.6, 0.0];

/// From normal variables to points of the integral.
struct Map {
    chart: Chart,
    laws: Vec<Law>,
    learned: Learned,
}

impl Map {
    fn learn(&mut self, stage: usize, scratch: &mut TransportScratch) {
        let n_totals = self.chart.totals.len();
        self.learned.learn(&mut scratch.points, stage, &scratch.replicates, n_totals);
    }
}

/// The next number of points: powers of two, where Sobol points are most even, and halfway between.
fn longer(n: usize) -> usize {
    if n.is_power_of_two() { n + n / 2 } else { n / 3 * 4 }
}

/// Memory that evaluations reuse.
#[derive(Debug, Default)]
pub(super) struct TransportScratch {
    points: Points,
    work: Work,
    innovations: Vec<f64>,
    slopes: Vec<f64>,
    products: Vec<f64>,
    out: Vec<f64>,
    replicates: Replicates,
}

/// The regime of ε = 0 for one block of classifiers.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    block: Block,
    ln_constant: f64,
    /// Private shapes of 0 were raised: whatever comes out is not the density.
    rigid: bool,
    arch: Arch,
}

impl Transport {
    pub(super) fn new(mut block: Block) -> Self {
        let rigid = block.raise_private(SMALLEST);
        let ln_constant = block.ln_constant() + ln_gamma(block.power());
        Self { ln_constant, block, rigid, arch: Arch::new() }
    }

    /// ln f at `x[k][l]`, the outputs of the block's classifiers.
    pub(super) fn ln_density(
        &self,
        x: &[Vec<f64>],
        goal: &Goal,
        scratch: &mut TransportScratch,
    ) -> Estimate {
        let centre = Centre::find(&self.block, x);
        let Some(chart) = centre.and_then(|centre| Chart::new(&self.block, x, &centre)) else {
            return Estimate::UNKNOWN;
        };
        let laws = self.laws(&chart, scratch);
        scratch.points.prepare(goal.seed, goal.item, laws.len());
        let mut map = Map { chart, laws, learned: Learned::default() };
        // Every stage begins with a pilot. Easy items end there; a map that is good enough is kept, another one learns
        // from the pilot's weights, which are then put aside: what has taught the map must not be averaged.
        let enough = goal.most_points.min(LONGEST);
        for (stage, good) in GOOD.into_iter().enumerate() {
            scratch.replicates.clear();
            let mut upto = FIRST;
            loop {
                self.extend(&map, stage, upto, scratch);
                let (_, error) = scratch.replicates.mean();
                let next = longer(upto);
                if error <= goal.tolerance || next * REPLICATES > enough {
                    return self.finish(&map, scratch);
                }
                if upto == FIRST && scratch.replicates.effective() < good {
                    map.learn(stage, scratch);
                    break;
                }
                upto = next;
            }
        }
        self.finish(&map, scratch)
    }

    /// Weighted points of the integral at `x`, `n_batches` of [`POINTS`], with features: they stand for the integral at
    /// shared shapes near the own ones as well. `None` where the weights do not allow it.
    pub(super) fn tilted(
        &self,
        x: &[Vec<f64>],
        seed: u64,
        n_batches: usize,
        scratch: &mut TransportScratch,
    ) -> Option<Tilted> {
        let centre = Centre::find(&self.block, x)?;
        let chart = Chart::new(&self.block, x, &centre)?;
        let laws = self.laws(&chart, scratch);
        scratch.points.prepare(seed, 0, laws.len());
        let mut map = Map { chart, laws, learned: Learned::default() };
        let mut stage = 0;
        for good in &GOOD[..GOOD.len() - 1] {
            scratch.replicates.clear();
            self.extend(&map, stage, FIRST, scratch);
            stage += 1;
            if scratch.replicates.effective() >= *good {
                break;
            }
            map.learn(stage - 1, scratch);
        }
        scratch.replicates.clear();
        let n_factors: usize = map.chart.classes.iter().map(|c| c.coordinates.len()).sum();
        let mut tilted = Tilted::new(n_factors, n_batches * POINTS);
        let mut features = vec![0.0; n_factors * POINTS];
        for i in 0..n_batches {
            let which = Which { stage, replicate: i % REPLICATES, batch: i / REPLICATES };
            self.evaluate(&map, which, scratch, &mut features);
            tilted.fill(i * POINTS, &scratch.out, &features);
        }
        let fixed = map.chart.classes.len() as f64 * map.chart.fixed.1.ln();
        tilted.finish(self.ln_constant + fixed + map.learned.ln_volume())
    }

    fn finish(&self, map: &Map, scratch: &mut TransportScratch) -> Estimate {
        let n_classes = map.chart.classes.len() as f64;
        // s^J of the total that is held fixed.
        let fixed = n_classes * map.chart.fixed.1.ln();
        let estimate =
            scratch.replicates.estimate(self.ln_constant + fixed + map.learned.ln_volume());
        if self.rigid {
            return Estimate { error: f64::INFINITY, resolved: false, ..estimate };
        }
        estimate
    }

    /// Evaluates all replicates up to a number of points.
    fn extend(&self, map: &Map, stage: usize, upto: usize, scratch: &mut TransportScratch) {
        let done = scratch.replicates.len() / POINTS;
        for replicate in 0..REPLICATES {
            for batch in done..upto / POINTS {
                self.evaluate(map, Which { stage, replicate, batch }, scratch, &mut []);
                scratch.replicates.push(replicate, &scratch.out);
            }
        }
    }

    /// Log weights of a batch, into `scratch.out`, and what the kernel calls features.
    fn evaluate(
        &self,
        map: &Map,
        which: Which,
        scratch: &mut TransportScratch,
        features: &mut [f64],
    ) {
        let TransportScratch { points, work, innovations, slopes, products, out, .. } = scratch;
        let ln_volume = points.normals(which, innovations);
        self.arch.dispatch(|| {
            map.learned.apply(innovations, products);
            let batches = innovations.chunks_exact_mut(POINTS).zip(slopes.chunks_exact_mut(POINTS));
            for (law, (t, slope)) in map.laws.iter().zip(batches) {
                for (t, slope) in t.iter_mut().zip(slope) {
                    (*t, *slope) = law.at(*t);
                }
            }
        });
        self.arch.dispatch(Batch { chart: &map.chart, innovations, slopes, out, features, work });
        out.iter_mut().zip(ln_volume).for_each(|(w, v)| *w += v);
    }

    /// Every innovation's law from the integrand's profile along its axis, all other innovations at 0.
    fn laws(&self, chart: &Chart, scratch: &mut TransportScratch) -> Vec<Law> {
        let scales: Vec<f64> = chart.scales().map(|sd| sd.min(WIDEST)).collect();
        let size = scales.len() * POINTS;
        for (buffer, value) in [(&mut scratch.innovations, 0.0), (&mut scratch.slopes, 1.0)] {
            buffer.clear();
            buffer.resize(size, value);
        }
        scratch.out.resize(POINTS, 0.0);
        let mut laws = Vec::with_capacity(scales.len());
        // Two axes at a time: a batch holds both profiles.
        for axes in (0..scales.len()).collect::<Vec<_>>().chunks(POINTS / NODES) {
            for (slot, &axis) in axes.iter().enumerate() {
                for j in 0..NODES {
                    scratch.innovations[axis * POINTS + slot * NODES + j] =
                        scales[axis] * law::node(j);
                }
            }
            self.arch.dispatch(Batch {
                chart,
                innovations: &scratch.innovations,
                slopes: &scratch.slopes,
                out: &mut scratch.out,
                features: &mut [],
                work: &mut scratch.work,
            });
            for (slot, &axis) in axes.iter().enumerate() {
                let profile = std::array::from_fn(|j| scratch.out[slot * NODES + j]);
                laws.push(Law::from_profile(scales[axis], &profile));
                scratch.innovations[axis * POINTS..(axis + 1) * POINTS].fill(0.0);
            }
        }
        laws
    }
}
