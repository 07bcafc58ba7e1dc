//! The wire format of protocol buffers, as far as ONNX files need it.
//!
//! A message is a sequence of fields, each a key (field number and wire type) and a value: a
//! variable-length integer, or bytes with their length. Nested messages are bytes.
//! <https://protobuf.dev/programming-guides/encoding/>

/// A message that is being written.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Message(Vec<u8>);

/// Wire types.
const VARINT: u64 = 0;
const BYTES: u64 = 2;

impl Message {
    /// Adds a whole number; negative ones in two's complement.
    pub(super) fn integer(mut self, field: u64, value: i64) -> Self {
        self.varint(field << 3 | VARINT);
        self.varint(value.cast_unsigned());
        self
    }

    /// Adds several whole numbers under the same field.
    pub(super) fn integers(self, field: u64, values: &[i64]) -> Self {
        values.iter().fold(self, |message, value| message.integer(field, *value))
    }

    /// Adds bytes.
    pub(super) fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds text.
    pub(super) fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// Adds a nested message.
    pub(super) fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    /// Adds several nested messages under the same field.
    pub(super) fn messages(self, field: u64, messages: &[Self]) -> Self {
        messages.iter().fold(self, |message, nested| message.message(field, nested))
    }

    /// The finished message.
    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }

    /// Seven bits per byte, the lowest first; the high bit marks that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the encoding guide: 150 in field 1, "testing" in field 2, a nested message in
    /// field 3, and −2 as ten bytes.
    #[test]
    fn messages_are_those_of_the_encoding_guide() {
        let number = Message::default().integer(1, 150);
        assert_eq!(number.0, [0x08, 0x96, 0x01]);
        let text = Message::default().text(2, "testing");
        assert_eq!(text.0, [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        let nested = Message::default().message(3, &number);
        assert_eq!(nested.finish(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let negative = Message::default().integer(1, -2);
        let bytes = [0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(negative.0, bytes);
    }
}
