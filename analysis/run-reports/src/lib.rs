//! Reports on the host, on programs, and on a run as a whole: one module for each question.

pub mod hlo;
pub mod host;
pub mod summary;

pub use host::compile::{Compile, CompilePlace, CompileReport};
pub use host::gaps::{DeviceGaps, Gaps, GapsReport, IdleCause};
pub use host::serving::{Serving, ServingPhase};
pub use summary::doctor::{CaptureFinding, Doctor, DoctorReport};
pub use summary::utilization::{Utilization, UtilizationReport};
