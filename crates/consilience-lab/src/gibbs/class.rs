//! The items of one class with their hidden variables, and moves that leave their joint posterior unchanged.
//!
//! An item's hidden variables are y = ln s₁ − ln s₂, w = ½(ln s₁ + ln s₂), the logit of every vₗ = Dₗ/Mₗ and, at a
//! finite resolution, the noise of every component. Parameters and hidden variables nearly determine each other, so
//! that alternating between them would mix slowly. Therefore, when y, the noise or a parameter moves, the standardised
//! logits ([`NormalApproximation`](super::hidden::NormalApproximation)) stay fixed, and so does the distance of w from the
//! logarithm of the total shape. The density includes the map's Jacobian, so that every move is exact
//! (Papaspiliopoulos, Roberts, Sköld, "A general framework for the parametrization of hierarchical models", 2007).

use consilience_numerics::special::ln_gamma;
use correlated_dirichlet::sample_ln_gamma;
use rand::Rng;

use super::LnPair;
use super::hidden::{ComponentDensity, Shapes};
use super::slice::slice_step;

/// Larger η are indistinguishable from δ at its bound.
const FURTHEST: f64 = 20.0;

/// The parameters of one class.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parameters {
    /// ln α¹ and ln α².
    pub(super) ln_alpha: [Vec<f64>; 2],
    /// logit of δ over its bound.
    pub(super) eta: Vec<f64>,
}

/// One parameter that moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coordinate {
    Eta(usize),
    LnAlpha(usize, usize),
    /// All ln α of a classifier together, by their mean: totals are more uncertain than proportions.
    Level(usize),
}

impl Parameters {
    pub(super) fn get(&self, at: Coordinate) -> f64 {
        match at {
            Coordinate::Eta(l) => self.eta[l],
            Coordinate::LnAlpha(k, l) => self.ln_alpha[k][l],
            Coordinate::Level(k) => {
                self.ln_alpha[k].iter().sum::<f64>() / self.ln_alpha[k].len() as f64
            }
        }
    }

    fn with(&self, at: Coordinate, value: f64) -> Self {
        let mut moved = self.clone();
        match at {
            Coordinate::Eta(l) => moved.eta[l] = value,
            Coordinate::LnAlpha(k, l) => moved.ln_alpha[k][l] = value,
            Coordinate::Level(k) => {
                let up = value - self.get(at);
                moved.ln_alpha[k].iter_mut().for_each(|theta| *theta += up);
            }
        }
        moved
    }

    /// δ, which is bounded by both α.
    pub(super) fn delta(&self) -> Vec<f64> {
        self.shapes().iter().map(|shapes| shapes.shared).collect()
    }

    fn shapes(&self) -> Vec<Shapes> {
        let one = |l: usize| {
            let bound = self.ln_alpha[0][l].min(self.ln_alpha[1][l]).exp();
            let eta = self.eta[l].clamp(-FURTHEST, FURTHEST);
            let rest = bound * expit(-eta);
            let private = [0, 1].map(|k| (self.ln_alpha[k][l].exp() - bound).max(0.0) + rest);
            Shapes { shared: bound * expit(eta), private }
        };
        (0..self.eta.len()).map(one).collect()
    }
}

fn expit(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
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

/// The prior of one classifier's α: observations that look like the classifier's mean over classes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AlphaPrior {
    items: f64,
    mean_ln: Vec<f64>,
}

impl AlphaPrior {
    /// With the weight of `items` items; the mean logarithms of all classes have the same weight.
    pub(super) fn new(classes: &[Vec<LnPair>], classifier: usize, items: f64) -> Self {
        let mut mean_ln = vec![0.0; classes.len()];
        for class in classes {
            for pair in class {
                let weight = 1.0 / (class.len() * classes.len()) as f64;
                mean_ln.iter_mut().zip(&pair[classifier]).for_each(|(sum, x)| *sum += weight * x);
            }
        }
        Self { items, mean_ln }
    }

    /// The log density of ln α.
    fn ln_density(&self, ln_alpha: &[f64]) -> f64 {
        let total: f64 = ln_alpha.iter().map(|theta| theta.exp()).sum();
        let element = |(theta, m): (&f64, &f64)| {
            let alpha = theta.exp();
            self.items * (alpha * m - ln_gamma(alpha)) + theta
        };
        self.items * ln_gamma(total) + ln_alpha.iter().zip(&self.mean_ln).map(element).sum::<f64>()
    }
}

/// One class: outputs, parameters, hidden variables.
#[derive(Debug, Clone)]
pub(super) struct ClassState {
    /// ln x¹, ln x², item by item.
    ln_x: Vec<[f64; 2]>,
    resolution: f64,
    pub(super) parameters: Parameters,
    /// The priors of both α, if α is learned.
    priors: Option<[AlphaPrior; 2]>,
    /// y and w of every item.
    totals: Vec<[f64; 2]>,
    /// Logits of v.
    logits: Vec<f64>,
    noise: Vec<f64>,
}

impl ClassState {
    pub(super) fn new(
        items: &[LnPair],
        parameters: Parameters,
        priors: Option<[AlphaPrior; 2]>,
        resolution: f64,
    ) -> Self {
        let both = |[first, second]: &LnPair| -> Vec<[f64; 2]> {
            first.iter().zip(second).map(|(a, b)| [*a, *b]).collect()
        };
        let ln_x: Vec<[f64; 2]> = items.iter().flat_map(both).collect();
        let ln_total =
            [0, 1].map(|k| parameters.ln_alpha[k].iter().map(|t| t.exp()).sum::<f64>().ln());
        let totals = vec![[0.0, 0.5 * (ln_total[0] + ln_total[1])]; items.len()];
        let (logits, noise) = (vec![0.0; ln_x.len()], vec![0.0; ln_x.len()]);
        let mut state = Self { ln_x, resolution, parameters, priors, totals, logits, noise };
        let shapes = state.parameters.shapes();
        for at in 0..state.logits.len() {
            let l = at % state.width();
            state.logits[at] = state
                .component(at, state.totals[at / state.width()])
                .approximation(&shapes[l])
                .centre;
        }
        state
    }

    fn width(&self) -> usize {
        self.parameters.eta.len()
    }

    /// A component's density, given its item's totals and its noise.
    fn component(&self, at: usize, totals: [f64; 2]) -> ComponentDensity {
        self.component_with(at, totals, self.noise[at])
    }

    fn component_with(&self, at: usize, [y, w]: [f64; 2], noise: f64) -> ComponentDensity {
        let [ln_x1, ln_x2] = self.ln_x[at];
        ComponentDensity::new([w + 0.5 * y + ln_x1, w - 0.5 * y + ln_x2], self.resolution * noise)
    }

    /// All logits, standardised.
    fn standardised(&self, shapes: &[Shapes]) -> Vec<f64> {
        let one = |(at, logit): (usize, &f64)| {
            let totals = self.totals[at / self.width()];
            let normal = self.component(at, totals).approximation(&shapes[at % self.width()]);
            (logit - normal.centre) / normal.width
        };
        self.logits.iter().enumerate().map(one).collect()
    }

    /// The log density of one component's standardised logit.
    fn ln_standardised(component: &ComponentDensity, shape: &Shapes, z: f64) -> f64 {
        let normal = component.approximation(shape);
        component.ln_density(shape, normal.centre + normal.width * z) + normal.width.ln()
    }

    /// The log density of the class without the prior of η, at standardised logits `z`; w moves with the total shape,
    /// which was e^`ln_power`.
    fn ln_density(&self, moved: &Parameters, z: &[f64], ln_power: f64) -> f64 {
        let (shapes, width) = (moved.shapes(), self.width());
        let up = total_shape(&shapes).ln() - ln_power;
        let mut sum = self.totals.len() as f64 * ln_normaliser(&shapes);
        for (item, [y, w]) in self.totals.iter().enumerate() {
            let totals = [*y, w + up];
            sum += 2.0 * width as f64 * totals[1];
            for (l, shape) in shapes.iter().enumerate() {
                let at = item * width + l;
                sum += Self::ln_standardised(&self.component(at, totals), shape, z[at]);
            }
        }
        sum + self.ln_priors(moved)
    }

    /// The log prior of both α, 0 if they are fixed.
    fn ln_priors(&self, parameters: &Parameters) -> f64 {
        let priors = self.priors.iter().flatten().zip(&parameters.ln_alpha);
        priors.map(|(prior, ln_alpha)| prior.ln_density(ln_alpha)).sum()
    }

    /// Moves one parameter at fixed standardised logits.
    pub(super) fn move_with_hidden<R: Rng + ?Sized>(
        &mut self,
        at: Coordinate,
        width: f64,
        ln_prior: &impl Fn(&Parameters) -> f64,
        rng: &mut R,
    ) {
        let shapes = self.parameters.shapes();
        let z = self.standardised(&shapes);
        let ln_power = total_shape(&shapes).ln();
        let density = |value: f64| {
            let moved = self.parameters.with(at, value);
            self.ln_density(&moved, &z, ln_power) + ln_prior(&moved)
        };
        let value = slice_step(self.parameters.get(at), width, density, rng);
        self.parameters = self.parameters.with(at, value);
        let shapes = self.parameters.shapes();
        let up = total_shape(&shapes).ln() - ln_power;
        self.totals.iter_mut().for_each(|[_, w]| *w += up);
        for (at, z) in z.iter().enumerate() {
            self.set_standardised(at, &shapes, *z);
        }
    }

    fn set_standardised(&mut self, at: usize, shapes: &[Shapes], z: f64) {
        let normal = self
            .component(at, self.totals[at / self.width()])
            .approximation(&shapes[at % self.width()]);
        self.logits[at] = normal.centre + normal.width * z;
    }

    /// Moves one parameter at fixed hidden variables; only sums of their logarithms matter.
    pub(super) fn move_alone<R: Rng + ?Sized>(
        &mut self,
        at: Coordinate,
        width: f64,
        ln_prior: &impl Fn(&Parameters) -> f64,
        rng: &mut R,
    ) {
        let sums = self.sums();
        let n = self.totals.len() as f64;
        let density = |value: f64| {
            let moved = self.parameters.with(at, value);
            let shapes = moved.shapes();
            let linear = shapes
                .iter()
                .zip(&sums)
                .map(|(s, [d, a1, a2])| s.shared * d + s.private[0] * a1 + s.private[1] * a2);
            n * ln_normaliser(&shapes)
                + linear.sum::<f64>()
                + self.ln_priors(&moved)
                + ln_prior(&moved)
        };
        let value = slice_step(self.parameters.get(at), width, density, rng);
        self.parameters = self.parameters.with(at, value);
    }

    /// Σ ln D, Σ ln A¹, Σ ln A² of every component.
    fn sums(&self) -> Vec<[f64; 3]> {
        let mut sums = vec![[0.0; 3]; self.width()];
        for (at, logit) in self.logits.iter().enumerate() {
            let component = self.component(at, self.totals[at / self.width()]);
            let sum = &mut sums[at % self.width()];
            sum.iter_mut().zip(component.ln_gammas(*logit)).for_each(|(sum, ln)| *sum += ln);
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
            let component = self.component(at, self.totals[item]);
            let width = 2.0 * component.approximation(shape).width;
            let density = |logit: f64| component.ln_density(shape, logit);
            self.logits[at] = slice_step(self.logits[at], width, density, rng);
        }
    }

    /// Moves y at fixed standardised logits.
    fn move_ratio<R: Rng + ?Sized>(&mut self, item: usize, shapes: &[Shapes], rng: &mut R) {
        let [y, w] = self.totals[item];
        let components = self.components(item);
        let z: Vec<f64> = components
            .clone()
            .zip(shapes)
            .map(|(at, shape)| {
                let normal = self.component(at, [y, w]).approximation(shape);
                (self.logits[at] - normal.centre) / normal.width
            })
            .collect();
        let density = |y: f64| -> f64 {
            let one = |((at, shape), z): ((usize, &Shapes), &f64)| {
                Self::ln_standardised(&self.component(at, [y, w]), shape, *z)
            };
            components.clone().zip(shapes).zip(&z).map(one).sum()
        };
        // Var y is about 1/Σα¹ + 1/Σα² without correlation.
        let total = |k: usize| shapes.iter().map(|s| s.shared + s.private[k]).sum::<f64>();
        let width = 2.0 * (1.0 / total(0) + 1.0 / total(1)).sqrt();
        self.totals[item][0] = slice_step(y, width, density, rng);
        for (at, z) in components.zip(&z) {
            self.set_standardised(at, shapes, *z);
        }
    }

    /// Moves the noise of every component at a fixed standardised logit.
    fn move_noise<R: Rng + ?Sized>(&mut self, item: usize, shapes: &[Shapes], rng: &mut R) {
        let totals = self.totals[item];
        for (at, shape) in self.components(item).zip(shapes) {
            let normal = self.component(at, totals).approximation(shape);
            let z = (self.logits[at] - normal.centre) / normal.width;
            let density = |noise: f64| {
                let component = self.component_with(at, totals, noise);
                Self::ln_standardised(&component, shape, z) - 0.5 * noise * noise
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
                let component = self.component(at, totals);
                (component.ln_mass() - totals[1]).exp() * component.rate_at(self.logits[at])
            })
            .sum();
        self.totals[item][1] = sample_ln_gamma(power, rng) - rate.ln();
    }
}
