//! What most commands name: `use crate::prelude::*`.

pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::sync::Arc;

pub(crate) use analysis::{Scope, Table, Unit};
pub(crate) use clap::{Args, ValueEnum};
pub(crate) use importers::Progress;
pub(crate) use render::{AnsiStyle, CsvCells, Document, NamedTable, TextLayout};
pub(crate) use request::{
    Assumptions, PartRequest, RequestError, Result, TraceRequest, answers, checks,
};
pub(crate) use serde_json::json;
pub(crate) use session::Session;
pub(crate) use session::files::OutputGuard;
