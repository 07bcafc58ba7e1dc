//! The densities of one item under several true classes, estimated to the accuracy that their posterior probabilities
//! need.
//!
//! All classes use the same points. Their errors are then positively correlated and mostly cancel in the probabilities
//! (the correlation is about 0.8 for three classes with private shapes of 1). The spread of the probabilities over the
//! replicates decides when to stop, and only classes with a relevant contribution to it receive more points.

use super::constants::{ALWAYS_REACHED, LEARN_ABOVE, RELEVANT, REPLICATES};
use super::exact::{ExactIntegral, ExactRun};
use super::replicates::reported_error;
use super::{Goal, GroupDensity, MultiDensity, MultiScratch, outputs_of};
use crate::Estimate;
use consilience_numerics::log_space::log_sum_exp;

/// Densities of one item under several classes, with the error of their posterior probabilities.
#[derive(Debug)]
pub struct ClassEstimates {
    /// One estimate per class.
    pub estimates: Vec<Estimate>,
    /// The largest error of a posterior probability; infinite if any estimate is not resolved.
    pub error: f64,
}

/// The posterior probabilities to estimate.
#[derive(Debug, Clone, Copy)]
pub struct ClassGoal<'a> {
    /// Logarithms of the prior probabilities, one per class.
    pub ln_prior: &'a [f64],
    /// The wanted error of a posterior probability.
    pub tolerance: f64,
}

/// Estimates the densities of an item until the posterior probabilities reach the wanted error.
pub fn estimate_classes(
    densities: &[&MultiDensity],
    x: &[&[f64]],
    item: u64,
    ClassGoal { ln_prior, tolerance }: ClassGoal<'_>,
    scratch: &mut MultiScratch,
) -> ClassEstimates {
    let goals: Vec<Goal> =
        densities.iter().map(|density| Goal { tolerance, item, ..density.goal }).collect();
    let begin = |(density, goal)| ClassRun::begin(density, x, goal, scratch);
    let classes: Option<Vec<ClassRun<'_>>> =
        densities.iter().copied().zip(&goals).map(begin).collect();
    let Some(mut classes) = classes else {
        let estimates = vec![Estimate::UNRESOLVED; densities.len()];
        return ClassEstimates { estimates, error: f64::INFINITY };
    };
    loop {
        let p = probabilities(classes.iter().map(ClassRun::ln_density), ln_prior);
        let spread = spread(&classes, &p);
        let mut error = spread;
        if spread <= tolerance {
            let found = finish(&mut classes, &p, spread);
            // More points also reduce the part of the error that the spread does not include.
            if found.error <= tolerance || found.error.is_infinite() {
                return found;
            }
            error = found.error;
        }
        let wanted = |((class, goal), p): &((&mut ClassRun<'_>, &Goal), &f64)| {
            class.needs_points(goal, error, **p)
        };
        let all = classes.iter_mut().zip(&goals).zip(&p);
        let mut wanted: Vec<_> = all.filter(wanted).map(|(class, _)| class).collect();
        if wanted.is_empty() {
            return finish(&mut classes, &p, spread);
        }
        let learns = error > LEARN_ABOVE * tolerance && wanted.iter().any(|c| c.0.should_learn());
        for (class, goal) in &mut wanted {
            class.go_on(learns, goal, scratch);
        }
    }
}

/// The density under one class while points are being added.
struct ClassRun<'a> {
    /// The product of the groups that need no points.
    exact: Estimate,
    runs: Vec<(&'a ExactIntegral, ExactRun)>,
}

impl<'a> ClassRun<'a> {
    fn begin(
        density: &'a MultiDensity,
        x: &[&[f64]],
        goal: &Goal,
        scratch: &mut MultiScratch,
    ) -> Option<Self> {
        let mut exact = Estimate::ONE;
        let mut runs = Vec::new();
        for group in &density.groups {
            if let GroupDensity::Exact { classifiers, integral } = group {
                let x = outputs_of(x, classifiers);
                runs.push((integral, integral.begin(&x, goal, &mut scratch.exact)?));
            } else {
                exact.multiply(group.ln_density(x, goal, scratch));
            }
        }
        Some(Self { exact, runs })
    }

    fn ln_density(&self) -> f64 {
        let run = |(integral, run): &(&ExactIntegral, ExactRun)| integral.ln_mean(run);
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

    /// Whether more points are needed, given the error of the probabilities and this class's probability, and allowed.
    fn needs_points(&self, goal: &Goal, error: f64, p: f64) -> bool {
        let own = self.runs.iter().map(|(_, run)| run.replicates.mean().1).fold(0.0, f64::hypot);
        let relevant = error > goal.tolerance && p * (1.0 - p) * own > RELEVANT * goal.tolerance;
        (own > ALWAYS_REACHED || relevant) && !self.runs.iter().any(|(_, run)| run.is_long(goal))
    }

    fn should_learn(&self) -> bool {
        self.runs.iter().any(|(_, run)| run.should_learn())
    }

    /// Adds points, or corrects the maps by their pilots and starts again.
    fn go_on(&mut self, learns: bool, goal: &Goal, scratch: &mut MultiScratch) {
        for (integral, run) in &mut self.runs {
            if learns && run.is_pilot() {
                integral.learn(run, goal, &mut scratch.exact);
            } else {
                integral.advance(run, goal, &mut scratch.exact);
            }
        }
    }

    /// The estimate, and the part of its error that the spread of the replicates does not include.
    fn finish(&mut self) -> (Estimate, f64) {
        let (mut all, mut unseen) = (self.exact, self.exact.error);
        for (integral, run) in &mut self.runs {
            let estimate = integral.finish(run);
            let spread = run.replicates.mean().1;
            let rest = (estimate.error * estimate.error - spread * spread).max(0.0);
            unseen = unseen.hypot(rest.sqrt());
            all.multiply(estimate);
        }
        (all, unseen)
    }
}

/// The largest error of a probability estimated from the spread of the replicates: dp_j = p_j (d_j − Σ p_m d_m).
fn spread(classes: &[ClassRun<'_>], p: &[f64]) -> f64 {
    let deviations: Vec<[f64; REPLICATES]> = classes.iter().map(ClassRun::deviations).collect();
    let mean = |r: usize| p.iter().zip(&deviations).map(|(p, d)| p * d[r]).sum::<f64>();
    let means: [f64; REPLICATES] = std::array::from_fn(mean);
    let of_class = |(p, d): (&f64, &[f64; REPLICATES])| {
        reported_error(std::array::from_fn(|r| p * (d[r] - means[r])))
    };
    p.iter().zip(&deviations).map(of_class).fold(0.0, f64::max)
}

fn finish(classes: &mut [ClassRun<'_>], p: &[f64], spread: f64) -> ClassEstimates {
    let (estimates, unseen): (Vec<Estimate>, Vec<f64>) =
        classes.iter_mut().map(ClassRun::finish).unzip();
    let moved = unseen.iter().zip(p).map(|(error, p)| error * p * (1.0 - p));
    let error = moved.fold(spread, f64::hypot);
    let resolved = estimates.iter().all(Estimate::is_resolved);
    ClassEstimates { estimates, error: if resolved { error } else { f64::INFINITY } }
}

/// Posterior probabilities of the classes from log densities and the logarithms of the prior.
pub fn probabilities(ln_densities: impl Iterator<Item = f64>, ln_prior: &[f64]) -> Vec<f64> {
    let joint: Vec<f64> = ln_densities.zip(ln_prior).map(|(ln, prior)| ln + prior).collect();
    let all = log_sum_exp(&joint);
    joint.iter().map(|ln| (ln - all).exp()).collect()
}
