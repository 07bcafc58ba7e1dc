//! Chains whose proposals come from a cheap surrogate and are accepted or rejected by the likelihood.
//!
//! A proposal is the end of a few Hamiltonian trajectories on the surrogate posterior, which is a
//! reversible kernel of that posterior. It is accepted with probability
//!
//! ```text
//! min(1, w(proposal) / w(current)),   w = likelihood / surrogate of the likelihood
//! ```
//!
//! The chains therefore have the posterior itself as their stationary distribution, however poor the
//! surrogate is. A poor surrogate lowers the acceptance, which is reported.
//!
//! # References
//! Christen & Fox, "Markov chain Monte Carlo using an approximation", Journal of Computational and
//! Graphical Statistics 14(4), 2005. <https://doi.org/10.1198/106186005X76983>

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::constants::correction::{
    GOOD_ACCEPTANCE, SETTLING_DRAWS, STEP_SCALES, TRAJECTORIES, TUNING_STARTS, TUNING_TRAJECTORIES,
};
use super::gaussian::standard_deviation;
use crate::error::Result;
use crate::progress::Progress;
use crate::sampling::{Draws, Mode, Target, hmc_steps};
use consilience_numerics::parallel;

/// A surrogate posterior together with the likelihood that corrects it.
pub(super) trait Surrogate: Target {
    /// Log likelihood − surrogate of the log likelihood at a point; −∞ outside the support.
    fn weigh(&self, point: &[f64]) -> Result<NoisyValue>;
}

/// A log likelihood, or its difference to a surrogate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NoisyValue {
    pub(super) value: f64,
    /// Variance of the estimate; 0 where the likelihood is computed exactly.
    pub(super) variance: f64,
    /// Number of items whose densities could not be resolved.
    pub(super) n_unresolved: usize,
}

/// Settings of the corrected chains.
pub(super) struct DelayedAcceptance<'a, S> {
    pub(super) surrogate: &'a S,
    /// Centre and scale of the trajectories.
    pub(super) mode: &'a Mode,
    /// Draws kept of each chain.
    pub(super) n_draws: usize,
    pub(super) seed: u64,
    pub(super) progress: &'a dyn Progress,
}

/// What is known of corrected chains.
pub(super) struct Correction {
    /// Log likelihood − surrogate at all proposals.
    pub(super) weights: Vec<NoisyValue>,
    /// Share of accepted proposals.
    pub(super) acceptance: f64,
    /// Whether a kept draw is outside the support, because a chain never reached it.
    pub(super) outside_support: bool,
}

/// One corrected chain.
struct Chain {
    draws: Vec<Vec<f64>>,
    weights: Vec<NoisyValue>,
    n_accepted: usize,
    outside_support: bool,
}

impl Correction {
    /// Standard deviation of the finite log weights over the proposals.
    pub(super) fn spread(&self) -> f64 {
        let finite = self.weights.iter().map(|weight| weight.value).filter(|ln| ln.is_finite());
        standard_deviation(&finite.collect::<Vec<_>>())
    }
}

impl<S: Surrogate> DelayedAcceptance<'_, S> {
    /// Runs one chain from the last draw of every chain on the surrogate.
    pub(super) fn run(&self, starts: &Draws) -> Result<(Draws, Correction)> {
        let n_chains = starts.n_chains();
        let n_steps = n_chains * (self.n_draws + SETTLING_DRAWS);
        self.progress.begin("correcting the draws", n_steps as u64);
        let scale = self.step_scale(starts)?;
        let chains = parallel::map(n_chains, |c| {
            let start = starts.draw((c + 1) * starts.len() / n_chains - 1);
            self.chain(start, scale, (n_chains + c) as u64)
        });
        let chains = chains.into_iter().collect::<Result<Vec<_>>>()?;
        let n_accepted: usize = chains.iter().map(|chain| chain.n_accepted).sum();
        let outside_support = chains.iter().any(|chain| chain.outside_support);
        let (mut draws, mut weights) = (Vec::new(), Vec::new());
        for chain in chains {
            draws.push(chain.draws);
            weights.extend(chain.weights);
        }
        let acceptance = n_accepted as f64 / weights.len() as f64;
        let draws = Draws::from_chains(draws, starts.acceptance());
        Ok((draws, Correction { weights, acceptance, outside_support }))
    }

    fn chain(&self, start: &[f64], scale: f64, stream: u64) -> Result<Chain> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(stream);
        let mut current = start.to_vec();
        let mut ln_weight = self.surrogate.weigh(start)?.value;
        let (mut draws, mut weights, mut n_accepted) = (Vec::new(), Vec::new(), 0);
        let mut outside_support = false;
        for i in 0..SETTLING_DRAWS + self.n_draws {
            self.progress.check()?;
            let steps = (TRAJECTORIES, scale);
            let (next, _) = hmc_steps(self.surrogate, self.mode, &current, steps, &mut rng);
            let proposed = self.surrogate.weigh(&next)?;
            if rng.random::<f64>().ln() < proposed.value - ln_weight {
                n_accepted += usize::from(next != current);
                (current, ln_weight) = (next, proposed.value);
            } else if ln_weight == f64::NEG_INFINITY {
                // the start is outside the support: move on until the chain is inside
                current = next;
                outside_support |= i >= SETTLING_DRAWS;
            }
            weights.push(proposed);
            draws.push(current.clone());
            self.progress.advance(1);
        }
        let draws = draws.split_off(SETTLING_DRAWS);
        Ok(Chain { draws, weights, n_accepted, outside_support })
    }

    /// The largest of the tried step sizes, relative to the default, with enough accepted trajectories.
    fn step_scale(&self, starts: &Draws) -> Result<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let [larger @ .., smallest] = STEP_SCALES;
        for scale in larger {
            let mut acceptance = 0.0;
            for i in 0..TUNING_STARTS {
                self.progress.check()?;
                let start = starts.draw(i * starts.len() / TUNING_STARTS);
                let steps = (TUNING_TRAJECTORIES, scale);
                acceptance += hmc_steps(self.surrogate, self.mode, start, steps, &mut rng).1;
            }
            if acceptance > GOOD_ACCEPTANCE * TUNING_STARTS as f64 {
                return Ok(scale);
            }
        }
        Ok(smallest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::NoProgress;
    use crate::sampling::{ChainSettings, sample};
    use nalgebra::DMatrix;

    /// A normal surrogate with a standard deviation of 1.5 of a standard normal posterior in two
    /// dimensions.
    struct Wide;

    const PRECISION: f64 = 1.0 / (1.5 * 1.5);

    impl Target for Wide {
        fn dimension(&self) -> usize {
            2
        }

        fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
            gradient.iter_mut().zip(point).for_each(|(g, x)| *g = -PRECISION * x);
            -0.5 * PRECISION * point.iter().map(|x| x * x).sum::<f64>()
        }

        fn curvature(&self, _: &[f64]) -> DMatrix<f64> {
            DMatrix::identity(2, 2) * PRECISION
        }
    }

    impl Surrogate for Wide {
        fn weigh(&self, point: &[f64]) -> Result<NoisyValue> {
            let square: f64 = point.iter().map(|x| x * x).sum();
            Ok(NoisyValue { value: -0.5 * (1.0 - PRECISION) * square, ..NoisyValue::default() })
        }
    }

    /// The mean square of the corrected draws is that of the posterior, 1, not that of the surrogate,
    /// 2.25. Over 8000 nearly independent proposals of which about six in ten are accepted the
    /// standard error is about 0.025; the bound is five of them.
    #[test]
    fn corrected_draws_have_the_posterior_of_the_likelihood() {
        let curvature = Wide.curvature(&[]).cholesky().unwrap();
        let mode = Mode { point: vec![0.0; 2], curvature, converged: true };
        let settings = ChainSettings { n_chains: 4, n_warmup: 50, n_draws: 50 };
        let starts = sample(&Wide, &mode, &settings, 3, 0, &NoProgress).unwrap();
        let chains = DelayedAcceptance {
            surrogate: &Wide,
            mode: &mode,
            n_draws: 2000,
            seed: 3,
            progress: &NoProgress,
        };
        let (draws, correction) = chains.run(&starts).unwrap();
        assert_eq!((draws.n_chains(), draws.len()), (4, 8000));
        assert!(!correction.outside_support);
        assert!((0.4..0.95).contains(&correction.acceptance), "{}", correction.acceptance);
        let values = [draws.coordinate(0), draws.coordinate(1)].concat();
        let square = values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64;
        assert!((square - 1.0).abs() < 0.12, "{square}");
    }
}
