//! Decisions with minimal expected cost.

use crate::error::{Error, Result};

/// The cost of every decision for every true class.
///
/// The decisions are the classes and, if it has a cost, abstaining. The best decision d minimises the
/// expected cost Σₜ P(t) cost(t, d). Costs may be negative (gains).
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    n_classes: usize,
    n_decisions: usize,
    /// Indexed by true class, then decision.
    table: Vec<f64>,
}

/// The decision with the smallest expected cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The chosen class; `None` for abstaining.
    pub class: Option<usize>,
    /// Its expected cost.
    pub expected_cost: f64,
}

impl Costs {
    /// Creates a table of costs. `rows[t]` has the cost of choosing each class when the true class is
    /// t and, if it has one more entry, the cost of abstaining.
    ///
    /// # Example
    /// ```
    /// use consilience::decision::Costs;
    ///
    /// // An overlooked fault costs 50, a false alarm 1, asking a person 0.5.
    /// let costs = Costs::new(&[[0.0, 1.0, 0.5], [50.0, 0.0, 0.5]])?;
    /// let decide = |fault: f64| costs.decide(&[1.0 - fault, fault]).class;
    /// assert_eq!([decide(0.001), decide(0.2), decide(0.9)], [Some(0), None, Some(1)]);
    /// # Ok::<(), consilience::Error>(())
    /// ```
    pub fn new<R: AsRef<[f64]>>(rows: &[R]) -> Result<Self> {
        let n_classes = rows.len();
        let n_decisions = rows.first().map_or(0, |row| row.as_ref().len());
        for (class, row) in rows.iter().enumerate() {
            let row = row.as_ref();
            if row.len() != n_decisions || !(n_classes..=n_classes + 1).contains(&row.len()) {
                return Err(Error::mismatch(
                    "the numbers of classes and costs",
                    format!("{n_classes} costs per class, or one more for abstaining"),
                    format!("{} for class {class}", row.len()),
                ));
            }
            if let Some(cost) = row.iter().find(|cost| !cost.is_finite()) {
                return Err(Error::parameter(format!("costs[{class}]"), "finite", cost));
            }
        }
        if n_classes == 0 {
            return Err(Error::parameter("costs", "given for at least one class", "none"));
        }
        let table = rows.iter().flat_map(|row| row.as_ref().to_vec()).collect();
        Ok(Self { n_classes, n_decisions, table })
    }

    /// The decision with the smallest expected cost; among equals the first class, and abstaining
    /// last.
    ///
    /// # Panics
    /// If the number of probabilities is not the number of classes.
    pub fn decide(&self, probabilities: &[f64]) -> Decision {
        assert_eq!(probabilities.len(), self.n_classes, "one probability per class");
        let expected = |decision: usize| -> f64 {
            let costs = self.table.iter().skip(decision).step_by(self.n_decisions);
            probabilities.iter().zip(costs).map(|(p, cost)| p * cost).sum()
        };
        let (mut best, mut least) = (0, expected(0));
        for decision in 1..self.n_decisions {
            let cost = expected(decision);
            if cost < least {
                (best, least) = (decision, cost);
            }
        }
        Decision { class: (best < self.n_classes).then_some(best), expected_cost: least }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_costs_decide_for_the_most_probable_class() {
        let costs = Costs::new(&[[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]).unwrap();
        let decision = costs.decide(&[0.2, 0.5, 0.3]);
        assert_eq!(decision, Decision { class: Some(1), expected_cost: 0.5 });
        // Among equals the first.
        assert_eq!(costs.decide(&[0.4, 0.4, 0.2]).class, Some(0));
    }

    #[test]
    fn a_costly_mistake_moves_the_threshold() {
        // Class 1 is chosen where 9 p > 1 − p, hence above p = 0.1.
        let costs = Costs::new(&[[0.0, 1.0], [9.0, 0.0]]).unwrap();
        assert_eq!(costs.decide(&[0.91, 0.09]).class, Some(0));
        assert_eq!(costs.decide(&[0.89, 0.11]).class, Some(1));
    }

    #[test]
    fn invalid_costs_are_refused() {
        let error = |rows: &[&[f64]]| Costs::new(rows).unwrap_err().to_string();
        assert_eq!(
            error(&[&[0.0, 1.0], &[1.0]]),
            "the numbers of classes and costs do not match: expected 2 costs per class, or one more \
             for abstaining, found 1 for class 1"
        );
        assert_eq!(error(&[&[0.0, f64::NAN], &[1.0, 0.0]]), "`costs[0]` must be finite, got NaN");
        assert_eq!(error(&[]), "`costs` must be given for at least one class, got none");
    }
}
