//! What most code that reads or builds a model names: `use trace_model::prelude::*`.

pub use std::cmp::Reverse;
pub use std::collections::{BTreeMap, BTreeSet};
pub use std::sync::Arc;

pub use crate::{
    GroupId, GroupKind, LabelId, OpId, Picos, ProgramId, SliceAttr, SliceId, SliceRef, TimeRange,
    Timestamp, TraceModel, TrackId, TrackKind, joined,
};
