//! The file of a vote model: versioned JSON with one line per source.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::auto::discount::Discount;
use super::config::VoteConfig;
use super::estimates::Interval;
use super::learned::Part;
use super::model::VoteModel;
use super::names::Names;
use super::report::Rho;
use super::table::GRADES;
use super::weights::Weights;
use crate::error::{Error, Result};
use crate::versioned_file::{self, VERSION, check_format};

/// The value of `format`.
pub(super) const FORMAT: &str = "consilience-votes";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VoteFile {
    format: String,
    version: u32,
    #[serde(rename = "software")]
    _software: Option<String>,
    settings: VoteConfig,
    classes: Vec<String>,
    rho: Rho,
    #[serde(default)]
    groups: Vec<Vec<usize>>,
    estimator: Option<Map<String, Value>>,
    parts: Vec<PartFile>,
    sources: Vec<SourceFile>,
}

/// What a part has for all sources.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartFile {
    share: f64,
    ln_prior: Vec<f64>,
    spread: Vec<Vec<f64>>,
    new_source: RowsFile,
    discount: Discount,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceFile {
    name: String,
    votes: usize,
    accuracy: Interval,
    labels: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quartiles: Option<[f32; GRADES - 1]>,
    weights: Vec<RowsFile>,
}

/// The log weights of one source in one part.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowsFile {
    /// One row per label that the source used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rows: Vec<Vec<f64>>,
    right: Vec<f64>,
    wrong: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grades: Option<[f64; GRADES]>,
}

impl VoteModel {
    /// Whether a text is the beginning of a vote model's file.
    pub fn is_file(text: &str) -> bool {
        let start: String = text.chars().take(200).filter(|c| !c.is_whitespace()).collect();
        start.contains(&format!("\"format\":\"{FORMAT}\""))
    }

    /// Reads a model from a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        versioned_file::load(path.as_ref(), Self::from_json)
    }

    /// Writes the model to a file, which is replaced.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        versioned_file::save(path.as_ref(), &self.to_json())
    }

    /// The text of the model file.
    pub fn to_json(&self) -> String {
        let parts: Vec<PartFile> = self.parts.iter().map(|part| self.part_file(part)).collect();
        let kept = self.estimator.as_ref();
        let estimator =
            kept.map_or_else(String::new, |kept| format!("\"estimator\": {},\n", json(kept)));
        let groups = match &*self.groups {
            [] => String::new(),
            groups => format!("\"groups\": {},\n", json(&groups)),
        };
        let mut text = format!(
            "{{\n\"format\": \"{FORMAT}\",\n\"version\": {VERSION},\n\"software\": {},\n\
             \"settings\": {},\n\"classes\": {},\n\"rho\": {},\n{groups}{estimator}\"parts\": {},\n\"sources\": [",
            json(&env!("CARGO_PKG_VERSION")),
            json(&self.config),
            json(&self.classes),
            json(&self.rho),
            json(&parts),
        );
        for source in 0..self.sources.len() {
            text += if source > 0 { ",\n" } else { "\n" };
            text += &json(&self.source_file(source));
        }
        text + "\n]\n}\n"
    }

    fn part_file(&self, part: &Part) -> PartFile {
        let s = part.weights.n_states;
        PartFile {
            share: part.share,
            ln_prior: part.ln_prior.clone(),
            spread: part.weights.spread.chunks_exact(s).map(<[f64]>::to_vec).collect(),
            new_source: self.rows_file(part, self.sources.len()),
            discount: part.discount.clone(),
        }
    }

    fn source_file(&self, source: usize) -> SourceFile {
        let (votes, accuracy) = self.summaries[source];
        let cells = self.source_cells[source]..self.source_cells[source + 1];
        SourceFile {
            name: self.sources.list()[source].to_string(),
            votes,
            accuracy,
            labels: self.cell_labels[cells].to_vec(),
            quartiles: self.quartiles.as_ref().map(|quartiles| quartiles[source]),
            weights: self.parts.iter().map(|part| self.rows_file(part, source)).collect(),
        }
    }

    /// The weights of a source; of a new one if it is the number after the last source.
    fn rows_file(&self, part: &Part, source: usize) -> RowsFile {
        let (weights, s) = (&part.weights, part.weights.n_states);
        let own = source * s..(source + 1) * s;
        let is_new = source == self.sources.len();
        let cells =
            if is_new { 0..0 } else { self.source_cells[source]..self.source_cells[source + 1] };
        let grades = weights.grades.as_ref().filter(|_| !is_new);
        RowsFile {
            rows: cells.map(|cell| weights.rows[cell * s..(cell + 1) * s].to_vec()).collect(),
            right: weights.right[own.clone()].to_vec(),
            wrong: weights.wrong[own].to_vec(),
            grades: grades.map(|g| std::array::from_fn(|b| g[source * GRADES + b])),
        }
    }

    /// Reads the text of a model file.
    pub fn from_json(text: &str) -> Result<Self> {
        let file: VoteFile = serde_json::from_str(text).map_err(Error::model)?;
        check_format(&file.format, file.version, FORMAT)?;
        file.into_model()
    }
}

impl VoteFile {
    fn into_model(self) -> Result<VoteModel> {
        let k = self.classes.len();
        crate::Schema::new(["source"], self.classes.iter().map(String::as_str))?;
        let is_majority = matches!(self.settings, VoteConfig::Majority(_));
        if is_majority != self.parts.is_empty() {
            return Err(Error::model("`parts` must be empty for `majority` and only for it"));
        }
        if !(self.rho.value >= 0.0 && self.rho.value.is_finite()) {
            return Err(Error::model("`rho.value` must be a number from 0"));
        }
        let mut parts = Vec::with_capacity(self.parts.len());
        let graded = self.sources.iter().any(|source| source.quartiles.is_some());
        for (number, part) in self.parts.iter().enumerate() {
            parts.push(part.read(number, k, &self.sources, graded)?);
        }
        let shares: f64 = self.parts.iter().map(|part| part.share).sum();
        if !is_majority && (shares - 1.0).abs() > 1e-9 {
            return Err(Error::model(format!(
                "`share` of all parts must add up to 1, got {shares}"
            )));
        }
        check_groups(&self.groups, self.sources.len())?;
        let mut names = Names::default();
        let (mut source_cells, mut cell_labels) = (vec![0], Vec::new());
        for source in &self.sources {
            let before = names.len();
            names.add(&source.name, "source")?;
            if names.len() == before {
                return Err(Error::model(format!("source `{}` is listed twice", source.name)));
            }
            let labels = &source.labels;
            if labels.windows(2).any(|pair| pair[0] >= pair[1])
                || labels.last().is_some_and(|l| *l as usize >= k)
            {
                return Err(Error::model(format!(
                    "`labels` of source `{}` must be increasing numbers of classes, from 0",
                    source.name
                )));
            }
            cell_labels.extend(labels);
            source_cells.push(cell_labels.len());
        }
        let quartiles = |source: &SourceFile| source.quartiles.unwrap_or([1.0; GRADES - 1]);
        Ok(VoteModel {
            quartiles: graded.then(|| self.sources.iter().map(quartiles).collect()),
            summaries: self.sources.iter().map(|s| (s.votes, s.accuracy)).collect(),
            config: self.settings,
            classes: self.classes,
            sources: Arc::new(names),
            source_cells,
            cell_labels,
            parts,
            rho: self.rho,
            groups: self.groups,
            estimator: self.estimator,
        })
    }
}

impl PartFile {
    fn read(&self, number: usize, k: usize, sources: &[SourceFile], graded: bool) -> Result<Part> {
        let s = self.ln_prior.len();
        let shape = |what: &str| {
            Error::model(format!(
                "`{what}` of part {number} has the wrong length or a value that is not finite"
            ))
        };
        let fits = |row: &[f64]| row.len() == s && row.iter().all(|value| value.is_finite());
        if s == 0 || !s.is_multiple_of(k) || !fits(&self.ln_prior) {
            return Err(shape("ln_prior"));
        }
        if self.spread.len() != k || !self.spread.iter().all(|row| fits(row)) {
            return Err(shape("spread"));
        }
        if !(self.share > 0.0 && self.share <= 1.0) {
            return Err(Error::model(format!(
                "`share` of part {number} must be above 0 and at most 1"
            )));
        }
        self.discount.check(k)?;
        let mut weights = Weights {
            n_states: s,
            rows: Vec::new(),
            right: Vec::new(),
            wrong: Vec::new(),
            spread: self.spread.concat(),
            grades: None,
        };
        let mut grades = Vec::new();
        for source in sources {
            let own = source.weights.get(number).ok_or_else(|| shape("weights"))?;
            let rows_fit =
                own.rows.len() == source.labels.len() && own.rows.iter().all(|row| fits(row));
            if !rows_fit || !fits(&own.right) || !fits(&own.wrong) {
                return Err(Error::model(format!(
                    "the weights of source `{}` do not fit the classes",
                    source.name
                )));
            }
            weights.rows.extend(own.rows.iter().flatten());
            weights.right.extend(&own.right);
            weights.wrong.extend(&own.wrong);
            grades.extend(own.grades.unwrap_or_default());
        }
        if !fits(&self.new_source.right) || !fits(&self.new_source.wrong) {
            return Err(shape("new_source"));
        }
        weights.right.extend(&self.new_source.right);
        weights.wrong.extend(&self.new_source.wrong);
        weights.grades = (graded && grades.iter().any(|g| *g != 0.0)).then_some(grades);
        Ok(Part {
            share: self.share,
            ln_prior: self.ln_prior.clone(),
            weights,
            discount: self.discount.clone(),
        })
    }
}

/// Groups have two or more sources each, and no source is in two of them.
fn check_groups(groups: &[Vec<usize>], n_sources: usize) -> Result<()> {
    let mut all = groups.concat();
    all.sort_unstable();
    let apart = all.windows(2).all(|pair| pair[0] < pair[1]);
    let known = all.last().is_none_or(|last| *last < n_sources);
    if apart && known && groups.iter().all(|group| group.len() > 1) {
        return Ok(());
    }
    let rule = "`groups` needs lists of two or more numbers of sources, from 0, each in one list";
    Err(Error::model(rule))
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("all parts of a model are plain JSON values")
}
