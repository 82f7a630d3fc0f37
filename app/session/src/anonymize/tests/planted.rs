//! Markers in every text of every field of a profile: none is left.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use sample_traces::write::ProtoMessage;
use trace_model::wire::{WireCursor, WireValue};

use super::*;

/// How names stand in texts: `{}` is a marker, `{+}` the same in capitals, `{%}` with its first letter percent-encoded.
const FORMS: [&str; 24] = [
    "/home/{}/x.py by {+} and {%}",
    "/data/{}/y",
    r"C:\Users\{}\x",
    r"\\{}\share\x",
    "file:///home/{}/x",
    "%2Fhome%2F{}%2Fx.py",
    "https%3A%2F%2Fh.example%2F{}",
    "s3://bucket/{}",
    "https://h.example/p?X-Amz-Signature={}&e=1",
    "https://h.example/p?e=1#{}",
    "https://{}:x@h.example/p",
    "https://h.example:80/p;v={}",
    "(https://h.example/p?sig={})",
    "user={}",
    "USER=\"{}\"",
    "--owner={}",
    "hostname='{}'",
    "{}.c.acme.internal",
    "{}.corp:80",
    "at {}.example.com.",
    "dns:///{}.example.com:8470",
    "{}@example.com",
    "a@{}.example.com",
    "~/{}/x",
];

/// A text for the field with this number, and numbers of networks in it.
fn planted(number: usize, numbers: &mut BTreeSet<String>) -> String {
    let mut text = String::new();
    for (at, form) in FORMS.iter().enumerate() {
        let marker = format!("mk{number:05}f{at:02}");
        let encoded = format!("%6D{}", &marker[1..]);
        let form = form
            .replace("{}", &marker)
            .replace("{+}", &marker.to_uppercase())
            .replace("{%}", &encoded);
        let _ = write!(text, " {form}");
    }
    let [high, low] = [number / 256, number % 256];
    for (number, around) in [
        (format!("2001:db8::{high:x}:{low:x}"), "[]"),
        (format!("fe80::7:{high:x}:{low:x}"), " %eth0"),
        (format!("02:42:ac:7f:{high:02x}:{low:02x}"), "  "),
        (format!("02-42-AD-7F-{high:02X}-{low:02X}"), "()"),
        (format!("10.77.{high}.{low}"), "=:8470"),
    ] {
        let (before, after) = around.split_at(1);
        let _ = write!(text, " {before}{number}{after}");
        numbers.insert(number);
    }
    text
}

/// What a field holds, by `xplane.proto`: the message, or nothing for texts, bytes and numbers.
fn nested(message: &str, field: u32) -> Option<&'static str> {
    Some(match (message, field) {
        ("space", 1) => "plane",
        ("plane", 3) => "line",
        ("plane", 4) => "event entry",
        ("plane", 5) => "stat entry",
        ("plane", 6) | ("event", 4) | ("event metadata", 5) => "stat",
        ("line", 4) => "event",
        ("event entry", 2) => "event metadata",
        ("stat entry", 2) => "stat metadata",
        _ => return None,
    })
}

/// Fields of texts and bytes of a message. In each that a profile lacks, and in one that nobody knows, there is a marker,
/// too.
fn texts_of(message: &str) -> &'static [u32] {
    match message {
        "space" | "event metadata" => &[2, 3, 4, 99],
        "plane" => &[2, 99],
        "line" => &[2, 11, 99],
        "stat" => &[5, 6, 99],
        "stat metadata" => &[2, 3, 99],
        _ => &[99],
    }
}

/// A profile with markers in all texts.
#[derive(Default)]
struct Planting {
    count: usize,
    numbers: BTreeSet<String>,
}

impl Planting {
    fn message(&mut self, what: &str, bytes: &[u8], range: Range<usize>) -> ProtoMessage {
        let (mut out, mut seen) = (ProtoMessage::default(), BTreeSet::new());
        let mut cursor = WireCursor::new(bytes, range);
        while let Some((field, value)) = cursor.next().unwrap() {
            match (value, nested(what, field)) {
                (WireValue::Varint(value), _) => out.present(field, value),
                (WireValue::Fixed64(value), _) => out.double(field, f64::from_bits(value)),
                (WireValue::Fixed32, _) => panic!("no field of a profile has four bytes"),
                (WireValue::Bytes(range), Some(inner)) => {
                    let inner = self.message(inner, bytes, range);
                    out.bytes(field, inner);
                }
                (WireValue::Bytes(range), None) => {
                    seen.insert(field);
                    let text = String::from_utf8_lossy(&bytes[range]).into_owned();
                    self.text(what, field, &text, &mut out);
                }
            }
        }
        for field in texts_of(what).iter().filter(|field| !seen.contains(field)) {
            self.text(what, *field, "", &mut out);
        }
        out
    }

    fn text(&mut self, what: &str, field: u32, before: &str, out: &mut ProtoMessage) {
        self.count += 1;
        let text = format!("{before}{}", planted(self.count, &mut self.numbers));
        // Bytes are a text, a program of the compiler, or neither.
        match (what, field, self.count % 3) {
            ("stat", 6, 0) | ("event metadata", 3, 0) => out.message(field, |program| {
                program.message(1, |module| {
                    module.text(1, &text);
                    module.uint(5, 7);
                });
            }),
            ("stat", 6, 1) | ("event metadata", 3, 1) => {
                out.bytes(
                    field,
                    [&b"\xff\x00\x80\x01"[..], text.as_bytes(), b"\x00\xfe"].concat(),
                );
            }
            _ => out.text(field, &text),
        }
    }
}

/// What is left of the markers, however it is written.
fn left(bytes: &[u8], numbers: &BTreeSet<String>) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes)
        .to_lowercase()
        .replace("%6d", "m")
        .replace("%2f", "/");
    let digits = |part: &str| part.len() == 5 && part.bytes().all(|byte| byte.is_ascii_digit());
    let names = text
        .match_indices("mk")
        .filter(|(at, _)| text.get(at + 2..at + 7).is_some_and(digits));
    let names = names
        .map(|(at, _)| text[text.floor_char_boundary(at.saturating_sub(24))..at + 10].to_owned());
    let numbers = numbers
        .iter()
        .filter(|number| text.contains(&number.to_lowercase()))
        .cloned();
    names.chain(numbers).take(5).collect()
}

fn check(name: &str, bytes: &[u8]) {
    let mut planting = Planting::default();
    let before = planting
        .message("space", bytes, 0..bytes.len())
        .into_bytes();
    assert!(planting.count > 50 && !left(&before, &planting.numbers).is_empty());
    let (mut names, mut kept, mut after) = (Names::default(), Kept::default(), before.clone());
    let regions = regions_of(FileKind::XPlane, &after);
    learn(&after, &regions, &mut names);
    replace(&mut after, &regions, &mut names, &mut kept);
    assert_eq!(after.len(), before.len());
    assert_eq!(
        left(&after, &planting.numbers),
        Vec::<String>::new(),
        "{name}, of {} texts",
        planting.count
    );
    let listed = kept
        .texts
        .values()
        .flatten()
        .map(String::as_str)
        .collect::<String>();
    assert_eq!(
        left(listed.as_bytes(), &planting.numbers),
        Vec::<String>::new(),
        "{name}: what is listed as kept"
    );
}

#[test]
fn no_marker_is_left_in_any_field() {
    let kernel = sample_traces::rare::PallasKernel {
        executions: 1,
        steps: 1,
        ..Default::default()
    };
    check(
        "kernel",
        &sample_traces::write::xspace_bytes(&kernel.session()),
    );
    // One of each message, otherwise empty.
    let mut space = ProtoMessage::default();
    space.message(1, |plane| {
        plane.message(3, |line| {
            line.message(4, |event| event.message(4, |stat| stat.uint(1, 1)));
        });
        plane.message(4, |entry| {
            entry.message(2, |metadata| metadata.message(5, |stat| stat.uint(1, 1)));
        });
        plane.message(5, |entry| entry.message(2, |metadata| metadata.uint(1, 1)));
        plane.message(6, |stat| stat.uint(1, 1));
        (0..12).for_each(|_| plane.message(6, |stat| stat.uint(1, 1)));
    });
    check("one of each", &space.into_bytes());
}
