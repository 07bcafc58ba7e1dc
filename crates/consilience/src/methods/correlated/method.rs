//! The fitted correlated model, whichever its structure.

use std::sync::Arc;

use serde_json::Value;

use super::{CorrelatedParameters, PairInsight, TreeParameters, describe};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::Result;
use crate::formula::{Scoring, Value as FormulaValue};
use crate::methods::independent::{IndependentFusion, describe_dirichlets};
use crate::methods::{Block, Draw, FitDetails, FittedMethod, Fusion};
use crate::simulation::Truth;

/// The fitted correlated model.
#[derive(Debug, Clone, PartialEq)]
pub enum CorrelatedMethod {
    /// The paper's model: one joint distribution per class over the outputs of all classifiers.
    Joint(CorrelatedParameters),
    /// A tree of pairs of classifiers.
    Tree(TreeParameters),
}

impl CorrelatedMethod {
    fn fusion(&self) -> &dyn Fusion {
        match self {
            Self::Joint(parameters) => parameters.fusion(),
            Self::Tree(parameters) => parameters.fusion(),
        }
    }
}

impl Fusion for CorrelatedMethod {
    fn schema(&self) -> &Arc<Schema> {
        self.fusion().schema()
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        self.fusion().ln_joint(items, prior, block);
    }

    fn ln_density(&self, items: &Items<'_>, block: &mut Block) -> Result<()> {
        self.fusion().ln_density(items, block)
    }

    fn items_per_task(&self) -> usize {
        self.fusion().items_per_task()
    }
}

impl FittedMethod for CorrelatedMethod {
    fn file_parameters(&self) -> Value {
        match self {
            Self::Joint(parameters) => parameters.file_form(),
            Self::Tree(parameters) => parameters.file_form(),
        }
    }

    fn margins(&self) -> Result<Option<IndependentFusion>> {
        match self {
            Self::Joint(parameters) => parameters.margins().map(Some),
            Self::Tree(parameters) => parameters.margins().map(Some),
        }
    }

    fn implied_correlations(&self, prior: &ClassPrior) -> Result<Option<Vec<PairInsight>>> {
        match self {
            Self::Joint(parameters) => parameters.pairs(prior).map(Some),
            Self::Tree(parameters) => parameters.pairs(prior).map(Some),
        }
    }

    fn describe(&self, details: &FitDetails<'_>) -> Result<String> {
        let margins = self.margins()?.map(|margins| describe_dirichlets(details, &margins));
        let shared = match self {
            Self::Joint(parameters) => describe::describe_joint(details, parameters),
            Self::Tree(parameters) => describe::describe_tree(details, parameters.fusion()),
        };
        let implied = self.implied_correlations(details.class_prior)?;
        let correlations =
            implied.map_or_else(String::new, |pairs| describe::correlations(details, &pairs));
        Ok(margins.transpose()?.unwrap_or_default() + &shared + &correlations)
    }

    fn has_posterior(&self) -> bool {
        true
    }

    fn rule_of_draw(&self, draw: &Draw) -> Result<Box<dyn Fusion>> {
        match self {
            Self::Joint(parameters) => parameters.drawn(draw),
            Self::Tree(parameters) => Ok(Box::new(parameters.drawn(draw)?)),
        }
    }

    fn check_draw(&self, draw: &Draw) -> Result<()> {
        match self {
            Self::Joint(parameters) => parameters.drawn_classes(draw).map(|_| ()),
            Self::Tree(parameters) => parameters.check_draw(draw),
        }
    }

    fn n_shared_parts(&self) -> usize {
        match self {
            Self::Joint(parameters) => parameters.classes()[0].pairs().len() + 1,
            Self::Tree(_) => 0,
        }
    }

    fn ln_joint_formula(&self, _: &mut Scoring) -> Result<FormulaValue, &'static str> {
        Err("its densities are integrals without a closed form")
    }

    fn truth(&self) -> Result<Truth, &'static str> {
        match self {
            Self::Joint(parameters) => {
                Ok(parameters.truth().expect("the distributions were checked"))
            }
            Self::Tree(parameters) => Ok(Truth::of_tree(parameters.fusion().clone())),
        }
    }
}
