//! Calibration of the experimental posterior of all shared shapes: `experiments/many/calibration.csv` for two classes,
//! `calibration_3_classes.csv` for three.
//!
//! Three classifiers, 30 items per class and known α: the posterior is calibrated for no other case.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use consilience::methods::correlated::Structure;
use consilience::methods::correlated::learning::{
    Correlated, CorrelatedInference, DeltaPrior, FittedPairs, FittedShared,
};
use consilience::simulation::Truth;
use consilience::{NoProgress, Outputs, Result, Schema};
use consilience_io::write_whole;
use correlated_dirichlet::{CorrelatedDirichlet, SharedPair};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use super::{RANKED, Uniformity};
use crate::Failure;
use crate::output::note;

/// Items per class.
const ITEMS: usize = 30;
/// Bins of 11 ranks each.
const BINS: usize = 9;
/// The 19 correlated quantities of two classes have a p-value below this in about 2 of 100 runs.
const LEAST_P: f64 = 0.001;
/// 90 % intervals contain 90 of 100 true shapes; the standard error over 40 replications is about 0.02.
const LEAST_COVERAGE: f64 = 0.8;
/// The shared parts, in the order in which they take from α.
const PARTS: [&[usize]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[1, 2]];

/// `delta[part][class][component]`.
type Shapes = Vec<Vec<Vec<f64>>>;

/// Ranks of all replications, and their deviations from uniform ones; an error if these are large.
pub(super) fn run(n_classes: usize, replications: usize, folder: &Path) -> Result<(), Failure> {
    let ending = if n_classes == 2 { String::new() } else { format!("_{n_classes}_classes") };
    let file = |name: &str| folder.join(format!("{name}{ending}.csv")).into();
    let mut table = format!(
        "replication,{},r_hat,ess,surrogate_error,acceptance,left_out,seconds\n",
        names(n_classes).join(",")
    );
    let mut all = Vec::new();
    for replication in 0..replications as u64 {
        let (ranks, row) = replicate(n_classes, DeltaPrior::Pooled, replication)?;
        note(format_args!("replication {replication} of {replications}"));
        table += &row;
        all.push(ranks);
        write_whole(&file("calibration"), table.as_bytes())?;
    }
    let (summary, least) = summarise(&names(n_classes), &all);
    write_whole(&file("calibration_summary"), summary.as_bytes())?;
    let n_shapes = PARTS.len() * n_classes * n_classes;
    let shapes = all.iter().flat_map(|ranks| &ranks[..n_shapes]);
    let held = shapes.filter(|rank| (5..RANKED - 4).contains(*rank)).count();
    let coverage = held as f64 / (n_shapes * all.len()) as f64;
    note(format_args!("central 90 % intervals contain {coverage:.3} of the shapes"));
    if least < LEAST_P || coverage < LEAST_COVERAGE {
        return Err(format!("not calibrated: p = {least}, coverage {coverage}").into());
    }
    Ok(())
}

/// The true shapes' ranks in one simulated data set, and their row of the table.
fn replicate(
    n_classes: usize,
    prior: DeltaPrior,
    replication: u64,
) -> Result<(Vec<usize>, String)> {
    let start = Instant::now();
    let (truth, outputs) = draw(n_classes, prior, replication)?;
    let fitted = posterior(prior, &outputs, replication)?;
    let ranks = ranks(&truth, &fitted);
    let text: Vec<String> = ranks.iter().map(usize::to_string).collect();
    let (report, worst) = (&fitted.report, fitted.report.worst);
    let row = format!(
        "{replication},{},{:.3},{:.0},{:.2},{:.2},{},{:.1}\n",
        text.join(","),
        worst.r_hat,
        worst.ess_bulk.min(worst.ess_tail),
        report.surrogate_error,
        report.acceptance,
        report.left_out,
        start.elapsed().as_secs_f64()
    );
    Ok((ranks, row))
}

/// α of each classifier when the true class is j.
fn alpha(n_classes: usize, j: usize) -> Vec<f64> {
    (0..n_classes).map(|l| if l == j { 12.0 } else { 8.0 }).collect()
}

/// Shapes drawn from the prior, and outputs simulated with them.
fn draw(n_classes: usize, prior: DeltaPrior, replication: u64) -> Result<(Shapes, Outputs)> {
    let mut rng = ChaCha8Rng::seed_from_u64(2026);
    rng.set_stream(replication);
    let logit = |p: f64| (p / (1.0 - p)).ln();
    // one centre for the common part, one for pairs
    let centres = [logit(rng.random()), logit(rng.random())];
    let mut share = |part: usize| -> f64 {
        let normal: f64 = StandardNormal.sample(&mut rng);
        match prior {
            DeltaPrior::Uniform => rng.random(),
            _ => 1.0 / (1.0 + (-centres[part.min(1)] - normal).exp()),
        }
    };
    // components[j][l][part]
    let mut component = |a: f64| taken(a, &mut share);
    let components: Vec<Vec<Vec<f64>>> = (0..n_classes)
        .map(|j| alpha(n_classes, j).into_iter().map(&mut component).collect())
        .collect();
    let shape = |part: usize, j: usize| components[j].iter().map(|own| own[part]).collect();
    let shapes: Shapes =
        (0..PARTS.len()).map(|part| (0..n_classes).map(|j| shape(part, j)).collect()).collect();
    let class = |j: usize| {
        let pair = |part: usize| SharedPair {
            first: PARTS[part][0],
            second: PARTS[part][1],
            delta: shapes[part][j].clone(),
        };
        let pairs = (1..PARTS.len()).map(pair).collect();
        CorrelatedDirichlet::new(vec![alpha(n_classes, j); 3], Some(shapes[0][j].clone()), pairs)
    };
    let classes =
        (0..n_classes).map(class).collect::<Result<Vec<_>, correlated_dirichlet::Error>>()?;
    let names = (1..=n_classes).map(|class| class.to_string());
    let schema = Arc::new(Schema::new(["c1", "c2", "c3"], names)?);
    let outputs = Truth::new(schema, classes)?.simulate(ITEMS, 7 + replication)?;
    Ok((shapes, outputs))
}

/// One component: every part takes a fraction of its members' remaining α; at least the smaller of ½ and α/4 stays private.
fn taken(alpha: f64, mut share: impl FnMut(usize) -> f64) -> Vec<f64> {
    let mut left = [alpha - 0.5f64.min(0.25 * alpha); 3];
    let mut take = |(part, members): (usize, &&[usize])| {
        let bound = members.iter().map(|k| left[*k]).fold(f64::INFINITY, f64::min);
        let own = bound * share(part);
        members.iter().for_each(|k| left[*k] -= own);
        own
    };
    PARTS.iter().enumerate().map(&mut take).collect()
}

/// The posterior with known α, started from the modes of all pairs.
fn posterior(prior: DeltaPrior, outputs: &Outputs, seed: u64) -> Result<FittedShared> {
    let config = Correlated {
        inference: CorrelatedInference::Posterior,
        delta_prior: prior,
        draws: 150,
        keep_draws: RANKED,
        seed,
        ..Correlated::default()
    };
    let map = Correlated { inference: CorrelatedInference::Map, keep_draws: 0, ..config.clone() };
    let learned = map.fit_pairs(outputs, &NoProgress)?;
    let n_classes = outputs.schema().n_classes();
    let known = vec![(0..n_classes).map(|j| alpha(n_classes, j)).collect(); 3];
    let start = FittedPairs { alpha: known, alpha_draws: Vec::new(), draws: Vec::new(), ..learned };
    config.fit_shared(outputs, &start, Structure::Full, &NoProgress)
}

fn names(n_classes: usize) -> Vec<String> {
    let mut names = Vec::new();
    for part in ["common", "pair01", "pair02", "pair12"] {
        let name = |i: usize| format!("{part}[{}][{}]", i / n_classes, i % n_classes);
        names.extend((0..n_classes * n_classes).map(name));
    }
    names.extend(["common", "pairs", "all"].map(String::from));
    names
}

/// All shapes, then the sums of the common part, of the pairs' parts, and of all shared parts over classifiers.
fn quantities(shapes: &Shapes) -> Vec<f64> {
    let sum = |parts: &[Vec<Vec<f64>>]| parts.iter().flatten().flatten().sum::<f64>();
    let (common, pairs) = (sum(&shapes[..1]), sum(&shapes[1..]));
    let mut all: Vec<f64> = shapes.iter().flatten().flatten().copied().collect();
    all.extend([common, pairs, 3.0 * common + 2.0 * pairs]);
    all
}

fn ranks(truth: &Shapes, fitted: &FittedShared) -> Vec<usize> {
    let draws: Vec<Vec<f64>> = fitted.draws.iter().map(|draw| quantities(&draw.delta)).collect();
    let rank = |(i, truth): (usize, &f64)| draws.iter().filter(|draw| draw[i] < *truth).count();
    quantities(truth).iter().enumerate().map(rank).collect()
}

/// The table of deviations from uniform ranks, and the least p-value.
fn summarise(names: &[String], all: &[Vec<usize>]) -> (String, f64) {
    let mut table = String::from("quantity,replications,chi_square,p_value,mean_z,spread_z\n");
    let mut least = 1.0f64;
    for (i, name) in names.iter().enumerate() {
        let Uniformity { chi_square, p_value, mean_z, spread_z } =
            Uniformity::of(all.iter().map(|ranks| ranks[i]), BINS);
        let n = all.len();
        table += &format!("{name},{n},{chi_square:.2},{p_value:.4},{mean_z:.2},{spread_z:.2}\n");
        least = least.min(p_value);
    }
    (table, least)
}
