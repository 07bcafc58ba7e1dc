//! Advice that goes with errors and warnings, as data that each front end words for itself.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Advice on what to do about an [`Error`](crate::Error) or a [`Warning`](crate::Warning).
///
/// The command line and the Python package put the names of their own options into the wording.
/// `Display` gives a wording that names no option.
///
/// # Example
/// ```
/// use consilience::{Hint, InputFormat, OutputsBuilder, Schema};
/// let schema = Schema::new(["a"], ["x", "y"])?;
/// let mut builder = OutputsBuilder::new(schema, InputFormat::default())?;
/// let error = builder.push(&[2.0, -1.0], None).unwrap_err();
/// assert_eq!(error.hint(), Some(Hint::OtherValueKind));
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Hint {
    /// An output must be complete or missing as a whole.
    CompleteOutput,
    /// The values may be of another [`ValueKind`](crate::ValueKind).
    OtherValueKind,
    /// Percentages must be divided by 100.
    DividePercentages,
    /// Decimal odds include the stake.
    DecimalOdds,
    /// A missing output must be left empty.
    EmptyOutput,
    /// The label must be corrected, or its class added to the classes of the fit.
    CorrectLabel,
    /// Every item needs a label.
    LabelItems,
    /// Some items need a label.
    LabelSomeItems,
    /// A class without training items must get some or be left out.
    FillClass,
    /// A classifier without outputs in a class must get some or be left out.
    FillClassifier,
    /// The model must be fitted again with its posterior draws kept.
    KeepDraws,
    /// The tree structure keeps the correlation of every pair that it connects.
    TreeStructure,
    /// Votes with a single label need the names of all classes.
    NameClasses,
    /// Gold labels and votes must use the same names of items.
    MatchGold,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CompleteOutput => {
                "give a value for every class of a classifier, or leave all of them empty"
            }
            Self::OtherValueKind => {
                "the probabilities of a classifier must add up to 1 within the sum tolerance; if \
                 the values are log-probabilities, logits or odds, set their kind"
            }
            Self::DividePercentages => "divide percentages by 100",
            Self::DecimalOdds => {
                "decimal odds include the stake, so they are at least 1; American odds +m are 1 + \
                 m/100 and -m are 1 + 100/m; probabilities are another kind of values"
            }
            Self::EmptyOutput => "if the classifier has no output, leave all its classes empty",
            Self::CorrectLabel => {
                "correct the label, or add it to the classes of the fit (the classes of a fitted \
                 model cannot be changed)"
            }
            Self::LabelItems => "fitting and scoring need the true class of every item",
            Self::LabelSomeItems => "give the true class of some items as their label",
            Self::FillClass => {
                "add items with this label; to leave the class out, remove it from the classes \
                 and renormalise the other probabilities"
            }
            Self::FillClassifier => {
                "leave the classifier out, or add items of this class for which it has an output"
            }
            Self::KeepDraws => "fit the model again and keep some posterior draws",
            Self::TreeStructure => {
                "the tree structure keeps the whole correlation of every pair that it connects"
            }
            Self::NameClasses => "give the names of all classes",
            Self::MatchGold => {
                "use the same names of items for votes and gold labels, or leave the gold labels out"
            }
        })
    }
}
