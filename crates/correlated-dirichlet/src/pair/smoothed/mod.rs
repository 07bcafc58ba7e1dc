//! The density at a finite resolution from tables in both variables: the way that most items take.

mod columns;
pub(crate) mod convolution;
mod integrate;
mod kernel;
#[doc(hidden)]
pub mod learning;
mod line_kernel;
mod scale;
mod shared_part;
pub(crate) mod table;
mod tail;

use std::sync::Arc;

use crate::pair::accuracy::Accuracy;
use crate::pair::component::Component;
use crate::pair::exact::kinks;
use crate::pair::exact::trapezoid_error::{level, level_slope};
use crate::pair::laplace::Mode;
use crate::pair::{Estimate, PairDensity, Scratch};
use integrate::{Corner, Panel, Panels, Total};
use scale::{Buffers, MAX_PHASES, SmoothLines};
use table::Tables;

/// Buffers for one density.
#[derive(Debug, Clone, Default)]
pub(crate) struct SmoothScratch {
    buffers: Buffers,
    pub(crate) panels: Vec<Panel>,
}

/// Relative accuracy of the tables, a component, and the finest tolerance that makes sense with it.
const TABLES: f64 = 3e-8;
const FINEST: f64 = 2e-8;
/// Kinks of higher powers are smooth enough as they are.
const SHARP: f64 = 3.0;
/// The reported error over the estimated one.
const SAFETY: f64 = 5.0;

impl PairDensity {
    /// The tables of this class, made when first asked for.
    pub(crate) fn tables(&self) -> Option<&Tables> {
        let make = || Tables::new(self.arch, &self.components, self.epsilon);
        self.tables.get_or_init(|| make().map(Arc::new)).as_deref()
    }

    /// The log density from tables; none where they do not reach.
    pub(crate) fn smooth(&self, mode: &Mode, scratch: &mut Scratch) -> Option<Estimate> {
        if self.epsilon == 0.0 {
            return None;
        }
        let tables = self.tables()?;
        let accuracy =
            if self.accuracy.tolerance < FINEST { Accuracy::new(FINEST) } else { self.accuracy };
        let Scratch { smooth, outputs, breaks, .. } = scratch;
        let (corner, near) = self.corner(mode, accuracy.tolerance);
        let shape = mode.precision_s.min(self.power);
        let mut lines = SmoothLines {
            arch: self.arch,
            tables,
            components: &self.components,
            outputs,
            epsilon: self.epsilon,
            power: self.power,
            cut: accuracy.cut,
            ln_onset: accuracy.onset.ln(),
            phases: 1,
            below: 0,
            above: 0,
            points: 0,
            ratio: 1.0,
            columns: Vec::with_capacity(self.components.len()),
            buffers: &mut smooth.buffers,
        };
        let mut step = step_in_ln_s(shape, accuracy.target_s);
        loop {
            lines.fit(shape, step);
            let mut sweep = Panels {
                lines: &mut lines,
                rules: integrate::rules(),
                panels: &mut smooth.panels,
                mode: *mode,
                tolerance: accuracy.tolerance,
                corner,
                last: (0.0, 0.0),
            };
            kinks::corners(&self.components, outputs, mode, &accuracy, self.epsilon, breaks);
            let total = sweep.integrate(breaks, near)?;
            let in_s = error_in_s(&total, shape, lines.step());
            if in_s <= 0.3 * accuracy.tolerance || 2 * lines.phases > MAX_PHASES {
                let tables: f64 =
                    self.components.iter().map(|c| table_error(c, self.epsilon)).sum();
                let error = SAFETY * (total.error + in_s + (-accuracy.cut).exp()) + tables;
                return Some(Estimate { ln_density: total.ln_value, error });
            }
            step = 0.6 * lines.step();
        }
    }

    /// What the panels have to know of kinks, and the width of those beside them.
    pub(crate) fn corner(&self, mode: &Mode, tolerance: f64) -> (Corner, f64) {
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

/// The relative error of a component's table: more where the resolution is wider than its density.
fn table_error(c: &Component, epsilon: f64) -> f64 {
    if c.is_rigid() { 0.0 } else { TABLES * (1.0 + 2.0 * epsilon * epsilon * c.power()) }
}

/// Whether a component's spike shows on the scale of the resolution.
fn is_sharp(c: &Component) -> bool {
    c.kink_power() < SHARP
}

/// Width of the panels beside sharp kinks, in resolutions: what a Gaussian leaves beyond is negligible.
fn spike_width(tolerance: f64) -> f64 {
    (-2.0 * (0.1 * tolerance).ln()).sqrt()
}

/// The step in ln s at which a gamma of this shape is summed with this error.
///
/// Its transform in ln s is |Γ(κ+iω)/Γ(κ)| ≈ exp(−κ g(ω/κ)), g as in `aliasing`.
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
