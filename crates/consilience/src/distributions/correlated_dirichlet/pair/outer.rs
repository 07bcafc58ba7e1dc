//! The outer integral over y = ln(s₁/s₂): a walk along each piece from where its mass is to both ends.

use super::inner::Inner;
use super::line::{Line, Lines};
use super::pieces::{End, Piece, Point};
use crate::math::closing;

/// Number of exponentials in a closed end.
const CLOSING: usize = 6;
/// No integrand needs more lines than this on one piece and side.
const MAX_LINES: usize = 4000;

/// A sum of positive terms given by their logarithms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogSum {
    reference: f64,
    sums: [f64; 2],
    pub(crate) largest: f64,
}

impl LogSum {
    pub(crate) fn new() -> Self {
        Self { reference: f64::NEG_INFINITY, sums: [0.0; 2], largest: f64::NEG_INFINITY }
    }

    fn rebase(&mut self, ln_term: f64) {
        if ln_term > self.reference + 300.0 {
            let scale = (self.reference - ln_term).exp();
            self.sums = self.sums.map(|sum| if sum == 0.0 { 0.0 } else { sum * scale });
            self.reference = ln_term;
        }
    }

    fn add(&mut self, ln_term: f64, weight: f64, parity: usize) {
        if ln_term == f64::NEG_INFINITY {
            return;
        }
        self.rebase(ln_term);
        self.largest = self.largest.max(ln_term);
        self.sums[parity] += weight * (ln_term - self.reference).exp();
    }

    /// ln of the sum.
    pub(crate) fn ln(&self) -> f64 {
        (self.sums[0] + self.sums[1]).ln() + self.reference
    }

    /// |even − odd| / sum: the error at twice the step.
    pub(crate) fn coarse(&self) -> f64 {
        ((self.sums[0] - self.sums[1]) / (self.sums[0] + self.sums[1])).abs()
    }
}

/// What an end looks like from far out.
#[derive(Debug, Clone, Copy)]
struct Approach {
    /// Exponents in units of τ.
    exponents: [f64; CLOSING],
    /// Distance to a break, or beyond every kink, from which the exponents rule.
    onset: f64,
    /// Terms may not be dropped before this distance to the break: spikes can hide there.
    blind: f64,
    infinite: bool,
}

/// State of the walk.
pub(crate) struct Walk<'a, 'b> {
    pub(crate) lines: &'a Lines<'b>,
    pub(crate) inner: &'a mut [Inner],
    pub(crate) step: f64,
    pub(crate) sum: LogSum,
    /// Largest relative error in s seen at twice the step, weighted by the line's share.
    pub(crate) coarse_s: f64,
    pub(crate) count: usize,
}

impl Walk<'_, '_> {
    /// Adds one piece's integral to the sum.
    pub(crate) fn piece(&mut self, piece: &Piece) {
        let mode = self.lines.mode;
        let tau = piece.start(mode.y);
        let point = piece.point(tau);
        let y = point.at.anchor + point.at.offset;
        let mut first = self.line(&point, mode.ln_s + mode.slope * (y - mode.y));
        let width = 2.0 / mode.precision_s.sqrt();
        let mut guess = mode.ln_s + mode.slope * (y - mode.y);
        for _ in 0..8 {
            if (first.ln_s - guess).abs() < width || first.ln_value == f64::NEG_INFINITY {
                break;
            }
            guess = first.ln_s;
            first = self.line(&point, guess);
        }
        self.add(&first, &point, 1.0, 0);
        for direction in [1.0, -1.0] {
            self.direction(piece, tau, direction, (y, first.ln_s));
        }
    }

    fn line(&mut self, point: &Point, ln_s: f64) -> Line {
        self.count += 1;
        self.lines.evaluate(self.inner, point.at, ln_s)
    }

    fn add(&mut self, line: &Line, point: &Point, weight: f64, parity: usize) {
        self.sum.add(line.ln_value + point.ln_jacobian, weight, parity);
        self.coarse_s = self.coarse_s.max(line.coarse_s);
    }

    fn direction(&mut self, piece: &Piece, start: f64, direction: f64, from: (f64, f64)) {
        let approach = self.approach(piece, direction);
        let (mut last_y, mut last_s) = from;
        let mut collected: [(Line, Option<Point>); CLOSING] = [(Line::default(), None); CLOSING];
        let mut n_collected = 0;
        for k in 1..MAX_LINES {
            let point = piece.point(start + direction * self.step * k as f64);
            let y = point.at.anchor + point.at.offset;
            let guess = last_s + self.lines.mode.slope * (y - last_y);
            let line = self.line(&point, guess);
            if line.ln_value == f64::NEG_INFINITY {
                break;
            }
            (last_y, last_s) = (y, line.ln_s);
            if n_collected > 0 || self.reached(&approach, &point, direction) {
                collected[n_collected] = (line, Some(point));
                n_collected += 1;
                if n_collected == CLOSING {
                    self.close(&approach, &collected, k);
                    break;
                }
                continue;
            }
            self.add(&line, &point, 1.0, k % 2);
            let slow = approach.exponents[0].min(1.0).ln();
            let small = line.ln_value + point.ln_jacobian
                < self.sum.largest - self.lines.rules.cut + slow;
            if small && distance(&approach, &point, direction) < approach.blind {
                break;
            }
        }
    }

    fn reached(&self, approach: &Approach, point: &Point, direction: f64) -> bool {
        if approach.infinite {
            return direction * (point.at.anchor + point.at.offset) > approach.onset;
        }
        distance(approach, point, direction) < approach.onset
    }

    fn close(
        &mut self,
        approach: &Approach,
        collected: &[(Line, Option<Point>); CLOSING],
        k: usize,
    ) {
        let first = approach.exponents[0];
        let weights = closing::scaled_weights(&approach.exponents, self.step);
        for (j, (line, point)) in collected.iter().enumerate() {
            let point = point.expect("collected with its point");
            // half of the weight to each parity: a closed tail says nothing about the step
            let _ = k;
            self.add(line, &point, 0.5 * weights[j] / first, 0);
            self.add(line, &point, 0.5 * weights[j] / first, 1);
        }
    }

    fn approach(&self, piece: &Piece, direction: f64) -> Approach {
        let end = if direction > 0.0 { piece.upper } else { piece.lower };
        match end {
            End::Break(y) => self.approach_break(piece, y),
            End::Infinite => self.approach_infinity(piece, direction),
        }
    }

    /// Exponents 1 + subset sums of the tied powers, plus integers; the smallest six.
    fn approach_break(&self, piece: &Piece, y: f64) -> Approach {
        let lines = self.lines;
        let (mut gap, mut sharp, mut all) = (f64::INFINITY, 1.0f64, 1.0);
        let mut exponents: Vec<f64> = vec![1.0];
        let s = (lines.mode.ln_s + lines.mode.slope * (y - lines.mode.y)).exp();
        for (l, c) in lines.components.iter().enumerate() {
            if c.is_independent() || Some(l) == lines.skip {
                continue;
            }
            let away = (lines.kinks[l] - y).abs();
            all += c.kink_power().min(0.0);
            if away == 0.0 {
                sharp = sharp.max(1.0 + c.shared + s * lines.x2[l]);
                for i in 0..exponents.len().min(64) {
                    exponents.push(exponents[i] + c.kink_power());
                }
            } else {
                gap = gap.min(away);
            }
        }
        let reach = gap.min(piece.scale).min(1.0 / sharp);
        Approach {
            exponents: smallest(&exponents, 1.0),
            onset: 0.5 * lines.rules.onset * reach,
            blind: if all < 0.99 { gap } else { f64::INFINITY },
            infinite: false,
        }
    }

    /// Far out the integrand decays like e^(−A|y|), A the total concentration of one classifier.
    fn approach_infinity(&self, piece: &Piece, direction: f64) -> Approach {
        let lines = self.lines;
        let k = usize::from(direction > 0.0);
        let total: f64 = lines.components.iter().map(|c| c.shared + c.private[k]).sum();
        let furthest = lines
            .kinks
            .iter()
            .map(|kink| direction * kink)
            .fold(0.0, f64::max);
        let scale = piece.scale;
        let mut exponents = Vec::with_capacity(12);
        for i in 0..6 {
            for j in 0..if matches!((piece.lower, piece.upper), (End::Infinite, End::Infinite)) { 1 } else { 3 } {
                exponents.push(scale * (total + f64::from(i)) + f64::from(j));
            }
        }
        let margin = -lines.rules.onset.ln() + total.max(1.0).ln();
        Approach {
            exponents: smallest(&exponents, f64::INFINITY),
            onset: furthest + margin.max(scale * margin),
            blind: f64::INFINITY,
            infinite: true,
        }
    }
}

fn distance(approach: &Approach, point: &Point, direction: f64) -> f64 {
    if approach.infinite { 0.0 } else { point.from[usize::from(direction > 0.0)] }
}

/// The smallest six of a set, after adding 0, `ladder`, 2·`ladder`, … to each.
fn smallest(exponents: &[f64], ladder: f64) -> [f64; CLOSING] {
    let mut all: Vec<f64> = Vec::with_capacity(exponents.len() * CLOSING);
    for &e in exponents {
        for i in 0..CLOSING {
            let shift = if i == 0 { 0.0 } else { ladder * i as f64 };
            if (e + shift).is_finite() {
                all.push(e + shift);
            }
        }
    }
    all.sort_unstable_by(f64::total_cmp);
    all.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    std::array::from_fn(|i| all.get(i).copied().unwrap_or_else(|| all[all.len() - 1] + 1.0 + i as f64))
}
