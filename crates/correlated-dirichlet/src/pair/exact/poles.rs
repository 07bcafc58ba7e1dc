//! Poles and the support of the exact density.

use crate::pair::component::Component;
use crate::pair::item::OutputPair;

/// The log density where it is infinite: +∞ at poles, −∞ outside the support; none elsewhere.
///
/// A pole needs components with equal ratios x²ₗ/x¹ₗ and Σ min(a¹ₗ+a²ₗ−1, 0) ≤ −1. A component with a¹ = a² = 0 fixes ρ to
/// its ratio; two of them exclude each other, or form a pole if their ratios are equal.
pub(crate) fn ln_density(components: &[Component], outputs: &[OutputPair]) -> Option<f64> {
    let rigid = || outputs.iter().zip(components).filter(|(_, c)| c.is_rigid());
    if let Some((first, _)) = rigid().next()
        && rigid().any(|(outputs, _)| outputs.kink != first.kink)
    {
        return Some(f64::NEG_INFINITY);
    }
    let [lower, upper] = support(components, outputs);
    if lower > upper {
        return Some(f64::NEG_INFINITY);
    }
    let mut inside = outputs.iter().map(|pair| pair.kink).filter(|y| (lower..=upper).contains(y));
    if inside.any(|kink| is_pole(components, outputs, kink)) {
        return Some(f64::INFINITY);
    }
    (lower == upper && rigid().next().is_none()).then_some(f64::NEG_INFINITY)
}

/// The range of y that is possible: if a private gamma is 0, the total of its classifier is the smaller one.
fn support(components: &[Component], outputs: &[OutputPair]) -> [f64; 2] {
    let (mut lower, mut upper) = (f64::NEG_INFINITY, f64::INFINITY);
    for (pair, c) in outputs.iter().zip(components).filter(|(_, c)| !c.is_independent()) {
        upper = if c.private[0] == 0.0 { upper.min(pair.kink) } else { upper };
        lower = if c.private[1] == 0.0 { lower.max(pair.kink) } else { lower };
    }
    [lower, upper]
}

fn is_pole(components: &[Component], outputs: &[OutputPair], kink: f64) -> bool {
    let (mut strength, mut n_rigid, mut singular) = (0.0, 0, false);
    for (outputs, c) in outputs.iter().zip(components) {
        if outputs.kink != kink || c.is_independent() {
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
