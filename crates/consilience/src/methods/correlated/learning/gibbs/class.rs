//! The items of one class with their hidden variables, and moves that leave their joint posterior unchanged.
//!
//! An item's hidden variables are y = ln s₁ − ln s₂, w = ½(ln s₁ + ln s₂), the logit of every vₗ = Dₗ/Mₗ and, at a
//! finite resolution, the noise of every component. Given the parameters alone, or given the hidden variables alone, a
//! chain would crawl: both know nearly everything of each other. So wherever y, the noise or a parameter
//! moves, the logits are carried along at fixed standardised place ([`Guess`](super::hidden::Guess)), and w at fixed distance from the
//! logarithm of the total shape; the density includes the map's Jacobian, so every move stays exact
//! (Papaspiliopoulos, Roberts, Sköld, "A general framework for the parametrization of hierarchical models", 2007).

use rand::Rng;

use super::super::pair_items::PairItems;
use super::super::pair_likelihood::expit;
use super::hidden::{Place, Shapes};
use crate::sampling::slice_step;
use consilience_numerics::special::ln_gamma;
use correlated_dirichlet::sample_ln_gamma;

/// η beyond this is the bound for every purpose.
const FURTHEST: f64 = 20.0;

/// The parameters of one class.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parameters {
    /// ln α¹ and ln α².
    pub(super) ln_alpha: [Vec<f64>; 2],
    /// logit of δ over its bound.
    pub(super) eta: Vec<f64>,
}

impl Parameters {
    fn with_eta(&self, l: usize, value: f64) -> Self {
        let mut moved = self.clone();
        moved.eta[l] = value;
        moved
    }

    pub(super) fn bound(&self, l: usize) -> f64 {
        self.ln_alpha[0][l].min(self.ln_alpha[1][l]).exp()
    }

    fn shapes(&self) -> Vec<Shapes> {
        let one = |l: usize| {
            let (bound, eta) = (self.bound(l), self.eta[l].clamp(-FURTHEST, FURTHEST));
            let rest = bound * expit(-eta);
            let private = [0, 1].map(|k| (self.ln_alpha[k][l].exp() - bound).max(0.0) + rest);
            Shapes { shared: bound * expit(eta), private }
        };
        (0..self.eta.len()).map(one).collect()
    }
}

/// The total shape N of all gammas.
fn total_shape(shapes: &[Shapes]) -> f64 {
    shapes.iter().map(|s| s.shared + s.private[0] + s.private[1]).sum()
}

/// −Σ ln Γ of all shapes: an item's normaliser.
fn ln_normaliser(shapes: &[Shapes]) -> f64 {
    let one = |s: &Shapes| ln_gamma(s.shared) + ln_gamma(s.private[0]) + ln_gamma(s.private[1]);
    -shapes.iter().map(one).sum::<f64>()
}

/// One class: outputs, parameters, hidden variables.
#[derive(Debug, Clone)]
pub(super) struct ClassState {
    /// ln x¹, ln x², item by item.
    ln_x: Vec<[f64; 2]>,
    resolution: f64,
    pub(super) parameters: Parameters,
    /// y and w of every item.
    totals: Vec<[f64; 2]>,
    /// Logits of v.
    logits: Vec<f64>,
    noise: Vec<f64>,
}

impl ClassState {
    pub(super) fn new(items: &PairItems, parameters: Parameters, resolution: f64) -> Self {
        let mut ln_x = Vec::new();
        for i in 0..items.len() {
            let (first, second) = items.pair(i);
            ln_x.extend(first.iter().zip(second).map(|(a, b)| [a.ln(), b.ln()]));
        }
        let ln_total =
            [0, 1].map(|k| parameters.ln_alpha[k].iter().map(|t| t.exp()).sum::<f64>().ln());
        let totals = vec![[0.0, 0.5 * (ln_total[0] + ln_total[1])]; items.len()];
        let (logits, noise) = (vec![0.0; ln_x.len()], vec![0.0; ln_x.len()]);
        let mut state = Self { ln_x, resolution, parameters, totals, logits, noise };
        let shapes = state.parameters.shapes();
        for at in 0..state.logits.len() {
            let l = at % state.width();
            state.logits[at] =
                state.place(at, state.totals[at / state.width()]).guess(&shapes[l]).centre;
        }
        state
    }

    fn width(&self) -> usize {
        self.parameters.eta.len()
    }

    /// Where a component stands, given its item's totals and its noise.
    fn place(&self, at: usize, totals: [f64; 2]) -> Place {
        self.place_with(at, totals, self.noise[at])
    }

    fn place_with(&self, at: usize, [y, w]: [f64; 2], noise: f64) -> Place {
        let [ln_x1, ln_x2] = self.ln_x[at];
        Place::new([w + 0.5 * y + ln_x1, w - 0.5 * y + ln_x2], self.resolution * noise)
    }

    /// The standardised place of every logit.
    fn standardised(&self, shapes: &[Shapes]) -> Vec<f64> {
        let one = |(at, logit): (usize, &f64)| {
            let totals = self.totals[at / self.width()];
            let guess = self.place(at, totals).guess(&shapes[at % self.width()]);
            (logit - guess.centre) / guess.width
        };
        self.logits.iter().enumerate().map(one).collect()
    }

    /// The log density of one component's standardised logit.
    fn carried(place: &Place, shape: &Shapes, z: f64) -> f64 {
        let guess = place.guess(shape);
        place.ln_density(shape, guess.centre + guess.width * z) + guess.width.ln()
    }

    /// The log density of everything in the class but the prior of η, hidden variables carried along; they
    /// were at `z` and at a total shape e^`ln_power`.
    fn ln_density(&self, moved: &Parameters, z: &[f64], ln_power: f64) -> f64 {
        let (shapes, width) = (moved.shapes(), self.width());
        let up = total_shape(&shapes).ln() - ln_power;
        let mut sum = self.totals.len() as f64 * ln_normaliser(&shapes);
        for (item, [y, w]) in self.totals.iter().enumerate() {
            let totals = [*y, w + up];
            sum += 2.0 * width as f64 * totals[1];
            for (l, shape) in shapes.iter().enumerate() {
                let at = item * width + l;
                sum += Self::carried(&self.place(at, totals), shape, z[at]);
            }
        }
        sum
    }

    /// Moves one η, hidden variables carried along.
    pub(super) fn move_with_hidden<R: Rng + ?Sized>(
        &mut self,
        l: usize,
        width: f64,
        ln_prior: &impl Fn(&Parameters) -> f64,
        rng: &mut R,
    ) {
        let shapes = self.parameters.shapes();
        let z = self.standardised(&shapes);
        let ln_power = total_shape(&shapes).ln();
        let density = |value: f64| {
            let moved = self.parameters.with_eta(l, value);
            self.ln_density(&moved, &z, ln_power) + ln_prior(&moved)
        };
        let value = slice_step(self.parameters.eta[l], width, density, rng);
        self.parameters = self.parameters.with_eta(l, value);
        let shapes = self.parameters.shapes();
        let up = total_shape(&shapes).ln() - ln_power;
        self.totals.iter_mut().for_each(|[_, w]| *w += up);
        for (place, z) in z.iter().enumerate() {
            self.set_standardised(place, &shapes, *z);
        }
    }

    fn set_standardised(&mut self, at: usize, shapes: &[Shapes], z: f64) {
        let guess =
            self.place(at, self.totals[at / self.width()]).guess(&shapes[at % self.width()]);
        self.logits[at] = guess.centre + guess.width * z;
    }

    /// Moves one η at fixed hidden variables: only sums of their logarithms matter.
    pub(super) fn move_alone<R: Rng + ?Sized>(
        &mut self,
        l: usize,
        width: f64,
        ln_prior: &impl Fn(&Parameters) -> f64,
        rng: &mut R,
    ) {
        let sums = self.sums();
        let n = self.totals.len() as f64;
        let density = |value: f64| {
            let moved = self.parameters.with_eta(l, value);
            let shapes = moved.shapes();
            let linear = shapes
                .iter()
                .zip(&sums)
                .map(|(s, [d, a1, a2])| s.shared * d + s.private[0] * a1 + s.private[1] * a2);
            n * ln_normaliser(&shapes) + linear.sum::<f64>() + ln_prior(&moved)
        };
        let value = slice_step(self.parameters.eta[l], width, density, rng);
        self.parameters = self.parameters.with_eta(l, value);
    }

    /// Σ ln D, Σ ln A¹, Σ ln A² of every component.
    fn sums(&self) -> Vec<[f64; 3]> {
        let mut sums = vec![[0.0; 3]; self.width()];
        for (at, logit) in self.logits.iter().enumerate() {
            let place = self.place(at, self.totals[at / self.width()]);
            let sum = &mut sums[at % self.width()];
            sum.iter_mut().zip(place.ln_gammas(*logit)).for_each(|(sum, ln)| *sum += ln);
        }
        sums
    }

    /// Moves all hidden variables once.
    pub(super) fn move_hidden<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        let shapes = self.parameters.shapes();
        let power = total_shape(&shapes);
        for item in 0..self.totals.len() {
            self.move_logits(item, &shapes, rng);
            self.move_ratio(item, &shapes, rng);
            if self.resolution > 0.0 {
                self.move_noise(item, &shapes, rng);
            }
            self.move_scale(item, power, rng);
        }
    }

    fn components(&self, item: usize) -> std::ops::Range<usize> {
        item * self.width()..(item + 1) * self.width()
    }

    fn move_logits<R: Rng + ?Sized>(&mut self, item: usize, shapes: &[Shapes], rng: &mut R) {
        for (at, shape) in self.components(item).zip(shapes) {
            let place = self.place(at, self.totals[item]);
            let width = 2.0 * place.guess(shape).width;
            let density = |logit: f64| place.ln_density(shape, logit);
            self.logits[at] = slice_step(self.logits[at], width, density, rng);
        }
    }

    /// Moves y, the logits carried along.
    fn move_ratio<R: Rng + ?Sized>(&mut self, item: usize, shapes: &[Shapes], rng: &mut R) {
        let [y, w] = self.totals[item];
        let components = self.components(item);
        let z: Vec<f64> = components
            .clone()
            .zip(shapes)
            .map(|(at, shape)| {
                let guess = self.place(at, [y, w]).guess(shape);
                (self.logits[at] - guess.centre) / guess.width
            })
            .collect();
        let density = |y: f64| -> f64 {
            let one = |((at, shape), z): ((usize, &Shapes), &f64)| {
                Self::carried(&self.place(at, [y, w]), shape, *z)
            };
            components.clone().zip(shapes).zip(&z).map(one).sum()
        };
        // Var y is about 1/Σα¹ + 1/Σα² where nothing is shared.
        let total = |k: usize| shapes.iter().map(|s| s.shared + s.private[k]).sum::<f64>();
        let width = 2.0 * (1.0 / total(0) + 1.0 / total(1)).sqrt();
        self.totals[item][0] = slice_step(y, width, density, rng);
        for (at, z) in components.zip(&z) {
            self.set_standardised(at, shapes, *z);
        }
    }

    /// Moves the noise of every component, its logit carried along.
    fn move_noise<R: Rng + ?Sized>(&mut self, item: usize, shapes: &[Shapes], rng: &mut R) {
        let totals = self.totals[item];
        for (at, shape) in self.components(item).zip(shapes) {
            let guess = self.place(at, totals).guess(shape);
            let z = (self.logits[at] - guess.centre) / guess.width;
            let density = |noise: f64| {
                let place = self.place_with(at, totals, noise);
                Self::carried(&place, shape, z) - 0.5 * noise * noise
            };
            self.noise[at] = slice_step(self.noise[at], 2.0, density, rng);
            self.set_standardised(at, shapes, z);
        }
    }

    /// Draws the common scale of all an item's gammas, which is a gamma given everything else.
    fn move_scale<R: Rng + ?Sized>(&mut self, item: usize, power: f64, rng: &mut R) {
        let totals = self.totals[item];
        let rate: f64 = self
            .components(item)
            .map(|at| {
                let place = self.place(at, totals);
                (place.ln_mass() - totals[1]).exp() * place.rate_at(self.logits[at])
            })
            .sum();
        self.totals[item][1] = sample_ln_gamma(power, rng) - rate.ln();
    }
}
