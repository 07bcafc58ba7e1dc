//! Where an item's lines stand: equidistant, or crowded around its kinks.
//!
//! Lines have the integer values of a smooth count of y, and the trapezoid rule is taken in it:
//!
//! ```text
//! count(y) = y / h + Σₗ W arsinh((y − yₗ) / (W hₗ))
//! ```
//!
//! so that they are hₗ apart at a kink yₗ, a W-th of the distance away from it, and h far from all. Kinks closer than half a
//! step, as where outputs are tied, are one crowd.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts of lines

/// Lines on one side of a kink within a factor e of the distance from it.
const WIDTH: f64 = 4.0;
/// More kinks than this share their lines: what is between many of them is near all.
const FEW: f64 = 3.0;
/// Lines that are laid beforehand at the most.
const MOST_LINES: i64 = 4000;

/// A kink with the step wanted there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Crowd {
    pub(super) kink: f64,
    pub(super) step: f64,
    /// W.
    width: f64,
}

impl Crowd {
    pub(super) fn new(kink: f64, step: f64) -> Self {
        Self { kink, step, width: WIDTH }
    }

    /// The distance of y, in Ws of the step.
    fn off(&self, y: f64) -> f64 {
        (y - self.kink) / (self.width * self.step)
    }
}

/// One line: its y and its weight in the sum over y.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub(super) y: f64,
    pub(super) weight: f64,
}

/// The lattice of one item in y and z, laid once so that its sum is a smooth function of δ.
#[derive(Debug, Clone, PartialEq)]
pub struct Lattice {
    /// Step in y far from all kinks.
    step: f64,
    crowds: Vec<Crowd>,
    /// Step in z.
    pub(super) z: f64,
    /// The line with the first number of those known; equidistant ones need not be.
    first: i64,
    lines: Vec<Line>,
}

impl Lattice {
    /// The one with fewer lines in a range of y: as fine everywhere as the finest crowd, or crowded.
    pub(super) fn new(step: f64, crowds: Vec<Crowd>, z: f64, (low, high): (f64, f64)) -> Self {
        let finest = crowds.iter().map(|crowd| crowd.step).fold(step, f64::min);
        let crowds = merged(crowds);
        let mut lattice = Self { step, crowds, z, first: 0, lines: Vec::new() };
        if (high - low) / finest <= lattice.count(high) - lattice.count(low) {
            return Self { step: finest, crowds: Vec::new(), ..lattice };
        }
        lattice.first = lattice.nearest(low);
        let n = (lattice.nearest(high) - lattice.first).min(MOST_LINES);
        let mut near = low;
        for i in lattice.first..=lattice.first + n {
            let line = lattice.solve(i, near);
            near = line.y;
            lattice.lines.push(line);
        }
        lattice
    }

    /// The number of the line next to y.
    pub(super) fn nearest(&self, y: f64) -> i64 {
        self.count(y).round() as i64
    }

    /// A line by its number, and a y that is not far.
    pub(super) fn line(&self, i: i64, near: f64) -> Line {
        if self.crowds.is_empty() {
            return Line { y: self.step * i as f64, weight: self.step };
        }
        let known = usize::try_from(i - self.first).ok().and_then(|place| self.lines.get(place));
        known.copied().unwrap_or_else(|| self.solve(i, near))
    }

    fn count(&self, y: f64) -> f64 {
        let one = |crowd: &Crowd| crowd.width * arsinh(crowd.off(y));
        y / self.step + self.crowds.iter().map(one).sum::<f64>()
    }

    /// Lines for each unit of y.
    fn rate(&self, y: f64) -> f64 {
        let one = |crowd: &Crowd| {
            let off = crowd.off(y);
            1.0 / (crowd.step * (1.0 + off * off).sqrt())
        };
        1.0 / self.step + self.crowds.iter().map(one).sum::<f64>()
    }

    /// count(y) = i by Newton's method.
    fn solve(&self, i: i64, near: f64) -> Line {
        let mut y = near;
        for _ in 0..30 {
            let off = i as f64 - self.count(y);
            y += off / self.rate(y);
            if off.abs() < 1e-6 {
                break; // the next would be off by 1e-12
            }
        }
        Line { y, weight: 1.0 / self.rate(y) }
    }
}

/// Crowds at the same place are one, whose lines are as close there as those of all; each is as wide as its part of all
/// kinks allows.
fn merged(mut crowds: Vec<Crowd>) -> Vec<Crowd> {
    let share = WIDTH * FEW / crowds.len().max(1) as f64;
    crowds.iter_mut().for_each(|crowd| crowd.width = share);
    crowds.sort_unstable_by(|a, b| a.kink.total_cmp(&b.kink));
    crowds.dedup_by(|next, first| {
        let same = next.kink - first.kink < 0.5 * next.step.min(first.step);
        if same {
            first.step = 1.0 / (1.0 / first.step + 1.0 / next.step);
            first.width += next.width;
        }
        same
    });
    crowds.iter_mut().for_each(|crowd| crowd.width = crowd.width.min(WIDTH));
    crowds
}

/// Twice as fast as the standard library's, which also serves tiny numbers to the last digit.
pub(super) fn arsinh(x: f64) -> f64 {
    let size = x.abs();
    (size + (1.0 + size * size).sqrt()).ln().copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ∫ e^(−y²/2) |y − k|^(−½) dy smoothed over 0.03 around k = 0.4: against a fine equidistant sum.
    #[test]
    fn crowded_lines_integrate_a_spike() {
        let integrand = |y: f64| (-0.5 * y * y).exp() * ((y - 0.4).powi(2) + 9e-4).powf(-0.25);
        let crowds = vec![Crowd::new(0.4, 0.026)];
        let lattice = Lattice::new(0.7, crowds, 1.0, (-6.0, 6.0));
        assert!(lattice.lines.len() < 100, "{}", lattice.lines.len());
        let sum: f64 = lattice.lines.iter().map(|line| line.weight * integrand(line.y)).sum();
        let fine: f64 = (-60_000..60_000).map(|i| 1e-4 * integrand(1e-4 * f64::from(i))).sum();
        assert!((sum / fine - 1.0).abs() < 1e-4, "{sum} {fine}");
    }

    /// Eight tied kinks, whose spikes multiply, take hardly more lines than one, and those are enough.
    #[test]
    fn tied_kinks_are_one_crowd() {
        let integrand = |y: f64| (-0.5 * y * y).exp() * ((y - 0.4).powi(2) + 0.01).powi(-4);
        let crowded =
            |n: usize| Lattice::new(0.7, vec![Crowd::new(0.4, 0.047); n], 1.0, (-6.0, 6.0)).lines;
        let (one, eight) = (crowded(1), crowded(8));
        assert!(eight.len() < one.len() + 20, "{} {}", one.len(), eight.len());
        let sum: f64 = eight.iter().map(|line| line.weight * integrand(line.y)).sum();
        let fine: f64 = (-60_000..60_000).map(|i| 1e-4 * integrand(1e-4 * f64::from(i))).sum();
        assert!((sum / fine - 1.0).abs() < 1e-4, "{sum} {fine}");
    }

    /// Beyond the lines laid beforehand they go on, and crowds close together are no gain.
    #[test]
    fn lines_go_on() {
        let crowds = vec![Crowd::new(0.0, 0.01), Crowd::new(1.0, 0.02)];
        let lattice = Lattice::new(0.5, crowds, 1.0, (-2.0, 3.0));
        let last = lattice.first + lattice.lines.len() as i64 - 1;
        let (inside, outside) = (lattice.line(last, 0.0), lattice.line(last + 3, 3.0));
        assert!(outside.y > inside.y + 2.0 * inside.weight, "{inside:?} {outside:?}");
        assert_eq!(lattice.nearest(outside.y), last + 3);
        let twice = vec![Crowd::new(0.05, 0.01), Crowd::new(0.15, 0.01)];
        let small = Lattice::new(0.5, twice, 1.0, (0.0, 0.2));
        assert!(small.crowds.is_empty());
        assert!((small.line(7, 0.0).y - 0.07).abs() < 1e-12);
    }
}
