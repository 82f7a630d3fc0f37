//! Bytes that the page holds, and their way into the memory of this module.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::OnceLock;

use crate::prelude::*;
use js_sys::{Array, Function, Promise, Uint8Array};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};

use super::script::words;
use super::tasks::run;

/// Bytes that are copied at a time: a few milliseconds of work.
const PIECE: usize = 4 << 20;

/// Bytes at the beginning of a file that tell what it is.
const HEAD: usize = 512;

/// Bytes that nobody has asked for yet.
#[derive(Clone)]
enum Held {
    /// The page reads them until it is told to stop.
    Coming { stop: Function },
    /// In pieces.
    Here(Array),
    /// Why they do not come.
    Failed(String),
}

/// Bytes of a file of a trace.
struct HeldFile {
    trace: PathBuf,
    bytes: Held,
}

/// Called once no more bytes of a trace are coming.
struct Waiter {
    trace: PathBuf,
    then: Box<dyn FnOnce(Result<(), String>) + Send>,
}

thread_local! {
    static HELD: RefCell<HashMap<u64, HeldFile>> = RefCell::new(HashMap::new());
    static WAITERS: RefCell<Vec<Waiter>> = const { RefCell::new(Vec::new()) };
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Runs a task once the files of a trace are here, or do not come for the reason that it is given.
pub fn with_files(trace: &Path, then: impl FnOnce(Result<(), String>) + Send + 'static) {
    WAITERS.with_borrow_mut(|waiters| {
        waiters.push(Waiter {
            trace: trace.to_owned(),
            then: Box::new(then),
        })
    });
    run_waiters();
}

fn run_waiters() {
    for waiter in WAITERS.take() {
        match outcome(&waiter.trace) {
            Some(outcome) => {
                let _ = run("files", move || (waiter.then)(outcome));
            }
            None => WAITERS.with_borrow_mut(|waiters| waiters.push(waiter)),
        }
    }
}

/// Whether the files of a trace are here or why they are not; `None` while they are coming.
fn outcome(trace: &Path) -> Option<Result<(), String>> {
    HELD.with_borrow(|all| {
        let mut outcome = Ok(());
        for file in all.values().filter(|file| file.trace == trace) {
            match &file.bytes {
                Held::Coming { .. } => return None,
                Held::Failed(why) => outcome = Err(why.clone()),
                Held::Here(_) => {}
            }
        }
        Some(outcome)
    })
}

fn pieces(of: &Array) -> impl Iterator<Item = Uint8Array> {
    of.iter().filter_map(|piece| piece.dyn_into().ok())
}

/// Copies bytes of the page, which are in pieces; a task may pause meanwhile.
pub fn copied(from: &Array) -> Vec<u8> {
    // Never filled with zeros before: that would take as long as copying.
    let mut bytes = Vec::with_capacity(pieces(from).map(|piece| piece.length() as usize).sum());
    for piece in pieces(from) {
        let length = piece.length();
        for start in (0..length).step_by(PIECE) {
            bytes.extend(
                piece
                    .subarray(start, length.min(start.saturating_add(PIECE as u32)))
                    .to_vec(),
            );
            trace_model::may_pause();
        }
    }
    bytes
}

pub fn head(from: &Array) -> Vec<u8> {
    let mut head = Vec::new();
    for piece in pieces(from) {
        if head.len() >= HEAD {
            break;
        }
        head.extend(piece.subarray(0, (HEAD - head.len()) as u32).to_vec());
    }
    head
}

/// Bytes that stay with the page until they are needed.
pub struct BytesLater {
    number: u64,
    bytes: OnceLock<Vec<u8>>,
}

impl BytesLater {
    /// Leaves bytes of a trace with the page.
    pub fn new(trace: &Path, bytes: Array) -> Self {
        Self::held(trace, Held::Here(bytes))
    }

    /// Bytes that the page still reads. It stops when it is told that nobody needs them any more.
    pub fn coming(trace: &Path, bytes: Promise, stop: Function) -> Self {
        let later = Self::held(trace, Held::Coming { stop });
        let number = later.number;
        spawn_local(async move {
            let came = match JsFuture::from(bytes).await {
                Ok(bytes) => Held::Here(bytes.unchecked_into()),
                Err(error) => Held::Failed(words(&error)),
            };
            // Unless the trace was closed meanwhile.
            HELD.with_borrow_mut(|all| all.get_mut(&number).map(|held| held.bytes = came));
            run_waiters();
        });
        later
    }

    fn held(trace: &Path, bytes: Held) -> Self {
        let number = COUNT.replace(COUNT.get() + 1);
        HELD.with_borrow_mut(|all| {
            all.insert(
                number,
                HeldFile {
                    trace: trace.to_owned(),
                    bytes,
                },
            )
        });
        Self {
            number,
            bytes: OnceLock::new(),
        }
    }
}

impl AsRef<[u8]> for BytesLater {
    fn as_ref(&self) -> &[u8] {
        if self.bytes.get().is_none()
            && let Some(Held::Here(held)) =
                HELD.with_borrow(|all| all.get(&self.number).map(|held| held.bytes.clone()))
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
        let held = HELD.with_borrow_mut(|all| all.remove(&self.number));
        if let Some(HeldFile {
            bytes: Held::Coming { stop },
            ..
        }) = held
        {
            let _ = stop.call0(&JsValue::UNDEFINED);
        }
        run_waiters();
    }
}
