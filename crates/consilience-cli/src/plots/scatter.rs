//! Scatter plots of two classifiers.

use std::path::Path;

use kuva::plot::LinePlot;
use kuva::plot::scatter::ScatterPlot;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render::render::render_multiple;

use super::{COLOURS, GUIDE, MAX_POINTS, label};
use crate::error::Failure;

/// The items of one class in a scatter plot.
pub(crate) struct Cloud {
    /// Name in the legend.
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// The probabilities that two classifiers give to the true class, one point per item.
pub(crate) struct ScatterPicture<'a> {
    pub(crate) title: &'a str,
    pub(crate) x_label: &'a str,
    pub(crate) y_label: &'a str,
    pub(crate) clouds: &'a [Cloud],
}

impl ScatterPicture<'_> {
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<(), Failure> {
        let mut plots = vec![Plot::Line(
            LinePlot::new()
                .with_data([(0.0, 0.0), (1.0, 1.0)])
                .with_color(GUIDE)
                .with_stroke_width(1.0)
                .with_dashed(),
        )];
        for (cloud, colour) in self.clouds.iter().zip(COLOURS.iter().cycle()) {
            let step = cloud.points.len().div_ceil(MAX_POINTS).max(1);
            let dots = cloud.points.iter().copied().step_by(step);
            plots.push(Plot::Scatter(
                ScatterPlot::new()
                    .with_data(dots)
                    .with_color(*colour)
                    .with_size(2.5)
                    .with_marker_opacity(0.5)
                    .with_legend(label(&cloud.name)),
            ));
        }
        let layout = Layout::auto_from_plots(&plots)
            .with_title(self.title)
            .with_x_label(label(self.x_label))
            .with_y_label(label(self.y_label))
            .with_x_axis_min(0.0)
            .with_x_axis_max(1.0)
            .with_y_axis_min(0.0)
            .with_y_axis_max(1.0);
        super::write(&render_multiple(plots, layout), folder, name)
    }
}
