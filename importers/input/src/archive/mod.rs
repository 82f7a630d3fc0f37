//! ZIP archives: those that `systole pack` writes, and run folders that others have zipped. Files are stored or deflated;
//! encryption, other compressions and ZIP64 (files of 4 GB and more) are refused by name. Tar archives, packed with gzip
//! or not: run folders only.
//!
//! Format of ZIP: <https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT>. The directory at the end counts, as for
//! all readers; local headers only say where the data of a file begins.

mod read;
mod tar;
mod write;

pub use read::{Archive, ArchivedFile};
pub use tar::TarArchive;
pub use write::ArchiveWriter;

/// Before the data of a file.
const LOCAL_HEADER: &[u8; 4] = b"PK\x03\x04";
/// Entry of the directory.
const ENTRY: &[u8; 4] = b"PK\x01\x02";
/// Behind the directory.
const END: &[u8; 4] = b"PK\x05\x06";
/// Names are UTF-8.
const UTF_8: u16 = 1 << 11;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

#[cfg(test)]
mod tests;
