//! Reads parts of the unpacked content long after the import.

use std::io::{self, BufReader, Read, Seek as _, SeekFrom};

use flate2::bufread::MultiGzDecoder;

use super::InputSource;

/// Reads parts of one file on demand. Gzip has no random access, so its reader keeps its position: a read further ahead
/// only unpacks the distance, and a read further back starts from the beginning.
pub struct DeferredReader {
    source: InputSource,
    unpacking: Option<Unpacking>,
}

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
        }
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
                let mut unpacking = unpacking
                    .filter(|unpacking| unpacking.at <= start)
                    .unwrap_or_else(|| Unpacking {
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
