//! Methods for votes and their options.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::aggregation::Aggregation;
use super::copies::Copies;
use super::core::Core;
use super::family::Rule;
use super::learned::Learned;
use super::sharing::Sharing;
use super::table::Votes;
use super::{auto, dbcc, ebcc, family, gibbs};
use crate::error::{Error, Result};
use crate::progress::{NoProgress, Progress};

/// A method for votes with its options; in JSON an object tagged by `"method"`.
///
/// # Example
/// ```
/// use consilience::votes::{Ebcc, VoteConfig};
/// let method: VoteConfig = "dawid-skene".parse()?;
/// assert_eq!(method.name(), "dawid-skene");
/// let method = VoteConfig::Ebcc(Ebcc { subtypes: 4, ..Ebcc::default() });
/// # assert_eq!(method.name(), "ebcc");
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
pub enum VoteConfig {
    /// Sources of different quality with a discount for shared errors; the default.
    Auto(AutoVotes),
    /// Bayesian classifier combination: a confusion matrix per source with a Dirichlet prior.
    Ibcc(Ibcc),
    /// BCC with subtypes of classes, through which errors of sources correlate.
    Ebcc(Ebcc),
    /// BCC with sources that are effective for some classes only.
    Ueda(Ueda),
    /// Dependent BCC: multinomial regression on one-hot votes; needs gold labels.
    Dbcc(Dbcc),
    /// Dawid and Skene's maximum-likelihood confusion matrices.
    DawidSkene(DawidSkene),
    /// The share of the votes for each class.
    Majority(Majority),
}

/// Options of `auto`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoVotes {
    /// The correlation ρ of sources; by default averaged over its distribution. 0 means that
    /// sources are independent.
    pub rho: Option<f64>,
    /// Folds of the gold items.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
}

impl Default for AutoVotes {
    fn default() -> Self {
        Self { rho: None, folds: 5, seed: 0 }
    }
}

/// How `ibcc` computes its posterior.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VoteInference {
    /// Collapsed variational Bayes (CVB0).
    #[default]
    Cvb,
    /// Variational Bayes.
    Vb,
    /// Gibbs sampling, with convergence diagnostics.
    Gibbs,
}

/// Options of `ibcc`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ibcc {
    /// How the posterior is computed.
    pub inference: VoteInference,
    /// Markov chains of `gibbs`.
    pub chains: usize,
    /// Draws kept of each chain.
    pub draws: usize,
    /// Draws discarded at the start of each chain.
    pub warmup: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Ibcc {
    fn default() -> Self {
        Self { inference: VoteInference::Cvb, chains: 4, draws: 300, warmup: 100, seed: 0 }
    }
}

/// Options of `ebcc`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ebcc {
    /// Subtypes per class.
    pub subtypes: usize,
    /// Random starts, of which the one with the largest bound of the evidence is used.
    pub restarts: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Ebcc {
    fn default() -> Self {
        Self { subtypes: 10, restarts: 5, seed: 0 }
    }
}

/// Options of `ueda`: none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ueda {}

/// Options of `dbcc`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dbcc {
    /// Folds of the gold items, by which the prior is chosen.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
}

impl Default for Dbcc {
    fn default() -> Self {
        Self { folds: 5, seed: 0 }
    }
}

/// Options of `dawid-skene`: none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DawidSkene {}

/// Options of `majority`: none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Majority {}

impl Default for VoteConfig {
    fn default() -> Self {
        Self::Auto(AutoVotes::default())
    }
}

impl VoteConfig {
    /// The names of all methods, with a sentence on each.
    pub const METHODS: &'static [(&'static str, &'static str)] = &[
        ("auto", "Sources of different quality, with a discount for the errors that they share."),
        ("ibcc", "Bayesian classifier combination: one confusion matrix per source."),
        ("ebcc", "BCC with subtypes of classes, through which errors of sources correlate."),
        ("ueda", "BCC with sources that are effective for some classes only."),
        ("dbcc", "Dependent BCC: multinomial regression on one-hot votes; needs gold labels."),
        ("dawid-skene", "Maximum-likelihood confusion matrices."),
        ("majority", "The share of the votes for each class."),
    ];

    /// The method's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Auto(_) => "auto",
            Self::Ibcc(_) => "ibcc",
            Self::Ebcc(_) => "ebcc",
            Self::Ueda(_) => "ueda",
            Self::Dbcc(_) => "dbcc",
            Self::DawidSkene(_) => "dawid-skene",
            Self::Majority(_) => "majority",
        }
    }

    /// The same method with another seed, if it has one.
    #[must_use]
    pub fn with_seed(mut self, new: u64) -> Self {
        match &mut self {
            Self::Auto(AutoVotes { seed, .. })
            | Self::Ibcc(Ibcc { seed, .. })
            | Self::Ebcc(Ebcc { seed, .. })
            | Self::Dbcc(Dbcc { seed, .. }) => *seed = new,
            Self::Ueda(_) | Self::DawidSkene(_) | Self::Majority(_) => {}
        }
        self
    }

    /// All options of methods with the values that they take; each method has some of them.
    pub const OPTIONS: &'static [(&'static str, &'static str)] = &[
        ("rho", "a number from 0"),
        ("folds", "a whole number"),
        ("inference", "cvb, vb or gibbs"),
        ("chains", "a whole number"),
        ("draws", "a whole number"),
        ("warmup", "a whole number"),
        ("subtypes", "a whole number"),
        ("restarts", "a whole number"),
        ("seed", "a whole number"),
    ];

    /// The same method with one option set, in JSON.
    ///
    /// # Errors
    /// If the method does not have the option, or the value is not one of it.
    ///
    /// # Example
    /// ```
    /// use consilience::votes::VoteConfig;
    /// let auto = VoteConfig::default().with_option("rho", 0.2.into())?;
    /// assert!(auto.with_option("subtypes", 4.into()).is_err());
    /// # Ok::<(), consilience::Error>(())
    /// ```
    #[allow(clippy::missing_panics_doc)] // a method with its options is plain JSON
    pub fn with_option(&self, option: &str, value: Value) -> Result<Self> {
        let mut json = serde_json::to_value(self).expect("methods are plain JSON values");
        let Some(own) = json.get_mut(option).filter(|_| option != "method") else {
            let known = |name: &&str| json.get(*name).is_some();
            let options = Self::OPTIONS.iter().map(|(name, _)| *name).filter(known);
            return Err(Error::UnknownOption {
                method: self.name().into(),
                option: option.into(),
                options: options.map(str::to_owned).collect(),
            });
        };
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        *own = value;
        let values = Self::OPTIONS.iter().find(|(name, _)| *name == option);
        let values = values.map_or("another value", |(_, values)| *values);
        serde_json::from_value(json).map_err(|_| Error::parameter(option, values, shown))
    }

    /// Fits the method.
    pub fn fit(&self, votes: &Votes) -> Result<Aggregation> {
        self.fit_with(votes, &NoProgress)
    }

    /// Fits the method, with progress and cancellation.
    pub fn fit_with(&self, votes: &Votes, progress: &dyn Progress) -> Result<Aggregation> {
        let gold = votes.gold_labels();
        // Only `auto` uses the probabilities of graded votes.
        let bare = match self {
            Self::Auto(_) => None,
            _ => votes.grading().map(|_| votes.ungraded()),
        };
        let used = bare.as_ref().unwrap_or(votes);
        let copies = Copies::find(votes);
        let sharing = match self {
            Self::Auto(_) => Sharing::new(used, &copies.groups),
            _ => None,
        };
        let core = Core { sharing: sharing.as_ref(), ..Core::new(used, &gold) };
        let learned = self.learn(&core, progress)?;
        Ok(Aggregation::new(self.clone(), votes, learned, (copies, sharing)))
    }

    fn learn(&self, core: &Core<'_>, progress: &dyn Progress) -> Result<Learned> {
        match self {
            Self::Auto(options) => auto::learn(core, options, progress),
            Self::Ibcc(options) => match options.inference {
                VoteInference::Cvb => family::learn(core, Rule::Collapsed, progress),
                VoteInference::Vb => family::learn(core, Rule::Variational, progress),
                VoteInference::Gibbs => gibbs::learn(core, options, progress),
            },
            Self::Ebcc(options) => ebcc::learn(core, options, progress),
            Self::Ueda(_) => family::learn(core, Rule::Effective, progress),
            Self::Dbcc(options) => dbcc::learn(core, options, progress),
            Self::DawidSkene(_) => family::learn(core, Rule::Frequencies, progress),
            Self::Majority(_) => Ok(family::learn_majority(core)),
        }
    }
}

/// A method with its default options, by name.
impl FromStr for VoteConfig {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let tagged = serde_json::json!({ "method": name });
        serde_json::from_value(tagged).map_err(|_| Error::UnknownMethod {
            method: name.to_owned(),
            methods: Self::METHODS.iter().map(|(name, _)| (*name).to_owned()).collect(),
        })
    }
}
