//! A smooth surface through noisy values and gradients of a function: a Gaussian process with a quadratic trend.
//!
//! In coordinates z in which f varies by about 1 over a length of 1, f less a fixed trend has the covariance
//!
//! ```text
//! f(z) = level − |z|²/4 + g(z),   cov(g(z), g(z')) = c² + a² e^(−|z−z'|²/2λ²)
//! ```
//!
//! a part that varies over a length λ around an unknown level. Values and gradients at known points are observations of it, and
//! derivatives of its covariance theirs; λ and a are those, of a few, under which the points nearest to the top are most
//! probable. Unlike a polynomial it cannot rise far where nothing is known: there it falls as the trend does.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use crate::methods::correlated::learning::mode_search::factorise;

/// The trend is −|z|² times this, half of what a normal posterior has.
const TREND: f64 = 0.25;
/// Standard deviation of the level, c.
const LEVEL: f64 = 30.0;
/// Lengths λ and sizes a that are tried.
const LENGTHS: [f64; 5] = [1.2, 2.0, 3.5, 6.0, 10.0];
const SIZES: [f64; 4] = [2.0, 10.0, 50.0, 250.0];
/// Standard deviations of a known value and of a gradient's element near the top.
const NOISE: f64 = 0.1;
/// A drop of the log posterior by this much doubles a point's noise: what matters little need not be met.
const DROP: f64 = 8.0;
/// No direction of a frame is longer than this.
const LONGEST: f64 = 1.5;
/// Numbers that λ and a are chosen by, and numbers that are met, at the most: solving takes their cube.
const CHOSEN_BY: usize = 400;
const MOST: usize = 3000;

/// A point where the function is known.
#[derive(Debug, Clone)]
pub(super) struct NoisyEvaluation {
    pub(super) place: Vec<f64>,
    pub(super) value: f64,
    pub(super) gradient: Vec<f64>,
    /// Standard deviations of the gradient's elements.
    pub(super) noise: Vec<f64>,
    /// Says how much the point matters.
    pub(super) ln_posterior: f64,
}

/// The centre of what matters, and the Cholesky factor of a matrix of squared lengths over which the function varies by about 1.
#[derive(Debug, Clone)]
pub(super) struct LengthScales {
    centre: DVector<f64>,
    factor: DMatrix<f64>,
}

impl LengthScales {
    /// Gradients, those of the points that matter before all, say how fast the function varies in which direction. (A normal
    /// distribution's log density has gradients whose mean square is the inverse of its covariance.)
    pub(super) fn of(known: &[NoisyEvaluation], centre: &[f64]) -> Self {
        let d = centre.len();
        let top = known.iter().map(|k| k.ln_posterior).fold(f64::NEG_INFINITY, f64::max);
        let (mut squares, mut total) = (DMatrix::zeros(d, d), 0.0);
        for known in known.iter().filter(|known| known.value.is_finite()) {
            let weight = allowed(top - known.ln_posterior).powi(-2);
            let sure =
                known.gradient.iter().zip(&known.noise).map(|(g, noise)| g / (1.0 + noise * noise));
            let gradient = DVector::from_iterator(d, sure);
            squares += &gradient * gradient.transpose() * weight;
            total += weight;
        }
        let least = DMatrix::identity(d, d) * LONGEST.powi(-2);
        let lengths = factorise(&(squares / total + least)).inverse();
        Self { centre: DVector::from_column_slice(centre), factor: factorise(&lengths).l() }
    }

    fn inward(&self, place: &[f64]) -> DVector<f64> {
        let mut z = DVector::from_column_slice(place) - &self.centre;
        self.factor.solve_lower_triangular_mut(&mut z);
        z
    }
}

/// The standard deviation allowed to a point whose log posterior is so much below the top.
fn allowed(drop: f64) -> f64 {
    NOISE * (1.0 + (drop / DROP).powi(2))
}

/// Length λ and size a of the part beyond the trend.
#[derive(Debug, Clone, Copy)]
struct Shape {
    length: f64,
    size: f64,
}

/// The known points in the frame's coordinates, best first.
struct Nodes {
    z: Vec<DVector<f64>>,
    /// Value less that of the best, then the gradient, both less the trend, point by point.
    observed: Vec<f64>,
    /// Covariance of a point's observations by their noise.
    noise: Vec<DMatrix<f64>>,
}

/// The mean of the process given what is known.
#[derive(Debug, Clone)]
pub(super) struct GaussianProcess {
    frame: LengthScales,
    length: f64,
    level: f64,
    /// Point by point: z, then the weight of its value, then those of its gradient, a² included.
    nodes: Vec<f64>,
}

impl GaussianProcess {
    /// Of at least one known point; those that matter least are left out where there are very many.
    pub(super) fn fit(known: &[NoisyEvaluation], frame: LengthScales) -> Self {
        let width = frame.centre.len() + 1;
        let mut best: Vec<&NoisyEvaluation> =
            known.iter().filter(|k| k.value.is_finite()).collect();
        best.sort_by(|a, b| b.ln_posterior.total_cmp(&a.ln_posterior));
        best.truncate((MOST / width).max(1));
        let nodes = Nodes::new(&best, &frame);
        let few = nodes.first((CHOSEN_BY / width).max(1));
        let shapes = LENGTHS.iter().flat_map(|&length| SIZES.map(|size| Shape { length, size }));
        let evidence = |shape: Shape| (few.ln_evidence(shape), shape);
        let (_, shape) = shapes
            .map(evidence)
            .reduce(|a, b| if b.0 > a.0 { b } else { a })
            .expect("there are lengths and sizes");
        let factor = nodes.covariance(shape);
        let weights = factor.solve(&DVector::from_column_slice(&nodes.observed));
        Self::of(&nodes, weights.as_slice(), shape, frame, best[0].value)
    }

    fn of(nodes: &Nodes, weights: &[f64], shape: Shape, frame: LengthScales, level: f64) -> Self {
        let width = frame.centre.len() + 1;
        let square = shape.size * shape.size;
        let mut flat = Vec::with_capacity(nodes.z.len() * (2 * width - 1));
        for (z, own) in nodes.z.iter().zip(weights.chunks_exact(width)) {
            flat.extend(z.iter());
            flat.extend(own.iter().map(|w| w * square));
        }
        let values: f64 = weights.iter().step_by(width).sum();
        let level = level + LEVEL * LEVEL * values;
        Self { frame, length: shape.length, level, nodes: flat }
    }

    /// The surface at a place; writes its gradient.
    pub(super) fn value(&self, place: &[f64], gradient: &mut [f64]) -> f64 {
        let d = place.len();
        let z = self.frame.inward(place);
        let mut slope = &z * (-2.0 * TREND);
        let mut value = self.level - TREND * z.norm_squared();
        let precision = self.length.powi(-2);
        for node in self.nodes.chunks_exact(2 * d + 1) {
            let (at, weight, slopes) = (&node[..d], node[d], &node[d + 1..]);
            let (mut square, mut along) = (0.0, 0.0);
            for ((z, at), u) in z.iter().zip(at).zip(slopes) {
                square += (z - at) * (z - at);
                along += u * (z - at);
            }
            let e = (-0.5 * precision * square).exp();
            let height = e * (weight + precision * along);
            value += height;
            for (((out, z), at), u) in slope.iter_mut().zip(z.iter()).zip(at).zip(slopes) {
                *out += precision * (e * u - (z - at) * height);
            }
        }
        self.frame.factor.tr_solve_lower_triangular_mut(&mut slope);
        gradient.copy_from_slice(slope.as_slice());
        value
    }
}

impl Nodes {
    fn new(best: &[&NoisyEvaluation], frame: &LengthScales) -> Self {
        let (mut z, mut observed, mut noise) = (Vec::new(), Vec::new(), Vec::new());
        for known in best {
            let own = allowed(best[0].ln_posterior - known.ln_posterior);
            let at = frame.inward(&known.place);
            observed.push(known.value - best[0].value + TREND * at.norm_squared());
            let gradient = frame.factor.tr_mul(&DVector::from_column_slice(&known.gradient));
            observed.extend((gradient + &at * (2.0 * TREND)).iter());
            let mut square = DMatrix::identity(at.len() + 1, at.len() + 1) * (own * own);
            let scaled =
                DMatrix::from_fn(at.len(), at.len(), |i, j| known.noise[i] * frame.factor[(i, j)]);
            let mut gradients = square.view_mut((1, 1), (at.len(), at.len()));
            gradients += scaled.tr_mul(&scaled);
            noise.push(square);
            z.push(at);
        }
        Self { z, observed, noise }
    }

    fn first(&self, n: usize) -> Self {
        let n = n.min(self.z.len());
        let numbers = n * self.observed.len() / self.z.len();
        Self {
            z: self.z[..n].to_vec(),
            observed: self.observed[..numbers].to_vec(),
            noise: self.noise[..n].to_vec(),
        }
    }

    /// Log probability density of what is observed, up to a constant.
    fn ln_evidence(&self, shape: Shape) -> f64 {
        let factor = self.covariance(shape);
        let mut residual = DVector::from_column_slice(&self.observed);
        factor.l_dirty().solve_lower_triangular_mut(&mut residual);
        let ln_determinant: f64 = factor.l_dirty().diagonal().iter().map(|l| l.ln()).sum();
        -0.5 * residual.norm_squared() - ln_determinant
    }

    /// The Cholesky factor of the covariance of all observations.
    fn covariance(&self, shape: Shape) -> Cholesky<f64, Dyn> {
        let n = self.observed.len();
        let width = n / self.z.len();
        let mut matrix = DMatrix::zeros(n, n);
        for (a, za) in self.z.iter().enumerate() {
            for (b, zb) in self.z[..=a].iter().enumerate() {
                let mut block = matrix.view_mut((a * width, b * width), (width, width));
                let between = PointPair::new(za, zb, shape);
                for i in 0..width {
                    for j in 0..width {
                        block[(i, j)] = between.covariance(i, j);
                    }
                }
            }
        }
        for (i, noise) in self.noise.iter().enumerate() {
            let mut own = matrix.view_mut((i * width, i * width), (width, width));
            own += noise;
        }
        matrix.fill_upper_triangle_with_lower_triangle();
        factorise(&matrix)
    }
}

/// Two places, and what their observations' covariances have in common.
struct PointPair<'a> {
    z: &'a DVector<f64>,
    w: &'a DVector<f64>,
    precision: f64,
    /// a² e^(−|z−w|²/2λ²)
    near: f64,
}

impl<'a> PointPair<'a> {
    fn new(z: &'a DVector<f64>, w: &'a DVector<f64>, shape: Shape) -> Self {
        let precision = shape.length.powi(-2);
        let square: f64 = z.iter().zip(w).map(|(z, w)| (z - w) * (z - w)).sum();
        let near = shape.size.powi(2) * (-0.5 * precision * square).exp();
        Self { z, w, precision, near }
    }

    /// The covariance of an observation at z and one at w: 0 is the value, i the derivative along axis i − 1.
    fn covariance(&self, i: usize, j: usize) -> f64 {
        let Self { z, w, precision, near } = *self;
        let off = |l: usize| precision * (z[l] - w[l]);
        match (i, j) {
            (0, 0) => LEVEL * LEVEL + near,
            (0, j) => near * off(j - 1),
            (i, 0) => -near * off(i - 1),
            (i, j) => {
                let same = f64::from(u8::from(i == j));
                near * (precision * same - off(i - 1) * off(j - 1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bounded function with a bent ridge, and its gradient.
    fn ridge(x: &[f64]) -> (f64, Vec<f64>) {
        let (a, b) = (x[0] + 0.3 * x[1] * x[1], x[1]);
        let value = -(1.0 + 0.25 * a * a).ln() * 4.0 - 0.4 * b * b;
        let slope = -2.0 * a / (1.0 + 0.25 * a * a);
        (value, vec![slope, slope * 0.6 * b - 0.8 * b])
    }

    fn surface() -> GaussianProcess {
        let known: Vec<NoisyEvaluation> = (0..60)
            .map(|i| {
                let turn = 2.4 * f64::from(i);
                let radius = 2.2 * (f64::from(i) / 60.0).sqrt();
                let place = vec![radius * turn.cos(), radius * turn.sin()];
                let (value, gradient) = ridge(&place);
                NoisyEvaluation { place, value, gradient, noise: vec![0.0; 2], ln_posterior: value }
            })
            .collect();
        let frame = LengthScales::of(&known, &[0.1, -0.2]);
        GaussianProcess::fit(&known, frame)
    }

    /// PointPair the known points the surface is the function, within the noise that it allows for.
    #[test]
    fn the_surface_meets_what_is_known() {
        let (surface, mut gradient) = (surface(), [0.0; 2]);
        for place in [[0.0, 0.0], [0.7, -0.4], [-1.1, 0.9], [0.2, 1.3]] {
            let (value, slopes) = ridge(&place);
            let found = surface.value(&place, &mut gradient);
            assert!((found - value).abs() < NOISE, "{place:?}: {found} {value}");
            let off = (gradient[0] - slopes[0]).hypot(gradient[1] - slopes[1]);
            assert!(off < 4.0 * NOISE, "{place:?}: {gradient:?} {slopes:?}");
        }
    }

    #[test]
    fn its_gradient_agrees_with_differences() {
        let (surface, mut gradient, mut unused) = (surface(), [0.0; 2], [0.0; 2]);
        for place in [[0.4, 0.3], [3.0, -2.0]] {
            surface.value(&place, &mut gradient);
            for l in 0..2 {
                let mut at = |by: f64| {
                    let mut place = place;
                    place[l] += by;
                    surface.value(&place, &mut unused)
                };
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((difference - gradient[l]).abs() < 1e-5, "{place:?} {difference}");
            }
        }
    }

    /// Derivatives of the covariance of values.
    #[test]
    fn covariances_are_derivatives_of_each_other() {
        let (z, w) = (DVector::from_vec(vec![0.4, -1.0]), DVector::from_vec(vec![-0.3, 0.8]));
        let shape = Shape { length: 1.7, size: 40.0 };
        let between = |z: &DVector<f64>, w: &DVector<f64>, i: usize, j: usize| {
            PointPair::new(z, w, shape).covariance(i, j)
        };
        let h = 1e-4;
        let moved = |x: &DVector<f64>, l: usize, by: f64| {
            let mut x = x.clone();
            x[l] += by;
            x
        };
        for i in 0..2 {
            let by = |h: f64| between(&moved(&z, i, h), &w, 0, 0);
            let difference = (by(h) - by(-h)) / (2.0 * h);
            assert!((difference - between(&z, &w, i + 1, 0)).abs() < 1e-3);
            for j in 0..2 {
                let by = |h: f64| between(&z, &moved(&w, j, h), i + 1, 0);
                let difference = (by(h) - by(-h)) / (2.0 * h);
                let found = between(&z, &w, i + 1, j + 1);
                assert!((difference - found).abs() < 1e-3, "{i} {j}: {difference} {found}");
            }
        }
    }
}
