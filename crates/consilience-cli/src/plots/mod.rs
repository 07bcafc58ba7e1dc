//! Pictures, as SVG and as PNG: one look for all commands.

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

/// Colours that people with any colour vision can tell apart (Okabe & Ito 2008), black last.
pub(crate) const COLOURS: [&str; 8] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000"];

/// Lines that only guide the eye.
const GUIDE: &str = "#777777";

/// Points of a PNG for each unit of the drawing.
const PNG_SCALE: f32 = 2.0;

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

/// A coloured square of a legend with its name.
fn legend_entry(name: &str, colour: &str) -> LegendEntry {
    LegendEntry {
        label: name.to_owned(),
        color: colour.to_owned(),
        shape: LegendShape::Rect,
        dasharray: None,
    }
}

/// A name in a file name: letters, digits, `-`; nothing that a file system could take amiss.
pub(crate) fn file_name(text: &str) -> String {
    text.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect()
}
