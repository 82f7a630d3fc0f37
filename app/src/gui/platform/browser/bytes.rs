//! Bytes that the page holds, and their way into the memory of this module.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::OnceLock;

use js_sys::{Promise, Uint8Array};
use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::{JsFuture, spawn_local};

use super::script::words;
use super::tasks::run;

/// Bytes that are copied at a time: a few milliseconds of work.
const PIECE: usize = 4 << 20;

/// Bytes that nobody has asked for yet.
#[derive(Clone)]
enum Held {
    Coming,
    Here(Uint8Array),
    /// Why they do not come.
    Failed(String),
}

/// Called once no more bytes are coming.
type Waiter = Box<dyn FnOnce(Result<(), String>) + Send>;

thread_local! {
    static HELD: RefCell<HashMap<u64, Held>> = RefCell::new(HashMap::new());
    static WAITERS: RefCell<Vec<Waiter>> = const { RefCell::new(Vec::new()) };
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Runs a task once the files of open traces are here, or do not come for the reason that it is given.
pub fn with_files(then: impl FnOnce(Result<(), String>) + Send + 'static) {
    WAITERS.with_borrow_mut(|waiters| waiters.push(Box::new(then)));
    run_waiters();
}

fn run_waiters() {
    let (mut is_coming, mut failed) = (false, Ok(()));
    HELD.with_borrow(|all| {
        for held in all.values() {
            match held {
                Held::Coming => is_coming = true,
                Held::Failed(why) => failed = Err(why.clone()),
                Held::Here(_) => {}
            }
        }
    });
    if !is_coming {
        for waiter in WAITERS.take() {
            let here = failed.clone();
            let _ = run("files", move || waiter(here));
        }
    }
}

/// Copies bytes of the page; a task may pause meanwhile.
pub fn copied(from: &Uint8Array) -> Vec<u8> {
    let length = from.length();
    // Never filled with zeros before: that would take as long as copying.
    let mut bytes = Vec::with_capacity(length as usize);
    for start in (0..length).step_by(PIECE) {
        bytes.extend(from.subarray(start, length.min(start.saturating_add(PIECE as u32))).to_vec());
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
        Self::held(Held::Here(bytes))
    }

    /// Bytes that the page still reads.
    pub fn coming(bytes: Promise) -> Self {
        let later = Self::held(Held::Coming);
        let number = later.number;
        spawn_local(async move {
            let came = match JsFuture::from(bytes).await {
                Ok(bytes) => Held::Here(bytes.unchecked_into()),
                Err(error) => Held::Failed(words(&error)),
            };
            // Unless the trace was closed meanwhile.
            HELD.with_borrow_mut(|all| all.get_mut(&number).map(|held| *held = came));
            run_waiters();
        });
        later
    }

    fn held(held: Held) -> Self {
        let number = COUNT.replace(COUNT.get() + 1);
        HELD.with_borrow_mut(|all| all.insert(number, held));
        Self { number, bytes: OnceLock::new() }
    }
}

impl AsRef<[u8]> for BytesLater {
    fn as_ref(&self) -> &[u8] {
        if self.bytes.get().is_none()
            && let Some(Held::Here(held)) = HELD.with_borrow(|all| all.get(&self.number).cloned())
        {
            // Not inside the cell, because this may pause.
            let _ = self.bytes.set(copied(&held));
            HELD.with_borrow_mut(|all| all.remove(&self.number));
        }
        self.bytes.get().map(Vec::as_slice).unwrap_or_default()
    }
}

impl Drop for BytesLater {
    fn drop(&mut self) {
        HELD.with_borrow_mut(|all| all.remove(&self.number));
        run_waiters();
    }
}
