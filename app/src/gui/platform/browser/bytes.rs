//! Bytes that the page holds, and their way into the memory of this module.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::OnceLock;

use js_sys::Uint8Array;

/// Bytes that are copied at a time: a few milliseconds of work.
const PIECE: usize = 4 << 20;

thread_local! {
    /// The bytes of [`BytesLater`] that nobody has asked for yet.
    static HELD: RefCell<HashMap<u64, Uint8Array>> = RefCell::new(HashMap::new());
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Copies bytes of the page; a task may pause meanwhile.
pub fn copied(from: &Uint8Array) -> Vec<u8> {
    let mut bytes = vec![0; from.length() as usize];
    for (at, piece) in (0..).zip(bytes.chunks_mut(PIECE)) {
        let start = at * PIECE as u32;
        from.subarray(start, start + piece.len() as u32).copy_to(piece);
        trace_model::may_pause();
    }
    bytes
}

/// The first bytes.
pub fn head(from: &Uint8Array) -> Vec<u8> {
    from.subarray(0, 512).to_vec()
}

/// Bytes that stay with the page until they are needed.
pub struct BytesLater {
    number: u64,
    bytes: OnceLock<Vec<u8>>,
}

impl BytesLater {
    /// Leaves `bytes` with the page.
    pub fn new(bytes: Uint8Array) -> Self {
        let number = COUNT.replace(COUNT.get() + 1);
        HELD.with_borrow_mut(|held| held.insert(number, bytes));
        Self { number, bytes: OnceLock::new() }
    }
}

impl AsRef<[u8]> for BytesLater {
    fn as_ref(&self) -> &[u8] {
        if self.bytes.get().is_none()
            && let Some(held) = HELD.with_borrow(|held| held.get(&self.number).cloned())
        {
            // Not inside the cell, because this may pause.
            let _ = self.bytes.set(copied(&held));
            HELD.with_borrow_mut(|held| held.remove(&self.number));
        }
        self.bytes.get().map(Vec::as_slice).unwrap_or_default()
    }
}

impl Drop for BytesLater {
    fn drop(&mut self) {
        HELD.with_borrow_mut(|held| held.remove(&self.number));
    }
}
