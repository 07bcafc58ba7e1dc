//! The search for a mode: Newton's method with the scores' outer products for the curvature
//! (Berndt, Hall, Hall, Hausman, 1974), corrected by the last steps, damped so that every one goes up.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::delta_posterior::{DeltaPosterior, LocalExpansion};
use super::pair_likelihood::Evaluation;
use crate::error::Result;
use crate::progress::Progress;

/// Predicted rise at which the search ends: a few thousandths of a standard deviation.
const SMALL_RISE: f64 = 2e-5;
/// So many steps that gain less than this together end it, too.
const STAGNANT: usize = 4;
const SMALL_GAIN: f64 = 1e-3;
/// A predicted rise a coordinate at which a search ends that will be repeated from there.
const ROUGH_RISE: f64 = 1e-3;
/// A predicted rise a coordinate, a thirtieth of a standard deviation each, below which a step that fails is not shortened
/// again and again: there the grids' own errors decide what is up.
const BLURRED_RISE: f64 = 5e-4;
/// How often such a step is tried, and any other.
const TRIES: [usize; 2] = [2, 10];
/// Steps at the most.
const MAX_STEPS: usize = 40;
/// Steps remembered.
const SECANTS: usize = 8;
/// How much of the curvature the scores may have missed.
const LARGEST_SHORTFALL: f64 = 10.0;
/// Longest step of a coordinate.
const LONGEST: f64 = 2.0;
/// A move beyond which the items' lattices are laid anew.
const MOVED: f64 = 0.6;
/// η of the further starts: shares δ/b of 0.02 and 0.98.
const OTHER_STARTS: [f64; 2] = [-3.9, 3.9];
/// Items of a class that explore from there.
const RESTART_ITEMS: usize = 80;
/// Items of a class that go ahead, a few and then more, where there are several times as many.
const PRELIMINARY_ITEMS: [usize; 2] = [50, 160];
/// So many times.
const MANY: usize = 3;
/// A mode this much lower holds no mass worth a word.
const NEGLIGIBLE_MODE: f64 = 8.0;

/// A mode with the curvature there.
#[derive(Debug, Clone)]
pub(super) struct PosteriorMode {
    pub(super) point: Vec<f64>,
    pub(super) value: f64,
    pub(super) curvature: Cholesky<f64, Dyn>,
    pub(super) converged: bool,
}

/// The best mode found from all starts, and how far another one is from it in height, if any.
///
/// Further starts ascend with some of the items first; only where that leads elsewhere, and not far below,
/// all count.
/// With `quick` there is one of them, the farther one.
pub(super) fn search_mode(
    posterior: &mut DeltaPosterior,
    quick: bool,
    progress: &dyn Progress,
) -> Result<(PosteriorMode, Option<f64>)> {
    let start = preliminary_mode(posterior, progress)?;
    let mut best = ascend_anchored(posterior, start, progress)?;
    let mut other = None;
    for start in other_starts(posterior, &best, quick) {
        let mut rough = posterior.thinned(RESTART_ITEMS);
        rough.anchor(&best.point)?;
        let height = SearchPoint::new(&rough, best.point.clone())?.local.value;
        rough.anchor(&start)?;
        let top = ascend(&rough, start, End::Near(&best), progress)?;
        let hopeless = height - top.value > NEGLIGIBLE_MODE * (1.0 + rough.heaviest());
        if hopeless || near(&best, &top.point, rough.heaviest()) {
            continue;
        }
        let top = ascend_anchored(posterior, top.point, progress)?;
        if near(&best, &top.point, 1.0) || near(&top, &best.point, 1.0) {
            continue;
        }
        let gap = (best.value - top.value).abs();
        if gap < NEGLIGIBLE_MODE {
            other = Some(other.map_or(gap, |old: f64| old.min(gap)));
        }
        if top.value > best.value {
            best = top;
        }
    }
    posterior.anchor(&best.point)?;
    Ok((best, other))
}

/// Where the search of all items begins: with many of them, at the mode of a part, which costs a
/// fraction and leaves the others a step or two.
fn preliminary_mode(posterior: &DeltaPosterior, progress: &dyn Progress) -> Result<Vec<f64>> {
    let mut start = posterior.start();
    for wanted in PRELIMINARY_ITEMS {
        if posterior.classes.iter().any(|class| class.n_items() >= MANY * wanted) {
            let mut some = posterior.thinned(wanted);
            start = ascend_anchored(&mut some, start, progress)?.point;
        }
    }
    Ok(start)
}

/// Starts near both ends, the farther from the mode first.
fn other_starts(posterior: &DeltaPosterior, best: &PosteriorMode, quick: bool) -> Vec<Vec<f64>> {
    let mean = best.point[..posterior.n_eta()].iter().sum::<f64>() / posterior.n_eta() as f64;
    let mut starts = OTHER_STARTS;
    starts.sort_by(|a, b| (b - mean).abs().total_cmp(&(a - mean).abs()));
    let chosen = if quick { &starts[..1] } else { &starts[..] };
    chosen.iter().map(|eta| posterior.complete(vec![*eta; posterior.n_eta()])).collect()
}

/// Climbs, lays the lattices anew where that led far away, and climbs again.
fn ascend_anchored(
    posterior: &mut DeltaPosterior,
    mut start: Vec<f64>,
    progress: &dyn Progress,
) -> Result<PosteriorMode> {
    for _ in 0..4 {
        posterior.anchor(&start)?;
        let top = ascend(posterior, start.clone(), End::Moved(&start), progress)?;
        if farthest(&top.point, &start) < MOVED {
            return Ok(top);
        }
        start = top.point;
    }
    ascend(posterior, start, End::Mode, progress)
}

/// The longest move of a coordinate.
fn farthest(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |most, (a, b)| most.max((a - b).abs()))
}

/// Where a search may end.
#[derive(Clone, Copy)]
enum End<'a> {
    /// At the top.
    Mode,
    /// There, or roughly so if that is far from here, because it will be climbed again.
    Moved(&'a [f64]),
    /// There, or near a mode already known.
    Near(&'a PosteriorMode),
}

impl End<'_> {
    fn is_reached(self, point: &[f64], rise: f64, posterior: &DeltaPosterior) -> bool {
        match self {
            Self::Mode => false,
            Self::Moved(start) => {
                rise < ROUGH_RISE * point.len() as f64 && farthest(point, start) >= MOVED
            }
            Self::Near(top) => near(top, point, posterior.heaviest()),
        }
    }
}

/// Climbs from `start`.
fn ascend(
    posterior: &DeltaPosterior,
    start: Vec<f64>,
    end: End<'_>,
    progress: &dyn Progress,
) -> Result<PosteriorMode> {
    let mut here = SearchPoint::new(posterior, start)?;
    let (mut converged, mut gains) = (false, Vec::new());
    let mut secants = vec![Vec::new(); posterior.classes.len()];
    for _ in 0..MAX_STEPS {
        progress.check()?;
        let slopes = DVector::from_column_slice(&here.local.gradient);
        let rise = factorise(&here.curvature(posterior, &secants)).solve(&slopes).dot(&slopes);
        converged = rise < SMALL_RISE || stagnates(&gains);
        if converged || end.is_reached(&here.point, rise, posterior) {
            break;
        }
        let steeper = here.curvature_by(posterior, &secants, information_shortfall);
        let direction = limited(factorise(&steeper).solve(&slopes), &slopes);
        let blurred = rise < BLURRED_RISE * slopes.len() as f64;
        let tries = TRIES[usize::from(!blurred)];
        let Some(next) = line_search(posterior, &here, &direction, tries)? else {
            converged = blurred;
            break;
        };
        gains.push(next.local.value - here.local.value);
        here.remember_step_to(&next, posterior, &mut secants);
        here = next;
    }
    let curvature = factorise(&here.curvature(posterior, &secants));
    Ok(PosteriorMode { point: here.point, value: here.local.value, curvature, converged })
}

/// The step with no coordinate longer than [`LONGEST`]: a wild one must not hold up all others. Where that leads down, the
/// whole step is shortened instead.
fn limited(direction: DVector<f64>, slopes: &DVector<f64>) -> DVector<f64> {
    let longest = direction.amax();
    if longest <= LONGEST {
        return direction;
    }
    let clamped = direction.map(|step| step.clamp(-LONGEST, LONGEST));
    if clamped.dot(slopes) > 0.0 { clamped } else { direction * (LONGEST / longest) }
}

/// Whether the last steps together gained nothing to speak of: the grids' own errors rule by then.
fn stagnates(gains: &[f64]) -> bool {
    gains.len() >= STAGNANT && gains[gains.len() - STAGNANT..].iter().sum::<f64>() < SMALL_GAIN
}

/// A step of one class's η and the fall of its likelihood's slopes along it.
type Secant = (DVector<f64>, DVector<f64>);

/// A point of a search with what is known there.
struct SearchPoint {
    point: Vec<f64>,
    likelihoods: Vec<Evaluation>,
    local: LocalExpansion,
}

impl SearchPoint {
    fn new(posterior: &DeltaPosterior, point: Vec<f64>) -> Result<Self> {
        let likelihoods = posterior.evaluate(&point)?;
        let local = posterior.local(&point, &likelihoods);
        Ok(Self { point, likelihoods, local })
    }

    /// The prior's curvature plus that of every class's likelihood, corrected by its own steps.
    fn curvature(&self, posterior: &DeltaPosterior, secants: &[Vec<Secant>]) -> DMatrix<f64> {
        self.curvature_by(posterior, secants, |_, _| 1.0)
    }

    /// The same with the scores' curvature of every class multiplied by a factor first.
    fn curvature_by(
        &self,
        posterior: &DeltaPosterior,
        secants: &[Vec<Secant>],
        factor: impl Fn(&DMatrix<f64>, Option<&Secant>) -> f64,
    ) -> DMatrix<f64> {
        let mut likelihoods = self.likelihoods.clone();
        for (likelihood, secants) in likelihoods.iter_mut().zip(secants) {
            let information = &likelihood.information;
            let scaled = information * factor(information, secants.last());
            likelihood.information = corrected(scaled, secants);
        }
        posterior.local(&self.point, &likelihoods).curvature
    }

    fn remember_step_to(
        &self,
        next: &Self,
        posterior: &DeltaPosterior,
        secants: &mut [Vec<Secant>],
    ) {
        for (j, secants) in secants.iter_mut().enumerate() {
            let step = difference(posterior.eta(j, &next.point), posterior.eta(j, &self.point));
            let (before, after) = (&self.likelihoods[j].gradient, &next.likelihoods[j].gradient);
            secants.push((step, difference(before, after)));
        }
    }
}

fn difference(a: &[f64], b: &[f64]) -> DVector<f64> {
    DVector::from_iterator(a.len(), a.iter().zip(b).map(|(a, b)| a - b))
}

/// The scores' curvature B made to agree with the last steps s and the slopes' changes y
/// (Broyden, Fletcher, Goldfarb, Shanno): B ← B − B s sᵀ B / sᵀBs + y yᵀ / sᵀy.
///
/// The scores alone mislead where the model is not true, as with tied outputs. Class by class, since a
/// class's likelihood depends on its own η only: a few steps tell all of its curvature.
fn corrected(mut matrix: DMatrix<f64>, secants: &[Secant]) -> DMatrix<f64> {
    for (step, change) in &secants[secants.len().saturating_sub(SECANTS)..] {
        let image = &matrix * step;
        let (before, after) = (step.dot(&image), step.dot(change));
        if after > 1e-3 * before {
            matrix -= &image * image.transpose() / before;
            matrix += change * change.transpose() / after;
        }
    }
    matrix
}

/// How many times the scores' curvature the likelihood's own was along the last step, at least once: what scores underrate
/// there they underrate elsewhere, and every step would have to be shortened. It is for the length of steps alone: near the top
/// the last step is too small to tell.
fn information_shortfall(curvature: &DMatrix<f64>, last: Option<&Secant>) -> f64 {
    let ratio = |(step, change): &Secant| step.dot(change) / step.dot(&(curvature * step));
    // neither number of a class without items tells anything
    last.map(ratio).filter(|ratio| *ratio > 1.0).map_or(1.0, |ratio| ratio.min(LARGEST_SHORTFALL))
}

/// Shortens the step until the density rises; none if it does not in so many tries.
fn line_search(
    posterior: &DeltaPosterior,
    here: &SearchPoint,
    direction: &DVector<f64>,
    tries: usize,
) -> Result<Option<SearchPoint>> {
    let slope: f64 = direction.iter().zip(&here.local.gradient).map(|(d, g)| d * g).sum();
    let mut length = 1.0;
    for _ in 0..tries {
        let next = here.point.iter().zip(direction).map(|(x, d)| x + length * d).collect();
        let there = SearchPoint::new(posterior, next)?;
        if there.local.value >= here.local.value + 1e-4 * length * slope {
            return Ok(Some(there));
        }
        length *= if there.local.value.is_finite() { 0.4 } else { 0.2 };
    }
    Ok(None)
}

/// Within about a standard deviation of a known mode, by the curvature there; items that count
/// several times tell it less precisely.
fn near(top: &PosteriorMode, point: &[f64], weight: f64) -> bool {
    let off = difference(point, &top.point);
    let distance = (top.curvature.l().transpose() * off).norm_squared();
    distance < 2.0 * weight * point.len() as f64
}

/// Cholesky's factor, with a ridge where it is needed.
pub(super) fn factorise(curvature: &DMatrix<f64>) -> Cholesky<f64, Dyn> {
    let mut ridge = 0.0;
    loop {
        let mut matrix = curvature.clone();
        for l in 0..matrix.nrows() {
            matrix[(l, l)] += ridge * matrix[(l, l)].abs().max(1e-6);
        }
        if let Some(factor) = matrix.cholesky() {
            return factor;
        }
        ridge = if ridge == 0.0 { 1e-10 } else { ridge * 100.0 };
        assert!(ridge < 1e30, "a finite symmetric matrix becomes definite with a large ridge");
    }
}
