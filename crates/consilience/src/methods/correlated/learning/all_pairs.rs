//! Learning the shared shapes of every pair of sources, given the Dirichlets of all.

use std::sync::Arc;

use super::config::{Correlated, CorrelatedInference};
use super::constants::pair::{GAIN_TOLERANCE, LARGEST_LN_DENSITY};
use super::pair_fit::{DeltaReport, FittedPair, ItemCounts};
use super::pair_items::{PairItems, are_copies};
use super::pair_likelihood::ClassLikelihood;
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::Draw;
use crate::methods::correlated::tree::TreePair;
use crate::methods::independent::{
    Alpha, FittedIndependent, IndependentFusion, PosteriorReport, SufficientStatistics,
};
use crate::progress::{CancelOnly, Progress};
use crate::warning::Warning;
use consilience_numerics::parallel;
use correlated_dirichlet::Dirichlet;
use correlated_dirichlet::pair::{PairDensity, Scratch};

/// The fits of all pairs of sources.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedPairs {
    /// Dirichlet parameters, `alpha[k][j]` of source k when the true class is j.
    pub alpha: Alpha,
    /// Every pair with its shared shapes and the gain in log density.
    pub pairs: Vec<TreePair>,
    /// A summary of the posterior of α; none if only its mode was learned.
    pub alpha_posterior: Option<PosteriorReport>,
    /// A summary of the posterior of every pair's δ; none for `map`.
    pub delta_posteriors: Vec<Option<DeltaReport>>,
    /// The draws kept, `delta[p][j]` of every pair; every δ is possible with α of its draw.
    pub draws: Vec<Draw>,
    /// Draws of α; empty if only its mode was learned.
    pub alpha_draws: Vec<Alpha>,
    /// Warnings about the data and the chains.
    pub warnings: Vec<Warning>,
}

impl Correlated {
    /// Learns α of all sources and δ of every pair of them.
    pub fn fit_pairs(&self, outputs: &Outputs, progress: &dyn Progress) -> Result<FittedPairs> {
        self.fit_pairs_from(outputs, &SufficientStatistics::of(outputs)?, progress)
    }

    /// The same, given the sufficient statistics of the outputs.
    pub(crate) fn fit_pairs_from(
        &self,
        outputs: &Outputs,
        statistics: &SufficientStatistics,
        progress: &dyn Progress,
    ) -> Result<FittedPairs> {
        let dirichlets = self.fit_dirichlets(outputs, statistics, progress)?;
        self.fit_deltas(outputs, dirichlets, statistics, progress)
    }

    /// Learns α of all sources, with its posterior if this inference has one, and the modes of δ of
    /// every pair.
    pub(crate) fn fit_pair_modes(
        &self,
        outputs: &Outputs,
        statistics: &SufficientStatistics,
        progress: &dyn Progress,
    ) -> Result<FittedPairs> {
        let dirichlets = self.fit_dirichlets(outputs, statistics, progress)?;
        let (inference, keep_draws) = (CorrelatedInference::Map, 0);
        let modes = Self { inference, keep_draws, ..self.clone() };
        modes.fit_deltas(outputs, dirichlets, statistics, progress)
    }

    fn fit_dirichlets(
        &self,
        outputs: &Outputs,
        statistics: &SufficientStatistics,
        progress: &dyn Progress,
    ) -> Result<FittedIndependent> {
        self.check()?;
        let n = outputs.schema().n_classifiers();
        if n < 2 {
            return Err(Error::Mismatch {
                what: "numbers of classifiers",
                expected: "at least 2 to learn what they share".into(),
                found: n.to_string(),
            });
        }
        let dirichlets = self.learn_margins(outputs.schema(), statistics, progress)?;
        with_equal_copies(dirichlets, outputs)
    }

    fn fit_deltas(
        &self,
        outputs: &Outputs,
        dirichlets: FittedIndependent,
        statistics: &SufficientStatistics,
        progress: &dyn Progress,
    ) -> Result<FittedPairs> {
        let schema = outputs.schema();
        let n = schema.n_classifiers();
        let between: Vec<(usize, usize)> =
            (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        progress.begin("learning the shared shapes of pairs", between.len() as u64);
        let fitted = parallel::map(between.len(), |p| {
            progress.check()?;
            let counts = ItemCounts::of_pair(statistics, between[p], schema.n_classes());
            // every pair has its own random numbers
            let config = Self { seed: self.seed.wrapping_add(p as u64), ..self.clone() };
            let quiet = CancelOnly(progress);
            let fitted = config.fit_one(outputs, &dirichlets, between[p], &counts, &quiet);
            progress.advance(1);
            fitted
        });
        let fitted = fitted.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(assemble(schema, dirichlets, &between, fitted))
    }

    /// One pair, given the Dirichlets of all sources, with its gain.
    fn fit_one(
        &self,
        outputs: &Outputs,
        dirichlets: &FittedIndependent,
        (a, b): (usize, usize),
        counts: &ItemCounts,
        progress: &dyn Progress,
    ) -> Result<(FittedPair, Gain)> {
        let schema = outputs.schema();
        let copies = are_copies(outputs, a, b);
        let names = [a, b].map(|k| schema.classifiers()[k].clone());
        let pair = Arc::new(Schema::new(names, schema.classes().to_vec())?);
        let outputs = outputs.select(&pair)?;
        let own = |alpha: &Alpha| vec![alpha[a].clone(), alpha[b].clone()];
        let dirichlets = FittedIndependent {
            fusion: IndependentFusion::new(pair, own(dirichlets.fusion.alpha()))?,
            posterior: None,
            draws: dirichlets.draws.iter().map(own).collect(),
            warnings: Vec::new(),
        };
        let fitted = if copies {
            self.one_source(&dirichlets)
        } else {
            self.learn_delta(&outputs, dirichlets, counts, progress)?
        };
        let gain = gain(&outputs, &fitted, self.resolution(), progress)?;
        Ok((fitted, gain))
    }
}

/// Gives copies of a source the Dirichlets of the first of them, point estimate and draws.
///
/// Dirichlets learned from the same outputs differ by Monte Carlo error. The difference would be private
/// to one copy, and would distinguish classes although all copies have the same outputs.
fn with_equal_copies(
    dirichlets: FittedIndependent,
    outputs: &Outputs,
) -> Result<FittedIndependent> {
    let first = |k: usize| (0..k).find(|&earlier| are_copies(outputs, earlier, k)).unwrap_or(k);
    let first: Vec<usize> = (0..outputs.schema().n_classifiers()).map(first).collect();
    let equal = |alpha: &Alpha| -> Alpha { first.iter().map(|&k| alpha[k].clone()).collect() };
    let fusion =
        IndependentFusion::new(Arc::clone(outputs.schema()), equal(dirichlets.fusion.alpha()))?;
    let draws = dirichlets.draws.iter().map(equal).collect();
    Ok(FittedIndependent { fusion, draws, ..dirichlets })
}

impl Correlated {
    /// The fit of two copies of one source, which share everything.
    ///
    /// A learned δ would stay a little below α because of its prior, and every copy would add a little
    /// evidence.
    fn one_source(&self, dirichlets: &FittedIndependent) -> FittedPair {
        let all = |alpha: &Alpha| -> Vec<Vec<f64>> {
            let smaller =
                |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a.min(*b)).collect();
            alpha[0].iter().zip(&alpha[1]).map(smaller).collect()
        };
        let alpha = dirichlets.fusion.alpha().clone();
        let quick = self.inference == CorrelatedInference::Map;
        let n_draws = if quick { 0 } else { self.keep_draws };
        let drawn = |i: usize| dirichlets.draws.get(i * dirichlets.draws.len() / n_draws);
        let draw = |i: usize| {
            let alpha = drawn(i).unwrap_or(&alpha);
            Draw { alpha: alpha.clone(), delta: vec![all(alpha)] }
        };
        FittedPair {
            delta: all(&alpha),
            draws: (0..n_draws).map(draw).collect(),
            alpha,
            alpha_posterior: None,
            delta_posterior: None,
            warnings: Vec::new(),
        }
    }
}

/// The mean gain in log density over independence, with its standard error.
#[derive(Debug, Clone, Copy)]
struct Gain {
    mean: f64,
    error: f64,
}

/// Mean over the items of a class of ln f − ln Dir¹ − ln Dir², summed over classes, with the standard error of the sum.
fn gain(
    outputs: &Outputs,
    fitted: &FittedPair,
    resolution: f64,
    progress: &dyn Progress,
) -> Result<Gain> {
    let (mut mean, mut variance) = (0.0, 0.0);
    for (j, items) in PairItems::by_class(outputs)?.into_iter().enumerate() {
        let alpha = [fitted.alpha[0][j].as_slice(), fitted.alpha[1][j].as_slice()];
        let margins = [Dirichlet::new(alpha[0])?, Dirichlet::new(alpha[1])?];
        let independent: Vec<f64> = (0..items.len())
            .map(|i| margins[0].ln_pdf(items.pair(i).0) + margins[1].ln_pdf(items.pair(i).1))
            .collect();
        let class = ClassLikelihood::new(items.clone(), alpha, resolution, progress);
        let joint = if class.uses_grids() && class.is_resolved() {
            class.grid_values(&fitted.delta[j])?
        } else {
            ln_densities(&items, alpha, &fitted.delta[j], (resolution, progress))?
        };
        let gains: Vec<f64> = joint.iter().zip(&independent).map(|(f, g)| f - g).collect();
        let n = gains.len().max(1) as f64;
        let own = gains.iter().sum::<f64>() / n;
        let squares: f64 = gains.iter().map(|gain| (gain - own).powi(2)).sum();
        mean += own;
        variance += squares / (n - 1.0).max(1.0) / n;
    }
    Ok(Gain { mean, error: variance.sqrt() })
}

/// The log density of every item by adaptive quadrature.
fn ln_densities(
    items: &PairItems,
    alpha: [&[f64]; 2],
    delta: &[f64],
    (resolution, progress): (f64, &dyn Progress),
) -> Result<Vec<f64>> {
    let density = PairDensity::new(alpha[0], alpha[1], delta)?
        .with_tolerance(GAIN_TOLERANCE)?
        .with_resolution(resolution)?;
    let mut scratch = Scratch::default();
    let one = |i: usize| {
        progress.check()?;
        let (x1, x2) = items.pair(i);
        // an infinite density at a tie is replaced by a large one
        Ok(density.ln_density(x1, x2, &mut scratch).ln_density.min(LARGEST_LN_DENSITY))
    };
    (0..items.len()).map(one).collect()
}

fn assemble(
    schema: &Schema,
    dirichlets: FittedIndependent,
    between: &[(usize, usize)],
    fitted: Vec<(FittedPair, Gain)>,
) -> FittedPairs {
    let names = schema.classifiers();
    let point = dirichlets.fusion.alpha();
    let n_draws = fitted.first().map_or(0, |(pair, _)| pair.draws.len());
    let kept = &dirichlets.draws;
    let base = |i: usize| kept.get(i * kept.len() / n_draws).unwrap_or(point);
    let empty = |i: usize| Draw { alpha: base(i).clone(), delta: Vec::new() };
    let mut draws: Vec<Draw> = (0..n_draws).map(empty).collect();
    let mut warnings = dirichlets.warnings.clone();
    let (mut pairs, mut delta_posteriors) = (Vec::new(), Vec::new());
    for ((pair, gain), &(a, b)) in fitted.into_iter().zip(between) {
        for mut warning in pair.warnings {
            warning.message = format!("`{}` and `{}`: {}", names[a], names[b], warning.message);
            warnings.push(warning);
        }
        for (draw, own) in draws.iter_mut().zip(&pair.draws) {
            draw.delta.push(moved(own, [&draw.alpha[a], &draw.alpha[b]]));
        }
        let Gain { mean, error } = gain;
        pairs.push(TreePair { between: (a, b), delta: pair.delta, gain: mean, gain_error: error });
        delta_posteriors.push(pair.delta_posterior);
    }
    FittedPairs {
        alpha: point.clone(),
        pairs,
        alpha_posterior: dirichlets.posterior,
        delta_posteriors,
        draws,
        alpha_draws: dirichlets.draws,
        warnings,
    }
}

/// The shared shapes with the drawn shares, for the draw of α that all pairs have in common.
fn moved(draw: &Draw, alpha: [&Vec<Vec<f64>>; 2]) -> Vec<Vec<f64>> {
    let element = |j: usize, l: usize| {
        let own = draw.alpha[0][j][l].min(draw.alpha[1][j][l]);
        let common = alpha[0][j][l].min(alpha[1][j][l]);
        (draw.delta[0][j][l] / own).min(1.0) * common
    };
    let n_classes = draw.alpha[0].len();
    (0..n_classes).map(|j| (0..n_classes).map(|l| element(j, l)).collect()).collect()
}
