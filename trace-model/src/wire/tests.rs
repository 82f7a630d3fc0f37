//! Values of each wire type, and damaged ones.

use super::*;

fn all(bytes: &[u8]) -> Result<Vec<(u32, WireValue)>, BrokenMessage> {
    let mut cursor = WireCursor::new(bytes, 0..bytes.len());
    let mut fields = Vec::new();
    while let Some(field) = cursor.next()? {
        fields.push(field);
    }
    Ok(fields)
}

#[test]
fn every_wire_type_is_read_or_skipped() {
    let mut bytes = vec![
        0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 1, 2, 3, 4, 0x21,
    ];
    bytes.extend(1.5_f64.to_le_bytes());
    let fields = all(&bytes).unwrap();
    assert_eq!(fields[0], (1, WireValue::Varint(150)));
    assert_eq!(fields[1], (2, WireValue::Bytes(5..7)));
    assert_eq!(fields[2], (3, WireValue::Fixed32));
    assert_eq!(fields[3], (4, WireValue::Fixed64(1.5_f64.to_bits())));
}

#[test]
fn reads_varints_up_to_64_bits() {
    let mut bytes = vec![0x08];
    bytes.extend([0xff; 9]);
    bytes.push(1);
    assert_eq!(all(&bytes).unwrap(), [(1, WireValue::Varint(u64::MAX))]);
    for shift in 0..64 {
        for value in [
            1_u64 << shift,
            (1 << shift) - 1,
            u64::MAX >> shift,
            0x5555_5555_5555_5555 >> shift,
        ] {
            let mut bytes = vec![0x08];
            let mut rest = value;
            while rest >= 0x80 {
                bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
            // Near the end of the file, numbers are read byte by byte; elsewhere, as a word.
            assert_eq!(all(&bytes).unwrap(), [(1, WireValue::Varint(value))]);
            bytes.extend([0x10; 10]);
            assert_eq!(all(&bytes).unwrap()[0], (1, WireValue::Varint(value)));
        }
    }
    // A number may have more bytes than it needs.
    let padded = [0x08, 0x81, 0x80, 0x80, 0x00, 0x10, 1, 0x10, 1, 0x10, 1];
    assert_eq!(all(&padded).unwrap()[0], (1, WireValue::Varint(1)));
}

#[test]
fn reading_stops_at_the_message_end() {
    let file = [
        0x08, 0x96, 0x81, 0x01, 0x21, 1, 2, 3, 4, 5, 6, 7, 8, 0x12, 2, b'h', b'i', 0, 0, 0, 0,
    ];
    let last = |end: usize| {
        let mut cursor = WireCursor::new(&file, 0..end);
        loop {
            match cursor.next() {
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(broken) => return Some(broken.at),
            }
        }
    };
    let found: Vec<_> = (0..=17).map(last).collect();
    let (whole, number, double, text) = (None, Some(1), Some(5), Some(14));
    let mut expected = vec![whole, number, number, number, whole];
    expected.extend([double; 8]);
    expected.extend([whole, text, text, text, whole]);
    assert_eq!(found, expected);
    assert_eq!(last(99), None);
}

#[test]
fn tags_tell_number_and_type() {
    let mut bytes = vec![
        0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 1, 2, 3, 4, 0x21,
    ];
    bytes.extend(1.5_f64.to_le_bytes());
    bytes.extend([0x0b]);
    let mut cursor = WireCursor::new(&bytes, 0..bytes.len());
    assert_eq!(
        (cursor.tag(), cursor.varint()),
        (Ok(Some(tag::varint(1))), Ok(150))
    );
    assert_eq!(
        (cursor.tag(), cursor.length_delimited()),
        (Ok(Some(tag::bytes(2))), Ok(5..7))
    );
    assert_eq!(
        (cursor.tag(), cursor.skip_value(0x1d, 7)),
        (Ok(Some(0x1d)), Ok(()))
    );
    assert_eq!(
        (cursor.tag(), cursor.fixed64()),
        (Ok(Some(tag::fixed64(4))), Ok(1.5_f64.to_bits()))
    );
    assert_eq!(cursor.tag(), Ok(Some(0x0b)));
    assert_eq!(cursor.skip_value(0x0b, 21).unwrap_err().at, 21);
    assert_eq!(cursor.tag(), Ok(None));
    assert_eq!(
        cursor.skip_value(0, 3).unwrap_err(),
        BrokenMessage {
            at: 3,
            why: "a field number out of range"
        }
    );
}

fn varint(mut rest: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

#[test]
fn numbers_of_a_known_field_are_read_at_once() {
    for value in (0..56)
        .map(|shift| 1_u64 << shift)
        .chain([0, u64::MAX >> 8])
    {
        let mut bytes = [vec![0x18], varint(value)].concat();
        let len = bytes.len();
        bytes.extend([0x88; 16]);
        let mut cursor = WireCursor::new(&bytes, 0..len);
        assert_eq!(
            (cursor.number(tag::varint(2)), cursor.position()),
            (None, 0),
            "another field"
        );
        assert_eq!(
            (cursor.number(tag::varint(3)), cursor.position()),
            (Some(value), len)
        );
        assert_eq!(cursor.number(tag::varint(3)), None, "the end");
        // The message is cut off, or lies at the end of the file.
        assert_eq!(
            WireCursor::new(&bytes, 0..len - 1).number(tag::varint(3)),
            None
        );
        assert_eq!(
            WireCursor::new(&bytes[..len], 0..len)
                .number(tag::varint(3))
                .is_some(),
            len >= 9
        );
    }
    // Nine bytes; a number that never ends.
    for number in [varint(1 << 56), vec![0xff; 16]] {
        let bytes = [vec![0x18], number, vec![0; 16]].concat();
        let mut cursor = WireCursor::new(&bytes, 0..bytes.len());
        assert_eq!(
            (cursor.number(tag::varint(3)), cursor.position()),
            (None, 0)
        );
    }
    assert_eq!(WireCursor::new(&[], 0..0).number(0), None);
}

fn read_pair(cursor: &mut WireCursor<'_>, tag: u64) -> Option<(u64, u64, u64)> {
    let (first, other, number) = cursor.pair(tag)?;
    Some((first, other, number.get()))
}

#[test]
fn messages_of_two_numbers_are_read_at_once() {
    const FIELD: u64 = tag::bytes(4);
    for id in [0, 1, 127, 128, 300, 16_383] {
        for value in (0..56)
            .map(|shift| 1_u64 << shift)
            .chain([0, u64::MAX >> 8])
        {
            for other in [
                tag::varint(2),
                tag::varint(3),
                tag::varint(7),
                tag::varint(15),
            ] {
                let message = [&[0x08], &varint(id)[..], &[other as u8], &varint(value)].concat();
                let mut bytes = [&[FIELD as u8, message.len() as u8], &message[..]].concat();
                let len = bytes.len();
                bytes.extend([0x88; 16]);
                let mut cursor = WireCursor::new(&bytes, 0..len);
                assert_eq!(
                    (read_pair(&mut cursor, tag::bytes(5)), cursor.position()),
                    (None, 0),
                    "another field"
                );
                assert_eq!(
                    (read_pair(&mut cursor, FIELD), cursor.position()),
                    (Some((id, other, value)), len)
                );
                // The message is cut off, has more content than the pair, or lies at the end of the file.
                assert!(WireCursor::new(&bytes, 0..len - 1).pair(FIELD).is_none());
                assert_eq!(
                    WireCursor::new(&bytes[..len], 0..len).pair(FIELD).is_some(),
                    len >= 17
                );
                bytes[1] += 1;
                assert!(WireCursor::new(&bytes, 0..len + 1).pair(FIELD).is_none());
            }
        }
    }
    let none = |bytes: &[u8]| {
        let bytes = [&[FIELD as u8], bytes, &[0; 16]].concat();
        let mut cursor = WireCursor::new(&bytes, 0..bytes.len());
        assert_eq!(
            (read_pair(&mut cursor, FIELD), cursor.position()),
            (None, 0),
            "{bytes:?}"
        );
    };
    // A third number; a long id; a text; field 1 twice; wrong order; a long length; an unterminated number.
    none(&[6, 0x08, 1, 0x18, 2, 0x20, 3]);
    none(&[6, 0x08, 0x80, 0x80, 1, 0x18, 2]);
    none(&[5, 0x08, 1, 0x2a, 1, b'a']);
    none(&[4, 0x08, 1, 0x08, 2]);
    none(&[4, 0x18, 1, 0x08, 2]);
    none(&[0x84, 0, 0x08, 1, 0x18, 2]);
    none(&[
        13, 0x08, 1, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
    ]);
    none(&[0]);
    assert!(WireCursor::new(&[], 0..0).pair(FIELD).is_none());
}

#[test]
fn errors_name_their_offset() {
    let place = |bytes: &[u8]| all(bytes).unwrap_err().at;
    assert_eq!(place(&[0x08, 0x80]), 1);
    assert_eq!(place(&[0x08, 1, 0x12, 5, 0]), 3);
    assert_eq!(place(&[0x0b]), 0);
    assert_eq!(place(&[0x00, 0x00]), 0);
    assert_eq!(
        place(&[
            0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01
        ]),
        1
    );
}
