//! `auto` and its gain on outputs that are votes.

use consilience::evaluation::{Gain, GainSettings, gain};
use consilience::methods::auto::Auto;
use consilience::methods::bcc::Bcc;
use consilience::methods::{Fusion, fuse};
use consilience::simulation::Preset;
use consilience::{ClassPrior, InputFormat, NoProgress, Outputs, OutputsBuilder, Schema};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// The accuracies of five voters.
const ACCURACIES: [f64; 5] = [0.9, 0.8, 0.85, 0.7, 0.75];

/// One-hot outputs of five voters for three classes; voters err evenly, or copy the first one in half
/// of the items.
fn votes(items: usize, seed: u64, copying: bool) -> Outputs {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let schema = Schema::new((0..5).map(|k| format!("k{k}")), ["x", "y", "z"]).unwrap();
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    for item in 0..items {
        let label = item % 3;
        let (mut row, mut leader) = (Vec::new(), 0);
        for (k, accuracy) in ACCURACIES.into_iter().enumerate() {
            let wrong = (label + rng.random_range(1..3)) % 3;
            let mut vote = if rng.random::<f64>() < accuracy { label } else { wrong };
            if k == 0 {
                leader = vote;
            } else if copying && rng.random::<f64>() < 0.5 {
                vote = leader;
            }
            row.extend((0..3).map(|t| f64::from(u8::from(t == vote))));
        }
        builder.push_indexed(&row, Some(label)).unwrap();
    }
    builder.finish()
}

/// Hard votes: with 300 labels `auto` is near the model of independent confusion matrices, which is
/// true here, and far better where voters copy each other.
#[test]
fn votes_are_fused_as_well_as_by_confusion_matrices() {
    let loss = |fusion: &dyn Fusion, test: &Outputs| {
        let fused = fuse(fusion, test, &ClassPrior::uniform(3)).unwrap();
        let ln = |item: usize| fused.probabilities(item)[test.label(item).unwrap()].ln();
        -(0..test.n_items()).map(ln).sum::<f64>() / test.n_items() as f64
    };
    for (copying, least_gain) in [(false, -0.01), (true, 0.05)] {
        let (train, test) = (votes(300, 1, copying), votes(6000, 2, copying));
        let bcc = Bcc::default().fit(&train).unwrap();
        let auto = Auto::default().learn(&train, &NoProgress).unwrap();
        let gain = loss(bcc.fusion(), &test) - loss(&auto.fusion, &test);
        assert!(gain > least_gain, "copying {copying}: {gain}");
    }
}

/// The mean log-loss of the posterior by the accuracies that the votes were drawn with.
fn true_loss_of_votes(outputs: &Outputs) -> f64 {
    let loss = |item: usize| {
        let mut joint = [1.0f64; 3];
        for (k, accuracy) in ACCURACIES.into_iter().enumerate() {
            for (t, x) in outputs.output(item, k).unwrap().iter().enumerate() {
                joint[t] *= if *x > 0.5 { accuracy } else { (1.0 - accuracy) / 2.0 };
            }
        }
        -(joint[outputs.label(item).unwrap()] / joint.iter().sum::<f64>()).ln()
    };
    (0..outputs.n_items()).map(loss).sum::<f64>() / outputs.n_items() as f64
}

/// With votes the gain is compared with `bcc`, too, whose log-loss is near that of the true
/// posterior; where it is level or better, the verdict names it. With probabilities it is left out.
#[test]
fn the_verdict_on_votes_includes_confusion_matrices() {
    let estimate = |outputs: &Outputs| {
        let model = Auto::default().fit(outputs).unwrap();
        gain(&model, outputs, &GainSettings::default(), &NoProgress).unwrap()
    };
    let of_bcc = |gain: &Gain| gain.baselines.iter().find(|b| b.method == "bcc").cloned();
    let independent = votes(900, 1, false);
    let found = estimate(&independent);
    let bcc = of_bcc(&found).expect("all outputs are votes");
    let excess = bcc.log_loss.mean - true_loss_of_votes(&independent);
    assert!((-0.005..0.01).contains(&excess), "{excess} {found}");
    assert!(found.verdict.contains("`bcc`"), "{}", found.verdict);
    let copying = estimate(&votes(900, 1, true));
    let bcc = of_bcc(&copying).expect("all outputs are votes");
    assert!(bcc.gain.mean > 5.0 * bcc.gain.se && bcc.gain.mean > 0.05, "{copying}");
    assert!(!copying.verdict.contains("`bcc`"), "{}", copying.verdict);
    let probabilities = Preset::Sim2.truth(0.0).unwrap().simulate(30, 1).unwrap();
    assert_eq!(of_bcc(&estimate(&probabilities)), None);
}
