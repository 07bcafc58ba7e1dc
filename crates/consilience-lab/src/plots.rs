//! Figures as SVG and PNG: lines, and panels of grouped or stacked bars.

use std::path::Path;

use consilience_io::write_whole;
use kuva::backend::png::PngBackend;
use kuva::backend::svg::SvgBackend;
use kuva::plot::legend::{LegendEntry, LegendShape};
use kuva::plot::{BarPlot, LinePlot};
use kuva::render::figure::Figure;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render::render::{Scene, render_multiple};

use crate::Failure;

/// Colours that remain distinct with any colour vision (Okabe & Ito 2008), black last.
pub(crate) const COLOURS: [&str; 8] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000"];

/// Pixels of a PNG per unit of the drawing.
const PNG_SCALE: f32 = 2.0;

/// One line of a figure.
pub(crate) struct Line {
    /// The name in the legend.
    pub(crate) name: String,
    pub(crate) colour: &'static str,
    pub(crate) dashed: bool,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Writes a figure of lines as `<name>.svg` and `<name>.png`; `labels` are those of x and y.
pub(crate) fn write_lines(
    lines: &[Line],
    title: &str,
    labels: [&str; 2],
    folder: &Path,
    name: &str,
) -> Result<(), Failure> {
    let plot = |line: &Line| {
        let plot = LinePlot::new()
            .with_data(line.points.iter().copied())
            .with_color(line.colour)
            .with_stroke_width(2.0)
            .with_legend(&line.name);
        Plot::Line(if line.dashed { plot.with_dashed() } else { plot })
    };
    let plots: Vec<Plot> = lines.iter().map(plot).collect();
    let layout = Layout::auto_from_plots(&plots)
        .with_title(title)
        .with_x_label(labels[0])
        .with_y_label(labels[1])
        .with_clamp_axis();
    write(&render_multiple(plots, layout), folder, name)
}

/// Panels of bars, one above the other, with one legend.
pub(crate) struct Bars<'a> {
    pub(crate) title: &'a str,
    pub(crate) x_label: &'a str,
    /// Name and colour of every series, or of every part of a stack.
    pub(crate) series: &'a [(&'a str, &'a str)],
}

/// One bar; none has no height and no error bar.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Bar {
    /// Its height.
    pub(crate) value: f64,
    /// The length of its error bar to either side.
    pub(crate) error: f64,
}

/// The label of the y axis, and groups with a name and one bar per series.
pub(crate) type GroupedPanel<'a> = (&'a str, Vec<(String, Vec<Bar>)>);

/// The title of a panel, and stacks with a name and one height per part.
pub(crate) type StackedPanel = (String, Vec<(String, Vec<f64>)>);

impl Bars<'_> {
    /// Writes `<name>.svg` and `<name>.png` with bars beside each other.
    pub(crate) fn write_grouped(
        &self,
        panels: &[GroupedPanel<'_>],
        folder: &Path,
        name: &str,
    ) -> Result<(), Failure> {
        let panel = |(y_label, groups): &GroupedPanel<'_>| {
            let mut plot = BarPlot::new().with_error_cap_width(0.5);
            for (name, bars) in groups {
                plot = self.with_group(plot, name, bars.iter().map(|bar| bar.value));
            }
            let errors = groups.iter().flat_map(|(_, bars)| bars).map(|bar| bar.error);
            let plots = vec![Plot::Bar(plot.with_error(errors.collect::<Vec<f64>>()))];
            let layout = Layout::auto_from_plots(&plots).with_y_label(*y_label);
            (plots, layout)
        };
        self.write(panels.iter().map(panel).unzip(), folder, name)
    }

    /// Writes `<name>.svg` and `<name>.png` with distributions as stacks.
    pub(crate) fn write_stacked(
        &self,
        panels: &[StackedPanel],
        folder: &Path,
        name: &str,
    ) -> Result<(), Failure> {
        let panel = |(title, stacks): &StackedPanel| {
            let mut plot = BarPlot::new().with_stacked();
            for (name, parts) in stacks {
                plot = self.with_group(plot, name, parts.iter().copied());
            }
            let plots = vec![Plot::Bar(plot)];
            let layout = Layout::auto_from_plots(&plots)
                .with_title(title.clone())
                .with_y_label("probability")
                .with_y_axis_min(0.0)
                .with_y_axis_max(1.0);
            (plots, layout)
        };
        self.write(panels.iter().map(panel).unzip(), folder, name)
    }

    fn with_group(&self, plot: BarPlot, name: &str, values: impl Iterator<Item = f64>) -> BarPlot {
        let group = values.zip(self.series).map(|(value, (_, colour))| (value, *colour));
        plot.with_group(name, group.collect::<Vec<_>>())
    }

    fn write(
        &self,
        (plots, mut layouts): (Vec<Vec<Plot>>, Vec<Layout>),
        folder: &Path,
        name: &str,
    ) -> Result<(), Failure> {
        let last = layouts.pop().expect("a figure has panels");
        layouts.push(last.with_x_label(self.x_label));
        let entry = |(name, colour): &(&str, &str)| LegendEntry {
            label: (*name).to_owned(),
            color: (*colour).to_owned(),
            shape: LegendShape::Rect,
            dasharray: None,
        };
        let scene = Figure::new(plots.len(), 1)
            .with_title(self.title)
            .with_cell_size(820.0, 300.0)
            .with_layouts(layouts)
            .with_plots(plots)
            .with_shared_legend()
            .with_shared_legend_entries(self.series.iter().map(entry).collect())
            .render();
        write(&scene, folder, name)
    }
}

/// Writes `<name>.svg` and `<name>.png`.
fn write(scene: &Scene, folder: &Path, name: &str) -> Result<(), Failure> {
    let svg = SvgBackend.render_scene(scene);
    write_whole(&folder.join(format!("{name}.svg")).into(), svg.as_bytes())?;
    let png = PngBackend::new().with_scale(PNG_SCALE).render_scene(scene)?;
    Ok(write_whole(&folder.join(format!("{name}.png")).into(), &png)?)
}
