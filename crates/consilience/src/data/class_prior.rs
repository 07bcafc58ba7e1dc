//! Class priors: the probabilities of the classes before any output is known.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, quoted};

/// A class prior: positive probabilities that add up to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassPrior {
    probabilities: Vec<f64>,
    ln: Vec<f64>,
}

impl ClassPrior {
    /// The same probability for every class.
    pub fn uniform(n_classes: usize) -> Self {
        Self::from_normalised(vec![1.0 / n_classes as f64; n_classes])
    }

    /// Creates a prior from positive weights, which are normalised.
    pub fn new(weights: &[f64]) -> Result<Self> {
        if let Some(j) = weights.iter().position(|w| !(*w > 0.0 && w.is_finite())) {
            let name = format!("class_prior[{j}]");
            return Err(Error::parameter(name, "finite and > 0", weights[j]));
        }
        let normalised = normalise(weights);
        match normalised.iter().position(|p| !(*p >= f64::MIN_POSITIVE)) {
            None => Ok(Self::from_normalised(normalised)),
            Some(j) => {
                let name = format!("class_prior[{j}]");
                Err(Error::parameter(
                    name,
                    "not vanishingly small compared with the others",
                    weights[j],
                ))
            }
        }
    }

    /// The frequencies of labels: plain where every class has some, else (n + ½)/(N + J/2) with n
    /// the number (or sum of weights) of a class's items, so that every class stays possible.
    pub fn empirical(counts: &[f64]) -> Result<Self> {
        let smoothing = if counts.contains(&0.0) { 0.5 } else { 0.0 };
        Self::new(&counts.iter().map(|count| count + smoothing).collect::<Vec<_>>())
    }

    fn from_normalised(probabilities: Vec<f64>) -> Self {
        let ln = probabilities.iter().map(|p| p.ln()).collect();
        Self { probabilities, ln }
    }

    /// The probabilities.
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// Their logarithms.
    pub fn ln(&self) -> &[f64] {
        &self.ln
    }
}

/// Weights divided by their sum. Weights that add up to 1 but for rounding stay as they are, so
/// that normalising twice is the same as normalising once.
fn normalise(weights: &[f64]) -> Vec<f64> {
    // Each of n quotients is off by at most 2 half ulp, and so is each of the n − 1 additions.
    let rounding = (weights.len() as f64 + 2.0) * f64::EPSILON;
    if (weights.iter().sum::<f64>() - 1.0).abs() <= rounding {
        return weights.to_vec();
    }
    // Divided by the largest first, because the sum of finite weights may be infinite.
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let sum: f64 = weights.iter().map(|w| w / largest).sum();
    weights.iter().map(|w| w / largest / sum).collect()
}

/// The choice of a class prior, as text: `empirical`, `uniform`, `estimate`, `p1,p2,...` in the order
/// of the classes, or `class=p,...` in any order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorChoice {
    /// The same probability for every class.
    Uniform,
    /// The [frequencies](ClassPrior::empirical) of the training labels; without labels the mean
    /// output of the training items.
    #[default]
    Empirical,
    /// The class shares of unlabelled items, [estimated](ClassPrior::estimated) from their fused
    /// probabilities: of the unlabelled training items in a fit, of the items that are fused
    /// otherwise.
    Estimate,
    /// The given weights, one per class.
    Given(Vec<f64>),
    /// The given weights by name, every class once.
    Named(Vec<(String, f64)>),
}

impl PriorChoice {
    /// The chosen prior; `counts` are the numbers (or sums of weights) of the training items per
    /// class, where known. [`Estimate`](Self::Estimate) is an error: see
    /// [`Model::prior_for`](crate::Model::prior_for).
    pub fn resolve(&self, classes: &[String], counts: Option<&[f64]>) -> Result<ClassPrior> {
        match self {
            Self::Uniform => Ok(ClassPrior::uniform(classes.len())),
            Self::Empirical => {
                let counts = counts.ok_or_else(|| {
                    Error::parameter(
                        "class prior",
                        "uniform or given (the model has no training counts of its classes)",
                        "empirical",
                    )
                })?;
                ClassPrior::empirical(counts)
            }
            Self::Estimate => Err(Error::parameter(
                "class prior",
                "uniform, empirical or given here (`estimate` needs the items that are fused)",
                "estimate",
            )),
            Self::Given(weights) if weights.len() == classes.len() => ClassPrior::new(weights),
            Self::Given(weights) => Err(Error::mismatch(
                "class prior and classes",
                format!("{} numbers ({})", classes.len(), classes.join(", ")),
                weights.len(),
            )),
            Self::Named(weights) => ClassPrior::new(&by_class(weights, classes)?),
        }
    }
}

/// Named weights in the order of the classes; an error unless every class is named once.
fn by_class(named: &[(String, f64)], classes: &[String]) -> Result<Vec<f64>> {
    let weight = |class: &String| {
        let mut own = named.iter().filter(|(name, _)| name == class);
        own.next().filter(|_| own.next().is_none()).map(|(_, weight)| *weight)
    };
    let weights: Option<Vec<f64>> = classes.iter().map(weight).collect();
    weights.filter(|weights| weights.len() == named.len()).ok_or_else(|| {
        Error::mismatch(
            "class prior and classes",
            format!("each of {} once", quoted(classes)),
            quoted(&named.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()),
        )
    })
}

impl fmt::Display for PriorChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => formatter.write_str("uniform"),
            Self::Empirical => formatter.write_str("empirical"),
            Self::Estimate => formatter.write_str("estimate"),
            Self::Given(weights) => {
                let weights: Vec<String> = weights.iter().map(f64::to_string).collect();
                formatter.write_str(&weights.join(","))
            }
            Self::Named(weights) => {
                let weights: Vec<String> =
                    weights.iter().map(|(class, weight)| format!("{class}={weight}")).collect();
                formatter.write_str(&weights.join(","))
            }
        }
    }
}

impl FromStr for PriorChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "uniform" => Ok(Self::Uniform),
            "empirical" => Ok(Self::Empirical),
            "estimate" => Ok(Self::Estimate),
            list => {
                let cells = || list.split(',').map(str::trim);
                let given = || cells().map(|cell| cell.parse().ok()).collect::<Option<_>>();
                let named = || cells().map(named_weight).collect::<Option<_>>();
                given().map(Self::Given).or_else(|| named().map(Self::Named)).ok_or_else(|| {
                    let forms = "empirical, uniform, estimate, p1,p2,... or class=p,...";
                    Error::parameter("class prior", forms, text)
                })
            }
        }
    }
}

/// `class=p`. A class may have `=` in its name.
fn named_weight(cell: &str) -> Option<(String, f64)> {
    let (class, weight) = cell.rsplit_once('=')?;
    Some((class.trim().to_owned(), weight.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_resolve_or_fail() {
        let classes = ["x".to_owned(), "y".to_owned()];
        let resolve = |text: &str, counts: Option<&[f64]>| {
            text.parse::<PriorChoice>()?.resolve(&classes, counts)
        };
        assert_eq!(resolve("uniform", None).unwrap().probabilities(), [0.5, 0.5]);
        assert_eq!(resolve("empirical", Some(&[1.0, 3.0])).unwrap().probabilities(), [0.25, 0.75]);
        assert_eq!(resolve("2, 6", None).unwrap().probabilities(), [0.25, 0.75]);
        assert_eq!(resolve("y=6, x=2", None).unwrap().probabilities(), [0.25, 0.75]);
        // Plain frequencies if every class has labels, else (n + 1/2)/(N + J/2): 0.5/4 and 3.5/4.
        let none = resolve("empirical", Some(&[0.0, 3.0])).unwrap();
        assert_eq!(none.probabilities(), [0.125, 0.875]);
        assert_eq!(resolve("empirical", Some(&[0.0, 0.0])).unwrap().probabilities(), [0.5, 0.5]);
        for text in ["uniform", "empirical", "estimate", "0.25,3", "x=0.25,y=3"] {
            assert_eq!(text.parse::<PriorChoice>().unwrap().to_string(), text);
        }
        for (text, counts) in [
            ("empirical", None),
            ("estimate", Some(&[1.0, 3.0][..])),
            ("1,2,3", None),
            ("1,0", None),
            ("1,nan", None),
            ("some", None),
            ("x=1", None),
            ("x=1,y=1,z=1", None),
            ("x=1,x=1", None),
            ("x=1,2", None),
            ("x=1,y=0", None),
        ] {
            assert!(resolve(text, counts).is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn normalising_twice_is_normalising_once() {
        // The first was off by one ulp after every reading of a model file.
        let mut priors = vec![vec![2.5, 0.3, 0.2], vec![1e308; 7], vec![1e-300, 1e-290]];
        let mut state = 1u64;
        for n in (2..300).chain([1000, 10_000]) {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                1e-3 + (state >> 11) as f64
            };
            priors.push((0..n).map(|_| next()).collect());
        }
        for weights in priors {
            let once = ClassPrior::new(&weights).unwrap();
            let twice = ClassPrior::new(once.probabilities()).unwrap();
            assert_eq!(once, twice, "{} weights", weights.len());
            let sum: f64 = once.probabilities().iter().sum();
            assert!((sum - 1.0).abs() < 1e-11, "{sum}");
        }
    }
}
