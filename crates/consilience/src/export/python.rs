//! A formula as Python code without dependencies.

use std::fmt::Write;

use serde_json::json;

use super::ExportOptions;
use crate::formula::{Binary, Matrix, Rule, Step, Value};
use crate::model::Model;

/// Operations on lists of rows.
const HELPERS: &str = r#"
def each(f, *matrices):
    """f of corresponding entries; rows and columns of length 1 are repeated."""
    rows, columns = max(len(m) for m in matrices), max(len(m[0]) for m in matrices)
    return [[f(*(m[i % len(m)][j % len(m[0])] for m in matrices)) for j in range(columns)] for i in range(rows)]


def ratio(a, b):
    return a / b if b else nan


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]
"#;

const PER_CLASSIFIER: &str = r"

def per_classifier(c, x):
    J = len(x[0])
    return [[sum(map(mul, c[k * J + j], x[k])) for j in range(J)] for k in range(len(x))]
";

const BY_PRESENCE: &str = r"

def by_presence(table, present):
    return [[w] for w in table[sum(2**k for k, (p,) in enumerate(present) if p)]]
";

const CONDITIONAL_MEAN: &str = r#"

def conditional_mean(x, present, mean, covariance):
    """The mean of all numbers given those present, under a Gaussian: one number after the other."""
    J, flat = len(x[0]), sum(x, [])
    m, S = sum(mean, []), [row[:] for row in covariance]
    for c in (c for c in range(len(m)) if present[c // J][0] and not all(p for (p,) in present)):
        column = [row[c] for row in S]
        off = (flat[c] - m[c]) / column[c]
        m = [a + b * off for a, b in zip(m, column)]
        for row, b in zip(S, column):
            if b:
                row[:] = [s - b / column[c] * o for s, o in zip(row, column)]
    return [m[k:k + J] for k in range(0, len(m), J)]
"#;

/// The text of the module.
pub(super) fn write(model: &Model, rule: &Rule, options: &ExportOptions) -> String {
    let mut text = header(model, options);
    text.push_str(HELPERS);
    let steps = &rule.formula.steps;
    let uses = |wanted: fn(&Step) -> bool| steps.iter().any(wanted);
    for (helper, is_used) in [
        (PER_CLASSIFIER, uses(|step| matches!(step, Step::PerClassifier(..)))),
        (BY_PRESENCE, uses(|step| matches!(step, Step::ByPresence(..)))),
        (CONDITIONAL_MEAN, uses(|step| matches!(step, Step::ConditionalMean { .. }))),
    ] {
        text.push_str(if is_used { helper } else { "" });
    }
    text.push('\n');
    let mut writer = Writer { constants: String::new(), code: String::new(), names: Vec::new() };
    for (i, step) in steps.iter().enumerate() {
        writer.step(i, step);
        if i == rule.is_valid.0 {
            writer.check(i);
        }
    }
    text.push_str(&writer.constants);
    text.push_str(SIGNATURE);
    text.push_str(&writer.code);
    let _ = writeln!(text, "    return {}[0]", writer.names[rule.probabilities.0]);
    text
}

fn header(model: &Model, options: &ExportOptions) -> String {
    let (schema, prior) = (model.schema(), model.class_prior().probabilities());
    let values = json!(options.kind);
    let kind = values.as_str().unwrap_or_default();
    // JSON strings are Python strings.
    format!(
        "\"\"\"Fused probabilities of one item, by method {}; written by consilience {}.\n\n\
         >>> score([[...], ...])  # {kind} of CLASSES by each of CLASSIFIERS; None where missing\n\
         \"\"\"\n\n\
         from math import exp, isnan, log, nan\n\
         from operator import mul\n\n\
         CLASSIFIERS = {}\nCLASSES = {}\nCLASS_PRIOR = {}\n\n",
        json!(model.method_name()),
        env!("CARGO_PKG_VERSION"),
        json!(schema.classifiers()),
        json!(schema.classes()),
        list(prior),
    )
}

const SIGNATURE: &str = r#"

def score(outputs, class_prior=CLASS_PRIOR):
    """The fused probability of every class; `outputs` in the order of CLASSIFIERS, or a dict by name."""
    if isinstance(outputs, dict):
        outputs = [outputs.get(name) for name in CLASSIFIERS]
    raw = [[nan] * len(CLASSES) if row is None else list(map(float, row)) for row in outputs]
    if len(raw) != len(CLASSIFIERS) or any(len(row) != len(CLASSES) for row in raw):
        raise ValueError(f"expected {len(CLASSIFIERS)} rows of {len(CLASSES)} numbers")
"#;

struct Writer {
    constants: String,
    code: String,
    /// The expression of every step's result.
    names: Vec<String>,
}

impl Writer {
    fn of(&self, value: Value) -> &str {
        &self.names[value.0]
    }

    fn step(&mut self, i: usize, step: &Step) {
        let expression = match step {
            Step::Raw => return self.names.push("raw".into()),
            Step::ClassPrior => return self.names.push("[class_prior]".into()),
            Step::Constant(matrix) => {
                let name = self.constant(i, matrix);
                return self.names.push(name);
            }
            Step::Binary(operation, a, b) => {
                let (a, b) = (self.of(*a), self.of(*b));
                match operation {
                    Binary::Add => format!("each(lambda a, b: a + b, {a}, {b})"),
                    Binary::Subtract => format!("each(lambda a, b: a - b, {a}, {b})"),
                    Binary::Multiply => format!("each(mul, {a}, {b})"),
                    Binary::Divide => format!("each(ratio, {a}, {b})"),
                    Binary::Maximum => format!("each(max, {a}, {b})"),
                }
            }
            Step::Exp(a) => format!("each(exp, {})", self.of(*a)),
            Step::Ln(a) => format!("each(log, {})", self.of(*a)),
            Step::IsNan(a) => format!("each(isnan, {})", self.of(*a)),
            Step::IsAtLeast(a, b) => {
                format!("each(lambda a, b: a >= b, {}, {})", self.of(*a), self.of(*b))
            }
            Step::IsEqual(a, b) => {
                format!("each(lambda a, b: a == b, {}, {})", self.of(*a), self.of(*b))
            }
            Step::Select(condition, yes, no) => {
                let (c, yes, no) = (&self.names[condition.0], self.of(*yes), self.of(*no));
                format!("each(lambda c, a, b: a if c else b, {c}, {yes}, {no})")
            }
            Step::SumOverClasses(a) => format!("[[sum(row)] for row in {}]", self.of(*a)),
            Step::LargestOverClasses(a) => format!("[[max(row)] for row in {}]", self.of(*a)),
            Step::Combine(constants, a) => {
                let constants = self.constant(i, constants);
                format!("product({constants}, {})", self.of(*a))
            }
            Step::PerClassifier(coefficients, a) => {
                let coefficients = self.constant(i, coefficients);
                format!("per_classifier({coefficients}, {})", self.of(*a))
            }
            Step::ByPresence(table, present) => {
                let table = self.constant(i, table);
                format!("by_presence({table}, {})", self.of(*present))
            }
            Step::ConditionalMean { values, present, mean, covariance } => {
                let (mean, covariance) = (rows(mean), self.constant(i, covariance));
                let (values, present) = (self.of(*values), self.of(*present));
                format!("conditional_mean({values}, {present}, {mean}, {covariance})")
            }
        };
        let _ = writeln!(self.code, "    v{i} = {expression}");
        self.names.push(format!("v{i}"));
    }

    /// Short constants are written where they are used.
    fn constant(&mut self, i: usize, matrix: &Matrix) -> String {
        let text = rows(matrix);
        if text.len() <= 40 {
            return text;
        }
        let _ = writeln!(self.constants, "C{i} = {text}");
        format!("C{i}")
    }

    /// Raises an error for an output that v{i} marks as invalid.
    fn check(&mut self, i: usize) {
        let _ = write!(
            self.code,
            "    for name, row, (valid,) in zip(CLASSIFIERS, raw, v{i}):\n        \
             if not valid:\n            \
             raise ValueError(f\"the output of {{name!r}} is not a distribution: {{row}}\")\n",
        );
    }
}

fn rows(matrix: &Matrix) -> String {
    let rows: Vec<String> = matrix.values.chunks(matrix.columns).map(list).collect();
    format!("[{}]", rows.join(", "))
}

/// Digits that give back the same doubles.
fn list(values: &[f64]) -> String {
    let digits = |x: &f64| if x.is_nan() { "nan".to_owned() } else { format!("{x:?}") };
    format!("[{}]", values.iter().map(digits).collect::<Vec<_>>().join(", "))
}
