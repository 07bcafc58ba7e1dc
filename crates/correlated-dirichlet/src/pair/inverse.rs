//! δ for given correlations: for simulations, and for the method of moments.
//!
//! A component's cross moment depends on its own δₗ and on Δ = Σδ alone, so the correlations of all components
//! and their derivatives in all δ follow from one two-dimensional integral ([`Integrals`]). For a given mean correlation, a
//! root search finds the share in δ = share · min(α¹, α²); for a given correlation of every component, projected gradients
//! minimise the squared distance, starting from that share.

use super::component;
use super::moments::Integrals;
use crate::{Error, Result};
use consilience_numerics::optimise::projected_gradient;
use consilience_numerics::root::bracketed_root;

/// δ whose correlations are as near as possible to the wanted ones.
#[derive(Debug, Clone, PartialEq)]
pub struct MomentMatch {
    /// The shapes of the shared parts.
    pub delta: Vec<f64>,
    /// The correlations they imply, component by component.
    pub correlation: Vec<f64>,
}

/// Differences between correlations up to this count as none.
const REACHED: f64 = 1e-6;
/// Differences from the largest correlation up to this are rounding.
const AT_THE_END: f64 = 1e-10;
/// Tolerance of the root search for the share.
const SHARE_TOLERANCE: f64 = 1e-12;
/// The projected gradients end when no share moves by more than this, or after this many steps.
const STEP_TOLERANCE: f64 = 1e-10;
const MAX_STEPS: usize = 400;

/// δ = share · min(α¹, α²) for which the mean over components of the outputs' correlation is r.
///
/// With equal margins every r from 0 to 1 is possible; otherwise r has a maximum below 1, which the error states.
///
/// # Example
/// ```
/// use correlated_dirichlet::pair::{delta_for_correlation, moments};
///
/// let (first, second) = ([3.0, 2.0, 2.0], [2.0, 4.0, 3.0]);
/// let delta = delta_for_correlation(&first, &second, 0.4)?;
/// let reached = moments(&first, &second, &delta)?;
/// let mean = reached.iter().map(|m| m.correlation).sum::<f64>() / 3.0;
/// assert!((mean - 0.4).abs() < 1e-9);
/// assert!(delta_for_correlation(&first, &second, 0.9).is_err());
/// # Ok::<(), correlated_dirichlet::Error>(())
/// ```
pub fn delta_for_correlation(alpha1: &[f64], alpha2: &[f64], r: f64) -> Result<Vec<f64>> {
    check_correlation("correlation", r)?;
    let margins = Margins::new(alpha1, alpha2)?;
    let most = margins.mean_correlation(1.0);
    if r > most + REACHED {
        let value = format!("{r}; the largest possible is {most:.6}");
        return Err(Error::parameter("correlation", "possible with these margins", value));
    }
    Ok(margins.delta(&vec![margins.share_for_mean(r); alpha1.len()]))
}

/// δ for which the outputs of every component have the wanted correlation.
///
/// Not every set of correlations is possible: a shared component also correlates the others, because all components sum
/// to 1. The error then states the nearest set. With two components both have the same correlation; of the many δ with that
/// correlation, the one near equal shares of min(α¹, α²) is returned.
///
/// # Example
/// ```
/// use correlated_dirichlet::pair::delta_for_correlations;
///
/// let (first, second) = ([3.0, 2.0, 2.0], [2.0, 4.0, 3.0]);
/// let wanted = [0.489_166_11, 0.329_486_16, 0.435_317_99];
/// let delta = delta_for_correlations(&first, &second, &wanted)?;
/// assert!((delta[0] - 1.5).abs() < 1e-5 && (delta[1] - 0.7).abs() < 1e-5);
/// # Ok::<(), correlated_dirichlet::Error>(())
/// ```
pub fn delta_for_correlations(alpha1: &[f64], alpha2: &[f64], wanted: &[f64]) -> Result<Vec<f64>> {
    for (l, r) in wanted.iter().enumerate() {
        check_correlation(&format!("correlation[{l}]"), *r)?;
    }
    let nearest = moment_match(alpha1, alpha2, wanted)?;
    for (l, (r, got)) in wanted.iter().zip(&nearest.correlation).enumerate() {
        if (r - got).abs() > REACHED {
            return Err(Error::parameter(
                format!("correlation[{l}]"),
                "possible with these margins and the other correlations",
                format!("{r}; the nearest set is {:.6?}", nearest.correlation),
            ));
        }
    }
    Ok(nearest.delta)
}

/// The method of moments: δ whose correlations are nearest, in squared distance, to observed ones.
///
/// Observed correlations may be impossible for any δ; negative ones give δ = 0, too large ones min(α¹, α²).
pub fn moment_match(alpha1: &[f64], alpha2: &[f64], observed: &[f64]) -> Result<MomentMatch> {
    let margins = Margins::new(alpha1, alpha2)?;
    let n = alpha1.len();
    if observed.len() != n {
        return Err(Error::Mismatch {
            what: "numbers of correlations",
            expected: n.to_string(),
            found: observed.len().to_string(),
        });
    }
    if let Some(l) = observed.iter().position(|r| !r.is_finite()) {
        let name = format!("correlation[{l}]");
        return Err(Error::parameter(name, "finite", observed[l]));
    }
    let mean = observed.iter().map(|r| r.clamp(0.0, 1.0)).sum::<f64>() / n as f64;
    let start = vec![margins.share_for_mean(mean); n];
    let objective =
        |shares: &[f64], gradient: &mut [f64]| margins.squared_distance(shares, observed, gradient);
    let project = |shares: &mut [f64]| shares.iter_mut().for_each(|s| *s = s.clamp(0.0, 1.0));
    let nearest = projected_gradient(&start, objective, project, STEP_TOLERANCE, MAX_STEPS);
    let correlation = margins.correlations(&nearest.point).0;
    Ok(MomentMatch { delta: margins.delta(&nearest.point), correlation })
}

fn check_correlation(name: &str, r: f64) -> Result<()> {
    if (0.0..=1.0).contains(&r) {
        return Ok(());
    }
    Err(Error::parameter(name, "between 0 and 1", r))
}

/// Two margins, and the upper bound min(α¹, α²) of δ.
struct Margins<'a> {
    alpha: [&'a [f64]; 2],
    totals: [f64; 2],
    bound: Vec<f64>,
}

/// Derivatives of the correlations: ∂r_l/∂δ_m = all[l], plus own[l] if l = m.
struct Slopes {
    own: Vec<f64>,
    all: Vec<f64>,
}

impl<'a> Margins<'a> {
    fn new(alpha1: &'a [f64], alpha2: &'a [f64]) -> Result<Self> {
        component::components(alpha1, alpha2, &vec![0.0; alpha1.len()])?;
        let bound = alpha1.iter().zip(alpha2).map(|(a, b)| a.min(*b)).collect();
        let totals = [alpha1.iter().sum(), alpha2.iter().sum()];
        Ok(Self { alpha: [alpha1, alpha2], totals, bound })
    }

    fn delta(&self, shares: &[f64]) -> Vec<f64> {
        shares.iter().zip(&self.bound).map(|(share, bound)| share * bound).collect()
    }

    /// The correlations at some shares, and their slopes in δ.
    fn correlations(&self, shares: &[f64]) -> (Vec<f64>, Slopes) {
        let delta = self.delta(shares);
        let integrals = Integrals::new(self.totals, delta.iter().sum());
        let ([i0, i1, i2, i3], slopes) = (integrals.values, integrals.slopes);
        let mut result = Vec::with_capacity(delta.len());
        let (mut own, mut all) = (Vec::new(), Vec::new());
        for (l, &d) in delta.iter().enumerate() {
            let (a1, a2) = (self.alpha[0][l] - d, self.alpha[1][l] - d);
            let parts = [a1 * a2, a1 * d, d * a2, d * (d + 1.0)];
            let combine = |integrals: &[f64; 4]| -> f64 {
                parts.iter().zip(integrals).map(|(part, integral)| part * integral).sum()
            };
            let mean = [0, 1].map(|k| self.alpha[k][l] / self.totals[k]);
            let deviation =
                [0, 1].map(|k| (mean[k] * (1.0 - mean[k]) / (self.totals[k] + 1.0)).sqrt());
            let scale = deviation[0] * deviation[1];
            result.push((combine(&integrals.values) - mean[0] * mean[1]) / scale);
            let moved = -(a1 + a2) * i0 + (a1 - d) * i1 + (a2 - d) * i2 + (2.0 * d + 1.0) * i3;
            own.push(moved / scale);
            all.push(combine(&slopes) / scale);
        }
        (result, Slopes { own, all })
    }

    fn mean_correlation(&self, share: f64) -> f64 {
        let n = self.bound.len();
        self.correlations(&vec![share; n]).0.iter().sum::<f64>() / n as f64
    }

    /// The share whose mean correlation is r, or the nearer end; the mean correlation increases with the share.
    fn share_for_mean(&self, r: f64) -> f64 {
        if r <= 0.0 {
            return 0.0;
        }
        if r >= self.mean_correlation(1.0) - AT_THE_END {
            return 1.0;
        }
        bracketed_root(|share| self.mean_correlation(share) - r, 0.0, 1.0, SHARE_TOLERANCE)
    }

    /// ½ Σ (r_l − observed)², with its gradient in the shares.
    fn squared_distance(&self, shares: &[f64], observed: &[f64], gradient: &mut [f64]) -> f64 {
        let (got, slopes) = self.correlations(shares);
        let off: Vec<f64> = got.iter().zip(observed).map(|(got, r)| got - r).collect();
        let common: f64 = off.iter().zip(&slopes.all).map(|(off, slope)| off * slope).sum();
        for (m, slope) in gradient.iter_mut().enumerate() {
            *slope = self.bound[m] * (off[m] * slopes.own[m] + common);
        }
        0.5 * off.iter().map(|off| off * off).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_agree_with_differences() {
        let margins = Margins::new(&[3.0, 2.0, 5.0], &[2.0, 4.0, 3.0]).unwrap();
        let (observed, shares) = ([0.7, 0.1, 0.3], [0.6, 0.3, 0.8]);
        let mut gradient = [0.0; 3];
        margins.squared_distance(&shares, &observed, &mut gradient);
        for m in 0..3 {
            let at = |step: f64| {
                let mut moved = shares;
                moved[m] += step;
                margins.squared_distance(&moved, &observed, &mut [0.0; 3])
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((difference - gradient[m]).abs() < 1e-8, "{m}: {difference} {gradient:?}");
        }
    }
}
