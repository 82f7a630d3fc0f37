//! A profile on standard input: kept in a file until it is analyzed, because importers look at files twice and read
//! arguments of slices when asked. Memory is that of a file of the same size.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;

use super::failure::Failure;

/// What standard input is called in reports.
const NAME: &str = "stdin";

/// Standard input as a file that goes when this goes.
#[derive(Debug)]
pub struct Spooled {
    path: PathBuf,
    _dir: TempDir,
}

impl Spooled {
    /// Reads all of it. Nothing reads it twice.
    pub fn read() -> Result<Self, Failure> {
        static IS_READ: AtomicBool = AtomicBool::new(false);
        let refused = |why: &str| Err(Failure::Usage(why.to_owned()));
        if IS_READ.swap(true, Ordering::Relaxed) {
            return refused("standard input can be read once only: name a file for the other run");
        }
        if io::stdin().is_terminal() {
            return refused("standard input is a terminal: send a profile through a pipe");
        }
        Self::copied().map_err(|error| Failure::import(error.into(), Path::new("standard input")))
    }

    fn copied() -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("systole-").tempdir()?;
        let path = dir.path().join(NAME);
        io::copy(&mut io::stdin().lock(), &mut File::create_new(&path)?)?;
        Ok(Self { path, _dir: dir })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
