//! The search for the mode of a pair's posterior.
//!
//! Newton's method with the outer products of the scores as the curvature (Berndt, Hall, Hall,
//! Hausman, 1974), corrected by the last steps, with a line search so that every step gains, except
//! for a last one that is expected to gain next to nothing. A class's likelihood depends on its own η
//! only, so that a step evaluates only the classes that it moves.

use super::constants::mode_search::{
    CLEAR_RISE, FAILED_STEP, FEW_ITEMS_GAIN, LARGEST_CONTRARY_RISE, LARGEST_SHORTFALL, LAST_GAIN,
    LONGEST_STEP, MOST_ANCHORS, MOST_STEPS, NEGLIGIBLE_MODE, OTHER_STARTS, PRELIMINARY_GAIN,
    PRELIMINARY_ITEMS, REGRID_DISTANCE, RESTART_ITEMS, ROUGH_GAIN, SECANTS, SETTLED_SHARE,
    SMALL_GAIN, STAGNANT_GAIN, STAGNANT_STEPS, TRIES, UNCERTAIN_GAIN, UNCERTAIN_TRIES,
};
use super::delta_posterior::{DeltaPosterior, LocalExpansion};
use super::gaussian::factorise;
use super::pair_likelihood::{ClassLikelihood, Evaluation};
use crate::error::{Error, Result};
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

/// A mode with the curvature there.
#[derive(Debug, Clone)]
pub(super) struct PosteriorMode {
    pub(super) point: Vec<f64>,
    pub(super) value: f64,
    pub(super) curvature: Cholesky<f64, Dyn>,
    pub(super) converged: bool,
}

/// How many starts a search has besides the one from the outputs' correlations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// One, the one farther from the first mode.
    Quick,
    /// Near independence and near identity. The grids are made for the mode, where draws are made next.
    Thorough,
}

/// The result of a search from all starts.
pub(super) struct ModeSearch {
    pub(super) mode: PosteriorMode,
    /// How much the log posterior of another mode is lower, if one was found.
    pub(super) other_mode: Option<f64>,
}

/// Searches the highest mode.
///
/// A search from a further start uses some of the items first. It uses all items only if it does not
/// lead to a known mode or far below it.
pub(super) fn search_mode(
    posterior: &mut DeltaPosterior<'_>,
    effort: Effort,
) -> Result<ModeSearch> {
    let start = first_point(posterior)?;
    let mut best = ascend_anchored(posterior, start)?;
    let mut other_mode = None;
    for start in other_starts(posterior, &best, effort) {
        let mut rough = posterior.rough(RESTART_ITEMS);
        rough.anchor(&best.point)?;
        let known = KnownMode { likelihoods: rough.likelihoods(&best.point)?, mode: &best };
        let height = rough.prior_density(&best.point) + known.likelihoods.iter().sum::<f64>();
        rough.anchor(&start)?;
        let start = SearchPoint::new(&rough, start)?;
        let end = End::Near(&known);
        let (_, last) = ascend(&rough, start, end, &mut Secants::new(&rough))?;
        let (point, value) = end.with_held_classes_at_the_mode(&last, &rough);
        let hopeless = height - value > NEGLIGIBLE_MODE * (1.0 + rough.heaviest());
        if hopeless || end.is_reached(&last, 0.0, &rough) {
            continue;
        }
        let start = SearchPoint::anchored(posterior, point)?;
        let found = ascend_anchored(posterior, start)?;
        if near(&best, &found.point, 1.0) || near(&found, &best.point, 1.0) {
            continue;
        }
        let gap = (best.value - found.value).abs();
        if gap < NEGLIGIBLE_MODE {
            other_mode = Some(other_mode.map_or(gap, |old: f64| old.min(gap)));
        }
        if found.value > best.value {
            best = found;
        }
    }
    if best.value == f64::NEG_INFINITY {
        let requirement = "above 0: outputs tie exactly, and their exact likelihood is infinite";
        return Err(Error::parameter("resolution", requirement, posterior.resolution()));
    }
    if effort == Effort::Thorough {
        posterior.anchor(&best.point)?;
    }
    Ok(ModeSearch { mode: best, other_mode })
}

/// The start of the search with all items: the point that the outputs' correlations suggest, or, if the mode of
/// some of the items is expected to be nearer, that mode.
///
/// In units of the posterior of all n items, the mode of m items has a predicted gain of about n/m − 1 per coordinate.
fn first_point(posterior: &mut DeltaPosterior<'_>) -> Result<SearchPoint> {
    let start = posterior.start();
    let here = SearchPoint::anchored(posterior, start)?;
    let mut some = posterior.rough(PRELIMINARY_ITEMS);
    let slopes = DVector::from_column_slice(&here.local.gradient);
    let gain = factorise(&here.local.curvature).solve(&slopes).dot(&slopes);
    if gain < (some.heaviest() - 1.0).max(FEW_ITEMS_GAIN) * here.point.len() as f64 {
        return Ok(here);
    }
    some.anchor(&here.point)?;
    let start = SearchPoint::new(&some, here.point)?;
    let (found, _) = ascend(&some, start, End::Rough, &mut Secants::new(&some))?;
    SearchPoint::anchored(posterior, found.point)
}

/// Starts near both ends, the one farther from the mode first.
fn other_starts(
    posterior: &DeltaPosterior<'_>,
    best: &PosteriorMode,
    effort: Effort,
) -> Vec<Vec<f64>> {
    let mean = best.point[..posterior.n_eta()].iter().sum::<f64>() / posterior.n_eta() as f64;
    let mut starts = OTHER_STARTS;
    starts.sort_by(|a, b| (b - mean).abs().total_cmp(&(a - mean).abs()));
    let chosen = if effort == Effort::Quick { &starts[..1] } else { &starts[..] };
    chosen.iter().map(|eta| posterior.complete(vec![*eta; posterior.n_eta()])).collect()
}

/// Searches, makes the grids again of classes that this led far away, and goes on with what is known of
/// the curvature.
fn ascend_anchored(
    posterior: &mut DeltaPosterior<'_>,
    mut here: SearchPoint,
) -> Result<PosteriorMode> {
    let mut secants = Secants::new(posterior);
    if !posterior.classes.iter().any(ClassLikelihood::uses_grids) {
        return Ok(ascend(posterior, here, End::Mode, &mut secants)?.0);
    }
    let mut anchors = here.point.clone();
    for _ in 0..MOST_ANCHORS {
        let (found, last) = ascend(posterior, here, End::FarFrom(&anchors), &mut secants)?;
        let far = far_classes(posterior, &last.point, &anchors);
        if far.is_empty() {
            return Ok(found);
        }
        for &j in &far {
            let own = j * posterior.width()..(j + 1) * posterior.width();
            posterior.classes[j].anchor(&found.point[own.clone()])?;
            anchors[own.clone()].copy_from_slice(&found.point[own]);
        }
        here = SearchPoint::new(posterior, found.point)?;
        if here.local.value < last.local.value - FAILED_STEP {
            here = SearchPoint::new(posterior, last.point)?;
        }
    }
    Ok(ascend(posterior, here, End::Mode, &mut secants)?.0)
}

/// The classes of which a coordinate is at least [`REGRID_DISTANCE`] away.
fn far_classes(posterior: &DeltaPosterior<'_>, a: &[f64], b: &[f64]) -> Vec<usize> {
    let far =
        |j: &usize| longest_move(posterior.eta(*j, a), posterior.eta(*j, b)) >= REGRID_DISTANCE;
    (0..posterior.classes.len()).filter(far).collect()
}

/// The longest move of any coordinate.
fn longest_move(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |most, (a, b)| most.max((a - b).abs()))
}

/// Where a search may end early.
#[derive(Clone, Copy)]
enum End<'a> {
    /// At the mode only.
    Mode,
    /// Within the error of a mode that some of the items have.
    Rough,
    /// Near the mode if a class is then far from where its grids were made.
    FarFrom(&'a [f64]),
    /// Near a mode that is known already, or where the likelihood of every class clearly rises towards it.
    Near(&'a KnownMode<'a>),
}

/// A mode found before, with the likelihoods there that a search from another start has.
struct KnownMode<'a> {
    mode: &'a PosteriorMode,
    likelihoods: Vec<f64>,
}

impl End<'_> {
    fn is_reached(self, here: &SearchPoint, gain: f64, posterior: &DeltaPosterior<'_>) -> bool {
        let point = &here.point;
        match self {
            Self::Mode => false,
            Self::Rough => gain < ROUGH_GAIN * posterior.heaviest() * point.len() as f64,
            Self::FarFrom(anchors) => {
                gain < PRELIMINARY_GAIN * point.len() as f64
                    && !far_classes(posterior, point, anchors).is_empty()
            }
            Self::Near(known) => {
                near(known.mode, point, posterior.heaviest())
                    || (0..posterior.classes.len()).all(|j| self.is_near(j, here, posterior))
            }
        }
    }

    /// Whether the last step is made without an evaluation at its end: new grids are made there anyway.
    fn steps_on(self) -> bool {
        matches!(self, Self::FarFrom(_))
    }

    /// The point with all classes that are near a known mode moved there, and its log posterior.
    fn with_held_classes_at_the_mode(
        self,
        here: &SearchPoint,
        posterior: &DeltaPosterior<'_>,
    ) -> (Vec<f64>, f64) {
        let Self::Near(KnownMode { mode, likelihoods }) = self else {
            return (here.point.clone(), here.local.value);
        };
        let (mut eta, mut value) = (here.point[..posterior.n_eta()].to_vec(), 0.0);
        for (j, known) in likelihoods.iter().enumerate() {
            if self.is_near(j, here, posterior) {
                let own = j * posterior.width()..(j + 1) * posterior.width();
                eta[own.clone()].copy_from_slice(&mode.point[own]);
                value += known;
            } else {
                value += here.likelihoods[j].value;
            }
        }
        let point = posterior.complete(eta);
        value += posterior.prior_density(&point);
        (point, value)
    }

    /// Whether one class is held fixed, because it is near its part of a known mode or because its
    /// likelihood, far below that of the mode, rises towards it in all directions as that of a single
    /// mode does.
    fn is_near(self, class: usize, here: &SearchPoint, posterior: &DeltaPosterior<'_>) -> bool {
        let Self::Near(KnownMode { mode, likelihoods }) = self else { return false };
        let width = posterior.width();
        let off = difference(posterior.eta(class, &here.point), posterior.eta(class, &mode.point));
        let (likelihood, weight) =
            (&here.likelihoods[class], posterior.classes[class].weight().max(1.0));
        let deficit = likelihoods[class] - likelihood.value;
        let slopes = off.iter().zip(&likelihood.gradient).map(|(off, slope)| -off * slope);
        let (rise, away) = slopes.fold((0.0, 0.0), |(rise, away): (f64, f64), slope| {
            (rise + slope, away - slope.min(0.0))
        });
        let is_clear = rise > CLEAR_RISE * deficit && away < LARGEST_CONTRARY_RISE * rise;
        if deficit > NEGLIGIBLE_MODE * (1.0 + weight) && is_clear {
            return true;
        }
        // the rows of Lᵀ that these coordinates enter
        let rows = mode.curvature.l_dirty().rows(class * width, width);
        let distance = (0..(class + 1) * width).map(|i| {
            let first = i.saturating_sub(class * width);
            (first..width).map(|l| rows[(l, i)] * off[l]).sum::<f64>().powi(2)
        });
        distance.sum::<f64>() < 2.0 * weight * width as f64
    }
}

/// Searches from `here`, with the curvature of earlier steps, to which it adds its own. Returns the mode and
/// the last point that was evaluated.
///
/// If the last step reduced the predicted gain so much that it is negligible after the next one, that step is
/// made without an evaluation at its end. A search without any step has no such evidence, because the
/// curvature of the scores may be far off.
fn ascend(
    posterior: &DeltaPosterior<'_>,
    mut here: SearchPoint,
    end: End<'_>,
    secants: &mut Secants,
) -> Result<(PosteriorMode, SearchPoint)> {
    let (mut converged, mut gains, mut evaluated) = (false, Vec::new(), 0);
    let (mut last_step, mut before) = (None, f64::INFINITY);
    while evaluated < MOST_STEPS * posterior.classes.len() {
        posterior.progress.check()?;
        let slopes = DVector::from_column_slice(&here.local.gradient);
        let newton = factorise(&here.curvature(posterior, secants)).solve(&slopes);
        let gain = newton.dot(&slopes);
        converged = gain < SMALL_GAIN || stagnates(&gains);
        let informed = before.is_finite() || secants.any();
        let nearly = informed && gain < LAST_GAIN && gain * (gain / before).min(1.0) < SMALL_GAIN;
        let reached = end.is_reached(&here, gain, posterior);
        if converged || nearly || reached {
            if !converged && (nearly || end.steps_on()) {
                last_step = Some((limited(newton, &slopes), 0.5 * gain));
            }
            converged |= nearly;
            break;
        }
        before = gain;
        let steeper = here.curvature_by(posterior, secants, information_shortfall);
        let mut direction = limited(factorise(&steeper).solve(&slopes), &slopes);
        evaluated += hold_settled(posterior, &mut direction, &slopes, |class| {
            end.is_near(class, &here, posterior)
        });
        let uncertain = gain < UNCERTAIN_GAIN * slopes.len() as f64;
        let tries = if uncertain { UNCERTAIN_TRIES } else { TRIES };
        let Some(next) = line_search(posterior, &here, &direction, tries)? else {
            converged = uncertain;
            break;
        };
        gains.push(next.local.value - here.local.value);
        secants.add_step(&here, &next, posterior);
        here = next;
    }
    let curvature = factorise(&here.curvature(posterior, secants));
    let (mut point, mut value) = (here.point.clone(), here.local.value);
    if let Some((step, gain)) = last_step {
        point.iter_mut().zip(&step).for_each(|(x, step)| *x += step);
        value += gain;
    }
    Ok((PosteriorMode { point, value, curvature, converged }, here))
}

/// Removes from a step the classes that are near a known mode or whose predicted gain is far below that
/// of the others; returns the number of classes left.
fn hold_settled(
    posterior: &DeltaPosterior<'_>,
    direction: &mut DVector<f64>,
    slopes: &DVector<f64>,
    is_near: impl Fn(usize) -> bool,
) -> usize {
    let (n, width) = (posterior.classes.len(), posterior.width());
    let gain = |j: usize| direction.rows(j * width, width).dot(&slopes.rows(j * width, width));
    let gains: Vec<f64> = (0..n).map(gain).collect();
    let least = SETTLED_SHARE * gains.iter().sum::<f64>() / n as f64;
    let settled: Vec<usize> = (0..n).filter(|&j| gains[j] < least || is_near(j)).collect();
    if settled.len() == n {
        return n;
    }
    settled.iter().for_each(|j| direction.rows_mut(j * width, width).fill(0.0));
    n - settled.len()
}

/// The step with every coordinate clamped to [`LONGEST_STEP`], so that one long coordinate does not
/// shorten all others. If the clamped step leads down, the whole step is shortened instead.
fn limited(direction: DVector<f64>, slopes: &DVector<f64>) -> DVector<f64> {
    let longest = direction.amax();
    if longest <= LONGEST_STEP {
        return direction;
    }
    let clamped = direction.map(|step| step.clamp(-LONGEST_STEP, LONGEST_STEP));
    if clamped.dot(slopes) > 0.0 { clamped } else { direction * (LONGEST_STEP / longest) }
}

/// Whether the last steps together gained next to nothing, because the error of the grids decides.
fn stagnates(gains: &[f64]) -> bool {
    gains.len() >= STAGNANT_STEPS
        && gains[gains.len() - STAGNANT_STEPS..].iter().sum::<f64>() < STAGNANT_GAIN
}

/// A step of one class's η and the decrease of its gradient along it.
#[derive(Debug, Clone)]
struct Secant {
    step: DVector<f64>,
    change: DVector<f64>,
}

/// The last steps of every class.
struct Secants(Vec<Vec<Secant>>);

impl Secants {
    fn new(posterior: &DeltaPosterior<'_>) -> Self {
        Self(vec![Vec::new(); posterior.classes.len()])
    }

    fn any(&self) -> bool {
        self.0.iter().any(|secants| !secants.is_empty())
    }

    /// Adds the step between two points for all classes that it moved.
    fn add_step(&mut self, here: &SearchPoint, next: &SearchPoint, posterior: &DeltaPosterior<'_>) {
        for (j, secants) in self.0.iter_mut().enumerate() {
            let step = difference(posterior.eta(j, &next.point), posterior.eta(j, &here.point));
            let (before, after) = (&here.likelihoods[j].gradient, &next.likelihoods[j].gradient);
            if step.amax() > 0.0 {
                secants.push(Secant { step, change: difference(before, after) });
            }
        }
    }
}

/// A point of a search with likelihoods and posterior.
struct SearchPoint {
    point: Vec<f64>,
    likelihoods: Vec<Evaluation>,
    local: LocalExpansion,
}

impl SearchPoint {
    fn new(posterior: &DeltaPosterior<'_>, point: Vec<f64>) -> Result<Self> {
        let likelihoods = posterior.evaluate(&point)?;
        let local = posterior.local(&point, &likelihoods);
        Ok(Self { point, likelihoods, local })
    }

    /// The same, after the items' grids have been made for this point.
    fn anchored(posterior: &mut DeltaPosterior<'_>, point: Vec<f64>) -> Result<Self> {
        posterior.anchor(&point)?;
        Self::new(posterior, point)
    }

    /// Another point, at which only the classes with another η are evaluated.
    fn moved_to(&self, posterior: &DeltaPosterior<'_>, point: Vec<f64>) -> Result<Self> {
        let one = |(j, known): (usize, &Evaluation)| {
            let eta = posterior.eta(j, &point);
            let same = eta == posterior.eta(j, &self.point);
            if same { Ok(known.clone()) } else { posterior.classes[j].evaluate(eta) }
        };
        let likelihoods =
            self.likelihoods.iter().enumerate().map(one).collect::<Result<Vec<_>>>()?;
        let local = posterior.local(&point, &likelihoods);
        Ok(Self { point, likelihoods, local })
    }

    /// The prior's curvature plus that of every class's likelihood, corrected by its own steps.
    fn curvature(&self, posterior: &DeltaPosterior<'_>, secants: &Secants) -> DMatrix<f64> {
        self.curvature_by(posterior, secants, |_, _| 1.0)
    }

    /// The same with the scores' curvature of every class multiplied by a factor first.
    fn curvature_by(
        &self,
        posterior: &DeltaPosterior<'_>,
        secants: &Secants,
        factor: impl Fn(&DMatrix<f64>, Option<&Secant>) -> f64,
    ) -> DMatrix<f64> {
        let mut likelihoods = self.likelihoods.clone();
        for (likelihood, secants) in likelihoods.iter_mut().zip(&secants.0) {
            let information = &likelihood.information;
            let scaled = information * factor(information, secants.last());
            likelihood.information = corrected(scaled, secants);
        }
        posterior.local(&self.point, &likelihoods).curvature
    }
}

fn difference(a: &[f64], b: &[f64]) -> DVector<f64> {
    DVector::from_iterator(a.len(), a.iter().zip(b).map(|(a, b)| a - b))
}

/// The scores' curvature B made to agree with the last steps s and the slopes' changes y
/// (Broyden, Fletcher, Goldfarb, Shanno): B ← B − B s sᵀ B / sᵀBs + y yᵀ / sᵀy.
///
/// The scores alone mislead if the model is wrong, as with tied outputs. The correction is made class by
/// class, since a class's likelihood depends on its own η only.
fn corrected(mut matrix: DMatrix<f64>, secants: &[Secant]) -> DMatrix<f64> {
    for Secant { step, change } in &secants[secants.len().saturating_sub(SECANTS)..] {
        let image = &matrix * step;
        let (before, after) = (step.dot(&image), step.dot(change));
        if after > 1e-3 * before {
            matrix -= &image * image.transpose() / before;
            matrix += change * change.transpose() / after;
        }
    }
    matrix
}

/// The ratio of the likelihood's curvature to that of the scores along the last step, at least 1.
///
/// A curvature that is too small there is too small elsewhere, and every step would have to be
/// shortened. The ratio sets the length of steps only: near the mode the last step is too small for it.
fn information_shortfall(curvature: &DMatrix<f64>, last: Option<&Secant>) -> f64 {
    let ratio = |Secant { step, change }: &Secant| step.dot(change) / step.dot(&(curvature * step));
    // a class without items has 0/0
    last.map(ratio).filter(|ratio| *ratio > 1.0).map_or(1.0, |ratio| ratio.min(LARGEST_SHORTFALL))
}

/// Shortens the step until the posterior gains; none if no tried length gains.
fn line_search(
    posterior: &DeltaPosterior<'_>,
    here: &SearchPoint,
    direction: &DVector<f64>,
    tries: usize,
) -> Result<Option<SearchPoint>> {
    let slope: f64 = direction.iter().zip(&here.local.gradient).map(|(d, g)| d * g).sum();
    let mut length = 1.0;
    for _ in 0..tries {
        let next = here.point.iter().zip(direction).map(|(x, d)| x + length * d).collect();
        let there = here.moved_to(posterior, next)?;
        if there.local.value >= here.local.value + 1e-4 * length * slope {
            return Ok(Some(there));
        }
        length *= if there.local.value.is_finite() { 0.4 } else { 0.2 };
    }
    Ok(None)
}

/// Whether a point is within about a standard deviation of a mode, by the curvature there, which is
/// less precise if items have a weight above 1.
fn near(mode: &PosteriorMode, point: &[f64], weight: f64) -> bool {
    let off = difference(point, &mode.point);
    let distance = (mode.curvature.l().transpose() * off).norm_squared();
    distance < 2.0 * weight * point.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::correlated::learning::Correlated;
    use crate::progress::NoProgress;
    use crate::simulation::Preset;

    /// Likelihoods of held classes are not evaluated again, and the last step is made without an evaluation: at the
    /// mode all classes evaluated together must have the value that the search ended with, and no predicted gain.
    #[test]
    fn held_classes_are_at_their_mode() {
        let outputs = Preset::Sim2.truth(0.5).unwrap().simulate(60, 4).unwrap();
        let alpha = vec![Preset::Sim2.alpha().map(Vec::from).to_vec(); 2];
        let config = Correlated { resolution: Some(0.03), ..Correlated::default() };
        let mut posterior = config.posterior(&outputs, &alpha, &NoProgress).unwrap();
        let mode = search_mode(&mut posterior, Effort::Quick).unwrap().mode;
        let all = SearchPoint::new(&posterior, mode.point.clone()).unwrap();
        let slopes = DVector::from_column_slice(&all.local.gradient);
        let gain = mode.curvature.solve(&slopes).dot(&slopes);
        let off = (all.local.value - mode.value).abs();
        assert!(mode.converged && gain < 3e-4 && off < 1e-3, "{gain} {off}");
    }
}
