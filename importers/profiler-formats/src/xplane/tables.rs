//! Metadata of the events of one plane: event metadata and stat names, by id. Ids are only valid in their plane.

use std::borrow::Cow;
use std::ops::{Deref, Range};

use importer_common::prelude::*;
use serde::{Deserialize, Serialize};
use trace_model::wire::{BrokenMessage, WireCursor, WireValue, tag};

use super::ids::IdMap;
use super::known::Known;

/// The unpacked file.
pub(super) type FileBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// The entries of the two metadata maps of a plane.
#[derive(Serialize, Deserialize)]
pub(super) struct MetadataEntries {
    event_keys: Vec<u64>,
    /// The `XEventMetadata` message of each row.
    event_messages: Vec<Range<usize>>,
    stat_keys: Vec<u64>,
    stat_names: Vec<Box<str>>,
}

/// Positions of the metadata of one plane. Outlives the bytes of the file.
pub(super) struct MetadataIndex {
    events: IdMap,
    stats: IdMap,
    entries: MetadataEntries,
}

/// The stats of a plane that the importer reads.
pub(super) struct KnownStats {
    by_row: Vec<Known>,
    /// The same by id, for small ids, because events have millions of stats.
    by_id: Vec<Known>,
}

impl KnownStats {
    fn new(index: &MetadataIndex, by_row: Vec<Known>) -> Self {
        let of_row = |row: u32| by_row.get(row as usize).copied().unwrap_or(Known::Other);
        let by_id = index.stats.dense().iter().map(|&row| of_row(row)).collect();
        Self { by_row, by_id }
    }

    /// Whether one of them is this.
    pub fn contains(&self, wanted: Known) -> bool {
        self.by_row.contains(&wanted)
    }

    /// Those for which `is_read` is true.
    pub fn only(&self, is_read: impl Fn(Known) -> bool) -> Self {
        let only = |known: &Vec<Known>| {
            let read = |&known: &Known| if is_read(known) { known } else { Known::Other };
            known.iter().map(read).collect()
        };
        Self {
            by_row: only(&self.by_row),
            by_id: only(&self.by_id),
        }
    }
}

impl MetadataIndex {
    /// The index of `entries`.
    pub fn new(entries: MetadataEntries) -> Self {
        Self {
            events: IdMap::new(&entries.event_keys),
            stats: IdMap::new(&entries.stat_keys),
            entries,
        }
    }

    /// What [`Self::new`] needs to make it again.
    pub fn saved(&self) -> &MetadataEntries {
        &self.entries
    }

    /// Row of an event's metadata.
    #[inline]
    pub fn event_row(&self, id: u64) -> Option<usize> {
        self.events.get(id)
    }

    /// All event metadata, by row.
    pub fn event_messages(&self) -> &[Range<usize>] {
        &self.entries.event_messages
    }

    /// Name of a stat.
    pub fn stat_name(&self, stat: u64) -> Option<&str> {
        self.entries
            .stat_names
            .get(self.stats.get(stat)?)
            .map(|name| &**name)
    }

    /// The text of a stat of `bytes`, whether stored in place or by reference.
    pub fn text<'a>(&'a self, bytes: &'a [u8], value: &StatValue) -> Option<Cow<'a, str>> {
        match value {
            StatValue::Text(range) => Some(String::from_utf8_lossy(
                bytes.get(range.clone()).unwrap_or_default(),
            )),
            StatValue::Ref(id) => self.stat_name(*id).map(Cow::Borrowed),
            _ => None,
        }
    }

    /// A stat of `bytes` as an argument to show.
    pub fn arg_value(&self, bytes: &[u8], value: &StatValue) -> ArgValue {
        match value {
            StatValue::Int(v) => ArgValue::Int(*v),
            StatValue::Uint(v) => ArgValue::Uint(*v),
            StatValue::Double(v) => ArgValue::Float(*v),
            StatValue::Bytes(range) => ArgValue::Opaque(range.len()),
            StatValue::Text(_) | StatValue::Ref(_) => self
                .text(bytes, value)
                .map_or(ArgValue::Null, |text| ArgValue::Text(text.into_owned())),
            StatValue::None => ArgValue::Null,
        }
    }
}

/// Metadata of one plane, together with the bytes that contain it.
pub(super) struct PlaneMetadata {
    file: FileBytes,
    index: Arc<MetadataIndex>,
    stats: KnownStats,
}

impl Deref for PlaneMetadata {
    type Target = MetadataIndex;

    fn deref(&self) -> &MetadataIndex {
        &self.index
    }
}

impl PlaneMetadata {
    /// Reads the entries of the two metadata maps of a plane. An unreadable entry is passed to `broken` and skipped.
    pub fn new(
        file: FileBytes,
        event_entries: &[Range<usize>],
        stat_entries: &[Range<usize>],
        mut broken: impl FnMut(BrokenMessage),
    ) -> Self {
        let bytes = (*file).as_ref();
        let mut read = |entries: &[Range<usize>]| {
            let (mut ids, mut messages) = (
                Vec::with_capacity(entries.len()),
                Vec::with_capacity(entries.len()),
            );
            for entry in entries {
                match map_entry(bytes, entry.clone()) {
                    Ok((id, message)) => {
                        ids.push(id);
                        messages.push(message);
                    }
                    Err(error) => broken(error),
                }
            }
            (ids, messages)
        };
        let (event_keys, event_messages) = read(event_entries);
        let (stat_keys, stat_messages) = read(stat_entries);
        let names = || {
            stat_messages.iter().map(|message| {
                bytes
                    .get(name_of(bytes, message.clone()))
                    .unwrap_or_default()
            })
        };
        let known: Vec<Known> = names().map(Known::from_name).collect();
        let stat_names = names()
            .map(|name| String::from_utf8_lossy(name).into())
            .collect();
        let entries = MetadataEntries {
            event_keys,
            event_messages,
            stat_keys,
            stat_names,
        };
        let index = MetadataIndex::new(entries);
        Self {
            file,
            stats: KnownStats::new(&index, known),
            index: Arc::new(index),
        }
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        (*self.file).as_ref()
    }

    /// The positions of the metadata.
    pub fn index(&self) -> &Arc<MetadataIndex> {
        &self.index
    }

    /// Id of a row of the event metadata.
    pub fn event_key(&self, row: usize) -> Option<u64> {
        self.index.entries.event_keys.get(row).copied()
    }

    /// The integer value of a stat in the metadata of an event.
    pub fn metadata_int(&self, event: u64, wanted: Known) -> Option<i64> {
        let message = self.event_messages().get(self.event_row(event)?)?.clone();
        let mut cursor = WireCursor::new(self.bytes(), message);
        let mut last = None;
        while let Ok(Some(field)) = cursor.next() {
            if let (5, WireValue::Bytes(range)) = field
                && let Ok((id, value)) = stat(self.bytes(), range)
                && self.known(id) == wanted
            {
                // If a stat occurs twice, the last value counts.
                last = self.int(&value);
            }
        }
        last
    }

    /// The stats of the plane that the importer reads.
    pub fn stats(&self) -> &KnownStats {
        &self.stats
    }

    /// The known stat with this id, if the importer reads it.
    #[inline]
    pub fn known(&self, stat: u64) -> Known {
        self.known_of(&self.stats, stat)
    }

    /// The same of these stats of the plane.
    #[inline]
    pub fn known_of(&self, stats: &KnownStats, stat: u64) -> Known {
        // Small ids occur only in this table.
        match usize::try_from(stat)
            .ok()
            .and_then(|id| stats.by_id.get(id))
        {
            Some(&known) => known,
            None => self.known_by_row(stats, stat),
        }
    }

    fn known_by_row(&self, stats: &KnownStats, stat: u64) -> Known {
        let row = self.index.stats.get(stat);
        row.and_then(|row| stats.by_row.get(row))
            .copied()
            .unwrap_or(Known::Other)
    }

    /// Bytes of the file; empty outside it.
    pub fn slice(&self, range: Range<usize>) -> &[u8] {
        self.bytes().get(range).unwrap_or_default()
    }

    /// The text of a stat, whether stored in place or by reference.
    pub fn text(&self, value: &StatValue) -> Option<Cow<'_, str>> {
        self.index.text(self.bytes(), value)
    }

    /// A stat as an argument to show.
    pub fn arg_value(&self, value: &StatValue) -> ArgValue {
        self.index.arg_value(self.bytes(), value)
    }

    /// The integer of a stat in any numeric form, numeric text included.
    #[inline]
    pub fn int(&self, value: &StatValue) -> Option<i64> {
        match value {
            StatValue::Int(v) => Some(*v),
            StatValue::Uint(v) => Some(*v as i64),
            other => self.arg_value(other).as_i64(),
        }
    }

    /// The number of a stat in any numeric form, numeric text included.
    pub fn float(&self, value: &StatValue) -> Option<f64> {
        self.arg_value(value).as_f64()
    }
}

/// The value of an `XStat`. Integers can be signed or unsigned, depending on the producer, so readers must accept both.
#[derive(Debug)]
pub(super) enum StatValue {
    None,
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Range<usize>),
    Bytes(Range<usize>),
    /// The id of the stat metadata whose name is the text.
    Ref(u64),
}

// Fields of an `XStat` that hold a number.
const UINT: u64 = tag::varint(3);
const INT: u64 = tag::varint(4);
const REF: u64 = tag::varint(7);

impl StatValue {
    /// Whether the field with this tag holds an integer.
    #[inline]
    pub fn is_integer(tag: u64) -> bool {
        tag == UINT || tag == INT
    }

    /// The value in the field with this tag; `None` for other fields.
    #[inline]
    pub fn of_number(tag: u64, number: u64) -> Self {
        match tag {
            UINT => Self::Uint(number),
            INT => Self::Int(number as i64),
            REF => Self::Ref(number),
            _ => Self::None,
        }
    }
}

/// Reads an `XStat`: the id of its name, and its value.
#[inline(never)]
pub(super) fn stat(file: &[u8], range: Range<usize>) -> Result<(u64, StatValue), BrokenMessage> {
    const ID: u64 = tag::varint(1);
    const DOUBLE: u64 = tag::fixed64(2);
    const TEXT: u64 = tag::bytes(5);
    const BYTES: u64 = tag::bytes(6);

    let mut cursor = WireCursor::new(file, range);
    let (mut id, mut value) = (0, StatValue::None);
    loop {
        let position = cursor.position();
        let Some(tag) = cursor.tag()? else {
            return Ok((id, value));
        };
        match tag {
            ID => id = cursor.varint()?,
            DOUBLE => value = StatValue::Double(f64::from_bits(cursor.fixed64()?)),
            UINT | INT | REF => value = StatValue::of_number(tag, cursor.varint()?),
            TEXT => value = StatValue::Text(cursor.length_delimited()?),
            BYTES => value = StatValue::Bytes(cursor.length_delimited()?),
            _ => cursor.skip_value(tag, position)?,
        }
    }
}

/// Key and value of a map entry. The key may be absent, which means 0; the id inside the message is redundant and often
/// wrong.
pub(super) fn map_entry(
    file: &[u8],
    range: Range<usize>,
) -> Result<(u64, Range<usize>), BrokenMessage> {
    let end = range.end;
    let mut cursor = WireCursor::new(file, range);
    let (mut key, mut message) = (0, end..end);
    while let Some(field) = cursor.next()? {
        match field {
            (1, WireValue::Varint(v)) => key = v,
            (2, WireValue::Bytes(range)) => message = range,
            _ => {}
        }
    }
    Ok((key, message))
}

/// Field 2 of a message: its name.
pub(super) fn name_of(file: &[u8], range: Range<usize>) -> Range<usize> {
    let end = range.end;
    let mut cursor = WireCursor::new(file, range);
    let mut name = end..end;
    while let Ok(Some(field)) = cursor.next() {
        if let (2, WireValue::Bytes(range)) = field {
            name = range;
        }
    }
    name
}
