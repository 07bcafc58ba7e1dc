//! Simulation-based calibration (Talts, Betancourt, Simpson, Vehtari, Gelman 2018) of the experimental
//! posterior of all shapes that three sources share: shapes are drawn from the prior and outputs from the
//! shapes; the ranks of the true shapes among draws from the posterior must be uniform. Three sources,
//! two classes, 30 items per class and known α: this is all that the posterior is calibrated for.
//!
//! ```text
//! SBC_REPLICATIONS=40 cargo test --release -p consilience --test full_calibration -- --ignored --nocapture
//! ```
//!
//! prints the tables of `experiments/many`: the ranks, then a comparison of those of every quantity with
//! the uniform distribution.

#![allow(clippy::print_stdout, reason = "tables")]

use std::sync::Arc;
use std::time::Instant;

use consilience::methods::correlated::Structure;
use consilience::methods::correlated::learning::{
    Correlated, CorrelatedInference, DeltaPrior, FittedPairs, FittedShared,
};
use consilience::simulation::Truth;
use consilience::{NoProgress, Outputs, Result, Schema};
use correlated_dirichlet::{CorrelatedDirichlet, SharedPair};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// Items of each of the two classes.
const ITEMS: usize = 30;
/// Draws that a shape is ranked among, and bins of as many ranks each: 99 = 9 · 11.
const RANKED: usize = 98;
const BINS: usize = 9;
/// The sources of each part, in the order in which parts are taken from α.
const PARTS: [&[usize]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[1, 2]];

/// `delta[part][class][component]`.
type Shapes = Vec<Vec<Vec<f64>>>;

/// Ranks of 40 replications in nine bins: χ² is a rough approximation, so that only a very small p fails;
/// of 19 correlated quantities one is below 0.001 in about 2 of 100 runs. 90 % intervals contain 90 % of
/// the true shapes; with 640 shapes the standard error is about 0.02.
#[test]
#[ignore = "slow: a minute per replication; see the command at the top"]
fn ranks_are_uniform() {
    let setting =
        |name: &str, or: u64| std::env::var(name).map_or(or, |text| text.parse().unwrap());
    let (first, n) = (setting("SBC_FIRST", 0), setting("SBC_REPLICATIONS", 40));
    println!(
        "replication,{},r_hat,ess,surrogate_error,acceptance,left_out,seconds",
        names().join(",")
    );
    let all: Vec<Vec<usize>> =
        (first..first + n).map(|i| replication(DeltaPrior::Pooled, i).unwrap()).collect();
    let least = summarise(&all);
    assert!(least > 0.001, "ranks are not uniform: p = {least}");
    let shapes = all.iter().flat_map(|ranks| &ranks[..16]);
    let held = shapes.filter(|rank| (5..RANKED - 4).contains(rank)).count();
    let share = held as f64 / (16 * all.len()) as f64;
    println!("# central 90 % intervals hold {share:.3} of the shapes");
    assert!(share > 0.8, "{share}");
}

/// Fits one data set and prints the true shapes' ranks.
fn replication(prior: DeltaPrior, replication: u64) -> Result<Vec<usize>> {
    let start = Instant::now();
    let (truth, outputs) = draw(prior, replication)?;
    let fitted = posterior(prior, &outputs, replication)?;
    let ranks = ranks(&truth, &fitted);
    let text: Vec<String> = ranks.iter().map(usize::to_string).collect();
    let (report, worst) = (&fitted.report, fitted.report.worst);
    println!(
        "{replication},{},{:.3},{:.0},{:.2},{:.2},{},{:.1}",
        text.join(","),
        worst.r_hat,
        worst.ess_bulk.min(worst.ess_tail),
        report.surrogate_error,
        report.acceptance,
        report.left_out,
        start.elapsed().as_secs_f64()
    );
    Ok(ranks)
}

/// α of each classifier when the true class is j.
fn alpha(j: usize) -> Vec<f64> {
    (0..2).map(|l| if l == j { 12.0 } else { 8.0 }).collect()
}

/// Shapes from the prior, and outputs from the shapes.
fn draw(prior: DeltaPrior, replication: u64) -> Result<(Shapes, Outputs)> {
    let mut rng = ChaCha8Rng::seed_from_u64(2026);
    rng.set_stream(replication);
    let logit = |p: f64| (p / (1.0 - p)).ln();
    // one mean for the common part, one for pairs
    let centres = [logit(rng.random()), logit(rng.random())];
    let mut share = |part: usize| -> f64 {
        let normal: f64 = StandardNormal.sample(&mut rng);
        match prior {
            DeltaPrior::Uniform => rng.random(),
            _ => 1.0 / (1.0 + (-centres[part.min(1)] - normal).exp()),
        }
    };
    // components[j][l][part]
    let components: Vec<Vec<Vec<f64>>> =
        (0..2).map(|j| alpha(j).into_iter().map(|a| taken(a, &mut share)).collect()).collect();
    let shape = |part: usize, j: usize| components[j].iter().map(|own| own[part]).collect();
    let shapes: Shapes =
        (0..PARTS.len()).map(|part| (0..2).map(|j| shape(part, j)).collect()).collect();
    let class = |j: usize| {
        let pair = |part: usize| SharedPair {
            first: PARTS[part][0],
            second: PARTS[part][1],
            delta: shapes[part][j].clone(),
        };
        let pairs = (1..PARTS.len()).map(pair).collect();
        CorrelatedDirichlet::new(vec![alpha(j); 3], Some(shapes[0][j].clone()), pairs)
    };
    let classes = (0..2).map(class).collect::<Result<Vec<_>, correlated_dirichlet::Error>>()?;
    let schema = Arc::new(Schema::new(["c1", "c2", "c3"], ["1", "2"])?);
    let outputs = Truth::new(schema, classes)?.simulate(ITEMS, 7 + replication)?;
    Ok((shapes, outputs))
}

/// One component: every part takes a share of what its members have left of α, of which ½ or a quarter
/// stays private.
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

/// The posterior with known α, started from the fits of pairs.
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
    let known = vec![(0..2).map(alpha).collect(); 3];
    let start = FittedPairs { alpha: known, alpha_draws: Vec::new(), draws: Vec::new(), ..learned };
    config.fit_shared(outputs, &start, Structure::Full, &NoProgress)
}

fn names() -> Vec<String> {
    let mut names = Vec::new();
    for part in ["common", "pair01", "pair02", "pair12"] {
        names.extend((0..4).map(|i| format!("{part}[{}][{}]", i / 2, i % 2)));
    }
    names.extend(["common", "pairs", "all"].map(String::from));
    names
}

/// All shapes, then the sums of common shapes, of pairs' shapes, and of all that sources share with any
/// other.
fn quantities(shapes: &Shapes) -> Vec<f64> {
    let mut all: Vec<f64> = shapes.iter().flatten().flatten().copied().collect();
    let (common, pairs) = (all[..4].iter().sum::<f64>(), all[4..].iter().sum::<f64>());
    all.extend([common, pairs, 3.0 * common + 2.0 * pairs]);
    all
}

fn ranks(truth: &Shapes, fitted: &FittedShared) -> Vec<usize> {
    let draws: Vec<Vec<f64>> = fitted.draws.iter().map(|draw| quantities(&draw.delta)).collect();
    let rank = |(i, truth): (usize, &f64)| draws.iter().filter(|draw| draw[i] < *truth).count();
    quantities(truth).iter().enumerate().map(rank).collect()
}

/// Prints χ² of the bins with its p-value, and the deviations of the ranks' mean and variance from those
/// of uniform ranks in standard errors; returns the smallest p-value.
fn summarise(all: &[Vec<usize>]) -> f64 {
    println!("quantity,replications,chi_square,p_value,mean_z,spread_z");
    let n = all.len() as f64;
    let mut least = 1.0f64;
    for (i, name) in names().into_iter().enumerate() {
        let mut bins = [0.0; BINS];
        all.iter().for_each(|ranks| bins[ranks[i] * BINS / (RANKED + 1)] += 1.0);
        let expected = n / BINS as f64;
        let square = bins.iter().map(|b| (b - expected).powi(2) / expected).sum::<f64>();
        let place = |ranks: &Vec<usize>| (ranks[i] as f64 + 0.5) / (RANKED + 1) as f64 - 0.5;
        let mean = all.iter().map(place).sum::<f64>() / n;
        let mean_square = all.iter().map(|ranks| place(ranks).powi(2)).sum::<f64>() / n;
        // of a uniform number: variance 1/12, variance of the square 1/180
        let (mean_z, spread_z) =
            (mean * (12.0 * n).sqrt(), (mean_square - 1.0 / 12.0) * (180.0 * n).sqrt());
        let p = survival(square);
        println!("{name},{n},{square:.2},{p:.4},{mean_z:.2},{spread_z:.2}");
        least = least.min(p);
    }
    least
}

/// P(χ² > x) with BINS − 1 degrees of freedom, an even number.
fn survival(x: f64) -> f64 {
    let mut term = (-0.5 * x).exp();
    let mut sum = term;
    for i in 1..(BINS - 1) / 2 {
        term *= 0.5 * x / i as f64;
        sum += term;
    }
    sum
}
