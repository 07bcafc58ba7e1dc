//! Bayesian combination of hard decisions: only which class each classifier finds most probable.
//!
//! ```text
//! cᵏ = arg max xᵏ,   P(t=j|c) ∝ pⱼ ∏ₖ πᵏⱼ(cᵏ),   πᵏⱼ ~ Dirichlet
//! ```
//!
//! The independent Bayesian classifier combination with known labels: the confusion matrices' rows
//! have conjugate posteriors, so that everything is closed form, and the probability of a new
//! decision is the posterior mean. It ignores the probabilities, so it is the baseline that shows
//! how much they add.
//!
//! **Ties.** Where m classes share the largest probability, each counts as 1/m of a decision in
//! training, and a new item's evidence is the mean of πᵏⱼ over them: no order of classes matters.
//!
//! # References
//! Kim, Ghahramani, "Bayesian classifier combination", AISTATS 2012, section 3.
//! <https://proceedings.mlr.press/v22/kim12.html>

mod decisions;
mod describe;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::independent::{Alpha, check_dirichlets};
use super::{
    Block, Fit, FitDetails, FitMethod, FittedMethod, Fusion, MethodOption, TrainingSet, read,
};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::{Items, Outputs};
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::formula::{Matrix, Scoring, Value as FormulaValue};
use crate::simulation::Truth;

pub(crate) use decisions::Decisions;
use decisions::decisions;

/// Options of `bcc`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bcc {
    /// Prior pseudo-count of every entry of a confusion matrix, in decisions; 1 by default, which
    /// makes all rows equally probable.
    pub prior_decisions: f64,
}

impl Default for Bcc {
    fn default() -> Self {
        Self { prior_decisions: 1.0 }
    }
}

impl Bcc {
    /// Refuses settings out of range.
    pub fn check(&self) -> Result<()> {
        if !(1e-6..=1e9).contains(&self.prior_decisions) {
            let requirement = "from 1e-6 to 1e9";
            return Err(Error::parameter("prior_decisions", requirement, self.prior_decisions));
        }
        Ok(())
    }

    /// Counts the decisions of labelled outputs.
    #[doc(hidden)]
    pub fn learn(&self, outputs: &Outputs) -> Result<BccFusion> {
        self.learn_from(outputs.schema(), &Decisions::of(outputs))
    }

    fn learn_from(&self, schema: &Arc<Schema>, decisions: &Decisions) -> Result<BccFusion> {
        self.check()?;
        let (k, j) = (schema.n_classifiers(), schema.n_classes());
        let prior = vec![vec![vec![self.prior_decisions; j]; j]; k];
        BccFusion::new(Arc::clone(schema), prior)?.with_decisions(decisions)
    }
}

impl FitMethod for Bcc {
    type Fitted = BccFusion;

    const OPTIONS: &'static [MethodOption] = &[MethodOption::new(
        "prior_decisions",
        "a number from 1e-6 to 1e9",
        "Prior weight of every entry of a confusion matrix, as a number of decisions.",
    )];

    fn needs_every_output(&self) -> bool {
        true
    }

    fn needs_items(&self) -> bool {
        false
    }

    fn fit_method(&self, data: &TrainingSet<'_>) -> Result<Fit<BccFusion>> {
        Ok(Fit::new(self.learn_from(data.outputs.schema(), data.decisions)?, Vec::new()))
    }

    fn update_method(
        &self,
        fitted: &BccFusion,
        data: &TrainingSet<'_>,
    ) -> Option<Result<Fit<BccFusion>>> {
        Some(fitted.updated(data.outputs).map(|updated| Fit::new(updated, Vec::new())))
    }

    fn read_parameters(schema: Arc<Schema>, parameters: Value) -> Result<BccFusion> {
        BccFusion::new(schema, read::<Parameters>(parameters)?.confusion)
    }
}

/// The form in the model file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    confusion: Alpha,
}

impl FittedMethod for BccFusion {
    fn file_parameters(&self) -> Value {
        json!(Parameters { confusion: self.confusion.clone() })
    }

    fn describe(&self, _: &FitDetails<'_>) -> Result<String> {
        Ok(describe::describe(&self.schema, &self.confusion))
    }

    fn ln_joint_formula(&self, scoring: &mut Scoring) -> Result<FormulaValue, &'static str> {
        let (f, j) = (&mut scoring.formula, scoring.n_classes);
        let largest = f.largest_over_classes(scoring.outputs);
        let is_largest = f.is_equal(scoring.outputs, largest);
        let decided = f.indicator(is_largest);
        // From [k][l][j] to [k][j][l].
        let transposed = |own: &[f64]| (0..j * j).map(|i| own[i % j * j + i / j]).collect();
        let means: Vec<Vec<f64>> = self.means.chunks(j * j).map(transposed).collect();
        let mean = f.per_classifier(Matrix::new(j, means.concat()), decided);
        let evidence = f.ln(mean);
        let evidence = scoring.of_present(evidence);
        let sum = scoring.sum_over_classifiers(evidence);
        Ok(scoring.formula.add(sum, scoring.ln_prior))
    }

    fn truth(&self) -> Result<Truth, &'static str> {
        Err("it models decisions, not outputs")
    }
}

/// Confusion matrices of every classifier.
///
/// # Example
/// ```
/// use consilience::{methods::bcc::Bcc, simulation::Preset};
///
/// let truth = Preset::Sim2.truth(0.5)?;
/// let model = Bcc::default().fit(&truth.simulate(200, 1)?)?;
/// let fused = model.fuse(&truth.simulate(10, 2)?)?;
/// assert_eq!(fused.n_items(), 30);
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BccFusion {
    schema: Arc<Schema>,
    confusion: Alpha,
    /// The mean of πᵏⱼ(l), at (k·J + l)·J + j.
    means: Vec<f64>,
}

impl BccFusion {
    /// From the Dirichlet of every row: `confusion[k][j][l]` decisions of classifier k for class l
    /// when the true class is j, with the pseudo-counts of the prior.
    pub fn new(schema: Arc<Schema>, confusion: Alpha) -> Result<Self> {
        check_dirichlets("confusion", "shapes of `confusion` and the model", &schema, &confusion)?;
        let (k, j) = (schema.n_classifiers(), schema.n_classes());
        let mut means = vec![0.0; k * j * j];
        for (k, rows) in confusion.iter().enumerate() {
            for (t, row) in rows.iter().enumerate() {
                let total: f64 = row.iter().sum();
                for (l, count) in row.iter().enumerate() {
                    means[(k * j + l) * j + t] = count / total;
                }
            }
        }
        Ok(Self { schema, confusion, means })
    }

    /// The Dirichlets of all rows.
    pub fn confusion(&self) -> &Alpha {
        &self.confusion
    }

    /// With the decisions of more outputs; items without a label are ignored.
    pub fn updated(&self, outputs: &Outputs) -> Result<Self> {
        self.with_decisions(&Decisions::of(outputs))
    }

    fn with_decisions(&self, decisions: &Decisions) -> Result<Self> {
        let mut confusion = self.confusion.clone();
        for (k, rows) in confusion.iter_mut().enumerate() {
            for (t, row) in rows.iter_mut().enumerate() {
                row.iter_mut().enumerate().for_each(|(l, cell)| *cell += decisions.count(k, t, l));
            }
        }
        Self::new(Arc::clone(&self.schema), confusion)
    }
}

impl Fusion for BccFusion {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        let n_classes = items.n_classes();
        let (mut joint, mut means) = (vec![0.0; n_classes], vec![0.0; n_classes]);
        for item in 0..items.len() {
            joint.copy_from_slice(prior.ln());
            let mut size = 1.0;
            for (k, output) in items.present(item) {
                // Shares of a tie are the same for all classes and cancel.
                means.fill(0.0);
                for l in decisions(output) {
                    let row = &self.means[(k * n_classes + l) * n_classes..][..n_classes];
                    means.iter_mut().zip(row).for_each(|(sum, mean)| *sum += mean);
                }
                for (joint, mean) in joint.iter_mut().zip(&means) {
                    *joint += mean.ln();
                    size += mean.ln().abs();
                }
            }
            block.set_item(item, &joint, 2.0 * f64::EPSILON * size);
        }
    }

    fn ln_density(&self, _: &Items<'_>, _: &mut Block) -> Result<()> {
        Err(Error::unsupported("bcc", "has no density: it models decisions, not outputs"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::fuse;
    use crate::{InputFormat, OutputsBuilder};

    fn outputs(rows: &[([f64; 4], Option<usize>)]) -> Outputs {
        let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
        let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
        for (row, label) in rows {
            builder.push_indexed(row, *label).unwrap();
        }
        builder.finish()
    }

    /// Counts and products by hand: `a` decides right 2 of 2 times for x and is tied once and wrong
    /// once for y; `b` is missing for the last item.
    #[test]
    fn counts_and_predictions_are_those_by_hand() {
        let gap = f64::NAN;
        let train = outputs(&[
            ([0.9, 0.1, 0.4, 0.6], Some(0)),
            ([0.6, 0.4, 0.8, 0.2], Some(0)),
            ([0.5, 0.5, 0.3, 0.7], Some(1)),
            ([0.7, 0.3, gap, gap], Some(1)),
        ]);
        let fusion = Bcc::default().learn(&train).unwrap();
        let want = [[[3.0, 1.0], [2.5, 1.5]], [[2.0, 2.0], [1.0, 2.0]]]
            .map(|m| m.map(|r| r.to_vec()).to_vec());
        assert_eq!(fusion.confusion().as_slice(), want);
        let prior = ClassPrior::new(&[0.3, 0.7]).unwrap();
        let test = outputs(&[
            ([0.8, 0.2, 0.1, 0.9], None),
            ([0.5, 0.5, gap, gap], None),
            ([gap, gap, 0.9, 0.1], None),
        ]);
        let fused = fuse(&fusion, &test, &prior).unwrap();
        let (x, y) = (0.3 * 0.75 * 0.5, 0.7 * (2.5 / 4.0) * (2.0 / 3.0));
        assert!((fused.probabilities(0)[0] - x / (x + y)).abs() < 1e-14);
        // A tie of all classes is no evidence.
        assert!((fused.probabilities(1)[0] - 0.3).abs() < 1e-14);
        let (x, y) = (0.3 * 0.5, 0.7 / 3.0);
        assert!((fused.probabilities(2)[0] - x / (x + y)).abs() < 1e-14);
    }

    #[test]
    fn what_is_no_confusion_is_refused() {
        let schema = Arc::new(Schema::new(["a"], ["x", "y"]).unwrap());
        let bad = vec![vec![vec![1.0, 0.0], vec![1.0, 1.0]]];
        let error = BccFusion::new(schema, bad).unwrap_err().to_string();
        assert!(error.contains("confusion[0][0][1]"), "{error}");
        let config = Bcc { prior_decisions: 0.0 };
        assert!(config.fit(&outputs(&[([0.5; 4], Some(0))])).is_err());
    }
}
