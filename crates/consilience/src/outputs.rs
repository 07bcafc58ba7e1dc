//! The table of classifier outputs: items × classifiers × classes, checked once at the door.
//!
//! Everything behind this door may rely on it: every output present is a probability vector
//! whose entries are at least the floor (up to its renormalisation), every output absent is
//! absent as a whole, every label is a class.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::intake::Intake;
use crate::schema::Schema;

/// The outputs of all classifiers for all items, with labels where they are known.
///
/// One contiguous block, item by item, in each item classifier by classifier.
///
/// # Example
/// ```
/// use consilience::{Intake, OutputsBuilder, Schema};
/// let schema = Schema::new(["a", "b"], ["x", "y"])?;
/// let mut builder = OutputsBuilder::new(schema, Intake::default())?;
/// builder.push(&[0.7, 0.3, 0.6, 0.4], Some("x"))?;
/// builder.push(&[0.2, 0.8, f64::NAN, f64::NAN], Some("y"))?; // `b` is missing here
/// let outputs = builder.finish();
/// assert_eq!(outputs.n_items(), 2);
/// assert!(outputs.output(1, 1).is_none());
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Outputs {
    schema: Arc<Schema>,
    values: Vec<f64>,
    labels: Vec<Option<u32>>,
    n_raised: usize,
    any_missing: bool,
}

impl Outputs {
    /// Names and shape.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Number of items.
    pub fn n_items(&self) -> usize {
        self.labels.len()
    }

    /// One classifier's output for one item, `None` where it is missing.
    pub fn output(&self, item: usize, classifier: usize) -> Option<&[f64]> {
        self.items(item..item + 1).output(0, classifier)
    }

    /// The true class of an item, where known.
    pub fn label(&self, item: usize) -> Option<usize> {
        self.labels[item].map(|label| label as usize)
    }

    /// The true classes of all items; an error names the first item without one.
    pub fn require_labels(&self) -> Result<Vec<usize>> {
        if self.labels.is_empty() {
            return Err(Error::NoItems);
        }
        (0..self.n_items())
            .map(|item| self.label(item).ok_or(Error::MissingLabel { item }))
            .collect()
    }

    /// Number of items of each class among the labelled ones.
    pub fn class_counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.schema.n_classes()];
        for label in self.labels.iter().flatten() {
            counts[*label as usize] += 1;
        }
        counts
    }

    /// How many values were raised to the floor.
    pub fn n_raised(&self) -> usize {
        self.n_raised
    }

    /// Whether any output is missing.
    pub fn any_missing(&self) -> bool {
        self.any_missing
    }

    /// A view of some items.
    pub fn items(&self, range: std::ops::Range<usize>) -> Items<'_> {
        let width = self.schema.width();
        Items {
            values: &self.values[range.start * width..range.end * width],
            n_classifiers: self.schema.n_classifiers(),
            n_classes: self.schema.n_classes(),
            any_missing: self.any_missing,
        }
    }

    /// A view of all items.
    pub fn all(&self) -> Items<'_> {
        self.items(0..self.n_items())
    }

    /// Adds the items of another table with the same classifiers and classes.
    pub fn append(&mut self, other: Self) -> Result<()> {
        if self.schema != other.schema {
            return Err(Error::Mismatch {
                what: "classifiers and classes of two tables",
                expected: format!("{:?}", self.schema),
                found: format!("{:?}", other.schema),
            });
        }
        self.values.extend(other.values);
        self.labels.extend(other.labels);
        self.n_raised += other.n_raised;
        self.any_missing |= other.any_missing;
        Ok(())
    }

    /// The items at the given places, in that order.
    #[must_use]
    pub fn select_items(&self, items: &[usize]) -> Self {
        let width = self.schema.width();
        let mut values = Vec::with_capacity(items.len() * width);
        for &item in items {
            values.extend_from_slice(&self.values[item * width..(item + 1) * width]);
        }
        Self {
            schema: Arc::clone(&self.schema),
            any_missing: values.iter().any(|value| value.is_nan()),
            values,
            labels: items.iter().map(|&item| self.labels[item]).collect(),
            n_raised: self.n_raised,
        }
    }

    /// The same items with one classifier's outputs missing.
    #[must_use]
    pub fn without(&self, classifier: usize) -> Self {
        let mut rest = self.clone();
        let n_classes = self.schema.n_classes();
        for item in rest.values.chunks_exact_mut(self.schema.width()) {
            item[classifier * n_classes..(classifier + 1) * n_classes].fill(f64::NAN);
        }
        rest.any_missing = true;
        rest
    }

    /// The same items with the classifiers and classes of `schema`, in its order; classifiers
    /// that it does not name are dropped.
    pub fn select(&self, schema: &Arc<Schema>) -> Result<Self> {
        if schema.classes() != self.schema.classes() {
            return Err(Error::Mismatch {
                what: "classes",
                expected: crate::error::quoted(schema.classes()),
                found: crate::error::quoted(self.schema.classes()),
            });
        }
        let places: Vec<usize> = schema
            .classifiers()
            .iter()
            .map(|name| {
                self.schema.classifier_index(name).ok_or_else(|| Error::Mismatch {
                    what: "classifiers",
                    expected: format!("`{name}`"),
                    found: crate::error::quoted(self.schema.classifiers()),
                })
            })
            .collect::<Result<_>>()?;
        let n_classes = schema.n_classes();
        let mut values = Vec::with_capacity(self.n_items() * schema.width());
        for item in self.values.chunks_exact(self.schema.width()) {
            for &place in &places {
                values.extend_from_slice(&item[place * n_classes..(place + 1) * n_classes]);
            }
        }
        Ok(Self {
            schema: Arc::clone(schema),
            any_missing: values.iter().any(|value| value.is_nan()),
            values,
            labels: self.labels.clone(),
            n_raised: self.n_raised,
        })
    }
}

/// A borrowed run of items.
#[derive(Debug, Clone, Copy)]
pub struct Items<'a> {
    values: &'a [f64],
    n_classifiers: usize,
    n_classes: usize,
    any_missing: bool,
}

impl<'a> Items<'a> {
    /// Number of items.
    pub fn len(&self) -> usize {
        self.values.len() / (self.n_classifiers * self.n_classes)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Number of classifiers, K.
    pub fn n_classifiers(&self) -> usize {
        self.n_classifiers
    }

    /// Number of classes, J.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// Whether outputs may be missing; if not, every value is a probability.
    pub fn any_missing(&self) -> bool {
        self.any_missing
    }

    /// The raw block; missing outputs are NaN.
    pub fn values(&self) -> &'a [f64] {
        self.values
    }

    /// One classifier's output for one item, `None` where it is missing.
    pub fn output(&self, item: usize, classifier: usize) -> Option<&'a [f64]> {
        let start = (item * self.n_classifiers + classifier) * self.n_classes;
        let output = &self.values[start..start + self.n_classes];
        (!output[0].is_nan()).then_some(output)
    }

    /// The outputs present for one item, with their classifiers.
    pub fn present(&self, item: usize) -> impl Iterator<Item = (usize, &'a [f64])> + use<'a> {
        let view = *self;
        (0..self.n_classifiers).filter_map(move |k| view.output(item, k).map(|output| (k, output)))
    }

    /// As many items with other values.
    #[must_use]
    pub(crate) fn with_values<'b>(&self, values: &'b [f64]) -> Items<'b> {
        debug_assert_eq!(values.len(), self.values.len());
        Items {
            values,
            n_classifiers: self.n_classifiers,
            n_classes: self.n_classes,
            any_missing: self.any_missing,
        }
    }

    /// A part of these items.
    #[must_use]
    pub fn range(&self, range: std::ops::Range<usize>) -> Self {
        let width = self.n_classifiers * self.n_classes;
        Self { values: &self.values[range.start * width..range.end * width], ..*self }
    }
}

/// Builds [`Outputs`] item by item, checking each.
#[derive(Debug)]
pub struct OutputsBuilder {
    intake: Intake,
    outputs: Outputs,
}

impl OutputsBuilder {
    /// An empty table.
    pub fn new(schema: impl Into<Arc<Schema>>, intake: Intake) -> Result<Self> {
        let schema = schema.into();
        intake.check(schema.n_classes())?;
        let outputs = Outputs {
            schema,
            values: Vec::new(),
            labels: Vec::new(),
            n_raised: 0,
            any_missing: false,
        };
        Ok(Self { intake, outputs })
    }

    /// Number of items so far.
    pub fn n_items(&self) -> usize {
        self.outputs.n_items()
    }

    /// Makes room for more items.
    pub fn reserve(&mut self, n_items: usize) {
        self.outputs.values.reserve(n_items * self.outputs.schema.width());
        self.outputs.labels.reserve(n_items);
    }

    /// Adds an item from its K·J raw values (NaN where empty) and its label.
    pub fn push(&mut self, raw: &[f64], label: Option<&str>) -> Result<()> {
        let label = label.map(|name| self.label_index(name)).transpose()?;
        self.push_indexed(raw, label)
    }

    /// Adds an item whose label is given as a class index.
    pub fn push_indexed(&mut self, raw: &[f64], label: Option<usize>) -> Result<()> {
        let width = self.outputs.schema.width();
        if raw.len() == width {
            return self.push_all(raw, |_| label);
        }
        Err(Error::Mismatch {
            what: "numbers of values of an item",
            expected: width.to_string(),
            found: raw.len().to_string(),
        })
    }

    /// Adds many items from their raw values, K·J an item, and their labels as class indices,
    /// asked for by place; all of them or, if one is refused, none. A rest shorter than an item is
    /// left out.
    pub fn push_all(&mut self, raw: &[f64], label: impl Fn(usize) -> Option<usize>) -> Result<()> {
        let width = self.outputs.schema.width();
        let (items, n_new) = (self.n_items(), raw.len() / width);
        let before = (self.outputs.n_raised, self.outputs.any_missing);
        self.outputs.values.extend_from_slice(&raw[..n_new * width]);
        let added = (0..n_new)
            .try_for_each(|i| self.push_label(items + i, label(i)))
            .and_then(|()| self.admit(items));
        if added.is_err() {
            self.outputs.values.truncate(items * width);
            self.outputs.labels.truncate(items);
            (self.outputs.n_raised, self.outputs.any_missing) = before;
        }
        added
    }

    /// What was added so far.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Forgets what was added so far; names, settings and memory stay.
    pub fn clear(&mut self) {
        self.outputs.values.clear();
        self.outputs.labels.clear();
        (self.outputs.n_raised, self.outputs.any_missing) = (0, false);
    }

    /// The finished table.
    pub fn finish(self) -> Outputs {
        self.outputs
    }

    /// Takes what was added so far and starts again, keeping names and settings.
    pub fn take(&mut self) -> Outputs {
        let empty = Outputs {
            schema: Arc::clone(&self.outputs.schema),
            values: Vec::new(),
            labels: Vec::new(),
            n_raised: 0,
            any_missing: false,
        };
        std::mem::replace(&mut self.outputs, empty)
    }

    /// Turns the raw values of all items from `first` on into outputs.
    fn admit(&mut self, first: usize) -> Result<()> {
        let Outputs { schema, values, n_raised, any_missing, .. } = &mut self.outputs;
        let (n_classifiers, n_classes) = (schema.n_classifiers(), schema.n_classes());
        let values = &mut values[first * schema.width()..];
        self.intake.admit_each(values, n_classes, |row, admitted| match admitted {
            Ok(Some(raised)) => {
                *n_raised += raised;
                Ok(())
            }
            Ok(None) => {
                *any_missing = true;
                Ok(())
            }
            Err((class, problem)) => Err(Error::InvalidOutput {
                item: first + row / n_classifiers,
                classifier: schema.classifiers()[row % n_classifiers].clone(),
                class,
                problem,
            }),
        })
    }

    fn push_label(&mut self, item: usize, label: Option<usize>) -> Result<()> {
        let label = label.map(|class| self.checked_label(item, class)).transpose()?;
        self.outputs.labels.push(label);
        Ok(())
    }

    fn label_index(&self, name: &str) -> Result<usize> {
        let schema = &self.outputs.schema;
        schema.class_index(name).ok_or_else(|| Error::UnknownLabel {
            item: self.n_items(),
            label: name.to_owned(),
            classes: schema.classes().to_vec(),
        })
    }

    fn checked_label(&self, item: usize, class: usize) -> Result<u32> {
        let classes = self.outputs.schema.classes();
        match u32::try_from(class) {
            Ok(index) if class < classes.len() => Ok(index),
            _ => Err(Error::UnknownLabel {
                item,
                label: format!("#{class}"),
                classes: classes.to_vec(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::OutputProblem;
    use crate::intake::ValueKind;

    fn builder(kind: ValueKind, floor: f64) -> OutputsBuilder {
        let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
        OutputsBuilder::new(schema, Intake { kind, floor }).unwrap()
    }

    fn problem_of(kind: ValueKind, raw: [f64; 4]) -> OutputProblem {
        match builder(kind, 0.0).push(&raw, None) {
            Err(Error::InvalidOutput { problem, .. }) => problem,
            other => panic!("expected a refused output, got {other:?}"),
        }
    }

    #[test]
    fn every_kind_of_value_gives_the_same_probabilities() {
        let expected = [0.75, 0.25];
        for (kind, raw) in [
            (ValueKind::Probabilities, [0.75, 0.25]),
            (ValueKind::LogProbabilities, [0.75f64.ln(), 0.25f64.ln()]),
            (ValueKind::Logits, [3f64.ln() + 700.0, 700.0]),
            (ValueKind::Odds, [1.2, 3.6]),
        ] {
            let mut builder = builder(kind, 0.0);
            builder.push(&[raw[0], raw[1], f64::NAN, f64::NAN], None).unwrap();
            let outputs = builder.finish();
            for (got, want) in outputs.output(0, 0).unwrap().iter().zip(expected) {
                assert!((got - want).abs() < 1e-13, "{kind:?}: {got} instead of {want}");
            }
            assert!(outputs.any_missing() && outputs.output(0, 1).is_none());
        }
    }

    #[test]
    fn bad_outputs_are_refused_with_their_reason() {
        let p = ValueKind::Probabilities;
        assert_eq!(problem_of(p, [0.5, 0.5, -0.5, 1.5]), OutputProblem::Negative(-0.5));
        assert_eq!(problem_of(p, [1.5, 0.5, 0.5, 0.5]), OutputProblem::AboveOne(1.5));
        assert_eq!(problem_of(p, [0.5, f64::NAN, 0.5, 0.5]), OutputProblem::PartlyMissing);
        assert_eq!(
            problem_of(p, [f64::INFINITY, 0.0, 0.5, 0.5]),
            OutputProblem::Infinite(f64::INFINITY)
        );
        assert_eq!(problem_of(p, [0.5, 0.25, 0.5, 0.5]), OutputProblem::WrongSum(0.75));
        assert_eq!(
            problem_of(ValueKind::Odds, [0.5, 2.0, 2.0, 2.0]),
            OutputProblem::OddsBelowOne(0.5)
        );
        let infinite = OutputProblem::Infinite(f64::NEG_INFINITY);
        assert_eq!(problem_of(ValueKind::Logits, [f64::NEG_INFINITY, 0.0, 0.0, 0.0]), infinite);
    }

    #[test]
    fn a_refused_item_leaves_the_table_as_it_was() {
        let mut builder = builder(ValueKind::Probabilities, 0.0);
        builder.push(&[0.5; 4], Some("x")).unwrap();
        assert!(builder.push(&[0.5, 0.5, 0.5, 0.6], Some("x")).is_err());
        assert!(builder.push(&[0.5; 4], Some("z")).is_err());
        assert!(builder.push_indexed(&[0.5; 4], Some(2)).is_err());
        builder.push(&[0.5; 4], Some("y")).unwrap();
        let outputs = builder.finish();
        assert_eq!((outputs.n_items(), outputs.class_counts()), (2, vec![1, 1]));
        assert_eq!(outputs.all().values().len(), 8);
    }

    #[test]
    fn small_values_are_raised_and_counted_and_the_sum_stays_one() {
        let mut builder = builder(ValueKind::Probabilities, 1e-3);
        builder.push(&[1.0, 0.0, 0.9999, 0.0001], None).unwrap();
        let outputs = builder.finish();
        assert_eq!(outputs.n_raised(), 2);
        let output = outputs.output(0, 0).unwrap();
        assert!((output.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!((output[1] - 1e-3 / 1.001).abs() < 1e-18);
    }

    #[test]
    fn a_sum_within_tolerance_is_renormalised_and_one_beyond_is_not() {
        let mut builder = builder(ValueKind::Probabilities, 0.0);
        builder.push(&[0.5, 0.500_000_9, 0.5, 0.5], None).unwrap();
        assert!(builder.push(&[0.5, 0.500_001_1, 0.5, 0.5], None).is_err());
        let sum: f64 = builder.finish().output(0, 0).unwrap().iter().sum();
        assert!((sum - 1.0).abs() < 1e-15);
    }

    /// Many at once against one by one: plain outputs, raised and missing ones, and the edges of
    /// what needs no more than renormalising, for numbers of classes with loops of their own and
    /// others.
    #[test]
    fn many_items_at_once_are_the_same_as_one_by_one() {
        for n_classes in 2..7_usize {
            let names = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
            let schema = Arc::new(Schema::new(names(2), names(n_classes)).unwrap());
            let rest = |first: f64| {
                let others = vec![(1.0 - first) / (n_classes as f64 - 1.0); n_classes - 1];
                [vec![first], others].concat()
            };
            let edge = |scale: f64| rest(0.3).iter().map(|p| p * scale).collect();
            let mut rows: Vec<Vec<f64>> = [0.0, 1e-3, 1e-3 * (1.0 + 1e-6), 0.1, 1.0 / 3.0, 1.0]
                .into_iter()
                .map(rest)
                .collect();
            rows.extend([edge(1.0 + 9e-7), edge(1.0 - 9e-7), vec![f64::NAN; n_classes]]);
            let raw: Vec<f64> = rows.iter().chain(rows.iter().rev()).flatten().copied().collect();
            let intake = Intake { floor: 1e-3, ..Intake::default() };
            let (mut one_by_one, mut at_once) = (
                OutputsBuilder::new(Arc::clone(&schema), intake).unwrap(),
                OutputsBuilder::new(Arc::clone(&schema), intake).unwrap(),
            );
            for item in raw.chunks_exact(schema.width()) {
                let mut checked = item.to_vec();
                for output in checked.chunks_exact_mut(n_classes) {
                    one_by_one.outputs.n_raised += intake.admit(output).unwrap().unwrap_or(0);
                }
                one_by_one.outputs.values.extend(checked);
            }
            at_once.push_all(&raw, |item| Some(item % n_classes)).unwrap();
            let bits = |builder: &OutputsBuilder| {
                builder.outputs.values.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
            };
            assert_eq!(bits(&at_once), bits(&one_by_one), "{n_classes} classes");
            assert_eq!(at_once.outputs.n_raised, one_by_one.outputs.n_raised);
            assert!(at_once.outputs.any_missing && at_once.outputs().label(1) == Some(1));
            let mut bad = raw.clone();
            bad[3 * n_classes] = -0.1;
            let Err(Error::InvalidOutput { item, classifier, .. }) =
                at_once.push_all(&bad, |_| None)
            else {
                panic!("a negative probability is refused")
            };
            assert_eq!((item, classifier.as_str()), (9 + 1, "1"));
            assert_eq!(bits(&at_once), bits(&one_by_one));
            at_once.clear();
            assert_eq!((at_once.n_items(), at_once.outputs().n_raised()), (0, 0));
        }
    }
}
