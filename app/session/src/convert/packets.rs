//! Bytes of protobuf messages: just what Perfetto's packets need.

/// A message that is being written.
#[derive(Debug, Default)]
pub(super) struct PacketMessage(Vec<u8>);

impl PacketMessage {
    /// A number of type `uint64`, `int64`, `bool` or an enum.
    pub fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    /// A `fixed64`.
    pub fn fixed(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn double(self, field: u32, value: f64) -> Self {
        self.fixed(field, value.to_bits())
    }

    /// A `string`.
    pub fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    pub fn message(self, field: u32, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_match_the_protobuf_encoding_guide() {
        // Examples of https://protobuf.dev/programming-guides/encoding
        assert_eq!(
            PacketMessage::default().number(1, 150).into_bytes(),
            [0x08, 0x96, 0x01]
        );
        assert_eq!(
            PacketMessage::default().text(2, "testing").into_bytes(),
            *b"\x12\x07testing"
        );
        let inner = PacketMessage::default().number(1, 150);
        assert_eq!(
            PacketMessage::default().message(3, &inner).into_bytes(),
            [0x1a, 0x03, 0x08, 0x96, 0x01]
        );
    }
}
