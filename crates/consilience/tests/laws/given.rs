//! Laws of methods with randomly chosen parameters, where rounding is the only source of error.

use std::sync::Arc;

use consilience::methods::auto::{AutoFusion, AutoParameters, Layer, LinearRule, Member, Rule};
use consilience::methods::bcc::BccFusion;
use consilience::methods::independent::{Alpha, IndependentFusion};
use consilience::methods::logit_normal::{
    LogDistribution, LogitNormalFusion, LogitNormalParameters,
};
use consilience::methods::normal_mixture::{
    MixtureComponent, NormalMixtureFusion, NormalMixtureParameters,
};
use consilience::methods::pools::{Pool, PoolKind};
use consilience::methods::stacking::{
    FillParameters, LogisticParameters, StackingFusion, StackingParameters,
};
use consilience::methods::{Fused, Fusion, fuse};
use consilience::{ClassPrior, InputFormat, Outputs, OutputsBuilder, Schema};
use proptest::prelude::*;

/// Outputs of K sources for J classes, Dirichlet parameters, a class prior and one weight per source.
#[derive(Debug, Clone)]
struct Case {
    n_classes: usize,
    items: Vec<Vec<Vec<f64>>>,
    alpha: Alpha,
    prior: Vec<f64>,
    weights: Vec<f64>,
}

impl Case {
    fn n_classifiers(&self) -> usize {
        self.alpha.len()
    }

    fn schema(&self) -> Arc<Schema> {
        let names =
            |prefix: &str, n: usize| (0..n).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>();
        Arc::new(Schema::new(names("k", self.n_classifiers()), names("j", self.n_classes)).unwrap())
    }

    fn outputs(&self) -> Outputs {
        let input_format = InputFormat { floor: 0.0, ..InputFormat::default() };
        let mut builder = OutputsBuilder::new(self.schema(), input_format).unwrap();
        for item in &self.items {
            builder.push(&item.concat(), None).unwrap();
        }
        builder.finish()
    }

    /// Logistic coefficients of either sign, derived from the Dirichlet parameters.
    fn logistic(&self) -> LogisticParameters {
        let row = |t: usize| {
            let scaled = |a: &f64| 0.1 * (a - 15.0);
            self.alpha.iter().map(|rows| rows[t].iter().map(scaled).collect()).collect()
        };
        LogisticParameters {
            bias: self.prior.iter().map(|p| p - 0.5).collect(),
            weights: (0..self.n_classes).map(row).collect(),
        }
    }

    /// A normal distribution with a correlation of 0.3 between all logarithms.
    fn fill(&self) -> FillParameters {
        let width = self.n_classifiers() * self.n_classes;
        let covariance = |a: usize, b: usize| if a == b { 1.0 } else { 0.3 };
        let mean = |w: &f64| self.prior.iter().map(|p| -w - p).collect();
        FillParameters {
            weight: 0.7,
            mean: self.weights.iter().map(mean).collect(),
            covariance: (0..width)
                .map(|a| (0..width).map(|b| covariance(a, b)).collect())
                .collect(),
        }
    }

    fn stacking(&self) -> StackingFusion {
        let parameters = StackingParameters { logistic: self.logistic(), fill: Some(self.fill()) };
        StackingFusion::new(self.schema(), parameters).unwrap()
    }

    fn auto(&self) -> AutoFusion {
        let bias: Vec<f64> = self.prior.iter().map(|p| 0.5 - p).collect();
        let layer = Layer {
            bias: bias.clone(),
            output_exponents: self.weights.clone(),
            evidence_exponents: self.weights.iter().map(|w| 0.5 - w).collect(),
            probability_coefficients: self.weights.iter().map(|w| 2.0 * w - 0.3).collect(),
        };
        let sum: f64 = self.weights.iter().sum();
        let weights = self.weights.iter().map(|w| w / sum).collect();
        let pool = LinearRule { bias, exponent: 1.7, weights };
        let parameters = AutoParameters {
            members: vec![
                Member { weight: 0.6, rule: Rule::Layer(layer) },
                Member { weight: 0.4, rule: Rule::LinearPool(pool) },
            ],
            alpha: Some(self.alpha.clone()),
            logistic: Some(self.logistic()),
            logistic_share: 0.3,
            fill: Some(self.fill()),
        };
        AutoFusion::new(self.schema(), parameters).unwrap()
    }

    /// Student t or normal logarithms with the centres of the Dirichlets and a covariance of 0.3.
    fn logarithms(&self, class: usize, degrees: Option<f64>) -> LogDistribution {
        let (j, width) = (self.n_classes, self.n_classifiers() * self.n_classes);
        let scale = |a: usize, b: usize| if a == b { 0.3 + self.weights[a / j] } else { 0.3 };
        let centre = |rows: &Vec<Vec<f64>>| rows[class].iter().map(|a| a.ln()).collect();
        LogDistribution {
            degrees,
            location: self.alpha.iter().map(centre).collect(),
            scale: (0..width).map(|a| (0..width).map(|b| scale(a, b)).collect()).collect(),
        }
    }

    fn logit_normal(&self) -> LogitNormalFusion {
        let class = |j: usize| self.logarithms(j, Some(2.0 + 9.0 * self.prior[j]));
        let classes = (0..self.n_classes).map(class).collect();
        LogitNormalFusion::new(self.schema(), LogitNormalParameters { classes }).unwrap()
    }

    /// Two draws with two components per class.
    fn normal_mixture(&self) -> NormalMixtureFusion {
        let component = |j: usize, weight: f64, degrees: Option<f64>| MixtureComponent {
            weight,
            logarithms: self.logarithms(j, degrees),
        };
        let class = |j: usize, weight: f64| {
            vec![component(j, weight, None), component(j, self.prior[j], Some(3.0))]
        };
        let draw = |weight: f64| (0..self.n_classes).map(|j| class(j, weight)).collect();
        let parameters = NormalMixtureParameters { draws: vec![draw(0.2), draw(5.0)] };
        NormalMixtureFusion::new(self.schema(), parameters).unwrap()
    }

    /// All methods whose parameters can be chosen freely. The laws of `fitted` cover every method.
    fn methods(&self) -> Vec<Box<dyn Fusion>> {
        vec![
            Box::new(Pool::opinion(self.schema())),
            Box::new(Pool::new(self.schema(), PoolKind::Linear, self.weights.clone()).unwrap()),
            Box::new(
                Pool::new(self.schema(), PoolKind::Logarithmic, self.weights.clone()).unwrap(),
            ),
            Box::new(IndependentFusion::new(self.schema(), self.alpha.clone()).unwrap()),
            Box::new(self.stacking()),
            Box::new(self.auto()),
            Box::new(self.logit_normal()),
            Box::new(self.normal_mixture()),
            Box::new(BccFusion::new(self.schema(), self.alpha.clone()).unwrap()),
        ]
    }

    fn fuse_all(&self) -> Vec<Fused> {
        let (outputs, prior) = (self.outputs(), ClassPrior::new(&self.prior).unwrap());
        self.methods().iter().map(|method| fuse(&**method, &outputs, &prior).unwrap()).collect()
    }

    /// The same case with sources and classes in another order.
    fn permuted(&self, classifiers: &[usize], classes: &[usize]) -> Self {
        let pick = |row: &Vec<f64>| classes.iter().map(|&j| row[j]).collect::<Vec<f64>>();
        Self {
            n_classes: self.n_classes,
            items: self
                .items
                .iter()
                .map(|item| classifiers.iter().map(|&k| pick(&item[k])).collect())
                .collect(),
            alpha: classifiers
                .iter()
                .map(|&k| classes.iter().map(|&j| pick(&self.alpha[k][j])).collect())
                .collect(),
            prior: pick(&self.prior),
            weights: classifiers.iter().map(|&k| self.weights[k]).collect(),
        }
    }
}

fn case() -> impl Strategy<Value = Case> {
    (1usize..5, 2usize..6, 1usize..40).prop_flat_map(|(k, j, n)| {
        let positive = |low: f64, high: f64, size: usize| prop::collection::vec(low..high, size);
        let output = positive(1e-6, 1.0, j).prop_map(|raw| {
            let sum: f64 = raw.iter().sum();
            raw.iter().map(|x| x / sum).collect::<Vec<f64>>()
        });
        // One output in six is missing.
        let maybe = (output, 0..6u8).prop_map(|(output, die)| match die {
            0 => vec![f64::NAN; output.len()],
            _ => output,
        });
        (
            prop::collection::vec(prop::collection::vec(maybe, k), n),
            prop::collection::vec(prop::collection::vec(positive(0.05, 30.0, j), j), k),
            positive(0.1, 1.0, j),
            positive(0.1, 1.0, k),
        )
            .prop_map(move |(items, alpha, prior, weights)| Case {
                n_classes: j,
                items,
                alpha,
                prior,
                weights,
            })
    })
}

/// The permutation that sorts random keys.
fn permutation(keys: &[u32], n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&i| (keys[i], i));
    order
}

proptest! {
    #[test]
    fn fused_probabilities_are_distributions_with_small_errors(case in case()) {
        for fused in case.fuse_all() {
            for item in 0..fused.n_items() {
                let p = fused.probabilities(item);
                prop_assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                prop_assert!(p.iter().all(|p| (0.0..=1.0).contains(p)));
                prop_assert!(fused.error(item) > 0.0 && fused.error(item) < 1e-9);
                prop_assert!(fused.entropy(item) >= 0.0);
            }
        }
    }

    #[test]
    fn permuting_sources_and_classes_permutes_the_result(case in case(), keys in prop::collection::vec(any::<u32>(), 8)) {
        let (classifiers, classes) = (permutation(&keys, case.n_classifiers()), permutation(&keys, case.n_classes));
        let before = case.fuse_all();
        let after = case.permuted(&classifiers, &classes).fuse_all();
        for (before, after) in before.iter().zip(&after) {
            for item in 0..before.n_items() {
                for (place, &class) in classes.iter().enumerate() {
                    let (a, b) = (before.probabilities(item)[class], after.probabilities(item)[place]);
                    prop_assert!((a - b).abs() < before.error(item) + after.error(item), "{} {}", a, b);
                }
            }
        }
    }

    #[test]
    fn an_item_without_outputs_gets_the_class_prior(case in case()) {
        let mut empty = case.clone();
        empty.items = vec![vec![vec![f64::NAN; case.n_classes]; case.n_classifiers()]];
        let prior = ClassPrior::new(&case.prior).unwrap();
        for fused in empty.fuse_all() {
            for (p, q) in fused.probabilities(0).iter().zip(prior.probabilities()) {
                prop_assert!((p - q).abs() < 1e-14);
            }
        }
    }

    /// With α = 1 + eⱼ and a uniform class prior, the independent model is the opinion pool.
    #[test]
    fn unit_parameters_give_the_opinion_pool(case in case()) {
        let unit = |j: usize| (0..case.n_classes).map(|l| if l == j { 2.0 } else { 1.0 }).collect();
        let alpha = vec![(0..case.n_classes).map(unit).collect::<Vec<Vec<f64>>>(); case.n_classifiers()];
        let model = IndependentFusion::new(case.schema(), alpha).unwrap();
        let prior = ClassPrior::uniform(case.n_classes);
        let ours = fuse(&model, &case.outputs(), &prior).unwrap();
        let pool = fuse(&Pool::opinion(case.schema()), &case.outputs(), &prior).unwrap();
        for (a, b) in ours.all().iter().zip(pool.all()) {
            prop_assert!((a - b).abs() < 1e-12);
        }
    }

    #[test]
    fn the_meta_classifier_equals_the_model_with_all_other_outputs_missing(case in case()) {
        let prior = ClassPrior::new(&case.prior).unwrap();
        let model = IndependentFusion::new(case.schema(), case.alpha.clone()).unwrap();
        let outputs = case.outputs();
        for k in 0..case.n_classifiers() {
            let meta = model.meta(k).unwrap();
            let alone = fuse(&meta, &outputs.select(meta.schema()).unwrap(), &prior).unwrap();
            let mut others_missing = case.clone();
            for item in &mut others_missing.items {
                for (m, output) in item.iter_mut().enumerate() {
                    if m != k {
                        output.fill(f64::NAN);
                    }
                }
            }
            let whole = fuse(&model, &others_missing.outputs(), &prior).unwrap();
            for (a, b) in alone.all().iter().zip(whole.all()) {
                prop_assert!((a - b).abs() < 1e-12);
            }
        }
    }

    /// The vectorised density against the formula with the standard library's logarithm.
    #[test]
    fn the_reported_error_covers_the_difference_from_the_formula(case in case()) {
        let model = IndependentFusion::new(case.schema(), case.alpha.clone()).unwrap();
        let outputs = case.outputs();
        let (got, errors) = consilience::methods::ln_densities(&model, &outputs).unwrap();
        for item in 0..outputs.n_items() {
            for j in 0..case.n_classes {
                let mut plain = 0.0;
                for (k, x) in outputs.all().present(item) {
                    let alpha = &case.alpha[k][j];
                    plain += libm::lgamma(alpha.iter().sum());
                    for (a, x) in alpha.iter().zip(x) {
                        plain += (a - 1.0) * x.ln() - libm::lgamma(*a);
                    }
                }
                let off = (got[item * case.n_classes + j] - plain).abs();
                prop_assert!(off <= 2.0 * errors[item] + 1e-15, "{} > {}", off, errors[item]);
            }
        }
    }

    /// `auto` for items without missing outputs against its formula.
    #[test]
    fn auto_agrees_with_its_formula(case in case()) {
        let mut case = case;
        case.items.retain(|item| item.iter().flatten().all(|x| !x.is_nan()));
        let (auto, prior) = (case.auto(), ClassPrior::new(&case.prior).unwrap());
        let AutoParameters { members, alpha, logistic, logistic_share, .. } = auto.parameters();
        let (Rule::Layer(layer), Rule::LinearPool(pool)) = (&members[0].rule, &members[1].rule)
        else {
            panic!("a layer and a linear pool")
        };
        let (alpha, logistic) = (alpha.as_ref().unwrap(), logistic.as_ref().unwrap());
        let fused = fuse(&auto, &case.outputs(), &prior).unwrap();
        let softmax = |values: &[f64]| {
            let sum: f64 = values.iter().map(|v| v.exp()).sum();
            values.iter().map(|v| v.exp() / sum).collect::<Vec<f64>>()
        };
        for (i, item) in case.items.iter().enumerate() {
            let floored = |x: &Vec<f64>| {
                let sum: f64 = x.iter().map(|x| x.max(1e-3)).sum();
                x.iter().map(|x| (x.max(1e-3) / sum).ln()).collect::<Vec<f64>>()
            };
            let g: Vec<Vec<f64>> = item.iter().map(floored).collect();
            let (mut u, mut v, mut w) = (Vec::new(), Vec::new(), Vec::new());
            for t in 0..case.n_classes {
                let (mut a, mut b) = (prior.ln()[t] + layer.bias[t], prior.ln()[t] + logistic.bias[t]);
                let mut mean = 0.0;
                for k in 0..item.len() {
                    let alpha = &alpha[k][t];
                    let mut density = libm::lgamma(alpha.iter().sum());
                    for (alpha, x) in alpha.iter().zip(&item[k]) {
                        density += (alpha - 1.0) * x.ln() - libm::lgamma(*alpha);
                    }
                    a += layer.output_exponents[k] * g[k][t] + layer.evidence_exponents[k] * density;
                    a += layer.probability_coefficients[k] * g[k][t].exp();
                    mean += pool.weights[k] * g[k][t].exp();
                    b += logistic.weights[t][k].iter().zip(&g[k]).map(|(w, g)| w * g).sum::<f64>();
                }
                u.push(a);
                v.push(b);
                w.push(prior.ln()[t] + pool.bias[t] + pool.exponent * mean.ln());
            }
            // Common shifts keep exp in range.
            let shift = |x: &mut Vec<f64>| {
                let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                x.iter_mut().for_each(|x| *x -= max);
            };
            [&mut u, &mut v, &mut w].into_iter().for_each(shift);
            let (u, w) = (softmax(&u), softmax(&w));
            let u: Vec<f64> = u.iter().zip(w).map(|(u, w)| 0.6 * u + 0.4 * w).collect();
            for (t, (u, v)) in u.iter().zip(softmax(&v)).enumerate() {
                let want = (1.0 - logistic_share) * u + logistic_share * v;
                let got = fused.probabilities(i)[t];
                prop_assert!((got - want).abs() < 1e-11, "{} {}", got, want);
            }
        }
    }
}
