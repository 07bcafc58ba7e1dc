//! Densities of two sources' outputs under every class, with limits where they are infinite.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::error::Result;
use consilience_numerics::simplex::raise_to_floor;
use correlated_dirichlet::Dirichlet;
use correlated_dirichlet::Estimate;
use correlated_dirichlet::pair::{PairDensity, Scratch};

/// The relative error asked of a density when fusing.
pub const FUSION_TOLERANCE: f64 = 1e-6;

/// Smallest output; smaller ones are raised to it. The density is tested down to this size.
const SMALLEST_OUTPUT: f64 = 1e-12;

/// The resolution that stands for the limit at an exact tie.
const TIE_RESOLUTION: f64 = 1e-4;

/// The densities of two sources' outputs under every class.
#[derive(Debug, Clone)]
pub(super) struct PairDensities {
    classes: Vec<PairDensity>,
    /// The same at two tiny resolutions, made when a tie with an infinite density first occurs.
    at_ties: OnceLock<[Vec<PairDensity>; 2]>,
}

/// How an infinite density is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Poles {
    /// As infinite.
    Infinite,
    /// By the limit of a resolution going to 0; only ratios between classes are meaningful then.
    Limit,
}

impl PairDensities {
    /// From `alpha[k][j]` of the two sources and their `delta[j]`, to a relative error.
    pub(super) fn new(
        alpha: [&[Vec<f64>]; 2],
        delta: &[Vec<f64>],
        resolution: f64,
        tolerance: f64,
    ) -> Result<Self> {
        let class = |j: usize| {
            PairDensity::new(&alpha[0][j], &alpha[1][j], &delta[j])?
                .with_tolerance(tolerance)?
                .with_resolution(resolution)
        };
        let classes =
            (0..delta.len()).map(class).collect::<Result<_, correlated_dirichlet::Error>>()?;
        Ok(Self { classes, at_ties: OnceLock::new() })
    }

    /// Writes the log density under every class; returns the largest error.
    pub(super) fn ln_densities(
        &self,
        outputs: [&[f64]; 2],
        poles: Poles,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> f64 {
        let [x1, x2] = outputs.map(raised);
        let error = evaluate(&self.classes, [&x1, &x2], scratch, out);
        if poles == Poles::Limit && out.contains(&f64::INFINITY) {
            return self.limit_at_tie([&x1, &x2], scratch, out);
        }
        error
    }

    /// Exactly tied outputs may have infinite densities, but the fused probabilities have a limit as the
    /// resolution goes to 0. They are computed at a tiny resolution; their error is the difference from
    /// twice that resolution.
    fn limit_at_tie(&self, outputs: [&[f64]; 2], scratch: &mut Scratch, out: &mut [f64]) -> f64 {
        let [fine, coarse] = self.at_ties.get_or_init(|| {
            [TIE_RESOLUTION, 2.0 * TIE_RESOLUTION].map(|epsilon| {
                let smoothed = |class: &PairDensity| class.clone().with_resolution(epsilon);
                let in_range = "the resolution at ties is within its range";
                self.classes.iter().map(|class| smoothed(class).expect(in_range)).collect()
            })
        });
        let error = evaluate(fine, outputs, scratch, out);
        let mut far = vec![0.0; out.len()];
        evaluate(coarse, outputs, scratch, &mut far);
        let gap = |d: &[f64], j: usize| d[j] - d[0];
        let moved = (0..far.len()).map(|j| (gap(out, j) - gap(&far, j)).abs());
        error + moved.fold(0.0, f64::max)
    }
}

fn evaluate(
    classes: &[PairDensity],
    [x1, x2]: [&[f64]; 2],
    scratch: &mut Scratch,
    out: &mut [f64],
) -> f64 {
    let mut error = 0.0f64;
    for (class, out) in classes.iter().zip(out) {
        let estimate = class.ln_density(x1, x2, scratch);
        *out = estimate.ln_density;
        error = error.max(estimate.error);
    }
    error
}

/// The log density of one source's output alone.
pub(super) fn ln_margin(margin: &Dirichlet, output: &[f64]) -> Estimate {
    margin.ln_pdf_with_error(&raised(output))
}

fn raised(output: &[f64]) -> Cow<'_, [f64]> {
    if output.iter().all(|x| *x >= SMALLEST_OUTPUT) {
        return Cow::Borrowed(output);
    }
    let mut raised = output.to_vec();
    raise_to_floor(&mut raised, SMALLEST_OUTPUT);
    Cow::Owned(raised)
}
