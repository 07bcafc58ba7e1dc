//! The list of all fusion methods, and the types made from it.
//!
//! A new method needs a folder with its options ([`FitMethod`]) and its fitted form
//! ([`FittedMethod`]), and one entry in the list below.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::auto::{Auto, AutoFusion};
use super::bcc::{Bcc, BccFusion};
use super::correlated::{Correlated, CorrelatedMethod};
use super::discounted::{Discounted, DiscountedFusion};
use super::fusion::Fusion;
use super::independent::{Independent, IndependentFusion};
use super::logit_normal::{LogitNormal, LogitNormalFusion};
use super::meta::Meta;
use super::method::{Fit, FitMethod, FittedMethod, MethodOption, TrainingSet};
use super::normal_mixture::{NormalMixture, NormalMixtureFusion};
use super::pools::{LinearPool, LogPool, OpinionPool, Pool};
use super::stacking::{Stacking, StackingFusion};
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::model::Model;

/// A method's name and what to know before choosing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodInfo {
    /// Its name in model files and on command lines.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its options.
    pub options: &'static [MethodOption],
    /// Whether it models what several classifiers share, so that one alone is no use.
    pub needs_several: bool,
}

macro_rules! methods {
    ($($name:literal $variant:ident($options:ident => $fitted:ty), $summary:literal;)*) => {
        /// The options of one fusion method; in JSON an object with the name under `method`.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "method")]
        pub enum MethodConfig {
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $variant($options),
            )*
        }

        /// One fitted fusion method.
        #[allow(clippy::large_enum_variant, reason = "a model has one")]
        #[derive(Debug, Clone, PartialEq)]
        pub enum Method {
            $(
                #[doc = $summary]
                $variant($fitted),
            )*
        }

        impl MethodConfig {
            /// All methods, in the order in which they are shown.
            pub const LIST: &'static [MethodInfo] = &[$(
                MethodInfo {
                    name: $name,
                    summary: $summary,
                    options: $options::OPTIONS,
                    needs_several: $options::NEEDS_SEVERAL,
                },
            )*];

            fn info(&self) -> &'static MethodInfo {
                let name = match self { $(Self::$variant(_) => $name,)* };
                Self::LIST.iter().find(|info| info.name == name).expect("every method is listed")
            }

            /// A method with its default options.
            pub fn default_of(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant($options::default())),)* _ => None }
            }

            /// Whether the fit can weight items.
            pub(crate) fn takes_weights(&self) -> bool {
                match self { $(Self::$variant(_) => $options::TAKES_WEIGHTS,)* }
            }

            /// Whether another class prior would give another fit. This holds for pools with
            /// fitted weights only: all other methods learn how outputs depend on the class,
            /// whatever the frequencies of the classes.
            pub fn depends_on_class_prior(&self) -> bool {
                match self { $(Self::$variant(options) => options.depends_on_class_prior(),)* }
            }

            /// Whether the fit needs at least one labelled item.
            pub fn needs_labels(&self) -> bool {
                match self { $(Self::$variant(options) => options.needs_labels(),)* }
            }

            /// Whether every class needs labelled items.
            pub(crate) fn needs_every_class(&self) -> bool {
                match self { $(Self::$variant(options) => options.needs_every_class(),)* }
            }

            /// Whether a classifier must have an output in every class that has items.
            pub(crate) fn needs_every_output(&self) -> bool {
                match self { $(Self::$variant(options) => options.needs_every_output(),)* }
            }

            /// Whether a classifier must have an output for at least one item.
            pub(crate) fn needs_some_output(&self) -> bool {
                match self { $(Self::$variant(options) => options.needs_some_output(),)* }
            }

            /// Whether the fit needs the items themselves, not just their
            /// [statistics](crate::model::Statistics).
            pub fn needs_items(&self) -> bool {
                match self { $(Self::$variant(options) => options.needs_items(),)* }
            }

            /// The only classifier that the method uses, for a method of a single classifier.
            pub(crate) fn classifier(&self) -> Option<&str> {
                match self { $(Self::$variant(options) => options.classifier(),)* }
            }

            pub(crate) fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<Method>> {
                match self {
                    $(Self::$variant(options) => Ok(options.fit_method(data)?.map(Method::$variant)),)*
                }
            }

            pub(crate) fn update_method(
                &self,
                fitted: &Method,
                data: &TrainingSet<'_>,
            ) -> Option<Result<Fit<Method>>> {
                match (self, fitted) {
                    $((Self::$variant(options), Method::$variant(fitted)) => {
                        let updated = options.update_method(fitted, data)?;
                        Some(updated.map(|fit| fit.map(Method::$variant)))
                    })*
                    _ => None,
                }
            }
        }

        $(
            impl From<$options> for MethodConfig {
                fn from(options: $options) -> Self {
                    Self::$variant(options)
                }
            }

            impl $options {
                /// Fits a model with these options and the default class prior; see
                /// [`Model::fit_with`] for more.
                pub fn fit(&self, outputs: &Outputs) -> Result<Model> {
                    Model::fit(self.clone(), outputs)
                }
            }
        )*

        impl Method {
            /// The method as a fitted method of any kind.
            pub(crate) fn fitted(&self) -> &dyn FittedMethod {
                match self { $(Self::$variant(fitted) => fitted,)* }
            }

            fn base_name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// Reads a method from the name and the parameters in a model file.
            pub(crate) fn read(name: &str, parameters: Value, schema: &Arc<Schema>) -> Result<Self> {
                let (base, classifier) = split_name(name);
                let method = match base {
                    $($name => {
                        Self::$variant($options::read_parameters(Arc::clone(schema), parameters)?)
                    })*
                    _ => return Err(Error::InvalidModel(format!("unknown method `{name}`"))),
                };
                if classifier != method.classifier() {
                    return Err(Error::InvalidModel(format!(
                        "the method is `{name}`, but its classifiers are {}",
                        crate::error::quoted(schema.classifiers())
                    )));
                }
                Ok(method)
            }
        }
    };
}

methods! {
    "auto" Auto(Auto => AutoFusion),
        "The default: pools and regressions, weighted by leave-one-out scores.";
    "stacking" Stacking(Stacking => StackingFusion),
        "Logistic regression on the logarithms of all outputs.";
    "correlated" Correlated(Correlated => CorrelatedMethod),
        "The independent model extended by what classifiers share (Trick and Rothkopf).";
    "independent" Independent(Independent => IndependentFusion),
        "A Dirichlet distribution for every classifier and true class.";
    "discounted" Discounted(Discounted => DiscountedFusion),
        "The independent model with every classifier weighted by its independent share.";
    "logit-normal" LogitNormal(LogitNormal => LogitNormalFusion),
        "One normal distribution per class over all log-ratios.";
    "normal-mixture" NormalMixture(NormalMixture => NormalMixtureFusion),
        "Mixtures of normal distributions over all log-ratios (Pirs and Strumbelj).";
    "bcc" Bcc(Bcc => BccFusion),
        "Confusion matrices of hard decisions (Kim and Ghahramani).";
    "opinion-pool" OpinionPool(OpinionPool => Pool),
        "Product of all probabilities (independent opinion pool).";
    "linear-pool" LinearPool(LinearPool => Pool),
        "Weighted average of probabilities.";
    "log-pool" LogPool(LogPool => Pool),
        "Weighted average of the logarithms of probabilities.";
    "meta" Meta(Meta => IndependentFusion),
        "The independent model of one classifier alone, which recalibrates it.";
}

impl Default for MethodConfig {
    fn default() -> Self {
        Self::Auto(Auto::default())
    }
}

/// "meta:resnet" into "meta" and "resnet".
fn split_name(name: &str) -> (&str, Option<&str>) {
    match name.split_once(':') {
        Some((base, classifier)) if !classifier.is_empty() => (base, Some(classifier)),
        _ => (name, None),
    }
}

impl MethodConfig {
    /// The method's name, as `auto` or `meta:<classifier>`.
    pub fn name(&self) -> String {
        let base = self.info().name;
        self.classifier().map_or_else(|| base.into(), |classifier| format!("{base}:{classifier}"))
    }

    /// The default options of every method but `meta`, of which there is one per classifier.
    pub fn all() -> impl Iterator<Item = Self> {
        let named = Self::LIST.iter().filter(|info| info.name != "meta");
        named.filter_map(|info| Self::default_of(info.name))
    }

    /// Fits a model with the default class prior; see [`Model::fit_with`] for more.
    pub fn fit(&self, outputs: &Outputs) -> Result<Model> {
        Model::fit(self.clone(), outputs)
    }

    /// Whether the method models what several classifiers share, so that one alone is no use.
    pub fn needs_several(&self) -> bool {
        self.info().needs_several
    }

    /// The methods that can be fitted without any label, for messages.
    pub(crate) fn without_labels() -> Vec<String> {
        let describe = |config: Self| {
            let name = config.name();
            if !config.needs_labels() {
                return Some(format!("`{name}`"));
            }
            let equal = config.with_option("weights", "equal".into()).ok()?;
            (!equal.needs_labels()).then(|| format!("`{name}` with equal or given weights"))
        };
        Self::all().filter_map(describe).collect()
    }

    /// The descriptions of the method's options.
    pub fn descriptions(&self) -> &'static [MethodOption] {
        self.info().options
    }

    /// A method with some options set, the others at their defaults.
    ///
    /// # Example
    /// ```
    /// use consilience::MethodConfig;
    /// use serde_json::json;
    ///
    /// let options = json!({"resolution": 0.05, "structure": "full"});
    /// let config = MethodConfig::with_options("correlated", options.as_object().unwrap())?;
    /// assert_eq!(config.name(), "correlated");
    /// assert!(MethodConfig::with_options("auto", options.as_object().unwrap()).is_err());
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn with_options(name: &str, options: &Map<String, Value>) -> Result<Self> {
        let mut config: Self = name.parse()?;
        for (option, value) in options {
            config = config.with_option(option, value.clone())?;
        }
        Ok(config)
    }

    /// The same method with one option set.
    pub fn with_option(&self, option: &str, value: Value) -> Result<Self> {
        let description = self.descriptions().iter().find(|known| known.name == option);
        let Some(description) = description else {
            return Err(Error::UnknownOption {
                method: self.name(),
                option: option.into(),
                options: self.descriptions().iter().map(|known| known.name.into()).collect(),
            });
        };
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut json = self.to_json();
        json[option] = value;
        serde_json::from_value(json)
            .map_err(|_| Error::parameter(option, description.values, shown))
    }

    /// The value of an option in JSON; null for options that are chosen by the fit.
    pub fn option(&self, option: &str) -> Option<Value> {
        self.to_json().get(option).cloned()
    }

    /// The same method with another seed, for methods that have one.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        self.with_option("seed", seed.into()).unwrap_or_else(|_| self.clone())
    }

    /// The same method fitted by posterior modes instead of posteriors, for methods that have
    /// both. Modes predict nearly alike and take seconds instead of minutes.
    #[must_use]
    pub fn at_mode(&self) -> Self {
        self.with_option("inference", "map".into()).unwrap_or_else(|_| self.clone())
    }

    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("options are plain JSON values")
    }
}

impl FromStr for MethodConfig {
    type Err = Error;

    /// Reads a name: the method with its default options, `meta:<classifier>`, or a pool with its
    /// kind of weights, as `linear-pool:greedy`.
    fn from_str(text: &str) -> Result<Self> {
        let config = match split_name(text) {
            ("meta", Some(classifier)) => Some(Self::Meta(Meta::of(classifier))),
            ("meta", None) => None,
            (name, Some(weights)) => Self::default_of(name)
                .and_then(|pool| pool.with_option("weights", weights.into()).ok()),
            (name, None) => Self::default_of(name),
        };
        config.ok_or_else(|| Error::UnknownMethod {
            method: text.into(),
            methods: Self::LIST.iter().map(|info| info.name.into()).collect(),
        })
    }
}

impl fmt::Display for MethodConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name())
    }
}

impl Method {
    /// The method's name, as `auto` or `meta:<classifier>`.
    pub fn name(&self) -> String {
        let base = self.base_name();
        self.classifier().map_or_else(|| base.into(), |classifier| format!("{base}:{classifier}"))
    }

    fn classifier(&self) -> Option<&str> {
        match self {
            Self::Meta(meta) => Some(&meta.schema().classifiers()[0]),
            _ => None,
        }
    }
}
