//! A Gaussian process with a quadratic trend, fitted to noisy values and gradients of a function.
//!
//! In coordinates z in which the function f varies by about 1 over a length of 1,
//!
//! ```text
//! f(z) = level − |z|²/4 + g(z),   cov(g(z), g(z')) = c² + a² e^(−|z−z'|²/2λ²)
//! ```
//!
//! with an unknown level and a part that varies over a length λ. Values and gradients at the evaluated
//! points are observations; the covariances of gradients are derivatives of that of g. λ and a are
//! those, of a few, with the largest marginal likelihood of the points nearest to the mode. Unlike a
//! polynomial, the process cannot rise far where nothing was evaluated: it falls there as the trend
//! does.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use crate::methods::correlated::learning::constants::gaussian_process::{
    CHOOSING_NUMBERS, DOUBLE_NOISE_DROP, LENGTHS, LEVEL, LONGEST, MOST_NUMBERS, NOISE, SIZES, TREND,
};
use crate::methods::correlated::learning::gaussian::factorise;

/// A point with the function's value and gradient.
#[derive(Debug, Clone)]
pub(super) struct NoisyEvaluation {
    pub(super) point: Vec<f64>,
    pub(super) value: f64,
    pub(super) gradient: Vec<f64>,
    /// Standard errors of the gradient's elements.
    pub(super) gradient_error: Vec<f64>,
    /// Sets how closely the point is fitted.
    pub(super) ln_posterior: f64,
}

/// The centre of the posterior and the Cholesky factor of the matrix of squared lengths over which the
/// function varies by about 1.
#[derive(Debug, Clone)]
pub(super) struct LengthScales {
    centre: DVector<f64>,
    factor: DMatrix<f64>,
}

impl LengthScales {
    /// From the mean square of the gradients, weighted by how closely the points are fitted: for a
    /// normal log density it is the inverse of the covariance.
    pub(super) fn of(evaluated: &[NoisyEvaluation], centre: &[f64]) -> Self {
        let d = centre.len();
        let highest = evaluated.iter().map(|k| k.ln_posterior).fold(f64::NEG_INFINITY, f64::max);
        let (mut squares, mut total) = (DMatrix::zeros(d, d), 0.0);
        for at in evaluated.iter().filter(|at| at.value.is_finite()) {
            let weight = allowed_noise(highest - at.ln_posterior).powi(-2);
            let shrunk = at
                .gradient
                .iter()
                .zip(&at.gradient_error)
                .map(|(g, error)| g / (1.0 + error * error));
            let gradient = DVector::from_iterator(d, shrunk);
            squares += &gradient * gradient.transpose() * weight;
            total += weight;
        }
        let least = DMatrix::identity(d, d) * LONGEST.powi(-2);
        let lengths = factorise(&(squares / total + least)).inverse();
        Self { centre: DVector::from_column_slice(centre), factor: factorise(&lengths).l() }
    }

    fn standardise(&self, point: &[f64]) -> DVector<f64> {
        let mut z = DVector::from_column_slice(point) - &self.centre;
        self.factor.solve_lower_triangular_mut(&mut z);
        z
    }
}

/// The standard deviation allowed at a point whose log posterior is `drop` below the highest.
fn allowed_noise(drop: f64) -> f64 {
    NOISE * (1.0 + (drop / DOUBLE_NOISE_DROP).powi(2))
}

/// Length λ and standard deviation a of the part beyond the trend.
#[derive(Debug, Clone, Copy)]
struct Kernel {
    length: f64,
    size: f64,
}

/// The evaluated points in standardised coordinates, the highest first.
struct Nodes {
    z: Vec<DVector<f64>>,
    /// Per point: its value less the highest, then its gradient, both less the trend.
    observed: Vec<f64>,
    /// Per point: the covariance of its observations by noise.
    noise: Vec<DMatrix<f64>>,
}

/// The mean of the process given the evaluated points.
#[derive(Debug, Clone)]
pub(super) struct GaussianProcess {
    scales: LengthScales,
    length: f64,
    level: f64,
    /// Per point: z, then the weight of its value, then those of its gradient, times a².
    nodes: Vec<f64>,
}

impl GaussianProcess {
    /// From at least one evaluated point; the lowest are left out if there are very many.
    pub(super) fn fit(evaluated: &[NoisyEvaluation], scales: LengthScales) -> Self {
        let width = scales.centre.len() + 1;
        let mut best: Vec<&NoisyEvaluation> =
            evaluated.iter().filter(|k| k.value.is_finite()).collect();
        best.sort_by(|a, b| b.ln_posterior.total_cmp(&a.ln_posterior));
        best.truncate((MOST_NUMBERS / width).max(1));
        let nodes = Nodes::new(&best, &scales);
        let few = nodes.first((CHOOSING_NUMBERS / width).max(1));
        let kernels = LENGTHS.iter().flat_map(|&length| SIZES.map(|size| Kernel { length, size }));
        let evidence = |kernel: Kernel| (few.ln_evidence(kernel), kernel);
        let (_, kernel) = kernels
            .map(evidence)
            .reduce(|a, b| if b.0 > a.0 { b } else { a })
            .expect("there are lengths and sizes");
        let factor = nodes.covariance(kernel);
        let weights = factor.solve(&DVector::from_column_slice(&nodes.observed));
        Self::of(&nodes, weights.as_slice(), kernel, scales, best[0].value)
    }

    fn of(
        nodes: &Nodes,
        weights: &[f64],
        kernel: Kernel,
        scales: LengthScales,
        level: f64,
    ) -> Self {
        let width = scales.centre.len() + 1;
        let square = kernel.size * kernel.size;
        let mut flat = Vec::with_capacity(nodes.z.len() * (2 * width - 1));
        for (z, own) in nodes.z.iter().zip(weights.chunks_exact(width)) {
            flat.extend(z.iter());
            flat.extend(own.iter().map(|w| w * square));
        }
        let values: f64 = weights.iter().step_by(width).sum();
        let level = level + LEVEL * LEVEL * values;
        Self { scales, length: kernel.length, level, nodes: flat }
    }

    /// The mean at a point; writes its gradient.
    pub(super) fn value(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let d = point.len();
        let z = self.scales.standardise(point);
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
        self.scales.factor.tr_solve_lower_triangular_mut(&mut slope);
        gradient.copy_from_slice(slope.as_slice());
        value
    }
}

impl Nodes {
    fn new(best: &[&NoisyEvaluation], scales: &LengthScales) -> Self {
        let d = scales.centre.len();
        let (mut z, mut observed, mut noise) = (Vec::new(), Vec::new(), Vec::new());
        for at in best {
            let own = allowed_noise(best[0].ln_posterior - at.ln_posterior);
            let z_at = scales.standardise(&at.point);
            observed.push(at.value - best[0].value + TREND * z_at.norm_squared());
            let gradient = scales.factor.tr_mul(&DVector::from_column_slice(&at.gradient));
            observed.extend((gradient + &z_at * (2.0 * TREND)).iter());
            let mut square = DMatrix::identity(d + 1, d + 1) * (own * own);
            let scaled =
                DMatrix::from_fn(d, d, |i, j| at.gradient_error[i] * scales.factor[(i, j)]);
            let mut gradients = square.view_mut((1, 1), (d, d));
            gradients += scaled.tr_mul(&scaled);
            noise.push(square);
            z.push(z_at);
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

    /// Log marginal likelihood of the observations, up to a constant.
    fn ln_evidence(&self, kernel: Kernel) -> f64 {
        let factor = self.covariance(kernel);
        let mut residual = DVector::from_column_slice(&self.observed);
        factor.l_dirty().solve_lower_triangular_mut(&mut residual);
        let ln_determinant: f64 = factor.l_dirty().diagonal().iter().map(|l| l.ln()).sum();
        -0.5 * residual.norm_squared() - ln_determinant
    }

    /// The Cholesky factor of the covariance of all observations.
    fn covariance(&self, kernel: Kernel) -> Cholesky<f64, Dyn> {
        let n = self.observed.len();
        let width = n / self.z.len();
        let mut matrix = DMatrix::zeros(n, n);
        for (a, za) in self.z.iter().enumerate() {
            for (b, zb) in self.z[..=a].iter().enumerate() {
                let mut block = matrix.view_mut((a * width, b * width), (width, width));
                let between = PointPair::new(za, zb, kernel);
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

/// Two points, with the common terms of the covariances of their observations.
struct PointPair<'a> {
    z: &'a DVector<f64>,
    w: &'a DVector<f64>,
    precision: f64,
    /// a² e^(−|z−w|²/2λ²)
    near: f64,
}

impl<'a> PointPair<'a> {
    fn new(z: &'a DVector<f64>, w: &'a DVector<f64>, kernel: Kernel) -> Self {
        let precision = kernel.length.powi(-2);
        let square: f64 = z.iter().zip(w).map(|(z, w)| (z - w) * (z - w)).sum();
        let near = kernel.size.powi(2) * (-0.5 * precision * square).exp();
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

    fn process() -> GaussianProcess {
        let evaluated: Vec<NoisyEvaluation> = (0..60)
            .map(|i| {
                let turn = 2.4 * f64::from(i);
                let radius = 2.2 * (f64::from(i) / 60.0).sqrt();
                let point = vec![radius * turn.cos(), radius * turn.sin()];
                let (value, gradient) = ridge(&point);
                NoisyEvaluation {
                    point,
                    value,
                    gradient,
                    gradient_error: vec![0.0; 2],
                    ln_posterior: value,
                }
            })
            .collect();
        let scales = LengthScales::of(&evaluated, &[0.1, -0.2]);
        GaussianProcess::fit(&evaluated, scales)
    }

    /// Between the evaluated points the process agrees with the function within its allowed noise.
    #[test]
    fn the_process_agrees_with_the_function() {
        let (process, mut gradient) = (process(), [0.0; 2]);
        for point in [[0.0, 0.0], [0.7, -0.4], [-1.1, 0.9], [0.2, 1.3]] {
            let (value, slopes) = ridge(&point);
            let found = process.value(&point, &mut gradient);
            assert!((found - value).abs() < NOISE, "{point:?}: {found} {value}");
            let off = (gradient[0] - slopes[0]).hypot(gradient[1] - slopes[1]);
            assert!(off < 4.0 * NOISE, "{point:?}: {gradient:?} {slopes:?}");
        }
    }

    #[test]
    fn its_gradient_agrees_with_differences() {
        let (process, mut gradient, mut unused) = (process(), [0.0; 2], [0.0; 2]);
        for point in [[0.4, 0.3], [3.0, -2.0]] {
            process.value(&point, &mut gradient);
            for l in 0..2 {
                let mut at = |by: f64| {
                    let mut point = point;
                    point[l] += by;
                    process.value(&point, &mut unused)
                };
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((difference - gradient[l]).abs() < 1e-5, "{point:?} {difference}");
            }
        }
    }

    /// Derivatives of the covariance of values.
    #[test]
    fn covariances_are_derivatives_of_each_other() {
        let (z, w) = (DVector::from_vec(vec![0.4, -1.0]), DVector::from_vec(vec![-0.3, 0.8]));
        let kernel = Kernel { length: 1.7, size: 40.0 };
        let between = |z: &DVector<f64>, w: &DVector<f64>, i: usize, j: usize| {
            PointPair::new(z, w, kernel).covariance(i, j)
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
