//! Bookies C with the paper's protocol: 20 test items per class, all others for training, uniform class prior.

use consilience::methods::correlated::Structure;
use consilience::methods::independent::Independent;
use consilience::methods::{Fusion, fuse};
use consilience::{ClassPrior, MethodConfig, Outputs, Result};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use super::{losses, mean, quick};
use crate::output::note;
use crate::{Failure, data};

pub(super) fn run(splits: usize, quick: bool) -> Result<(), Failure> {
    let Some(folder) = data::folder(None) else {
        note(format_args!("warning: {}", data::MISSING));
        return Ok(());
    };
    let all_items = data::read("bookies_c", &folder)?;
    let every = if quick { 20 } else { 1 };
    let outputs =
        all_items.select_items(&(0..all_items.n_items()).step_by(every).collect::<Vec<_>>());
    println!("split,method,log_loss,unresolved");
    let mut all = Vec::<(String, Vec<f64>)>::new();
    for seed in 0..splits as u64 {
        let (train, test) = split(&outputs, seed);
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
                let own = mean(&losses(&meta, &test.select(meta.schema())?)?);
                found.push((format!("meta:{}", meta.schema().classifiers()[0]), own, 0));
            }
        }
    }
    Ok(found)
}

/// Training items, and 20 test items per class.
fn split(outputs: &Outputs, seed: u64) -> (Outputs, Outputs) {
    let mut order: Vec<usize> = (0..outputs.n_items()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let mut chosen = vec![false; order.len()];
    for class in 0..outputs.schema().n_classes() {
        let own = order.iter().filter(|i| outputs.label(**i) == Some(class)).take(20);
        own.for_each(|i| chosen[*i] = true);
    }
    let part = |test: bool| {
        let items: Vec<usize> = (0..chosen.len()).filter(|&i| chosen[i] == test).collect();
        outputs.select_items(&items)
    };
    (part(false), part(true))
}
