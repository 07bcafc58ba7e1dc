//! The climb to a mode: Newton's method with the scores' outer products for the curvature
//! (Berndt, Hall, Hall, Hausman, 1974), corrected by the last steps, damped so that every one goes up.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::posterior::{Local, Posterior};
use crate::error::Result;
use crate::watch::Watch;

/// Predicted rise at which the climb ends: a few thousandths of a standard deviation.
const SMALL_RISE: f64 = 2e-5;
/// Steps at the most.
const MAX_STEPS: usize = 40;
/// Steps remembered.
const SECANTS: usize = 8;
/// Longest step of a coordinate.
const LONGEST: f64 = 2.0;
/// A move beyond which the items' lattices are laid anew.
const MOVED: f64 = 0.6;
/// η of the further starts: shares δ/b of 0.02 and 0.98.
const OTHER_STARTS: [f64; 2] = [-3.9, 3.9];
/// Items of a class that explore from there.
const EXPLORERS: usize = 80;
/// Items of a class that go ahead, where there are several times as many.
const PIONEERS: usize = 160;
/// So many times.
const MANY: usize = 3;
/// A mode this much lower holds no mass worth a word.
const NEGLIGIBLE_MODE: f64 = 8.0;

/// A mode with the curvature there.
#[derive(Debug, Clone)]
pub(super) struct Top {
    pub(super) point: Vec<f64>,
    pub(super) value: f64,
    pub(super) curvature: Cholesky<f64, Dyn>,
    pub(super) converged: bool,
}

/// The best mode found from all starts, and how far another one is from it in height, if any.
///
/// Further starts climb with some of the items first; only where that leads elsewhere all count.
/// With `quick` there is one of them, the farther one.
pub(super) fn find_top(
    posterior: &mut Posterior,
    quick: bool,
    watch: &dyn Watch,
) -> Result<(Top, Option<f64>)> {
    let start = go_ahead(posterior, watch)?;
    let mut best = climb_anchored(posterior, start, watch)?;
    let mut other = None;
    for start in other_starts(posterior, &best, quick) {
        let mut rough = posterior.thinned(EXPLORERS);
        rough.anchor(&start)?;
        let top = climb(&rough, start, Some(&best), watch)?;
        if near(&best, &top.point, rough.heaviest()) {
            continue;
        }
        let top = climb_anchored(posterior, top.point, watch)?;
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

/// Where the climb of all items begins: with many of them, at the mode of a part, which costs a
/// fraction and leaves the others a step or two.
fn go_ahead(posterior: &Posterior, watch: &dyn Watch) -> Result<Vec<f64>> {
    let start = posterior.start();
    if posterior.classes.iter().all(|class| class.n_items() < MANY * PIONEERS) {
        return Ok(start);
    }
    let mut some = posterior.thinned(PIONEERS);
    Ok(climb_anchored(&mut some, start, watch)?.point)
}

/// Starts near both ends, the farther from the mode first.
fn other_starts(posterior: &Posterior, best: &Top, quick: bool) -> Vec<Vec<f64>> {
    let mean = best.point[..posterior.n_eta()].iter().sum::<f64>() / posterior.n_eta() as f64;
    let mut starts = OTHER_STARTS;
    starts.sort_by(|a, b| (b - mean).abs().total_cmp(&(a - mean).abs()));
    let chosen = if quick { &starts[..1] } else { &starts[..] };
    chosen.iter().map(|eta| posterior.complete(vec![*eta; posterior.n_eta()])).collect()
}

/// Climbs, lays the lattices anew where that led far away, and climbs again.
fn climb_anchored(
    posterior: &mut Posterior,
    mut start: Vec<f64>,
    watch: &dyn Watch,
) -> Result<Top> {
    for _ in 0..4 {
        posterior.anchor(&start)?;
        let top = climb(posterior, start.clone(), None, watch)?;
        let moved = top.point.iter().zip(&start).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        if moved < MOVED {
            return Ok(top);
        }
        start = top.point;
    }
    climb(posterior, start, None, watch)
}

/// Climbs from `start`; ends early where it comes near a mode already `known`.
fn climb(
    posterior: &Posterior,
    start: Vec<f64>,
    known: Option<&Top>,
    watch: &dyn Watch,
) -> Result<Top> {
    let mut point = start;
    let mut local = posterior.local(&point, &posterior.evaluate(&point)?);
    let (mut converged, mut secants) = (false, Vec::new());
    for _ in 0..MAX_STEPS {
        watch.check()?;
        let slopes = DVector::from_column_slice(&local.gradient);
        let mut direction = factorise(&corrected(&local.curvature, &secants)).solve(&slopes);
        let rise = direction.dot(&slopes);
        converged = rise < SMALL_RISE;
        if converged || known.is_some_and(|top| near(top, &point, posterior.heaviest())) {
            break;
        }
        let longest = direction.amax();
        if longest > LONGEST {
            direction *= LONGEST / longest;
        }
        let Some((next, there)) = step_up(posterior, &point, &local, &direction)? else { break };
        secants.push((difference(&next, &point), difference(&local.gradient, &there.gradient)));
        (point, local) = (next, there);
    }
    let curvature = factorise(&corrected(&local.curvature, &secants));
    Ok(Top { point, value: local.value, curvature, converged })
}

fn difference(a: &[f64], b: &[f64]) -> DVector<f64> {
    DVector::from_iterator(a.len(), a.iter().zip(b).map(|(a, b)| a - b))
}

/// The scores' curvature B made to agree with the last steps s and the slopes' changes y
/// (Broyden, Fletcher, Goldfarb, Shanno): B ← B − B s sᵀ B / sᵀBs + y yᵀ / sᵀy.
///
/// The scores alone mislead where the model is not true, as with tied outputs.
fn corrected(curvature: &DMatrix<f64>, secants: &[(DVector<f64>, DVector<f64>)]) -> DMatrix<f64> {
    let mut matrix = curvature.clone();
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

/// Halves the step until the density rises; none if it never does.
fn step_up(
    posterior: &Posterior,
    point: &[f64],
    local: &Local,
    direction: &DVector<f64>,
) -> Result<Option<(Vec<f64>, Local)>> {
    let slope: f64 = direction.iter().zip(&local.gradient).map(|(d, g)| d * g).sum();
    let mut length = 1.0;
    for _ in 0..10 {
        let next: Vec<f64> = point.iter().zip(direction).map(|(x, d)| x + length * d).collect();
        let there = posterior.local(&next, &posterior.evaluate(&next)?);
        if there.value >= local.value + 1e-4 * length * slope {
            return Ok(Some((next, there)));
        }
        length *= if there.value.is_finite() { 0.4 } else { 0.2 };
    }
    Ok(None)
}

/// Within about a standard deviation of a known mode, by the curvature there; items that count
/// several times tell it less precisely.
fn near(top: &Top, point: &[f64], weight: f64) -> bool {
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
