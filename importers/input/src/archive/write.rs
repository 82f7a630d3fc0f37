//! Writes archives.

use std::io::{self, Read, Seek, SeekFrom, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use super::{DEFLATED, END, ENTRY, LOCAL_HEADER, UTF_8};

/// 1980-01-01: archives of the same files are equal.
const DATE: u16 = 0x21;
/// Version of the format that readers need for deflate.
const VERSION: u16 = 20;

/// Writes an archive, file by file.
pub struct ArchiveWriter<W> {
    out: W,
    entries: Vec<u8>,
    count: u16,
}

fn too_large(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("{what} has 4 GB or more, which a ZIP archive cannot hold"),
    )
}

impl<W: Write + Seek> ArchiveWriter<W> {
    /// An empty archive.
    pub fn new(out: W) -> Self {
        Self {
            out,
            entries: Vec::new(),
            count: 0,
        }
    }

    /// Adds a file, compressed.
    ///
    /// # Errors
    ///
    /// Reading or writing fails, or a size is 4 GB or more.
    pub fn add(&mut self, name: &str, mut content: impl Read) -> io::Result<()> {
        let at = self.position(name)?;
        let name_bytes =
            u16::try_from(name.len()).map_err(|_long| io::Error::other("a name is too long"))?;
        // Checksum and sizes are written when they are known.
        self.out.write_all(LOCAL_HEADER)?;
        self.out.write_all(&common(0, 0, 0, name_bytes))?;
        self.out.write_all(name.as_bytes())?;
        let start = self.out.stream_position()?;
        let mut crc = Crc::new();
        let mut encoder = DeflateEncoder::new(&mut self.out, Compression::default());
        let (mut buffer, mut size) = (vec![0; 1 << 18], 0_u64);
        loop {
            let n = content.read(&mut buffer)?;
            if n == 0 {
                break;
            }
            let bytes = buffer.get(..n).unwrap_or_default();
            crc.update(bytes);
            encoder.write_all(bytes)?;
            size += n as u64;
        }
        encoder.finish()?;
        let end = self.out.stream_position()?;
        let size = u32::try_from(size).map_err(|_large| too_large(name))?;
        let packed = u32::try_from(end - start).map_err(|_large| too_large(name))?;
        let header = common(crc.sum(), packed, size, name_bytes);
        self.out
            .seek(SeekFrom::Start(u64::from(at) + LOCAL_HEADER.len() as u64))?;
        self.out.write_all(&header)?;
        self.out.seek(SeekFrom::Start(end))?;

        self.entries.extend_from_slice(ENTRY);
        self.entries.extend_from_slice(&VERSION.to_le_bytes());
        self.entries.extend_from_slice(&header);
        // No comment, first disk, no attributes.
        self.entries.extend_from_slice(&[0; 10]);
        self.entries.extend_from_slice(&at.to_le_bytes());
        self.entries.extend_from_slice(name.as_bytes());
        self.count = self
            .count
            .checked_add(1)
            .ok_or_else(|| io::Error::other("too many files for a ZIP archive"))?;
        Ok(())
    }

    /// Writes the directory.
    ///
    /// # Errors
    ///
    /// Writing fails, or the archive has 4 GB or more.
    pub fn finish(mut self) -> io::Result<W> {
        let at = self.position("the archive")?;
        let size =
            u32::try_from(self.entries.len()).map_err(|_large| too_large("the list of files"))?;
        self.out.write_all(&self.entries)?;
        self.out.write_all(END)?;
        self.out.write_all(&[0; 4])?;
        self.out.write_all(&self.count.to_le_bytes())?;
        self.out.write_all(&self.count.to_le_bytes())?;
        self.out.write_all(&size.to_le_bytes())?;
        self.out.write_all(&at.to_le_bytes())?;
        self.out.write_all(&[0; 2])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn position(&mut self, what: &str) -> io::Result<u32> {
        u32::try_from(self.out.stream_position()?).map_err(|_large| too_large(what))
    }
}

/// What local headers and entries of the directory have in common.
fn common(crc: u32, packed: u32, size: u32, name_bytes: u16) -> Vec<u8> {
    let mut header = Vec::with_capacity(26);
    for field in [VERSION, UTF_8, DEFLATED, 0, DATE] {
        header.extend_from_slice(&field.to_le_bytes());
    }
    for field in [crc, packed, size] {
        header.extend_from_slice(&field.to_le_bytes());
    }
    for field in [name_bytes, 0] {
        header.extend_from_slice(&field.to_le_bytes());
    }
    header
}
