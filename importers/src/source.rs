//! One file to import: its bytes, unpacked.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use crate::{ImportError, Progress};

/// How much of the unpacked content importers see to recognise it.
const HEAD_BYTES: usize = 4096;

/// One file to import. Gzip is unpacked on the way, whatever the name says.
#[derive(Debug)]
pub struct Source {
    name: String,
    path: Option<PathBuf>,
    packed: Arc<Vec<u8>>,
    gzip: bool,
    head: Vec<u8>,
}

impl Source {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let mut packed = Vec::new();
        File::open(path)?.read_to_end(&mut packed)?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Self::new(name, Some(path.to_owned()), packed)
    }

    /// A source that never was a file.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, ImportError> {
        Self::new(name.into(), None, bytes)
    }

    fn new(name: String, path: Option<PathBuf>, packed: Vec<u8>) -> Result<Self, ImportError> {
        let packed = Arc::new(packed);
        let gzip = packed.starts_with(&[0x1f, 0x8b]);
        let mut source = Self { name, path, packed, gzip, head: Vec::new() };
        let mut head = Vec::new();
        // A damaged gzip still shows what it holds up to the damage.
        if let Err(error) = source.reader().take(HEAD_BYTES as u64).read_to_end(&mut head)
            && head.is_empty()
        {
            return Err(error.into());
        }
        source.head = head;
        Ok(source)
    }

    /// File name, without directories.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it lies on disk.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Bytes on disk.
    pub fn packed_len(&self) -> u64 {
        self.packed.len() as u64
    }

    /// The first bytes of the unpacked content.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The unpacked content from its beginning.
    pub fn reader(&self) -> Box<dyn Read + '_> {
        if self.gzip { Box::new(MultiGzDecoder::new(&self.packed[..])) } else { Box::new(&self.packed[..]) }
    }

    /// The whole unpacked content, borrowed where it was not packed.
    pub fn bytes(&self, progress: &Progress) -> Result<Arc<dyn AsRef<[u8]> + Send + Sync>, ImportError> {
        if !self.gzip {
            progress.add_done(self.packed_len());
            return Ok(Arc::clone(&self.packed) as _);
        }
        let mut unpacked = Vec::new();
        io::copy(&mut self.reader(), &mut unpacked)?;
        progress.add_done(self.packed_len());
        Ok(Arc::new(unpacked))
    }
}
