//! Tables of votes: one row per vote, or one row per item with a column of labels per source.

use std::borrow::Cow;

use consilience::votes::{Votes, VotesBuilder};

use crate::batch::{Batch, LABEL, Texts};
use crate::error::{Error, Result, quoted};
use crate::header::check_unique;
use crate::hint::Hint;
use crate::input::Input;
use crate::location::{Format, Layout, Location};
use crate::room::Room;
use crate::source::{self, Source};
use crate::wide::{Names, Use, check_type, not_a_number, whole_number};

/// Rows that are read at a time.
const CHUNK: usize = 8192;

/// The memory that a vote takes while it is read.
const VOTE_BYTES: usize = 16;

/// The memory that an item takes beside its votes: its name, twice, and its number.
const ITEM_BYTES: usize = 64;

/// The start of the names of columns with a source's probability of a class.
const PROBABILITY: &str = "probability";

/// The column of gold labels in a table of votes.
const GOLD: &str = "gold";

const LONG_SHAPE: &str = "a table of votes has the columns `item`, `source` and `label` (or `task`, \
    `worker` and `label`), optionally `probability` and `gold`";

const GOLD_SHAPE: &str = "a table of gold labels has the columns `item` (or `task`) and `label`";

/// Options for reading votes.
#[derive(Debug, Clone, PartialEq)]
pub struct VoteReadOptions {
    /// The format; by default that of the file's extension, or CSV for standard input.
    pub format: Option<Format>,
    /// [`Layout::Long`] (the default) or [`Layout::WideLabels`].
    pub layout: Layout,
    /// The classes in order; by default the labels that occur, sorted.
    pub classes: Option<Vec<String>>,
    /// Whether gold labels in the table are not read; by default false.
    pub ignores_gold: bool,
}

impl Default for VoteReadOptions {
    fn default() -> Self {
        Self { format: None, layout: Layout::Long, classes: None, ignores_gold: false }
    }
}

/// Reads a table of votes, and gold labels from a second table if there is one.
///
/// A long table has the columns `item`, `source` and `label` (or `task`, `worker` and `label`), and
/// may have `probability` (of the label), `probability_<class>` for every class (then the label may
/// be missing) and `gold`. A table of wide labels has one column per source; `item` (or `task`) and
/// `gold` (or `label`) are not sources. An empty label is no vote.
///
/// # Example
/// ```
/// use consilience_io::{Location, VoteReadOptions, read_votes};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = Location::from(folder.path().join("votes.csv"));
/// consilience_io::write_whole(&path, b"item,source,label\n1,ann,yes\n1,bob,no\n2,ann,no\n")?;
/// let votes = read_votes(&path, None, &VoteReadOptions::default(), |_, _| Ok(()))?;
/// assert_eq!((votes.n_items(), votes.n_votes()), (2, 3));
/// # Ok::<(), consilience_io::Error>(())
/// ```
///
/// `progress` is called from time to time with the bytes read so far and their total, where known;
/// its error ends the reading.
pub fn read_votes(
    location: &Location,
    gold: Option<&Location>,
    options: &VoteReadOptions,
    progress: impl FnMut(u64, Option<u64>) -> consilience::Result<()>,
) -> Result<Votes> {
    let votes = Input::open(location, options.format)?;
    let gold = gold.map(|gold| Input::open(gold, None)).transpose()?;
    read_votes_from(votes, gold, options, progress)
}

/// As [`read_votes`], from files, streams or bytes in memory.
pub fn read_votes_from(
    votes: Input,
    gold: Option<Input>,
    options: &VoteReadOptions,
    mut progress: impl FnMut(u64, Option<u64>) -> consilience::Result<()>,
) -> Result<Votes> {
    let (table, total) = (votes.name.clone(), votes.content.len());
    let room = Room::new(&table, total);
    let mut source = source::open(votes, CHUNK)?;
    if source.names().is_empty() {
        return Err(Error::NoItems { name: table });
    }
    check_unique(&table, source.names())?;
    let mut columns = Columns::find(&table, source.as_ref(), options)?;
    let mut reader = Reader::new(&table, options, &mut columns)?;
    while let Some(batch) = source.next_batch(CHUNK)? {
        columns.read(&batch, &mut reader)?;
        let (n_items, n_votes) = (reader.builder.n_items(), reader.builder.n_votes());
        let needed = n_items * ITEM_BYTES + n_votes * VOTE_BYTES;
        room.check(n_items.max(n_votes), needed, source.bytes_read())?;
        progress(source.bytes_read(), total)?;
    }
    if let Some(gold) = gold {
        read_item_labels_from(gold, |item, label| {
            let label = reader.labels.spelled(label.as_bytes()).into_owned();
            reader.builder.gold(item, &label)
        })?;
    }
    let named = |error| match error {
        consilience::Error::NoVotes => Error::NoItems { name: table.clone() },
        other => Error::Core(other),
    };
    reader.builder.finish().map_err(named)
}

/// Reads a table with the columns `item` (or `task`) and `label`; `take` gets both for every row
/// with a label.
pub fn read_item_labels(
    location: &Location,
    take: impl FnMut(&str, &str) -> consilience::Result<()>,
) -> Result<()> {
    read_item_labels_from(Input::open(location, None)?, take)
}

fn read_item_labels_from(
    input: Input,
    mut take: impl FnMut(&str, &str) -> consilience::Result<()>,
) -> Result<()> {
    let table = input.name.clone();
    let mut source = source::open(input, CHUNK)?;
    check_unique(&table, source.names())?;
    let item = find(&table, source.as_ref(), &["item", "task"], GOLD_SHAPE)?;
    let label = find(&table, source.as_ref(), &[LABEL, GOLD], GOLD_SHAPE)?;
    while let Some(batch) = source.next_batch(CHUNK)? {
        let (items, labels) = (batch.texts(item), batch.texts(label));
        for row in 0..batch.n_rows() {
            let Some(text) = labels.get(row) else { continue };
            let name = name(&table, &batch, &items, (row, item), "item")?;
            take(&name, &String::from_utf8_lossy(text))
                .map_err(|cause| rejected(&table, &batch, (row, label), cause))?;
        }
    }
    Ok(())
}

/// The index of the first of some names of columns.
fn find<H: Into<Hint>>(
    table: &str,
    source: &dyn Source,
    names: &[&str],
    shape: H,
) -> Result<usize> {
    let columns = source.names();
    let found = names.iter().find_map(|name| columns.iter().position(|column| column == name));
    let column = found.ok_or_else(|| {
        let problem =
            format!("there is no column `{}`; the columns are {}", names[0], quoted(columns));
        Error::header(table, problem, shape)
    })?;
    check_type(table, source, column, Use::Name)?;
    Ok(column)
}

fn long_shape() -> Hint {
    Hint::OtherLayout { needed: LONG_SHAPE.into(), other: Layout::WideLabels }
}

/// The name in a cell, which may not be empty.
fn name<'a>(
    table: &str,
    batch: &Batch,
    texts: &'a Texts<'_>,
    (row, column): (usize, usize),
    what: &str,
) -> Result<Cow<'a, str>> {
    texts.get(row).map(String::from_utf8_lossy).ok_or_else(|| Error::Cell {
        position: batch.position(table, row, vec![batch.names[column].clone()]).into(),
        problem: format!("the name of the {what} is empty"),
        hint: None,
    })
}

fn rejected(
    table: &str,
    batch: &Batch,
    (row, column): (usize, usize),
    cause: consilience::Error,
) -> Error {
    Error::Rejected {
        position: batch.position(table, row, vec![batch.names[column].clone()]).into(),
        values: Vec::new(),
        cause: Box::new(cause),
    }
}

/// Spelling of labels: `1.0` is `1`, because data frames write whole numbers as floats where some
/// are missing.
struct Labels {
    classes: Option<(Vec<String>, Names)>,
}

impl Labels {
    fn spelled<'a>(&'a self, text: &'a [u8]) -> Cow<'a, str> {
        if let Some((classes, names)) = &self.classes {
            return match names.get(text) {
                Some(class) => classes[class].as_str().into(),
                None => String::from_utf8_lossy(text),
            };
        }
        String::from_utf8_lossy(whole_number(text).unwrap_or(text))
    }
}

/// Collects the votes of a table.
struct Reader<'a> {
    table: &'a str,
    builder: VotesBuilder,
    labels: Labels,
}

impl<'a> Reader<'a> {
    fn new(table: &'a str, options: &VoteReadOptions, columns: &mut Columns) -> Result<Self> {
        let found = match columns {
            Columns::Long(long) if !long.classes.is_empty() => Some(&long.classes),
            _ => None,
        };
        let classes = options.classes.as_ref().or(found);
        let builder = match classes {
            Some(classes) => VotesBuilder::with_classes(classes)?,
            None => VotesBuilder::new(),
        };
        let labels = Labels { classes: classes.map(|list| (list.clone(), Names::new(list))) };
        Ok(Self { table, builder, labels })
    }

    fn push(
        &mut self,
        batch: &Batch,
        (row, column): (usize, usize),
        (item, source): (&str, &str),
        (label, probability): (&[u8], Option<f64>),
    ) -> Result<()> {
        let label = self.labels.spelled(label);
        self.builder
            .push_with_probability(item, source, &label, probability)
            .map_err(|cause| rejected(self.table, batch, (row, column), cause))
    }

    fn gold(&mut self, batch: &Batch, at: (usize, usize), item: &str, label: &[u8]) -> Result<()> {
        let label = self.labels.spelled(label);
        self.builder.gold(item, &label).map_err(|cause| rejected(self.table, batch, at, cause))
    }
}

/// The columns of a table of votes.
enum Columns {
    Long(Long),
    Wide(Wide),
}

struct Long {
    item: usize,
    source: usize,
    label: Option<usize>,
    gold: Option<usize>,
    /// The probability of the label, or those of all classes.
    numbers: Vec<usize>,
    /// The classes of the columns of probabilities; empty if there is at most one for the label.
    classes: Vec<String>,
}

struct Wide {
    item: Option<usize>,
    gold: Option<usize>,
    sources: Vec<usize>,
}

impl Columns {
    fn find(table: &str, source: &dyn Source, options: &VoteReadOptions) -> Result<Self> {
        match options.layout {
            Layout::WideLabels => Wide::find(table, source, options).map(Self::Wide),
            _ => Long::find(table, source, options).map(Self::Long),
        }
    }

    fn read(&self, batch: &Batch, reader: &mut Reader<'_>) -> Result<()> {
        match self {
            Self::Long(long) => long.read(batch, reader),
            Self::Wide(wide) => wide.read(batch, reader),
        }
    }
}

impl Long {
    fn find(table: &str, source: &dyn Source, options: &VoteReadOptions) -> Result<Self> {
        let columns = source.names();
        let place = |name: &str| columns.iter().position(|column| column == name);
        let item = find(table, source, &["item", "task"], long_shape())?;
        let voter = find(table, source, &["source", "worker"], long_shape())?;
        let start = format!("{PROBABILITY}_");
        let suffix = |column: &String| column.strip_prefix(&start).map(str::to_owned);
        let mut classes: Vec<String> = columns.iter().filter_map(suffix).collect();
        let mut numbers: Vec<usize> = place(PROBABILITY).into_iter().collect();
        if !classes.is_empty() {
            classes = options.classes.clone().unwrap_or(classes);
            let column = |class: &String| {
                let name = format!("{start}{class}");
                place(&name).ok_or_else(|| {
                    let problem = format!("there is no column `{name}`");
                    Error::header(table, problem, "give the probability of every class or of none")
                })
            };
            numbers = classes.iter().map(column).collect::<Result<_>>()?;
        }
        for &column in &numbers {
            check_type(table, source, column, Use::Number)?;
        }
        let label = match place(LABEL) {
            None if !classes.is_empty() => None,
            _ => Some(find(table, source, &[LABEL], long_shape())?),
        };
        let gold = place(GOLD).filter(|_| !options.ignores_gold);
        Ok(Self { item, source: voter, label, gold, numbers, classes })
    }

    fn read(&self, batch: &Batch, reader: &mut Reader<'_>) -> Result<()> {
        let table = reader.table;
        let width = self.numbers.len();
        let mut numbers = vec![f64::NAN; batch.n_rows() * width];
        let bad = match width {
            0 => None,
            _ => batch.fill_numbers(&self.numbers, &mut numbers).err(),
        };
        let (items, sources) = (batch.texts(self.item), batch.texts(self.source));
        let labels = self.label.map(|column| (column, batch.texts(column)));
        let gold = self.gold.map(|column| (column, batch.texts(column)));
        for row in 0..batch.n_rows() {
            if let Some((_, column)) = bad.filter(|(bad, _)| *bad == row) {
                return Err(not_a_number(table, batch, row, column));
            }
            let item = name(table, batch, &items, (row, self.item), "item")?;
            let source = name(table, batch, &sources, (row, self.source), "source")?;
            let own = &numbers[row * width..(row + 1) * width];
            let label =
                labels.as_ref().and_then(|(column, texts)| Some((*column, texts.get(row)?)));
            self.read_vote(batch, row, (&item, &source), (label, own), reader)?;
            if let Some((column, texts)) = &gold
                && let Some(label) = texts.get(row)
            {
                reader.gold(batch, (row, *column), &item, label)?;
            }
        }
        Ok(())
    }

    fn read_vote(
        &self,
        batch: &Batch,
        row: usize,
        (item, source): (&str, &str),
        (label, numbers): (Option<(usize, &[u8])>, &[f64]),
        reader: &mut Reader<'_>,
    ) -> Result<()> {
        let known = !numbers.is_empty() && numbers.iter().all(|p| !p.is_nan());
        match label {
            Some((column, text)) => {
                let probability = match (known, self.classes.is_empty()) {
                    (false, _) => None,
                    (true, true) => Some(numbers[0]),
                    (true, false) => {
                        let label = reader.labels.spelled(text);
                        let class = self.classes.iter().position(|class| **class == *label);
                        class.map(|class| numbers[class])
                    }
                };
                reader.push(batch, (row, column), (item, source), (text, probability))
            }
            None if known && !self.classes.is_empty() => {
                let done = reader.builder.push_distribution(item, source, numbers);
                done.map_err(|cause| rejected(reader.table, batch, (row, self.numbers[0]), cause))
            }
            None => Ok(reader.builder.add_item(item).map(drop)?),
        }
    }
}

impl Wide {
    fn find(table: &str, source: &dyn Source, options: &VoteReadOptions) -> Result<Self> {
        let columns = source.names();
        let place = |name: &str| columns.iter().position(|column| column == name);
        let item = place("item").or_else(|| place("task"));
        let gold = place(GOLD).or_else(|| place(LABEL));
        let used = |column: &usize| Some(*column) != item && Some(*column) != gold;
        let sources: Vec<usize> = (0..columns.len()).filter(used).collect();
        for &column in sources.iter().chain(&item).chain(&gold) {
            check_type(table, source, column, Use::Name)?;
        }
        if sources.is_empty() {
            let problem =
                format!("there is no column of a source; the columns are {}", quoted(columns));
            let shape = "the layout wide-labels has one column of labels per source";
            return Err(Error::header(table, problem, shape));
        }
        Ok(Self { item, gold: gold.filter(|_| !options.ignores_gold), sources })
    }

    fn read(&self, batch: &Batch, reader: &mut Reader<'_>) -> Result<()> {
        let table = reader.table;
        let items = self.item.map(|column| (column, batch.texts(column)));
        let gold = self.gold.map(|column| (column, batch.texts(column)));
        let sources: Vec<(usize, Texts<'_>)> =
            self.sources.iter().map(|&column| (column, batch.texts(column))).collect();
        for row in 0..batch.n_rows() {
            let item: Cow<'_, str> = match &items {
                Some((column, texts)) => name(table, batch, texts, (row, *column), "item")?,
                None => (batch.first_row + row as u64 + 1).to_string().into(),
            };
            reader.builder.add_item(&item)?;
            for (column, texts) in &sources {
                if let Some(label) = texts.get(row) {
                    let source = &batch.names[*column];
                    reader.push(batch, (row, *column), (&item, source), (label, None))?;
                }
            }
            if let Some((column, texts)) = &gold
                && let Some(label) = texts.get(row)
            {
                reader.gold(batch, (row, *column), &item, label)?;
            }
        }
        Ok(())
    }
}
