//! Tables of costs: one row per true class, one column per decision.

use consilience::Schema;
use consilience::decision::Costs;

use crate::batch::{Batch, LABEL};
use crate::error::{Error, Result, quoted};
use crate::header::check_unique;
use crate::input::Input;
use crate::location::Location;
use crate::source::{self, Source};
use crate::wide::{
    Names, Use, check_type, find_column, missing_label, not_a_number, unknown_label,
};

/// The name of the decision not to choose a class.
pub const ABSTAIN: &str = "abstain";

const SHAPE: &str = "a table of costs has a row per true class, named in the column `label`, and a \
    column per decision: every class and, if abstaining is allowed, `abstain`";

/// Reads a table of costs: a row per true class, named in the column `label`, and a column per
/// decision, which is every class and, if abstaining is allowed, `abstain`.
pub fn read_costs(location: &Location, schema: &Schema) -> Result<Costs> {
    let name = location.to_string();
    let n_classes = schema.n_classes();
    let mut source = source::open(Input::open(location, None)?, n_classes + 1)?;
    let columns = Columns::find(&name, source.as_ref(), schema)?;
    let mut rows: Vec<Option<Vec<f64>>> = vec![None; n_classes];
    while let Some(batch) = source.next_batch(n_classes + 1)? {
        columns.read(&name, &batch, schema, &mut rows)?;
    }
    let absent = rows.iter().position(Option::is_none);
    if let Some(class) = absent {
        let class = &schema.classes()[class];
        return Err(Error::header(
            &name,
            format!("there is no row for the class `{class}`"),
            SHAPE,
        ));
    }
    Ok(Costs::new(&rows.into_iter().flatten().collect::<Vec<_>>())?)
}

/// Indices of the columns.
struct Columns {
    label: usize,
    costs: Vec<usize>,
}

impl Columns {
    fn find(table: &str, source: &dyn Source, schema: &Schema) -> Result<Self> {
        check_unique(table, source.names())?;
        let find = |column: &str| find_column(table, source, column, || SHAPE);
        let label = find(LABEL)?;
        check_type(table, source, label, Use::Name)?;
        let classes = schema.classes().iter().map(|class| find(class));
        let mut costs = classes.collect::<Result<Vec<_>>>()?;
        let abstain = source.names().iter().position(|column| column == ABSTAIN);
        costs.extend(abstain.filter(|column| !costs.contains(column)));
        for &column in &costs {
            check_type(table, source, column, Use::Number)?;
        }
        let known = |column: usize| column == label || costs.contains(&column);
        match (0..source.names().len()).find(|&column| !known(column)) {
            None => Ok(Self { label, costs }),
            Some(column) => Err(Error::header(
                table,
                format!(
                    "the column `{}` is not one of the classes {}",
                    source.names()[column],
                    quoted(schema.classes())
                ),
                SHAPE,
            )),
        }
    }

    fn read(
        &self,
        table: &str,
        batch: &Batch,
        schema: &Schema,
        rows: &mut [Option<Vec<f64>>],
    ) -> Result<()> {
        let (names, labels) = (Names::new(schema.classes()), batch.texts(self.label));
        let width = self.costs.len();
        let mut values = vec![0.0; batch.n_rows() * width];
        let number = batch.fill_numbers(&self.costs, &mut values);
        number.map_err(|(row, column)| not_a_number(table, batch, row, column))?;
        for (row, costs) in values.chunks_exact(width).enumerate() {
            if let Some(at) = costs.iter().position(|cost| !cost.is_finite()) {
                return Err(not_finite(table, batch, row, self.costs[at]));
            }
            let label = labels.get(row);
            let label = label.ok_or_else(|| missing_label(table, batch, row, self.label))?;
            let class = names.get(label);
            let class =
                class.ok_or_else(|| unknown_label(table, batch, row, self.label, label, schema))?;
            if rows[class].replace(costs.to_vec()).is_some() {
                return Err(Error::Cell {
                    position: batch.position(table, row, vec![LABEL.into()]).into(),
                    problem: format!("the class `{}` has two rows", schema.classes()[class]),
                    hint: Some("remove one of the two".into()),
                });
            }
        }
        Ok(())
    }
}

fn not_finite(table: &str, batch: &Batch, row: usize, column: usize) -> Error {
    Error::Cell {
        position: batch.position(table, row, vec![batch.names[column].clone()]).into(),
        problem: format!("a cost must be a finite number, got `{}`", batch.show(row, column)),
        hint: Some("give a decision that must never be made a very high cost instead".into()),
    }
}
