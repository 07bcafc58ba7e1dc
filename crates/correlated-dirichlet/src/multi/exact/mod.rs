//! The density of three and more classifiers: importance sampling at scrambled Sobol points.
//!
//! The integral over totals and shared gammas is taken in coordinates without boundaries ([`coordinates`]). Each
//! coordinate is a function of one normal variable ([`axis_map`]), fitted to the integrand's profile along its axis and
//! corrected by pilot runs ([`pilot`]); [`integrand`] evaluates 64 points at a time.

mod axis_map;
mod coordinates;
pub(super) mod importance_points;
mod integrand;
mod pilot;

use pulp::{Arch, Simd, WithSimd};

use super::Goal;
use super::constants::{
    BATCH, FIRST_POINTS, MAX_SOBOL_POINTS, PILOT_SUFFICES, PROFILE_NODES, REPLICATES,
    REWEIGHT_WITHOUT_PILOT, WIDEST_PROFILE,
};
use super::group::Group;
use super::mode::IntegrandMode;
use super::replicates::Replicates;
use super::sobol::{BatchIndex, SobolCache};
use crate::Estimate;
use axis_map::AxisMap;
use consilience_numerics::instructions::instructions;
use consilience_numerics::special::ln_gamma;
use coordinates::Coordinates;
use importance_points::ImportancePoints;
use integrand::{IntegrandBatch, IntegrandBuffers};
use pilot::{Corrections, Pilot};

/// The map from standard normal variables to points of the integral.
#[derive(Debug)]
struct PointMap {
    coordinates: Coordinates,
    axis_maps: Vec<AxisMap>,
    corrections: Corrections,
}

/// Maps a batch of normal variables to innovations, with their slopes. (A closure would be compiled for the baseline
/// instruction set.)
struct MapBatch<'a> {
    map: &'a PointMap,
    innovations: &'a mut [f64],
    slopes: &'a mut [f64],
    products: &'a mut Vec<f64>,
}

impl WithSimd for MapBatch<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.map.corrections.apply(self.innovations, self.products);
        let batches =
            self.innovations.chunks_exact_mut(BATCH).zip(self.slopes.chunks_exact_mut(BATCH));
        for (axis_map, (t, slope)) in self.map.axis_maps.iter().zip(batches) {
            axis_map.apply(simd, t, slope);
        }
    }
}

/// An integral while points are being added.
///
/// Every stage begins with a pilot run. If the pilot shows that the map is good enough, its points are kept and more
/// are added; otherwise the map is corrected by the pilot's weights and the next stage begins.
#[derive(Debug)]
pub(super) struct ExactRun {
    map: PointMap,
    stage: usize,
    pub(super) replicates: Replicates,
}

impl ExactRun {
    /// Whether the map may still be corrected by the weights so far.
    pub(super) fn is_pilot(&self) -> bool {
        self.replicates.len() == FIRST_POINTS && self.stage + 1 < PILOT_SUFFICES.len()
    }

    /// Whether correcting the map is worth its cost.
    pub(super) fn should_learn(&self) -> bool {
        self.is_pilot() && self.replicates.effective() < PILOT_SUFFICES[self.stage]
    }

    /// Whether adding points would exceed the largest number allowed.
    pub(super) fn is_long(&self, goal: &Goal) -> bool {
        next_length(self.replicates.len()) * REPLICATES > goal.max_points.min(MAX_SOBOL_POINTS)
    }
}

/// The next number of points per replicate: powers of two, where Sobol points are most even, and halfway between.
fn next_length(n: usize) -> usize {
    if n.is_power_of_two() { n + n / 2 } else { n / 3 * 4 }
}

/// Buffers that evaluations reuse.
#[derive(Debug, Default)]
pub(super) struct ExactScratch {
    points: SobolCache,
    buffers: IntegrandBuffers,
    innovations: Vec<f64>,
    slopes: Vec<f64>,
    products: Vec<f64>,
    ln_weights: Vec<f64>,
}

/// The density integral of one group of three or more classifiers.
#[derive(Debug, Clone)]
pub(super) struct ExactIntegral {
    group: Group,
    ln_constant: f64,
    arch: Arch,
}

impl ExactIntegral {
    pub(super) fn new(group: Group) -> Self {
        let ln_constant = group.ln_constant() + ln_gamma(group.total_shape());
        Self { ln_constant, group, arch: instructions() }
    }

    pub(super) fn smallest_private(&self) -> f64 {
        self.group.smallest_private()
    }

    /// ln f at `x[k][l]`, the outputs of the group's classifiers.
    pub(super) fn ln_density(
        &self,
        x: &[Vec<f64>],
        goal: &Goal,
        scratch: &mut ExactScratch,
    ) -> Estimate {
        let Some(mut run) = self.begin(x, goal, scratch) else { return Estimate::UNRESOLVED };
        while run.replicates.mean().1 > goal.tolerance && !run.is_long(goal) {
            if run.should_learn() {
                self.learn(&mut run, goal, scratch);
            } else {
                self.advance(&mut run, goal, scratch);
            }
        }
        self.finish(&mut run)
    }

    /// Constructs the map and evaluates the first points; `None` if there is no map.
    pub(super) fn begin(
        &self,
        x: &[Vec<f64>],
        goal: &Goal,
        scratch: &mut ExactScratch,
    ) -> Option<ExactRun> {
        let map = self.map(x, scratch)?;
        let mut run = ExactRun { map, stage: 0, replicates: Replicates::default() };
        self.extend(&mut run, FIRST_POINTS, goal, scratch);
        Some(run)
    }

    /// The map before any correction; `None` if the integrand's mode cannot be found, and with a private shape of 0,
    /// which confines the integral to a surface.
    fn map(&self, x: &[Vec<f64>], scratch: &mut ExactScratch) -> Option<PointMap> {
        if self.group.smallest_private() == 0.0 {
            return None;
        }
        let mode = IntegrandMode::find(&self.group, x)?;
        let coordinates = Coordinates::new(&self.group, x, &mode)?;
        let axis_maps = self.axis_maps(&coordinates, scratch);
        Some(PointMap { coordinates, axis_maps, corrections: Corrections::default() })
    }

    /// Corrects the map by the weights so far and begins the next stage.
    ///
    /// The weights are discarded: points that have shaped the map must not enter the average.
    pub(super) fn learn(&self, run: &mut ExactRun, goal: &Goal, scratch: &mut ExactScratch) {
        let n_totals = run.map.coordinates.totals.len();
        let points = scratch.points.of(goal.seed, goal.item, run.map.axis_maps.len());
        let (stage, replicates) = (run.stage, &run.replicates);
        run.map.corrections.learn(self.arch, Pilot { points, stage, replicates, n_totals });
        run.stage += 1;
        run.replicates.clear();
        self.extend(run, FIRST_POINTS, goal, scratch);
    }

    /// Adds points.
    pub(super) fn advance(&self, run: &mut ExactRun, goal: &Goal, scratch: &mut ExactScratch) {
        self.extend(run, next_length(run.replicates.len()), goal, scratch);
    }

    /// Weighted points of the integral at `x`, `n_batches` of [`BATCH`], that can be reweighted to neighbouring shared
    /// shapes.
    ///
    /// `None` if too few points carry the weight.
    pub(super) fn importance_points(
        &self,
        x: &[Vec<f64>],
        goal: &Goal,
        n_batches: usize,
        scratch: &mut ExactScratch,
    ) -> Option<ImportancePoints> {
        let map = self.map(x, scratch)?;
        let found = self.weigh_points(&map, 0, goal, n_batches, scratch);
        if found.as_ref().is_some_and(|found| found.effective() > REWEIGHT_WITHOUT_PILOT) {
            return found;
        }
        // Pilots cost several times as much as the points, so that only poor maps are corrected.
        let mut run = self.begin(x, goal, scratch)?;
        while run.should_learn() {
            self.learn(&mut run, goal, scratch);
        }
        self.weigh_points(&run.map, run.stage + 1, goal, n_batches, scratch)
    }

    fn weigh_points(
        &self,
        map: &PointMap,
        stage: usize,
        goal: &Goal,
        n_batches: usize,
        scratch: &mut ExactScratch,
    ) -> Option<ImportancePoints> {
        let n_shared = map.coordinates.n_shared();
        let mut points = ImportancePoints::new(n_shared, n_batches * BATCH);
        let mut features = vec![0.0; n_shared * BATCH];
        for i in 0..n_batches {
            let index = BatchIndex { stage, replicate: i % REPLICATES, batch: i / REPLICATES };
            self.evaluate(map, index, goal, scratch, &mut features);
            points.fill(i * BATCH, &scratch.ln_weights, &features);
        }
        points.finish(self.ln_constant(map))
    }

    /// The estimate from all points so far.
    pub(super) fn finish(&self, run: &mut ExactRun) -> Estimate {
        run.replicates.estimate(self.ln_constant(&run.map))
    }

    /// ln f estimated from all points so far.
    pub(super) fn ln_mean(&self, run: &ExactRun) -> f64 {
        run.replicates.mean().0 + self.ln_constant(&run.map)
    }

    /// The factor that all weights of a map have in common, with s^J of the total that is held fixed.
    fn ln_constant(&self, map: &PointMap) -> f64 {
        let fixed = map.coordinates.components.len() as f64 * map.coordinates.fixed.total.ln();
        self.ln_constant + fixed + map.corrections.ln_volume()
    }

    /// Evaluates all replicates up to a number of points.
    fn extend(&self, run: &mut ExactRun, length: usize, goal: &Goal, scratch: &mut ExactScratch) {
        let done = run.replicates.len() / BATCH;
        for replicate in 0..REPLICATES {
            for batch in done..length / BATCH {
                let index = BatchIndex { stage: run.stage, replicate, batch };
                self.evaluate(&run.map, index, goal, scratch, &mut []);
                run.replicates.push(replicate, &scratch.ln_weights);
            }
        }
    }

    /// Computes the log weights of a batch, in `scratch.ln_weights`, and its features (see [`IntegrandBatch`]).
    fn evaluate(
        &self,
        map: &PointMap,
        index: BatchIndex,
        goal: &Goal,
        scratch: &mut ExactScratch,
        features: &mut [f64],
    ) {
        let ExactScratch { points, buffers, innovations, slopes, products, ln_weights } = scratch;
        let points = points.of(goal.seed, goal.item, map.axis_maps.len());
        let ln_volume = points.normals(index, innovations);
        slopes.resize(innovations.len(), 1.0);
        self.arch.dispatch(MapBatch { map, innovations, slopes, products });
        let coordinates = &map.coordinates;
        let out = &mut *ln_weights;
        self.arch.dispatch(IntegrandBatch {
            coordinates,
            innovations,
            slopes,
            out,
            features,
            buffers,
        });
        ln_weights.iter_mut().zip(ln_volume).for_each(|(w, v)| *w += v);
    }

    /// The map of every innovation, from the integrand's profile along its axis with all other innovations at 0.
    fn axis_maps(&self, coordinates: &Coordinates, scratch: &mut ExactScratch) -> Vec<AxisMap> {
        let scales: Vec<f64> = coordinates.scales().map(|sd| sd.min(WIDEST_PROFILE)).collect();
        let size = scales.len() * BATCH;
        for (buffer, value) in [(&mut scratch.innovations, 0.0), (&mut scratch.slopes, 1.0)] {
            buffer.clear();
            buffer.resize(size, value);
        }
        scratch.ln_weights.resize(BATCH, 0.0);
        let mut axis_maps = Vec::with_capacity(scales.len());
        // A batch has room for the profiles of two axes.
        for axes in (0..scales.len()).collect::<Vec<_>>().chunks(BATCH / PROFILE_NODES) {
            for (slot, &axis) in axes.iter().enumerate() {
                for j in 0..PROFILE_NODES {
                    scratch.innovations[axis * BATCH + slot * PROFILE_NODES + j] =
                        scales[axis] * axis_map::node(j);
                }
            }
            self.arch.dispatch(IntegrandBatch {
                coordinates,
                innovations: &scratch.innovations,
                slopes: &scratch.slopes,
                out: &mut scratch.ln_weights,
                features: &mut [],
                buffers: &mut scratch.buffers,
            });
            for (slot, &axis) in axes.iter().enumerate() {
                let profile = std::array::from_fn(|j| scratch.ln_weights[slot * PROFILE_NODES + j]);
                axis_maps.push(AxisMap::from_profile(scales[axis], &profile));
                scratch.innovations[axis * BATCH..(axis + 1) * BATCH].fill(0.0);
            }
        }
        axis_maps
    }
}
