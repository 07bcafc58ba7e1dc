//! Core computations, repeated a given number of times, for counting their instructions.
//!
//! `scripts/check_instructions.py` runs every kernel once and several times under callgrind; the
//! difference of the counts is the cost of a repetition without that of its preparation.

use std::hint::black_box;
use std::sync::Arc;

use clap::ValueEnum;
use consilience::methods::correlated::tree::{TreeFusion, TreeKind, TreePair};
use consilience::methods::{Fusion, fuse};
use consilience::simulation::{Preset, Truth};
use consilience::votes::{VoteConfig, Votes, VotesBuilder};
use consilience::{Auto, ClassPrior, Independent, Model, NoProgress, Outputs, Schema};
use correlated_dirichlet::{CorrelatedDirichlet, Gradient, PairDensity, PairScratch};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};

use crate::Failure;

/// A computation whose cost matters to users.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Kernel {
    /// Exact density of 50 outputs of two sources.
    PairExact,
    /// Density of 50 outputs of two sources at a resolution of 0.03.
    PairSmoothed,
    /// Density of 50 outputs of two sources with its gradient.
    PairGradient,
    /// 30 items of three sources, fused by a tree.
    Tree,
    /// 3000 items of two sources, fused as independent.
    Independent,
    /// 3000 items of two sources, fused by `auto`.
    AutoFuse,
    /// `auto`, fitted to 300 items of two sources.
    AutoFit,
    /// 20 000 votes of 100 sources, aggregated.
    Votes,
}

/// Options of `kernel`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The kernel.
    kernel: Kernel,
    /// Number of repetitions.
    #[arg(long, default_value_t = 1, value_name = "N")]
    repeat: u32,
}

/// Runs a kernel.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut kernel = options.kernel.prepare()?;
    for _ in 0..options.repeat {
        kernel()?;
    }
    Ok(())
}

type Prepared = Box<dyn FnMut() -> Result<(), Failure>>;

impl Kernel {
    fn prepare(self) -> Result<Prepared, Failure> {
        match self {
            Self::PairExact => pair(0.0),
            Self::PairSmoothed => pair(0.03),
            Self::PairGradient => pair_gradient(),
            Self::Tree => tree(),
            Self::Independent => fused_by(Independent::default().fit(&simulated(100)?)?),
            Self::AutoFuse => fused_by(Auto::default().fit(&simulated(100)?)?),
            Self::AutoFit => {
                let outputs = simulated(100)?;
                Ok(Box::new(move || {
                    black_box(Auto::default().learn(black_box(&outputs), &NoProgress)?);
                    Ok(())
                }))
            }
            Self::Votes => aggregated(),
        }
    }
}

/// Items of two sources and three classes, `n` per class.
fn simulated(n: usize) -> Result<Outputs, Failure> {
    Ok(Preset::Sim2.truth(0.5)?.simulate(n, 1)?)
}

fn fused_by(model: Model) -> Result<Prepared, Failure> {
    let outputs = simulated(1000)?;
    Ok(Box::new(move || {
        black_box(model.fuse(black_box(&outputs))?);
        Ok(())
    }))
}

/// Two sources with three components that share half of their parameters, and 50 draws.
fn pair_of_sources() -> Result<(CorrelatedDirichlet, Vec<Vec<f64>>), Failure> {
    let alpha = vec![vec![12.0, 9.0, 10.0], vec![11.0, 10.0, 8.0]];
    let delta = vec![5.5, 4.5, 4.0];
    let distribution = CorrelatedDirichlet::new(alpha, Some(delta), vec![])?;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let draws = (0..50).map(|_| distribution.sample(&mut rng)).collect();
    Ok((distribution, draws))
}

fn pair_density(distribution: &CorrelatedDirichlet) -> Result<PairDensity, Failure> {
    let [first, second] = [0, 1].map(|k| distribution.alpha()[k].clone());
    Ok(PairDensity::new(&first, &second, &distribution.shared_by(0, 1))?)
}

fn pair(resolution: f64) -> Result<Prepared, Failure> {
    let (distribution, draws) = pair_of_sources()?;
    let density = pair_density(&distribution)?.with_resolution(resolution)?;
    let mut scratch = PairScratch::default();
    Ok(Box::new(move || {
        for x in &draws {
            black_box(density.ln_density(&x[..3], &x[3..], &mut scratch));
        }
        Ok(())
    }))
}

fn pair_gradient() -> Result<Prepared, Failure> {
    let (distribution, draws) = pair_of_sources()?;
    let density = pair_density(&distribution)?;
    let (mut scratch, mut gradient) = (PairScratch::default(), Gradient::default());
    Ok(Box::new(move || {
        for x in &draws {
            black_box(density.ln_density_and_gradient(
                &x[..3],
                &x[3..],
                &mut scratch,
                &mut gradient,
            ));
        }
        Ok(())
    }))
}

/// Three sources and three classes that share a third of their parameters.
fn three_sources() -> Result<Truth, Failure> {
    let class = |j: usize| {
        let row: Vec<f64> = (0..3).map(|l| if l == j { 6.0 } else { 4.0 }).collect();
        let shared = row.iter().map(|a| a / 3.0).collect();
        CorrelatedDirichlet::new(vec![row; 3], Some(shared), vec![])
    };
    let schema = Arc::new(Schema::new(["a", "b", "c"], ["x", "y", "z"])?);
    Ok(Truth::new(schema, (0..3).map(class).collect::<Result<_, _>>()?)?)
}

fn tree() -> Result<Prepared, Failure> {
    let truth = three_sources()?;
    let classes = truth.classes();
    let alpha: Vec<Vec<Vec<f64>>> =
        (0..3).map(|k| classes.iter().map(|class| class.alpha()[k].clone()).collect()).collect();
    let pair = |between: (usize, usize)| TreePair {
        between,
        delta: classes.iter().map(|class| class.shared_by(between.0, between.1)).collect(),
        gain: 1.0,
        gain_error: 0.0,
    };
    let pairs = [(0, 1), (0, 2), (1, 2)].map(pair).to_vec();
    let schema = Arc::clone(truth.schema());
    let rule: Box<dyn Fusion> =
        Box::new(TreeFusion::new(schema, &alpha, pairs, TreeKind::Tree, 0.0)?);
    let outputs = truth.simulate(10, 2)?;
    Ok(Box::new(move || {
        black_box(fuse(&*rule, black_box(&outputs), &ClassPrior::uniform(3))?);
        Ok(())
    }))
}

fn aggregated() -> Result<Prepared, Failure> {
    let votes = votes(&mut ChaCha8Rng::seed_from_u64(1))?;
    let config = VoteConfig::default();
    Ok(Box::new(move || {
        black_box(config.fit(black_box(&votes))?);
        Ok(())
    }))
}

/// Five votes per item by sources that are right with probability 0.7.
fn votes(rng: &mut impl Rng) -> Result<Votes, Failure> {
    let classes = ["x", "y", "z"];
    let mut builder = VotesBuilder::with_classes(classes)?;
    for item in 0..4000 {
        let truth = rng.random_range(0..3);
        let first = rng.random_range(0..100);
        for step in 0..5 {
            let label = if rng.random_bool(0.7) { truth } else { rng.random_range(0..3) };
            let source = (first + 17 * step) % 100;
            builder.push(&item.to_string(), &source.to_string(), classes[label])?;
        }
    }
    Ok(builder.finish()?)
}
