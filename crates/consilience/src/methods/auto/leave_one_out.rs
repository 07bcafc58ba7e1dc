//! Leave-one-out predictions of a regression by one Newton step.
//!
//! Without item i, the most probable parameters move by about M⁻¹ Zᵀr, with Z the Jacobian of the
//! item's predictors, r = p − y its residuals, and M = H − Zᵀ(diag p − ppᵀ)Z the curvature of the
//! posterior H without the item. The predictors of the item then move by Z M⁻¹ Zᵀr.

use nalgebra::DMatrix;

use super::features::Features;
use crate::sampling::factorise;
use consilience_numerics::log_space::log_sum_exp;

/// The Jacobian of an item's predictors.
pub(super) trait Jacobian {
    /// Number of parameters.
    fn n_parameters(&self) -> usize;

    /// Writes ∂Uₜ/∂θₚ at t · parameters + p.
    fn write(&self, item: usize, jacobian: &mut [f64]);
}

/// No predictor moves by more than this.
const LARGEST_MOVE: f64 = 30.0;

/// The log score of every item of `scored` when it is left out. The rows of `probabilities` are
/// those of the fit to all items, n × J.
pub(super) fn scores(
    features: &Features,
    scored: &[usize],
    jacobian: &impl Jacobian,
    curvature: &DMatrix<f64>,
    probabilities: &DMatrix<f64>,
) -> Vec<f64> {
    let (j, p) = (features.n_classes, jacobian.n_parameters());
    let inverse = factorise(curvature).inverse();
    let mut workspace = Workspace::new(j, p);
    let score = |&item: &usize| {
        let label = features.labels[item];
        jacobian.write(item, &mut workspace.jacobian);
        workspace.unit = features.unit(item);
        for t in 0..j {
            workspace.probabilities[t] = probabilities[(item, t)];
            workspace.residuals[t] = probabilities[(item, t)] - f64::from(u8::from(t == label));
        }
        workspace.find_moves(curvature, &inverse);
        let logs = workspace.probabilities.iter().zip(&workspace.predictors);
        let moved: Vec<f64> = logs
            .map(|(p, step)| {
                p.max(f64::MIN_POSITIVE).ln() + step.clamp(-LARGEST_MOVE, LARGEST_MOVE)
            })
            .collect();
        moved[label] - log_sum_exp(&moved)
    };
    scored.iter().map(score).collect()
}

/// Room for one item's computation.
struct Workspace {
    unit: f64,
    jacobian: Vec<f64>,
    probabilities: Vec<f64>,
    residuals: Vec<f64>,
    predictors: Vec<f64>,
}

impl Workspace {
    fn new(j: usize, p: usize) -> Self {
        Self {
            unit: 1.0,
            jacobian: vec![0.0; j * p],
            probabilities: vec![0.0; j],
            residuals: vec![0.0; j],
            predictors: vec![0.0; j],
        }
    }

    /// predictors = Z M⁻¹ Zᵀr by conjugate gradients with H as preconditioner. M differs from H by a matrix of
    /// rank below J, so that J steps suffice.
    fn find_moves(&mut self, curvature: &DMatrix<f64>, inverse: &DMatrix<f64>) {
        let p = inverse.nrows();
        let mut rest = vec![0.0; p];
        let residuals: Vec<f64> = self.residuals.iter().map(|r| self.unit * r).collect();
        self.add_transposed(&residuals, &mut rest);
        let mut preconditioned = times(inverse, &rest);
        let mut direction = preconditioned.clone();
        let mut size = dot(&rest, &preconditioned);
        let (start, mut solution) = (size, vec![0.0; p]);
        for _ in 0..self.residuals.len() {
            if !(size > 1e-24 * start) {
                break;
            }
            let mut image = times(curvature, &direction);
            self.subtract_own(&direction, &mut image);
            let length = size / dot(&direction, &image).max(f64::MIN_POSITIVE);
            for a in 0..p {
                solution[a] += length * direction[a];
                rest[a] -= length * image[a];
            }
            preconditioned = times(inverse, &rest);
            let new = dot(&rest, &preconditioned);
            let ratio = new / size;
            for (d, z) in direction.iter_mut().zip(&preconditioned) {
                *d = z + ratio * *d;
            }
            size = new;
        }
        self.predict(&solution);
    }

    /// image −= u Zᵀ(diag p − ppᵀ)Z d.
    fn subtract_own(&mut self, direction: &[f64], image: &mut [f64]) {
        self.predict(direction);
        let mean = dot(&self.predictors, &self.probabilities);
        let moved = self.predictors.iter().zip(&self.probabilities);
        let own: Vec<f64> = moved.map(|(value, p)| -self.unit * p * (value - mean)).collect();
        self.add_transposed(&own, image);
    }

    /// predictors = Z θ.
    fn predict(&mut self, theta: &[f64]) {
        let rows = self.jacobian.chunks_exact(theta.len());
        self.predictors.iter_mut().zip(rows).for_each(|(value, row)| *value = dot(row, theta));
    }

    /// result += Zᵀ r.
    fn add_transposed(&self, residuals: &[f64], result: &mut [f64]) {
        for (row, r) in self.jacobian.chunks_exact(result.len()).zip(residuals) {
            result.iter_mut().zip(row).for_each(|(sum, z)| *sum += r * z);
        }
    }
}

fn times(matrix: &DMatrix<f64>, vector: &[f64]) -> Vec<f64> {
    let mut result = vec![0.0; vector.len()];
    for (column, x) in matrix.column_iter().zip(vector) {
        result.iter_mut().zip(column.iter()).for_each(|(sum, m)| *sum += m * x);
    }
    result
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::stacking::logit::{ClassFeatures, LogitPosterior};
    use crate::sampling::Target;

    /// Against fits without the item: one Newton step from the fit with it is off by the square of
    /// what the item changes.
    #[test]
    fn scores_agree_with_fits_that_leave_the_item_out() {
        let (n, j, f) = (60, 3, 2);
        let noise = |i: usize| ((i as f64 + 1.0) * 12.9898).sin() * 43758.5453 % 1.0;
        let features = Features {
            n_classifiers: 1,
            n_classes: j,
            labels: (0..n).map(|i| i * i % j).collect(),
            weights: vec![1.0; n],
            offsets: vec![-0.9, -1.2, -1.2],
            class_size: 20.0,
            outputs: Vec::new(),
            probabilities: Vec::new(),
        };
        let class = |t: usize| {
            DMatrix::from_fn(n, f, |i, m| {
                noise(7 * i + 31 * m + 101 * t) + f64::from(u8::from(i * i % j == t))
            })
        };
        let design = ClassFeatures { features: (0..j).map(class).collect() };
        let solve = |weights: &[f64]| {
            let posterior = LogitPosterior {
                design: &design,
                labels: &features.labels,
                weights,
                offsets: &features.offsets,
                means: vec![0.1; j + f],
                precisions: vec![2.0; j + f],
            };
            let theta = posterior.solve().0;
            let (probabilities, _) = posterior.probabilities(&theta);
            (posterior.curvature(&theta), probabilities)
        };
        let all: Vec<usize> = (0..n).collect();
        let (curvature, probabilities) = solve(&features.weights);
        let got = scores(&features, &all, &design, &curvature, &probabilities);
        for item in 0..n {
            let mut weights = vec![1.0; n];
            weights[item] = 0.0;
            let want = solve(&weights).1[(item, features.labels[item])].ln();
            let plain = probabilities[(item, features.labels[item])].ln();
            let (change, off) = ((plain - want).abs(), (got[item] - want).abs());
            assert!(off < 0.05 * change + 1e-6, "item {item}: {} {want} {plain}", got[item]);
        }
    }
}
