//! Data from the model with known truth, and the paper's simulated sets.

use std::str::FromStr;
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use crate::distributions::CorrelatedDirichlet;
use crate::error::{Error, Result};
use crate::fusion::Fusion;
use crate::fusion::correlated::tree::TreeFusion;
use crate::outputs::{Intake, Outputs, OutputsBuilder};
use crate::schema::Schema;

/// The simulated sets of the paper (supplement, tables D.3 to D.5): two classifiers with equal
/// margins, three classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// α is 3 for the true class, 2 for the others.
    Sim1,
    /// α is 12 for the true class, 8 for the others.
    Sim2,
    /// Rows (7, 5, 5), (5, 5, 7), (5, 7, 5): the classifiers confuse the last two classes.
    Sim3,
}

impl Preset {
    /// The margins, one row a true class.
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
            CorrelatedDirichlet::new(vec![row.to_vec(); 2], Some(common), vec![])
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

/// A known truth: how all classifiers speak when each class is true.
#[derive(Debug, Clone)]
pub struct Truth {
    schema: Arc<Schema>,
    speech: Speech,
}

#[derive(Debug, Clone)]
enum Speech {
    /// One distribution a class.
    Correlated(Vec<CorrelatedDirichlet>),
    Tree(TreeFusion),
}

impl Truth {
    /// One distribution a class.
    pub fn new(schema: Arc<Schema>, classes: Vec<CorrelatedDirichlet>) -> Result<Self> {
        let shape = (schema.n_classifiers(), schema.n_classes());
        let fits = classes.iter().all(|class| (class.n_classifiers(), class.n_classes()) == shape);
        if classes.len() != schema.n_classes() || !fits {
            return Err(Error::Mismatch {
                what: "distributions and names",
                expected: format!("{} of {} classifiers", shape.1, shape.0),
                found: classes.len().to_string(),
            });
        }
        Ok(Self { schema, speech: Speech::Correlated(classes) })
    }

    /// A tree of pairs.
    pub fn of_tree(tree: TreeFusion) -> Self {
        Self { schema: Arc::clone(tree.schema()), speech: Speech::Tree(tree) }
    }

    /// Names and shape.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The distribution of all outputs for each class; none for a tree of pairs.
    pub fn classes(&self) -> &[CorrelatedDirichlet] {
        match &self.speech {
            Speech::Correlated(classes) => classes,
            Speech::Tree(_) => &[],
        }
    }

    fn sample(&self, class: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        match &self.speech {
            Speech::Correlated(classes) => classes[class].sample(rng),
            Speech::Tree(tree) => tree.sample(class, rng),
        }
    }

    /// `items_per_class` labelled items of every class, class by class. Values are not floored.
    pub fn simulate(&self, items_per_class: usize, seed: u64) -> Result<Outputs> {
        let mut simulator = self.simulator(seed)?;
        for class in 0..self.schema.n_classes() {
            simulator.draw(class, items_per_class)?;
        }
        Ok(simulator.take())
    }

    /// For drawing piece by piece.
    pub fn simulator(&self, seed: u64) -> Result<Simulator<'_>> {
        let intake = Intake { floor: 0.0, ..Intake::default() };
        let builder = OutputsBuilder::new(Arc::clone(&self.schema), intake)?;
        let stream = |class: usize| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(class as u64);
            rng
        };
        Ok(Simulator {
            truth: self,
            builder,
            streams: (0..self.schema.n_classes()).map(stream).collect(),
        })
    }
}

/// Draws items class by class; every class has its own random stream, so that the pieces in
/// which a class is drawn do not matter.
#[derive(Debug)]
pub struct Simulator<'a> {
    truth: &'a Truth,
    builder: OutputsBuilder,
    streams: Vec<ChaCha8Rng>,
}

impl Simulator<'_> {
    /// Draws some items of one class.
    pub fn draw(&mut self, class: usize, n_items: usize) -> Result<()> {
        for _ in 0..n_items {
            let x = self.truth.sample(class, &mut self.streams[class]);
            self.builder.push_indexed(&x, Some(class))?;
        }
        Ok(())
    }

    /// What was drawn since the last call.
    pub fn take(&mut self) -> Outputs {
        self.builder.take()
    }
}
