//! Plots as SVG and PNG files, with the same style in all commands.

mod bars;
mod heat;
mod reliability;
mod scatter;

use std::collections::BTreeSet;
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
        label: label(name),
        color: colour.to_owned(),
        shape: LegendShape::Rect,
        dasharray: None,
    }
}

/// Longest part of a file name that comes from a name in the data, in bytes. Two of them and the
/// rest stay below the 255 bytes that file systems allow.
const LONGEST_NAME: usize = 60;

/// A name for use in a file name: letters, digits and `-` stay, everything else becomes `_`, and a
/// long name is cut off. Different names may become the same; see [`FileNames`].
pub(crate) fn file_name(text: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
    let mut name = String::new();
    for c in text.chars().map(plain) {
        if name.len() + c.len_utf8() > LONGEST_NAME {
            break;
        }
        name.push(c);
    }
    name
}

/// File names that differ, also where upper and lower case are the same.
#[derive(Default)]
pub(crate) struct FileNames(BTreeSet<String>);

impl FileNames {
    /// The name itself or, if it was used before, with a number.
    pub(crate) fn distinct(&mut self, name: &str) -> String {
        let numbered = (2..).map(|n| format!("{name}-{n}"));
        let mut candidates = std::iter::once(name.to_owned()).chain(numbered);
        let new = |name: &String| self.0.insert(name.to_lowercase());
        candidates.find(new).unwrap_or_else(|| name.to_owned())
    }
}

/// Longest name in a picture, in characters.
const LONGEST_LABEL: usize = 40;

/// A name for use in a picture: long ones are cut off, and characters that an SVG file may not
/// contain are replaced.
fn label(text: &str) -> String {
    let is_bad = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    let shown = text.chars().map(|c| if is_bad(c) { char::REPLACEMENT_CHARACTER } else { c });
    if text.chars().count() <= LONGEST_LABEL {
        return shown.collect();
    }
    shown.take(LONGEST_LABEL - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_file_names_that_differ() {
        let mut names = FileNames::default();
        let found: Vec<String> = ["a/b", "a?b", "A_B", "c", ""]
            .iter()
            .map(|name| names.distinct(&file_name(name)))
            .collect();
        assert_eq!(found, ["a_b", "a_b-2", "A_B-3", "c", ""]);
        assert_eq!(file_name(&"é".repeat(200)).len(), 60);
    }

    #[test]
    fn labels_are_short_and_without_control_characters() {
        assert_eq!(label("a<b> é"), "a<b> é");
        assert_eq!(label("a\u{1b}[31m\u{0}"), "a\u{fffd}[31m\u{fffd}");
        assert_eq!(label(&"x".repeat(300)).chars().count(), 40);
    }
}
