//! Coverage of the intervals of class shares.

use std::sync::Arc;

use consilience::evaluation::{Interval, Prevalence, PrevalenceTarget, prevalence};
use consilience::methods::Method;
use consilience::methods::independent::IndependentFusion;
use consilience::simulation::{Preset, Truth};
use consilience::{ClassPrior, InputFormat, Model, NoProgress, Outputs, OutputsBuilder, Result};
use consilience_numerics::parallel;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::{alpha_of, mean};

/// Shares of the three classes in the population.
const SHARES: [f64; 3] = [0.57, 0.4, 0.03];

/// Items of a table.
const ITEMS: usize = 1000;

/// Numbers of labelled items.
const LABELLED: [usize; 6] = [0, 10, 30, 100, 300, 1000];

/// Coverage over `replications` simulated tables of every setting.
pub(super) fn run(replications: usize) -> Result<()> {
    println!("predictions,items,labelled,estimate,target,share,coverage_95,mean_width");
    for (name, correlation, uniform) in [
        ("calibrated", 0.0, false),
        ("overconfident", 0.9, false),
        ("uniform class prior", 0.0, true),
    ] {
        let truth = Preset::Sim2.truth(correlation)?;
        let prior = if uniform { ClassPrior::uniform(3) } else { ClassPrior::new(&SHARES)? };
        let rule = IndependentFusion::new(Arc::clone(truth.schema()), alpha_of(&truth))?;
        let model = Model::new(Method::Independent(rule), prior)?;
        for labelled in LABELLED {
            let all =
                parallel::map(replications, |r| replication(&model, &truth, labelled, r as u64));
            print((name, labelled), &all.into_iter().collect::<Result<Vec<_>>>()?);
        }
    }
    Ok(())
}

/// The shares of the population and of the items, with the true shares of the items.
type Replication = ([Prevalence; 2], [f64; 3]);

fn replication(model: &Model, truth: &Truth, labelled: usize, seed: u64) -> Result<Replication> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let pool = truth.simulate(ITEMS, seed)?;
    let mut builder = OutputsBuilder::new(Arc::clone(truth.schema()), InputFormat::default())?;
    let mut counts = [0usize; 3];
    for item in 0..ITEMS {
        let u: f64 = rng.random();
        let class = usize::from(u > SHARES[0]) + usize::from(u > SHARES[0] + SHARES[1]);
        // The pool has its items class by class.
        push(
            &mut builder,
            &pool,
            class * ITEMS + counts[class],
            (item < labelled).then_some(class),
        )?;
        counts[class] += 1;
    }
    let outputs = builder.finish();
    let shares = |target| {
        prevalence(model, model.fusion(), &outputs, model.class_prior(), target, &NoProgress)
    };
    let found = [shares(PrevalenceTarget::Population)?, shares(PrevalenceTarget::Items)?];
    Ok((found, counts.map(|n| n as f64 / ITEMS as f64)))
}

fn push(
    builder: &mut OutputsBuilder,
    pool: &Outputs,
    item: usize,
    class: Option<usize>,
) -> Result<()> {
    let output = |k: usize| pool.output(item, k).expect("simulated outputs are complete");
    let row: Vec<f64> = (0..pool.schema().n_classifiers()).flat_map(output).copied().collect();
    builder.push(&row, class.map(|class| pool.schema().classes()[class].as_str()))
}

fn print((name, labelled): (&str, usize), all: &[Replication]) {
    for (target, target_name) in ["population", "items"].into_iter().enumerate() {
        for (class, share) in SHARES.into_iter().enumerate() {
            let row = |estimate: &str, of: &dyn Fn(&Prevalence) -> Option<Interval>| {
                let each = all.iter().filter_map(|(found, own)| {
                    let Interval { low, high, .. } = of(&found[target])?;
                    let truth = if target == 0 { share } else { own[class] };
                    Some((f64::from(u8::from(low <= truth && truth <= high)), high - low))
                });
                let (hits, widths): (Vec<f64>, Vec<f64>) = each.unzip();
                if !hits.is_empty() {
                    println!(
                        "{name},{ITEMS},{labelled},{estimate},{target_name},{share},{:.3},{:.4}",
                        mean(&hits),
                        mean(&widths)
                    );
                }
            };
            if labelled == 0 {
                row("by the model", &|found| Some(found.classes[class].by_model));
            }
            row("corrected", &|found| found.classes[class].corrected);
        }
    }
}
