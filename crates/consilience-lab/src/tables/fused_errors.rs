//! Reported errors of fused probabilities against longer runs: the exact model, three classifiers and classes.

use std::sync::Arc;

use consilience::methods::correlated::FullFusion;
use consilience::methods::{Fused, fuse};
use consilience::simulation::Truth;
use consilience::{ClassPrior, Outputs, Result};
use consilience_numerics::log_space::log_sum_exp;
use correlated_dirichlet::{CorrelatedDirichlet, SharedPair};
use correlated_dirichlet::{MultiDensity, MultiScratch};

use super::{cpu_seconds, schema};

/// Private, common and pair shapes, as in the benchmark `many_fused`.
const SHAPES: [[f64; 3]; 5] =
    [[10.0, 4.0, 1.0], [5.0, 2.0, 0.5], [2.0, 2.0, 0.5], [1.0, 2.0, 0.5], [0.6, 2.0, 0.5]];
/// The error of a log density in a longer run, and its points at the most.
const LONGER: (f64, usize) = (5e-5, 1 << 20);
/// Seed of the longer run's points.
const SEED: u64 = 77;

/// One row of [`SHAPES`], or all for 0.
pub(super) fn run(items: usize, seed: u64, row: usize) -> Result<()> {
    println!("private,items,unresolved,mean_error,beyond_once,beyond_twice,worst,ms_per_item");
    for (_, shapes) in (1..).zip(SHAPES).filter(|(i, _)| row == 0 || *i == row) {
        let truth = truth(shapes)?;
        let test = truth.simulate(items, seed)?;
        let full = FullFusion::new(Arc::clone(truth.schema()), truth.classes(), 0.0)?;
        let start = cpu_seconds();
        let fused = fuse(&full, &test, &ClassPrior::uniform(3))?;
        let ms = (cpu_seconds() - start) * 1e3 / test.n_items() as f64;
        let longer = longer_run(&truth, &test)?;
        println!("{},{},{ms:.2}", shapes[0], summary(&fused, &longer));
    }
    Ok(())
}

/// Three classes, the shapes of the true one half as large again.
fn truth([private, common, pair]: [f64; 3]) -> Result<Truth> {
    let class = |j: usize| {
        let grown = |shape: f64| (0..3).map(|l| shape * if l == j { 1.5 } else { 1.0 }).collect();
        let shared = |(first, second)| SharedPair { first, second, delta: grown(pair) };
        CorrelatedDirichlet::new(
            vec![grown(private + common + 2.0 * pair); 3],
            Some(grown(common)),
            [(0, 1), (0, 2), (1, 2)].map(shared).to_vec(),
        )
    };
    Truth::new(
        schema(3, 3)?,
        (0..3).map(class).collect::<Result<Vec<_>, correlated_dirichlet::Error>>()?,
    )
}

/// Probabilities of every item; `None` where the longer run is not resolved either.
fn longer_run(truth: &Truth, outputs: &Outputs) -> Result<Vec<Option<Vec<f64>>>> {
    let density = |class: &CorrelatedDirichlet| -> Result<MultiDensity> {
        Ok(MultiDensity::new(class)?.with_seed(SEED).with_max_points(LONGER.1))
    };
    let densities = truth.classes().iter().map(density).collect::<Result<Vec<_>>>()?;
    let mut scratch = MultiScratch::default();
    let of_item = |i: usize| {
        let x: Vec<&[f64]> = (0..3).filter_map(|k| outputs.output(i, k)).collect();
        let mut ln = |density: &MultiDensity| {
            let estimate = density.ln_density_of_item(&x, i as u64 + 1, LONGER.0, &mut scratch);
            estimate.is_resolved().then_some(estimate.ln_density)
        };
        let ln: Option<Vec<f64>> = densities.iter().map(&mut ln).collect();
        ln.map(|ln| {
            let all = log_sum_exp(&ln);
            ln.iter().map(|ln| (ln - all).exp()).collect()
        })
    };
    Ok((0..outputs.n_items()).map(of_item).collect())
}

/// How far items that both runs resolve are off, in units of their errors.
fn summary(fused: &Fused, longer: &[Option<Vec<f64>>]) -> String {
    let off = |(i, longer): (usize, &Option<Vec<f64>>)| {
        let gaps = fused.probabilities(i).iter().zip(longer.as_ref()?).map(|(p, q)| (p - q).abs());
        (fused.error(i) < 1.0).then(|| (gaps.fold(0.0, f64::max), fused.error(i)))
    };
    let both: Vec<(f64, f64)> = longer.iter().enumerate().filter_map(off).collect();
    let beyond = |times: f64| both.iter().filter(|(gap, error)| *gap > times * error).count();
    let worst = both.iter().map(|(gap, error)| gap / error).fold(0.0, f64::max);
    let mean = both.iter().map(|b| b.1).sum::<f64>() / both.len() as f64;
    let unresolved = longer.len() - both.len();
    let [once, twice] = [1.0, 2.0].map(beyond);
    format!("{},{unresolved},{mean:.2e},{once},{twice},{worst:.2}", longer.len())
}
