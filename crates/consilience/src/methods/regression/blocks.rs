//! Blocks of training items.

use crate::data::outputs::{Items, Outputs};
use crate::error::Result;
use crate::math::aligned::AlignedBuffer;
use crate::math::thinning::item_of_stretch;
use crate::math::transpose::LANES;
use crate::methods::Block;
use crate::methods::stacking::{Filler, linear_floor};
use crate::progress::Progress;
use consilience_numerics::parallel;

/// The features of some training items: columns of one number per item, padded to whole vectors. Items of the padding
/// have the weight 0.
#[derive(Debug, Default)]
pub(in crate::methods) struct ItemBlock {
    pub(in crate::methods) stride: usize,
    /// The class of every item; as many as there are items.
    pub(in crate::methods) labels: Vec<u32>,
    pub(in crate::methods) weights: AlignedBuffer,
    /// gᵏₜ at column k·J + t: logarithms of outputs after the floor, absent ones filled in.
    pub(in crate::methods) logs: AlignedBuffer,
    /// Further features of `auto`, with the same columns; empty for other methods.
    pub(in crate::methods) outputs: AlignedBuffer,
    pub(in crate::methods) evidence: AlignedBuffer,
    pub(in crate::methods) probabilities: AlignedBuffer,
    /// The mean of `outputs` over the sources: J columns.
    pub(in crate::methods) pool: AlignedBuffer,
    /// Whether a source is present, at item · K + k; empty if all of them are.
    pub(in crate::methods) present: Vec<bool>,
}

/// One item of each of `n` stretches of `step` consecutive items; `first` is the number of the first stretch.
#[derive(Debug, Clone, Copy)]
pub(in crate::methods) struct Picked {
    pub(in crate::methods) first: usize,
    pub(in crate::methods) step: usize,
    pub(in crate::methods) n: usize,
}

impl Picked {
    /// The items in order.
    pub(in crate::methods) fn items(self) -> impl Iterator<Item = usize> {
        (self.first..self.first + self.n).map(move |stretch| item_of_stretch(stretch, self.step))
    }
}

/// Labelled items whose features can be loaded.
pub(in crate::methods) trait Source: Sync {
    /// The items; each has a label and an output.
    fn items(&self) -> &Outputs;

    /// Doubles that the features of one item take.
    fn width(&self) -> usize;

    /// Whether loading takes so long that features are kept however many there are.
    fn is_slow(&self) -> bool;

    /// Loads some items.
    fn load(&self, picked: Picked, loader: &mut Loader, block: &mut ItemBlock);
}

/// Buffers for loading blocks, reused from block to block.
#[derive(Debug, Default)]
pub(in crate::methods) struct Loader {
    /// Logarithms and evidence, before absent sources are filled in.
    pub(in crate::methods) block: Block,
    /// Outputs of items that are not consecutive.
    rows: Vec<f64>,
}

impl Loader {
    /// The outputs of some items, item by item.
    pub(in crate::methods) fn rows<'a>(
        rows: &'a mut Vec<f64>,
        outputs: &'a Outputs,
        picked: Picked,
    ) -> Items<'a> {
        if picked.step == 1 {
            return outputs.items(picked.first..picked.first + picked.n);
        }
        rows.clear();
        for item in picked.items() {
            rows.extend_from_slice(outputs.items(item..item + 1).values());
        }
        Items::new(outputs.schema(), rows, outputs.any_missing())
    }

    /// Loads labels, weights and logarithms; `evidence` is called with the logarithms before the floor.
    pub(in crate::methods) fn load_logs(
        &mut self,
        outputs: &Outputs,
        filler: &Filler,
        picked: Picked,
        item_block: &mut ItemBlock,
        evidence: impl FnOnce(&mut Block),
    ) {
        let items = Self::rows(&mut self.rows, outputs, picked);
        let block = &mut self.block;
        block.reset(&items);
        block.load_logs(&items);
        evidence(block);
        block.raise_logs(&items, linear_floor(items.n_classes()));
        item_block.resize(outputs, picked);
        let (_, _, logs) = block.with_logs();
        item_block.logs.resize(logs.all().len());
        item_block.logs.copy_from_slice(logs.all());
        item_block.clear_padding();
        item_block.present.clear();
        if items.any_missing() {
            for item in 0..items.len() {
                let present = |k| items.output(item, k).is_some();
                item_block.present.extend((0..items.n_classifiers()).map(present));
            }
            item_block.fill(filler);
        }
    }
}

impl ItemBlock {
    fn resize(&mut self, outputs: &Outputs, picked: Picked) {
        self.stride = picked.n.next_multiple_of(LANES);
        self.labels.clear();
        let label = |item| outputs.label(item).and_then(|label| u32::try_from(label).ok());
        let labels = picked.items().map(|item| label(item).expect("all items have labels"));
        self.labels.extend(labels);
        self.weights.resize(self.stride);
        self.weights.fill(0.0);
        for (weight, item) in self.weights.iter_mut().zip(picked.items()) {
            *weight = outputs.weight(item);
        }
    }

    /// Fills in the logarithms of absent sources.
    fn fill(&mut self, filler: &Filler) {
        let (n, stride) = (self.labels.len(), self.stride);
        let n_sources = self.present.len() / n.max(1);
        for (item, present) in self.present.chunks_exact(n_sources.max(1)).enumerate() {
            if present.iter().all(|p| *p) {
                continue;
            }
            let mut row: Vec<f64> = self.logs.iter().skip(item).step_by(stride).copied().collect();
            filler.fill(present, &mut row);
            for (log, value) in self.logs.iter_mut().skip(item).step_by(stride).zip(row) {
                *log = value;
            }
        }
    }

    /// The padding holds logarithms of 0, which are useless and huge.
    fn clear_padding(&mut self) {
        let n = self.labels.len();
        for column in self.logs.chunks_exact_mut(self.stride) {
            column[n..].fill(0.0);
        }
    }

    /// A column of some features.
    pub(in crate::methods) fn column<'a>(&self, features: &'a [f64], column: usize) -> &'a [f64] {
        &features[column * self.stride..][..self.stride]
    }
}

/// Doubles of one block's features, 512 kB, so that they stay in a second-level cache; and fewest and
/// most items of a block.
const BLOCK: usize = 1 << 16;
const ITEMS: std::ops::RangeInclusive<usize> = 64..=256;

/// Doubles of features that are kept between passes; those of more items are loaded anew in every pass. 16 MB.
const KEPT: usize = 1 << 21;

/// Fewest blocks of a piece of work, and most pieces.
const BLOCKS_PER_PIECE: usize = 16;
const PIECES: usize = 16;

/// Doubles of all pieces' sums together, 16 MB: wide sums are divided into fewer pieces.
const SUMS: usize = 1 << 21;

/// The items of a source, or one of every `step`, block by block.
pub(in crate::methods) struct Blocks<'a> {
    source: &'a dyn Source,
    step: usize,
    n_items: usize,
    per_block: usize,
    /// What the weights of the items of every class are multiplied by.
    factors: Vec<f64>,
    kept: Vec<ItemBlock>,
}

impl<'a> Blocks<'a> {
    pub(in crate::methods) fn new(
        source: &'a dyn Source,
        step: usize,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let factors = vec![1.0; source.items().schema().n_classes()];
        Self::weighted(source, step, factors, progress)
    }

    /// The same with the weights of the items of every class multiplied by a factor.
    pub(in crate::methods) fn weighted(
        source: &'a dyn Source,
        step: usize,
        factors: Vec<f64>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let n_items = source.items().n_items() / step;
        let fitting = BLOCK / source.width().max(1) / LANES * LANES;
        let per_block = fitting.clamp(*ITEMS.start(), *ITEMS.end());
        let mut blocks = Self { source, step, n_items, per_block, factors, kept: Vec::new() };
        if source.is_slow() || n_items.saturating_mul(source.width()) <= KEPT {
            let load = |index: usize| {
                progress.check()?;
                let mut block = ItemBlock::default();
                blocks.load(index, &mut Loader::default(), &mut block);
                Ok(block)
            };
            let kept: Result<_> = match blocks.n_blocks() {
                n if n <= BLOCKS_PER_PIECE => (0..n).map(load).collect(), // not worth waking a thread
                n => parallel::map(n, load).into_iter().collect(),
            };
            blocks.kept = kept?;
        }
        Ok(blocks)
    }

    /// Number of items.
    pub(in crate::methods) fn n_items(&self) -> usize {
        self.n_items
    }

    /// Fewer items of the same table, whose weights add up to about the same.
    pub(in crate::methods) fn every(&self, step: usize, progress: &dyn Progress) -> Result<Self> {
        let factors = self.factors.iter().map(|factor| factor * step as f64).collect();
        Self::weighted(self.source, self.step * step, factors, progress)
    }

    fn n_blocks(&self) -> usize {
        self.n_items.div_ceil(self.per_block)
    }

    fn load(&self, index: usize, loader: &mut Loader, block: &mut ItemBlock) {
        let first = index * self.per_block;
        let n = self.per_block.min(self.n_items - first);
        self.source.load(Picked { first, step: self.step, n }, loader, block);
        let items = block.weights.iter_mut().zip(&block.labels);
        items.for_each(|(weight, label)| *weight *= self.factors[*label as usize]);
    }

    /// Sums of `size` numbers over all blocks: `add` adds a block to what `new` gives. Returns the sums of pieces of
    /// the table in order.
    pub(in crate::methods) fn pieces<T: Send>(
        &self,
        size: usize,
        progress: &dyn Progress,
        new: impl Fn() -> T + Sync + Send,
        add: impl Fn(&ItemBlock, &mut T) + Sync + Send,
    ) -> Result<Vec<T>> {
        let n_blocks = self.n_blocks();
        let most = (SUMS / size.max(1)).clamp(1, PIECES);
        let n_pieces = (n_blocks / BLOCKS_PER_PIECE).clamp(1, most);
        let piece = |piece: usize| {
            let (mut sums, mut loader, mut own) = (new(), Loader::default(), ItemBlock::default());
            for index in piece * n_blocks / n_pieces..(piece + 1) * n_blocks / n_pieces {
                progress.check()?;
                if let Some(block) = self.kept.get(index) {
                    add(block, &mut sums);
                } else {
                    self.load(index, &mut loader, &mut own);
                    add(&own, &mut sums);
                }
            }
            Ok(sums)
        };
        if n_pieces == 1 {
            return Ok(vec![piece(0)?]); // not worth waking a thread
        }
        parallel::map(n_pieces, piece).into_iter().collect()
    }
}
