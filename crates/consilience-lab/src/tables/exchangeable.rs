//! Exchangeable classifiers with known parameters: losses minus that of the exact density.

use std::sync::Arc;

use consilience::methods::Fusion;
use consilience::methods::correlated::Structure;
use consilience::methods::correlated::tree::{TreeFusion, TreeKind, TreePair};
use consilience::methods::discounted::Discounted;
use consilience::methods::discounted::DiscountedFusion;
use consilience::methods::independent::Independent;
use consilience::methods::independent::{Alpha, IndependentFusion};
use consilience::methods::shares::EvidenceCovariance;
use consilience::simulation::Truth;
use consilience::{MethodConfig, NoProgress, Outputs, Result};
use correlated_dirichlet::{MultiDensity, MultiScratch};

use super::{alpha_of, losses, mean, paired, quick, truth_with};
use crate::output::note;

/// Expected log-loss minus the exact one: tree, mixture, equal shares, IFM.
const GUIDE: [((usize, f64), [f64; 4]); 4] = [
    ((3, 0.5), [0.009, 0.002, 0.002, 0.12]),
    ((3, 0.9), [0.002, 0.001, 0.000, 0.28]),
    ((5, 0.5), [0.038, 0.020, 0.004, 0.29]),
    ((5, 0.8), [0.022, 0.009, 0.007, 0.64]),
];

/// α of the true class and of the others.
const MARGINS: [[f64; 2]; 12] = [
    [12.0, 8.0],
    [12.0, 9.0],
    [12.0, 10.0],
    [8.0, 6.0],
    [6.0, 4.0],
    [5.0, 3.0],
    [4.0, 2.0],
    [3.0, 1.0],
    [6.0, 3.0],
    [15.0, 10.0],
    [4.0, 3.0],
    [20.0, 16.0],
];

/// Test items per class of the four cases: fewer where densities are slower.
const ITEMS: [usize; 4] = [5000, 1500, 5000, 1500];

/// All four cases with two pairs of margins; `size` maps items per class to those used.
pub(super) fn run(size: impl Fn(usize) -> usize) -> Result<()> {
    println!(
        "alpha_true,alpha_other,classifiers,r,parameters,method,items,loss,minus_exact,standard_error,guide"
    );
    cases([12.0, 8.0], ITEMS.map(&size))?;
    cases([15.0, 10.0], [size(1500); 4])
}

/// The four cases with these α of the true class and of the others.
fn cases(margins: [f64; 2], items: [usize; 4]) -> Result<()> {
    for (((n, r), guide), items_per_class) in GUIDE.into_iter().zip(items) {
        let truth = truth_with(margins, (n, 3), r, &[])?;
        let name = format!("{},{},{n},{r}", margins[0], margins[1]);
        let case = Case::new(&name, &truth, items_per_class, 1)?;
        println!("{name},true,full (exact),{},{:.4},0,0,", case.exact.len(), mean(&case.exact));
        for (method, fusion, guide) in known(&truth, guide)? {
            case.print(&format!("true,{method}"), fusion.as_ref(), guide)?;
        }
        learned(&truth, &case)?;
    }
    Ok(())
}

/// Test items and their losses by the exact density.
struct Case<'a> {
    name: &'a str,
    test: Outputs,
    exact: Vec<f64>,
}

impl<'a> Case<'a> {
    fn new(name: &'a str, truth: &Truth, items_per_class: usize, seed: u64) -> Result<Self> {
        let test = truth.simulate(items_per_class, seed)?;
        Ok(Self { name, exact: exact_losses(truth, &test)?, test })
    }

    fn print(&self, what: &str, fusion: &dyn Fusion, guide: Option<f64>) -> Result<()> {
        let own = losses(fusion, &self.test)?;
        let (gap, error) = paired(&own, &self.exact);
        let guide = guide.map_or_else(String::new, |g| format!("{g}"));
        let (name, items, loss) = (self.name, own.len(), mean(&own));
        println!("{name},{what},{items},{loss:.4},{gap:+.4},{error:.4},{guide}");
        Ok(())
    }
}

/// A rule with its name and the guide's number.
type Known = (&'static str, Box<dyn Fusion>, Option<f64>);

/// Rules with the true parameters.
fn known(truth: &Truth, guide: [f64; 4]) -> Result<Vec<Known>> {
    let alpha = alpha_of(truth);
    let (independent, discounted) = shares_of(truth)?;
    // All gains are equal, so that the tree is a chain; a star has the same total gain.
    let star: Vec<(usize, usize)> = (1..alpha.len()).map(|k| (0, k)).collect();
    let tree = |kind: TreeKind| tree(truth, &alpha, kind);
    Ok(vec![
        ("tree", Box::new(tree(TreeKind::Tree)?), Some(guide[0])),
        ("tree (star)", Box::new(tree(TreeKind::Tree)?.with_edges(&star)?), None),
        ("tree-mixture", Box::new(tree(TreeKind::TreeMixture)?), Some(guide[1])),
        ("discounted", Box::new(discounted), Some(guide[2])),
        ("independent", Box::new(independent), Some(guide[3])),
    ])
}

/// The independent model's log-loss minus that of `discounted`, which is close to the exact one, for several margins.
pub(super) fn margins(items_per_class: usize) -> Result<()> {
    println!("alpha_true,alpha_other,classifiers,r,minus_discounted,standard_error,guide");
    for margins in MARGINS {
        for ((n, r), [.., shares, independent]) in GUIDE {
            let truth = truth_with(margins, (n, 3), r, &[])?;
            let test = truth.simulate(items_per_class, 1)?;
            let (alone, discounted) = shares_of(&truth)?;
            let (gap, error) = paired(&losses(&alone, &test)?, &losses(&discounted, &test)?);
            let ([own, other], guide) = (margins, independent - shares);
            println!("{own},{other},{n},{r},{gap:+.4},{error:.4},{guide:.3}");
        }
    }
    Ok(())
}

/// The independent model with the true margins, and the same discounted.
fn shares_of(truth: &Truth) -> Result<(IndependentFusion, DiscountedFusion)> {
    let alpha = alpha_of(truth);
    let margins = IndependentFusion::new(Arc::clone(truth.schema()), alpha.clone())?;
    let covariance = EvidenceCovariance::of(&truth.simulate(20_000, 2)?, &alpha, &NoProgress)?;
    Ok((margins.clone(), DiscountedFusion::new(margins, covariance)?))
}

/// Test items per class for a learned `full`, which is slow.
const FEW: usize = 200;

/// Models learned from 200 items per class.
fn learned(truth: &Truth, case: &Case<'_>) -> Result<()> {
    let train = truth.simulate(200, 3)?;
    let methods = [
        (MethodConfig::from(quick(Structure::Tree)), "tree"),
        (quick(Structure::TreeMixture).into(), "tree-mixture"),
        (Discounted::default().into(), "discounted"),
        (Independent::default().into(), "independent"),
    ];
    for (method, name) in methods {
        let model = method.fit(&train)?;
        case.print(&format!("learned,{name}"), model.fusion(), None)?;
    }
    if truth.schema().n_classifiers() == 3 {
        let model = quick(Structure::Full).fit(&train)?;
        Case::new(case.name, truth, FEW, 4)?.print("learned,full", model.fusion(), None)?;
    }
    Ok(())
}

/// The error of an exact log density. Every item has its own points, so that errors average out: the bias of the mean
/// loss is at most half of the square, 2e-4.
const TOLERANCE: f64 = 0.02;

/// Losses by the exact density; prints the number of densities that are not resolved.
fn exact_losses(truth: &Truth, test: &Outputs) -> Result<Vec<f64>> {
    let densities = truth
        .classes()
        .iter()
        .map(|class| MultiDensity::new(class)?.with_tolerance(TOLERANCE))
        .collect::<Result<Vec<_>, correlated_dirichlet::Error>>()?;
    let (mut scratch, mut losses, mut unresolved) = (MultiScratch::default(), Vec::new(), 0);
    for (item, label) in test.require_labels()?.into_iter().enumerate() {
        let x: Vec<&[f64]> = (0..test.schema().n_classifiers())
            .map(|k| test.output(item, k).expect("simulated outputs are all there"))
            .collect();
        let mut ln_density = |density: &MultiDensity| {
            let found = density.ln_density_of_item(&x, item as u64 + 1, TOLERANCE, &mut scratch);
            unresolved += usize::from(!found.is_resolved());
            found.ln_density
        };
        let all: Vec<f64> = densities.iter().map(&mut ln_density).collect();
        let top = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = all.iter().map(|d| (d - top).exp()).sum();
        losses.push(top + sum.ln() - all[label]);
    }
    let all = losses.len() * densities.len();
    note(format_args!("{unresolved} of {all} densities are not resolved"));
    Ok(losses)
}

fn tree(truth: &Truth, alpha: &Alpha, kind: TreeKind) -> Result<TreeFusion> {
    let n = alpha.len();
    let pair = |(a, b): (usize, usize)| TreePair {
        between: (a, b),
        delta: truth.classes().iter().map(|class| class.shared_by(a, b)).collect(),
        gain: 1.0,
        gain_error: 0.0,
    };
    let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).map(pair).collect();
    TreeFusion::new(Arc::clone(truth.schema()), alpha, pairs, kind, 0.0)
}
