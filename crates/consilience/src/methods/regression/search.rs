//! Newton's method for several regressions at once: every pass over the items serves all of them.

use nalgebra::{DMatrix, DVector};

use super::blocks::{Blocks, ItemBlock};
use super::class_columns::Work;
use crate::error::Result;
use crate::math::aligned::AlignedBuffer;
use crate::math::columns::{set_products, softmax};
use crate::progress::Progress;
use crate::sampling::constants::{
    LEAST_INCREASE, LONGEST_STEP, MAX_NEWTON_STEPS, SHORTEST_STEP, SMALL_INCREASE,
};
use crate::sampling::factorise;

/// Independent normal priors of a regression's parameters.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::methods) struct Prior {
    pub(in crate::methods) means: Vec<f64>,
    /// 1/σ².
    pub(in crate::methods) precisions: Vec<f64>,
}

/// Sums over items: the log posterior with its gradient and negative Hessian.
#[derive(Debug, Clone)]
pub(in crate::methods) struct Sums {
    pub(in crate::methods) value: f64,
    pub(in crate::methods) gradient: Vec<f64>,
    /// While it is summed, the part from which `complete` makes the rest; empty if it is not wanted.
    pub(in crate::methods) curvature: DMatrix<f64>,
}

/// Room for one block's computations.
#[derive(Debug, Default)]
pub(in crate::methods) struct Room {
    /// A regression's own features, if it must compute them.
    pub(in crate::methods) features: AlignedBuffer,
    pub(in crate::methods) work: Work,
}

/// A regression of labels on features. Item i of class t has a linear predictor U for every class, and
///
/// ```text
/// ln p(θ) = Σᵢ wᵢ ln softmax(o + U)ₜ − ½ Σₚ (θₚ − μₚ)² / σₚ²
/// ```
///
/// with a fixed offset o, one number per class.
pub(in crate::methods) trait Regression: Sync {
    /// The prior; its length is the number of parameters.
    fn prior(&self) -> &Prior;

    /// Writes U of a block to `room.work.predictors`, J columns.
    fn predict(&self, theta: &[f64], block: &ItemBlock, room: &mut Room);

    /// Adds a block's part of the gradient and, unless it is empty, of the part of the curvature that `complete`
    /// needs; called after `predict`, with probabilities and residuals in `room.work`.
    fn add_derivatives(&self, theta: &[f64], block: &ItemBlock, room: &mut Room, sums: &mut Sums);

    /// Completes the sum of all curvatures; by default it is taken to be the lower triangle.
    fn complete(&self, curvature: &mut DMatrix<f64>) {
        curvature.fill_upper_triangle_with_lower_triangle();
    }
}

impl Prior {
    /// Number of parameters.
    pub(in crate::methods) fn len(&self) -> usize {
        self.means.len()
    }

    fn add_to(&self, theta: &[f64], sums: &mut Sums) {
        for (p, (mean, precision)) in self.means.iter().zip(&self.precisions).enumerate() {
            let off = theta[p] - mean;
            sums.gradient[p] -= precision * off;
            sums.value -= 0.5 * precision * off * off;
            if !sums.curvature.is_empty() {
                sums.curvature[(p, p)] += precision;
            }
        }
    }
}

impl Sums {
    fn new(n: usize, with_curvature: bool) -> Self {
        let width = if with_curvature { n } else { 0 };
        Self { value: 0.0, gradient: vec![0.0; n], curvature: DMatrix::zeros(width, width) }
    }

    fn merge(&mut self, other: &Self) {
        self.value += other.value;
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(sum, g)| *sum += g);
        self.curvature += &other.curvature;
    }
}

/// Writes o + U, its softmax and the logarithms of the normalising sums of a block to the room.
pub(in crate::methods) fn probabilities(
    regression: &dyn Regression,
    (theta, offsets): (&[f64], &[f64]),
    block: &ItemBlock,
    room: &mut Room,
) {
    let (j, stride) = (offsets.len(), block.stride);
    room.work.predictors.resize(j * stride);
    room.work.probabilities.resize(j * stride);
    room.work.ln_totals.resize(stride);
    regression.predict(theta, block, room);
    let Work { predictors, probabilities, ln_totals, .. } = &mut room.work;
    for (predictor, offset) in predictors.chunks_exact_mut(stride).zip(offsets) {
        predictor.iter_mut().for_each(|u| *u += offset);
    }
    softmax(predictors, probabilities, ln_totals);
}

/// Adds a block to the log likelihood and its derivatives.
fn add_block(
    regression: &dyn Regression,
    (theta, offsets): (&[f64], &[f64]),
    block: &ItemBlock,
    room: &mut Room,
    sums: &mut Sums,
) {
    probabilities(regression, (theta, offsets), block, room);
    let stride = block.stride;
    let work = &mut room.work;
    work.residuals.resize(offsets.len() * stride);
    for (residuals, p) in
        work.residuals.chunks_exact_mut(stride).zip(work.probabilities.chunks_exact(stride))
    {
        set_products(residuals, p, &block.weights);
        residuals.iter_mut().for_each(|r| *r = -*r);
    }
    for (i, label) in block.labels.iter().enumerate() {
        let (place, weight) = (*label as usize * stride + i, block.weights[i]);
        sums.value += weight * (work.predictors[place] - work.ln_totals[i]);
        work.residuals[place] += weight;
    }
    regression.add_derivatives(theta, block, room, sums);
}

/// The log posteriors of several regressions, each at a point of its own, by one pass over the items.
pub(super) fn evaluate(
    blocks: &Blocks<'_>,
    offsets: &[f64],
    points: &[(&dyn Regression, &[f64])],
    with_curvature: bool,
    progress: &dyn Progress,
) -> Result<Vec<Sums>> {
    let lengths = || points.iter().map(|(regression, _)| regression.prior().len());
    let size = lengths().map(|n| if with_curvature { n * n } else { n }).sum();
    let new = || {
        let sums: Vec<Sums> = lengths().map(|n| Sums::new(n, with_curvature)).collect();
        (sums, Room::default())
    };
    let pieces = blocks.pieces(size, progress, new, |block, (sums, room)| {
        for ((regression, theta), sums) in points.iter().zip(sums) {
            add_block(*regression, (theta, offsets), block, room, sums);
        }
    })?;
    let mut pieces = pieces.into_iter().map(|(sums, _)| sums);
    let mut total = pieces.next().unwrap_or_default();
    for piece in pieces {
        total.iter_mut().zip(&piece).for_each(|(sum, own)| sum.merge(own));
    }
    for (sums, (regression, theta)) in total.iter_mut().zip(points) {
        if with_curvature {
            regression.complete(&mut sums.curvature);
        }
        regression.prior().add_to(theta, sums);
    }
    Ok(total)
}

/// The most probable parameters of a regression, and whether the search ended there.
#[derive(Debug)]
pub(in crate::methods) struct Fitted {
    pub(in crate::methods) theta: Vec<f64>,
    pub(in crate::methods) converged: bool,
}

/// The negative Hessians of several log posteriors, each at a point of its own.
pub(in crate::methods) fn curvatures(
    blocks: &Blocks<'_>,
    offsets: &[f64],
    points: &[(&dyn Regression, &[f64])],
    progress: &dyn Progress,
) -> Result<Vec<DMatrix<f64>>> {
    let sums = evaluate(blocks, offsets, points, true, progress)?;
    Ok(sums.into_iter().map(|sums| sums.curvature).collect())
}

/// The search of one regression: the damped Newton method of `sampling::search_mode`, in steps.
struct Search<'a> {
    regression: &'a dyn Regression,
    point: Vec<f64>,
    value: f64,
    direction: DVector<f64>,
    /// The increase that the direction predicts.
    slope: f64,
    /// The part of the direction that is tried next.
    length: f64,
    steps: usize,
    /// Whether the search has ended, and at the mode.
    ended: Option<bool>,
}

impl<'a> Search<'a> {
    fn new(regression: &'a dyn Regression, start: Vec<f64>) -> Self {
        let direction = DVector::zeros(start.len());
        Self {
            regression,
            point: start,
            value: f64::NEG_INFINITY,
            direction,
            slope: 0.0,
            length: 0.0,
            steps: 0,
            ended: None,
        }
    }

    fn trial(&self) -> Vec<f64> {
        let moved = self.point.iter().zip(&self.direction);
        moved.map(|(x, d)| x + self.length * d).collect()
    }

    /// Takes the sums at the trial point: goes there, or tries half of the step.
    fn take(&mut self, sums: &Sums) {
        let value = if sums.value.is_finite() { sums.value } else { f64::NEG_INFINITY };
        if !(value >= self.value + LEAST_INCREASE * self.length * self.slope) {
            self.length *= 0.5;
            if !(self.length > SHORTEST_STEP) {
                self.ended = Some(false);
            }
            return;
        }
        (self.point, self.value) = (self.trial(), value);
        if self.steps == MAX_NEWTON_STEPS {
            self.ended = Some(false);
            return;
        }
        let gradient = DVector::from_column_slice(&sums.gradient);
        self.direction = factorise(&sums.curvature).solve(&gradient);
        let longest = self.direction.amax();
        if longest > LONGEST_STEP {
            self.direction *= LONGEST_STEP / longest;
        }
        self.slope = self.direction.dot(&gradient);
        (self.steps, self.length) = (self.steps + 1, 1.0);
        if self.slope <= SMALL_INCREASE * (1.0 + value.abs()) {
            self.point = self.trial();
            self.ended = Some(true);
        }
    }
}

/// With more items than this many times [`START_ITEMS`], the searches start at the modes for a part of the items.
const MANY_STARTS: usize = 4;
const START_ITEMS: usize = 4096;

/// The modes of several regressions, from these starts.
pub(in crate::methods) fn find_modes(
    blocks: &Blocks<'_>,
    offsets: &[f64],
    regressions: &[&dyn Regression],
    starts: Vec<Vec<f64>>,
    progress: &dyn Progress,
) -> Result<Vec<Fitted>> {
    let starts = if blocks.n_items() > MANY_STARTS * START_ITEMS {
        let part = blocks.every(blocks.n_items() / START_ITEMS, progress)?;
        let searches = search(&part, offsets, regressions, starts, progress)?;
        searches.into_iter().map(|search| search.point).collect()
    } else {
        starts
    };
    let searches = search(blocks, offsets, regressions, starts, progress)?;
    let fitted =
        |search: Search<'_>| Fitted { converged: search.ended == Some(true), theta: search.point };
    Ok(searches.into_iter().map(fitted).collect())
}

fn search<'a>(
    blocks: &Blocks<'_>,
    offsets: &[f64],
    regressions: &[&'a dyn Regression],
    starts: Vec<Vec<f64>>,
    progress: &dyn Progress,
) -> Result<Vec<Search<'a>>> {
    let mut searches: Vec<Search<'a>> =
        regressions.iter().zip(starts).map(|(own, start)| Search::new(*own, start)).collect();
    loop {
        let active: Vec<usize> =
            (0..searches.len()).filter(|s| searches[*s].ended.is_none()).collect();
        if active.is_empty() {
            return Ok(searches);
        }
        let trials: Vec<Vec<f64>> = active.iter().map(|s| searches[*s].trial()).collect();
        let points: Vec<_> =
            active.iter().zip(&trials).map(|(s, x)| (searches[*s].regression, &x[..])).collect();
        let sums = evaluate(blocks, offsets, &points, true, progress)?;
        active.into_iter().zip(&sums).for_each(|(s, sums)| searches[s].take(sums));
    }
}

#[cfg(test)]
pub(in crate::methods) mod tests {
    use super::super::{LogMoments, LogisticRegression};
    use super::*;
    use crate::methods::stacking::LogTable;
    use crate::progress::NoProgress;
    use crate::simulation::Preset;

    /// Checks value, gradient and curvature against differences.
    pub(in crate::methods) fn check_derivatives(
        regression: &dyn Regression,
        (blocks, offsets): (&Blocks<'_>, &[f64]),
        point: &[f64],
        curvature_is_exact: bool,
    ) {
        let at = |p: usize, shift: f64, with_curvature: bool| {
            let mut moved = point.to_vec();
            moved[p] += shift;
            let points: [(&dyn Regression, &[f64]); 1] = [(regression, &moved)];
            evaluate(blocks, offsets, &points, with_curvature, &NoProgress).unwrap().remove(0)
        };
        let here = at(0, 0.0, true);
        let scale = here.curvature.amax();
        for p in 0..point.len() {
            let (up, down) = (at(p, 1e-5, false), at(p, -1e-5, false));
            let slope = (up.value - down.value) / 2e-5;
            assert!((slope - here.gradient[p]).abs() < 1e-7 * scale, "gradient {p}");
            for q in (0..point.len()).filter(|_| curvature_is_exact) {
                let hessian = (up.gradient[q] - down.gradient[q]) / 2e-5;
                let found = here.curvature[(p, q)];
                assert!((hessian + found).abs() < 1e-7 * scale, "curvature {p} {q}");
            }
        }
    }

    #[test]
    fn derivatives_of_the_logistic_regression_agree_with_differences() {
        let outputs = Preset::Sim2.truth(0.5).unwrap().simulate(130, 1).unwrap();
        let weights: Vec<f64> = (0..outputs.n_items()).map(|i| 0.5 + (i % 3) as f64).collect();
        let outputs = outputs.with_weights(&weights).unwrap();
        let table = LogTable::new(&outputs, &outputs, &NoProgress).unwrap();
        let blocks = Blocks::new(&table, 1, &NoProgress).unwrap();
        let moments = LogMoments::of(&blocks, &NoProgress).unwrap();
        let regression = LogisticRegression::new(moments, 3, 0.8);
        let n = regression.prior().len();
        let point: Vec<f64> = (0..n).map(|i| (i as f64 * 1.7).sin()).collect();
        let offsets = [-0.3, 0.4, 0.1];
        check_derivatives(&regression, (&blocks, &offsets), &point, true);
        // All ways to the mode end at the same point.
        let newton = regression.fit(&blocks, &offsets, &NoProgress).unwrap();
        let other = regression.search(&blocks, &offsets, (&point, None), &NoProgress).unwrap();
        assert!(newton.converged && other.converged);
        let pairs = newton.theta.iter().zip(&other.theta);
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-4), "{pairs:?}");
    }

    /// A table with many items is searched from the mode of a part of it, and added up in pieces.
    #[test]
    fn many_items_have_the_mode_of_their_copies() {
        let outputs = Preset::Sim2.truth(0.5).unwrap().simulate(300, 1).unwrap();
        let n = outputs.n_items();
        let copies: Vec<usize> = (0..20 * n).map(|i| i % n).collect();
        let (copied, weighted) =
            (outputs.select_items(&copies), outputs.with_weights(&vec![20.0; n]).unwrap());
        let fitted = [copied, weighted].map(|outputs| {
            let table = LogTable::new(&outputs, &outputs, &NoProgress).unwrap();
            let blocks = Blocks::new(&table, 1, &NoProgress).unwrap();
            let moments = LogMoments::of(&blocks, &NoProgress).unwrap();
            let regression = LogisticRegression::new(moments, 3, 1.0);
            regression.fit(&blocks, &[0.0; 3], &NoProgress).unwrap()
        });
        let [many, few] = fitted;
        assert!(many.converged && few.converged);
        let pairs = many.theta.iter().zip(&few.theta);
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-9), "{pairs:?}");
    }
}
