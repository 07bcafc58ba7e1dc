//! A model as text: its method, parameters and what they mean.

use std::fmt;

use super::Model;
use super::sources::describe_sources;
use crate::data::class_prior::PriorChoice;
use crate::error::Result;
use crate::methods::FitDetails;
use crate::sampling::diagnostics::Diagnostics;

impl fmt::Display for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&describe(self).map_err(|_| fmt::Error)?)
    }
}

fn describe(model: &Model) -> Result<String> {
    let parameters = model.method().fitted().describe(&model.fit_details())?;
    let mut text = describe_fit(model) + &parameters + &describe_sources(model)?;
    for warning in model.training().map_or(&[][..], |training| &training.warnings) {
        text += &format!("warning: {warning}\n");
    }
    Ok(text)
}

fn describe_fit(model: &Model) -> String {
    let mut text = format!("method       {}\n{}", model.method_name(), model.class_prior_text());
    if let Some(training) = model.training() {
        text += &match (training.n_labelled(), training.n_unlabelled()) {
            (items, 0) => format!("fitted on    {items} items\n"),
            (labelled, others) => {
                format!("fitted on    {labelled} labelled and {others} unlabelled items\n")
            }
        };
    }
    if let Some(posterior) = model.posterior() {
        let draws = model.draws().len();
        text += &format!("posterior    {}; {draws} draws kept\n", worst_text(&posterior.worst));
    }
    if let Some(worst) = model.worst_shared_diagnostics() {
        text += &format!("shared part  {}\n", worst_text(&worst));
    }
    text
}

fn worst_text(worst: &Diagnostics) -> String {
    let Diagnostics { r_hat, ess_bulk, ess_tail } = worst;
    format!("R-hat at most {r_hat:.3}, ESS at least {ess_bulk:.0} (bulk), {ess_tail:.0} (tail)")
}

impl Model {
    /// What the description of its method shows.
    fn fit_details(&self) -> FitDetails<'_> {
        FitDetails {
            schema: &self.schema,
            class_prior: &self.class_prior,
            posterior: self.posterior.as_ref(),
            pair_posteriors: &self.pair_posteriors,
            shared_posterior: self.shared_posterior.as_ref(),
            observed_correlations: self.training.as_ref().map(|t| &t.observed_correlations[..]),
        }
    }

    /// The class prior and where it comes from, as a line of a report.
    pub fn class_prior_text(&self) -> String {
        let prior = self.schema.classes().iter().zip(self.class_prior.probabilities());
        let prior: Vec<String> = prior.map(|(class, p)| format!("{class} {p:.4}")).collect();
        let source = self.class_prior_source().map_or(String::new(), |text| format!(" ({text})"));
        format!("class prior  {}{source}\n", prior.join(", "))
    }

    /// Where the class prior comes from; none for a model that was not fitted.
    fn class_prior_source(&self) -> Option<String> {
        let training = self.training.as_ref()?;
        Some(match self.chosen_prior()? {
            PriorChoice::Uniform => "uniform".into(),
            PriorChoice::Given(_) | PriorChoice::Named(_) => "given".into(),
            PriorChoice::Estimate => {
                format!("estimated from {} items without a label", training.n_unlabelled())
            }
            PriorChoice::Empirical if training.n_labelled() == 0 => {
                "mean output, because no item has a label".into()
            }
            PriorChoice::Empirical if training.statistics.class_counts().contains(&0) => {
                "frequencies of the labels plus half an item per class, because a class has none"
                    .into()
            }
            PriorChoice::Empirical => "frequencies of the labels".into(),
        })
    }

    /// The worst diagnostics of the posteriors of shared shapes, over all pairs of classifiers.
    pub fn worst_shared_diagnostics(&self) -> Option<Diagnostics> {
        let pairs = self.pair_posteriors().iter().map(|pair| pair.delta.worst);
        pairs.chain(self.shared_posterior().map(|report| report.worst)).reduce(Diagnostics::worst)
    }
}
