//! Line plots.

use std::path::Path;

use kuva::plot::LinePlot;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render::render::render_multiple;

use crate::error::Failure;

/// One line of a plot.
pub(crate) struct Line {
    /// Name in the legend; lines without a name are not in the legend.
    pub(crate) name: Option<String>,
    pub(crate) colour: &'static str,
    pub(crate) dashed: bool,
    pub(crate) points: Vec<(f64, f64)>,
}

/// A line plot with its labels.
pub(crate) struct LinePicture<'a> {
    pub(crate) title: &'a str,
    pub(crate) x_label: &'a str,
    pub(crate) y_label: &'a str,
    pub(crate) lines: &'a [Line],
}

impl LinePicture<'_> {
    /// Writes `<name>.svg` and `<name>.png` into a folder.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<(), Failure> {
        let (plots, layout) = self.draw();
        super::write(&render_multiple(plots, layout), folder, name)
    }

    fn draw(&self) -> (Vec<Plot>, Layout) {
        let plot = |line: &Line| {
            let mut plot = LinePlot::new()
                .with_data(line.points.iter().copied())
                .with_color(line.colour)
                .with_stroke_width(2.0);
            if let Some(name) = &line.name {
                plot = plot.with_legend(name);
            }
            Plot::Line(if line.dashed { plot.with_dashed() } else { plot })
        };
        let plots: Vec<Plot> = self.lines.iter().map(plot).collect();
        let layout = Layout::auto_from_plots(&plots)
            .with_title(self.title)
            .with_x_label(self.x_label)
            .with_y_label(self.y_label)
            .with_clamp_axis();
        (plots, layout)
    }
}
