//! The density of two classifiers' outputs under the correlated Dirichlet distribution.

mod aliasing;
mod gradient;
pub(crate) mod grid;
mod inner;
mod kernel;
mod kinks;
mod line;
mod moments;
mod outer;
mod pieces;
mod resolution;
mod rules;
mod shapes;
mod surrogate;
mod table_kernel;

use pulp::Arch;

use crate::math::laguerre::Laguerre;
use crate::math::special::ln_multivariate_beta;
use crate::{Error, Result};
use aliasing::Decay;
pub use gradient::Gradient;
pub use moments::{ComponentMoments, moments};
use gradient::Tally;
use inner::{Inner, Place};
use kernel::Record;
use line::{Grid, Lines, Position, Rest, Tabled};
use outer::{Convergence, LogSum, Walk};
use pieces::{End, Piece};
use resolution::Smoothed;
use rules::Rules;
use shapes::Component;
use surrogate::Share;

/// The density of one class, ready to be evaluated for many items.
#[derive(Debug, Clone)]
pub struct PairDensity {
    components: Vec<Component>,
    alpha: [Vec<f64>; 2],
    ln_beta: [f64; 2],
    power: f64,
    rules: Rules,
    laguerre: Vec<Laguerre>,
    arch: Arch,
    /// The same with shapes of 0 raised a little, where there are any: derivatives are taken there.
    inside: Option<Box<PairDensity>>,
    /// The resolution and the tables that belong to it; none where it is 0.
    epsilon: f64,
    smoothed: Vec<Smoothed>,
}

/// A log density with its estimated error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// ln f(x¹, x²); +∞ where the density has a pole, −∞ outside its support.
    pub ln_density: f64,
    /// Estimated absolute error of `ln_density`.
    pub error: f64,
    /// Lines evaluated.
    pub count: usize,
}

/// Buffers that one thread uses again for every density.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    inner: Vec<Inner>,
    shares: Vec<Share>,
    places: Vec<Place>,
    active: Vec<usize>,
    grid: Grid,
    breaks: Vec<f64>,
    convergence: Vec<Convergence>,
    record: Record,
    tally: Tally,
    tabled: Tabled,
}

/// Below this precision of ln s the scale is integrated by Gauss-Laguerre rules.
const EQUIDISTANT_FROM: f64 = 10.0;

/// Shapes of 0 are raised to this for derivatives.
const INSIDE: f64 = 1e-9;

/// Factors on the normal steps of the three directions.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Steps {
    y: f64,
    s: f64,
    inner: f64,
}

/// Passes with ever finer steps, and the error, in tolerances, that ends them.
const MAX_PASSES: usize = 5;
const ACCEPT: f64 = 2.0;

impl PairDensity {
    /// Checks and prepares α¹, α² and δ of one class.
    pub fn new(alpha1: &[f64], alpha2: &[f64], delta: &[f64]) -> Result<Self> {
        let components = shapes::components(alpha1, alpha2, delta)?;
        let power = components.iter().map(|c| c.shared + c.private[0] + c.private[1]).sum();
        let mut density = Self {
            components,
            alpha: [alpha1.to_vec(), alpha2.to_vec()],
            ln_beta: [ln_multivariate_beta(alpha1), ln_multivariate_beta(alpha2)],
            power,
            rules: Rules::new(1e-6),
            laguerre: Vec::new(),
            arch: four_lanes(),
            inside: None,
            epsilon: 0.0,
            smoothed: Vec::new(),
        };
        density.prepare_laguerre();
        density.inside = density.moved_inside()?.map(Box::new);
        Ok(density)
    }

    /// Sets the wanted relative error of the density, 1e-6 unless told.
    pub fn with_tolerance(mut self, tolerance: f64) -> Result<Self> {
        if !(tolerance > 0.0 && tolerance < 0.1) {
            return Err(Error::parameter("tolerance", "between 0 and 0.1", tolerance));
        }
        self.rules = Rules::new(tolerance.max(1e-12));
        if let Some(inside) = self.inside.take() {
            self.inside = Some(Box::new(inside.with_tolerance(tolerance)?));
        }
        self.prepare_laguerre();
        Ok(self)
    }

    /// Observes every component at the resolution ε: an N(0, ε²) error of ln G¹ − ln G², see `resolution`.
    ///
    /// 0 is the exact density. Tables are made here, once for all items.
    pub fn with_resolution(mut self, epsilon: f64) -> Result<Self> {
        if !(epsilon >= 0.0 && epsilon <= 1.0) {
            return Err(Error::parameter("resolution", "between 0 and 1", epsilon));
        }
        self.epsilon = epsilon;
        self.smoothed.clear();
        if epsilon > 0.0 {
            self.smoothed.extend(
                self.components.iter().map(|c| Smoothed::new(self.arch, c, epsilon)),
            );
        }
        Ok(self)
    }

    fn moved_inside(&self) -> Result<Option<Self>> {
        if self.components.iter().all(|c| c.shared > 0.0 && c.private[0] > 0.0 && c.private[1] > 0.0) {
            return Ok(None);
        }
        let shape = |value: f64| value.max(INSIDE);
        let sum = |k: usize| -> Vec<f64> {
            self.components.iter().map(|c| shape(c.shared) + shape(c.private[k])).collect()
        };
        let delta: Vec<f64> = self.components.iter().map(|c| shape(c.shared)).collect();
        Self::new(&sum(0), &sum(1), &delta).map(Some)
    }

    fn prepare_laguerre(&mut self) {
        self.laguerre.clear();
        if self.power > 4.0 * EQUIDISTANT_FROM {
            return;
        }
        let longest = (0.01 * self.rules.tolerance).ln() / (2.0 * (1f64 / 3.0).ln()) + 3.0;
        let longest = longest + 0.25 * self.power;
        for part in [0.5, 0.7, 0.85, 1.0] {
            let rule = Laguerre::new((longest * part).ceil() as usize, self.power);
            self.laguerre.push(rule.with_slopes(self.power));
        }
    }

    /// The log density at (x¹, x²).
    pub fn ln_density(&self, x1: &[f64], x2: &[f64], scratch: &mut Scratch) -> Estimate {
        if self.epsilon == 0.0 && self.components.iter().all(Component::is_independent) {
            return self.independent(x1, x2);
        }
        self.refine(x1, x2, scratch, false)
    }

    /// The log density and its derivatives in δ, α¹ and α².
    ///
    /// Shapes of exactly 0 are differentiated at 1e-9, from inside the legal region.
    pub fn ln_density_and_gradient(
        &self,
        x1: &[f64],
        x2: &[f64],
        scratch: &mut Scratch,
        gradient: &mut Gradient,
    ) -> Estimate {
        let inside = self.inside.as_deref().unwrap_or(self);
        let estimate = inside.refine(x1, x2, scratch, true);
        scratch.tally.finish(gradient);
        if self.inside.is_some() { self.ln_density(x1, x2, scratch) } else { estimate }
    }

    /// Passes with finer steps until the estimated error is small enough.
    fn refine(&self, x1: &[f64], x2: &[f64], scratch: &mut Scratch, slopes: bool) -> Estimate {
        let mut steps = Steps { y: 1.0, s: 1.0, inner: 1.0 };
        let mut estimate = Estimate { ln_density: f64::NAN, error: f64::INFINITY, count: 0 };
        for _ in 0..MAX_PASSES {
            let count = estimate.count;
            let wanted;
            (estimate, wanted) = self.one_pass(x1, x2, scratch, steps, slopes);
            estimate.count += count;
            if estimate.error <= ACCEPT * self.rules.tolerance || wanted == steps {
                break;
            }
            steps = wanted;
        }
        estimate
    }

    /// δ = 0: the product of two Dirichlet densities.
    fn independent(&self, x1: &[f64], x2: &[f64]) -> Estimate {
        let one = |x: &[f64], k: usize| -> f64 {
            x.iter().zip(&self.alpha[k]).map(|(x, a)| (a - 1.0) * x.ln()).sum::<f64>()
                - self.ln_beta[k]
        };
        let ln_density = one(x1, 0) + one(x2, 1);
        Estimate { ln_density, error: 1e-14 * (1.0 + ln_density.abs()), count: 0 }
    }

    fn one_pass(
        &self,
        x1: &[f64],
        x2: &[f64],
        scratch: &mut Scratch,
        steps: Steps,
        slopes: bool,
    ) -> (Estimate, Steps) {
        let rules = self.rules;
        let Scratch { inner, shares, places, active, grid, breaks, convergence, record, tally, tabled } =
            scratch;
        tally.reset(self.components.len());
        convergence.clear();
        places.clear();
        places.extend(x1.iter().zip(x2).map(|(&a, &b)| place(a, b)));
        let smooth = self.epsilon > 0.0;
        if let Some(value) = self.singular(places)
            && !smooth
        {
            return (value, steps);
        }
        let mode = surrogate::find(&self.components, x1, x2, shares);
        inner.resize(self.components.len(), Inner::default());
        let target_inner = -(0.5 * rules.target_inner / self.components.len() as f64).ln();
        let mut rest = Rest::default();
        let mut skip = None;
        active.clear();
        for (l, c) in self.components.iter().enumerate() {
            if smooth {
                inner[l].reset(shares[l], target_inner, steps.inner);
                active.push(l);
            } else if c.is_independent() {
                rest.add_independent(c, &places[l]);
            } else if c.is_rigid() {
                rest.add_rigid(c, &places[l]);
                skip = Some(l);
            } else {
                inner[l].reset(shares[l], target_inner, steps.inner);
                active.push(l);
            }
        }
        let shape_s = mode.precision_s.min(self.power);
        let gauss = shape_s < EQUIDISTANT_FROM && !self.laguerre.is_empty();
        if !gauss {
            grid.fit(shape_s, self.power, &rules, steps.s);
        }
        let mut lines = Lines {
            arch: self.arch,
            rules,
            components: &self.components,
            places,
            active,
            rest,
            power: self.power,
            mode,
            laguerre: if gauss { &self.laguerre } else { &[] },
            rule: (0, 1.0),
            grid,
            record: slopes.then_some(record),
            smoothed: &self.smoothed,
            epsilon: self.epsilon,
            tabled,
        };
        let normal = steps.y * rules.step_y * mode.sd_y / (1.0 + 0.6 * mode.sd_y * mode.sd_y).sqrt();
        if let Some(rigid) = skip {
            let mut guess = mode.ln_s;
            let mut value = 0.0;
            for _ in 0..6 {
                let line =
                    lines.evaluate(inner, Position { anchor: places[rigid].kink, offset: 0.0 }, guess);
                value = line.ln_value;
                guess = line.ln_s;
            }
            return (Estimate { ln_density: value, error: rules.tolerance, count: 1 }, steps);
        }
        let plan = if smooth {
            kinks::corners(&self.components, places, &mode, &rules, self.epsilon, breaks)
        } else {
            kinks::plan(&self.components, places, &mode, &rules, normal, breaks)
        };
        let mut walk = Walk {
            lines: &mut lines,
            inner: &mut *inner,
            step: if breaks.is_empty() { 1.0 } else { steps.y * 0.85 * rules.step_y },
            sum: LogSum::new(),
            coarse_s: 0.0,
            convergence,
            count: 0,
            tally: slopes.then_some(tally),
        };
        if breaks.is_empty() {
            walk.piece(&Piece {
                lower: End::Infinite,
                upper: End::Infinite,
                scale: normal * plan.factor,
                centre: mode.y,
            });
        } else {
            let mut pieces = Vec::new();
            let ends: Vec<End> = std::iter::once(End::Infinite)
                .chain(breaks.iter().map(|&y| End::Break(y)))
                .chain([End::Infinite])
                .collect();
            for pair in ends.windows(2) {
                pieces.push(Piece {
                    lower: pair[0],
                    upper: pair[1],
                    scale: mode.sd_y,
                    centre: mode.y,
                });
            }
            pieces.sort_by_key(|piece| !piece.contains(mode.y));
            for piece in &pieces {
                walk.piece(piece);
            }
        }
        let ln_density = walk.sum.ln() + walk.step.ln();
        let count = walk.count;
        let ln_sum = walk.sum.ln();
        let mut wanted = steps;
        let inside: f64 = lines.active.iter().map(|&l| inner[l].error).sum();
        let mut error = plan.error + 3.0 * (-rules.cut).exp() + inside;
        let goal = 0.05 * rules.tolerance;
        for c in convergence.iter() {
            let share = (c.ln_piece - ln_sum).exp();
            if share < 1e-3 * rules.tolerance {
                continue;
            }
            let decay_s = if gauss { Decay::gaussian(0.0) } else { lines.grid.decay(c.coarse_s) };
            for (decay, step, old) in
                [(c.y, &mut wanted.y, steps.y), (decay_s, &mut wanted.s, steps.s)]
            {
                let part = share * decay.error();
                error += part;
                if part > 0.3 * rules.tolerance {
                    *step = step.min(old * decay.factor(goal / share));
                }
            }
        }
        (Estimate { ln_density, error, count }, wanted)
    }

    /// Poles, and outputs outside the support.
    fn singular(&self, places: &[Place]) -> Option<Estimate> {
        let certain = |ln_density| Some(Estimate { ln_density, error: 0.0, count: 0 });
        let rigid = || places.iter().zip(&self.components).filter(|(_, c)| c.is_rigid());
        if let Some((first, _)) = rigid().next()
            && rigid().any(|(place, _)| place.kink != first.kink)
        {
            return certain(f64::NEG_INFINITY);
        }
        for place in places {
            let (mut strength, mut n_rigid, mut pole) = (0.0, 0, false);
            for (_, c) in places
                .iter()
                .zip(&self.components)
                .filter(|(other, c)| other.kink == place.kink && !c.is_independent())
            {
                if c.is_rigid() {
                    n_rigid += 1;
                } else {
                    strength += c.kink_power().min(0.0);
                    pole |= c.kink_power() <= 0.0;
                }
            }
            if strength <= -1.0 || n_rigid > 1 || (n_rigid == 1 && pole) {
                return certain(f64::INFINITY);
            }
        }
        None
    }
}

/// The widest vectors that hold a group of nodes: groups of four, so four lanes at the most.
fn four_lanes() -> Arch {
    #[cfg(target_arch = "x86_64")]
    if let Some(vectors) = pulp::x86::V3::try_new() {
        return Arch::V3(vectors);
    }
    match Arch::new() {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(_) => Arch::Scalar,
        other => other,
    }
}

fn place(x1: f64, x2: f64) -> Place {
    let relative = (x2 - x1) / x1;
    let kink = if relative.abs() < 0.5 { relative.ln_1p() } else { (x2 / x1).ln() };
    Place { x: [x1, x2], ln_x: [x1.ln(), x2.ln()], kink }
}
