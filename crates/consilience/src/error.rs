//! Errors of the library: what is wrong, where, and which hint helps.

use std::fmt;

use crate::hint::Hint;
use crate::text;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the library: bad data, a bad setting or a model that does not fit the data.
///
/// Messages are lower case and without a full stop; advice is kept apart in [`Error::hint`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// One classifier's output for one item is not a probability distribution.
    #[error("item {item}, classifier `{classifier}`: {problem}")]
    InvalidOutput {
        /// Index of the item, from 0.
        item: usize,
        /// Name of the classifier.
        classifier: String,
        /// Index of the class whose value is wrong, where a single one is.
        class: Option<usize>,
        /// What is wrong, with the value.
        problem: OutputProblem,
    },
    /// A label that is not one of the classes.
    #[error("item {item}: unknown label `{label}`; the classes are {}", quoted(.classes))]
    UnknownLabel {
        /// Index of the item, from 0.
        item: usize,
        /// The label as given.
        label: String,
        /// The known classes.
        classes: Vec<String>,
    },
    /// An item without a label where labels are needed.
    #[error("item {item} has no label")]
    MissingLabel {
        /// Index of the item, from 0.
        item: usize,
    },
    /// Items of which none has a label where labels are needed.
    #[error("none of the {n_items} items has a label")]
    NoLabels {
        /// Number of items.
        n_items: usize,
    },
    /// Items of which none has a label, for a method that learns from labels.
    #[error(
        "method `{method}` needs labels, and none of the {n_items} items has one; methods without \
         labels are {}",
        listed(.others)
    )]
    NeedsLabels {
        /// Name of the method.
        method: String,
        /// Number of items.
        n_items: usize,
        /// The methods that can be fitted without labels.
        others: Vec<String>,
    },
    /// A table without items where some are needed.
    #[error("there are no items")]
    NoItems,
    /// A class that no training item has.
    #[error("class `{class}` has no training items")]
    EmptyClass {
        /// Name of the class.
        class: String,
    },
    /// A class with too few items to divide them into training and test items.
    #[error("class `{class}` needs {needed}; it has {found}")]
    TooFewItems {
        /// Name of the class.
        class: String,
        /// How many it needs, and why.
        needed: String,
        /// How many it has.
        found: usize,
    },
    /// A class whose training items have no outputs.
    #[error("no training item of class `{class}` has an output of any classifier")]
    NoOutputs {
        /// Name of the class.
        class: String,
    },
    /// A classifier that is missing in all items of a class.
    #[error("classifier `{classifier}` is missing for every training item of class `{class}`")]
    AbsentClassifier {
        /// Name of the classifier.
        classifier: String,
        /// Name of the class.
        class: String,
    },
    /// Names of classes or classifiers that cannot be used.
    #[error("{0}")]
    InvalidNames(String),
    /// A parameter or setting out of its range.
    #[error("`{name}` must be {requirement}, got {value}")]
    InvalidParameter {
        /// Its name, with indices.
        name: String,
        /// What it must be.
        requirement: &'static str,
        /// What it is.
        value: String,
    },
    /// Two shapes or lists of names that should be the same are not.
    #[error("{what} do not match: expected {expected}, found {found}")]
    Mismatch {
        /// What was compared.
        what: &'static str,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A model or model file that cannot be used.
    #[error("not a usable model: {0}")]
    InvalidModel(String),
    /// Statistics that cannot be used.
    #[error("not usable statistics: {0}")]
    InvalidStatistics(String),
    /// A model without posterior draws where some are needed.
    #[error("the model has no posterior draws")]
    NoDraws,
    /// A name that no method has.
    #[error("unknown method `{method}`; the methods are {}", quoted(.methods))]
    UnknownMethod {
        /// The name as given.
        method: String,
        /// The names of all methods.
        methods: Vec<String>,
    },
    /// An option that the method does not have.
    #[error("method `{method}` has no option `{option}`; it has {}", quoted(.options))]
    UnknownOption {
        /// Name of the method.
        method: String,
        /// The option as given.
        option: String,
        /// The options that the method has.
        options: Vec<String>,
    },
    /// A file that cannot be read or written.
    #[error("{path}: {reason}")]
    File {
        /// Its path.
        path: String,
        /// The reason that the system gives.
        reason: String,
    },
    /// Something the method cannot do.
    #[error("method `{method}` {cannot}")]
    Unsupported {
        /// Name of the method.
        method: String,
        /// What it cannot do, as a verb phrase.
        cannot: String,
    },
    /// A vote or gold label that is not one of the given classes.
    #[error("item `{item}`: unknown label `{label}`; the classes are {}", quoted(.classes))]
    UnknownVote {
        /// Name of the item.
        item: String,
        /// The label as given.
        label: String,
        /// The given classes.
        classes: Vec<String>,
    },
    /// A table without votes.
    #[error("there are no votes")]
    NoVotes,
    /// Votes and gold labels with fewer than two different labels.
    #[error("all votes have the label `{class}`, and at least two classes are needed")]
    OneClass {
        /// The only label.
        class: String,
    },
    /// Gold labels of which none belongs to an item with votes.
    #[error("none of the {n} gold labels is of an item with votes; the first is of item `{item}`")]
    UnknownGold {
        /// Name of the first item with a gold label.
        item: String,
        /// Number of gold labels.
        n: usize,
    },
    /// The computation was stopped on request.
    #[error("interrupted")]
    Interrupted,
}

impl From<correlated_dirichlet::Error> for Error {
    fn from(error: correlated_dirichlet::Error) -> Self {
        use correlated_dirichlet::Error as Cause;
        match error {
            Cause::InvalidParameter { name, requirement, value } => {
                Self::parameter(name, requirement, value)
            }
            Cause::Mismatch { what, expected, found } => Self::Mismatch { what, expected, found },
            other => Self::InvalidModel(other.to_string()),
        }
    }
}

impl Error {
    /// Advice on what to do, where there is any.
    pub fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::InvalidOutput { problem, .. } => problem.hint(),
            Self::UnknownLabel { .. } | Self::UnknownVote { .. } => Hint::CorrectLabel,
            Self::MissingLabel { .. } => Hint::LabelItems,
            Self::NoLabels { .. } | Self::NeedsLabels { .. } => Hint::LabelSomeItems,
            Self::EmptyClass { .. } | Self::NoOutputs { .. } => Hint::FillClass,
            Self::AbsentClassifier { .. } => Hint::FillClassifier,
            Self::NoDraws => Hint::KeepDraws,
            Self::OneClass { .. } => Hint::NameClasses,
            Self::UnknownGold { .. } => Hint::MatchGold,
            _ => return None,
        })
    }

    /// A file that cannot be read or written.
    pub(crate) fn file(path: &std::path::Path, reason: &std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), reason: reason.to_string() }
    }

    /// A model or model file that cannot be used.
    pub(crate) fn model(reason: impl fmt::Display) -> Self {
        Self::InvalidModel(reason.to_string())
    }

    /// Two things that should be the same and are not.
    pub(crate) fn mismatch(
        what: &'static str,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        Self::Mismatch { what, expected: expected.to_string(), found: found.to_string() }
    }

    /// Something that a method cannot do, as a verb phrase.
    pub(crate) fn unsupported(method: impl Into<String>, cannot: impl Into<String>) -> Self {
        Self::Unsupported { method: method.into(), cannot: cannot.into() }
    }

    /// A setting out of its range.
    pub fn parameter(
        name: impl Into<String>,
        requirement: &'static str,
        value: impl fmt::Display,
    ) -> Self {
        let value = text::shortened(&value.to_string());
        Self::InvalidParameter { name: name.into(), requirement, value }
    }
}

/// Why one classifier's output for one item was rejected.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum OutputProblem {
    /// Some classes have a value and others are empty.
    PartlyMissing,
    /// A probability below 0.
    Negative(f64),
    /// A probability above 1 (or a log probability above 0).
    AboveOne(f64),
    /// An infinite value.
    Infinite(f64),
    /// Decimal odds below 1.
    OddsBelowOne(f64),
    /// Probabilities that do not add up to 1.
    WrongSum(f64),
    /// Values that add up to about 100.
    Percentages(f64),
}

impl OutputProblem {
    fn hint(self) -> Hint {
        match self {
            Self::PartlyMissing => Hint::CompleteOutput,
            Self::Negative(_) | Self::AboveOne(_) | Self::WrongSum(_) => Hint::OtherValueKind,
            Self::OddsBelowOne(_) => Hint::DecimalOdds,
            Self::Infinite(_) => Hint::EmptyOutput,
            Self::Percentages(_) => Hint::DividePercentages,
        }
    }
}

impl fmt::Display for OutputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value: &f64| text::shortened(&value.to_string());
        match self {
            Self::PartlyMissing => write!(f, "some classes have a value and others are empty"),
            Self::Negative(value) => write!(f, "negative probability {}", number(value)),
            Self::AboveOne(value) => write!(f, "probability above 1 ({})", number(value)),
            Self::Infinite(value) => write!(f, "infinite value {value}"),
            Self::OddsBelowOne(value) => write!(f, "decimal odds below 1 ({})", number(value)),
            Self::WrongSum(value) => {
                write!(f, "the probabilities add up to {}, not 1", number(value))
            }
            Self::Percentages(value) => {
                write!(
                    f,
                    "the values add up to {}, not 1: they look like percentages",
                    number(value)
                )
            }
        }
    }
}

/// "`a`, `b` and `c`", for messages.
pub(crate) fn quoted(names: &[String]) -> String {
    listed(&names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>())
}

/// "a, b and c", for messages.
fn listed(parts: &[String]) -> String {
    match parts {
        [] => "none".into(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
