//! The long layout: one row per probability; the rows of an item are consecutive.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use consilience::{OutputsBuilder, Schema};

use crate::batch::{Batch, LABEL, Texts};
use crate::error::{Error, Result, quoted, values_of};
use crate::header::{check_unique, two_classes};
use crate::hint::Hint;
use crate::location::Layout;
use crate::source::Source;
use crate::wide::{Labels, Names, Use, check_type, find_column, not_a_number, unknown_label};

/// The batch and row of a cell.
type Spot = (usize, usize);

/// Reader of the rows of a long table, one item at a time.
pub(crate) struct Long {
    table: String,
    schema: Arc<Schema>,
    columns: Columns,
    labels: Labels,
    classifiers: Names,
    classes: Names,
    item: Option<Item>,
    /// Hashes of the items without some classifier, whose other rows may come later. Among a hundred
    /// million such items the probability of equal hashes is below 0.001.
    incomplete: HashSet<u64>,
    /// Hashes of the last complete items, which must not come again.
    complete: Recent,
    /// The batches of this chunk; the last is being read.
    batches: Vec<Arc<Batch>>,
    /// The next row of the last batch.
    next_row: usize,
    /// The input cells to pass on, per item of this chunk.
    item_spots: Vec<Spot>,
    label_spots: Vec<Spot>,
}

#[derive(Clone, Copy)]
struct Columns {
    item: usize,
    classifier: usize,
    class: usize,
    probability: usize,
    label: Option<usize>,
}

/// The item whose rows are being read.
struct Item {
    key: Vec<u8>,
    values: Vec<f64>,
    spots: Vec<Option<Spot>>,
    label: Option<usize>,
    spot: Spot,
    label_spot: Spot,
}

impl Long {
    /// Finds the columns of a long table.
    pub(crate) fn new(
        table: &str,
        source: &dyn Source,
        schema: &Arc<Schema>,
        labels: Labels,
    ) -> Result<Self> {
        Ok(Self {
            table: table.to_owned(),
            columns: Columns::find(table, source, labels)?,
            labels,
            classifiers: Names::new(schema.classifiers()),
            classes: Names::new(schema.classes()),
            schema: Arc::clone(schema),
            item: None,
            incomplete: HashSet::new(),
            complete: Recent::default(),
            batches: Vec::new(),
            next_row: 0,
            item_spots: Vec::new(),
            label_spots: Vec::new(),
        })
    }

    /// Adds up to `most` items and returns their number, which is 0 at the end of the table.
    pub(crate) fn fill(
        &mut self,
        source: &mut dyn Source,
        builder: &mut OutputsBuilder,
        most: usize,
    ) -> Result<usize> {
        let before = builder.n_items();
        self.start_chunk();
        while builder.n_items() - before < most {
            if self.batches.last().is_none_or(|batch| self.next_row == batch.n_rows()) {
                let Some(batch) = source.next_batch(most.max(1024))? else {
                    self.close(builder)?;
                    break;
                };
                self.batches.push(Arc::new(batch));
                self.next_row = 0;
            }
            self.take_rows(builder, before + most)?;
        }
        Ok(builder.n_items() - before)
    }

    /// The input columns of the items of the last [`fill`](Self::fill).
    pub(crate) fn carried(&self) -> Result<Batch> {
        self.gather(&self.batches, &self.item_spots, &self.label_spots)
    }

    /// The input columns without rows.
    pub(crate) fn carried_empty(&self, source: &dyn Source) -> Result<Batch> {
        self.gather(&[Arc::new(source.empty_batch())], &[], &[])
    }

    fn gather(&self, batches: &[Arc<Batch>], items: &[Spot], labels: &[Spot]) -> Result<Batch> {
        let mut picks = vec![(self.columns.item, items)];
        picks.extend(self.columns.label.map(|column| (column, labels)));
        Batch::gather(&self.table, batches, &picks)
    }

    fn start_chunk(&mut self) {
        let n = self.batches.len().saturating_sub(1);
        self.batches.drain(..n);
        self.item_spots.clear();
        self.label_spots.clear();
    }

    /// Reads rows of the last batch until it ends or there are `full` items.
    fn take_rows(&mut self, builder: &mut OutputsBuilder, full: usize) -> Result<()> {
        let batch = Arc::clone(self.batches.last().expect("a batch was just read"));
        let columns = self.columns;
        let mut values = vec![f64::NAN; batch.n_rows()];
        let bad = batch.fill_numbers(&[columns.probability], &mut values).err();
        let items = batch.texts(columns.item);
        let (classifiers, classes) = (batch.texts(columns.classifier), batch.texts(columns.class));
        let read_labels = columns.label.filter(|_| self.labels != Labels::Ignored);
        let labels = read_labels.map(|label| batch.texts(label));
        while self.next_row < batch.n_rows() {
            let row = self.next_row;
            let key = items.get(row).unwrap_or_default();
            if self.item.as_ref().is_some_and(|item| item.key != key) {
                self.close(builder)?;
                if builder.n_items() == full {
                    return Ok(());
                }
            }
            if self.item.is_none() {
                self.start(&batch, row, key)?;
            }
            if bad.is_some_and(|(bad, _)| bad == row) {
                return Err(not_a_number(&self.table, &batch, row, columns.probability));
            }
            let cell = self.cell(&batch, row, classifiers.get(row), classes.get(row))?;
            self.set(&batch, row, cell, values[row])?;
            if let Some(label) = labels.as_ref().and_then(|labels| labels.get(row)) {
                self.set_label(&batch, row, label)?;
            }
            self.next_row += 1;
        }
        Ok(())
    }

    fn start(&mut self, batch: &Batch, row: usize, key: &[u8]) -> Result<()> {
        if key.is_empty() {
            return Err(self.bad_cell(
                batch,
                row,
                self.columns.item,
                "the name of the item is empty",
                None,
            ));
        }
        let hash = hash_of(key);
        if self.incomplete.contains(&hash) || self.complete.contains(hash) {
            let problem =
                format!("item `{}` occurs again after other items", String::from_utf8_lossy(key));
            let hint = Some(
                "sort the table by item, so that the rows of an item are consecutive, and give \
                 every item once",
            );
            return Err(self.bad_cell(batch, row, self.columns.item, problem, hint));
        }
        let (spot, width) = ((self.batches.len() - 1, row), self.schema.width());
        self.item = Some(Item {
            key: key.to_vec(),
            values: vec![f64::NAN; width],
            spots: vec![None; width],
            label: None,
            spot,
            label_spot: spot,
        });
        Ok(())
    }

    /// The index of a row's probability among the values of an item.
    fn cell(
        &self,
        batch: &Batch,
        row: usize,
        classifier: Option<&[u8]>,
        class: Option<&[u8]>,
    ) -> Result<usize> {
        let unknown = |kind: &str, column, name: Option<&[u8]>, known: &[String]| {
            let name = String::from_utf8_lossy(name.unwrap_or_default());
            let problem = format!("unknown {kind} `{name}`; known are {}", quoted(known));
            let hint = "correct the name, or remove such rows";
            self.bad_cell(batch, row, column, problem, Some(hint))
        };
        let k = classifier.and_then(|name| self.classifiers.get(name)).ok_or_else(|| {
            unknown("classifier", self.columns.classifier, classifier, self.schema.classifiers())
        })?;
        let j = class
            .and_then(|name| self.classes.get(name))
            .ok_or_else(|| unknown("class", self.columns.class, class, self.schema.classes()))?;
        Ok(k * self.schema.n_classes() + j)
    }

    fn set(&mut self, batch: &Batch, row: usize, cell: usize, value: f64) -> Result<()> {
        let spot = (self.batches.len() - 1, row);
        let item = self.item.as_mut().expect("an item was started");
        item.values[cell] = value;
        if item.spots[cell].replace(spot).is_none() {
            return Ok(());
        }
        let n_classes = self.schema.n_classes();
        let problem = format!(
            "item `{}` has classifier `{}`, class `{}` twice",
            String::from_utf8_lossy(&item.key),
            self.schema.classifiers()[cell / n_classes],
            self.schema.classes()[cell % n_classes]
        );
        let hint = Some("every item needs a name of its own, and one row per classifier and class");
        Err(self.bad_cell(batch, row, self.columns.item, problem, hint))
    }

    fn set_label(&mut self, batch: &Batch, row: usize, text: &[u8]) -> Result<()> {
        let column = self.columns.label.expect("there is a label");
        let class = self
            .classes
            .get(text)
            .ok_or_else(|| unknown_label(&self.table, batch, row, column, text, &self.schema))?;
        let spot = (self.batches.len() - 1, row);
        let item = self.item.as_mut().expect("an item was started");
        match item.label {
            None => {
                item.label = Some(class);
                item.label_spot = spot;
                Ok(())
            }
            Some(known) if known == class => Ok(()),
            Some(known) => {
                let problem = format!(
                    "label `{}` contradicts label `{}` of the same item `{}`",
                    String::from_utf8_lossy(text),
                    self.schema.classes()[known],
                    String::from_utf8_lossy(&item.key)
                );
                Err(self.bad_cell(batch, row, column, problem, None))
            }
        }
    }

    /// Adds the current item.
    fn close(&mut self, builder: &mut OutputsBuilder) -> Result<()> {
        let Some(item) = self.item.take() else {
            return Ok(());
        };
        for (k, spots) in item.spots.chunks_exact(self.schema.n_classes()).enumerate() {
            self.check_whole(&item, k, spots)?;
        }
        builder
            .push_indexed(&item.values, item.label)
            .map_err(|cause| self.rejected(&item, cause))?;
        let hash = hash_of(&item.key);
        if item.spots.iter().any(Option::is_none) {
            self.incomplete.insert(hash);
        } else {
            self.complete.insert(hash);
        }
        self.item_spots.push(item.spot);
        self.label_spots.push(item.label_spot);
        Ok(())
    }

    /// Checks that a classifier has a row for every class or for none.
    fn check_whole(&self, item: &Item, k: usize, spots: &[Option<Spot>]) -> Result<()> {
        let Some(&last) = spots.iter().flatten().max() else {
            return Ok(());
        };
        let Some(absent) = spots.iter().position(Option::is_none) else {
            return Ok(());
        };
        let problem = format!(
            "item `{}`, classifier `{}`: there is no row for class `{}`",
            String::from_utf8_lossy(&item.key),
            self.schema.classifiers()[k],
            self.schema.classes()[absent]
        );
        let hint = "give every class of a classifier or none, and sort the table by item";
        Err(Error::Cell {
            position: self.batches[last.0].position(&self.table, last.1, Vec::new()).into(),
            problem,
            hint: Some(hint.into()),
        })
    }

    fn rejected(&self, item: &Item, cause: consilience::Error) -> Error {
        let consilience::Error::InvalidOutput { classifier, class, problem, .. } = &cause else {
            return cause.into();
        };
        let n_classes = self.schema.n_classes();
        let first = self.schema.classifier_index(classifier).unwrap_or(0) * n_classes;
        let cells = class.map_or(first..first + n_classes, |j| first + j..first + j + 1);
        let spots: Vec<Spot> = item.spots[cells].iter().copied().flatten().collect();
        let Some(&(batch, row)) = spots.iter().min() else {
            return cause.into();
        };
        let show = |&(batch, row): &Spot| self.batches[batch].show(row, self.columns.probability);
        let values: Vec<String> = spots.iter().map(show).collect();
        Error::Cell {
            position: self.batches[batch]
                .position(&self.table, row, vec![PROBABILITY.into()])
                .into(),
            problem: format!(
                "item `{}`, classifier `{classifier}`: {problem}{}",
                String::from_utf8_lossy(&item.key),
                values_of(&values)
            ),
            hint: cause.hint().map(Hint::Core),
        }
    }

    fn bad_cell(
        &self,
        batch: &Batch,
        row: usize,
        column: usize,
        problem: impl Into<String>,
        hint: Option<&'static str>,
    ) -> Error {
        let hint = hint.map(Hint::from);
        let position = batch.position(&self.table, row, vec![batch.names[column].clone()]);
        Error::Cell { position: position.into(), problem: problem.into(), hint }
    }
}

const PROBABILITY: &str = "probability";

fn long_hint() -> Hint {
    let needed = "a long table needs the columns `item`, `classifier`, `class` and `probability`";
    Hint::OtherLayout { needed: needed.into(), other: Layout::Wide }
}

impl Columns {
    fn find(table: &str, source: &dyn Source, labels: Labels) -> Result<Self> {
        check_unique(table, source.names())?;
        let name = |name| {
            let column = find_column(table, source, name, long_hint)?;
            check_type(table, source, column, Use::Name)?;
            Ok::<usize, Error>(column)
        };
        let probability = find_column(table, source, PROBABILITY, long_hint)?;
        check_type(table, source, probability, Use::Number)?;
        let label = source.names().iter().position(|name| name == LABEL);
        if let Some(label) = label.filter(|_| labels != Labels::Ignored) {
            check_type(table, source, label, Use::Name)?;
        }
        Ok(Self {
            item: name("item")?,
            classifier: name("classifier")?,
            class: name("class")?,
            probability,
            label,
        })
    }
}

/// The classifiers and classes of a long table, in the order of their first rows.
pub(crate) fn discover(
    table: &str,
    source: &mut dyn Source,
    classes: Option<&[String]>,
    chunk: usize,
) -> Result<Schema> {
    let columns = Columns::find(table, source, Labels::Ignored)?;
    let mut classifiers = Distinct::default();
    let mut found = Distinct::default();
    while let Some(batch) = source.next_batch(chunk)? {
        classifiers.add(table, &batch, columns.classifier)?;
        found.add(table, &batch, columns.class)?;
    }
    if classifiers.names.is_empty() {
        return Err(Error::NoItems { name: table.to_owned() });
    }
    let hint = if classes.is_some() { Hint::NameClasses } else { two_classes() };
    let classes = classes.map_or(found.into_names(), <[String]>::to_vec);
    Schema::new(classifiers.into_names(), classes)
        .map_err(|error| Error::header(table, error.to_string(), hint))
}

/// Distinct cells of a column, in order, each with its first row from 1.
#[derive(Default)]
pub(crate) struct Distinct {
    seen: HashSet<Vec<u8>>,
    last: Vec<u8>,
    pub(crate) names: Vec<(String, u64)>,
    /// Whether any cell was empty.
    pub(crate) any_empty: bool,
}

impl Distinct {
    pub(crate) fn add(&mut self, table: &str, batch: &Batch, column: usize) -> Result<()> {
        let texts: Texts = batch.texts(column);
        for row in 0..batch.n_rows() {
            let Some(text) = texts.get(row) else {
                self.any_empty = true;
                continue;
            };
            if text == self.last {
                continue;
            }
            self.last.clear();
            self.last.extend_from_slice(text);
            if self.seen.contains(text) {
                continue;
            }
            self.seen.insert(text.to_vec());
            let position = batch.position(table, row, vec![batch.names[column].clone()]);
            let first = position.row;
            let name = String::from_utf8(text.to_vec()).map_err(|_| Error::Cell {
                position: position.into(),
                problem: "the name is not UTF-8".into(),
                hint: None,
            })?;
            self.names.push((name, first));
        }
        Ok(())
    }

    fn into_names(self) -> Vec<String> {
        self.names.into_iter().map(|(name, _)| name).collect()
    }
}

/// The hashes of the last items, between [`REMEMBERED`] and twice as many, so that a table of any
/// length is read in bounded memory.
#[derive(Default)]
struct Recent {
    new: HashSet<u64>,
    old: HashSet<u64>,
}

/// Number of items among which a repeated one is certainly found; takes about 40 MB.
const REMEMBERED: usize = 1 << 20;

impl Recent {
    fn contains(&self, hash: u64) -> bool {
        self.new.contains(&hash) || self.old.contains(&hash)
    }

    fn insert(&mut self, hash: u64) {
        if self.new.len() >= REMEMBERED {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(hash);
    }
}

fn hash_of(key: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
