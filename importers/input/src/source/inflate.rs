//! Unpacks gzip piece by piece.

use std::io::{self, Read as _};

use flate2::bufread::MultiGzDecoder;

use crate::{ImportError, Progress, Result};

/// Unpacks a gzip stream, counts bytes, and rejects decompression bombs.
pub(super) struct Inflater<'a> {
    decoder: MultiGzDecoder<&'a [u8]>,
    packed_len: usize,
    packed: u64,
    pub unpacked: u64,
    end: Option<io::Result<()>>,
}

impl<'a> Inflater<'a> {
    pub fn new(packed: &'a [u8]) -> Self {
        Self {
            decoder: MultiGzDecoder::new(packed),
            packed_len: packed.len(),
            packed: 0,
            unpacked: 0,
            end: None,
        }
    }

    pub fn ended(&self) -> bool {
        self.end.is_some()
    }

    /// Why the stream ended early.
    pub fn damage(&self) -> Option<String> {
        let Some(Err(error)) = &self.end else {
            return None;
        };
        Some(match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                "the gzip stream breaks off; the file was not written or copied to its end".into()
            }
            io::ErrorKind::InvalidInput if self.unpacked > 0 => NOT_GZIP.to_owned(),
            _ => format!("the gzip stream is damaged: {error}"),
        })
    }

    /// Fills `into` as far as possible and returns the number of bytes.
    pub fn fill(&mut self, into: &mut [u8], progress: &Progress) -> Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            match self.decoder.read(&mut into[filled..]) {
                Ok(0) => {
                    self.end = Some(Ok(()));
                    break;
                }
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.end = Some(Err(error));
                    break;
                }
            }
        }
        let packed = (self.packed_len - self.decoder.get_ref().len()) as u64;
        progress.add_done(packed - self.packed);
        self.packed = packed;
        self.unpacked += filled as u64;
        if self.unpacked > BOMB_BYTES && self.unpacked / self.packed.max(1) > MAX_RATIO {
            let what = format!(
                "{} bytes of gzip unpack to more than {} bytes, which no profile does; \
                 unpack it by hand if it is to be trusted",
                self.packed, self.unpacked
            );
            return Err(ImportError::TooLarge { what });
        }
        Ok(filled)
    }
}

/// A gzip stream above this ratio and [`BOMB_BYTES`] is rejected as a decompression bomb. Real profiles have ratios of
/// 10 to 60.
pub(super) const MAX_RATIO: u64 = 300;
/// See [`MAX_RATIO`].
pub(super) const BOMB_BYTES: u64 = 128 << 20;

/// Damage message for an intact stream that is followed by other data.
pub const NOT_GZIP: &str = "what follows the gzip stream is not gzip, and was not read";
