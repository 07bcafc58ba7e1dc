//! Fusion by the paper's model of three and more sources.
//!
//! The exact density is estimated ([`MultiDensity`]) to a wanted error. For fusing, all classes use the
//! same points, until the error of the fused probabilities is small enough. Two cases have no such
//! estimate: private shapes below [`SMALLEST_PRIVATE`], and items whose estimate is not resolved under
//! some class. These items are fused by the tree of pairs with the same distributions of pairs, and
//! their fused probabilities have an `error` of 1. [`Fusion::ln_density`] never falls back: it returns
//! the estimate, with an infinite error if it is not resolved.
//!
//! Missing sources are marginalised exactly: a shape that a missing source shared with one other becomes
//! private to that one. One or two sources that are left are fused as [`CorrelatedFusion`] fuses them.
//! The resolution applies to densities of two sources only: to such items and to the tree.
//!
//! [`CorrelatedFusion`]: super::CorrelatedFusion

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};

use super::tree::{TreeFusion, TreeKind, TreePair};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::Result;
use crate::methods::{Block, Fusion};
use crate::progress::NoProgress;
use correlated_dirichlet::multi::class_estimates::{ClassEstimates, ClassGoal, estimate_classes};
use correlated_dirichlet::{CorrelatedDirichlet, Estimate, MultiDensity, MultiScratch};

/// The wanted error of a log density, and of a fused probability.
pub const FULL_TOLERANCE: f64 = 1e-3;

/// The smallest private shape for which items are fused by the full density. Below, the weights of the
/// points have infinite variance: of 97 random densities 64 were not resolved, and 4 of the other 33
/// were off by more than twice their reported error (`experiments/many`).
pub const SMALLEST_PRIVATE: f64 = 0.3;

/// The paper's model of any number of sources.
#[derive(Debug)]
pub struct FullFusion {
    schema: Arc<Schema>,
    classes: Vec<CorrelatedDirichlet>,
    tree: TreeFusion,
    /// Densities of every class for every set of three or more present sources so far.
    densities: RwLock<HashMap<Vec<bool>, Arc<Vec<MultiDensity>>>>,
    /// Buffers, one for every thread that has fused.
    scratches: Mutex<Vec<MultiScratch>>,
}

const POISONED: &str = "no thread panics while it holds the lock";
const VALID: &str = "the marginal distribution of valid parameters is valid";

impl Clone for FullFusion {
    /// Densities for sets of present sources are made again when needed.
    fn clone(&self) -> Self {
        Self {
            schema: Arc::clone(&self.schema),
            classes: self.classes.clone(),
            tree: self.tree.clone(),
            densities: RwLock::default(),
            scratches: Mutex::default(),
        }
    }
}

impl FullFusion {
    /// From one correlated Dirichlet per class and the resolution of densities of two sources.
    pub fn new(
        schema: Arc<Schema>,
        classes: &[CorrelatedDirichlet],
        resolution: f64,
    ) -> Result<Self> {
        let full = Self {
            tree: tree_of(&schema, classes, resolution)?,
            schema,
            classes: classes.to_vec(),
            densities: RwLock::default(),
            scratches: Mutex::default(),
        };
        full.densities_of(&vec![true; full.schema.n_classifiers()])?;
        Ok(full)
    }

    /// The smallest private shape on which the density of all sources depends; see [`SMALLEST_PRIVATE`].
    pub fn smallest_private(&self) -> f64 {
        let all = self.densities_of(&vec![true; self.schema.n_classifiers()]).expect(VALID);
        smallest_private(&all)
    }

    /// The densities for a set of present sources, made when it first occurs.
    fn densities_of(&self, present: &[bool]) -> Result<Arc<Vec<MultiDensity>>> {
        if let Some(densities) = self.densities.read().expect(POISONED).get(present) {
            return Ok(Arc::clone(densities));
        }
        let density = |class: &CorrelatedDirichlet| -> Result<MultiDensity> {
            let mut left = class.clone();
            for k in (0..present.len()).rev().filter(|k| !present[*k]) {
                left = left.without(k)?;
            }
            Ok(MultiDensity::new(&left)?)
        };
        let densities = Arc::new(self.classes.iter().map(density).collect::<Result<Vec<_>>>()?);
        let mut known = self.densities.write().expect(POISONED);
        Ok(Arc::clone(known.entry(present.to_vec()).or_insert(densities)))
    }

    /// Log densities of an item of three or more outputs and the error of its fused probabilities;
    /// `None` if some density is not resolved.
    fn fusing_estimates(
        &self,
        item: &Item<'_>,
        prior: &ClassPrior,
        scratch: &mut MultiScratch,
    ) -> Option<(Vec<f64>, f64)> {
        let densities = self.densities_of(&item.present).expect(VALID);
        if smallest_private(&densities) < SMALLEST_PRIVATE || !item.is_inside() {
            return None;
        }
        let goal = ClassGoal { ln_prior: prior.ln(), tolerance: FULL_TOLERANCE };
        let all: Vec<&MultiDensity> = densities.iter().collect();
        let ClassEstimates { estimates, error } =
            estimate_classes(&all, &item.outputs, item.number, goal, scratch);
        estimates
            .iter()
            .all(|e| e.is_resolved() && e.ln_density.is_finite())
            .then(|| (ln_densities(&estimates), error))
    }

    /// Fuses one item by the tree, or gives its log density if there is no prior.
    fn by_tree(&self, item: &Items<'_>, prior: Option<&ClassPrior>) -> Block {
        let mut block = Block::default();
        block.reset(item);
        self.tree.compute(item, prior, &mut block, &NoProgress).expect("a tree has a density");
        block
    }

    /// Does work with the buffers of an earlier task, which hold the points that all items share.
    fn with_scratch(&self, work: impl FnOnce(&mut MultiScratch)) {
        let mut scratch = self.scratches.lock().expect(POISONED).pop().unwrap_or_default();
        work(&mut scratch);
        self.scratches.lock().expect(POISONED).push(scratch);
    }
}

fn smallest_private(classes: &[MultiDensity]) -> f64 {
    classes.iter().map(MultiDensity::smallest_private).fold(f64::INFINITY, f64::min)
}

fn ln_densities(estimates: &[Estimate]) -> Vec<f64> {
    estimates.iter().map(|estimate| estimate.ln_density).collect()
}

/// The outputs of one item.
struct Item<'a> {
    present: Vec<bool>,
    outputs: Vec<&'a [f64]>,
    number: u64,
}

impl<'a> Item<'a> {
    fn of(items: &Items<'a>, item: usize) -> Self {
        let all = || (0..items.n_classifiers()).map(|k| items.output(item, k));
        let outputs: Vec<&[f64]> = all().flatten().collect();
        let number = number_of(&outputs);
        Self { present: all().map(|x| x.is_some()).collect(), outputs, number }
    }

    /// Whether there are outputs of three or more sources.
    fn is_multi(&self) -> bool {
        self.outputs.len() > 2
    }

    /// Whether no output has an element of exactly 0.
    fn is_inside(&self) -> bool {
        self.outputs.iter().copied().flatten().all(|x| *x > 0.0)
    }
}

/// A number of an item made from the bits of its outputs: items differ, so that errors average out, and
/// an item has the same number anywhere in a table.
fn number_of(outputs: &[&[f64]]) -> u64 {
    let mix = |seed: u64, x: &f64| {
        (seed ^ x.to_bits()).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
    };
    outputs.iter().copied().flatten().fold(0, mix)
}

/// The tree of pairs with the same distributions of pairs. Shares stand for gains: two sources that share
/// more are joined first.
fn tree_of(
    schema: &Arc<Schema>,
    classes: &[CorrelatedDirichlet],
    resolution: f64,
) -> Result<TreeFusion> {
    let n = schema.n_classifiers();
    let alpha = (0..n).map(|k| classes.iter().map(|c| c.alpha()[k].clone()).collect()).collect();
    let pair = |(a, b): (usize, usize)| {
        let delta: Vec<Vec<f64>> = classes.iter().map(|class| class.shared_by(a, b)).collect();
        let share = |(class, delta): (&CorrelatedDirichlet, &Vec<f64>)| {
            let total = |k: usize| class.alpha()[k].iter().sum::<f64>();
            delta.iter().sum::<f64>() / total(a).min(total(b))
        };
        let gain = classes.iter().zip(&delta).map(share).sum();
        TreePair { between: (a, b), delta, gain, gain_error: 0.0 }
    };
    let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).map(pair).collect();
    TreeFusion::new(Arc::clone(schema), &alpha, pairs, TreeKind::Tree, resolution)
}

impl Fusion for FullFusion {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        let flat = ClassPrior::uniform(items.n_classes());
        self.with_scratch(|scratch| {
            for i in 0..items.len() {
                let item = Item::of(items, i);
                if item.is_multi()
                    && let Some((values, error)) = self.fusing_estimates(&item, prior, scratch)
                {
                    // the error of a log weight that corresponds to that of the probabilities
                    block.set_item(i, &values, 0.5 * (4.0 * error).ln_1p());
                    continue;
                }
                let mut one = self.by_tree(&items.range(i..i + 1), Some(&flat));
                if item.is_multi() {
                    one.errors_mut()[0] = f64::INFINITY;
                }
                block.copy_item(i, &one);
            }
        });
        block.add_per_class(prior.ln());
    }

    fn ln_density(&self, items: &Items<'_>, block: &mut Block) -> Result<()> {
        self.with_scratch(|scratch| {
            for i in 0..items.len() {
                let item = Item::of(items, i);
                if !item.is_multi() {
                    block.copy_item(i, &self.by_tree(&items.range(i..i + 1), None));
                    continue;
                }
                let densities = self.densities_of(&item.present).expect(VALID);
                let estimate = |density: &MultiDensity| {
                    density.ln_density_of_item(&item.outputs, item.number, FULL_TOLERANCE, scratch)
                };
                let estimates: Vec<Estimate> = densities.iter().map(estimate).collect();
                // an unresolved density has an infinite error
                let error = estimates.iter().map(|estimate| estimate.error).fold(0.0, f64::max);
                block.set_item(i, &ln_densities(&estimates), error);
            }
        });
        Ok(())
    }

    /// One, so that a fusion can be cancelled between items.
    fn items_per_task(&self) -> usize {
        1
    }
}
