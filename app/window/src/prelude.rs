//! What most of the window names: `use crate::prelude::*`.

pub(crate) use std::path::{Path, PathBuf};

pub(crate) use analysis::reports::{Ops, Steps};
pub(crate) use analysis::{Analysis as _, Cell, Scope};
pub(crate) use egui::{
    Align, Align2, Button, Color32, Context, CursorIcon, FontId, Frame, Id, Key, Painter, Pos2,
    Rect, Response, RichText, Role, ScrollArea, Sense, Stroke, TextEdit, Ui, WidgetInfo, pos2,
    vec2,
};
pub(crate) use session::Session;
pub(crate) use session::number::counted;
pub(crate) use view::compare::TraceSide;
pub(crate) use view::prelude::*;
pub(crate) use view::state::{
    HighlightedLabels, Panel, ReportScope, TreeItem, ViewCommand, ViewState,
};
pub(crate) use view::timeline::trace::OpenTrace;
pub(crate) use view::timeline::tree::group_digits;
pub(crate) use view::viewport::Viewport;
