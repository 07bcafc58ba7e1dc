//! The only place that prints: reports on standard output, talk on standard error.

use std::io::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, presets};

use crate::error::Failure;

/// Makes the folder of a report, if it is not there.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|reason| Failure::io("create", &folder.display().to_string(), reason))
}

/// Talk to the user: notes, warnings, errors. All on standard error.
pub(crate) struct Talk {
    quiet: bool,
}

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default().bold();

impl Talk {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Something worth knowing; not with `--quiet`.
    pub(crate) fn note(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            say(format_args!("{text}"));
        }
    }

    /// Something to be careful about, even with `--quiet`.
    pub(crate) fn warning(text: impl std::fmt::Display) {
        say(format_args!("{YELLOW}warning:{YELLOW:#} {text}"));
    }

    /// A fault of the program itself.
    pub(crate) fn panic(panic: &std::panic::PanicHookInfo<'_>) {
        say(format_args!("{RED}error:{RED:#} internal error: {panic}"));
        say(format_args!("{CYAN}hint:{CYAN:#} this is a fault of the program; please report it"));
    }

    /// Why the program ends.
    pub(crate) fn failure(failure: &Failure) {
        say(format_args!("{RED}error:{RED:#} {failure}"));
        if let Some(hint) = failure.hint() {
            say(format_args!("{CYAN}hint:{CYAN:#} {hint}"));
        }
    }
}

/// Standard error may be closed; then there is nobody to tell.
fn say(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// Prints a report.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let line_end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.write_all(line_end))
        .and_then(|()| stdout.flush())
        .map_err(|reason| Failure::io("write", "standard output", reason))
}

/// A plain table: columns of text to the left, columns of numbers to the right.
pub(crate) fn table<H: ToString>(header: &[H], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.iter().map(ToString::to_string));
    for row in rows {
        table.add_row(row);
    }
    let is_number = |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if i > 0 && rows.iter().all(|row| row.get(i).is_none_or(is_number)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The same as Markdown.
pub(crate) fn markdown<H: ToString>(header: &[H], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let names: Vec<String> = header.iter().map(ToString::to_string).collect();
    let rule: Vec<String> =
        (0..header.len()).map(|i| if i == 0 { "---".into() } else { "---:".into() }).collect();
    let mut text = line(&names) + &line(&rule);
    for row in rows {
        text += &line(row);
    }
    text
}

/// One cell of a CSV file, quoted where it must be.
pub(crate) fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A number in a CSV file; nothing where there is none.
pub(crate) fn csv_number(value: f64) -> String {
    if value.is_nan() { String::new() } else { value.to_string() }
}
