//! Calibration of the posterior of δ of two classifiers given α: `reference/sbc_delta.csv`.

use std::path::Path;
use std::sync::Arc;

use consilience::laboratory::{Diagnostics, eta_draws};
use consilience::methods::correlated::learning::{Correlated, DeltaPrior};
use consilience::simulation::Preset;
use consilience::{InputFormat, Outputs, OutputsBuilder, Result, Schema};
use consilience_io::write_whole;
use consilience_numerics::log_space::log_add_exp;
use consilience_numerics::simplex;
use correlated_dirichlet::sample_ln_gamma;
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use super::{RANKED, Uniformity};
use crate::Failure;
use crate::output::note;

/// Items per class.
const ITEMS: usize = 30;
/// The resolution: coarse, so that it has an effect and its tables are small.
const EPSILON: f64 = 0.1;
/// Bins of 9 ranks each.
const BINS: usize = 11;
/// The smallest of 19 p-values is below this in one of a thousand runs.
const LEAST_P: f64 = 5e-5;

/// Outputs of both classifiers at a finite resolution: ln G¹ − ln G² has an error, the smaller G has none.
fn observe<R: Rng>(alpha: [&[f64]; 2], delta: &[f64], epsilon: f64, rng: &mut R) -> Vec<f64> {
    let j = delta.len();
    let mut x = vec![0.0; 2 * j];
    for l in 0..j {
        let shared = sample_ln_gamma(delta[l], rng);
        let own = alpha.map(|a| log_add_exp(sample_ln_gamma(a[l] - delta[l], rng), shared));
        let smaller = own[0].min(own[1]);
        let normal: f64 = StandardNormal.sample(rng);
        let tau = own[0] - own[1] + epsilon * normal;
        x[l] = smaller + tau.max(0.0);
        x[j + l] = smaller + (-tau).max(0.0);
    }
    x.chunks_exact_mut(j).for_each(simplex::softmax);
    x
}

/// η of all classes, then μ under the pooled prior.
fn draw_prior<R: Rng>(prior: DeltaPrior, n: usize, rng: &mut R) -> Vec<f64> {
    let logit = |p: f64| (p / (1.0 - p)).ln();
    if prior == DeltaPrior::Uniform {
        return (0..n).map(|_| logit(rng.random())).collect();
    }
    let mu = logit(rng.random());
    let eta = |_| -> f64 {
        let normal: f64 = StandardNormal.sample(rng);
        mu + normal
    };
    let mut point: Vec<f64> = (0..n).map(eta).collect();
    point.push(mu);
    point
}

fn simulate<R: Rng>(alpha: &[Vec<f64>], point: &[f64], rng: &mut R) -> Outputs {
    let j = alpha.len();
    let schema = Arc::new(Schema::new(["c1", "c2"], ["1", "2", "3"]).unwrap());
    let input_format = InputFormat { floor: 0.0, ..InputFormat::default() };
    let mut builder = OutputsBuilder::new(schema, input_format).unwrap();
    for (class, alpha) in alpha.iter().enumerate() {
        let eta = &point[class * j..(class + 1) * j];
        let delta: Vec<f64> =
            alpha.iter().zip(eta).map(|(a, eta)| a / (1.0 + (-eta).exp())).collect();
        for _ in 0..ITEMS {
            let x = observe([alpha, alpha], &delta, EPSILON, rng);
            builder.push_indexed(&x, Some(class)).unwrap();
        }
    }
    builder.finish()
}

/// The rank of every coordinate of the truth among draws of the posterior.
fn replicate(prior: DeltaPrior, replication: u64) -> Result<Vec<usize>> {
    let alpha: Vec<Vec<f64>> = Preset::Sim2.alpha().map(Vec::from).to_vec();
    let mut rng = ChaCha8Rng::seed_from_u64(2026);
    rng.set_stream(replication);
    let truth = draw_prior(prior, alpha.len() * alpha.len(), &mut rng);
    let outputs = simulate(&alpha, &truth, &mut rng);
    let config = Correlated {
        delta_prior: prior,
        resolution: Some(EPSILON),
        seed: replication,
        ..Correlated::default()
    };
    let coordinates = eta_draws(&config, &outputs, &vec![alpha; 2])?;
    let worst = Diagnostics::worst_of(&coordinates, config.chains).expect("there are coordinates");
    if worst.r_hat > 1.05 {
        note(format_args!("{prior:?} {replication}: {worst:?}"));
    }
    let rank = |(l, truth): (usize, &f64)| {
        let n = coordinates[l].len();
        (0..RANKED).filter(|i| coordinates[l][(2 * i + 1) * n / (2 * RANKED)] < *truth).count()
    };
    Ok(truth.iter().enumerate().map(rank).collect())
}

/// Ranks under the pooled and the uniform prior; an error if any is far from uniform.
pub(super) fn run(replications: usize, folder: &Path) -> Result<(), Failure> {
    let mut table = String::from("prior,quantity,replications,chi_square,p_value,mean_rank_z\n");
    let mut least = 1.0f64;
    for prior in [DeltaPrior::Pooled, DeltaPrior::Uniform] {
        note(format_args!("{prior:?} prior: {replications} replications"));
        let ranks = (0..replications as u64).into_par_iter().map(|r| replicate(prior, r));
        let ranks = ranks.collect::<Result<Vec<Vec<usize>>>>()?;
        for l in 0..ranks[0].len() {
            let Uniformity { chi_square, p_value, mean_z, .. } =
                Uniformity::of(ranks.iter().map(|ranks| ranks[l]), BINS);
            let name = if l < 9 { format!("delta[{}][{}]", l / 3, l % 3) } else { "mu".into() };
            table += &format!(
                "{prior:?},{name},{replications},{chi_square:.2},{p_value:.4},{mean_z:.2}\n"
            );
            least = least.min(p_value);
        }
    }
    write_whole(&folder.join("sbc_delta.csv").into(), table.as_bytes())?;
    if least < LEAST_P {
        return Err(format!("ranks are not uniform: p = {least}").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use correlated_dirichlet::pair::{PairDensity, Scratch};

    use super::*;

    /// Masses of the four quadrants, two classes: the density's by a midpoint rule, against 100 000
    /// draws (standard error at most 0.0016; the bound is 4.5 of them).
    #[test]
    fn the_simulator_observes_what_the_density_describes() {
        let (first, second, delta) = ([3.0, 2.0], [2.0, 2.5], [1.6, 1.2]);
        let epsilon = 0.1;
        let density =
            PairDensity::new(&first, &second, &delta).unwrap().with_resolution(epsilon).unwrap();
        let (mut scratch, mut masses, n) = (Scratch::default(), [0.0; 4], 40);
        for i in 0..n * n {
            let [a, b] = [i / n, i % n].map(|k| (f64::from(k) + 0.5) / f64::from(n));
            let value = density.ln_density(&[a, 1.0 - a], &[b, 1.0 - b], &mut scratch).ln_density;
            masses[2 * usize::from(a > 0.5) + usize::from(b > 0.5)] +=
                value.exp() / f64::from(n * n);
        }
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut counts = [0.0; 4];
        for _ in 0..100_000 {
            let x = observe([&first, &second], &delta, epsilon, &mut rng);
            counts[2 * usize::from(x[0] > 0.5) + usize::from(x[2] > 0.5)] += 1e-5;
        }
        assert!((masses.iter().sum::<f64>() - 1.0).abs() < 1e-3, "{masses:?}");
        for (mass, count) in masses.iter().zip(counts) {
            assert!((mass - count).abs() < 0.007, "{masses:?} {counts:?}");
        }
    }
}
