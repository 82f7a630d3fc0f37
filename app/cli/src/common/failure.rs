//! Outcomes and failures of commands, with their exit codes.

use std::io;
use std::path::{Path, PathBuf};

use importers::ImportError;

use session::stdin;

/// The outcome of a command that completed.
pub enum CommandOutcome {
    /// Success.
    Done,
    /// The trace is too incomplete for a conclusion, and `--strict` was given.
    Inconclusive(String),
    /// A result exceeds `--fail-on` or a gate.
    Failed {
        /// The reason.
        why: String,
        /// The exit code.
        code: u8,
    },
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The arguments contradict the trace or each other.
    #[error("{0}")]
    Usage(String),
    /// The input cannot be opened.
    #[error("{error}: {}", path.display())]
    Import {
        /// The cause.
        error: ImportError,
        /// The path as given by the user.
        path: PathBuf,
    },
    /// What was named beside the input cannot be opened: the error names it.
    #[error("{0}")]
    Beside(ImportError),
    /// A file that an option names cannot be read.
    #[error("cannot read {what}: {error}; check the path, or {cure}: {}", path.display())]
    Unread {
        /// What it holds.
        what: &'static str,
        /// The cause.
        error: String,
        /// How to get such a file.
        cure: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// An output file cannot be written.
    #[error("cannot write: {error}: {}", path.display())]
    Write {
        /// The cause.
        error: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// Stdout failed for another reason than a closed pipe.
    #[error("cannot write to stdout: {0}")]
    Stdout(io::Error),
    /// A saved summary cannot be used.
    #[error("{why}: {}", path.display())]
    Summary {
        /// The reason.
        why: String,
        /// The file.
        path: PathBuf,
    },
    /// The configuration file cannot be used.
    #[error("{why}: {}", path.display())]
    Config {
        /// The reason.
        why: String,
        /// The file.
        path: PathBuf,
    },
    /// No server answered as it should, or this one cannot start.
    #[error("{0}")]
    Server(String),
    /// There is no display for a window.
    #[error(
        "cannot open a window: {0}\n\
         Without a display:\n  \
         systole analyze PATH                      what limits the program, as text\n  \
         systole analyze PATH -o html=report.html  the same as a page with pictures\n  \
         systole render PATH -o timeline.png       the timeline as a picture\n  \
         systole --help                            all commands"
    )]
    Display(String),
    /// A bug in this program.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Failure {
    /// The input at `path` cannot be opened.
    pub fn import(error: ImportError, path: &Path) -> Self {
        if matches!(error, ImportError::ProgramsMissing { .. }) {
            return Self::Beside(error);
        }
        let is_stdin = path.as_os_str() == stdin::STANDARD;
        let path = if is_stdin { PathBuf::from(stdin::NAME) } else { importers::shown_path(path) };
        Self::Import { error, path }
    }

    /// The exit code, as documented in the help.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Config { .. } => 2,
            Self::Unread { .. } | Self::Write { .. } | Self::Stdout(_) | Self::Display(_) | Self::Server(_) => 3,
            Self::Import { error, .. } | Self::Beside(error) => code_of_import(error),
            Self::Summary { .. } => 4,
            Self::Internal(_) => 1,
        }
    }
}

fn code_of_import(error: &ImportError) -> u8 {
    match error {
        ImportError::Cancelled => 130,
        ImportError::StillWritten { error, .. } => code_of_import(error),
        // Decompressors report damage as one of these; the path itself was fine.
        ImportError::Io(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof
            ) =>
        {
            4
        }
        ImportError::NothingFound { .. }
        | ImportError::ProgramsMissing { .. }
        | ImportError::Remote { .. }
        | ImportError::Io(_) => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_distinguish_missing_and_damaged_files() {
        let code = |error: ImportError| Failure::import(error, Path::new("x")).exit_code();
        assert_eq!(code(io::Error::from(io::ErrorKind::NotFound).into()), 3);
        assert_eq!(code(io::Error::from(io::ErrorKind::PermissionDenied).into()), 3);
        assert_eq!(code(io::Error::from(io::ErrorKind::UnexpectedEof).into()), 4);
        assert_eq!(code(ImportError::NothingFound { what: String::new() }), 3);
        assert_eq!(code(ImportError::TooLarge { what: String::new() }), 4);
        assert_eq!(code(ImportError::Cancelled), 130);
        assert_eq!(Failure::Usage(String::new()).exit_code(), 2);
    }
}
