//! Plots as SVG and PNG files, with the same style in all commands.

mod bars;
mod heat;
mod reliability;
mod scatter;

use std::path::Path;

use consilience_io::write_whole;
use kuva::backend::png::PngBackend;
use kuva::backend::svg::SvgBackend;
use kuva::plot::legend::{LegendEntry, LegendShape};
use kuva::render::render::Scene;

use crate::error::Failure;

pub(crate) use bars::{Bar, BarChart};
pub(crate) use heat::HeatMap;
pub(crate) use reliability::{Curve, ReliabilityDiagram};
pub(crate) use scatter::{Cloud, ScatterPicture};

/// Colours that are distinguishable with any colour vision (Okabe & Ito 2008); black is last.
pub(crate) const COLOURS: [&str; 8] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000"];

/// Colour of reference lines.
const GUIDE: &str = "#777777";

/// Pixels of a PNG per unit of the drawing.
const PNG_SCALE: f32 = 2.0;

/// Bins of a reliability diagram with a smaller share of the items are not drawn: their accuracy is
/// mostly noise.
const MIN_SHARE: f64 = 0.01;

/// Largest number of points per class in a scatter plot: more of them only overlap, and make the file
/// larger.
const MAX_POINTS: usize = 1000;

/// Writes `<name>.svg` and `<name>.png` into a folder.
fn write(scene: &Scene, folder: &Path, name: &str) -> Result<(), Failure> {
    let svg = SvgBackend.render_scene(scene);
    write_whole(&folder.join(format!("{name}.svg")).into(), svg.as_bytes())?;
    let png = PngBackend::new()
        .with_scale(PNG_SCALE)
        .render_scene(scene)
        .map_err(|reason| Failure::message(format!("cannot draw {name}.png: {reason}")))?;
    Ok(write_whole(&folder.join(format!("{name}.png")).into(), &png)?)
}

/// A legend entry: a coloured square and a name.
fn legend_entry(name: &str, colour: &str) -> LegendEntry {
    LegendEntry {
        label: name.to_owned(),
        color: colour.to_owned(),
        shape: LegendShape::Rect,
        dasharray: None,
    }
}

/// Replaces all characters of a name except letters, digits and `-` for use in a file name.
pub(crate) fn file_name(text: &str) -> String {
    text.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect()
}
