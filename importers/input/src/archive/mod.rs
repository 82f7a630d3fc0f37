//! ZIP archives: those that `systole pack` writes, and run folders that others have zipped. Files are stored or deflated;
//! encryption and other compressions are refused by name. Tar archives, packed with gzip or not: run folders only.
//!
//! The directory at the end of a ZIP archive counts, as for all readers; local headers only say where the data of a file
//! begins.

mod read;
mod tar;
mod write;

pub use read::{Archive, ArchivedFile};
pub use tar::TarArchive;
pub use write::ArchiveWriter;

#[cfg(test)]
mod tests;
