//! Builder of [`Outputs`]: converts and checks raw values item by item.

use std::sync::Arc;

use super::Outputs;
use crate::data::input_format::{Converted, Doubt, Doubts, InputFormat, Rejected};
use crate::data::schema::Schema;
use crate::error::{Error, Result};

/// Builder of [`Outputs`] that checks every item.
#[derive(Debug)]
pub struct OutputsBuilder {
    input_format: InputFormat,
    outputs: Outputs,
}

impl OutputsBuilder {
    /// An empty table.
    pub fn new(schema: impl Into<Arc<Schema>>, input_format: InputFormat) -> Result<Self> {
        let schema = schema.into();
        input_format.check(schema.n_classes())?;
        let doubts = Doubts::new(input_format.kind);
        Ok(Self { input_format, outputs: empty(schema, doubts) })
    }

    /// Number of items so far.
    pub fn n_items(&self) -> usize {
        self.outputs.n_items()
    }

    /// Reserves memory for more items.
    pub fn reserve(&mut self, n_items: usize) {
        self.outputs.values.reserve(n_items * self.outputs.schema.width());
        self.outputs.labels.reserve(n_items);
    }

    /// Adds an item from its raw values, K·J of them with NaN where an output is missing, and its
    /// label.
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
        Err(Error::mismatch("numbers of values of an item", width, raw.len()))
    }

    /// Adds many items from their raw values, K·J per item, and their labels; `label` gets the
    /// index of an item within `raw` and returns its class index. If an item is rejected, none is
    /// added. Values at the end that do not make a whole item are ignored.
    pub fn push_all(&mut self, raw: &[f64], label: impl Fn(usize) -> Option<usize>) -> Result<()> {
        let width = self.outputs.schema.width();
        let (items, n_new) = (self.n_items(), raw.len() / width);
        let added = (0..n_new)
            .try_for_each(|i| self.push_label(items + i, label(i)))
            .and_then(|()| self.push_values(items, &raw[..n_new * width]));
        if added.is_err() {
            self.outputs.values.truncate(items * width);
            self.outputs.labels.truncate(items);
        }
        added
    }

    /// The items added so far.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// The finished table.
    pub fn finish(self) -> Outputs {
        self.outputs
    }

    /// Takes the items added so far and starts an empty table with the same names and format.
    pub fn take(&mut self) -> Outputs {
        let schema = Arc::clone(&self.outputs.schema);
        let doubts = Doubts::new(self.input_format.kind);
        std::mem::replace(&mut self.outputs, empty(schema, doubts))
    }

    fn push_values(&mut self, first: usize, raw: &[f64]) -> Result<()> {
        let Outputs { schema, values, n_raised, any_missing, doubts, .. } = &mut self.outputs;
        let mut new_doubts = Doubts::new(self.input_format.kind);
        let start = values.len();
        values.resize(start + raw.len(), 0.0);
        let (first_output, mut found) = (start / schema.n_classes(), Vec::new());
        let into = &mut values[start..];
        let seen = |output, n_raised, doubt| {
            new_doubts.add(doubt);
            if n_raised > 0 {
                found.push((first_output + output, n_raised));
            }
        };
        let missing = convert_items(&self.input_format, schema, first, raw, into, seen)?;
        doubts.merge(&new_doubts);
        if !(found.is_empty() && n_raised.is_empty()) {
            n_raised.resize(values.len() / schema.n_classes(), 0);
        }
        for (output, n) in found {
            n_raised[output] = n;
        }
        *any_missing |= missing;
        Ok(())
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

/// Converts the raw values of whole items, the first of which has index `first`, to outputs.
/// `seen` gets the index of every output, within these items, that needed more than division by its
/// sum, the number of values raised to the floor, and what was unusual. Returns whether any output
/// is missing.
pub(crate) fn convert_items(
    input_format: &InputFormat,
    schema: &Schema,
    first: usize,
    raw: &[f64],
    values: &mut [f64],
    mut seen: impl FnMut(usize, usize, Doubt),
) -> Result<bool> {
    let (n_classifiers, mut any_missing) = (schema.n_classifiers(), false);
    input_format.convert_all(raw, values, schema.n_classes(), |output, converted| {
        match converted {
            Ok(Converted::Present { n_raised, doubt }) => seen(output, n_raised, doubt),
            Ok(Converted::Missing) => any_missing = true,
            Err(Rejected { class, problem }) => {
                return Err(Error::InvalidOutput {
                    item: first + output / n_classifiers,
                    classifier: schema.classifiers()[output % n_classifiers].clone(),
                    class,
                    problem,
                });
            }
        }
        Ok(())
    })?;
    Ok(any_missing)
}

/// A table without items.
fn empty(schema: Arc<Schema>, doubts: Doubts) -> Outputs {
    Outputs {
        schema,
        values: Vec::new(),
        labels: Vec::new(),
        weights: Vec::new(),
        n_raised: Vec::new(),
        any_missing: false,
        doubts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::input_format::ValueKind;
    use crate::error::OutputProblem;

    fn builder(kind: ValueKind, floor: f64) -> OutputsBuilder {
        let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
        OutputsBuilder::new(schema, InputFormat { kind, floor, ..InputFormat::default() }).unwrap()
    }

    fn problem_of(kind: ValueKind, raw: [f64; 4]) -> OutputProblem {
        match builder(kind, 0.0).push(&raw, None) {
            Err(Error::InvalidOutput { problem, .. }) => problem,
            other => panic!("expected a rejected output, got {other:?}"),
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
    fn bad_outputs_are_rejected_with_their_reason() {
        let p = ValueKind::Probabilities;
        assert_eq!(problem_of(p, [0.5, 0.5, -0.5, 1.5]), OutputProblem::Negative(-0.5));
        assert_eq!(problem_of(p, [1.5, 0.5, 0.5, 0.5]), OutputProblem::AboveOne(1.5));
        assert_eq!(problem_of(p, [0.5, f64::NAN, 0.5, 0.5]), OutputProblem::PartlyMissing);
        assert_eq!(
            problem_of(p, [f64::INFINITY, 0.0, 0.5, 0.5]),
            OutputProblem::Infinite(f64::INFINITY)
        );
        assert_eq!(problem_of(p, [0.5, 0.25, 0.5, 0.5]), OutputProblem::WrongSum(0.75));
        assert_eq!(problem_of(p, [60.0, 41.0, 0.5, 0.5]), OutputProblem::Percentages(101.0));
        assert_eq!(
            problem_of(ValueKind::Odds, [0.5, 2.0, 2.0, 2.0]),
            OutputProblem::OddsBelowOne(0.5)
        );
        let infinite = OutputProblem::Infinite(f64::NEG_INFINITY);
        assert_eq!(problem_of(ValueKind::Logits, [f64::NEG_INFINITY, 0.0, 0.0, 0.0]), infinite);
    }

    #[test]
    fn a_rejected_item_leaves_the_table_as_it_was() {
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
        assert!(builder.outputs().doubts().warnings().is_empty());
        builder.push(&[0.5, 0.500_001_1, 0.333, 0.648], None).unwrap();
        assert!(builder.push(&[0.5, 0.520_001, 0.5, 0.5], None).is_err());
        let outputs = builder.finish();
        for (item, classifier) in [(0, 0), (1, 0), (1, 1)] {
            let sum: f64 = outputs.output(item, classifier).unwrap().iter().sum();
            assert!((sum - 1.0).abs() < 1e-15);
        }
        assert!((outputs.output(1, 1).unwrap()[0] - 0.333 / 0.981).abs() < 1e-15);
        let warnings = outputs.doubts().warnings();
        assert_eq!(
            warnings[0].message,
            "2 outputs did not add up to 1 (largest deviation 1.90e-2) and were renormalised"
        );
    }

    #[test]
    fn the_sum_tolerance_can_be_changed() {
        let schema = Schema::new(["a"], ["x", "y"]).unwrap();
        let with = |sum_tolerance| InputFormat { sum_tolerance, ..InputFormat::default() };
        for (tolerance, sum, accepted) in
            [(0.0, 1.0, true), (0.0, 1.000_001, false), (0.3, 0.71, true), (0.3, 0.69, false)]
        {
            let mut builder = OutputsBuilder::new(schema.clone(), with(tolerance)).unwrap();
            let pushed = builder.push(&[0.4, sum - 0.4], None);
            assert_eq!(pushed.is_ok(), accepted, "{tolerance} {sum}");
        }
        let three = Schema::new(["a"], ["x", "y", "z"]).unwrap();
        let mut truncated = OutputsBuilder::new(three, InputFormat::default()).unwrap();
        truncated.push(&[0.25, 0.42, 0.31], None).unwrap(); // 0.98, but for rounding of the sum
        for bad in [-0.1, 1.0, f64::NAN] {
            assert!(OutputsBuilder::new(schema.clone(), with(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn tiny_negative_values_count_as_zero() {
        let mut builder = builder(ValueKind::Probabilities, 0.0);
        builder.push(&[1.0, -1e-6, 0.5, 0.5], None).unwrap();
        assert_eq!(builder.outputs().output(0, 0), Some(&[1.0, 0.0][..]));
        assert!(builder.push(&[1.0, -1.1e-6, 0.5, 0.5], None).is_err());
    }

    #[test]
    fn values_of_another_kind_are_doubted() {
        let warned = |kind, raw: [f64; 4]| {
            let mut builder = builder(kind, 0.0);
            builder.push(&raw, None).unwrap();
            builder
                .finish()
                .doubts()
                .warnings()
                .into_iter()
                .map(|warning| warning.message.split(';').next().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        let logits = ["the logits look like probabilities: they add up to 1"];
        let odds = ["the odds look like percentages: they add up to 100"];
        assert_eq!(warned(ValueKind::Logits, [0.3, 0.7, 0.11, 0.9]), logits);
        assert_eq!(warned(ValueKind::Logits, [-0.3, 1.3, 0.11, 0.9]), none);
        assert_eq!(warned(ValueKind::Odds, [30.0, 70.0, 1.0, 99.0]), odds);
        assert_eq!(warned(ValueKind::Odds, [1.2, 3.6, 30.0, 70.0]), none);
        assert_eq!(warned(ValueKind::Probabilities, [0.3, 0.7, 0.1, 0.9]), none);
    }

    /// Groups of outputs that are only renormalised, some of them just within the tolerance, then
    /// raised and missing ones; for numbers of classes with unrolled loops and others.
    #[test]
    fn many_items_at_once_are_the_same_as_one_by_one() {
        for n_classes in [2, 3, 4, 5, 6, 7, 8, 10, 11_usize] {
            let names = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
            let schema = Arc::new(Schema::new(names(2), names(n_classes)).unwrap());
            let rest = |first: f64| {
                let others = vec![(1.0 - first) / (n_classes as f64 - 1.0); n_classes - 1];
                [vec![first], others].concat()
            };
            let edge = |scale: f64| rest(0.3).iter().map(|p| p * scale).collect();
            let plain =
                vec![[rest(0.2), edge(1.0 + 9e-7), rest(0.5), edge(1.0 - 9e-7)].concat(); 6];
            let mut rows: Vec<Vec<f64>> = [0.0, 1e-3, 1e-3 * (1.0 + 1e-6), 0.1, 1.0 / 3.0, 1.0]
                .into_iter()
                .map(rest)
                .collect();
            rows.extend([edge(1.0 + 9e-7), edge(1.0 - 9e-7), vec![f64::NAN; n_classes]]);
            let rows = plain.iter().chain(&rows).chain(rows.iter().rev());
            let raw: Vec<f64> = rows.flatten().copied().collect();
            let input_format = InputFormat { floor: 1e-3, ..InputFormat::default() };
            let (mut one_by_one, mut at_once) = (
                OutputsBuilder::new(Arc::clone(&schema), input_format).unwrap(),
                OutputsBuilder::new(Arc::clone(&schema), input_format).unwrap(),
            );
            for item in raw.chunks_exact(schema.width()) {
                let mut converted = item.to_vec();
                for output in converted.chunks_exact_mut(n_classes) {
                    let n_raised = match input_format.convert(output).unwrap() {
                        Converted::Present { n_raised, .. } => n_raised,
                        Converted::Missing => 0,
                    };
                    one_by_one.outputs.n_raised.push(n_raised);
                }
                one_by_one.outputs.values.extend(converted);
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
                panic!("a negative probability is rejected")
            };
            // 24 renormalised outputs and two times nine others, two per item, were there already.
            assert_eq!((item, classifier.as_str()), (21 + 1, "1"));
            assert_eq!(bits(&at_once), bits(&one_by_one));
        }
    }
}
