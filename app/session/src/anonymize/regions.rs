//! Where the texts of an `XSpace` are: every field of `tsl/profiler/protobuf/xplane.proto` that holds bytes, those that
//! this program does not know included. Values of type `bytes` are messages (HLO protos), texts or opaque. What the
//! importer does not read of a damaged file is a region, too.

use std::ops::Range;

use importers::visit_xplane_elements;
use trace_model::wire::{WireCursor, WireValue};

/// Messages nest at most this deep.
const MOST_LEVELS: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextKind {
    /// Name of a machine.
    Host,
    /// Name of a device or host in the profile.
    Plane,
    /// Name of a track, of a thread for example.
    Line,
    /// Name of an op, a function or another event.
    Event,
    /// Name of a fact, or one that facts share.
    Stat,
    /// A fact: source, scope, shape.
    Value,
    /// A text in a program of the compiler, or in another message.
    Message,
    /// What the profiler reports.
    Note,
    /// A string of a JSON file.
    Json,
    /// Neither text nor message.
    Opaque,
    /// Behind damage, where nobody can tell names from numbers.
    Unreadable,
}

impl TextKind {
    /// What it is, in words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Host => "names of machines",
            Self::Plane => "names of devices and hosts",
            Self::Line => "names of tracks and threads",
            Self::Event => "names of ops, functions and other events",
            Self::Stat => "names of facts",
            Self::Value => "facts of ops and events: sources, scopes, shapes",
            Self::Message => "texts in programs of the compiler",
            Self::Note => "notes of the profiler",
            Self::Json => "strings of JSON",
            Self::Opaque => "texts within data that is no text",
            Self::Unreadable => "what cannot be read",
        }
    }
}

/// A text in a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Region {
    pub range: Range<usize>,
    pub kind: TextKind,
}

/// A message of `xplane.proto`.
#[derive(Clone, Copy)]
enum XplaneMessage {
    Space,
    Plane,
    Line,
    Event,
    Stat,
    EventEntry,
    StatEntry,
    EventMetadata,
    StatMetadata,
}

/// What a field of bytes holds.
#[derive(Clone, Copy)]
enum FieldContent {
    Text(TextKind),
    Message(XplaneMessage),
    Bytes,
}

impl XplaneMessage {
    fn field(self, number: u32) -> FieldContent {
        use FieldContent::Text;
        match (self, number) {
            (Self::Space, 1) => FieldContent::Message(Self::Plane),
            (Self::Space, 2 | 3) => Text(TextKind::Note),
            (Self::Space, 4) => Text(TextKind::Host),
            (Self::Plane, 2) => Text(TextKind::Plane),
            (Self::Plane, 3) => FieldContent::Message(Self::Line),
            (Self::Plane, 4) => FieldContent::Message(Self::EventEntry),
            (Self::Plane, 5) => FieldContent::Message(Self::StatEntry),
            (Self::Plane, 6) | (Self::Event, 4) | (Self::EventMetadata, 5) => {
                FieldContent::Message(Self::Stat)
            }
            (Self::Line, 2 | 11) => Text(TextKind::Line),
            (Self::Line, 4) => FieldContent::Message(Self::Event),
            (Self::Stat, 5) => Text(TextKind::Value),
            (Self::EventEntry, 2) => FieldContent::Message(Self::EventMetadata),
            (Self::StatEntry, 2) => FieldContent::Message(Self::StatMetadata),
            (Self::EventMetadata, 2 | 4) => Text(TextKind::Event),
            (Self::StatMetadata, 2 | 3) => Text(TextKind::Stat),
            _ => FieldContent::Bytes,
        }
    }
}

/// The texts of a file, and what the importer does not read of it.
pub(super) fn of_xspace(bytes: &[u8]) -> Vec<Region> {
    let mut regions = Vec::new();
    let mut read_to = 0;
    visit_xplane_elements(bytes, |element| {
        unreadable(read_to..element.whole.start, &mut regions);
        read_to = element.whole.end;
        field(
            bytes,
            element.content,
            XplaneMessage::Space.field(element.field),
            &mut regions,
        );
        if let Some(line) = element.cut_line {
            message(bytes, line, XplaneMessage::Line, &mut regions);
        }
    });
    unreadable(read_to..bytes.len(), &mut regions);
    regions
}

fn unreadable(range: Range<usize>, regions: &mut Vec<Region>) {
    if !range.is_empty() {
        regions.push(Region {
            range,
            kind: TextKind::Unreadable,
        });
    }
}

/// The texts of a message. The importer reads each message up to the damage in it.
fn message(bytes: &[u8], range: Range<usize>, what: XplaneMessage, regions: &mut Vec<Region>) {
    let end = range.end;
    let mut cursor = WireCursor::new(bytes, range);
    loop {
        let position = cursor.position();
        match cursor.next() {
            Ok(Some((number, WireValue::Bytes(range)))) => {
                field(bytes, range, what.field(number), regions);
            }
            Ok(Some(_)) => {}
            Ok(None) => return,
            Err(_) => return unreadable(position..end, regions),
        }
    }
}

fn field(bytes: &[u8], range: Range<usize>, what: FieldContent, regions: &mut Vec<Region>) {
    match what {
        _ if range.is_empty() => {}
        FieldContent::Text(kind) => regions.push(Region { range, kind }),
        FieldContent::Message(inner) => message(bytes, range, inner, regions),
        FieldContent::Bytes => unknown(bytes, range, 0, regions),
    }
}

/// Bytes that may be a message, a text or neither.
fn unknown(bytes: &[u8], range: Range<usize>, level: u32, regions: &mut Vec<Region>) {
    let content = &bytes[range.clone()];
    if level < MOST_LEVELS
        && let Some(fields) = fields(bytes, range.clone())
    {
        for field in fields.into_iter().filter(|field| !field.is_empty()) {
            unknown(bytes, field, level + 1, regions);
        }
        return;
    }
    let is_text = std::str::from_utf8(content).is_ok_and(|text| {
        !text
            .chars()
            .any(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
    });
    regions.push(Region {
        range,
        kind: if is_text {
            TextKind::Message
        } else {
            TextKind::Opaque
        },
    });
}

/// The fields of bytes if they are a message from the first to the last byte.
fn fields(bytes: &[u8], range: Range<usize>) -> Option<Vec<Range<usize>>> {
    /// Texts that are messages by chance have large field numbers.
    const LARGEST: u32 = 1000;
    let mut cursor = WireCursor::new(bytes, range);
    let mut fields = Vec::new();
    while let Some((number, value)) = cursor.next().ok()? {
        if number > LARGEST {
            return None;
        }
        if let WireValue::Bytes(range) = value {
            fields.push(range);
        }
    }
    Some(fields)
}
