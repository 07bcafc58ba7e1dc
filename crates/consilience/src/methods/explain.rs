//! The contribution of each classifier to each item.

use super::rows::in_blocks;
use super::{Fusion, Rows, Source, check_schema};
use crate::data::class_prior::ClassPrior;
use crate::data::outputs::Outputs;
use crate::error::Result;
use crate::progress::Progress;

/// The evidence that each classifier adds given all others, in nats: n × K × J.
///
/// ```text
/// eₖⱼ = ln P(t=j|x) − ln P(t=j|x without xᵏ),   centred over the classes j
/// ```
///
/// Only differences between classes matter, so the values are centred over the classes. Under a
/// model of independent classifiers this is each classifier's own evidence; under a model of
/// correlated classifiers, evidence that the others give already is not counted again. A missing
/// classifier adds 0.
pub fn explain(
    fusion: &dyn Fusion,
    outputs: &Outputs,
    prior: &ClassPrior,
    progress: &dyn Progress,
) -> Result<Vec<f64>> {
    check_schema(fusion, outputs.schema())?;
    let (n_classifiers, n_classes) =
        (outputs.schema().n_classifiers(), outputs.schema().n_classes());
    let all = ln_joints(fusion, outputs, prior, progress)?;
    let mut evidence = vec![0.0; all.len() * n_classifiers];
    for k in 0..n_classifiers {
        let rest = ln_joints(fusion, &outputs.without(k), prior, progress)?;
        for item in (0..outputs.n_items()).filter(|item| outputs.output(*item, k).is_some()) {
            let own = item * n_classes..(item + 1) * n_classes;
            let cells = &mut evidence[(item * n_classifiers + k) * n_classes..][..n_classes];
            for (cell, (with, without)) in
                cells.iter_mut().zip(all[own.clone()].iter().zip(&rest[own]))
            {
                *cell = with - without;
            }
            let mean = cells.iter().sum::<f64>() / n_classes as f64;
            cells.iter_mut().for_each(|cell| *cell -= mean);
        }
    }
    Ok(evidence)
}

/// Unnormalised log posteriors, n × J.
fn ln_joints(
    fusion: &dyn Fusion,
    outputs: &Outputs,
    prior: &ClassPrior,
    progress: &dyn Progress,
) -> Result<Vec<f64>> {
    let mut values = vec![0.0; outputs.n_items() * outputs.schema().n_classes()];
    let rows = Rows { values: &mut values, errors: None };
    in_blocks(fusion, Source::Checked(outputs), rows, |items, block| {
        fusion.compute(items, Some(prior), block, progress)
    })?;
    Ok(values)
}
