//! Draws from the posterior of everything that is shared.
//!
//! A Gaussian process per class stands for its log likelihood. Chains on these surrogates show where
//! the posterior has its mass. The likelihood is evaluated there, and at draws of a tempered, wider
//! version of the posterior, and the surrogates are fitted again until they agree with it. Finally the
//! likelihood corrects the draws
//! ([`DelayedAcceptance`](crate::methods::correlated::learning::delayed_acceptance::DelayedAcceptance)).

use nalgebra::DMatrix;

use super::constraints::SharedShapes;
use super::gaussian_process::{GaussianProcess, LengthScales, NoisyEvaluation};
use super::posterior::FullPosterior;
use super::reweighted_likelihood::{ReweightedClass, shapes};
use crate::error::{Error, Result};
use crate::methods::correlated::learning::constants::full::{
    CHECKED_DRAWS, CORRECTED_DRAWS, DESIGN_POINTS, EXPLORATORY_DRAWS, EXPLORATORY_THINNING,
    FEWEST_ROUNDS, LARGEST_ETA, MOST_ROUNDS, ROOT_OFFSET, SMALL_SPREAD, TEMPERED_POWER,
};
use crate::methods::correlated::learning::delayed_acceptance::{
    Correction, DelayedAcceptance, NoisyValue, Surrogate,
};
use crate::methods::correlated::learning::gaussian::{
    Region, block, moments, normal_approximation, standard_deviation, with_least_precision,
};
use crate::methods::independent::Alpha;
use crate::progress::Progress;
use crate::sampling::{ChainSettings, Draws, Mode, Target, sample};
use consilience_numerics::parallel;

/// The surrogate of one class with the evaluations that it was fitted to.
struct ClassProcess {
    evaluated: Vec<NoisyEvaluation>,
    process: GaussianProcess,
    /// Standard deviation of likelihood − surrogate over the draws that were checked.
    spread: f64,
}

/// Draws from the posterior around its mode.
pub(super) struct SharedSampler<'a> {
    pub(super) posterior: &'a FullPosterior,
    pub(super) alpha: &'a Alpha,
    pub(super) settings: ChainSettings,
    pub(super) seed: u64,
    pub(super) progress: &'a dyn Progress,
}

impl SharedSampler<'_> {
    /// Fits the surrogates around a mode, and runs the corrected chains.
    pub(super) fn sample(&self, found: Mode) -> Result<(Draws, Correction)> {
        let mut mode = Mode { curvature: with_least_precision(&found.curvature.l()), ..found };
        let n_classes = self.posterior.n_classes;
        self.progress.begin("learning the surrogates", (MOST_ROUNDS * n_classes) as u64);
        let covariance = mode.curvature.inverse();
        let first = |j: usize| self.first_surrogate(j, &mode.point, &covariance);
        let mut classes = (0..n_classes).map(first).collect::<Result<Vec<_>>>()?;
        for round in 1..=MOST_ROUNDS {
            let draws = self.explore(&classes, &mode, 1.0, round)?;
            let tempered = self.explore(&classes, &mode, TEMPERED_POWER, round)?;
            for (j, class) in classes.iter_mut().enumerate() {
                self.check(j, class, &draws, &tempered)?;
            }
            mode = normal_approximation(&draws, mode.converged);
            self.refit(&mut classes, &draws);
            let spread = classes.iter().map(|class| class.spread.powi(2)).sum::<f64>().sqrt();
            if round >= FEWEST_ROUNDS && spread < SMALL_SPREAD {
                break;
            }
        }
        let draws = self.explore(&classes, &mode, 1.0, 0)?;
        let mode = normal_approximation(&draws, mode.converged);
        let target = ProcessPosterior { sampler: self, classes: &classes, mode: &mode, power: 1.0 };
        self.correct(&target, &draws)
    }

    fn eta<'b>(&self, class: usize, point: &'b [f64]) -> &'b [f64] {
        let width = self.posterior.width();
        &point[class * width..(class + 1) * width]
    }

    /// The shared shapes of a class in the coordinates of its surrogate.
    fn surrogate_point(&self, class: usize, eta: &[f64]) -> Vec<f64> {
        roots(&shapes(&self.posterior.constraints(self.alpha, class), eta))
    }

    /// The log likelihood and its gradient at a point. The same random numbers are used everywhere, so
    /// that errors at neighbouring points are alike.
    fn evaluate(&self, class: usize, point: &[f64]) -> Result<NoisyEvaluation> {
        self.progress.check()?;
        let (eta, prior) = (self.eta(class, point), &self.posterior.prior);
        let ln_prior = prior.ln_density_of(class * eta.len(), eta, prior.means(point));
        let eta: Vec<f64> = eta.iter().map(|e| e.clamp(-LARGEST_ETA, LARGEST_ETA)).collect();
        let constraints = self.posterior.constraints(self.alpha, class);
        let items = &self.posterior.items[class];
        let at = ReweightedClass::new(constraints, items, &eta, self.class_seed(class), 0.0)?;
        let roots = self.surrogate_point(class, &eta);
        let reweighted = at.evaluate(&eta, None);
        let exact = items.ln_likelihood(&at.constraints, &eta, self.class_seed(class))?.value;
        let value = if at.left_out.is_empty() { exact } else { f64::NEG_INFINITY };
        let in_roots =
            |slopes: &[f64]| slopes.iter().zip(&roots).map(|(s, v)| 2.0 * v * s).collect();
        Ok(NoisyEvaluation {
            gradient: in_roots(&reweighted.slopes),
            gradient_error: in_roots(&at.slope_errors()),
            ln_posterior: value + ln_prior,
            point: roots,
            value,
        })
    }

    fn class_seed(&self, class: usize) -> u64 {
        self.seed.wrapping_add((class as u64) << 32)
    }

    fn first_surrogate(
        &self,
        class: usize,
        centre: &[f64],
        covariance: &DMatrix<f64>,
    ) -> Result<ClassProcess> {
        let width = self.posterior.width();
        let region = Region::new(self.eta(class, centre), &block(covariance, class, width));
        let mut evaluated = vec![self.evaluate(class, centre)?];
        for eta in region.design(0, DESIGN_POINTS * width) {
            let mut point = centre.to_vec();
            point[class * width..(class + 1) * width].copy_from_slice(&eta);
            evaluated.push(self.evaluate(class, &point)?);
        }
        if !evaluated.iter().any(|at| at.value.is_finite()) {
            return Err(unresolved());
        }
        let scales = LengthScales::of(&evaluated, &evaluated[0].point);
        let process = GaussianProcess::fit(&evaluated, scales);
        Ok(ClassProcess { evaluated, process, spread: f64::INFINITY })
    }

    /// Draws by the surrogates alone, the likelihood raised to a power.
    fn explore(
        &self,
        classes: &[ClassProcess],
        mode: &Mode,
        power: f64,
        round: usize,
    ) -> Result<Draws> {
        let target = ProcessPosterior { sampler: self, classes, mode, power };
        let settings = ChainSettings {
            n_chains: 1,
            n_warmup: EXPLORATORY_DRAWS,
            n_draws: EXPLORATORY_THINNING * EXPLORATORY_DRAWS,
        };
        let seed = self.seed.wrapping_add(round as u64) ^ power.to_bits();
        let runs = parallel::map(self.settings.n_chains, |c| {
            sample(&target, mode, &settings, seed, c as u64, self.progress)
        });
        let runs = runs.into_iter().collect::<Result<Vec<_>>>()?;
        let acceptance = runs.iter().map(Draws::acceptance).sum::<f64>() / runs.len() as f64;
        let chain = |run: &Draws| {
            let kept = (EXPLORATORY_THINNING - 1..run.len()).step_by(EXPLORATORY_THINNING);
            kept.map(|i| run.draw(i).to_vec()).collect()
        };
        Ok(Draws::from_chains(runs.iter().map(chain).collect(), acceptance))
    }

    /// Compares a surrogate with the likelihood at some draws. These and some tempered draws join its
    /// fit.
    fn check(
        &self,
        class: usize,
        surrogate: &mut ClassProcess,
        draws: &Draws,
        tempered: &Draws,
    ) -> Result<()> {
        let mut errors = Vec::new();
        let index = |all: &Draws, i: usize| (2 * i + 1) * all.len() / (2 * CHECKED_DRAWS);
        for i in 0..CHECKED_DRAWS {
            let at = self.evaluate(class, draws.draw(index(draws, i)))?;
            let predicted = surrogate.process.value(&at.point, &mut vec![0.0; at.point.len()]);
            errors.push(at.value - predicted);
            surrogate.evaluated.push(at);
            surrogate.evaluated.push(self.evaluate(class, tempered.draw(index(tempered, i)))?);
        }
        errors.retain(|error| error.is_finite());
        surrogate.spread =
            if errors.len() > 2 { standard_deviation(&errors) } else { f64::INFINITY };
        self.progress.advance(1);
        Ok(())
    }

    fn refit(&self, classes: &mut [ClassProcess], draws: &Draws) {
        let processes = parallel::map(classes.len(), |j| {
            let roots = draws.mapped(|point| self.surrogate_point(j, self.eta(j, point)));
            let evaluated = &classes[j].evaluated;
            GaussianProcess::fit(evaluated, LengthScales::of(evaluated, &moments(&roots).0))
        });
        classes.iter_mut().zip(processes).for_each(|(class, process)| class.process = process);
    }

    /// Chains of the posterior itself, each from a draw by the surrogates.
    fn correct(&self, target: &ProcessPosterior<'_>, draws: &Draws) -> Result<(Draws, Correction)> {
        let chains = DelayedAcceptance {
            surrogate: target,
            mode: target.mode,
            n_draws: self.settings.n_draws.min(CORRECTED_DRAWS),
            seed: self.seed,
            progress: self.progress,
        };
        let (draws, correction) = chains.run(draws)?;
        if correction.outside_support { Err(unresolved()) } else { Ok((draws, correction)) }
    }
}

/// The square roots of shapes, component by component: the coordinates of the surrogates.
fn roots(shapes: &[SharedShapes]) -> Vec<f64> {
    shapes.iter().flat_map(|s| &s.delta).map(|d| (d + ROOT_OFFSET).sqrt()).collect()
}

fn unresolved() -> Error {
    Error::Unsupported {
        method: "correlated".into(),
        cannot:
            "cannot learn the posterior of everything that is shared: too many densities in its \
                 range cannot be resolved; use the inference `two-step`"
                .into(),
    }
}

/// The prior plus one surrogate per class, raised to a power.
struct ProcessPosterior<'a> {
    sampler: &'a SharedSampler<'a>,
    classes: &'a [ClassProcess],
    mode: &'a Mode,
    power: f64,
}

impl Target for ProcessPosterior<'_> {
    fn dimension(&self) -> usize {
        self.sampler.posterior.prior.dimension()
    }

    fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let posterior = self.sampler.posterior;
        let mut sum = posterior.prior.ln_density(point, gradient);
        let (width, n_parts) = (posterior.width(), posterior.members.len());
        let (mut slopes, mut own) = (vec![0.0; width], vec![0.0; width]);
        for (j, class) in self.classes.iter().enumerate() {
            let eta = self.sampler.eta(j, point);
            let constraints = posterior.constraints(self.sampler.alpha, j);
            let shapes = shapes(&constraints, eta);
            let roots = roots(&shapes);
            sum += self.power * class.process.value(&roots, &mut slopes);
            slopes.iter_mut().zip(&roots).for_each(|(s, v)| *s *= 0.5 * self.power / v);
            for (l, (constraints, shapes)) in constraints.iter().zip(&shapes).enumerate() {
                let part = l * n_parts..(l + 1) * n_parts;
                let (eta, slopes) = (&eta[part.clone()], &slopes[part.clone()]);
                constraints.gradient_in_eta(shapes, eta, slopes, &mut own[part]);
            }
            let all = &mut gradient[j * width..(j + 1) * width];
            all.iter_mut().zip(&own).for_each(|(g, s)| *g += s);
        }
        sum
    }

    fn curvature(&self, _: &[f64]) -> DMatrix<f64> {
        let l = self.mode.curvature.l();
        &l * l.transpose()
    }
}

impl Surrogate for ProcessPosterior<'_> {
    fn weigh(&self, point: &[f64]) -> Result<NoisyValue> {
        let sampler = self.sampler;
        let mut all = NoisyValue::default();
        for (j, class) in self.classes.iter().enumerate() {
            sampler.progress.check()?;
            let eta = sampler.eta(j, point);
            let constraints = sampler.posterior.constraints(sampler.alpha, j);
            let items = &sampler.posterior.items[j];
            let exact = items.ln_likelihood(&constraints, eta, sampler.class_seed(j))?;
            let roots = sampler.surrogate_point(j, eta);
            all.value += exact.value - class.process.value(&roots, &mut vec![0.0; roots.len()]);
            all.variance += exact.variance;
            all.n_unresolved += exact.n_unresolved;
        }
        if all.value.is_nan() {
            all.value = f64::NEG_INFINITY;
        }
        Ok(all)
    }
}
