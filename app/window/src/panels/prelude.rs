//! What most panels name: `use crate::panels::prelude::*`.

pub(super) use super::context::{PanelContext, computing_ui, section_ui};
pub(super) use super::number::number;
pub(super) use super::widgets::{ResponseExt as _, at_right, remark, remark_ui};
pub(super) use crate::command::AppCommand;
pub(super) use crate::jobs::{JobAnswer, WakeUi, Worker};
pub(super) use crate::prelude::*;
pub(super) use crate::theme::{self, small_font};
pub(super) use crate::timeline::elide::{elided, elided_name};
pub(super) use crate::times;
