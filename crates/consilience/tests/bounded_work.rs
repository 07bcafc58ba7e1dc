//! Fits to extreme but valid outputs end after a bounded amount of work, can be interrupted, or are
//! refused with a reason.

use std::sync::atomic::{AtomicUsize, Ordering};

use consilience::methods::auto::Auto;
use consilience::methods::correlated::learning::{Correlated, CorrelatedInference, FittedPair};
use consilience::methods::independent::Independent;
use consilience::simulation::Preset;
use consilience::{
    Error, InputFormat, NoProgress, Outputs, OutputsBuilder, Progress, Result, Schema,
};

/// Items of three classes in turn, with outputs of two classifiers.
fn table(n_items: usize, outputs: impl Fn(usize) -> [[f64; 3]; 2]) -> Outputs {
    let schema = Schema::new(["a", "b"], ["x", "y", "z"]).unwrap();
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for i in 0..n_items {
        let label = ["x", "y", "z"][i % 3];
        builder.push(&outputs(i).concat(), Some(label)).unwrap();
    }
    builder.finish()
}

/// 1/3 plus a multiple of a number between −1 and 1, which differs between items and classifiers.
fn nearly_uniform(i: usize, spread: f64) -> [[f64; 3]; 2] {
    let noise = |n: usize| 2.0 * (n as f64 * 0.754_877_666).fract() - 1.0;
    [0, 1].map(|k| {
        let (u, v) = (noise(4 * i + 2 * k + 1), noise(4 * i + 2 * k + 2));
        [1.0 / 3.0 + spread * u, 1.0 / 3.0 + spread * v, 1.0 / 3.0 - spread * (u + v)]
    })
}

fn one_hot(i: usize) -> [[f64; 3]; 2] {
    [i % 3, i % 4 % 3].map(|top| std::array::from_fn(|l| if l == top { 1.0 } else { 0.0 }))
}

fn fit(config: &Correlated, outputs: &Outputs) -> Result<FittedPair> {
    config.fit_pair(outputs, &NoProgress)
}

/// With a spread of 3e-4 the shapes of the Dirichlets would be about 1e6 and the fit would take minutes.
/// Their mode stays at 1000 or below, and their posterior mean, which for constant outputs rests on two
/// prior items, below three times that. The posterior of δ is its prior: for three classes with nine δ of one μ, the
/// mean of δ/b is 0.5 by symmetry, and its standard deviation between that of μ known (0.2) and of the
/// uniform distribution (0.29).
#[test]
fn shapes_of_outputs_that_hardly_vary_are_bounded() {
    for spread in [0.0, 3e-6, 3e-4] {
        let fitted =
            fit(&Correlated::default(), &table(120, |i| nearly_uniform(i, spread))).unwrap();
        assert!(fitted.alpha.iter().flatten().flatten().all(|a| (500.0..3000.0).contains(a)));
        let warned = |w: &consilience::Warning| w.message.contains("vary by less than 5 %");
        assert_eq!(fitted.warnings.iter().filter(|w| warned(w)).count(), 2, "{spread}");
        let sd = &fitted.delta_posterior.unwrap().delta_sd;
        for j in 0..3 {
            for l in 0..3 {
                let bound = fitted.alpha[0][j][l].min(fitted.alpha[1][j][l]);
                let (mean, sd) = (fitted.delta[j][l] / bound, sd[j][l] / bound);
                assert!((mean - 0.5).abs() < 0.05 && (0.18..0.32).contains(&sd), "{mean} {sd}");
            }
        }
    }
}

/// A class whose outputs do not vary leaves the other classes as they are.
#[test]
fn a_class_that_does_not_vary_leaves_the_others_resolved() {
    let varied = Preset::Sim2.truth(0.5).unwrap().simulate(40, 1).unwrap();
    let outputs = table(120, |i| {
        let items = varied.all();
        let class = varied.require_labels().unwrap();
        let item = (0..120).filter(|&item| class[item] == i % 3).nth(i / 3).unwrap();
        let own = |k| items.output(item, k).unwrap().try_into().unwrap();
        if i % 3 == 0 { [[0.5, 0.3, 0.2]; 2] } else { [0, 1].map(own) }
    });
    let config = Correlated {
        inference: CorrelatedInference::Map,
        prior_items: 1e-6,
        ..Correlated::default()
    };
    let fitted = fit(&config, &outputs).unwrap();
    let message = "vary by less than 5 % in 1 of 3 classes";
    assert_eq!(fitted.warnings.iter().filter(|w| w.message.contains(message)).count(), 2);
    // the truth has half of every shape in common
    for j in [1, 2] {
        let share =
            |l: usize| fitted.delta[j][l] / fitted.alpha[0][j][l].min(fitted.alpha[1][j][l]);
        let mean = (0..3).map(share).sum::<f64>() / 3.0;
        assert!((0.25..0.75).contains(&mean), "{mean}");
    }
}

/// Outputs of 0 and 1 tie, and the exact density is infinite at ties.
#[test]
fn infinite_exact_likelihoods_are_refused() {
    for inference in [CorrelatedInference::Map, CorrelatedInference::TwoStep] {
        let config = Correlated { inference, resolution: Some(0.0), ..Correlated::default() };
        let error = fit(&config, &table(60, one_hot)).unwrap_err();
        assert!(error.to_string().starts_with("`resolution` must be above 0"), "{error}");
    }
}

#[test]
fn a_prior_without_bound_is_refused() {
    let outputs = table(12, |i| nearly_uniform(i, 0.1));
    for (items, refused) in [(1e9, false), (1e308, true), (f64::INFINITY, true)] {
        let error =
            Independent { prior_items: items, ..Independent::default() }.fit(&outputs).err();
        assert_eq!(error.is_some(), refused, "{items} {error:?}");
    }
}

#[test]
fn too_many_classes_are_refused() {
    let classes: Vec<String> = (0..31).map(|j| format!("c{j}")).collect();
    let schema = Schema::new(["a", "b"], classes.clone()).unwrap();
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for class in &classes {
        builder.push(&[1.0 / 31.0; 62], Some(class)).unwrap();
    }
    let error = fit(&Correlated::default(), &builder.finish()).unwrap_err();
    assert!(error.to_string().contains("at most 30 classes, not 31"), "{error}");
}

/// Counts how often a computation asks whether it should stop, and stops it at one of these times.
struct StopAt {
    asked: AtomicUsize,
    stop: usize,
}

impl StopAt {
    fn new(stop: usize) -> Self {
        Self { asked: AtomicUsize::new(0), stop }
    }
}

impl Progress for StopAt {
    fn is_interrupted(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) + 1 >= self.stop
    }
}

/// A fit asks at least once per 32 items and evaluation of the likelihood, so that the time until it stops
/// does not grow with the number of items: from 160 to 1600 items per class, the number of times grows at
/// least fivefold (tenfold, if both fits evaluate the likelihood equally often).
#[test]
fn a_fit_can_be_interrupted_between_items() {
    let config = Correlated {
        inference: CorrelatedInference::Map,
        resolution: Some(0.1),
        ..Correlated::default()
    };
    let asked = |items: usize| {
        let outputs = Preset::Sim2.truth(0.5).unwrap().simulate(items, 1).unwrap();
        let progress = StopAt::new(usize::MAX);
        config.fit_pair(&outputs, &progress).unwrap();
        progress.asked.into_inner()
    };
    let (few, many) = (asked(160), asked(1600));
    assert!(many > 5 * few, "{few} {many}");
    let outputs = Preset::Sim2.truth(0.5).unwrap().simulate(160, 1).unwrap();
    for stop in [1, few / 3, few - 1] {
        let stopped = config.fit_pair(&outputs, &StopAt::new(stop));
        assert_eq!(stopped.unwrap_err(), Error::Interrupted, "{stop} of {few}");
    }
}

/// A fit of `auto` asks at least once per 256 items and pass over them.
#[test]
fn a_fit_of_auto_can_be_interrupted_between_items() {
    let asked = |items: usize| {
        let outputs = Preset::Sim2.truth(0.5).unwrap().simulate(items, 1).unwrap();
        let progress = StopAt::new(usize::MAX);
        Auto::default().learn(&outputs, &progress).unwrap();
        progress.asked.into_inner()
    };
    let (few, many) = (asked(85), asked(2133));
    // 25 times as many items, of which each asks once when its own evidence is computed.
    assert!(many - 3 * 2133 > 10 * (few - 3 * 85), "{few} {many}");
    let outputs = Preset::Sim2.truth(0.5).unwrap().simulate(85, 1).unwrap();
    for stop in [1, few / 3, few - 1] {
        let stopped = Auto::default().learn(&outputs, &StopAt::new(stop));
        assert_eq!(stopped.unwrap_err(), Error::Interrupted, "{stop} of {few}");
    }
}
