//! δ by the method of moments, without a likelihood.

use super::pair_items::PairItems;
use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::methods::independent::Alpha;
use correlated_dirichlet::pair;

/// δ of every class whose correlations are nearest to those of the outputs, given `alpha[k][j]`.
///
/// A class with fewer than three items with both outputs gets δ = 0.
///
/// # Example
/// ```
/// use consilience::methods::correlated::learning::moment_match;
/// use consilience::simulation::Preset;
///
/// let outputs = Preset::Sim2.truth(0.5)?.simulate(500, 1)?;
/// let rows: Vec<Vec<f64>> = Preset::Sim2.alpha().iter().map(|row| row.to_vec()).collect();
/// let delta = moment_match(&outputs, &vec![rows; 2])?;
/// // the truth is 6
/// assert!((delta[0][0] - 6.0).abs() < 2.0);
/// # Ok::<(), consilience::Error>(())
/// ```
pub fn moment_match(outputs: &Outputs, alpha: &Alpha) -> Result<Vec<Vec<f64>>> {
    let n_classes = outputs.schema().n_classes();
    let fits = alpha.len() == 2 && alpha.iter().all(|rows| rows.len() == n_classes);
    if outputs.schema().n_classifiers() != 2 || !fits {
        return Err(Error::Mismatch {
            what: "numbers of classifiers and classes",
            expected: format!("margins of 2 classifiers and {n_classes} classes"),
            found: format!("{} rows for {}", alpha.len(), outputs.schema().n_classifiers()),
        });
    }
    let class = |(j, items): (usize, PairItems)| {
        if items.len() < 3 {
            return Ok(vec![0.0; n_classes]);
        }
        let observed: Vec<f64> = (0..n_classes).map(|l| items.correlation(l)).collect();
        Ok(pair::moment_match(&alpha[0][j], &alpha[1][j], &observed)?.delta)
    };
    PairItems::by_class(outputs)?.into_iter().enumerate().map(class).collect()
}
