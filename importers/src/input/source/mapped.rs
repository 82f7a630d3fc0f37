//! A file as a part of the address space: the one place with code that the compiler cannot check.
//!
//! A map is undefined behaviour where another process truncates or rewrites the file meanwhile. Profiles are written
//! once; what is read from the map is only ever parsed as bytes, with every bound checked, so that a change costs wrong
//! values or a bus error, never memory safety of our data. The alternative, reading a 10 GB profile into memory, fails
//! for everyone, and copying a smaller one costs a tenth of its import.
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

    /// Lets the pages of `range` go: memory use falls, and what is read there again comes from the file again.
    pub(super) fn release(&self, range: Range<usize>) {
        let len = range.end.min(self.0.len()).saturating_sub(range.start);
        #[cfg(unix)]
        if len > 0 {
            // SAFETY: the map is shared with the file and never written: a page that was dropped has the same bytes
            // when it is read again, so that borrowed slices stay valid. What fails costs memory only.
            let _ = unsafe { self.0.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, range.start, len) };
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
        for range in [0..0, 0..1, 5_000..20_000, 399_999..400_000, 0..usize::MAX, 500_000..600_000] {
            mapped.release(range);
            assert_eq!(borrowed, bytes);
        }
    }
}
