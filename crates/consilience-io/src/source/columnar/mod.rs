//! Arrow and Parquet files.

mod chunks;
mod ipc;
mod parquet_file;

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use crate::batch::Batch;
use crate::error::{Error, Result};

pub(super) use ipc::IpcSource;
pub(super) use parquet_file::ParquetSource;

/// The columns of an Arrow schema without rows.
fn empty_columns(names: &Arc<[String]>, schema: &SchemaRef) -> Batch {
    let columns = RecordBatch::new_empty(Arc::clone(schema));
    Batch::columns(Arc::clone(names), 0, columns)
}

fn names_of(schema: &Schema) -> Arc<[String]> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// Runs a step of the Arrow or Parquet reader and reports a panic as a damaged file. Both readers
/// panic on some damaged files, for example if a length exceeds a buffer.
fn guard<T>(name: &str, step: impl FnOnce() -> T) -> Result<T> {
    super::GUARDED.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(step));
    super::GUARDED.set(false);
    done.map_err(|_| Error::Malformed {
        name: name.to_owned(),
        problem: "the file is damaged".into(),
        hint: Some(DAMAGED.into()),
    })
}

const DAMAGED: &str = "the file may be incomplete, damaged or of another format";
