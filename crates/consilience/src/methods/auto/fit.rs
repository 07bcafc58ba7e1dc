//! Learning the mixture.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::evidence::Evidence;
use super::features::{Features, MeanOutputs};
use super::layers::{LAYERS, Scored};
use super::pools::Pools;
use super::temperature::Temperatures;
use super::weights::{prune, pseudo_bma};
use super::{AutoFusion, AutoParameters, Rule, file, linear};
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result, quoted};
use crate::methods::method::SEED;
use crate::methods::shares::EvidenceCovariance;
use crate::methods::stacking::{ClassBalance, LabelledItems, LogTable, fit_logistic};
use crate::methods::{Fit, FitMethod, FitReport, MethodOption, TrainingSet};
use crate::progress::Progress;
use crate::warning::Warning;

/// Options of `auto`; there is nothing to tune.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Auto {
    /// Without effect, because nothing is drawn at random; kept for callers of version 0.1.
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

/// Items that a parameter of the logistic part must rest on before it counts half. Found on real
/// sets; 2 and 10 change the log-loss by at most 0.0013 nats.
const ITEMS_PER_PARAMETER: f64 = 5.0;

/// The smallest class size (harmonic mean) with which evidence is a feature, and with which the
/// logistic part is fitted.
const FEWEST_FOR_EVIDENCE: f64 = 1.5;
const FEWEST_FOR_LOGISTIC: f64 = 2.0;

/// The prior weight of the Bayesian pool among the members.
const POOL_WEIGHT: f64 = 4.0;

/// Labelled items per parameter with which a fitted member may have half of the weight that its
/// scores give it. It bounds the harm that few labels do when a flexible member has good scores by
/// chance: on 14 sets (prototype, ten draws), the largest excess over the better plain pool at ten
/// labels per class is 0.066 with 8 items for all members alike, and 0.040 with this. With 2, the
/// mean log-loss is smaller by 0.0005.
const GUARD: f64 = 3.0;

/// Most items whose scores decide on weights.
const SCORED: usize = 20_000;

impl FitMethod for Auto {
    type Fitted = AutoFusion;

    const OPTIONS: &'static [MethodOption] = &[SEED];

    fn needs_labels(&self) -> bool {
        false
    }

    fn needs_some_output(&self) -> bool {
        true
    }

    fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<AutoFusion>> {
        let FittedAuto { fusion, warnings } = self.learn(data.all, data.progress)?;
        let covariance = |alpha| EvidenceCovariance::of(data.outputs, alpha);
        let evidence_covariance = fusion.dirichlets().map(|d| covariance(d.alpha())).transpose()?;
        let report = FitReport { warnings, evidence_covariance, ..FitReport::default() };
        Ok(Fit { fitted: fusion, report })
    }

    fn read_parameters(schema: Arc<Schema>, parameters: Value) -> Result<AutoFusion> {
        AutoFusion::new(schema, file::read_parameters(parameters)?)
    }
}

impl Auto {
    /// Fits the mixture to outputs of which any number is labelled.
    #[doc(hidden)]
    pub fn learn(&self, outputs: &Outputs, progress: &dyn Progress) -> Result<FittedAuto> {
        progress.begin("fitting auto", 4 + LAYERS.len() as u64);
        require_outputs(outputs)?;
        let training = LabelledItems::informative(outputs);
        let means = MeanOutputs::of(outputs);
        let plain = Temperatures::of(outputs, &means);
        let table = LogTable::with_fill_of(&training.outputs, outputs)?;
        progress.advance(1);
        progress.check()?;
        let mut warnings = data_warnings(&training);
        let mut parameters = AutoParameters {
            members: prune(Pools::without_labels(&means, plain)),
            alpha: None,
            logistic: None,
            logistic_share: 0.0,
            fill: table.filler.parameters().cloned(),
        };
        if !training.labels.is_empty() {
            let features = Features::new(&training, &table, &means);
            let evidence = Evidence::new(&training, progress)?;
            let (rules, mut converged) = weigh(&features, &evidence, &means, plain, progress)?;
            converged &= evidence.converged;
            parameters.members = prune(rules);
            parameters.alpha = Some(evidence.dirichlets.alpha().clone());
            if features.class_size >= FEWEST_FOR_LOGISTIC {
                let (logistic, at_optimum) =
                    fit_logistic(&table.logs, &training, ClassBalance::Offset, 1.0);
                let (m, width) = (features.class_size, training.schema().width() as f64);
                parameters.logistic = Some(logistic);
                parameters.logistic_share = 0.5 * m / (m + ITEMS_PER_PARAMETER * width);
                converged &= at_optimum;
            }
            if !converged {
                let message = "the fit of `auto` stopped before its optimum";
                warnings.push(Warning::convergence(message.into()));
            }
        }
        progress.advance(1);
        let fusion = AutoFusion::new(Arc::clone(training.schema()), parameters)?;
        Ok(FittedAuto { fusion, warnings })
    }
}

/// Fits all members but the logistic part and weights them; whether all searches converged.
fn weigh(
    features: &Features,
    evidence: &Evidence,
    means: &MeanOutputs,
    plain: Temperatures,
    progress: &dyn Progress,
) -> Result<(Vec<(f64, Rule)>, bool)> {
    let scored = scored_items(features.n_items());
    let pools = Pools::new(features, means, plain, &scored);
    progress.advance(1);
    let with_evidence = features.class_size >= FEWEST_FOR_EVIDENCE;
    let mut fitted: Vec<Scored> = Vec::new();
    for layer in LAYERS.iter().filter(|layer| with_evidence || !layer.needs_evidence()) {
        progress.check()?;
        fitted.push(layer.fit(features, &evidence.left_out, means, &scored));
        progress.advance(1);
    }
    progress.check()?;
    fitted.push(linear::fit(features, means, &scored));
    progress.advance(1);
    let prior: Vec<f64> =
        std::iter::once(POOL_WEIGHT).chain(fitted.iter().map(|m| m.prior_weight)).collect();
    let scores: Vec<&[f64]> = std::iter::once(&pools.scores[..])
        .chain(fitted.iter().map(|member| &member.scores[..]))
        .collect();
    let item_weights: Vec<f64> = scored.iter().map(|&item| features.weights[item]).collect();
    let weights = pseudo_bma(&prior, &scores, &item_weights);
    let n = features.total_weight();
    let converged = fitted.iter().all(|member| member.converged);
    let guarded = |(member, weight): (Scored, &f64)| {
        (weight * n / (n + GUARD * member.n_exponents as f64), member.rule)
    };
    let guarded: Vec<(f64, Rule)> = fitted.into_iter().zip(&weights[1..]).map(guarded).collect();
    let of_fitted: f64 = guarded.iter().map(|(weight, _)| weight).sum();
    let mut rules = pools.rules(1.0 - of_fitted, means);
    rules.extend(guarded);
    Ok((rules, converged))
}

/// At most [`SCORED`] items, evenly spread.
fn scored_items(n: usize) -> Vec<usize> {
    let step = n.div_ceil(SCORED).max(1);
    (0..n).step_by(step).collect()
}

/// A classifier without a single output cannot be used.
fn require_outputs(outputs: &Outputs) -> Result<()> {
    let (schema, items) = (outputs.schema(), outputs.all());
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

fn data_warnings(training: &LabelledItems) -> Vec<Warning> {
    let mut warnings = identical_sources(&training.outputs);
    warnings.extend(contrary_sources(training));
    if training.labels.is_empty() {
        warnings.push(Warning::data(
            "no labelled items: the average of the linear and the geometric pool is used, in which \
             all classifiers count the same; its confidence rests on how much they agree"
                .into(),
        ));
    } else {
        warnings
            .extend(training.few_items_warning("the classifiers are mostly pooled as they are"));
    }
    warnings
}

/// A classifier is reported as worse than chance if it is so by this many standard errors, on at
/// least this many labelled items: for one that adds nothing, about 1 time in 700.
const CONTRARY: f64 = 3.0;
const FEWEST_FOR_CONTRARY: usize = 10;

/// A warning for every classifier that is worse than chance: it gives the true class less than the
/// mean of its probabilities, weighted by the frequencies of the classes.
fn contrary_sources(training: &LabelledItems) -> Vec<Warning> {
    let (names, items) = (training.schema().classifiers(), training.outputs.all());
    let frequencies: Vec<f64> = training.ln_shares().iter().map(|ln| ln.exp()).collect();
    let excess = |item: usize, k: usize| {
        let output = items.output(item, k)?;
        let expected: f64 = output.iter().zip(&frequencies).map(|(x, f)| x * f).sum();
        Some(output[training.labels[item]] - expected)
    };
    let is_contrary = |k: usize| {
        let own: Vec<f64> = (0..items.len()).filter_map(|item| excess(item, k)).collect();
        let (sum, n) = (own.iter().sum::<f64>(), own.len() as f64);
        let squares: f64 = own.iter().map(|e| (e - sum / n).powi(2)).sum();
        own.len() >= FEWEST_FOR_CONTRARY && sum < -CONTRARY * squares.sqrt() - 1e-9
    };
    let warning = |k: usize| {
        let name = &names[k];
        Warning::data(format!(
            "classifier `{name}` is worse than chance: it gives true classes a lower probability \
             than others; check the order of its classes"
        ))
    };
    (0..names.len()).filter(|k| is_contrary(*k)).map(warning).collect()
}

/// A warning for every group of classifiers with equal outputs wherever two of them have one.
fn identical_sources(outputs: &Outputs) -> Vec<Warning> {
    let (names, items) = (outputs.schema().classifiers(), outputs.all());
    let identical = |a: usize, b: usize| {
        let mut both = (0..items.len())
            .filter_map(|item| Some((items.output(item, a)?, items.output(item, b)?)))
            .peekable();
        both.peek().is_some() && both.all(|(x, y)| x == y)
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for k in 0..names.len() {
        let (same, mut others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| group.iter().any(|own| identical(*own, k)));
        others.push(same.into_iter().flatten().chain([k]).collect());
        groups = others;
    }
    groups.retain(|group| group.len() > 1);
    groups.sort();
    let warning = |group: Vec<usize>| {
        let names: Vec<String> = group.into_iter().map(|k| names[k].clone()).collect();
        Warning::data(format!(
            "classifiers {} give the same output for every training item: together they count as one",
            quoted(&names)
        ))
    };
    groups.into_iter().map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::class_prior::ClassPrior;
    use crate::methods::fuse;
    use crate::progress::NoProgress;
    use crate::simulation::Preset;

    /// 36 items, some of them without the output of a classifier or without a label.
    fn items() -> Outputs {
        let outputs = Preset::Sim2.truth(0.5).unwrap().simulate(12, 1).unwrap();
        let schema = Arc::clone(outputs.schema());
        let mut builder =
            crate::OutputsBuilder::new(schema, crate::InputFormat::default()).unwrap();
        for item in 0..outputs.n_items() {
            let mut raw = outputs.items(item..item + 1).values().to_vec();
            if item % 5 == 0 {
                raw[3 * (item / 5 % 2)..][..3].fill(f64::NAN);
            }
            let label = outputs.label(item).filter(|_| item % 7 != 3);
            builder.push_indexed(&raw, label).unwrap();
        }
        builder.finish()
    }

    fn probabilities(train: &Outputs) -> Vec<f64> {
        let fitted = Auto::default().learn(train, &NoProgress).unwrap().fusion;
        let prior = ClassPrior::new(&[0.2, 0.3, 0.5]).unwrap();
        fuse(&fitted, &items(), &prior).unwrap().all().to_vec()
    }

    #[test]
    fn weights_are_copies() {
        let outputs = items();
        let n = outputs.n_items();
        let copies: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, 1 + i % 3)).collect();
        let weights: Vec<f64> = (0..n).map(|i| (1 + i % 3) as f64).collect();
        let weighted = probabilities(&outputs.with_weights(&weights).unwrap());
        for (a, b) in weighted.iter().zip(probabilities(&outputs.select_items(&copies))) {
            assert!((a - b).abs() < 1e-8, "{a} {b}");
        }
    }

    #[test]
    fn unlabelled_items_change_the_result() {
        let outputs = items();
        let labelled = outputs.labelled().into_owned();
        let pairs = probabilities(&outputs).into_iter().zip(probabilities(&labelled));
        assert!(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) > 1e-4);
    }
}
