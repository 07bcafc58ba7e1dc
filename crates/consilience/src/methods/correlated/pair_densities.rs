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

/// Log densities of items.
pub(super) struct ItemDensities {
    n_classes: usize,
    values: Vec<f64>,
    errors: Vec<f64>,
}

impl ItemDensities {
    /// Item by item: the log densities under every class, and their largest error.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&[f64], f64)> {
        self.values.chunks_exact(self.n_classes).zip(self.errors.iter().copied())
    }
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

    /// The log densities of some items under every class, computed class by class: the tables of one class then stay in the
    /// cache. With those of three classes in turn an item takes up to twice as long.
    pub(super) fn ln_densities(
        &self,
        items: &[[&[f64]; 2]],
        poles: Poles,
        scratch: &mut Scratch,
    ) -> ItemDensities {
        let n_classes = self.classes.len();
        let items: Vec<_> = items.iter().map(|outputs| outputs.map(raised)).collect();
        let mut values = vec![0.0; n_classes * items.len()];
        let mut errors = vec![0.0f64; items.len()];
        for (j, class) in self.classes.iter().enumerate() {
            for (i, [x1, x2]) in items.iter().enumerate() {
                let estimate = class.ln_density(x1, x2, scratch);
                values[i * n_classes + j] = estimate.ln_density;
                errors[i] = errors[i].max(estimate.error);
            }
        }
        let rows = values.chunks_exact_mut(n_classes).zip(&mut errors);
        for ((row, error), [x1, x2]) in rows.zip(&items) {
            if poles == Poles::Limit && row.contains(&f64::INFINITY) {
                *error = self.limit_at_tie([x1, x2], scratch, row);
            }
        }
        ItemDensities { n_classes, values, errors }
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
