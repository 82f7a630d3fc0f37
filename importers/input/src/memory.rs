//! Memory management by the operating system: memory-mapped files and the heap. This is the only module of the crate
//! with unsafe code.
//!
//! **Memory-mapped files.** Mapping a file is undefined behaviour if another process truncates or rewrites the file
//! meanwhile: texts are checked once and then borrowed from the map, and reading beyond a new end of the file is a bus
//! error. This risk is acceptable because profiles are written once, under a name of their own, and all bounds are
//! checked. The alternative would be to read a whole profile into memory: this always fails for one of 10 GB, and
//! copying a smaller one costs a tenth of its import.
//!
//! **The heap of a process that ends soon.** An import allocates a hundred megabytes in pieces of a few megabytes,
//! frees most of them, and allocates again. The C library returns each piece to the kernel, which clears the memory
//! again and maps it in pages of 4 kB. This takes a third of the time of an import. [`prepare_heap`] makes the C
//! library keep freed memory, in one heap of huge pages.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Range;

/// Prepares the heap for an import that needs about `bytes` of memory, beside those before it, in a process that ends soon
/// after it: freed memory stays with the process. Without glibc, it does nothing.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn prepare_heap(bytes: usize) {
    use std::sync::atomic::{AtomicUsize, Ordering};
    /// Size of one allocation. It is below `KEPT`, the size from which glibc maps an allocation separately. All
    /// versions of glibc accept at most 32 MB for that size.
    const PIECE: usize = 24 << 20;
    const KEPT: libc::c_int = 32 << 20;
    /// What all imports may reserve: of many, most end before others begin.
    const MOST: usize = 512 << 20;
    static PREPARED: AtomicUsize = AtomicUsize::new(0);

    // SAFETY: these calls set parameters of the allocator, under its lock, and do not affect existing allocations.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, KEPT);
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
    // SAFETY: the call only reads a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(1 << 16);
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    let bytes = bytes.saturating_add(PREPARED.fetch_add(bytes, Ordering::Relaxed));
    for _ in 0..bytes.min(MOST).div_ceil(PIECE) {
        let mut piece: Vec<u8> = Vec::new();
        if piece.try_reserve_exact(PIECE).is_err() {
            break;
        }
        // The first page of the piece also holds the end of the previous piece.
        let before = piece.as_mut_ptr() as usize % page;
        // SAFETY: these pages belong to the heap, and this advice only changes the size of pages.
        unsafe {
            let first_page = piece.as_mut_ptr().wrapping_sub(before);
            libc::madvise(first_page.cast(), PIECE / page * page, libc::MADV_HUGEPAGE)
        };
        pieces.push(piece);
    }
}

/// Does nothing without glibc.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn prepare_heap(_bytes: usize) {}

/// Returns freed memory to the kernel. The C library keeps what lies between pieces that are in use, and memory that is
/// needed next may not fit there.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn return_free_memory() {
    // SAFETY: the call takes no pointers and locks what it changes.
    unsafe { libc::malloc_trim(0) };
}

/// Does nothing without glibc.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn return_free_memory() {}

/// A file that is mapped for reading.
pub(crate) struct MappedFile(memmap2::Mmap);

impl MappedFile {
    /// Maps the whole file. An empty file cannot be mapped.
    pub fn new(file: &File) -> io::Result<Self> {
        // SAFETY: see the module. The map is private to this type, and its bytes are only borrowed.
        unsafe { memmap2::Mmap::map(file) }.map(Self)
    }

    /// Does nothing: pages cannot be released on this platform.
    #[cfg(not(unix))]
    pub fn release(&self, _range: Range<usize>) {}

    /// Releases the pages of `range`: memory use falls, and a later read loads them from the file again. Pages that
    /// extend beyond the range stay, because other threads may be reading them.
    #[cfg(unix)]
    pub fn release(&self, range: Range<usize>) {
        /// A multiple of the page size of every machine.
        const PAGES: usize = 1 << 16;
        let start = range.start.div_ceil(PAGES).saturating_mul(PAGES);
        let end = range.end.min(self.0.len()) / PAGES * PAGES;
        let len = end.saturating_sub(start);
        if len > 0 {
            // SAFETY: the map is shared with the file and never written. A released page has the same bytes when it
            // is read again, so borrowed slices stay valid. A failure only costs memory.
            let _ = unsafe {
                self.0
                    .unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, len)
            };
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
    use rayon::prelude::{
        IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _,
    };

    use super::*;

    #[test]
    fn prepared_heap_supports_parallel_allocation() {
        prepare_heap(100 << 20);
        let columns: Vec<Vec<u64>> = (0..40)
            .map(|column| (0..200_000).map(|row| row * column).collect())
            .collect();
        let sum = |(at, column): (usize, Vec<u64>)| column.iter().sum::<u64>() / (at as u64).max(1);
        let sums: Vec<u64> = columns.into_par_iter().enumerate().map(sum).collect();
        assert_eq!(sums[0], 0);
        assert!(sums[1..].iter().all(|&sum| sum == 199_999 * 100_000));
    }

    #[test]
    fn bytes_are_unchanged_after_releasing_pages() {
        let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, &bytes).unwrap();
        let mapped = MappedFile::new(&File::open(&path).unwrap()).unwrap();
        let borrowed = mapped.as_ref();
        assert_eq!(borrowed, bytes);
        for range in [
            0..0,
            0..1,
            5_000..20_000,
            5_000..300_000,
            399_999..400_000,
            0..usize::MAX,
            500_000..600_000,
        ] {
            mapped.release(range);
            assert_eq!(borrowed, bytes);
        }
    }
}
