//! The posterior of everything that three and more classifiers share, α given.
//!
//! The likelihood of an item is an integral over many dimensions. At a centre δ₀ every item gets weighted points of its
//! integral, and these serve at all δ near it (`likelihood`); in coordinates in which every point is legal (`legal`) they
//! lead to the mode, the centre following. They do not reach all of the posterior: more than 99 % of what gammas would
//! tell is hidden, so that an item's log weights have a variance of about 100 d/n over it, n items and d shapes a class.
//! So polynomials are fitted to values and gradients at designed points, each with points of its own, and chains run with
//! these (`polynomials`).
//!
//! **Not calibrated.** Polynomials hold within a few standard deviations of the draws they were fitted around, and the chains
//! end there. Items hardly tell what is common from what pairs share, so that the posterior reaches farther; regions
//! taken from chains that were held in shrink from round to round. Intervals are too narrow, and a warning says so.
//!
//! Prior: with η of every part, given the parts before it, as the logit of its share of what is left, `pooled` has
//! η ~ N(μ, 1), one μ for the common part and one for pairs, expit(μ) uniform; `uniform` has every share uniform. At least ½
//! (or a quarter of α) of every classifier's component is private: this is not for correlations near 1.

mod legal;
mod likelihood;
mod polynomials;

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use super::config::{CorrelatedConfig, DeltaPrior};
use super::many::{FittedPairs, PairsDraw};
use super::prior;
use super::report::Summary;
use crate::error::{Error, Result};
use crate::fusion::correlated::Structure;
use crate::fusion::independent::Alpha;
use crate::outputs::Outputs;
use crate::parallel;
use crate::sampling::diagnostics::Diagnostics;
use crate::sampling::{ChainSettings, Draws, Mode, Target, find_mode, sample};
use crate::warning::Warning;
use crate::watch::Watch;
use legal::{FARTHEST, Legal};
use likelihood::{ClassItems, TiltedClass};

/// The climb does not go where the effective share of the points falls below this part of that at the centre.
const LEAST_EFFECTIVE: f64 = 0.12;
/// Below this effective share at the mode an item's points mean nothing, and it is left out.
const USABLE: f64 = 0.03;
/// Centres that the climb has at the most, and the rise of the log posterior that ends it.
const CENTRES: usize = 6;
const SMALL_RISE: f64 = 0.2;
/// Draws made for one kept.
const THINNING: usize = 15;
/// Polynomials off by more than this, as a standard deviation over the posterior, are worth a warning.
const LARGE_SPREAD: f64 = 0.5;
/// What simulation-based calibration found (`experiments/many/calibration.csv`).
const TOO_NARROW: &str = "intervals of what is shared are too narrow where items leave its split open: in a \
                          calibration with 30 items a class, 90 % intervals held 7 of 10 true values";
/// More items than this part without usable points, and the method is not for these data.
const MOST_LEFT_OUT: f64 = 0.1;

/// The posterior of what three and more classifiers share, in numbers; parts are the common one, then the pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedReport {
    /// The worst diagnostics over all elements of δ.
    pub worst: Diagnostics,
    /// Mean share of accepted proposals.
    pub acceptance: f64,
    /// Chains.
    pub chains: usize,
    /// Draws of each chain.
    pub draws: usize,
    /// Posterior standard deviations, `sd[part][class]`, with the uncertainty of α.
    pub sd: Vec<Vec<Vec<f64>>>,
    /// Ends of the central 90 % intervals, likewise.
    pub interval: Vec<Vec<Vec<[f64; 2]>>>,
    /// Mean effective share of an item's points at the mode.
    pub effective_points: f64,
    /// Standard deviation, by the points, of the log likelihood of all items at the mode.
    pub likelihood_error: f64,
    /// Standard deviation, over the draws, of the log likelihood less the polynomials.
    pub surrogate_error: f64,
    /// Items that had all outputs but no usable points.
    pub left_out: usize,
}

/// What a fit of all shared shapes gives.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedShared {
    /// Posterior means, `delta[part][j]`: the common part, then the pairs in the order of the pairs' fit.
    pub delta: Vec<Vec<Vec<f64>>>,
    /// The posterior in numbers.
    pub report: SharedReport,
    /// The draws kept; `delta` as above.
    pub draws: Vec<PairsDraw>,
    /// What a user should know.
    pub warnings: Vec<Warning>,
}

impl CorrelatedConfig {
    /// Learns all shared shapes of three and more classifiers, given α and where to start.
    ///
    /// Only items with all outputs count. The exact density is used, so that private shapes must not be near 0.
    pub fn fit_shared(
        &self,
        outputs: &Outputs,
        pairs: &FittedPairs,
        structure: Structure,
        watch: &dyn Watch,
    ) -> Result<FittedShared> {
        if self.delta_prior == DeltaPrior::Paper {
            return Err(Error::parameter(
                "delta prior",
                "pooled or uniform with `posterior`",
                "paper",
            ));
        }
        let mut problem = Problem::new(outputs, pairs, structure, self.delta_prior)?;
        let split = pairs.split(structure);
        let start: Vec<_> = std::iter::once(split.common).chain(split.pairs).collect();
        let mut point = problem.point(&pairs.alpha, &start);
        watch.begin("climbing to the mode", CENTRES as u64);
        let mut height = f64::NEG_INFINITY;
        let mut centre = 0;
        let (mode, at_mode, lost) = loop {
            watch.check()?;
            let target = problem.at(&pairs.alpha, &point, self.seed)?;
            let mode = find_mode(&target, &point);
            let rise = target.ln_density(&mode.point, &mut vec![0.0; point.len()]) - height;
            (centre, height) = (centre + 1, height + rise);
            watch.advance(1);
            if rise < SMALL_RISE || centre == CENTRES {
                break (mode, target.in_numbers(), target.lost());
            }
            point = mode.point;
        };
        problem.drop(&lost);
        let chains = Chains { settings: self.chain_settings(), seed: self.seed };
        let (draws, spread) =
            polynomials::sample_shared(&problem, &pairs.alpha, mode, &chains, watch)?;
        Ok(self.conclude_shared(&problem, (&at_mode, spread), pairs, &draws))
    }

    fn conclude_shared(
        &self,
        problem: &Problem,
        (at_mode, spread): (&AtMode, f64),
        pairs: &FittedPairs,
        draws: &Draws,
    ) -> FittedShared {
        // The mean given α is legal: legal shapes are convex. Spread and kept draws have the draws of α under them.
        let n = draws.len();
        let alpha = |i: usize| {
            let all = &pairs.alpha_draws;
            if all.is_empty() { &pairs.alpha } else { &all[i * all.len() / n] }
        };
        let rows = |alpha: &Alpha, i: usize| problem.delta(alpha, draws.draw(i)).concat();
        let given = Summary::of((0..n).map(|i| rows(&pairs.alpha, i)), draws.n_chains());
        let carried = Summary::of((0..n).map(|i| rows(alpha(i), i)), draws.n_chains());
        let kept = |i: usize| {
            let i = i * n / self.keep_draws;
            PairsDraw { alpha: alpha(i).clone(), delta: problem.delta(alpha(i), draws.draw(i)) }
        };
        let report = SharedReport {
            worst: given.worst,
            acceptance: draws.acceptance(),
            chains: draws.n_chains(),
            draws: n / draws.n_chains(),
            sd: by_part(&carried.sd, problem.n_classes),
            interval: by_part(&carried.interval, problem.n_classes),
            effective_points: at_mode.effective,
            likelihood_error: at_mode.noise,
            surrogate_error: spread,
            left_out: at_mode.left_out,
        };
        FittedShared {
            delta: by_part(&given.mean, problem.n_classes),
            warnings: warnings(&report),
            report,
            draws: (0..self.keep_draws).map(kept).collect(),
        }
    }
}

fn warnings(report: &SharedReport) -> Vec<Warning> {
    let mut warnings = vec![Warning::convergence(TOO_NARROW.into())];
    if report.worst.are_poor(report.chains) {
        let Diagnostics { r_hat, ess_bulk, ess_tail } = report.worst;
        warnings.push(Warning::convergence(format!(
            "the chains of what is shared have not converged (R-hat {r_hat:.3}, bulk ESS \
             {ess_bulk:.0}, tail ESS {ess_tail:.0}); do not trust them, try more draws or `two-step`"
        )));
    }
    if !(report.surrogate_error < LARGE_SPREAD) {
        warnings.push(Warning::convergence(format!(
            "the posterior of what is shared is not followed well (log likelihood off by {:.1}): its \
             mean can be trusted more than its spread",
            report.surrogate_error
        )));
    }
    if report.left_out > 0 {
        warnings.push(Warning::data(format!(
            "{} items were left out of what is shared: their densities could not be resolved",
            report.left_out
        )));
    }
    warnings
}

/// Rows of all parts, those of a part after those of another.
fn by_part<T: Clone>(rows: &[Vec<T>], n_classes: usize) -> Vec<Vec<Vec<T>>> {
    rows.chunks(n_classes).map(<[Vec<T>]>::to_vec).collect()
}

/// How chains run.
struct Chains {
    settings: ChainSettings,
    seed: u64,
}

impl Chains {
    /// All of them, each with its own random stream, every [`THINNING`]th draw kept: polynomials cost little, and where
    /// bounds change members they have kinks.
    fn run(&self, target: &impl Target, mode: &Mode, watch: &dyn Watch) -> Result<Draws> {
        let one = ChainSettings {
            n_chains: 1,
            n_warmup: THINNING * self.settings.n_warmup,
            n_draws: THINNING * self.settings.n_draws,
        };
        let runs = parallel::map(self.settings.n_chains, |c| {
            sample(target, mode, &one, self.seed, c as u64, watch)
        });
        let runs = runs.into_iter().collect::<Result<Vec<_>>>()?;
        let acceptance = runs.iter().map(Draws::acceptance).sum::<f64>() / runs.len() as f64;
        let chain = |run: &Draws| {
            let kept = (THINNING - 1..run.len()).step_by(THINNING);
            kept.map(|i| run.draw(i).to_vec()).collect()
        };
        Ok(Draws::from_chains(runs.iter().map(chain).collect(), acceptance))
    }
}

/// Items, parts and prior. A point is η by class, component and part, then the μ.
struct Problem {
    items: Vec<ClassItems>,
    members: Vec<Vec<usize>>,
    n_classes: usize,
    prior: DeltaPrior,
}

impl Problem {
    fn new(
        outputs: &Outputs,
        pairs: &FittedPairs,
        structure: Structure,
        prior: DeltaPrior,
    ) -> Result<Self> {
        let (n_classes, n) = (outputs.schema().n_classes(), outputs.schema().n_classifiers());
        let mut members = vec![(0..n).collect::<Vec<_>>()];
        if structure == Structure::Full {
            members.extend(pairs.pairs.iter().map(|pair| vec![pair.between.0, pair.between.1]));
        }
        let mut items = vec![ClassItems::default(); n_classes];
        let all = outputs.all();
        for (item, class) in outputs.require_labels()?.into_iter().enumerate() {
            let each: Option<Vec<&[f64]>> = (0..n).map(|k| all.output(item, k)).collect();
            if let Some(each) = each {
                items[class].items.push(each.concat());
            }
        }
        Ok(Self { items, members, n_classes, prior })
    }

    /// Leaves items out, by class.
    fn drop(&mut self, lost: &[Vec<usize>]) {
        for (class, lost) in self.items.iter_mut().zip(lost) {
            let mut place = 0..;
            class.items.retain(|_| place.next().is_some_and(|i| !lost.contains(&i)));
        }
    }

    fn legal(&self, alpha: &Alpha, class: usize) -> Vec<Legal<'_>> {
        let one = |l: usize| Legal {
            members: &self.members,
            alpha: alpha.iter().map(|rows| rows[class][l]).collect(),
        };
        (0..self.n_classes).map(one).collect()
    }

    /// Numbers of a class that are η.
    fn width(&self) -> usize {
        self.n_classes * self.members.len()
    }

    fn n_eta(&self) -> usize {
        self.n_classes * self.width()
    }

    /// Which μ the i-th η belongs to: that of the common part or that of pairs.
    fn mean_of(&self, i: usize) -> usize {
        self.n_eta() + usize::from(!i.is_multiple_of(self.members.len()))
    }

    fn n_means(&self) -> usize {
        match self.prior {
            DeltaPrior::Pooled => self.members.len().min(2),
            _ => 0,
        }
    }

    /// The point of shapes `delta[part][class][component]`.
    fn point(&self, alpha: &Alpha, delta: &[Vec<Vec<f64>>]) -> Vec<f64> {
        let mut point = Vec::new();
        for j in 0..self.n_classes {
            for (l, legal) in self.legal(alpha, j).iter().enumerate() {
                let own: Vec<f64> = delta.iter().map(|part| part[j][l]).collect();
                point.extend(legal.eta(&own));
            }
        }
        let n = point.len();
        for mean in n..n + self.n_means() {
            let own: Vec<f64> =
                (0..n).filter(|i| self.mean_of(*i) == mean).map(|i| point[i]).collect();
            point.push(own.iter().sum::<f64>() / own.len() as f64);
        }
        point
    }

    /// Shapes `delta[part][class][component]` of a point.
    fn delta(&self, alpha: &Alpha, point: &[f64]) -> Vec<Vec<Vec<f64>>> {
        let n_parts = self.members.len();
        let mut delta = vec![vec![vec![0.0; self.n_classes]; self.n_classes]; n_parts];
        for (j, eta) in point[..self.n_eta()].chunks_exact(self.width()).enumerate() {
            let legal = self.legal(alpha, j);
            for (l, (legal, eta)) in legal.iter().zip(eta.chunks_exact(n_parts)).enumerate() {
                let own = legal.place(eta).delta;
                delta.iter_mut().zip(own).for_each(|(part, d)| part[j][l] = d);
            }
        }
        delta
    }

    /// The posterior by points drawn at a centre.
    fn at(&self, alpha: &Alpha, point: &[f64], seed: u64) -> Result<SharedPosterior<'_>> {
        let etas = point.chunks_exact(self.width());
        let class = |(j, (items, eta)): (usize, (&ClassItems, &[f64]))| {
            let near: Vec<f64> = eta.iter().map(|e| e.clamp(-FARTHEST, FARTHEST)).collect();
            TiltedClass::new(
                self.legal(alpha, j),
                items,
                &near,
                (seed.wrapping_add((j as u64) << 32), USABLE),
            )
        };
        let classes =
            self.items.iter().zip(etas).enumerate().map(class).collect::<Result<Vec<_>>>()?;
        let posterior = SharedPosterior { problem: self, classes };
        let n: usize = self.items.iter().map(|items| items.items.len()).sum();
        if posterior.left_out() as f64 > MOST_LEFT_OUT * n as f64 {
            return Err(Error::Unsupported {
                method: "correlated".into(),
                cannot: format!(
                    "cannot draw all that is shared: the exact density of {} of {n} items cannot be \
                     resolved, since nearly nothing is private; use `two-step`",
                    posterior.left_out()
                ),
            });
        }
        Ok(posterior)
    }
}

/// Likelihoods by points around a centre, and the prior.
struct SharedPosterior<'a> {
    problem: &'a Problem,
    classes: Vec<TiltedClass<'a>>,
}

impl SharedPosterior<'_> {
    fn left_out(&self) -> usize {
        self.classes.iter().map(|class| class.lost.len()).sum()
    }

    fn lost(&self) -> Vec<Vec<usize>> {
        self.classes.iter().map(|class| class.lost.clone()).collect()
    }

    fn in_numbers(&self) -> AtMode {
        let n: usize = self.classes.iter().map(TiltedClass::n_items).sum();
        let weighted = self.classes.iter().map(|class| class.n_items() as f64 * class.effective());
        AtMode {
            effective: weighted.sum::<f64>() / (n as f64).max(1.0),
            noise: self.classes.iter().map(|class| class.noise().powi(2)).sum::<f64>().sqrt(),
            left_out: self.left_out(),
        }
    }
}

/// What the points are worth at the mode.
struct AtMode {
    effective: f64,
    noise: f64,
    left_out: usize,
}

impl Problem {
    /// ln of the prior's density; writes its gradient.
    fn ln_prior(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let n = self.n_eta();
        let mut sum = 0.0;
        for mean in n..point.len() {
            let local = prior::logistic(point[mean]);
            sum += local.value;
            gradient[mean] = local.slope;
        }
        for i in 0..n {
            let mean = self.mean_of(i);
            let mu = point.get(mean).copied().unwrap_or(0.0);
            let local = prior::element(self.prior, point[i], 1.0, mu);
            sum += local.value;
            gradient[i] = local.slope;
            if mean < point.len() {
                gradient[mean] -= local.slope;
            }
        }
        sum
    }
}

impl Target for SharedPosterior<'_> {
    fn dimension(&self) -> usize {
        self.problem.n_eta() + self.problem.n_means()
    }

    fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let mut sum = self.problem.ln_prior(point, gradient);
        let width = self.problem.width();
        for (j, class) in self.classes.iter().enumerate() {
            let own = j * width..(j + 1) * width;
            let at = class.evaluate(&point[own.clone()], None);
            if class.n_items() > 0 && !(at.effective >= LEAST_EFFECTIVE) {
                return f64::NEG_INFINITY;
            }
            sum += at.value;
            gradient[own].iter_mut().zip(&at.gradient).for_each(|(g, own)| *g += own);
        }
        sum
    }

    /// The items' scores stand for the information.
    fn curvature(&self, point: &[f64]) -> DMatrix<f64> {
        let (problem, d, width) = (self.problem, self.dimension(), self.problem.width());
        let mut matrix = DMatrix::zeros(d, d);
        for (j, class) in self.classes.iter().enumerate() {
            let first = j * width;
            let mut add = |score: &[f64]| {
                for (a, x) in score.iter().enumerate() {
                    for (b, y) in score.iter().enumerate() {
                        matrix[(first + a, first + b)] += x * y;
                    }
                }
            };
            class.evaluate(&point[first..first + width], Some(&mut add));
        }
        for i in 0..problem.n_eta() {
            let mean = problem.mean_of(i);
            let mu = point.get(mean).copied().unwrap_or(0.0);
            let bend = prior::element(problem.prior, point[i], 1.0, mu).curvature.max(0.0);
            matrix[(i, i)] += bend;
            if mean < d {
                matrix[(mean, mean)] += bend;
                matrix[(i, mean)] -= bend;
                matrix[(mean, i)] -= bend;
            }
        }
        for mean in problem.n_eta()..d {
            matrix[(mean, mean)] += prior::logistic(point[mean]).curvature;
        }
        matrix
    }
}
