//! SHA-256 of files: from which bytes a report was made.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use sha2::{Digest as _, Sha256};
use trace_model::locked;

/// Bytes that are hashed at once: 0.1 ms.
const CHUNK: usize = 256 << 10;

/// SHA-256 of a file, in hexadecimal digits.
pub fn sha256_of(path: &Path) -> io::Result<String> {
    let mut file = PartlyHashed::open(path)?;
    while file.hash_chunk()? {}
    Ok(hex(&file.hash.finalize()))
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The SHA-256 of a file, computed while the file is imported: a hash cannot use two processors, an import leaves one of
/// them idle now and then. Whoever asks for the hash computes what is left of it.
#[derive(Debug)]
pub struct BackgroundHash {
    path: PathBuf,
    shared: Arc<SharedHash>,
    sha256: OnceLock<Option<String>>,
}

#[derive(Debug)]
struct SharedHash {
    file: Mutex<Option<PartlyHashed>>,
    /// The thread in the background shall leave the rest to others.
    is_taken: AtomicBool,
}

impl BackgroundHash {
    /// `None` for what is no file and for files that cannot be read.
    pub fn start(path: &Path) -> Option<Self> {
        // To open a pipe would wait for its writer.
        let file = path
            .is_file()
            .then(|| PartlyHashed::open(path).ok())
            .flatten()?;
        let shared = Arc::new(SharedHash {
            file: Mutex::new(Some(file)),
            is_taken: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        let name = "fingerprint".to_owned();
        thread::Builder::new()
            .name(name)
            .spawn(move || of_thread.hash_in_background())
            .ok()?;
        Some(Self {
            path: path.to_owned(),
            shared,
            sha256: OnceLock::new(),
        })
    }

    /// Whether this is the hash of the file at `path`.
    pub fn is_of(&self, path: &Path) -> bool {
        self.path == path
    }

    /// The hash in hexadecimal digits; `None` if the file could not be read to its end.
    pub fn sha256(&self) -> Option<String> {
        let rest = || {
            self.shared.is_taken.store(true, Ordering::Relaxed);
            let mut file = locked(&self.shared.file).take()?;
            while file.hash_chunk().ok()? {}
            Some(hex(&file.hash.finalize()))
        };
        self.sha256.get_or_init(rest).clone()
    }
}

impl Drop for BackgroundHash {
    fn drop(&mut self) {
        self.shared.is_taken.store(true, Ordering::Relaxed);
    }
}

impl SharedHash {
    fn hash_in_background(&self) {
        yield_to_others();
        while !self.is_taken.load(Ordering::Relaxed) {
            let mut file = locked(&self.file);
            // Who asks for the hash reads what follows, and sees the same error.
            if !file
                .as_mut()
                .is_some_and(|file| file.hash_chunk().unwrap_or(false))
            {
                break;
            }
        }
    }
}

/// The thread runs when a processor would be idle. On Linux, the priority is that of a thread; elsewhere it would be that
/// of the process.
#[cfg(target_os = "linux")]
fn yield_to_others() {
    let _ = rustix::process::setpriority_process(None, 19);
}

#[cfg(not(target_os = "linux"))]
fn yield_to_others() {}

/// A file whose beginning is hashed.
#[derive(Debug)]
struct PartlyHashed {
    file: File,
    hash: Sha256,
    buffer: Vec<u8>,
}

impl PartlyHashed {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
            hash: Sha256::new(),
            buffer: vec![0; CHUNK],
        })
    }

    /// Whether there was more of the file.
    fn hash_chunk(&mut self) -> io::Result<bool> {
        let count = self.file.read(&mut self.buffer)?;
        self.hash
            .update(self.buffer.get(..count).unwrap_or_default());
        Ok(count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From FIPS 180-2, appendix B.1.
    const OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn the_fingerprint_is_sha256() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(sha256_of(&path).unwrap(), OF_ABC);
        let hash = BackgroundHash::start(&path).unwrap();
        assert_eq!(
            [hash.sha256(), hash.sha256()],
            [Some(OF_ABC.to_owned()), Some(OF_ABC.to_owned())]
        );
    }

    #[test]
    fn a_hash_from_the_background_is_that_of_the_whole_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("long");
        std::fs::write(
            &path,
            (0..CHUNK * 5 + 7).map(|at| at as u8).collect::<Vec<_>>(),
        )
        .unwrap();
        // Sooner and later than the thread in the background is ready.
        for wait in [0, 1, 200] {
            let hash = BackgroundHash::start(&path).unwrap();
            thread::sleep(std::time::Duration::from_millis(wait));
            assert_eq!(hash.sha256(), sha256_of(&path).ok(), "after {wait} ms");
        }
    }

    /// As the import does, which opens the file at the same time.
    #[cfg(unix)]
    #[test]
    fn the_hash_is_that_of_the_file_that_was_opened_not_of_what_took_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("abc"), dir.path().join("other"));
        std::fs::write(&path, "abc").unwrap();
        std::fs::write(&other, "something else").unwrap();
        let hash = BackgroundHash::start(&path).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(hash.sha256().as_deref(), Some(OF_ABC));
        assert_ne!(sha256_of(&path).unwrap(), OF_ABC);
    }

    #[test]
    fn a_directory_and_a_missing_file_have_no_hash() {
        let dir = tempfile::tempdir().unwrap();
        assert!(BackgroundHash::start(dir.path()).is_none());
        assert!(BackgroundHash::start(&dir.path().join("missing")).is_none());
    }
}
