//! Learning the full model of three sources.

use std::sync::Arc;

use consilience::methods::Method;
use consilience::methods::correlated::learning::{Correlated, CorrelatedInference};
use consilience::methods::correlated::tree::{TreeFusion, TreeKind, TreePair};
use consilience::methods::correlated::{CorrelatedFusion, CorrelatedMethod, CorrelatedParameters};
use consilience::methods::correlated::{FULL_TOLERANCE, FullFusion, Structure};
use consilience::methods::{Fused, Fusion, fuse};
use consilience::simulation::Truth;
use consilience::{ClassPrior, Model, Outputs, Schema};
use correlated_dirichlet::{CorrelatedDirichlet, SharedPair};
use correlated_dirichlet::{MultiDensity, MultiScratch};

const SHARES: [((usize, usize), f64); 3] = [((0, 1), 0.25), ((0, 2), 0.1), ((1, 2), 0.0)];
const COMMON: f64 = 0.3;

/// Three sources with the Dirichlets of SIM 2 that share these parts of them.
fn truth(common: f64, shares: &[((usize, usize), f64)]) -> Truth {
    let class = |j: usize| {
        let alpha: Vec<f64> = (0..3).map(|l| if l == j { 12.0 } else { 8.0 }).collect();
        let part = |share: f64| alpha.iter().map(|a| share * a).collect::<Vec<f64>>();
        let pair = |&((first, second), share): &((usize, usize), f64)| SharedPair {
            first,
            second,
            delta: part(share),
        };
        let pairs = shares.iter().map(pair).collect();
        CorrelatedDirichlet::new(vec![alpha.clone(); 3], Some(part(common)), pairs).unwrap()
    };
    let schema = Arc::new(Schema::new(["a", "b", "c"], ["x", "y", "z"]).unwrap());
    Truth::new(schema, (0..3).map(class).collect()).unwrap()
}

fn config(structure: Structure, correlated: &Correlated) -> Correlated {
    Correlated { structure, ..correlated.clone() }
}

fn map() -> Correlated {
    Correlated { inference: CorrelatedInference::Map, ..Correlated::default() }
}

fn parameters(model: &Model) -> &CorrelatedParameters {
    match model.method() {
        Method::Correlated(CorrelatedMethod::Joint(parameters)) => parameters,
        other => panic!("{other:?}"),
    }
}

fn log_loss(fusion: &dyn Fusion, outputs: &Outputs) -> f64 {
    let fused = fuse(fusion, outputs, &ClassPrior::uniform(3)).unwrap();
    let labels = outputs.require_labels().unwrap();
    let each = labels.iter().enumerate().map(|(i, t)| -fused.probabilities(i)[*t].ln());
    each.sum::<f64>() / labels.len() as f64
}

/// 100 items per class: a pair's mean implied correlation has a standard error of about 0.03 (three
/// classes and two free components, each 0.08); the bound is four of them. The pairs share 0.55, 0.4 and
/// 0.3 of α.
#[test]
fn what_all_and_what_pairs_share_is_learned() {
    let truth = truth(COMMON, &SHARES);
    let train = truth.simulate(100, 3).unwrap();
    let model = config(Structure::Full, &map()).fit(&train).unwrap();
    let expected = CorrelatedParameters::new(truth.schema(), truth.classes(), 0.0).unwrap();
    let prior = ClassPrior::uniform(3);
    let (found, wanted) = (parameters(&model).pairs(&prior), expected.pairs(&prior));
    for (found, wanted) in found.unwrap().iter().zip(wanted.unwrap()) {
        assert_eq!(found.between, wanted.between);
        assert!((found.mean - wanted.mean).abs() < 0.12, "{found:?} {wanted:?}");
    }
    // the true private shapes are at least 3.2: the density is resolved, without fallback
    let test = truth.simulate(12, 4).unwrap();
    let fused = fuse(model.fusion(), &test, &prior).unwrap();
    assert!((0..test.n_items()).all(|i| fused.error(i) < 0.01));
    let independent = model.margins().unwrap().unwrap();
    let [learned, best, ifm] =
        [model.fusion(), expected.fusion(), &independent].map(|f| log_loss(f, &test));
    assert!((learned - best).abs() < 0.05 && learned < ifm, "{learned} {best} {ifm}");
    // the file has everything, observed correlations included
    assert!(Model::from_json(&model.to_json()).unwrap() == model);
    assert_eq!(model.training().unwrap().observed_correlations.len(), 3);
    let influences = model.influences().unwrap().unwrap();
    // the source that shares least has the largest influence
    assert!(influences[2] > influences[0], "{influences:?}");
}

#[test]
fn a_common_part_alone_is_learned() {
    let truth = truth(0.6, &[]);
    let train = truth.simulate(60, 5).unwrap();
    let model = config(Structure::Common, &map()).fit(&train).unwrap();
    let classes = parameters(&model).classes();
    assert!(classes.iter().all(|class| class.pairs().is_empty()));
    let share = |class: &CorrelatedDirichlet| {
        class.common().iter().sum::<f64>() / class.alpha()[0].iter().sum::<f64>()
    };
    let mean = classes.iter().map(share).sum::<f64>() / 3.0;
    assert!((mean - 0.6).abs() < 0.12, "{mean}");
    assert!(model.to_json().contains("\"structure\": \"common\""));
    assert!(Model::from_json(&model.to_json()).unwrap() == model);
}

/// Near-copies have hardly anything private, which the full density does not serve: the fit warns, and the
/// tree of pairs at the model's resolution fuses, with an error of 1. So it is for a file that is read again.
#[test]
fn near_copies_are_fused_by_the_tree() {
    let train = truth(0.995, &[]).simulate(25, 6).unwrap();
    let model = config(Structure::Full, &map()).fit(&train).unwrap();
    let warnings = &model.training().unwrap().warnings;
    let warning = warnings.iter().find(|w| w.message.contains("private shape")).unwrap();
    assert_eq!(warning.hint, Some(consilience::Hint::TreeStructure));
    let tree = tree_of(parameters(&model).classes(), 0.03);
    let again = Model::from_json(&model.to_json()).unwrap();
    assert!(again == model);
    let fused = [again.fusion(), &tree].map(|f| fuse(f, &train, &ClassPrior::uniform(3)).unwrap());
    assert!(gap(&fused[0], &fused[1]) < 1e-12);
    assert!((0..train.n_items()).all(|i| fused[0].error(i) == 1.0 && fused[1].error(i) < 0.1));
}

/// The largest difference of two probabilities.
fn gap(a: &Fused, b: &Fused) -> f64 {
    a.all().iter().zip(b.all()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The tree of pairs of three sources, the chain through the pairs that share most.
fn tree_of(classes: &[CorrelatedDirichlet], resolution: f64) -> TreeFusion {
    let schema = Arc::new(Schema::new(["a", "b", "c"], ["x", "y", "z"]).unwrap());
    let alpha: Vec<Vec<Vec<f64>>> =
        (0..3).map(|k| classes.iter().map(|c| c.alpha()[k].clone()).collect()).collect();
    let total = |rows: &[f64]| rows.iter().sum::<f64>();
    let pair = |(a, b): (usize, usize)| {
        let delta: Vec<Vec<f64>> = classes.iter().map(|c| c.shared_by(a, b)).collect();
        let alpha = |j: usize| total(&alpha[a][j]).min(total(&alpha[b][j]));
        let gain = delta.iter().enumerate().map(|(j, delta)| total(delta) / alpha(j)).sum();
        TreePair { between: (a, b), delta, gain, gain_error: 0.0 }
    };
    let pairs = [(0, 1), (0, 2), (1, 2)].map(pair).to_vec();
    TreeFusion::new(schema, &alpha, pairs, TreeKind::Tree, resolution).unwrap()
}

/// A resolution means the same as for two sources: it changes nothing where three outputs are there, and
/// two of three are fused as two sources with that resolution, ties included.
#[test]
fn the_resolution_is_that_of_two_sources() {
    let truth = truth(COMMON, &SHARES);
    let (outputs, prior) = (truth.simulate(3, 9).unwrap(), ClassPrior::uniform(3));
    let full = |resolution: f64| {
        FullFusion::new(Arc::clone(truth.schema()), truth.classes(), resolution).unwrap()
    };
    let (exact, coarse) = (full(0.0), full(0.2));
    assert_eq!(fuse(&exact, &outputs, &prior).unwrap(), fuse(&coarse, &outputs, &prior).unwrap());
    let schema = Arc::new(Schema::new(["a", "b"], ["x", "y", "z"]).unwrap());
    let classes: Vec<_> = truth.classes().iter().map(|c| c.without(2).unwrap()).collect();
    for (resolution, full) in [(0.0, exact), (0.2, coarse)] {
        let two = CorrelatedFusion::new(Arc::clone(&schema), &classes, resolution).unwrap();
        let found = fuse(&full, &outputs.without(2), &prior).unwrap();
        let wanted = fuse(&two, &outputs.select(&schema).unwrap(), &prior).unwrap();
        assert!(gap(&found, &wanted) < 1e-4, "{resolution}: {}", gap(&found, &wanted));
        assert!((0..outputs.n_items()).all(|i| found.error(i) < 1e-3));
    }
}

/// Draws of pairs become draws of the full model, which predictive fusion averages over; the number of
/// threads changes nothing.
#[test]
fn draws_and_threads() {
    let truth = two_classes();
    let train = truth.simulate(5, 7).unwrap();
    let items = truth.simulate(1, 8).unwrap();
    let few = {
        let correlated =
            Correlated { chains: 2, draws: 20, warmup: 10, keep_draws: 3, ..Correlated::default() };
        Correlated { resolution: Some(0.0), ..config(Structure::Full, &correlated) }
    };
    let run = |n: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        pool.install(|| {
            let model = few.fit(&train).unwrap();
            let fused = fuse(model.fusion(), &items, model.class_prior()).unwrap();
            (model.to_json(), fused.all().to_vec())
        })
    };
    let (one, three) = (run(1), run(3));
    assert!(one == three, "threads decide");
    let model = Model::from_json(&one.0).unwrap();
    assert_eq!((model.draws().len(), model.draws()[0].delta.len()), (3, 4));
    assert_eq!(model.pair_posteriors().len(), 3);
    let predictive = fuse(&model.predictive().unwrap(), &items, model.class_prior()).unwrap();
    let total: f64 = predictive.probabilities(0).iter().sum();
    assert!((total - 1.0).abs() < 1e-12);
}

/// Two classes; the first two sources share 0.6 of α, the third 0.3 with each.
fn two_classes() -> Truth {
    let class = |j: usize| {
        let alpha: Vec<f64> = (0..2).map(|l| if l == j { 12.0 } else { 8.0 }).collect();
        let part = |share: f64| alpha.iter().map(|a| share * a).collect::<Vec<f64>>();
        let pair = SharedPair { first: 0, second: 1, delta: part(0.3) };
        CorrelatedDirichlet::new(vec![alpha.clone(); 3], Some(part(0.3)), vec![pair]).unwrap()
    };
    let schema = Arc::new(Schema::new(["a", "b", "c"], ["x", "y"]).unwrap());
    Truth::new(schema, (0..2).map(class).collect()).unwrap()
}

fn posterior(draws: usize) -> Correlated {
    let inference = CorrelatedInference::Posterior;
    let few = Correlated { inference, chains: 2, draws, warmup: 50, ..Correlated::default() };
    config(Structure::Full, &Correlated { keep_draws: 4, ..few })
}

/// With a few items: the same result at one and three threads, every draw possible (which reading the
/// model again checks), a warning that the posterior is experimental, and the paper's prior refused.
#[test]
#[ignore = "slow: make validate"]
fn draws_of_all_shared_shapes_are_possible() {
    let train = two_classes().simulate(4, 9).unwrap();
    let run = |n: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        pool.install(|| posterior(20).fit(&train).unwrap())
    };
    let model = run(1);
    assert!(run(3) == model, "threads decide");
    let warnings = &model.training().unwrap().warnings;
    assert!(warnings.iter().any(|w| w.message.contains("experimental")), "{warnings:?}");
    assert_eq!((model.draws().len(), model.draws()[0].delta.len()), (4, 4));
    assert!(Model::from_json(&model.to_json()).unwrap() == model);
    let report = model.shared_posterior().unwrap();
    let mut intervals = report.interval.iter().flatten().flatten();
    assert!(intervals.all(|[low, high]| 0.0 <= *low && low < high), "{report:?}");
    let delta_prior = consilience::methods::correlated::learning::DeltaPrior::Paper;
    let paper = Correlated { delta_prior, ..posterior(20) };
    let error = config(Structure::Full, &paper).fit(&train).unwrap_err();
    assert!(error.to_string().contains("pooled or uniform"), "{error}");
}

/// Chains agree, and the pairs' shares are near the truth: with 40 items per class a pair's share, a mean
/// over four elements, has a posterior standard deviation of about 0.06. The bound is two and a half of
/// them, which fails for one data set in 30; the seed is fixed.
#[test]
#[ignore = "slow: make validate"]
fn the_posterior_of_all_shared_shapes_is_near_the_truth() {
    let train = two_classes().simulate(40, 9).unwrap();
    let model = posterior(150).fit(&train).unwrap();
    let report = model.shared_posterior().unwrap();
    assert_eq!((model.draws().len(), model.draws()[0].delta.len()), (4, 4));
    // reading the model again checks that every draw is possible
    assert!(Model::from_json(&model.to_json()).unwrap() == model);
    assert!(report.worst.r_hat < 1.05 && report.left_out == 0, "{report:?}");
    assert!(report.effective_points > 0.3, "{report:?}");
    // the surrogate is good enough for chains of 150 draws to agree
    assert!(report.surrogate_error < 1.0 && report.acceptance > 0.5, "{report:?}");
    assert!(report.likelihood_error < 0.5, "{report:?}");
    let share = |a: usize, b: usize| {
        let classes = parameters(&model).classes();
        let one = |class: &CorrelatedDirichlet| {
            class.shared_by(a, b).iter().sum::<f64>() / class.alpha()[a].iter().sum::<f64>()
        };
        classes.iter().map(one).sum::<f64>() / 2.0
    };
    for ((a, b), expected) in [((0, 1), 0.6), ((0, 2), 0.3), ((1, 2), 0.3)] {
        let found = share(a, b);
        assert!((found - expected).abs() < 0.15, "{a} {b}: {found}");
    }
}

/// Private shapes of 1, common shapes of 2 and ½ for every pair; those of the true class are 1.5 times as
/// large.
fn little_private() -> Truth {
    let class = |j: usize| {
        let grown = |shape: f64| -> Vec<f64> {
            (0..3).map(|l| if l == j { 1.5 * shape } else { shape }).collect()
        };
        let pair = |(first, second)| SharedPair { first, second, delta: grown(0.5) };
        let pairs = [(0, 1), (0, 2), (1, 2)].map(pair).to_vec();
        CorrelatedDirichlet::new(vec![grown(4.0); 3], Some(grown(2.0)), pairs).unwrap()
    };
    let schema = Arc::new(Schema::new(["a", "b", "c"], ["x", "y", "z"]).unwrap());
    Truth::new(schema, (0..3).map(class).collect()).unwrap()
}

/// Fused probabilities have the wanted error, and the reported error is correct. The reference are
/// densities from other points with an error of 5e-4 each, which leaves at most 2e-4 for a probability.
#[test]
fn the_reported_error_of_a_fused_probability_is_the_true_one() {
    let truth = little_private();
    let outputs = truth.simulate(6, 5).unwrap();
    let full = FullFusion::new(Arc::clone(truth.schema()), truth.classes(), 0.0).unwrap();
    let fused = fuse(&full, &outputs, &ClassPrior::uniform(3)).unwrap();
    let exact: Vec<MultiDensity> = truth
        .classes()
        .iter()
        .map(|class| MultiDensity::new(class).unwrap().with_seed(77).with_max_points(1 << 19))
        .collect();
    let (mut scratch, mut beyond_twice) = (MultiScratch::default(), 0);
    for item in 0..outputs.n_items() {
        let x: Vec<&[f64]> = (0..3).map(|k| outputs.output(item, k).unwrap()).collect();
        let ln = exact.iter().map(|d| d.ln_density_of_item(&x, 0, 5e-4, &mut scratch).ln_density);
        let weights: Vec<f64> = ln.map(f64::exp).collect();
        let sum: f64 = weights.iter().sum();
        let gaps = weights.iter().zip(fused.probabilities(item)).map(|(w, p)| (w / sum - p).abs());
        let (off, error) = (gaps.fold(0.0, f64::max), fused.error(item));
        assert!(error < 1.05 * FULL_TOLERANCE, "{item}: {error}");
        assert!(off < 4.0 * error + 4e-4, "{item}: {off} {error}");
        beyond_twice += usize::from(off > 2.0 * error + 2e-4);
    }
    assert!(beyond_twice <= 2, "{beyond_twice} of {}", outputs.n_items());
}
