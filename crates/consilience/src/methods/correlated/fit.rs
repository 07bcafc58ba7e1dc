//! Fitting the correlated model: which learner is used for which structure, and what is reported.

use std::sync::Arc;

use serde_json::Value;

use super::learning::{
    Correlated, CorrelatedInference, FittedPairs, OPTIONS, ObservedPair, SharedParts,
    default_resolution,
};
use super::tree::TreeKind;
use super::{CorrelatedMethod, CorrelatedParameters, TreeParameters, file};
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::Result;
use crate::hint::Hint;
use crate::methods::independent::Alpha;
use crate::methods::shares::EvidenceCovariance;
use crate::methods::{Draw, Fit, FitMethod, FitReport, MethodOption, PairPosterior, TrainingSet};
use crate::warning::Warning;

/// Warn if the full model can represent less than this part of what a pair shares.
const WELL_REPRESENTED: f64 = 0.9;

impl FitMethod for Correlated {
    type Fitted = CorrelatedMethod;

    const OPTIONS: &'static [MethodOption] = OPTIONS;
    const TAKES_WEIGHTS: bool = false;
    const NEEDS_SEVERAL: bool = true;

    fn needs_every_class(&self) -> bool {
        true
    }

    fn needs_every_output(&self) -> bool {
        true
    }

    fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<CorrelatedMethod>> {
        let outputs = data.outputs;
        let resolution = self.resolution.unwrap_or_else(|| default_resolution(outputs));
        let config = Self { resolution: Some(resolution), ..self.clone() };
        let mut learned = match self.structure.tree() {
            _ if outputs.schema().n_classifiers() == 2 => config.learn_pair(data),
            Some(kind) => config.learn_tree(kind, data),
            None => config.learn_full(data),
        }?;
        let report = &mut learned.fit.report;
        report.evidence_covariance =
            Some(EvidenceCovariance::of(outputs, &learned.alpha, data.progress)?);
        report.observed_correlations = ObservedPair::all(outputs)?;
        let observed = report.observed_correlations.iter();
        let classes = outputs.schema().classes();
        report.warnings.extend(observed.flat_map(|pair| pair.warnings(classes)));
        Ok(learned.fit)
    }

    fn read_parameters(schema: Arc<Schema>, parameters: Value) -> Result<CorrelatedMethod> {
        file::read_parameters(&schema, parameters)
    }
}

/// A fit with the Dirichlets that it rests on.
struct Learned {
    fit: Fit<CorrelatedMethod>,
    alpha: Alpha,
}

impl Correlated {
    fn learn_pair(&self, data: &TrainingSet<'_>) -> Result<Learned> {
        let schema = data.outputs.schema();
        let fitted = self.fit_pair_from(data.outputs, data.statistics, data.progress)?;
        let between = [0, 1].map(|k| schema.classifiers()[k].clone());
        let pair = fitted.delta_posterior.map(|delta| PairPosterior { between, delta });
        let parameters =
            CorrelatedParameters::of_pair(schema, &fitted.alpha, &fitted.delta, self.resolution())?;
        let report = FitReport {
            warnings: fitted.warnings,
            posterior: fitted.alpha_posterior,
            pair_posteriors: pair.into_iter().collect(),
            draws: fitted.draws,
            ..FitReport::default()
        };
        let fit = Fit { fitted: CorrelatedMethod::Joint(parameters), report };
        Ok(Learned { fit, alpha: fitted.alpha })
    }

    fn learn_tree(&self, kind: TreeKind, data: &TrainingSet<'_>) -> Result<Learned> {
        let schema = data.schema();
        let fitted = self.fit_pairs_from(data.outputs, data.statistics, data.progress)?;
        let (alpha, pairs) = (fitted.alpha.clone(), fitted.pairs.clone());
        let tree = TreeParameters::new(schema, alpha, pairs, kind, self.resolution())?;
        let draws = fitted.draws.clone();
        Ok(learned_from_pairs(CorrelatedMethod::Tree(tree), fitted, draws, data.outputs.schema()))
    }

    /// The paper's model of three and more classifiers.
    fn learn_full(&self, data: &TrainingSet<'_>) -> Result<Learned> {
        if self.inference == CorrelatedInference::Posterior {
            return self.learn_full_posterior(data);
        }
        let outputs = data.outputs;
        let mut fitted = self.fit_pairs_from(outputs, data.statistics, data.progress)?;
        let parts = fitted.shared_parts(self.structure);
        fitted.warnings.extend(representation_warning(&parts));
        let draw = |draw: &Draw| {
            let delta = fitted.shared_parts_of_draw(draw, self.structure).into_all();
            Draw { alpha: draw.alpha.clone(), delta }
        };
        let draws = fitted.draws.iter().map(draw).collect();
        self.learned_full(fitted, &parts.into_all(), draws, outputs)
    }

    /// The same with the posterior of all shared shapes, started from the modes of pairs.
    fn learn_full_posterior(&self, data: &TrainingSet<'_>) -> Result<Learned> {
        let (outputs, progress) = (data.outputs, data.progress);
        let mut fitted = self.fit_pair_modes(outputs, data.statistics, progress)?;
        let shared = self.fit_shared(outputs, &fitted, self.structure, progress)?;
        fitted.warnings.extend(shared.warnings);
        let mut learned = self.learned_full(fitted, &shared.delta, shared.draws, outputs)?;
        learned.fit.report.shared_posterior = Some(shared.report);
        Ok(learned)
    }

    /// The full model from its parts: the common one first, then those of pairs.
    fn learned_full(
        &self,
        mut fitted: FittedPairs,
        parts: &[Vec<Vec<f64>>],
        draws: Vec<Draw>,
        outputs: &Outputs,
    ) -> Result<Learned> {
        let between = fitted.pairs.iter().map(|pair| pair.between);
        let pairs: Vec<_> =
            between.zip(&parts[1..]).map(|((a, b), rows)| (a, b, rows.clone())).collect();
        let (schema, common) = (outputs.schema(), Some(parts[0].as_slice()));
        let parameters = CorrelatedParameters::from_parts(
            schema,
            &fitted.alpha,
            common,
            &pairs,
            self.resolution(),
        )?;
        fitted.warnings.extend(parameters.fallback_warning());
        Ok(learned_from_pairs(CorrelatedMethod::Joint(parameters), fitted, draws, schema))
    }
}

fn learned_from_pairs(
    fitted: CorrelatedMethod,
    pairs: FittedPairs,
    draws: Vec<Draw>,
    schema: &Schema,
) -> Learned {
    let names = |(a, b): (usize, usize)| [a, b].map(|k| schema.classifiers()[k].clone());
    let reports = pairs.pairs.iter().zip(pairs.delta_posteriors);
    let pair_posteriors = reports
        .filter_map(|(pair, delta)| Some((pair, delta?)))
        .map(|(pair, delta)| PairPosterior { between: names(pair.between), delta })
        .collect();
    let report = FitReport {
        warnings: pairs.warnings,
        posterior: pairs.alpha_posterior,
        pair_posteriors,
        draws,
        ..FitReport::default()
    };
    Learned { fit: Fit { fitted, report }, alpha: pairs.alpha }
}

fn representation_warning(parts: &SharedParts) -> Option<Warning> {
    (parts.kept < WELL_REPRESENTED).then(|| {
        Warning::data(format!(
            "the full model cannot represent all pairwise correlations: the worst pair keeps \
             {:.0} % of its own",
            100.0 * parts.kept
        ))
        .with_hint(Hint::TreeStructure)
    })
}
