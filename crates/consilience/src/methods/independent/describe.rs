//! Dirichlets as text.

use super::IndependentFusion;
use crate::error::Result;
use crate::methods::FitDetails;
use crate::text;
use correlated_dirichlet::Dirichlet;

/// One row per classifier and true class: α with its posterior standard deviation, the total and
/// the mean output. Then the strength of every classifier.
pub(crate) fn describe_dirichlets(
    details: &FitDetails<'_>,
    margins: &IndependentFusion,
) -> Result<String> {
    let alpha = margins.alpha();
    let classes = details.schema.classes();
    let mut header = vec!["classifier".to_owned(), "true class".to_owned()];
    header.extend(classes.iter().map(|class| format!("α {class}")));
    header.extend(["total".to_owned(), "mean output".to_owned()]);
    let mut rows = Vec::new();
    for (k, name) in details.schema.classifiers().iter().enumerate() {
        for (j, class) in classes.iter().enumerate() {
            let concentration = &alpha[k][j];
            let sd = details.posterior.map(|posterior| &posterior.alpha_sd[k][j]);
            let cell = |(l, a): (usize, &f64)| match sd {
                Some(sd) => format!("{} ± {}", text::significant(*a), text::significant(sd[l])),
                None => text::significant(*a),
            };
            let mean = Dirichlet::new(concentration)?.mean();
            let mean: Vec<String> = mean.iter().map(|m| format!("{m:.3}")).collect();
            let mut row = vec![name.clone(), class.clone()];
            row.extend(concentration.iter().enumerate().map(cell));
            row.extend([text::significant(concentration.iter().sum()), mean.join(" ")]);
            rows.push(row);
        }
    }
    let strengths = margins.strengths(details.class_prior)?;
    let names = details.schema.classifiers().iter().zip(strengths);
    let strengths: Vec<Vec<String>> =
        names.map(|(name, s)| vec![name.clone(), format!("{s:.3}")]).collect();
    Ok(format!(
        "\n{}\n{}strength: expected evidence of one output for the true class against another, in nats\n",
        text::aligned(&header, &rows),
        text::aligned(&["classifier", "strength"], &strengths),
    ))
}
