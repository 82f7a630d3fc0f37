//! A file as a part of the address space: the one place with code that the compiler cannot check.
//!
//! A map is undefined behaviour where another process truncates or rewrites the file meanwhile: texts are checked once
//! and then borrowed from it, and what lies behind a new end is a bus error. Profiles are written once, under a name of
//! their own, and all bounds are checked. The alternative, reading a 10 GB profile into memory, fails for everyone, and
//! copying a smaller one costs a tenth of its import.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Range;

/// A file that is mapped for reading.
#[derive(Debug)]
pub(super) struct MappedFile(memmap2::Mmap);

impl MappedFile {
    /// Maps the whole file. An empty file cannot be mapped.
    pub(super) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: see the module. The map is private to this type, and its bytes are only borrowed.
        unsafe { memmap2::Mmap::map(file) }.map(Self)
    }

    /// Pages cannot be let go here.
    #[cfg(not(unix))]
    pub(super) fn release(&self, _range: Range<usize>) {}

    /// Lets the pages of `range` go: memory use falls, and what is read there again comes from the file again. Pages that
    /// reach beyond the range stay, because others may be reading them.
    #[cfg(unix)]
    pub(super) fn release(&self, range: Range<usize>) {
        /// A multiple of the page size of all machines.
        const PAGES: usize = 1 << 16;
        let start = range.start.div_ceil(PAGES).saturating_mul(PAGES);
        let end = range.end.min(self.0.len()) / PAGES * PAGES;
        let len = end.saturating_sub(start);
        if len > 0 {
            // SAFETY: the map is shared with the file and never written: a page that was dropped has the same bytes
            // when it is read again, so that borrowed slices stay valid. What fails costs memory only.
            let _ = unsafe { self.0.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, len) };
        }
    }
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_same_after_their_pages_were_released() {
        let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, &bytes).unwrap();
        let mapped = MappedFile::new(&File::open(&path).unwrap()).unwrap();
        let borrowed = mapped.as_ref();
        assert_eq!(borrowed, bytes);
        for range in [0..0, 0..1, 5_000..20_000, 5_000..300_000, 399_999..400_000, 0..usize::MAX, 500_000..600_000] {
            mapped.release(range);
            assert_eq!(borrowed, bytes);
        }
    }
}
