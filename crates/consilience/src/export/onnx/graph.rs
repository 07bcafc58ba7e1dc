//! A graph of ONNX operators that is being written.

use super::{Element, Precision};
use crate::export::protobuf::Message;

/// An attribute of an operator.
pub(super) enum Attribute {
    Integer(i64),
    Integers(Vec<i64>),
    Graph(Message),
}

/// One dimension of an input or output.
pub(super) enum Shape {
    Fixed(usize),
    /// Any size, with a name.
    Any(&'static str),
}

/// Nodes, constants, inputs and outputs. A subgraph may use the results and constants of the graph
/// around it; names are unique in all of them.
pub(super) struct Graph {
    precision: Precision,
    nodes: Vec<Message>,
    constants: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    /// Number of names given.
    n_names: usize,
}

impl Graph {
    pub(super) fn new(precision: Precision) -> Self {
        let (nodes, constants, inputs, outputs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { precision, nodes, constants, inputs, outputs, n_names: 0 }
    }

    pub(super) fn precision(&self) -> Precision {
        self.precision
    }

    /// A name that nothing has.
    pub(super) fn fresh(&mut self) -> String {
        self.n_names += 1;
        format!("v{}", self.n_names)
    }

    /// Adds an operator with one result; returns its name.
    pub(super) fn node(
        &mut self,
        operator: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) -> String {
        self.node_with(1, operator, inputs, attributes).remove(0)
    }

    /// Adds an operator with several results; returns their names.
    pub(super) fn node_with(
        &mut self,
        n_results: usize,
        operator: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) -> Vec<String> {
        let results: Vec<String> = (0..n_results).map(|_| self.fresh()).collect();
        self.push(&results, operator, inputs, attributes);
        results
    }

    /// Adds an operator whose result has a given name.
    pub(super) fn node_named(
        &mut self,
        result: &str,
        operator: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) {
        self.push(&[result.to_owned()], operator, inputs, attributes);
    }

    fn push(
        &mut self,
        results: &[String],
        operator: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) {
        let node = Message::default();
        let node = inputs.iter().fold(node, |node, input| node.text(1, input));
        let node = results.iter().fold(node, |node, result| node.text(2, result));
        let node = node.text(3, &format!("{operator}_{}", results[0])).text(4, operator);
        let attributes: Vec<Message> = attributes.iter().map(attribute).collect();
        self.nodes.push(node.messages(5, &attributes));
    }

    /// Adds constants of the graph's precision; returns their name.
    pub(super) fn numbers(&mut self, shape: &[usize], values: &[f64]) -> String {
        let name = self.fresh();
        self.numbers_named(&name, shape, values);
        name
    }

    /// The same with a given name.
    pub(super) fn numbers_named(&mut self, name: &str, shape: &[usize], values: &[f64]) {
        let bytes: Vec<u8> = match self.precision {
            Precision::Double => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Precision::Single => values.iter().flat_map(|x| single(*x).to_le_bytes()).collect(),
        };
        let tensor = tensor(name, self.precision.element(), shape).bytes(9, &bytes);
        self.constants.push(tensor);
    }

    /// Adds a list of whole numbers.
    pub(super) fn integers(&mut self, values: &[i64]) -> String {
        self.whole_numbers(&[values.len()], values)
    }

    /// Adds a whole number without dimensions.
    pub(super) fn integer(&mut self, value: i64) -> String {
        self.whole_numbers(&[], &[value])
    }

    fn whole_numbers(&mut self, shape: &[usize], values: &[i64]) -> String {
        let name = self.fresh();
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.constants.push(tensor(&name, Element::Int64, shape).bytes(9, &bytes));
        name
    }

    /// Adds a list of texts.
    pub(super) fn texts(&mut self, texts: &[String]) -> String {
        let name = self.fresh();
        let tensor = tensor(&name, Element::Text, &[texts.len()]);
        self.constants.push(texts.iter().fold(tensor, |tensor, text| tensor.text(6, text)));
        name
    }

    pub(super) fn input(&mut self, name: &str, element: Element, shape: &[Shape]) {
        self.inputs.push(typed(name, element, Some(shape)));
    }

    pub(super) fn input_of_any_shape(&mut self, name: &str, element: Element) {
        self.inputs.push(typed(name, element, None));
    }

    pub(super) fn output(&mut self, name: &str, element: Element, shape: &[Shape]) {
        self.outputs.push(typed(name, element, Some(shape)));
    }

    /// A graph within this one. `write` returns its results, with their elements if these are not
    /// numbers of the graph's precision.
    pub(super) fn subgraph(
        &mut self,
        write: impl FnOnce(&mut Self) -> Vec<(String, Option<Element>)>,
    ) -> Message {
        let mut inner = Self { n_names: self.n_names, ..Self::new(self.precision) };
        for (name, element) in write(&mut inner) {
            let element = element.unwrap_or(self.precision.element());
            inner.outputs.push(typed(&name, element, None));
        }
        self.n_names = inner.n_names;
        inner.finish("part")
    }

    pub(super) fn finish(self, name: &str) -> Message {
        Message::default()
            .messages(1, &self.nodes)
            .text(2, name)
            .messages(5, &self.constants)
            .messages(11, &self.inputs)
            .messages(12, &self.outputs)
    }
}

/// A size as ONNX files have it.
pub(super) fn size(n: usize) -> i64 {
    i64::try_from(n).expect("sizes of memory are below 2^63")
}

/// Rounds to 32 bits; positive numbers stay positive.
#[allow(clippy::cast_possible_truncation)] // rounding is the purpose
fn single(value: f64) -> f32 {
    match value as f32 {
        0.0 if value > 0.0 => f32::MIN_POSITIVE,
        rounded => rounded,
    }
}

/// Kinds of attributes, by their numbers in the format.
fn attribute((name, value): &(&str, Attribute)) -> Message {
    let named = Message::default().text(1, name);
    match value {
        Attribute::Integer(value) => named.integer(3, *value).integer(20, 2),
        Attribute::Integers(values) => named.integers(8, values).integer(20, 7),
        Attribute::Graph(graph) => named.message(6, graph).integer(20, 5),
    }
}

fn tensor(name: &str, element: Element, shape: &[usize]) -> Message {
    let sizes: Vec<i64> = shape.iter().map(|n| size(*n)).collect();
    Message::default().integers(1, &sizes).integer(2, element as i64).text(8, name)
}

/// An input or output with its type.
fn typed(name: &str, element: Element, shape: Option<&[Shape]>) -> Message {
    let named = Message::default().text(1, name);
    let mut tensor = Message::default().integer(1, element as i64);
    if let Some(shape) = shape {
        let sizes: Vec<Message> = shape
            .iter()
            .map(|dimension| match dimension {
                Shape::Fixed(n) => Message::default().integer(1, size(*n)),
                Shape::Any(name) => Message::default().text(2, name),
            })
            .collect();
        tensor = tensor.message(2, &Message::default().messages(1, &sizes));
    }
    named.message(2, &Message::default().message(1, &tensor))
}
