//! The log integrand at many points at once.
//!
//! Points come as innovations; the kernel follows the chart from totals to shared gammas to private parts and adds up,
//! with the volume elements of all coordinates,
//!
//! ```text
//! Σ_k J ln s_k + Σ_S (δ ln D − ln(1 + D·Q/P)) + Σ_kl (a − 1) ln A − N ln T,   P = Σ ω/(w−D),  Q = Σ ω/(w−D)²
//! ```
//!
//! since dz/dD = (1 + D·Q/P)/D. T is summed from positive terms. Vectors run over points.

use pulp::{Simd, WithSimd};

use super::chart::{Chart, ClassChart, Coordinate};
use crate::math::vector::{exp, fma, ln};

/// Points evaluated together; a multiple of every vector's length.
pub(super) const POINTS: usize = 64;
/// Lanes of the widest vectors.
pub(super) const LANES: usize = 8;

/// |z| is held below this where e^z is taken: beyond, D or the distance from the wall is as good as 0.
const FARTHEST: f64 = 220.0;
/// Log weight lost for every unit beyond [`FARTHEST`]: the integrand has gone there, at least like e^(−aFARTHEST), while its
/// arithmetic no longer follows.
const OUT_OF_REACH: f64 = 1e3;
/// Distances from walls are at least this; cubes of their inverses are still numbers.
const NEAREST: f64 = 1e-100;
/// Deviations of ln s enter the regressions as t/√(1 + t²/4).
const BOUND: f64 = 0.25;
const MAX_NEWTON: usize = 20;

/// A batch of [`POINTS`] points.
pub(super) struct Batch<'a> {
    pub(super) chart: &'a Chart,
    /// Innovations, coordinate by coordinate, [`POINTS`] each.
    pub(super) innovations: &'a [f64],
    /// Derivatives of the innovations in what they are mapped from.
    pub(super) slopes: &'a [f64],
    /// Receives the log integrand.
    pub(super) out: &'a mut [f64],
    /// Receives, unless empty, how the log integrand grows with every shared shape (α given), [`POINTS`] each:
    /// ln D − Σ_{k∈S} ln A_k + (|S|−1) ln T.
    pub(super) features: &'a mut [f64],
    pub(super) work: &'a mut Work,
}

/// Memory of the kernel, [`LANES`] numbers for every quantity.
#[derive(Debug, Default)]
pub(super) struct Work {
    totals: Vec<f64>,
    bounded: Vec<f64>,
    rest: Vec<f64>,
    logistic: Vec<f64>,
    growth: Vec<f64>,
}

impl Work {
    fn prepare(&mut self, chart: &Chart) {
        let factors = chart.classes.iter().map(|c| c.coordinates.len()).sum();
        let free = chart.totals.len();
        for (buffer, n) in [
            (&mut self.totals, free + 1),
            (&mut self.bounded, free),
            (&mut self.rest, free + 1),
            (&mut self.logistic, factors),
            (&mut self.growth, factors),
        ] {
            buffer.resize(n * LANES, 0.0);
        }
    }
}

impl WithSimd for Batch<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.work.prepare(self.chart);
        let innovations = S::as_simd_f64s(self.innovations).0;
        let slopes = S::as_simd_f64s(self.slopes).0;
        let out = S::as_mut_simd_f64s(self.out).0;
        let stride = out.len();
        let mut lanes = Lanes {
            totals: S::as_mut_simd_f64s(&mut self.work.totals).0,
            bounded: &mut S::as_mut_simd_f64s(&mut self.work.bounded).0[..self.chart.totals.len()],
            rest: S::as_mut_simd_f64s(&mut self.work.rest).0,
            logistic: S::as_mut_simd_f64s(&mut self.work.logistic).0,
            growth: S::as_mut_simd_f64s(&mut self.work.growth).0,
        };
        let features = S::as_mut_simd_f64s(self.features).0;
        let (n, record) = (self.chart.totals.len(), !features.is_empty());
        for (p, out) in out.iter_mut().enumerate() {
            let mut sum = totals(simd, self.chart, &mut lanes, |i| innovations[i * stride + p]);
            for k in 0..n {
                sum = simd.add_f64s(sum, ln(simd, slopes[k * stride + p]));
            }
            let mut first = 0;
            let mut all = simd.splat_f64s(0.0);
            for class in &self.chart.classes {
                let at = |i: usize| {
                    let place = (n + first + i) * stride + p;
                    (innovations[place], slopes[place])
                };
                let [value, total] = one_class(simd, class, (first, record), &mut lanes, at);
                sum = simd.add_f64s(sum, value);
                all = simd.add_f64s(all, total);
                first += class.coordinates.len();
            }
            let ln_all = ln(simd, all);
            *out = fma(simd, simd.splat_f64s(-self.chart.power), ln_all, sum);
            if record {
                let coordinates = self.chart.classes.iter().flat_map(|class| &class.coordinates);
                for (i, coordinate) in coordinates.enumerate() {
                    let others = simd.splat_f64s((coordinate.members.len() - 1) as f64);
                    features[i * stride + p] = fma(simd, others, ln_all, lanes.growth[i]);
                }
            }
        }
    }
}

struct Lanes<'a, S: Simd> {
    totals: &'a mut [S::f64s],
    /// Bounded deviations of ln s.
    bounded: &'a mut [S::f64s],
    /// What is left of sₖx_kl.
    rest: &'a mut [S::f64s],
    /// Deviations of logistic(z), in units of z at the centre.
    logistic: &'a mut [S::f64s],
    /// ln D − Σ ln A of every coordinate's members.
    growth: &'a mut [S::f64s],
}

/// Totals from their innovations; returns J Σ ln s over the free ones.
#[inline(always)]
fn totals<S: Simd>(
    simd: S,
    chart: &Chart,
    lanes: &mut Lanes<'_, S>,
    innovation: impl Fn(usize) -> S::f64s,
) -> S::f64s {
    let mut sum = simd.splat_f64s(0.0);
    lanes.totals[chart.fixed.0] = simd.splat_f64s(chart.fixed.1);
    for (i, total) in chart.totals.iter().enumerate() {
        let mut deviation = innovation(i);
        for (j, &c) in total.on_earlier.iter().enumerate() {
            deviation = fma(simd, simd.splat_f64s(c), innovation(j), deviation);
        }
        let ln_s = simd.add_f64s(deviation, simd.splat_f64s(total.centre));
        let ln_s = simd
            .max_f64s(simd.min_f64s(ln_s, simd.splat_f64s(FARTHEST)), simd.splat_f64s(-FARTHEST));
        let square = fma(
            simd,
            simd.mul_f64s(deviation, deviation),
            simd.splat_f64s(BOUND),
            simd.splat_f64s(1.0),
        );
        lanes.bounded[i] = simd.div_f64s(deviation, simd.sqrt_f64s(square));
        lanes.totals[total.classifier] = exp(simd, ln_s);
        let beyond = simd
            .abs_f64s(simd.sub_f64s(simd.add_f64s(deviation, simd.splat_f64s(total.centre)), ln_s));
        sum = fma(simd, simd.splat_f64s(-OUT_OF_REACH), beyond, sum);
        sum = simd.add_f64s(sum, ln_s);
    }
    simd.mul_f64s(sum, simd.splat_f64s(chart.classes.len() as f64))
}

/// One class's part of the log integrand, and of T. `first` counts the z of earlier classes; `record` keeps what
/// features are made of.
#[inline(always)]
fn one_class<S: Simd>(
    simd: S,
    class: &ClassChart,
    (first, record): (usize, bool),
    lanes: &mut Lanes<'_, S>,
    at: impl Fn(usize) -> (S::f64s, S::f64s),
) -> [S::f64s; 2] {
    let zero = simd.splat_f64s(0.0);
    let one = simd.splat_f64s(1.0);
    let (mut sum, mut total, mut volume) = (zero, zero, one);
    for (k, &x) in class.x.iter().enumerate() {
        lanes.rest[k] = simd.mul_f64s(lanes.totals[k], simd.splat_f64s(x));
    }
    for (i, coordinate) in class.coordinates.iter().enumerate() {
        let (innovation, slope) = at(i);
        let z = place(simd, coordinate, lanes, innovation);
        let far = simd.splat_f64s(FARTHEST);
        let odds = exp(simd, simd.max_f64s(simd.min_f64s(z, far), simd.splat_f64s(-FARTHEST)));
        let logistic = simd.div_f64s(odds, simd.add_f64s(odds, one));
        let from = simd.sub_f64s(logistic, simd.splat_f64s(coordinate.logistic[0]));
        lanes.logistic[first + i] = simd.mul_f64s(from, simd.splat_f64s(coordinate.logistic[1]));
        let [pull, square] = shared(simd, coordinate, lanes, odds);
        let inverse = simd.div_f64s(one, pull);
        let d = simd.mul_f64s(odds, inverse);
        total = simd.add_f64s(total, d);
        // D^δ dz/(D dz/dD)
        let ln_d = simd.sub_f64s(simd.min_f64s(z, far), ln(simd, pull));
        let beyond = simd.max_f64s(simd.sub_f64s(z, far), simd.splat_f64s(0.0));
        sum = fma(simd, simd.splat_f64s(-OUT_OF_REACH), beyond, sum);
        sum = fma(simd, simd.splat_f64s(coordinate.shape), ln_d, sum);
        lanes.growth[first + i] = ln_d;
        let jacobian = fma(simd, d, simd.mul_f64s(square, inverse), one);
        volume = simd.mul_f64s(volume, simd.div_f64s(slope, jacobian));
        // One logarithm for two volume elements; of three the product might leave the range of numbers.
        if i % 2 == 1 || i + 1 == class.coordinates.len() {
            sum = simd.add_f64s(sum, ln(simd, volume));
            volume = one;
        }
    }
    for (k, &a) in class.private.iter().enumerate() {
        let rest = simd.max_f64s(lanes.rest[k], simd.splat_f64s(NEAREST));
        let ln_rest = ln(simd, rest);
        sum = fma(simd, simd.splat_f64s(a - 1.0), ln_rest, sum);
        total = simd.add_f64s(total, rest);
        let concerned = |coordinate: &Coordinate| coordinate.members.iter().any(|m| m.0 == k);
        let coordinates = class.coordinates.iter().enumerate().filter(|_| record);
        for (i, _) in coordinates.filter(|(_, coordinate)| concerned(coordinate)) {
            lanes.growth[first + i] = simd.sub_f64s(lanes.growth[first + i], ln_rest);
        }
    }
    [sum, total]
}

/// z of a coordinate from its innovation and what came before.
#[inline(always)]
fn place<S: Simd>(
    simd: S,
    coordinate: &Coordinate,
    lanes: &Lanes<'_, S>,
    innovation: S::f64s,
) -> S::f64s {
    let mut z = simd.add_f64s(innovation, simd.splat_f64s(coordinate.centre));
    let earlier = lanes.bounded.iter().chain(lanes.logistic.iter());
    for (&c, &deviation) in coordinate.regression.iter().zip(earlier) {
        z = fma(simd, simd.splat_f64s(c), deviation, z);
    }
    z
}

/// Takes a shared gamma from what is left of its members; returns P and Q.
///
/// With m = min w, the distance e = m − D from the wall is what is solved for: D and e then keep full relative
/// precision at both ends, D as e^z/P.
#[inline(always)]
fn shared<S: Simd>(
    simd: S,
    coordinate: &Coordinate,
    lanes: &mut Lanes<'_, S>,
    odds: S::f64s,
) -> [S::f64s; 2] {
    let members = &coordinate.members;
    let mut smallest = lanes.rest[members[0].0];
    for &(k, _) in &members[1..] {
        smallest = simd.min_f64s(smallest, lanes.rest[k]);
    }
    for &(k, _) in members {
        lanes.rest[k] = simd.sub_f64s(lanes.rest[k], smallest);
    }
    let distance = if let [(a, weight_a), (b, weight_b)] = members[..] {
        distance_of_two(simd, [lanes.rest[a], lanes.rest[b]], [weight_a, weight_b], smallest, odds)
    } else {
        distance(simd, members, lanes.rest, smallest, odds)
    };
    // A distance of 0 would be an infinite density.
    let distance = simd.max_f64s(distance, simd.splat_f64s(NEAREST));
    let sums = pulls(simd, members, lanes.rest, distance);
    for &(k, _) in members {
        lanes.rest[k] = simd.add_f64s(lanes.rest[k], distance);
    }
    sums
}

/// Σ ω/r and Σ ω/r² over the members' r = g + e; of two and three with a single division.
#[inline(always)]
fn pulls<S: Simd>(
    simd: S,
    members: &[(usize, f64)],
    beyond: &[S::f64s],
    e: S::f64s,
) -> [S::f64s; 2] {
    let one = simd.splat_f64s(1.0);
    let term = |[pull, square]: [S::f64s; 2], weight: f64, inverse: S::f64s| {
        let part = simd.mul_f64s(simd.splat_f64s(weight), inverse);
        [simd.add_f64s(pull, part), fma(simd, part, inverse, square)]
    };
    let none = [simd.splat_f64s(0.0); 2];
    match *members {
        [(a, weight_a), (b, weight_b)] => {
            let (a, b) = (simd.add_f64s(beyond[a], e), simd.add_f64s(beyond[b], e));
            let inverse = simd.div_f64s(one, simd.mul_f64s(a, b));
            let sums = term(none, weight_a, simd.mul_f64s(inverse, b));
            term(sums, weight_b, simd.mul_f64s(inverse, a))
        }
        [(a, weight_a), (b, weight_b), (c, weight_c)] => {
            let [a, b, c] = [a, b, c].map(|k| simd.add_f64s(beyond[k], e));
            let both = simd.mul_f64s(a, b);
            let inverse = simd.div_f64s(one, simd.mul_f64s(both, c));
            let rest = simd.mul_f64s(inverse, c);
            let sums = term(none, weight_a, simd.mul_f64s(rest, b));
            let sums = term(sums, weight_b, simd.mul_f64s(rest, a));
            term(sums, weight_c, simd.mul_f64s(inverse, both))
        }
        _ => members.iter().fold(none, |sums, &(k, weight)| {
            term(sums, weight, simd.div_f64s(one, simd.add_f64s(beyond[k], e)))
        }),
    }
}

/// Two members at distances g and 0 beyond the wall: (m − e)(ω g + e) = E e (g + e), a quadratic in e, with ω the nearer
/// one's weight and E = e^z.
#[inline(always)]
fn distance_of_two<S: Simd>(
    simd: S,
    beyond: [S::f64s; 2],
    weights: [f64; 2],
    wall: S::f64s,
    odds: S::f64s,
) -> S::f64s {
    let gap = simd.max_f64s(beyond[0], beyond[1]);
    let first_is_near = simd.less_than_f64s(beyond[0], beyond[1]);
    let near =
        simd.select_f64s(first_is_near, simd.splat_f64s(weights[0]), simd.splat_f64s(weights[1]));
    let one = simd.splat_f64s(1.0);
    let leading = simd.add_f64s(odds, one);
    let linear = simd.sub_f64s(simd.mul_f64s(gap, simd.add_f64s(odds, near)), wall);
    let constant = simd.mul_f64s(simd.mul_f64s(wall, near), gap);
    let four = simd.mul_f64s(simd.splat_f64s(4.0), leading);
    let root = simd.sqrt_f64s(fma(simd, linear, linear, simd.mul_f64s(four, constant)));
    let both = simd.add_f64s(simd.abs_f64s(linear), root);
    // The form without cancellation, by the sign of the linear term.
    let two = simd.splat_f64s(2.0);
    let positive = simd.less_than_f64s(simd.splat_f64s(0.0), linear);
    let above = simd.select_f64s(positive, simd.mul_f64s(two, constant), both);
    let below = simd.select_f64s(positive, both, simd.mul_f64s(two, leading));
    simd.div_f64s(above, below)
}

/// Any number of members: (m − e) = E·H(e), H the weighted harmonic mean of gₖ + e, concave and nearly straight.
///
/// Newton's method from below climbs to the root monotonically; with all members tied its first step is exact.
#[inline(always)]
fn distance<S: Simd>(
    simd: S,
    members: &[(usize, f64)],
    beyond: &[S::f64s],
    wall: S::f64s,
    odds: S::f64s,
) -> S::f64s {
    let one = simd.splat_f64s(1.0);
    // e ≤ H(e) ≤ e/ω brackets the root; from its upper end the first step falls below the root.
    let least = simd.splat_f64s(members.iter().map(|m| m.1).fold(1.0, f64::min));
    let lowest = simd.div_f64s(simd.mul_f64s(wall, least), simd.add_f64s(least, odds));
    let mut e = simd.div_f64s(wall, simd.add_f64s(one, odds));
    for _ in 0..MAX_NEWTON {
        let [pull, square] = pulls(simd, members, beyond, e);
        let mean = simd.div_f64s(one, pull);
        let slope = simd.mul_f64s(simd.mul_f64s(square, mean), mean);
        let miss = simd.sub_f64s(simd.sub_f64s(wall, e), simd.mul_f64s(odds, mean));
        let step = simd.div_f64s(miss, fma(simd, odds, slope, one));
        let next = simd.max_f64s(simd.add_f64s(e, step), lowest);
        let change = simd.div_f64s(simd.abs_f64s(simd.sub_f64s(next, e)), next);
        e = next;
        if simd.reduce_max_f64s(change) < 1e-6 {
            break;
        }
    }
    e
}
