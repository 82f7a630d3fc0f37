//! Describes unrecognized content, for a helpful error message.

/// Magic bytes of file types.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x7fELF", "an ELF executable or library"),
    (b"MZ", "a Windows executable"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O executable"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (
        b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f",
        "Riegeli records, for which this build lacks the feature riegeli",
    ),
    (
        b"PK\x03\x04",
        "a ZIP archive: unpack it and open what is inside",
    ),
    (
        b"7z\xbc\xaf\x27\x1c",
        "a 7-Zip archive: unpack it and open what is inside",
    ),
    (
        b"\x28\xb5\x2f\xfd",
        "Zstandard-compressed data: unpack it with zstd -d",
    ),
    (b"\xfd7zXZ\x00", "xz-compressed data: unpack it with xz -d"),
    (b"BZh", "bzip2-compressed data: unpack it with bzip2 -d"),
    (b"\x1f\x8b", "gzip inside gzip"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"ML\xefR", "MLIR bytecode"),
    (b"BC\xc0\xde", "LLVM bitcode"),
    (
        b"HloModule",
        "HLO as text, which is a program, not a profile",
    ),
    (b"#!", "a script"),
    (
        b"version https://git-lfs",
        "a Git LFS pointer: fetch the file itself with git lfs pull",
    ),
];

/// The largest field number of the messages that profilers write.
const MAX_PLAUSIBLE_FIELD: u64 = 1000;

/// Whether `head` starts an archive of files.
pub fn is_archive(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.get(257..262) == Some(b"ustar")
}

/// Describes `head`, the first bytes of a file.
pub fn looks_like(head: &[u8]) -> String {
    if head.is_empty() {
        return "the file is empty".to_owned();
    }
    if let Some((_, what)) = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
        return format!("it looks like {what}");
    }
    let what = if head.iter().all(|&byte| byte == 0) {
        "zeros: the copy that made this file probably failed"
    } else if is_archive(head) {
        "a tar archive: unpack it and open what is inside"
    } else if is_pickle(head) {
        "a Python pickle"
    } else if let Some(text) = as_text(head) {
        return format!("it looks like {}", kind_of_text(text));
    } else if contains(head, "\u{fffd}".as_bytes()) {
        "binary data that was converted to UTF-8 text on its way here, which destroys it: copy the original again in binary mode"
    } else if is_perfetto(head) {
        "a trace in Perfetto's own format: Perfetto's traceconv makes JSON of it (traceconv json), which this program reads"
    } else if is_wire_format(head) {
        "a protobuf message, but not of a kind that this program reads"
    } else {
        "unknown binary data"
    };
    format!(
        "it looks like {what}; it begins with {}",
        trace_model::joined(head.iter().take(8).map(|byte| format!("{byte:02x}")), " ")
    )
}

/// The ending that files with such content usually have; `None` where it says too little, such as text of any kind.
pub fn usual_ending(head: &[u8]) -> Option<&'static str> {
    let Some(text) = as_text(head) else {
        return is_wire_format(head).then_some("pb");
    };
    let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    match text.lines().next().unwrap_or_default() {
        _ if text.starts_with(['{', '[']) => Some("json"),
        line if line.contains(',') => Some("csv"),
        _ => None,
    }
}

/// Whether this is a program in Python: it imports several modules. Logs quote one line of a program, mostly indented.
pub fn is_python(head: &[u8]) -> bool {
    let imports = |line: &&str| match line.split_once(' ') {
        Some(("import", name)) => !name.contains(':'),
        Some(("from", rest)) => rest.contains(" import "),
        _ => false,
    };
    as_text(head).is_some_and(|text| text.lines().filter(imports).nth(1).is_some())
}

/// Whether some bytes contain others.
pub fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}

fn is_pickle(head: &[u8]) -> bool {
    matches!(
        head,
        [
            0x80,
            2..=5,
            0x95 | b'}' | b']' | b'c' | b'(' | b'K' | b'X',
            ..
        ]
    )
}

/// `head` as text, ignoring a character that is cut off at its end.
fn as_text(head: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{1b}');
    (!text.chars().any(control)).then_some(text)
}

fn kind_of_text(text: &str) -> String {
    let trimmed = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let lower: String = trimmed
        .chars()
        .take(64)
        .collect::<String>()
        .to_ascii_lowercase();
    if text.contains("Ran out of memory in memory space ") {
        return "a message of a compiler about memory, which systole memory reads".to_owned();
    }
    if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
        return "a web page (HTML): the download probably got a login or error page".to_owned();
    }
    if is_python(text.as_bytes()) {
        return "a script in Python".to_owned();
    }
    if lower.starts_with('<') {
        return "XML".to_owned();
    }
    if lower.starts_with(['{', '[']) {
        return "JSON without trace events".to_owned();
    }
    let line: String = trimmed
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(40)
        .collect();
    if line.is_empty() {
        "white space".to_owned()
    } else {
        format!("text that begins {line:?}")
    }
}

/// Whether the first few fields read as protobuf wire format.
fn is_wire_format(head: &[u8]) -> bool {
    let mut rest = head;
    for fields in 0..8 {
        let Some((key, after)) = varint(rest) else {
            return fields > 0;
        };
        if key >> 3 == 0 || key >> 3 > MAX_PLAUSIBLE_FIELD {
            return false;
        }
        let skip = match key & 7 {
            0 => varint(after).map(|(_, after_value)| after.len() - after_value.len()),
            1 => Some(8),
            2 => varint(after)
                .map(|(len, body)| (after.len() - body.len()).saturating_add(len as usize)),
            5 => Some(4),
            _ => return false,
        };
        match skip.and_then(|skip| after.get(skip..)) {
            Some(next) => rest = next,
            // The field extends beyond the head.
            None => return true,
        }
    }
    true
}

/// Whether the first message is a packet of Perfetto: unlike the plane of a profile, it begins with a field above 6.
fn is_perfetto(head: &[u8]) -> bool {
    let Some((len, rest)) = head.strip_prefix(b"\x0a").and_then(varint) else {
        return false;
    };
    let packet = rest.get(..len as usize).unwrap_or(rest);
    let field = varint(packet).map(|(key, _)| key >> 3);
    field.is_some_and(|field| field > 6) && is_wire_format(packet) && is_wire_format(head)
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let len = bytes.iter().take(10).position(|&byte| byte < 0x80)? + 1;
    let value = bytes[..len]
        .iter()
        .rev()
        .fold(0_u64, |value, &byte| (value << 7) | u64::from(byte & 0x7f));
    Some((value, &bytes[len..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_mistakes_are_named() {
        for (head, expected) in [
            (&b""[..], "empty"),
            (&[0; 64], "zeros"),
            (b"\x7fELF\x02\x01", "ELF"),
            (b"\x89PNG\r\n\x1a\n\0\0", "PNG"),
            (b"PK\x03\x04\x14", "ZIP"),
            (b"SQLite format 3\0\x10", "SQLite"),
            (b"\x80\x04\x95\x10\0\0\0", "pickle"),
            (b"\n<!DOCTYPE html><html>", "HTML"),
            (b"<?xml version='1.0'?>", "XML"),
            (
                b"\"\"\"Trains.\"\"\"\nimport os\nfrom jax import numpy\n",
                "a script in Python",
            ),
            (b"{\"name\": 1}", "JSON without trace events"),
            (b"hello world\nsecond", "text that begins \"hello world\""),
            (b"\x0a\x05hello\x10\x07", "protobuf"),
            (
                b"\x0a\x18\xe2\x03\x11\x08\x01\x1a\x0dsynthetic_v5e",
                "traceconv json",
            ),
            (b"\x0a\x0a\x08\x01\x12\x04abcd", "protobuf"),
            (
                b"\xde\xad\xbe\xef\xff\xff",
                "unknown binary data; it begins with de ad be ef ff ff",
            ),
            (b"\x0a\xef\xbf\xbd\x01\x02\xff", "converted to UTF-8"),
        ] {
            let found = looks_like(head);
            assert!(found.contains(expected), "{head:?}: {found}");
        }
    }

    #[test]
    fn nothing_panics_on_any_three_bytes_or_fewer() {
        for first in 0..=255_u8 {
            for second in [0, 1, 7, 0x7f, 0x80, 0xff] {
                for third in [0, 0x0a, 0x80, 0xff] {
                    for len in 0..=3 {
                        looks_like(&[first, second, third][..len]);
                    }
                }
            }
        }
    }
}
