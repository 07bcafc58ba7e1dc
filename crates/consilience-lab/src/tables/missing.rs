//! One output missing at random in 30 % of the items: a reliability table; and a classifier that is always missing
//! against a model without it.

use std::sync::Arc;

use consilience::methods::correlated::Structure;
use consilience::methods::fuse;
use consilience::model::Model;
use consilience::{ClassPrior, InputFormat, Outputs, OutputsBuilder, Result, Schema};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::{quick, truth};

const SHARE: f64 = 0.3;

/// So many test and training items per class.
pub(super) fn run(test_items: usize, train_items: usize) -> Result<()> {
    let truth = truth((3, 3), 0.3, &[((0, 1), 0.25), ((0, 2), 0.1)])?;
    let train = holed(&truth.simulate(train_items, 1)?, 5)?;
    let test = holed(&truth.simulate(test_items, 2)?, 6)?;
    println!("structure,from,to,probabilities,mean_probability,frequency,standard_error");
    for (name, structure) in [("tree", Structure::Tree), ("full", Structure::Full)] {
        let model = quick(structure).fit(&train)?;
        reliability(name, &model, &test)?;
    }
    println!("structure,always missing,largest difference from the model without it");
    let (whole, without) = (truth.simulate(train_items / 3, 3)?, truth.simulate(20, 4)?.without(2));
    let two = Arc::new(Schema::new(["c1", "c2"], whole.schema().classes().to_vec())?);
    for (name, structure) in [("tree", Structure::Tree), ("full", Structure::Full)] {
        let three = quick(structure).fit(&whole)?;
        let pair = quick(structure).fit(&whole.select(&two)?)?;
        let prior = ClassPrior::uniform(3);
        let (a, b) = (
            fuse(three.fusion(), &without, &prior)?,
            fuse(pair.fusion(), &without.select(&two)?, &prior)?,
        );
        let largest = a.all().iter().zip(b.all()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("{name},c3,{largest:.2e}");
    }
    Ok(())
}

/// One classifier, drawn at random, is missing in 30 % of the items.
fn holed(outputs: &Outputs, seed: u64) -> Result<Outputs> {
    let schema = outputs.schema();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut builder = OutputsBuilder::new(Arc::clone(schema), InputFormat::default())?;
    for (item, label) in outputs.require_labels()?.into_iter().enumerate() {
        let gone = if rng.random_bool(SHARE) { rng.random_range(0..3) } else { usize::MAX };
        let row: Vec<f64> = (0..schema.n_classifiers())
            .flat_map(|k| {
                let x = outputs.output(item, k).expect("simulated outputs are all there");
                x.iter().map(move |x| if k == gone { f64::NAN } else { *x }).collect::<Vec<_>>()
            })
            .collect();
        builder.push(&row, Some(&schema.classes()[label]))?;
    }
    Ok(builder.finish())
}

fn reliability(name: &str, model: &Model, test: &Outputs) -> Result<()> {
    let fused = fuse(model.fusion(), test, &ClassPrior::uniform(3))?;
    let edges = [0.0, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 1.000_001];
    let labels = test.require_labels()?;
    for bin in edges.windows(2) {
        let (mut n, mut sum, mut hits) = (0, 0.0, 0.0);
        for (item, label) in labels.iter().enumerate() {
            for (class, p) in fused.probabilities(item).iter().enumerate() {
                if (bin[0]..bin[1]).contains(p) {
                    n += 1;
                    sum += p;
                    hits += f64::from(u8::from(class == *label));
                }
            }
        }
        let (count, p) = (f64::from(n).max(1.0), hits / f64::from(n).max(1.0));
        println!(
            "{name},{},{:.2},{n},{:.4},{p:.4},{:.4}",
            bin[0],
            bin[1],
            sum / count,
            (p * (1.0 - p) / count).sqrt()
        );
    }
    Ok(())
}
