//! Learning the mixture.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::evidence::Evidence;
use super::features::{Features, MeanOutputs};
use super::layers::{LAYERS, LayerRegression};
use super::leave_one_out::{FittedMember, scores};
use super::linear::LinearRegression;
use super::pools::Pools;
use super::temperature::Temperatures;
use super::weights::{prune, pseudo_bma};
use super::{AutoFusion, AutoParameters, LogisticParameters, Rule, file};
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result, quoted};
use crate::methods::method::SEED;
use crate::methods::regression::{
    Blocks, Fitted, LogMoments, LogisticRegression, Picked, Regression, curvatures, find_modes,
};
use crate::methods::shares::EvidenceCovariance;
use crate::methods::stacking::{LabelledItems, LogTable, logistic_parameters};
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

/// The smallest class size (harmonic mean) with which the logistic part is fitted, and its smallest
/// share: that at which other members are dropped. With fewer than KJ/20 items per class the share is
/// smaller, and the fit of this part would take most of the time.
const FEWEST_FOR_LOGISTIC: f64 = 2.0;
const SMALLEST_SHARE: f64 = 0.005;

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
        let covariance = |alpha| EvidenceCovariance::of(data.outputs, alpha, data.progress);
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
        progress.begin("fitting auto", 5);
        require_outputs(outputs)?;
        let labelled = outputs.labelled();
        let training = LabelledItems::informative(&labelled);
        let means = MeanOutputs::of(outputs);
        let plain = Temperatures::of(outputs, &means);
        let table = LogTable::new(&training.outputs, outputs, progress)?;
        progress.advance(1);
        let mut warnings = data_warnings(&training);
        let mut parameters = AutoParameters {
            members: prune(Pools::without_labels(&means, plain)),
            alpha: None,
            logistic: None,
            logistic_share: 0.0,
            fill: table.filler.parameters().cloned(),
        };
        if training.len() > 0 {
            let evidence = Evidence::new(&training, progress)?;
            progress.advance(1);
            let features = Features::new(&training, &table.filler, &means, &evidence);
            let fitted = fit_members(&features, plain, progress)?;
            parameters.members = prune(fitted.rules);
            (parameters.logistic, parameters.logistic_share) = fitted.logistic;
            if !(fitted.converged && evidence.converged) {
                let message = "the fit of `auto` stopped before its optimum";
                warnings.push(Warning::convergence(message.into()));
            }
            parameters.alpha = Some(evidence.dirichlets.alpha().clone());
        } else {
            progress.advance(4);
        }
        let fusion = AutoFusion::new(Arc::clone(training.schema()), parameters)?;
        Ok(FittedAuto { fusion, warnings })
    }
}

/// The fitted members.
struct FittedMembers {
    /// All but the logistic part, with their weights.
    rules: Vec<(f64, Rule)>,
    /// The logistic part, if there is one, and its share.
    logistic: (Option<LogisticParameters>, f64),
    /// Whether all searches ended at their optimum.
    converged: bool,
}

/// Fits all members and weights them.
fn fit_members(
    features: &Features<'_>,
    plain: Temperatures,
    progress: &dyn Progress,
) -> Result<FittedMembers> {
    let (blocks, offsets) = (Blocks::new(features, 1, progress)?, features.training.ln_shares());
    let scales = features.scales(&blocks, progress)?;
    let layers: Vec<LayerRegression> = LAYERS
        .iter()
        .filter(|layer| features.evidence.is_some() || !layer.needs_evidence())
        .map(|layer| LayerRegression::new(layer, features, &scales))
        .collect();
    let linear = LinearRegression::new(features.means);
    let members = layers.iter().map(|layer| layer as &dyn FittedMember);
    let members: Vec<&dyn FittedMember> = members.chain([&linear as &dyn FittedMember]).collect();
    let (logistic, share) = logistic(features, &blocks, progress)?;
    let in_common = logistic.as_ref().filter(|logistic| logistic.is_small());
    let regressions = members.iter().map(|member| member.as_regression());
    let regressions: Vec<&dyn Regression> =
        regressions.chain(in_common.map(|logistic| logistic as &dyn Regression)).collect();
    let starts = regressions.iter().map(|own| own.prior().means.clone()).collect();
    let mut fitted = find_modes(&blocks, &offsets, &regressions, starts, progress)?;
    progress.advance(1);
    let alone = match logistic.as_ref().filter(|logistic| !logistic.is_small()) {
        Some(logistic) => Some(logistic.fit(&blocks, &offsets, progress)?),
        None => None,
    };
    progress.advance(1);
    let of_logistic = if in_common.is_some() { fitted.pop() } else { alone };
    let converged = fitted.iter().chain(&of_logistic).all(|fitted| fitted.converged);
    let parameters = logistic.as_ref().zip(of_logistic).map(|(logistic, fitted)| {
        logistic_parameters(logistic, &fitted.theta, features.training.schema().n_classes())
    });
    let rules = weigh(features, (&members, &fitted), (&blocks, &offsets), plain, progress)?;
    progress.advance(1);
    Ok(FittedMembers { rules, logistic: (parameters, share), converged })
}

/// The logistic part to be fitted, if there are enough items, and its share.
fn logistic(
    features: &Features<'_>,
    blocks: &Blocks<'_>,
    progress: &dyn Progress,
) -> Result<(Option<LogisticRegression>, f64)> {
    let (m, schema) = (features.class_size(), features.training.schema());
    let share = 0.5 * m / (m + ITEMS_PER_PARAMETER * schema.width() as f64);
    if m < FEWEST_FOR_LOGISTIC || share < SMALLEST_SHARE {
        return Ok((None, 0.0));
    }
    let moments = LogMoments::of(blocks, progress)?;
    Ok((Some(LogisticRegression::new(moments, schema.n_classes(), 1.0)), share))
}

/// The weights of all members but the logistic part, from scores of items that they have not seen.
fn weigh(
    features: &Features<'_>,
    (members, fitted): (&[&dyn FittedMember], &[Fitted]),
    (blocks, offsets): (&Blocks<'_>, &[f64]),
    plain: Temperatures,
    progress: &dyn Progress,
) -> Result<Vec<(f64, Rule)>> {
    let means = features.means;
    let regressions = members.iter().map(|member| member.as_regression());
    let points: Vec<_> = regressions.zip(fitted).map(|(own, at)| (own, &at.theta[..])).collect();
    let curvatures = curvatures(blocks, offsets, &points, progress)?;
    let step = blocks.n_items().div_ceil(SCORED).max(1);
    let own;
    let scored = if step == 1 {
        blocks
    } else {
        own = Blocks::new(features, step, progress)?;
        &own
    };
    let pools = Pools::new((means, offsets), plain, scored, progress)?;
    let mut all_scores = vec![pools.scores.clone()];
    for ((member, fitted), curvature) in members.iter().zip(fitted).zip(&curvatures) {
        all_scores.push(scores(*member, (&fitted.theta, offsets), curvature, scored, progress)?);
    }
    let prior = members.iter().map(|member| member.prior_weight());
    let prior: Vec<f64> = std::iter::once(POOL_WEIGHT).chain(prior).collect();
    let outputs = &features.training.outputs;
    let picked = Picked { first: 0, step, n: scored.n_items() };
    let item_weights: Vec<f64> = picked.items().map(|item| outputs.weight(item)).collect();
    let weights = pseudo_bma(&prior, &all_scores, &item_weights);
    let n = features.training.total_weight();
    let guarded: Vec<(f64, Rule)> = members
        .iter()
        .zip(fitted)
        .zip(&weights[1..])
        .map(|((member, fitted), weight)| {
            let guard = n / (n + GUARD * member.n_exponents() as f64);
            (weight * guard, member.finish(&fitted.theta, means))
        })
        .collect();
    let of_fitted: f64 = guarded.iter().map(|(weight, _)| weight).sum();
    let mut rules = pools.rules(1.0 - of_fitted, means);
    rules.extend(guarded);
    Ok(rules)
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

fn data_warnings(training: &LabelledItems<'_>) -> Vec<Warning> {
    let mut warnings = identical_sources(&training.outputs);
    warnings.extend(contrary_sources(training));
    if training.len() == 0 {
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
fn contrary_sources(training: &LabelledItems<'_>) -> Vec<Warning> {
    let (names, items) = (training.schema().classifiers(), training.outputs.all());
    let frequencies: Vec<f64> = training.ln_shares().iter().map(|ln| ln.exp()).collect();
    let excess = |item: usize, k: usize| {
        let output = items.output(item, k)?;
        let expected: f64 = output.iter().zip(&frequencies).map(|(x, f)| x * f).sum();
        Some(output[training.label(item)] - expected)
    };
    let is_contrary = |k: usize| {
        let own = || (0..items.len()).filter_map(|item| excess(item, k));
        let (sum, n) = (own().sum::<f64>(), own().count());
        let squares: f64 = own().map(|e| (e - sum / n as f64).powi(2)).sum();
        n >= FEWEST_FOR_CONTRARY && sum < -CONTRARY * squares.sqrt() - 1e-9
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
        // With missing outputs, two copies of a third classifier may differ where it has no output.
        match groups.iter_mut().find(|group| group.iter().all(|own| identical(*own, k))) {
            Some(group) => group.push(k),
            None => groups.push(vec![k]),
        }
    }
    groups.retain(|group| group.len() > 1);
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
    use rand::RngExt;

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

    /// From 20 000 items on, weights rest on one of every two or more items. One class has nearly constant
    /// outputs: with items of this class alone, a pool with a huge temperature would have all weight.
    #[test]
    fn large_tables_whose_classes_take_turns_are_fitted_like_others() {
        let mut rng = crate::math::random::stream(1, 0);
        let mut builder = crate::OutputsBuilder::new(
            Schema::new(["a", "b"], ["x", "y"]).unwrap(),
            crate::InputFormat::default(),
        )
        .unwrap();
        for item in 0..30_000 {
            let label = item % 2;
            let (low, width) = [(0.6, 0.05), (0.05, 0.9)][label];
            let outputs = [(); 2].map(|()| low + width * rng.random::<f64>());
            let row: Vec<f64> = outputs.iter().flat_map(|p| [*p, 1.0 - p]).collect();
            builder.push_indexed(&row, Some(label)).unwrap();
        }
        let in_turns = builder.finish();
        let by_class: Vec<usize> =
            (0..30_000).map(|i| if i < 15_000 { 2 * i } else { 2 * i - 29_999 }).collect();
        let fitted = |outputs: &Outputs| {
            let fusion = Auto::default().learn(outputs, &NoProgress).unwrap().fusion;
            let some = in_turns.select_items(&(0..100).collect::<Vec<_>>());
            fuse(&fusion, &some, &ClassPrior::uniform(2)).unwrap().all().to_vec()
        };
        let pairs = fitted(&in_turns).into_iter().zip(fitted(&in_turns.select_items(&by_class)));
        let off = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 0.01, "{off}");
    }

    #[test]
    fn unlabelled_items_change_the_result() {
        let outputs = items();
        let labelled = outputs.labelled().into_owned();
        let pairs = probabilities(&outputs).into_iter().zip(probabilities(&labelled));
        assert!(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) > 1e-4);
    }
}
