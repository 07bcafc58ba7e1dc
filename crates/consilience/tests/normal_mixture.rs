//! Mixtures of normal distributions over log-ratios.
#![allow(clippy::print_stderr)] // measurements are for reading, with `--nocapture`

use consilience::methods::logit_normal::LogitNormal;
use consilience::methods::normal_mixture::{NormalMixture, NormalMixtureFusion};
use consilience::methods::{Fusion, fuse, ln_densities};
use consilience::simulation::Preset;
use consilience::{ClassPrior, InputFormat, Model, NoProgress, Outputs, OutputsBuilder, Schema};

fn fit(outputs: &Outputs, seed: u64) -> NormalMixtureFusion {
    let config = NormalMixture { seed, ..NormalMixture::default() };
    config.learn(outputs, &NoProgress).unwrap().fusion
}

fn loss(fusion: &dyn Fusion, outputs: &Outputs) -> f64 {
    let fused = fuse(fusion, outputs, &ClassPrior::uniform(3)).unwrap();
    let n = outputs.n_items();
    (0..n).map(|i| -fused.probabilities(i)[outputs.label(i).unwrap()].ln()).sum::<f64>() / n as f64
}

/// Two clouds of log odds in each class, which no single normal can tell: class x at ±2, y at 0.
fn clouds(n: usize, phase: f64) -> Outputs {
    let schema = Schema::new(["a"], ["x", "y"]).unwrap();
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for i in 0..n {
        // A lattice stands for noise: its inverse logistic quantiles are spread like a logistic's.
        let u = (0.618_033_988_75 * i as f64 + phase).fract().clamp(0.01, 0.99);
        let noise = 0.25 * (u / (1.0 - u)).ln();
        let (odds, label) = match i % 4 {
            0 => (2.0 + noise, 0),
            1 => (-2.0 + noise, 0),
            _ => (noise, 1),
        };
        let p = 1.0 / (1.0 + f64::exp(-odds));
        builder.push_indexed(&[p, 1.0 - p], Some(label)).unwrap();
    }
    builder.finish()
}

#[test]
fn it_tells_shapes_that_one_normal_cannot() {
    let (train, test) = (clouds(400, 0.0), clouds(400, 0.3));
    let loss = |fusion: &dyn Fusion| {
        let fused = fuse(fusion, &test, &ClassPrior::uniform(2)).unwrap();
        let ln = |i: usize| fused.probabilities(i)[test.label(i).unwrap()].ln();
        -(0..400).map(ln).sum::<f64>() / 400.0
    };
    // With the logistic densities that the noise was taken from.
    let truth = |i: usize| {
        let x = test.output(i, 0).unwrap();
        let at = |centre: f64| {
            let e = f64::exp(-((x[0] / x[1]).ln() - centre).abs() / 0.25);
            e / (1.0 + e).powi(2)
        };
        let densities = [0.5 * at(2.0) + 0.5 * at(-2.0), at(0.0)];
        (densities[test.label(i).unwrap()] / densities.iter().sum::<f64>()).ln()
    };
    let optimum = -(0..400).map(truth).sum::<f64>() / 400.0;
    let mixture = loss(&fit(&train, 1));
    let single = loss(&LogitNormal::default().learn(&train).unwrap().fusion);
    eprintln!("mixture {mixture}, single {single}, optimum {optimum}");
    assert!(mixture < optimum + 0.02 && mixture < single - 0.05, "{mixture} {single} {optimum}");
    let fusion = fit(&train, 1);
    let at = |p: f64| {
        let mut one = OutputsBuilder::new(test.schema().clone(), InputFormat::default()).unwrap();
        one.push(&[p, 1.0 - p], None).unwrap();
        ln_densities(&fusion, &one.finish()).unwrap().0[0]
    };
    let (peak, dip) = (at(1.0 / (1.0 + f64::exp(-2.0))), at(0.5));
    assert!(peak > dip + 1.0, "{peak} {dip}");
}

/// Three clouds have small components, a class that is one cloud has one as wide as itself, and few
/// items tell nothing.
#[test]
fn components_are_as_large_as_predicts_best() {
    let with = |covariance_share: Option<f64>, outputs: &Outputs| {
        let config = NormalMixture { covariance_share, seed: 1, ..NormalMixture::default() };
        config.learn(outputs, &NoProgress)
    };
    let truth = Preset::Sim2.truth(0.0).unwrap();
    let few = truth.simulate(15, 1).unwrap();
    for (outputs, share) in
        [(clouds(400, 0.0), 0.1), (truth.simulate(300, 1).unwrap(), 1.0), (few.clone(), 1.0)]
    {
        let chosen = with(None, &outputs).unwrap().fusion;
        assert!(chosen == with(Some(share), &outputs).unwrap().fusion, "not {share}");
    }
    for bad in [0.0, -1.0, f64::NAN] {
        assert!(with(Some(bad), &few).unwrap_err().to_string().contains("covariance_share"));
    }
}

/// Densities integrate to 1 over the simplex.
#[test]
fn densities_integrate_to_one() {
    let train = clouds(200, 0.0);
    let fusion = fit(&train, 1);
    let n = 4000;
    let mut grid = OutputsBuilder::new(train.schema().clone(), InputFormat::default()).unwrap();
    // Equal steps of log odds from −30 to 30, beyond which the densities are negligible; p itself is the measure.
    let odds = |i: i32| -30.0 + 60.0 * (f64::from(i) + 0.5) / f64::from(n);
    for i in 0..n {
        let p = 1.0 / (1.0 + f64::exp(-odds(i)));
        grid.push(&[p, 1.0 - p], None).unwrap();
    }
    let grid = grid.finish();
    let (densities, _) = ln_densities(&fusion, &grid).unwrap();
    for class in 0..2 {
        let mut sum = 0.0;
        for i in 0..grid.n_items() {
            let x = grid.output(i, 0).unwrap();
            sum += densities[2 * i + class].exp() * x[0] * x[1] * 60.0 / f64::from(n);
        }
        assert!((sum - 1.0).abs() < 1e-3, "{sum}");
    }
}

/// Three in ten training outputs absent: they are drawn along, and cost little.
#[test]
fn absent_outputs_are_drawn_along() {
    let truth = Preset::Sim2.truth(0.5).unwrap();
    let (train, test) = (truth.simulate(150, 1).unwrap(), truth.simulate(500, 2).unwrap());
    let mut builder = OutputsBuilder::new(train.schema().clone(), InputFormat::default()).unwrap();
    for item in 0..train.n_items() {
        let mut row = train.items(item..item + 1).values().to_vec();
        match item % 10 {
            0..3 => row[..3].fill(f64::NAN),
            3..6 => row[3..].fill(f64::NAN),
            _ => {}
        }
        builder.push_indexed(&row, train.label(item)).unwrap();
    }
    let gaps = builder.finish();
    let whole = loss(&fit(&train, 1), &test);
    let partial = loss(&fit(&gaps, 1), &test);
    eprintln!("complete {whole:.4}, with gaps {partial:.4}");
    assert!(partial < whole + 0.04, "{partial} {whole}");
}

/// Few items, constant outputs: no error, no NaN.
#[test]
fn little_or_degenerate_data_have_a_fit() {
    let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
    let rows: [&[[f64; 2]]; 2] = [&[[0.8, 0.7], [0.3, 0.4]], &[[0.6, 0.6]; 6]];
    for rows in rows {
        let mut builder = OutputsBuilder::new(schema.clone(), InputFormat::default()).unwrap();
        for (i, [p, q]) in rows.iter().enumerate() {
            builder.push_indexed(&[*p, 1.0 - p, *q, 1.0 - q], Some(i % 2)).unwrap();
        }
        let outputs = builder.finish();
        let fused = fuse(&fit(&outputs, 1), &outputs, &ClassPrior::uniform(2)).unwrap();
        assert!(fused.all().iter().all(|p| p.is_finite()));
    }
}

#[test]
fn its_file_is_read_back_to_the_same_predictions() {
    let truth = Preset::Sim2.truth(0.5).unwrap();
    let (train, test) = (truth.simulate(30, 1).unwrap(), truth.simulate(10, 2).unwrap());
    let model = NormalMixture::default().fit(&train).unwrap();
    let back = Model::from_json(&model.to_json()).unwrap();
    assert_eq!(back, model);
    let fused = |model: &Model| model.fuse(&test).unwrap();
    assert_eq!(fused(&back), fused(&model));
    let broken = model.to_json().replacen("\"weight\": ", "\"weight\": -", 1);
    assert!(Model::from_json(&broken).unwrap_err().to_string().contains("weight"));
    let published = model.to_json().replacen("\"draws\": ", "\"jitter\": 0.001, \"draws\": ", 1);
    let error = Model::from_json(&published).unwrap_err().to_string();
    assert!(error.contains("fit the model again"), "{error}");
}
