//! The part of the protobuf wire format that writing needs.

/// A message under construction. Field numbers are those of the `.proto` file.
#[derive(Clone, Debug, Default)]
pub struct ProtoMessage {
    bytes: Vec<u8>,
}

impl ProtoMessage {
    /// The message as written so far.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn raw_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn tag(&mut self, field: u32, wire_type: u32) {
        self.raw_varint(u64::from(field << 3 | wire_type));
    }

    /// Writes a number, even if it is zero (members of a `oneof` are always written).
    pub fn present(&mut self, field: u32, value: u64) {
        self.tag(field, 0);
        self.raw_varint(value);
    }

    /// Writes a number; zero is the default and is not written.
    pub fn uint(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.present(field, value);
        }
    }

    /// Writes a signed number; a negative one takes ten bytes.
    pub fn int(&mut self, field: u32, value: i64) {
        self.uint(field, value as u64);
    }

    /// Writes a floating point number, even if it is zero.
    pub fn double(&mut self, field: u32, value: f64) {
        self.tag(field, 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes bytes, even if there are none.
    pub fn bytes(&mut self, field: u32, value: impl AsRef<[u8]>) {
        let value = value.as_ref();
        self.tag(field, 2);
        self.raw_varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    /// Writes a text; an empty one is the default and is not written.
    pub fn text(&mut self, field: u32, value: &str) {
        if !value.is_empty() {
            self.bytes(field, value.as_bytes());
        }
    }

    /// Writes a nested message.
    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.bytes(field, &inner.bytes);
    }

    /// Writes numbers as one packed field.
    pub fn packed(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        let mut inner = Self::default();
        for value in values {
            inner.raw_varint(value);
        }
        if !inner.bytes.is_empty() {
            self.bytes(field, &inner.bytes);
        }
    }
}

impl AsRef<[u8]> for ProtoMessage {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_wire_format() {
        let mut message = ProtoMessage::default();
        message.uint(1, 150);
        message.uint(2, 0);
        message.present(2, 0);
        message.int(3, -1);
        message.text(4, "hi");
        message.packed(5, [1, 300]);
        let expected: &[u8] = &[
            0x08, 0x96, 0x01, 0x10, 0x00, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
            0xff, 0x01, 0x22, 0x02, b'h', b'i', 0x2a, 0x03, 0x01, 0xac, 0x02,
        ];
        assert_eq!(message.into_bytes(), expected);
    }
}
