//! A fusion rule as a formula over matrices: one description, from which all exports are written.
//!
//! Every value belongs to one item and is a matrix with a row per classifier, or one row, and a
//! column per class, or one column. Rows and columns of length 1 are broadcast. Methods describe their
//! rules with [`Scoring`]; `export` writes formulas as ONNX or Python.

mod scoring;

pub(crate) use scoring::{Rule, Scoring};

/// Largest number of classifiers for which a rule may depend on the set of those present by a table.
pub(crate) const MOST_TABULATED: usize = 10;

/// A value of a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Value(pub(crate) usize);

/// A condition of a formula, for every entry of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Condition(pub(crate) usize);

/// A matrix of constants.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) columns: usize,
    /// Row by row.
    pub(crate) values: Vec<f64>,
}

impl Matrix {
    /// From its values, row by row.
    pub(crate) fn new(columns: usize, values: Vec<f64>) -> Self {
        debug_assert!(values.len().is_multiple_of(columns));
        Self { columns, values }
    }

    /// From rows of the same length.
    pub(crate) fn from_rows(rows: &[Vec<f64>]) -> Self {
        Self::new(rows[0].len(), rows.concat())
    }

    /// One row.
    pub(crate) fn row(values: &[f64]) -> Self {
        Self::new(values.len(), values.to_vec())
    }

    /// One column.
    pub(crate) fn column(values: &[f64]) -> Self {
        Self::new(1, values.to_vec())
    }

    pub(crate) fn any_nonzero(&self) -> bool {
        self.values.iter().any(|value| *value != 0.0)
    }

    pub(crate) fn rows(&self) -> usize {
        self.values.len() / self.columns
    }
}

/// An operation on entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Maximum,
}

/// One step of a formula.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// The numbers as they come in, K × J; NaN where they are missing.
    Raw,
    /// The class prior, 1 × J.
    ClassPrior,
    Constant(Matrix),
    Binary(Binary, Value, Value),
    Exp(Value),
    Ln(Value),
    IsNan(Value),
    IsAtLeast(Value, Value),
    IsEqual(Value, Value),
    /// The first value where the condition holds, the second elsewhere.
    Select(Condition, Value, Value),
    /// Sum over columns, r × 1.
    SumOverClasses(Value),
    /// Largest entry of every row, r × 1.
    LargestOverClasses(Value),
    /// The product of a constant H × K matrix with a K × J matrix.
    Combine(Matrix, Value),
    /// yₖⱼ = Σₗ Cₖⱼₗ xₖₗ, with the C of classifier k at rows k·J and after.
    PerClassifier(Matrix, Value),
    /// The row of a table with 2^K rows that belongs to the classifiers present (K × 1, 0 or 1; the
    /// first is the lowest bit), K × 1.
    ByPresence(Matrix, Value),
    /// The mean of all K·J numbers given those of the classifiers present, under a Gaussian.
    ConditionalMean {
        values: Value,
        present: Value,
        mean: Matrix,
        covariance: Matrix,
    },
}

/// The steps that lead from an item's outputs to its fused probabilities.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Formula {
    pub(crate) steps: Vec<Step>,
}

impl Formula {
    pub(crate) fn push(&mut self, step: Step) -> Value {
        self.steps.push(step);
        Value(self.steps.len() - 1)
    }

    fn test(&mut self, step: Step) -> Condition {
        Condition(self.push(step).0)
    }

    /// A matrix of constants.
    pub(crate) fn constant(&mut self, matrix: Matrix) -> Value {
        self.push(Step::Constant(matrix))
    }

    /// A number.
    pub(crate) fn number(&mut self, value: f64) -> Value {
        self.constant(Matrix::new(1, vec![value]))
    }

    /// a + b.
    pub(crate) fn add(&mut self, a: Value, b: Value) -> Value {
        self.push(Step::Binary(Binary::Add, a, b))
    }

    /// a − b.
    pub(crate) fn subtract(&mut self, a: Value, b: Value) -> Value {
        self.push(Step::Binary(Binary::Subtract, a, b))
    }

    /// a · b, entry by entry.
    pub(crate) fn multiply(&mut self, a: Value, b: Value) -> Value {
        self.push(Step::Binary(Binary::Multiply, a, b))
    }

    /// a / b, entry by entry.
    pub(crate) fn divide(&mut self, a: Value, b: Value) -> Value {
        self.push(Step::Binary(Binary::Divide, a, b))
    }

    /// The larger of a and a number.
    pub(crate) fn at_least(&mut self, a: Value, least: f64) -> Value {
        let least = self.number(least);
        self.push(Step::Binary(Binary::Maximum, a, least))
    }

    /// eᵃ.
    pub(crate) fn exp(&mut self, a: Value) -> Value {
        self.push(Step::Exp(a))
    }

    /// ln a, with a raised to the smallest normal number.
    pub(crate) fn ln(&mut self, a: Value) -> Value {
        let a = self.at_least(a, f64::MIN_POSITIVE);
        self.push(Step::Ln(a))
    }

    /// Whether a is NaN.
    pub(crate) fn is_nan(&mut self, a: Value) -> Condition {
        self.test(Step::IsNan(a))
    }

    /// Whether a ≥ b; false for NaN.
    pub(crate) fn is_at_least(&mut self, a: Value, b: Value) -> Condition {
        self.test(Step::IsAtLeast(a, b))
    }

    /// Whether a = b.
    pub(crate) fn is_equal(&mut self, a: Value, b: Value) -> Condition {
        self.test(Step::IsEqual(a, b))
    }

    /// `yes` where the condition holds, `no` elsewhere.
    pub(crate) fn select(&mut self, condition: Condition, yes: Value, no: Value) -> Value {
        self.push(Step::Select(condition, yes, no))
    }

    /// 1 where the condition holds, 0 elsewhere.
    pub(crate) fn indicator(&mut self, condition: Condition) -> Value {
        let (one, zero) = (self.number(1.0), self.number(0.0));
        self.select(condition, one, zero)
    }

    /// Whether both conditions hold.
    pub(crate) fn both(&mut self, a: Condition, b: Condition) -> Condition {
        let (a, b, one) = (self.indicator(a), self.indicator(b), self.number(1.0));
        let product = self.multiply(a, b);
        self.is_equal(product, one)
    }

    /// The sum over columns.
    pub(crate) fn sum_over_classes(&mut self, a: Value) -> Value {
        self.push(Step::SumOverClasses(a))
    }

    /// The largest entry of every row.
    pub(crate) fn largest_over_classes(&mut self, a: Value) -> Value {
        self.push(Step::LargestOverClasses(a))
    }

    /// The product of constants with the rows of a.
    pub(crate) fn combine(&mut self, constants: Matrix, a: Value) -> Value {
        self.push(Step::Combine(constants, a))
    }

    /// The sum over `n` rows.
    pub(crate) fn sum_over_rows(&mut self, n: usize, a: Value) -> Value {
        self.combine(Matrix::row(&vec![1.0; n]), a)
    }

    /// yₖⱼ = Σₗ Cₖⱼₗ xₖₗ.
    pub(crate) fn per_classifier(&mut self, coefficients: Matrix, a: Value) -> Value {
        self.push(Step::PerClassifier(coefficients, a))
    }

    /// The row of a table that belongs to the classifiers present, as a column.
    pub(crate) fn by_presence(&mut self, table: Matrix, present: Value) -> Value {
        self.push(Step::ByPresence(table, present))
    }

    /// The mean of all numbers given those of the classifiers present, under a Gaussian.
    pub(crate) fn conditional_mean(
        &mut self,
        values: Value,
        present: Value,
        mean: Matrix,
        covariance: Matrix,
    ) -> Value {
        self.push(Step::ConditionalMean { values, present, mean, covariance })
    }

    /// Every row divided by its sum.
    pub(crate) fn normalise(&mut self, a: Value) -> Value {
        let sum = self.sum_over_classes(a);
        self.divide(a, sum)
    }

    /// Every row of logarithms as probabilities.
    pub(crate) fn softmax(&mut self, a: Value) -> Value {
        let largest = self.largest_over_classes(a);
        let shifted = self.subtract(a, largest);
        let weights = self.exp(shifted);
        self.normalise(weights)
    }

    /// Probabilities raised to a floor and renormalised.
    pub(crate) fn raise_to_floor(&mut self, a: Value, floor: f64) -> Value {
        let raised = self.at_least(a, floor);
        self.normalise(raised)
    }
}
