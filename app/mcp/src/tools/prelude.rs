//! What most tools name: `use super::prelude::*`.

pub(super) use request::{RequestError, Result};
pub(super) use schemars::JsonSchema;
pub(super) use serde::Deserialize;

pub(super) use super::call::{Call, McpTool, PartOfTrace, ToolOutput, TraceInput};
pub(super) use crate::answer::{AnswerContent, AnswerTable};
