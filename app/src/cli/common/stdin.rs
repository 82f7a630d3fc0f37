//! A profile on standard input. It is stored in an unnamed temporary file, because importers read files twice. It needs
//! no more memory than a file, and nothing remains when the program ends.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use importers::InputSource;
use sha2::{Digest as _, Sha256};

use crate::cli::common::failure::Failure;
use crate::render::hex;

/// Name of standard input in messages and reports.
pub const NAME: &str = "standard input";

/// The content of standard input.
#[derive(Debug)]
pub struct Spooled {
    /// The profile.
    pub source: InputSource,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

impl Spooled {
    /// Reads standard input to the end; it can be read only once.
    pub fn read() -> Result<Self, Failure> {
        static IS_READ: AtomicBool = AtomicBool::new(false);
        let refused = |why: &str| Err(Failure::Usage(why.to_owned()));
        if IS_READ.swap(true, Ordering::Relaxed) {
            return refused("standard input can be read only once: name a file for the other run");
        }
        if io::stdin().is_terminal() {
            return refused("standard input is a terminal: send a profile through a pipe");
        }
        let failed = |error| Failure::import(error, Path::new(NAME));
        let (file, sha256) = copied().map_err(|error| failed(error.into()))?;
        Ok(Self { source: InputSource::from_file(NAME, &file).map_err(failed)?, sha256 })
    }
}

fn copied() -> io::Result<(File, String)> {
    // The file is unlinked before anything is written to it.
    let mut file = tempfile::tempfile()?;
    let (mut hash, mut stdin) = (Sha256::new(), io::stdin().lock());
    let mut buffer = vec![0; 1 << 20];
    loop {
        match stdin.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                let read = buffer.get(..n).unwrap_or_default();
                hash.update(read);
                file.write_all(read)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((file, hex(hash)))
}
