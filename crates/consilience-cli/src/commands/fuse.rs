//! `consilience fuse`: fused probabilities for new items.

use consilience::decision::Costs;
use consilience::methods::{Fused, Fusion, Method, explain, fuse_into};
use consilience::{ClassPrior, Model, Outputs, Schema};
use consilience_io::{ABSTAIN, Added, AddedValues, Location, ReadOptions, read_costs};

use super::aggregate::fuse_votes;
use super::stream::{self, number_column};
use crate::args::{CommonOptions, FuseOptions, TableOutput};
use crate::data::{floor_note, read_vote_model};
use crate::error::Failure;
use crate::output::Messages;

pub(crate) fn run(
    options: &FuseOptions,
    _: &CommonOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    options.model.check_output(&options.table, options.costs.as_ref())?;
    if let Some(model) = read_vote_model(&options.model.model)? {
        return fuse_votes(&model, options, messages);
    }
    let mut loaded = options.model.load(messages.is_quiet())?;
    loaded.reading.ignores_labels = true;
    let source = (&options.model.data, &loaded.reading);
    let schema = loaded.model.schema();
    let costs = options.costs.as_ref().map(|costs| read_costs(costs, schema)).transpose()?;
    let rule = Rule {
        model: &loaded.model,
        fusion: loaded.fusion(),
        prior: &loaded.prior,
        prior_note: &loaded.prior_note(),
        explain: options.explain,
        costs: costs.as_ref(),
    };
    rule.fuse_table(source, &options.table, messages)
}

/// The model to fuse with, and what to write for every item.
pub(super) struct Rule<'a> {
    pub(super) model: &'a Model,
    pub(super) fusion: &'a dyn Fusion,
    pub(super) prior: &'a ClassPrior,
    /// The class prior in the report, if it was given.
    pub(super) prior_note: &'a str,
    pub(super) explain: bool,
    pub(super) costs: Option<&'a Costs>,
}

impl Rule<'_> {
    /// Fuses a whole table.
    pub(super) fn fuse_table(
        &self,
        (data, reading): (&Location, &ReadOptions),
        table: &TableOutput,
        messages: &Messages,
    ) -> Result<(), Failure> {
        let schema = self.model.schema();
        let mut columns = FusedColumns::new(schema.classes());
        let mut evidence = EvidenceColumns::new(schema, self.explain);
        let mut decisions = self.costs.map(|costs| DecisionColumns::new(schema, costs));
        let quiet = messages.is_quiet();
        let streamed = stream::add_columns(
            data,
            schema,
            reading,
            table,
            quiet,
            |outputs, progress, write| {
                fuse_into(self.fusion, outputs, self.prior, &mut columns.fused, progress)?;
                columns.fill(outputs);
                if self.explain {
                    evidence.fill(&explain(self.fusion, outputs, self.prior, progress)?);
                }
                if let Some(decisions) = &mut decisions {
                    decisions.fill(&columns.fused, outputs.n_items());
                }
                let mut added = columns.added();
                added.extend(decisions.iter().flat_map(DecisionColumns::added));
                added.extend(evidence.added());
                write(&added)
            },
        )?;
        let items = if streamed.n_items == 1 { "item" } else { "items" };
        messages.note(format_args!(
            "fused {} {items} with `{}`{}{} -> {}",
            streamed.n_items,
            self.model.method_name(),
            self.prior_note,
            floor_note(streamed.n_raised, reading.input_format.floor),
            table.output.output_name()
        ));
        if columns.unresolved > 0 {
            let instead = match self.model.method() {
                Method::Correlated(_) => "they were fused by a tree of pairs and have",
                _ => "they have",
            };
            Messages::warning(format_args!(
                "the density of {} of them could not be resolved; {instead} an `error` of 1",
                columns.unresolved
            ));
        }
        Ok(())
    }
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
    /// Items whose error is unknown.
    unresolved: usize,
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
            unresolved: 0,
        }
    }

    fn fill(&mut self, outputs: &Outputs) {
        let items = 0..outputs.n_items();
        for (class, column) in self.probabilities.iter_mut().enumerate() {
            column.clear();
            let rows = self.fused.all().chunks_exact(self.classes.len());
            column.extend(rows.map(|row| row[class]));
        }
        let class = |item| u32::try_from(self.fused.predicted(item)).expect("classes fit into u32");
        self.predicted = items.clone().map(class).collect();
        self.entropy = items.clone().map(|item| self.fused.entropy(item)).collect();
        self.error = items.map(|item| self.fused.error(item)).collect();
        self.unresolved += self.error.iter().filter(|error| **error >= 1.0).count();
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

/// The columns of `--costs`.
struct DecisionColumns<'a> {
    costs: &'a Costs,
    /// The classes, then what it is called to abstain.
    names: Vec<String>,
    decision: Vec<u32>,
    expected_cost: Vec<f64>,
}

impl<'a> DecisionColumns<'a> {
    fn new(schema: &Schema, costs: &'a Costs) -> Self {
        let mut names = schema.classes().to_vec();
        names.push(ABSTAIN.to_owned());
        Self { costs, names, decision: Vec::new(), expected_cost: Vec::new() }
    }

    fn fill(&mut self, fused: &Fused, n_items: usize) {
        self.decision.clear();
        self.expected_cost.clear();
        for item in 0..n_items {
            let decision = self.costs.decide(fused.probabilities(item));
            let index = decision.class.unwrap_or(self.names.len() - 1);
            self.decision.push(u32::try_from(index).expect("classes fit into u32"));
            self.expected_cost.push(decision.expected_cost);
        }
    }

    fn added(&self) -> [Added<'_>; 2] {
        let decision = AddedValues::Names { index: &self.decision, names: &self.names };
        [
            Added { name: "decision".into(), values: decision },
            number_column("expected_cost", &self.expected_cost),
        ]
    }
}

/// The columns of `--explain`; none without it.
struct EvidenceColumns {
    names: Vec<String>,
    values: Vec<Vec<f64>>,
}

impl EvidenceColumns {
    fn new(schema: &Schema, wanted: bool) -> Self {
        let name = |classifier: &String, class: &String| format!("evidence_{classifier}_{class}");
        let names: Vec<String> = if wanted {
            let each = |k: &String| schema.classes().iter().map(|j| name(k, j)).collect::<Vec<_>>();
            schema.classifiers().iter().flat_map(each).collect()
        } else {
            Vec::new()
        };
        Self { values: vec![Vec::new(); names.len()], names }
    }

    fn fill(&mut self, evidence: &[f64]) {
        for (i, column) in self.values.iter_mut().enumerate() {
            column.clear();
            column.extend(evidence.iter().skip(i).step_by(self.names.len()));
        }
    }

    fn added(&self) -> impl Iterator<Item = Added<'_>> {
        self.names.iter().zip(&self.values).map(|(name, values)| number_column(name, values))
    }
}
