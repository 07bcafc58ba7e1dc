//! The correlated Dirichlet distribution: parameters, marginals, moments, draws.

use correlated_dirichlet::{CorrelatedDirichlet, SharedPair};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

#[test]
fn invalid_shapes_are_refused() {
    let alpha = vec![vec![3.0, 2.0], vec![2.0, 2.0]];
    let pair = |first, second, delta: f64| SharedPair { first, second, delta: vec![delta; 2] };
    assert!(CorrelatedDirichlet::new(alpha.clone(), Some(vec![2.0, 2.0]), vec![]).is_ok());
    for (common, pairs) in [
        (vec![2.1, 0.0], vec![]),
        (vec![-0.1, 0.0], vec![]),
        (vec![f64::NAN, 0.0], vec![]),
        (vec![1.0], vec![]),
        (vec![1.0, 1.0], vec![pair(0, 1, 1.1)]),
        (vec![1.0, 1.0], vec![pair(0, 0, 0.1)]),
        (vec![1.0, 1.0], vec![pair(0, 2, 0.1)]),
    ] {
        assert!(CorrelatedDirichlet::new(alpha.clone(), Some(common), pairs).is_err());
    }
    assert!(CorrelatedDirichlet::new(vec![vec![1.0, 2.0], vec![1.0; 3]], None, vec![]).is_err());
}

#[test]
fn a_private_shape_below_zero_by_rounding_counts_as_zero() {
    let alpha = vec![vec![0.3, 1.0], vec![0.3, 1.0]];
    let distribution = CorrelatedDirichlet::new(alpha, Some(vec![0.1 + 0.2, 0.5]), vec![]);
    assert_eq!(distribution.unwrap().private()[0][0], 0.0);
}

fn three() -> CorrelatedDirichlet {
    let pair = |first, second, delta: [f64; 2]| SharedPair { first, second, delta: delta.to_vec() };
    let pairs = vec![pair(0, 1, [1.0, 0.5]), pair(2, 0, [0.6, 0.4]), pair(1, 2, [0.5, 0.9])];
    let alpha = vec![vec![6.0, 4.0], vec![5.0, 4.0], vec![6.0, 5.0]];
    CorrelatedDirichlet::new(alpha, Some(vec![1.5, 1.0]), pairs).unwrap()
}

#[test]
fn the_remaining_classifiers_keep_their_margins_and_what_they_share() {
    let two = three().without(1).unwrap();
    assert_eq!(two.alpha(), [vec![6.0, 4.0], vec![6.0, 5.0]]);
    assert_eq!(two.shared_by(0, 1), three().shared_by(0, 2));
    let one = two.without(0).unwrap();
    assert_eq!((one.alpha(), one.common()), ([vec![6.0, 5.0]].as_slice(), [0.0, 0.0].as_slice()));
    assert!(one.without(0).is_err() && two.without(2).is_err());
}

/// 200 000 draws have a standard error of about 0.0022; the bound is four standard errors.
#[test]
fn correlations_of_pairs_are_those_of_draws() {
    let all = three();
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let draws: Vec<Vec<f64>> = (0..200_000).map(|_| all.sample(&mut rng)).collect();
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        let moments = all.pair_moments(a, b).unwrap()[0];
        let n = draws.len() as f64;
        let [first, second] = moments.mean;
        let product = |x: &Vec<f64>| (x[2 * a] - first) * (x[2 * b] - second);
        let covariance = draws.iter().map(product).sum::<f64>() / n;
        let got = covariance / (moments.variance[0] * moments.variance[1]).sqrt();
        assert!(
            (got - moments.correlation).abs() < 0.009,
            "{a}-{b}: {got}, {}",
            moments.correlation
        );
    }
    assert!(all.pair_moments(0, 0).is_err() && all.pair_moments(0, 3).is_err());
}

fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let mean = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>() / n;
    let (a, b) = (mean(&|p| p.0), mean(&|p| p.1));
    let covariance = mean(&|p| (p.0 - a) * (p.1 - b));
    covariance / (mean(&|p| (p.0 - a).powi(2)) * mean(&|p| (p.1 - b).powi(2))).sqrt()
}

/// Exact correlations from a two-dimensional integral (`reference/`). 100 000 draws have a
/// standard error of at most 0.0032; the bound is five standard errors.
#[test]
fn correlations_are_those_of_the_integral() {
    let cases = [
        (vec![vec![12.0, 8.0, 8.0]; 2], vec![6.0, 4.0, 4.0], [0.491_661_88; 3]),
        (vec![vec![3.0, 2.0, 2.0]; 2], vec![0.75, 0.5, 0.5], [0.230_010_5; 3]),
        (
            vec![vec![3.0, 2.0, 2.0], vec![2.0, 4.0, 3.0]],
            vec![1.5, 0.7, 1.2],
            [0.489_166_11, 0.329_486_16, 0.435_317_99],
        ),
    ];
    for (alpha, delta, expected) in cases {
        // The distribution is the same whether the shapes are common or those of the pair.
        let as_pair = SharedPair { first: 0, second: 1, delta: delta.clone() };
        let common = CorrelatedDirichlet::new(alpha.clone(), Some(delta), vec![]).unwrap();
        let pair = CorrelatedDirichlet::new(alpha, None, vec![as_pair]).unwrap();
        for distribution in [common, pair] {
            let mut rng = ChaCha8Rng::seed_from_u64(11);
            let draws: Vec<_> = (0..100_000).map(|_| distribution.sample(&mut rng)).collect();
            for (l, want) in expected.iter().enumerate() {
                let points: Vec<_> = draws.iter().map(|x| (x[l], x[3 + l])).collect();
                let got = correlation(&points);
                assert!((got - want).abs() < 0.016, "component {l}: {got}, not {want}");
            }
        }
    }
}

#[test]
fn extreme_shapes_give_points_of_the_simplex() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for alpha in [1e-8, 1e-3, 1.0, 1e6] {
        for share in [0.0, 0.5, 1.0] {
            let margins = vec![vec![alpha; 4]; 3];
            let common = Some(vec![alpha * share; 4]);
            let distribution = CorrelatedDirichlet::new(margins, common, vec![]).unwrap();
            for _ in 0..200 {
                for output in distribution.sample(&mut rng).chunks(4) {
                    let sum: f64 = output.iter().sum();
                    assert!((sum - 1.0).abs() < 1e-12 && output.iter().all(|x| *x >= 0.0));
                }
            }
        }
    }
}
