//! What the members of the mixture are fitted to.

use super::evidence::{Evidence, fill_with_mean};
use crate::data::outputs::Outputs;
use crate::error::Result;
use crate::math::columns::{add_scaled, dot, exp_all, set_products};
use crate::methods::regression::{Blocks, ItemBlock, Loader, Picked, Source};
use crate::methods::stacking::{Filler, LabelledItems};
use crate::progress::Progress;

/// The labelled items and how their features are computed.
pub(super) struct Features<'a> {
    pub(super) training: &'a LabelledItems<'a>,
    pub(super) filler: &'a Filler,
    pub(super) means: &'a MeanOutputs,
    /// None if no member reads evidence.
    pub(super) evidence: Option<&'a Evidence>,
}

/// min(1, 1/rms) of the features over items and classes: the prior standard deviations of coefficients that move a
/// predictor by about 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scales {
    /// Of every source.
    pub(super) outputs: Vec<f64>,
    pub(super) evidence: Vec<f64>,
    pub(super) pool: f64,
}

/// The mean output πᵏ of every classifier over all items, labelled or not, and their mean π.
pub(super) struct MeanOutputs {
    /// ln πᵏₜ at k·J + t.
    pub(super) ln_each: Vec<f64>,
    /// ln πₜ.
    pub(super) ln_all: Vec<f64>,
    /// The classifiers in an order that depends on neither their place nor their names.
    pub(super) order: Vec<usize>,
}

/// The smallest mean probability of a class: of one classifier, and of all.
const SMALLEST_MEAN: f64 = 1e-6;
const SMALLEST_COMMON_MEAN: f64 = 1e-4;

impl MeanOutputs {
    pub(super) fn of(outputs: &Outputs) -> Self {
        let (k, j) = (outputs.schema().n_classifiers(), outputs.schema().n_classes());
        let items = outputs.all();
        let (mut sums, mut counts, mut squares) = (vec![0.0; k * j], vec![0.0; k], vec![0.0; k]);
        for item in 0..items.len() {
            let weight = outputs.weight(item);
            for (c, output) in items.present(item) {
                counts[c] += weight;
                squares[c] += weight * output.iter().map(|x| x * x).sum::<f64>();
                let sums = sums[c * j..][..j].iter_mut().zip(output);
                sums.for_each(|(sum, x)| *sum += weight * x);
            }
        }
        for (c, count) in counts.iter().enumerate() {
            let means = &mut sums[c * j..][..j];
            means
                .iter_mut()
                .for_each(|sum| *sum = if *count > 0.0 { *sum / count } else { 1.0 / j as f64 });
            squares[c] /= count.max(f64::MIN_POSITIVE);
        }
        let mean = |t: usize| sums.iter().skip(t).step_by(j).sum::<f64>() / k as f64;
        let mut common: Vec<f64> = (0..j).map(|t| mean(t).max(SMALLEST_COMMON_MEAN)).collect();
        consilience_numerics::simplex::normalise(&mut common);
        let mut order: Vec<usize> = (0..k).collect();
        order.sort_by(|a, b| squares[*a].total_cmp(&squares[*b]));
        Self {
            ln_each: sums.iter().map(|mean| mean.max(SMALLEST_MEAN).ln()).collect(),
            ln_all: common.iter().map(|mean| mean.ln()).collect(),
            order,
        }
    }

    /// Σₖ uₖ ln πᵏₜ for every class, negative: the bias of a rule with these exponents of outputs.
    pub(super) fn bias(&self, exponents: &[f64]) -> Vec<f64> {
        let j = self.ln_all.len();
        let of_class = |t: usize| {
            let logs = self.ln_each.iter().skip(t).step_by(j);
            -logs.zip(exponents).map(|(ln, u)| u * ln).sum::<f64>()
        };
        (0..j).map(of_class).collect()
    }
}

/// The smallest class size (harmonic mean) with which evidence is a feature.
const FEWEST_FOR_EVIDENCE: f64 = 1.5;

impl<'a> Features<'a> {
    pub(super) fn new(
        training: &'a LabelledItems<'a>,
        filler: &'a Filler,
        means: &'a MeanOutputs,
        evidence: &'a Evidence,
    ) -> Self {
        let plain = Self { training, filler, means, evidence: None };
        let evidence = (plain.class_size() >= FEWEST_FOR_EVIDENCE).then_some(evidence);
        Self { evidence, ..plain }
    }

    fn shape(&self) -> (usize, usize) {
        let schema = self.training.schema();
        (schema.n_classifiers(), schema.n_classes())
    }

    /// The harmonic mean of the class sizes, none below one half.
    pub(super) fn class_size(&self) -> f64 {
        let weights = &self.training.class_weights;
        weights.len() as f64 / weights.iter().map(|weight| 1.0 / weight.max(0.5)).sum::<f64>()
    }

    /// xᵏₜ after the floor; gᵏₜ − ln πᵏₜ, centred over t: what an output adds to the prior that it contains; and its
    /// mean over the sources.
    fn load_outputs(&self, block: &mut ItemBlock) {
        let ((k, j), stride) = (self.shape(), block.stride);
        block.probabilities.resize(k * j * stride);
        block.probabilities.copy_from_slice(&block.logs);
        exp_all(&mut block.probabilities);
        block.outputs.resize(k * j * stride);
        block.outputs.copy_from_slice(&block.logs);
        for (column, ln) in block.outputs.chunks_exact_mut(stride).zip(&self.means.ln_each) {
            column.iter_mut().for_each(|g| *g -= ln);
        }
        block.pool.resize(j * stride);
        block.pool.fill(0.0);
        for output in block.outputs.chunks_exact_mut(j * stride) {
            centre_columns(output, stride);
            add_scaled(&mut block.pool, 1.0 / k as f64, output);
        }
    }

    /// Dᵏₜ by a Dirichlet that has not seen the item, centred over t. An absent source has the mean of those present.
    fn load_evidence(&self, own: &Evidence, loaded: &[f64], picked: Picked, block: &mut ItemBlock) {
        let ((k, j), stride) = (self.shape(), block.stride);
        block.evidence.resize(loaded.len());
        block.evidence.copy_from_slice(loaded);
        let n = block.labels.len();
        for (i, (label, item)) in block.labels.iter().zip(picked.items()).enumerate() {
            let left_out = &own.left_out[item * k..][..k];
            for (source, value) in left_out.iter().enumerate() {
                block.evidence[(source * j + *label as usize) * stride + i] = *value;
            }
        }
        for column in block.evidence.chunks_exact_mut(stride) {
            column[n..].fill(0.0);
        }
        for evidence in block.evidence.chunks_exact_mut(j * stride) {
            centre_columns(evidence, stride);
        }
        for (i, present) in block.present.chunks_exact(k).enumerate() {
            if present.contains(&false) {
                let column = block.evidence.iter_mut().skip(i).step_by(stride);
                fill_with_mean(present, column);
            }
        }
    }

    /// The scales of all features.
    pub(super) fn scales(&self, blocks: &Blocks<'_>, progress: &dyn Progress) -> Result<Scales> {
        let (k, j) = self.shape();
        let new = || (vec![0.0; 2 * k + 1], Vec::new());
        let pieces = blocks.pieces(k, progress, new, |block, (sums, scaled)| {
            scaled.resize(block.stride, 0.0);
            let mut square = |values: &[f64]| -> f64 {
                let columns = values.chunks_exact(block.stride);
                let own = columns.map(|column| {
                    set_products(scaled, column, &block.weights);
                    dot(scaled, column)
                });
                own.sum()
            };
            let sources = block.outputs.chunks_exact(j * block.stride);
            let evidence = block.evidence.chunks_exact(j * block.stride);
            sums.iter_mut().zip(sources).for_each(|(sum, own)| *sum += square(own));
            sums[k..].iter_mut().zip(evidence).for_each(|(sum, own)| *sum += square(own));
            sums[2 * k] += square(&block.pool);
        })?;
        let mut sums = vec![0.0; 2 * k + 1];
        for (piece, _) in pieces {
            sums.iter_mut().zip(piece).for_each(|(sum, own)| *sum += own);
        }
        let total = self.training.total_weight() * j as f64;
        let scale = |sum: &f64| f64::min(1.0, 1.0 / (sum / total + 1e-12).sqrt());
        Ok(Scales {
            outputs: sums[..k].iter().map(scale).collect(),
            evidence: sums[k..2 * k].iter().map(scale).collect(),
            pool: scale(&sums[2 * k]),
        })
    }
}

impl Source for Features<'_> {
    fn items(&self) -> &Outputs {
        &self.training.outputs
    }

    fn width(&self) -> usize {
        let (k, j) = self.shape();
        (3 + usize::from(self.evidence.is_some())) * k * j + j
    }

    fn is_slow(&self) -> bool {
        self.filler.is_slow() && self.items().any_missing()
    }

    fn load(&self, picked: Picked, loader: &mut Loader, block: &mut ItemBlock) {
        loader.load_logs(&self.training.outputs, self.filler, picked, block, |block| {
            if let Some(evidence) = self.evidence {
                block.load_evidence(evidence.dirichlets.evidence());
            }
        });
        self.load_outputs(block);
        if let Some(evidence) = self.evidence {
            let (_, features) = loader.block.with_features();
            self.load_evidence(evidence, features.evidence, picked, block);
        }
    }
}

/// Subtracts the mean over columns from every item.
fn centre_columns(columns: &mut [f64], stride: usize) {
    let mut mean = vec![0.0; stride];
    let n = (columns.len() / stride) as f64;
    columns.chunks_exact(stride).for_each(|column| add_scaled(&mut mean, 1.0 / n, column));
    columns.chunks_exact_mut(stride).for_each(|column| add_scaled(column, -1.0, &mean));
}

/// Subtracts the mean.
pub(super) fn centre(values: &mut [f64]) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter_mut().for_each(|value| *value -= mean);
}
