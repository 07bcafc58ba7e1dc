//! `consilience density`: how well each class explains an item's outputs.

use consilience::methods::ln_densities_with;
use consilience_io::Added;
use consilience_numerics::log_space::log_sum_exp;

use super::stream::{self, number_column};
use crate::args::{CommonOptions, DensityOptions};
use crate::data::floor_note;
use crate::error::Failure;
use crate::output::Messages;

pub(crate) fn run(
    options: &DensityOptions,
    _: &CommonOptions,
    messages: &Messages,
) -> Result<(), Failure> {
    let DensityOptions { model: input, table } = options;
    input.check_output(table, None)?;
    let mut loaded = input.load(messages.is_quiet())?;
    loaded.reading.ignores_labels = true;
    let (model, fusion, prior) = (&loaded.model, loaded.fusion(), &loaded.prior);
    let n_classes = model.schema().n_classes();
    let names: Vec<String> =
        model.schema().classes().iter().map(|class| format!("log_density_{class}")).collect();
    let mut unresolved = 0;
    let streamed = stream::add_columns(
        &input.data,
        model.schema(),
        &loaded.reading,
        table,
        messages.is_quiet(),
        |outputs, progress, write| {
            let (densities, errors) = ln_densities_with(fusion, outputs, progress)
                .map_err(Failure::in_data(input.model.display()))?;
            let column = |class: usize| -> Vec<f64> {
                densities.iter().skip(class).step_by(n_classes).copied().collect()
            };
            let columns: Vec<Vec<f64>> = (0..n_classes).map(column).collect();
            let evidence: Vec<f64> = densities
                .chunks_exact(n_classes)
                .map(|row| {
                    let joint = row.iter().zip(prior.ln()).map(|(density, p)| density + p);
                    log_sum_exp(&joint.collect::<Vec<f64>>())
                })
                .collect();
            let mut added: Vec<Added<'_>> = names
                .iter()
                .zip(&columns)
                .map(|(name, values)| number_column(name, values))
                .collect();
            unresolved += errors.iter().filter(|error| error.is_infinite()).count();
            added.push(number_column("log_evidence", &evidence));
            added.push(number_column("error", &errors));
            write(&added)
        },
    )?;
    messages.note(format_args!(
        "densities of {} items{}{} -> {}",
        streamed.n_items,
        loaded.prior_note(),
        floor_note(streamed.n_raised, loaded.reading.input_format.floor),
        table.output.output_name()
    ));
    if unresolved > 0 {
        Messages::warning(format_args!(
            "the densities of {unresolved} of them could not be resolved: they are guesses, with an \
             `error` of inf"
        ));
    }
    Ok(())
}
