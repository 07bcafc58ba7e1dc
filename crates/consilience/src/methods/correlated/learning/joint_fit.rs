//! The fit of α and δ together, by either sampler.

use super::config::{Correlated, DeltaSampler};
use super::delta_posterior::DeltaPosterior;
use super::gibbs::{GibbsClass, GibbsTarget};
use super::joint::JointTarget;
use super::margins::Margin;
use super::mode_search::search_mode;
use super::pair_fit::{FittedPair, PairDraw};
use super::pair_likelihood::{ClassLikelihood, expit};
use super::report::{PairDraws, Summary, chain_warnings, mode_warnings};
use super::surrogate_sampling::PairSample;
use crate::data::schema::Schema;
use crate::error::Result;
use crate::methods::independent::{Alpha, PosteriorReport, SufficientStatistics};
use crate::progress::Progress;
use crate::sampling::Draws;
use crate::warning::Warning;

impl Correlated {
    /// Draws α and δ together; the two-step fit's margins and δ given them are the start.
    pub(super) fn fit_joint(
        &self,
        schema: &Schema,
        statistics: &SufficientStatistics,
        mut posterior: DeltaPosterior,
        mut warnings: Vec<Warning>,
        progress: &dyn Progress,
    ) -> Result<FittedPair> {
        let settings = self.chain_settings();
        let prior = self.delta_prior;
        let (draws, other_mode) = match self.sampler {
            DeltaSampler::Gibbs => {
                let one = |(j, class)| {
                    GibbsClass::new(class, Some(self.both_margins(statistics, &posterior, j)))
                };
                let classes = posterior.classes.iter().enumerate().map(one).collect();
                let target = GibbsTarget { classes, prior, resolution: self.resolution() };
                (target.sample(&settings, self.seed, progress)?, None)
            }
            DeltaSampler::Likelihood => {
                progress.begin("climbing to the mode", 1);
                let (top, other_mode) = search_mode(&mut posterior, false, progress)?;
                warnings.extend(mode_warnings(&top, other_mode));
                let one = |(j, class): (usize, &ClassLikelihood)| {
                    (class.clone(), self.both_margins(statistics, &posterior, j))
                };
                let classes = posterior.classes.iter().enumerate().map(one).collect();
                let target = JointTarget { classes, prior };
                (target.sample(&top, &settings, self.seed, progress)?, other_mode)
            }
        };
        // Either way is exact: hidden variables are drawn, or the exact likelihood corrects the polynomials.
        let sampled = PairSample { draws, spread: 0.0, corrected: None };
        let drawn = PairDraws { sampled, likelihood_error: 0.0, other_mode };
        Ok(self.conclude_joint(schema, &drawn, warnings))
    }

    fn both_margins(
        &self,
        statistics: &SufficientStatistics,
        posterior: &DeltaPosterior,
        class: usize,
    ) -> [Margin; 2] {
        let items = posterior.classes[class].items();
        let prior = self.margins().prior();
        [0, 1].map(|k| Margin::new(statistics, (k, class), prior, items))
    }

    fn conclude_joint(
        &self,
        schema: &Schema,
        drawn: &PairDraws,
        mut warnings: Vec<Warning>,
    ) -> FittedPair {
        let draws = &drawn.sampled.draws;
        let layout = Layout { width: schema.n_classes() };
        let all = || (0..draws.len()).map(|i| draws.draw(i));
        let delta = Summary::of(all().map(|point| layout.delta(point)), self.chains);
        // classifier by classifier, class by class
        let alpha = Summary::of(
            all().map(|point| layout.alpha(point).into_iter().flatten().collect()),
            self.chains,
        );
        let alpha_posterior = PosteriorReport {
            worst: alpha.worst,
            acceptance: draws.acceptance(),
            chains: self.chains,
            draws: self.draws,
            alpha_sd: layout.by_classifier(&alpha.sd),
        };
        let mean = delta.mean.clone();
        let report = delta.report(drawn);
        warnings.extend(chain_warnings(&report));
        FittedPair {
            alpha: layout.by_classifier(&alpha.mean),
            delta: mean,
            alpha_posterior: Some(alpha_posterior),
            delta_posterior: Some(report),
            draws: self.kept_jointly(draws, layout),
            warnings,
        }
    }

    fn kept_jointly(&self, draws: &Draws, layout: Layout) -> Vec<PairDraw> {
        let one = |i: usize| {
            let point = draws.draw(i * draws.len() / self.keep_draws);
            PairDraw { alpha: layout.alpha(point), delta: layout.delta(point) }
        };
        (0..self.keep_draws).map(one).collect()
    }
}

/// Where the numbers of a joint draw are: ln α¹, ln α² and η of class after class.
#[derive(Clone, Copy)]
struct Layout {
    width: usize,
}

impl Layout {
    fn part(self, point: &[f64], class: usize, part: usize) -> &[f64] {
        let start = (3 * class + part) * self.width;
        &point[start..start + self.width]
    }

    fn alpha(self, point: &[f64]) -> Alpha {
        let row = |k: usize, j: usize| self.part(point, j, k).iter().map(|t| t.exp()).collect();
        (0..2).map(|k| (0..self.width).map(|j| row(k, j)).collect()).collect()
    }

    fn delta(self, point: &[f64]) -> Vec<Vec<f64>> {
        let row = |j: usize| {
            let [first, second, eta] = [0, 1, 2].map(|part| self.part(point, j, part));
            let margins = first.iter().zip(second).map(|(a, b)| a.min(*b).exp());
            margins.zip(eta).map(|(bound, eta)| bound * expit(*eta)).collect()
        };
        (0..self.width).map(row).collect()
    }

    fn by_classifier(self, rows: &[Vec<f64>]) -> Alpha {
        rows.chunks(self.width).map(<[Vec<f64>]>::to_vec).collect()
    }
}
