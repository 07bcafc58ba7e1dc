//! Reading of models and tables with the common options.

use std::path::Path;
use std::sync::Arc;

use consilience::evaluation::Weighting;
use consilience::methods::{Fused, Fusion, PosteriorPredictive, fuse_into};
use consilience::votes::VoteModel;
use consilience::{
    ClassPrior, InputFormat, Model, NoProgress, Outputs, PriorChoice, Progress, Schema,
};
use consilience_io::{Chunk, Location, ReadOptions, TableReader};
use serde_json::Value;

use crate::args::{DataOptions, ModelOptions, TableOutput};
use crate::error::Failure;
use crate::files::{Input, check_distinct};
use crate::progress::{TerminalProgress, Unit, stoppable};

const NO_MODEL: &str = "a model is the JSON file that `consilience fit -o model.json` writes; it is \
    given before the data";

/// Reads a model file.
pub(crate) fn read_model(path: &Path) -> Result<Model, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read(path).map_err(|reason| Failure::io("read", &name, reason))?;
    let text = String::from_utf8(text).map_err(|_| {
        Failure::in_file(&name)(consilience::Error::InvalidModel("it is not UTF-8 text".into()))
    })?;
    if VoteModel::is_file(&text) {
        return Err(Failure::Message {
            message: format!(
                "{name} is a model of votes, which only `fuse`, `evaluate` and `report` can use"
            ),
            hint: Some(
                "`consilience aggregate` writes models of votes, `consilience fit` all others",
            ),
        });
    }
    Model::from_json(&text).map_err(|error| match serde_json::from_str::<Value>(&text) {
        Ok(_) => Failure::in_file(name)(error),
        Err(_) => Failure::Message { message: format!("{name}: {error}"), hint: Some(NO_MODEL) },
    })
}

/// Reads a model of votes; none if the file is something else or cannot be read.
pub(crate) fn read_vote_model(path: &Path) -> Result<Option<VoteModel>, Failure> {
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(None) };
    if !VoteModel::is_file(&text) {
        return Ok(None);
    }
    VoteModel::from_json(&text).map(Some).map_err(Failure::in_file(path.display()))
}

impl DataOptions {
    /// Options for reading tables; `default` is used for options that were not given.
    pub(crate) fn read_options(&self, default: InputFormat) -> ReadOptions {
        ReadOptions {
            format: self.input_format,
            layout: self.layout,
            input_format: InputFormat {
                kind: self.values.map_or(default.kind, Into::into),
                floor: self.floor.unwrap_or(default.floor),
                sum_tolerance: self.sum_tolerance,
            },
            classes: self.classes.clone(),
            ..ReadOptions::default()
        }
    }

    /// Options for reading tables of a model: its values and floor are the defaults.
    pub(crate) fn read_options_for(&self, model: &Model) -> Result<ReadOptions, Failure> {
        if let Some(classes) = &self.classes
            && classes != model.schema().classes()
        {
            return Err(Failure::Message {
                message: format!(
                    "`--classes {}` differs from the model's classes {}",
                    classes.join(","),
                    model.schema().classes().join(",")
                ),
                hint: Some("leave `--classes` out: the model determines the classes"),
            });
        }
        Ok(self.read_options(model.input_format()))
    }
}

/// A model with the class prior and the options for reading tables.
pub(crate) struct Loaded {
    pub(crate) model: Model,
    pub(crate) prior: ClassPrior,
    /// The choice of the prior, if it is another than the model's.
    choice: Option<PriorChoice>,
    pub(crate) reading: ReadOptions,
    predictive: Option<PosteriorPredictive>,
}

impl ModelOptions {
    /// Refuses an output that would overwrite the model or the costs. It may replace the data,
    /// because all their columns are written, too.
    pub(crate) fn check_output(
        &self,
        table: &TableOutput,
        costs: Option<&Location>,
    ) -> Result<(), Failure> {
        let model = Location::from(self.model.as_path());
        let inputs = [Input::replaceable("the data", &self.data), Input::new("the model", &model)];
        let costs = costs.map(|costs| Input::new("the costs", costs));
        let inputs: Vec<_> = inputs.into_iter().chain(costs).collect();
        check_distinct(&inputs, &[("the output", &table.output)])
    }

    pub(crate) fn load(&self, quiet: bool) -> Result<Loaded, Failure> {
        let model = read_model(&self.model)?;
        let in_file = || Failure::in_file(self.model.display());
        let predictive =
            if self.predictive { Some(model.predictive().map_err(in_file())?) } else { None };
        let reading = self.reading.read_options_for(&model)?;
        let choice = self.class_prior.clone();
        let prior = match choice {
            Some(PriorChoice::Estimate) => model.class_prior().clone(),
            _ => model.prior(choice.as_ref())?,
        };
        let mut loaded = Loaded { model, prior, choice, reading, predictive };
        if loaded.choice == Some(PriorChoice::Estimate) {
            loaded.prior = loaded.estimate_prior(&self.data, quiet)?;
        }
        Ok(loaded)
    }
}

impl Loaded {
    /// The class prior as the middle of a sentence, if it was given.
    pub(crate) fn prior_note(&self) -> String {
        let estimated = match &self.choice {
            None => return String::new(),
            Some(PriorChoice::Estimate) => ", estimated from them",
            Some(_) => "",
        };
        let prior = prior_text(self.model.schema().classes(), &self.prior);
        format!("; class prior {prior}{estimated}")
    }

    /// How scores weight the items.
    pub(crate) fn weighting(&self) -> Weighting {
        let choice = self.choice.as_ref().or_else(|| self.model.chosen_prior());
        Weighting::ClassPrior.under(choice)
    }

    /// The class shares of all items of a table, which is read once more for this.
    fn estimate_prior(&self, data: &Location, quiet: bool) -> Result<ClassPrior, Failure> {
        let is_pipe = |path: &Path| path.metadata().is_ok_and(|file| !file.is_file());
        let once = match data {
            Location::Standard => true,
            Location::Path(path) => is_pipe(path),
        };
        if once {
            return Err(Failure::Message {
                message: format!(
                    "`--class-prior estimate` needs all items before the first is fused, and {data} \
                     can be read only once"
                ),
                hint: Some("write the table to a file first"),
            });
        }
        let options = ReadOptions { ignores_labels: true, keeps_all: true, ..self.reading.clone() };
        let own = self.model.class_prior();
        let (mut all, mut fused) = (Vec::new(), Fused::default());
        let task = "estimating the class prior";
        for_each_chunk(task, data, self.model.schema(), &options, quiet, |chunk, progress| {
            fuse_into(self.fusion(), &chunk.outputs, own, &mut fused, progress)?;
            all.extend_from_slice(fused.all());
            Ok(())
        })?;
        stoppable(|| ClassPrior::estimated(&all, own, &NoProgress).map_err(Failure::in_data(data)))
    }

    /// The model's fusion rule, or its posterior predictive with `--predictive`.
    pub(crate) fn fusion(&self) -> &dyn Fusion {
        match &self.predictive {
            Some(predictive) => predictive,
            None => self.model.fusion(),
        }
    }
}

/// Reads a table with known classifiers and classes chunk by chunk, with a progress bar.
pub(crate) fn for_each_chunk(
    task: &str,
    location: &Location,
    schema: &Arc<Schema>,
    options: &ReadOptions,
    quiet: bool,
    mut take: impl FnMut(Chunk, &TerminalProgress) -> Result<(), Failure>,
) -> Result<(), Failure> {
    stoppable(|| {
        let mut reader = TableReader::open(location, schema, options)?;
        let progress = TerminalProgress::new(quiet, Unit::Bytes);
        progress.begin(task, reader.total_bytes().unwrap_or(0));
        while let Some(chunk) = reader.next_chunk()? {
            progress.check()?;
            take(chunk, &progress)?;
            progress.set(reader.bytes_read());
        }
        Ok(())
    })
}

/// Reads a whole table with known classifiers and classes.
pub(crate) fn read_all(
    location: &Location,
    schema: &Arc<Schema>,
    options: &ReadOptions,
    quiet: bool,
) -> Result<Outputs, Failure> {
    let mut all: Option<Outputs> = None;
    let options = ReadOptions { keeps_all: true, ..options.clone() };
    for_each_chunk("reading", location, schema, &options, quiet, |chunk, _| {
        append(&mut all, chunk.outputs)
    })?;
    require_items(all, location)
}

/// Adds the items of a chunk to those read before.
pub(crate) fn append(all: &mut Option<Outputs>, chunk: Outputs) -> Result<(), Failure> {
    match all {
        None => *all = Some(chunk),
        Some(outputs) => outputs.append(chunk)?,
    }
    Ok(())
}

/// All items of a table; an error if there are none.
pub(crate) fn require_items(all: Option<Outputs>, table: &Location) -> Result<Outputs, Failure> {
    all.ok_or_else(|| consilience_io::Error::NoItems { name: table.to_string() }.into())
}

/// A class prior as understood, such as `x 0.2, y 0.8`.
pub(crate) fn prior_text(classes: &[String], prior: &ClassPrior) -> String {
    let parts = classes.iter().zip(prior.probabilities());
    let parts: Vec<String> = parts.map(|(class, p)| format!("{class} {p:.4}")).collect();
    parts.join(", ")
}

/// The number of values raised to the floor, as the end of a sentence; empty if there are none.
pub(crate) fn floor_note(raised: u64, floor: f64) -> String {
    let floor = if floor < 1e-3 { format!("{floor:e}") } else { floor.to_string() };
    match raised {
        0 => String::new(),
        1 => format!("; 1 value below {floor} raised to it"),
        n => format!("; {n} values below {floor} raised to it"),
    }
}
