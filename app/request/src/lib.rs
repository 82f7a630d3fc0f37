//! What can be asked of a trace, and the answers: one plain type for each question. The command line reads it from words,
//! agents and HTTP from JSON, Python from its arguments: a field is declared once, here.

#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    rustdoc::private_intra_doc_links,
    reason = "part of the program, not a library for others"
)]

pub mod answers;
mod assumptions;
mod cancel;
pub mod checks;
mod chip_arg;
mod compare;
mod error;
mod events;
mod expect;
pub mod history_file;
mod hlo;
pub mod ignored;
mod open_traces;
mod picture;
pub mod places;
mod read;
#[cfg(feature = "capture")]
mod record;
#[cfg(feature = "capture")]
mod recorded;
mod settings;
pub mod summaries;
mod values;
mod what_if;

pub use assumptions::{
    AssumedFiles, AssumedValues, Assumptions, BaseFiles, DigestRequest, PartRequest,
    ReadingOptions, TraceRequest,
};
pub use cancel::{Cancel, CancelOnDrop};
pub use chip_arg::ChipArg;
pub use compare::CompareRequest;
pub use error::{ErrorCodes, RequestError, Result, with_wait};
pub use events::{EventAnswer, EventQuestion, EventsRequest};
pub use expect::ExpectRequest;
pub use hlo::{HloAnswer, HloRequest};
pub use ignored::{notes, notes_of_side};
pub use open_traces::{AskedTrace, OpenTraces, bytes_of, first_look};
pub use picture::{PictureArg, PictureRequest, SizeArg, drawn};
pub use read::{known, read, schema_of, without_formats};
#[cfg(feature = "capture")]
pub use record::{CaptureRequest, RecordingRequest, RunName};
#[cfg(feature = "capture")]
pub use recorded::{Recorded, opener};
pub use settings::{SETTINGS_FILE, SettingsFile};
pub use values::{Clock, RangeArg, ServingArg, Speed, StepsArg, Text, list, seconds, whole};
pub use what_if::{OpFactor, WhatIfRequest};

/// Who is told what is no reason to stop.
pub trait Warnings {
    /// Tells it.
    fn warn(&self, text: &str);
}

/// Nobody: programs that ask have no place for warnings.
impl Warnings for () {
    fn warn(&self, _: &str) {}
}
