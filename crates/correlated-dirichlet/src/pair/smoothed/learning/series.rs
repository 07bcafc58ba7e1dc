//! A component's table where M is small: three terms of a power series.
//!
//! Most components of an item with many classes are tiny. All of them together, whatever their number, are one short
//! sum in z and e^z, and so are their derivatives:
//!
//! ```text
//! c + p z + m e^z + q e^2z
//! ```

use super::kernel::{COLUMNS, Column};

/// Terms of the series.
const TERMS: usize = 3;
/// M, in units of a table's lattice, up to which three terms are good to 1e-5 (tested).
const SMALL: f64 = 0.05;
/// The larger gamma in units of 1/ε up to which they are: what the resolution rounds off is analytic in its product with ε.
const FARTHER: f64 = 0.03;
/// First and second derivatives at the first of six equidistant values.
const FIRST: [f64; 6] = [-137.0 / 60.0, 5.0, -5.0, 10.0 / 3.0, -1.25, 0.2];
const SECOND: [f64; 6] = [3.75, -77.0 / 6.0, 107.0 / 6.0, -13.0, 61.0 / 12.0, -5.0 / 6.0];

/// c + p z + m e^z + q e^2z.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sum {
    pub(super) constant: f64,
    pub(super) power: f64,
    pub(super) linear: f64,
    pub(super) square: f64,
}

impl Sum {
    pub(super) fn add(&mut self, other: &Self) {
        self.constant += other.constant;
        self.power += other.power;
        self.linear += other.linear;
        self.square += other.square;
    }

    /// At z, of which e^z is the scale.
    pub(super) fn at(&self, z: f64, scale: f64) -> f64 {
        self.constant + self.power * z + scale * (self.linear + scale * self.square)
    }
}

/// What a component adds to a line without its table, and where it stands there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub(super) exponent: Sum,
    /// The exponent's derivative in δ.
    pub(super) slope: Sum,
    pub(super) column: Column,
    /// Whether that is all.
    pub(super) whole: bool,
}

/// The first terms in M of every column of a table.
#[derive(Debug, Clone)]
pub(super) struct Series {
    unit: f64,
    step: f64,
    /// Up to this M, and this larger gamma.
    pub(super) mass: f64,
    pub(super) farther: f64,
    /// Terms of every column's values, then of its slopes.
    terms: Vec<[f64; 2 * TERMS]>,
}

impl Series {
    /// Of tables over a lattice in ln(1 + M/unit).
    pub(super) fn new((unit, step): (f64, f64), epsilon: f64) -> Self {
        let (mass, farther) = (SMALL * unit, FARTHER / epsilon);
        Self { unit, step, mass, farther, terms: Vec::new() }
    }

    /// Expands a table, masses one after another.
    pub(super) fn expand(&mut self, table: &[f64], stride: usize) {
        self.terms = vec![[0.0; 2 * TERMS]; stride];
        self.write(table, 0);
    }

    /// Expands its derivatives.
    pub(super) fn expand_slopes(&mut self, table: &[f64]) {
        self.write(table, TERMS);
    }

    fn write(&mut self, table: &[f64], from: usize) {
        let stride = self.terms.len();
        let rate = 1.0 / (self.step * self.unit);
        for (column, terms) in self.terms.iter_mut().enumerate() {
            let sum = |weights: &[f64; 6]| -> f64 {
                let values = table[column..].iter().step_by(stride);
                weights.iter().zip(values).map(|(weight, value)| weight * value).sum()
            };
            let (first, second) = (sum(&FIRST), sum(&SECOND));
            let square = 0.5 * rate * (rate * second - first / self.unit);
            terms[from..from + TERMS].copy_from_slice(&[table[column], rate * first, square]);
        }
    }

    /// The table's part of an exponent, where M = smaller · e^z, and of its derivative.
    pub(super) fn at(&self, (column, weights): Column, smaller: f64) -> [Sum; 2] {
        let mut sums = [0.0; 2 * TERMS];
        for (weight, terms) in weights.iter().zip(&self.terms[column..column + COLUMNS]) {
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum += weight * term;
            }
        }
        let [constant, linear, square, slope, slope_linear, slope_square] = sums;
        let sum = |constant: f64, linear: f64, square: f64| Sum {
            constant,
            power: 0.0,
            linear: smaller * linear,
            square: smaller * smaller * square,
        };
        [sum(constant, linear, square), sum(slope, slope_linear, slope_square)]
    }
}
