//! The integral over the ratio of the totals, y = ln(s₁/s₂): on every piece a trapezoid rule from near the mode to both ends.

use super::constants::{CLOSING, FADE, MAX_RATIOS, MAX_SUBSETS, ONSET_GOAL};
use super::gradient::GradientSum;
use super::pieces::{Piece, Point};
use super::scale::{ScaleIntegral, ScaleIntegrals};
use super::shared::SharedIntegral;
use super::trapezoid_error::{Classes, Decay};
use consilience_numerics::exponential_tail;

/// A sum of positive terms given by their logarithms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogSum {
    reference: f64,
    total: f64,
    /// The sum of the errors of the terms.
    loss: f64,
    /// The total of the current piece, and its sums by k mod 8.
    piece: f64,
    classes: Classes,
    /// ln of the largest term, and the term.
    pub(crate) largest: f64,
    largest_term: f64,
}

impl LogSum {
    pub(crate) fn new() -> Self {
        Self {
            reference: f64::NEG_INFINITY,
            total: 0.0,
            loss: 0.0,
            piece: 0.0,
            classes: Classes::default(),
            largest: f64::NEG_INFINITY,
            largest_term: 0.0,
        }
    }

    /// Adds a term; returns it, and the factor by which all earlier terms were rescaled.
    fn add(&mut self, ln_term: f64, k: i64, weight: f64, fade: f64) -> (f64, f64) {
        let mut rescaled = 1.0;
        if ln_term > self.reference + 300.0 {
            let scale = (self.reference - ln_term).exp();
            rescaled = scale;
            self.total *= scale;
            self.loss *= scale;
            self.piece *= scale;
            self.classes.0 = self.classes.0.map(|sum| sum * scale);
            self.largest_term *= scale;
            self.reference = ln_term;
        }
        self.largest = self.largest.max(ln_term);
        let term = (ln_term - self.reference).exp();
        self.largest_term = self.largest_term.max(term);
        self.piece += weight * term;
        self.classes.add(k, fade * term);
        (term, rescaled)
    }

    /// Finishes a piece; returns its rate of convergence and the logarithm of its integral.
    fn end_piece(&mut self) -> (Decay, f64) {
        let decay = self.classes.decay(self.piece);
        let ln_piece = self.piece.ln() + self.reference;
        self.total += self.piece;
        self.piece = 0.0;
        self.classes = Classes::default();
        (decay, ln_piece)
    }

    /// The relative error of the sum that comes from the errors of its terms.
    pub(crate) fn loss(&self) -> f64 {
        self.loss / self.total
    }

    /// ln of the sum.
    pub(crate) fn ln(&self) -> f64 {
        self.total.ln() + self.reference
    }
}

/// The convergence of one piece in the ratio and in the scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Convergence {
    /// ln of the integral of the piece, and the decay of its error in y.
    pub(crate) ln_piece: f64,
    pub(crate) y: Decay,
    /// The largest |even − odd| / sum over s, weighted by the term relative to the largest one.
    pub(crate) coarse_s: f64,
}

/// The asymptotic behaviour of the integrand at one end of a piece.
#[derive(Debug, Clone, Copy)]
struct Approach {
    /// Exponents in units of τ.
    exponents: [f64; CLOSING],
    /// Distance to a break, or beyond every kink, from which on the exponents hold.
    onset: f64,
    /// Terms may not be dropped farther from the break than this, since the integrand may have a spike there.
    blind: f64,
    kind: Kind,
    upwards: bool,
}

/// The kind of an end.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A break at this y.
    Break(f64),
    /// The piece is unbounded: the total concentration that determines the decay, the scale of the piece, and whether the
    /// piece is mapped.
    Infinite { total: f64, scale: f64, mapped: bool },
}

/// The integral over all pieces.
pub(crate) struct RatioIntegral<'a, 'b> {
    pub(crate) lines: &'a mut ScaleIntegrals<'b>,
    pub(crate) inner: &'a mut [SharedIntegral],
    pub(crate) sum: LogSum,
    /// The largest weighted |even − odd| / sum over s of the current piece.
    pub(crate) coarse_s: f64,
    pub(crate) convergence: &'a mut Vec<Convergence>,
    /// Sums for the derivatives, if they are wanted.
    pub(crate) tally: Option<&'a mut GradientSum>,
}

impl RatioIntegral<'_, '_> {
    /// Adds one piece's integral to the sum.
    pub(crate) fn piece(&mut self, piece: &Piece) {
        let mode = self.lines.mode;
        let tau = piece.start(mode.y);
        let point = piece.point(tau);
        let y = point.at.y();
        let first = self.lines.settle(self.inner, point.at);
        self.differentiate(&point, &first);
        self.coarse_s = 0.0;
        self.add(&first, &point, 0, 1.0, 1.0);
        for direction in [1.0, -1.0] {
            self.direction(piece, tau, direction, (y, first.ln_s));
        }
        let (y, ln_piece) = self.sum.end_piece();
        self.convergence.push(Convergence { ln_piece, y, coarse_s: self.coarse_s });
    }

    fn line(&mut self, point: &Point, ln_s: f64) -> ScaleIntegral {
        let line = self.lines.evaluate(self.inner, point.at, ln_s);
        self.differentiate(point, &line);
        line
    }

    fn differentiate(&mut self, point: &Point, line: &ScaleIntegral) {
        if let Some(tally) = self.tally.as_deref_mut()
            && line.ln_value > f64::NEG_INFINITY
        {
            self.lines.differentiate(self.inner, point.at, line, tally);
        }
    }

    fn add(&mut self, line: &ScaleIntegral, point: &Point, k: i64, weight: f64, fade: f64) {
        if line.ln_value == f64::NEG_INFINITY {
            return;
        }
        let ln_term = line.ln_value + point.ln_weight;
        let (term, rescaled) = self.sum.add(ln_term, k, weight, fade);
        self.sum.loss += weight.abs() * term * line.inner;
        if let Some(tally) = &mut self.tally {
            if rescaled != 1.0 {
                tally.scale(rescaled);
            }
            tally.add(weight * term);
        }
        self.coarse_s = self.coarse_s.max(line.coarse_s * term / self.sum.largest_term);
    }

    fn direction(&mut self, piece: &Piece, start: f64, direction: f64, from: (f64, f64)) {
        let approach = self.approach(piece, direction);
        let (mut last_y, mut last_s) = from;
        let mut collected = [(ScaleIntegral::default(), Point::default()); CLOSING];
        let mut n_collected = 0;
        for k in 1..MAX_RATIOS {
            let point = piece.point(start + direction * piece.step * k as f64);
            let y = point.at.y();
            let guess = last_s + self.lines.mode.slope * (y - last_y);
            let line = self.line(&point, guess);
            if line.ln_value == f64::NEG_INFINITY {
                break;
            }
            (last_y, last_s) = (y, line.ln_s);
            if n_collected > 0 || reached(&approach, &point, direction) {
                collected[n_collected] = (line, point);
                if let Some(tally) = &mut self.tally {
                    tally.wait(n_collected);
                }
                n_collected += 1;
                if n_collected == CLOSING {
                    self.close(&approach, &collected, k as i64, direction, piece.step);
                    break;
                }
                continue;
            }
            self.add(&line, &point, direction as i64 * k as i64, 1.0, 1.0);
            let slow = approach.exponents[0].min(1.0).ln();
            let small =
                line.ln_value + point.ln_weight < self.sum.largest - self.lines.accuracy.cut + slow;
            if small && distance(&approach, &point, direction) < approach.blind {
                break;
            }
        }
    }

    fn close(
        &mut self,
        approach: &Approach,
        collected: &[(ScaleIntegral, Point); CLOSING],
        last: i64,
        direction: f64,
        step: f64,
    ) {
        let first = approach.exponents[0];
        let weights = exponential_tail::scaled_weights(&approach.exponents, step);
        for (j, (line, point)) in collected.iter().enumerate() {
            let k = last + 1 + j as i64 - CLOSING as i64;
            if let Some(tally) = &mut self.tally {
                tally.recall(j);
            }
            self.add(line, point, direction as i64 * k, weights[j] / first, FADE[j]);
        }
        if self.tally.is_some() {
            self.close_slopes(approach, collected, step);
        }
    }

    /// Adds the derivatives of the weights of a closed end, whose exponents depend on the shapes.
    fn close_slopes(
        &mut self,
        approach: &Approach,
        collected: &[(ScaleIntegral, Point); CLOSING],
        step: f64,
    ) {
        const STEP: f64 = 1e-5;
        let reference = self.sum.reference;
        let lines = &*self.lines;
        let slope = |exponents: &dyn Fn(f64) -> [f64; CLOSING]| -> f64 {
            let weights = [STEP, -STEP].map(|by| {
                let exponents = exponents(by);
                exponential_tail::scaled_weights(&exponents, step).map(|w| w / exponents[0])
            });
            let mut sum = 0.0;
            for (j, (line, point)) in collected.iter().enumerate() {
                let term = (line.ln_value + point.ln_weight - reference).exp();
                sum += term * (weights[0][j] - weights[1][j]) / (2.0 * STEP);
            }
            sum
        };
        match approach.kind {
            Kind::Break(y) => {
                for &l in lines.active {
                    if lines.outputs[l].kink == y {
                        let sum = slope(&|by| lines.break_exponents(y, l, by).0);
                        self.tally.as_deref_mut().expect("asked for").add_private(l, [sum; 2]);
                    }
                }
            }
            Kind::Infinite { total, scale, mapped } => {
                let k = usize::from(approach.upwards);
                let sum = slope(&|by| infinite_exponents(total + by, scale, mapped));
                self.tally.as_deref_mut().expect("asked for").add_total(k, sum);
            }
        }
    }

    fn approach(&self, piece: &Piece, direction: f64) -> Approach {
        let end = if direction > 0.0 { piece.upper } else { piece.lower };
        if end.is_finite() {
            self.approach_break(piece, end, direction > 0.0)
        } else {
            self.approach_infinity(piece, direction)
        }
    }

    /// At a break the exponents are 1 + the sums over subsets of the tied powers + integers; the smallest six are used.
    fn approach_break(&self, piece: &Piece, y: f64, upwards: bool) -> Approach {
        let lines = &*self.lines;
        let (mut gap, mut reach, mut sharp, mut all) = (f64::INFINITY, f64::INFINITY, 1.0f64, 1.0);
        let s = (lines.mode.ln_s + lines.mode.slope * (y - lines.mode.y)).exp();
        for &l in lines.active {
            let c = &lines.components[l];
            let away = (lines.outputs[l].kink - y).abs();
            all += c.kink_power().min(0.0);
            if away == 0.0 {
                sharp = sharp.max(1.0 + c.shared + s * lines.outputs[l].x[1]);
            } else {
                gap = gap.min(away);
                reach = reach.min(away / (1.0 + 0.5 * c.kink_power().abs()));
            }
        }
        let scale = piece.scale.min(piece.width());
        let reach = reach.min(scale).min(1.0 / sharp);
        let (exponents, missing) = lines.break_exponents(y, usize::MAX, 0.0);
        // the first exponential left out, relative to the integral: (d/reach)^(e₆−e₀) (d/σ)^e₀
        let order = missing - exponents[0];
        let goal = (ONSET_GOAL * lines.accuracy.tolerance).ln();
        let ln_onset = (goal + order * reach.ln() + exponents[0] * scale.ln()) / missing.max(1e-3);
        Approach {
            exponents,
            onset: ln_onset.exp().min(0.5 * reach),
            blind: if all < 0.99 { gap } else { f64::INFINITY },
            kind: Kind::Break(y),
            upwards,
        }
    }

    /// Far out the integrand decays like e^(−A|y|), where A is the total concentration of one classifier.
    fn approach_infinity(&self, piece: &Piece, direction: f64) -> Approach {
        let lines = &*self.lines;
        let k = usize::from(direction > 0.0);
        let total: f64 = lines.components.iter().map(|c| c.shared + c.private[k]).sum();
        let furthest =
            lines.outputs.iter().map(|outputs| direction * outputs.kink).fold(0.0, f64::max);
        let mapped = piece.is_mapped();
        let margin = -lines.accuracy.onset.ln() + total.max(1.0).ln();
        Approach {
            exponents: infinite_exponents(total, piece.scale, mapped),
            onset: furthest + margin.max(piece.scale * margin),
            blind: f64::INFINITY,
            kind: Kind::Infinite { total, scale: piece.scale, mapped },
            upwards: direction > 0.0,
        }
    }
}

impl ScaleIntegrals<'_> {
    /// The six smallest exponents at a break, and the seventh, with the power of component `l` moved by `by`.
    fn break_exponents(&self, y: f64, l: usize, by: f64) -> ([f64; CLOSING], f64) {
        let mut exponents = [0.0; MAX_SUBSETS];
        exponents[0] = 1.0;
        let mut count = 1;
        for &tied in self.active {
            if self.outputs[tied].kink == y {
                let power = self.components[tied].kink_power() + if tied == l { by } else { 0.0 };
                for i in 0..count.min(MAX_SUBSETS - count) {
                    exponents[count + i] = exponents[i] + power;
                }
                count = (2 * count).min(MAX_SUBSETS);
            }
        }
        smallest(&exponents[..count], 1.0)
    }
}

/// Exponents in τ far out, where y is τ times the scale; mapped pieces add integers.
fn infinite_exponents(total: f64, scale: f64, mapped: bool) -> [f64; CLOSING] {
    let mut exponents = [0.0; 3 * CLOSING];
    let per = if mapped { 3 } else { 1 };
    for i in 0..CLOSING {
        for j in 0..per {
            exponents[per * i + j] = scale * (total + i as f64) + j as f64;
        }
    }
    smallest(&exponents[..per * CLOSING], f64::INFINITY).0
}

/// Whether the exponents hold from this point on.
fn reached(approach: &Approach, point: &Point, direction: f64) -> bool {
    match approach.kind {
        Kind::Infinite { .. } => direction * point.at.y() > approach.onset,
        Kind::Break(_) => distance(approach, point, direction) < approach.onset,
    }
}

fn distance(approach: &Approach, point: &Point, direction: f64) -> f64 {
    match approach.kind {
        Kind::Infinite { .. } => 0.0,
        Kind::Break(_) => point.from[usize::from(direction > 0.0)],
    }
}

/// The smallest six of a set, and the seventh, after adding 0, `spacing`, 2·`spacing`, … to each.
pub(crate) fn smallest(exponents: &[f64], spacing: f64) -> ([f64; CLOSING], f64) {
    let mut best = [f64::INFINITY; CLOSING + 1];
    for &e in exponents {
        for i in 0..=CLOSING {
            let value = e + if i == 0 { 0.0 } else { spacing * i as f64 };
            insert(&mut best, value);
        }
    }
    let mut last = 0.0;
    for value in &mut best {
        if value.is_infinite() {
            *value = last + 1.0;
        }
        last = *value;
    }
    (std::array::from_fn(|i| best[i]), best[CLOSING])
}

/// Inserts into a sorted list. Equal exponents are kept as two: together they stand for a logarithm.
fn insert(best: &mut [f64; CLOSING + 1], value: f64) {
    if let Some(place) = best.iter().position(|&b| value < b) {
        best.copy_within(place..CLOSING, place + 1);
        best[place] = value;
    }
}
