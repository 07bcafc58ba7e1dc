//! Reliability diagrams: observed frequency against predicted probability.

use std::path::Path;

use consilience::evaluation::ReliabilityBin;
use kuva::plot::LinePlot;
use kuva::plot::scatter::ScatterPlot;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render::render::render_multiple;

use super::{COLOURS, GUIDE, MIN_SHARE, label};
use crate::error::Failure;

/// The reliability curve of one method.
pub(crate) struct Curve<'a> {
    pub(crate) name: String,
    pub(crate) bins: &'a [ReliabilityBin],
}

/// The reliability curves of several methods, at most as many as there are colours.
pub(crate) struct ReliabilityDiagram<'a> {
    pub(crate) curves: &'a [Curve<'a>],
}

impl ReliabilityDiagram<'_> {
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<(), Failure> {
        let least = self.points().map(|(x, y)| x.min(y)).fold(1.0, f64::min);
        let low = ((least * 10.0).floor() / 10.0).max(0.0);
        let guide = LinePlot::new()
            .with_data([(low, low), (1.0, 1.0)])
            .with_color(GUIDE)
            .with_stroke_width(1.5)
            .with_dashed()
            .with_legend("perfectly calibrated");
        let mut plots = vec![Plot::Line(guide)];
        for (curve, colour) in self.curves.iter().zip(COLOURS) {
            let used = curve.bins.iter().filter(|bin| bin.share > MIN_SHARE);
            let points: Vec<(f64, f64)> =
                used.clone().map(|bin| (bin.confidence, bin.accuracy)).collect();
            let line = LinePlot::new().with_data(points.clone()).with_color(colour);
            plots.push(Plot::Line(line.with_stroke_width(2.0).with_legend(label(&curve.name))));
            let sizes = used.map(|bin| 2.5 + 9.0 * bin.share.sqrt());
            let dots = ScatterPlot::new().with_data(points).with_sizes(sizes).with_color(colour);
            plots.push(Plot::Scatter(dots));
        }
        let layout = Layout::auto_from_plots(&plots)
            .with_title("Reliability (larger dots: more items)")
            .with_x_label("probability of the most probable class")
            .with_y_label("share of items with that true class")
            .with_x_axis_min(low)
            .with_x_axis_max(1.0)
            .with_y_axis_min(low)
            .with_y_axis_max(1.0);
        super::write(&render_multiple(plots, layout), folder, name)
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        let bins = self.curves.iter().flat_map(|curve| curve.bins);
        bins.filter(|bin| bin.share > MIN_SHARE).map(|bin| (bin.confidence, bin.accuracy))
    }
}
