//! How good sources are: a normal distribution of logits of being right, shared by all sources.
//!
//! A vote of source w on an item of class j is right with probability σ(`x_wj`), and
//! `x_w` ~ N(μ, aI + b11ᵀ). The precision matrix of a source's posterior is a diagonal matrix minus a
//! multiple of 11ᵀ, so every operation takes a time linear in the number of classes.

use consilience_numerics::parallel;

use super::super::core::{Core, block_sums, for_blocks};
use super::super::table::Votes;

/// Mean logit of a source before any vote: an accuracy of 0.75.
pub(crate) const START: f64 = 1.1;

/// Number of imagined sources, which keep the hyperparameters of few sources in range.
const IMAGINED: f64 = 2.0;

/// Largest Newton step per logit.
const LONGEST_STEP: f64 = 2.0;

/// Sources per piece of work.
const BLOCK: usize = 1024;

/// The distribution of `x_w` over sources: N(μ, aI + b11ᵀ).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Population {
    /// μ, one logit per class.
    pub(crate) mean: Vec<f64>,
    pub(crate) own: f64,
    pub(crate) shared: f64,
}

/// Votes of sources on items of each class, sources × K, fractional.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hits {
    /// c: right votes.
    pub(crate) right: Vec<f64>,
    /// g: all votes.
    pub(crate) all: Vec<f64>,
}

impl Hits {
    /// From counts n(cell, j).
    pub(crate) fn of(votes: &Votes, counts: &[f64]) -> Self {
        let k = votes.n_classes();
        let (mut right, mut all) =
            (vec![0.0; votes.n_sources() * k], vec![0.0; votes.n_sources() * k]);
        for (cell, row) in counts.chunks_exact(k).enumerate() {
            let start = votes.cell_source(cell) * k;
            all[start..start + k].iter_mut().zip(row).for_each(|(g, n)| *g += n);
            let label = votes.cell_label(cell);
            right[start + label] = row[label];
        }
        Self { right, all }
    }
}

/// Logits x and their variances `C_jj`, sources × K.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Logits {
    pub(crate) x: Vec<f64>,
    pub(crate) variance: Vec<f64>,
}

impl Logits {
    pub(crate) fn start(n_sources: usize, n_classes: usize) -> Self {
        let n = n_sources * n_classes;
        Self { x: vec![START; n], variance: vec![0.0; n] }
    }
}

/// σ(x).
pub(crate) fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// ln σ(x).
pub(crate) fn ln_logistic(x: f64) -> f64 {
    if x >= 0.0 { -(-x).exp().ln_1p() } else { x - x.exp().ln_1p() }
}

/// The precision matrix of one source's logits, diag(d) − u·11ᵀ.
struct Precision {
    /// 1/d.
    inverse: Vec<f64>,
    /// u / (1 − u Σ 1/d), of Sherman and Morrison's formula.
    factor: f64,
}

impl Precision {
    fn new(k: usize) -> Self {
        Self { inverse: vec![0.0; k], factor: 0.0 }
    }

    /// At the logits x of a source with g votes per class.
    fn set(&mut self, population: &Population, x: &[f64], all: &[f64]) {
        let u = population.coupling();
        for ((inverse, x), g) in self.inverse.iter_mut().zip(x).zip(all) {
            let p = logistic(*x);
            *inverse = 1.0 / (1.0 / population.own + g * p * (1.0 - p));
        }
        let sum: f64 = self.inverse.iter().sum();
        self.factor = u / (1.0 - u * sum);
    }

    fn variance(&self, j: usize) -> f64 {
        self.inverse[j] + self.factor * self.inverse[j] * self.inverse[j]
    }

    /// vᵀ C v.
    fn quadratic(&self, v: impl Fn(usize) -> f64) -> f64 {
        let (mut squares, mut product) = (0.0, 0.0);
        for (j, inverse) in self.inverse.iter().enumerate() {
            squares += v(j) * v(j) * inverse;
            product += v(j) * inverse;
        }
        squares + self.factor * product * product
    }
}

impl Population {
    pub(crate) fn start(n_classes: usize) -> Self {
        Self { mean: vec![START; n_classes], own: 0.5, shared: 0.5 }
    }

    /// The coefficient u of the prior precision Λ = I/a − u·11ᵀ.
    fn coupling(&self) -> f64 {
        let k = self.mean.len() as f64;
        self.shared / (self.own + k * self.shared) / self.own
    }

    /// Moves the logits of one source by Newton steps towards their posterior mode.
    fn climb(&self, x: &mut [f64], right: &[f64], all: &[f64], steps: usize, at: &mut Precision) {
        let u = self.coupling();
        let mut gradient = vec![0.0; x.len()];
        for _ in 0..steps {
            at.set(self, x, all);
            let shift: f64 = x.iter().zip(&self.mean).map(|(x, m)| x - m).sum();
            for (j, slope) in gradient.iter_mut().enumerate() {
                let prior = (x[j] - self.mean[j]) / self.own - u * shift;
                *slope = right[j] - all[j] * logistic(x[j]) - prior;
            }
            let product: f64 = gradient.iter().zip(&at.inverse).map(|(g, i)| g * i).sum();
            for (j, x) in x.iter_mut().enumerate() {
                let step = at.inverse[j] * (gradient[j] + at.factor * product);
                *x += step.clamp(-LONGEST_STEP, LONGEST_STEP);
            }
        }
        at.set(self, x, all);
    }

    /// Newton steps for all sources, then new hyperparameters.
    pub(crate) fn learn(
        &mut self,
        core: &Core<'_>,
        logits: &mut Logits,
        hits: &Hits,
        steps: usize,
    ) {
        let k = self.mean.len();
        let n_sources = hits.all.len() / k;
        let mut spreads = vec![[0.0; 2]; n_sources];
        {
            let pieces: Vec<_> = logits
                .x
                .chunks_mut(BLOCK * k)
                .zip(logits.variance.chunks_mut(BLOCK * k))
                .zip(spreads.chunks_mut(BLOCK))
                .collect();
            let this = &*self;
            for_blocks(pieces, |block, ((xs, variances), spreads)| {
                let mut at = Precision::new(k);
                let rows = xs.chunks_exact_mut(k).zip(variances.chunks_exact_mut(k)).zip(spreads);
                for (i, ((x, variance), spread)) in rows.enumerate() {
                    let own = (block * BLOCK + i) * k..(block * BLOCK + i + 1) * k;
                    this.climb(x, &hits.right[own.clone()], &hits.all[own], steps, &mut at);
                    variance.iter_mut().enumerate().for_each(|(j, v)| *v = at.variance(j));
                    *spread = [variance.iter().sum(), at.quadratic(|_| 1.0)];
                }
            });
        }
        self.update(core, &logits.x, &spreads);
    }

    /// New hyperparameters from all logits; `spreads` has the trace and the sum of each source's
    /// covariance matrix.
    fn update(&mut self, core: &Core<'_>, x: &[f64], spreads: &[[f64; 2]]) {
        let k = self.mean.len();
        let sums = block_sums(spreads.len(), k + 1, |sources, sums| {
            for source in sources {
                let weight = core.source_weight(source);
                let row = x[source * k..(source + 1) * k].iter();
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += weight * x);
                sums[k] += weight;
            }
        });
        let weight = sums[k] + IMAGINED;
        self.mean = sums[..k].iter().map(|sum| (sum + IMAGINED * START) / weight).collect();
        let mean = &self.mean;
        let moments = block_sums(spreads.len(), 2, |sources, sums| {
            for source in sources {
                let (row, spread) = (&x[source * k..(source + 1) * k], spreads[source]);
                let weight = core.source_weight(source);
                let off = row.iter().zip(mean).map(|(x, m)| x - m);
                let (squares, sum) = off.fold((0.0, 0.0), |(s, t), d| (s + d * d, t + d));
                sums[0] += weight * (squares + spread[0]);
                sums[1] += weight * (sum * sum + spread[1]);
            }
        });
        let classes = k as f64;
        let diagonal = (moments[0] / classes + IMAGINED) / weight;
        let pairs = (classes * (classes - 1.0)).max(1.0);
        let other = ((moments[1] - moments[0]) / pairs + 0.5 * IMAGINED) / weight;
        self.own = (diagonal - other).max(0.02);
        self.shared = other.max(-0.9 * self.own / classes);
    }

    /// Variance of a new source's logit.
    pub(crate) fn variance(&self) -> f64 {
        self.own + self.shared
    }

    /// The variance of `Σ_j v_j x_wj` of every source, at its logits.
    pub(crate) fn projected_variances(
        &self,
        x: &[f64],
        all: &[f64],
        direction: impl Fn(usize, usize) -> f64 + Sync + Send,
    ) -> Vec<f64> {
        let k = self.mean.len();
        let blocks = parallel::map((x.len() / k).div_ceil(BLOCK), |block| {
            let mut at = Precision::new(k);
            let sources = block * BLOCK..((block + 1) * BLOCK).min(x.len() / k);
            let variance = |source: usize| {
                let own = source * k..(source + 1) * k;
                at.set(self, &x[own.clone()], &all[own]);
                at.quadratic(|j| direction(source, j))
            };
            sources.map(variance).collect::<Vec<f64>>()
        });
        blocks.into_iter().flatten().collect()
    }
}
