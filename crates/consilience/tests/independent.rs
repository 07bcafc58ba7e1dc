//! The independent model on simulated items with known parameters, and on few or degenerate items.

use std::sync::Arc;

use consilience::Hint;
use consilience::evaluation::{Predictions, Weighting, score};
use consilience::methods::fuse;
use consilience::methods::independent::{
    Alpha, AlphaPrior, Independent, IndependentFusion, Inference, SufficientStatistics,
};
use consilience::methods::pools::LogPool;
use consilience::simulation::{Preset, Truth};
use consilience::{
    ClassPrior, FitOptions, InputFormat, MethodConfig, Model, NoProgress, Outputs, OutputsBuilder,
    PriorChoice, Schema,
};
use correlated_dirichlet::CorrelatedDirichlet;

/// Two independent sources with Dirichlet parameters (3, 1, 1), (1, 3, 1), (1, 1, 3).
fn truth() -> Truth {
    let schema = Arc::new(Schema::new(["a", "b"], ["x", "y", "z"]).unwrap());
    let class = |j: usize| {
        let row: Vec<f64> = (0..3).map(|l| if l == j { 3.0 } else { 1.0 }).collect();
        CorrelatedDirichlet::new(vec![row; 2], None, vec![]).unwrap()
    };
    Truth::new(schema, (0..3).map(class).collect()).unwrap()
}

fn fit(
    outputs: &Outputs,
    config: &Independent,
) -> consilience::methods::independent::FittedIndependent {
    let statistics = SufficientStatistics::of(outputs).unwrap();
    config.learn(outputs.schema(), &statistics, &NoProgress).unwrap()
}

/// Errors of posterior means in posterior standard deviations, over four data sets of six Dirichlets
/// each. Their mean has a standard deviation of at most 1/√24 = 0.2, even if the three elements of a
/// Dirichlet were fully correlated. The bound of four of these fails once in 16,000 runs, and a bias of
/// one standard deviation exceeds it. A single error beyond 5 is rarer than once in 10,000 runs.
#[test]
fn recovers_the_true_parameters_with_good_diagnostics() {
    for alpha_prior in [AlphaPrior::default(), AlphaPrior::Paper] {
        let config = Independent { alpha_prior, ..Independent::default() };
        let mut errors = Vec::new();
        for seed in 1..5 {
            let fitted = fit(&truth().simulate(500, seed).unwrap(), &config);
            let report = fitted.posterior.unwrap();
            assert!(report.worst.r_hat < 1.01, "{report:?}");
            assert!(report.worst.ess_bulk.min(report.worst.ess_tail) >= 1000.0, "{report:?}");
            assert!(fitted.warnings.is_empty(), "{:?}", fitted.warnings);
            for (k, (alpha, sd)) in fitted.fusion.alpha().iter().zip(&report.alpha_sd).enumerate() {
                for (j, class) in truth().classes().iter().enumerate() {
                    let error = |l: usize| (alpha[j][l] - class.alpha()[k][l]) / sd[j][l];
                    errors.extend((0..3).map(error));
                }
            }
        }
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean.abs() < 4.0 / 24f64.sqrt(), "{mean}");
        assert!(errors.iter().all(|error| error.abs() < 5.0), "{errors:?}");
    }
}

/// 90 % posterior intervals (mean ± 1.645 sd) of 720 parameters, over 40 data sets with 50 items per
/// class. The expected coverage is 0.9 with a standard error of about 0.012 (parameters of a data set
/// are correlated).
#[test]
fn posterior_intervals_have_their_nominal_coverage() {
    let truth = truth();
    let config = Independent { prior_items: 0.01, ..Default::default() };
    let mut covered = 0;
    for seed in 0..40 {
        let fitted = fit(&truth.simulate(50, 1000 + seed).unwrap(), &config);
        let sd = fitted.posterior.unwrap().alpha_sd;
        for (k, (alpha, sd)) in fitted.fusion.alpha().iter().zip(&sd).enumerate() {
            for j in 0..3 {
                for l in 0..3 {
                    let want = truth.classes()[j].alpha()[k][l];
                    covered += usize::from((alpha[j][l] - want).abs() < 1.645 * sd[j][l]);
                }
            }
        }
    }
    let share = covered as f64 / 720.0;
    assert!((0.86..0.94).contains(&share), "coverage {share}");
}

#[test]
fn posterior_mode_and_mean_agree_for_many_items() {
    let outputs = truth().simulate(500, 2).unwrap();
    let mean = fit(&outputs, &Independent::default());
    let mode = fit(&outputs, &Independent { inference: Inference::Map, ..Default::default() });
    assert!(mode.posterior.is_none());
    let flat = |alpha: &Alpha| alpha.concat().concat();
    let (means, modes) = (flat(mean.fusion.alpha()), flat(mode.fusion.alpha()));
    for ((mean, mode), sd) in means.iter().zip(modes).zip(flat(&mean.posterior.unwrap().alpha_sd)) {
        assert!((mean - mode).abs() < 0.2 * sd);
    }
}

/// The paper's simulated sets without correlation. Expected: the Bayes-optimal log-loss, from an
/// independent simulation with 400 000 draws.
#[test]
fn fusing_with_the_true_parameters_has_the_bayes_optimal_log_loss() {
    for (preset, expected) in [(Preset::Sim1, 0.821), (Preset::Sim2, 0.413)] {
        let schema = Arc::clone(preset.truth(0.0).unwrap().schema());
        let alpha: Vec<Vec<f64>> = preset.alpha().iter().map(|row| row.to_vec()).collect();
        let model = IndependentFusion::new(schema, vec![alpha; 2]).unwrap();
        let prior = ClassPrior::uniform(3);
        let whole =
            Model::new(consilience::methods::Method::Independent(model.clone()), prior.clone());
        let outputs = whole.unwrap().truth().unwrap().simulate(66_667, 4).unwrap();
        let fused = fuse(&model, &outputs, &prior).unwrap();
        let predictions = Predictions { name: "truth".into(), probabilities: fused.all().to_vec() };
        let labels = outputs.require_labels().unwrap();
        let got = score(&predictions, &labels, &prior, Weighting::ClassPrior).unwrap()[0].log_loss;
        assert!((got - expected).abs() < 0.003, "{preset:?}: {got} instead of {expected}");
    }
}

/// An update with the remaining items gives the same bits as a fit to all items.
#[test]
fn an_update_equals_a_fit_to_all_items() {
    let all = truth().simulate(40, 5).unwrap();
    let (first, second): (Vec<usize>, Vec<usize>) = (0..120).partition(|i| i % 3 == 1);
    for method in ["independent", "meta:b", "opinion-pool"] {
        let config: MethodConfig = method.parse().unwrap();
        let class_prior = PriorChoice::Empirical;
        let options = FitOptions { class_prior, ..FitOptions::default() };
        let fit = |items: &Outputs| Model::fit_with(config.clone(), items, &options).unwrap();
        let (whole, part) = (fit(&all), fit(&all.select_items(&first)));
        // By way of the file, as in the command line.
        let part = Model::from_json(&part.to_json()).unwrap();
        let updated = part.update(&all.select_items(&second), &NoProgress).unwrap();
        assert_eq!(updated.to_json(), whole.to_json());
    }
    let model = LogPool::default().fit(&all).unwrap();
    assert!(model.update(&all, &NoProgress).unwrap_err().to_string().contains("cannot be updated"));
}

#[test]
fn merged_statistics_are_independent_of_the_partition() {
    let all = truth().simulate(30, 6).unwrap();
    let whole = SufficientStatistics::of(&all).unwrap();
    let mut merged = SufficientStatistics::empty(all.schema());
    for part in [40..90, 0..40] {
        let part: Vec<usize> = part.collect();
        merged.merge(&SufficientStatistics::of(&all.select_items(&part)).unwrap()).unwrap();
    }
    assert_eq!(whole, merged);
}

fn table(n_classes: usize, items: &[(Vec<f64>, usize)]) -> Outputs {
    let classes: Vec<String> = (0..n_classes).map(|j| format!("j{j}")).collect();
    let schema = Schema::new(["a"], classes).unwrap();
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for (x, class) in items {
        builder.push_indexed(x, Some(*class)).unwrap();
    }
    builder.finish()
}

/// Probability `p` for one class, the rest divided equally among the others.
fn peaked(n_classes: usize, class: usize, p: f64) -> Vec<f64> {
    let rest = (1.0 - p) / (n_classes - 1) as f64;
    (0..n_classes).map(|j| if j == class { p } else { rest }).collect()
}

/// Checks that parameters are finite, and that the most probable class is the true one.
fn check_fit(outputs: &Outputs, what: &str) {
    for inference in [Inference::Posterior, Inference::Map] {
        let fitted = fit(outputs, &Independent { inference, ..Default::default() });
        let finite = |a: &f64| a.is_finite() && *a > 0.0 && *a < 1e8;
        assert!(fitted.fusion.alpha().iter().flatten().flatten().all(finite), "{what}: {fitted:?}");
        let prior = ClassPrior::uniform(outputs.schema().n_classes());
        let fused = fuse(&fitted.fusion, outputs, &prior).unwrap();
        let convergence: Vec<_> = fitted
            .warnings
            .iter()
            .filter(|w| w.kind == consilience::WarningKind::Convergence)
            .collect();
        assert!(convergence.is_empty(), "{what}, {inference:?}: {convergence:?}");
        for item in 0..outputs.n_items() {
            assert!((fused.probabilities(item).iter().sum::<f64>() - 1.0).abs() < 1e-9, "{what}");
            assert_eq!(Some(fused.predicted(item)), outputs.label(item), "{what}: item {item}");
        }
    }
}

#[test]
fn constant_outputs_few_items_and_many_classes_can_be_fitted() {
    for n_classes in [2, 3, 10, 50] {
        for per_class in [1, 3] {
            for p in if n_classes < 50 { vec![0.9, 1.0] } else { vec![1.0] } {
                let items: Vec<_> = (0..n_classes)
                    .flat_map(|j| vec![(peaked(n_classes, j, p), j); per_class])
                    .collect();
                let outputs = table(n_classes, &items);
                check_fit(&outputs, &format!("J={n_classes}, {per_class} per class, constant {p}"));
                let map = Independent { inference: Inference::Map, ..Default::default() };
                let fitted = fit(&outputs, &map);
                let text: Vec<String> = fitted.warnings.iter().map(ToString::to_string).collect();
                assert!(text[0].contains("only"), "{text:?}");
                assert_eq!(
                    text.iter().any(|w| w.contains("same output")),
                    per_class > 1,
                    "{text:?}"
                );
            }
        }
    }
}

/// Like nearest neighbours on the iris set: one class is always certain, two are sometimes confused.
#[test]
fn a_class_with_constant_outputs_does_not_affect_the_others() {
    let mut items = vec![(vec![1.0, 0.0, 0.0], 0); 50];
    for i in 0..50 {
        let p = f64::from(i % 6) / 5.0;
        items.push((vec![0.0, 1.0 - 0.4 * p, 0.4 * p], 1));
        items.push((vec![0.0, 0.4 * p, 1.0 - 0.4 * p], 2));
    }
    check_fit(&table(3, &items), "kNN");
}

#[test]
fn a_source_with_constant_outputs_has_no_evidence() {
    for counts in [[10, 10, 10], [3, 30, 300]] {
        for x in [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]] {
            let items = (0..3).flat_map(|j| vec![(x.to_vec(), j); counts[j]]);
            check_no_evidence(&table(3, &items.collect::<Vec<_>>()));
        }
    }
}

fn check_no_evidence(outputs: &Outputs) {
    let fitted = fit(outputs, &Independent::default());
    let fused = fuse(&fitted.fusion, outputs, &ClassPrior::uniform(3)).unwrap();
    for p in fused.all() {
        assert!((p - 1.0 / 3.0).abs() < 0.05, "{p}");
    }
    assert!(fitted.warnings.iter().any(|w| w.to_string().contains("same output")));
}

fn independent() -> Independent {
    Independent::default()
}

#[test]
fn errors_contain_the_names_of_missing_classes_and_classifiers() {
    let outputs = table(3, &[(peaked(3, 0, 0.8), 0), (peaked(3, 1, 0.8), 1)]);
    let paper = Independent { alpha_prior: AlphaPrior::Paper, ..independent() };
    let error = paper.fit(&outputs).unwrap_err();
    assert_eq!(error.to_string(), "class `j2` has no training items");
    // The pooled prior can stand alone.
    let model = independent().fit(&outputs).unwrap();
    let warnings = &model.training().unwrap().warnings;
    assert!(warnings.iter().any(|w| w.message.starts_with("class `j2` has no training items")));

    let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    builder.push(&[0.7, 0.3, 0.6, 0.4], Some("x")).unwrap();
    builder.push(&[0.7, 0.3, f64::NAN, f64::NAN], Some("y")).unwrap();
    let error = consilience::Meta::of("b").fit(&builder.finish()).unwrap_err();
    let message = "classifier `b` is missing for every training item of class `y`";
    assert_eq!(error.to_string(), message);
}

/// The posterior predictive probability is the mean of the fused probabilities over all draws.
#[test]
fn the_posterior_predictive_is_the_mean_over_draws() {
    let train = truth().simulate(4, 8).unwrap();
    let test = truth().simulate(100, 9).unwrap();
    let model = Independent { keep_draws: 200, ..Default::default() }.fit(&train).unwrap();
    let prior = ClassPrior::uniform(3);
    let predictive = fuse(&model.predictive().unwrap(), &test, &prior).unwrap();
    let mut mean = vec![0.0; predictive.all().len()];
    for draw in model.draws() {
        let one = IndependentFusion::new(Arc::clone(model.schema()), draw.alpha.clone()).unwrap();
        let fused = fuse(&one, &test, &prior).unwrap();
        mean.iter_mut().zip(fused.all()).for_each(|(m, p)| *m += p / 200.0);
    }
    for (a, b) in predictive.all().iter().zip(&mean) {
        assert!((a - b).abs() < 1e-12);
    }
    let plain = independent().fit(&train).unwrap();
    assert_eq!(plain.predictive().unwrap_err().hint(), Some(Hint::KeepDraws));
}

#[test]
fn the_seed_determines_the_model() {
    let outputs = truth().simulate(20, 3).unwrap();
    let model = |seed| Independent { seed, ..Independent::default() }.fit(&outputs).unwrap();
    assert_eq!(model(1), model(1));
    assert_ne!(model(1).method(), model(2).method());
}

/// Without a floor, exact zeros reach the logarithms, where they count as the smallest double.
#[test]
fn exact_zeros_without_a_floor_give_finite_probabilities() {
    let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
    let input_format = InputFormat { floor: 0.0, ..InputFormat::default() };
    let mut builder = OutputsBuilder::new(schema, input_format).unwrap();
    for (x, label) in [
        ([1.0, 0.0, 0.9, 0.1], "x"),
        ([0.8, 0.2, 1.0, 0.0], "x"),
        ([0.0, 1.0, 0.0, 1.0], "y"),
        ([0.3, 0.7, 0.5, 0.5], "y"),
    ] {
        builder.push(&x, Some(label)).unwrap();
    }
    let outputs = builder.finish();
    for method in ["independent", "opinion-pool", "log-pool", "linear-pool"] {
        let model = method.parse::<MethodConfig>().unwrap().fit(&outputs).unwrap();
        let fused = fuse(model.fusion(), &outputs, model.class_prior()).unwrap();
        assert!(fused.all().iter().all(|p| (0.0..=1.0).contains(p)), "{method}: {fused:?}");
    }
}

/// Under the paper's very wide prior, few or constant outputs can be fitted. Where the posterior has
/// no mode, `Inference::Map` returns an error.
#[test]
fn few_and_constant_outputs_can_be_fitted_under_the_papers_prior() {
    for n_classes in [2, 3, 10] {
        for per_class in [1, 2, 3] {
            let items: Vec<_> = (0..n_classes)
                .flat_map(|j| vec![(peaked(n_classes, j, 0.9), j); per_class])
                .collect();
            let outputs = table(n_classes, &items);
            let config = |inference| Independent {
                alpha_prior: AlphaPrior::Paper,
                inference,
                draws: 200,
                ..Default::default()
            };
            let fitted = fit(&outputs, &config(Inference::Posterior));
            let alpha = fitted.fusion.alpha().concat().concat();
            assert!(alpha.iter().all(|a| a.is_finite() && *a > 0.0), "{alpha:?}");
            let statistics = SufficientStatistics::of(&outputs).unwrap();
            let map = config(Inference::Map).learn(outputs.schema(), &statistics, &NoProgress);
            assert_eq!(
                map.is_err(),
                per_class == 1,
                "J = {n_classes}, {per_class} items per class"
            );
        }
    }
}

/// The log density of x = (½, ¼, ¼) under α = (1e6, 1, 1) is a difference of numbers of size 1e7. The
/// expected value has a closed form without cancellation.
#[test]
fn the_reported_error_covers_the_cancellation_of_large_terms() {
    let schema = Arc::new(Schema::new(["a"], ["x", "y", "z"]).unwrap());
    let row = |j: usize| (0..3).map(|l| if l == j { 1e6 } else { 1.0 }).collect::<Vec<f64>>();
    let model = IndependentFusion::new(schema, vec![(0..3).map(row).collect()]).unwrap();
    let mut builder = OutputsBuilder::new(
        Arc::clone(consilience::methods::Fusion::schema(&model)),
        InputFormat::default(),
    )
    .unwrap();
    builder.push(&[0.5, 0.25, 0.25], None).unwrap();
    let (got, errors) = consilience::methods::ln_densities(&model, &builder.finish()).unwrap();
    // ln(1e6 (1e6+1)) + (1e6 − 1) ln ½ by hand: Γ(A+2)/Γ(A) = A(A+1).
    let expected = (1e6f64 * (1e6 + 1.0)).ln() + (1e6 - 1.0) * 0.5f64.ln();
    assert!((got[0] - expected).abs() <= errors[0], "{} {expected} {}", got[0], errors[0]);
    assert!(errors[0] < 1e-6);
}
