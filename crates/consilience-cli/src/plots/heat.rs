//! Heat maps of correlation matrices.

use std::path::Path;
use std::sync::Arc;

use kuva::plot::heatmap::{ColorMap, Heatmap};
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render::render::render_multiple;

use super::label;
use crate::error::Failure;

/// A heat map of a symmetric matrix of correlations.
pub(crate) struct HeatMap<'a> {
    pub(crate) title: &'a str,
    pub(crate) names: &'a [String],
    pub(crate) values: &'a [Vec<f64>],
}

/// The colour at a correlation of 1: light blue, so that black numbers are legible on it. A
/// correlation of 0 is white.
const POSITIVE: [f64; 3] = [86.0, 180.0, 233.0];

/// The colour at a correlation of −1: light orange.
const NEGATIVE: [f64; 3] = [230.0, 159.0, 0.0];

impl HeatMap<'_> {
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<(), Failure> {
        let cells = || self.values.iter().flatten().copied();
        let (low, high) = (cells().fold(f64::MAX, f64::min), cells().fold(f64::MIN, f64::max));
        // The colour map receives the position of a value between the smallest and the largest.
        let colour = move |position: f64| colour(low + position * (high - low));
        let rounded = |row: &Vec<f64>| -> Vec<f64> {
            row.iter().map(|r| (r * 100.0).round() / 100.0).collect()
        };
        // Row 0 is drawn at the bottom.
        let rows: Vec<Vec<f64>> = self.values.iter().rev().map(rounded).collect();
        let map = Heatmap::new()
            .with_data(rows)
            .with_color_map(ColorMap::Custom(Arc::new(colour)))
            .with_values();
        let plots = vec![Plot::Heatmap(map)];
        let names: Vec<String> = self.names.iter().map(|name| label(name)).collect();
        let side = 60.0 * self.names.len() as f64;
        let layout = Layout::auto_from_plots(&plots)
            .with_title(self.title)
            .with_title_size(15)
            .with_x_categories(names.clone())
            .with_y_categories(names.into_iter().rev().collect())
            .with_x_tick_rotate(-45.0)
            .with_width(380.0 + side)
            .with_height(220.0 + side);
        super::write(&render_multiple(plots, layout), folder, name)
    }
}

fn colour(correlation: f64) -> String {
    let full = if correlation < 0.0 { NEGATIVE } else { POSITIVE };
    let share = correlation.abs().min(1.0);
    let [r, g, b] = full.map(|channel| (255.0 + share * (channel - 255.0)).round());
    format!("rgb({r},{g},{b})")
}
