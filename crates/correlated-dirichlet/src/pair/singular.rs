//! Where the exact density is not a finite positive number.

use super::place::Place;
use super::shapes::Component;

/// +∞ at poles, −∞ outside the support, nothing elsewhere.
///
/// A pole needs components with one common ratio x²ₗ/x¹ₗ and Σ min(a¹ₗ+a²ₗ−1, 0) ≤ −1. A component with
/// a¹ = a² = 0 fixes ρ to its ratio: two of them exclude each other, or are a pole if their ratios agree.
pub(crate) fn ln_density(components: &[Component], places: &[Place]) -> Option<f64> {
    let rigid = || places.iter().zip(components).filter(|(_, c)| c.is_rigid());
    if let Some((first, _)) = rigid().next()
        && rigid().any(|(place, _)| place.kink != first.kink)
    {
        return Some(f64::NEG_INFINITY);
    }
    places.iter().any(|place| is_pole(components, places, place.kink)).then_some(f64::INFINITY)
}

fn is_pole(components: &[Component], places: &[Place], kink: f64) -> bool {
    let (mut strength, mut n_rigid, mut singular) = (0.0, 0, false);
    for (place, c) in places.iter().zip(components) {
        if place.kink != kink || c.is_independent() {
            continue;
        }
        if c.is_rigid() {
            n_rigid += 1;
        } else {
            strength += c.kink_power().min(0.0);
            singular |= c.kink_power() <= 0.0;
        }
    }
    strength <= -1.0 || n_rigid > 1 || (n_rigid == 1 && singular)
}
