//! A counting allocator, for tests of memory use.

#![expect(unsafe_code, reason = "an allocator hands out raw memory")]
#![allow(dead_code, reason = "not everybody wants to know everything")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Wraps the system's allocator. Must be set as the global allocator.
pub struct Counting;

/// Far from zero, because memory that was allocated before counting began may be freed later.
static LIVE: AtomicUsize = AtomicUsize::new(1 << 40);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static TOTAL: AtomicUsize = AtomicUsize::new(0);
/// Counting is switched on only when needed, because it costs time, mostly with several threads.
static COUNTS: AtomicBool = AtomicBool::new(false);

/// Bytes allocated since [`begin`].
#[derive(Clone, Copy, Debug)]
pub struct Heap {
    before: usize,
    total_before: usize,
}

pub fn begin() -> Heap {
    COUNTS.store(true, Relaxed);
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    Heap {
        before,
        total_before: TOTAL.load(Relaxed),
    }
}

/// Stops counting, so that it does not affect measured times.
pub fn stop() {
    COUNTS.store(false, Relaxed);
}

impl Heap {
    /// Peak of the bytes in use, in addition to those in use before.
    pub fn peak(self) -> usize {
        PEAK.load(Relaxed).saturating_sub(self.before)
    }

    /// Bytes still in use, in addition to those in use before.
    pub fn live(self) -> usize {
        LIVE.load(Relaxed).saturating_sub(self.before)
    }

    /// Bytes of all allocations, freed or not.
    pub fn total(self) -> usize {
        TOTAL.load(Relaxed) - self.total_before
    }
}

fn grow(bytes: usize) {
    if COUNTS.load(Relaxed) {
        TOTAL.fetch_add(bytes, Relaxed);
        PEAK.fetch_max(LIVE.fetch_add(bytes, Relaxed) + bytes, Relaxed);
    }
}

fn shrink(bytes: usize) {
    if COUNTS.load(Relaxed) {
        LIVE.fetch_sub(bytes, Relaxed);
    }
}

// SAFETY: all calls are passed unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller guarantees what `System` requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        shrink(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grow(size.saturating_sub(layout.size()));
        shrink(layout.size().saturating_sub(size));
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}
