//! A formula as an ONNX graph.
//!
//! All values have the shape items × rows × columns; constants have rows × columns.

mod graph;

use super::protobuf::Message;
use crate::formula::{Binary, Condition, Matrix, Rule, Step, Value};
use crate::model::Model;
use graph::{Attribute, Graph, Shape, size};

/// Version of the operator set that exported graphs use.
pub const OPSET: i64 = 13;

/// Version of the ONNX format, the first that has this operator set.
pub const IR_VERSION: i64 = 7;

/// The floating-point numbers of an exported graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// 64 bits: fused probabilities agree with those of this library to about 1e-14.
    #[default]
    Double,
    /// 32 bits: they agree to about 1e-5.
    Single,
}

/// Elements of tensors, with their numbers in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Float = 1,
    Int64 = 7,
    Text = 8,
    Bool = 9,
    Double = 11,
}

impl Precision {
    fn element(self) -> Element {
        match self {
            Self::Double => Element::Double,
            Self::Single => Element::Float,
        }
    }
}

/// The names of inputs and outputs.
const OUTPUTS: &str = "outputs";
const CLASS_PRIOR: &str = "class_prior";
const PROBABILITIES: &str = "probabilities";
const PREDICTED: &str = "predicted";

/// The bytes of an ONNX file.
pub(super) fn write(
    model: &Model,
    rule: &Rule,
    precision: Precision,
    metadata: &[(&str, String)],
) -> Vec<u8> {
    let graph = Writer { graph: Graph::new(precision), names: Vec::new() }.whole(model, rule);
    let entries: Vec<Message> = metadata
        .iter()
        .map(|(key, value)| Message::default().text(1, key).text(2, value))
        .collect();
    let operators = Message::default().text(1, "").integer(2, OPSET);
    Message::default()
        .integer(1, IR_VERSION)
        .text(2, "consilience")
        .text(3, env!("CARGO_PKG_VERSION"))
        .message(7, &graph)
        .message(8, &operators)
        .messages(14, &entries)
        .finish()
}

struct Writer {
    graph: Graph,
    /// The name of every step's result.
    names: Vec<String>,
}

impl Writer {
    fn whole(mut self, model: &Model, rule: &Rule) -> Message {
        let schema = model.schema();
        let (k, j) = (schema.n_classifiers(), schema.n_classes());
        let element = self.graph.precision().element();
        let shape = [Shape::Any("items"), Shape::Fixed(k), Shape::Fixed(j)];
        self.graph.input(OUTPUTS, element, &shape);
        self.graph.input(CLASS_PRIOR, element, &[Shape::Fixed(j)]);
        self.graph.numbers_named(CLASS_PRIOR, &[j], model.class_prior().probabilities());
        for step in &rule.formula.steps {
            let name = self.step(step);
            self.names.push(name);
        }
        self.results(schema.classes(), rule);
        self.graph.output(PROBABILITIES, element, &[Shape::Any("items"), Shape::Fixed(j)]);
        self.graph.output(PREDICTED, Element::Text, &[Shape::Any("items")]);
        self.graph.finish("consilience")
    }

    /// Items with an invalid output have probabilities of NaN and no name.
    fn results(&mut self, classes: &[String], rule: &Rule) {
        let (probabilities, valid) = (self.of(rule.probabilities), self.whether(rule.all_valid));
        let (row, flat) = (self.graph.integers(&[1]), self.graph.integers(&[-1]));
        let nan = self.graph.numbers(&[1], &[f64::NAN]);
        let checked = self.graph.node("Where", &[&valid, &probabilities, &nan], &[]);
        self.graph.node_named(PROBABILITIES, "Squeeze", &[&checked, &row], &[]);
        let attributes = [("axis", Attribute::Integer(2)), ("keepdims", Attribute::Integer(0))];
        let best = self.graph.node("ArgMax", &[&probabilities], &attributes);
        let best = self.graph.node("Reshape", &[&best, &flat], &[]);
        let valid = self.graph.node("Reshape", &[&valid, &flat], &[]);
        let (names, none) = (self.graph.texts(classes), self.graph.texts(&[String::new()]));
        let best = self.graph.node("Gather", &[&names, &best], &[]);
        self.graph.node_named(PREDICTED, "Where", &[&valid, &best, &none], &[]);
    }

    fn of(&self, value: Value) -> String {
        self.names[value.0].clone()
    }

    fn whether(&self, condition: Condition) -> String {
        self.names[condition.0].clone()
    }

    /// Writes a step; returns the name of its result.
    fn step(&mut self, step: &Step) -> String {
        let axis = ("axes", Attribute::Integers(vec![-1]));
        match step {
            Step::Raw => OUTPUTS.into(),
            Step::ClassPrior => CLASS_PRIOR.into(),
            Step::Constant(matrix) => self.constant(matrix),
            Step::Binary(operation, a, b) => {
                let name = match operation {
                    Binary::Add => "Add",
                    Binary::Subtract => "Sub",
                    Binary::Multiply => "Mul",
                    Binary::Divide => "Div",
                    Binary::Maximum => "Max",
                };
                self.graph.node(name, &[&self.of(*a), &self.of(*b)], &[])
            }
            Step::Exp(a) => self.graph.node("Exp", &[&self.of(*a)], &[]),
            Step::Ln(a) => self.graph.node("Log", &[&self.of(*a)], &[]),
            Step::IsNan(a) => self.graph.node("IsNaN", &[&self.of(*a)], &[]),
            Step::IsAtLeast(a, b) => {
                self.graph.node("GreaterOrEqual", &[&self.of(*a), &self.of(*b)], &[])
            }
            Step::IsEqual(a, b) => self.graph.node("Equal", &[&self.of(*a), &self.of(*b)], &[]),
            Step::Select(condition, yes, no) => {
                let inputs = [&self.whether(*condition), &self.of(*yes), &self.of(*no)];
                self.graph.node("Where", &inputs.map(String::as_str), &[])
            }
            Step::SumOverClasses(a) => {
                let last = self.graph.integers(&[-1]);
                self.graph.node("ReduceSum", &[&self.of(*a), &last], &[])
            }
            Step::LargestOverClasses(a) => self.graph.node("ReduceMax", &[&self.of(*a)], &[axis]),
            Step::Combine(constants, a) => {
                let constants = self.constant(constants);
                self.graph.node("MatMul", &[&constants, &self.of(*a)], &[])
            }
            Step::PerClassifier(coefficients, a) => self.per_classifier(coefficients, *a),
            Step::ByPresence(table, present) => self.by_presence(table, *present),
            Step::ConditionalMean { values, present, mean, covariance } => {
                self.conditional_mean(*values, *present, mean, covariance)
            }
        }
    }

    fn constant(&mut self, matrix: &Matrix) -> String {
        self.graph.numbers(&[matrix.rows(), matrix.columns], &matrix.values)
    }

    /// items × K × 1 × J times K × J × J.
    fn per_classifier(&mut self, coefficients: &Matrix, a: Value) -> String {
        let j = coefficients.columns;
        let transposed: Vec<f64> = coefficients
            .values
            .chunks(j * j)
            .flat_map(|own| (0..j * j).map(move |i| own[i % j * j + i / j]))
            .collect();
        let table = self.graph.numbers(&[coefficients.rows() / j, j, j], &transposed);
        let two = self.graph.integers(&[2]);
        let rows = self.graph.node("Unsqueeze", &[&self.of(a), &two], &[]);
        let products = self.graph.node("MatMul", &[&rows, &table], &[]);
        self.graph.node("Squeeze", &[&products, &two], &[])
    }

    fn by_presence(&mut self, table: &Matrix, present: Value) -> String {
        let powers: Vec<f64> = (0..table.columns).map(|k| (1u64 << k) as f64).collect();
        let powers = self.constant(&Matrix::row(&powers));
        let table = self.constant(table);
        let (flat, two) = (self.graph.integers(&[-1]), self.graph.integers(&[2]));
        let index = self.graph.node("MatMul", &[&powers, &self.of(present)], &[]);
        let to = ("to", Attribute::Integer(Element::Int64 as i64));
        let index = self.graph.node("Cast", &[&index], &[to]);
        let index = self.graph.node("Reshape", &[&index, &flat], &[]);
        let rows = self.graph.node("Gather", &[&table, &index], &[]);
        self.graph.node("Unsqueeze", &[&rows, &two], &[])
    }

    /// Conditions the Gaussian on one number after the other, in a loop that runs only if an output
    /// of any item is missing.
    fn conditional_mean(
        &mut self,
        values: Value,
        present: Value,
        mean: &Matrix,
        covariance: &Matrix,
    ) -> String {
        let (j, width) = (mean.columns, covariance.columns);
        let (values, present) = (self.of(values), self.of(present));
        let graph = &mut self.graph;
        let rows = graph.integers(&[0, size(width)]);
        let flat = graph.node("Reshape", &[&values, &rows], &[]);
        // 1 for every number of a classifier that is present.
        let ones = graph.numbers(&[1, j], &vec![1.0; j]);
        let counted = graph.node("Mul", &[&present, &ones], &[]);
        let counted = graph.node("Reshape", &[&counted, &rows], &[]);
        let one = graph.numbers(&[], &[1.0]);
        let absent = graph.node("Sub", &[&one, &counted], &[]);
        let all = ("keepdims", Attribute::Integer(0));
        let n_absent = graph.node("ReduceSum", &[&absent], &[all]);
        let zero = graph.numbers(&[], &[0.0]);
        let any = graph.node("Greater", &[&n_absent, &zero], &[]);
        let start = graph.numbers(&[1, width], &mean.values);
        let spread = graph.numbers(&[1, width, width], &covariance.values);
        let steps = graph.integer(size(width));
        let two = graph.integers(&[2]);
        let then = graph.subgraph(|branch| {
            let zeros = branch.node("Mul", &[&flat, &zero], &[]);
            let start = branch.node("Add", &[&start, &zeros], &[]);
            let zeros = branch.node("Unsqueeze", &[&zeros, &two], &[]);
            let spread = branch.node("Add", &[&spread, &zeros], &[]);
            let body = branch.subgraph(|body| condition_on_one(body, &flat, &counted));
            let results = branch.node_with(
                2,
                "Loop",
                &[&steps, "", &start, &spread],
                &[("body", Attribute::Graph(body))],
            );
            vec![(results[0].clone(), None)]
        });
        let otherwise =
            graph.subgraph(|branch| vec![(branch.node("Identity", &[&flat], &[]), None)]);
        let branches =
            [("then_branch", Attribute::Graph(then)), ("else_branch", Attribute::Graph(otherwise))];
        let result = graph.node("If", &[&any], &branches);
        let shape = graph.integers(&[0, size(width / j), size(j)]);
        graph.node("Reshape", &[&result, &shape], &[])
    }
}

/// The body of the loop. With c the number's index, m the mean and Σ the covariance so far:
///
/// ```text
/// s = [c present] / Σ_cc,   m += Σ_c s (x_c − m_c),   Σ −= s Σ_c Σ_cᵀ
/// ```
fn condition_on_one(
    body: &mut Graph,
    values: &str,
    counted: &str,
) -> Vec<(String, Option<Element>)> {
    let element = body.precision().element();
    let (index, go_on) = (body.fresh(), body.fresh());
    let (mean, covariance) = (body.fresh(), body.fresh());
    body.input(&index, Element::Int64, &[]);
    body.input(&go_on, Element::Bool, &[]);
    body.input_of_any_shape(&mean, element);
    body.input_of_any_shape(&covariance, element);
    let axis = |axis: i64| [("axis", Attribute::Integer(axis))];
    let column = body.node("Gather", &[&covariance, &index], &axis(2));
    let own = |body: &mut Graph, of: &str| body.node("Gather", &[of, &index], &axis(1));
    let (variance, is_present) = (own(body, &column), own(body, counted));
    let scale = body.node("Div", &[&is_present, &variance], &[]);
    let (value, expected) = (own(body, values), own(body, &mean));
    let off = body.node("Sub", &[&value, &expected], &[]);
    let step = body.node("Mul", &[&scale, &off], &[]);
    let (one, two) = (body.integers(&[1]), body.integers(&[2]));
    let step = body.node("Unsqueeze", &[&step, &one], &[]);
    let step = body.node("Mul", &[&column, &step], &[]);
    let new_mean = body.node("Add", &[&mean, &step], &[]);
    let scale = body.node("Unsqueeze", &[&scale, &one], &[]);
    let scaled = body.node("Mul", &[&column, &scale], &[]);
    let (tall, wide) = (
        body.node("Unsqueeze", &[&scaled, &two], &[]),
        body.node("Unsqueeze", &[&column, &one], &[]),
    );
    let product = body.node("Mul", &[&tall, &wide], &[]);
    let new_covariance = body.node("Sub", &[&covariance, &product], &[]);
    let go_on = body.node("Identity", &[&go_on], &[]);
    vec![(go_on, Some(Element::Bool)), (new_mean, None), (new_covariance, None)]
}
