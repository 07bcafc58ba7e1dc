//! Roots of continuous functions of one variable.

/// A root of `f` between `low` and `high`, where `f` has different signs, to an absolute `tolerance`.
///
/// Regula falsi with the Illinois rule: the value at an end that is kept twice is halved. The root stays bracketed, and
/// smooth functions take about ten steps.
///
/// # References
/// Dowell, Jarratt, "A modified regula falsi method for computing the root of an equation", BIT 11, 1971.
/// <https://doi.org/10.1007/BF01934364>
pub fn bracketed_root(f: impl Fn(f64) -> f64, low: f64, high: f64, tolerance: f64) -> f64 {
    let (mut old, mut new) = ((low, f(low)), (high, f(high)));
    for _ in 0..MAX_STEPS {
        if new.1 == 0.0 || (new.0 - old.0).abs() <= tolerance {
            break;
        }
        let secant = new.0 - new.1 * (new.0 - old.0) / (new.1 - old.1);
        let (left, right) = (new.0.min(old.0), new.0.max(old.0));
        // Rounding may move the secant out of the bracket.
        let x = if secant > left && secant < right { secant } else { 0.5 * (left + right) };
        let here = (x, f(x));
        let moved = (here.0 - new.0).abs();
        if here.1 * new.1 < 0.0 {
            old = new;
        } else {
            old.1 *= 0.5;
        }
        new = here;
        if moved <= tolerance {
            break;
        }
    }
    new.0
}

/// Largest number of steps; bisection to the last bit would take about 60.
const MAX_STEPS: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_roots_of_curved_steep_and_flat_functions() {
        let near = |f: fn(f64) -> f64, high: f64, expected: f64| {
            let got = bracketed_root(f, 0.0, high, 1e-13);
            // A triple root is determined to the cube root of the rounding error.
            assert!((got - expected).abs() < 1e-5, "{got} {expected}");
        };
        near(|x| x * x - 2.0, 2.0, 2f64.sqrt());
        near(|x| x.exp() - 1e3, 50.0, 1e3f64.ln());
        near(|x| (x - 0.3).powi(3), 1.0, 0.3);
        near(|x| 1.0 - x, 1.0, 1.0);
        near(|x| if x < 0.125 { -1.0 } else { 1.0 }, 1.0, 0.125);
        assert!((bracketed_root(|x| x * x - 2.0, 0.0, 2.0, 1e-13) - 2f64.sqrt()).abs() < 1e-12);
    }
}
