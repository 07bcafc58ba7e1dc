//! Three and more sources along a tree of pairs, in cases with a known answer.

use std::sync::Arc;

use consilience::methods::Method;
use consilience::methods::correlated::CorrelatedFusion;
use consilience::methods::correlated::CorrelatedMethod;
use consilience::methods::correlated::learning::{Correlated, CorrelatedInference};
use consilience::methods::correlated::tree::{TREE_TOLERANCE, TreeFusion, TreeKind, TreePair};
use consilience::methods::independent::{Alpha, IndependentFusion};
use consilience::methods::{Fusion, fuse, ln_densities};
use consilience::simulation::Truth;
use consilience::{ClassPrior, InputFormat, Model, Outputs, OutputsBuilder, Schema};
use correlated_dirichlet::CorrelatedDirichlet;

const J: usize = 3;

fn schema(n: usize) -> Arc<Schema> {
    let names: Vec<String> = (0..n).map(|k| format!("c{k}")).collect();
    Arc::new(Schema::new(names, ["x", "y", "z"]).unwrap())
}

/// Informative sources, each a little different.
fn alpha(n: usize) -> Alpha {
    let row = |k: usize, j: usize| {
        (0..J).map(|l| 4.0 + k as f64 + if l == j { 3.0 } else { 0.5 * l as f64 }).collect()
    };
    (0..n).map(|k| (0..J).map(|j| row(k, j)).collect()).collect()
}

/// A pair that shares this part of the smaller α in every class.
fn pair(alpha: &Alpha, between: (usize, usize), share: f64, gain: f64) -> TreePair {
    let (a, b) = between;
    let row = |j: usize| {
        let bounds = alpha[a][j].iter().zip(&alpha[b][j]).map(|(a, b)| share * a.min(*b));
        bounds.collect()
    };
    TreePair { between, delta: (0..J).map(row).collect(), gain, gain_error: 0.0 }
}

fn tree(alpha: &Alpha, pairs: Vec<TreePair>, kind: TreeKind) -> TreeFusion {
    TreeFusion::new(schema(alpha.len()), alpha, pairs, kind, 0.0).unwrap()
}

/// Sources 0 and 1 share half of the smaller α; all others are independent.
fn truth(n: usize) -> Truth {
    let alpha = alpha(n);
    let shared = pair(&alpha, (0, 1), 0.5, 0.0);
    let class = |j: usize| {
        let margins = alpha.iter().map(|rows| rows[j].clone()).collect();
        let shared = correlated_dirichlet::SharedPair {
            first: 0,
            second: 1,
            delta: shared.delta[j].clone(),
        };
        CorrelatedDirichlet::new(margins, None, vec![shared]).unwrap()
    };
    Truth::new(schema(n), (0..J).map(class).collect()).unwrap()
}

fn assert_same(a: &dyn Fusion, b: &dyn Fusion, outputs: &Outputs, tolerance: f64) {
    let ((a, _), (b, _)) = (ln_densities(a, outputs).unwrap(), ln_densities(b, outputs).unwrap());
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        assert!((a - b).abs() < tolerance, "{i}: {a} {b}");
    }
}

#[test]
fn two_classifiers_are_their_own_tree() {
    let truth = truth(2);
    let outputs = truth.simulate(20, 1).unwrap();
    let alpha = alpha(2);
    let exact = CorrelatedFusion::new(schema(2), truth.classes(), 0.0).unwrap();
    for kind in [TreeKind::Tree, TreeKind::TreeMixture] {
        let tree = tree(&alpha, vec![pair(&alpha, (0, 1), 0.5, 0.7)], kind);
        assert_same(&tree, &exact, &outputs, TREE_TOLERANCE);
    }
}

/// The tree is exact if the truth is a tree: a correlated pair and an independent third source.
#[test]
fn a_pair_and_an_independent_third() {
    let outputs = truth(3).simulate(15, 2).unwrap();
    let (three, two) = (alpha(3), alpha(2));
    let pairs = || {
        vec![
            pair(&three, (0, 2), 0.0, 0.0),
            pair(&three, (0, 1), 0.5, 1.0),
            pair(&three, (1, 2), 0.0, 0.0),
        ]
    };
    let both = CorrelatedFusion::new(schema(2), truth(2).classes(), 0.0).unwrap();
    let third = IndependentFusion::new(Arc::new(schema(3).only(2)), three[2..].to_vec()).unwrap();
    let (of_two, _) = ln_densities(&both, &outputs.select(&schema(2)).unwrap()).unwrap();
    let (of_third, _) = ln_densities(&third, &outputs.select(third.schema()).unwrap()).unwrap();
    assert_eq!(two[..], three[..2]);
    for kind in [TreeKind::Tree, TreeKind::TreeMixture] {
        let (found, errors) = ln_densities(&tree(&three, pairs(), kind), &outputs).unwrap();
        for (i, found) in found.iter().enumerate() {
            // a mixture also contains trees without the pair
            let slack = if kind == TreeKind::Tree { 2.0 * errors[i / J] + 1e-12 } else { 3.0 };
            assert!((found - of_two[i] - of_third[i]).abs() < slack, "{kind:?} {i}");
        }
    }
    let chosen: Vec<_> = tree(&three, pairs(), TreeKind::Tree).tree().map(|p| p.between).collect();
    assert_eq!(chosen[0], (0, 1));
}

/// Without correlation every tree is the independent model, and so is their mixture.
#[test]
fn independent_classifiers() {
    let alpha = alpha(4);
    let mut outputs = truth(4).simulate(10, 3).unwrap();
    outputs.append(outputs.without(1)).unwrap();
    let independent = IndependentFusion::new(schema(4), alpha.clone()).unwrap();
    let pairs = || {
        let all = (0..4).flat_map(|b| (0..b).map(move |a| (a, b)));
        all.map(|(a, b)| pair(&alpha, (a, b), 0.0, 0.1 * (a + b) as f64)).collect()
    };
    for kind in [TreeKind::Tree, TreeKind::TreeMixture] {
        assert_same(&tree(&alpha, pairs(), kind), &independent, &outputs, 1e-9);
    }
}

/// The mixture is the average over the three trees of three sources.
#[test]
fn a_mixture_is_the_average_over_trees() {
    let alpha = alpha(3);
    let outputs = truth(3).simulate(8, 4).unwrap();
    let gains = [((0, 1), 0.5, 0.8), ((0, 2), 0.3, 0.2), ((1, 2), 0.2, -0.1)];
    let pairs: Vec<TreePair> =
        gains.iter().map(|(between, share, gain)| pair(&alpha, *between, *share, *gain)).collect();
    let (mixture, _) =
        ln_densities(&tree(&alpha, pairs.clone(), TreeKind::TreeMixture), &outputs).unwrap();
    let mut expected = vec![0.0; mixture.len()];
    let mut total = 0.0;
    for left_out in 0..3 {
        let mut two = pairs.clone();
        two.remove(left_out);
        let weight = two.iter().map(|pair| pair.gain).sum::<f64>().exp();
        total += weight;
        let (one, _) = ln_densities(&tree(&alpha, two, TreeKind::Tree), &outputs).unwrap();
        expected.iter_mut().zip(&one).for_each(|(sum, ln)| *sum += weight * ln.exp());
    }
    for (found, expected) in mixture.iter().zip(&expected) {
        assert!((found - (expected / total).ln()).abs() < 1e-9, "{found} {expected}");
    }
}

/// A missing source has no effect; the others are joined by the best remaining tree.
#[test]
fn missing_classifiers_are_left_out() {
    let all = alpha(3);
    let outputs = truth(3).simulate(10, 5).unwrap();
    let pairs = vec![
        pair(&all, (0, 1), 0.5, 1.0),
        pair(&all, (1, 2), 0.3, 0.8),
        pair(&all, (0, 2), 0.4, 0.1),
    ];
    for kind in [TreeKind::Tree, TreeKind::TreeMixture] {
        let three = tree(&all, pairs.clone(), kind);
        // 1 is the middle of the best tree: 0 and 2 are joined directly
        let left = Arc::new(Schema::new(["c0", "c2"], ["x", "y", "z"]).unwrap());
        let two = vec![all[0].clone(), all[2].clone()];
        let pair = vec![TreePair { between: (0, 1), ..pairs[2].clone() }];
        let two = TreeFusion::new(Arc::clone(&left), &two, pair, kind, 0.0).unwrap();
        let (with, _) = ln_densities(&three, &outputs.without(1)).unwrap();
        let (alone, _) = ln_densities(&two, &outputs.select(&left).unwrap()).unwrap();
        for (a, b) in with.iter().zip(&alone) {
            assert!((a - b).abs() < 1e-10, "{kind:?}: {a} {b}");
        }
        let none = outputs.without(0).without(1).without(2);
        let prior = ClassPrior::new(&[0.2, 0.3, 0.5]).unwrap();
        let fused = fuse(&three, &none, &prior).unwrap();
        assert!((fused.probabilities(0)[2] - 0.5).abs() < 1e-12);
    }
}

/// The largest number of neighbours of a source in the tree.
fn most_neighbours(tree: &TreeFusion) -> usize {
    let n = tree.schema().n_classifiers();
    let of = |k: usize| tree.tree().filter(|p| p.between.0 == k || p.between.1 == k).count();
    (0..n).map(of).max().unwrap()
}

/// Gains within their standard errors give a chain, also among the sources present; precise gains decide
/// the tree.
#[test]
fn nearly_equal_gains_make_a_chain() {
    let alpha = vec![alpha(1)[0].clone(); 5];
    let all = |gain_error: f64| -> Vec<TreePair> {
        let each = (0..5).flat_map(|b| (0..b).map(move |a| (a, b)));
        // those of the first classifier are a little larger
        let gain = |a: usize| if a == 0 { 1.05 } else { 1.0 };
        each.map(|(a, b)| TreePair { gain_error, ..pair(&alpha, (a, b), 0.5, gain(a)) }).collect()
    };
    assert_eq!(most_neighbours(&tree(&alpha, all(0.0), TreeKind::Tree)), 4);
    let chain = tree(&alpha, all(0.05), TreeKind::Tree);
    assert_eq!(most_neighbours(&chain), 2);
    // without the fourth classifier those left are a chain of four again
    let outputs = truth(5).simulate(2, 13).unwrap().without(3);
    let left = Arc::new(Schema::new(["c0", "c1", "c2", "c4"], ["x", "y", "z"]).unwrap());
    let (with, _) = ln_densities(&chain, &outputs).unwrap();
    let place = |k: usize| k - usize::from(k > 3);
    let kept = chain.pairs().iter().filter(|p| p.between.0 != 3 && p.between.1 != 3);
    let moved =
        kept.map(|p| TreePair { between: (place(p.between.0), place(p.between.1)), ..p.clone() });
    let four = TreeFusion::new(left, &alpha[1..].to_vec(), moved.collect(), TreeKind::Tree, 0.0);
    let four = four.unwrap();
    assert_eq!(most_neighbours(&four), 2);
    let (alone, _) = ln_densities(&four, &outputs.select(four.schema()).unwrap()).unwrap();
    for (a, b) in with.iter().zip(&alone) {
        assert!((a - b).abs() < 1e-10, "{a} {b}");
    }
    let negative = vec![TreePair { gain_error: -1.0, ..pair(&alpha, (0, 1), 0.5, 1.0) }];
    assert!(TreeFusion::new(schema(5), &alpha, negative, TreeKind::Tree, 0.0).is_err());
}

/// Ten copies of a source give the fused probabilities of one.
#[test]
fn copies_change_nothing() {
    let one = alpha(1);
    let single = truth(1 + 1).simulate(20, 6).unwrap().select(&schema(1)).unwrap();
    let copies = vec![one[0].clone(); 10];
    let mut builder =
        consilience::OutputsBuilder::new(schema(10), consilience::InputFormat::default()).unwrap();
    for item in 0..single.n_items() {
        builder.push(&single.output(item, 0).unwrap().repeat(10), None).unwrap();
    }
    let outputs = builder.finish();
    let all = (0..10).flat_map(|b| (0..b).map(move |a| (a, b)));
    let pairs: Vec<TreePair> = all.map(|(a, b)| pair(&copies, (a, b), 0.999, 1.0)).collect();
    let tree = TreeFusion::new(schema(10), &copies, pairs, TreeKind::Tree, 0.03).unwrap();
    let prior = ClassPrior::uniform(J);
    let alone = IndependentFusion::new(schema(1), one).unwrap();
    let (many, few) =
        (fuse(&tree, &outputs, &prior).unwrap(), fuse(&alone, &single, &prior).unwrap());
    for (a, b) in many.all().iter().zip(few.all()) {
        assert!((a - b).abs() < 0.01, "{a} {b}");
    }
}

/// Simulated outputs have the means of the Dirichlets and the correlations of every edge.
#[test]
fn draws_have_the_margins_and_the_correlations_of_the_edges() {
    let alpha = alpha(3);
    let pairs = vec![pair(&alpha, (0, 1), 0.9, 1.0), pair(&alpha, (1, 2), 0.6, 0.5)];
    let tree = tree(&alpha, pairs.clone(), TreeKind::Tree);
    let n = 40_000;
    let drawn = Truth::of_tree(tree).simulate(n, 7).unwrap();
    let column = |k: usize, l: usize| -> Vec<f64> {
        (0..n).map(|item| drawn.output(item, k).unwrap()[l]).collect()
    };
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    for (k, rows) in alpha.iter().enumerate() {
        let total: f64 = rows[0].iter().sum();
        // a standard deviation of at most 0.12, so a standard error of 0.0006; five of them
        assert!((mean(&column(k, 0)) - rows[0][0] / total).abs() < 0.003, "{k}");
    }
    for TreePair { between: (a, b), delta, .. } in pairs {
        let exact = correlated_dirichlet::pair::moments(&alpha[a][0], &alpha[b][0], &delta[0]);
        for (l, component) in exact.unwrap().iter().enumerate() {
            let (x, y) = (column(a, l), column(b, l));
            let (mx, my) = (mean(&x), mean(&y));
            let moment = |f: &dyn Fn(f64, f64) -> f64| {
                x.iter().zip(&y).map(|(x, y)| f(x - mx, y - my)).sum::<f64>() / n as f64
            };
            let r = moment(&|x, y| x * y) / (moment(&|x, _| x * x) * moment(&|_, y| y * y)).sqrt();
            assert!((r - component.correlation).abs() < 0.025, "{a} {b} {l}: {r} {component:?}");
        }
    }
}

/// Trees are drawn in proportion to their weights.
#[test]
fn a_mixture_draws_from_all_trees() {
    let alpha = alpha(3);
    let shares = [((0, 1), 1.0, 2.0), ((0, 2), 0.0, 0.0), ((1, 2), 0.0, 0.0)];
    let pairs: Vec<TreePair> =
        shares.iter().map(|(between, share, gain)| pair(&alpha, *between, *share, *gain)).collect();
    // two of three trees have the edge of the near-copies, with weight e² each, one without has 1
    let expected = 2.0 * 2f64.exp() / (2.0 * 2f64.exp() + 1.0);
    let n = 4000;
    let near = |pairs: Vec<TreePair>, kind: TreeKind, seed: u64| {
        let drawn = Truth::of_tree(tree(&alpha, pairs, kind)).simulate(n, seed).unwrap();
        let close = |item: &usize| {
            let [a, b] = [0, 1].map(|k| drawn.output(*item, k).unwrap());
            a.iter().zip(b).all(|(a, b)| (a - b).abs() < 0.1)
        };
        (0..n).filter(close).count() as f64 / n as f64
    };
    let joined = near(vec![pairs[0].clone()], TreeKind::Tree, 10);
    let by_chance = near(vec![], TreeKind::Tree, 9);
    let found = near(pairs, TreeKind::TreeMixture, 8);
    let share = (found - by_chance) / (joined - by_chance);
    assert!((share - expected).abs() < 0.05, "{share} {expected}");
}

/// The correlated model of any number of classifiers, at the posterior's mode.
fn at_the_mode() -> Correlated {
    Correlated { inference: CorrelatedInference::Map, ..Correlated::default() }
}

/// One correlated pair and an independent third source: the fit finds the pair and its correlation.
#[test]
fn what_pairs_share_is_learned() {
    let truth = truth(3);
    let train = truth.simulate(80, 11).unwrap();
    let model = at_the_mode().fit(&train).unwrap();
    let Method::Correlated(CorrelatedMethod::Tree(tree)) = model.method() else {
        panic!("{:?}", model.method_name())
    };
    let strongest = tree.fusion().tree().next().unwrap();
    // three means of 80 gains each, whose standard deviation is of the order of 1
    assert!((0.02..0.5).contains(&strongest.gain_error), "{strongest:?}");
    assert_eq!(strongest.between, (0, 1));
    for insight in tree.pairs(model.class_prior()).unwrap() {
        let expected = if insight.between == (0, 1) { 0.3..0.7 } else { 0.0..0.25 };
        assert!(expected.contains(&insight.mean), "{insight:?}");
    }
    assert!(Model::from_json(&model.to_json()).unwrap() == model, "read as written");
    let shares = model.evidence_covariance().unwrap().shares(|_| true);
    assert!(shares[2] > 0.9 && shares[0] + shares[1] < 1.7, "{shares:?}");
}

/// The outputs with two more copies of the first source at the end.
fn with_two_copies(outputs: &Outputs) -> Outputs {
    let n = outputs.schema().n_classifiers();
    let mut builder = OutputsBuilder::new(schema(n + 2), InputFormat::default()).unwrap();
    for (item, label) in outputs.require_labels().unwrap().into_iter().enumerate() {
        let row = (0..n).chain([0, 0]).flat_map(|k| outputs.output(item, k).unwrap());
        builder.push_indexed(&row.copied().collect::<Vec<f64>>(), Some(label)).unwrap();
    }
    builder.finish()
}

/// Copies of a source change neither the default resolution nor the fused probabilities.
#[test]
fn copies_change_nothing_at_default_settings() {
    let train = truth(3).simulate(40, 12).unwrap();
    let fused = |outputs: &Outputs| {
        let model = at_the_mode().fit(outputs).unwrap();
        let Method::Correlated(CorrelatedMethod::Tree(tree)) = model.method() else {
            panic!("{:?}", model.method_name())
        };
        assert!((tree.resolution() - 0.03).abs() < 1e-12);
        fuse(model.fusion(), outputs, &ClassPrior::uniform(J)).unwrap().all().to_vec()
    };
    let (few, many) = (fused(&train), fused(&with_two_copies(&train)));
    let largest = few.iter().zip(&many).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(largest < 0.01, "{largest}");
}
