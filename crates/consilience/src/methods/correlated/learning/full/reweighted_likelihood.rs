//! The likelihood of one class's shared shapes, by reweighting points that were drawn at a centre.
//!
//! The points of an item's integral are drawn once, at a centre δ₀. At another δ near it, the integrand
//! differs by powers of the gamma variables, so that the same points serve with other weights.

use super::constraints::{Constraints, SharedShapes};
use crate::error::Result;
use crate::methods::correlated::learning::constants::reweighting::{
    BATCHES, ITEMS_PER_SET, LARGEST_ITEM_ERROR, LIKELIHOOD_ERROR, SMALLEST_ITEM_ERROR,
    SMALLEST_SHAPE,
};
use crate::methods::correlated::learning::delayed_acceptance::NoisyValue;
use consilience_numerics::parallel;
use consilience_numerics::special::{digamma, ln_gamma, trigamma};
use correlated_dirichlet::multi::{ImportancePoints, MultiDensity, MultiScratch};
use correlated_dirichlet::{CorrelatedDirichlet, SharedPair};

/// The items of one class that have all outputs.
#[derive(Debug, Clone, Default)]
pub(super) struct ClassItems {
    pub(super) n_classes: usize,
    /// K·J numbers per item.
    pub(super) items: Vec<Vec<f64>>,
}

impl ClassItems {
    /// Applies a function to every item, with a seed and a number that reflects the item's points. The
    /// result does not depend on the number of threads. Every set of items has its own seed, because
    /// errors that reflections do not change would add up.
    fn map<T: Send>(
        &self,
        seed: u64,
        f: impl Fn((u64, u64), &[&[f64]], &mut MultiScratch) -> T + Sync + Send,
    ) -> Vec<T> {
        let sets: Vec<_> = self.items.chunks(ITEMS_PER_SET).collect();
        let results = parallel::map(sets.len(), |p| {
            let (mut scratch, seed) = (MultiScratch::default(), seed.wrapping_add(p as u64));
            let one = |(i, item): (usize, &Vec<f64>)| {
                let x: Vec<&[f64]> = item.chunks(self.n_classes).collect();
                f((seed, i as u64 + 1), &x, &mut scratch)
            };
            sets[p].iter().enumerate().map(one).collect::<Vec<_>>()
        });
        results.into_iter().flatten().collect()
    }

    /// The log likelihood at η, with every item's density estimated anew.
    pub(super) fn ln_likelihood(
        &self,
        constraints: &[Constraints<'_>],
        eta: &[f64],
        seed: u64,
    ) -> Result<NoisyValue> {
        let density = density(constraints, &shapes(constraints, eta))?;
        let wanted = LIKELIHOOD_ERROR / (self.items.len() as f64).sqrt();
        let tolerance = wanted.clamp(SMALLEST_ITEM_ERROR, LARGEST_ITEM_ERROR);
        let all = self.map(seed, |(seed, i), x, scratch| {
            density.clone().with_seed(seed).ln_density_of_item(x, i, tolerance, scratch)
        });
        let resolved = all.iter().filter(|found| found.is_resolved());
        Ok(NoisyValue {
            value: all.iter().map(|found| found.ln_density).sum(),
            variance: resolved.map(|found| found.error * found.error).sum(),
            n_unresolved: all.iter().filter(|found| !found.is_resolved()).count(),
        })
    }
}

/// Receives the score of one item after the other.
pub(super) type Scores<'a> = &'a mut dyn FnMut(&[f64]);

/// One class with its items' points, drawn at a centre.
#[derive(Debug)]
pub(super) struct ReweightedClass<'a> {
    /// Per component.
    pub(super) constraints: Vec<Constraints<'a>>,
    centre: Vec<f64>,
    ln_constant: f64,
    items: Vec<ImportancePoints>,
    /// Indices of the items whose points cannot be used.
    pub(super) left_out: Vec<usize>,
}

/// The log likelihood at a point.
pub(super) struct ReweightedEvaluation {
    pub(super) value: f64,
    /// Its gradient in δ, component by component.
    pub(super) slopes: Vec<f64>,
    /// Its gradient in η.
    pub(super) gradient: Vec<f64>,
    /// Mean effective share of the items' points, relative to that at the centre.
    pub(super) effective: f64,
}

impl<'a> ReweightedClass<'a> {
    /// Draws every item's points at η. Items with an effective share of their points below `least` are
    /// left out.
    pub(super) fn new(
        constraints: Vec<Constraints<'a>>,
        items: &ClassItems,
        eta: &[f64],
        seed: u64,
        least: f64,
    ) -> Result<Self> {
        let shapes = shapes(&constraints, eta);
        let centre: Vec<f64> = shapes.iter().flat_map(|s| s.delta.clone()).collect();
        let density = density(&constraints, &shapes)?;
        let all = items.map(seed, |points, x, scratch| {
            let found = density.importance_points(x, points, BATCHES, scratch);
            // a shape near 0 has no points, so that the features would be in other places
            found.filter(|f| f.n_features() == centre.len() && f.effective() >= least)
        });
        let left_out = (0..all.len()).filter(|i| all[*i].is_none()).collect();
        let items: Vec<ImportancePoints> = all.into_iter().flatten().collect();
        let ln_constant = ln_constant(&constraints, &centre);
        Ok(Self { constraints, centre, ln_constant, items, left_out })
    }

    pub(super) fn n_items(&self) -> usize {
        self.items.len()
    }

    /// Mean effective share of the points at the centre.
    pub(super) fn effective(&self) -> f64 {
        let sum: f64 = self.items.iter().map(ImportancePoints::effective).sum();
        sum / (self.items.len() as f64).max(1.0)
    }

    /// Standard errors of the gradient in δ at the centre: those of the features' means, bounded by the
    /// features' variances without items.
    pub(super) fn slope_errors(&self) -> Vec<f64> {
        let points = self.effective() * (BATCHES * 64) as f64;
        let scale = self.items.len() as f64 / points.max(1.0);
        let width = self.constraints[0].members.len();
        let one = |(constraints, delta): (&Constraints<'_>, &[f64])| {
            let private: Vec<f64> = private(constraints, delta).into_iter().map(trigamma).collect();
            let noise = |(members, d): (&Vec<usize>, &f64)| {
                let others: f64 = members.iter().map(|&k| private[k]).sum();
                (scale * (trigamma(d.max(SMALLEST_SHAPE)) + others)).sqrt()
            };
            constraints.members.iter().zip(delta).map(noise).collect::<Vec<_>>()
        };
        self.constraints.iter().zip(self.centre.chunks_exact(width)).flat_map(one).collect()
    }

    /// The log likelihood at η; `each` receives every item's score in η.
    pub(super) fn evaluate(
        &self,
        eta: &[f64],
        mut each: Option<Scores<'_>>,
    ) -> ReweightedEvaluation {
        let shapes = shapes(&self.constraints, eta);
        let delta: Vec<f64> = shapes.iter().flat_map(|s| s.delta.clone()).collect();
        let shift: Vec<f64> = delta.iter().zip(&self.centre).map(|(d, c)| d - c).collect();
        let constants = constant_gradient(&self.constraints, &delta);
        let mut means = vec![0.0; delta.len()];
        let (mut value, mut effective) = (0.0, 0.0);
        let (mut sum, mut score) = (vec![0.0; delta.len()], vec![0.0; delta.len()]);
        let mut room = Vec::new();
        for item in &self.items {
            let at = item.reweight(&shift, &mut room, &mut means);
            value += at.ln_mean;
            effective += at.effective / item.effective();
            means.iter_mut().zip(&constants).for_each(|(m, c)| *m += c);
            sum.iter_mut().zip(&means).for_each(|(s, m)| *s += m);
            if let Some(each) = &mut each {
                self.gradient_in_eta(&shapes, eta, &means, &mut score);
                each(&score);
            }
        }
        let n = self.items.len() as f64;
        value += n * (ln_constant(&self.constraints, &delta) - self.ln_constant);
        let mut gradient = vec![0.0; delta.len()];
        self.gradient_in_eta(&shapes, eta, &sum, &mut gradient);
        ReweightedEvaluation { value, slopes: sum, gradient, effective: effective / n.max(1.0) }
    }

    fn gradient_in_eta(
        &self,
        shapes: &[SharedShapes],
        eta: &[f64],
        slopes: &[f64],
        out: &mut [f64],
    ) {
        let width = self.constraints[0].members.len();
        for (l, (constraints, shapes)) in self.constraints.iter().zip(shapes).enumerate() {
            let own = l * width..(l + 1) * width;
            let (eta, slopes) = (&eta[own.clone()], &slopes[own.clone()]);
            constraints.gradient_in_eta(shapes, eta, slopes, &mut out[own]);
        }
    }
}

pub(super) fn shapes(constraints: &[Constraints<'_>], eta: &[f64]) -> Vec<SharedShapes> {
    let width = constraints[0].members.len();
    constraints
        .iter()
        .zip(eta.chunks_exact(width))
        .map(|(constraints, eta)| constraints.shapes(eta))
        .collect()
}

/// The private shapes of one component.
fn private(constraints: &Constraints<'_>, delta: &[f64]) -> Vec<f64> {
    let mut rest = constraints.alpha.clone();
    for (members, d) in constraints.members.iter().zip(delta) {
        members.iter().for_each(|&k| rest[k] -= d);
    }
    rest.iter().map(|a| a.max(SMALLEST_SHAPE)).collect()
}

/// N, the sum of all shapes.
fn total_shape(constraints: &[Constraints<'_>], delta: &[f64]) -> f64 {
    let width = constraints[0].members.len();
    let one = |(constraints, delta): (&Constraints<'_>, &[f64])| {
        private(constraints, delta).iter().sum::<f64>() + delta.iter().sum::<f64>()
    };
    constraints.iter().zip(delta.chunks_exact(width)).map(one).sum()
}

/// ln Γ(N) − Σ ln Γ over all shapes.
fn ln_constant(constraints: &[Constraints<'_>], delta: &[f64]) -> f64 {
    let width = constraints[0].members.len();
    let one = |(constraints, delta): (&Constraints<'_>, &[f64])| {
        let private: f64 = private(constraints, delta).iter().map(|a| ln_gamma(*a)).sum();
        private + delta.iter().map(|d| ln_gamma(d.max(SMALLEST_SHAPE))).sum::<f64>()
    };
    let all: f64 = constraints.iter().zip(delta.chunks_exact(width)).map(one).sum();
    ln_gamma(total_shape(constraints, delta)) - all
}

fn constant_gradient(constraints: &[Constraints<'_>], delta: &[f64]) -> Vec<f64> {
    let width = constraints[0].members.len();
    let all = digamma(total_shape(constraints, delta));
    let mut gradient = Vec::with_capacity(delta.len());
    for (constraints, delta) in constraints.iter().zip(delta.chunks_exact(width)) {
        let private: Vec<f64> = private(constraints, delta).into_iter().map(digamma).collect();
        for (members, d) in constraints.members.iter().zip(delta) {
            let freed: f64 = members.iter().map(|&k| private[k]).sum();
            let others = (members.len() - 1) as f64;
            gradient.push(freed - others * all - digamma(d.max(SMALLEST_SHAPE)));
        }
    }
    gradient
}

fn density(constraints: &[Constraints<'_>], shapes: &[SharedShapes]) -> Result<MultiDensity> {
    Ok(MultiDensity::new(&distribution(constraints, shapes)?)?)
}

fn distribution(
    constraints: &[Constraints<'_>],
    shapes: &[SharedShapes],
) -> Result<CorrelatedDirichlet> {
    let n = constraints[0].alpha.len();
    let alpha = (0..n).map(|k| constraints.iter().map(|l| l.alpha[k]).collect()).collect();
    let part = |i: usize| shapes.iter().map(|s| s.delta[i]).collect::<Vec<f64>>();
    let pairs = constraints[0].members.iter().enumerate().skip(1).map(|(i, members)| SharedPair {
        first: members[0],
        second: members[1],
        delta: part(i),
    });
    Ok(CorrelatedDirichlet::new(alpha, Some(part(0)), pairs.collect())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reweighted log likelihood against densities estimated anew at other shapes, and its gradient
    /// against differences. Eight items with errors of 1e-3 each add up to about 0.01 at most.
    #[test]
    fn reweighting_agrees_with_the_density() {
        let members = vec![vec![0, 1, 2], vec![0, 1], vec![0, 2], vec![1, 2]];
        let alpha = [[6.0, 4.0, 4.0], [5.0, 4.0, 5.0], [6.0, 5.0, 4.0]];
        let constraints = || -> Vec<Constraints<'_>> {
            let one =
                |l: usize| Constraints { members: &members, alpha: alpha.map(|a| a[l]).to_vec() };
            (0..3).map(one).collect()
        };
        let eta: Vec<f64> = (0..12).map(|i| -1.0 + 0.1 * f64::from(i % 5)).collect();
        let mut rng: rand::rngs::ChaCha8Rng = rand::SeedableRng::seed_from_u64(4);
        let truth = distribution(&constraints(), &shapes(&constraints(), &eta)).unwrap();
        let items =
            ClassItems { n_classes: 3, items: (0..8).map(|_| truth.sample(&mut rng)).collect() };
        let class = ReweightedClass::new(constraints(), &items, &eta, 3, 0.03).unwrap();
        assert_eq!((class.n_items(), class.left_out.len()), (8, 0));
        let exact = |eta: &[f64]| -> f64 {
            let density = MultiDensity::new(
                &distribution(&constraints(), &shapes(&constraints(), eta)).unwrap(),
            )
            .unwrap();
            let mut scratch = MultiScratch::default();
            let one = |x: &Vec<f64>| {
                density.ln_density(&x.chunks(3).collect::<Vec<_>>(), &mut scratch).ln_density
            };
            items.items.iter().map(one).sum()
        };
        let moved: Vec<f64> =
            eta.iter().enumerate().map(|(i, e)| e + 0.3 * (i as f64).sin()).collect();
        let (here, there) = (class.evaluate(&eta, None), class.evaluate(&moved, None));
        for (at, eta) in [(&here, &eta), (&there, &moved)] {
            let want = exact(eta);
            assert!((at.value - want).abs() < 0.1, "{} {want}", at.value);
        }
        let change = exact(&moved) - exact(&eta);
        assert!((there.value - here.value - change).abs() < 0.05, "{change}");
        for i in 0..12 {
            let by = |h: f64| {
                let mut eta = moved.clone();
                eta[i] += h;
                class.evaluate(&eta, None).value
            };
            let difference = (by(1e-4) - by(-1e-4)) / 2e-4;
            assert!(
                (difference - there.gradient[i]).abs() < 1e-4 * (1.0 + difference.abs()),
                "{i}"
            );
        }
        let mut scores = [0.0; 12];
        class.evaluate(
            &moved,
            Some(&mut |score| scores.iter_mut().zip(score).for_each(|(a, b)| *a += b)),
        );
        for (a, b) in scores.iter().zip(&there.gradient) {
            assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()));
        }
    }
}
