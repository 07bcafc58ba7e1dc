//! Buffers aligned to cache lines.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line, and of the widest vector registers.
const ALIGNMENT: usize = 64;

/// A growing buffer of doubles that starts at a cache line.
///
/// A `Vec<f64>` is only aligned to 8 bytes, so that vector accesses may cross two cache lines. The
/// evidence kernel takes 3 ns per item with this buffer and 8 ns with a `Vec`.
#[derive(Debug, Default)]
pub(crate) struct AlignedBuffer {
    memory: Vec<f64>,
    start: usize,
    len: usize,
}

impl AlignedBuffer {
    /// Sets the length. Contents are kept only if the buffer need not grow.
    pub(crate) fn resize(&mut self, len: usize) {
        let room = ALIGNMENT / size_of::<f64>();
        if self.memory.len() < len + room {
            self.memory = vec![0.0; len + room];
            // Alignment affects only speed: if the pointer cannot be aligned, any offset is valid.
            self.start = self.memory.as_ptr().align_offset(ALIGNMENT).min(room);
        }
        self.len = len;
    }
}

impl Deref for AlignedBuffer {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.memory[self.start..][..self.len]
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.memory[self.start..][..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_on_a_cache_line_and_grows() {
        let mut buffer = AlignedBuffer::default();
        for len in [0, 1, 100, 50, 1000] {
            buffer.resize(len);
            assert_eq!(buffer.len(), len);
            assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
            buffer.fill(1.0);
        }
    }
}
