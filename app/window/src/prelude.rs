//! What most of the window names: `use crate::prelude::*`.

pub(crate) use std::path::{Path, PathBuf};

pub(crate) use analysis::hints::Hint;
pub(crate) use analysis::reports::{Ops, Steps};
pub(crate) use analysis::{Analysis as _, Cell, Scope, capitalised};
pub(crate) use egui::{
    Align, Align2, Button, Color32, ComboBox, Context, CursorIcon, FontId, Frame, Id, Key, Label,
    Layout, Painter, Panel as EguiPanel, Pos2, Rect, Response, RichText, Role, ScrollArea, Sense,
    Shape, Stroke, StrokeKind, TextEdit, Ui, Vec2, WidgetInfo, pos2, vec2,
};
pub(crate) use session::Session;
pub(crate) use trace_model::locked;
pub(crate) use view::compare::{TraceSide, ViewLock};
pub(crate) use view::palette::ColorKey;
pub(crate) use view::panels::target::RowTarget;
pub(crate) use view::prelude::*;
pub(crate) use view::sessions::SessionStore;
pub(crate) use view::state::{
    DeviceOrder, HighlightedLabels, Panel, ReportScope, TreeItem, ViewCommand, ViewCommands,
    ViewState,
};
pub(crate) use view::time_format::TimeFormat;
pub(crate) use view::timeline::bands::StepBand;
pub(crate) use view::timeline::layout::DrawList;
pub(crate) use view::timeline::trace::OpenTrace;
pub(crate) use view::timeline::tree::group_digits;
pub(crate) use view::viewport::Viewport;
