//! From the bytes of a profile to the common timeline model.
//!
//! Every format is one [`Importer`] in the list [`IMPORTERS`]. Bytes decide what
//! a file is; its name never does. To add a format: write `src/<format>.rs`, add
//! one line to the list, add fixtures.

mod astra_sim;
mod async_spans;
mod captures;
mod chakra;
mod csv_table;
mod cycles;
mod error;
mod glob;
mod import;
mod lines;
mod llo;
mod locate;
mod looks_like;
mod names;
mod onnxim;
mod op_costs;
mod progress;
mod scale_sim;
mod source;
#[cfg(test)]
mod testing;
mod togsim;
mod trace_event;
mod xla;
mod xplane;

use trace_model::TraceBuilder;

pub use error::ImportError;
pub use import::{detect, import, import_path, import_source};
pub use locate::{HostFiles, ImportOptions, Located, locate};
pub use progress::Progress;
pub use source::{Content, Fed, SharedBytes, Source};
pub use trace_event::Roles;

/// What a format is called and which files usually hold it.
#[derive(Debug)]
pub struct Format {
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
pub enum Confidence {
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
    fn format(&self) -> &'static Format;
    /// Whether `head`, the first bytes of the unpacked content (at most 4 KiB;
    /// shorter only where the file is), begin such a file.
    fn detect(&self, head: &[u8]) -> Confidence;
    /// Whether the name of a file says what its bytes do not, so that two files with the
    /// same bytes are not the same.
    fn name_tells(&self) -> bool {
        false
    }
    /// Adds the content to `out`. Everything survivable goes to its import log.
    fn import(
        &self,
        source: &Source,
        options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<(), ImportError>;
}

/// Every format, best guess first where two are equally sure.
pub static IMPORTERS: &[&dyn Importer] = &[
    &xplane::XPlane,
    &trace_event::TraceEventJson,
    &astra_sim::AstraSim,
    &chakra::Chakra,
    &scale_sim::ScaleSim,
    &onnxim::OnnxIm,
    &togsim::TogSim,
    &op_costs::NeuSim,
    &op_costs::GenZ,
    &xla::ScheduledHlo,
    &xla::LatencyHidingSchedule,
];
