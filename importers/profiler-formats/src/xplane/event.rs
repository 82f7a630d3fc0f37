//! One event, with the fields that the model uses.
//!
//! A capture has millions of these messages, so absent fields must cost nothing. Nearly all stats are numbers and are
//! read as two words (see [`WireCursor::pair`]), which takes a quarter of the instructions of a loop over the fields.

use std::ops::Range;

use importer_common::prelude::*;
use trace_model::wire::{BrokenMessage, WireCursor, tag};

use super::known::{EventNumber, Known};
use super::tables::{KnownStats, PlaneMetadata, StatValue, stat};

/// An event. One instance is reused for all events of a line.
#[derive(Default)]
pub(super) struct XPlaneEvent {
    pub metadata: u64,
    pub offset_ps: i64,
    pub dur_ps: i64,
    /// Sparse facts, to be stored as they are.
    pub attrs: Vec<(SliceAttr, i64)>,
    /// Sparse facts that are texts.
    pub texts: Vec<(SliceAttr, StatValue)>,
    numbers: [i64; EventNumber::COUNT],
    /// Bit set of the entries of `numbers` that the event has.
    has: u32,
}

impl XPlaneEvent {
    /// Reads the event at `range` of the file, which belongs to a line of this kind, with those of its stats that are
    /// among `stats`.
    #[inline]
    pub fn read(
        &mut self,
        (tables, stats): (&PlaneMetadata, &KnownStats),
        kind: TrackKind,
        file: &[u8],
        range: Range<usize>,
    ) -> Result<(), BrokenMessage> {
        const METADATA: u64 = tag::varint(1);
        const OFFSET: u64 = tag::varint(2);
        const DURATION: u64 = tag::varint(3);
        const STATS: u64 = tag::bytes(4);
        const OCCURRENCES: u64 = tag::varint(5);

        self.has = 0;
        self.attrs.clear();
        self.texts.clear();
        let mut cursor = WireCursor::new(file, range);
        // The usual order of the fields. All others are left to the loop, as are long numbers.
        self.metadata = cursor.number(METADATA).unwrap_or_default();
        self.offset_ps = cursor.number(OFFSET).unwrap_or_default() as i64;
        self.dur_ps = cursor.number(DURATION).unwrap_or_default() as i64;
        loop {
            while let Some((id, tag, number)) = cursor.pair(STATS) {
                match tables.known_of(stats, id) {
                    Known::Other => {}
                    known => self.set_number(tables, kind, known, tag, number.get()),
                }
            }
            let position = cursor.position();
            let Some(tag) = cursor.tag()? else {
                return Ok(());
            };
            match tag {
                STATS => {
                    let (id, value) = stat(file, cursor.length_delimited()?)?;
                    self.set_stat(tables, kind, tables.known_of(stats, id), value);
                }
                METADATA => self.metadata = cursor.varint()?,
                // An event has one of the two; as protobuf has it, the last in the file counts.
                OFFSET => {
                    self.offset_ps = cursor.varint()? as i64;
                    self.unset(EventNumber::Occurrences);
                }
                DURATION => self.dur_ps = cursor.varint()? as i64,
                OCCURRENCES => self.set(EventNumber::Occurrences, cursor.varint()? as i64),
                _ => cursor.skip_value(tag, position)?,
            }
        }
    }

    /// Sets what a known stat says, whose value is the `number` of the field with this `tag`.
    #[inline]
    fn set_number(
        &mut self,
        tables: &PlaneMetadata,
        kind: TrackKind,
        known: Known,
        tag: u64,
        number: u64,
    ) {
        match known {
            Known::Number(place) if StatValue::is_integer(tag) => self.set(place, number as i64),
            known => self.set_stat(tables, kind, known, StatValue::of_number(tag, number)),
        }
    }

    /// The number, if the event has it.
    #[inline]
    pub fn get(&self, number: EventNumber) -> Option<i64> {
        (self.has >> number as u32 & 1 == 1).then(|| self.numbers[number as usize])
    }

    #[inline]
    fn set(&mut self, place: EventNumber, number: i64) {
        self.numbers[place as usize] = number;
        self.has |= 1 << place as u32;
    }

    #[inline]
    fn unset(&mut self, place: EventNumber) {
        self.has &= !(1 << place as u32);
    }

    #[inline(never)]
    fn set_stat(
        &mut self,
        tables: &PlaneMetadata,
        kind: TrackKind,
        known: Known,
        value: StatValue,
    ) {
        let attr = match known {
            Known::HloOp => {
                if kind == TrackKind::AsyncOps {
                    self.texts.push((SliceAttr::DoneOp, value));
                }
                return;
            }
            Known::Attr(
                attr @ (SliceAttr::TimeScaleBits
                | SliceAttr::FragmentationBits
                | SliceAttr::CounterValueBits),
            ) => {
                self.attrs.extend(
                    tables
                        .float(&value)
                        .map(|number| (attr, number.to_bits() as i64)),
                );
                return;
            }
            Known::Allocator => {
                self.texts.push((SliceAttr::Allocator, value));
                return;
            }
            Known::Flops => SliceAttr::Flops,
            Known::ModelFlops => SliceAttr::ModelFlops,
            Known::BytesAccessed => SliceAttr::Bytes,
            Known::Attr(attr) => attr,
            Known::Number(place) => {
                if let Some(number) = tables.int(&value) {
                    self.set(place, number);
                }
                return;
            }
            _ => return,
        };
        let Some(number) = tables.int(&value) else {
            return;
        };
        if attr == SliceAttr::MemoryReserved && number == 0 {
            // Most memories have no reserved bytes, so zero is not stored. The last value counts.
            self.attrs.retain(|&(other, _)| other != attr);
        } else {
            self.attrs.push((attr, number));
        }
    }
}
