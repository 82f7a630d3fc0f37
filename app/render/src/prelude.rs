//! What most documents name: `use crate::prelude::*`.

pub(crate) use std::fmt::Write as _;
pub(crate) use std::path::Path;

pub(crate) use analysis::compare::{Comparison, Summary};
pub(crate) use analysis::gates::{GateLevel, GatesReport, Status};
pub(crate) use analysis::{
    Cell, Percent, Scope, Table, Tabular as _, Unit, capitalised, printable, sentence,
};
pub(crate) use session::number;
pub(crate) use trace_model::{Picos, joined};
pub(crate) use unicode_width::UnicodeWidthStr as _;
pub(crate) use view::drawing::{ColorRole, Drawing};
pub(crate) use view::overview::Overview;

pub(crate) use crate::document::Document;
pub(crate) use crate::layout::TextLayout;
