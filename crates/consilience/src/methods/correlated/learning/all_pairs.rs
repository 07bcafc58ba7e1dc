//! Learning many classifiers: every pair by itself, given the margins of all.

use std::sync::Arc;

use super::config::{Correlated, CorrelatedInference};
use super::pair_fit::{DeltaReport, FittedPair, PairDraw};
use super::pair_items::{PairItems, are_copies};
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::correlated::tree::TreePair;
use crate::methods::independent::{
    Alpha, FittedIndependent, IndependentFusion, PosteriorReport, SufficientStatistics,
};
use crate::progress::{CancelOnly, Progress};
use crate::warning::Warning;
use consilience_numerics::parallel;
use correlated_dirichlet::Dirichlet;
use correlated_dirichlet::pair::{PairDensity, Scratch};

/// What a fit of all pairs of classifiers gives.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedPairs {
    /// The margins, `alpha[k][j]` of classifier k when the true class is j.
    pub alpha: Alpha,
    /// Every pair with what it shares and what that gains.
    pub pairs: Vec<TreePair>,
    /// The posterior of α in numbers; none where its mode was asked for.
    pub alpha_posterior: Option<PosteriorReport>,
    /// The posterior of every pair's δ in numbers; none for `map`.
    pub delta_posteriors: Vec<Option<DeltaReport>>,
    /// The draws kept.
    pub draws: Vec<PairsDraw>,
    /// Draws of the margins, where their posterior was asked for.
    pub alpha_draws: Vec<Alpha>,
    /// What a user should know.
    pub warnings: Vec<Warning>,
}

/// One draw of all parameters; every δ is legal for this very α.
#[derive(Debug, Clone, PartialEq)]
pub struct PairsDraw {
    /// The margins, `alpha[k][j]`.
    pub alpha: Alpha,
    /// What every pair shares, `delta[p][j]`.
    pub delta: Vec<Vec<Vec<f64>>>,
}

/// The relative error asked of densities when their mean gain is taken.
const GAIN_TOLERANCE: f64 = 1e-4;

impl Correlated {
    /// Learns α of all classifiers and δ of every pair of them.
    pub fn fit_pairs(&self, outputs: &Outputs, progress: &dyn Progress) -> Result<FittedPairs> {
        self.check()?;
        let schema = outputs.schema();
        let n = schema.n_classifiers();
        if n < 2 {
            return Err(Error::Mismatch {
                what: "numbers of classifiers",
                expected: "at least 2 to learn what they share".into(),
                found: n.to_string(),
            });
        }
        self.check_two_step("more than two classifiers")?;
        let statistics = SufficientStatistics::of(outputs)?;
        let margins = self.margins().learn(schema, &statistics, progress)?;
        let margins = with_equal_copies(margins, outputs)?;
        let between: Vec<(usize, usize)> =
            (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        progress.begin("learning what pairs share", between.len() as u64);
        let fitted = parallel::map(between.len(), |p| {
            progress.check()?;
            let fitted = self.fit_one(outputs, &margins, (p, between[p]), &CancelOnly(progress));
            progress.advance(1);
            fitted
        });
        let fitted = fitted.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(assemble(schema, margins, &between, fitted))
    }

    /// One pair, with the margins that all pairs have in common, and its gain.
    fn fit_one(
        &self,
        outputs: &Outputs,
        margins: &FittedIndependent,
        (place, (a, b)): (usize, (usize, usize)),
        progress: &dyn Progress,
    ) -> Result<(FittedPair, Gain)> {
        let schema = outputs.schema();
        let copies = are_copies(outputs, a, b);
        let names = [a, b].map(|k| schema.classifiers()[k].clone());
        let pair = Arc::new(Schema::new(names, schema.classes().to_vec())?);
        let outputs = outputs.select(&pair)?;
        let own = |alpha: &Alpha| vec![alpha[a].clone(), alpha[b].clone()];
        let margins = FittedIndependent {
            fusion: IndependentFusion::new(pair, own(margins.fusion.alpha()))?,
            posterior: None,
            draws: margins.draws.iter().map(own).collect(),
            warnings: Vec::new(),
        };
        let statistics = SufficientStatistics::of(&outputs)?;
        // every pair has its own random numbers
        let config = Self { seed: self.seed.wrapping_add(place as u64), ..self.clone() };
        let fitted = if copies {
            config.one_source(&margins)
        } else {
            config.learn(&outputs, margins, &statistics, progress)?
        };
        let gain = gain(&outputs, &fitted, self.resolution())?;
        Ok((fitted, gain))
    }
}

/// Copies have the margins of the first of them, point and draws: those learned from the same outputs differ by the noise
/// of their chains, and what is private to one copy alone tells classes apart where all say the same.
fn with_equal_copies(margins: FittedIndependent, outputs: &Outputs) -> Result<FittedIndependent> {
    let first = |k: usize| (0..k).find(|&earlier| are_copies(outputs, earlier, k)).unwrap_or(k);
    let first: Vec<usize> = (0..outputs.schema().n_classifiers()).map(first).collect();
    let equal = |alpha: &Alpha| -> Alpha { first.iter().map(|&k| alpha[k].clone()).collect() };
    let fusion =
        IndependentFusion::new(Arc::clone(outputs.schema()), equal(margins.fusion.alpha()))?;
    Ok(FittedIndependent { fusion, draws: margins.draws.iter().map(equal).collect(), ..margins })
}

impl Correlated {
    /// Two classifiers that say the same of every item are one source: they share all there is.
    ///
    /// A learned δ would stay a little below α, by its prior, and every copy would add a little evidence.
    fn one_source(&self, margins: &FittedIndependent) -> FittedPair {
        let all = |alpha: &Alpha| -> Vec<Vec<f64>> {
            let smaller =
                |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a.min(*b)).collect();
            alpha[0].iter().zip(&alpha[1]).map(smaller).collect()
        };
        let alpha = margins.fusion.alpha().clone();
        let quick = self.inference == CorrelatedInference::Map;
        let n_draws = if quick { 0 } else { self.keep_draws };
        let drawn = |i: usize| margins.draws.get(i * margins.draws.len() / n_draws);
        let draw = |i: usize| {
            let alpha = drawn(i).unwrap_or(&alpha);
            PairDraw { alpha: alpha.clone(), delta: all(alpha) }
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

/// What the density of both tells more than the two margins.
#[derive(Debug, Clone, Copy)]
struct Gain {
    mean: f64,
    error: f64,
}

/// Mean over the items of a class of ln f − ln Dir¹ − ln Dir², summed over classes, with the standard error of the sum.
fn gain(outputs: &Outputs, fitted: &FittedPair, resolution: f64) -> Result<Gain> {
    let (mut mean, mut variance) = (0.0, 0.0);
    for (j, items) in PairItems::by_class(outputs)?.iter().enumerate() {
        let [first, second] = [&fitted.alpha[0][j], &fitted.alpha[1][j]];
        let density = PairDensity::new(first, second, &fitted.delta[j])?
            .with_tolerance(GAIN_TOLERANCE)?
            .with_resolution(resolution)?;
        let margins = [Dirichlet::new(first)?, Dirichlet::new(second)?];
        let mut scratch = Scratch::default();
        let gains = (0..items.len()).map(|i| {
            let (x1, x2) = items.pair(i);
            let both = density.ln_density(x1, x2, &mut scratch).ln_density;
            // an infinite density at a tie counts as a large one
            both.min(LARGEST) - margins[0].ln_pdf(x1) - margins[1].ln_pdf(x2)
        });
        let gains: Vec<f64> = gains.collect();
        let n = gains.len().max(1) as f64;
        let own = gains.iter().sum::<f64>() / n;
        let squares: f64 = gains.iter().map(|gain| (gain - own).powi(2)).sum();
        mean += own;
        variance += squares / (n - 1.0).max(1.0) / n;
    }
    Ok(Gain { mean, error: variance.sqrt() })
}

/// Stands for an infinite log density when gains are averaged.
const LARGEST: f64 = 1e3;

fn assemble(
    schema: &Schema,
    margins: FittedIndependent,
    between: &[(usize, usize)],
    fitted: Vec<(FittedPair, Gain)>,
) -> FittedPairs {
    let names = schema.classifiers();
    let point = margins.fusion.alpha();
    let n_draws = fitted.first().map_or(0, |(pair, _)| pair.draws.len());
    let kept = &margins.draws;
    let base = |i: usize| kept.get(i * kept.len() / n_draws).unwrap_or(point);
    let empty = |i: usize| PairsDraw { alpha: base(i).clone(), delta: Vec::new() };
    let mut draws: Vec<PairsDraw> = (0..n_draws).map(empty).collect();
    let mut warnings = margins.warnings.clone();
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
        alpha_posterior: margins.posterior,
        delta_posteriors,
        draws,
        alpha_draws: margins.draws,
        warnings,
    }
}

/// The drawn shares of the smaller margin, of margins that all pairs have in common.
fn moved(draw: &PairDraw, alpha: [&Vec<Vec<f64>>; 2]) -> Vec<Vec<f64>> {
    let element = |j: usize, l: usize| {
        let own = draw.alpha[0][j][l].min(draw.alpha[1][j][l]);
        let common = alpha[0][j][l].min(alpha[1][j][l]);
        (draw.delta[j][l] / own).min(1.0) * common
    };
    let row = |j: usize| (0..draw.delta[j].len()).map(|l| element(j, l)).collect();
    (0..draw.delta.len()).map(row).collect()
}
