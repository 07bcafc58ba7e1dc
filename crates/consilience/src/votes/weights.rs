//! Log weights of votes: what a vote of a source for a label adds to the score of every state.

use super::core::Core;
use super::table::{GRADES, UNGRADED, Votes};

/// The log weights T of all votes that sources can give, for S states.
///
/// A label that a source has used has its own row. The weight of any other label l is
/// `right(source, s)` where l is the class of state s, and otherwise
/// `wrong(source, s) + spread(l, s)`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Weights {
    /// Number of states, S.
    pub(super) n_states: usize,
    /// cells × S.
    pub(super) rows: Vec<f64>,
    /// sources × S; the last row is that of a source without votes.
    pub(super) right: Vec<f64>,
    /// sources × S, likewise.
    pub(super) wrong: Vec<f64>,
    /// labels × S.
    pub(super) spread: Vec<f64>,
    /// Evidence of the grades of graded votes for the voted class, sources × grades.
    pub(super) grades: Option<Vec<f64>>,
}

impl Weights {
    /// The same weights for every source: `right` for the class that is voted for, 0 for others.
    pub(super) fn constant(votes: &Votes, right: f64) -> Self {
        let k = votes.n_classes();
        let mut rows = vec![0.0; votes.n_cells() * k];
        for (cell, row) in rows.chunks_exact_mut(k).enumerate() {
            row[votes.cell_label(cell)] = right;
        }
        let n = (votes.n_sources() + 1) * k;
        Self {
            n_states: k,
            rows,
            right: vec![right; n],
            wrong: vec![0.0; n],
            spread: vec![0.0; k * k],
            grades: None,
        }
    }

    /// Adds the weights of the votes on an item to its scores.
    pub(super) fn add(&self, core: &Core<'_>, item: usize, row: &mut [f64]) {
        core.add_weights(item, &self.rows, row);
        if let Some(evidence) = &self.grades {
            core.add_grades(item, evidence, row);
        }
    }

    /// The weights of a label that the source has not used, or of a new source.
    pub(super) fn unused(&self, source: usize, label: usize) -> impl Iterator<Item = f64> + '_ {
        let s = self.n_states;
        let subtypes = s / (self.spread.len() / s);
        (0..s).map(move |state| {
            if state / subtypes == label {
                self.right[source * s + state]
            } else {
                self.wrong[source * s + state] + self.spread[label * s + state]
            }
        })
    }
}

/// Evidence of grades: ln P(grade | right) − ln P(grade | wrong) of every source, from votes that
/// are right with probability q(i, label), with one more vote per grade.
pub(super) fn grade_evidence(votes: &Votes, q: &[f64]) -> Option<Vec<f64>> {
    let grading = votes.grading()?;
    let k = votes.n_classes();
    let mut right = vec![1.0; votes.n_sources() * GRADES];
    let mut wrong = right.clone();
    for cell in 0..votes.n_cells() {
        let (source, label) = (votes.cell_source(cell), votes.cell_label(cell));
        let grades = &grading.by_cell[votes.cell_range(cell)];
        for (&item, &grade) in votes.cell_items(cell).iter().zip(grades) {
            if grade != UNGRADED {
                let p = q[item as usize * k + label];
                right[source * GRADES + usize::from(grade)] += p;
                wrong[source * GRADES + usize::from(grade)] += 1.0 - p;
            }
        }
    }
    for (right, wrong) in right.chunks_exact_mut(GRADES).zip(wrong.chunks_exact(GRADES)) {
        let (all_right, all_wrong): (f64, f64) = (right.iter().sum(), wrong.iter().sum());
        for (r, w) in right.iter_mut().zip(wrong) {
            *r = (*r / all_right).ln() - (w / all_wrong).ln();
        }
    }
    Some(right)
}
