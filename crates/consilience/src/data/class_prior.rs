//! Class priors: the probabilities of the classes before any output is known.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

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
        // Divided by the largest first, because the sum of finite weights may be infinite.
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let sum: f64 = weights.iter().map(|w| w / largest).sum();
        let normalised: Vec<f64> = weights.iter().map(|w| w / largest / sum).collect();
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

/// The choice of a class prior, as text: `uniform`, `empirical` or `p1,p2,...`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorChoice {
    /// The same probability for every class.
    #[default]
    Uniform,
    /// The frequencies of the training labels.
    Empirical,
    /// The given weights, one per class.
    Given(Vec<f64>),
}

impl PriorChoice {
    /// The chosen prior; `counts` are the numbers (or sums of weights) of the training items per
    /// class, where known.
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
                if let Some(j) = counts.iter().position(|count| *count == 0.0) {
                    return Err(Error::EmptyClass { class: classes[j].clone() });
                }
                ClassPrior::new(counts)
            }
            Self::Given(weights) if weights.len() == classes.len() => ClassPrior::new(weights),
            Self::Given(weights) => Err(Error::Mismatch {
                what: "class prior and classes",
                expected: format!("{} numbers ({})", classes.len(), classes.join(", ")),
                found: weights.len().to_string(),
            }),
        }
    }
}

impl fmt::Display for PriorChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => formatter.write_str("uniform"),
            Self::Empirical => formatter.write_str("empirical"),
            Self::Given(weights) => {
                let weights: Vec<String> = weights.iter().map(f64::to_string).collect();
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
            list => list
                .split(',')
                .map(|cell| cell.trim().parse::<f64>().ok())
                .collect::<Option<Vec<f64>>>()
                .map(Self::Given)
                .ok_or_else(|| {
                    Error::parameter("class prior", "uniform, empirical or p1,p2,...", text)
                }),
        }
    }
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
        for text in ["uniform", "empirical", "0.25,3"] {
            assert_eq!(text.parse::<PriorChoice>().unwrap().to_string(), text);
        }
        for (text, counts) in [
            ("empirical", None),
            ("empirical", Some(&[0.0, 3.0][..])),
            ("1,2,3", None),
            ("1,0", None),
            ("1,nan", None),
            ("some", None),
        ] {
            assert!(resolve(text, counts).is_err(), "{text} was accepted");
        }
    }
}
