//! Cancelling a fusion: how much is computed between two checks of the progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use consilience::methods::correlated::FullFusion;
use consilience::methods::independent::IndependentFusion;
use consilience::methods::{Fusion, PosteriorPredictive, Rows, Source, fuse_rows};
use consilience::simulation::Preset;
use consilience::{ClassPrior, Error, Outputs, Progress, Result, Schema};
use correlated_dirichlet::CorrelatedDirichlet;

/// Cancels after a number of checks.
struct CancelAfter {
    checks: usize,
    left: AtomicUsize,
}

impl CancelAfter {
    fn new(checks: usize) -> Self {
        Self { checks, left: AtomicUsize::new(checks) }
    }

    /// Number of checks so far.
    fn seen(&self) -> usize {
        self.checks - self.left.load(Ordering::SeqCst)
    }
}

impl Progress for CancelAfter {
    fn is_interrupted(&self) -> bool {
        let take_one = |left: usize| left.checked_sub(1);
        self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take_one).is_err()
    }
}

fn fuse(fusion: &dyn Fusion, outputs: &Outputs, progress: &CancelAfter) -> Result<()> {
    let rows = Rows { values: &mut vec![0.0; 3 * outputs.n_items()], errors: None };
    fuse_rows(fusion, Source::Checked(outputs), &ClassPrior::uniform(3), rows, progress)
}

/// The first `n` items of three sources.
fn outputs(n: usize) -> Outputs {
    let schema = Arc::new(Schema::new(["a", "b", "c"], ["x", "y", "z"]).unwrap());
    let mut builder =
        consilience::OutputsBuilder::new(schema, consilience::InputFormat::default()).unwrap();
    let two = Preset::Sim2.truth(0.5).unwrap().simulate(n, 1).unwrap();
    for i in 0..n {
        let row = [0, 1, 0].map(|k| two.output(i, k).unwrap()).concat();
        builder.push_indexed(&row, None).unwrap();
    }
    builder.finish()
}

/// The full model, whose items take milliseconds, checks before every item.
#[test]
fn the_full_model_stops_between_items() {
    let outputs = outputs(12);
    let class = CorrelatedDirichlet::new(vec![vec![3.0; 3]; 3], Some(vec![1.0; 3]), vec![]);
    let full = FullFusion::new(Arc::clone(outputs.schema()), &vec![class.unwrap(); 3], 0.0);
    let full = full.unwrap();
    let patient = CancelAfter::new(1000);
    fuse(&full, &outputs, &patient).unwrap();
    assert!(patient.seen() >= 12, "{} checks for 12 items", patient.seen());
    assert!(matches!(fuse(&full, &outputs, &CancelAfter::new(3)), Err(Error::Interrupted)));
}

/// The average over posterior draws checks before every draw: an item of a thousand draws may take seconds.
#[test]
fn the_posterior_predictive_stops_between_draws() {
    let outputs = outputs(2);
    let rule = || -> Box<dyn Fusion> {
        let alpha = vec![vec![vec![2.0; 3]; 3]; 3];
        Box::new(IndependentFusion::new(Arc::clone(outputs.schema()), alpha).unwrap())
    };
    let predictive = PosteriorPredictive::new((0..50).map(|_| rule()).collect()).unwrap();
    let patient = CancelAfter::new(1000);
    fuse(&predictive, &outputs, &patient).unwrap();
    assert!(patient.seen() >= 50, "{} checks for 50 draws", patient.seen());
    assert!(matches!(fuse(&predictive, &outputs, &CancelAfter::new(10)), Err(Error::Interrupted)));
}

/// Cheap methods check before every block of at most 256 items.
#[test]
fn other_methods_stop_between_blocks() {
    let outputs = outputs(3000);
    let alpha = vec![vec![vec![2.0; 3]; 3]; 3];
    let independent = IndependentFusion::new(Arc::clone(outputs.schema()), alpha).unwrap();
    let patient = CancelAfter::new(1000);
    fuse(&independent, &outputs, &patient).unwrap();
    assert!(patient.seen() >= 3000 / 256, "{} checks for 3000 items", patient.seen());
}
