//! Detects an `XSpace` by its first bytes.

use importer_common::names;
use importer_common::prelude::*;
use trace_model::wire::{WireCursor, WireValue};

/// The tags of the fields of a profile, and the last of their numbers.
const KNOWN: [u64; 4] = [0x0a, 0x12, 0x1a, 0x22];
const LAST: u32 = 4;
/// U+FFFD, with which text filters replace every invalid byte.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// The confidence that these bytes begin a profile.
pub(super) fn confidence(head: &[u8]) -> DetectionConfidence {
    match first_plane(head) {
        Some(name) if names::is_plane_name(name) => DetectionConfidence::Certain,
        Some(_) => DetectionConfidence::Possible,
        None if head.first() == Some(&0x0a) && is_text_mangled(head) && mentions_plane(head) => {
            DetectionConfidence::Possible
        }
        None => DetectionConfidence::No,
    }
}

/// Name of the first plane, if the bytes up to it are a valid `XSpace`. Strings (errors, warnings, hostnames) may come
/// before.
fn first_plane(head: &[u8]) -> Option<&[u8]> {
    let (mut position, mut is_later) = (0, false);
    loop {
        let mut cursor = WireCursor::new(head, position..head.len());
        let tag = cursor.varint().ok()?;
        if !KNOWN.contains(&tag) {
            // What a later version has added is skipped. Other files begin with such fields, too: a known name must follow.
            let mut cursor = WireCursor::new(head, position..head.len());
            let (number, _) = cursor.next().ok()??;
            (number > LAST).then_some(())?;
            (position, is_later) = (cursor.position(), true);
            continue;
        }
        let len = usize::try_from(cursor.varint().ok()?).ok()?;
        let start = cursor.position();
        match tag {
            0x0a => {
                let name = plane_name(head, start..start.saturating_add(len).min(head.len()));
                return name.filter(|name| !is_later || names::is_plane_name(name));
            }
            0x12 | 0x1a | 0x22 => {
                let text = head.get(start..start.checked_add(len)?)?;
                std::str::from_utf8(text)
                    .ok()
                    .filter(|text| !text.contains('\0'))?;
                position = start + len;
            }
            _ => return None,
        }
    }
}

/// Name of a plane: the second field, after the id, or the first.
fn plane_name(head: &[u8], range: std::ops::Range<usize>) -> Option<&[u8]> {
    let mut cursor = WireCursor::new(head, range);
    let mut field = cursor.next().ok()??;
    if let (1, WireValue::Varint(_)) = field {
        field = cursor.next().ok()??;
    }
    let (2, WireValue::Bytes(range)) = field else {
        return None;
    };
    head.get(range)
        .filter(|name| !name.is_empty() && std::str::from_utf8(name).is_ok())
}

/// Whether there are as many replacement characters as a text filter leaves in a protobuf: a quarter of its bytes are
/// not text.
pub(super) fn is_text_mangled(bytes: &[u8]) -> bool {
    const SAMPLE: usize = 1 << 16;
    const ONE_IN: usize = 64;
    let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
    let replaced = memchr::memmem::find_iter(sample, REPLACEMENT).count();
    replaced >= 4 && replaced * ONE_IN > sample.len()
}

fn mentions_plane(head: &[u8]) -> bool {
    [&b"/device:"[..], b"/host:"]
        .iter()
        .any(|name| memchr::memmem::find(head, name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_profiler_plane_names_are_certain() {
        assert_eq!(
            confidence(b"\x0a\x0d\x08\x02\x12\x09/host:CPU"),
            DetectionConfidence::Certain
        );
        assert_eq!(
            confidence(b"\x22\x02vm\x0a\x7f\x12\x0d/device:TPU:0\x1a"),
            DetectionConfidence::Certain
        );
        assert_eq!(
            confidence(b"\x0a\x05\x12\x03foo"),
            DetectionConfidence::Possible
        );
        // Fields 5 and 2000 of a later version: a number and bytes.
        assert_eq!(
            confidence(b"\x28\x07\x0a\x0d\x08\x02\x12\x09/host:CPU"),
            DetectionConfidence::Certain
        );
        assert_eq!(
            confidence(b"\x82\x7d\x02ab\x0a\x0d\x08\x02\x12\x09/host:CPU"),
            DetectionConfidence::Certain
        );
        assert_eq!(
            confidence(b"\x28\x07\x0a\x05\x12\x03foo"),
            DetectionConfidence::No
        );
    }

    #[test]
    fn other_bytes_are_not_a_profile() {
        let random: Vec<u8> = (0_u32..4096)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        let json = b"\n{\"traceEvents\": [{\"ph\": \"M\"}]}";
        let hlo = b"\x0a\x10\x0a\x05jit_f\x12\x04main";
        for bytes in [
            &b""[..],
            b"{}",
            b"\n",
            b"\n\n\n",
            &[0; 4096],
            &random,
            json,
            hlo,
            b"\x1f\x8b\x08\x00",
        ] {
            assert_eq!(
                confidence(bytes),
                DetectionConfidence::No,
                "{:?}",
                &bytes[..bytes.len().min(16)]
            );
        }
    }

    #[test]
    fn corrupted_profile_is_still_recognized() {
        let length_and_id =
            "\n\u{fffd}\u{fffd}\u{6}\u{8}\u{2}\u{12}\n/device:TPU:0\u{fffd}\u{fffd}4\u{8}";
        let tag = "\n\u{6}\u{fffd}\u{2}\u{12}\n/device:TPU:0\u{fffd}\u{fffd}\u{fffd}4\u{8}";
        assert!(confidence(length_and_id.as_bytes()) >= DetectionConfidence::Possible);
        assert_eq!(confidence(tag.as_bytes()), DetectionConfidence::Possible);
    }
}
