//! Simulated outputs with known parameters, and the paper's simulated sets.

use std::str::FromStr;
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use crate::data::input_format::InputFormat;
use crate::data::outputs::{Outputs, OutputsBuilder};
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::math::random::stream;
use crate::methods::Fusion;
use crate::methods::correlated::tree::TreeFusion;
use crate::methods::independent::Alpha;
use correlated_dirichlet::CorrelatedDirichlet;
use correlated_dirichlet::pair::delta_for_correlation;

/// The simulated sets of the paper (supplement, tables D.3 to D.5): two classifiers with equal
/// margins, three classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// α is 3 for the true class and 2 for the others.
    Sim1,
    /// α is 12 for the true class and 8 for the others.
    Sim2,
    /// Rows (7, 5, 5), (5, 5, 7), (5, 7, 5): the classifiers confuse the last two classes.
    Sim3,
}

impl Preset {
    /// Parameters of the Dirichlet marginals, one row per true class.
    pub fn alpha(self) -> [[f64; 3]; 3] {
        match self {
            Self::Sim1 => [[3.0, 2.0, 2.0], [2.0, 3.0, 2.0], [2.0, 2.0, 3.0]],
            Self::Sim2 => [[12.0, 8.0, 8.0], [8.0, 12.0, 8.0], [8.0, 8.0, 12.0]],
            Self::Sim3 => [[7.0, 5.0, 5.0], [5.0, 5.0, 7.0], [5.0, 7.0, 5.0]],
        }
    }

    /// The paper's parameters at a correlation level r: δ = rα, but 0.1 at r = 0 and α − 0.1 at
    /// r = 1.
    pub fn truth(self, correlation: f64) -> Result<Truth> {
        if !(0.0..=1.0).contains(&correlation) {
            return Err(Error::parameter("correlation", "between 0 and 1", correlation));
        }
        let delta = |a: f64| match correlation {
            0.0 => 0.1,
            1.0 => a - 0.1,
            r => r * a,
        };
        let schema = Schema::new(["c1", "c2"], ["1", "2", "3"])?;
        let class = |row: [f64; 3]| {
            let common = row.iter().map(|a| delta(*a)).collect();
            Ok(CorrelatedDirichlet::new(vec![row.to_vec(); 2], Some(common), vec![])?)
        };
        let classes = self.alpha().into_iter().map(class).collect::<Result<Vec<_>>>()?;
        Truth::new(Arc::new(schema), classes)
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "sim1" => Ok(Self::Sim1),
            "sim2" => Ok(Self::Sim2),
            "sim3" => Ok(Self::Sim3),
            other => Err(Error::parameter("preset", "sim1, sim2 or sim3", other)),
        }
    }
}

/// The true distribution of all outputs for every true class.
#[derive(Debug, Clone)]
pub struct Truth {
    schema: Arc<Schema>,
    distribution: OutputDistribution,
}

#[derive(Debug, Clone)]
enum OutputDistribution {
    /// One correlated Dirichlet distribution per class.
    Correlated(Vec<CorrelatedDirichlet>),
    /// A tree of pairs.
    Tree(TreeFusion),
}

impl Truth {
    /// Uses one correlated Dirichlet distribution per class.
    pub fn new(schema: Arc<Schema>, classes: Vec<CorrelatedDirichlet>) -> Result<Self> {
        let shape = (schema.n_classifiers(), schema.n_classes());
        let fits =
            classes.iter().all(|class| (class.n_classifiers(), class.n_components()) == shape);
        if classes.len() != schema.n_classes() || !fits {
            return Err(Error::mismatch(
                "distributions and names",
                format!("{} of {} classifiers", shape.1, shape.0),
                classes.len(),
            ));
        }
        Ok(Self { schema, distribution: OutputDistribution::Correlated(classes) })
    }

    /// Uses a tree of pairs.
    pub fn of_tree(tree: TreeFusion) -> Self {
        Self { schema: Arc::clone(tree.schema()), distribution: OutputDistribution::Tree(tree) }
    }

    /// Two classifiers with given Dirichlet marginals and a mean correlation r between their outputs
    /// in every class. `alpha[k][j]` is the parameter vector of classifier k for true class j.
    ///
    /// If r is too large for the marginals of a class, the error contains the largest possible r.
    ///
    /// # Example
    /// ```
    /// use consilience::{Schema, simulation::Truth};
    ///
    /// let schema = Schema::new(["a", "b"], ["x", "y"])?;
    /// let alpha = vec![vec![vec![6.0, 2.0], vec![2.0, 6.0]], vec![vec![5.0, 2.0], vec![2.0, 4.0]]];
    /// let outputs = Truth::with_correlation(schema.into(), &alpha, 0.7)?.simulate(10, 1)?;
    /// assert_eq!(outputs.n_items(), 20);
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn with_correlation(schema: Arc<Schema>, alpha: &Alpha, r: f64) -> Result<Self> {
        let [first, second] = alpha.as_slice() else {
            return Err(Error::mismatch(
                "numbers of classifiers",
                "2 for a given correlation",
                alpha.len(),
            ));
        };
        let class = |(first, second): (&Vec<f64>, &Vec<f64>)| {
            let delta = delta_for_correlation(first, second, r)?;
            Ok(CorrelatedDirichlet::new(vec![first.clone(), second.clone()], Some(delta), vec![])?)
        };
        let classes = first.iter().zip(second).map(class).collect::<Result<Vec<_>>>()?;
        Self::new(schema, classes)
    }

    /// Names of the classifiers and classes.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The distribution of all outputs for each class; empty for a tree of pairs.
    pub fn classes(&self) -> &[CorrelatedDirichlet] {
        match &self.distribution {
            OutputDistribution::Correlated(classes) => classes,
            OutputDistribution::Tree(_) => &[],
        }
    }

    fn sample(&self, class: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        match &self.distribution {
            OutputDistribution::Correlated(classes) => classes[class].sample(rng),
            OutputDistribution::Tree(tree) => tree.sample(class, rng),
        }
    }

    /// Draws `items_per_class` labelled items per class, ordered by class. Values have no lower limit.
    pub fn simulate(&self, items_per_class: usize, seed: u64) -> Result<Outputs> {
        let mut simulator = self.simulator(seed)?;
        for class in 0..self.schema.n_classes() {
            simulator.draw(class, items_per_class)?;
        }
        Ok(simulator.take())
    }

    /// A simulator that draws items in several pieces.
    pub fn simulator(&self, seed: u64) -> Result<Simulator<'_>> {
        let input_format = InputFormat { floor: 0.0, ..InputFormat::default() };
        let builder = OutputsBuilder::new(Arc::clone(&self.schema), input_format)?;
        let streams = (0..self.schema.n_classes()).map(|class| stream(seed, class as u64));
        Ok(Simulator { truth: self, builder, streams: streams.collect() })
    }
}

/// Draws items class by class. Every class has its own random stream, so that the items of a class
/// do not depend on the sizes of the pieces.
#[derive(Debug)]
pub struct Simulator<'a> {
    truth: &'a Truth,
    builder: OutputsBuilder,
    streams: Vec<ChaCha8Rng>,
}

impl Simulator<'_> {
    /// Draws `n_items` items of one class.
    pub fn draw(&mut self, class: usize, n_items: usize) -> Result<()> {
        for _ in 0..n_items {
            let x = self.truth.sample(class, &mut self.streams[class]);
            self.builder.push_indexed(&x, Some(class))?;
        }
        Ok(())
    }

    /// Returns the items drawn since the last call.
    pub fn take(&mut self) -> Outputs {
        self.builder.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sample correlation of 20 000 items has a standard error of at most 0.007; the tolerance is
    /// five standard errors.
    #[test]
    fn the_given_correlation_is_reached() {
        let schema = Arc::new(Schema::new(["a", "b"], ["x", "y", "z"]).unwrap());
        let alpha = |row: [f64; 3]| vec![row.to_vec(); 3];
        let margins = vec![alpha([3.0, 2.0, 2.0]), alpha([2.0, 4.0, 3.0])];
        let truth = Truth::with_correlation(Arc::clone(&schema), &margins, 0.4).unwrap();
        let outputs = truth.simulate(20_000, 3).unwrap();
        let column = |k: usize, l: usize| -> Vec<f64> {
            (0..20_000).map(|i| outputs.output(i, k).unwrap()[l]).collect()
        };
        let centred = |x: Vec<f64>| -> Vec<f64> {
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            x.iter().map(|value| value - mean).collect()
        };
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let correlation = |l: usize| {
            let (a, b) = (centred(column(0, l)), centred(column(1, l)));
            dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
        };
        let mean = (0..3).map(correlation).sum::<f64>() / 3.0;
        assert!((mean - 0.4).abs() < 0.035, "{mean}");
        assert!(Truth::with_correlation(Arc::clone(&schema), &margins, 0.95).is_err());
        assert!(Truth::with_correlation(schema, &margins[..1].to_vec(), 0.4).is_err());
    }
}
