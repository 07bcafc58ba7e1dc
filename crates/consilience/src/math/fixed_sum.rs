//! Sums that are independent of the order of their terms.

/// Binary digits after the point: rounding a term changes it by at most 2⁻⁶¹.
const FRACTION_BITS: i32 = 60;

/// A sum of numbers of moderate size (|Σ| < 2⁶⁶) in fixed point.
///
/// Terms are rounded to multiples of 2⁻⁶⁰ and added as integers. The result has the same bits for
/// every order of the terms and every partition into partial sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FixedSum(i128);

impl FixedSum {
    /// Adds a finite number.
    pub(crate) fn add(&mut self, term: f64) {
        self.0 += to_fixed(term);
    }

    /// Adds another sum.
    pub(crate) fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }

    /// The sum, rounded to a double.
    pub(crate) fn value(self) -> f64 {
        to_float(self.0)
    }

    /// The sum as a double, and the remainder of that rounding; together they are exact below 2⁴⁶.
    pub(crate) fn parts(self) -> (f64, f64) {
        let high = self.value();
        (high, to_float(self.0 - to_fixed(high)))
    }

    /// The inverse of [`FixedSum::parts`].
    pub(crate) fn from_parts(high: f64, rest: f64) -> Self {
        Self(to_fixed(high) + to_fixed(rest))
    }

    /// The same for numbers from a file; none if they are beyond all that is summed here.
    pub(crate) fn from_bounded_parts(high: f64, rest: f64) -> Option<Self> {
        (high.abs() < 1e18 && rest.abs() < 1.0).then(|| Self::from_parts(high, rest))
    }
}

#[allow(clippy::cast_possible_truncation)] // rounding to fixed point is the purpose
fn to_fixed(term: f64) -> i128 {
    (term * f64::from(FRACTION_BITS).exp2()).round_ties_even() as i128
}

fn to_float(fixed: i128) -> f64 {
    fixed as f64 * f64::from(-FRACTION_BITS).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cancellation_loses_no_digits() {
        let mut sum = FixedSum::default();
        [0.1, -1e6, 0.2, 1e6].into_iter().for_each(|term| sum.add(term));
        assert!((sum.value() - 0.3).abs() < 1e-16);
    }

    proptest! {
        #[test]
        fn order_and_partition_do_not_matter(terms in prop::collection::vec(-30.0f64..0.0, 1..200), cut in 0usize..200) {
            let sum_of = |terms: &[f64]| {
                let mut sum = FixedSum::default();
                terms.iter().for_each(|term| sum.add(*term));
                sum
            };
            let whole = sum_of(&terms);
            let (a, b) = terms.split_at(cut.min(terms.len()));
            let mut merged = sum_of(b);
            merged.merge(sum_of(a));
            prop_assert_eq!(whole, merged);
            let (high, rest) = whole.parts();
            prop_assert_eq!(FixedSum::from_parts(high, rest), whole);
            prop_assert!((whole.value() - terms.iter().sum::<f64>()).abs() < 1e-11);
        }
    }
}
