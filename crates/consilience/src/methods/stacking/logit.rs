//! Multinomial regression with a normal prior: the solver behind `stacking` and `auto`.
//!
//! Item i of class tᵢ has a linear predictor ηᵢₜ = (Aᵢθ)ₜ for every class t, and
//!
//! ```text
//! ln p(θ) = Σᵢ wᵢ ln softmax(o + ηᵢ)ₜᵢ − ½ Σₚ (θₚ − μₚ)² / σₚ²
//! ```
//!
//! with a fixed offset o, one number per class. It is strictly concave, so there is one maximum. What
//! Aᵢ is depends on the [`Design`].

use nalgebra::DMatrix;

use crate::math::lbfgs::lbfgs;
use crate::sampling::{Target, search_mode};

/// How parameters make linear predictors.
pub(in crate::methods) trait Design: Sync {
    /// Number of parameters.
    fn n_parameters(&self) -> usize;

    /// ηᵢₜ, n × J.
    fn predict(&self, theta: &[f64]) -> DMatrix<f64>;

    /// Aᵀr for residuals r, n × J: adds to the gradient.
    fn add_gradient(&self, residuals: &DMatrix<f64>, gradient: &mut [f64]);

    /// Σᵢ wᵢ Aᵢᵀ (diag pᵢ − pᵢpᵢᵀ) Aᵢ for probabilities p, n × J.
    fn curvature(&self, probabilities: &DMatrix<f64>, weights: &[f64]) -> DMatrix<f64>;
}

/// The same features for every class, with weights of its own for each: ηᵢₜ = Σₘ θₜₘ zᵢₘ.
///
/// θ is stored class by class.
pub(in crate::methods) struct SharedFeatures {
    /// zᵢₘ, n × F; a column of ones gives every class its bias.
    features: DMatrix<f64>,
    /// The same, F × n: a product with a matrix is faster than one with its transpose.
    transposed: DMatrix<f64>,
    n_classes: usize,
}

impl SharedFeatures {
    pub(in crate::methods) fn new(features: DMatrix<f64>, n_classes: usize) -> Self {
        Self { transposed: features.transpose(), features, n_classes }
    }
}

impl Design for SharedFeatures {
    fn n_parameters(&self) -> usize {
        self.features.ncols() * self.n_classes
    }

    fn predict(&self, theta: &[f64]) -> DMatrix<f64> {
        let weights = DMatrix::from_column_slice(self.features.ncols(), self.n_classes, theta);
        &self.features * weights
    }

    fn add_gradient(&self, residuals: &DMatrix<f64>, gradient: &mut [f64]) {
        let product = &self.transposed * residuals;
        gradient.iter_mut().zip(product.iter()).for_each(|(g, p)| *g += p);
    }

    /// The block of two classes t ≠ s is −Σᵢ wᵢ pᵢₜ pᵢₛ zᵢzᵢᵀ; the blocks of a row add up to 0,
    /// because shifting all predictors of an item changes nothing, so the diagonal ones follow.
    fn curvature(&self, probabilities: &DMatrix<f64>, weights: &[f64]) -> DMatrix<f64> {
        let (n, f, j) = (self.features.nrows(), self.features.ncols(), self.n_classes);
        let mut curvature = DMatrix::zeros(f * j, f * j);
        let mut scaled = vec![0.0; CHUNK];
        for start in (0..n).step_by(CHUNK) {
            let end = (start + CHUNK).min(n);
            let (z, weights) = (|a| part(&self.features, a, start, end), &weights[start..end]);
            let p = |t| part(probabilities, t, start, end);
            for (t, s) in (0..j).flat_map(|t| (t + 1..j).map(move |s| (t, s))) {
                for a in 0..f {
                    for (i, scaled) in scaled[..weights.len()].iter_mut().enumerate() {
                        *scaled = weights[i] * p(t)[i] * p(s)[i] * z(a)[i];
                    }
                    for b in a..f {
                        let sum = dot(&scaled[..weights.len()], z(b));
                        curvature[(s * f + b, t * f + a)] -= sum;
                    }
                }
            }
        }
        complete_blocks(&mut curvature, f, j);
        curvature
    }
}

/// From the lower triangles of the blocks of classes t < s to the whole matrix.
fn complete_blocks(curvature: &mut DMatrix<f64>, f: usize, j: usize) {
    for (t, s) in (0..j).flat_map(|t| (t + 1..j).map(move |s| (t, s))) {
        for (a, b) in (0..f).flat_map(|a| (a..f).map(move |b| (a, b))) {
            let value = curvature[(s * f + b, t * f + a)];
            for (a, b) in [(a, b), (b, a)].into_iter().take(1 + usize::from(a != b)) {
                curvature[(s * f + b, t * f + a)] = value;
                curvature[(t * f + a, s * f + b)] = value;
                curvature[(t * f + a, t * f + b)] -= value;
                curvature[(s * f + a, s * f + b)] -= value;
            }
        }
    }
}

/// Items whose curvature is added up at a time, so that all they need stays in the cache.
const CHUNK: usize = 256;

/// Some rows of one column.
fn part(matrix: &DMatrix<f64>, column: usize, start: usize, end: usize) -> &[f64] {
    let n = matrix.nrows();
    &matrix.as_slice()[column * n + start..column * n + end]
}

/// Σ aᵢ bᵢ in eight sums at a time, which become vectors.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 8];
    for (a, b) in a.zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    rest + sums.iter().sum::<f64>()
}

/// Features of their own for every class, with weights in common, and a bias for each class:
/// ηᵢₜ = bₜ + Σₘ θₘ φᵢₜₘ. The parameters are b, then θ.
pub(in crate::methods) struct ClassFeatures {
    /// For every class t: φᵢₜₘ, n × F.
    pub(in crate::methods) features: Vec<DMatrix<f64>>,
}

impl ClassFeatures {
    fn n_features(&self) -> usize {
        self.features[0].ncols()
    }
}

impl Design for ClassFeatures {
    fn n_parameters(&self) -> usize {
        self.features.len() + self.n_features()
    }

    fn predict(&self, theta: &[f64]) -> DMatrix<f64> {
        let (biases, weights) = theta.split_at(self.features.len());
        let weights = nalgebra::DVector::from_column_slice(weights);
        let columns: Vec<_> = biases
            .iter()
            .zip(&self.features)
            .map(|(bias, features)| (features * &weights).add_scalar(*bias))
            .collect();
        DMatrix::from_columns(&columns)
    }

    fn add_gradient(&self, residuals: &DMatrix<f64>, gradient: &mut [f64]) {
        let (biases, weights) = gradient.split_at_mut(self.features.len());
        for ((bias, features), residuals) in
            biases.iter_mut().zip(&self.features).zip(residuals.column_iter())
        {
            *bias += residuals.sum();
            for (weight, feature) in weights.iter_mut().zip(features.column_iter()) {
                *weight += feature.dot(&residuals);
            }
        }
    }

    /// With ψᵢₜ = φᵢₜ − Σₛ pᵢₛ φᵢₛ: Σ w pₜ ψₜψₜᵀ for the weights, Σ w pₜ ψₜ between bias t and the
    /// weights, Σ w (pₜ [t = s] − pₜpₛ) between biases.
    fn curvature(&self, probabilities: &DMatrix<f64>, weights: &[f64]) -> DMatrix<f64> {
        let (n, j, f) = (weights.len(), self.features.len(), self.n_features());
        let mut curvature = DMatrix::zeros(j + f, j + f);
        let [mut mean, mut centred] = [vec![0.0; f * CHUNK], vec![0.0; f * CHUNK]];
        let [mut mass, mut scaled] = [vec![0.0; CHUNK], vec![0.0; CHUNK]];
        for start in (0..n).step_by(CHUNK) {
            let end = (start + CHUNK).min(n);
            let (mass, scaled) = (&mut mass[..end - start], &mut scaled[..end - start]);
            let p = |t| part(probabilities, t, start, end);
            mean.fill(0.0);
            for t in 0..j {
                for (a, mean) in mean.chunks_exact_mut(CHUNK).enumerate() {
                    let terms = part(&self.features[t], a, start, end).iter().zip(p(t));
                    mean.iter_mut().zip(terms).for_each(|(m, (x, p))| *m += p * x);
                }
            }
            for t in 0..j {
                let own = p(t).iter().zip(&weights[start..end]);
                mass.iter_mut().zip(own).for_each(|(mass, (p, w))| *mass = p * w);
                curvature[(t, t)] += mass.iter().sum::<f64>();
                (0..j).for_each(|s| curvature[(t, s)] -= dot(mass, p(s)));
                for (a, centred) in centred.chunks_exact_mut(CHUNK).enumerate() {
                    let terms =
                        part(&self.features[t], a, start, end).iter().zip(&mean[a * CHUNK..]);
                    centred.iter_mut().zip(terms).for_each(|(c, (x, mean))| *c = x - mean);
                }
                for a in 0..f {
                    let own = mass.iter().zip(&centred[a * CHUNK..]);
                    scaled.iter_mut().zip(own).for_each(|(s, (mass, c))| *s = mass * c);
                    curvature[(j + a, t)] += scaled.iter().sum::<f64>();
                    for b in a..f {
                        curvature[(j + b, j + a)] +=
                            dot(scaled, &centred[b * CHUNK..][..scaled.len()]);
                    }
                }
            }
        }
        for column in 0..j + f {
            for row in column + 1..j + f {
                curvature[(column, row)] = curvature[(row, column)];
            }
        }
        curvature
    }
}

/// The posterior of a regression's parameters.
pub(in crate::methods) struct LogitPosterior<'a, D> {
    pub(in crate::methods) design: &'a D,
    pub(in crate::methods) labels: &'a [usize],
    /// wᵢ.
    pub(in crate::methods) weights: &'a [f64],
    /// oₜ.
    pub(in crate::methods) offsets: &'a [f64],
    /// Prior means μ.
    pub(in crate::methods) means: Vec<f64>,
    /// Prior precisions 1/σ².
    pub(in crate::methods) precisions: Vec<f64>,
}

/// Up to this many parameters, Newton's method is used: few steps, each of which builds and factorises
/// a matrix. Beyond, L-BFGS: many cheap steps.
const NEWTON_PARAMETERS: usize = 150;

/// L-BFGS ends when no entry of the gradient is larger. The prior's precision is about 1, so that the
/// parameters are then about as far from the optimum.
const GRADIENT_TOLERANCE: f64 = 1e-5;
const MAX_STEPS: usize = 5000;

impl<D: Design> LogitPosterior<'_, D> {
    /// The most probable parameters, and whether the search ended there.
    pub(in crate::methods) fn solve(&self) -> (Vec<f64>, bool) {
        if self.dimension() <= NEWTON_PARAMETERS {
            return search_mode(self, &self.means);
        }
        let objective = |point: &[f64], gradient: &mut [f64]| {
            let value = self.ln_density(point, gradient);
            gradient.iter_mut().for_each(|g| *g = -*g);
            -value
        };
        let minimum = lbfgs(&self.means, objective, GRADIENT_TOLERANCE, MAX_STEPS);
        (minimum.point, minimum.converged)
    }

    /// softmax(o + η) for all items, in place, and ln Σₜ exp(oₜ + ηᵢₜ − ηᵢ,tᵢ − oₜᵢ) added up.
    pub(in crate::methods) fn probabilities(&self, theta: &[f64]) -> (DMatrix<f64>, f64) {
        let mut table = self.design.predict(theta);
        let (n, j) = table.shape();
        let (mut loss, values) = (0.0, table.as_mut_slice());
        for i in 0..n {
            let mut max = f64::NEG_INFINITY;
            for t in 0..j {
                values[t * n + i] += self.offsets[t];
                max = max.max(values[t * n + i]);
            }
            let own = values[self.labels[i] * n + i] - max;
            let mut sum = 0.0;
            for t in 0..j {
                let weight = (values[t * n + i] - max).exp();
                values[t * n + i] = weight;
                sum += weight;
            }
            (0..j).for_each(|t| values[t * n + i] /= sum);
            loss += self.weights[i] * (sum.ln() - own);
        }
        (table, loss)
    }
}

impl<D: Design> Target for LogitPosterior<'_, D> {
    fn dimension(&self) -> usize {
        self.design.n_parameters()
    }

    fn ln_density(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let (mut residuals, loss) = self.probabilities(point);
        let n = self.labels.len();
        let values = residuals.as_mut_slice();
        values.iter_mut().zip(self.weights.iter().cycle()).for_each(|(p, w)| *p *= -w);
        for (i, (&label, &weight)) in self.labels.iter().zip(self.weights).enumerate() {
            values[label * n + i] += weight;
        }
        gradient.fill(0.0);
        self.design.add_gradient(&residuals, gradient);
        let mut penalty = 0.0;
        for (p, g) in gradient.iter_mut().enumerate() {
            let off = point[p] - self.means[p];
            *g -= self.precisions[p] * off;
            penalty += 0.5 * self.precisions[p] * off * off;
        }
        -loss - penalty
    }

    fn curvature(&self, point: &[f64]) -> DMatrix<f64> {
        let mut curvature = self.design.curvature(&self.probabilities(point).0, self.weights);
        for (p, precision) in self.precisions.iter().enumerate() {
            curvature[(p, p)] += precision;
        }
        curvature
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern in (−1, 1).
    fn noise(n: usize) -> Vec<f64> {
        (0..n).map(|i| ((i as f64 + 1.0) * 12.9898).sin() * 43758.5453 % 1.0).collect()
    }

    fn check_derivatives(design: &impl Design, n: usize, n_classes: usize) {
        let labels: Vec<usize> = (0..n).map(|i| (i * i) % n_classes).collect();
        let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 3) as f64).collect();
        let d = design.n_parameters();
        let posterior = LogitPosterior {
            design,
            labels: &labels,
            weights: &weights,
            offsets: &[-0.3, 0.4, 0.1][..n_classes],
            means: vec![0.2; d],
            precisions: vec![1.5; d],
        };
        let point: Vec<f64> = noise(d);
        let at = |p: usize, shift: f64| {
            let mut moved = point.clone();
            moved[p] += shift;
            let mut gradient = vec![0.0; d];
            let value = posterior.ln_density(&moved, &mut gradient);
            (value, gradient)
        };
        let (_, gradient) = at(0, 0.0);
        let curvature = posterior.curvature(&point);
        for p in 0..d {
            let ((up, up_gradient), (down, down_gradient)) = (at(p, 1e-5), at(p, -1e-5));
            assert!(((up - down) / 2e-5 - gradient[p]).abs() < 1e-6, "gradient {p}");
            for q in 0..d {
                let hessian = (up_gradient[q] - down_gradient[q]) / 2e-5;
                assert!((hessian + curvature[(p, q)]).abs() < 1e-6, "curvature {p} {q}");
            }
        }
        // Both methods must end at the same point.
        let (newton, converged) = posterior.solve();
        let objective = |x: &[f64], g: &mut [f64]| {
            let value = posterior.ln_density(x, g);
            g.iter_mut().for_each(|g| *g = -*g);
            -value
        };
        let other = lbfgs(&point, objective, 1e-7, 1000);
        assert!(converged && other.converged);
        assert!(newton.iter().zip(&other.point).all(|(a, b)| (a - b).abs() < 1e-6));
    }

    #[test]
    fn derivatives_of_both_designs_agree_with_differences() {
        let n = 20;
        let features = DMatrix::from_vec(n, 4, noise(4 * n));
        check_derivatives(&SharedFeatures::new(features, 3), n, 3);
        let numbers = noise(6 * n);
        let class =
            |t: usize| DMatrix::from_column_slice(n, 2, &numbers[2 * n * t..2 * n * (t + 1)]);
        check_derivatives(&ClassFeatures { features: (0..3).map(class).collect() }, n, 3);
    }
}
