//! What is asked of the operating system about memory: the one place with code that the compiler cannot check.
//!
//! **Files as a part of the address space.** A map is undefined behaviour where another process truncates or rewrites the file meanwhile: texts are checked once
//! and then borrowed from it, and what lies behind a new end is a bus error. Profiles are written once, under a name of
//! their own, and all bounds are checked. The alternative, reading a 10 GB profile into memory, fails for everyone, and
//! copying a smaller one costs a tenth of its import.
//!
//! **The heap of a process that ends soon.** An import asks for a hundred megabytes in pieces of a few, frees most of
//! them, and asks again. The C library hands each back to the kernel, which clears it once more and maps it in pages of
//! 4 kB: a third of the time of an import. [`prepare_heap`] lets it keep what was freed, in one heap of huge pages.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Range;

/// Makes room for an import of about so many bytes in a process that ends soon after it: memory that is freed stays with
/// the process. Call it before there are other threads. Does nothing where the C library is another one than glibc.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn prepare_heap(bytes: usize) {
    /// Reserved at once, less than what is mapped on its own. 32 MB is the most that all versions of glibc accept.
    const PIECE: usize = 24 << 20;
    const KEPT: libc::c_int = 32 << 20;

    // SAFETY: these set numbers of the allocator, under its lock, and have no other effect on what is allocated.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, KEPT);
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
    // SAFETY: it reads a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(1 << 16);
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    for _ in 0..bytes.div_ceil(PIECE) {
        let mut piece: Vec<u8> = Vec::new();
        if piece.try_reserve_exact(PIECE).is_err() {
            break;
        }
        // The page in which it begins holds the end of the piece before it, too.
        let before = piece.as_mut_ptr() as usize % page;
        // SAFETY: these pages are of the heap, and advice changes the size of pages and nothing else.
        unsafe {
            let first_page = piece.as_mut_ptr().wrapping_sub(before);
            libc::madvise(first_page.cast(), PIECE / page * page, libc::MADV_HUGEPAGE)
        };
        pieces.push(piece);
    }
}

/// See the other one.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn prepare_heap(_bytes: usize) {}

/// A file that is mapped for reading.
#[derive(Debug)]
pub(crate) struct MappedFile(memmap2::Mmap);

impl MappedFile {
    /// Maps the whole file. An empty file cannot be mapped.
    pub(crate) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: see the module. The map is private to this type, and its bytes are only borrowed.
        unsafe { memmap2::Mmap::map(file) }.map(Self)
    }

    /// Pages cannot be let go here.
    #[cfg(not(unix))]
    pub(crate) fn release(&self, _range: Range<usize>) {}

    /// Lets the pages of `range` go: memory use falls, and what is read there again comes from the file again. Pages that
    /// reach beyond the range stay, because others may be reading them.
    #[cfg(unix)]
    pub(crate) fn release(&self, range: Range<usize>) {
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
    use rayon::prelude::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};

    use super::*;

    #[test]
    fn memory_is_as_good_as_ever_after_it_was_prepared() {
        prepare_heap(100 << 20);
        let columns: Vec<Vec<u64>> = (0..40).map(|column| (0..200_000).map(|row| row * column).collect()).collect();
        let sum = |(at, column): (usize, Vec<u64>)| column.iter().sum::<u64>() / (at as u64).max(1);
        let sums: Vec<u64> = columns.into_par_iter().enumerate().map(sum).collect();
        assert_eq!(sums[0], 0);
        assert!(sums[1..].iter().all(|&sum| sum == 199_999 * 100_000));
    }

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
