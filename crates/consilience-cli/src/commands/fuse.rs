//! `consilience fuse`: fused probabilities for new items.

use consilience::fusion::{Fused, Fusion, fuse_into};
use consilience::{ClassPrior, Model, Outputs};
use consilience_io::{Added, AddedValues, Location, ReadOptions};

use super::stream::{self, number_column};
use crate::args::{CommonOptions, FuseOptions, TableOutput};
use crate::data::raised_sentence;
use crate::error::Failure;
use crate::output::Talk;

pub(crate) fn run(options: &FuseOptions, _: &CommonOptions, talk: &Talk) -> Result<(), Failure> {
    let loaded = options.model.load()?;
    let source = (&options.model.data, &loaded.reading);
    fuse_table(&loaded.model, loaded.fusion()?, &loaded.prior, source, &options.table, talk)
}

/// Fuses a whole table.
pub(super) fn fuse_table(
    model: &Model,
    fusion: &dyn Fusion,
    prior: &ClassPrior,
    (data, reading): (&Location, &ReadOptions),
    table: &TableOutput,
    talk: &Talk,
) -> Result<(), Failure> {
    let mut columns = FusedColumns::new(model.schema().classes());
    let streamed = stream::add_columns(
        data,
        model.schema(),
        reading,
        table,
        talk.is_quiet(),
        |outputs, write| {
            fuse_into(fusion, outputs, prior, &mut columns.fused)?;
            columns.fill(outputs);
            write(&columns.added())
        },
    )?;
    let items = if streamed.n_items == 1 { "item" } else { "items" };
    talk.note(format_args!(
        "fused {} {items} with `{}`{} -> {}",
        streamed.n_items,
        model.method_name(),
        raised_sentence(streamed.n_raised, reading.intake.floor),
        table.output.output_name()
    ));
    Ok(())
}

/// The columns that fusing adds, refilled chunk by chunk.
struct FusedColumns<'a> {
    classes: &'a [String],
    names: Vec<String>,
    fused: Fused,
    probabilities: Vec<Vec<f64>>,
    predicted: Vec<u32>,
    entropy: Vec<f64>,
    error: Vec<f64>,
}

impl<'a> FusedColumns<'a> {
    fn new(classes: &'a [String]) -> Self {
        Self {
            classes,
            names: classes.iter().map(|class| format!("fused_{class}")).collect(),
            fused: Fused::default(),
            probabilities: vec![Vec::new(); classes.len()],
            predicted: Vec::new(),
            entropy: Vec::new(),
            error: Vec::new(),
        }
    }

    fn fill(&mut self, outputs: &Outputs) {
        let items = 0..outputs.n_items();
        for (class, column) in self.probabilities.iter_mut().enumerate() {
            column.clear();
            column.extend(items.clone().map(|item| self.fused.probabilities(item)[class]));
        }
        let class = |item| u32::try_from(self.fused.predicted(item)).expect("classes fit into u32");
        self.predicted = items.clone().map(class).collect();
        self.entropy = items.clone().map(|item| self.fused.entropy(item)).collect();
        self.error = items.map(|item| self.fused.error(item)).collect();
    }

    fn added(&self) -> Vec<Added<'_>> {
        let fused = self.names.iter().zip(&self.probabilities);
        let mut added: Vec<Added<'_>> =
            fused.map(|(name, values)| number_column(name, values)).collect();
        let predicted = AddedValues::Names { index: &self.predicted, names: self.classes };
        added.push(Added { name: "predicted".into(), values: predicted });
        added.push(number_column("entropy", &self.entropy));
        added.push(number_column("error", &self.error));
        added
    }
}
