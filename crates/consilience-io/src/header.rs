//! Classifiers and classes from the column names of a wide table.
//!
//! A column `<classifier>_<class>` can often be split in more than one way, because names may
//! contain `_`. If the classes are known, a *classifier* is a prefix that has a column for every
//! class. If two classifiers would share a column, the header is ambiguous. A remaining column
//! that ends in `_<class>` (the longest class that fits) belongs to an incomplete classifier,
//! which is an error. A remaining column that begins with a classifier but does not end in a class
//! is an error too, because its class never occurs as a label; if the user named the classes, such
//! a column is ignored.
//!
//! Columns that an earlier run has added (`fused_…`, `evidence_…`, `log_density_…`) are not
//! outputs. They are recognised by their place beside the other columns that a run adds.
//!
//! If neither classes nor labels are known, the classes are the suffixes that the classifiers
//! share. Of all sets of suffixes, the one is used that covers most columns and, among those, the
//! one with most classifiers. If two remain, the header is ambiguous.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use consilience::Schema;

use crate::batch::LABEL;
use crate::error::{Error, Result, quoted};
use crate::hint::Hint;
use crate::location::Layout;

/// What is known about the classes before the columns are read.
pub(crate) enum Known<'a> {
    /// The user named them, in this order.
    Given(&'a [String]),
    /// The distinct labels, each with the first row (from 1) in which it occurs.
    Labels(&'a [(String, u64)]),
    /// Nothing.
    Nothing,
}

/// A problem and its hint.
type Finding = (String, Hint);

/// Finds classifiers and classes; `table` is named in errors.
pub(crate) fn resolve(table: &str, columns: &[String], known: &Known) -> Result<Schema> {
    check_unique(table, columns)?;
    let candidates = candidates(table, columns)?;
    let found = match known {
        Known::Given(classes) => {
            check_given(table, classes)?;
            Header::new(candidates).read(classes.iter().map(String::as_str).collect(), known)
        }
        Known::Labels(labels) => Header::new(candidates)
            .read(labels.iter().map(|(name, _)| name.as_str()).collect(), known),
        Known::Nothing => shared_suffixes(&candidates)
            .and_then(|classes| Header::new(candidates).read(classes, known)),
    };
    let (classifiers, classes) =
        found.map_err(|(problem, hint)| Error::header(table, problem, hint))?;
    Schema::new(classifiers, classes).map_err(|error| {
        let given = matches!(known, Known::Given(_));
        Error::header(
            table,
            error.to_string(),
            if given { Hint::NameClasses } else { two_classes() },
        )
    })
}

/// Names of classifiers with a column for every class, beside the known ones.
pub(crate) fn other_classifiers(columns: &[String], schema: &Schema) -> Vec<String> {
    let known: HashSet<&str> = schema.classifiers().iter().map(String::as_str).collect();
    let results = earlier_results(columns);
    let outputs = columns.iter().zip(&results).filter(|(_, result)| !**result);
    let header = Header::new(outputs.map(|(column, _)| column.as_str()).collect());
    let classes: Vec<&str> = schema.classes().iter().map(String::as_str).collect();
    let found = header.complete(&classes).into_iter();
    found.filter(|classifier| !known.contains(classifier)).map(str::to_owned).collect()
}

/// The columns that may be outputs. Columns that are named like results of an earlier run but are
/// not in their place may be results or outputs, which is an error.
fn candidates<'a>(table: &str, columns: &'a [String]) -> Result<Vec<&'a str>> {
    let results = earlier_results(columns);
    let names: HashSet<&str> = columns.iter().map(String::as_str).collect();
    let has = |all: &[&str]| all.iter().all(|name| names.contains(name));
    let (fused, dense) = (has(&["predicted", "entropy", "error"]), has(&["log_evidence", "error"]));
    let outputs = columns.iter().zip(results).filter(|(_, result)| !result);
    let outputs: Vec<&str> =
        outputs.map(|(column, _)| column.as_str()).filter(|column| *column != LABEL).collect();
    let like_result = |column: &&&str| {
        fused && (column.starts_with("fused_") || column.starts_with("evidence_"))
            || dense && column.starts_with("log_density_")
    };
    match outputs.iter().find(like_result) {
        None => Ok(outputs),
        Some(column) => Err(Error::header(
            table,
            format!("column `{column}` may be a result of an earlier run or a classifier's output"),
            "remove the results of the earlier run, or rename the classifier",
        )),
    }
}

/// Which columns an earlier run has added: `fused_…` before `predicted`, `entropy` and `error`,
/// `evidence_…` after them, and `log_density_…` before `log_evidence` and `error`.
fn earlier_results(columns: &[String]) -> Vec<bool> {
    let mut results = vec![false; columns.len()];
    let at = |index: usize| columns.get(index).map_or("", String::as_str);
    let mut mark = |indices: &mut dyn Iterator<Item = usize>, prefix: &str| {
        indices
            .take_while(|index| at(*index).starts_with(prefix))
            .for_each(|index| results[index] = true);
    };
    for index in 0..columns.len() {
        if (at(index), at(index + 1), at(index + 2)) == ("predicted", "entropy", "error") {
            mark(&mut (0..index).rev(), "fused_");
            let decided = (at(index + 3), at(index + 4)) == ("decision", "expected_cost");
            mark(&mut (index + if decided { 5 } else { 3 }..columns.len()), "evidence_");
        }
        if (at(index), at(index + 1)) == ("log_evidence", "error") {
            mark(&mut (0..index).rev(), "log_density_");
        }
    }
    results
}

/// Advice where a table has fewer than two classes.
pub(crate) fn two_classes() -> Hint {
    "add items of a second class; every classifier needs a value for each class".into()
}

fn check_given(table: &str, classes: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    match classes.iter().find(|class| !seen.insert(class.as_str())) {
        Some(twice) => Err(Error::header(
            table,
            format!("class `{twice}` is named twice"),
            Hint::NameClassesOnce,
        )),
        None => Ok(()),
    }
}

/// Checks that no two columns have the same name.
pub(crate) fn check_unique(table: &str, columns: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    match columns.iter().find(|column| !seen.insert(column.as_str())) {
        Some(twice) => Err(Error::header(
            table,
            format!("column `{twice}` occurs twice"),
            "rename or remove one of the two",
        )),
        None => Ok(()),
    }
}

/// The columns of a table by name.
struct Header<'a> {
    columns: Vec<&'a str>,
    indices: HashMap<&'a str, usize>,
}

impl<'a> Header<'a> {
    fn new(columns: Vec<&'a str>) -> Self {
        let indices = columns.iter().enumerate().map(|(index, &column)| (column, index)).collect();
        Self { columns, indices }
    }

    /// Classifiers in the order of their first columns; classes in the given order or, without
    /// one, in that of the first classifier's columns.
    fn read<'c>(
        &self,
        mut classes: Vec<&'c str>,
        known: &Known,
    ) -> Result<(Vec<&'a str>, Vec<&'c str>), Finding> {
        let mut classifiers = self.complete(&classes);
        let claimed = self.claim(&classifiers, &classes)?;
        let parts = (NameSet::new(&classifiers), NameSet::new(&classes));
        for (index, column) in self.columns.iter().enumerate() {
            if !claimed.contains(&index) {
                self.check_left_over(column, &parts, &classes, known)?;
            }
        }
        let first_index =
            |classifier: &&str| self.indices_of(classifier, &classes).into_iter().min();
        classifiers.sort_by_cached_key(first_index);
        let Some(first) = classifiers.first() else {
            return Err(self.nothing_found(&classes));
        };
        if !matches!(known, Known::Given(_)) {
            classes.sort_by_cached_key(|class| self.index_of(first, class));
        }
        Ok((classifiers, classes))
    }

    /// Prefixes that have a column for every class.
    fn complete(&self, classes: &[&str]) -> Vec<&'a str> {
        let (mut seen, suffixes) = (HashSet::new(), NameSet::new(classes));
        let prefixes = self.columns.iter().flat_map(|column| suffixes.prefixes_of(column));
        prefixes
            .filter(|&prefix| seen.insert(prefix))
            .filter(|prefix| classes.iter().all(|class| self.index_of(prefix, class).is_some()))
            .collect()
    }

    /// The columns of the classifiers; an error if two classifiers share one.
    fn claim(&self, classifiers: &[&str], classes: &[&str]) -> Result<HashSet<usize>, Finding> {
        let mut owners: HashMap<usize, &str> = HashMap::new();
        for &classifier in classifiers {
            for index in self.indices_of(classifier, classes) {
                if let Some(other) = owners.insert(index, classifier) {
                    let column = self.columns[index];
                    return Err((
                        format!(
                            "column `{column}` can belong to classifier `{other}` or `{classifier}`; \
                             the classes are {}",
                            quoted(classes)
                        ),
                        "rename classifiers or classes so that every column can be read in only \
                         one way"
                            .into(),
                    ));
                }
            }
        }
        Ok(owners.into_keys().collect())
    }

    fn check_left_over(
        &self,
        column: &str,
        (classifiers, suffixes): &(NameSet, NameSet),
        classes: &[&str],
        known: &Known,
    ) -> Result<(), Finding> {
        if let Some(classifier) = suffixes.prefixes_of(column).min_by_key(|prefix| prefix.len()) {
            return Err(self.incomplete(classifier, classes, known));
        }
        let owner = classifiers.beginnings_of(column).max_by_key(|classifier| classifier.len());
        match (owner, known) {
            (None, _) | (_, Known::Given(_)) => Ok(()),
            (Some(owner), _) => Err(unknown_class(column, owner, classes, known)),
        }
    }

    fn incomplete(&self, classifier: &str, classes: &[&str], known: &Known) -> Finding {
        let (found, missing): (Vec<&str>, Vec<&str>) =
            classes.iter().partition(|class| self.index_of(classifier, class).is_some());
        let seen = match known {
            Known::Labels(labels) => labels.iter().find(|(name, _)| name == missing[0]),
            _ => None,
        };
        let seen = seen.map_or(String::new(), |(name, row)| {
            format!("; label `{name}` first occurs in row {row}")
        });
        let problem = format!(
            "classifier `{classifier}` has columns for {} but none for {}{seen}",
            quoted(&found),
            quoted(&missing)
        );
        let (column, class) = (format!("{classifier}_{}", missing[0]), missing[0].to_owned());
        let hint = match known {
            Known::Given(_) => Hint::AddColumnOrDropClass { column, class },
            Known::Labels(_) => {
                format!("add the column `{column}`, or correct the label `{class}`").into()
            }
            Known::Nothing => Hint::AddColumnOrNameClasses { column },
        };
        (problem, hint)
    }

    fn nothing_found(&self, classes: &[&str]) -> Finding {
        let problem = format!(
            "no column is named `<classifier>_<class>` with one of the classes {}; the columns \
             are {}",
            quoted(classes),
            quoted(&self.columns)
        );
        let has =
            |one: &str, other: &str| self.columns.iter().any(|own| *own == one || *own == other);
        let hint = if has("item", "task") && has("source", "worker") {
            "a table of votes, with the columns `item`, `source` and `label`, is for `aggregate`"
                .into()
        } else {
            name_columns(classes[0], &self.columns)
        };
        (problem, hint)
    }

    fn index_of(&self, classifier: &str, class: &str) -> Option<usize> {
        self.indices.get(format!("{classifier}_{class}").as_str()).copied()
    }

    fn indices_of(&self, classifier: &str, classes: &[&str]) -> Vec<usize> {
        classes.iter().filter_map(|class| self.index_of(classifier, class)).collect()
    }
}

fn unknown_class(column: &str, classifier: &str, classes: &[&str], known: &Known) -> Finding {
    let class = suffix_after(column, classifier).unwrap_or_default();
    let why = match known {
        Known::Labels(_) => "never occurs as a label",
        _ => "is not a class of every classifier",
    };
    let problem = format!(
        "column `{column}` of classifier `{classifier}`: class `{class}` {why}; the classes found \
         are {}",
        quoted(classes)
    );
    let others = classes.iter().map(ToString::to_string).collect();
    (problem, Hint::LabelClassOrNameOthers { class: class.to_owned(), others })
}

/// A hint for a header without outputs. One without any `_` may be that of a table of labels.
fn name_columns(class: &str, columns: &[&str]) -> Hint {
    let mut needed = format!("name the columns `<classifier>_<class>`, such as `resnet_{class}`");
    if !columns.iter().any(|column| column.contains('_')) {
        needed +=
            "; for one column of labels per source use `aggregate` with the layout `wide-labels`";
    }
    Hint::OtherLayout { needed: needed.into(), other: Layout::Long }
}

/// Names by length, to find those that begin or end a column without trying all of them.
struct NameSet<'a> {
    names: HashSet<&'a str>,
    lengths: BTreeSet<usize>,
}

impl<'a> NameSet<'a> {
    fn new(names: &[&'a str]) -> Self {
        let lengths = names.iter().map(|name| name.len()).collect();
        Self { names: names.iter().copied().collect(), lengths }
    }

    /// What precedes `_<name>` in a column, for every name that ends it.
    fn prefixes_of<'c>(&self, column: &'c str) -> impl Iterator<Item = &'c str> {
        self.lengths.iter().filter_map(|length| {
            let (rest, name) = column.split_at_checked(column.len().checked_sub(*length)?)?;
            let prefix = rest.strip_suffix('_').filter(|prefix| !prefix.is_empty())?;
            self.names.contains(name).then_some(prefix)
        })
    }

    /// The names that precede a `_` and something more in a column.
    fn beginnings_of<'c>(&self, column: &'c str) -> impl Iterator<Item = &'c str> {
        self.lengths.iter().filter_map(|length| {
            let (name, rest) = column.split_at_checked(*length)?;
            rest.strip_prefix('_').filter(|suffix| !suffix.is_empty())?;
            self.names.contains(name).then_some(name)
        })
    }
}

fn suffix_after<'a>(column: &'a str, classifier: &str) -> Option<&'a str> {
    column.strip_prefix(classifier)?.strip_prefix('_').filter(|suffix| !suffix.is_empty())
}

/// The classes of a header without given classes and labels.
fn shared_suffixes<'a>(columns: &[&'a str]) -> Result<Vec<&'a str>, Finding> {
    let columns_are = || format!("the columns are {}", quoted(columns));
    match best_suffixes(&cuts(columns)).as_slice() {
        [] => Err((
            format!("no column is named `<classifier>_<class>`; {}", columns_are()),
            name_columns("cat", columns),
        )),
        [classes] => Ok(classes.iter().copied().collect()),
        [one, other, ..] => Err((
            format!(
                "the classes may be {} or {}; {}",
                quoted(&one.iter().collect::<Vec<_>>()),
                quoted(&other.iter().collect::<Vec<_>>()),
                columns_are()
            ),
            Hint::NameClasses,
        )),
    }
}

/// Most places at which a name is divided; a name that consists of `_` would be divided everywhere.
const MOST_CUTS: usize = 64;

/// Most places at which all names together are divided, but for one per name. Each takes some hundred bytes.
const MOST_ALL_CUTS: usize = 1 << 21;

/// Every prefix that ends before one of the last `_`, with the suffixes that follow it.
fn cuts<'a>(columns: &[&'a str]) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let most = MOST_CUTS.min(MOST_ALL_CUTS / columns.len().max(1)).max(1);
    let mut suffixes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for &column in columns {
        for (at, _) in column.rmatch_indices('_').take(most) {
            let (prefix, suffix) = (&column[..at], &column[at + 1..]);
            if !prefix.is_empty() && !suffix.is_empty() {
                suffixes.entry(prefix).or_default().insert(suffix);
            }
        }
    }
    suffixes
}

/// The sets of suffixes that cover most columns and, among these, have most prefixes.
fn best_suffixes<'a>(cuts: &BTreeMap<&str, BTreeSet<&'a str>>) -> Vec<BTreeSet<&'a str>> {
    let mut by_suffix: HashMap<&str, Vec<&BTreeSet<&str>>> = HashMap::new();
    for suffixes in cuts.values() {
        for suffix in suffixes {
            by_suffix.entry(suffix).or_default().push(suffixes);
        }
    }
    let sets: BTreeSet<_> = cuts.values().filter(|classes| classes.len() >= 2).collect();
    let mut best = Vec::new();
    let mut best_rank = (0, 0);
    for classes in sets {
        // Every prefix with all these suffixes has the rarest of them.
        let rarest = classes.iter().map(|suffix| &by_suffix[suffix]).min_by_key(|with| with.len());
        let all = rarest.into_iter().flatten().filter(|suffixes| classes.is_subset(suffixes));
        let n = all.count();
        let rank = (n * classes.len(), n);
        if rank > best_rank {
            best.clear();
            best_rank = rank;
        }
        if rank == best_rank {
            best.push(classes.clone());
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn labels(names: &[&str]) -> Vec<(String, u64)> {
        names.iter().zip(1..).map(|(&name, row)| (name.to_owned(), row)).collect()
    }

    fn read(columns: &[&str], known: &Known) -> Result<(Vec<String>, Vec<String>), String> {
        match resolve("t", &strings(columns), known) {
            Ok(schema) => Ok((schema.classifiers().to_vec(), schema.classes().to_vec())),
            Err(error) => Err(error.to_string()),
        }
    }

    #[track_caller]
    fn assert_read(columns: &[&str], known: &Known, classifiers: &[&str], classes: &[&str]) {
        assert_eq!(read(columns, known), Ok((strings(classifiers), strings(classes))));
    }

    #[track_caller]
    fn assert_rejected(columns: &[&str], known: &Known, message: &str) {
        assert_eq!(read(columns, known), Err(format!("t: {message}")));
    }

    #[test]
    fn labels_give_the_classes_and_the_first_classifier_their_order() {
        let labels = labels(&["x", "y"]);
        let columns = ["id", "b_y", "a_x", "label", "a_y", "b_x", "when"];
        assert_read(&columns, &Known::Labels(&labels), &["b", "a"], &["y", "x"]);
    }

    #[test]
    fn given_classes_keep_their_order_and_leave_other_columns_alone() {
        let given = strings(&["y", "x"]);
        let columns = ["a_x", "a_y", "a_version"];
        assert_read(&columns, &Known::Given(&given), &["a"], &["y", "x"]);
    }

    #[test]
    fn names_may_contain_underscores() {
        let labels = labels(&["not_x", "x"]);
        let columns = ["m_1_x", "m_1_not_x", "m_x", "m_not_x"];
        assert_read(&columns, &Known::Labels(&labels), &["m_1", "m"], &["x", "not_x"]);
        assert_read(&columns, &Known::Nothing, &["m_1", "m"], &["x", "not_x"]);
    }

    #[test]
    fn without_labels_the_shared_suffixes_are_the_classes() {
        assert_read(
            &["item_id", "a_x", "a_y", "b_x", "b_y"],
            &Known::Nothing,
            &["a", "b"],
            &["x", "y"],
        );
        assert_read(
            &["m_1_x", "m_1_y", "m_2_x", "m_2_y"],
            &Known::Nothing,
            &["m_1", "m_2"],
            &["x", "y"],
        );
        assert_read(&["a_x", "a_y"], &Known::Nothing, &["a"], &["x", "y"]);
    }

    #[test]
    fn ambiguous_headers_are_rejected() {
        let given = strings(&["x", "b_x"]);
        assert_rejected(
            &["a_x", "a_b_x", "a_b_b_x"],
            &Known::Given(&given),
            "column `a_b_x` can belong to classifier `a` or `a_b`; the classes are `x` and `b_x`",
        );
        assert_read(&["a_x", "a_b_x"], &Known::Given(&given), &["a"], &["x", "b_x"]);
        assert_rejected(
            &["a_1_x", "a_1_y", "b_1_x", "b_1_y"],
            &Known::Nothing,
            "the classes may be `1_x` and `1_y` or `x` and `y`; the columns are `a_1_x`, \
             `a_1_y`, `b_1_x` and `b_1_y`",
        );
    }

    #[test]
    fn a_class_without_labels_is_rejected_with_a_hint() {
        let labels = labels(&["x", "y"]);
        let error =
            resolve("t", &strings(&["a_x", "a_y", "a_z"]), &Known::Labels(&labels)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "t: column `a_z` of classifier `a`: class `z` never occurs as a label; the classes \
             found are `x` and `y`"
        );
        assert_eq!(
            error.hint().unwrap().to_string(),
            "if `z` is a class, add items with this label; if not, name the classes: `x` and `y`"
        );
        assert_rejected(
            &["a_x", "a_y", "a_z", "b_x", "b_y"],
            &Known::Nothing,
            "column `a_z` of classifier `a`: class `z` is not a class of every classifier; the \
             classes found are `x` and `y`",
        );
    }

    #[test]
    fn an_incomplete_classifier_is_rejected() {
        let two = labels(&["x", "y"]);
        assert_rejected(
            &["a_x", "a_y", "b_x"],
            &Known::Labels(&two),
            "classifier `b` has columns for `x` but none for `y`; label `y` first occurs in row 2",
        );
        let given = strings(&["x", "y", "z"]);
        assert_rejected(
            &["a_x", "a_y"],
            &Known::Given(&given),
            "classifier `a` has columns for `x` and `y` but none for `z`",
        );
    }

    #[test]
    fn no_classifier_a_duplicate_and_a_single_class_are_rejected() {
        let two = labels(&["x", "y"]);
        assert_rejected(
            &["label", "ax", "ay"],
            &Known::Labels(&two),
            "no column is named `<classifier>_<class>` with one of the classes `x` and `y`; the \
             columns are `ax` and `ay`",
        );
        assert_rejected(
            &["id", "p"],
            &Known::Nothing,
            "no column is named `<classifier>_<class>`; the columns are `id` and `p`",
        );
        assert_rejected(&["a_x", "a_y", "a_x"], &Known::Labels(&two), "column `a_x` occurs twice");
        let twice = strings(&["x", "y", "x"]);
        assert_rejected(&["a_x", "a_y"], &Known::Given(&twice), "class `x` is named twice");
        let one = labels(&["x"]);
        assert_rejected(
            &["a_x"],
            &Known::Labels(&one),
            "at least two classes are needed, found `x`",
        );
    }
}
