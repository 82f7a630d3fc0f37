//! What most commands name: `use super::prelude::*`.

pub(super) use crate::common::{
    Answer, CommandOutcome, CsvArgs, ForceArgs, Loading, OutputArgs, OutputFormat, Stderr, loading,
    output, terminal,
};
pub(super) use crate::prelude::*;
