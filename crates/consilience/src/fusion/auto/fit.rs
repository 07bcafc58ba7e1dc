//! Learning both parts of `auto`.

use std::sync::Arc;

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::{AutoFusion, AutoParameters, LayerParameters};
use crate::error::{Error, Result};
use crate::fusion::stacking::logit::{ClassFeatures, LogitPosterior};
use crate::fusion::stacking::{ClassBalance, LogTable, LogisticParameters, Training, fit_logistic};
use crate::outputs::Outputs;
use crate::schema::Schema;
use crate::warning::Warning;
use crate::watch::Watch;

/// Settings of [`AutoConfig::fit`]; there is nothing to tune.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AutoConfig {
    /// Seed of the folds in which the training items' evidence is found.
    pub seed: u64,
}

/// What a fit of `auto` gives.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedAuto {
    /// The fitted rule.
    pub fusion: AutoFusion,
    /// What a user should know.
    pub warnings: Vec<Warning>,
}

/// Items that a parameter of the layer's evidence, or of the logistic part, must rest on before it
/// counts half. Found on real sets; 2 and 10 are within .0013 nats everywhere.
const ITEMS_PER_PARAMETER: f64 = 5.0;

/// With a smaller harmonic mean of the class sizes nothing can be learned.
const FEWEST_ITEMS: f64 = 2.0;

impl AutoConfig {
    /// Fits to labelled outputs.
    pub fn fit(&self, outputs: &Outputs, watch: &dyn Watch) -> Result<FittedAuto> {
        watch.begin("fitting auto", 3);
        let training = Training::new(outputs)?;
        let schema = training.schema();
        require_outputs(&training)?;
        let mut warnings: Vec<Warning> = training.few_items_warning().into_iter().collect();
        warnings.extend(identical_sources(&training.outputs));
        let evidence = Evidence::new(&training, self.seed)?;
        watch.advance(1);
        watch.check()?;
        let m = harmonic_mean(&training.counts);
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
        let table = LogTable::new(&training.outputs.all(), schema)?;
        let (layer, layer_converged) = fit_layer(&table.logs, &evidence, &training, m);
        watch.advance(1);
        watch.check()?;
        let (logistic, converged) = fit_logistic(&table.logs, &training, ClassBalance::Offset, 1.0);
        watch.advance(1);
        if !(evidence.converged && layer_converged && converged) {
            warnings
                .push(Warning::convergence("the fit of `auto` stopped before its optimum".into()));
        }
        let parameters = AutoParameters {
            layer,
            logistic,
            logistic_share: 0.5 * m / (m + ITEMS_PER_PARAMETER * schema.width() as f64),
            fill: table.filler.parameters().cloned(),
        };
        Ok(FittedAuto { fusion: AutoFusion::new(Arc::clone(schema), parameters)?, warnings })
    }
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
    let (k, j, n) = (training.schema().n_classifiers(), training.counts.len(), logs.ncols());
    let mut features = vec![DMatrix::zeros(n, 2 * k); j];
    let mut squares = vec![0.0; 2 * k];
    for item in 0..n {
        for f in 0..2 * k {
            let source = if f < k { logs } else { &evidence.out_of_fold };
            let values = &source.as_slice()[item * k * j + (f % k) * j..][..j];
            let centre = values.iter().sum::<f64>() / j as f64;
            for (t, value) in values.iter().enumerate() {
                features[t][(item, f)] = value - centre;
                squares[f] += (value - centre).powi(2);
            }
        }
    }
    let (mut means, mut precisions) = (vec![0.0; j + 2 * k], vec![1.0; j + 2 * k]);
    for (f, square) in squares.iter().enumerate() {
        let rms = (square / (n * j) as f64).sqrt();
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
        weights: &vec![1.0; n],
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

fn harmonic_mean(counts: &[u64]) -> f64 {
    counts.len() as f64 / counts.iter().map(|count| 1.0 / *count as f64).sum::<f64>()
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

/// Names every pair of classifiers that say the same wherever both have an output.
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
                 together they are worth one",
                names[a], names[b]
            ))
        })
        .collect()
}
