//! The interface of an importer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use input::{ImportError, InputSource, Progress, Result, SharedBytes};
use trace_model::{ArgSource, HostEventUse, TraceBuilder};

use super::roles::TrackRoles;

/// Description of a format.
#[derive(Debug)]
pub struct TraceFormat {
    /// Stable name, used in reports and on the command line.
    pub id: &'static str,
    /// Display name.
    pub title: &'static str,
    /// Usual file extensions, used only by file dialogs.
    pub extensions: &'static [&'static str],
    /// Files whose presence makes a directory one trace of this format: paths relative to the
    /// directory, best first. The importer gets the first one that exists. A pattern must match
    /// exactly one file.
    pub markers: &'static [&'static str],
    /// One sentence: who writes the format and what is read.
    pub about: &'static str,
}

impl TraceFormat {
    /// The error that content is damaged.
    pub fn malformed(&self, offset: u64, what: impl Into<String>) -> ImportError {
        ImportError::Malformed {
            format: self.title,
            offset,
            what: what.into(),
        }
    }

    /// The error that content is not sufficient for a timeline.
    pub fn unusable(&self, what: impl Into<String>) -> ImportError {
        ImportError::Unusable {
            format: self.title,
            what: what.into(),
        }
    }
}

/// How certain an importer is that it can read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DetectionConfidence {
    /// Not this format.
    No,
    /// Possibly this format.
    Possible,
    /// Certainly this format.
    Certain,
}

impl DetectionConfidence {
    /// Certain, or not this format.
    pub fn certain_if(is_one: bool) -> Self {
        if is_one { Self::Certain } else { Self::No }
    }
}

/// Reads one format.
pub trait Importer: Sync {
    /// The format.
    fn format(&self) -> &'static TraceFormat;
    /// Examines the first bytes of the unpacked content (at most 4 KiB; fewer only if the content is shorter).
    fn detect(&self, head: &[u8]) -> DetectionConfidence;
    /// Whether file names carry information that the content does not, so that two files with the same content differ.
    fn name_tells(&self) -> bool {
        false
    }
    /// The files that it reads beside one of this name, as patterns of paths relative to the folder of the file. Beside a
    /// file of a bucket, they are copied to this machine.
    fn beside(&self, _name: &str) -> Vec<String> {
        Vec::new()
    }
    /// Adds the content to `out`. Problems that do not prevent the import go to its import log.
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
    ) -> Result<()>;
    /// The arguments of an imported file again, after its model was saved as a snapshot with this `state` (see
    /// [`SavedArgs`](trace_model::SavedArgs)). `content` unpacks the file; `None` if it is another one.
    fn reopen_args(
        &self,
        _source: &InputSource,
        _content: &dyn Fn() -> Option<SharedBytes>,
        _state: &[u8],
    ) -> Option<Arc<dyn ArgSource>> {
        None
    }
}

/// Says what is read of each event on a host thread, by its name.
#[derive(Clone)]
pub struct HostEvents(Arc<dyn Fn(&str) -> HostEventUse + Send + Sync>);

impl HostEvents {
    /// By a function of the name.
    pub fn new(of_name: impl Fn(&str) -> HostEventUse + Send + Sync + 'static) -> Self {
        Self(Arc::new(of_name))
    }

    /// What is read of the events of this name.
    pub fn of_name(&self, name: &str) -> HostEventUse {
        (self.0)(name)
    }
}

impl std::fmt::Debug for HostEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HostEvents")
    }
}

impl PartialEq for HostEvents {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What to import from a path, and facts that its files do not contain.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "flags")]
pub struct ImportOptions {
    /// The run of a log directory; the newest if `None`.
    pub run: Option<String>,
    /// Clock of the device in MHz, for formats that count cycles but do not record the
    /// clock frequency.
    pub clock_mhz: Option<f64>,
    /// Roles of the tracks of a Chrome trace, for unknown writers.
    pub roles: Option<Arc<TrackRoles>>,
    /// Directory of a dump of the TPU compiler; if `None`, Systole searches for one next to programs.
    pub llo: Option<PathBuf>,
    /// Files of compiled programs, or directories of them, for a trace that holds none.
    pub hlo: Vec<PathBuf>,
    /// Whether a program without a timeline will do: one that is cut, or that no TPU can run as it is.
    pub programs_only: bool,
    /// How long to wait for files that are still being written; `None` reads what is there.
    pub wait: Option<Duration>,
    /// Whether the process ends soon after the import. It can then keep freed memory, which saves time.
    pub short_lived: bool,
    /// Directories, as absolute paths without links, outside of which nothing is read beside the files that are named;
    /// anywhere if empty.
    pub roots: Vec<PathBuf>,
    /// For an import that only reports need: what they read of events on host threads. Of executions of ops they read no
    /// arguments but of those with facts of their own. An importer may read more than is asked for; if it reads less
    /// than the file holds, the model is [partial](trace_model::TraceColumns::is_partial). `None` reads everything.
    pub for_reports: Option<HostEvents>,
    /// For a first look at a large file, until all of it is read: about so many bytes of events are enough, of whole devices
    /// in their order and of whole threads. The model is partial then. An importer that cannot do this reads everything.
    pub first_look: Option<u64>,
    /// Whether files of buckets are read without keeping a copy for the next time.
    pub no_cache: bool,
    /// Whether the fingerprints of files are wanted ([`trace_model::Source::fingerprint`]).
    pub fingerprints: bool,
}
