//! Unpacks Riegeli records: `HOST.xplane.riegeli` of continuous profiling, and of profiles above 2 GB. Each record is an
//! `XSpace`, or a part of one. The concatenation of serialized messages is their merged message, so the records are
//! written one after the other into an unnamed file.
//!
//! Writers append whole files to each other. Each begins with the same 64 bytes, so the parts are found by them. Damaged
//! chunks are skipped.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::rc::Rc;

use riegeli::{ReaderOptions, RecordReader};

use super::inflate::{BOMB_BYTES, MAX_RATIO};
use super::record_chunks::{MaskedBytes, oversized};
use crate::{ImportError, Result};

/// The first bytes of every file: the header of the first block, and the chunk that says what the file is.
const SIGNATURE: [u8; 64] = *b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f\x00\x00\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00\
    \x91\xba\xc2\x3c\x92\x87\xe1\xa9\x00\x00\x00\x00\x00\x00\x00\x00\xe1\x9f\x13\xc0\xe9\xb1\xc3\x72\
    \x73\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";

/// Most regions that are described.
const DESCRIBED: usize = 100;

/// The content of a file of records.
#[derive(Debug)]
pub(super) struct UnpackedRecords {
    pub content: File,
    /// What was skipped, and why.
    pub skipped: Vec<String>,
}

/// Whether these are records; the signature may be damaged in part.
pub(super) fn is_meant(bytes: &[u8]) -> bool {
    bytes.starts_with(&SIGNATURE[..24]) || bytes.get(24..64) == Some(&SIGNATURE[24..])
}

/// Writes all records one after the other.
pub(super) fn unpack(bytes: &[u8]) -> Result<UnpackedRecords> {
    unpack_within(bytes, BOMB_BYTES)
}

/// Unpacks records; no chunk and no file may unpack to more than `most` bytes and a multiple of its size.
fn unpack_within(bytes: &[u8], most: u64) -> Result<UnpackedRecords> {
    let mut out = BufWriter::new(tempfile::tempfile()?);
    let skipped = Rc::new(RefCell::new(Vec::new()));
    let mut starts: Vec<usize> = memchr::memmem::find_iter(bytes, &SIGNATURE).collect();
    if starts.first() != Some(&0) {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    let mut unpacked = 0_u64;
    for (start, end) in starts.iter().copied().zip(ends) {
        let note = Rc::clone(&skipped);
        let say = move |from: u64, to: u64, why: &str| {
            let mut notes = note.borrow_mut();
            if notes.len() < DESCRIBED {
                let (from, to) = (start as u64 + from, start as u64 + to);
                notes.push(format!("bytes {from} to {to}: {why}"));
            }
        };
        let tell = say.clone();
        let options = ReaderOptions::new().recovery(move |region| {
            tell(region.begin(), region.end(), region.message());
            true
        });
        let part = bytes.get(start..end).unwrap_or_default();
        let mut masked = Vec::new();
        for (header, claimed) in oversized(part, most, MAX_RATIO) {
            say(
                header.start,
                header.end,
                &format!("a chunk that claims to unpack to {claimed} bytes was not read"),
            );
            masked.push(header);
        }
        let mut reader = match RecordReader::new(MaskedBytes::new(part, masked), options) {
            Ok(reader) => reader,
            Err(error) => {
                say(0, part.len() as u64, &error.to_string());
                continue;
            }
        };
        loop {
            match reader.read_record() {
                Ok(Some(record)) => {
                    unpacked += record.len() as u64;
                    if unpacked > most && unpacked / (bytes.len() as u64).max(1) > MAX_RATIO {
                        let what = format!(
                            "{} bytes of records unpack to more than {unpacked} bytes",
                            bytes.len()
                        );
                        return Err(ImportError::TooLarge { what });
                    }
                    out.write_all(&record)?;
                }
                Ok(None) => break,
                Err(error) => {
                    say(0, part.len() as u64, &error.to_string());
                    break;
                }
            }
        }
    }
    if let (0, Some(first)) = (unpacked, skipped.borrow().first()) {
        let what = format!("no record can be read; {first}");
        return Err(ImportError::Malformed {
            format: "file of Riegeli records",
            offset: 0,
            what,
        });
    }
    let content = out
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    let skipped = skipped.take();
    Ok(UnpackedRecords { content, skipped })
}

#[cfg(test)]
mod tests {
    use riegeli::{CompressionType, RecordWriter, WriterOptions};

    use super::*;
    use crate::{InputSource, Progress};

    /// A file of records, one a chunk.
    fn records(records: &[&[u8]]) -> Vec<u8> {
        written(records, CompressionType::None)
    }

    fn written(records: &[&[u8]], compression: CompressionType) -> Vec<u8> {
        let mut bytes = Vec::new();
        let options = WriterOptions::new().chunk_size(1).compression(compression);
        let mut writer = RecordWriter::new(&mut bytes, options).unwrap();
        for record in records {
            writer.write_record(record).unwrap();
        }
        writer.close().unwrap();
        bytes
    }

    fn content(bytes: Vec<u8>) -> (Vec<u8>, usize) {
        let source = InputSource::from_bytes("a.xplane.riegeli", bytes).unwrap();
        let content = source.content(&Progress::new()).unwrap();
        ((*content.bytes).as_ref().to_vec(), source.skipped().len())
    }

    #[test]
    fn records_are_joined_in_order_also_of_appended_files() {
        let (first, second) = (records(&[b"one ", b"two "]), records(&[b"three"]));
        assert!(first.starts_with(&SIGNATURE));
        assert_eq!(content(first.clone()), (b"one two ".to_vec(), 0));
        assert_eq!(
            content([first, second].concat()),
            (b"one two three".to_vec(), 0)
        );
        assert_eq!(content(records(&[])), (Vec::new(), 0));
    }

    #[test]
    fn a_damaged_chunk_is_skipped_and_said() {
        let whole = records(&[b"first record", b"second record", b"third record"]);
        let at = memchr::memmem::find(&whole, b"second").map_or(whole.len() / 2, |at| at + 2);
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        let (bytes, skipped) = content(damaged);
        assert!(
            skipped >= 1 && bytes.starts_with(b"first record"),
            "{skipped} {bytes:?}"
        );
        for len in SIGNATURE.len()..whole.len() {
            match InputSource::from_bytes("a", whole[..len].to_vec()) {
                Ok(source) => {
                    let content = source.content(&Progress::new()).unwrap();
                    assert!(
                        b"first recordsecond recordthird record"
                            .starts_with((*content.bytes).as_ref()),
                        "{len}"
                    );
                }
                Err(error) => assert!(
                    error.to_string().contains("no record can be read"),
                    "{len}: {error}"
                ),
            }
        }
    }

    #[test]
    fn a_chunk_that_claims_too_much_is_skipped() {
        use std::io::{Read as _, Seek as _};
        let whole = written(
            &[b"first record", &vec![0; 50_000], b"third record"],
            CompressionType::Brotli,
        );
        let mut unpacked = unpack_within(&whole, 40_000).unwrap();
        let mut content = Vec::new();
        unpacked.content.rewind().unwrap();
        unpacked.content.read_to_end(&mut content).unwrap();
        assert!(
            content.starts_with(b"first record") && content.len() < 100,
            "{}",
            content.len()
        );
        assert!(
            unpacked.skipped[0].contains("claims to unpack to 50000 bytes"),
            "{:?}",
            unpacked.skipped
        );
    }

    #[test]
    fn any_byte_may_be_changed() {
        let whole = records(&[b"first record", &[7; 300], b"third record"]);
        for at in 0..whole.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= flip;
                // Any answer is fine, a panic is not.
                let _ = InputSource::from_bytes("a", damaged);
            }
        }
    }

    #[test]
    fn a_profile_in_records_is_the_profile() {
        let (spec, _) = sample_traces::sample_specs().swap_remove(0);
        let run = sample_traces::synthetic::SyntheticRun::new(spec);
        let space = sample_traces::write::xspace_bytes(&run.session());
        let packed = records(&[&space]);
        assert_eq!(
            InputSource::from_bytes("a", packed.clone())
                .unwrap()
                .disk_len(),
            packed.len() as u64
        );
        assert!(content(packed) == (space, 0));
    }
}
