//! The log likelihood of one class's δ, with its gradient and the outer products of the items' scores.

use std::iter::StepBy;
use std::ops::Range;
use std::sync::Arc;

use nalgebra::DMatrix;

use super::constants::likelihood::{
    DIFFERENCE_STEP, GRID_FROM, ITEMS_PER_CHUNK, LARGEST_ETA, RESOLVED_SHAPE,
};
use super::pair_items::PairItems;
use crate::error::Result;
use crate::progress::Progress;
use consilience_numerics::parallel;
use correlated_dirichlet::pair::{
    Gradient, LearningDensity, LearningScratch, LearningShapes, PairDensity, RatioNodes, Scratch,
};

/// The items of a class with both sources' α.
#[derive(Clone)]
pub(super) struct ClassLikelihood<'a> {
    items: PairItems,
    alpha: [Vec<f64>; 2],
    bound: Vec<f64>,
    resolution: f64,
    /// The weight of every item.
    weight: f64,
    /// Whether tables of low accuracy suffice.
    is_rough: bool,
    /// The nodes of every item, if tables are used.
    lattices: Arc<[RatioNodes]>,
    progress: &'a dyn Progress,
}

/// The log likelihood at one η.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Evaluation {
    pub(super) value: f64,
    /// Its gradient in η, the sum of the items' scores.
    pub(super) gradient: Vec<f64>,
    /// Σ of the scores' outer products.
    pub(super) information: DMatrix<f64>,
}

impl Evaluation {
    fn zero(n: usize) -> Self {
        Self { value: 0.0, gradient: vec![0.0; n], information: DMatrix::zeros(n, n) }
    }

    fn add_item(&mut self, value: f64, score: &[f64]) {
        self.value += value;
        for (l, a) in score.iter().enumerate() {
            self.gradient[l] += a;
            for (m, b) in score.iter().enumerate() {
                self.information[(l, m)] += a * b;
            }
        }
    }

    /// As if every item had a weight. At or near a pole of the density, which exact ties may have, the
    /// value becomes −∞.
    fn times(mut self, weight: f64) -> Self {
        let finite = self.value.is_finite() && self.information.iter().all(|x| x.is_finite());
        if !finite {
            return Self { value: f64::NEG_INFINITY, ..Self::zero(self.gradient.len()) };
        }
        self.value *= weight;
        self.gradient.iter_mut().for_each(|slope| *slope *= weight);
        self.information *= weight;
        self
    }

    fn add(mut self, other: Self) -> Self {
        self.value += other.value;
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(a, b)| *a += b);
        self.information += other.information;
        self
    }
}

/// expit, precise at both ends.
pub(super) fn expit(x: f64) -> f64 {
    if x >= 0.0 { 1.0 / (1.0 + (-x).exp()) } else { x.exp() / (1.0 + x.exp()) }
}

/// Whether the outputs of a source with these shapes vary enough to be informative about δ.
pub(super) fn is_resolved(alpha: &[f64]) -> bool {
    alpha.iter().all(|alpha| *alpha <= RESOLVED_SHAPE)
}

/// The density at one δ, computed as the resolution requires.
enum Density {
    Grid(LearningDensity),
    Exact(Box<PairDensity>),
    /// At η and at η ± [`DIFFERENCE_STEP`] in every component.
    Differences(Vec<PairDensity>),
    /// Values without derivatives.
    Value(Box<PairDensity>),
}

/// How a density and its derivatives are computed.
enum DensityKind {
    Grid,
    Exact,
    Differences,
}

#[derive(Default)]
struct Buffers {
    grid: LearningScratch,
    exact: Scratch,
    gradient: Gradient,
}

impl<'a> ClassLikelihood<'a> {
    /// Uses no items if the outputs of a source hardly vary ([`is_resolved`]). Cancellation is checked at every [`ITEMS_PER_CHUNK`] items.
    pub(super) fn new(
        items: PairItems,
        alpha: [&[f64]; 2],
        resolution: f64,
        progress: &'a dyn Progress,
    ) -> Self {
        let bound = alpha[0].iter().zip(alpha[1]).map(|(a, b)| a.min(*b)).collect();
        let items = if alpha.into_iter().all(is_resolved) { items } else { items.none() };
        let alpha = alpha.map(<[f64]>::to_vec);
        let lattices = Arc::new([]);
        Self { items, alpha, bound, resolution, weight: 1.0, is_rough: false, lattices, progress }
    }

    /// A cheap approximation for searches: about `wanted` of the items, and tables of low accuracy.
    pub(super) fn rough(&self, wanted: usize) -> Self {
        Self { is_rough: true, ..self.thinned(wanted) }
    }

    /// About `wanted` of the items, with a weight.
    pub(super) fn thinned(&self, wanted: usize) -> Self {
        let step = ((self.items.len() + wanted / 2) / wanted).max(1);
        let weight = self.weight * step as f64;
        Self { items: self.items.thinned(step), lattices: Arc::new([]), weight, ..self.clone() }
    }

    /// The same with one element of α multiplied by e^step.
    pub(super) fn with_alpha_step(&self, classifier: usize, component: usize, step: f64) -> Self {
        let mut moved = self.clone();
        moved.alpha[classifier][component] *= step.exp();
        let [first, second] = [0, 1].map(|k| moved.alpha[k][component]);
        moved.bound[component] = first.min(second);
        moved
    }

    pub(super) fn resolution(&self) -> f64 {
        self.resolution
    }

    /// The weight of every item.
    pub(super) fn weight(&self) -> f64 {
        self.weight
    }

    pub(super) fn n_items(&self) -> usize {
        self.items.len()
    }

    /// The items with both outputs.
    pub(super) fn items(&self) -> &PairItems {
        &self.items
    }

    /// Whether both sources vary enough for their items to be used.
    pub(super) fn is_resolved(&self) -> bool {
        self.alpha().into_iter().all(is_resolved)
    }

    /// α of both sources.
    pub(super) fn alpha(&self) -> [&[f64]; 2] {
        [&self.alpha[0], &self.alpha[1]]
    }

    pub(super) fn bound(&self) -> &[f64] {
        &self.bound
    }

    /// δ = b expit(η).
    pub(super) fn delta(&self, eta: &[f64]) -> Vec<f64> {
        let one = |(b, eta): (&f64, &f64)| b * expit(eta.clamp(-LARGEST_ETA, LARGEST_ETA));
        self.bound.iter().zip(eta).map(one).collect()
    }

    /// Number of items with tied outputs whose exact density has a pole as δ → b. They make the
    /// likelihood unbounded.
    pub(super) fn n_poles(&self) -> usize {
        let [first, second] = &self.alpha;
        // a¹ + a² − 1 at δ = b
        let powers: Vec<f64> = first.iter().zip(second).map(|(a, b)| (a - b).abs() - 1.0).collect();
        if self.resolution > 0.0 { 0 } else { self.items.n_poles(&powers) }
    }

    /// The start of the mode search: the share δ/b that the outputs' correlation suggests.
    pub(super) fn start(&self) -> Vec<f64> {
        let n = self.bound.len();
        if self.items.len() < 3 {
            return vec![0.0; n];
        }
        let mean = (0..n).map(|l| self.items.correlation(l).0).sum::<f64>() / n as f64;
        let share = |l: usize| {
            let scale = (self.alpha[0][l] * self.alpha[1][l]).sqrt() / self.bound[l];
            let own = 0.5 * (self.items.correlation(l).0 + mean);
            (own * scale).clamp(0.05, 0.95)
        };
        (0..n).map(|l| (share(l) / (1.0 - share(l))).ln()).collect()
    }

    /// Makes the items' grids for parameters near η.
    pub(super) fn anchor(&mut self, eta: &[f64]) -> Result<()> {
        if self.resolution < GRID_FROM {
            return Ok(());
        }
        let shapes = LearningShapes::new(self.alpha(), &self.delta(eta), self.resolution)?;
        let items = &self.items;
        let chunks = self.in_chunks(1, |chosen| {
            let mut scratch = LearningScratch::default();
            let nodes = |i| shapes.nodes(items.pair(i).0, items.pair(i).1, &mut scratch);
            chosen.map(nodes).collect::<Vec<_>>()
        })?;
        self.lattices = chunks.into_iter().flatten().collect();
        Ok(())
    }

    /// The log likelihood, its gradient and the scores' outer products at η.
    pub(super) fn evaluate(&self, eta: &[f64]) -> Result<Evaluation> {
        let n = self.bound.len();
        if self.items.len() == 0 {
            return Ok(Evaluation::zero(n));
        }
        let density = self.density_at(eta)?;
        let slopes: Vec<f64> = self
            .delta(eta)
            .iter()
            .zip(&self.bound)
            .map(|(delta, bound)| delta * (1.0 - delta / bound))
            .collect();
        let chunks = self.in_chunks(1, |chosen| {
            let (mut sum, mut buffers) = (Evaluation::zero(n), Buffers::default());
            let mut score = vec![0.0; n];
            for i in chosen {
                let value = self.score(&density, i, &slopes, &mut buffers, &mut score);
                sum.add_item(value, &score);
            }
            sum
        })?;
        let sum = chunks.into_iter().fold(Evaluation::zero(n), Evaluation::add);
        Ok(sum.times(self.weight))
    }

    /// The log likelihood alone.
    pub(super) fn value(&self, eta: &[f64]) -> Result<f64> {
        let sum = self.partial(eta, 1)?;
        Ok(if sum.is_finite() { self.weight * sum } else { f64::NEG_INFINITY })
    }

    /// The log likelihood of every `every`-th item, each with weight 1.
    pub(super) fn partial(&self, eta: &[f64], every: usize) -> Result<f64> {
        if self.items.len() == 0 {
            return Ok(0.0);
        }
        let density = match self.density_kind() {
            DensityKind::Grid => Density::Grid(self.grid(eta, false)?),
            DensityKind::Exact | DensityKind::Differences => {
                Density::Value(Box::new(self.quadrature(eta)?))
            }
        };
        self.sum_values(&density, every)
    }

    /// The same by adaptive quadrature.
    pub(super) fn adaptive(&self, eta: &[f64], every: usize) -> Result<f64> {
        self.sum_values(&Density::Value(Box::new(self.quadrature(eta)?)), every)
    }

    fn sum_values(&self, density: &Density, every: usize) -> Result<f64> {
        let chunks = self.in_chunks(every, |chosen| {
            let value = self.value_of(density);
            chosen.map(value).sum::<f64>()
        })?;
        Ok(chunks.iter().sum())
    }

    /// The log density of every item at this δ, by grids; the class's own grids are not used.
    pub(super) fn grid_values(mut self, delta: &[f64]) -> Result<Vec<f64>> {
        if self.items.len() == 0 {
            return Ok(Vec::new());
        }
        let share = |(delta, bound): (&f64, &f64)| (delta / (bound - delta).max(0.0)).ln();
        let eta: Vec<f64> = delta.iter().zip(&self.bound).map(share).collect();
        self.anchor(&eta)?;
        let density = Density::Grid(self.grid(&eta, false)?);
        let chunks = self.in_chunks(1, |chosen| {
            let value = self.value_of(&density);
            chosen.map(value).collect::<Vec<f64>>()
        })?;
        Ok(chunks.concat())
    }

    /// The log density of an item, with buffers of its own.
    fn value_of<'b>(&'b self, density: &'b Density) -> impl FnMut(usize) -> f64 + 'b {
        let n = self.bound.len();
        let (mut buffers, mut score, slopes) = (Buffers::default(), vec![0.0; n], vec![0.0; n]);
        move |i| self.score(density, i, &slopes, &mut buffers, &mut score)
    }

    /// Applies `f` to every chunk of every `every`-th item, in parallel.
    fn in_chunks<T: Send>(
        &self,
        every: usize,
        f: impl Fn(StepBy<Range<usize>>) -> T + Sync + Send,
    ) -> Result<Vec<T>> {
        let (n, step) = (self.items.len(), ITEMS_PER_CHUNK * every);
        let chunk = |c: usize| {
            self.progress.check()?;
            Ok(f((c * step..((c + 1) * step).min(n)).step_by(every)))
        };
        parallel::map(n.div_ceil(step), chunk).into_iter().collect()
    }

    /// Whether grids are used instead of adaptive quadrature.
    pub(super) fn uses_grids(&self) -> bool {
        self.resolution >= GRID_FROM
    }

    fn density_kind(&self) -> DensityKind {
        if self.uses_grids() {
            DensityKind::Grid
        } else if self.resolution == 0.0 {
            DensityKind::Exact
        } else {
            DensityKind::Differences
        }
    }

    fn grid(&self, eta: &[f64], with_slopes: bool) -> Result<LearningDensity> {
        let make = if self.is_rough { LearningDensity::rough } else { LearningDensity::new };
        Ok(make(self.alpha(), &self.delta(eta), self.resolution, with_slopes)?)
    }

    fn quadrature(&self, eta: &[f64]) -> Result<PairDensity> {
        let exact = PairDensity::new(&self.alpha[0], &self.alpha[1], &self.delta(eta))?;
        Ok(exact.with_resolution(self.resolution)?)
    }

    fn density_at(&self, eta: &[f64]) -> Result<Density> {
        match self.density_kind() {
            DensityKind::Grid => return Ok(Density::Grid(self.grid(eta, true)?)),
            DensityKind::Exact => return Ok(Density::Exact(Box::new(self.quadrature(eta)?))),
            DensityKind::Differences => {}
        }
        let mut densities = vec![self.quadrature(eta)?];
        for l in 0..eta.len() {
            for step in [-DIFFERENCE_STEP, DIFFERENCE_STEP] {
                let mut moved = eta.to_vec();
                moved[l] += step;
                densities.push(self.quadrature(&moved)?);
            }
        }
        Ok(Density::Differences(densities))
    }

    /// One item's log density; writes its score in η.
    fn score(
        &self,
        density: &Density,
        item: usize,
        slopes: &[f64],
        buffers: &mut Buffers,
        score: &mut [f64],
    ) -> f64 {
        let (first, second) = self.items.pair(item);
        match density {
            Density::Grid(density) => {
                let lattice = &self.lattices[item];
                let value = density.ln_density(first, second, lattice, &mut buffers.grid, score);
                score.iter_mut().zip(slopes).for_each(|(score, slope)| *score *= slope);
                value
            }
            Density::Exact(density) => {
                let Buffers { exact, gradient, .. } = buffers;
                let value = density.ln_density_and_gradient(first, second, exact, gradient);
                for ((score, slope), d) in score.iter_mut().zip(slopes).zip(&gradient.delta) {
                    *score = slope * d;
                }
                value.ln_density
            }
            Density::Value(density) => {
                density.ln_density(first, second, &mut buffers.exact).ln_density
            }
            Density::Differences(densities) => {
                let mut value = |k: usize| {
                    densities[k].ln_density(first, second, &mut buffers.exact).ln_density
                };
                for (l, score) in score.iter_mut().enumerate() {
                    *score = (value(2 + 2 * l) - value(1 + 2 * l)) / (2.0 * DIFFERENCE_STEP);
                }
                value(0)
            }
        }
    }
}
