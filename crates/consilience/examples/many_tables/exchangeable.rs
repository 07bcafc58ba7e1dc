//! Exchangeable classifiers with known parameters: losses minus that of the exact density.

use std::sync::Arc;

use consilience::distributions::correlated_dirichlet::many::{ManyDensity, Scratch};
use consilience::fusion::correlated::Structure;
use consilience::fusion::correlated::tree::{TreeFusion, TreeKind, TreePair};
use consilience::fusion::discounted::DiscountedFusion;
use consilience::fusion::independent::{Alpha, IndependentFusion};
use consilience::fusion::shares::EvidenceCovariance;
use consilience::simulation::Truth;
use consilience::{MethodChoice, Outputs, Result, Unwatched};

use super::{losses, mean, paired, quick, truth};

/// Loss minus exact in the guide: tree, mixture, equal shares, IFM.
const GUIDE: [((usize, f64), [f64; 4]); 4] = [
    ((3, 0.5), [0.009, 0.002, 0.002, 0.12]),
    ((3, 0.9), [0.002, 0.001, 0.000, 0.28]),
    ((5, 0.5), [0.038, 0.020, 0.004, 0.29]),
    ((5, 0.8), [0.022, 0.009, 0.007, 0.64]),
];

/// All four cases, or one of them, counted from 1.
pub(super) fn run(items_per_class: usize, only: usize) -> Result<()> {
    println!("classifiers,r,parameters,method,loss,minus_exact,standard_error,guide");
    for (place, ((n, r), guide)) in GUIDE.into_iter().enumerate() {
        if only > 0 && place + 1 != only {
            continue;
        }
        let truth = truth((n, 3), r, &[])?;
        let test = truth.simulate(items_per_class, 1)?;
        let exact = exact_losses(&truth, &test)?;
        println!("{n},{r},true,full (exact),{:.4},0,0,", mean(&exact));
        let print = |parameters: &str, name: &str, own: &[f64], guide: Option<f64>| {
            let (gap, error) = paired(own, &exact);
            let guide = guide.map_or_else(String::new, |g| format!("{g}"));
            println!("{n},{r},{parameters},{name},{:.4},{gap:+.4},{error:.4},{guide}", mean(own));
        };
        let alpha: Alpha = (0..n)
            .map(|k| truth.classes().iter().map(|c| c.alpha()[k].clone()).collect())
            .collect();
        for (kind, name, place) in
            [(TreeKind::Tree, "tree", 0), (TreeKind::TreeMixture, "tree-mixture", 1)]
        {
            let tree = tree(&truth, &alpha, kind)?;
            print("true", name, &losses(&tree, &test)?, Some(guide[place]));
        }
        // all gains are the same, so that the tree above is a star; a chain is as good a choice
        let chain: Vec<(usize, usize)> = (1..n).map(|k| (k - 1, k)).collect();
        let chain = tree(&truth, &alpha, TreeKind::Tree)?.with_edges(&chain)?;
        print("true", "tree (chain)", &losses(&chain, &test)?, None);
        let margins = IndependentFusion::new(Arc::clone(truth.schema()), alpha.clone())?;
        let covariance = EvidenceCovariance::of(&truth.simulate(20_000, 2)?, &alpha)?;
        let discounted = DiscountedFusion::new(margins.clone(), covariance)?;
        print("true", "discounted", &losses(&discounted, &test)?, Some(guide[2]));
        print("true", "independent", &losses(&margins, &test)?, Some(guide[3]));
        learnt(&truth, &test, print)?;
    }
    Ok(())
}

/// Learnt from 200 items a class.
fn learnt(
    truth: &Truth,
    test: &Outputs,
    print: impl Fn(&str, &str, &[f64], Option<f64>),
) -> Result<()> {
    let train = truth.simulate(200, 3)?;
    let mut methods = vec![
        (MethodChoice::Correlated, Structure::Tree, "tree"),
        (MethodChoice::Correlated, Structure::TreeMixture, "tree-mixture"),
        (MethodChoice::Discounted, Structure::Tree, "discounted"),
        (MethodChoice::Independent, Structure::Tree, "independent"),
    ];
    if truth.schema().n_classifiers() == 3 {
        methods.push((MethodChoice::Correlated, Structure::Full, "full"));
    }
    for (method, structure, name) in methods {
        let model = quick(method, structure).fit(&train, &Unwatched)?;
        print("learnt", name, &losses(model.fusion()?, test)?, None);
    }
    Ok(())
}

/// With errors of .01 an item, each with its own points, that average out.
fn exact_losses(truth: &Truth, test: &Outputs) -> Result<Vec<f64>> {
    let densities = truth
        .classes()
        .iter()
        .map(|class| ManyDensity::new(class)?.with_tolerance(0.01))
        .collect::<Result<Vec<_>>>()?;
    let (mut scratch, mut losses) = (Scratch::default(), Vec::new());
    for (item, label) in test.require_labels()?.into_iter().enumerate() {
        let x: Vec<&[f64]> = (0..test.schema().n_classifiers())
            .map(|k| test.output(item, k).expect("simulated outputs are all there"))
            .collect();
        let all: Vec<f64> = densities
            .iter()
            .map(|d| d.ln_density_of_item(&x, item as u64 + 1, 0.01, &mut scratch).ln_density)
            .collect();
        let top = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = all.iter().map(|d| (d - top).exp()).sum();
        losses.push(top + sum.ln() - all[label]);
    }
    Ok(losses)
}

fn tree(truth: &Truth, alpha: &Alpha, kind: TreeKind) -> Result<TreeFusion> {
    let n = alpha.len();
    let pair = |(a, b): (usize, usize)| TreePair {
        between: (a, b),
        delta: truth.classes().iter().map(|class| class.shared_by(a, b)).collect(),
        gain: 1.0,
    };
    let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).map(pair).collect();
    TreeFusion::new(Arc::clone(truth.schema()), alpha, pairs, kind, 0.0)
}
