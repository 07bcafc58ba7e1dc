//! The exact density, ε = 0: smooth transport and randomised quasi-Monte Carlo.
//!
//! The integral over totals and shared gammas is taken in the coordinates of [`Chart`], every innovation drawn from a
//! [`Law`] fitted to the integrand's profile along its axis, at scrambled Sobol points.

use pulp::{Arch, Simd, WithSimd};

use super::block::Block;
use super::centre::Centre;
use super::chart::Chart;
use super::kernel::{Batch, POINTS, Work};
use super::law::{self, Law, NODES};
use super::learned::{Learned, Pilot};
use super::points::{LONGEST, PointSets, REPLICATES, Which};
use super::replicates::Replicates;
use super::tilted::Tilted;
use super::{Estimate, Goal};
use consilience_numerics::special::ln_gamma;

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

/// The share of effective points with which points for neighbouring shapes are taken from a map that has learned nothing.
const FAIR: f64 = 0.25;

/// From normal variables to points of the integral.
#[derive(Debug)]
struct Map {
    chart: Chart,
    laws: Vec<Law>,
    learned: Learned,
}

/// Turns a batch of normal variables into innovations, with their slopes. (A closure would be compiled for the least
/// instruction set.)
struct Mapping<'a> {
    map: &'a Map,
    innovations: &'a mut [f64],
    slopes: &'a mut [f64],
    products: &'a mut Vec<f64>,
}

impl WithSimd for Mapping<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.map.learned.apply(self.innovations, self.products);
        let batches =
            self.innovations.chunks_exact_mut(POINTS).zip(self.slopes.chunks_exact_mut(POINTS));
        for (law, (t, slope)) in self.map.laws.iter().zip(batches) {
            law.apply(simd, t, slope);
        }
    }
}

/// An integral under way.
///
/// Every stage begins with a pilot. A map that is good enough is kept; another one learns from the pilot's weights.
#[derive(Debug)]
pub(super) struct Run {
    map: Map,
    stage: usize,
    pub(super) replicates: Replicates,
}

impl Run {
    /// Whether the map may still learn from the weights so far.
    pub(super) fn is_pilot(&self) -> bool {
        self.replicates.len() == FIRST && self.stage + 1 < GOOD.len()
    }

    /// Whether they tell that it should.
    pub(super) fn should_learn(&self) -> bool {
        self.is_pilot() && self.replicates.effective() < GOOD[self.stage]
    }

    /// Whether no more points may be spent.
    pub(super) fn is_long(&self, goal: &Goal) -> bool {
        longer(self.replicates.len()) * REPLICATES > goal.most_points.min(LONGEST)
    }
}

/// The next number of points: powers of two, where Sobol points are most even, and halfway between.
fn longer(n: usize) -> usize {
    if n.is_power_of_two() { n + n / 2 } else { n / 3 * 4 }
}

/// Memory that evaluations reuse.
#[derive(Debug, Default)]
pub(super) struct TransportScratch {
    points: PointSets,
    work: Work,
    innovations: Vec<f64>,
    slopes: Vec<f64>,
    products: Vec<f64>,
    out: Vec<f64>,
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
        let Some(mut run) = self.begin(x, goal, scratch) else { return Estimate::UNKNOWN };
        while run.replicates.mean().1 > goal.tolerance && !run.is_long(goal) {
            if run.should_learn() {
                self.learn(&mut run, goal, scratch);
            } else {
                self.advance(&mut run, goal, scratch);
            }
        }
        self.finish(&mut run)
    }

    /// Prepares the map and evaluates the first points; `None` where the integrand has no centre.
    pub(super) fn begin(
        &self,
        x: &[Vec<f64>],
        goal: &Goal,
        scratch: &mut TransportScratch,
    ) -> Option<Run> {
        let map = self.map(x, scratch)?;
        let mut run = Run { map, stage: 0, replicates: Replicates::default() };
        self.extend(&mut run, FIRST, goal, scratch);
        Some(run)
    }

    /// The map before anything is learned.
    fn map(&self, x: &[Vec<f64>], scratch: &mut TransportScratch) -> Option<Map> {
        let centre = Centre::find(&self.block, x)?;
        let chart = Chart::new(&self.block, x, &centre)?;
        let laws = self.laws(&chart, scratch);
        Some(Map { chart, laws, learned: Learned::default() })
    }

    /// Corrects the map by the weights so far, which are then put aside (what has taught the map must not be averaged),
    /// and begins anew.
    pub(super) fn learn(&self, run: &mut Run, goal: &Goal, scratch: &mut TransportScratch) {
        let n_totals = run.map.chart.totals.len();
        let points = scratch.points.of(goal.seed, goal.item, run.map.laws.len());
        let (stage, replicates) = (run.stage, &run.replicates);
        run.map.learned.learn(self.arch, Pilot { points, stage, replicates, n_totals });
        run.stage += 1;
        run.replicates.clear();
        self.extend(run, FIRST, goal, scratch);
    }

    /// Adds points.
    pub(super) fn advance(&self, run: &mut Run, goal: &Goal, scratch: &mut TransportScratch) {
        self.extend(run, longer(run.replicates.len()), goal, scratch);
    }

    /// Weighted points of the integral at `x`, `n_batches` of [`POINTS`], with features: they stand for the integral at
    /// shared shapes near the own ones as well. `None` where the weights do not allow it.
    pub(super) fn tilted(
        &self,
        x: &[Vec<f64>],
        goal: &Goal,
        n_batches: usize,
        scratch: &mut TransportScratch,
    ) -> Option<Tilted> {
        let map = self.map(x, scratch)?;
        let found = self.tilted_by(&map, 0, goal, n_batches, scratch);
        if found.as_ref().is_some_and(|found| found.effective() > FAIR) {
            return found;
        }
        // Pilots cost several times what the points do: only poor maps learn.
        let mut run = self.begin(x, goal, scratch)?;
        while run.should_learn() {
            self.learn(&mut run, goal, scratch);
        }
        self.tilted_by(&run.map, run.stage + 1, goal, n_batches, scratch)
    }

    fn tilted_by(
        &self,
        map: &Map,
        stage: usize,
        goal: &Goal,
        n_batches: usize,
        scratch: &mut TransportScratch,
    ) -> Option<Tilted> {
        let n_factors: usize = map.chart.classes.iter().map(|c| c.coordinates.len()).sum();
        let mut tilted = Tilted::new(n_factors, n_batches * POINTS);
        let mut features = vec![0.0; n_factors * POINTS];
        for i in 0..n_batches {
            let which = Which { stage, replicate: i % REPLICATES, batch: i / REPLICATES };
            self.evaluate(map, which, goal, scratch, &mut features);
            tilted.fill(i * POINTS, &scratch.out, &features);
        }
        tilted.finish(self.ln_constant(map))
    }

    /// The estimate from all points so far.
    pub(super) fn finish(&self, run: &mut Run) -> Estimate {
        let estimate = run.replicates.estimate(self.ln_constant(&run.map));
        if self.rigid {
            return Estimate { error: f64::INFINITY, resolved: false, ..estimate };
        }
        estimate
    }

    /// ln f by all points so far.
    pub(super) fn ln_mean(&self, run: &Run) -> f64 {
        run.replicates.mean().0 + self.ln_constant(&run.map)
    }

    /// What all weights of a map have in common, with s^J of the total that is held fixed.
    fn ln_constant(&self, map: &Map) -> f64 {
        let fixed = map.chart.classes.len() as f64 * map.chart.fixed.1.ln();
        self.ln_constant + fixed + map.learned.ln_volume()
    }

    /// Evaluates all replicates up to a number of points.
    fn extend(&self, run: &mut Run, upto: usize, goal: &Goal, scratch: &mut TransportScratch) {
        let done = run.replicates.len() / POINTS;
        for replicate in 0..REPLICATES {
            for batch in done..upto / POINTS {
                let which = Which { stage: run.stage, replicate, batch };
                self.evaluate(&run.map, which, goal, scratch, &mut []);
                run.replicates.push(replicate, &scratch.out);
            }
        }
    }

    /// Log weights of a batch, into `scratch.out`, and what the kernel calls features.
    fn evaluate(
        &self,
        map: &Map,
        which: Which,
        goal: &Goal,
        scratch: &mut TransportScratch,
        features: &mut [f64],
    ) {
        let TransportScratch { points, work, innovations, slopes, products, out } = scratch;
        let points = points.of(goal.seed, goal.item, map.laws.len());
        let ln_volume = points.normals(which, innovations);
        slopes.resize(innovations.len(), 1.0);
        self.arch.dispatch(Mapping { map, innovations, slopes, products });
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
