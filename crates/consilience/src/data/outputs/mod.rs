//! The table of outputs, items × classifiers × classes, checked when it is built.
//!
//! All other code relies on three properties. Every output that is present is a probability
//! vector whose entries are at least the floor (up to its renormalisation). An output is present
//! or missing as a whole. Every label is a class.

mod builder;

use std::borrow::Cow;
use std::sync::Arc;

pub use builder::OutputsBuilder;
pub(crate) use builder::convert_items;

use crate::data::input_format::Doubts;
use crate::data::schema::Schema;
use crate::error::{Error, Result, quoted};

/// The outputs of all classifiers for all items, with labels where they are known.
///
/// The values are contiguous in memory: item by item, and classifier by classifier within an item.
///
/// # Example
/// ```
/// use consilience::{InputFormat, OutputsBuilder, Schema};
/// let schema = Schema::new(["a", "b"], ["x", "y"])?;
/// let mut builder = OutputsBuilder::new(schema, InputFormat::default())?;
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
    /// The weight of every item; empty if all weights are 1.
    weights: Vec<f64>,
    /// Number of values raised to the floor per output; empty if there are none.
    n_raised: Vec<usize>,
    any_missing: bool,
    doubts: Doubts,
}

/// Allowed weights other than 0. With [`LARGEST_TOTAL`] this keeps sums of weights, and of
/// logarithms times weights, exact in fixed point.
const WEIGHTS: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

/// Largest sum of all weights.
pub(crate) const LARGEST_TOTAL: f64 = 1e15;

impl Outputs {
    /// The classifiers and classes.
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

    /// Number of items with a label.
    pub fn n_labelled(&self) -> usize {
        self.labels.iter().flatten().count()
    }

    /// The items with a label: the table itself if every item has one, else a copy of those items.
    pub fn labelled(&self) -> Cow<'_, Self> {
        self.with_label(true)
    }

    /// The items with a label, to score; an error if there are none.
    pub(crate) fn require_some_labels(&self) -> Result<Cow<'_, Self>> {
        match (self.n_items(), self.n_labelled()) {
            (0, _) => Err(Error::NoItems),
            (n_items, 0) => Err(Error::NoLabels { n_items }),
            _ => Ok(self.labelled()),
        }
    }

    /// The items without a label.
    pub fn unlabelled(&self) -> Cow<'_, Self> {
        self.with_label(false)
    }

    fn with_label(&self, has_label: bool) -> Cow<'_, Self> {
        let chosen = |item: &usize| self.labels[*item].is_some() == has_label;
        if (0..self.n_items()).all(|item| chosen(&item)) {
            return Cow::Borrowed(self);
        }
        let items: Vec<usize> = (0..self.n_items()).filter(chosen).collect();
        Cow::Owned(self.select_items(&items))
    }

    /// Number of labelled items per class.
    pub fn class_counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.schema.n_classes()];
        for label in self.labels.iter().flatten() {
            counts[*label as usize] += 1;
        }
        counts
    }

    /// The same items with weights. For a fit, an item with weight 2 equals two copies of the
    /// item; an item with weight 0 is removed. Weights are numbers of items, not proportions:
    /// doubling all of them doubles the evidence.
    ///
    /// [Fits](crate::MethodConfig) that do not support weights return an error. Where a fit
    /// divides the items into folds (`auto`, a ridge chosen by cross-validation), a weighted item
    /// stays in one fold, whereas copies of it would be spread over several. Scores ignore weights.
    ///
    /// # Example
    /// ```
    /// use consilience::simulation::Preset;
    /// let outputs = Preset::Sim1.truth(0.0)?.simulate(1, 1)?;
    /// let weighted = outputs.with_weights(&[1.5, 0.0, 2.0])?;
    /// assert_eq!((weighted.n_items(), weighted.weight(1)), (2, 2.0));
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn with_weights(&self, weights: &[f64]) -> Result<Self> {
        if weights.len() != self.n_items() {
            return Err(Error::mismatch(
                "numbers of items and weights",
                self.n_items(),
                weights.len(),
            ));
        }
        let allowed = |weight: &f64| *weight == 0.0 || WEIGHTS.contains(weight);
        if let Some(item) = weights.iter().position(|weight| !allowed(weight)) {
            let name = format!("weights[{item}]");
            return Err(Error::parameter(name, "0, or from 1e-9 to 1e9", weights[item]));
        }
        let total: f64 = weights.iter().sum();
        if total > LARGEST_TOTAL {
            return Err(Error::parameter("the sum of all weights", "at most 1e15", total));
        }
        let counting: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
        if counting.is_empty() {
            return Err(Error::NoItems);
        }
        let mut weighted = self.select_items(&counting);
        let weights: Vec<f64> = counting.iter().map(|&item| weights[item]).collect();
        let plain = weights.iter().all(|weight| *weight == 1.0);
        weighted.weights = if plain { Vec::new() } else { weights };
        weighted.doubts = self.doubts;
        Ok(weighted)
    }

    /// The item's weight; 1 if no [weights](Self::with_weights) were given.
    pub fn weight(&self, item: usize) -> f64 {
        self.weights.get(item).copied().unwrap_or(1.0)
    }

    /// The weights of all items.
    pub fn weights(&self) -> Vec<f64> {
        (0..self.n_items()).map(|item| self.weight(item)).collect()
    }

    /// Whether any weight differs from 1.
    pub fn is_weighted(&self) -> bool {
        !self.weights.is_empty()
    }

    /// Sum of the weights of the labelled items per class.
    pub fn class_weights(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.schema.n_classes()];
        for (item, label) in self.labels.iter().enumerate() {
            if let Some(label) = label {
                sums[*label as usize] += self.weight(item);
            }
        }
        sums
    }

    /// Number of values that were raised to the floor.
    pub fn n_raised(&self) -> usize {
        self.n_raised.iter().sum()
    }

    /// Number of values that were raised to the floor, per classifier.
    pub(crate) fn n_raised_per_classifier(&self) -> Vec<u64> {
        let mut sums = vec![0; self.schema.n_classifiers()];
        for item in self.n_raised.chunks_exact(sums.len()) {
            sums.iter_mut().zip(item).for_each(|(sum, n)| *sum += *n as u64);
        }
        sums
    }

    /// What was unusual about the raw values. Empty for selected items.
    pub fn doubts(&self) -> Doubts {
        self.doubts
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
            return Err(Error::mismatch(
                "classifiers and classes of two tables",
                format!("{:?}", self.schema),
                format!("{:?}", other.schema),
            ));
        }
        if self.is_weighted() || other.is_weighted() {
            self.weights = [self.weights(), other.weights()].concat();
        }
        if !(self.n_raised.is_empty() && other.n_raised.is_empty()) {
            self.n_raised.resize(self.n_items() * self.schema.n_classifiers(), 0);
            self.n_raised.extend(&other.n_raised);
            let n_items = self.n_items() + other.n_items();
            self.n_raised.resize(n_items * self.schema.n_classifiers(), 0);
        }
        self.values.extend(other.values);
        self.labels.extend(other.labels);
        self.any_missing |= other.any_missing;
        self.doubts.merge(&other.doubts);
        Ok(())
    }

    /// The items with the given indices, in that order.
    #[must_use]
    pub fn select_items(&self, items: &[usize]) -> Self {
        let width = self.schema.width();
        let mut values = Vec::with_capacity(items.len() * width);
        for &item in items {
            values.extend_from_slice(&self.values[item * width..(item + 1) * width]);
        }
        let outputs = items.iter().flat_map(|&item| self.outputs_of(item));
        Self {
            schema: Arc::clone(&self.schema),
            any_missing: values.iter().any(|value| value.is_nan()),
            values,
            labels: items.iter().map(|&item| self.labels[item]).collect(),
            weights: if self.is_weighted() {
                items.iter().map(|&item| self.weights[item]).collect()
            } else {
                Vec::new()
            },
            n_raised: self.n_raised_of(outputs),
            doubts: Doubts::default(),
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
        for item in rest.n_raised.chunks_exact_mut(self.schema.n_classifiers()) {
            item[classifier] = 0;
        }
        rest.any_missing = true;
        rest
    }

    /// The same items with the classifiers and classes of `schema`, in its order; classifiers
    /// that it does not name are dropped.
    pub fn select(&self, schema: &Arc<Schema>) -> Result<Self> {
        if schema.classes() != self.schema.classes() {
            return Err(Error::mismatch(
                "classes",
                quoted(schema.classes()),
                quoted(self.schema.classes()),
            ));
        }
        let names = schema.classifiers().iter();
        let indices: Vec<usize> =
            names.map(|name| self.schema.require_classifier(name)).collect::<Result<_>>()?;
        let n_classes = schema.n_classes();
        let mut values = Vec::with_capacity(self.n_items() * schema.width());
        for item in self.values.chunks_exact(self.schema.width()) {
            for &k in &indices {
                values.extend_from_slice(&item[k * n_classes..(k + 1) * n_classes]);
            }
        }
        let outputs = (0..self.n_items())
            .flat_map(|item| indices.iter().map(move |k| self.outputs_of(item).start + k));
        Ok(Self {
            schema: Arc::clone(schema),
            any_missing: values.iter().any(|value| value.is_nan()),
            values,
            labels: self.labels.clone(),
            weights: self.weights.clone(),
            n_raised: self.n_raised_of(outputs),
            doubts: self.doubts,
        })
    }

    /// The indices of an item's outputs, counted over all items.
    fn outputs_of(&self, item: usize) -> std::ops::Range<usize> {
        let n_classifiers = self.schema.n_classifiers();
        item * n_classifiers..(item + 1) * n_classifiers
    }

    /// Number of values raised to the floor in some outputs; empty if there are none at all.
    fn n_raised_of(&self, outputs: impl Iterator<Item = usize>) -> Vec<usize> {
        if self.n_raised.is_empty() {
            return Vec::new();
        }
        outputs.map(|output| self.n_raised[output]).collect()
    }
}

/// A view of consecutive items.
#[derive(Debug, Clone, Copy)]
pub struct Items<'a> {
    values: &'a [f64],
    n_classifiers: usize,
    n_classes: usize,
    any_missing: bool,
}

impl<'a> Items<'a> {
    /// A view of checked values.
    pub(crate) fn new(schema: &Schema, values: &'a [f64], any_missing: bool) -> Self {
        let (n_classifiers, n_classes) = (schema.n_classifiers(), schema.n_classes());
        Self { values, n_classifiers, n_classes, any_missing }
    }

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

    /// The values of all items; missing outputs are NaN.
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

    /// A view of some of these items.
    #[must_use]
    pub fn range(&self, range: std::ops::Range<usize>) -> Self {
        let width = self.n_classifiers * self.n_classes;
        Self { values: &self.values[range.start * width..range.end * width], ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::input_format::InputFormat;
    use crate::simulation::Preset;

    /// Classifier `a` has one raised value in item 0, classifier `b` one in each of items 0 and 2.
    #[test]
    fn raised_values_are_counted_in_the_selected_outputs_only() {
        let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
        let mut builder = OutputsBuilder::new(schema.clone(), InputFormat::default()).unwrap();
        builder.push(&[1.0, 0.0, 0.0, 1.0], Some("x")).unwrap();
        builder.push(&[0.5, 0.5, 0.5, 0.5], Some("y")).unwrap();
        builder.push(&[0.5, 0.5, 1.0, 0.0], Some("y")).unwrap();
        let outputs = builder.finish();
        assert_eq!(outputs.n_raised(), 3);
        assert_eq!(outputs.select_items(&[2, 1]).n_raised(), 1);
        assert_eq!(outputs.select_items(&[0, 0]).n_raised(), 4);
        assert_eq!(outputs.with_weights(&[0.0, 1.0, 2.0]).unwrap().n_raised(), 1);
        assert_eq!(outputs.select(&Arc::new(schema.only(0))).unwrap().n_raised(), 1);
        let swapped = Arc::new(Schema::new(["b", "a"], ["x", "y"]).unwrap());
        let swapped = outputs.select(&swapped).unwrap();
        assert_eq!((swapped.n_raised(), swapped.select_items(&[2]).n_raised()), (3, 1));
        assert_eq!(outputs.without(1).n_raised(), 1);
        let mut both = outputs.select_items(&[1]);
        both.append(outputs.clone()).unwrap();
        both.append(outputs.select_items(&[1])).unwrap();
        assert_eq!(both.n_raised(), 3);
        assert_eq!(both.select_items(&[3]).n_raised(), 1);
    }

    #[test]
    fn weights_follow_their_items() {
        let outputs = Preset::Sim1.truth(0.0).unwrap().simulate(1, 1).unwrap();
        let weighted = outputs.with_weights(&[0.5, 0.0, 3.0]).unwrap();
        assert_eq!((weighted.n_items(), weighted.weights()), (2, vec![0.5, 3.0]));
        assert_eq!(weighted.class_weights(), [0.5, 0.0, 3.0]);
        assert_eq!(weighted.class_counts(), [1, 0, 1]);
        assert_eq!(weighted.output(1, 0), outputs.output(2, 0));
        assert_eq!(weighted.select_items(&[1, 0, 1]).weights(), [3.0, 0.5, 3.0]);
        let mut both = outputs.clone();
        both.append(weighted).unwrap();
        assert_eq!(both.weights(), [1.0, 1.0, 1.0, 0.5, 3.0]);
        assert_eq!(outputs.with_weights(&[1.0; 3]).unwrap(), outputs);
    }

    #[test]
    fn weights_out_of_range_are_rejected() {
        let outputs = Preset::Sim1.truth(0.0).unwrap().simulate(1, 1).unwrap();
        for bad in [f64::NAN, f64::INFINITY, -1.0, 1e-10, 1e10] {
            assert!(outputs.with_weights(&[1.0, bad, 1.0]).is_err(), "{bad} was accepted");
        }
        assert!(outputs.with_weights(&[1.0; 2]).is_err());
        assert_eq!(outputs.with_weights(&[0.0; 3]), Err(Error::NoItems));
    }
}
