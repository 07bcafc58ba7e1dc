//! Learning both parts of `auto`.

use std::sync::Arc;

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::evidence::Evidence;
use super::{AutoFusion, AutoParameters, LayerParameters};
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::method::SEED;
use crate::methods::shares::EvidenceCovariance;
use crate::methods::stacking::logit::{ClassFeatures, LogitPosterior};
use crate::methods::stacking::{
    ClassBalance, LogTable, LogisticParameters, Training, fit_logistic,
};
use crate::methods::{Fit, FitMethod, FitReport, MethodOption, TrainingSet, read};
use crate::progress::Progress;
use crate::warning::Warning;

/// Options of `auto`; there is nothing to tune.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Auto {
    /// Seed of the folds in which the training items' evidence is found.
    pub seed: u64,
}

/// What a fit of `auto` gives.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedAuto {
    /// The fitted rule.
    pub fusion: AutoFusion,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
}

/// Items that a parameter of the layer's evidence, or of the logistic part, must rest on before it
/// counts half. Found on real sets; 2 and 10 change the log-loss by at most 0.0013 nats.
const ITEMS_PER_PARAMETER: f64 = 5.0;

/// With a smaller harmonic mean of the class sizes nothing can be learned.
const FEWEST_ITEMS: f64 = 2.0;

impl FitMethod for Auto {
    type Fitted = AutoFusion;

    const OPTIONS: &'static [MethodOption] = &[SEED];

    fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<AutoFusion>> {
        let FittedAuto { fusion, warnings } = self.learn(data.outputs, data.progress)?;
        let covariance = EvidenceCovariance::of(data.outputs, fusion.dirichlets().alpha())?;
        let evidence_covariance = Some(covariance);
        let report = FitReport { warnings, evidence_covariance, ..FitReport::default() };
        Ok(Fit { fitted: fusion, report })
    }

    fn read_parameters(schema: Arc<Schema>, parameters: Value) -> Result<AutoFusion> {
        AutoFusion::new(schema, read(parameters)?)
    }
}

impl Auto {
    /// Fits the rule to labelled outputs.
    #[doc(hidden)]
    pub fn learn(&self, outputs: &Outputs, progress: &dyn Progress) -> Result<FittedAuto> {
        let training = Training::new(outputs)?;
        let folds = Evidence::deal(&training, self.seed);
        fit_in_folds(&training, &folds, progress)
    }
}

fn fit_in_folds(
    training: &Training,
    folds: &[usize],
    progress: &dyn Progress,
) -> Result<FittedAuto> {
    progress.begin("fitting auto", 3);
    let schema = training.schema();
    require_outputs(training)?;
    let mut warnings: Vec<Warning> = training.few_items_warning().into_iter().collect();
    warnings.extend(identical_sources(&training.outputs));
    let evidence = Evidence::new(training, folds)?;
    progress.advance(1);
    progress.check()?;
    let m = harmonic_mean(&training.class_weights);
    if m < FEWEST_ITEMS {
        warnings.push(Warning::data(
            "hardly any class has two training items: nothing can be learned, so the \
                 classifiers are pooled as they are (geometric mean)"
                .into(),
        ));
        let alpha = evidence.dirichlets.alpha().clone();
        let parameters = geometric_pool(schema, alpha);
        let fusion = AutoFusion::new(Arc::clone(schema), parameters)?;
        return Ok(FittedAuto { fusion, warnings });
    }
    let table = LogTable::new(&training.outputs)?;
    let (layer, layer_converged) = fit_layer(&table.logs, &evidence, training, m);
    progress.advance(1);
    progress.check()?;
    let (logistic, converged) = fit_logistic(&table.logs, training, ClassBalance::Offset, 1.0);
    progress.advance(1);
    if !(evidence.converged && layer_converged && converged) {
        warnings.push(Warning::convergence("the fit of `auto` stopped before its optimum".into()));
    }
    let parameters = AutoParameters {
        layer,
        logistic,
        logistic_share: 0.5 * m / (m + ITEMS_PER_PARAMETER * schema.width() as f64),
        fill: table.filler.parameters().cloned(),
    };
    Ok(FittedAuto { fusion: AutoFusion::new(Arc::clone(schema), parameters)?, warnings })
}

/// Fits b, u and v: b ~ N(0, 1), u ~ N(1/K, s²), v ~ N(0, (s m/(m+5))²), where s = min(1, 1/rms)
/// of the feature over items and classes, so that no feature can move the predictor by much more
/// than 1 beforehand.
fn fit_layer(
    logs: &DMatrix<f64>,
    evidence: &Evidence,
    training: &Training,
    m: f64,
) -> (LayerParameters, bool) {
    let (k, j, n) = (training.schema().n_classifiers(), training.class_weights.len(), logs.ncols());
    let mut features = vec![DMatrix::zeros(n, 2 * k); j];
    let mut squares = vec![0.0; 2 * k];
    for item in 0..n {
        for f in 0..2 * k {
            let source = if f < k { logs } else { &evidence.out_of_fold };
            let values = &source.as_slice()[item * k * j + (f % k) * j..][..j];
            let centre = values.iter().sum::<f64>() / j as f64;
            for (t, value) in values.iter().enumerate() {
                features[t][(item, f)] = value - centre;
                squares[f] += training.weights[item] * (value - centre).powi(2);
            }
        }
    }
    let total = training.weights.iter().sum::<f64>();
    let (mut means, mut precisions) = (vec![0.0; j + 2 * k], vec![1.0; j + 2 * k]);
    for (f, square) in squares.iter().enumerate() {
        let rms = (square / (total * j as f64)).sqrt();
        let trust = if f < k { 1.0 } else { m / (m + ITEMS_PER_PARAMETER) };
        let sd = f64::min(1.0, 1.0 / rms) * trust;
        precisions[j + f] = sd.powi(-2);
        if f < k {
            means[j + f] = 1.0 / k as f64;
        }
    }
    let posterior = LogitPosterior {
        design: &ClassFeatures { features },
        labels: &training.labels,
        weights: &training.weights,
        offsets: &training.ln_frequencies(),
        means,
        precisions,
    };
    let (theta, converged) = posterior.solve();
    let layer = LayerParameters {
        bias: theta[..j].to_vec(),
        output_exponents: theta[j..j + k].to_vec(),
        evidence_exponents: theta[j + k..].to_vec(),
        alpha: evidence.dirichlets.alpha().clone(),
    };
    (layer, converged)
}

/// The layer's prior mean and nothing else.
fn geometric_pool(schema: &Schema, alpha: Vec<Vec<Vec<f64>>>) -> AutoParameters {
    let (k, j) = (schema.n_classifiers(), schema.n_classes());
    AutoParameters {
        layer: LayerParameters {
            bias: vec![0.0; j],
            output_exponents: vec![1.0 / k as f64; k],
            evidence_exponents: vec![0.0; k],
            alpha,
        },
        logistic: LogisticParameters {
            bias: vec![0.0; j],
            weights: vec![vec![vec![0.0; j]; k]; j],
        },
        logistic_share: 0.0,
        fill: None,
    }
}

fn harmonic_mean(weights: &[f64]) -> f64 {
    weights.len() as f64 / weights.iter().map(|weight| 1.0 / weight).sum::<f64>()
}

/// A classifier without a single output cannot be used.
fn require_outputs(training: &Training) -> Result<()> {
    let (schema, items) = (training.schema(), training.outputs.all());
    for (k, classifier) in schema.classifiers().iter().enumerate() {
        if (0..items.len()).all(|item| items.output(item, k).is_none()) {
            return Err(Error::AbsentClassifier {
                classifier: classifier.clone(),
                class: schema.classes()[0].clone(),
            });
        }
    }
    Ok(())
}

/// A warning for every pair of classifiers with equal outputs wherever both have one.
fn identical_sources(outputs: &Outputs) -> Vec<Warning> {
    let (names, items) = (outputs.schema().classifiers(), outputs.all());
    let identical = |a: usize, b: usize| {
        let mut both = (0..items.len())
            .filter_map(|item| Some((items.output(item, a)?, items.output(item, b)?)))
            .peekable();
        both.peek().is_some() && both.all(|(x, y)| x == y)
    };
    let pairs = (0..names.len()).flat_map(|a| (a + 1..names.len()).map(move |b| (a, b)));
    pairs
        .filter(|&(a, b)| identical(a, b))
        .map(|(a, b)| {
            Warning::data(format!(
                "classifiers `{}` and `{}` give the same output for every training item: \
                 together they count as one",
                names[a], names[b]
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::NoProgress;
    use crate::simulation::Preset;

    /// All numbers of a model, one after the other.
    fn numbers(fitted: &FittedAuto) -> Vec<f64> {
        let AutoParameters { layer, logistic, logistic_share, fill } = fitted.fusion.parameters();
        let fill = fill.as_ref().expect("a fitted model fills in");
        let parts = [
            layer.bias.clone(),
            layer.output_exponents.clone(),
            layer.evidence_exponents.clone(),
            layer.alpha.concat().concat(),
            logistic.bias.clone(),
            logistic.weights.concat().concat(),
            vec![*logistic_share, fill.weight],
            fill.mean.concat(),
            fill.covariance.concat(),
        ];
        parts.concat()
    }

    /// Copies of an item in the same fold against its weight, whole and in parts, some outputs
    /// missing.
    #[test]
    fn weights_are_copies_in_the_same_fold() {
        let outputs = Preset::Sim2.truth(0.5).unwrap().simulate(12, 1).unwrap();
        let mut builder =
            crate::OutputsBuilder::new(Arc::clone(outputs.schema()), crate::InputFormat::default())
                .unwrap();
        for item in 0..outputs.n_items() {
            let mut raw = outputs.items(item..item + 1).values().to_vec();
            if item % 5 == 0 {
                raw[3 * (item / 5 % 2)..][..3].fill(f64::NAN);
            }
            builder.push_indexed(&raw, outputs.label(item)).unwrap();
        }
        let outputs = builder.finish();
        let n = outputs.n_items();
        let folds: Vec<usize> = (0..n).map(|item| item * 7 % 5).collect();
        let fit = |outputs: &Outputs, folds: &[usize]| {
            let training = Training::new(outputs).unwrap();
            numbers(&fit_in_folds(&training, folds, &NoProgress).unwrap())
        };
        let agree = |a: &[f64], b: &[f64]| {
            for (a, b) in a.iter().zip(b) {
                assert!((a - b).abs() < 1e-8 * (1.0 + a.abs()), "{a} {b}");
            }
        };
        let times: Vec<usize> = (0..n).map(|item| 1 + item % 3).collect();
        let copies: Vec<usize> =
            (0..n).flat_map(|item| std::iter::repeat_n(item, times[item])).collect();
        let copied_folds: Vec<usize> = copies.iter().map(|&item| folds[item]).collect();
        let repeated = outputs.select_items(&copies);
        let weights: Vec<f64> = times.iter().map(|&n| n as f64).collect();
        let weighted = outputs.with_weights(&weights).unwrap();
        agree(&fit(&weighted, &folds), &fit(&repeated, &copied_folds));
        let parts: Vec<f64> = copies.iter().map(|&item| 1.0 / weights[item]).collect();
        let in_parts = repeated.with_weights(&parts).unwrap();
        agree(&fit(&in_parts, &copied_folds), &fit(&outputs, &folds));
    }
}
