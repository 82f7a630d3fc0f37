//! Writes archives.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, Error, ErrorKind, ZipArchiveWriter};

/// Writes an archive, file by file. All files have the same date: archives of the same files are equal.
pub struct ArchiveWriter<W>(ZipArchiveWriter<W>);

/// The first date that an archive can have, 1980-01-01, in seconds since 1970.
const FIRST_DATE: i64 = 315_532_800;

fn io_error(error: Error) -> io::Error {
    match error.into_kind() {
        ErrorKind::IO(error) => error,
        other => io::Error::other(other.to_string()),
    }
}

impl<W: Write> ArchiveWriter<W> {
    /// An empty archive.
    pub fn new(out: W) -> Self {
        Self(ZipArchiveWriter::new(out))
    }

    /// Adds a file, compressed.
    ///
    /// # Errors
    ///
    /// Reading or writing fails, or the name is too long.
    pub fn add(&mut self, name: &str, mut content: impl Read) -> io::Result<()> {
        let file = self.0.new_file(name);
        let file = file
            .compression_method(CompressionMethod::DEFLATE)
            .last_modified(UtcDateTime::from_unix(FIRST_DATE));
        let (mut entry, config) = file.start().map_err(io_error)?;
        let encoder = DeflateEncoder::new(&mut entry, Compression::default());
        let mut checked = config.wrap(encoder);
        io::copy(&mut content, &mut checked)?;
        let (encoder, sums) = checked.finish().map_err(io_error)?;
        encoder.finish()?;
        entry.finish(sums).map(drop).map_err(io_error)
    }

    /// Writes the directory.
    ///
    /// # Errors
    ///
    /// Writing fails.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish().map_err(io_error)
    }
}
