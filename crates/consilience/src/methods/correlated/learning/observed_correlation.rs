//! Observed correlations between the outputs of pairs of sources on the training items.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::constants::pair::NEGATIVE_CORRELATION_ERRORS;
use super::pair_items::PairItems;
use crate::data::outputs::Outputs;
use crate::data::schema::Schema;
use crate::error::Result;
use crate::warning::Warning;
use consilience_numerics::parallel;

/// The observed correlation of two sources' outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservedPair {
    /// Names of the two sources.
    pub between: [String; 2],
    /// Number of items with both outputs, by true class.
    pub items: Vec<u64>,
    /// Sample correlations, by true class and component; 0 if an output does not vary.
    pub correlation: Vec<Vec<f64>>,
    /// 90 % intervals of the correlations, by true class and component; empty in files of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interval: Vec<Vec<[f64; 2]>>,
}

impl ObservedPair {
    /// Computes the correlations of every pair of sources.
    pub fn all(outputs: &Outputs) -> Result<Vec<Self>> {
        let n = outputs.schema().n_classifiers();
        let between: Vec<_> = (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        let pairs = parallel::map(between.len(), |p| Self::of(outputs, between[p]));
        pairs.into_iter().collect()
    }

    fn of(outputs: &Outputs, (a, b): (usize, usize)) -> Result<Self> {
        let schema = outputs.schema();
        let between = [a, b].map(|k| schema.classifiers()[k].clone());
        let pair = Arc::new(Schema::new(between.clone(), schema.classes().to_vec())?);
        let classes = PairItems::by_class(&outputs.select(&pair)?)?;
        let row = |items: &PairItems| (0..schema.n_classes()).map(|l| items.correlation(l)).unzip();
        let (correlation, interval) = classes.iter().map(row).unzip();
        Ok(Self {
            between,
            items: classes.iter().map(|items| items.len() as u64).collect(),
            correlation,
            interval,
        })
    }

    /// Mean over components in one class.
    pub fn in_class(&self, class: usize) -> f64 {
        let row = &self.correlation[class];
        row.iter().sum::<f64>() / row.len() as f64
    }

    /// Mean over components and, weighted by their numbers of items, over classes.
    pub fn mean(&self) -> f64 {
        let n: u64 = self.items.iter().sum();
        let weighted = self.items.iter().enumerate().map(|(j, n)| *n as f64 * self.in_class(j));
        weighted.sum::<f64>() / (n as f64).max(1.0)
    }

    /// Warnings about classes with clearly negative correlations, which the model cannot represent.
    pub fn warnings(&self, classes: &[String]) -> Vec<Warning> {
        let [first, second] = &self.between;
        let of = |(j, name): (usize, &String)| {
            let (n, r) = (self.items[j], self.in_class(j));
            let z = r.atanh() * (n as f64 - 3.0).max(0.0).sqrt();
            (z < -NEGATIVE_CORRELATION_ERRORS).then(|| {
                Warning::data(format!(
                    "`{first}` and `{second}` are negatively correlated in class `{name}` ({r:.2} \
                     over {n} items, beyond {NEGATIVE_CORRELATION_ERRORS} standard errors): the \
                     model cannot represent this and treats them as independent"
                ))
            })
        };
        classes.iter().enumerate().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::input_format::InputFormat;
    use crate::data::outputs::OutputsBuilder;

    /// Twelve items of two classes; in the second class one source's outputs are reversed.
    #[test]
    fn reversed_outputs_cause_a_warning() {
        let schema = Arc::new(Schema::new(["a", "b"], ["x", "y"]).unwrap());
        let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
        for i in 0..12 {
            let p = 0.2 + 0.05 * f64::from(i);
            let noise = 0.01 * f64::from(i % 3);
            builder.push(&[p, 1.0 - p, p + noise, 1.0 - p - noise], Some("x")).unwrap();
            builder.push(&[p, 1.0 - p, 1.0 - p - noise, p + noise], Some("y")).unwrap();
        }
        let pairs = ObservedPair::all(&builder.finish()).unwrap();
        assert_eq!(pairs.len(), 1);
        assert_eq!(pairs[0].items, [12, 12]);
        assert!(pairs[0].in_class(0) > 0.99 && pairs[0].in_class(1) < -0.99, "{:?}", pairs[0]);
        assert!(pairs[0].mean().abs() < 1e-9);
        let warnings = pairs[0].warnings(&["x".into(), "y".into()]);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].message.contains("in class `y`"));
    }

    /// The boundary of the rule: 103 items have a standard error of z of 0.1, so that tanh(−0.3) = −0.2913 decides.
    #[test]
    fn three_standard_errors_decide() {
        let pair = |r: f64| ObservedPair {
            between: ["a".into(), "b".into()],
            items: vec![103, 2],
            correlation: vec![vec![r, r], vec![-1.0, -1.0]],
            interval: Vec::new(),
        };
        let classes = ["x".to_owned(), "y".to_owned()];
        assert_eq!(pair(-0.290).warnings(&classes).len(), 0);
        assert_eq!(pair(-0.293).warnings(&classes).len(), 1);
    }
}
