//! Bar charts with error bars.

use std::path::Path;

use kuva::plot::BarPlot;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render::render::render_multiple;

use super::{label, legend_entry};
use crate::error::Failure;

/// A bar with an error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bar {
    /// Length of the bar.
    pub(crate) value: f64,
    /// Length of the error bar to the left and to the right.
    pub(crate) error: [f64; 2],
}

impl Bar {
    /// A bar with an error of the same size on both sides.
    pub(crate) fn symmetric(value: f64, error: f64) -> Self {
        Self { value, error: [error; 2] }
    }

    /// A bar with an interval; without an error if there is none.
    pub(crate) fn with_interval(value: f64, interval: Option<&[f64; 2]>) -> Self {
        let error = interval.map_or([0.0; 2], |[low, high]| [value - low, high - value]);
        Self { value, error }
    }
}

/// Horizontal bars with names, from top to bottom, coloured by kind.
pub(crate) struct BarChart<'a> {
    pub(crate) title: &'a str,
    pub(crate) x_label: &'a str,
    /// Name, bar, and the index of its kind in `kinds`.
    pub(crate) bars: &'a [(String, Bar, usize)],
    /// Name and colour of every kind.
    pub(crate) kinds: &'a [(&'a str, &'a str)],
}

impl BarChart<'_> {
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<(), Failure> {
        let mut plot = BarPlot::new().with_horizontal(true).with_error_cap_width(0.4);
        // The first category is drawn at the bottom.
        for (name, bar, kind) in self.bars.iter().rev() {
            plot = plot.with_colored_bar(label(name), bar.value, self.kinds[*kind].1);
        }
        let errors = self.bars.iter().rev().map(|(_, bar, _)| (bar.error[0], bar.error[1]));
        plot = plot.with_asymmetric_error(errors);
        let plots = vec![Plot::Bar(plot)];
        let entries = self.kinds.iter().map(|(name, colour)| legend_entry(name, colour)).collect();
        let layout = Layout::auto_from_plots(&plots)
            .with_title(self.title)
            .with_x_label(self.x_label)
            .with_legend_entries(entries)
            .with_width(760.0)
            .with_height(150.0 + 26.0 * self.bars.len() as f64);
        super::write(&render_multiple(plots, layout), folder, name)
    }
}
