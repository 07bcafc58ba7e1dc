//! Two sources whose quality and correlation are given: what their outputs say together.

use std::sync::Arc;

use consilience::methods::correlated::CorrelatedFusion;
use consilience::methods::independent::IndependentFusion;
use consilience::methods::{Fusion, fuse};
use consilience::{ClassPrior, Error, InputFormat, Outputs, OutputsBuilder, Schema};
use correlated_dirichlet::CorrelatedDirichlet;
use serde::{Deserialize, Serialize};

/// Two sources. Given the true class, the output of source k has a Dirichlet distribution with
/// parameter `others[k]` for the other classes and `others[k] + excess[k]` for the true one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Panel {
    /// The probabilities that each source gives to the classes.
    outputs: [Vec<f64>; 2],
    others: [f64; 2],
    excess: [f64; 2],
    /// The shares of the parameters that the sources have in common, each from 0 to below 1.
    correlations: Vec<f64>,
    /// The class prior; uniform by default.
    prior: Option<Vec<f64>>,
}

/// A fused distribution with its numerical error.
#[derive(Debug, Serialize)]
pub(crate) struct FusedPair {
    probabilities: Vec<f64>,
    error: f64,
}

/// The result of every correlation, and what a reader compares it with.
#[derive(Debug, Serialize)]
pub(crate) struct Panels {
    /// One per correlation.
    fused: Vec<FusedPair>,
    /// As if the sources were independent.
    independent: Vec<f64>,
    /// Each source alone.
    alone: [Vec<f64>; 2],
}

impl Panel {
    /// The fused distribution at every correlation.
    pub(crate) fn fuse(&self) -> Result<Panels, Error> {
        let names: Vec<String> = (1..=self.outputs[0].len()).map(|j| j.to_string()).collect();
        let schema = Arc::new(Schema::new(["1", "2"], names)?);
        let prior = match &self.prior {
            Some(prior) => ClassPrior::new(prior)?,
            None => ClassPrior::uniform(schema.n_classes()),
        };
        let mut builder = OutputsBuilder::new(Arc::clone(&schema), InputFormat::default())?;
        builder.push(&self.outputs.concat(), None)?;
        let outputs = builder.finish();
        let one = |rule: &dyn Fusion, outputs: &Outputs| -> Result<FusedPair, Error> {
            let fused = fuse(rule, outputs, &prior)?;
            Ok(FusedPair { probabilities: fused.probabilities(0).to_vec(), error: fused.error(0) })
        };

        let alpha = [0, 1].map(|k| self.alpha(k));
        let independent = IndependentFusion::new(Arc::clone(&schema), alpha.to_vec())?;
        let alone = |k: usize| -> Result<Vec<f64>, Error> {
            let meta = independent.meta(k)?;
            Ok(one(&meta, &outputs.select(meta.schema())?)?.probabilities)
        };
        let correlated = |&r: &f64| -> Result<FusedPair, Error> {
            let rule = CorrelatedFusion::new(Arc::clone(&schema), &shared(&alpha, r)?, 0.0)?;
            one(&rule, &outputs)
        };
        Ok(Panels {
            fused: self.correlations.iter().map(correlated).collect::<Result<_, _>>()?,
            independent: one(&independent, &outputs)?.probabilities,
            alone: [alone(0)?, alone(1)?],
        })
    }

    /// The Dirichlet parameters of source `k`, one row per true class.
    fn alpha(&self, k: usize) -> Vec<Vec<f64>> {
        let n = self.outputs[k].len();
        let row = |true_class: usize| {
            (0..n)
                .map(|l| self.others[k] + if l == true_class { self.excess[k] } else { 0.0 })
                .collect()
        };
        (0..n).map(row).collect()
    }
}

/// The correlated Dirichlets, one per true class, that share the fraction `r` of the smaller
/// parameter of every component.
fn shared(alpha: &[Vec<Vec<f64>>; 2], r: f64) -> Result<Vec<CorrelatedDirichlet>, Error> {
    let class = |(first, second): (&Vec<f64>, &Vec<f64>)| {
        let delta = first.iter().zip(second).map(|(a, b)| r * a.min(*b)).collect();
        CorrelatedDirichlet::new(vec![first.clone(), second.clone()], Some(delta), vec![])
    };
    Ok(alpha[0].iter().zip(&alpha[1]).map(class).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure_2(true_class: f64, correlations: Vec<f64>) -> Panels {
        let outputs = [vec![0.6, 0.2, 0.2], vec![0.6, 0.2, 0.2]];
        let (others, excess) = ([100.0; 2], [true_class - 100.0; 2]);
        Panel { outputs, others, excess, correlations, prior: None }.fuse().unwrap()
    }

    /// The paper's Figure 2; values by an independent tanh-sinh integration.
    #[test]
    fn the_first_view_is_figure_2() {
        let panels = figure_2(101.0, vec![0.1, 0.5, 0.9]);
        for (fused, want) in panels.fused.iter().zip([0.767_977, 0.674_075, 0.612_434]) {
            assert!((fused.probabilities[0] - want).abs() < 1e-5, "{fused:?}, not {want}");
        }
        // Odds of 3 to 1 against each other class, once and twice.
        assert!((panels.alone[0][0] - 0.6).abs() < 1e-12);
        assert!((panels.independent[0] - 9.0 / 11.0).abs() < 1e-12);
    }

    #[test]
    fn without_correlation_the_sources_are_independent() {
        let panels = figure_2(102.0, vec![0.0]);
        for (a, b) in panels.fused[0].probabilities.iter().zip(&panels.independent) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }

    #[test]
    fn impossible_values_are_errors() {
        let request = |text: &str| String::from_utf8(crate::answer(text.as_bytes())).unwrap();
        let start = r#"{"call":"pair","outputs":[[0.6,0.4],[0.6,0.4]],"others":[10,10],"excess":"#;
        for rest in ["[1,1],\"correlations\":[1.5]}", "[-11,1],\"correlations\":[0]}", "[1,1]}"] {
            let answer = request(&format!("{start}{rest}"));
            assert!(answer.starts_with("{\"error\":"), "{rest}: {answer}");
        }
    }
}
