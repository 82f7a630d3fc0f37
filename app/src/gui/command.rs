//! What the user can want of the app.

use std::path::PathBuf;

use trace_model::Picos;

use crate::export;
use crate::gui::keys::Chord;
use crate::gui::settings::ThemeChoice;
use crate::view::compare::{TraceSide, ViewLock};
use crate::view::palette::Preset;
use crate::view::state::ViewCommand;
use crate::view::time_format::TimeFormat;

/// Something that the user wants.
#[derive(Clone, Debug, PartialEq)]
pub enum AppCommand {
    /// Open this file or directory.
    Open(PathBuf),
    /// Ask for a file to open.
    OpenDialog,
    /// Open this file beside the open one.
    Compare(PathBuf),
    /// Ask for a file to compare with.
    CompareDialog,
    /// Ask for a file in the system's own dialog.
    Browse {
        /// To compare with.
        beside: bool,
    },
    /// These were dropped on the window; nothing any more where there are none.
    Dropped(Vec<PathBuf>),
    /// Stop opening.
    CancelLoad,
    /// Do not show the error any more.
    DismissError,
    /// Nor what was said last.
    DismissNotice,
    /// Leave this file out of the list of recent ones.
    ForgetRecent(PathBuf),
    /// Open a trace that comes with the app.
    OpenSample(usize),
    /// Open what is kept under this name, and its trace.
    OpenSession(String),
    /// Keep the view under this name; where it is empty under the one that it was opened
    /// or kept under, or else the trace's.
    SaveSession(String),
    /// Give the session of this name another one.
    RenameSession(String, String),
    /// Forget the session of this name for good.
    DeleteSession(String),
    /// Ask where to, and write a text there.
    Save(TextToSave),
    /// Save a picture of the timeline or a plot.
    SavePicture(export::PicturePanel, export::PictureFormat),
    /// Save the window as it is seen.
    SaveWindow,
    /// Type into the filter of tracks.
    FilterTracks,
    /// What the wheel does.
    WheelZooms(bool),
    /// Dark or light.
    Theme(ThemeChoice),
    /// How times are written.
    Times(TimeFormat),
    /// Which colours slices have, here and in what is opened from now on.
    Colors(Preset),
    /// The way after the one that times are written in.
    NextTimes,
    /// Change which keys do what.
    Remap(Remap),
    /// Pin the track below the pointer, or do so no more.
    PinHovered,
    /// Change what is seen of the open trace, of two the one in focus.
    View(ViewCommand),
    /// Change what is seen of one of two traces.
    On(TraceSide, ViewCommand),
    /// Change how two traces are linked.
    Comparison(ComparisonCommand),
}

/// A wish about two linked traces.
#[derive(Clone, Debug, PartialEq)]
pub enum ComparisonCommand {
    /// Keys and panels are about this side.
    Focus(TraceSide),
    /// Keys and panels are about the other side.
    SwapFocus,
    /// A becomes B.
    Swap,
    /// How the views are linked.
    Lock(ViewLock),
    /// Free, or as before.
    ToggleLock,
    /// B is so much later, counted from the beginnings of the traces.
    Offset(Picos),
    /// Tracks of both in one list, each of B below that of A; or one timeline above the other.
    Interleave,
    /// The timeline of A takes this share of the height.
    Split(f32),
    /// Show steps from this on, so many.
    ShowSteps(usize, usize),
    /// Show ops of these rows of the comparison on both sides, and highlight them.
    ShowOps(Vec<usize>),
    /// Compare no further.
    Stop,
    /// Compare after all.
    Resume,
    /// Close the other side.
    Keep(TraceSide),
}

/// A wish to change keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Remap {
    /// One more key for an action, taken from any other action that has it.
    Assign(&'static str, Chord),
    /// One key less.
    Remove(&'static str, Chord),
    /// The usual keys of an action, taken from any other action that has them.
    Reset(&'static str),
    /// The usual keys of all actions.
    ResetAll,
}

/// A text to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct TextToSave {
    /// Proposed name of the file.
    pub name: String,
    /// What to write.
    pub text: String,
}

impl From<ComparisonCommand> for AppCommand {
    fn from(command: ComparisonCommand) -> Self {
        Self::Comparison(command)
    }
}

impl From<ViewCommand> for AppCommand {
    fn from(command: ViewCommand) -> Self {
        Self::View(command)
    }
}
