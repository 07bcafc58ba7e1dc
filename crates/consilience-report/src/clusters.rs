//! An order of the sources in which similar ones are neighbours.

/// Orders sources by hierarchical clustering with average linkage of the distances 1 − r. When two
/// clusters are joined, their most similar ends become neighbours.
pub(crate) fn order(correlation: &[Vec<f64>]) -> Vec<usize> {
    let mut clusters: Vec<Vec<usize>> = (0..correlation.len()).map(|k| vec![k]).collect();
    let similarity = |a: &[usize], b: &[usize]| {
        let pairs = a.iter().flat_map(|k| b.iter().map(move |m| correlation[*k][*m]));
        pairs.sum::<f64>() / (a.len() * b.len()) as f64
    };
    while clusters.len() > 1 {
        let pairs = (0..clusters.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let scored = pairs.map(|(a, b)| (similarity(&clusters[a], &clusters[b]), a, b));
        let closest = scored.reduce(|best, new| if new.0 > best.0 { new } else { best });
        let (_, a, b) = closest.expect("two clusters make a pair");
        let second = clusters.remove(b);
        clusters[a] = joined(&clusters[a], &second, correlation);
    }
    clusters.pop().unwrap_or_default()
}

/// Two clusters one after the other, each turned so that the most similar ends meet.
fn joined(a: &[usize], b: &[usize], correlation: &[Vec<f64>]) -> Vec<usize> {
    let turned = |part: &[usize]| part.iter().rev().copied().collect::<Vec<_>>();
    let options = [
        [a.to_vec(), b.to_vec()],
        [turned(a), b.to_vec()],
        [a.to_vec(), turned(b)],
        [turned(a), turned(b)],
    ];
    let meeting = |[a, b]: &[Vec<usize>; 2]| correlation[a[a.len() - 1]][b[0]];
    let better = |best: [Vec<usize>; 2], new: [Vec<usize>; 2]| {
        if meeting(&new) > meeting(&best) { new } else { best }
    };
    options.into_iter().reduce(better).expect("there are four options").concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pairs of copies and one source apart: partners become neighbours.
    #[test]
    fn similar_sources_become_neighbours() {
        let group = [0, 1, 0, 2, 1];
        let r = |a: usize, b: usize| {
            if a == b {
                1.0
            } else if group[a] == group[b] {
                0.9
            } else {
                0.1
            }
        };
        let matrix: Vec<Vec<f64>> = (0..5).map(|a| (0..5).map(|b| r(a, b)).collect()).collect();
        let order = order(&matrix);
        let place = |k: usize| order.iter().position(|own| *own == k).unwrap();
        assert_eq!(place(0).abs_diff(place(2)), 1, "{order:?}");
        assert_eq!(place(1).abs_diff(place(4)), 1, "{order:?}");
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4]);
        assert!(super::order(&[]).is_empty());
    }
}
