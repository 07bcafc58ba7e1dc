//! The pair density against independent values, closed forms and its own laws.

mod honesty;
mod laws;
mod learning;
mod moments;
mod reference;
mod resolution;

use correlated_dirichlet::Estimate;
use correlated_dirichlet::pair::{PairDensity, Scratch};

/// One row of a reference table: x¹, x², α¹, α², δ, then numbers.
struct Row {
    name: String,
    x: [Vec<f64>; 2],
    alpha: [Vec<f64>; 2],
    delta: Vec<f64>,
    rest: Vec<f64>,
}

impl Row {
    fn density(&self, tolerance: f64) -> PairDensity {
        PairDensity::new(&self.alpha[0], &self.alpha[1], &self.delta)
            .and_then(|density| density.with_tolerance(tolerance))
            .expect("legal parameters")
    }

    fn evaluate(&self, tolerance: f64) -> Estimate {
        self.density(tolerance).ln_density(&self.x[0], &self.x[1], &mut Scratch::default())
    }
}

fn rows(table: &str) -> Vec<Row> {
    let numbers =
        |cell: &str| -> Vec<f64> { cell.split(' ').map(|x| x.parse().unwrap()).collect() };
    table
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            Row {
                name: cells[0].into(),
                x: [numbers(cells[1]), numbers(cells[2])],
                alpha: [numbers(cells[3]), numbers(cells[4])],
                delta: numbers(cells[5]),
                rest: cells[6..].iter().map(|cell| cell.parse().unwrap()).collect(),
            }
        })
        .collect()
}

/// ln f at the default tolerance.
fn ln_density(x1: &[f64], x2: &[f64], alpha1: &[f64], alpha2: &[f64], delta: &[f64]) -> f64 {
    let density = PairDensity::new(alpha1, alpha2, delta).expect("legal parameters");
    density.ln_density(x1, x2, &mut Scratch::default()).ln_density
}
