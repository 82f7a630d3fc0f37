//! Reasons why a file cannot be opened at all. Each message names the problem, the place in the file, and the fix; the
//! caller adds the path once.

use std::io;

/// Why a file cannot be opened at all. Each message says what, where in the
/// file, and what to do; the caller adds the path once.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// No importer knows the bytes.
    #[error("not a profile that this program reads ({found}); it reads {readable}")]
    UnknownFormat {
        /// What the bytes look like.
        found: String,
        /// Titles of all formats.
        readable: String,
    },
    /// The format is clear, but the content is not readable as that.
    #[error("damaged {format} at byte {offset}: {what}")]
    Malformed {
        /// Title of the format.
        format: &'static str,
        /// Where, in the unpacked content.
        offset: u64,
        /// What is wrong, and the fix.
        what: String,
    },
    /// The content is intact, but does not suffice for a timeline.
    #[error("cannot use this {format}: {what}")]
    Unusable {
        /// Title of the format.
        format: &'static str,
        /// What it lacks, and the fix.
        what: String,
    },
    /// Reading on would take more memory or time than allowed.
    #[error("too large: {what}")]
    TooLarge {
        /// What is too large, the limit, and the fix.
        what: String,
    },
    /// A directory or pattern holds no profile.
    #[error("no profile found: {what}")]
    NothingFound {
        /// What was looked for, and where.
        what: String,
    },
    /// The user gave up waiting.
    #[error("cancelled")]
    Cancelled,
    /// The operating system said no.
    #[error("{0}")]
    Io(#[from] io::Error),
}
