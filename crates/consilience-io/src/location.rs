//! Locations, formats and layouts of tables.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Error, Result};

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Comma-separated values with a header, `.csv`.
    Csv,
    /// Apache Parquet, `.parquet`.
    Parquet,
    /// Arrow IPC, `.arrow`; written as a file, read as a file or a stream.
    Arrow,
    /// One JSON object per line, `.jsonl`.
    JsonLines,
}

impl Format {
    /// The format of a path's extension, in upper or lower case.
    pub fn from_path(path: &Path) -> Result<Self> {
        extension_of(path)
            .and_then(|extension| extension.parse().ok())
            .ok_or_else(|| Error::UnknownFormat { name: path.display().to_string() })
    }

    /// The format of a table to be read: the given one or, without one, that of the path, of
    /// which `.gz` is not a part; CSV for standard streams, pipes and devices.
    pub(crate) fn choose(given: Option<Self>, location: &Location) -> Result<Self> {
        match location {
            Location::Path(path) if is_gzip(path) => {
                let inner = path.with_extension("");
                let unknown = |_| Error::UnknownFormat { name: path.display().to_string() };
                given.map_or_else(|| Self::from_path(&inner).map_err(unknown), Ok)
            }
            other => Self::choose_written(given, other),
        }
    }

    /// The format of a table to be written, likewise, but `.gz` is refused.
    pub(crate) fn choose_written(given: Option<Self>, location: &Location) -> Result<Self> {
        match (given, location) {
            (_, Location::Path(path)) if is_gzip(path) => Self::from_path(path),
            (Some(format), _) => Ok(format),
            (None, Location::Standard) => Ok(Self::Csv),
            (None, Location::Path(path)) => match Self::from_path(path) {
                Err(_) if is_stream(path) => Ok(Self::Csv),
                known => known,
            },
        }
    }
}

fn extension_of(path: &Path) -> Option<String> {
    path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase)
}

fn is_gzip(path: &Path) -> bool {
    extension_of(path).as_deref() == Some("gz")
}

fn is_stream(path: &Path) -> bool {
    descriptor(path).is_some()
        || path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// The number of the open file that a path such as `/dev/stdout` or `/dev/fd/1` stands for.
pub(crate) fn descriptor(path: &Path) -> Option<u32> {
    match path.to_str()? {
        "/dev/stdin" => Some(0),
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        other => {
            let number = ["/dev/fd/", "/proc/self/fd/"].iter().find_map(|f| other.strip_prefix(f));
            number?.parse().ok()
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        match word {
            "csv" => Ok(Self::Csv),
            "parquet" => Ok(Self::Parquet),
            "arrow" => Ok(Self::Arrow),
            "jsonl" => Ok(Self::JsonLines),
            _ => Err(Error::UnknownWord {
                what: "format",
                found: word.to_owned(),
                known: "csv, parquet, arrow and jsonl",
            }),
        }
    }
}

/// The layout of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// One row per item, with a column `<classifier>_<class>` for every classifier and class.
    #[default]
    Wide,
    /// One row per probability, with columns `item`, `classifier`, `class` and `probability`; for
    /// votes one row per vote, with columns `item`, `source` and `label`.
    Long,
    /// Votes with one row per item and one column of labels per source.
    WideLabels,
}

impl FromStr for Layout {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        match word {
            "wide" => Ok(Self::Wide),
            "long" => Ok(Self::Long),
            "wide-labels" => Ok(Self::WideLabels),
            _ => Err(Error::UnknownWord {
                what: "layout",
                found: word.to_owned(),
                known: "wide, long and (for votes) wide-labels",
            }),
        }
    }
}

/// A file, or standard input or output.
///
/// Its `Display` is the path, or "standard input"; see [`Location::output_name`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Location {
    /// Standard input when read, standard output when written.
    Standard,
    /// A path.
    Path(PathBuf),
}

impl Location {
    /// Its name in messages about writing: the path, or "standard output".
    pub fn output_name(&self) -> String {
        match self {
            Self::Standard => "standard output".into(),
            Self::Path(path) => path.display().to_string(),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard => f.write_str("standard input"),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Self {
        if path.as_os_str() == "-" { Self::Standard } else { Self::Path(path) }
    }
}

/// Any path of the system, even if it is not UTF-8.
impl From<OsString> for Location {
    fn from(path: OsString) -> Self {
        PathBuf::from(path).into()
    }
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        path.to_path_buf().into()
    }
}

impl From<&str> for Location {
    fn from(path: &str) -> Self {
        PathBuf::from(path).into()
    }
}

impl FromStr for Location {
    type Err = std::convert::Infallible;

    fn from_str(path: &str) -> Result<Self, Self::Err> {
        Ok(path.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_found_by_extension_and_name() {
        for (path, format) in [
            ("a/data.csv", Format::Csv),
            ("data.PARQUET", Format::Parquet),
            ("x.y.arrow", Format::Arrow),
            ("data.jsonl", Format::JsonLines),
        ] {
            assert_eq!(Format::from_path(Path::new(path)).unwrap(), format);
        }
        let packed = Location::from("data.csv.GZ");
        assert_eq!(Format::choose(None, &packed).unwrap(), Format::Csv);
        let error = Format::choose(None, &Location::from("data.txt.gz")).unwrap_err();
        assert_eq!(error.to_string(), "the extension of data.txt.gz is not that of a known format");
        let error = Format::choose_written(Some(Format::Csv), &packed).unwrap_err();
        assert_eq!(error.to_string(), "the extension of data.csv.GZ is not that of a known format");
        assert!(error.hint().unwrap().to_string().contains(".csv, .parquet, .arrow and .jsonl"));
        let error = "xlsx".parse::<Format>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown format `xlsx`; known are csv, parquet, arrow and jsonl"
        );
        assert_eq!("long".parse::<Layout>().unwrap(), Layout::Long);
        assert!("tall".parse::<Layout>().is_err());
    }

    #[test]
    fn a_dash_is_a_standard_stream_and_reads_as_csv() {
        let standard = Location::from("-");
        assert_eq!(standard, Location::Standard);
        assert_eq!(standard.to_string(), "standard input");
        assert_eq!(standard.output_name(), "standard output");
        assert_eq!(Format::choose(None, &standard).unwrap(), Format::Csv);
        assert_eq!(Format::choose(Some(Format::Arrow), &standard).unwrap(), Format::Arrow);
        let null = Location::from("/dev/null");
        assert_eq!(Format::choose(None, &null).unwrap(), Format::Csv);
        assert!(Format::choose(None, &Location::from("/dev")).is_err());
    }
}
