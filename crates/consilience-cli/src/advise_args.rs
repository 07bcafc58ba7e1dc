//! Options of `consilience advise`.

use clap::Args;

use crate::args::ModelOptions;

#[derive(Debug, Args)]
#[command(
    after_help = "Label next: the items without a label whose labels are expected to reduce the log-loss most, as a\n\
batch. Sources: what each is worth beyond the others, by cross-validated fits without it to the\n\
labelled items; those that can be dropped together are named. Use the table that the model was\n\
fitted to, or another with some labels.\n\nExamples:\n  \
    consilience advise model.json data.csv\n  \
    consilience advise model.json data.csv --labels 50 --no-sources\n  \
    consilience advise model.json data.csv --price gpt=0.02 --price small=0.001"
)]
pub(crate) struct AdviseOptions {
    #[command(flatten)]
    pub(crate) model: ModelOptions,
    /// Number of items to name for labelling; 0 for none.
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(crate) labels: usize,
    /// Price of one output of a source, in any unit; may be given for every source.
    #[arg(long, value_name = "SOURCE=PRICE", value_parser = price)]
    pub(crate) price: Vec<(String, f64)>,
    /// Largest loss that dropping sources may cost, in nats of log-loss per item.
    #[arg(long, default_value_t = 0.01, value_name = "NATS", allow_negative_numbers = true)]
    pub(crate) tolerance: f64,
    /// Stratified folds.
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub(crate) folds: usize,
    /// Leave out the sources, which takes most of the time.
    #[arg(long, conflicts_with_all = ["price", "tolerance", "folds"])]
    pub(crate) no_sources: bool,
    /// Give every item the same weight under any class prior, instead of weighting the classes by it.
    #[arg(long)]
    pub(crate) score_items: bool,
}

/// A source and its price. The last `=` separates them, because a name may contain others.
fn price(text: &str) -> Result<(String, f64), String> {
    let (name, price) = text.rsplit_once('=').ok_or("must be SOURCE=PRICE, such as gpt=0.02")?;
    match price.trim().parse::<f64>() {
        Ok(price) if price >= 0.0 && price.is_finite() => Ok((name.to_owned(), price)),
        _ => Err(format!("the price of `{name}` must be a number of at least 0, got `{price}`")),
    }
}
