//! Dawid–Skene, `ibcc`, `ueda` and the majority: rows of confusion matrices with Dirichlet priors.
//!
//! | method | log weight of a vote l of source w in state s |
//! |---|---|
//! | Dawid–Skene | ln (n + ε) − ln (Σ n + Kε), ε = 0.01/K |
//! | variational | ψ(n + A) − ψ(Σ n + Σ A) |
//! | collapsed | ln (n + A) − ln (Σ n + Σ A), without the vote itself |
//! | Ueda et al. | ln of r times the own row plus 1 − r times the class-free row |

use consilience_numerics::simplex;
use consilience_numerics::special::{digamma, ln_gamma};

use super::auto::discount::Discount;
use super::core::{Core, States, block_sums, for_rows};
use super::estimates::Estimates;
use super::learned::{Learned, Part};
use super::weights::Weights;
use crate::error::Result;
use crate::progress::Progress;
use crate::warning::Warning;

/// Prior of a row of a confusion matrix: concentrations of the right and of every other label.
pub(super) const DIAGONAL_PRIOR: (f64, f64) = (4.0, 1.0);

/// Passes at most, the change that ends them, and passes at least.
const PASSES: usize = 200;
pub(super) const TOLERANCE: f64 = 1e-4;
const LEAST_PASSES: usize = 7;

/// Dawid–Skene ends when the log-likelihood per item rises by less than this. Single probabilities
/// may still change: in a large table some items always do.
const LEAST_RISE: f64 = 1e-6;

/// How weights follow from counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Relative frequencies, as Dawid and Skene.
    Frequencies,
    /// Expected logarithms: variational Bayes.
    Variational,
    /// Predictive probabilities without the vote itself: collapsed variational Bayes (CVB0).
    Collapsed,
    /// Effective and class-free rows.
    Effective,
}

impl Rule {
    fn prior(self, n_classes: usize) -> (f64, f64) {
        match self {
            Self::Frequencies => (0.01 / n_classes as f64, 0.01 / n_classes as f64),
            _ => DIAGONAL_PRIOR,
        }
    }

    fn scale(self) -> fn(f64) -> f64 {
        if self == Self::Variational { digamma } else { f64::ln }
    }
}

/// Number of votes of every source in every state, sources × S.
pub(super) fn source_totals(core: &Core<'_>, counts: &[f64]) -> Vec<f64> {
    let s = core.n_states();
    let mut all = vec![0.0; core.votes.n_sources() * s];
    for_rows(&mut all, s, |source, row| {
        for cell in core.votes.cells_of(source) {
            row.iter_mut().zip(&counts[cell * s..]).for_each(|(sum, n)| *sum += n);
        }
    });
    all
}

/// f(n + A) − f(Σ n + Σ A) for every cell and state.
pub(super) fn row_weights(
    core: &Core<'_>,
    counts: &[f64],
    f: fn(f64) -> f64,
    (hit, miss): (f64, f64),
) -> Weights {
    let (votes, s, k) = (core.votes, core.n_states(), core.votes.n_classes());
    let prior = hit + (k as f64 - 1.0) * miss;
    let mut wrong = source_totals(core, counts);
    wrong.resize((votes.n_sources() + 1) * s, 0.0);
    for_rows(&mut wrong, s, |_, row| row.iter_mut().for_each(|n| *n = -f(*n + prior)));
    let mut rows = vec![0.0; votes.n_cells() * s];
    for_rows(&mut rows, s, |cell, row| {
        let (source, label) = (votes.cell_source(cell), votes.cell_label(cell));
        for (state, value) in row.iter_mut().enumerate() {
            let own = if state / core.subtypes == label { hit } else { miss };
            *value = f(counts[cell * s + state] + own) + wrong[source * s + state];
        }
    });
    let right = wrong.iter().map(|value| f(hit) + value).collect();
    Weights { n_states: s, rows, right, wrong, spread: vec![f(miss); k * s], grades: None }
}

/// The evidence of the votes on an item, each with its own contribution taken out of the counts.
fn add_collapsed(
    core: &Core<'_>,
    item: usize,
    counts: &[f64],
    all: &[f64],
    q: &[f64],
    row: &mut [f64],
) {
    let (hit, miss) = DIAGONAL_PRIOR;
    let k = row.len();
    let prior = hit + (k as f64 - 1.0) * miss;
    for &cell in core.votes.item_cells(item) {
        let cell = cell as usize;
        let (source, label) = (core.votes.cell_source(cell), core.votes.cell_label(cell));
        for (j, value) in row.iter_mut().enumerate() {
            let own = if j == label { hit } else { miss };
            let n = (counts[cell * k + j] - q[j]).max(0.0) + own;
            *value += (n / ((all[source * k + j] - q[j]).max(0.0) + prior)).ln();
        }
    }
}

/// Weights of sources that may answer some classes by a class-free row.
fn effective_weights(core: &Core<'_>, counts: &[f64]) -> Weights {
    let (votes, k) = (core.votes, core.votes.n_classes());
    let (hit, miss) = DIAGONAL_PRIOR;
    let prior = hit + (k as f64 - 1.0) * miss;
    let all = source_totals(core, counts);
    let n = votes.n_sources();
    // Per source and class: r / (Σ n + Σ A), then per source: Σ m + K in the last place of `free`.
    let mut own = vec![0.5 / prior; (n + 1) * k];
    let mut free = vec![0.5 / k as f64; (n + 1) * k];
    let mut effective = vec![0.5; n * k];
    for_rows(&mut effective, k, |source, r| {
        responsibilities(core, source, counts, &all[source * k..][..k], r);
    });
    let mut rows = vec![0.0; votes.n_cells() * k];
    for source in 0..n {
        let r = &effective[source * k..][..k];
        let m: Vec<f64> =
            votes.cells_of(source).map(|cell| free_count(&counts[cell * k..][..k], r)).collect();
        let total = m.iter().sum::<f64>() + k as f64;
        for (j, &r) in r.iter().enumerate() {
            own[source * k + j] = r / (all[source * k + j] + prior);
            free[source * k + j] = (1.0 - r) / total;
        }
        for (cell, m) in votes.cells_of(source).zip(m) {
            for j in 0..k {
                let a = if j == votes.cell_label(cell) { hit } else { miss };
                let n = counts[cell * k + j] + a;
                rows[cell * k + j] =
                    (own[source * k + j] * n + free[source * k + j] * (m + 1.0)).ln();
            }
        }
    }
    let unused = |a: f64| own.iter().zip(&free).map(|(own, free)| (own * a + free).ln()).collect();
    Weights {
        n_states: k,
        rows,
        right: unused(hit),
        wrong: unused(miss),
        spread: vec![0.0; k * k],
        grades: None,
    }
}

/// Votes of a cell that count for the class-free row.
fn free_count(counts: &[f64], r: &[f64]) -> f64 {
    counts.iter().zip(r).map(|(n, r)| (1.0 - r) * n).sum()
}

/// Rounds of updates of r.
const ROUNDS: usize = 2;

/// `r_j`: the probability that a source is effective for class j, from the Dirichlet–multinomial
/// likelihoods of its votes under its own row and under its class-free row.
fn responsibilities(core: &Core<'_>, source: usize, counts: &[f64], all: &[f64], r: &mut [f64]) {
    let (votes, k) = (core.votes, r.len());
    let (hit, miss) = DIAGONAL_PRIOR;
    let prior = hit + (k as f64 - 1.0) * miss;
    let rise = |n: f64, a: f64| if n > 0.0 { ln_gamma(n + a) - ln_gamma(a) } else { 0.0 };
    for _ in 0..ROUNDS {
        let before = r.to_vec();
        let free = |cell: usize| free_count(&counts[cell * k..][..k], &before);
        for (j, r) in r.iter_mut().enumerate() {
            let (mut own, mut shared, mut others) = (-rise(all[j], prior), 0.0, k as f64);
            for cell in votes.cells_of(source) {
                let n = counts[cell * k + j];
                own += rise(n, if j == votes.cell_label(cell) { hit } else { miss });
                let rest = (free(cell) - (1.0 - before[j]) * n).max(0.0);
                shared += rise(n, 1.0 + rest);
                others += rest;
            }
            shared -= rise(all[j], others);
            *r = 1.0 / (1.0 + (shared - own).exp());
        }
    }
}

/// The result of the passes of a method.
pub(super) struct FamilyFit {
    pub(super) states: States,
    pub(super) weights: Weights,
    pub(super) ln_prior: Vec<f64>,
    pub(super) counts: Vec<f64>,
    pub(super) passes: usize,
    pub(super) converged: bool,
}

/// Alternates between sources and items until the probabilities stay.
pub(super) fn iterate(
    core: &Core<'_>,
    rule: Rule,
    most: usize,
    progress: &dyn Progress,
) -> Result<FamilyFit> {
    let mut states = core.start(1.0);
    let k = core.votes.n_classes();
    let f = rule.scale();
    let mut likelihood = f64::NEG_INFINITY;
    for pass in 1.. {
        progress.check()?;
        progress.advance(1);
        let counts = core.counts(&states.q);
        let totals: Vec<f64> = core.totals(&states.q).iter().map(|n| n + 1.0).collect();
        let total: f64 = totals.iter().sum();
        let ln_prior: Vec<f64> = totals.iter().map(|n| f(*n) - f(total)).collect();
        let weights = match rule {
            Rule::Effective => effective_weights(core, &counts),
            _ => row_weights(core, &counts, f, rule.prior(k)),
        };
        let change = if rule == Rule::Collapsed {
            let all = source_totals(core, &counts);
            core.update(&mut states, &vec![0.0; k], |item, q, row| {
                for ((value, n), q) in row.iter_mut().zip(&totals).zip(q) {
                    *value = (n - q).max(1e-9).ln();
                }
                add_collapsed(core, item, &counts, &all, q, row);
            })
        } else {
            core.update(&mut states, &ln_prior, |item, _, row| weights.add(core, item, row))
        };
        let ended = if rule == Rule::Frequencies {
            let before = std::mem::replace(&mut likelihood, ln_likelihood(core, &states));
            (likelihood - before).abs() < LEAST_RISE
        } else {
            change < TOLERANCE
        };
        let converged = ended && pass >= LEAST_PASSES;
        if converged || pass == most {
            return Ok(FamilyFit { states, weights, ln_prior, counts, passes: pass, converged });
        }
    }
    unreachable!("the number of passes is limited")
}

/// The log-likelihood per item: `F_j` − ln `q_j` for any class j, here the most probable one.
fn ln_likelihood(core: &Core<'_>, states: &States) -> f64 {
    let (n, k) = (core.votes.n_items(), core.votes.n_classes());
    let sums = block_sums(n, 1, |items, sums| {
        let range = items.start * k..items.end * k;
        let scores = states.scores[range.clone()].chunks_exact(k);
        for (scores, q) in scores.zip(states.q[range].chunks_exact(k)) {
            let top = simplex::arg_max(q);
            sums[0] += scores[top] - q[top].ln();
        }
    });
    sums[0] / n as f64
}

pub(super) fn learn(core: &Core<'_>, rule: Rule, progress: &dyn Progress) -> Result<Learned> {
    progress.begin("learning sources", PASSES as u64);
    let fit = iterate(core, rule, PASSES, progress)?;
    let totals = core.totals(&fit.states.q);
    let prior = rule.prior(core.votes.n_classes());
    let estimates = Estimates::of_dirichlets(core.votes, fit.counts, prior, &totals);
    let mut warnings = Vec::new();
    if !fit.converged {
        let what = if rule == Rule::Frequencies { "likelihood" } else { "probabilities" };
        let change = if rule == Rule::Frequencies { "changes" } else { "change" };
        let message = format!("the {what} still {change} after {PASSES} passes");
        warnings.push(Warning::convergence(message));
    }
    let (ln_prior, weights) = (fit.ln_prior, fit.weights);
    Ok(Learned {
        parts: vec![Part { share: 1.0, ln_prior, weights, discount: Discount::none() }],
        probabilities: fit.states.q,
        estimates,
        passes: fit.passes,
        converged: fit.converged,
        check: None,
        sampling: None,
        warnings,
    })
}

/// The share of the votes for each class; an item without votes gets the shares of all votes.
pub(super) fn majority(core: &Core<'_>) -> Vec<f64> {
    let k = core.votes.n_classes();
    let mut spread = core.votes.label_counts();
    simplex::normalise(&mut spread);
    let mut table = vec![0.0; core.votes.n_items() * k];
    for_rows(&mut table, k, |item, row| {
        for &cell in core.votes.item_cells(item) {
            row[core.votes.cell_label(cell as usize)] += 1.0;
        }
        match core.gold[item] {
            Some(label) => {
                row.fill(0.0);
                row[label] = 1.0;
            }
            None if core.votes.votes_on(item) == 0 => row.copy_from_slice(&spread),
            None => simplex::normalise(row),
        }
    });
    table
}

pub(super) fn learn_majority(core: &Core<'_>) -> Learned {
    let probabilities = majority(core);
    let (counts, totals) = (core.counts(&probabilities), core.totals(&probabilities));
    Learned {
        parts: Vec::new(),
        estimates: Estimates::of_dirichlets(core.votes, counts, DIAGONAL_PRIOR, &totals),
        probabilities,
        passes: 1,
        converged: true,
        check: None,
        sampling: None,
        warnings: Vec::new(),
    }
}
