//! Options of the opinion pools.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{Pool, PoolKind, fit_weights};
use crate::data::schema::Schema;
use crate::error::{Error, Result, quoted};
use crate::methods::{Fit, FitMethod, MethodOption, TrainingSet, read};
use crate::warning::Warning;

/// Where a pool's weights come from: in JSON `equal`, `simplex`, `greedy`, `non-negative`, `free` or
/// a list of numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Weights {
    /// 1/K each.
    Equal,
    /// Fitted: non-negative, adding up to 1.
    #[default]
    Simplex,
    /// Greedy ensemble selection (linear pool only): 25 times, the classifier whose addition to the
    /// average has the smallest log-loss is added, with replacement (Caruana et al. 2004,
    /// [doi:10.1145/1015330.1015432](https://doi.org/10.1145/1015330.1015432)).
    Greedy,
    /// Fitted without a constraint on their sum, but not negative (logarithmic pool only): an
    /// average with a fitted temperature.
    NonNegative,
    /// Fitted without constraint (logarithmic pool only).
    Free,
    /// As given, one per classifier.
    Given(Vec<f64>),
}

/// The names of all kinds of weights but given ones.
const NAMES: [(&str, Weights); 5] = [
    ("equal", Weights::Equal),
    ("simplex", Weights::Simplex),
    ("greedy", Weights::Greedy),
    ("non-negative", Weights::NonNegative),
    ("free", Weights::Free),
];

impl Weights {
    /// Whether the weights are learned from the training items.
    fn are_fitted(&self) -> bool {
        !matches!(self, Self::Equal | Self::Given(_))
    }
}

impl Serialize for Weights {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match (self, NAMES.iter().find(|(_, weights)| weights == self)) {
            (Self::Given(list), _) => list.serialize(serializer),
            (_, named) => serializer.serialize_str(named.map_or("", |(name, _)| name)),
        }
    }
}

impl<'de> Deserialize<'de> for Weights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Name(String),
            One(f64),
            List(Vec<f64>),
        }
        match Form::deserialize(deserializer)? {
            Form::List(list) => Ok(Self::Given(list)),
            Form::One(weight) => Ok(Self::Given(vec![weight])),
            Form::Name(text) => {
                let named = NAMES.into_iter().find(|(name, _)| *name == text);
                named.map(|(_, weights)| weights).ok_or_else(|| {
                    let names = NAMES.map(|(name, _)| format!("`{name}`")).join(", ");
                    D::Error::custom(format!("expected {names} or a list of numbers"))
                })
            }
        }
    }
}

/// Options of `opinion-pool`: it has none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpinionPool {}

/// Options of `linear-pool`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinearPool {
    /// The weights; fitted under the constraint that they add up to 1 by default.
    pub weights: Weights,
}

/// Options of `log-pool`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogPool {
    /// The weights; fitted under the constraint that they add up to 1 by default.
    pub weights: Weights,
}

impl FitMethod for OpinionPool {
    type Fitted = Pool;

    const OPTIONS: &'static [MethodOption] = &[];

    fn needs_labels(&self) -> bool {
        false
    }

    fn needs_items(&self) -> bool {
        false
    }

    fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<Pool>> {
        Ok(Fit::new(Pool::opinion(data.schema()), Vec::new()))
    }

    fn update_method(&self, _: &Pool, data: &TrainingSet<'_>) -> Option<Result<Fit<Pool>>> {
        Some(self.fit_method(data))
    }

    fn read_parameters(schema: Arc<Schema>, parameters: Value) -> Result<Pool> {
        match parameters {
            Value::Null => Ok(Pool::opinion(schema)),
            _ => Err(Error::InvalidModel("an opinion pool has no `parameters`".into())),
        }
    }
}

const WEIGHTS: MethodOption = MethodOption::new(
    "weights",
    "equal, simplex, greedy, non-negative, free or a list of numbers",
    "Weights of the classifiers: equal, simplex (fitted, adding up to 1), greedy (ensemble \
     selection in 25 rounds, `linear-pool` only), non-negative (fitted with any sum, `log-pool` \
     only), free (fitted without constraint, `log-pool` only) or one number per classifier.",
);

/// The two pools with weights differ in nothing but their rule.
macro_rules! weighted_pool {
    ($options:ident, $kind:expr) => {
        impl FitMethod for $options {
            type Fitted = Pool;

            const OPTIONS: &'static [MethodOption] = &[WEIGHTS];

            fn needs_labels(&self) -> bool {
                self.weights.are_fitted()
            }

            fn needs_some_output(&self) -> bool {
                self.weights.are_fitted()
            }

            fn needs_items(&self) -> bool {
                self.weights.are_fitted()
            }

            fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<Pool>> {
                fit_pool($kind, &self.weights, data)
            }

            fn update_method(&self, _: &Pool, data: &TrainingSet<'_>) -> Option<Result<Fit<Pool>>> {
                (!self.weights.are_fitted()).then(|| self.fit_method(data))
            }

            fn read_parameters(schema: Arc<Schema>, parameters: Value) -> Result<Pool> {
                Pool::new(schema, $kind, read::<Parameters>(parameters)?.weights)
            }

            fn depends_on_class_prior(&self) -> bool {
                self.weights.are_fitted()
            }
        }
    };
}

weighted_pool!(LinearPool, PoolKind::Linear);
weighted_pool!(LogPool, PoolKind::Logarithmic);

/// The form in the model file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    weights: Vec<f64>,
}

fn fit_pool(kind: PoolKind, weights: &Weights, data: &TrainingSet<'_>) -> Result<Fit<Pool>> {
    let mut warnings = Vec::new();
    if weights.are_fitted() {
        require_outputs(data)?;
        warnings.extend(empty_classes(data));
    }
    let fitted = fit_weights(kind, weights, data.outputs, data.class_prior)?;
    if !fitted.converged {
        let message = "the fit of the weights stopped before it reached its minimum";
        warnings.push(Warning::convergence(message.into()));
    }
    Ok(Fit::new(fitted.pool, warnings))
}

/// A classifier without an output for any labelled item can have no fitted weight.
fn require_outputs(data: &TrainingSet<'_>) -> Result<()> {
    let (schema, statistics) = (data.outputs.schema(), data.statistics);
    let absent = |k: &usize| (0..schema.n_classes()).all(|j| statistics.count(*k, j) == 0);
    match (0..schema.n_classifiers()).find(absent) {
        None => Ok(()),
        Some(k) => Err(Error::AbsentClassifier {
            classifier: schema.classifiers()[k].clone(),
            class: schema.classes()[0].clone(),
        }),
    }
}

/// A warning that names the classes without labelled items.
fn empty_classes(data: &TrainingSet<'_>) -> Option<Warning> {
    let classes = data.outputs.schema().classes().iter().zip(data.statistics.class_counts());
    let empty: Vec<String> =
        classes.filter(|(_, n)| **n == 0).map(|(class, _)| class.clone()).collect();
    (!empty.is_empty()).then(|| {
        Warning::data(format!(
            "no labelled item has the class {}: the weights are fitted to the other classes",
            quoted(&empty)
        ))
    })
}
