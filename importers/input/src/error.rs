//! Reasons why a file cannot be opened at all. Each message names the problem, the place in the file, and the fix; the
//! caller adds the path once.

use std::io;
use std::path::{Path, PathBuf};

/// A result that is mostly that of reading a file.
pub type Result<T, E = ImportError> = std::result::Result<T, E>;

/// The reason why a file cannot be opened at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// No importer recognizes the content.
    #[error(
        "not a profile that this program reads ({found}){}; systole formats lists all that it reads",
        likely.as_ref().map(|likely| format!("; likeliest would be {likely}")).unwrap_or_default()
    )]
    UnknownFormat {
        /// Description of the content.
        found: String,
        /// Titles of the two formats that such content has most often; `None` of content that no profile has.
        likely: Option<String>,
    },
    /// The format was recognized, but the content is damaged.
    #[error("damaged {format} at byte {offset}: {what}")]
    Malformed {
        /// Title of the format.
        format: &'static str,
        /// Byte position in the unpacked content.
        offset: u64,
        /// The defect and the remedy.
        what: String,
    },
    /// The content is intact, but not sufficient for a timeline.
    #[error("cannot use this {format}: {what}")]
    Unusable {
        /// Title of the format.
        format: &'static str,
        /// What is missing, and the remedy.
        what: String,
    },
    /// Reading would take more memory or time than allowed.
    #[error("too large: {what}")]
    TooLarge {
        /// What is too large, the limit, and the remedy.
        what: String,
    },
    /// A directory or pattern contains no profile.
    #[error("no profile found: {what}")]
    NothingFound {
        /// What was searched, and where.
        what: String,
    },
    /// The programs that were named beside a profile are not there.
    #[error("{what}")]
    ProgramsMissing {
        /// Where they were looked for, the reason, and the remedy.
        what: String,
    },
    /// A bucket or web server does not give what was asked for.
    #[error("{what}")]
    Remote {
        /// The reason, and the remedy.
        what: String,
    },
    /// The file is damaged, and somebody still writes it.
    #[error("{error}; {what}: if it is still being written, {}", Self::AGAIN)]
    StillWritten {
        /// The defect.
        error: Box<ImportError>,
        /// The file, and what says that it is being written.
        what: String,
    },
    /// What cannot be read is a file, or a folder of several, of a run that was named by its log directory.
    #[error("{error}")]
    InRun {
        /// The defect.
        error: Box<ImportError>,
        /// The file, or the folder.
        path: PathBuf,
    },
    /// The import was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// An error of the operating system.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl ImportError {
    /// What to do about a file that is still being written, for whoever asks.
    pub const AGAIN: &str = "ask again when it is complete";

    /// That a bucket or web server does not give what was asked for.
    pub fn remote(what: impl Into<String>) -> Self {
        Self::Remote { what: what.into() }
    }

    /// The defect, and where it is: `path`, which the user named, or a file of the run that was found there.
    #[must_use]
    pub fn with_place(self, path: &Path) -> (Self, PathBuf) {
        match self {
            Self::InRun { error, path } => (*error, path),
            error => (error, path.to_owned()),
        }
    }
}
