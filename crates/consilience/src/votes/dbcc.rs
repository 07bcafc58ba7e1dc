//! Multinomial regression on one-hot votes: `dbcc`, and the second part of `auto`.
//!
//! Kim and Ghahramani's dependent model is P(c | t) = exp(`Σ_k` V^k(`c_k`, t) + `Σ_kl` `W_kl`(`c_k`, `c_l`)) / `Z_t`.
//! If W does not depend on the class t, it cancels in P(t | c), and
//!
//! ```text
//! P(t | c) ∝ exp(b_t + Σ_k V^k(c_k, t)),   b_t = ln p_t − ln Z_t
//! ```
//!
//! which is multinomial regression on one-hot votes. It is fitted to gold labels with a normal
//! prior of V whose standard deviation is chosen by cross-validation.

use consilience_numerics::simplex;

use super::core::Core;
use super::learned::{Learned, Part, probabilities};
use super::table::GRADES;
use super::weights::Weights;
use super::{Dbcc, estimates::Estimates};
use crate::error::{Error, Result};
use crate::folds::{split, stratified};
use crate::math::lbfgs::lbfgs;
use crate::progress::Progress;
use crate::votes::auto::discount::Discount;

/// Standard deviations of the prior of V among which cross-validation chooses.
const SPREADS: [f64; 6] = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6];

/// Standard deviation of the prior of the intercepts.
const INTERCEPT_SD: f64 = 2.0;

/// Largest entry of the gradient at the optimum, and steps at most.
const TOLERANCE: f64 = 1e-4;
const MOST_STEPS: usize = 500;

/// Fewest gold labels of the method `dbcc`.
const LEAST_GOLD: usize = 10;

/// Items with gold labels, and the parameters that their votes need: intercepts, a row per cell with
/// votes on gold items, and for graded votes one number per source and grade, which is added to the
/// score of the voted class.
struct Regression<'a> {
    core: Core<'a>,
    /// Gold items with labels.
    items: Vec<(usize, usize)>,
    /// The place of every cell among the parameters; none if it has no votes on gold items.
    places: Vec<Option<u32>>,
    n_places: usize,
    /// Sources × grades; 0 without graded votes.
    n_grades: usize,
}

/// The regression fitted to all gold items, and how well it predicts gold items out of fold.
pub(super) struct FittedRegression {
    intercepts: Vec<f64>,
    /// cells × K.
    rows: Vec<f64>,
    /// sources × grades.
    grades: Option<Vec<f64>>,
    /// The probability of every gold item's label from a fit without its fold, whose prior was
    /// chosen by the losses of the other folds.
    pub(super) out_of_fold: Vec<f64>,
}

impl<'a> Regression<'a> {
    fn new(core: Core<'a>) -> Self {
        let gold = core.gold.iter().enumerate();
        let items: Vec<(usize, usize)> =
            gold.filter_map(|(item, label)| Some((item, (*label)?))).collect();
        let mut places = vec![None; core.votes.n_cells()];
        let mut n_places = 0;
        for &(item, _) in &items {
            for &cell in core.votes.item_cells(item) {
                places[cell as usize].get_or_insert_with(|| {
                    n_places += 1;
                    n_places - 1
                });
            }
        }
        let n_grades = core.votes.grading().map_or(0, |_| core.votes.n_sources() * GRADES);
        Self { core, items, places, n_places: n_places as usize, n_grades }
    }

    /// Where the weights of grades begin among the parameters.
    fn first_grade(&self) -> usize {
        (self.n_places + 1) * self.core.votes.n_classes()
    }

    fn zeros(&self) -> Vec<f64> {
        vec![0.0; self.first_grade() + self.n_grades]
    }

    /// The scores of an item under coefficients θ (intercepts first).
    fn scores(&self, theta: &[f64], item: usize, row: &mut [f64]) {
        let k = row.len();
        row.copy_from_slice(&theta[..k]);
        for (place, weight) in self.places_of(item) {
            row.iter_mut().zip(&theta[(place + 1) * k..]).for_each(|(f, v)| *f += weight * v);
        }
        if self.n_grades > 0 {
            self.core.add_grades(item, &theta[self.first_grade()..], row);
        }
    }

    /// Adds the residuals p − 1{label} of an item to the gradient.
    fn add_residuals(&self, item: usize, residuals: &[f64], gradient: &mut [f64]) {
        let k = residuals.len();
        let (rows, grades) = gradient.split_at_mut(self.first_grade());
        let places = self.places_of(item).map(|(place, weight)| (place + 1, weight));
        for (place, weight) in std::iter::once((0, 1.0)).chain(places) {
            rows[place * k..].iter_mut().zip(residuals).for_each(|(g, r)| *g += weight * r);
        }
        for (at, label, weight) in self.core.grades_on(item).filter(|_| self.n_grades > 0) {
            grades[at] += weight * residuals[label];
        }
    }

    /// The places of an item's votes among the parameters, and what the votes count.
    fn places_of(&self, item: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let cells = self.core.votes.item_cells(item).iter().zip(self.core.vote_weights(item));
        cells.filter_map(|(cell, weight)| Some((self.places[*cell as usize]? as usize, weight)))
    }

    /// The coefficients with the largest penalised likelihood of some gold items.
    fn fit(&self, chosen: &[usize], spread: f64, start: &[f64]) -> Vec<f64> {
        let k = self.core.votes.n_classes();
        let mut p = vec![0.0; k];
        let objective = |theta: &[f64], gradient: &mut [f64]| {
            let mut value = 0.0;
            for (i, (t, g)) in theta.iter().zip(gradient.iter_mut()).enumerate() {
                let sd = if i < k { INTERCEPT_SD } else { spread };
                *g = t / (sd * sd);
                value += 0.5 * t * *g;
            }
            for &(item, label) in chosen.iter().map(|&i| &self.items[i]) {
                self.scores(theta, item, &mut p);
                let score = p[label];
                let max = p.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = p.iter().map(|f| (f - max).exp()).sum();
                value += max + sum.ln() - score;
                p.iter_mut().for_each(|f| *f = (*f - max).exp() / sum);
                p[label] -= 1.0;
                self.add_residuals(item, &p, gradient);
            }
            value
        };
        lbfgs(start, objective, TOLERANCE, MOST_STEPS).point
    }

    /// The probability of the label of a gold item.
    fn probability(&self, theta: &[f64], i: usize) -> f64 {
        let mut p = vec![0.0; self.core.votes.n_classes()];
        let (item, label) = self.items[i];
        self.scores(theta, item, &mut p);
        simplex::softmax(&mut p);
        p[label].max(1e-12)
    }

    /// Probabilities of the labels of all gold items under every prior, from fits without the fold
    /// of the item.
    fn out_of_fold(&self, fold_of: &[usize], progress: &dyn Progress) -> Result<Vec<Spreads>> {
        let n_folds = fold_of.iter().max().map_or(0, |last| last + 1);
        let mut found = vec![[0.0; SPREADS.len()]; fold_of.len()];
        for fold in 0..n_folds {
            let (inside, outside) = split(fold_of, fold);
            let mut theta = self.zeros();
            for (s, spread) in SPREADS.iter().enumerate() {
                progress.check()?;
                theta = self.fit(&outside, *spread, &theta);
                inside.iter().for_each(|&i| found[i][s] = self.probability(&theta, i));
            }
            progress.advance(1);
        }
        Ok(found)
    }

    /// Chooses the prior by cross-validation, then fits all gold items.
    fn learn(&self, folds: usize, seed: u64, progress: &dyn Progress) -> Result<FittedRegression> {
        let k = self.core.votes.n_classes();
        let labels: Vec<usize> = self.items.iter().map(|(_, label)| *label).collect();
        let fold_of = stratified(&labels, k, folds.min(labels.len()), seed);
        let found = self.out_of_fold(&fold_of, progress)?;
        let every: Vec<usize> = (0..labels.len()).collect();
        let theta = self.fit(&every, SPREADS[best_spread(&found, |_| true)], &self.zeros());
        let mut rows = vec![0.0; self.places.len() * k];
        for (row, place) in rows.chunks_exact_mut(k).zip(&self.places) {
            if let Some(place) = place {
                row.copy_from_slice(&theta[(*place as usize + 1) * k..][..k]);
            }
        }
        let chosen: Vec<usize> =
            (0..=folds).map(|fold| best_spread(&found, |i| fold_of[i] != fold)).collect();
        let out_of_fold = found.iter().zip(&fold_of).map(|(p, fold)| p[chosen[*fold]]).collect();
        let grades = (self.n_grades > 0).then(|| theta[self.first_grade()..].to_vec());
        Ok(FittedRegression { intercepts: theta[..k].to_vec(), rows, grades, out_of_fold })
    }
}

/// A number for every prior of V.
type Spreads = [f64; SPREADS.len()];

/// The prior with the smallest log-loss over the gold items that `counts` admits.
fn best_spread(probabilities: &[Spreads], counts: impl Fn(usize) -> bool) -> usize {
    let mut losses = [0.0; SPREADS.len()];
    for (_, row) in probabilities.iter().enumerate().filter(|(i, _)| counts(*i)) {
        losses.iter_mut().zip(row).for_each(|(loss, p)| *loss -= p.ln());
    }
    (1..SPREADS.len()).fold(0, |best, s| if losses[s] < losses[best] { s } else { best })
}

/// Fits the regression, with folds by which the prior is chosen and their seed.
pub(super) fn regression(
    core: &Core<'_>,
    (folds, seed): (usize, u64),
    progress: &dyn Progress,
) -> Result<FittedRegression> {
    Regression::new(*core).learn(folds, seed, progress)
}

impl FittedRegression {
    /// The regression as a part of a model, with the given weight.
    pub(super) fn part(self, core: &Core<'_>, share: f64) -> Part {
        let constant = Weights::constant(core.votes, 0.0);
        let weights = Weights { rows: self.rows, grades: self.grades, ..constant };
        Part { share, ln_prior: self.intercepts, weights, discount: Discount::none() }
    }
}

pub(super) fn learn(core: &Core<'_>, options: &Dbcc, progress: &dyn Progress) -> Result<Learned> {
    let n_gold = core.gold.iter().flatten().count();
    if n_gold < LEAST_GOLD {
        return Err(Error::Unsupported {
            method: "dbcc".into(),
            cannot: format!(
                "needs at least {LEAST_GOLD} gold labels of items with votes, found {n_gold}; \
                 `auto` and `ibcc` need none"
            ),
        });
    }
    progress.begin("fitting dbcc", options.folds as u64);
    let fitted = regression(core, (options.folds, options.seed), progress)?;
    let parts = vec![fitted.part(core, 1.0)];
    let probabilities = probabilities(core, &parts);
    let (counts, totals) = (core.counts(&probabilities), core.totals(&probabilities));
    let estimates = Estimates::of_dirichlets(core.votes, counts, (4.0, 1.0), &totals);
    Ok(Learned {
        parts,
        probabilities,
        estimates,
        passes: 1,
        converged: true,
        check: None,
        sampling: None,
        warnings: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::votes::reference;

    #[test]
    fn the_regression_is_that_of_the_reference() {
        let mut seen = 0;
        for case in reference::cases() {
            let expected = &case["expected"]["regression"];
            if expected.is_null() {
                continue;
            }
            let votes = reference::table(&case);
            let gold = votes.gold_labels();
            let regression = Regression::new(Core::new(&votes, &gold));
            let every: Vec<usize> = (0..regression.items.len()).collect();
            let spread = expected["spread"].as_f64().unwrap();
            let theta = regression.fit(&every, spread, &regression.zeros());
            let rows = reference::rows(&votes, &expected["p"]);
            for (item, expected) in rows.iter().enumerate() {
                let mut p = vec![0.0; votes.n_classes()];
                regression.scores(&theta, item, &mut p);
                simplex::softmax(&mut p);
                // The search ends at a gradient of 1e-4.
                assert!(
                    p.iter().zip(expected).all(|(a, b)| (a - b).abs() < 2e-4),
                    "{p:?} {expected:?}"
                );
            }
            seen += 1;
        }
        assert_eq!(seen, 2);
    }
}
