//! A profile on standard input. It is stored in an unnamed temporary file, because importers read files twice. It needs
//! no more memory than a file, and nothing remains when the program ends.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Seek as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use importers::{FingerprintHash, ImportError, InputSource};
use trace_model::locked;

use crate::fingerprint::{read_pieces, sha256_of};

/// The path that means standard input or output.
pub const STANDARD: &str = "-";

/// Name of standard input in messages and reports.
pub const NAME: &str = "standard input";

/// The content of standard input.
#[derive(Debug)]
pub struct Spooled {
    file: Mutex<File>,
    pub fingerprint: u128,
}

impl Spooled {
    /// Reads standard input to the end; it can be read only once.
    pub fn read() -> Result<Self, ImportError> {
        if let Some(why) = refusal() {
            return Err(io::Error::other(why).into());
        }
        IS_READ.store(true, Ordering::Relaxed);
        let (file, fingerprint) = copied()?;
        Ok(Self {
            file: Mutex::new(file),
            fingerprint,
        })
    }

    /// What is imported.
    pub fn source(&self) -> Result<InputSource, ImportError> {
        InputSource::from_file(NAME, &locked(&self.file))
    }

    /// Its SHA-256, in hexadecimal digits.
    pub fn sha256(&self) -> io::Result<Option<String>> {
        let mut file = locked(&self.file);
        file.rewind()?;
        sha256_of(&mut *file, Some(self.fingerprint))
    }
}

static IS_READ: AtomicBool = AtomicBool::new(false);

/// Why standard input cannot be read, if so.
pub fn refusal() -> Option<&'static str> {
    if IS_READ.load(Ordering::Relaxed) {
        return Some("standard input can be read only once: name a file for the other run");
    }
    io::stdin()
        .is_terminal()
        .then_some("standard input is a terminal: send a profile through a pipe")
}

/// Standard input as a text of at most one byte more than `most`; it is kept for whoever asks again.
pub fn text(most: u64) -> io::Result<&'static str> {
    static TEXT: OnceLock<String> = OnceLock::new();
    if let Some(text) = TEXT.get() {
        return Ok(text);
    }
    if let Some(why) = refusal() {
        return Err(io::Error::other(why));
    }
    IS_READ.store(true, Ordering::Relaxed);
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(most.saturating_add(1))
        .read_to_string(&mut text)?;
    Ok(TEXT.get_or_init(|| text))
}

fn copied() -> io::Result<(File, u128)> {
    // The file is unlinked before anything is written to it.
    let (mut file, mut hash) = (tempfile::tempfile()?, FingerprintHash::default());
    read_pieces(io::stdin().lock(), |bytes| {
        hash.update(bytes);
        file.write_all(bytes)
    })?;
    Ok((file, hash.finish()))
}
