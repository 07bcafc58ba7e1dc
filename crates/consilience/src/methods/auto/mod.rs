//! `auto`: the default for prediction, with any number of labels.
//!
//! A mixture of ways to combine the classifiers, from rules without a free parameter to a logistic
//! regression:
//!
//! ```text
//! P(t|x) = Σₕ ωₕ softmax(ln p + Uʰ)ₜ
//! layer         Uₜ = bₜ + Σₖ (uₖ gᵏₜ + vₖ Dᵏₜ + qₖ xᵏₜ)    g = ln max(x, 1e-3), D = ln Dir(x; αₜ)
//! linear pool   Uₜ = bₜ + a ln Σₖ wₖ xᵏₜ
//! logistic      Uₜ = cₜ + Σₖⱼ Wₜₖⱼ gᵏⱼ
//! ```
//!
//! The members are
//! - a **Bayesian pool**: the plain linear and the plain geometric pool, and many pools with other
//!   weights and temperatures, weighted by the likelihood of the labels;
//! - five **layers** fitted with priors of different strength: from one temperature for all
//!   classifiers to one exponent of the output, one of its evidence and one coefficient of its
//!   probability per classifier;
//! - a **linear pool** with fitted weights and temperature;
//! - the **logistic** regression of [`stacking`](super::stacking), whose weight ½ m/(m + 5KJ) grows
//!   with m, the harmonic mean of the class sizes.
//!
//! The other weights ω come from leave-one-out log scores of the labelled items (pseudo-BMA+, Yao
//! et al. 2018). Without labels the mixture is half the linear and half the geometric pool, whose
//! temperatures follow from how much the classifiers agree (module `temperature`). The class prior
//! enters last, so that it can be changed without refitting: every member estimates evidence, and the
//! mean output of a classifier over all items, labelled or not, is the prior that its outputs
//! contain.
//!
//! Nothing is drawn at random: the fit does not depend on a seed, nor on the order and the names of
//! classes and classifiers. Absent outputs are filled in, never by 0: the evidence of an absent
//! classifier is the mean of those present, its logarithms follow [`FillParameters`]. Without any
//! output the result is the class prior.

mod describe;
mod evidence;
mod features;
mod file;
mod fit;
mod layers;
mod leave_one_out;
mod linear;
mod members;
mod pools;
mod scoring;
mod temperature;
mod weights;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use fit::{Auto, FittedAuto};
pub use members::{Layer, LinearRule, Member, Rule};

use super::independent::{Alpha, IndependentFusion, describe_dirichlets};
use super::log_linear::LogLinear;
use super::stacking::{
    FILL_ERROR, FillParameters, Filler, Incomplete, Logistic, LogisticParameters, StackingFusion,
    StackingParameters, for_incomplete, linear_floor,
};
use super::{Block, Fusion};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::formula::{Scoring, Value as FormulaValue};
use crate::methods::{FitDetails, FittedMethod};
use crate::progress::Progress;
use crate::simulation::Truth;
use consilience_numerics::simplex;
use serde_json::{Value, json};

/// All that `auto` needs to fuse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutoParameters {
    /// Layers and linear pools; their weights add up to 1.
    pub members: Vec<Member>,
    /// The Dirichlets of the evidence, `[classifier][true class][class]`; none without labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<Alpha>,
    /// The logistic part; none with too few labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logistic: Option<LogisticParameters>,
    /// The share of the logistic part, from 0 to 1; the members have the rest.
    #[serde(default)]
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
    schema: Arc<Schema>,
    parameters: AutoParameters,
    /// D of every classifier.
    dirichlets: Option<IndependentFusion>,
    logistic: Option<Logistic>,
    filler: Filler,
    /// What members read beside the logarithms.
    needs_probabilities: bool,
    needs_evidence: Option<LogLinear>,
    /// A bound on the members' terms other than evidence.
    size: f64,
}

impl AutoFusion {
    /// Checks shape and range of the parameters.
    pub fn new(schema: Arc<Schema>, parameters: AutoParameters) -> Result<Self> {
        let AutoParameters { members, alpha, logistic, logistic_share, fill } = &parameters;
        check_weights(members)?;
        for member in members {
            member.rule.check(&schema, alpha.is_some())?;
        }
        if !(0.0..=1.0).contains(logistic_share) || (*logistic_share > 0.0 && logistic.is_none()) {
            let requirement = "from 0 to 1, and 0 without `logistic`";
            return Err(Error::parameter("logistic_share", requirement, logistic_share));
        }
        let dirichlets = match alpha {
            Some(alpha) => Some(IndependentFusion::new(Arc::clone(&schema), alpha.clone())?),
            None => None,
        };
        let logistic = match logistic {
            Some(logistic) => Some(Logistic::new(&schema, logistic.clone())?),
            None => None,
        };
        let filler = Filler::new(&schema, fill.clone())?;
        let largest_log = 1.0 - linear_floor(schema.n_classes()).ln();
        let size = members.iter().map(|m| m.rule.size(largest_log)).fold(1.0, f64::max);
        Ok(Self {
            needs_probabilities: members.iter().any(|m| m.rule.needs_probabilities()),
            needs_evidence: largest_evidence(&schema, members, dirichlets.as_ref()),
            schema,
            parameters,
            dirichlets,
            logistic,
            filler,
            size,
        })
    }

    /// The parameters.
    pub fn parameters(&self) -> &AutoParameters {
        &self.parameters
    }

    /// The logistic part alone: what stacking with its default settings gives on the same items.
    /// None with too few labels.
    pub fn stacking(&self) -> Result<Option<StackingFusion>> {
        let AutoParameters { logistic, fill, .. } = self.parameters.clone();
        let Some(logistic) = logistic else { return Ok(None) };
        let parameters = StackingParameters { logistic, fill };
        StackingFusion::new(Arc::clone(&self.schema), parameters).map(Some)
    }

    /// The Dirichlets alone: the independent model and, classifier by classifier, the meta
    /// classifiers. None without labels.
    pub fn dirichlets(&self) -> Option<&IndependentFusion> {
        self.dirichlets.as_ref()
    }

    /// The rules of which the fused distribution is a mixture, with their weights. Each multiplies its
    /// probabilities by the class prior and normalises them; the mixture as a whole does not.
    pub fn parts(&self) -> Result<Vec<(f64, Self)>> {
        let AutoParameters { members, logistic_share: share, .. } = &self.parameters;
        let alone = |chosen: Option<usize>| {
            let mut parameters = self.parameters.clone();
            parameters.logistic_share = f64::from(u8::from(chosen.is_none()));
            for (place, member) in parameters.members.iter_mut().enumerate() {
                member.weight = f64::from(u8::from(chosen.unwrap_or(0) == place));
            }
            Self::new(Arc::clone(&self.schema), parameters)
        };
        let weights = members.iter().enumerate().map(|(i, m)| ((1.0 - share) * m.weight, Some(i)));
        let weights = weights.chain([(*share, None)]).filter(|(weight, _)| *weight > 0.0);
        weights.map(|(weight, chosen)| Ok((weight, alone(chosen)?))).collect()
    }

    /// The fused distribution of an item of which some classifiers are absent, before it is normalised, and the size of
    /// the terms that it is made of.
    fn mixture_of_item(
        &self,
        items: &Items<'_>,
        item: usize,
        incomplete: &Incomplete,
        ln_prior: &[f64],
    ) -> (Vec<f64>, f64) {
        let mut evidence = vec![0.0; incomplete.logs.len()];
        if let Some(dirichlets) = &self.dirichlets {
            evidence::of_item(dirichlets, items, item, &mut evidence);
            evidence::centre_and_fill(&incomplete.present, &mut evidence);
        }
        let share = self.parameters.logistic_share;
        let (mut mixture, mut size) = (vec![0.0; ln_prior.len()], 1.0f64);
        let mut mix = |weight: f64, mut joint: Vec<f64>| {
            simplex::softmax(&mut joint);
            mixture.iter_mut().zip(joint).for_each(|(sum, p)| *sum += weight * p);
        };
        for Member { weight, rule } in &self.parameters.members {
            let mut joint = ln_prior.to_vec();
            size = size.max(1.0 + rule.add_to(&incomplete.logs, &evidence, &mut joint));
            mix((1.0 - share) * weight, joint);
        }
        if let Some(logistic) = &self.logistic {
            let mut joint = ln_prior.to_vec();
            size += logistic.add_to(&incomplete.logs, &mut joint);
            mix(share, joint);
        }
        (mixture, size)
    }

    /// The mixture of all items of a block and its errors.
    fn mix(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        block.load_logs(items);
        if let (Some(largest), Some(dirichlets)) = (&self.needs_evidence, &self.dirichlets) {
            block.load_evidence(dirichlets.evidence());
            largest.add_errors_to(block);
        }
        block.raise_logs(items, linear_floor(items.n_classes()));
        if self.needs_probabilities {
            block.load_probabilities();
        }
        let share = self.parameters.logistic_share;
        block.begin_mixture();
        for Member { weight, rule } in &self.parameters.members {
            rule.write_to_block(prior.ln(), block);
            block.mix((1.0 - share) * weight);
        }
        if let Some(logistic) = self.logistic.as_ref().filter(|_| share > 0.0) {
            block.start_with(prior.ln());
            logistic.evidence.add_to(block);
            block.mix(share);
        }
        let rounding = 8.0 * f64::EPSILON * self.size;
        block.errors_mut().iter_mut().for_each(|error| *error += rounding);
        block.end_mixture();
    }

    /// Hands the mixture of every item of which some classifiers are absent, and its error, to `set`.
    fn mix_incomplete(
        &self,
        items: &Items<'_>,
        prior: &ClassPrior,
        mut set: impl FnMut(usize, Vec<f64>, f64),
    ) {
        for_incomplete(items, &self.filler, |item, incomplete| {
            let (mixture, size) = match &incomplete {
                None => (prior.probabilities().to_vec(), 1.0),
                Some(incomplete) => self.mixture_of_item(items, item, incomplete, prior.ln()),
            };
            set(item, mixture, FILL_ERROR * size);
        });
    }
}

impl FittedMethod for AutoFusion {
    fn file_parameters(&self) -> Value {
        json!(self.parameters)
    }

    fn margins(&self) -> Result<Option<IndependentFusion>> {
        Ok(self.dirichlets().cloned())
    }

    fn is_made_of_dirichlets(&self) -> bool {
        false // the weights of its evidence are learned
    }

    fn describe(&self, details: &FitDetails<'_>) -> Result<String> {
        let dirichlets = match self.dirichlets() {
            Some(dirichlets) => describe_dirichlets(details, dirichlets)?,
            None => String::new(),
        };
        Ok(dirichlets + &describe::describe(&self.schema, &self.parameters))
    }

    fn ln_joint_formula(&self, scoring: &mut Scoring) -> Result<FormulaValue, &'static str> {
        Ok(scoring::ln_joint(self, scoring))
    }

    fn truth(&self) -> Result<Truth, &'static str> {
        Err("it predicts classes and does not model the classifiers")
    }
}

impl Fusion for AutoFusion {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        self.mix(items, prior, block);
        block.ln_mixture();
        self.mix_incomplete(items, prior, |item, mut mixture, error| {
            mixture.iter_mut().for_each(|p| *p = p.max(f64::MIN_POSITIVE).ln());
            block.set_item(item, &mixture, error);
        });
    }

    fn fuse_block(
        &self,
        items: &Items<'_>,
        prior: &ClassPrior,
        block: &mut Block,
        progress: &dyn Progress,
    ) -> Result<()> {
        progress.check()?;
        self.mix(items, prior, block);
        block.normalised_mixture();
        self.mix_incomplete(items, prior, |item, mut mixture, error| {
            simplex::normalise(&mut mixture);
            block.set_item(item, &mixture, error);
        });
        Ok(())
    }

    fn ln_density(&self, _: &Items<'_>, _: &mut Block) -> Result<()> {
        Err(Error::Unsupported {
            method: "auto".into(),
            cannot: "has no density: it predicts classes and does not model the classifiers; \
                     `independent` and `correlated` do"
                .into(),
        })
    }
}

/// The evidence of every classifier times its largest exponent in any member, for a bound on the
/// error; none if no member reads evidence.
fn largest_evidence(
    schema: &Schema,
    members: &[Member],
    dirichlets: Option<&IndependentFusion>,
) -> Option<LogLinear> {
    let largest = |k: usize| {
        let sizes = members.iter().map(|member| member.rule.evidence_exponent(k).abs());
        sizes.fold(0.0, f64::max)
    };
    let exponents: Vec<f64> = (0..schema.n_classifiers()).map(largest).collect();
    let any = exponents.iter().any(|exponent| *exponent > 0.0);
    dirichlets.filter(|_| any).map(|dirichlets| dirichlets.weighted_evidence(&exponents))
}

fn check_weights(members: &[Member]) -> Result<()> {
    if let Some(member) = members.iter().find(|member| !(0.0..=1.0).contains(&member.weight)) {
        return Err(Error::parameter("members: weight", "from 0 to 1", member.weight));
    }
    let sum: f64 = members.iter().map(|member| member.weight).sum();
    if !((sum - 1.0).abs() < 1e-6) {
        return Err(Error::parameter("members: sum of weights", "1", sum));
    }
    Ok(())
}
