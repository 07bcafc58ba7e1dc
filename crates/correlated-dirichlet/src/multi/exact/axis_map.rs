//! One-dimensional maps from a standard normal variable to an innovation, fitted to a density along one axis.
//!
//! An innovation is drawn as t(v), v standard normal. t is a piecewise cubic, linear beyond its table, and the weight
//! of a point contains its exact derivative: the quality of the fit changes the variance of the estimate, never its
//! mean.

use std::sync::LazyLock;

use pulp::Simd;

use super::super::constants::{
    BATCH, MAP_CELLS, MAP_REACH, PROFILE_NODES, PROFILE_SUBDIVISION, TAIL_STRETCH,
    TAIL_STRETCH_FROM,
};
use consilience_numerics::vector::fma;

/// Width of a cell of the table.
const STEP: f64 = 2.0 * MAP_REACH / MAP_CELLS as f64;

/// Stretched v at the knots as log odds λ = ln(Φ(v)/Φ(−v)), with dλ/dv times [`STEP`].
static KNOTS: LazyLock<[(f64, f64); MAP_CELLS + 1]> = LazyLock::new(|| {
    std::array::from_fn(|i| {
        let (v, stretch) = stretched(i as f64 * STEP - MAP_REACH);
        let [below, above] = [-v, v].map(|v| 0.5 * libm::erfc(v / std::f64::consts::SQRT_2));
        let density = (-0.5 * v * v).exp() / (2.0 * std::f64::consts::PI).sqrt();
        ((below / above).ln(), STEP * stretch * density / (below * above))
    })
});

/// Nodes of a profile: close together in the middle, far apart at the ends.
static NODES: LazyLock<[f64; PROFILE_NODES]> = LazyLock::new(|| {
    std::array::from_fn(|j| 1.5 * ((j as f64 - (PROFILE_NODES / 2) as f64) / 4.0).sinh())
});

/// A node of the profile, for a density of standard deviation 1.
pub(super) fn node(j: usize) -> f64 {
    NODES[j]
}

/// A monotone map: one cubic per cell, lowest power first, in the fraction of the cell.
#[derive(Debug, Clone)]
pub(super) struct AxisMap {
    /// As many as an index of eight bits can address, so that no bounds check is needed.
    cubics: Box<[[f64; 4]; 256]>,
}

impl AxisMap {
    /// Replaces v by t(v) and the slopes by t'(v), for a batch.
    ///
    /// Cells are located and cubics evaluated in vector instructions; the coefficients are looked up one by one.
    #[inline(always)]
    pub(super) fn apply<S: Simd>(&self, simd: S, v: &mut [f64], slopes: &mut [f64]) {
        let mut fractions = [0.0; BATCH];
        let mut cells = [0; BATCH];
        for ((v, fraction), cell) in v.iter().zip(&mut fractions).zip(&mut cells) {
            (*cell, *fraction) = cell_of(*v);
        }
        let mut coefficients = [[0.0; BATCH]; 4];
        for (i, cell) in cells.iter().enumerate() {
            let row = self.cubics[(cell & 0xff) as usize];
            for (c, coefficients) in row.iter().zip(&mut coefficients) {
                coefficients[i] = *c;
            }
        }
        let fractions = S::as_simd_f64s(&fractions).0;
        let [a, b, c, d] = coefficients.each_ref().map(|c| S::as_simd_f64s(c).0);
        let (v, slopes) = (S::as_mut_simd_f64s(v).0, S::as_mut_simd_f64s(slopes).0);
        let lanes = v.iter_mut().zip(slopes).zip(fractions).enumerate();
        for (p, ((t, slope), &f)) in lanes {
            let fd = simd.mul_f64s(f, d[p]);
            let cubic = fma(simd, fma(simd, simd.add_f64s(c[p], fd), f, b[p]), f, a[p]);
            let twice = fma(simd, simd.splat_f64s(3.0), fd, simd.add_f64s(c[p], c[p]));
            *t = cubic;
            *slope = simd.mul_f64s(fma(simd, f, twice, b[p]), simd.splat_f64s(1.0 / STEP));
        }
    }

    /// t(v) and t'(v).
    #[cfg(test)]
    fn at(&self, v: f64) -> (f64, f64) {
        let (mut t, mut slopes) = ([v; BATCH], [0.0; BATCH]);
        self.apply(pulp::Scalar, &mut t, &mut slopes);
        (t[0], slopes[0])
    }

    /// The map to the density whose logarithm is `profile` at `scale`·[`node`]s, up to a constant.
    pub(super) fn from_profile(scale: f64, profile: &[f64; PROFILE_NODES]) -> Self {
        let cumulative = Cumulative::new(scale, profile);
        let knot = |&(lambda, slope): &(f64, f64)| {
            let (t, in_lambda) = cumulative.quantile(lambda);
            (t, in_lambda * slope)
        };
        let knots: Vec<(f64, f64)> = KNOTS.iter().map(knot).collect();
        let secant = |i: usize| knots[i + 1].0 - knots[i].0;
        // Slopes of at most three times the neighbouring secants keep a cubic monotone.
        let slope = |i: usize| {
            let below = if i > 0 { secant(i - 1) } else { f64::INFINITY };
            let above = if i < MAP_CELLS { secant(i) } else { f64::INFINITY };
            knots[i].1.min(3.0 * below).min(3.0 * above)
        };
        let mut cubics = Box::new([[0.0; 4]; 256]);
        cubics[0] = [knots[0].0 - slope(0), slope(0), 0.0, 0.0];
        for i in 0..MAP_CELLS {
            let (rise, left, right) = (secant(i), slope(i), slope(i + 1));
            let (square, cube) = (3.0 * rise - 2.0 * left - right, left + right - 2.0 * rise);
            cubics[i + 1] = [knots[i].0, left, square, cube];
        }
        cubics[MAP_CELLS + 1] = [knots[MAP_CELLS].0, slope(MAP_CELLS), 0.0, 0.0];
        Self { cubics }
    }
}

/// The index of v's cell, in the lowest eight bits, and the position of v within it.
///
/// Cells are numbered from the left; the first and the last are the linear ends. The index is read from the lowest
/// bits of a sum that rounds to integers: a saturating cast takes twice as long.
#[inline(always)]
fn cell_of(v: f64) -> (u64, f64) {
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    let position = (v + MAP_REACH) * (1.0 / STEP) + 1.0;
    let cell = (position - 0.5).clamp(0.0, (MAP_CELLS + 1) as f64) + ROUNDER;
    (cell.to_bits(), position - (cell - ROUNDER))
}

/// v stretched in the tails, and its derivative.
fn stretched(v: f64) -> (f64, f64) {
    let (fourth, from) = (v.powi(4), TAIL_STRETCH_FROM.powi(4));
    let share = fourth / (fourth + from);
    let slope = 1.0 + TAIL_STRETCH * share * (1.0 + 4.0 * from / (fourth + from));
    (v * (1.0 + TAIL_STRETCH * share), slope)
}

/// The cumulative distribution of a profile, integrated from both ends.
struct Cumulative {
    /// t, ln density (normalised), and λ = ln(mass below / mass above).
    points: Vec<[f64; 3]>,
    /// Rates of the exponential tails.
    rates: [f64; 2],
}

impl Cumulative {
    fn new(scale: f64, profile: &[f64; PROFILE_NODES]) -> Self {
        let top = profile.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Where the integrand vanishes or is NaN, the density still has tails.
        let level = |j: usize| if profile[j] > top - 300.0 { profile[j] - top } else { -300.0 };
        let mut points: Vec<[f64; 3]> = Vec::with_capacity(PROFILE_SUBDIVISION * PROFILE_NODES);
        for j in 0..PROFILE_NODES - 1 {
            let cubic = Hermite::new(j, scale, &level);
            for i in 0..PROFILE_SUBDIVISION {
                let f = i as f64 / PROFILE_SUBDIVISION as f64;
                points.push([cubic.left + f * cubic.width, cubic.at(f), 0.0]);
            }
        }
        points.push([scale * node(PROFILE_NODES - 1), level(PROFILE_NODES - 1), 0.0]);
        let n = points.len();
        // The decay from b outwards to a; slow if the profile does not fall at all.
        let rate = |a: [f64; 3], b: [f64; 3]| {
            let rate = (b[1] - a[1]) / (b[0] - a[0]).abs();
            if rate > 0.0 { rate } else { 1e-4 / scale }
        };
        let rates = [rate(points[0], points[1]), rate(points[n - 1], points[n - 2])];
        let mut masses: Vec<f64> = points.windows(2).map(|w| mass(w[0], w[1])).collect();
        masses.insert(0, points[0][1].exp() / rates[0]);
        masses.push(points[n - 1][1].exp() / rates[1]);
        let mut above: Vec<f64> = masses.clone();
        for i in (0..n).rev() {
            above[i] += above[i + 1];
        }
        let total = above[0];
        let mut below = 0.0;
        for (i, point) in points.iter_mut().enumerate() {
            below += masses[i];
            point[1] -= total.ln();
            point[2] = (below / above[i + 1]).ln();
        }
        Self { points, rates }
    }

    /// t at λ, and dt/dλ.
    fn quantile(&self, lambda: f64) -> (f64, f64) {
        let (first, last) = (self.points[0], self.points[self.points.len() - 1]);
        // In an exponential tail the logarithm of the mass beyond t is linear in t. The tail may hold nearly all the
        // mass: a shape of 0.001 has 97 % of it beyond 30 units.
        let ln_below = |lambda: f64| -(-lambda).exp().ln_1p();
        if lambda <= first[2] {
            let t = first[0] + (ln_below(lambda) - ln_below(first[2])) / self.rates[0];
            return (t, 1.0 / ((1.0 + lambda.exp()) * self.rates[0]));
        }
        if lambda >= last[2] {
            let t = last[0] - (ln_below(-lambda) - ln_below(-last[2])) / self.rates[1];
            return (t, 1.0 / ((1.0 + (-lambda).exp()) * self.rates[1]));
        }
        let right = self.points.partition_point(|p| p[2] < lambda);
        let (a, b) = (self.points[right - 1], self.points[right]);
        let f = (lambda - a[2]) / (b[2] - a[2]);
        let ln_density = a[1] + f * (b[1] - a[1]);
        // dt/dλ = u(1−u)/density; u(1−u) = 1/(2 + 2 cosh λ)
        let slope = (-ln_density).exp() / (2.0 + 2.0 * lambda.cosh());
        (a[0] + f * (b[0] - a[0]), slope)
    }
}

/// The integral of a density that is exponential between two points.
fn mass(a: [f64; 3], b: [f64; 3]) -> f64 {
    let (width, rise) = (b[0] - a[0], b[1] - a[1]);
    let mean = if rise.abs() < 1e-5 { 1.0 + 0.5 * rise } else { rise.exp_m1() / rise };
    width * a[1].exp() * mean
}

/// A cubic through two neighbouring nodes of a profile, with the slopes of parabolas through three.
struct Hermite {
    left: f64,
    width: f64,
    values: [f64; 2],
    slopes: [f64; 2],
}

impl Hermite {
    fn new(j: usize, scale: f64, level: &impl Fn(usize) -> f64) -> Self {
        let t = |j: usize| scale * node(j);
        let secant = |j: usize| (level(j + 1) - level(j)) / (t(j + 1) - t(j));
        let slope = |j: usize| {
            if j == 0 {
                return secant(0);
            }
            if j == PROFILE_NODES - 1 {
                return secant(PROFILE_NODES - 2);
            }
            let (before, after) = (t(j) - t(j - 1), t(j + 1) - t(j));
            (after * secant(j - 1) + before * secant(j)) / (before + after)
        };
        let width = t(j + 1) - t(j);
        Self {
            left: t(j),
            width,
            values: [level(j), level(j + 1)],
            slopes: [slope(j) * width, slope(j + 1) * width],
        }
    }

    fn at(&self, f: f64) -> f64 {
        let ([p, q], [u, v]) = (self.values, self.slopes);
        let rise = q - p;
        p + f * (u + f * (3.0 * rise - 2.0 * u - v + f * (u + v - 2.0 * rise)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consilience_numerics::special::{digamma, trigamma};

    /// The density of a small shape, e^(δt) below 0 and nothing above: t is −1/δ times an exponential variable, whose
    /// quartiles are known. The nodes cover its last 3 % only.
    #[test]
    fn a_long_tail_is_drawn_as_it_is() {
        let delta = 1e-3;
        let profile = std::array::from_fn(|j| {
            let t = 1.2 * node(j);
            delta * t - (3.0 * t).exp()
        });
        let map = AxisMap::from_profile(1.2, &profile);
        for (p, v) in
            [(0.25, -0.674_489_750_196_081_7), (0.5, 0.0), (0.75, 0.674_489_750_196_081_7)]
        {
            let want = f64::ln(p) / delta;
            let got = map.at(v).0;
            assert!((got / want - 1.0).abs() < 0.01, "{p}: {got}, not {want}");
        }
    }

    /// ln of a gamma of shape 2 has the mean ψ(2) and the variance ψ'(2); about its mode ln 2, sd about 0.7.
    #[test]
    fn a_map_draws_from_its_profile() {
        let mode = 2.0f64.ln();
        let profile = std::array::from_fn(|j| {
            let t = 0.7 * node(j) + mode;
            2.0 * t - t.exp()
        });
        let map = AxisMap::from_profile(0.7, &profile);
        // Moments of the weighted points, which are exact, and of the unweighted points, whose tails are heavier by
        // design: their variance is 3 % larger.
        let (mut exact, mut drawn) = ([0.0; 3], [0.0; 3]);
        let h = 0.001;
        for i in -30_000..30_000 {
            let v = (f64::from(i) + 0.5) * h;
            let (t, slope) = map.at(v);
            assert!(slope > 0.0, "not monotone at {v}");
            let t = t + mode;
            let weight = h * slope * (2.0 * t - t.exp()).exp();
            let normal = h * (-0.5 * v * v).exp() / (2.0 * std::f64::consts::PI).sqrt();
            for (power, t) in [1.0, t, t * t].into_iter().enumerate() {
                exact[power] += weight * t;
                drawn[power] += normal * t;
            }
        }
        let (mean, variance) = (digamma(2.0), trigamma(2.0));
        for (moments, tolerance) in [(exact, 1e-6), (drawn, 0.03)] {
            assert!((moments[0] - 1.0).abs() < 1e-6);
            assert!((moments[1] - mean).abs() < tolerance, "mean {}, not {mean}", moments[1]);
            let got = moments[2] - moments[1] * moments[1];
            assert!((got - variance).abs() < tolerance, "variance {got}, not {variance}");
        }
    }
}
