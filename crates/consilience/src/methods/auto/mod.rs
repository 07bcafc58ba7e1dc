//! `auto`: the default for prediction, when nothing is known about the classifiers.
//!
//! Two ways to combine the classifiers, both fitted to labelled items, and their average:
//!
//! ```text
//! layer      Uₜ = bₜ + Σₖ (uₖ gᵏₜ + vₖ Dᵏₜ)       g = ln max(x, 1e-3), D = ln Dir(x; αₜ)
//! logistic   Vₜ = cₜ + Σₖⱼ Wₜₖⱼ gᵏⱼ
//! P(t|x) = (1 − w) softmax(ln p + U)ₜ + w softmax(ln p + V)ₜ
//! ```
//!
//! The **layer** has two exponents per classifier: one of its output (u) and one of its evidence
//! (v), which is the density of the output under a Dirichlet for every true class. Opinion pools
//! (u), the independent model (v = 1), meta classifiers and their tempered versions are special
//! cases, and without data the prior makes it the geometric pool. The **logistic** part is
//! [`stacking`](super::stacking). Its share w = ½ m/(m + 5KJ), with m the harmonic mean of the
//! class sizes, grows with the number of items per weight; averaging probabilities instead of
//! logarithms reduces the remaining overconfidence.
//!
//! Class frequencies are kept out of both parts, so the class prior p can be changed without
//! refitting. Absent outputs are filled in, never by 0: the evidence of an absent classifier is
//! the mean of those present, its logarithms follow [`FillParameters`]. Without any output the
//! result is the class prior.
//!
//! **Limits**: with fewer than ten items per class, or with many nearly identical noisy sources and
//! few items, a plain pool may be better.

mod describe;
mod evidence;
mod fit;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use fit::{Auto, FittedAuto};

use super::independent::{Alpha, IndependentFusion, describe_dirichlets};
use super::log_linear::LogLinear;
use super::stacking::{
    FILL_ERROR, FillParameters, Filler, Incomplete, LARGEST_COEFFICIENT, Logistic,
    LogisticParameters, StackingFusion, StackingParameters, for_incomplete, linear_floor,
};
use super::{Block, Fusion};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::FittedMethod;
use crate::model::Model;
use crate::simulation::Truth;
use consilience_numerics::simplex;
use serde_json::{Value, json};

/// The layer: Uₜ = bₜ + Σₖ (uₖ gᵏₜ + vₖ Dᵏₜ).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerParameters {
    /// bₜ.
    pub bias: Vec<f64>,
    /// uₖ: the exponent of the output of classifier k.
    pub output_exponents: Vec<f64>,
    /// vₖ: the exponent of the evidence of its output.
    pub evidence_exponents: Vec<f64>,
    /// The Dirichlets of that evidence, `[classifier][true class][class]`.
    pub alpha: Alpha,
}

/// All that `auto` needs to fuse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutoParameters {
    /// The layer.
    pub layer: LayerParameters,
    /// The logistic part.
    pub logistic: LogisticParameters,
    /// w: the share of the logistic part, from 0 to 1.
    pub logistic_share: f64,
    /// What stands in for an absent classifier; the mean of those present if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<FillParameters>,
}

/// `auto` with its parameters.
///
/// # Example
/// ```
/// use consilience::{Auto, simulation::Preset};
///
/// let truth = Preset::Sim2.truth(0.5)?;
/// let model = Auto::default().fit(&truth.simulate(200, 1)?)?;
/// let fused = model.fuse(&truth.simulate(10, 2)?)?;
/// assert_eq!(fused.n_items(), 30);
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct AutoFusion {
    parameters: AutoParameters,
    /// D of every classifier.
    dirichlets: IndependentFusion,
    /// Σ v D, linear in ln x.
    evidence: LogLinear,
    /// b + Σ u g, linear in g.
    outputs: LogLinear,
    logistic: Logistic,
    filler: Filler,
}

impl AutoFusion {
    /// Checks shape and range of the parameters.
    pub fn new(schema: Arc<Schema>, parameters: AutoParameters) -> Result<Self> {
        let AutoParameters { layer, logistic, logistic_share, fill } = &parameters;
        check_layer(&schema, layer)?;
        if !(0.0..=1.0).contains(logistic_share) {
            return Err(Error::parameter("logistic_share", "from 0 to 1", logistic_share));
        }
        let logistic = Logistic::new(&schema, logistic.clone())?;
        let filler = Filler::new(&schema, fill.clone())?;
        let outputs = pooled_logs(layer);
        let dirichlets = IndependentFusion::new(schema, layer.alpha.clone())?;
        let evidence = dirichlets.weighted_evidence(&layer.evidence_exponents);
        Ok(Self { parameters, dirichlets, evidence, outputs, logistic, filler })
    }

    /// The parameters.
    pub fn parameters(&self) -> &AutoParameters {
        &self.parameters
    }

    /// The logistic part alone: what stacking with its default settings gives on the same items.
    pub fn stacking(&self) -> Result<StackingFusion> {
        let AutoParameters { logistic, fill, .. } = self.parameters.clone();
        StackingFusion::new(Arc::clone(self.schema()), StackingParameters { logistic, fill })
    }

    /// The Dirichlets alone: the independent model and, classifier by classifier, the meta
    /// classifiers.
    pub fn dirichlets(&self) -> &IndependentFusion {
        &self.dirichlets
    }

    /// The fused distribution of an item of which some classifiers are absent, as logarithms, and
    /// the size of the terms that it is made of.
    fn ln_mixture(
        &self,
        items: &Items<'_>,
        item: usize,
        incomplete: &Incomplete,
        ln_prior: &[f64],
    ) -> (Vec<f64>, f64) {
        let LayerParameters { bias, output_exponents, evidence_exponents, .. } =
            &self.parameters.layer;
        let (k, j) = (output_exponents.len(), bias.len());
        let mut evidence = vec![0.0; k * j];
        evidence::of_item(&self.dirichlets, items, item, &mut evidence);
        evidence::centre_and_fill(&incomplete.present, &mut evidence);
        let mut layer: Vec<f64> = ln_prior.iter().zip(bias).map(|(p, b)| p + b).collect();
        let mut size = 1.0;
        for c in 0..k {
            let (mut largest, range) = (0.0f64, c * j..(c + 1) * j);
            let terms = incomplete.logs[range.clone()].iter().zip(&evidence[range]);
            for (value, (g, d)) in layer.iter_mut().zip(terms) {
                *value += output_exponents[c] * g + evidence_exponents[c] * d;
                largest = largest
                    .max((output_exponents[c] * g).abs() + (evidence_exponents[c] * d).abs());
            }
            size += largest;
        }
        let mut logistic = ln_prior.to_vec();
        size += self.logistic.add_to(&incomplete.logs, &mut logistic);
        simplex::softmax(&mut layer);
        simplex::softmax(&mut logistic);
        let share = self.parameters.logistic_share;
        let mixed = layer.iter().zip(&logistic).map(|(a, b)| (1.0 - share) * a + share * b);
        (mixed.map(|p| p.max(f64::MIN_POSITIVE).ln()).collect(), size)
    }
}

impl FittedMethod for AutoFusion {
    fn file_parameters(&self) -> Value {
        json!(self.parameters)
    }

    fn margins(&self) -> Result<Option<IndependentFusion>> {
        Ok(Some(self.dirichlets().clone()))
    }

    fn is_made_of_dirichlets(&self) -> bool {
        false // the weights of its evidence are learned
    }

    fn describe(&self, model: &Model) -> Result<String> {
        let dirichlets = describe_dirichlets(model, self.dirichlets())?;
        Ok(dirichlets + &describe::describe(self.schema(), &self.parameters))
    }

    fn truth(&self) -> Result<Truth, &'static str> {
        Err("it predicts classes and does not model the classifiers")
    }
}

impl Fusion for AutoFusion {
    fn schema(&self) -> &Arc<Schema> {
        self.dirichlets.schema()
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        block.load_logs(items);
        block.add_per_class(prior.ln());
        self.evidence.add_to(block);
        block.raise_logs(items, linear_floor(items.n_classes()));
        self.outputs.add_to(block);
        block.set_aside();
        block.add_per_class(prior.ln());
        self.logistic.evidence.add_to(block);
        block.mix(self.parameters.logistic_share);
        for_incomplete(items, &self.filler, |item, incomplete| {
            let (joint, size) = match &incomplete {
                None => (prior.ln().to_vec(), 1.0),
                Some(incomplete) => self.ln_mixture(items, item, incomplete, prior.ln()),
            };
            block.set_item(item, &joint, FILL_ERROR * size);
        });
    }

    fn ln_density(&self, _: &Items<'_>, _: &mut Block) -> Result<()> {
        Err(Error::Unsupported {
            method: "auto".into(),
            cannot: "has no density: it predicts classes and does not model the classifiers".into(),
        })
    }
}

/// b + Σ u g. `LogLinear` keeps a constant for every classifier; the bias goes with the first.
fn pooled_logs(layer: &LayerParameters) -> LogLinear {
    let (k, j) = (layer.output_exponents.len(), layer.bias.len());
    let mut constants = vec![0.0; k * j];
    constants[..j].copy_from_slice(&layer.bias);
    let mut coefficients = vec![0.0; k * j * j];
    for (c, exponent) in layer.output_exponents.iter().enumerate() {
        (0..j).for_each(|t| coefficients[(c * j + t) * j + t] = *exponent);
    }
    let size = layer.bias.iter().fold(0.0f64, |max, b| max.max(b.abs()));
    LogLinear::new(j, constants, coefficients, size)
}

fn check_layer(schema: &Schema, layer: &LayerParameters) -> Result<()> {
    let (k, j) = (schema.n_classifiers(), schema.n_classes());
    let LayerParameters { bias, output_exponents, evidence_exponents, .. } = layer;
    for (name, values, length) in [
        ("layer.bias", bias, j),
        ("layer.output_exponents", output_exponents, k),
        ("layer.evidence_exponents", evidence_exponents, k),
    ] {
        if values.len() != length {
            return Err(Error::Mismatch {
                what: "shapes of `layer` and the model",
                expected: format!("{length} numbers in `{name}`"),
                found: values.len().to_string(),
            });
        }
        if let Some(i) = values.iter().position(|value| !(value.abs() <= LARGEST_COEFFICIENT)) {
            let name = format!("{name}[{i}]");
            return Err(Error::parameter(name, "a number of at most 1e6 in size", values[i]));
        }
    }
    Ok(())
}
