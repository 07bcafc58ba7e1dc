//! Enhanced BCC: each class is a mixture of subtypes with confusion matrices of their own, so that
//! errors correlate through the item's subtype.
//!
//! # References
//! Y. Li, B. Rubinstein, T. Cohn, "Exploiting worker correlation for label aggregation in
//! crowdsourcing", ICML 2019.

use consilience_numerics::log_space::log_sum_exp;
use consilience_numerics::special::{digamma, ln_gamma};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, Exp1};

use super::Ebcc;
use super::auto::discount::Discount;
use super::core::{Core, States, block_sums};
use super::estimates::Estimates;
use super::family::{DIAGONAL_PRIOR, row_weights, source_totals};
use super::learned::{Learned, Part};
use super::weights::Weights;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::warning::Warning;

/// Total concentration of a class's subtypes.
const SUBTYPES_PRIOR: f64 = 0.1;

/// Passes at most, and the change of a class probability that ends them.
const PASSES: usize = 200;
const TOLERANCE: f64 = 1e-3;

struct Run {
    states: States,
    weights: Weights,
    ln_prior: Vec<f64>,
    counts: Vec<f64>,
    /// Lower bound of the log evidence.
    bound: f64,
    passes: usize,
    converged: bool,
}

/// The start: shares of votes, spread over the subtypes of a class at random.
fn random_start(core: &Core<'_>, (seed, number): (u64, u64)) -> Vec<f64> {
    let single = Core { subtypes: 1, ..*core };
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    let spread = |q: f64| {
        let parts: Vec<f64> = (0..core.subtypes).map(|_| Exp1.sample(&mut rng)).collect();
        let sum: f64 = parts.iter().sum();
        parts.into_iter().map(|part: f64| q * part / sum).collect::<Vec<f64>>()
    };
    single.start(1e-9).q.into_iter().flat_map(spread).collect()
}

/// Expected logarithms of the probabilities of states, and their contribution to the bound.
fn state_prior(core: &Core<'_>, q: &[f64]) -> (Vec<f64>, f64) {
    let (k, m) = (core.votes.n_classes(), core.subtypes);
    let totals = core.totals(q);
    let classes: Vec<f64> = totals.chunks_exact(m).map(|states| states.iter().sum()).collect();
    let (class_logs, mut divergence) = dirichlet(&classes, 1.0);
    let mut ln_prior = Vec::with_capacity(k * m);
    for (class, states) in class_logs.iter().zip(totals.chunks_exact(m)) {
        let (logs, more) = dirichlet(states, SUBTYPES_PRIOR / m as f64);
        divergence += more;
        ln_prior.extend(logs.into_iter().map(|log| class + log));
    }
    (ln_prior, divergence)
}

/// E ln π for π ~ Dirichlet(n + a), and the divergence of that from Dirichlet(a).
fn dirichlet(counts: &[f64], a: f64) -> (Vec<f64>, f64) {
    let (all, prior) = (counts.iter().sum::<f64>(), a * counts.len() as f64);
    let base = digamma(all + prior);
    let logs: Vec<f64> = counts.iter().map(|n| digamma(n + a) - base).collect();
    let gammas = |n: &f64| ln_gamma(n + a) - ln_gamma(a);
    let normaliser =
        ln_gamma(all + prior) - ln_gamma(prior) - counts.iter().map(gammas).sum::<f64>();
    let gain: f64 = counts.iter().zip(&logs).map(|(n, log)| n * log).sum();
    (logs, normaliser + gain)
}

/// Σ over sources and states of the divergence of the rows' posterior from their prior.
fn row_divergence(core: &Core<'_>, counts: &[f64], weights: &Weights) -> f64 {
    let (votes, s) = (core.votes, core.n_states());
    let (hit, miss) = DIAGONAL_PRIOR;
    let prior = hit + (votes.n_classes() as f64 - 1.0) * miss;
    let all = source_totals(core, counts);
    let sums = block_sums(votes.n_sources(), 1, |sources, sums| {
        for source in sources {
            for n in &all[source * s..(source + 1) * s] {
                sums[0] += ln_gamma(n + prior) - ln_gamma(prior);
            }
            for cell in votes.cells_of(source) {
                for state in 0..s {
                    let own = state / core.subtypes == votes.cell_label(cell);
                    let (a, n) = (if own { hit } else { miss }, counts[cell * s + state]);
                    sums[0] += n * weights.rows[cell * s + state] - ln_gamma(n + a) + ln_gamma(a);
                }
            }
        }
    });
    sums[0]
}

/// Variational passes from a start.
fn run(core: &Core<'_>, start: Vec<f64>, progress: &dyn Progress) -> Result<Run> {
    let mut states = States { scores: vec![0.0; start.len()], q: start };
    for pass in 1.. {
        progress.check()?;
        progress.advance(1);
        let counts = core.counts(&states.q);
        let (ln_prior, divergence) = state_prior(core, &states.q);
        let weights = row_weights(core, &counts, digamma, DIAGONAL_PRIOR);
        let change =
            core.update(&mut states, &ln_prior, |item, _, row| weights.add(core, item, row));
        let converged = change < TOLERANCE;
        if converged || pass == PASSES {
            progress.advance((PASSES - pass) as u64);
            let bound =
                evidence(core, &states) - divergence - row_divergence(core, &counts, &weights);
            return Ok(Run { states, weights, ln_prior, counts, bound, passes: pass, converged });
        }
    }
    unreachable!("the number of passes is limited")
}

/// Σ ln of the normaliser of every item's states, those of the gold class where it is known.
fn evidence(core: &Core<'_>, states: &States) -> f64 {
    let s = core.n_states();
    let sums = block_sums(core.votes.n_items(), 1, |items, sums| {
        for item in items {
            let row = &states.scores[item * s..(item + 1) * s];
            let own = core.gold[item].map_or(0..s, |t| t * core.subtypes..(t + 1) * core.subtypes);
            sums[0] += log_sum_exp(&row[own]);
        }
    });
    sums[0]
}

/// Sums over the subtypes of every class.
fn by_class(values: &[f64], subtypes: usize) -> Vec<f64> {
    values.chunks_exact(subtypes).map(|states| states.iter().sum()).collect()
}

pub(super) fn learn(core: &Core<'_>, options: &Ebcc, progress: &dyn Progress) -> Result<Learned> {
    if !(1..=100).contains(&options.subtypes) {
        return Err(Error::parameter("subtypes", "from 1 to 100", options.subtypes));
    }
    if !(1..=1000).contains(&options.restarts) {
        return Err(Error::parameter("restarts", "from 1 to 1000", options.restarts));
    }
    let core = Core { subtypes: options.subtypes, ..*core };
    progress.begin("learning sources", (options.restarts * PASSES) as u64);
    // One after the other, because each needs memory for all states of all items.
    let mut best: Option<Run> = None;
    for number in 0..options.restarts as u64 {
        let run = run(&core, random_start(&core, (options.seed, number)), progress)?;
        if best.as_ref().is_none_or(|best| run.bound > best.bound) {
            best = Some(run);
        }
    }
    let run = best.expect("there is at least one start");
    let probabilities = by_class(&run.states.q, core.subtypes);
    let counts = by_class(&run.counts, core.subtypes);
    let totals = Core { subtypes: 1, ..core }.totals(&probabilities);
    let mut warnings = Vec::new();
    if !run.converged {
        let message = format!("the probabilities still change after {PASSES} passes");
        warnings.push(Warning::convergence(message));
    }
    Ok(Learned {
        parts: vec![Part {
            share: 1.0,
            ln_prior: run.ln_prior,
            weights: run.weights,
            discount: Discount::none(),
        }],
        estimates: Estimates::of_dirichlets(core.votes, counts, DIAGONAL_PRIOR, &totals),
        probabilities,
        passes: run.passes,
        converged: run.converged,
        check: None,
        sampling: None,
        warnings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoProgress;
    use crate::votes::reference;

    /// From the same start, the passes are those of the reference.
    #[test]
    fn passes_from_a_start_are_those_of_the_reference() {
        for case in reference::cases() {
            let (votes, expected) = (reference::table(&case), &case["expected"]["ebcc"]);
            let gold = votes.gold_labels();
            let core = Core { subtypes: 2, ..Core::new(&votes, &gold) };
            let start = reference::rows(&votes, &expected["start"]).concat();
            let got = run(&core, start, &NoProgress).unwrap();
            assert_eq!(Some(got.passes as u64), expected["passes"].as_u64());
            let expected = reference::rows(&votes, &expected["p"]).concat();
            for (p, expected) in by_class(&got.states.q, 2).iter().zip(expected) {
                assert!((p - expected).abs() < 1e-9, "{p} {expected}");
            }
        }
    }

    /// The bound of the evidence rises from pass to pass.
    #[test]
    fn the_bound_never_falls() {
        let case = &reference::cases()[2];
        let votes = reference::table(case);
        let gold = votes.gold_labels();
        let core = Core { subtypes: 3, ..Core::new(&votes, &gold) };
        let mut states =
            States { scores: vec![0.0; votes.n_items() * 9], q: random_start(&core, (1, 0)) };
        let mut last = f64::NEG_INFINITY;
        for _ in 0..30 {
            let counts = core.counts(&states.q);
            let (ln_prior, divergence) = state_prior(&core, &states.q);
            let weights = row_weights(&core, &counts, digamma, DIAGONAL_PRIOR);
            core.update(&mut states, &ln_prior, |item, _, row| weights.add(&core, item, row));
            let bound =
                evidence(&core, &states) - divergence - row_divergence(&core, &counts, &weights);
            assert!(bound > last - 1e-9, "{bound} {last}");
            last = bound;
        }
    }
}
