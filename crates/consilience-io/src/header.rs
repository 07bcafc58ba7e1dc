//! Finds the classifiers and classes in the names of a wide table's columns.
//!
//! A column `<classifier>_<class>` can often be cut in more than one place, since names may
//! contain `_`. The rule, given the classes: a *classifier* is a prefix that has a column for
//! every class. If two classifiers would share a column, the header is ambiguous. A column left
//! over that ends in `_<class>` (the longest class that fits) belongs to an incomplete
//! classifier, and one that begins with a classifier but ends in no class has a class that never
//! occurs as a label: both are errors, unless in the second case the classes were given.
//!
//! Columns that an earlier run of ours has added (`fused_…`, `evidence_…`, `log_density_…`) are no
//! outputs.
//!
//! Without given classes and labels, the classes are the suffixes that classifiers share: of all
//! readings "these prefixes times those suffixes" the one that explains most columns, and among
//! those the one with most classifiers; if that leaves two, the header is ambiguous.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use consilience::Schema;

use crate::batch::LABEL;
use crate::error::{Error, Result, quoted};

/// What is known about the classes before looking at the columns.
pub(crate) enum Known<'a> {
    /// The user named them, in this order.
    Given(&'a [String]),
    /// The distinct labels, each with the first row (from 1) that has it.
    Labels(&'a [(String, u64)]),
    /// Nothing.
    Nothing,
}

/// A problem with its advice.
type Finding = (String, String);

/// Finds classifiers and classes; `table` is named in errors.
pub(crate) fn resolve(table: &str, columns: &[String], known: &Known) -> Result<Schema> {
    check_unique(table, columns)?;
    let added = added_prefixes(columns);
    let is_output =
        |column: &&str| *column != LABEL && !added.iter().any(|prefix| column.starts_with(prefix));
    let candidates: Vec<&str> = columns.iter().map(String::as_str).filter(is_output).collect();
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
    Schema::new(classifiers, classes)
        .map_err(|error| Error::header(table, error.to_string(), NAME_CLASSES))
}

/// Beginnings of columns that an earlier run has added: fused probabilities and evidence are not
/// outputs of a classifier. They are told by the columns that come with them.
fn added_prefixes(columns: &[String]) -> Vec<&'static str> {
    let has = |name: &str| columns.iter().any(|column| column == name);
    let mut prefixes = Vec::new();
    if has("predicted") && has("entropy") && has("error") {
        prefixes.extend(["fused_", "evidence_"]);
    }
    if has("log_evidence") && has("error") {
        prefixes.push("log_density_");
    }
    prefixes
}

const NAME_CLASSES: &str = "name every class with `--classes a,b,c`";

fn check_given(table: &str, classes: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    match classes.iter().find(|class| !seen.insert(class.as_str())) {
        Some(twice) => Err(Error::header(
            table,
            format!("class `{twice}` is named twice"),
            "name every class once with `--classes a,b,c`",
        )),
        None => Ok(()),
    }
}

/// No two columns may have the same name.
pub(crate) fn check_unique(table: &str, columns: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    match columns.iter().find(|column| !seen.insert(column.as_str())) {
        Some(twice) => Err(Error::header(
            table,
            format!("column `{twice}` comes twice"),
            "rename or remove one of them",
        )),
        None => Ok(()),
    }
}

/// The columns of a table by name.
struct Header<'a> {
    columns: Vec<&'a str>,
    places: HashMap<&'a str, usize>,
}

impl<'a> Header<'a> {
    fn new(columns: Vec<&'a str>) -> Self {
        let places = columns.iter().enumerate().map(|(place, &column)| (column, place)).collect();
        Self { columns, places }
    }

    /// Classifiers in the order of their first columns, and classes in the given order or that
    /// of the first classifier's columns.
    fn read<'c>(
        &self,
        mut classes: Vec<&'c str>,
        known: &Known,
    ) -> Result<(Vec<&'a str>, Vec<&'c str>), Finding> {
        let mut classifiers = self.complete(&classes);
        let claimed = self.claim(&classifiers, &classes)?;
        for (place, column) in self.columns.iter().enumerate() {
            if !claimed.contains(&place) {
                self.check_left_over(column, &classifiers, &classes, known)?;
            }
        }
        let first_place =
            |classifier: &&str| self.places_of(classifier, &classes).into_iter().min();
        classifiers.sort_by_key(first_place);
        let Some(first) = classifiers.first() else {
            return Err(self.nothing_found(&classes));
        };
        if !matches!(known, Known::Given(_)) {
            classes.sort_by_key(|class| self.place(first, class));
        }
        Ok((classifiers, classes))
    }

    /// Prefixes that have a column for every class.
    fn complete(&self, classes: &[&str]) -> Vec<&'a str> {
        let mut seen = HashSet::new();
        let prefixes = self
            .columns
            .iter()
            .flat_map(|column| classes.iter().filter_map(|class| prefix_before(column, class)));
        prefixes
            .filter(|&prefix| seen.insert(prefix))
            .filter(|prefix| classes.iter().all(|class| self.place(prefix, class).is_some()))
            .collect()
    }

    /// The columns that the classifiers explain, if none is explained twice.
    fn claim(&self, classifiers: &[&str], classes: &[&str]) -> Result<HashSet<usize>, Finding> {
        let mut owners: HashMap<usize, &str> = HashMap::new();
        for &classifier in classifiers {
            for place in self.places_of(classifier, classes) {
                if let Some(other) = owners.insert(place, classifier) {
                    let column = self.columns[place];
                    return Err((
                        format!(
                            "column `{column}` can belong to classifier `{other}` or `{classifier}`; \
                             the classes are {}",
                            quoted(classes)
                        ),
                        "rename classifiers or classes so that every column can be read in one \
                         way only"
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
        classifiers: &[&str],
        classes: &[&str],
        known: &Known,
    ) -> Result<(), Finding> {
        let fitting = classes.iter().filter_map(|class| prefix_before(column, class));
        if let Some(classifier) = fitting.min_by_key(|prefix| prefix.len()) {
            return Err(self.incomplete(classifier, classes, known));
        }
        let begins = |classifier: &&&str| suffix_after(column, classifier).is_some();
        let owner = classifiers.iter().filter(begins).max_by_key(|classifier| classifier.len());
        match (owner, known) {
            (None, _) | (_, Known::Given(_)) => Ok(()),
            (Some(owner), _) => Err(unknown_class(column, owner, classes, known)),
        }
    }

    fn incomplete(&self, classifier: &str, classes: &[&str], known: &Known) -> Finding {
        let (found, missing): (Vec<&str>, Vec<&str>) =
            classes.iter().partition(|class| self.place(classifier, class).is_some());
        let seen = match known {
            Known::Labels(labels) => labels.iter().find(|(name, _)| name == missing[0]),
            _ => None,
        };
        let seen = seen.map_or(String::new(), |(name, row)| {
            format!("; label `{name}` is first seen in row {row}")
        });
        let problem = format!(
            "classifier `{classifier}` has columns for {} but none for {}{seen}",
            quoted(&found),
            quoted(&missing)
        );
        let instead = match known {
            Known::Given(_) => format!("or leave `{}` out of `--classes`", missing[0]),
            Known::Labels(_) => format!("correct the label, or {NAME_CLASSES}"),
            Known::Nothing => format!("or {NAME_CLASSES}"),
        };
        (problem, format!("add the column `{classifier}_{}`, {instead}", missing[0]))
    }

    fn nothing_found(&self, classes: &[&str]) -> Finding {
        let problem = format!(
            "no column is named `<classifier>_<class>` with one of the classes {}; the columns \
             are {}",
            quoted(classes),
            quoted(&self.columns)
        );
        (problem, format!("rename the columns, or {NAME_CLASSES}"))
    }

    fn place(&self, classifier: &str, class: &str) -> Option<usize> {
        self.places.get(format!("{classifier}_{class}").as_str()).copied()
    }

    fn places_of(&self, classifier: &str, classes: &[&str]) -> Vec<usize> {
        classes.iter().filter_map(|class| self.place(classifier, class)).collect()
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
    let mut all = classes.to_vec();
    all.push(class);
    let hint = format!(
        "name every class with `--classes {}`, or rename the column if `{class}` is no class",
        all.join(",")
    );
    (problem, hint)
}

fn prefix_before<'a>(column: &'a str, class: &str) -> Option<&'a str> {
    column.strip_suffix(class)?.strip_suffix('_').filter(|prefix| !prefix.is_empty())
}

fn suffix_after<'a>(column: &'a str, classifier: &str) -> Option<&'a str> {
    column.strip_prefix(classifier)?.strip_prefix('_').filter(|suffix| !suffix.is_empty())
}

/// The classes of a header of which nothing else is known.
fn shared_suffixes<'a>(columns: &[&'a str]) -> Result<Vec<&'a str>, Finding> {
    let columns_are = || format!("the columns are {}", quoted(columns));
    match best_suffixes(&cuts(columns)).as_slice() {
        [] => Err((
            format!("no column is named `<classifier>_<class>`; {}", columns_are()),
            format!("rename the columns, or {NAME_CLASSES}"),
        )),
        [classes] => Ok(classes.iter().copied().collect()),
        [one, other, ..] => Err((
            format!(
                "the classes may be {} or {}; {}",
                quoted(&one.iter().collect::<Vec<_>>()),
                quoted(&other.iter().collect::<Vec<_>>()),
                columns_are()
            ),
            NAME_CLASSES.into(),
        )),
    }
}

/// Every prefix that ends before a `_`, with all that follows it in some column.
fn cuts<'a>(columns: &[&'a str]) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut suffixes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for &column in columns {
        for (at, _) in column.match_indices('_') {
            let (prefix, suffix) = (&column[..at], &column[at + 1..]);
            if !prefix.is_empty() && !suffix.is_empty() {
                suffixes.entry(prefix).or_default().insert(suffix);
            }
        }
    }
    suffixes
}

/// The sets of suffixes that explain most columns, and among these have most prefixes.
fn best_suffixes<'a>(cuts: &BTreeMap<&str, BTreeSet<&'a str>>) -> Vec<BTreeSet<&'a str>> {
    let mut best = Vec::new();
    let mut best_rank = (0, 0);
    for classes in cuts.values().filter(|classes| classes.len() >= 2) {
        let n = cuts.values().filter(|suffixes| classes.is_subset(suffixes)).count();
        let rank = (n * classes.len(), n);
        if rank > best_rank {
            best.clear();
            best_rank = rank;
        }
        if rank == best_rank && !best.contains(classes) {
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
    fn assert_refused(columns: &[&str], known: &Known, message: &str) {
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
    fn two_readings_of_one_header_are_refused() {
        let given = strings(&["x", "b_x"]);
        assert_refused(
            &["a_x", "a_b_x", "a_b_b_x"],
            &Known::Given(&given),
            "column `a_b_x` can belong to classifier `a` or `a_b`; the classes are `x` and `b_x`",
        );
        assert_read(&["a_x", "a_b_x"], &Known::Given(&given), &["a"], &["x", "b_x"]);
        assert_refused(
            &["a_1_x", "a_1_y", "b_1_x", "b_1_y"],
            &Known::Nothing,
            "the classes may be `1_x` and `1_y` or `x` and `y`; the columns are `a_1_x`, \
             `a_1_y`, `b_1_x` and `b_1_y`",
        );
    }

    #[test]
    fn a_class_that_no_label_has_is_refused_with_advice() {
        let labels = labels(&["x", "y"]);
        let error =
            resolve("t", &strings(&["a_x", "a_y", "a_z"]), &Known::Labels(&labels)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "t: column `a_z` of classifier `a`: class `z` never occurs as a label; the classes \
             found are `x` and `y`"
        );
        assert!(error.hint().unwrap().starts_with("name every class with `--classes x,y,z`"));
        assert_refused(
            &["a_x", "a_y", "a_z", "b_x", "b_y"],
            &Known::Nothing,
            "column `a_z` of classifier `a`: class `z` is not a class of every classifier; the \
             classes found are `x` and `y`",
        );
    }

    #[test]
    fn an_incomplete_classifier_is_refused() {
        let two = labels(&["x", "y"]);
        assert_refused(
            &["a_x", "a_y", "b_x"],
            &Known::Labels(&two),
            "classifier `b` has columns for `x` but none for `y`; label `y` is first seen in row 2",
        );
        let given = strings(&["x", "y", "z"]);
        assert_refused(
            &["a_x", "a_y"],
            &Known::Given(&given),
            "classifier `a` has columns for `x` and `y` but none for `z`",
        );
    }

    #[test]
    fn no_classifier_a_duplicate_and_a_single_class_are_refused() {
        let two = labels(&["x", "y"]);
        assert_refused(
            &["label", "ax", "ay"],
            &Known::Labels(&two),
            "no column is named `<classifier>_<class>` with one of the classes `x` and `y`; the \
             columns are `ax` and `ay`",
        );
        assert_refused(
            &["id", "p"],
            &Known::Nothing,
            "no column is named `<classifier>_<class>`; the columns are `id` and `p`",
        );
        assert_refused(&["a_x", "a_y", "a_x"], &Known::Labels(&two), "column `a_x` comes twice");
        let twice = strings(&["x", "y", "x"]);
        assert_refused(&["a_x", "a_y"], &Known::Given(&twice), "class `x` is named twice");
        let one = labels(&["x"]);
        assert_refused(
            &["a_x"],
            &Known::Labels(&one),
            "at least two classes are needed, found `x`",
        );
    }
}
