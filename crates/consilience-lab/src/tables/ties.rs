//! Trees by nearly equal gains against the maximum spanning tree: degrees and losses over small training sets.

use std::sync::Arc;

use consilience::Result;
use consilience::methods::Method;
use consilience::methods::correlated::Structure;
use consilience::methods::correlated::tree::{TreeFusion, TreeKind, TreePair};
use consilience::methods::correlated::{CorrelatedMethod, TreeParameters};
use consilience::simulation::Truth;

use super::{alpha_of, losses, paired, quick, truth};

const CLASSIFIERS: usize = 5;
/// Test items per class.
const TEST: usize = 300;

/// Five classifiers and three classes, exchangeable or a star; `sizes` are training sets and items per class.
pub(super) fn run(sizes: &[(usize, usize)]) -> Result<()> {
    println!("truth,items_per_class,set,strict_degree,degree,minus_strict,standard_error");
    sizes.iter().try_for_each(|&(sets, items_per_class)| one(sets, items_per_class))
}

/// So many training sets of so many items per class.
fn one(sets: usize, items_per_class: usize) -> Result<()> {
    let star = |k: usize| (0, k);
    let truths = [
        ("exchangeable .5", truth((CLASSIFIERS, 3), 0.5, &[])?),
        ("exchangeable .8", truth((CLASSIFIERS, 3), 0.8, &[])?),
        ("star .7", of_tree(0.7, star)?),
        ("star .5", of_tree(0.5, star)?),
    ];
    for (name, truth) in truths {
        let mut gaps = Vec::new();
        for set in 0..sets as u64 {
            let train = truth.simulate(items_per_class, 100 + set)?;
            let test = truth.simulate(TEST, 1000 + set)?;
            let model = quick(Structure::Tree).fit(&train)?;
            let Method::Correlated(CorrelatedMethod::Tree(tree)) = model.method() else {
                unreachable!("a tree was asked for")
            };
            let (strict, own) = (strict(tree)?, tree.fusion());
            let (gap, error) = if edges(&strict) == edges(own) {
                (0.0, 0.0)
            } else {
                paired(&losses(own, &test)?, &losses(&strict, &test)?)
            };
            let degrees = format!("{},{}", degree(&strict), degree(own));
            println!("{name},{items_per_class},{set},{degrees},{gap:+.4},{error:.4}");
            gaps.push(gap);
        }
        let (gap, error) = paired(&gaps, &vec![0.0; gaps.len()]);
        println!("{name},{items_per_class},mean,,,{gap:+.4},{error:.4}");
    }
    Ok(())
}

/// Classifiers with the margins of SIM 2 along a tree; neighbours share this part of them.
fn of_tree(share: f64, edge: impl Fn(usize) -> (usize, usize)) -> Result<Truth> {
    let base = truth((CLASSIFIERS, 3), share, &[])?;
    let pair = |k: usize| {
        let (a, b) = edge(k);
        let delta = base.classes().iter().map(|class| class.shared_by(a, b)).collect();
        TreePair { between: (a, b), delta, gain: 1.0, gain_error: 0.0 }
    };
    let pairs = (1..CLASSIFIERS).map(pair).collect();
    let schema = Arc::clone(base.schema());
    Ok(Truth::of_tree(TreeFusion::new(schema, &alpha_of(&base), pairs, TreeKind::Tree, 0.0)?))
}

/// The maximum spanning tree: gains without errors.
fn strict(tree: &TreeParameters) -> Result<TreeFusion> {
    let pair = |pair: &TreePair| TreePair { gain_error: 0.0, ..pair.clone() };
    let pairs = tree.fusion().pairs().iter().map(pair).collect();
    let schema = Arc::clone(tree.schema());
    TreeFusion::new(schema, tree.alpha(), pairs, TreeKind::Tree, tree.resolution())
}

fn edges(fusion: &TreeFusion) -> Vec<(usize, usize)> {
    fusion.tree().map(|pair| pair.between).collect()
}

/// The largest number of neighbours of a classifier.
fn degree(fusion: &TreeFusion) -> usize {
    let of = |k: usize| fusion.tree().filter(|p| p.between.0 == k || p.between.1 == k).count();
    (0..CLASSIFIERS).map(of).max().unwrap_or(0)
}
