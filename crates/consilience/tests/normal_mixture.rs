//! Mixtures of normal distributions of log-ratios: the published sampler gives what was printed of
//! it, the repaired one is better.
#![allow(clippy::print_stderr)] // measurements are for reading, with `--nocapture`

use consilience::methods::logit_normal::LogitNormal;
use consilience::methods::normal_mixture::{MixtureVariant, NormalMixture, NormalMixtureFusion};
use consilience::methods::{Fusion, fuse, ln_densities};
use consilience::simulation::Preset;
use consilience::{ClassPrior, InputFormat, Model, NoProgress, Outputs, OutputsBuilder, Schema};

fn fit(variant: MixtureVariant, outputs: &Outputs, seed: u64) -> NormalMixtureFusion {
    let config = NormalMixture { variant, seed, ..NormalMixture::default() };
    config.learn(outputs, &NoProgress).unwrap().fusion
}

fn loss(fusion: &dyn Fusion, outputs: &Outputs) -> f64 {
    let fused = fuse(fusion, outputs, &ClassPrior::uniform(3)).unwrap();
    let n = outputs.n_items();
    (0..n).map(|i| -fused.probabilities(i)[outputs.label(i).unwrap()].ln()).sum::<f64>() / n as f64
}

/// The log-loss of fits to 500 items a class, as in the paper, on `n` test items a class, mean of
/// three.
fn published_loss(preset: Preset, r: f64, n: usize) -> f64 {
    let truth = preset.truth(r).unwrap();
    let one = |seed: u64| {
        let train = truth.simulate(500, seed).unwrap();
        let test = truth.simulate(n, 100 + seed).unwrap();
        loss(&fit(MixtureVariant::Published, &train, seed), &test)
    };
    (0..3).map(one).sum::<f64>() / 3.0
}

/// Results that the paper prints of the authors' program on simulated sets.
const PRINTED: [(Preset, f64, f64); 6] = [
    (Preset::Sim1, 1.0, 0.96),
    (Preset::Sim2, 0.0, 0.58),
    (Preset::Sim2, 1.0, 0.72),
    (Preset::Sim1, 0.0, 0.91),
    (Preset::Sim1, 0.5, 0.95),
    (Preset::Sim2, 0.5, 0.66),
];

fn check_printed(printed: &[(Preset, f64, f64)], n: usize) {
    let mut wrong = Vec::new();
    for &(preset, r, printed) in printed {
        let got = published_loss(preset, r, n);
        eprintln!("{preset:?} r={r}: {got:.4}, printed {printed}");
        if (got - printed).abs() > 0.02 {
            wrong.push(format!("{preset:?} {r}: {got}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The mean over test items has a standard error of .01 to .013 here.
#[test]
fn the_published_variant_has_the_printed_losses() {
    check_printed(&PRINTED[..2], 250);
}

/// And one of .005 here; what is printed has one of .01 and more itself.
#[test]
#[ignore = "slow: 18 fits of the published sampler, 3000 test items each"]
fn the_published_variant_has_all_printed_losses() {
    check_printed(&PRINTED, 1000);
}

/// Where truth is far from the fixed prior of the published variant, it loses much; optimum of
/// SIM 2: .413 (r = 0) and .668 (r = 1).
#[test]
fn the_repaired_variant_is_better() {
    for (r, optimum) in [(0.0, 0.413), (1.0, 0.668)] {
        let truth = Preset::Sim2.truth(r).unwrap();
        let (train, test) = (truth.simulate(300, 1).unwrap(), truth.simulate(1000, 2).unwrap());
        let repaired = loss(&fit(MixtureVariant::Repaired, &train, 1), &test);
        let published = loss(&fit(MixtureVariant::Published, &train, 1), &test);
        eprintln!("r={r}: repaired {repaired:.4}, published {published:.4}, optimum {optimum}");
        assert!(repaired < published - 0.03 && repaired < optimum + 0.05, "{repaired} {published}");
    }
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
    let mixture = loss(&fit(MixtureVariant::Repaired, &train, 1));
    let single = loss(&LogitNormal::default().learn(&train).unwrap().fusion);
    eprintln!("mixture {mixture}, single {single}, optimum {optimum}");
    assert!(mixture < optimum + 0.02 && mixture < single - 0.05, "{mixture} {single} {optimum}");
    let fusion = fit(MixtureVariant::Repaired, &train, 1);
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

/// Densities integrate to 1 over the simplex, also in the published variant, whose noise keeps the
/// item where it was but for .001.
#[test]
fn densities_integrate_to_one() {
    let train = clouds(200, 0.0);
    for variant in [MixtureVariant::Repaired, MixtureVariant::Published] {
        let fusion = fit(variant, &train, 1);
        let n = 4000;
        let mut grid = OutputsBuilder::new(train.schema().clone(), InputFormat::default()).unwrap();
        // Equal steps of log odds from −30 to 30, beyond which there is nothing to speak of with
        // the narrow distributions of the repaired variant; p itself is the measure.
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
            eprintln!("{variant:?} class {class}: {sum}");
            // The noise moves points about, by a tenth where they are .01 from the edge.
            let tolerance = if variant == MixtureVariant::Repaired { 1e-3 } else { 0.1 };
            assert!((sum - 1.0).abs() < tolerance, "{sum}");
        }
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
    let whole = loss(&fit(MixtureVariant::Repaired, &train, 1), &test);
    let partial = loss(&fit(MixtureVariant::Repaired, &gaps, 1), &test);
    eprintln!("complete {whole:.4}, with gaps {partial:.4}");
    assert!(partial < whole + 0.04, "{partial} {whole}");
    // The published variant leaves incomplete items out and says so.
    let config = NormalMixture { variant: MixtureVariant::Published, ..NormalMixture::default() };
    let fitted = config.learn(&gaps, &NoProgress).unwrap();
    assert!(fitted.warnings[0].message.contains("270 training items"), "{:?}", fitted.warnings);
    assert!(loss(&fitted.fusion, &gaps) < 1.0);
}

/// Few items, constant outputs: no error, no NaN, in both variants.
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
        for variant in [MixtureVariant::Repaired, MixtureVariant::Published] {
            let fused =
                fuse(&fit(variant, &outputs, 1), &outputs, &ClassPrior::uniform(2)).unwrap();
            assert!(fused.all().iter().all(|p| p.is_finite()), "{variant:?}");
        }
    }
}

#[test]
fn its_file_is_read_back_to_the_same_predictions() {
    let truth = Preset::Sim2.truth(0.5).unwrap();
    let (train, test) = (truth.simulate(30, 1).unwrap(), truth.simulate(10, 2).unwrap());
    for variant in [MixtureVariant::Repaired, MixtureVariant::Published] {
        let normal_mixture = NormalMixture { variant, ..NormalMixture::default() };
        let model = normal_mixture.fit(&train).unwrap();
        let back = Model::from_json(&model.to_json()).unwrap();
        assert_eq!(back, model);
        let fused = |model: &Model| fuse(model.fusion(), &test, model.class_prior()).unwrap();
        assert_eq!(fused(&back), fused(&model));
        let broken = model.to_json().replacen("\"weight\": ", "\"weight\": -", 1);
        assert!(Model::from_json(&broken).unwrap_err().to_string().contains("weight"));
    }
}
