//! Model files of correlated classifiers with extreme but valid parameters fuse within a bound of processor time; shapes beyond
//! the stated limit are refused.

use consilience::{InputFormat, Model, Outputs, OutputsBuilder};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

const STRUCTURES: [&str; 5] = ["pair", "tree", "tree-mixture", "full", "common"];

/// Processor time of one model and its items in the development build; see `experiments/attacks` for what was found.
const MAX_SECONDS: f64 = 20.0;

/// Shapes of one class: α of every classifier, and the shared ones as shares of what is left.
struct Shapes {
    alpha: Vec<Vec<Vec<f64>>>,
    common: Vec<Vec<f64>>,
    pair: Vec<Vec<f64>>,
    resolution: f64,
}

impl Shapes {
    fn ordinary(structure: &str) -> Self {
        let row = |j: usize| (0..3).map(|l| if l == j { 12.0 } else { 8.0 }).collect::<Vec<f64>>();
        let margins: Vec<Vec<f64>> = (0..3).map(row).collect();
        let n = if structure == "pair" { 2 } else { 3 };
        let common = vec![vec![2.0; 3]; 3];
        Self { alpha: vec![margins; n], pair: common.clone(), common, resolution: 0.0 }
    }

    /// The model file; shared shapes are cut so that private shapes are not negative.
    fn model(&self, structure: &str) -> Value {
        let names = &["a", "b", "c"][..self.alpha.len()];
        let tree = structure.starts_with("tree");
        let smallest = |j: usize, l: usize| {
            self.alpha.iter().map(|rows| rows[j][l]).fold(f64::INFINITY, f64::min)
        };
        let cut = |rows: &[Vec<f64>], part: f64| -> Vec<Vec<f64>> {
            let row = |j: usize| (0..3).map(|l| rows[j][l].min(part * smallest(j, l))).collect();
            (0..3).map(row).collect()
        };
        let pair = |a: usize, b: usize| {
            json!({"between": [names[a], names[b]], "gain": 1.0,
                "delta": cut(&self.pair, if tree { 1.0 } else { 0.25 })})
        };
        let pairs: Vec<Value> = (0..names.len())
            .flat_map(|b| (0..b).map(move |a| (a, b)))
            .map(|(a, b)| pair(a, b))
            .collect();
        let common = cut(&self.common, if structure == "full" { 0.5 } else { 1.0 });
        let delta = match structure {
            "tree" | "tree-mixture" => json!({"pairs": pairs}),
            "full" => json!({"common": common, "pairs": pairs}),
            _ => json!({"common": common}),
        };
        let structure = if structure == "pair" { "common" } else { structure };
        json!({"format": "consilience", "version": 1, "method": "correlated", "classifiers": names,
            "classes": ["x", "y", "z"], "class_prior": [1, 1, 1],
            "parameters": {"alpha": self.alpha, "delta": delta, "structure": structure, "resolution": self.resolution}})
    }
}

fn log_uniform(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    low * (high / low).powf(rng.random())
}

/// One to three of the shapes of a model, or its resolution, at extreme values.
fn extreme(rng: &mut ChaCha8Rng, structure: &str) -> Shapes {
    let mut shapes = Shapes::ordinary(structure);
    if rng.random_bool(0.6) {
        shapes.resolution = log_uniform(rng, 1e-9, 0.2);
    }
    for _ in 0..rng.random_range(1..=3) {
        let (j, l) = (rng.random_range(0..3), rng.random_range(0..3));
        let k = rng.random_range(0..shapes.alpha.len());
        let all = rng.random_bool(0.3);
        let value = if rng.random_bool(0.6) {
            log_uniform(rng, 1e2, 1e7)
        } else {
            log_uniform(rng, 1e-300, 1e-1)
        };
        match rng.random_range(0..3) {
            0 if all => shapes.alpha.iter_mut().for_each(|rows| rows[j][l] = value),
            0 => shapes.alpha[k][j][l] = value,
            1 => shapes.common[j][l] = value,
            _ => shapes.pair[j][l] = value,
        }
    }
    shapes
}

/// Items of random outputs, one of them tied and one in corners of the simplex.
fn items(rng: &mut ChaCha8Rng, model: &Model) -> Outputs {
    let schema = model.schema().as_ref().clone();
    let n = schema.n_classifiers();
    let mut builder = OutputsBuilder::new(schema, InputFormat::default()).unwrap();
    let mut draw = || -> Vec<f64> {
        let x: Vec<f64> = (0..3).map(|_| -rng.random::<f64>().max(1e-12).ln()).collect();
        let total: f64 = x.iter().sum();
        x.iter().map(|x| x / total).collect()
    };
    for _ in 0..2 {
        let row: Vec<f64> = (0..n).flat_map(|_| draw()).collect();
        builder.push(&row, None).unwrap();
    }
    builder.push(&draw().repeat(n), None).unwrap();
    builder.push(&[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]][..n].concat(), None).unwrap();
    builder.finish()
}

/// Processor seconds of this process; 0 where the system does not report them.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Fuses one random model; returns its processor seconds.
fn run(seed: u64) -> f64 {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let structure = STRUCTURES[rng.random_range(0..STRUCTURES.len())];
    let text = extreme(rng, structure).model(structure).to_string();
    let before = processor_seconds();
    let model =
        Model::from_json(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    let outputs = items(rng, &model);
    let fused = model.fuse(&outputs).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    for item in 0..outputs.n_items() {
        let probabilities = fused.probabilities(item);
        let total: f64 = probabilities.iter().sum();
        let good =
            probabilities.iter().all(|p| (0.0..=1.0).contains(p)) && (total - 1.0).abs() < 1e-9;
        assert!(
            good && fused.error(item) >= 0.0,
            "seed {seed}, item {item}: {probabilities:?}\n{text}"
        );
    }
    let seconds = processor_seconds() - before;
    assert!(seconds < MAX_SECONDS, "seed {seed}: {seconds} s\n{text}");
    seconds
}

#[test]
fn extreme_models_fuse_in_bounded_time() {
    for seed in 0..24 {
        run(seed);
    }
}

#[test]
#[ignore = "slow: make validate"]
#[allow(clippy::print_stdout)] // its numbers
fn thousands_of_extreme_models_fuse_in_bounded_time() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
    };
    let mut slowest = (0.0, 0);
    for seed in number("FROM", 1000)..number("TO", 4000) {
        let seconds = run(seed);
        if seconds > slowest.0 {
            slowest = (seconds, seed);
            println!("seed {seed}: {seconds} s");
        }
    }
}

/// A density with a shape of 9e15 took half a second of processor time per item and class, and was not resolved.
#[test]
fn shapes_beyond_the_limit_are_refused() {
    for structure in STRUCTURES {
        let mut shapes = Shapes::ordinary(structure);
        shapes.alpha[1][2][0] = 9e15;
        let error = Model::from_json(&shapes.model(structure).to_string()).unwrap_err();
        let expected =
            "`alpha[1][2][0]` must be at most 1e7 for correlated classifiers, got 9000000000000000";
        assert_eq!(error.to_string(), expected, "{structure}");
        shapes.alpha[1][2][0] = 1e7;
        assert!(Model::from_json(&shapes.model(structure).to_string()).is_ok(), "{structure}");
    }
}

/// With a shape of 1e308 all fused probabilities were NaN, and the page of `report` panicked.
#[test]
fn shapes_whose_densities_overflow_are_refused() {
    for (method, name) in [("independent", "alpha"), ("bcc", "confusion")] {
        let read = |shape: f64| {
            let file = json!({"format": "consilience", "version": 1, "method": method, "classifiers": ["a"],
                "classes": ["x", "y"], "class_prior": [1, 1], "parameters": {name: [[[shape, 1], [1, shape]]]}});
            Model::from_json(&file.to_string())
        };
        let message = read(1e308).unwrap_err().to_string();
        assert_eq!(message, format!("`{name}[0][0][0]` must be at most 1e100, got 1e308"));
        let model = read(1e100).unwrap();
        let mut builder =
            OutputsBuilder::new(model.schema().as_ref().clone(), InputFormat::default()).unwrap();
        builder.push(&[0.4, 0.6], None).unwrap();
        let fused = model.fuse(&builder.finish()).unwrap();
        let total: f64 = fused.probabilities(0).iter().sum();
        assert!((total - 1.0).abs() < 1e-9, "{method}: {:?}", fused.probabilities(0));
    }
}
