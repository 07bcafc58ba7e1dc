//! Probabilities from decimal odds: three ways to remove a bookmaker's margin.
//!
//! The reciprocals π of the odds of an item add up to B = 1 + margin.
//!
//! ```text
//! in proportion   pⱼ = πⱼ / B
//! power           pⱼ = πⱼ^k,                                                with k so that Σ p = 1
//! Shin            pⱼ = (√(z² + 4 (1 − z) πⱼ²/B) − z) / (2 (1 − z)),         with z so that Σ p = 1
//! ```
//!
//! The last two take more of the margin from long shots, whose odds are shortened most. In Shin's model, z is the share of
//! bets by insiders.
//!
//! # References
//! Shin, "Measuring the incidence of insider trading in a market for state-contingent claims", The Economic Journal 103,
//! 1993. <https://doi.org/10.2307/2234240>. Clarke, Kovalchik and Ingram, "Adjusting bookmaker's odds to allow for
//! overround", American Journal of Sports Science 5, 2017. <https://doi.org/10.11648/j.ajss.20170506.12>

use consilience_numerics::root::bracketed_root;
use consilience_numerics::simplex;

/// Replaces odds by their reciprocals, normalised.
pub(super) fn in_proportion(odds: &mut [f64]) {
    odds.iter_mut().for_each(|value| *value = value.recip());
    simplex::normalise(odds);
}

/// Replaces odds by powers of their reciprocals that add up to 1.
pub(super) fn by_power(odds: &mut [f64]) {
    let sum = |k: f64| odds.iter().map(|odds| odds.powf(-k)).sum::<f64>() - 1.0;
    // Odds of 1 have the probability 1 at any power.
    let mut high = 1.0;
    while sum(high) > 0.0 && high < LARGEST_POWER {
        high *= 2.0;
    }
    let k = if sum(high) > 0.0 { high } else { bracketed_root(sum, 0.0, high, TOLERANCE) };
    odds.iter_mut().for_each(|value| *value = value.powf(-k));
    simplex::normalise(odds);
}

/// Replaces odds by the probabilities of Shin's model; in proportion if there is no margin.
pub(super) fn by_shin(odds: &mut [f64]) {
    in_proportion_of_squares(odds);
    // The same as the formula above, without a difference of nearly equal numbers; squares may underflow to 0.
    let probability = |z: f64, squared: f64| {
        let root = (z * z + 4.0 * (1.0 - z) * squared).sqrt();
        if squared > 0.0 { 2.0 * squared / (z + root) } else { 0.0 }
    };
    let sum = |z: f64| odds.iter().map(|squared| probability(z, *squared)).sum::<f64>() - 1.0;
    let z = if sum(0.0) > 0.0 { bracketed_root(sum, 0.0, 1.0, TOLERANCE) } else { 0.0 };
    odds.iter_mut().for_each(|value| *value = probability(z, *value));
    simplex::normalise(odds);
}

/// Replaces odds by πⱼ²/B.
fn in_proportion_of_squares(odds: &mut [f64]) {
    odds.iter_mut().for_each(|value| *value = value.recip());
    let total: f64 = odds.iter().sum();
    odds.iter_mut().for_each(|value| *value *= *value / total);
}

/// Absolute error of the exponent and of the share of insiders.
const TOLERANCE: f64 = 1e-15;

/// At this power all probability is at the shortest odds.
const LARGEST_POWER: f64 = 1e9;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(convert: fn(&mut [f64]), odds: &[f64], expected: &[f64]) {
        let mut values = odds.to_vec();
        convert(&mut values);
        for (got, want) in values.iter().zip(expected) {
            assert!((got - want).abs() < 1e-13, "{odds:?}: {values:?} instead of {expected:?}");
        }
    }

    /// Values by mpmath with 30 digits; those of Shin's model agree with the Python package shin 0.2.1 to 1e-12.
    #[test]
    fn margins_are_removed() {
        let football = [2.6, 2.4, 4.3];
        check(
            by_power,
            &football,
            &[0.372_984_404_068_709_48, 0.405_107_167_456_797_58, 0.221_908_428_474_492_94],
        );
        check(
            by_shin,
            &football,
            &[0.372_994_060_332_236_09, 0.404_779_410_920_157_57, 0.222_226_528_747_606_34],
        );
        let favourite = [1.2, 6.5, 15.0];
        check(
            by_power,
            &favourite,
            &[0.819_206_402_357_202_94, 0.129_078_435_629_953_84, 0.051_715_162_012_843_22],
        );
        check(
            by_shin,
            &favourite,
            &[0.809_052_079_140_034_24, 0.138_100_660_636_161_12, 0.052_847_260_223_804_64],
        );
    }

    #[test]
    fn odds_without_a_margin_and_extreme_odds_are_probabilities() {
        for convert in [in_proportion, by_power, by_shin] {
            check(convert, &[1.05, 21.0], &[1.0 / 1.05, 1.0 / 21.0]);
            check(convert, &[1.9, 1.9], &[0.5, 0.5]);
            for odds in [
                [1.0, 1.0, 1.0],
                [1.0, 1e300, 2.0],
                [1e300, 1e300, 1e300],
                [3.0, 4.0, 9.0],
                [1.0, 1.0, 1e6],
            ] {
                let mut values = odds;
                convert(&mut values);
                let sum: f64 = values.iter().sum();
                assert!(
                    (sum - 1.0).abs() < 1e-12 && values.iter().all(|p| (0.0..=1.0).contains(p)),
                    "{odds:?} {values:?}"
                );
            }
        }
    }
}
