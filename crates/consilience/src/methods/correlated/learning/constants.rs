//! Tuning constants of learning, with what each of them was chosen by.
//!
//! "Calibration" refers to `reference/sbc_delta.csv` (pairs: ranks of 200 simulated truths per prior)
//! and to `experiments/many/calibration_summary.csv` (three sources: 40 simulated truths).

/// The likelihood of a pair's δ.
pub(super) mod likelihood {
    /// Items summed by one thread at a time. Part of the definition of the result, because sums are
    /// rounded.
    pub(in super::super) const ITEMS_PER_CHUNK: usize = 32;
    /// Resolution from which on grids replace adaptive quadrature: below it a grid's steps, ε/16,
    /// make grids slower than the quadrature.
    pub(in super::super) const GRID_FROM: f64 = 0.01;
    /// Step in η of central differences where neither grids nor derivatives are available.
    ///
    /// Guard: `lib differences_are_precise`
    pub(in super::super) const DIFFERENCE_STEP: f64 = 0.02;
    /// Largest abs(η); δ equals its bound to a relative error of 2e-9 there.
    pub(in super::super) const LARGEST_ETA: f64 = 20.0;
    /// Largest shape of a source's Dirichlet. Its outputs then vary by 3 % (1/√1000), the default
    /// resolution; a fit to sources that vary less would take minutes for 100 items.
    pub(in super::super) const LARGEST_SHAPE: f64 = 1000.0;
    /// A source with a larger shape than this for a class varies by less than 4.5 % (1/√500), close to
    /// the default resolution: its items carry no information about δ, and δ of the class has its prior.
    pub(in super::super) const RESOLVED_SHAPE: f64 = 500.0;
    /// Log-ratios of outputs closer than this are ties: rounding leaves 1e-15.
    pub(in super::super) const TIE_TOLERANCE: f64 = 1e-12;
}

/// The search for the mode of a pair's posterior.
pub(super) mod mode_search {
    /// Predicted gain of the log posterior, twice the difference to that of the mode, at which the search
    /// ends: √1e-4 = 0.01 standard deviations from the mode over all coordinates. The error of the density
    /// that learning reads moves the mode of 3 × 1000 items by about as much.
    pub(in super::super) const SMALL_GAIN: f64 = 1e-4;
    /// Predicted gain, √0.01 = 0.1 standard deviations, up to which the last step may be made without an
    /// evaluation at its end.
    pub(in super::super) const LAST_GAIN: f64 = 0.01;
    /// The search also ends after this many steps that gain less than [`STAGNANT_GAIN`] together.
    pub(in super::super) const STAGNANT_STEPS: usize = 4;
    /// See [`STAGNANT_STEPS`].
    pub(in super::super) const STAGNANT_GAIN: f64 = 1e-3;
    /// Predicted gain per coordinate at which a search goes on with new grids.
    pub(in super::super) const PRELIMINARY_GAIN: f64 = 0.3;
    /// Predicted gain per coordinate, √5e-4 = 0.02 standard deviations each, below which the error of the
    /// grids decides whether a step gains: a failed step is then shortened once only.
    pub(in super::super) const UNCERTAIN_GAIN: f64 = 5e-4;
    /// Lengths tried for a step below [`UNCERTAIN_GAIN`].
    pub(in super::super) const UNCERTAIN_TRIES: usize = 2;
    /// Lengths tried for any other step.
    pub(in super::super) const TRIES: usize = 10;
    /// Predicted gain, per coordinate and weight of an item, at which a search with some of the items
    /// ends. The mode of all items is about half a unit per coordinate and weight away.
    pub(in super::super) const ROUGH_GAIN: f64 = 0.02;
    /// A class whose predicted gain is below this share of the mean over classes is held fixed.
    /// Of the ten classes of scikit-learn's digits a step moves 7.6 on average. Not tuned.
    pub(in super::super) const SETTLED_SHARE: f64 = 0.03;
    /// Most steps of one search; one that moves some of the classes counts in proportion. The paper's
    /// prior on bookmakers' odds needs more, and is reported.
    pub(in super::super) const MOST_STEPS: usize = 40;
    /// Steps that correct the curvature.
    pub(in super::super) const SECANTS: usize = 8;
    /// Most by which the curvature of the scores is raised for the length of a step.
    pub(in super::super) const LARGEST_SHORTFALL: f64 = 10.0;
    /// Longest move of η in one step.
    pub(in super::super) const LONGEST_STEP: f64 = 2.0;
    /// A move of η beyond which the grids of a class are made again.
    pub(in super::super) const REGRID_DISTANCE: f64 = 0.6;
    /// Times that grids are made in one search.
    pub(in super::super) const MOST_ANCHORS: usize = 4;
    /// η of the further starts: δ is 0.02 and 0.98 of its bound.
    pub(in super::super) const OTHER_STARTS: [f64; 2] = [-3.9, 3.9];
    /// Items per class in the searches from [`OTHER_STARTS`].
    pub(in super::super) const RESTART_ITEMS: usize = 80;
    /// Items per class in the preliminary search.
    pub(in super::super) const PRELIMINARY_ITEMS: usize = 160;
    /// Predicted gain per coordinate up to which no preliminary search is made however few items there are.
    /// The start from the outputs' correlations has 0.2 to 0.4 with 3 × 300 items of three sources; the mode
    /// of 50 of these items per class has 2.7 to 4.7.
    pub(in super::super) const FEW_ITEMS_GAIN: f64 = 10.0;
    /// A class's likelihood rises clearly towards a mode if the slope to it is at least this share of the mean
    /// slope: for a concave function it would be 1 or more.
    pub(in super::super) const CLEAR_RISE: f64 = 0.3;
    /// Of it, coordinates in which the likelihood rises away from the mode may make up at most this share.
    pub(in super::super) const LARGEST_CONTRARY_RISE: f64 = 0.1;
    /// A step to new grids that loses more than this is taken back.
    pub(in super::super) const FAILED_STEP: f64 = 1.0;
    /// A second mode this much lower has less than e⁻⁸ = 0.03 % of the mass and is not reported.
    pub(in super::super) const NEGLIGIBLE_MODE: f64 = 8.0;
}

/// Designs of points at which likelihoods are evaluated.
pub(super) mod design {
    /// Standard deviation of a design relative to that of the posterior.
    pub(in super::super) const OVERDISPERSION: f64 = 1.35;
    /// Largest standard deviation of a coordinate of a design.
    pub(in super::super) const WIDEST: f64 = 2.0;
    /// Logit of a share δ/b so small, 1e-4, that δ has no effect on the likelihood.
    ///
    /// Guard: `lib delta_has_no_effect_below_its_logit`
    pub(in super::super) const NO_EFFECT_LOGIT: f64 = -9.0;
    /// Largest coordinate of a centre: δ is its bound but for 4e-8.
    pub(in super::super) const LARGEST_LOGIT: f64 = 17.0;
}

/// Scales of chains, for pairs and for all sources together.
pub(super) mod posterior {
    /// Precision added in every direction, so that chains move by at most 2 where the posterior is flat.
    pub(in super::super) const LEAST_PRECISION: f64 = 0.25;
}

/// Polynomials in place of a pair's log likelihood.
pub(super) mod polynomial {
    /// Standard deviations of the posterior at which a polynomial's region ends; three normal
    /// coordinates are farther out once in 65,000 draws.
    pub(in super::super) const RADIUS: f64 = 5.0;
    /// Drop of the log posterior that halves a point's weight in the fit.
    pub(in super::super) const HALF_WEIGHT_DROP: f64 = 8.0;
    /// Items of a class from which on the first polynomial is of third degree in up to three components, in
    /// place of the fourth: 12 points in place of 20. With 1000 items third degree agrees with the likelihood
    /// to 0.003 to 0.015; with 200 items in two of nine cases, and with 30 to 40 items in all of six, it does
    /// not agree to 0.02, and a second round costs more than was saved.
    pub(in super::super) const MANY_ITEMS: usize = 500;
    /// Most coefficients. With 3000 numbers a fit takes about a second of CPU, during which it cannot be
    /// interrupted; polynomials of third degree would have 1771 in 20 components.
    ///
    /// Guard: `lib polynomials_have_a_bounded_number_of_coefficients`
    pub(in super::super) const MOST_TERMS: usize = 500;
    /// Most classes: a quadratic in 30 components has 496 coefficients.
    ///
    /// Guard: `bounded_work too_many_classes_are_refused`
    pub(in super::super) const MOST_CLASSES: usize = 30;
}

/// Draws from a pair's posterior.
pub(super) mod pair {
    /// Standard deviation of likelihood − polynomial per class, in log units, at which refitting
    /// ends. An error of s moves no posterior mean by more than s posterior standard deviations.
    pub(in super::super) const SMALL_SPREAD: f64 = 0.02;
    /// The same over all classes from which on the likelihood corrects the draws.
    pub(in super::super) const CORRECTION_THRESHOLD: f64 = 0.06;
    /// Corrected draws of all chains together; each costs one likelihood of all items.
    pub(in super::super) const CORRECTED_DRAWS: usize = 600;
    /// Draws per class and round at which a polynomial is checked. They miss rare errors (see
    /// `DeltaReport::surrogate_error`).
    pub(in super::super) const CHECKED_DRAWS: usize = 8;
    /// Most rounds of fitting and checking.
    pub(in super::super) const MOST_ROUNDS: usize = 8;
    /// Acceptance from which on chains on the polynomials show where the posterior is.
    pub(in super::super) const TRUSTED_ACCEPTANCE: f64 = 0.5;
    /// Most draws made per draw kept, if chains do not mix well.
    pub(in super::super) const MOST_THINNING: usize = 20;
    /// R-hat above which effective sample sizes are not used to choose the thinning.
    pub(in super::super) const UNRELIABLE_R_HAT: f64 = 1.05;
    /// Chains are not lengthened beyond this many numbers, draws times dimension: 200 000 draws with three
    /// classes, 5000 with 20.
    pub(in super::super) const LONGEST_CHAIN: usize = 2_000_000;
    /// Items per class for which grids are compared with adaptive quadrature.
    pub(in super::super) const LIKELIHOOD_ERROR_ITEMS: usize = 80;
    /// A class with fewer items with both outputs than this causes a warning.
    pub(in super::super) const FEW_ITEMS: usize = 10;
    /// A correlation is called negative beyond this many standard errors of Fisher's
    /// z = artanh r, 1/√(n−3): for independent sources in one of 700 pairs and classes.
    pub(in super::super) const NEGATIVE_CORRELATION_ERRORS: f64 = 3.0;
    /// Relative error asked of densities in the mean gain of a pair; gains of pairs differ by their
    /// standard errors, 0.02 and more.
    pub(in super::super) const GAIN_TOLERANCE: f64 = 1e-4;
    /// Replaces an infinite log density in the mean gain.
    pub(in super::super) const LARGEST_LN_DENSITY: f64 = 1e3;
}

/// The uncertainty of α in the draws of δ.
pub(super) mod alpha_uncertainty {
    /// Step in ln α of central differences.
    pub(in super::super) const DIFFERENCE_STEP: f64 = 0.01;
    /// Items per class from which the effect of α on the mode of η is computed.
    pub(in super::super) const ITEMS: usize = 400;
    /// With more classes than this the mode of η is not moved with α: 4J² likelihoods would cost more
    /// than the rest of the fit.
    pub(in super::super) const MOST_CLASSES: usize = 12;
}

/// Correction of draws by the likelihood.
pub(super) mod correction {
    /// Trajectories per proposal: after six of a quarter turn each, a proposal hardly depends on the
    /// current draw.
    pub(in super::super) const TRAJECTORIES: usize = 6;
    /// Draws discarded at the start of each corrected chain.
    pub(in super::super) const SETTLING_DRAWS: usize = 15;
    /// Step sizes tried, relative to the default.
    pub(in super::super) const STEP_SCALES: [f64; 4] = [1.0, 0.5, 0.25, 0.125];
    /// Acceptance of trajectories from which on a step size is small enough.
    pub(in super::super) const GOOD_ACCEPTANCE: f64 = 0.6;
    /// A correction that accepts less than this causes a warning; calibration of three sources had 0.77 to
    /// 0.89.
    pub(in super::super) const POOR_ACCEPTANCE: f64 = 0.3;
    /// Starts from which a step size is tried.
    pub(in super::super) const TUNING_STARTS: usize = 8;
    /// Trajectories per start.
    pub(in super::super) const TUNING_TRAJECTORIES: usize = 8;
}

/// The posterior of everything that three and more sources share.
pub(super) mod full {
    /// Most centres of the mode search.
    pub(in super::super) const MOST_CENTRES: usize = 6;
    /// Gain of the log posterior at which the mode search ends.
    pub(in super::super) const SMALL_GAIN: f64 = 0.2;
    /// Most shared shapes per class: a surrogate over more would rest on too few points.
    pub(in super::super) const MOST_SHAPES: usize = 60;
    /// Share of unresolved densities above which the likelihood is not to be trusted.
    pub(in super::super) const MOST_UNRESOLVED: f64 = 0.01;
    /// Fewest rounds of fitting and checking the surrogates.
    pub(in super::super) const FEWEST_ROUNDS: usize = 4;
    /// Most rounds.
    pub(in super::super) const MOST_ROUNDS: usize = 8;
    /// Standard deviation of likelihood − surrogate over all classes at which the rounds end.
    pub(in super::super) const SMALL_SPREAD: f64 = 0.25;
    /// Points of the first design per coordinate of a class.
    pub(in super::super) const DESIGN_POINTS: usize = 3;
    /// Draws per class and round at which a surrogate is checked, and as many of the tempered
    /// posterior that join its fit.
    pub(in super::super) const CHECKED_DRAWS: usize = 16;
    /// Power of the likelihood in the tempered posterior.
    pub(in super::super) const TEMPERED_POWER: f64 = 0.4;
    /// Draws of every chain on the surrogates in a round.
    pub(in super::super) const EXPLORATORY_DRAWS: usize = 150;
    /// Draws made per exploratory draw.
    pub(in super::super) const EXPLORATORY_THINNING: usize = 8;
    /// Most corrected draws per chain; each costs one likelihood of all items.
    pub(in super::super) const CORRECTED_DRAWS: usize = 300;
    /// Surrogates are functions of √(δ + this), in which the likelihood varies evenly and is smooth
    /// down to δ = 0.
    pub(in super::super) const ROOT_OFFSET: f64 = 0.01;
    /// abs(η) at points where the likelihood is evaluated is at most this.
    pub(in super::super) const LARGEST_ETA: f64 = 6.0;
    /// Part of α that stays private, unless a quarter of α is less: the exact density cannot be
    /// resolved with less.
    pub(in super::super) const LEAST_PRIVATE: f64 = 0.5;
}

/// Likelihoods by reweighting points that were drawn at a centre.
pub(super) mod reweighting {
    /// The mode search does not go where the effective share of the points, relative to that at the
    /// centre, is below this.
    pub(in super::super) const LEAST_EFFECTIVE: f64 = 0.12;
    /// Effective share of its points below which an item is left out.
    pub(in super::super) const USABLE: f64 = 0.03;
    /// Share of items left out above which the method is refused.
    pub(in super::super) const MOST_LEFT_OUT: f64 = 0.1;
    /// Batches of 64 points per item.
    pub(in super::super) const BATCHES: usize = 16;
    /// Standard deviation wanted of the log likelihood of all items of a class.
    pub(in super::super) const LIKELIHOOD_ERROR: f64 = 0.2;
    /// Smallest error asked of a single item's log density.
    pub(in super::super) const SMALLEST_ITEM_ERROR: f64 = 0.005;
    /// Largest error allowed for a single item's log density.
    pub(in super::super) const LARGEST_ITEM_ERROR: f64 = 0.05;
    /// Items that share one set of points.
    pub(in super::super) const ITEMS_PER_SET: usize = 16;
    /// Smallest shape in gamma functions.
    pub(in super::super) const SMALLEST_SHAPE: f64 = 1e-12;
}

/// Gaussian processes in place of log likelihoods.
pub(super) mod gaussian_process {
    /// Curvature of the trend, half of that of a normal log density: far from all evaluated points
    /// the surrogate falls.
    pub(in super::super) const TREND: f64 = 0.25;
    /// Standard deviation of the level.
    pub(in super::super) const LEVEL: f64 = 30.0;
    /// Length scales that are tried.
    pub(in super::super) const LENGTHS: [f64; 5] = [1.2, 2.0, 3.5, 6.0, 10.0];
    /// Standard deviations that are tried.
    pub(in super::super) const SIZES: [f64; 4] = [2.0, 10.0, 50.0, 250.0];
    /// Standard deviation allowed to values and gradients near the mode.
    pub(in super::super) const NOISE: f64 = 0.1;
    /// Drop of the log posterior that doubles the allowed standard deviation.
    pub(in super::super) const DOUBLE_NOISE_DROP: f64 = 8.0;
    /// Longest unit of a coordinate.
    pub(in super::super) const LONGEST: f64 = 1.5;
    /// Most numbers by which length and size are chosen; the time of a fit grows with their cube.
    pub(in super::super) const CHOOSING_NUMBERS: usize = 400;
    /// Most numbers that are fitted, likewise.
    pub(in super::super) const MOST_NUMBERS: usize = 3000;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::correlated::learning::Correlated;
    use crate::methods::correlated::learning::delta_posterior::DeltaPosterior;
    use crate::methods::independent::Alpha;
    use crate::progress::NoProgress;
    use crate::simulation::Preset;

    /// The likelihood of simulated outputs given the true α.
    fn posterior(correlation: f64, items: usize, resolution: f64) -> DeltaPosterior<'static> {
        let outputs = Preset::Sim2.truth(correlation).unwrap().simulate(items, 5).unwrap();
        let alpha: Alpha = vec![Preset::Sim2.alpha().map(Vec::from).to_vec(); 2];
        let config = Correlated { resolution: Some(resolution), ..Correlated::default() };
        config.posterior(&outputs, &alpha, &NoProgress).unwrap()
    }

    /// Below `NO_EFFECT_LOGIT` the likelihood of independent outputs changes by less than the error
    /// allowed to a polynomial; below half of it, by more.
    #[test]
    fn delta_has_no_effect_below_its_logit() {
        let posterior = posterior(0.0, 100, 0.0);
        let largest_change = |eta: f64| {
            let classes = posterior.classes.iter();
            let change = classes.map(|class| {
                let at = |eta: f64| class.value(&[eta; 3]).unwrap();
                (at(eta) - at(-likelihood::LARGEST_ETA)).abs()
            });
            change.fold(0.0, f64::max)
        };
        let (at, half) = (design::NO_EFFECT_LOGIT, 0.5 * design::NO_EFFECT_LOGIT);
        assert!(largest_change(at) < pair::SMALL_SPREAD, "{}", largest_change(at));
        assert!(largest_change(half) > pair::SMALL_SPREAD, "{}", largest_change(half));
    }

    /// Central differences at a fine resolution against the limit of differences of values by
    /// Richardson's extrapolation. The largest error is 4e-5, and 1.8e-4 if the step is doubled.
    #[test]
    fn differences_are_precise() {
        let posterior = posterior(0.5, 12, 0.005);
        let (class, eta) = (&posterior.classes[0], [1.0; 3]);
        let found = class.evaluate(&eta).unwrap().gradient;
        for l in 0..3 {
            let difference = |step: f64| {
                let at = |step: f64| {
                    let mut moved = eta;
                    moved[l] += step;
                    class.value(&moved).unwrap()
                };
                (at(step) - at(-step)) / (2.0 * step)
            };
            let limit = (4.0 * difference(0.05) - difference(0.1)) / 3.0;
            let error = (found[l] - limit).abs();
            assert!(error < 1e-4, "{l}: {} {limit}", found[l]);
        }
    }
}
