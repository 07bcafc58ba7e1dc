//! Minimisation of a quadratic function over non-negative weights.

use nalgebra::{DMatrix, DVector};

/// argmin over w ≥ 0 of ½ w'Aw − w'b for a positive definite A: the active-set method of Lawson
/// and Hanson, which ends after finitely many steps. It begins at `start`, which may not have
/// negative elements, or else at 0.
pub(super) fn least_quadratic(
    a: &DMatrix<f64>,
    b: &DVector<f64>,
    start: Option<&DVector<f64>>,
) -> DVector<f64> {
    let n = b.len();
    let mut w = start.cloned().unwrap_or_else(|| DVector::zeros(n));
    let mut free: Vec<usize> = (0..n).filter(|k| w[*k] > 0.0).collect();
    if !free.is_empty() {
        move_to_minimum(a, b, &mut w, &mut free);
    }
    for _ in 0..10 * n {
        let slope = b - a * &w;
        let best =
            (0..n).filter(|k| !free.contains(k)).max_by(|x, y| slope[*x].total_cmp(&slope[*y]));
        match best {
            Some(k) if slope[k] > 1e-12 * b.amax() => free.push(k),
            _ => break,
        }
        move_to_minimum(a, b, &mut w, &mut free);
    }
    w
}

/// Moves to the minimum over the free coordinates; those that would become negative are fixed at 0.
fn move_to_minimum(
    a: &DMatrix<f64>,
    b: &DVector<f64>,
    w: &mut DVector<f64>,
    free: &mut Vec<usize>,
) {
    while let Some(solution) = solve_free(a, b, free) {
        // the first of the free ones that would become negative ends the step
        let ratio =
            |(i, &k): (usize, &usize)| (solution[i] <= 0.0).then(|| w[k] / (w[k] - solution[i]));
        let step = free.iter().enumerate().filter_map(ratio).fold(1.0, f64::min);
        for (i, &k) in free.iter().enumerate() {
            w[k] += step * (solution[i] - w[k]);
        }
        if step >= 1.0 {
            break;
        }
        free.retain(|k| w[*k] > 1e-14);
        (0..b.len()).filter(|k| !free.contains(k)).for_each(|k| w[k] = 0.0);
    }
}

/// The minimum over the free ones alone; pairwise correlations may not make a positive definite
/// matrix, so its diagonal is raised until they do.
fn solve_free(a: &DMatrix<f64>, b: &DVector<f64>, free: &[usize]) -> Option<DVector<f64>> {
    let mut part = DMatrix::from_fn(free.len(), free.len(), |i, j| a[(free[i], free[j])]);
    let right = DVector::from_fn(free.len(), |i, _| b[free[i]]);
    for _ in 0..20 {
        if let Some(factor) = part.clone().cholesky() {
            return Some(factor.solve(&right));
        }
        (0..free.len()).for_each(|i| part[(i, i)] *= 1.05);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From any start the minimum is the same. By hand: the second weight is 0, because its slope
    /// there is 1 − 2 · 1 < 0.
    #[test]
    fn the_start_does_not_matter() {
        let a = DMatrix::from_row_slice(3, 3, &[1.0, 2.0, 0.0, 2.0, 5.0, 0.0, 0.0, 0.0, 2.0]);
        let b = DVector::from_vec(vec![1.0, 1.0, 1.0]);
        let starts = [[0.0, 0.0, 0.0], [0.0, 3.0, 0.0], [9.0, 9.0, 9.0], [1.0, 0.0, 0.5]];
        for start in [None].into_iter().chain(starts.map(|w| Some(DVector::from_vec(w.to_vec())))) {
            let w = least_quadratic(&a, &b, start.as_ref());
            let expected = DVector::from_vec(vec![1.0, 0.0, 0.5]);
            assert!((&w - expected).amax() < 1e-12, "{start:?}: {w}");
        }
    }
}
