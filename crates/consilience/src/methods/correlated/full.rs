//! Fusion by the paper's model of three and more sources.
//!
//! Densities are estimated ([`MultiDensity`]) to a wanted error. For fusing, all classes use the same
//! points, until the error of the fused probabilities is small enough. If the density of any class cannot
//! be resolved, the item is fused by the tree of pairs with the same distributions of pairs, and its log
//! weights get an infinite error: the fused probabilities of such an item have an `error` of 1.
//! [`Fusion::ln_density`] never falls back: it returns the estimate, with an infinite error if it is not
//! resolved.
//!
//! Missing sources are marginalised exactly: a shape that a missing source shared with one other becomes
//! private to that one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};

use super::ln_margins;
use super::tree::{TreeFusion, TreeKind, TreePair};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Items;
use crate::data::schema::Schema;
use crate::error::Result;
use crate::methods::{Block, Fusion};
use correlated_dirichlet::multi::class_estimates::{
    ClassEstimates, ClassGoal, estimate_classes, probabilities,
};
use correlated_dirichlet::{CorrelatedDirichlet, Dirichlet};
use correlated_dirichlet::{Estimate, MultiDensity, MultiScratch};

/// The wanted error of a log density, and of a fused probability.
pub const FULL_TOLERANCE: f64 = 1e-3;

/// The paper's model of any number of sources.
#[derive(Debug)]
pub struct FullFusion {
    schema: Arc<Schema>,
    classes: Vec<CorrelatedDirichlet>,
    resolution: f64,
    fallback: TreeFusion,
    /// Densities of every class for every set of present sources so far.
    densities: RwLock<HashMap<Vec<bool>, Arc<Vec<ClassDensity>>>>,
    /// Buffers, one for every thread that has fused.
    scratches: Mutex<Vec<MultiScratch>>,
}

const POISONED: &str = "no thread panics while it holds the lock";
const VALID: &str = "the marginal distribution of valid parameters is valid";

/// The density of the present sources' outputs under one class.
#[derive(Debug)]
enum ClassDensity {
    One(Dirichlet),
    Several(Box<MultiDensity>),
}

impl Clone for FullFusion {
    /// Densities for sets of present sources are made again when needed.
    fn clone(&self) -> Self {
        Self {
            schema: Arc::clone(&self.schema),
            classes: self.classes.clone(),
            resolution: self.resolution,
            fallback: self.fallback.clone(),
            densities: RwLock::default(),
            scratches: Mutex::default(),
        }
    }
}

impl FullFusion {
    /// From one correlated Dirichlet per class, with log noise ε on all gammas (0: none); see
    /// [`MultiDensity::with_log_noise`] for its relation to the resolution of two classifiers.
    pub fn new(
        schema: Arc<Schema>,
        classes: &[CorrelatedDirichlet],
        resolution: f64,
    ) -> Result<Self> {
        let fallback = tree_of(&schema, classes, resolution)?;
        let full = Self {
            schema,
            classes: classes.to_vec(),
            resolution,
            fallback,
            densities: RwLock::default(),
            scratches: Mutex::default(),
        };
        full.densities_of(&vec![true; full.schema.n_classifiers()])?;
        Ok(full)
    }

    /// The densities for a set of present sources, made when it first occurs.
    fn densities_of(&self, present: &[bool]) -> Result<Arc<Vec<ClassDensity>>> {
        if let Some(densities) = self.densities.read().expect(POISONED).get(present) {
            return Ok(Arc::clone(densities));
        }
        let density = |class: &CorrelatedDirichlet| -> Result<ClassDensity> {
            let mut left = class.clone();
            for k in (0..present.len()).rev().filter(|k| !present[*k]) {
                left = left.without(k)?;
            }
            if left.n_classifiers() == 1 {
                return Ok(ClassDensity::One(Dirichlet::new(&left.alpha()[0])?));
            }
            let density = MultiDensity::new(&left)?.with_log_noise(self.resolution)?;
            Ok(ClassDensity::Several(Box::new(density)))
        };
        let densities = Arc::new(self.classes.iter().map(density).collect::<Result<Vec<_>>>()?);
        let mut known = self.densities.write().expect(POISONED);
        Ok(Arc::clone(known.entry(present.to_vec()).or_insert(densities)))
    }

    /// The log densities of one item under every class, each to its wanted error.
    fn estimates(
        &self,
        item: &Item<'_>,
        wanted: &[f64],
        scratch: &mut MultiScratch,
    ) -> Vec<Estimate> {
        let densities = self.densities_of(&item.present).expect(VALID);
        let estimate =
            |(density, wanted): (&ClassDensity, &f64)| density.estimate(item, *wanted, scratch);
        densities.iter().zip(wanted).map(estimate).collect()
    }

    /// The same for fusing, where only the probabilities matter, with their largest error.
    fn fusing_estimates(
        &self,
        item: &Item<'_>,
        prior: &ClassPrior,
        scratch: &mut MultiScratch,
    ) -> (Vec<Estimate>, f64) {
        let densities = self.densities_of(&item.present).expect(VALID);
        let many: Option<Vec<&MultiDensity>> =
            densities.iter().map(ClassDensity::several).collect();
        match many {
            // with a resolution the first estimate uses all points
            Some(many) if self.resolution == 0.0 && item.is_inside() => {
                let goal = ClassGoal { ln_prior: prior.ln(), tolerance: FULL_TOLERANCE };
                let ClassEstimates { estimates, error } =
                    estimate_classes(&many, &item.outputs, item.number, goal, scratch);
                (estimates, error)
            }
            _ => {
                let wanted = vec![FULL_TOLERANCE; self.classes.len()];
                let estimates = self.estimates(item, &wanted, scratch);
                let error = fused_error(&estimates, prior);
                (estimates, error)
            }
        }
    }
}

impl ClassDensity {
    fn several(&self) -> Option<&MultiDensity> {
        match self {
            Self::One(_) => None,
            Self::Several(density) => Some(density),
        }
    }

    fn estimate(&self, item: &Item<'_>, wanted: f64, scratch: &mut MultiScratch) -> Estimate {
        match self {
            Self::One(margin) => {
                let mut ln_density = [0.0];
                let margin = std::slice::from_ref(margin);
                let error = ln_margins(margin, item.outputs[0], &mut ln_density);
                Estimate { ln_density: ln_density[0], error }
            }
            Self::Several(density) => {
                density.ln_density_of_item(&item.outputs, item.number, wanted, scratch)
            }
        }
    }
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

    /// Whether no output has an element of exactly 0.
    fn is_inside(&self) -> bool {
        self.outputs.iter().copied().flatten().all(|x| *x > 0.0)
    }
}

/// The largest error of the fused probabilities. The errors of the classes are independent, and
/// ∂pⱼ/∂ln fₘ is pⱼ(1 − pⱼ) for m = j and −pⱼpₘ for others.
fn fused_error(estimates: &[Estimate], prior: &ClassPrior) -> f64 {
    let p = probabilities(estimates.iter().map(|e| e.ln_density), prior.ln());
    let of_class = |j: usize| {
        let part = |(m, e): (usize, &Estimate)| e.error * if m == j { 1.0 - p[j] } else { p[m] };
        p[j] * estimates.iter().enumerate().map(part).fold(0.0, f64::hypot)
    };
    (0..p.len()).map(of_class).fold(0.0, f64::max)
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
        let mut scratch = self.take_scratch();
        let mut one = Block::default();
        for i in 0..items.len() {
            let item = Item::of(items, i);
            if item.outputs.is_empty() {
                continue;
            }
            let (estimates, error) = self.fusing_estimates(&item, prior, &mut scratch);
            if estimates.iter().all(Estimate::is_resolved) {
                // the error of a log weight that corresponds to the error of the probabilities
                let error = 0.5 * (4.0 * error).ln_1p();
                block.set_item(i, &ln_densities(&estimates), error);
                continue;
            }
            let part = items.range(i..i + 1);
            one.reset(&part);
            let flat = ClassPrior::uniform(items.n_classes());
            self.fallback.ln_joint(&part, &flat, &mut one);
            one.errors_mut()[0] = f64::INFINITY;
            block.copy_item(i, &one);
        }
        self.give_back(scratch);
        block.add_per_class(prior.ln());
    }

    fn ln_density(&self, items: &Items<'_>, block: &mut Block) -> Result<()> {
        let mut scratch = self.take_scratch();
        let wanted = vec![FULL_TOLERANCE; self.classes.len()];
        for i in 0..items.len() {
            let item = Item::of(items, i);
            if item.outputs.is_empty() {
                continue;
            }
            let estimates = self.estimates(&item, &wanted, &mut scratch);
            // an unresolved density has an infinite error
            let error = estimates.iter().map(|estimate| estimate.error).fold(0.0, f64::max);
            block.set_item(i, &ln_densities(&estimates), error);
        }
        self.give_back(scratch);
        Ok(())
    }

    fn items_per_task(&self) -> usize {
        1
    }
}

impl FullFusion {
    /// Buffers of an earlier task, with the points that all items share.
    fn take_scratch(&self) -> MultiScratch {
        self.scratches.lock().expect(POISONED).pop().unwrap_or_default()
    }

    fn give_back(&self, scratch: MultiScratch) {
        self.scratches.lock().expect(POISONED).push(scratch);
    }
}

fn ln_densities(estimates: &[Estimate]) -> Vec<f64> {
    estimates.iter().map(|estimate| estimate.ln_density).collect()
}
