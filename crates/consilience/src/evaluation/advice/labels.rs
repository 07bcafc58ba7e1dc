//! Which items to label next: the batch whose labels are expected to reduce the log-loss most.
//!
//! What a label can still teach is described by a log-linear correction of the fused prediction p,
//!
//! ```text
//! P(t|x) ∝ pₜ exp(bₜ + Σₖ uₖ sₖ gᵏₜ),   u, b ~ N(0, 1)
//! ```
//!
//! with g the centred logarithms of the outputs (0 where an output is missing) and sₖ = min(1,
//! 1/rms gᵏ). It is linearised at u = b = 0 (Laplace's approximation). With the rows Uₜ = √pₜ (Zₜ −
//! Σ p Z) of an item's scaled Jacobian, a label adds `UᵀU` to the precision of (u, b), whatever class
//! it turns out to be. Let S be the covariance given the labels that there are, and M the mean of
//! `UᵀU` over all items. The mean log-loss exceeds the smallest possible one by ½ tr(SM), and the label
//! of item i is expected to reduce it by
//!
//! ```text
//! ½ tr[(I + U S Uᵀ)⁻¹ U S M S Uᵀ]
//! ```
//!
//! Items are chosen greedily, each given those before, so that a batch does not repeat itself.

use nalgebra::DMatrix;
use serde::Serialize;

use crate::data::class_prior::ClassPrior;
use crate::data::outputs::{Items, Outputs};
use crate::error::Result;
use crate::methods::{Fused, Fusion, fuse_with};
use crate::progress::Progress;
use consilience_numerics::parallel;
use consilience_numerics::simplex;

/// Outputs are raised to this before logarithms are taken, as by the layers of `auto`.
const FLOOR: f64 = 1e-3;

/// Smallest fused probability in the Jacobian.
const SMALLEST: f64 = 1e-9;

/// Items per task of one thread.
const PER_TASK: usize = 1024;

/// Items among which a batch is chosen: those with the largest reductions by themselves, this many,
/// or this many per item of the batch.
const SHORTLIST: usize = 1000;
const SHORTLIST_PER_ITEM: usize = 20;

/// An item to label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemToLabel {
    /// Its place in the table, from 0.
    pub item: usize,
    /// Expected reduction of the mean log-loss, in nats, once the items before it in the list have
    /// labels.
    pub reduction: f64,
    /// The most probable class.
    pub predicted: String,
    /// Fused probabilities of the classes.
    pub probabilities: Vec<f64>,
}

/// Items to label next, in order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelAdvice {
    /// Number of items with a label.
    pub n_labelled: usize,
    /// Number of items without one.
    pub n_unlabelled: usize,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Expected reduction of the mean log-loss by labels for all items of the list, in nats.
    pub reduction: f64,
    /// The same for as many items chosen at random.
    pub random_reduction: f64,
    /// The items, the most useful first.
    pub next: Vec<ItemToLabel>,
}

/// Chooses `wanted` of the items without a label; fewer if there are not so many.
///
/// `fusion` is the model's own or its posterior predictive. The expected reductions rest on the
/// log-linear correction above and are best read as a ranking.
///
/// # Example
/// ```
/// use consilience::evaluation::advise_labels;
/// use consilience::{Auto, InputFormat, NoProgress, OutputsBuilder, Schema};
///
/// let schema = Schema::new(["a", "b"], ["x", "y"])?;
/// let mut items = OutputsBuilder::new(schema, InputFormat::default())?;
/// for (p, label) in [(0.9, Some("x")), (0.2, Some("y")), (0.99, None), (0.6, None)] {
///     items.push(&[p, 1.0 - p, 1.0 - p / 2.0, p / 2.0], label)?;
/// }
/// let items = items.finish();
/// let model = Auto::default().fit(&items)?;
/// let advice = advise_labels(model.fusion(), &items, model.class_prior(), 1, &NoProgress)?;
/// assert!(items.label(advice.next[0].item).is_none());
/// assert!(advice.reduction >= advice.random_reduction && advice.random_reduction > 0.0);
/// # Ok::<(), consilience::Error>(())
/// ```
pub fn advise_labels(
    fusion: &dyn Fusion,
    outputs: &Outputs,
    prior: &ClassPrior,
    wanted: usize,
    progress: &dyn Progress,
) -> Result<LabelAdvice> {
    let outputs = outputs.select(fusion.schema())?;
    let fused = fuse_with(fusion, &outputs, prior, progress)?;
    let design = Design { items: outputs.all(), fused: &fused, scales: scales(&outputs.all()) };
    let unlabelled = |item: &usize| outputs.label(*item).is_none();
    let candidates: Vec<usize> = (0..outputs.n_items()).filter(unlabelled).collect();
    let wanted = wanted.min(candidates.len());
    progress.begin("choosing items to label", 3 + wanted as u64);
    let (all, of_labelled) = design.information(&outputs, progress)?;
    let n_items = outputs.n_items().max(1) as f64;
    let of_unlabelled = (&all - &of_labelled) / (candidates.len().max(1) as f64);
    let identity = DMatrix::identity(all.nrows(), all.nrows());
    let precision = identity + of_labelled;
    let mut state = State { covariance: inverse(&precision), mean: all / n_items };
    let before = state.excess();
    let at_random = precision + of_unlabelled * wanted as f64;
    let random = State { covariance: inverse(&at_random), mean: state.mean.clone() };
    let random_reduction = before - random.excess();
    let shortlist = design.shortlist(&candidates, wanted, &state, progress)?;
    let chosen = design.batch(shortlist, wanted, &mut state, progress)?;
    let classes = outputs.schema().classes();
    let item = |&(item, reduction): &(usize, f64)| ItemToLabel {
        item,
        reduction,
        predicted: classes[fused.predicted(item)].clone(),
        probabilities: fused.probabilities(item).to_vec(),
    };
    Ok(LabelAdvice {
        n_labelled: outputs.n_labelled(),
        n_unlabelled: candidates.len(),
        classes: classes.to_vec(),
        reduction: before - state.excess(),
        random_reduction,
        next: chosen.iter().map(item).collect(),
    })
}

/// What is known about the correction.
struct State {
    /// S.
    covariance: DMatrix<f64>,
    /// M.
    mean: DMatrix<f64>,
}

impl State {
    /// ½ tr(SM).
    fn excess(&self) -> f64 {
        0.5 * self.covariance.component_mul(&self.mean).sum()
    }

    /// The expected reduction by the label of an item with these rows.
    fn reduction(&self, rows: &DMatrix<f64>) -> f64 {
        let spread = rows * &self.covariance;
        let gain = &spread * &self.mean * spread.transpose();
        0.5 * (inverse(&self.noise(rows, &spread)) * gain).trace()
    }

    /// Adds the label of an item.
    fn add(&mut self, rows: &DMatrix<f64>) {
        let spread = rows * &self.covariance;
        let change = spread.transpose() * inverse(&self.noise(rows, &spread)) * &spread;
        self.covariance -= change;
    }

    /// I + U S Uᵀ.
    #[allow(clippy::unused_self, reason = "reads as a formula of the state")]
    fn noise(&self, rows: &DMatrix<f64>, spread: &DMatrix<f64>) -> DMatrix<f64> {
        DMatrix::identity(rows.nrows(), rows.nrows()) + spread * rows.transpose()
    }
}

/// The inverse of a positive definite matrix.
fn inverse(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    crate::sampling::factorise(matrix).inverse()
}

/// The scaled Jacobians of all items.
struct Design<'a> {
    items: Items<'a>,
    fused: &'a Fused,
    /// sₖ.
    scales: Vec<f64>,
}

impl Design<'_> {
    /// U of one item, J × (K + J).
    fn rows(&self, item: usize) -> DMatrix<f64> {
        let (k, j) = (self.items.n_classifiers(), self.items.n_classes());
        let mut rows = DMatrix::zeros(j, k + j);
        for (source, output) in self.items.present(item) {
            let logs = centred_logs(output);
            logs.iter().enumerate().for_each(|(t, g)| rows[(t, source)] = self.scales[source] * g);
        }
        (0..j).for_each(|t| rows[(t, k + t)] = 1.0);
        let mut p = self.fused.probabilities(item).to_vec();
        simplex::raise_to_floor(&mut p, SMALLEST);
        for mut column in rows.column_iter_mut() {
            let mean: f64 = column.iter().zip(&p).map(|(z, p)| p * z).sum();
            column.iter_mut().zip(&p).for_each(|(z, p)| *z = p.sqrt() * (*z - mean));
        }
        rows
    }

    /// The sums of `UᵀU` over all items and over the labelled ones.
    fn information(
        &self,
        outputs: &Outputs,
        progress: &dyn Progress,
    ) -> Result<(DMatrix<f64>, DMatrix<f64>)> {
        let width = self.items.n_classifiers() + self.items.n_classes();
        let sums = |items: std::ops::Range<usize>| {
            progress.check()?;
            let zero = DMatrix::zeros(width, width);
            let (mut all, mut labelled) = (zero.clone(), zero);
            for item in items {
                let rows = self.rows(item);
                let own = rows.transpose() * rows;
                if outputs.label(item).is_some() {
                    labelled += &own;
                }
                all += own;
            }
            Ok((all, labelled))
        };
        let n = self.items.len();
        let tasks = n.div_ceil(PER_TASK).max(1);
        let parts = parallel::map(tasks, |i| sums(i * PER_TASK..((i + 1) * PER_TASK).min(n)));
        let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
        progress.advance(1);
        Ok(parts.into_iter().reduce(|a, b| (a.0 + b.0, a.1 + b.1)).expect("at least one task"))
    }

    /// The candidates with the largest reductions by themselves, in the order of the table.
    fn shortlist(
        &self,
        candidates: &[usize],
        wanted: usize,
        state: &State,
        progress: &dyn Progress,
    ) -> Result<Vec<usize>> {
        let length = SHORTLIST.max(SHORTLIST_PER_ITEM.saturating_mul(wanted));
        progress.advance(1);
        if candidates.len() <= length || wanted == 0 {
            return Ok(candidates.to_vec());
        }
        let chunks: Vec<&[usize]> = candidates.chunks(PER_TASK).collect();
        let reductions = parallel::map(chunks.len(), |i| {
            progress.check()?;
            let reduction = |item: &usize| (*item, state.reduction(&self.rows(*item)));
            Ok(chunks[i].iter().map(reduction).collect::<Vec<_>>())
        });
        let reductions = reductions.into_iter().collect::<Result<Vec<_>>>()?;
        let mut ranked = reductions.concat();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut kept: Vec<usize> = ranked[..length].iter().map(|(item, _)| *item).collect();
        kept.sort_unstable();
        progress.advance(1);
        Ok(kept)
    }

    /// Chooses items one after another, each given those before; with their reductions.
    fn batch(
        &self,
        mut candidates: Vec<usize>,
        wanted: usize,
        state: &mut State,
        progress: &dyn Progress,
    ) -> Result<Vec<(usize, f64)>> {
        let mut chosen = Vec::with_capacity(wanted);
        for _ in 0..wanted {
            progress.check()?;
            let known = &*state;
            let chunks: Vec<&[usize]> = candidates.chunks(PER_TASK / 4).collect();
            let parts = parallel::map(chunks.len(), |i| {
                let reduction = |item: &usize| known.reduction(&self.rows(*item));
                chunks[i].iter().map(reduction).collect::<Vec<f64>>()
            });
            let reductions = parts.concat();
            // The first of several equal items.
            let best = (0..reductions.len())
                .rev()
                .max_by(|a, b| reductions[*a].total_cmp(&reductions[*b]));
            let best = best.expect("there are at least as many candidates as are wanted");
            let item = candidates.remove(best);
            chosen.push((item, reductions[best]));
            state.add(&self.rows(item));
            progress.advance(1);
        }
        Ok(chosen)
    }
}

/// ln x after the floor, with mean 0.
fn centred_logs(output: &[f64]) -> Vec<f64> {
    let mut logs = output.to_vec();
    simplex::raise_to_floor(&mut logs, FLOOR.min(0.1 / output.len() as f64));
    logs.iter_mut().for_each(|x| *x = x.ln());
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    logs.iter_mut().for_each(|x| *x -= mean);
    logs
}

/// min(1, 1/rms) of every source's centred logarithms: the prior standard deviation of an exponent
/// that moves a prediction by about 1.
fn scales(items: &Items<'_>) -> Vec<f64> {
    let k = items.n_classifiers();
    let (mut squares, mut counts) = (vec![0.0; k], vec![0.0; k]);
    for item in 0..items.len() {
        for (source, output) in items.present(item) {
            squares[source] += centred_logs(output).iter().map(|g| g * g).sum::<f64>();
            counts[source] += output.len() as f64;
        }
    }
    let scale = |(square, count): (&f64, &f64)| {
        if *square > *count { (count / square).sqrt() } else { 1.0 }
    };
    squares.iter().zip(&counts).map(scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case by hand: one parameter, u, two classes with p = ½ and g = ±1, so that `UᵀU` = 1. With
    /// S = 1 and M = 1 a label leaves the variance ½; the excess log-loss falls from ½ to ¼.
    #[test]
    fn a_label_halves_the_variance_of_a_parameter_with_unit_information() {
        let half = 0.5f64.sqrt();
        let rows = DMatrix::from_row_slice(2, 1, &[half, -half]);
        let mut state =
            State { covariance: DMatrix::identity(1, 1), mean: DMatrix::identity(1, 1) };
        assert!((state.excess() - 0.5).abs() < 1e-12);
        assert!((state.reduction(&rows) - 0.25).abs() < 1e-12);
        state.add(&rows);
        assert!((state.covariance[(0, 0)] - 0.5).abs() < 1e-12);
        assert!((state.excess() - 0.25).abs() < 1e-12);
    }
}
