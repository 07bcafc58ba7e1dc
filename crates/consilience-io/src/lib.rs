//! Reads and writes tables of classifier outputs: CSV, Parquet, Arrow and JSON lines.
//!
//! A table goes through four steps. A *source* reads an [`Input`] (a file, a stream or bytes in
//! memory) as [batches](Batch) of cells. The
//! *layout* (wide or long) finds the columns and converts their cells to checked
//! [`Outputs`](consilience::Outputs). The caller computes. A *sink* writes the input columns and
//! the computed ones; the file appears only when it is complete. Every error names the file and,
//! where it can, the row, the column and the value.
//!
//! # Example
//! ```
//! use consilience_io::{Added, AddedValues, Location, ReadOptions, TableReader, TableWriter};
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = |name: &str| Location::from(folder.path().join(name));
//! consilience_io::write_whole(
//!     &path("data.csv"),
//!     b"id,label,a_x,a_y\n1,x,0.75,0.25\n2,y,0.5,0.5\n",
//! )?;
//! let options = ReadOptions::default();
//! let training = consilience_io::read_outputs(&path("data.csv"), &options)?;
//! assert_eq!(training.schema().classes(), ["x", "y"]);
//!
//! let mut reader = TableReader::open(&path("data.csv"), training.schema(), &options)?;
//! let mut writer = TableWriter::create(&path("out.jsonl"), None)?;
//! while let Some(chunk) = reader.next_chunk()? {
//!     let first: Vec<f64> = (0..chunk.outputs.n_items())
//!         .map(|item| chunk.outputs.output(item, 0).map_or(f64::NAN, |output| output[0]))
//!         .collect();
//!     let added = Added { name: "first".into(), values: AddedValues::Numbers(&first) };
//!     writer.write(&chunk.carried, &[added])?;
//! }
//! writer.finish()?;
//! # let text = std::fs::read_to_string(folder.path().join("out.jsonl")).unwrap();
//! # assert!(text.starts_with(r#"{"id":"1","label":"x","a_x":0.75,"a_y":0.25,"first":0.75}"#));
//! # Ok::<(), consilience_io::Error>(())
//! ```

#![forbid(unsafe_code)]

mod arrow_cells;
mod batch;
mod costs;
mod dates;
mod decimal;
mod error;
mod header;
mod hint;
mod input;
mod location;
mod long;
mod reader;
mod room;
mod sink;
mod source;
mod text;
mod unfinished;
mod votes;
mod whole;
mod wide;
mod writer;

pub use batch::{Batch, batch_of, names_batch};
pub use costs::{ABSTAIN, read_costs};
pub use error::{Error, Position, Result};
pub use hint::Hint;
pub use input::Input;
pub use location::{Format, Layout, Location};
pub use reader::{Chunk, ReadOptions, TableReader, read_outputs, read_outputs_from};
pub use source::is_guarded;
pub use unfinished::remove_unfinished;
pub use votes::{VoteReadOptions, read_item_labels, read_votes, read_votes_from};
pub use whole::{check_writable, write_whole};
pub use writer::{Added, AddedValues, TableWriter};
