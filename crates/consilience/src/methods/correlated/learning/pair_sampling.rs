//! Draws from the posterior of a pair's δ.
//!
//! Chains run on one polynomial per class in place of its log likelihood. The chains' own draws test
//! the polynomials and join their fit until likelihood and polynomials agree. If they do not agree
//! well enough after the last round, the likelihood corrects the draws ([`DelayedAcceptance`]).

use nalgebra::DMatrix;

use super::constants::pair::{
    CHECKED_DRAWS, CORRECTED_DRAWS, CORRECTION_THRESHOLD, LONGEST_CHAIN, MOST_ROUNDS,
    MOST_THINNING, SMALL_SPREAD, TRUSTED_ACCEPTANCE, UNRELIABLE_R_HAT,
};
use super::delayed_acceptance::{DelayedAcceptance, NoisyValue, Surrogate};
use super::delta_posterior::DeltaPosterior;
use super::gaussian::{
    Region, block, moments, normal_approximation, standard_deviation, with_least_precision,
};
use super::mode_search::PosteriorMode;
use super::polynomial_surrogate::{EvaluatedPoint, PolynomialSurrogate, floored_logit, n_points};
use crate::error::Result;
use crate::sampling::diagnostics::{Diagnostics, ESS_PER_CHAIN_LIMIT};
use crate::sampling::{ChainSettings, Draws, Mode, Target, sample};

/// Draws with the error of the polynomials.
pub(super) struct PairSample {
    pub(super) draws: Draws,
    /// Standard deviation of likelihood − polynomials over the draws, in log units.
    pub(super) spread: f64,
    /// Acceptance of the correction by the likelihood; none if no correction was needed.
    pub(super) correction: Option<f64>,
}

/// The polynomial of one class with the evaluations that it was fitted to.
struct ClassSurrogate {
    evaluated: Vec<EvaluatedPoint>,
    region: Region,
    polynomial: PolynomialSurrogate,
    /// Points of the design used so far.
    n_design: usize,
    /// Standard deviation of likelihood − polynomial over the draws that were checked.
    spread: f64,
}

/// Draws from the posterior around its mode.
pub(super) struct PairSampler<'a> {
    pub(super) posterior: &'a DeltaPosterior<'a>,
    pub(super) settings: ChainSettings,
    pub(super) seed: u64,
}

impl PairSampler<'_> {
    /// Runs the chains from a mode.
    pub(super) fn sample(&self, found: &PosteriorMode) -> Result<PairSample> {
        let n_classes = self.posterior.classes.len();
        self.posterior.progress.begin("learning the polynomials", n_classes as u64);
        let curvature = with_least_precision(&found.curvature.l());
        let mut mode = Mode { point: found.point.clone(), curvature, converged: found.converged };
        let covariance = mode.curvature.inverse();
        let mut classes = (0..n_classes)
            .map(|j| self.first_surrogate(j, found, &covariance))
            .collect::<Result<Vec<_>>>()?;
        for round in 0.. {
            let target = self.target(&classes, &mode);
            let draws =
                sample(&target, &mode, &self.settings, self.seed, 0, self.posterior.progress)?;
            self.check_all(&mut classes, &draws, round)?;
            let agree = classes.iter().all(|class| class.spread < SMALL_SPREAD);
            if agree || round + 1 == MOST_ROUNDS {
                return self.finish(&classes, &mode, draws);
            }
            let trusted = draws.acceptance() > TRUSTED_ACCEPTANCE;
            if trusted {
                mode = normal_approximation(&draws, mode.converged);
            }
            for (j, class) in classes.iter_mut().enumerate() {
                if !(class.spread < SMALL_SPREAD) {
                    if trusted {
                        class.region = self.region_of(j, &draws);
                    }
                    self.refit(j, class, self.means(&mode.point))?;
                }
            }
        }
        unreachable!("the last round returns")
    }

    fn target<'b>(
        &'b self,
        classes: &'b [ClassSurrogate],
        mode: &'b Mode,
    ) -> PolynomialPosterior<'b> {
        PolynomialPosterior { posterior: self.posterior, classes, mode }
    }

    /// The draws on the final polynomials, corrected by the likelihood if the polynomials are poor.
    fn finish(&self, classes: &[ClassSurrogate], mode: &Mode, draws: Draws) -> Result<PairSample> {
        let spread = classes.iter().map(|class| class.spread.powi(2)).sum::<f64>().sqrt();
        let target = self.target(classes, mode);
        let draws = self.lengthen(&target, draws)?;
        if spread < CORRECTION_THRESHOLD {
            return Ok(PairSample { draws, spread, correction: None });
        }
        let n_chains = draws.n_chains();
        let chains = DelayedAcceptance {
            surrogate: &target,
            mode: &normal_approximation(&draws, mode.converged),
            n_draws: (CORRECTED_DRAWS / n_chains).clamp(4, draws.len() / n_chains),
            seed: self.seed,
            progress: self.posterior.progress,
        };
        let (draws, correction) = chains.run(&draws)?;
        let spread = correction.spread();
        Ok(PairSample { draws, spread, correction: Some(correction.acceptance) })
    }

    /// The same draws if they mix well, else thinned draws of longer chains.
    fn lengthen(&self, target: &PolynomialPosterior<'_>, draws: Draws) -> Result<Draws> {
        let settings = &self.settings;
        let all: Vec<Vec<f64>> = (0..target.dimension()).map(|l| draws.coordinate(l)).collect();
        let thinning = match Diagnostics::worst_of(&all, settings.n_chains) {
            Some(worst) if worst.are_poor(settings.n_chains) => thinning(worst, settings.n_chains),
            _ => return Ok(draws),
        };
        let thinning = thinning.min(LONGEST_CHAIN / (settings.n_draws * target.dimension()));
        if thinning < 2 {
            return Ok(draws);
        }
        let mode = normal_approximation(&draws, target.mode.converged);
        let longer = ChainSettings {
            n_warmup: settings.n_warmup * thinning,
            n_draws: settings.n_draws * thinning,
            ..*settings
        };
        let all = sample(target, &mode, &longer, self.seed, 0, self.posterior.progress)?;
        let kept: Vec<usize> = (0..all.len()).skip(thinning - 1).step_by(thinning).collect();
        Ok(all.chosen(&kept, all.acceptance()))
    }

    fn evaluate(&self, class: usize, eta: &[f64], means: &[f64]) -> Result<EvaluatedPoint> {
        let ln_prior = self.posterior.prior.ln_density_of(class * eta.len(), eta, means);
        Ok(EvaluatedPoint::new(eta, self.posterior.classes[class].evaluate(eta)?, ln_prior))
    }

    /// The prior means of a point.
    fn means<'p>(&self, point: &'p [f64]) -> &'p [f64] {
        self.posterior.prior.means(point)
    }

    fn first_surrogate(
        &self,
        class: usize,
        found: &PosteriorMode,
        covariance: &DMatrix<f64>,
    ) -> Result<ClassSurrogate> {
        let width = self.posterior.width();
        let centre = self.posterior.eta(class, &found.point);
        let floored: Vec<f64> = centre.iter().map(|x| floored_logit(*x)).collect();
        let region = Region::new(&floored, &block(covariance, class, width));
        let n_items = self.posterior.classes[class].n_items();
        let n_design = n_points(width, n_items);
        let mut evaluated = Vec::new();
        for eta in std::iter::once(centre.to_vec()).chain(region.design(0, n_design)) {
            self.posterior.progress.check()?;
            evaluated.push(self.evaluate(class, &eta, self.means(&found.point))?);
        }
        self.posterior.progress.advance(1);
        let polynomial = PolynomialSurrogate::fit(&evaluated, &region, n_items);
        Ok(ClassSurrogate { evaluated, region, polynomial, n_design, spread: f64::INFINITY })
    }

    /// Checks the polynomials that have not agreed with the likelihood so far.
    fn check_all(&self, classes: &mut [ClassSurrogate], draws: &Draws, round: usize) -> Result<()> {
        for (j, class) in classes.iter_mut().enumerate() {
            if !(class.spread < SMALL_SPREAD) {
                self.posterior.progress.check()?;
                self.check(j, class, draws, round)?;
            }
        }
        Ok(())
    }

    /// Compares a polynomial with the likelihood at some draws, which join its fit.
    fn check(
        &self,
        class: usize,
        surrogate: &mut ClassSurrogate,
        draws: &Draws,
        round: usize,
    ) -> Result<()> {
        let mut errors = Vec::new();
        for i in 0..CHECKED_DRAWS {
            // other draws in every round
            let numerator = (2 * i * MOST_ROUNDS + 2 * round + 1) * draws.len();
            let point = draws.draw(numerator / (2 * CHECKED_DRAWS * MOST_ROUNDS));
            let eta = self.posterior.eta(class, point);
            let evaluated = self.evaluate(class, eta, self.means(point))?;
            let predicted = surrogate.polynomial.value(eta, &mut vec![0.0; eta.len()]);
            errors.push(evaluated.value - predicted);
            surrogate.evaluated.push(evaluated);
        }
        surrogate.spread = standard_deviation(&errors);
        Ok(())
    }

    /// The region of one class's draws.
    fn region_of(&self, class: usize, draws: &Draws) -> Region {
        let floored = draws.mapped(|point| {
            self.posterior.eta(class, point).iter().map(|x| floored_logit(*x)).collect()
        });
        let (centre, covariance) = moments(&floored);
        Region::new(&centre[..self.posterior.width()], &covariance)
    }

    /// Evaluates more points of a class's region and fits its polynomial again.
    fn refit(&self, class: usize, surrogate: &mut ClassSurrogate, means: &[f64]) -> Result<()> {
        let first = surrogate.n_design;
        let n_items = self.posterior.classes[class].n_items();
        surrogate.n_design += n_points(self.posterior.width(), n_items) / 2;
        for eta in surrogate.region.design(first, surrogate.n_design) {
            surrogate.evaluated.push(self.evaluate(class, &eta, means)?);
        }
        surrogate.polynomial =
            PolynomialSurrogate::fit(&surrogate.evaluated, &surrogate.region, n_items);
        Ok(())
    }
}

/// Draws to make per draw kept: enough for twice the effective sample size that is asked for.
fn thinning(worst: Diagnostics, n_chains: usize) -> usize {
    let wanted = 2.0 * ESS_PER_CHAIN_LIMIT * n_chains as f64;
    let factor = wanted / worst.ess_bulk.min(worst.ess_tail);
    if worst.r_hat > UNRELIABLE_R_HAT || !factor.is_finite() {
        return MOST_THINNING;
    }
    (2..MOST_THINNING).find(|&n| n as f64 >= factor).unwrap_or(MOST_THINNING)
}

/// The prior plus one polynomial per class.
struct PolynomialPosterior<'a> {
    posterior: &'a DeltaPosterior<'a>,
    classes: &'a [ClassSurrogate],
    mode: &'a Mode,
}

impl Target for PolynomialPosterior<'_> {
    fn dimension(&self) -> usize {
        self.posterior.dimension()
    }

    fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let mut sum = self.posterior.prior.ln_density(point, gradient);
        let width = self.posterior.width();
        let mut slopes = vec![0.0; width];
        for (j, class) in self.classes.iter().enumerate() {
            sum += class.polynomial.value(self.posterior.eta(j, point), &mut slopes);
            let own = &mut gradient[j * width..(j + 1) * width];
            own.iter_mut().zip(&slopes).for_each(|(g, s)| *g += s);
        }
        sum
    }

    fn curvature(&self, _: &[f64]) -> DMatrix<f64> {
        let l = self.mode.curvature.l();
        &l * l.transpose()
    }
}

impl Surrogate for PolynomialPosterior<'_> {
    fn weigh(&self, point: &[f64]) -> Result<NoisyValue> {
        let mut slopes = vec![0.0; self.posterior.width()];
        let mut value = 0.0;
        for (j, class) in self.classes.iter().enumerate() {
            let eta = self.posterior.eta(j, point);
            let exact = self.posterior.classes[j].value(eta)?;
            value += exact - class.polynomial.value(eta, &mut slopes);
        }
        Ok(NoisyValue { value, ..NoisyValue::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::correlated::learning::Correlated;
    use crate::methods::correlated::learning::mode_search::{Effort, search_mode};
    use crate::methods::independent::Alpha;
    use crate::progress::NoProgress;
    use crate::simulation::Preset;

    /// Draws corrected by the likelihood, from polynomials of the first design that were not refined,
    /// against draws on refined polynomials: means of ten coordinates within four standard errors (a
    /// false alarm in 1600 runs), standard deviations within a quarter.
    #[test]
    fn corrected_draws_agree_with_refined_polynomials() {
        let outputs = Preset::Sim1.truth(0.75).unwrap().simulate(25, 3).unwrap();
        let alpha: Alpha = vec![Preset::Sim1.alpha().map(Vec::from).to_vec(); 2];
        let config = Correlated { resolution: Some(0.1), ..Correlated::default() };
        let mut posterior = config.posterior(&outputs, &alpha, &NoProgress).unwrap();
        let mode = search_mode(&mut posterior, Effort::Quick).unwrap().mode;
        let sampler =
            PairSampler { posterior: &posterior, settings: config.chain_settings(), seed: 1 };
        let refined = sampler.sample(&mode).unwrap();
        assert!(refined.correction.is_none() && refined.spread < CORRECTION_THRESHOLD);
        let curvature = with_least_precision(&mode.curvature.l());
        let first = |j| sampler.first_surrogate(j, &mode, &curvature.inverse());
        let classes = (0..3).map(first).collect::<Result<Vec<_>>>().unwrap();
        let start = Mode { point: mode.point.clone(), curvature, converged: true };
        let target = sampler.target(&classes, &start);
        let draws = sample(&target, &start, &sampler.settings, 1, 0, &NoProgress).unwrap();
        let corrected = sampler.finish(&classes, &start, draws).unwrap();
        assert!(corrected.correction.unwrap() > 0.5, "{:?}", corrected.correction);
        for l in 0..posterior.dimension() {
            let [a, b] = [&refined, &corrected].map(|sample| sample.draws.coordinate(l));
            let summary = |x: &Vec<f64>| {
                let ess = Diagnostics::worst_of(std::slice::from_ref(x), 4).unwrap().ess_bulk;
                (x.iter().sum::<f64>() / x.len() as f64, standard_deviation(x), ess)
            };
            let ((mean_a, sd_a, ess_a), (mean_b, sd_b, ess_b)) = (summary(&a), summary(&b));
            let error = (sd_a * sd_a / ess_a + sd_b * sd_b / ess_b).sqrt();
            assert!((mean_a - mean_b).abs() < 4.0 * error, "{l}: {mean_a} {mean_b} {error}");
            assert!((sd_b / sd_a - 1.0).abs() < 0.25, "{l}: {sd_a} {sd_b}");
        }
    }
}
