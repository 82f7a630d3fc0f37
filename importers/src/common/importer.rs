//! What an importer is.

use std::path::PathBuf;
use std::sync::Arc;

use trace_model::TraceBuilder;

use crate::input::{ImportError, InputSource, Progress};

use super::roles::TrackRoles;

/// What a format is called and which files usually hold it.
#[derive(Debug)]
pub struct TraceFormat {
    /// Stable name, used in reports and on the command line.
    pub id: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Usual endings, for file dialogs only.
    pub extensions: &'static [&'static str],
    /// Files whose presence makes a directory one trace of this format, best first,
    /// relative to it. The importer is given the first that exists; of a pattern, the one
    /// file that matches.
    pub markers: &'static [&'static str],
    /// One sentence: who writes it, what is read.
    pub about: &'static str,
}

/// How sure an importer is that it can read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DetectionConfidence {
    /// It is something else.
    No,
    /// It could be.
    Possible,
    /// It is.
    Certain,
}

/// Reads one format.
pub trait Importer: Sync {
    /// What it reads.
    fn format(&self) -> &'static TraceFormat;
    /// Whether `head`, the first bytes of the unpacked content (at most 4 KiB;
    /// shorter only where the file is), begin such a file.
    fn detect(&self, head: &[u8]) -> DetectionConfidence;
    /// Whether file names carry information that the content does not, so that two files with the same content differ.
    fn name_tells(&self) -> bool {
        false
    }
    /// Adds the content to `out`. Everything survivable goes to its import log.
    ///
    /// # Errors
    ///
    /// Nothing of the content can be used, or the import was cancelled.
    fn import(
        &self,
        source: &InputSource,
        options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<(), ImportError>;
}

/// What to import from a path, and facts that its files do not have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportOptions {
    /// The run of a log directory; the newest if `None`.
    pub run: Option<String>,
    /// Clock of the device in MHz, for formats that count cycles and do not say how
    /// long one takes.
    pub clock_mhz: Option<f64>,
    /// What the tracks of a Chrome trace are, for writers that are not known.
    pub roles: Option<Arc<TrackRoles>>,
    /// Directory of a dump of the TPU compiler; if `None`, Systole looks for one next to programs.
    pub llo: Option<PathBuf>,
}
