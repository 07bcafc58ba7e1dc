//! The memory that the items of a file may take.

use crate::error::{Error, Result};

/// Bytes that the items of any file may take.
const FREE: u64 = 1 << 28;

/// The items of larger files may take this many times the size of the file. Probabilities shrink to a half at
/// best, and decisions of accurate sources, written as 0 and 1, to a few hundredths (less than a bit per decision of
/// three classes), so only a damaged or hostile file exceeds both limits.
const MOST_EXPANSION: u64 = 1000;

/// Keeps a small file from filling the memory: a compressed file of a few bytes can hold any number of
/// items.
pub(crate) struct Room {
    name: String,
    /// Size of the file, where it is known.
    bytes: Option<u64>,
}

impl Room {
    pub(crate) fn new(name: &str, bytes: Option<u64>) -> Self {
        Self { name: name.to_owned(), bytes }
    }

    /// Checks that so many rows, which take `needed` bytes of memory, may be kept. `read` is the number of bytes read so
    /// far, which counts where the size of the file is not known.
    pub(crate) fn check(&self, n_rows: usize, needed: usize, read: u64) -> Result<()> {
        let bytes = self.bytes.unwrap_or(read);
        if needed as u64 <= FREE.max(MOST_EXPANSION.saturating_mul(bytes)) {
            return Ok(());
        }
        Err(Error::Malformed {
            name: self.name.clone(),
            problem: format!("the file has {bytes} bytes and more than {n_rows} rows"),
            hint: Some(
                "the file may be damaged; if so many equal rows are meant, write them \
                 uncompressed or as CSV"
                    .into(),
            ),
        })
    }
}
