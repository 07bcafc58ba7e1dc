//! The result of a fit in a form that all methods share.

use consilience_numerics::simplex;

use super::auto::discount::Discount;
use super::core::{Core, for_rows};
use super::estimates::Estimates;
use super::report::GoldCheck;
use super::weights::Weights;
use crate::sampling::diagnostics::Diagnostics;
use crate::warning::Warning;

/// One way from votes to probabilities; a model averages over one or more.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    /// Its weight in the average.
    pub(super) share: f64,
    /// The score of every state before any vote.
    pub(super) ln_prior: Vec<f64>,
    pub(super) weights: Weights,
    pub(super) discount: Discount,
}

impl Part {
    /// Adds its share of an item's probabilities.
    fn add(&self, core: &Core<'_>, item: usize, out: &mut [f64], work: &mut Work) {
        let (k, s) = (out.len(), self.ln_prior.len());
        work.scores.clear();
        work.scores.extend_from_slice(&self.ln_prior);
        self.weights.add(core, item, &mut work.scores);
        if s > k {
            sum_states(&mut work.scores, k);
        }
        work.own.resize(k, 0.0);
        work.one.resize(k, 0.0);
        let n = core.votes_on(item);
        self.discount.apply(&work.scores, n, &mut work.own, &mut work.one);
        out.iter_mut().zip(&work.own).for_each(|(p, q)| *p += self.share * q);
    }
}

#[derive(Default)]
struct Work {
    scores: Vec<f64>,
    own: Vec<f64>,
    one: Vec<f64>,
}

/// From scores of states to scores of classes: the logarithm of the sum of their exponentials.
fn sum_states(scores: &mut Vec<f64>, n_classes: usize) {
    let subtypes = scores.len() / n_classes;
    for j in 0..n_classes {
        let own = &scores[j * subtypes..(j + 1) * subtypes];
        scores[j] = consilience_numerics::log_space::log_sum_exp(own);
    }
    scores.truncate(n_classes);
}

/// Class probabilities of all items, n × K; gold labels are certain.
pub(super) fn probabilities(core: &Core<'_>, parts: &[Part]) -> Vec<f64> {
    let k = core.votes.n_classes();
    let mut table = vec![0.0; core.votes.n_items() * k];
    for_rows(&mut table, k, |item, row| {
        if let Some(label) = core.gold[item] {
            row[label] = 1.0;
            return;
        }
        let mut work = Work::default();
        parts.iter().for_each(|part| part.add(core, item, row, &mut work));
        // The probabilities of one part add up to 1.
        if parts.len() > 1 {
            simplex::normalise(row);
        }
    });
    table
}

/// What a method's fit returns.
#[derive(Debug, Clone)]
pub(super) struct Learned {
    pub(super) parts: Vec<Part>,
    /// Class probabilities of the items, n × K.
    pub(super) probabilities: Vec<f64>,
    pub(super) estimates: Estimates,
    /// Passes over the votes, and whether they ended because nothing changed.
    pub(super) passes: usize,
    pub(super) converged: bool,
    /// Log-losses of gold items from fits without their labels.
    pub(super) check: Option<GoldCheck>,
    pub(super) sampling: Option<Diagnostics>,
    pub(super) warnings: Vec<Warning>,
}
