//! The paper's model of three and more classifiers, with an honest error.
//!
//! Densities are estimated ([`ManyDensity`]), each with an error, to a wanted one. Where the
//! estimate of any class cannot be trusted, the item is fused by the tree of pairs with the same
//! pair margins instead, and its error is set to infinity: the fused probabilities of such an item
//! have an `error` of 1. [`Fusion::ln_density`] never falls back: it tells the estimate, with an
//! infinite error where it cannot be trusted.
//!
//! Missing classifiers are marginalised exactly: what they shared with one other becomes private
//! to that one.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use super::ln_margins;
use super::tree::{TreeFusion, TreeKind, TreePair};
use crate::class_prior::ClassPrior;
use crate::distributions::correlated_dirichlet::many::{ManyDensity, Scratch};
use crate::distributions::{CorrelatedDirichlet, Dirichlet};
use crate::error::Result;
use crate::fusion::{Block, Fusion};
use crate::outputs::Items;
use crate::schema::Schema;

/// The error wanted of a log density.
pub const FULL_TOLERANCE: f64 = 1e-3;

/// The paper's model of any number of classifiers.
#[derive(Debug)]
pub struct FullFusion {
    schema: Arc<Schema>,
    classes: Vec<CorrelatedDirichlet>,
    resolution: f64,
    fallback: TreeFusion,
    /// Densities of every class for every set of classifiers that turned up present.
    densities: RwLock<HashMap<Vec<bool>, Arc<Vec<Rule>>>>,
}

/// How the classifiers present speak when one class is true.
#[derive(Debug)]
enum Rule {
    Alone(Dirichlet),
    Many(Box<ManyDensity>),
}

impl Clone for FullFusion {
    /// What was prepared for the sets seen so far is prepared again when they turn up.
    fn clone(&self) -> Self {
        Self {
            schema: Arc::clone(&self.schema),
            classes: self.classes.clone(),
            resolution: self.resolution,
            fallback: self.fallback.clone(),
            densities: RwLock::default(),
        }
    }
}

impl FullFusion {
    /// From one correlated Dirichlet a class, observed at a resolution (0: exactly).
    pub fn new(
        schema: Arc<Schema>,
        classes: &[CorrelatedDirichlet],
        resolution: f64,
    ) -> Result<Self> {
        let fallback = tree_of(&schema, classes, resolution)?;
        let densities = RwLock::default();
        let full = Self { schema, classes: classes.to_vec(), resolution, fallback, densities };
        full.rules(&vec![true; full.schema.n_classifiers()])?;
        Ok(full)
    }

    /// The rules for a set of classifiers, made when it first turns up.
    fn rules(&self, present: &[bool]) -> Result<Arc<Vec<Rule>>> {
        let poisoned = "no thread panics while it holds the lock";
        if let Some(rules) = self.densities.read().expect(poisoned).get(present) {
            return Ok(Arc::clone(rules));
        }
        let rule = |class: &CorrelatedDirichlet| -> Result<Rule> {
            let mut left = class.clone();
            for k in (0..present.len()).rev().filter(|k| !present[*k]) {
                left = left.without(k)?;
            }
            if left.n_classifiers() == 1 {
                return Ok(Rule::Alone(Dirichlet::new(&left.alpha()[0])?));
            }
            let density = ManyDensity::new(&left)?.with_resolution(self.resolution)?;
            Ok(Rule::Many(Box::new(density.with_tolerance(FULL_TOLERANCE)?)))
        };
        let rules = Arc::new(self.classes.iter().map(rule).collect::<Result<Vec<_>>>()?);
        let mut known = self.densities.write().expect(poisoned);
        Ok(Arc::clone(known.entry(present.to_vec()).or_insert(rules)))
    }

    /// Writes the log densities of one item under every class; returns the largest error and
    /// whether it can be trusted.
    fn ln_densities(&self, x: &[Option<&[f64]>], room: &mut Room) -> (f64, bool) {
        let present: Vec<bool> = x.iter().map(Option::is_some).collect();
        let outputs: Vec<&[f64]> = x.iter().flatten().copied().collect();
        if outputs.is_empty() {
            room.densities.fill(0.0);
            return (0.0, true);
        }
        let rules = self.rules(&present).expect("subsets of legal parameters are legal");
        let (mut error, mut resolved) = (0.0f64, true);
        let seed = seed_of(&outputs);
        for (rule, out) in rules.iter().zip(&mut room.densities) {
            match rule {
                Rule::Alone(margin) => {
                    let margin = std::slice::from_ref(margin);
                    error = error.max(ln_margins(margin, outputs[0], std::slice::from_mut(out)));
                }
                Rule::Many(density) => {
                    let estimate = density.ln_density_with_seed(&outputs, seed, &mut room.scratch);
                    *out = estimate.ln_density;
                    error = error.max(estimate.error);
                    resolved &= estimate.resolved;
                }
            }
        }
        (error, resolved)
    }
}

/// Every item has its own points, so that their errors average out, and the same wherever it
/// stands in a table: a mix of the bits of its outputs.
fn seed_of(outputs: &[&[f64]]) -> u64 {
    let mix = |seed: u64, x: &f64| {
        (seed ^ x.to_bits()).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
    };
    outputs.iter().copied().flatten().fold(0, mix)
}

/// The tree of pairs with the same pair margins. Shares stand for gains: the more two classifiers
/// share, the more they should be joined.
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
        TreePair { between: (a, b), delta, gain }
    };
    let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).map(pair).collect();
    TreeFusion::new(Arc::clone(schema), &alpha, pairs, TreeKind::Tree, resolution)
}

/// Room for one item.
struct Room {
    densities: Vec<f64>,
    scratch: Scratch,
}

impl Fusion for FullFusion {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn ln_joint(&self, items: &Items<'_>, prior: &ClassPrior, block: &mut Block) {
        let mut room = self.room();
        let mut one = Block::default();
        for item in 0..items.len() {
            let (error, resolved) = self.ln_densities(&outputs_of(items, item), &mut room);
            if resolved {
                block.set(item, &room.densities, error);
                continue;
            }
            let part = items.range(item..item + 1);
            one.reset(&part);
            let flat = ClassPrior::uniform(items.n_classes());
            self.fallback.ln_joint(&part, &flat, &mut one);
            one.errors_mut()[0] = f64::INFINITY;
            block.copy_item(item, &one);
        }
        block.add_per_class(prior.ln());
    }

    fn ln_density(&self, items: &Items<'_>, block: &mut Block) -> Result<()> {
        let mut room = self.room();
        for item in 0..items.len() {
            let (error, resolved) = self.ln_densities(&outputs_of(items, item), &mut room);
            block.set(item, &room.densities, if resolved { error } else { f64::INFINITY });
        }
        Ok(())
    }

    fn items_per_task(&self) -> usize {
        4
    }
}

impl FullFusion {
    fn room(&self) -> Room {
        Room { densities: vec![0.0; self.classes.len()], scratch: Scratch::default() }
    }
}

fn outputs_of<'a>(items: &Items<'a>, item: usize) -> Vec<Option<&'a [f64]>> {
    (0..items.n_classifiers()).map(|k| items.output(item, k)).collect()
}
