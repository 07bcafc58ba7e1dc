//! Limits and symmetries: independence, two classifiers, a missing classifier, permutations.

use consilience_numerics::special::ln_multivariate_beta;
use correlated_dirichlet::CorrelatedDirichlet;
use correlated_dirichlet::pair::{self as two, PairDensity};
use correlated_dirichlet::{MultiDensity, MultiScratch};

use super::{ln_density, pair, slices, three};

fn ln_dirichlet(x: &[f64], alpha: &[f64]) -> f64 {
    x.iter().zip(alpha).map(|(x, a)| (a - 1.0) * x.ln()).sum::<f64>() - ln_multivariate_beta(alpha)
}

fn ln_pair(x: [&[f64]; 2], alpha: [&[f64]; 2], delta: &[f64]) -> f64 {
    let density = PairDensity::new(alpha[0], alpha[1], delta).unwrap();
    density.ln_density(x[0], x[1], &mut two::Scratch::default()).ln_density
}

fn outputs() -> Vec<Vec<f64>> {
    vec![vec![0.5, 0.2, 0.3], vec![0.4, 0.3, 0.3], vec![0.35, 0.25, 0.4]]
}

fn margins() -> Vec<Vec<f64>> {
    vec![vec![6.0, 4.0, 4.0], vec![5.0, 4.0, 5.0], vec![6.0, 5.0, 4.0]]
}

/// Nothing is shared, exactly and nearly: δ = 1e-6 is integrated, with very negative ln D.
#[test]
fn without_shared_parts_the_density_is_a_product() {
    let (x, alpha) = (outputs(), margins());
    let want: f64 = x.iter().zip(&alpha).map(|(x, a)| ln_dirichlet(x, a)).sum();
    let none = CorrelatedDirichlet::new(alpha.clone(), None, vec![]).unwrap();
    assert!((ln_density(&none, &x).ln_density - want).abs() < 1e-12);
    for delta in [1e-3, 1e-6] {
        let pairs = vec![pair(0, 1, &[delta; 3]), pair(1, 2, &[delta; 3])];
        let nearly = CorrelatedDirichlet::new(alpha.clone(), Some(vec![delta; 3]), pairs).unwrap();
        let got = ln_density(&nearly, &x);
        // The limit itself differs by a few δ.
        let off = (got.ln_density - want).abs();
        assert!(off < 3.0 * got.error + 10.0 * delta, "{delta}: {got:?}, not {want}");
        assert!(got.is_resolved() && got.error < 5e-3, "{delta}: {got:?}");
    }
}

/// One correlated pair and an independent third classifier: the pair density times a Dirichlet density. A nearly
/// independent third one is integrated.
#[test]
fn two_of_three_are_the_pair() {
    let (x, alpha, delta) = (outputs(), margins(), [1.5, 1.0, 1.2]);
    let want =
        ln_pair([&x[0], &x[2]], [&alpha[0], &alpha[2]], &delta) + ln_dirichlet(&x[1], &alpha[1]);
    let exact = CorrelatedDirichlet::new(alpha.clone(), None, vec![pair(0, 2, &delta)]).unwrap();
    assert!((ln_density(&exact, &x).ln_density - want).abs() < 1e-6);
    let pairs = vec![pair(0, 2, &delta), pair(1, 0, &[1e-5; 3])];
    let nearly = CorrelatedDirichlet::new(alpha, None, pairs).unwrap();
    let got = ln_density(&nearly, &x);
    assert!((got.ln_density - want).abs() < 3.0 * got.error + 1e-4, "{got:?}, not {want}");
}

/// Integrating out a third classifier numerically gives the pair density of the other two.
#[test]
fn a_missing_classifier_is_integrated_out() {
    let two_classes = CorrelatedDirichlet::new(
        vec![vec![3.0, 2.5], vec![2.5, 3.0], vec![3.0, 3.0]],
        Some(vec![0.8, 0.6]),
        vec![pair(0, 1, &[0.4, 0.5]), pair(0, 2, &[0.5, 0.3]), pair(1, 2, &[0.2, 0.4])],
    )
    .unwrap();
    let left = two_classes.without(2).unwrap();
    let density = MultiDensity::new(&two_classes).unwrap().with_tolerance(4e-3).unwrap();
    let mut scratch = MultiScratch::default();
    let (first, second) = ([0.6, 0.4], [0.55, 0.45]);
    let n = 40u32;
    let sum: f64 = (0..n)
        .map(|i| {
            let p = (f64::from(i) + 0.5) / f64::from(n);
            let seeded = density.clone().with_seed(u64::from(i));
            seeded.ln_density(&[&first, &second, &[p, 1.0 - p]], &mut scratch).ln_density.exp()
        })
        .sum();
    let got = (sum / f64::from(n)).ln();
    let want = ln_density(&left, &[first.to_vec(), second.to_vec()]);
    assert_eq!(left.n_classifiers(), 2);
    assert!((got - want.ln_density).abs() < 4e-3, "{got}, not {want:?}");
    let alone = left.without(0).unwrap();
    let one = ln_density(&alone, &[second.to_vec()]).ln_density;
    assert!((one - ln_dirichlet(&second, &[2.5, 3.0])).abs() < 1e-12);
}

#[test]
fn the_order_of_classifiers_and_components_does_not_matter() {
    let x = outputs();
    let original = ln_density(&three(), &x);
    // Classifiers 2, 0, 1 and components 1, 2, 0.
    let classes = |v: &[f64]| vec![v[1], v[2], v[0]];
    let (order, place) = ([2, 0, 1], [1, 2, 0]);
    let all = three();
    let alpha = order.map(|k| classes(&all.alpha()[k])).to_vec();
    let pairs =
        all.pairs().iter().map(|p| pair(place[p.second], place[p.first], &classes(&p.delta)));
    let moved =
        CorrelatedDirichlet::new(alpha, Some(classes(all.common())), pairs.collect()).unwrap();
    let got = ln_density(&moved, &order.map(|k| classes(&x[k])));
    let off = (got.ln_density - original.ln_density).abs();
    assert!(off < 3.0 * got.error.hypot(original.error), "{got:?}, {original:?}");
}

#[test]
fn unresolved_densities_have_an_infinite_error() {
    let x = outputs();
    let alpha = vec![vec![3.0, 2.0, 2.0]; 3];
    // No private part and no noise: the density is infinite or 0.
    let rigid = CorrelatedDirichlet::new(alpha.clone(), Some(alpha[0].clone()), vec![]).unwrap();
    let got = ln_density(&rigid, &x);
    assert!(!got.is_resolved() && got.error == f64::INFINITY, "{got:?}");
    let zero = vec![vec![1.0, 0.0, 0.0], x[1].clone(), x[2].clone()];
    let got = ln_density(&three(), &zero);
    assert!(!got.is_resolved() && got.error == f64::INFINITY);
    // Equal outputs and private shapes of 0.02: spikes that no point hits.
    let spiked = CorrelatedDirichlet::new(alpha, Some(vec![2.98, 1.98, 1.98]), vec![]).unwrap();
    let got = ln_density(&spiked, &[x[0].clone(), x[0].clone(), x[0].clone()]);
    assert!(!got.is_resolved(), "{got:?}");
}

#[test]
fn values_depend_on_the_seed_only_and_invalid_settings_are_refused() {
    let (x, density) = (outputs(), MultiDensity::new(&three()).unwrap());
    let density = density.with_tolerance(0.01).unwrap();
    let mut scratch = MultiScratch::default();
    let mut at = |seed| density.clone().with_seed(seed).ln_density(&slices(&x), &mut scratch);
    let (first, second, again) = (at(1), at(2), at(1));
    assert_eq!(first, again);
    assert_ne!(first.ln_density, second.ln_density);
    assert_eq!(
        first,
        density.clone().with_seed(1).ln_density(&slices(&x), &mut MultiScratch::default())
    );
    for wrong in [0.0, -1.0, 1.0, f64::NAN] {
        assert!(density.clone().with_tolerance(wrong).is_err());
    }
    // A resolution is that of two classifiers.
    let two = MultiDensity::new(&three().without(2).unwrap()).unwrap();
    assert!(
        two.clone().with_resolution(0.03).is_ok() && density.clone().with_resolution(0.0).is_ok()
    );
    for wrong in [-0.1, 0.21, f64::NAN] {
        assert!(density.clone().with_resolution(wrong).is_err());
        assert!(two.clone().with_resolution(wrong).is_err());
    }
    let refused = density.with_resolution(0.03).unwrap_err().to_string();
    assert!(refused.contains("more than two classifiers"), "{refused}");
}
