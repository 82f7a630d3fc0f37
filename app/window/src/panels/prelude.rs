//! What most panels name: `use crate::panels::prelude::*`.

pub(super) use super::context::{PanelContext, computing_ui, section_ui};
pub(super) use super::number::{self, number};
pub(super) use super::widgets::{
    ResponseExt as _, at_right, check_box, close_button, dialog, keep, kept, remark, remark_ui,
    text_field,
};
pub(super) use crate::command::{AppCommand, AppCommands, ComparisonCommand};
pub(super) use crate::drawing::chart_ui;
pub(super) use crate::jobs::{JobAnswer, WakeUi, Worker};
pub(super) use crate::keys::hint;
pub(super) use crate::platform;
pub(super) use crate::prelude::*;
pub(super) use crate::settings::Settings;
pub(super) use crate::theme::{self, Theme, readable_on, small_font};
pub(super) use crate::timeline::elide::{elided, elided_name};
pub(super) use crate::times::{self, time};
