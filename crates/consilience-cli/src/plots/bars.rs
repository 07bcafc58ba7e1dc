//! Bar charts: single bars with errors, groups of bars, stacked bars.

use std::path::Path;

use kuva::plot::BarPlot;
use kuva::render::figure::Figure;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render::render::render_multiple;

use super::legend_entry;
use crate::error::Failure;

/// A bar with an error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bar {
    /// Length of the bar.
    pub(crate) value: f64,
    /// Half the length of the error bar.
    pub(crate) error: f64,
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
            plot = plot.with_colored_bar(name.clone(), bar.value, self.kinds[*kind].1);
        }
        plot = plot.with_error(self.bars.iter().rev().map(|(_, bar, _)| bar.error));
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

/// A panel of grouped bars; every group has one bar per series.
pub(crate) struct Panel {
    pub(crate) y_label: String,
    /// Name of every group, and its bars; `None` where a series has no value.
    pub(crate) groups: Vec<(String, Vec<Option<Bar>>)>,
}

/// Panels of grouped bars, one above the other, with a common legend.
pub(crate) struct GroupedBars<'a> {
    pub(crate) title: &'a str,
    pub(crate) x_label: &'a str,
    pub(crate) panels: &'a [Panel],
    /// Name and colour of every series.
    pub(crate) series: &'a [(String, &'a str)],
}

impl GroupedBars<'_> {
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<(), Failure> {
        let plots: Vec<Vec<Plot>> =
            self.panels.iter().map(|panel| vec![Plot::Bar(self.panel(panel))]).collect();
        let last = self.panels.len() - 1;
        let layout = |(i, panel): (usize, &Panel)| {
            let layout = Layout::auto_from_plots(&plots[i]).with_y_label(panel.y_label.clone());
            if i == last { layout.with_x_label(self.x_label) } else { layout }
        };
        let layouts: Vec<Layout> = self.panels.iter().enumerate().map(layout).collect();
        let entries = self.series.iter().map(|(name, colour)| legend_entry(name, colour)).collect();
        let scene = Figure::new(self.panels.len(), 1)
            .with_title(self.title)
            .with_cell_size(820.0, 300.0)
            .with_layouts(layouts)
            .with_plots(plots)
            .with_shared_legend()
            .with_shared_legend_entries(entries)
            .render();
        super::write(&scene, folder, name)
    }

    fn panel(&self, panel: &Panel) -> BarPlot {
        let mut plot = BarPlot::new().with_error_cap_width(0.5);
        for (name, bars) in &panel.groups {
            let bars = bars.iter().zip(self.series);
            let group = bars.map(|(bar, (_, colour))| (bar.map_or(0.0, |bar| bar.value), *colour));
            plot = plot.with_group(name.clone(), group.collect::<Vec<_>>());
        }
        let bars = panel.groups.iter().flat_map(|(_, bars)| bars);
        plot.with_error(bars.map(|bar| bar.map_or(0.0, |bar| bar.error)).collect::<Vec<f64>>())
    }
}

/// The name of a stacked bar and the lengths of its parts.
pub(crate) type Stack = (String, Vec<f64>);

/// Panels of stacked bars, one above the other, each bar a distribution.
pub(crate) struct StackedBars<'a> {
    pub(crate) title: &'a str,
    pub(crate) x_label: &'a str,
    /// Title of every panel, and its stacked bars.
    pub(crate) panels: &'a [(String, Vec<Stack>)],
    /// Name and colour of every part.
    pub(crate) parts: &'a [(&'a str, &'a str)],
}

impl StackedBars<'_> {
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<(), Failure> {
        let plot = |stacks: &[Stack]| {
            let mut plot = BarPlot::new().with_stacked();
            for (name, parts) in stacks {
                let parts =
                    parts.iter().zip(self.parts).map(|(part, (_, colour))| (*part, *colour));
                plot = plot.with_group(name.clone(), parts.collect::<Vec<_>>());
            }
            vec![Plot::Bar(plot)]
        };
        let plots: Vec<Vec<Plot>> = self.panels.iter().map(|(_, stacks)| plot(stacks)).collect();
        let last = self.panels.len() - 1;
        let layout = |(i, (title, _)): (usize, &(String, Vec<Stack>))| {
            let layout = Layout::auto_from_plots(&plots[i])
                .with_title(title.clone())
                .with_y_label("probability")
                .with_y_axis_min(0.0)
                .with_y_axis_max(1.0);
            if i == last { layout.with_x_label(self.x_label) } else { layout }
        };
        let layouts: Vec<Layout> = self.panels.iter().enumerate().map(layout).collect();
        let entries = self.parts.iter().map(|(name, colour)| legend_entry(name, colour)).collect();
        let scene = Figure::new(self.panels.len(), 1)
            .with_title(self.title)
            .with_cell_size(820.0, 300.0)
            .with_layouts(layouts)
            .with_plots(plots)
            .with_shared_legend()
            .with_shared_legend_entries(entries)
            .render();
        super::write(&scene, folder, name)
    }
}
