//! Models: any text is a model file or refused, a model survives writing and reading, and every valid
//! model fuses valid rows to distributions, the same at any number of threads.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use consilience::methods::{Fusion, fuse};
use consilience::{InputFormat, Model, Outputs, OutputsBuilder, Schema};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Reads a model file, writes it, describes it and fuses one row with it.
pub(crate) fn file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(model) = Model::from_json(text) else { return };
    let written = model.to_json();
    let again = Model::from_json(&written).expect("what was written can be read");
    assert_eq!(again.to_json(), written);
    let _ = model.to_string();
    let row = vec![1.0 / model.schema().n_classes() as f64; model.schema().width()];
    check(model.fusion(), &rows(model.schema(), &[row]), &model);
}

/// Makes a valid model and valid rows from the bytes, and fuses the rows at one and two threads.
pub(crate) fn fusion(bytes: &[u8]) {
    let mut bytes = Bytes(bytes.iter());
    let text = bytes.model();
    let Ok(model) = Model::from_json(&text) else { return };
    let schema = model.schema();
    let row = |bytes: &mut Bytes<'_>| -> Vec<f64> {
        (0..schema.n_classifiers()).flat_map(|_| bytes.output(schema.n_classes())).collect()
    };
    let rows = rows(schema, &(0..5).map(|_| row(&mut bytes)).collect::<Vec<_>>());
    check(model.fusion(), &rows, &model);
}

fn rows(schema: &Arc<Schema>, rows: &[Vec<f64>]) -> Outputs {
    let mut builder = OutputsBuilder::new(Arc::clone(schema), InputFormat::default())
        .expect("the default floor fits so few classes");
    for row in rows {
        // An output of a thousand classes may add up to 1 less well than it must.
        let _ = builder.push(row, None);
    }
    builder.finish()
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("two threads can be started")
}

static POOLS: LazyLock<[ThreadPool; 2]> = LazyLock::new(|| [pool(1), pool(2)]);

fn check(rule: &dyn Fusion, rows: &Outputs, model: &Model) {
    let results = POOLS.each_ref().map(|pool| {
        pool.install(|| fuse(rule, rows, model.class_prior()).map(|fused| fused.all().to_vec()))
    });
    let [Ok(one), Ok(two)] = results else { return };
    let bits = |values: &[f64]| values.iter().map(|p| p.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&one), bits(&two), "one thread and two");
    for row in one.chunks_exact(model.schema().n_classes()) {
        let sum: f64 = row.iter().sum();
        assert!((sum - 1.0).abs() < 1e-9 && row.iter().all(|p| (0.0..=1.0).contains(p)), "{row:?}");
    }
}

/// Choices and numbers from bytes; zeros when they have come to their end.
struct Bytes<'a>(std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn below(&mut self, n: u8) -> usize {
        usize::from(self.next() % n)
    }

    /// A positive number between 1e-6 and 1e6, most of them near 1.
    fn positive(&mut self) -> f64 {
        let (byte, scale) = (f64::from(self.next()), self.next());
        let exponent = if scale < 200 { 0.0 } else { (f64::from(scale) - 228.0) / 5.0 };
        (0.5 + byte / 64.0) * 10f64.powf(exponent)
    }

    fn signed(&mut self) -> f64 {
        f64::from(self.next()) / 32.0 - 4.0
    }

    /// A distribution, with zeros, ties and ones, or a missing output.
    fn output(&mut self, n: usize) -> Vec<f64> {
        let weights: Vec<f64> = (0..n).map(|_| f64::from(self.next() / 4)).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| if sum > 0.0 { weight / sum } else { f64::NAN }).collect()
    }

    fn list(&mut self, n: usize, mut number: impl FnMut(&mut Self) -> f64) -> String {
        let numbers: Vec<String> = (0..n).map(|_| number(self).to_string()).collect();
        format!("[{}]", numbers.join(","))
    }

    fn lists(&mut self, n: usize, mut inner: impl FnMut(&mut Self) -> String) -> String {
        let lists: Vec<String> = (0..n).map(|_| inner(self)).collect();
        format!("[{}]", lists.join(","))
    }

    fn alpha(&mut self, k: usize, j: usize) -> String {
        self.lists(k, |bytes| bytes.lists(j, |bytes| bytes.list(j, Self::positive)))
    }

    fn logistic(&mut self, k: usize, j: usize) -> String {
        let bias = self.list(j, Self::signed);
        let weights = self.lists(j, |bytes| bytes.lists(k, |bytes| bytes.list(j, Self::signed)));
        format!(r#"{{"bias": {bias}, "weights": {weights}}}"#)
    }

    /// The text of a model file.
    fn model(&mut self) -> String {
        let (mut k, j) = (1 + self.below(3), 2 + self.below(3));
        let methods = [
            "independent",
            "auto",
            "stacking",
            "linear-pool",
            "log-pool",
            "opinion-pool",
            "bcc",
            "discounted",
            "logit-normal",
            "correlated",
            "meta:s0",
        ];
        let method = methods[self.below(11)];
        if method == "meta:s0" {
            k = 1;
        }
        let parameters = self.parameters(method, k, j);
        let names = |letter: &str, n: usize| {
            let names: Vec<String> = (0..n).map(|i| format!("\"{letter}{i}\"")).collect();
            names.join(",")
        };
        let prior = self.list(j, Self::positive);
        let mut text = format!(
            r#"{{"format": "consilience", "version": 1, "method": "{method}",
            "classifiers": [{}], "classes": [{}], "class_prior": {prior}"#,
            names("s", k),
            names("c", j),
        );
        if !parameters.is_empty() {
            let _ = write!(text, r#", "parameters": {{{parameters}}}"#);
        }
        text + "}"
    }

    fn parameters(&mut self, method: &str, k: usize, j: usize) -> String {
        match method {
            "opinion-pool" => String::new(),
            "linear-pool" | "log-pool" => format!(r#""weights": {}"#, self.list(k, Self::positive)),
            "bcc" => format!(r#""confusion": {}"#, self.alpha(k, j)),
            "stacking" => format!(r#""logistic": {}"#, self.logistic(k, j)),
            "auto" => format!(
                r#""members": [{{"weight": 0.5, "rule": {{"layer": {{"bias": {},
                "output_exponents": {}, "evidence_exponents": {},
                "probability_coefficients": {}}}}}}},
                {{"weight": 0.5, "rule": {{"linear-pool": {{"bias": {}, "exponent": {},
                "weights": {:?}}}}}}}], "alpha": {}, "logistic": {}, "logistic_share": 0.25"#,
                self.list(j, Self::signed),
                self.list(k, Self::signed),
                self.list(k, Self::signed),
                self.list(k, Self::signed),
                self.list(j, Self::signed),
                self.signed(),
                vec![1.0 / k as f64; k],
                self.alpha(k, j),
                self.logistic(k, j),
            ),
            "logit-normal" => {
                let classes = self.lists(j, |bytes| {
                    let location = bytes.lists(k, |bytes| bytes.list(j, Self::signed));
                    let (width, scale) = (k * j, bytes.positive());
                    let row = |a: usize| -> Vec<f64> {
                        (0..width).map(|b| if a == b { scale } else { 0.0 }).collect()
                    };
                    let scale: Vec<Vec<f64>> = (0..width).map(row).collect();
                    format!(r#"{{"location": {location}, "scale": {scale:?}}}"#)
                });
                format!(r#""classes": {classes}"#)
            }
            "discounted" => {
                let row = |a: usize| -> Vec<f64> {
                    (0..k).map(|b| if a == b { 1.0 } else { 0.5 }).collect()
                };
                let covariance: Vec<Vec<f64>> = (0..k).map(row).collect();
                format!(r#""alpha": {}, "covariance": {covariance:?}"#, self.alpha(k, j))
            }
            "correlated" => {
                // The shared shapes are below 1 and the others above.
                let above = |bytes: &mut Self| 1.0 + bytes.positive();
                let alpha = self.lists(k, |bytes| bytes.lists(j, |bytes| bytes.list(j, above)));
                let below = |bytes: &mut Self| 0.01 + f64::from(bytes.next()) / 320.0;
                let delta = self.lists(j, |bytes| bytes.list(j, below));
                let resolution = [0.0, 0.03][self.below(2)];
                format!(
                    r#""alpha": {alpha}, "delta": {{"common": {delta}}}, "resolution": {resolution}"#
                )
            }
            _ => format!(r#""alpha": {}"#, self.alpha(k, j)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seeds of `fuse` cover every method.
    #[test]
    fn every_method_makes_a_valid_model() {
        for method in 0..11 {
            let seed: Vec<u8> =
                [1, 1, method].into_iter().chain((0..200u8).map(|i| i.wrapping_mul(7))).collect();
            let text = Bytes(seed.iter()).model();
            let model = Model::from_json(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert!(model.schema().n_classes() == 3);
        }
    }
}
