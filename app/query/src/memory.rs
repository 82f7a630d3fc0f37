//! What a query may take: SQLite counts its memory for the whole process, so what it has grown by since a query began
//! stands for that query, with what our own aggregates hold.

#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that the aggregates of a connection hold.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldBytes(Arc<AtomicUsize>);

impl HeldBytes {
    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Memory of SQLite in this process, and of these aggregates.
    pub fn with_sqlite(&self) -> usize {
        // SAFETY: it has no arguments, and SQLite is built for several threads.
        let sqlite = unsafe { rusqlite::ffi::sqlite3_memory_used() };
        usize::try_from(sqlite).unwrap_or(0) + self.0.load(Ordering::Relaxed)
    }
}

/// Numbers of one group, counted while they are there.
#[derive(Debug)]
pub(super) struct HeldNumbers {
    held: HeldBytes,
    numbers: Vec<f64>,
}

impl HeldNumbers {
    pub fn new(held: HeldBytes) -> Self {
        Self {
            held,
            numbers: Vec::new(),
        }
    }

    pub fn push(&mut self, number: f64) {
        let before = self.numbers.capacity();
        self.numbers.push(number);
        self.held
            .add((self.numbers.capacity() - before) * size_of::<f64>());
    }

    pub fn as_slice(&self) -> &[f64] {
        &self.numbers
    }
}

impl Drop for HeldNumbers {
    fn drop(&mut self) {
        self.held.0.fetch_sub(
            self.numbers.capacity() * size_of::<f64>(),
            Ordering::Relaxed,
        );
    }
}
