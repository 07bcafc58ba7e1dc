//! Operations on probability vectors: normalising, softmax, flooring, entropy, projection.

/// Divides the values by their sum.
pub fn normalise(values: &mut [f64]) {
    let sum: f64 = values.iter().sum();
    values.iter_mut().for_each(|value| *value /= sum);
}

/// Replaces log weights by probabilities, without overflow. Entries of −∞ become 0; entries of +∞ (an infinite
/// density) share the whole mass.
pub fn softmax(values: &mut [f64]) {
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max.is_infinite() {
        values.iter_mut().for_each(|value| *value = f64::from(u8::from(*value == max)));
    } else {
        values.iter_mut().for_each(|value| *value = (*value - max).exp());
    }
    normalise(values);
}

/// Raises entries below `floor` to it and normalises again; returns the number of raised entries.
pub fn raise_to_floor(values: &mut [f64], floor: f64) -> usize {
    let mut raised = 0;
    for value in values.iter_mut().filter(|value| **value < floor) {
        *value = floor;
        raised += 1;
    }
    if raised > 0 {
        normalise(values);
    }
    raised
}

/// −Σ p ln p in nats, with 0 ln 0 = 0.
pub fn entropy(probabilities: &[f64]) -> f64 {
    let sum: f64 = probabilities.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum();
    // −0.0 would be printed as "-0".
    if sum == 0.0 { 0.0 } else { -sum }
}

/// Index of the largest entry; the first one if several are equal.
pub fn arg_max(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// The nearest point of the probability simplex in the Euclidean sense.
///
/// # References
/// Duchi, Shalev-Shwartz, Singer, Chandra, "Efficient projections onto the l1-ball for learning
/// in high dimensions", ICML 2008, Figure 1. <https://doi.org/10.1145/1390156.1390191>
pub fn project(point: &mut [f64]) {
    let mut sorted = point.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (i, value) in sorted.iter().enumerate() {
        sum += value;
        let candidate = (sum - 1.0) / (i + 1) as f64;
        if *value > candidate {
            shift = candidate;
        }
    }
    point.iter_mut().for_each(|value| *value = (*value - shift).max(0.0));
}

/// The nearest point of the simplex whose entries are all at least `least`, which is below 1/n.
pub fn project_above(point: &mut [f64], least: f64) {
    let room = 1.0 - least * point.len() as f64;
    point.iter_mut().for_each(|p| *p = (*p - least) / room);
    project(point);
    point.iter_mut().for_each(|p| *p = *p * room + least);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softmax_of_large_and_infinite_logarithms_is_finite() {
        let mut values = [-800.0, -805.0];
        softmax(&mut values);
        // 1 / (1 + e⁻⁵), mpmath.
        assert!((values[0] - 0.993_307_149_075_715_1).abs() < 1e-15);
        let mut infinite = [f64::INFINITY, 3.0, f64::INFINITY];
        softmax(&mut infinite);
        assert_eq!(infinite, [0.5, 0.0, 0.5]);
        let mut impossible = [f64::NEG_INFINITY, 0.0];
        softmax(&mut impossible);
        assert_eq!(impossible, [0.0, 1.0]);
    }

    #[test]
    fn projection_lands_on_the_simplex_and_keeps_its_points() {
        for mut point in [vec![0.2, 0.3, 0.5], vec![3.0, -1.0, 0.2], vec![-5.0, -5.0]] {
            let before = point.clone();
            project(&mut point);
            assert!(
                (point.iter().sum::<f64>() - 1.0).abs() < 1e-15 && point.iter().all(|p| *p >= 0.0)
            );
            if before[0] == 0.2 {
                assert!(point.iter().zip(&before).all(|(a, b)| (a - b).abs() < 1e-15));
            }
        }
    }

    #[test]
    fn entropy_of_certainty_is_positive_zero() {
        assert!(entropy(&[1.0, 0.0]).is_sign_positive());
        assert!((entropy(&[0.25; 4]) - 4f64.ln()).abs() < 1e-15);
    }
}
