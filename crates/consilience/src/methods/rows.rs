//! Writes results into memory of the caller, block by block, from checked outputs or raw numbers.

use std::ops::Range;
use std::sync::Arc;

use super::{Block, Fusion, check_schema};
use crate::data::class_prior::ClassPrior;
use crate::data::input_format::InputFormat;
use crate::data::outputs::{Items, Outputs, convert_items};
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::math::aligned::AlignedBuffer;
use crate::progress::Progress;
use consilience_numerics::parallel;

/// Items to be fused.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// Checked before.
    Checked(&'a Outputs),
    /// Raw numbers, item by item, K·J each. They are checked block by block, so that a checked block
    /// stays in the cache.
    Raw {
        /// Names and shape.
        schema: &'a Arc<Schema>,
        /// The kind of the numbers.
        input_format: InputFormat,
        /// The numbers, NaN where empty.
        values: &'a [f64],
    },
}

/// Memory for results.
#[derive(Debug)]
pub struct Rows<'a> {
    /// The numbers of every class, n × J.
    pub values: &'a mut [f64],
    /// The error of each item, if it is wanted.
    pub errors: Option<&'a mut [f64]>,
}

/// The fused distributions of all items, as [`fuse`](super::fuse) gives them.
pub fn fuse_rows(
    fusion: &dyn Fusion,
    source: Source<'_>,
    prior: &ClassPrior,
    rows: Rows<'_>,
    progress: &dyn Progress,
) -> Result<()> {
    let errors_wanted = rows.errors.is_some();
    in_blocks(fusion, source, rows, |items, block| {
        fusion.fuse_block(items, prior, block, progress)?;
        if errors_wanted {
            block.errors_mut().iter_mut().for_each(|error| *error = probability_error(*error));
        }
        Ok(())
    })
}

/// The log densities of all items, as [`ln_densities`](super::ln_densities) gives them.
pub fn ln_density_rows(
    fusion: &dyn Fusion,
    source: Source<'_>,
    rows: Rows<'_>,
    progress: &dyn Progress,
) -> Result<()> {
    in_blocks(fusion, source, rows, |items, block| fusion.compute(items, None, block, progress))
}

/// The largest error of a probability when every log weight may be off by `ln_error`:
/// |ΔP| ≤ P(1−P)(e²ˣ − 1) ≤ ¼(e²ˣ − 1) with x that error, plus the rounding of the softmax.
fn probability_error(ln_error: f64) -> f64 {
    // For small errors e^(2x) − 1 ≈ 2x, and exp_m1 costs more than all the rest of an item.
    let spread = if ln_error < 1e-8 { 2.0 * ln_error } else { (2.0 * ln_error).exp_m1() };
    (0.25 * spread + 2.0 * f64::EPSILON).min(1.0)
}

/// Spreads all items over threads and, block by block, stores what `work` leaves in the block.
pub(super) fn in_blocks(
    fusion: &dyn Fusion,
    source: Source<'_>,
    rows: Rows<'_>,
    work: impl Fn(&Items<'_>, &mut Block) -> Result<()> + Sync + Send,
) -> Result<()> {
    source.check(fusion)?;
    let (n_classes, items_per_task) = (source.schema().n_classes(), fusion.items_per_task());
    rows.check(source.n_items(), n_classes)?;
    let size = Block::preferred_size(source.schema());
    let tasks = rows.cut(items_per_task, n_classes).collect();
    parallel::for_each(tasks, |task, rows: Rows<'_>| {
        let mut reader = Reader { source, checked: AlignedBuffer::default() };
        let mut block = Block::new(rows.errors.is_some());
        let mut first = task * items_per_task;
        for rows in rows.cut(size, n_classes) {
            let end = first + rows.values.len() / n_classes;
            let items = reader.items(first..end)?;
            block.reset(&items);
            work(&items, &mut block)?;
            block.store(rows.values);
            if let Some(errors) = rows.errors {
                errors.copy_from_slice(block.errors());
            }
            first = end;
        }
        Ok(())
    })
}

impl<'a> Source<'a> {
    fn schema(&self) -> &'a Arc<Schema> {
        match self {
            Self::Checked(outputs) => outputs.schema(),
            Self::Raw { schema, .. } => schema,
        }
    }

    fn check(&self, fusion: &dyn Fusion) -> Result<()> {
        if let Self::Raw { schema, input_format, .. } = self {
            input_format.check(schema.n_classes())?;
        }
        check_schema(fusion, self.schema())
    }

    fn n_items(&self) -> usize {
        match self {
            Self::Checked(outputs) => outputs.n_items(),
            Self::Raw { schema, values, .. } => values.len() / schema.width(),
        }
    }
}

impl Rows<'_> {
    fn check(&self, n_items: usize, n_classes: usize) -> Result<()> {
        let errors = self.errors.as_ref().map_or(n_items, |errors| errors.len());
        if (self.values.len(), errors) == (n_items * n_classes, n_items) {
            return Ok(());
        }
        Err(Error::mismatch(
            "room for results and errors",
            format!("{} and {n_items}", n_items * n_classes),
            format!("{} and {errors}", self.values.len()),
        ))
    }

    /// Pieces of so many items, the last may be shorter.
    fn cut(self, n_items: usize, n_classes: usize) -> impl Iterator<Item = Self> {
        let mut errors = self.errors.map(|errors| errors.chunks_mut(n_items));
        self.values.chunks_mut(n_items * n_classes).map(move |values| {
            let errors = errors.as_mut().and_then(Iterator::next);
            Rows { values, errors }
        })
    }
}

/// Returns items of a source; raw ones are checked into its own buffer.
struct Reader<'a> {
    source: Source<'a>,
    checked: AlignedBuffer,
}

impl Reader<'_> {
    fn items(&mut self, range: Range<usize>) -> Result<Items<'_>> {
        let (schema, input_format, values) = match self.source {
            Source::Checked(outputs) => return Ok(outputs.items(range)),
            Source::Raw { schema, input_format, values } => (schema, input_format, values),
        };
        let raw = &values[range.start * schema.width()..range.end * schema.width()];
        self.checked.resize(raw.len());
        let checked = &mut self.checked;
        let any_missing =
            convert_items(&input_format, schema, range.start, raw, checked, |_, _, _| {})?;
        Ok(Items::new(schema, &self.checked, any_missing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::fuse;
    use crate::methods::independent::IndependentFusion;
    use crate::{NoProgress, OutputsBuilder};

    /// 10 003 items of odd shape: several tasks, blocks that end within a group of eight, and
    /// outputs that are missing, raised or off by rounding.
    fn raw(schema: &Schema) -> Vec<f64> {
        let n_classes = schema.n_classes();
        let output = |i: usize| {
            let parts = (0..n_classes)
                .map(|l| ((i * (l + 3)) % 17) as f64 + f64::from(!i.is_multiple_of(3)));
            let sum: f64 = parts.clone().sum::<f64>().max(1.0);
            let missing = i.is_multiple_of(101) || parts.clone().all(|part| part == 0.0);
            parts.map(|part| if missing { f64::NAN } else { part / sum }).collect::<Vec<f64>>()
        };
        (0..10_003 * schema.n_classifiers()).flat_map(output).collect()
    }

    fn model(schema: &Arc<Schema>) -> IndependentFusion {
        let classes = 0..schema.n_classes();
        let row = |j: usize| classes.clone().map(|l| 1.5 + f64::from(l == j)).collect();
        let rows: Vec<Vec<f64>> = classes.clone().map(row).collect();
        let alpha = vec![rows; schema.n_classifiers()];
        IndependentFusion::new(Arc::clone(schema), alpha).unwrap()
    }

    #[test]
    fn raw_numbers_give_the_bits_of_checked_ones_with_and_without_errors() {
        let schema = Arc::new(Schema::new(["a", "b", "c"], ["x", "y", "z"]).unwrap());
        let (values, input_format) = (raw(&schema), InputFormat::default());
        let mut builder = OutputsBuilder::new(Arc::clone(&schema), input_format).unwrap();
        builder.push_all(&values, |_| None).unwrap();
        let (model, prior) = (model(&schema), ClassPrior::uniform(3));
        let expected = fuse(&model, builder.outputs(), &prior).unwrap();
        let source = Source::Raw { schema: &schema, input_format, values: &values };
        for with_errors in [false, true] {
            let (mut found, mut errors) = (vec![0.0; 30_009], vec![0.0; 10_003]);
            let rows = Rows { values: &mut found, errors: with_errors.then_some(&mut errors) };
            fuse_rows(&model, source, &prior, rows, &NoProgress).unwrap();
            assert!(found == expected.all());
            let alike = |item: usize| errors[item].to_bits() == expected.error(item).to_bits();
            assert_eq!((0..10_003).all(alike), with_errors);
        }
    }

    #[test]
    fn a_bad_item_is_named_by_its_place_in_the_whole() {
        let schema = Arc::new(Schema::new(["a", "b"], ["x", "y", "z"]).unwrap());
        let mut values = raw(&schema);
        values[6 * 7001 + 3] = -0.5;
        let source =
            Source::Raw { schema: &schema, input_format: InputFormat::default(), values: &values };
        let rows = Rows { values: &mut vec![0.0; 30_009], errors: None };
        let found = fuse_rows(&model(&schema), source, &ClassPrior::uniform(3), rows, &NoProgress);
        let Err(Error::InvalidOutput { item, classifier, .. }) = found else {
            panic!("a negative probability is refused, not {found:?}")
        };
        assert_eq!((item, classifier.as_str()), (7001, "b"));
    }

    #[test]
    fn too_little_room_is_an_error() {
        let schema = Arc::new(Schema::new(["a"], ["x", "y"]).unwrap());
        let source = Source::Raw {
            schema: &schema,
            input_format: InputFormat::default(),
            values: &[0.5; 4],
        };
        let (mut values, mut errors) = ([0.0; 4], [0.0; 1]);
        let rows = Rows { values: &mut values, errors: Some(&mut errors) };
        let found = fuse_rows(&model(&schema), source, &ClassPrior::uniform(2), rows, &NoProgress);
        assert!(matches!(found, Err(Error::Mismatch { .. })));
    }
}
