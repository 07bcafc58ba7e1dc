//! The log integrand at a batch of points, in vector instructions.
//!
//! A point is given by its innovations. The kernel computes totals, then shared gammas, then private parts, and sums,
//! with the volume elements of all coordinates,
//!
//! ```text
//! Σ_k J ln s_k + Σ_S (δ ln D − ln(1 + D·Q/P)) + Σ_kl (a − 1) ln A − N ln T,   P = Σ ω/(w−D),  Q = Σ ω/(w−D)²
//! ```
//!
//! since dz/dD = (1 + D·Q/P)/D, and D·Q/P = e^z Q/P². T is a sum of positive terms. The lanes of a vector are points.

use pulp::{Simd, WithSimd};

use super::super::constants::{
    BATCH, BOUNDED_TOTAL, MAX_ABS_Z, MIN_DISTANCE, NEWTON_CLOSE, NEWTON_STEPS, OUT_OF_RANGE_SLOPE,
};
use super::coordinates::{ComponentCoordinates, Coordinates, SharedCoordinate};
use consilience_numerics::vector::{exp, fma, ln, ln_of_parts, times};

/// A batch of [`BATCH`] points.
pub(super) struct IntegrandBatch<'a> {
    pub(super) coordinates: &'a Coordinates,
    /// Innovations, [`BATCH`] per coordinate.
    pub(super) innovations: &'a [f64],
    /// Derivatives of the innovations in the normal variables that they are mapped from.
    pub(super) slopes: &'a [f64],
    /// Receives the log integrand.
    pub(super) out: &'a mut [f64],
    /// Receives, unless empty, the derivatives of the log integrand in the shared shapes (α fixed), [`BATCH`] per
    /// shape: ln D − Σ_{k∈S} ln A_k + (|S|−1) ln T.
    pub(super) features: &'a mut [f64],
    pub(super) buffers: &'a mut IntegrandBuffers,
}

/// Buffers of the kernel, [`BATCH`] numbers per quantity.
#[derive(Debug, Default)]
pub(super) struct IntegrandBuffers {
    totals: Vec<f64>,
    earlier: Vec<f64>,
    rest: Vec<f64>,
    growth: Vec<f64>,
    single: Vec<f64>,
}

impl IntegrandBuffers {
    fn prepare(&mut self, coordinates: &Coordinates) {
        let (free, n_shared) = (coordinates.totals.len(), coordinates.n_shared());
        for (buffer, n) in [
            (&mut self.totals, free + 1),
            (&mut self.earlier, free + n_shared),
            (&mut self.rest, free + 1),
            (&mut self.growth, n_shared),
            (&mut self.single, SINGLE),
        ] {
            buffer.resize(n * BATCH, 0.0);
        }
    }
}

/// Number of quantities of which there is one per point.
const SINGLE: usize = 8;

/// All quantities of a batch, `stride` vectors each.
///
/// Every step is computed for all points before the next one: the steps of one point depend on each other, while those
/// of different points can be pipelined.
struct Lanes<'a, S: Simd> {
    stride: usize,
    totals: &'a mut [S::f64s],
    /// Bounded deviations of ln s, then deviations of logistic(z) in units of z at the mode.
    earlier: &'a mut [S::f64s],
    /// The rest of sₖx_kl.
    rest: &'a mut [S::f64s],
    /// ln D − Σ ln A of every coordinate's members.
    growth: &'a mut [S::f64s],
    /// Of the current coordinate: z, e^z, the boundary min w, the distance from it and a lower bound of that.
    z: &'a mut [S::f64s],
    odds: &'a mut [S::f64s],
    boundary: &'a mut [S::f64s],
    distance: &'a mut [S::f64s],
    lowest: &'a mut [S::f64s],
    /// T so far, and the volume element as an exponent and a mantissa.
    all: &'a mut [S::f64s],
    volume: [&'a mut [S::f64s]; 2],
    /// The log integrand so far.
    sum: &'a mut [S::f64s],
}

impl<'a, S: Simd> Lanes<'a, S> {
    #[inline(always)]
    fn new(simd: S, buffers: &'a mut IntegrandBuffers, sum: &'a mut [S::f64s]) -> Self {
        let stride = sum.len();
        let mut single = S::as_mut_simd_f64s(&mut buffers.single).0.chunks_exact_mut(stride);
        let mut next = |value: f64| {
            let row = single.next().expect("`SINGLE` quantities");
            row.fill(simd.splat_f64s(value));
            row
        };
        Self {
            stride,
            totals: S::as_mut_simd_f64s(&mut buffers.totals).0,
            earlier: S::as_mut_simd_f64s(&mut buffers.earlier).0,
            rest: S::as_mut_simd_f64s(&mut buffers.rest).0,
            growth: S::as_mut_simd_f64s(&mut buffers.growth).0,
            z: next(0.0),
            odds: next(0.0),
            boundary: next(0.0),
            distance: next(0.0),
            lowest: next(0.0),
            all: next(0.0),
            volume: [next(0.0), next(1.0)],
            sum,
        }
    }

    #[inline(always)]
    fn times(&mut self, simd: S, p: usize, factor: S::f64s) {
        let [exponent, mantissa] = &mut self.volume;
        (exponent[p], mantissa[p]) = times(simd, (exponent[p], mantissa[p]), factor);
    }
}

impl WithSimd for IntegrandBatch<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.buffers.prepare(self.coordinates);
        let innovations = S::as_simd_f64s(self.innovations).0;
        let slopes = S::as_simd_f64s(self.slopes).0;
        let features = S::as_mut_simd_f64s(self.features).0;
        let mut lanes = Lanes::new(simd, self.buffers, S::as_mut_simd_f64s(self.out).0);
        let (stride, record) = (lanes.stride, !features.is_empty());
        totals(simd, self.coordinates, &mut lanes, innovations, slopes);
        let mut row = self.coordinates.totals.len();
        for component in &self.coordinates.components {
            let first = row - self.coordinates.totals.len();
            begin_component(simd, component, &mut lanes);
            for coordinate in &component.coordinates {
                let rows = row * stride..(row + 1) * stride;
                one_coordinate(simd, (coordinate, row), &mut lanes, &innovations[rows.clone()]);
                take(simd, coordinate, &mut lanes, &slopes[rows]);
                if record {
                    let at = row - self.coordinates.totals.len();
                    // `take` has left ln D in the place of z.
                    lanes.growth[at * stride..(at + 1) * stride].copy_from_slice(lanes.z);
                }
                row += 1;
            }
            end_component(simd, (component, first, record), &mut lanes);
        }
        for p in 0..stride {
            let volume = ln_of_parts(simd, lanes.volume[0][p], lanes.volume[1][p]);
            let ln_all = ln(simd, lanes.all[p]);
            let sum = simd.add_f64s(lanes.sum[p], volume);
            lanes.sum[p] = fma(simd, simd.splat_f64s(-self.coordinates.total_shape), ln_all, sum);
            let shared = self.coordinates.shared();
            for (i, coordinate) in shared.enumerate().filter(|_| record) {
                let others = simd.splat_f64s((coordinate.members.len() - 1) as f64);
                let at = i * stride + p;
                features[at] = fma(simd, others, ln_all, lanes.growth[at]);
            }
        }
    }
}

/// Computes the totals from their innovations, and starts the sum with J Σ ln s over the free totals.
#[inline(always)]
fn totals<S: Simd>(
    simd: S,
    coordinates: &Coordinates,
    lanes: &mut Lanes<'_, S>,
    innovations: &[S::f64s],
    slopes: &[S::f64s],
) {
    let stride = lanes.stride;
    let n_components = simd.splat_f64s(coordinates.components.len() as f64);
    let fixed = coordinates.fixed.classifier * stride;
    lanes.totals[fixed..fixed + stride].fill(simd.splat_f64s(coordinates.fixed.total));
    lanes.sum.fill(simd.splat_f64s(0.0));
    for (i, total) in coordinates.totals.iter().enumerate() {
        for p in 0..stride {
            let mut deviation = innovations[i * stride + p];
            for (j, &c) in total.on_earlier.iter().enumerate() {
                deviation = fma(simd, simd.splat_f64s(c), innovations[j * stride + p], deviation);
            }
            let exact = simd.add_f64s(deviation, simd.splat_f64s(total.mode));
            let ln_s = clamp_z(simd, exact);
            let square = simd.mul_f64s(deviation, deviation);
            let square = fma(simd, square, simd.splat_f64s(BOUNDED_TOTAL), simd.splat_f64s(1.0));
            lanes.earlier[i * stride + p] = simd.div_f64s(deviation, simd.sqrt_f64s(square));
            lanes.totals[total.classifier * stride + p] = exp(simd, ln_s);
            let beyond = simd.abs_f64s(simd.sub_f64s(exact, ln_s));
            let part = fma(simd, simd.splat_f64s(-OUT_OF_RANGE_SLOPE), beyond, ln_s);
            lanes.sum[p] = fma(simd, n_components, part, lanes.sum[p]);
            lanes.times(simd, p, slopes[i * stride + p]);
        }
    }
}

#[inline(always)]
fn clamp_z<S: Simd>(simd: S, x: S::f64s) -> S::f64s {
    simd.max_f64s(simd.min_f64s(x, simd.splat_f64s(MAX_ABS_Z)), simd.splat_f64s(-MAX_ABS_Z))
}

/// Starts a component: nothing of sₖx_kl is taken yet.
#[inline(always)]
fn begin_component<S: Simd>(simd: S, component: &ComponentCoordinates, lanes: &mut Lanes<'_, S>) {
    for (k, &x) in component.x.iter().enumerate() {
        let row = k * lanes.stride..(k + 1) * lanes.stride;
        for (rest, total) in lanes.rest[row.clone()].iter_mut().zip(&lanes.totals[row]) {
            *rest = simd.mul_f64s(*total, simd.splat_f64s(x));
        }
    }
}

/// Adds a component's private parts; `first` is the number of shared gammas in earlier components, `record` says
/// whether features are wanted.
#[inline(always)]
fn end_component<S: Simd>(
    simd: S,
    (component, first, record): (&ComponentCoordinates, usize, bool),
    lanes: &mut Lanes<'_, S>,
) {
    let stride = lanes.stride;
    for (k, &a) in component.private.iter().enumerate() {
        for p in 0..stride {
            let rest = simd.max_f64s(lanes.rest[k * stride + p], simd.splat_f64s(MIN_DISTANCE));
            let ln_rest = ln(simd, rest);
            lanes.sum[p] = fma(simd, simd.splat_f64s(a - 1.0), ln_rest, lanes.sum[p]);
            lanes.all[p] = simd.add_f64s(lanes.all[p], rest);
            let contains =
                |coordinate: &SharedCoordinate| coordinate.members.iter().any(|m| m.0 == k);
            let coordinates = component.coordinates.iter().enumerate().filter(|_| record);
            for (i, _) in coordinates.filter(|(_, coordinate)| contains(coordinate)) {
                let growth = &mut lanes.growth[(first + i) * stride + p];
                *growth = simd.sub_f64s(*growth, ln_rest);
            }
        }
    }
}

/// Computes z of a coordinate from its innovation and the earlier coordinates, and e^z.
#[inline(always)]
fn one_coordinate<S: Simd>(
    simd: S,
    (coordinate, row): (&SharedCoordinate, usize),
    lanes: &mut Lanes<'_, S>,
    innovations: &[S::f64s],
) {
    let (stride, one) = (lanes.stride, simd.splat_f64s(1.0));
    for (p, &innovation) in innovations.iter().enumerate() {
        let mut z = simd.add_f64s(innovation, simd.splat_f64s(coordinate.mode));
        for (j, &c) in coordinate.regression.iter().enumerate() {
            z = fma(simd, simd.splat_f64s(c), lanes.earlier[j * stride + p], z);
        }
        let odds = exp(simd, clamp_z(simd, z));
        let logistic = simd.div_f64s(odds, simd.add_f64s(odds, one));
        let from = simd.sub_f64s(logistic, simd.splat_f64s(coordinate.logistic[0]));
        lanes.earlier[row * stride + p] =
            simd.mul_f64s(from, simd.splat_f64s(coordinate.logistic[1]));
        (lanes.z[p], lanes.odds[p]) = (z, odds);
    }
}

/// Subtracts a shared gamma from the rests of its members, and writes ln D in the place of z.
///
/// The unknown is e = m − D, the distance from the boundary m = min w: D = e^z H, H = 1/P, and e then both keep full
/// relative precision, at both ends.
#[inline(always)]
fn take<S: Simd>(
    simd: S,
    coordinate: &SharedCoordinate,
    lanes: &mut Lanes<'_, S>,
    slopes: &[S::f64s],
) {
    let (stride, members) = (lanes.stride, &coordinate.members[..]);
    for p in 0..stride {
        let mut smallest = lanes.rest[members[0].0 * stride + p];
        for &(k, _) in &members[1..] {
            smallest = simd.min_f64s(smallest, lanes.rest[k * stride + p]);
        }
        for &(k, _) in members {
            let rest = &mut lanes.rest[k * stride + p];
            *rest = simd.sub_f64s(*rest, smallest);
        }
        lanes.boundary[p] = smallest;
    }
    if members.len() == 2 {
        distances_of_two(simd, members, lanes);
    } else {
        distances(simd, members, lanes);
    }
    let (one, far) = (simd.splat_f64s(1.0), simd.splat_f64s(MAX_ABS_Z));
    for (p, &slope) in slopes.iter().enumerate() {
        // A distance of 0 would give an infinite density.
        let distance = simd.max_f64s(lanes.distance[p], simd.splat_f64s(MIN_DISTANCE));
        let [mean, slope_of_mean] =
            harmonic(simd, members, |k| simd.add_f64s(lanes.rest[k * stride + p], distance));
        for &(k, _) in members {
            let rest = &mut lanes.rest[k * stride + p];
            *rest = simd.add_f64s(*rest, distance);
        }
        let (z, odds) = (lanes.z[p], lanes.odds[p]);
        lanes.all[p] = fma(simd, odds, mean, lanes.all[p]);
        // D^δ dz/(D dz/dD)
        let ln_d = simd.add_f64s(simd.min_f64s(z, far), ln(simd, mean));
        let beyond = simd.max_f64s(simd.sub_f64s(z, far), simd.splat_f64s(0.0));
        let sum = fma(simd, simd.splat_f64s(-OUT_OF_RANGE_SLOPE), beyond, lanes.sum[p]);
        lanes.sum[p] = fma(simd, simd.splat_f64s(coordinate.shape), ln_d, sum);
        lanes.z[p] = ln_d;
        lanes.times(simd, p, simd.div_f64s(slope, fma(simd, odds, slope_of_mean, one)));
    }
}

/// The weighted harmonic mean H = 1/Σ ω/r of the members' r, and H² Σ ω/r², its derivative if all r grow alike. Two and
/// three members take a single division.
#[inline(always)]
fn harmonic<S: Simd>(
    simd: S,
    members: &[(usize, f64)],
    r: impl Fn(usize) -> S::f64s,
) -> [S::f64s; 2] {
    let one = simd.splat_f64s(1.0);
    let weighted = |weight: f64, x: S::f64s| simd.mul_f64s(simd.splat_f64s(weight), x);
    match *members {
        [(a, weight_a), (b, weight_b)] => {
            let (a, b) = (r(a), r(b));
            let sum = fma(simd, simd.splat_f64s(weight_a), b, weighted(weight_b, a));
            let inverse = simd.div_f64s(one, sum);
            let (of_a, of_b) = (simd.mul_f64s(b, inverse), simd.mul_f64s(a, inverse));
            let slope = simd.mul_f64s(weighted(weight_b, of_b), of_b);
            [simd.mul_f64s(a, of_a), fma(simd, weighted(weight_a, of_a), of_a, slope)]
        }
        [(a, weight_a), (b, weight_b), (c, weight_c)] => {
            let [a, b, c] = [a, b, c].map(&r);
            let [bc, ca, ab] = [simd.mul_f64s(b, c), simd.mul_f64s(c, a), simd.mul_f64s(a, b)];
            let sum = fma(simd, simd.splat_f64s(weight_b), ca, weighted(weight_c, ab));
            let sum = fma(simd, simd.splat_f64s(weight_a), bc, sum);
            let inverse = simd.div_f64s(one, sum);
            let [of_a, of_b, of_c] = [bc, ca, ab].map(|others| simd.mul_f64s(others, inverse));
            let slope = simd.mul_f64s(weighted(weight_c, of_c), of_c);
            let slope = fma(simd, weighted(weight_b, of_b), of_b, slope);
            [simd.mul_f64s(a, of_a), fma(simd, weighted(weight_a, of_a), of_a, slope)]
        }
        _ => {
            let mut sums = [simd.splat_f64s(0.0); 2];
            for &(k, weight) in members {
                let inverse = simd.div_f64s(one, r(k));
                let part = weighted(weight, inverse);
                sums = [simd.add_f64s(sums[0], part), fma(simd, part, inverse, sums[1])];
            }
            let mean = simd.div_f64s(one, sums[0]);
            [mean, simd.mul_f64s(simd.mul_f64s(sums[1], mean), mean)]
        }
    }
}

/// The distances from the boundary for two members, in closed form.
#[inline(always)]
fn distances_of_two<S: Simd>(simd: S, members: &[(usize, f64)], lanes: &mut Lanes<'_, S>) {
    let [(a, weight_a), (b, weight_b)] = [members[0], members[1]];
    for p in 0..lanes.stride {
        let beyond = [a, b].map(|k| lanes.rest[k * lanes.stride + p]);
        lanes.distance[p] =
            distance_of_two(simd, beyond, [weight_a, weight_b], lanes.boundary[p], lanes.odds[p]);
    }
}

/// The distance for two members at g and 0 beyond the boundary: (m − e)(ω g + e) = E e (g + e), a quadratic in e, where
/// ω is the weight of the member at 0 and E = e^z.
#[inline(always)]
fn distance_of_two<S: Simd>(
    simd: S,
    beyond: [S::f64s; 2],
    weights: [f64; 2],
    boundary: S::f64s,
    odds: S::f64s,
) -> S::f64s {
    let gap = simd.max_f64s(beyond[0], beyond[1]);
    let first_is_near = simd.less_than_f64s(beyond[0], beyond[1]);
    let near =
        simd.select_f64s(first_is_near, simd.splat_f64s(weights[0]), simd.splat_f64s(weights[1]));
    let one = simd.splat_f64s(1.0);
    let leading = simd.add_f64s(odds, one);
    let linear = simd.sub_f64s(simd.mul_f64s(gap, simd.add_f64s(odds, near)), boundary);
    let constant = simd.mul_f64s(simd.mul_f64s(boundary, near), gap);
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

/// The distances for any number of members: (m − e) = E·H(e), where H is the weighted harmonic mean of gₖ + e, concave
/// and nearly linear.
///
/// Newton's method from below converges monotonically; with all members tied its first step is exact. All points
/// take as many steps as the slowest one.
#[inline(always)]
fn distances<S: Simd>(simd: S, members: &[(usize, f64)], lanes: &mut Lanes<'_, S>) {
    let (stride, one) = (lanes.stride, simd.splat_f64s(1.0));
    // e ≤ H(e) ≤ e/ω brackets the root; from its upper end the first step falls below the root.
    let least = simd.splat_f64s(members.iter().map(|m| m.1).fold(1.0, f64::min));
    for p in 0..stride {
        let (boundary, odds) = (lanes.boundary[p], lanes.odds[p]);
        lanes.distance[p] = simd.div_f64s(boundary, simd.add_f64s(one, odds));
        lanes.lowest[p] = simd.div_f64s(simd.mul_f64s(boundary, least), simd.add_f64s(least, odds));
    }
    for _ in 0..NEWTON_STEPS {
        let mut farthest = simd.splat_f64s(-1.0);
        for p in 0..stride {
            let (e, boundary, odds) = (lanes.distance[p], lanes.boundary[p], lanes.odds[p]);
            let r = |k: usize| simd.add_f64s(lanes.rest[k * stride + p], e);
            let [mean, slope] = harmonic(simd, members, r);
            let miss = simd.sub_f64s(simd.sub_f64s(boundary, e), simd.mul_f64s(odds, mean));
            let step = simd.div_f64s(miss, fma(simd, odds, slope, one));
            let next = simd.max_f64s(simd.add_f64s(e, step), lanes.lowest[p]);
            let change = simd.abs_f64s(simd.sub_f64s(next, e));
            farthest =
                simd.max_f64s(farthest, fma(simd, next, simd.splat_f64s(-NEWTON_CLOSE), change));
            lanes.distance[p] = next;
        }
        if simd.reduce_max_f64s(farthest) <= 0.0 {
            break;
        }
    }
}
