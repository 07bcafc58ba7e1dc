//! One item's densities under several classes, as exact as its fused probabilities ask for.
//!
//! All classes take the same points. Their errors are then alike and mostly cancel from the probabilities (correlations
//! are about .8 for three classes with private shapes of 1). What counts is the spread of the probabilities over the
//! replicates; only classes that matter to it are given more points.

use super::points::REPLICATES;
use super::replicates::reported_error;
use super::transport::{Run, Transport};
use super::{Estimate, Goal, MultiDensity, Part, Scratch};
use consilience_numerics::log_space::log_sum_exp;

/// The error of a log density that is always reached, even of classes that hardly matter: 2 % of a small probability.
const COARSE: f64 = 0.02;
/// A class matters while its own error alone moves a probability by more than this part of what is wanted.
const MATTERS: f64 = 0.25;
/// To learn costs a pilot: it pays from this many times the wanted error on.
const WORTH_LEARNING: f64 = 2.0;

/// Densities and what they are worth together.
#[derive(Debug)]
pub struct Fused {
    /// One for every class.
    pub estimates: Vec<Estimate>,
    /// The largest error of a fused probability; infinite if any estimate is not resolved.
    pub error: f64,
}

/// The density of one class under way.
struct Class<'a> {
    /// What needs no points.
    exact: Estimate,
    runs: Vec<(&'a Transport, Run)>,
}

/// Estimates the densities of an item until the probabilities that go with this prior reach the wanted error.
pub fn fused(
    densities: &[&MultiDensity],
    x: &[&[f64]],
    item: u64,
    (ln_prior, tolerance): (&[f64], f64),
    scratch: &mut Scratch,
) -> Fused {
    let goals: Vec<Goal> =
        densities.iter().map(|density| Goal { tolerance, item, ..density.goal }).collect();
    let begin = |(density, goal)| Class::begin(density, x, goal, scratch);
    let classes: Option<Vec<Class<'_>>> =
        densities.iter().copied().zip(&goals).map(begin).collect();
    let Some(mut classes) = classes else {
        return Fused { estimates: vec![Estimate::UNKNOWN; densities.len()], error: f64::INFINITY };
    };
    loop {
        let p = probabilities(classes.iter().map(Class::ln_density), ln_prior);
        let spread = spread(&classes, &p);
        let mut error = spread;
        if spread <= tolerance {
            let fused = finish(&mut classes, &p, spread);
            // more points also show more of what replicates do not see
            if fused.error <= tolerance || fused.error.is_infinite() {
                return fused;
            }
            error = fused.error;
        }
        let wanted = |((class, goal), p): &((&mut Class<'_>, &Goal), &f64)| {
            class.is_wanted(goal, error, **p)
        };
        let all = classes.iter_mut().zip(&goals).zip(&p);
        let mut wanted: Vec<_> = all.filter(wanted).map(|(class, _)| class).collect();
        if wanted.is_empty() {
            return finish(&mut classes, &p, spread);
        }
        let learns =
            error > WORTH_LEARNING * tolerance && wanted.iter().any(|c| c.0.should_learn());
        for (class, goal) in &mut wanted {
            class.go_on(learns, goal, scratch);
        }
    }
}

impl<'a> Class<'a> {
    fn begin(
        density: &'a MultiDensity,
        x: &[&[f64]],
        goal: &Goal,
        scratch: &mut Scratch,
    ) -> Option<Self> {
        let mut exact = Estimate { ln_density: 0.0, error: 0.0, resolved: true };
        let mut runs = Vec::new();
        for part in &density.parts {
            if let Part::Transport { classifiers, transport } = part {
                let x: Vec<Vec<f64>> = classifiers.iter().map(|&k| x[k].to_vec()).collect();
                runs.push((transport, transport.begin(&x, goal, &mut scratch.transport)?));
            } else {
                exact.add(part.ln_density(x, goal, scratch));
            }
        }
        Some(Self { exact, runs })
    }

    fn ln_density(&self) -> f64 {
        let run = |(transport, run): &(&Transport, Run)| transport.ln_mean(run);
        self.exact.ln_density + self.runs.iter().map(run).sum::<f64>()
    }

    /// The relative deviation of every replicate.
    fn deviations(&self) -> [f64; REPLICATES] {
        let mut sum = [0.0; REPLICATES];
        for (_, run) in &self.runs {
            sum.iter_mut().zip(run.replicates.deviations()).for_each(|(sum, d)| *sum += d);
        }
        sum
    }

    /// Whether more points are wanted, given the error of the probabilities and the own probability, and may be had.
    fn is_wanted(&self, goal: &Goal, error: f64, p: f64) -> bool {
        let own = self.runs.iter().map(|(_, run)| run.replicates.mean().1).fold(0.0, f64::hypot);
        let matters = error > goal.tolerance && p * (1.0 - p) * own > MATTERS * goal.tolerance;
        (own > COARSE || matters) && !self.runs.iter().any(|(_, run)| run.is_long(goal))
    }

    fn should_learn(&self) -> bool {
        self.runs.iter().any(|(_, run)| run.should_learn())
    }

    /// Adds points, or corrects the maps of pilots and begins anew.
    fn go_on(&mut self, learns: bool, goal: &Goal, scratch: &mut Scratch) {
        for (transport, run) in &mut self.runs {
            if learns && run.is_pilot() {
                transport.learn(run, goal, &mut scratch.transport);
            } else {
                transport.advance(run, goal, &mut scratch.transport);
            }
        }
    }

    /// The estimate, and how much of its error replicates do not see.
    fn finish(&mut self) -> (Estimate, f64) {
        let (mut all, mut unseen) = (self.exact, self.exact.error);
        for (transport, run) in &mut self.runs {
            let estimate = transport.finish(run);
            let spread = run.replicates.mean().1;
            let rest = (estimate.error * estimate.error - spread * spread).max(0.0);
            unseen = unseen.hypot(rest.sqrt());
            all.add(estimate);
        }
        (all, unseen)
    }
}

/// The largest error of a probability by the spread of the replicates: dp_j = p_j (d_j − Σ p_m d_m).
fn spread(classes: &[Class<'_>], p: &[f64]) -> f64 {
    let deviations: Vec<[f64; REPLICATES]> = classes.iter().map(Class::deviations).collect();
    let mean = |r: usize| p.iter().zip(&deviations).map(|(p, d)| p * d[r]).sum::<f64>();
    let means: [f64; REPLICATES] = std::array::from_fn(mean);
    let of_class = |(p, d): (&f64, &[f64; REPLICATES])| {
        reported_error(std::array::from_fn(|r| p * (d[r] - means[r])))
    };
    p.iter().zip(&deviations).map(of_class).fold(0.0, f64::max)
}

fn finish(classes: &mut [Class<'_>], p: &[f64], spread: f64) -> Fused {
    let (estimates, unseen): (Vec<Estimate>, Vec<f64>) =
        classes.iter_mut().map(Class::finish).unzip();
    let moved = unseen.iter().zip(p).map(|(error, p)| error * p * (1.0 - p));
    let error = moved.fold(spread, f64::hypot);
    let resolved = estimates.iter().all(|estimate| estimate.resolved);
    Fused { estimates, error: if resolved { error } else { f64::INFINITY } }
}

/// Probabilities of the classes from log densities and the logarithm of the prior.
pub fn probabilities(ln_densities: impl Iterator<Item = f64>, ln_prior: &[f64]) -> Vec<f64> {
    let joint: Vec<f64> = ln_densities.zip(ln_prior).map(|(ln, prior)| ln + prior).collect();
    let all = log_sum_exp(&joint);
    joint.iter().map(|ln| (ln - all).exp()).collect()
}
