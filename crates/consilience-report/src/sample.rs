//! A sample of items, for trying other class priors and costs in the page.

use consilience::methods::{Fusion, Method, fuse};
use consilience::{ClassPrior, Outputs, Result};
use serde::Serialize;

use crate::report::Study;

/// Fused probabilities of evenly spaced items: labelled ones if there are any.
///
/// Under another class prior, the probabilities of every part are multiplied by the ratio of the two
/// priors and normalised; the fused probabilities are the weighted mean of the parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample {
    /// Number of items that the sample is taken from.
    pub of: usize,
    /// The items, counted from 0.
    pub items: Vec<usize>,
    /// Their true classes; empty without labels.
    pub labels: Vec<usize>,
    /// Weights of the parts: `auto` is a mixture, most other methods have one part.
    pub weights: Vec<f64>,
    /// Probabilities under the class prior of the report by item, part and class, with 12 digits.
    pub parts: Vec<Vec<Vec<f64>>>,
    /// Whether that rule agrees with the library to 1e-9. If not, the page has no slider for the
    /// class prior.
    pub follows_prior: bool,
}

/// Most probabilities in a sample, most items and fewest.
const LARGEST: usize = 30_000;
const MOST_ITEMS: usize = 2_000;
const FEWEST_ITEMS: usize = 50;

/// Items for which another class prior is tried.
const TRIED: usize = 100;

/// Largest error of the rule.
const TOLERANCE: f64 = 1e-9;

impl Sample {
    pub(crate) fn of(study: &Study<'_>) -> Result<Self> {
        let labelled = study.outputs.n_labelled() > 0;
        let all: Vec<usize> = (0..study.n_items())
            .filter(|item| !labelled || study.outputs.label(*item).is_some())
            .collect();
        let rules = rules(study)?;
        let numbers = study.classes().len() * rules.len();
        let most = (LARGEST / numbers).clamp(FEWEST_ITEMS, MOST_ITEMS);
        let items: Vec<usize> = evenly(all.len(), most).into_iter().map(|i| all[i]).collect();
        let outputs = study.outputs.select_items(&items);
        let mut parts = vec![Vec::with_capacity(rules.len()); items.len()];
        for (_, rule) in &rules {
            let own = fuse(rule.fusion(), &outputs, study.prior)?;
            for (item, parts) in parts.iter_mut().enumerate() {
                parts.push(own.probabilities(item).iter().map(|p| rounded(*p)).collect());
            }
        }
        let mut sample = Self {
            of: all.len(),
            labels: items.iter().filter_map(|&item| study.outputs.label(item)).collect(),
            weights: rules.iter().map(|(weight, _)| *weight).collect(),
            parts,
            follows_prior: false,
            items,
        };
        sample.follows_prior = sample.follows(study, &outputs)?;
        Ok(sample)
    }

    /// Whether the rule agrees with the library: tried for the first and the last class with a
    /// probability of 0.9.
    fn follows(&self, study: &Study<'_>, outputs: &Outputs) -> Result<bool> {
        let tried = evenly(self.items.len(), TRIED);
        let outputs = outputs.select_items(&tried);
        let from = study.prior.probabilities();
        for class in [0, from.len() - 1] {
            let to = with_class(from, class, 0.9);
            let exact = fuse(study.fusion, &outputs, &ClassPrior::new(&to)?)?;
            for (place, &item) in tried.iter().enumerate() {
                let own = self.under(item, from, &to);
                let mut pairs = own.iter().zip(exact.probabilities(place));
                if pairs.any(|(a, b)| !((a - b).abs() <= TOLERANCE)) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The fused probabilities of an item of the sample under another class prior.
    fn under(&self, item: usize, from: &[f64], to: &[f64]) -> Vec<f64> {
        let mut mixture = vec![0.0; from.len()];
        for (weight, part) in self.weights.iter().zip(&self.parts[item]) {
            let own = shifted(part, from, to);
            mixture.iter_mut().zip(own).for_each(|(sum, p)| *sum += weight * p);
        }
        mixture
    }
}

/// A rule of fusion.
enum Rule<'a> {
    Whole(&'a dyn Fusion),
    Part(Box<dyn Fusion>),
}

impl Rule<'_> {
    fn fusion(&self) -> &dyn Fusion {
        match self {
            Self::Whole(fusion) => *fusion,
            Self::Part(fusion) => &**fusion,
        }
    }
}

/// The rules that the fused distribution is a mixture of, with their weights.
fn rules<'a>(study: &Study<'a>) -> Result<Vec<(f64, Rule<'a>)>> {
    match study.model.method() {
        Method::Auto(auto) if !study.options.predictive => {
            let parts = auto.parts()?.into_iter();
            Ok(parts.map(|(weight, own)| (weight, Rule::Part(Box::new(own)))).collect())
        }
        _ => Ok(vec![(1.0, Rule::Whole(study.fusion))]),
    }
}

/// A probability with 12 significant digits.
fn rounded(p: f64) -> f64 {
    format!("{p:.11e}").parse().unwrap_or(p)
}

/// A class prior with this probability for one class; the others keep their proportions.
pub(crate) fn with_class(prior: &[f64], class: usize, probability: f64) -> Vec<f64> {
    let rest: f64 = prior.iter().enumerate().filter(|(j, _)| *j != class).map(|(_, p)| p).sum();
    let scaled = |(j, p): (usize, &f64)| {
        if j == class { probability } else { p * (1.0 - probability) / rest }
    };
    prior.iter().enumerate().map(scaled).collect()
}

/// Fused probabilities under another class prior: times the ratio of the priors, normalised.
fn shifted(fused: &[f64], from: &[f64], to: &[f64]) -> Vec<f64> {
    let products: Vec<f64> = (0..fused.len()).map(|j| fused[j] * (to[j] / from[j])).collect();
    let sum: f64 = products.iter().sum();
    products.iter().map(|p| p / sum).collect()
}

/// At most `most` of `n` places, evenly spaced.
pub(crate) fn evenly(n: usize, most: usize) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    // in 128 bits, because the product of two places may not fit into 32
    let place = |i: usize| usize::try_from(i as u128 * n as u128 / most as u128);
    (0..most).map(|i| place(i).expect("below n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_evenly_spaced() {
        assert_eq!(evenly(3, 5), [0, 1, 2]);
        assert_eq!(evenly(10, 5), [0, 2, 4, 6, 8]);
        assert_eq!(evenly(7, 3), [0, 2, 4]);
    }

    /// By hand: odds of 3 to 1 under equal priors become 3 · (0.2 / 0.8) = 0.75 to 1.
    #[test]
    fn a_prior_multiplies_the_odds() {
        let to = with_class(&[0.5, 0.5], 0, 0.2);
        assert_eq!(to, [0.2, 0.8]);
        let got = shifted(&[0.75, 0.25], &[0.5, 0.5], &to);
        assert!((got[0] - 0.75 / 1.75).abs() < 1e-15);
    }
}
