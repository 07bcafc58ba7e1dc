//! Bookies C on the paper's protocol: 20 test items a class, all others for training, uniform class prior.
//!
//! The table lies beside the repository or in the folder that `CONSILIENCE_DATA` names.

use std::sync::Arc;

use consilience::methods::correlated::Structure;
use consilience::methods::fuse;
use consilience::methods::independent::Independent;
use consilience::{ClassPrior, InputFormat, MethodConfig, Outputs, OutputsBuilder, Result, Schema};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use super::{losses, mean, quick};

/// One row: label and the outputs of all classifiers.
type Row = (String, Vec<f64>);

pub(super) fn run(splits: usize) -> Result<()> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data").to_string();
    let folder = std::env::var("CONSILIENCE_DATA").unwrap_or(beside);
    let Ok(text) = std::fs::read_to_string(format!("{folder}/bookies_c.csv")) else {
        println!("bookies_c.csv is not beside the repository; see CONSILIENCE_DATA");
        return Ok(());
    };
    let row = |line: &str| -> Row {
        let (label, values) = line.split_once(',').expect("rows have cells");
        (label.into(), values.split(',').map(|v| v.parse().expect("numbers")).collect())
    };
    let rows: Vec<Row> = text.lines().skip(1).map(row).collect();
    println!("split,method,log_loss,unresolved");
    let mut all = Vec::<(String, Vec<f64>)>::new();
    for seed in 0..splits as u64 {
        let (train, test) = split(&rows, seed)?;
        for (name, loss, unresolved) in one_split(&train, &test)? {
            println!("{seed},{name},{loss:.4},{unresolved}");
            match all.iter_mut().find(|entry| entry.0 == name) {
                Some(entry) => entry.1.push(loss),
                None => all.push((name, vec![loss])),
            }
        }
    }
    all.iter().for_each(|(name, losses)| println!("mean,{name},{:.4},", mean(losses)));
    Ok(())
}

fn one_split(train: &Outputs, test: &Outputs) -> Result<Vec<(String, f64, usize)>> {
    let methods = [
        ("independent", MethodConfig::from(Independent::default())),
        ("tree", quick(Structure::Tree).into()),
        ("full", quick(Structure::Full).into()),
    ];
    let mut found = Vec::new();
    for (name, method) in methods {
        let model = method.fit(train)?;
        let fused = fuse(model.fusion(), test, &ClassPrior::uniform(3))?;
        let unresolved = (0..test.n_items()).filter(|i| fused.error(*i) >= 1.0).count();
        found.push((name.to_string(), mean(&losses(model.fusion(), test)?), unresolved));
        if name == "independent" {
            for meta in model.meta_classifiers()? {
                use consilience::methods::Fusion;
                let own = mean(&losses(&meta, &test.select(meta.schema())?)?);
                found.push((format!("meta:{}", meta.schema().classifiers()[0]), own, 0));
            }
        }
    }
    Ok(found)
}

fn split(rows: &[Row], seed: u64) -> Result<(Outputs, Outputs)> {
    let classes = ["H", "D", "A"];
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let mut chosen = vec![false; rows.len()];
    for class in classes {
        let own = order.iter().filter(|i| rows[**i].0 == class).take(20);
        own.for_each(|i| chosen[*i] = true);
    }
    let schema = Arc::new(Schema::new(["BW", "IW", "VC"], classes)?);
    let part = |test: bool| -> Result<Outputs> {
        let mut builder = OutputsBuilder::new(Arc::clone(&schema), InputFormat::default())?;
        for (i, (label, values)) in rows.iter().enumerate() {
            if chosen[i] == test {
                builder.push(values, Some(label))?;
            }
        }
        Ok(builder.finish())
    };
    Ok((part(false)?, part(true)?))
}
