//! What most importers name: `use importer_common::prelude::*`.

pub use hashbrown::HashMap;
pub use input::{InputSource, Progress, Result};
pub use trace_model::prelude::*;
pub use trace_model::{ArgValue, DeviceInfo, IssueKind, Op, SliceSpec, StringId, TraceBuilder};

pub use crate::{DetectionConfidence, ImportOptions, Importer, TraceFormat};
