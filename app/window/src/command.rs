//! The commands of the app.

use crate::prelude::*;

use crate::chord::Chord;
use crate::settings::{PanelPart, ThemeChoice};
use render::pictures;
use view::palette::Preset;

/// Commands of the user, in the order in which they are carried out.
pub type AppCommands = Vec<AppCommand>;

/// One command of the user.
#[derive(Clone, Debug)]
pub enum AppCommand {
    /// Open this file or directory.
    Open(PathBuf),
    /// Show the dialog that opens a file.
    OpenDialog,
    /// Open this file next to the open trace and compare them.
    Compare(PathBuf),
    /// Show the dialog that opens a file to compare with.
    CompareDialog,
    /// Show the dialog that asks where this source file is, which the capture names.
    FindSource(String),
    /// Show the dialog that records running programs.
    #[cfg(not(target_arch = "wasm32"))]
    CaptureDialog,
    /// Change how a log directory is followed.
    #[cfg(not(target_arch = "wasm32"))]
    Following(FollowCommand),
    /// Show the file dialog of the system.
    Browse {
        /// Whether the file is opened for comparison.
        beside: bool,
    },
    /// These files were dropped on the window; an empty list cancels the question what to do with them.
    Dropped(Vec<PathBuf>),
    CancelLoad,
    /// Dismiss the error message.
    DismissError,
    DismissNotice,
    /// Remove this file from the list of recent files.
    ForgetRecent(PathBuf),
    /// Open a sample trace that ships with the app, by index.
    OpenSample(usize),
    /// Open the session of this name and its trace.
    OpenSession(String),
    /// Save the view as a session of this name. An empty name means the name of the open session, or else the name of
    /// the trace.
    SaveSession(String),
    /// Rename a session: from, to.
    RenameSession(String, String),
    /// Delete the session of this name.
    DeleteSession(String),
    /// Ask for a file and save a text there.
    Save(TextToSave),
    /// Save a picture of the timeline or a plot.
    SavePicture(pictures::PicturePanel, pictures::PictureFormat),
    /// Open a line of a file in the user's editor.
    Edit {
        path: PathBuf,
        /// The line, from 1.
        line: u32,
    },
    /// Open the tab of the report with this id, at its tables.
    ShowReport(&'static str),
    /// Copy what opens this view elsewhere.
    CopyView,
    /// Save the window as a PNG.
    SaveWindow,
    /// Move the keyboard focus to the track filter.
    FilterTracks,
    /// Set whether the wheel zooms.
    WheelZooms(bool),
    Theme(ThemeChoice),
    /// Set the format of times.
    Times(TimeFormat),
    /// Set the colour preset of slices, here and for traces opened later.
    Colors(Preset),
    /// Take the peaks of this chip for devices that record none, and compute all reports again.
    AssumeChip(String),
    /// Switch to the next format of times.
    NextTimes,
    /// Set the size of a panel, in points.
    PanelSize(PanelPart, f32),
    /// Change the size of texts and buttons.
    Scale(ScaleChange),
    /// Change the key bindings.
    Remap(Remap),
    /// Pin the track below the pointer, or unpin it.
    PinHovered,
    /// Change the view of the open trace; of two, the focused one.
    View(ViewCommand),
    /// Change the view of one of two traces.
    On(TraceSide, ViewCommand),
    /// Change how two traces are compared and linked.
    Comparison(ComparisonCommand),
}

/// A command about a log directory whose newest run is followed.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Clone, Debug)]
pub enum FollowCommand {
    /// Open the newest run of a directory, and each newer one in its place.
    Start(PathBuf),
    /// Stay at the open run, or go on.
    Pause(bool),
    Stop,
    /// Open a run of the directory, and stay at it.
    OpenRun(PathBuf),
}

/// A change of the size of texts and buttons.
#[derive(Clone, Copy, Debug)]
pub enum ScaleChange {
    /// To this multiple of the usual one.
    To(f32),
    By(f32),
}

/// A command about two linked traces.
#[derive(Clone, Debug)]
pub enum ComparisonCommand {
    /// Give this side the focus: keys and panels apply to it.
    Focus(TraceSide),
    /// Give the other side the focus.
    SwapFocus,
    /// Swap A and B.
    Swap,
    /// Set how the views are linked.
    Lock(ViewLock),
    /// Unlink the views, or link them as before.
    ToggleLock,
    /// Set the offset of B, counted from the beginnings of the traces.
    Offset(Picos),
    /// Show the tracks of both in one list, each track of B below its counterpart in A, or one timeline above the
    /// other.
    Interleave,
    /// Set the share of the height that the timeline of A takes.
    Split(f32),
    /// Show steps: the first one, and how many.
    ShowSteps(usize, usize),
    /// Select the ops of these rows of the comparison on both sides and highlight them.
    ShowOps(Vec<usize>),
    Stop,
    /// Start the stopped comparison again.
    Resume,
    /// Close the other side.
    Keep(TraceSide),
}

/// A change of the key bindings.
#[derive(Clone, Copy, Debug)]
pub enum Remap {
    /// Add a key to an action and take it from every other action.
    Assign(&'static str, Chord),
    /// Remove a key from an action.
    Remove(&'static str, Chord),
    /// Restore the default keys of an action and take them from every other action.
    Reset(&'static str),
    /// Restore the default keys of all actions.
    ResetAll,
}

#[derive(Clone, Debug)]
pub struct TextToSave {
    /// Proposed file name.
    pub name: String,
    pub text: String,
}

impl AppCommand {
    /// Opens a file, alone or beside the open one.
    pub fn open(path: PathBuf, beside: bool) -> Self {
        if beside {
            Self::Compare(path)
        } else {
            Self::Open(path)
        }
    }
}

impl From<ComparisonCommand> for AppCommand {
    fn from(command: ComparisonCommand) -> Self {
        Self::Comparison(command)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl From<FollowCommand> for AppCommand {
    fn from(command: FollowCommand) -> Self {
        Self::Following(command)
    }
}

impl From<ViewCommand> for AppCommand {
    fn from(command: ViewCommand) -> Self {
        Self::View(command)
    }
}
