//! Why a request has no answer, with what each front end calls it.

use std::io;
use std::path::{Path, PathBuf};

use analysis::AnalysisError;
use importers::ImportError;

use session::stdin;

/// The answer to a request, or why there is none.
pub type Result<T, E = RequestError> = std::result::Result<T, E>;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The arguments contradict the trace or each other.
    #[error("{0}")]
    Usage(String),
    /// The value of an argument does.
    #[error("{name}: {why}")]
    Argument {
        /// The argument; on the command line `--name`.
        name: &'static str,
        /// The reason, and what to write instead.
        why: String,
    },
    /// There is no such thing, or it must not be read.
    #[error("{0}")]
    Missing(String),
    /// The trace has nothing that could answer.
    #[error("{0}")]
    DoesNotApply(String),
    /// The input cannot be opened.
    #[error("{error}: {}", path.display())]
    Import {
        /// The cause.
        error: ImportError,
        /// The path as given by the user, or the file that it led to.
        path: PathBuf,
    },
    /// What was named beside the input cannot be opened: the error names it as an option.
    #[error("{}", .0.to_string().trim_start_matches("--"))]
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

impl RequestError {
    /// Tells that the file at `path` cannot be written.
    pub fn write(path: &Path) -> impl Fn(io::Error) -> Self + Copy + use<'_> {
        move |error| Self::Write {
            error,
            path: path.to_owned(),
        }
    }

    /// Tells that the file at `path`, which holds `what`, cannot be read, and how to get such a file.
    pub fn unread<E: ToString>(
        what: &'static str,
        cure: &'static str,
        path: &Path,
    ) -> impl Fn(E) -> Self {
        move |error| Self::Unread {
            what,
            error: error.to_string(),
            cure,
            path: path.to_owned(),
        }
    }

    /// Tells why the saved summary at `path` cannot be used.
    pub fn summary<E: ToString>(path: &Path) -> impl Fn(E) -> Self {
        move |why| Self::Summary {
            why: why.to_string(),
            path: path.to_owned(),
        }
    }

    /// The input at `path`, or a file of the run there, cannot be opened.
    pub fn import(error: ImportError, path: &Path) -> Self {
        if matches!(error, ImportError::ProgramsMissing { .. }) {
            return Self::Beside(error);
        }
        let is_stdin = path.as_os_str() == stdin::STANDARD;
        let (error, path) = error.with_place(path);
        let path = if is_stdin {
            PathBuf::from(stdin::NAME)
        } else {
            importers::shown_path(&path)
        };
        Self::Import { error, path }
    }

    /// The value of an argument cannot be used.
    pub fn argument(name: &'static str, why: impl Into<String>) -> Self {
        Self::Argument {
            name,
            why: why.into(),
        }
    }

    /// The same for one of several inputs: the error of an argument names it.
    pub fn about(self, path: &Path) -> Self {
        match self {
            Self::Argument { name, why } => {
                Self::argument(name, format!("{why}: {}", path.display()))
            }
            other => other,
        }
    }

    /// The message with arguments as the command line has them.
    pub fn on_command_line(&self) -> String {
        match self {
            Self::Argument { name, why } => format!("--{}: {why}", name.replace('_', "-")),
            Self::Beside(error) => error.to_string(),
            Self::Import { .. } => with_wait(&self.to_string()),
            other => other.to_string(),
        }
    }

    /// What each front end calls it.
    pub fn codes(&self) -> ErrorCodes {
        match self {
            Self::Usage(_) | Self::Argument { .. } => WRONG,
            // Who asks a server has not written its configuration.
            Self::Config { .. } => ErrorCodes { exit: 2, ..DAMAGED },
            Self::Missing(_) | Self::Unread { .. } => MISSING,
            Self::Write { .. } | Self::Stdout(_) | Self::Display(_) | Self::Server(_) => {
                ErrorCodes {
                    exit: 3,
                    ..INTERNAL
                }
            }
            Self::Import { error, .. } | Self::Beside(error) => codes_of_import(error),
            Self::Summary { .. } => DAMAGED,
            Self::DoesNotApply(_) => ErrorCodes {
                exit: 11,
                ..DAMAGED
            },
            Self::Internal(_) => INTERNAL,
        }
    }
}

impl From<AnalysisError> for RequestError {
    fn from(error: AnalysisError) -> Self {
        Self::DoesNotApply(error.to_string())
    }
}

impl From<serde_json::Error> for RequestError {
    fn from(error: serde_json::Error) -> Self {
        Self::Internal(error.to_string())
    }
}

/// A message with what the command line can do about a file that is still being written.
pub fn with_wait(message: &str) -> String {
    message.replace(ImportError::AGAIN, "--wait waits until it is complete")
}

/// What the front ends call an error. None of these changes.
#[derive(Clone, Copy, Debug)]
pub struct ErrorCodes {
    /// The exit code, as documented in the help.
    pub exit: u8,
    /// The status of HTTP.
    pub http: u16,
    /// A word for programs, of HTTP and of agents.
    pub word: &'static str,
}

const WRONG: ErrorCodes = ErrorCodes {
    exit: 2,
    http: 400,
    word: "bad_request",
};
const MISSING: ErrorCodes = ErrorCodes {
    exit: 3,
    http: 404,
    word: "not_found",
};
const DAMAGED: ErrorCodes = ErrorCodes {
    exit: 4,
    http: 422,
    word: "unusable",
};
const CANCELLED: ErrorCodes = ErrorCodes {
    exit: 130,
    http: 503,
    word: "cancelled",
};
const INTERNAL: ErrorCodes = ErrorCodes {
    exit: 1,
    http: 500,
    word: "internal",
};

fn codes_of_import(error: &ImportError) -> ErrorCodes {
    match error {
        ImportError::Cancelled => CANCELLED,
        ImportError::StillWritten { error, .. } | ImportError::InRun { error, .. } => {
            codes_of_import(error)
        }
        // Decompressors report damage as one of these; the path itself was fine.
        ImportError::Io(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidData
                    | io::ErrorKind::InvalidInput
                    | io::ErrorKind::UnexpectedEof
            ) =>
        {
            DAMAGED
        }
        ImportError::NothingFound { .. }
        | ImportError::ProgramsMissing { .. }
        | ImportError::Remote { .. }
        | ImportError::Io(_) => MISSING,
        _ => DAMAGED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_distinguish_missing_and_damaged_files() {
        let code = |error: ImportError| RequestError::import(error, Path::new("x")).codes().exit;
        assert_eq!(code(io::Error::from(io::ErrorKind::NotFound).into()), 3);
        assert_eq!(
            code(io::Error::from(io::ErrorKind::PermissionDenied).into()),
            3
        );
        assert_eq!(
            code(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            4
        );
        assert_eq!(
            code(ImportError::NothingFound {
                what: String::new()
            }),
            3
        );
        assert_eq!(
            code(ImportError::TooLarge {
                what: String::new()
            }),
            4
        );
        assert_eq!(code(ImportError::Cancelled), 130);
        assert_eq!(RequestError::Usage(String::new()).codes().exit, 2);
        for (error, expected) in [
            (
                RequestError::argument("steps", "write two numbers"),
                (2, 400, "bad_request"),
            ),
            (RequestError::Missing(String::new()), (3, 404, "not_found")),
            (
                RequestError::DoesNotApply(String::new()),
                (11, 422, "unusable"),
            ),
            (
                RequestError::import(ImportError::Cancelled, Path::new("x")),
                (130, 503, "cancelled"),
            ),
            (RequestError::Server(String::new()), (3, 500, "internal")),
        ] {
            let ErrorCodes { exit, http, word } = error.codes();
            assert_eq!((exit, http, word), expected, "{error}");
        }
        let still_written = ImportError::StillWritten {
            error: Box::new(ImportError::Cancelled),
            what: String::new(),
        };
        let error = RequestError::import(still_written, Path::new("x"));
        assert!(!error.to_string().contains("--wait"), "{error}");
        assert!(error.on_command_line().contains("--wait waits"));
        let error = RequestError::argument("device_spec", "no file");
        assert_eq!(
            (&*error.to_string(), &*error.on_command_line()),
            ("device_spec: no file", "--device-spec: no file")
        );
    }
}
