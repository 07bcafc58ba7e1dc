//! The normal model of log-ratios against numerical integrals and simulated items.
#![allow(clippy::print_stderr)] // measurements are for reading, with `--nocapture`

use consilience::methods::logit_normal::{LogitNormal, LogitNormalFusion};
use consilience::methods::{Fusion, fuse, ln_densities};
use consilience::simulation::Preset;
use consilience::{ClassPrior, InputFormat, Model, NoProgress, Outputs, OutputsBuilder, Schema};

fn binary(rows: &[(f64, usize)]) -> Outputs {
    let schema = Schema::new(["a"], ["x", "y"]).unwrap();
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for (p, label) in rows {
        builder.push_indexed(&[*p, 1.0 - p], Some(*label)).unwrap();
    }
    builder.finish()
}

/// One source and two classes have one coordinate, y = (ln x₁ − ln x₂)/√2. The predictive density is
/// the ratio of two integrals of prior times likelihood over mean and variance, computed here on a
/// grid. In one dimension the prior mean is the mean of the class means, and the variance has an
/// inverse gamma prior around the pooled variance.
#[test]
fn the_predictive_density_is_the_integral_over_mean_and_variance() {
    let data = [(0.7, 0), (0.9, 0), (0.6, 0), (0.3, 1), (0.45, 1), (0.2, 1), (0.1, 1)];
    let config = LogitNormal { covariance_items: 3.0, mean_items: 0.5 };
    let fitted = config.learn(&binary(&data)).unwrap();
    let y = |p: f64| (p / (1.0 - p)).ln() / 2f64.sqrt();
    let of = |class: usize| -> Vec<f64> {
        data.iter().filter(|(_, label)| *label == class).map(|(p, _)| y(*p)).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let means = [mean(&of(0)), mean(&of(1))];
    let centre = 0.5 * (means[0] + means[1]);
    let scatter: f64 = (0..2)
        .flat_map(|j| of(j).into_iter().map(move |y| (j, y)))
        .map(|(j, y)| (y - means[j]).powi(2))
        .sum();
    let spread: f64 = means.iter().map(|m| (m - centre).powi(2)).sum::<f64>() / 2.0;
    let variance = (scatter + spread) / (7.0 - 2.0 + 1.0) + 0.5 * 0.03f64.powi(2);
    // Inverse Wishart with ν = d + 1 + 3 in one dimension: inverse gamma(ν/2, 3·variance/2).
    let (shape, rate) = (2.5, 1.5 * variance);
    let ln_normal = |x: f64, m: f64, v: f64| {
        -0.5 * ((x - m).powi(2) / v + (2.0 * std::f64::consts::PI * v).ln())
    };
    let integral = |items: &[f64]| {
        let mut sum = 0.0;
        for i in -600..600 {
            // e^s is the variance; ds needs the factor e^s.
            let s = f64::from(i) * 0.02;
            let v = s.exp();
            let prior = -shape * s - rate / v;
            for m in -400..400 {
                let m = centre + f64::from(m) * 0.05;
                let mut ln = prior + ln_normal(m, centre, v / 0.5);
                ln += items.iter().map(|x| ln_normal(*x, m, v)).sum::<f64>();
                sum += ln.exp();
            }
        }
        sum
    };
    for (class, p) in [(0, 0.8), (1, 0.8), (0, 0.02), (1, 0.35)] {
        let mut items = of(class);
        let before = integral(&items);
        items.push(y(p));
        // dy/dp = 1/(√2 p(1−p)).
        let want = (integral(&items) / before).ln() - (2f64.sqrt() * p * (1.0 - p)).ln();
        let (got, _) = ln_densities(&fitted.fusion, &binary(&[(p, 0)])).unwrap();
        // Halving the step of the grid changes the fifth digit.
        assert!((got[class] - want).abs() < 2e-4, "{p} {class}: {} {want}", got[class]);
    }
}

fn fit(outputs: &Outputs) -> LogitNormalFusion {
    LogitNormal::default().learn(outputs).unwrap().fusion
}

fn loss(fusion: &dyn Fusion, outputs: &Outputs) -> f64 {
    let fused = fuse(fusion, outputs, &ClassPrior::uniform(3)).unwrap();
    let n = outputs.n_items();
    (0..n).map(|i| -fused.probabilities(i)[outputs.label(i).unwrap()].ln()).sum::<f64>() / n as f64
}

/// The Bayes-optimal log-loss is 0.821 (r = 0) and 0.950 (r = 1) for SIM 1, and 0.413 and 0.668 for
/// SIM 2. Log-ratios of gamma variables with shapes from 2 to 12 are not normal, which costs some
/// hundredths. With 9000 test items, standard errors are below 0.01.
#[test]
fn the_log_loss_on_correlated_outputs_is_near_the_optimum() {
    for (preset, r, optimum) in [
        (Preset::Sim1, 0.0, 0.821),
        (Preset::Sim1, 1.0, 0.950),
        (Preset::Sim2, 0.0, 0.413),
        (Preset::Sim2, 1.0, 0.668),
    ] {
        let truth = preset.truth(r).unwrap();
        let fusion = fit(&truth.simulate(500, 1).unwrap());
        let loss = loss(&fusion, &truth.simulate(3000, 2).unwrap());
        eprintln!("{preset:?} r={r}: {loss:.4}, optimum {optimum}");
        assert!(loss > optimum - 0.02 && loss < optimum + 0.06, "{preset:?} {r}: {loss}");
    }
}

#[test]
fn fits_are_independent_of_the_order_of_sources_and_classes() {
    let train = Preset::Sim3.truth(0.5).unwrap().simulate(15, 1).unwrap();
    let names = |order: [usize; 3]| order.map(|j| train.schema().classes()[j].clone());
    let order = [2, 0, 1];
    let schema = Schema::new(["c2", "c1"], names(order)).unwrap();
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for item in 0..train.n_items() {
        let output = |k: usize| order.map(|j| train.output(item, k).unwrap()[j]);
        let label = order.iter().position(|j| Some(*j) == train.label(item));
        builder.push_indexed(&[output(1), output(0)].concat(), label).unwrap();
    }
    let permuted = builder.finish();
    let prior = ClassPrior::uniform(3);
    let before = fuse(&fit(&train), &train, &prior).unwrap();
    let after = fuse(&fit(&permuted), &permuted, &prior).unwrap();
    for item in 0..train.n_items() {
        for (place, j) in order.into_iter().enumerate() {
            let off = before.probabilities(item)[j] - after.probabilities(item)[place];
            assert!(off.abs() < 1e-10, "{off}");
        }
    }
}

/// 30 % missing training outputs increase the log-loss by little. Missing outputs of new items are
/// marginalised: the density without a source is the integral over its outputs.
#[test]
fn missing_outputs_are_integrated_out() {
    let truth = Preset::Sim2.truth(0.5).unwrap();
    let (train, test) = (truth.simulate(300, 1).unwrap(), truth.simulate(1000, 2).unwrap());
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
    let (whole, gaps) = (fit(&train), fit(&builder.finish()));
    let (complete, partial) = (loss(&whole, &test), loss(&gaps, &test));
    eprintln!("complete {complete:.4}, with gaps {partial:.4}");
    assert!(partial < complete + 0.02, "{partial} {complete}");

    // Midpoint rule on a grid over the simplex of the second source.
    let n = 400;
    let schema = train.schema();
    let mut builder =
        OutputsBuilder::new(schema.clone(), InputFormat { floor: 0.0, ..InputFormat::default() })
            .unwrap();
    let first = [0.5, 0.2, 0.3];
    for a in 0..n {
        for b in 0..n - a {
            let h = f64::from(n);
            // Centroids of the upward and downward triangles.
            for shift in [1.0 / 3.0, 2.0 / 3.0] {
                let (p, q) = ((f64::from(a) + shift) / h, (f64::from(b) + shift) / h);
                if p + q < 1.0 {
                    builder.push(&[first.as_slice(), &[p, q, 1.0 - p - q]].concat(), None).unwrap();
                }
            }
        }
    }
    let grid = builder.finish();
    let (densities, _) = ln_densities(&whole, &grid).unwrap();
    let mut alone = OutputsBuilder::new(schema.clone(), InputFormat::default()).unwrap();
    alone.push(&[first.as_slice(), &[f64::NAN; 3]].concat(), None).unwrap();
    let (margin, _) = ln_densities(&whole, &alone.finish()).unwrap();
    for (class, margin) in margin.into_iter().enumerate() {
        let cell = 0.5 / f64::from(n).powi(2);
        let sum: f64 = densities.iter().skip(class).step_by(3).map(|ln| ln.exp() * cell).sum();
        assert!((sum.ln() - margin).abs() < 1e-4, "{} {margin}", sum.ln());
    }
}

/// One item per class, constant outputs, copies of a source.
#[test]
fn few_or_degenerate_items_can_be_fitted() {
    let one = binary(&[(0.8, 0), (0.3, 1)]);
    let constant = binary(&[(0.6, 0), (0.6, 0), (0.6, 1), (0.6, 1)]);
    for outputs in [one, constant.clone()] {
        let fused = fuse(&fit(&outputs), &outputs, &ClassPrior::uniform(2)).unwrap();
        assert!(fused.all().iter().all(|p| p.is_finite()));
    }
    let fused = fuse(&fit(&constant), &constant, &ClassPrior::uniform(2)).unwrap();
    assert!(fused.all().iter().all(|p| (p - 0.5).abs() < 1e-9), "{:?}", fused.all());
    let schema = Schema::new(["a", "copy"], ["x", "y"]).unwrap();
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for i in 0..40 {
        let p = 0.1 + 0.02 * f64::from(i);
        builder.push_indexed(&[p, 1.0 - p, p, 1.0 - p], Some(usize::from(i % 3 == 0))).unwrap();
    }
    let copies = builder.finish();
    let fused = fuse(&fit(&copies), &copies, &ClassPrior::uniform(2)).unwrap();
    assert!((0..40).all(|i| fused.error(i) < 1e-9));
}

#[test]
fn a_model_read_from_its_file_makes_the_same_predictions() {
    let truth = Preset::Sim2.truth(0.5).unwrap();
    let (train, test) = (truth.simulate(30, 1).unwrap(), truth.simulate(10, 2).unwrap());
    let model = LogitNormal::default().fit(&train).unwrap();
    assert_eq!(model.method_name(), "logit-normal");
    let back = Model::from_json(&model.to_json()).unwrap();
    assert_eq!(back, model);
    let fused = |model: &Model| fuse(model.fusion(), &test, model.class_prior()).unwrap();
    assert_eq!(fused(&back), fused(&model));
    assert!(model.update(&test, &NoProgress).is_err());
    let broken = model.to_json().replacen("\"degrees\": ", "\"degrees\": -", 1);
    assert!(Model::from_json(&broken).unwrap_err().to_string().contains("degrees"));
}
