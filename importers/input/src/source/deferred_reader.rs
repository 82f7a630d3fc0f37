//! Reads parts of the unpacked content long after the import.

use std::io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::InputSource;

/// Reads parts of one file on demand. Gzip has no random access, so its reader keeps its position: a read further ahead
/// only unpacks the distance, and a read further back starts from the beginning. If that happens again and again, as
/// when all arguments are read track by track, the unpacked content is kept where [`Self::keep`] allows it, unless it is
/// too large.
pub struct DeferredReader {
    source: InputSource,
    unpacking: Option<Unpacking>,
    /// How often unpacking started at the beginning.
    starts: u32,
    may_keep: bool,
    whole: Option<Vec<u8>>,
}

/// At this start, the whole content is unpacked and kept.
const STARTS: u32 = 3;
/// Most bytes of content that is kept by all readers together.
const MOST_KEPT: u64 = 512 << 20;
/// Bytes that are kept now.
static KEPT: AtomicU64 = AtomicU64::new(0);

/// Maximum buffer capacity to reserve before the data has been read.
const LITTLE: u64 = 1 << 20;

struct Unpacking {
    reader: Box<dyn Read + Send>,
    at: u64,
}

impl DeferredReader {
    /// A reader of the content; nothing is unpacked before it is asked for.
    pub fn new(source: &InputSource) -> Self {
        Self {
            source: source.without_bytes(),
            unpacking: None,
            starts: 0,
            may_keep: false,
            whole: None,
        }
    }

    /// Allows that the content stays in memory. Reports read few arguments and have to do without.
    pub fn keep(&mut self) {
        if !self.may_keep {
            (self.may_keep, self.starts) = (true, 0);
        }
    }

    fn kept(&self) -> u64 {
        self.whole.as_ref().map_or(0, |whole| whole.len() as u64)
    }

    /// Name of the file.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Appends up to `len` bytes from `start` on. A source without a file is read from its bytes.
    ///
    /// # Errors
    ///
    /// Those of [`InputSource::open_again`].
    pub fn read(&mut self, start: u64, len: u64, into: &mut Vec<u8>) -> Result<(), String> {
        let unpacking = self.unpacking.take();
        let read = if self.source.is_stored() {
            // The file is opened each time, because a file that has changed must not be used.
            let mut file = self.source.open_again()?;
            if self.source.gzip {
                let unpacking = unpacking.filter(|unpacking| unpacking.at <= start);
                if unpacking.is_none() {
                    self.starts = self.starts.saturating_add(1);
                    if self.may_keep && self.starts == STARTS {
                        let room = MOST_KEPT.saturating_sub(KEPT.load(Ordering::Relaxed));
                        self.whole = whole(BufReader::new(&file), room);
                        KEPT.fetch_add(self.kept(), Ordering::Relaxed);
                        file.rewind()
                            .map_err(|error| self.source.no_arguments(&error))?;
                    }
                }
                if let Some(whole) = &self.whole {
                    into.extend_from_slice(part(whole, start, len));
                    return Ok(());
                }
                let mut unpacking = unpacking.unwrap_or_else(|| Unpacking {
                    reader: Box::new(MultiGzDecoder::new(BufReader::new(file))),
                    at: 0,
                });
                let before = into.len();
                let read = read_range(&mut unpacking.reader, start - unpacking.at, len, into);
                // A short read means the end of the file or damage; the reader cannot continue after it.
                self.unpacking = (into.len() - before == len as usize).then(|| Unpacking {
                    at: start + len,
                    ..unpacking
                });
                read
            } else {
                file.seek(SeekFrom::Start(start))
                    .and_then(|_| read_range(file, 0, len, into))
            }
        } else {
            read_range(self.source.reader(), start, len, into)
        };
        read.map_err(|error| self.source.no_arguments(&error))
    }
}

impl Drop for DeferredReader {
    fn drop(&mut self) {
        KEPT.fetch_sub(self.kept(), Ordering::Relaxed);
    }
}

/// The unpacked content, up to damage; `None` if it is larger than `most`, or nothing can be unpacked.
fn whole(packed: impl BufRead, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    // What is damaged is used up to the damage, as in the import.
    let _ = MultiGzDecoder::new(packed)
        .take(most + 1)
        .read_to_end(&mut bytes);
    (1..=most).contains(&(bytes.len() as u64)).then_some(bytes)
}

/// Up to `len` bytes from `start` on.
fn part(whole: &[u8], start: u64, len: u64) -> &[u8] {
    let at = |place: u64| {
        usize::try_from(place)
            .unwrap_or(usize::MAX)
            .min(whole.len())
    };
    &whole[at(start)..at(start.saturating_add(len))]
}

/// Reads up to `len` bytes after skipping `skipped`. If the stream is damaged, the bytes before the damage are used,
/// as in the import.
fn read_range(mut reader: impl Read, skipped: u64, len: u64, into: &mut Vec<u8>) -> io::Result<()> {
    let before = into.len();
    io::copy(&mut reader.by_ref().take(skipped), &mut io::sink())?;
    into.reserve_exact(len.min(LITTLE) as usize);
    match reader.take(len).read_to_end(into) {
        Err(error) if into.len() == before => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn reading_backwards_again_and_again_keeps_the_content() {
        let content: Vec<u8> = (0..100_000_u32).map(|at| (at % 251) as u8).collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.json.gz");
        std::fs::write(&path, gzip(&content)).unwrap();
        let mut reader = DeferredReader::new(&InputSource::open(&path).unwrap());
        for start in (0..20_u64).rev() {
            reader.read(start * 5_000, 9, &mut Vec::new()).unwrap();
            assert!(reader.whole.is_none(), "nobody has allowed it");
        }
        reader.keep();
        for (turn, start) in (0..20).rev().map(|at| at * 5_000).enumerate() {
            let mut bytes = Vec::new();
            reader.read(start as u64, 7_000, &mut bytes).unwrap();
            let end = (start + 7_000).min(content.len());
            assert_eq!(bytes, &content[start..end], "{start}");
            assert_eq!(reader.whole.is_some(), turn >= 3, "{turn}");
        }
        let mut bytes = Vec::new();
        reader.read(u64::MAX - 1, 9, &mut bytes).unwrap();
        assert!(bytes.is_empty());
    }

    #[test]
    fn only_content_of_a_limited_size_is_kept() {
        let packed = gzip(b"0123456789");
        assert_eq!(whole(&packed[..], 10).as_deref(), Some(&b"0123456789"[..]));
        assert_eq!(whole(&packed[..], 9), None);
        assert_eq!(whole(&b"damaged"[..], 9), None);
        assert_eq!(
            whole(&packed[..packed.len() - 4], 10).map(|all| all.len()),
            Some(10)
        );
    }
}
