//! Sizes that the chunks of a Riegeli file claim, checked before anything is unpacked: a chunk of a few kilobytes can claim
//! to hold terabytes, and its reader believes it.
//!
//! A file is divided into blocks of 64 KiB, each with a header of 24 bytes. Chunks lie across them: a header of 40 bytes
//! (hash, size, hash of the data, type and number of records, unpacked size) and data. Each chunk follows the one before;
//! after damage, readers go on where the header of a block says that the next one begins. What is found at both is
//! checked.

use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::ops::Range;

const BLOCK: u64 = 1 << 16;
const BLOCK_HEADER: u64 = 24;
const CHUNK_HEADER: u64 = 40;
/// Signature, metadata, padding, records, transposed records.
const TYPES: &[u8] = b"smprt";

/// The claims of the header of a chunk.
struct ChunkClaim {
    data_size: u64,
    kind: u8,
    records: u64,
    unpacked: u64,
}

fn number(bytes: &[u8], start: usize) -> u64 {
    bytes
        .get(start..start + 8)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, u64::from_le_bytes)
}

/// The position after the header of a block, if this lies within one.
fn after_block_header(position: u64) -> u64 {
    if position % BLOCK < BLOCK_HEADER {
        position - position % BLOCK + BLOCK_HEADER
    } else {
        position
    }
}

/// The position `length` bytes of chunks after another.
fn advanced(position: u64, length: u64) -> u64 {
    let position = after_block_header(position);
    let (base, room) = (position - position % BLOCK, BLOCK - BLOCK_HEADER);
    let total = (position % BLOCK - BLOCK_HEADER).saturating_add(length);
    let rest = total % room;
    let block = base.saturating_add((total / room).saturating_mul(BLOCK));
    if rest == 0 && length > 0 {
        block
    } else {
        block.saturating_add(BLOCK_HEADER + rest)
    }
}

/// Reads the header of the chunk that begins here.
fn claim_at(bytes: &[u8], begin: u64) -> Option<ChunkClaim> {
    let mut header = Vec::with_capacity(CHUNK_HEADER as usize);
    let mut position = begin;
    while header.len() < CHUNK_HEADER as usize {
        position = after_block_header(position);
        let missing = CHUNK_HEADER - header.len() as u64;
        let end = position
            .saturating_add(missing)
            .min(position - position % BLOCK + BLOCK);
        header.extend_from_slice(bytes.get(position as usize..end as usize)?);
        position = end;
    }
    let (kind, records) = (number(&header, 24) as u8, number(&header, 24) >> 8);
    let claim = ChunkClaim {
        data_size: number(&header, 8),
        kind,
        records,
        unpacked: number(&header, 32),
    };
    (claim.data_size <= bytes.len() as u64 && TYPES.contains(&claim.kind)).then_some(claim)
}

/// Headers of chunks that claim to unpack to more than `most` bytes and `ratio` times their size, with that claim.
pub(super) fn oversized(bytes: &[u8], most: u64, ratio: u64) -> Vec<(Range<u64>, u64)> {
    let len = bytes.len() as u64;
    let mut begins = Vec::new();
    let mut begin = 0;
    while let Some(claim) = claim_at(bytes, begin) {
        begins.push(begin);
        // Each record takes a byte of the file at least.
        let after_records = begin.saturating_add(claim.records);
        let after_records = if after_records % BLOCK == 0 {
            after_records
        } else {
            after_block_header(after_records)
        };
        let next = advanced(begin, CHUNK_HEADER.saturating_add(claim.data_size)).max(after_records);
        if next <= begin || next >= len {
            break;
        }
        begin = next;
    }
    let blocks = (0..len).step_by(BLOCK as usize);
    begins.extend(blocks.map(|block| block.saturating_add(number(bytes, block as usize + 16))));
    begins.retain(|&begin| begin < len);
    begins.sort_unstable();
    begins.dedup();
    let too_large = |begin: u64| {
        let claim = claim_at(bytes, begin)?;
        let is_too_large = claim.unpacked > most && claim.unpacked / claim.data_size.max(1) > ratio;
        let start = after_block_header(begin);
        is_too_large.then(|| (start..advanced(start, CHUNK_HEADER), claim.unpacked))
    };
    begins.into_iter().filter_map(too_large).collect()
}

/// Bytes of which some read as zeros, so that the checksum over them is wrong and a reader skips what they describe.
pub(super) struct MaskedBytes<'a> {
    bytes: Cursor<&'a [u8]>,
    masked: Vec<Range<u64>>,
}

impl<'a> MaskedBytes<'a> {
    pub fn new(bytes: &'a [u8], masked: Vec<Range<u64>>) -> Self {
        Self {
            bytes: Cursor::new(bytes),
            masked,
        }
    }
}

impl Read for MaskedBytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let start = self.bytes.position();
        let read = self.bytes.read(buffer)?;
        let end = start + read as u64;
        for Range {
            start: from,
            end: to,
        } in &self.masked
        {
            let (from, to) = (
                (*from).clamp(start, end) - start,
                (*to).clamp(start, end) - start,
            );
            if let Some(hidden) = buffer.get_mut(from as usize..to as usize) {
                hidden.fill(0);
            }
        }
        Ok(read)
    }
}

impl Seek for MaskedBytes<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.bytes.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use riegeli::{CompressionType, RecordWriter, WriterOptions};

    use super::*;

    /// A file of one chunk for each record.
    fn file(records: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let options = WriterOptions::new()
            .chunk_size(1)
            .compression(CompressionType::Brotli);
        let mut writer = RecordWriter::new(&mut bytes, options).unwrap();
        for record in records {
            writer.write_record(record).unwrap();
        }
        writer.close().unwrap();
        bytes
    }

    /// Bytes that do not shrink.
    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn chunks_are_found_across_blocks() {
        // The last chunk lies several blocks behind the first.
        let bytes = file(&[
            noise(200_000),
            vec![0; 50_000],
            noise(65_000),
            vec![0; 60_000],
        ]);
        let found: Vec<u64> = oversized(&bytes, 40_000, 100)
            .into_iter()
            .map(|(_, unpacked)| unpacked)
            .collect();
        assert_eq!(found, [50_000, 60_000]);
        assert!(
            oversized(&bytes, 60_000, 100).is_empty()
                && oversized(&bytes, 40_000, 1 << 20).is_empty()
        );
    }

    #[test]
    fn chunks_behind_damage_are_found_too() {
        let mut bytes = file(&[noise(200_000), vec![0; 50_000]]);
        bytes[70] ^= 0xff;
        assert_eq!(oversized(&bytes, 40_000, 100).len(), 1);
    }

    #[test]
    fn no_bytes_lead_outside_of_the_file() {
        let whole = file(&[noise(70_000), vec![0; 5_000]]);
        for len in (0..whole.len()).step_by(101) {
            let _ = oversized(&whole[..len], 0, 0);
        }
        for at in 0..200 {
            let mut bytes = whole.clone();
            bytes[at] = 0xff;
            let _ = oversized(&bytes, 0, 0);
        }
    }

    #[test]
    fn masked_bytes_read_as_zeros_wherever_reading_begins() {
        let bytes: Vec<u8> = (1..=20).collect();
        let mut masked = MaskedBytes::new(&bytes, vec![3..6, 10..12]);
        for start in 0..20 {
            let mut rest = Vec::new();
            masked.seek(SeekFrom::Start(start)).unwrap();
            masked.read_to_end(&mut rest).unwrap();
            let expected = (start..20).map(|at| {
                if (3..6).contains(&at) || (10..12).contains(&at) {
                    0
                } else {
                    at + 1
                }
            });
            assert!(rest.into_iter().map(u64::from).eq(expected), "{start}");
        }
    }
}
