//! Pictures, as SVG and as PNG.

use std::path::Path;

use consilience_io::write_whole;
use kuva::plot::LinePlot;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;

use crate::error::Failure;

/// Colours that people with any colour vision can tell apart (Okabe & Ito 2008).
pub(crate) const COLOURS: [&str; 6] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];

/// One line of a picture.
pub(crate) struct Line {
    /// What the legend calls it; lines without a name are not in the legend.
    pub(crate) name: Option<String>,
    pub(crate) colour: &'static str,
    pub(crate) dashed: bool,
    pub(crate) points: Vec<(f64, f64)>,
}

/// A picture of lines, ready to be written.
pub(crate) struct LinePicture<'a> {
    pub(crate) title: &'a str,
    pub(crate) x_label: &'a str,
    pub(crate) y_label: &'a str,
    pub(crate) lines: &'a [Line],
}

/// Points of a PNG for each unit of the drawing.
const PNG_SCALE: f32 = 2.0;

impl LinePicture<'_> {
    /// Writes `<name>.svg` and `<name>.png` into a folder.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<(), Failure> {
        let (plots, layout) = self.draw();
        let svg = kuva::render_to_svg(plots, layout);
        write_whole(&folder.join(format!("{name}.svg")).into(), svg.as_bytes())?;
        let (plots, layout) = self.draw();
        let png = kuva::render_to_png(plots, layout, PNG_SCALE)
            .map_err(|reason| Failure::message(format!("cannot draw {name}.png: {reason}")))?;
        Ok(write_whole(&folder.join(format!("{name}.png")).into(), &png)?)
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
