//! What a fit of correlated classifiers has learned, as a method with its posterior.

use std::sync::Arc;

use super::{CorrelatedParameters, TreeParameters};
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::Result;
use crate::hint::Hint;
use crate::methods::correlated::Structure;
use crate::methods::correlated::learning::{
    Correlated, CorrelatedInference, FittedPairs, PairDraw, PairsDraw, SharedReport, Split,
};
use crate::methods::correlated::tree::TreeKind;
use crate::methods::independent::{Alpha, PosteriorReport};
use crate::model::{Draw, Method, PairPosterior};
use crate::progress::Progress;
use crate::warning::Warning;

/// With private shapes of at least this everywhere the exact density is smooth and quick to estimate, and the paper's
/// model needs no resolution to fuse.
const SMOOTH: f64 = 1.0;
/// Pairs that the paper's model can give less than this part of what they share are worth a warning.
const WELL_KEPT: f64 = 0.9;

/// What was learned of correlated classifiers.
pub(crate) struct Learned {
    pub(crate) method: Method,
    pub(crate) alpha: Alpha,
    pub(crate) posterior: Option<PosteriorReport>,
    pub(crate) pair_posteriors: Vec<PairPosterior>,
    pub(crate) shared: Option<SharedReport>,
    pub(crate) draws: Vec<Draw>,
    pub(crate) warnings: Vec<Warning>,
}

impl Learned {
    pub(crate) fn pair(
        config: &Correlated,
        outputs: &Outputs,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let schema = outputs.schema();
        let fitted = config.fit_pair(outputs, progress)?;
        let between = [0, 1].map(|k| schema.classifiers()[k].clone());
        let pair = fitted.delta_posterior.map(|delta| PairPosterior { between, delta });
        let draw = |PairDraw { alpha, delta }| Draw { alpha, delta: vec![delta] };
        let parameters = CorrelatedParameters::of_pair(
            Arc::clone(schema),
            &fitted.alpha,
            &fitted.delta,
            config.resolution,
        )?;
        Ok(Self {
            method: Method::Correlated(parameters),
            alpha: fitted.alpha,
            posterior: fitted.alpha_posterior,
            pair_posteriors: pair.into_iter().collect(),
            shared: None,
            draws: fitted.draws.into_iter().map(draw).collect(),
            warnings: fitted.warnings,
        })
    }

    pub(crate) fn tree(
        config: &Correlated,
        kind: TreeKind,
        outputs: &Outputs,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let schema = outputs.schema();
        let fitted = config.fit_pairs(outputs, progress)?;
        let (schema, resolution) = (Arc::clone(schema), config.resolution);
        let pairs = fitted.pairs.clone();
        let tree = TreeParameters::new(schema, fitted.alpha.clone(), pairs, kind, resolution)?;
        let draw = |PairsDraw { alpha, delta }: &PairsDraw| Draw {
            alpha: alpha.clone(),
            delta: delta.clone(),
        };
        let draws = fitted.draws.iter().map(draw).collect();
        Ok(Self::of_pairs(Method::Tree(tree), fitted, draws, outputs.schema()))
    }

    /// The paper's model of three and more. `exact`: with the exact density where private shapes allow.
    pub(crate) fn full(
        config: &Correlated,
        (structure, exact): (Structure, bool),
        outputs: &Outputs,
        progress: &dyn Progress,
    ) -> Result<Self> {
        if config.inference == CorrelatedInference::Posterior {
            return Self::full_posterior(config, (structure, exact), outputs, progress);
        }
        let mut fitted = config.fit_pairs(outputs, progress)?;
        let split = fitted.split(structure);
        fitted.warnings.extend(split_warning(&split));
        let draw = |draw: &PairsDraw| {
            let delta = parts(fitted.split_draw(draw, structure));
            Draw { alpha: draw.alpha.clone(), delta }
        };
        let draws = fitted.draws.iter().map(draw).collect();
        let resolution = (config.resolution, exact);
        let parameters = full_parameters(outputs, &fitted, &parts(split), resolution)?;
        Ok(Self::of_pairs(Method::Correlated(parameters), fitted, draws, outputs.schema()))
    }

    /// The same with the posterior of all shared shapes, from the modes of pairs on.
    fn full_posterior(
        config: &Correlated,
        (structure, exact): (Structure, bool),
        outputs: &Outputs,
        progress: &dyn Progress,
    ) -> Result<Self> {
        config.check()?;
        let (inference, keep_draws) = (CorrelatedInference::Map, 0);
        let modes = Correlated { inference, keep_draws, ..config.clone() };
        let mut fitted = modes.fit_pairs(outputs, progress)?;
        let shared = config.fit_shared(outputs, &fitted, structure, progress)?;
        fitted.warnings.extend(shared.warnings);
        let resolution = (config.resolution, exact);
        let parameters = full_parameters(outputs, &fitted, &shared.delta, resolution)?;
        let draw = |PairsDraw { alpha, delta }| Draw { alpha, delta };
        let draws = shared.draws.into_iter().map(draw).collect();
        let learned =
            Self::of_pairs(Method::Correlated(parameters), fitted, draws, outputs.schema());
        Ok(Self { shared: Some(shared.report), ..learned })
    }

    fn of_pairs(method: Method, fitted: FittedPairs, draws: Vec<Draw>, schema: &Schema) -> Self {
        let names = |(a, b): (usize, usize)| [a, b].map(|k| schema.classifiers()[k].clone());
        let reports = fitted.pairs.iter().zip(fitted.delta_posteriors);
        let pair_posteriors = reports
            .filter_map(|(pair, delta)| Some((pair, delta?)))
            .map(|(pair, delta)| PairPosterior { between: names(pair.between), delta })
            .collect();
        Self {
            method,
            alpha: fitted.alpha,
            posterior: fitted.alpha_posterior,
            pair_posteriors,
            shared: None,
            draws,
            warnings: fitted.warnings,
        }
    }
}

/// The parameters of the paper's model from its parts, observed exactly where their private shapes allow and `exact` asks
/// for it.
fn full_parameters(
    outputs: &Outputs,
    fitted: &FittedPairs,
    parts: &[Vec<Vec<f64>>],
    (resolution, exact): (f64, bool),
) -> Result<CorrelatedParameters> {
    let between = fitted.pairs.iter().map(|pair| pair.between);
    let pairs: Vec<_> =
        between.zip(&parts[1..]).map(|((a, b), rows)| (a, b, rows.clone())).collect();
    let make = |resolution: f64| {
        let schema = Arc::clone(outputs.schema());
        let common = Some(parts[0].as_slice());
        CorrelatedParameters::from_parts(schema, &fitted.alpha, common, &pairs, resolution)
    };
    let parameters = make(if exact { 0.0 } else { resolution })?;
    if exact && parameters.smallest_private() < SMOOTH { make(resolution) } else { Ok(parameters) }
}

/// What all share first, then the pairs.
fn parts(split: Split) -> Vec<Vec<Vec<f64>>> {
    std::iter::once(split.common).chain(split.pairs).collect()
}

fn split_warning(split: &Split) -> Option<Warning> {
    (split.kept < WELL_KEPT).then(|| {
        Warning::data(format!(
            "the full model cannot represent all pairwise correlations: one pair keeps only \
             {:.0} % of what it shares",
            100.0 * split.kept
        ))
        .with_hint(Hint::TreeStructure)
    })
}
