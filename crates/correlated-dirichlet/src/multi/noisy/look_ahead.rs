//! A correction of the proposal for a pair's gamma: classifiers outside the pair that later gammas connect with it.

use super::super::constants::LOOK_AHEAD_NOISE;
use super::super::group::ComponentShapes;

/// A classifier m outside a pair {i, j} that shares later gammas with its members.
///
/// The rest of y_i after the pair's gamma is the sum of later gammas, some of them shared with m, and of a private
/// part. If the private part is small, a value of the pair's gamma that leaves too much or too little for y_m cannot be
/// corrected later. The later gamma of i and m takes a Beta-distributed share of the rest, so y_m is about normal, with
/// a mean and a variance that follow from those of the shares. The approximation affects the proposal only.
#[derive(Debug, Clone)]
pub(super) struct LookAhead {
    classifier: usize,
    /// The pair's members that share a later gamma with m.
    shares: Vec<BetaShare>,
    /// Shape of everything else that m will receive.
    other: f64,
}

/// The share of a member's rest that goes to the gamma it shares with m.
#[derive(Debug, Clone, Copy)]
struct BetaShare {
    member: usize,
    shape: f64,
    mean: f64,
    variance: f64,
}

impl LookAhead {
    /// All such classifiers for the shared gamma with index i.
    pub(super) fn of(component: &ComponentShapes, i: usize) -> Vec<Self> {
        let pair = &component.shared[i].members;
        if pair.len() != 2 {
            return Vec::new();
        }
        let later = || component.shared.iter().skip(i + 1);
        let rest = |k: usize| component.private[k] + component.shared_from(i + 1, k).sum::<f64>();
        let about = |m: usize| {
            let share = |&k: &usize| {
                let gamma = later().find(|d| d.members.contains(&k) && d.members.contains(&m))?;
                let (shape, all) = (gamma.shape, rest(k));
                let mean = shape / all;
                Some(BetaShare {
                    member: k,
                    shape,
                    mean,
                    variance: mean * (1.0 - mean) / (all + 1.0),
                })
            };
            let shares: Vec<BetaShare> = pair.iter().filter_map(share).collect();
            let other = rest(m) - shares.iter().map(|s| s.shape).sum::<f64>();
            Self { classifier: m, shares, other: other.max(0.0) }
        };
        let outside = (0..component.private.len()).filter(|m| !pair.contains(m));
        outside.map(about).filter(|a| !a.shares.is_empty()).collect()
    }

    /// An approximate log density of y_m if the pair's gamma is d.
    pub(super) fn ln_density(&self, d: f64, ln_y: &[f64], shared: &[f64], sigma: f64) -> f64 {
        let mut mean = shared[self.classifier] + self.other;
        let mut variance = self.other;
        for share in &self.shares {
            let rest = (ln_y[share.member].exp() - shared[share.member] - d).max(0.0);
            mean += share.mean * rest;
            variance += share.variance * rest * rest;
        }
        let seen = ln_y[self.classifier].exp();
        // A lower bound of the width, because the approximation is rough.
        variance += LOOK_AHEAD_NOISE * sigma * sigma * seen * seen;
        -0.5 * (seen - mean).powi(2) / variance - 0.5 * variance.ln()
    }
}
