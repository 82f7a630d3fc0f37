//! One file to import: its bytes, unpacked.
//!
//! Files below `MAP_FROM` are read into memory, larger ones are mapped. Gzip is recognized by its magic number.
//! Importers that need everything at once call [`InputSource::content`]; those that can work piece by piece call
//! [`InputSource::feed`], which inflates on a separate thread meanwhile.

mod beside;
mod deferred_reader;
mod feed;
mod inflate;
mod packed_bytes;
#[cfg(feature = "riegeli")]
mod record_chunks;
#[cfg(feature = "riegeli")]
mod riegeli;

use std::any::Any;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use flate2::bufread::MultiGzDecoder;

use crate::memory::MappedFile;
use crate::{FingerprintHash, ImportError, Progress, Result};
use inflate::Inflater;
use packed_bytes::PackedBytes;

pub use beside::{file_name, is_within, small_text};
pub use deferred_reader::DeferredReader;
pub use feed::FeedResult;
pub use inflate::NOT_GZIP;
pub use packed_bytes::SharedBytes;

/// Number of unpacked bytes that importers see for detection.
pub const HEAD_BYTES: usize = 4096;

/// First bytes of a gzip file.
pub const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Files of this size or more are mapped instead of read: nothing is copied, and their pages can be released again.
/// Copying a smaller file takes a millisecond or two at most, and it then does no harm if the file changes meanwhile
/// (see [`crate::memory`]).
const MAP_FROM: u64 = 8 << 20;

/// A stream cannot be mapped and is read up to this size.
const STREAM_LIMIT: u64 = 256 << 20;

/// Bytes that are hashed before it is looked whether the import was cancelled: two milliseconds.
const HASHED_AT_ONCE: usize = 16 << 20;

/// One file to import. Gzip is unpacked transparently, independent of the file name.
#[derive(Debug, Clone)]
pub struct InputSource {
    name: String,
    path: Option<PathBuf>,
    /// Where its bytes can be read again: the path, or a copy of what is in a bucket.
    stored: Option<PathBuf>,
    /// Copies of the files that lie beside it in a bucket.
    beside: Option<Arc<CopiedNeighbours>>,
    /// Below which files beside it may be read; any if empty.
    roots: Arc<[PathBuf]>,
    /// Size and modification time when it was opened, for [`Self::open_again`].
    version: Option<(u64, Option<SystemTime>)>,
    packed: Arc<PackedBytes>,
    gzip: bool,
    head: Vec<u8>,
    /// Size on disk, if the bytes are unpacked records.
    records_len: Option<u64>,
    /// Damaged parts of records, and why.
    skipped: Arc<Vec<String>>,
}

/// The whole unpacked content.
pub struct SourceContent {
    /// The bytes, borrowed from the file if it was not compressed.
    pub bytes: SharedBytes,
    /// Why the end is missing, if a gzip stream is truncated.
    pub damage: Option<String>,
}

impl InputSource {
    /// Opens a file of this machine.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or mapped.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            let what = "a directory was given where a file is expected";
            return Err(io::Error::new(io::ErrorKind::IsADirectory, what).into());
        }
        let name = file_name(path);
        let packed = read_or_map(file, &metadata)?;
        // Content from a pipe cannot be read again by its name.
        let path = metadata.is_file().then(|| path.to_owned());
        let source = Self::new(name, packed)?;
        // Records cannot be read again in part.
        let stored = path.clone().filter(|_| source.records_len.is_none());
        Ok(Self {
            path,
            stored,
            version: Some(version_of(&metadata)),
            ..source
        })
    }

    /// A file of a bucket or web server, of which there is a copy on this machine. Only a `kept` copy has a path.
    ///
    /// # Errors
    ///
    /// The copy cannot be mapped.
    pub fn from_copy(address: &Path, copy: &File, kept: Option<PathBuf>) -> Result<Self> {
        let name = file_name(address);
        let (version, source) = (
            Some(version_of(&copy.metadata()?)),
            Self::from_file(name, copy)?,
        );
        let stored = kept.filter(|_| source.records_len.is_none());
        Ok(Self {
            path: Some(address.to_owned()),
            stored,
            version,
            ..source
        })
    }

    /// A file without a path, or whose path should not be shown: `name` is shown instead. It is mapped at any size.
    ///
    /// # Errors
    ///
    /// The file cannot be mapped.
    pub fn from_file(name: impl Into<String>, file: &File) -> Result<Self> {
        Self::new(name.into(), mapped(file)?)
    }

    /// A source that consists of bytes in memory.
    ///
    /// # Errors
    ///
    /// The gzip header is damaged.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self> {
        Self::new(name.into(), PackedBytes::Read(bytes))
    }

    fn new(name: String, packed: PackedBytes) -> Result<Self> {
        #[cfg(feature = "riegeli")]
        if riegeli::is_meant(packed.as_ref()) {
            let riegeli::UnpackedRecords { content, skipped } = riegeli::unpack(packed.as_ref())?;
            let records_len = Some(packed.as_ref().len() as u64);
            let skipped = Arc::new(skipped);
            return Ok(Self {
                records_len,
                skipped,
                ..Self::from_content(name, mapped(&content)?)?
            });
        }
        Self::from_content(name, packed)
    }

    /// A file that is neither compressed nor an archive, and whose bytes are not looked at before arguments are read.
    /// It cannot be imported.
    pub fn later(name: String, bytes: SharedBytes) -> Self {
        Self::of_packed(name, PackedBytes::Later(bytes), false)
    }

    fn of_packed(name: String, packed: PackedBytes, gzip: bool) -> Self {
        Self {
            name,
            path: None,
            stored: None,
            beside: None,
            roots: Arc::default(),
            version: None,
            packed: Arc::new(packed),
            gzip,
            head: Vec::new(),
            records_len: None,
            skipped: Arc::default(),
        }
    }

    fn from_content(name: String, packed: PackedBytes) -> Result<Self> {
        let gzip = packed.as_ref().starts_with(&GZIP);
        let mut source = Self::of_packed(name, packed, gzip);
        let mut head = Vec::new();
        // A damaged gzip file still has the content up to the damage.
        let result = source
            .reader()
            .take(HEAD_BYTES as u64)
            .read_to_end(&mut head);
        if head.is_empty() {
            result?;
        }
        source.head = head;
        Ok(source)
    }

    /// Whether another file has the same unpacked content. Files with different beginnings are distinguished quickly.
    pub fn has_content_of(&self, other: &Self) -> bool {
        if self.head != other.head {
            return false;
        }
        let is_same = (*self.packed).as_ref() == (*other.packed).as_ref();
        if is_same || !(self.gzip || other.gzip) {
            return is_same;
        }
        let (mut ours, mut others) = (
            BufReader::new(self.reader()),
            BufReader::new(other.reader()),
        );
        loop {
            // If one is damaged, it is unknown whether they are the same.
            let (Ok(one), Ok(two)) = (ours.fill_buf(), others.fill_buf()) else {
                return false;
            };
            let n = one.len().min(two.len());
            if one.get(..n) != two.get(..n) || (n == 0 && one.len() != two.len()) {
                return false;
            }
            if n == 0 {
                return true;
            }
            ours.consume(n);
            others.consume(n);
        }
    }

    /// Whether the bytes can be read again from a file of this machine.
    pub fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// The copy of a file that is in a bucket.
    pub fn copy(&self) -> Option<&Path> {
        self.stored
            .as_deref()
            .filter(|stored| self.path.as_deref() != Some(stored))
    }

    /// Opens the file again, to read arguments long after the import.
    ///
    /// # Errors
    ///
    /// The file is gone or has changed; the error is a sentence for the user.
    pub fn open_again(&self) -> Result<File, String> {
        let Some(path) = &self.stored else {
            return Err("cannot read arguments: this was never a file".to_owned());
        };
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) = opened.map_err(|error| self.no_arguments(&error))?;
        if Some(version_of(&metadata)) != self.version {
            let shown = path.display();
            return Err(format!(
                "cannot read arguments: the file has changed since it was opened: {shown}"
            ));
        }
        Ok(file)
    }

    fn no_arguments(&self, error: &io::Error) -> String {
        let shown = self
            .path
            .as_ref()
            .map_or_else(|| self.name.clone(), |path| path.display().to_string());
        format!("cannot read arguments: {error}: {shown}")
    }

    /// This source without its bytes, if they can be read again from the file.
    pub fn without_bytes(&self) -> Self {
        let mut source = self.clone();
        if source.is_stored() {
            source.packed = Arc::new(PackedBytes::Read(Vec::new()));
        }
        source
    }

    /// File name, without directories.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its path on disk or in a bucket; `None` for content from a pipe.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Parts of a file of records that are damaged and were skipped.
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Size on disk.
    pub fn disk_len(&self) -> u64 {
        self.records_len.unwrap_or_else(|| self.packed_len())
    }

    /// Bytes to read.
    pub fn packed_len(&self) -> u64 {
        self.packed().len() as u64
    }

    /// Whether there is no content at all.
    pub fn is_empty(&self) -> bool {
        self.disk_len() == 0
    }

    /// Whether the content is gzipped.
    pub fn is_gzip(&self) -> bool {
        self.gzip
    }

    /// The first bytes of the unpacked content.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The unpacked content from its beginning.
    pub fn reader(&self) -> Box<dyn Read + Send + '_> {
        if self.is_gzip() {
            Box::new(MultiGzDecoder::new(self.packed()))
        } else {
            Box::new(self.packed())
        }
    }

    /// The whole unpacked content. A truncated gzip stream is an error only if nothing could be unpacked; else
    /// see [`SourceContent::damage`].
    ///
    /// # Errors
    ///
    /// The file cannot be read, nothing of it can be unpacked, or the import was cancelled.
    pub fn content(&self, progress: &Progress) -> Result<SourceContent> {
        if !self.is_gzip() {
            progress.add_done(self.packed_len());
            return Ok(SourceContent {
                bytes: Arc::clone(&self.packed) as _,
                damage: None,
            });
        }
        let mut inflater = Inflater::new(self.packed());
        let mut unpacked = Vec::new();
        while !inflater.ended() {
            progress.check()?;
            let filled = unpacked.len();
            let room = (2 * filled).clamp(1 << 20, 64 << 20);
            unpacked.resize(filled + room, 0);
            let more = inflater.fill(&mut unpacked[filled..], progress)?;
            unpacked.truncate(filled + more);
        }
        let damage = inflater.damage();
        if let (true, Some(what)) = (unpacked.is_empty(), &damage) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, what.clone()).into());
        }
        Ok(SourceContent {
            bytes: Arc::new(unpacked),
            damage,
        })
    }

    /// The fingerprint of the file; `None` if its bytes are not at hand, because they were unpacked.
    ///
    /// # Errors
    ///
    /// The import was cancelled.
    pub fn fingerprint(&self, progress: &Progress) -> Result<Option<u128>> {
        if self.records_len.is_some() {
            return Ok(None);
        }
        let mut hash = FingerprintHash::default();
        for piece in self.packed().chunks(HASHED_AT_ONCE) {
            progress.check()?;
            hash.update(piece);
        }
        Ok(Some(hash.finish()))
    }

    /// Frees the memory of the bytes at `range` of an uncompressed file, because they are not needed soon.
    pub fn release_pages(&self, range: Range<usize>) {
        if let PackedBytes::Mapped(file) = &*self.packed
            && !self.is_gzip()
        {
            file.release(range);
        }
    }

    /// Number of bytes that are mapped and imported without being copied or unpacked.
    pub fn mapped_len(&self) -> u64 {
        match &*self.packed {
            PackedBytes::Mapped(_) if !self.is_gzip() => self.packed_len(),
            _ => 0,
        }
    }

    /// The bytes as they are stored.
    pub fn packed(&self) -> &[u8] {
        (*self.packed).as_ref()
    }
}

impl AsRef<[u8]> for InputSource {
    fn as_ref(&self) -> &[u8] {
        self.packed()
    }
}

impl std::fmt::Debug for SourceContent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = (*self.bytes).as_ref().len();
        f.debug_struct("Content")
            .field("bytes", &bytes)
            .field("damage", &self.damage)
            .finish()
    }
}

/// Maps a file. An empty one cannot be mapped.
fn mapped(file: &File) -> io::Result<PackedBytes> {
    Ok(if file.metadata()?.len() == 0 {
        PackedBytes::Read(Vec::new())
    } else {
        PackedBytes::Mapped(MappedFile::new(file)?)
    })
}

fn version_of(metadata: &fs::Metadata) -> (u64, Option<SystemTime>) {
    (metadata.len(), metadata.modified().ok())
}

fn read_or_map(mut file: File, metadata: &fs::Metadata) -> Result<PackedBytes> {
    if metadata.is_file() && metadata.len() >= MAP_FROM {
        // Some file systems do not support mapping.
        if let Ok(map) = MappedFile::new(&file) {
            return Ok(PackedBytes::Mapped(map));
        }
    }
    let limit = if metadata.is_file() {
        u64::MAX - 1
    } else {
        STREAM_LIMIT
    };
    let mut bytes = Vec::new();
    let no_room = |_| ImportError::TooLarge {
        what: "a file larger than the memory that is free".into(),
    };
    bytes
        .try_reserve_exact(usize::try_from(metadata.len()).unwrap_or(usize::MAX))
        .map_err(no_room)?;
    // A pipe has no length.
    file.by_ref().take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let what =
            "a stream of more than 256 MiB cannot be mapped; save it as a file and open that"
                .into();
        return Err(ImportError::TooLarge { what });
    }
    Ok(PackedBytes::Read(bytes))
}

/// A folder of this machine, removed when it is not needed any more.
#[derive(Debug)]
struct CopiedNeighbours {
    /// The path that the file itself would have.
    place: PathBuf,
    _folder: Box<dyn Any + Send + Sync>,
}

#[cfg(test)]
mod tests;
