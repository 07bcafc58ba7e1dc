//! All printing: reports on standard output, messages on standard error.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use consilience::Doubts;

use crate::error::{Failure, warning_text};

/// Creates the folder of a report, if it does not exist.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|reason| Failure::io("create", &folder.display().to_string(), reason))
}

/// Messages to the user on standard error: notes, warnings and errors.
pub(crate) struct Messages {
    quiet: bool,
}

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default().bold();

impl Messages {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints a note, except with `--quiet`.
    pub(crate) fn note(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            print_line(format_args!("{}", visible(&text.to_string())));
        }
    }

    /// Prints a warning, even with `--quiet`.
    pub(crate) fn warning(text: impl std::fmt::Display) {
        print_line(format_args!("{YELLOW}warning:{YELLOW:#} {}", visible(&text.to_string())));
    }

    /// Warns of values of a table that were accepted although they are unusual.
    pub(crate) fn doubts(doubts: &Doubts, table: impl std::fmt::Display) {
        for warning in doubts.warnings() {
            Self::warning(format_args!("{table}: {}", warning_text(&warning)));
        }
    }

    /// Prints a bug of the program itself.
    pub(crate) fn panic(panic: &std::panic::PanicHookInfo<'_>) {
        print_line(format_args!("{RED}error:{RED:#} internal error: {panic}"));
        print_line(format_args!(
            "{CYAN}hint:{CYAN:#} this is a bug in the program; please report it"
        ));
    }

    /// Prints why a command failed, and the hint.
    pub(crate) fn failure(failure: &Failure) {
        print_line(format_args!("{RED}error:{RED:#} {}", visible(&failure.to_string())));
        if let Some(hint) = failure.hint() {
            print_line(format_args!("{CYAN}hint:{CYAN:#} {}", visible(&hint)));
        }
    }
}

/// Characters that change the order in which others are shown, and line ends of Unicode.
const REORDERS: [char; 14] = [
    '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}',
    '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}', '\u{2028}', '\u{2029}',
];

/// Text with control characters written out, such as `\u{1b}`: control characters in names and values must not reach
/// the terminal, and what is shown must be the text that they contain.
fn visible(text: &str) -> Cow<'_, str> {
    let is_order = |c: char| (c.is_control() && c != '\n') || REORDERS.contains(&c);
    if !text.contains(is_order) {
        return text.into();
    }
    let shown = |c: char| if is_order(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect::<String>().into()
}

/// Prints a line on standard error, which may be closed.
fn print_line(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// Prints a report for people.
pub(crate) fn print_text(text: &str) -> Result<(), Failure> {
    print(&visible(text))
}

/// Prints a report for programs, or a script.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let line_end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.write_all(line_end))
        .and_then(|()| stdout.flush())
        .map_err(|reason| Failure::io("write", "standard output", reason))
}

/// A table in Markdown.
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

/// A cell of a CSV file, quoted if necessary.
pub(crate) fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A number in a CSV file; empty for NaN.
pub(crate) fn csv_number(value: f64) -> String {
    if value.is_nan() { String::new() } else { value.to_string() }
}
