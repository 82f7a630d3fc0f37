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
    whole: Option<KeptContent>,
}

/// At this start, the whole content is unpacked and kept.
const STARTS: u32 = 3;
/// Most bytes of content that is kept by all readers together.
const MOST_KEPT: u64 = 512 << 20;
/// Bytes that are kept now, or that somebody unpacks to keep them.
static KEPT: AtomicU64 = AtomicU64::new(0);

/// Bytes that are reserved at once.
const RESERVED_AT_ONCE: u64 = 1 << 20;

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

    /// Name of the file.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Fails if [`Self::read`] would, without reading.
    ///
    /// # Errors
    ///
    /// Those of [`InputSource::open_again`].
    pub fn check(&self) -> Result<(), String> {
        if self.source.is_stored() {
            self.source.open_again()?;
        }
        Ok(())
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
                        self.whole = KeptContent::of(BufReader::new(&file), &KEPT, MOST_KEPT);
                        file.rewind()
                            .map_err(|error| self.source.no_arguments(&error))?;
                    }
                }
                if let Some(whole) = &self.whole {
                    into.extend_from_slice(part(&whole.bytes, start, len));
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

/// Unpacked content whose bytes are part of a sum that has a limit.
struct KeptContent {
    bytes: Vec<u8>,
    /// Its part of the sum.
    reserved: u64,
    sum: &'static AtomicU64,
}

impl KeptContent {
    /// The unpacked content, up to damage; `None` if with it the sum were more than `most`, or nothing can be unpacked.
    /// Bytes are reserved before they are unpacked: others do so at the same time.
    fn of(packed: impl BufRead, sum: &'static AtomicU64, most: u64) -> Option<Self> {
        let mut content = Self {
            bytes: Vec::new(),
            reserved: 0,
            sum,
        };
        let mut room = content.reserve(most);
        let mut reader = MultiGzDecoder::new(packed);
        loop {
            // Where no room is left, one byte more shows that it does not fit.
            let mut part = reader.by_ref().take(room.max(1));
            // What is damaged is used up to the damage, as in the import.
            let read = part.read_to_end(&mut content.bytes);
            let has = content.bytes.len() as u64;
            if has > content.reserved {
                return None;
            }
            if read.is_err() || has < content.reserved || room == 0 {
                content.release(content.reserved - has);
                return (has > 0).then_some(content);
            }
            room = content.reserve(most);
        }
    }

    /// Reserves the next bytes, as many as there is room for.
    fn reserve(&mut self, most: u64) -> u64 {
        let room = |sum: u64| most.saturating_sub(sum).min(RESERVED_AT_ONCE);
        let with = |sum| Some(sum + room(sum));
        let before = self
            .sum
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, with);
        let room = room(before.unwrap_or(most));
        self.reserved += room;
        room
    }

    fn release(&mut self, bytes: u64) {
        self.reserved -= bytes;
        self.sum.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for KeptContent {
    fn drop(&mut self) {
        self.release(self.reserved);
    }
}

/// Up to `len` bytes from `start` on.
fn part(whole: &[u8], start: u64, len: u64) -> &[u8] {
    let index = |place: u64| {
        usize::try_from(place)
            .unwrap_or(usize::MAX)
            .min(whole.len())
    };
    &whole[index(start)..index(start.saturating_add(len))]
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
        static SUM: AtomicU64 = AtomicU64::new(0);
        let packed = gzip(b"0123456789");
        let of = |packed: &[u8], most| {
            let content = KeptContent::of(packed, &SUM, most)?;
            assert_eq!(SUM.load(Ordering::Relaxed), content.bytes.len() as u64);
            Some(content.bytes.clone())
        };
        assert_eq!(of(&packed, 10).as_deref(), Some(&b"0123456789"[..]));
        assert_eq!(of(&packed, 9), None);
        assert_eq!(of(b"damaged", 9), None);
        let cut = &packed[..packed.len() - 4];
        assert_eq!(of(cut, 20).map(|all| all.len()), Some(10));
        assert_eq!(SUM.load(Ordering::Relaxed), 0, "all is given back");
    }

    /// A reader that looks, while it is read, at how much others may still keep.
    struct Watched<'a>(&'a [u8], &'a dyn Fn());

    impl Read for Watched<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            (self.1)();
            self.0.read(into)
        }
    }

    #[test]
    fn bytes_are_reserved_before_they_are_unpacked() {
        static SUM: AtomicU64 = AtomicU64::new(0);
        let packed = gzip(b"0123456789");
        let other = || assert!(KeptContent::of(&packed[..], &SUM, 15).is_none());
        let first = BufReader::new(Watched(&packed, &other));
        let first = KeptContent::of(first, &SUM, 15).unwrap();
        assert_eq!((first.reserved, SUM.load(Ordering::Relaxed)), (10, 10));
        assert!(KeptContent::of(&packed[..], &SUM, 15).is_none());
        assert!(KeptContent::of(&packed[..], &SUM, 20).is_some());
    }
}
