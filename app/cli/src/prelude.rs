//! What most commands name: `use crate::prelude::*`.

pub(crate) use std::fmt::Write as _;
pub(crate) use std::io::IsTerminal as _;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

pub(crate) use analysis::compare::Summary;
pub(crate) use analysis::{Scope, Table, Unit};
pub(crate) use clap::{Args, ValueEnum};
pub(crate) use importers::Progress;
pub(crate) use render::{
    AnsiStyle, CsvCells, Document, NamedTable, TextLayout, csv, markdown, ndjson, table,
};
pub(crate) use request::{
    Assumptions, PartRequest, RequestError, Result, TraceRequest, answers, checks,
};
pub(crate) use serde_json::{Value, json};
pub(crate) use session::Session;
pub(crate) use session::files::OutputGuard;
pub(crate) use session::number::{self, counted};
pub(crate) use trace_model::joined;
