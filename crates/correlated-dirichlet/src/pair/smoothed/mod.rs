//! The density at a finite resolution, from tables.
//!
//! Tables are made once per class:
//!
//! - `shared_part` integrates the shared gamma of a component out, `convolution` smooths the result;
//! - `table` tabulates that over both variables of a component (`layout`), `tail` far from ties.
//!
//! Then every item reads them:
//!
//! - `scale` integrates over the scale at one ratio of the totals;
//! - `integrate` integrates over the ratio, on adaptive panels between the ties of the item;
//! - `learning` sums over ratios that are fixed beforehand (`nodes`).

pub(crate) mod constants;
pub(crate) mod convolution;
mod integrate;
mod kernel;
mod layout;
mod learning;
mod line_kernel;
mod nodes;
mod scale;
mod shared_part;
pub(crate) mod table;
mod tail;

pub use learning::{LearningDensity, LearningScratch, LearningShapes};
pub use nodes::RatioNodes;

use crate::pair::accuracy::Accuracy;
use crate::pair::component::Component;
use crate::pair::exact::kinks;
use crate::pair::exact::trapezoid_error::{level, level_slope};
use crate::pair::laplace::Mode;
use crate::pair::{Estimate, PairDensity, Scratch};
use constants::{
    COARSE, COARSE_FROM, FAR, FAR_ERROR, FINE, FINEST_TOLERANCE, Grain, MAX_PHASES, SAFETY, SHARP,
};
use integrate::{Corner, Panel, Panels, Total};
use scale::{Buffers, ScaleConfig, ScaleIntegrals};
use table::{Direction, TableConfig, Tables};

/// Buffers for one density.
#[derive(Debug, Clone, Default)]
pub(crate) struct SmoothedScratch {
    buffers: Buffers,
    panels: Vec<Panel>,
    slopes: Vec<f64>,
    sums: Vec<f64>,
}

impl PairDensity {
    /// The tables of this class, with slopes along these directions; none if they cost too much.
    pub(crate) fn make_tables(&self, directions: &[Direction]) -> Option<Tables> {
        let grain = self.grain();
        let config = TableConfig { arch: self.arch, epsilon: self.epsilon, grain, directions };
        Tables::new(&config, &self.components, |n, table| (0..n).map(table).collect())
    }

    /// Tables as fine as the tolerance needs.
    fn grain(&self) -> Grain {
        if self.accuracy.tolerance < COARSE_FROM { FINE } else { COARSE }
    }

    /// The configuration of the integrals over the scale.
    fn scale_config<'a>(&'a self, tables: &'a Tables, accuracy: &Accuracy) -> ScaleConfig<'a> {
        ScaleConfig {
            arch: self.arch,
            tables,
            components: &self.components,
            epsilon: self.epsilon,
            power: self.power,
            cut: accuracy.cut,
            onset: accuracy.onset,
        }
    }

    /// The log density from tables, and the slopes that they hold; none where the tables do not reach.
    pub(crate) fn smooth(
        &self,
        tables: Option<&Tables>,
        mode: &Mode,
        scratch: &mut Scratch,
        slopes: Option<&mut [f64]>,
    ) -> Option<Estimate> {
        let tables = tables.filter(|_| mode.is_finite())?;
        let accuracy = Accuracy::new(self.accuracy.tolerance.max(FINEST_TOLERANCE));
        let config = self.scale_config(tables, &accuracy);
        let Scratch { smoothed, outputs, breaks, .. } = scratch;
        let (corner, near) = self.corner(mode, accuracy.tolerance);
        let shape = mode.precision_s.min(self.power);
        let mut lines = ScaleIntegrals::new(&config, outputs, &mut smoothed.buffers);
        let mut step = step_in_ln_s(shape, accuracy.target_s);
        let estimate = loop {
            lines.fit(shape, step);
            let mut panels = Panels {
                lines: &mut lines,
                list: &mut smoothed.panels,
                mode: *mode,
                tolerance: accuracy.tolerance,
                corner,
                last: (0.0, 0.0),
            };
            kinks::corners(&self.components, outputs, mode, &accuracy, self.epsilon, breaks);
            let total = panels.integrate(breaks, near)?;
            if total.coarse > 1.0 {
                return None;
            }
            let in_s = error_in_s(&total, shape, lines.step());
            if in_s <= 0.3 * accuracy.tolerance || 2 * lines.phases > MAX_PHASES {
                let one = |c: &Component| table_error(c, self.epsilon, self.grain());
                let tables: f64 = self.components.iter().map(one).sum();
                let far = FAR_ERROR * (-total.ln_value - FAR).max(0.0);
                let error = SAFETY * (total.error + in_s + (-accuracy.cut).exp()) + tables + far;
                break Estimate { ln_density: total.ln_value, error };
            }
            step = 0.6 * lines.step();
        };
        if let Some(out) = slopes {
            let SmoothedScratch { panels, slopes, sums, .. } = smoothed;
            let nodes = panels.iter().flat_map(Panel::nodes);
            mean_slopes(&mut lines, nodes, (mode, estimate.ln_density), [slopes, sums], out)?;
        }
        Some(estimate)
    }

    /// The corners at ties, and the width of panels beside them.
    fn corner(&self, mode: &Mode, tolerance: f64) -> (Corner, f64) {
        let power = self.components.iter().map(Component::power).fold(0.0, f64::max);
        let corner = Corner { epsilon: self.epsilon, power };
        let near = if self.components.iter().any(is_sharp) {
            spike_width(tolerance) * self.epsilon
        } else {
            corner.width(mode.sd_y, tolerance)
        };
        (corner, near)
    }
}

/// Writes the derivatives of ln f: the means over the nodes of those of the integrals over the scale.
fn mean_slopes(
    lines: &mut ScaleIntegrals<'_>,
    nodes: impl Iterator<Item = (f64, f64)>,
    (mode, ln_density): (&Mode, f64),
    [slopes, sums]: [&mut Vec<f64>; 2],
    out: &mut [f64],
) -> Option<()> {
    for list in [&mut *slopes, &mut *sums] {
        list.clear();
        list.resize(out.len(), 0.0);
    }
    let (mut total, mut last) = (0.0, (mode.y, mode.ln_s));
    for (y, weight) in nodes {
        let line = lines.evaluate(y, last.1 + mode.slope * (y - last.0))?;
        last = (y, line.ln_s);
        lines.slopes(&line, &Direction::ALL, slopes);
        let share = weight * (line.ln_value - ln_density).exp();
        total += share;
        sums.iter_mut().zip(&*slopes).for_each(|(sum, slope)| *sum += share * slope);
    }
    out.iter_mut().zip(&*sums).for_each(|(out, sum)| *out = sum / total);
    Some(())
}

/// The relative error of the table of a component, which grows if the resolution is larger than the width of its density.
fn table_error(c: &Component, epsilon: f64, grain: Grain) -> f64 {
    if c.is_rigid() { 0.0 } else { grain.error * (1.0 + 2.0 * epsilon * epsilon * c.power()) }
}

/// Whether the density of a component changes on the scale of the resolution at its tie.
fn is_sharp(c: &Component) -> bool {
    c.kink_power() < SHARP
}

/// The width of panels beside sharp ties, in resolutions, beyond which a Gaussian is negligible.
fn spike_width(tolerance: f64) -> f64 {
    (-2.0 * (0.1 * tolerance).ln()).sqrt()
}

/// The step in ln s at which a sum over a gamma density of this shape has this error.
///
/// Its transform in ln s is |Γ(κ+iω)/Γ(κ)| ≈ exp(−κ g(ω/κ)), g as in `trapezoid_error`.
fn step_in_ln_s(shape: f64, target: f64) -> f64 {
    let wanted = -(0.5 * target).ln() / shape;
    let mut x = (2.0 * wanted).sqrt() + 0.3 * wanted;
    for _ in 0..3 {
        x -= (level(x) - wanted) / level_slope(x);
    }
    std::f64::consts::TAU / (shape * x)
}

/// The error of the sums over s, from that at twice their step.
fn error_in_s(total: &Total, shape: f64, step: f64) -> f64 {
    let x = std::f64::consts::TAU / (shape * step);
    2.0 * (0.5 * total.coarse).min(0.9).powf(level(x) / level(0.5 * x))
}
