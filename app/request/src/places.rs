//! Places of files: those that a server may read, those that can be written.

use std::io;
use std::path::{Component, Path, PathBuf};

use importers::ImportError;

use crate::error::{RequestError, Result};
use session::files::directory_of;
use session::stdin::STANDARD;

/// Directories and files, each as an absolute path without links, and addresses of buckets.
#[derive(Debug)]
pub struct Roots {
    local: Vec<PathBuf>,
    remote: Vec<PathBuf>,
    /// How a user adds a directory.
    cure: &'static str,
}

impl Roots {
    /// The given directories, or the current one if there are none.
    pub fn new(given: &[PathBuf], cure: &'static str) -> Result<Self> {
        let given = if given.is_empty() {
            &[PathBuf::from(".")][..]
        } else {
            given
        };
        let directory = |path: &PathBuf| {
            let directory = real(path)?;
            if directory.is_dir() {
                Ok(directory)
            } else {
                Err(RequestError::Usage(format!(
                    "--root: no directory: {}",
                    path.display()
                )))
            }
        };
        let local = given.iter().map(directory).collect::<Result<_, _>>()?;
        Ok(Self {
            local,
            remote: Vec::new(),
            cure,
        })
    }

    /// The given directories, files and buckets.
    pub fn of_any(given: &[PathBuf], cure: &'static str) -> Result<Self> {
        let (remote, local): (Vec<PathBuf>, Vec<PathBuf>) = given
            .iter()
            .cloned()
            .partition(|path| importers::is_remote(path));
        Ok(Self {
            local: local.iter().map(real).collect::<Result<_, _>>()?,
            remote,
            cure,
        })
    }

    /// The directories of this machine among them.
    pub fn directories(&self) -> Vec<PathBuf> {
        self.local
            .iter()
            .filter(|root| root.is_dir())
            .cloned()
            .collect()
    }

    /// Those of this machine.
    pub fn local(&self) -> &[PathBuf] {
        &self.local
    }

    /// Whether a file that exists lies below one of them, links followed.
    pub fn contain(&self, path: &Path) -> bool {
        if importers::is_remote(path) {
            return self.remote.iter().any(|root| path.starts_with(root));
        }
        path.canonicalize()
            .is_ok_and(|real| self.local.iter().any(|root| real.starts_with(root)))
    }

    /// The path that a client names, which can be a pattern; a relative path is below the first root.
    pub fn path(&self, text: &str) -> Result<PathBuf> {
        let asked = Path::new(text);
        if text.is_empty() || text == "-" || text.contains("://") || text.contains('\0') {
            return Err(RequestError::Usage(format!(
                "name a file or directory below {}, not {text:?}",
                self.listed()
            )));
        }
        let path = self
            .local
            .first()
            .map_or_else(|| asked.to_owned(), |root| root.join(asked));
        // What follows a part that does not exist, or a pattern, must not lead upwards again.
        let existing = path
            .ancestors()
            .find(|ancestor| ancestor.exists())
            .unwrap_or(Path::new("/"));
        let rest = path.strip_prefix(existing).unwrap_or(&path);
        let is_below =
            self.contain(existing) && !rest.components().any(|part| part == Component::ParentDir);
        if !is_below {
            let why = format!(
                "only files below {} may be read; {} adds a directory",
                self.listed(),
                self.cure
            );
            return Err(RequestError::import(
                ImportError::Io(io::Error::new(io::ErrorKind::PermissionDenied, why)),
                asked,
            ));
        }
        Ok(path)
    }

    /// Why a file that is not below them cannot be read.
    pub fn outside(&self, path: &Path) -> RequestError {
        let link = || {
            RequestError::Missing(format!(
                "this file is a link that leads outside: {}",
                path.display()
            ))
        };
        self.path(&path.to_string_lossy())
            .err()
            .unwrap_or_else(link)
    }

    /// A path as a client names it: relative to the first root if it is below that.
    pub fn shown(&self, path: &str) -> String {
        let below = self
            .local
            .first()
            .and_then(|root| Path::new(path).strip_prefix(root).ok());
        below.map_or_else(|| path.to_owned(), |below| below.display().to_string())
    }

    fn listed(&self) -> String {
        trace_model::joined(
            self.local.iter().map(|root| root.display().to_string()),
            ", ",
        )
    }
}

/// The path without links.
fn real(path: impl AsRef<Path>) -> Result<PathBuf> {
    let path = path.as_ref();
    path.canonicalize()
        .map_err(|error| RequestError::import(error.into(), path))
}

/// Rejects a file that is there, or cannot be written; `-` is accepted.
pub fn check_new(path: &Path) -> Result<()> {
    check_place(path)?;
    if path.exists() {
        let why = format!("{} exists already: name another file", path.display());
        return Err(RequestError::Usage(why));
    }
    Ok(())
}

/// Rejects a file that cannot be written; `-` is accepted.
pub fn check_place(path: &Path) -> Result<()> {
    let refused = |kind, why| {
        Err(RequestError::Write {
            error: io::Error::new(kind, why),
            path: path.to_owned(),
        })
    };
    // A bucket answers when it is written to.
    if path.as_os_str() == STANDARD || importers::is_remote(path) {
        return Ok(());
    }
    if !directory_of(path).is_dir() {
        return refused(io::ErrorKind::NotFound, "the directory does not exist");
    }
    if path.is_dir() {
        return refused(io::ErrorKind::IsADirectory, "this is a directory");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_can_be_named() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("in");
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(inside.join("a.pb"), "").unwrap();
        std::fs::write(dir.path().join("secret.pb"), "").unwrap();
        let roots = Roots::new(std::slice::from_ref(&inside), "--root DIR").unwrap();
        for (path, is_allowed) in [
            ("a.pb", true),
            ("./x/../a.pb", false),
            ("no-such.pb", true),
            ("*.pb", true),
            (".", true),
            ("../secret.pb", false),
            ("../in/a.pb", true),
            ("no-such/../../secret.pb", false),
            ("*/../../*.pb", false),
            ("/etc/passwd", false),
            ("", false),
            ("-", false),
            ("gs://bucket/run", false),
        ] {
            assert_eq!(roots.path(path).is_ok(), is_allowed, "{path}");
        }
        let absolute = inside.canonicalize().unwrap().join("run/a.pb");
        assert_eq!(roots.shown(absolute.to_str().unwrap()), "run/a.pb");
        assert_eq!(roots.shown("/elsewhere/a.pb"), "/elsewhere/a.pb");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(dir.path().join("secret.pb"), inside.join("link.pb"))
                .unwrap();
            assert!(roots.path("link.pb").is_err(), "a link leads outside");
        }
    }
}
