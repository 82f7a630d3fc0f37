//! The table of actions.

use crate::command::{AppCommand, ComparisonCommand, ScaleChange};
use crate::prelude::*;
use crate::settings::ThemeChoice;
use render::pictures::{PictureFormat, PicturePanel};
use view::palette::Preset;
use view::state::{
    COMPARE_TAB, ColorBy, DerivedRows, FOUND_TAB, MouseMode, Neighbour, TimelineLayer,
};

/// An action of the user, by key, palette or button.
pub struct Action {
    /// Stable name, used in settings.
    pub id: &'static str,
    pub title: &'static str,
    /// Default keys.
    pub keys: &'static [&'static str],
    /// The command it sends; `None` for actions that last while a key is held.
    pub run: Option<fn(&ViewState) -> AppCommand>,
}

/// What an action does: `held`, a command, or a command that depends on the state.
macro_rules! run {
    (held) => {
        None
    };
    (|$state:ident| $command:expr) => {
        Some(|$state| $command.into())
    };
    ($command:expr) => {
        Some(|_| $command.into())
    };
}

/// A list of actions: id, title, default keys, what it does.
macro_rules! actions {
    ($($(#[$cfg:meta])? $id:literal, $title:literal, $keys:expr => { $($run:tt)+ })*) => {
        &[$($(#[$cfg])? Action { id: $id, title: $title, keys: &$keys, run: run!($($run)+) }),*]
    };
}

fn toggle(state: &ViewState, panel: Panel) -> ViewCommand {
    ViewCommand::ShowPanel(panel, !state.shows(panel))
}

fn toggle_layer(state: &ViewState, layer: TimelineLayer) -> ViewCommand {
    ViewCommand::ShowLayer(layer, !state.draws(layer))
}

fn toggle_rows(state: &ViewState, rows: DerivedRows) -> ViewCommand {
    ViewCommand::ShowRows(rows, !state.derived.contains(&rows))
}

/// The action of Escape, whose key cannot be changed.
pub const LEAVE: &str = "leave";

/// Title of the group of actions that need two open traces.
pub(super) const COMPARE: &str = "Compare two runs";

/// Zoom factor of one key press.
const STEP: f64 = 1.5;

/// All actions by group, in the order of the help.
#[rustfmt::skip]
pub const ACTIONS: &[(&str, &[Action])] = &[
    ("Move", actions! {
        "zoom-in", "Zoom in at the pointer", ["W", "Plus", "Equals"] => { held }
        "zoom-out", "Zoom out at the pointer", ["S", "Minus"] => { held }
        "zoom-in-once", "Zoom in one step, around the center", ["Ctrl+Equals", "Ctrl+Plus"] => { ViewCommand::Zoom { factor: STEP, anchor: 0.5 } }
        "zoom-out-once", "Zoom out one step, around the center", ["Ctrl+Minus"] => { ViewCommand::Zoom { factor: 1.0 / STEP, anchor: 0.5 } }
        "pan-left", "Pan left (Shift: faster, Alt: finer)", ["A"] => { held }
        "pan-right", "Pan right", ["D"] => { held }
        "scroll-up", "Scroll the tracks up", ["Up"] => { held }
        "scroll-down", "Scroll the tracks down", ["Down"] => { held }
        "focus", "Zoom to the selection; again: fill the view", ["F"] => { ViewCommand::Focus }
        "fit", "Show what the devices do, or the whole trace", ["0", "Z"] => { ViewCommand::Fit }
        "undo", "Back to the previous view", ["Alt+Left", "Backspace"] => { ViewCommand::Undo }
        "redo", "Forward again", ["Alt+Right"] => { ViewCommand::Redo }
    }),
    ("Select", actions! {
        "previous", "Previous slice of the lane", ["Left", "Comma"] => { ViewCommand::Step(Neighbour::Previous) }
        "next", "Next slice of the lane", ["Right", "Period"] => { ViewCommand::Step(Neighbour::Next) }
        "previous-of-name", "Previous slice of the same name on this track", ["Shift+Left"] => { ViewCommand::Step(Neighbour::PreviousOfName) }
        "next-of-name", "Next slice of the same name on this track", ["Shift+Right"] => { ViewCommand::Step(Neighbour::NextOfName) }
        "parent", "Parent slice", ["Ctrl+Up"] => { ViewCommand::Step(Neighbour::Parent) }
        "child", "Child slice", ["Ctrl+Down"] => { ViewCommand::Step(Neighbour::Child) }
        "follow", "Follow a flow", ["CloseBracket"] => { ViewCommand::FollowFlow(true) }
        "follow-back", "Follow a flow back", ["OpenBracket"] => { ViewCommand::FollowFlow(false) }
        "cycle-flow", "Choose the next flow", ["Ctrl+CloseBracket"] => { ViewCommand::CycleFlow(true) }
        "cycle-flow-back", "Choose the previous flow", ["Ctrl+OpenBracket"] => { ViewCommand::CycleFlow(false) }
        "mark", "Mark the time of the selection", ["M", "R"] => { ViewCommand::MarkSelection(false) }
        "keep-mark", "Save the marked time as a note", ["Shift+M"] => { ViewCommand::MarkSelection(true) }
        "mark-all", "Mark the whole trace", ["Ctrl+A"] => { ViewCommand::MarkAll }
        "pin", "Pin the track below the pointer to the top", ["P"] => { AppCommand::PinHovered }
        "isolate", "Show only search results, or everything", ["I"] => { |state| ViewCommand::Isolate(!state.isolate) }
        "leave", "Close the open box, or clear the selection", ["Escape"] => { |state| leave(state) }
    }),
    ("Mouse", actions! {
        "mouse-select", "Dragging marks an area of tracks", ["1"] => { ViewCommand::Mouse(MouseMode::Select) }
        "mouse-pan", "Dragging pans", ["2"] => { ViewCommand::Mouse(MouseMode::Pan) }
        "mouse-zoom", "Dragging zooms into a box", ["3"] => { ViewCommand::Mouse(MouseMode::Zoom) }
        "mouse-time", "Dragging marks a time on all tracks", ["4"] => { ViewCommand::Mouse(MouseMode::Time) }
    }),
    ("Window", actions! {
        "search", "Search; Enter / Shift+Enter: next / previous", ["Slash", "Ctrl+F"] => { ViewCommand::ShowPanel(Panel::Search, true) }
        "found-list", "List search results", ["L", "Ctrl+L"] => { ViewCommand::ShowTab(FOUND_TAB.to_owned()) }
        "palette", "Command palette", ["Ctrl+Shift+P", "F1"] => { |state| toggle(state, Panel::Palette) }
        "filter-tracks", "Filter tracks by name", ["Ctrl+P", "Shift+T"] => { AppCommand::FilterTracks }
        "details", "Details", ["Q"] => { |state| toggle(state, Panel::Details) }
        "reports", "Reports", ["Ctrl+B"] => { |state| toggle(state, Panel::Reports) }
        "wide", "Reports: wide or one column", ["Ctrl+Shift+B"] => { |state| ViewCommand::WideReports(!state.wide_reports) }
        "move-tab", "Reports: move the open tab below the timeline", [] => { |state| ViewCommand::MoveTab { tab: state.tab.clone(), below: true } }
        "notes", "Notes", ["N"] => { |state| toggle(state, Panel::Notes) }
        "grid", "Grid", ["G"] => { |state| toggle_layer(state, TimelineLayer::Grid) }
        "help", "This help", ["Questionmark"] => { |state| toggle(state, Panel::Help) }
        "keys", "Change keys", [] => { |state| toggle(state, Panel::Keys) }
        "open", "Open a file", ["Ctrl+O"] => { AppCommand::OpenDialog }
        "compare", "Compare with another file", [] => { AppCommand::CompareDialog }
        #[cfg(not(target_arch = "wasm32"))]
        "capture", "Capture a running program", [] => { AppCommand::CaptureDialog }
        "copy-view", "Copy what opens this view elsewhere: a link or a command", ["Y"] => { AppCommand::CopyView }
        "save-session", "Save view and notes as a session", ["Ctrl+S"] => { AppCommand::SaveSession(String::new()) }
        "save-svg", "Save the timeline as SVG", [] => { AppCommand::SavePicture(PicturePanel::TIMELINE, PictureFormat::Svg) }
        "save-picture", "Save the timeline as PNG", [] => { AppCommand::SavePicture(PicturePanel::TIMELINE, PictureFormat::Png) }
        "save-png", "Save the window as PNG", [] => { AppCommand::SaveWindow }
    }),
    (COMPARE, actions! {
        "swap-focus", "Compare: switch keys and panels to the other run", ["C"] => { ComparisonCommand::SwapFocus }
        "lock", "Compare: lock or unlock the two timelines", ["Shift+C"] => { ComparisonCommand::ToggleLock }
        "swap", "Compare: swap A and B", ["X"] => { ComparisonCommand::Swap }
        "interleave", "Compare: interleave the tracks of both runs, or stack the runs", ["Shift+X"] => { ComparisonCommand::Interleave }
        "lock-steps", "Compare: lock by steps", [] => { ComparisonCommand::Lock(ViewLock::Step) }
        "lock-ops", "Compare: lock by ops", [] => { ComparisonCommand::Lock(ViewLock::Op) }
        "lock-offset", "Compare: lock by an offset", [] => { ComparisonCommand::Lock(ViewLock::Offset) }
        "color-change", "Colour by change", [] => { ViewCommand::Color(ColorBy::Change) }
        "compare-tab", "Reports: Compare", [] => { ViewCommand::ShowTab(COMPARE_TAB.to_owned()) }
        "keep-a", "Compare: close B", [] => { ComparisonCommand::Keep(TraceSide::A) }
        "keep-b", "Compare: close A", [] => { ComparisonCommand::Keep(TraceSide::B) }
    }),
    ("View", actions! {
        "fold-all", "Fold all tracks", [] => { ViewCommand::FoldAll(true) }
        "unfold-all", "Unfold all tracks", [] => { ViewCommand::FoldAll(false) }
        "devices-by-host", "Devices: by host, as recorded", [] => { ViewCommand::OrderDevices(DeviceOrder::Host) }
        "devices-late", "Devices: late first", [] => { ViewCommand::OrderDevices(DeviceOrder::Lateness) }
        "devices-work", "Devices: most work first", [] => { ViewCommand::OrderDevices(DeviceOrder::Work) }
        "devices-idle", "Devices: most idle first", [] => { ViewCommand::OrderDevices(DeviceOrder::Idle) }
        "hide-empty", "Hide tracks without slices in sight", [] => { ViewCommand::HideEmpty }
        "show-all", "Show all hidden tracks", [] => { ViewCommand::ShowAllTracks }
        "minimap", "Minimap", [] => { |state| toggle_layer(state, TimelineLayer::Minimap) }
        "steps", "Step bands", [] => { |state| toggle_layer(state, TimelineLayer::Steps) }
        "arrows", "Flow arrows of the selected slice", [] => { |state| toggle_layer(state, TimelineLayer::Arrows) }
        "critical-path", "Rows: critical path of each step", [] => { |state| toggle_rows(state, DerivedRows::CriticalPath) }
        "rows-of-scopes", "Rows of scopes: framework names around ops", [] => { |state| toggle_rows(state, DerivedRows::Scopes) }
        "rows-of-source-lines", "Rows of source lines of ops", [] => { |state| toggle_rows(state, DerivedRows::Sources) }
        "times", "Times: next format", ["T"] => { AppCommand::NextTimes }
        "times-digits", "Times: four digits", [] => { AppCommand::Times(TimeFormat::Digits) }
        "times-exact", "Times: exact", [] => { AppCommand::Times(TimeFormat::Exact) }
        "times-s", "Times: in seconds", [] => { AppCommand::Times(TimeFormat::Seconds) }
        "times-ms", "Times: in milliseconds", [] => { AppCommand::Times(TimeFormat::Milliseconds) }
        "times-us", "Times: in microseconds", [] => { AppCommand::Times(TimeFormat::Microseconds) }
        "times-ns", "Times: in nanoseconds", [] => { AppCommand::Times(TimeFormat::Nanoseconds) }
        "color-category", "Colour by category", [] => { ViewCommand::Color(ColorBy::Category) }
        "color-name", "Colour by name", [] => { ViewCommand::Color(ColorBy::Name) }
        "color-module", "Colour by program", [] => { ViewCommand::Color(ColorBy::Module) }
        "color-efficiency", "Colour by roofline efficiency", [] => { ViewCommand::Color(ColorBy::Efficiency) }
        "colors-systole", "Colours: Systole", [] => { AppCommand::Colors(Preset::Systole) }
        "colors-perfetto", "Colours: Perfetto", [] => { AppCommand::Colors(Preset::Perfetto) }
        "colors-catapult", "Colours: Catapult", [] => { AppCommand::Colors(Preset::Catapult) }
        "colors-material", "Colours: Material", [] => { AppCommand::Colors(Preset::Material) }
        "colors-dracula", "Colours: Dracula", [] => { AppCommand::Colors(Preset::Dracula) }
        "colors-solarized", "Colours: Solarized", [] => { AppCommand::Colors(Preset::Solarized) }
        "colors-monokai", "Colours: Monokai", [] => { AppCommand::Colors(Preset::Monokai) }
        "wheel-zooms", "Wheel: zooms; with Ctrl it scrolls", [] => { AppCommand::WheelZooms(true) }
        "wheel-scrolls", "Wheel: scrolls the tracks; with Ctrl it zooms", [] => { AppCommand::WheelZooms(false) }
        "larger", "Size: larger texts and buttons", ["Ctrl+Alt+Equals", "Ctrl+Alt+Plus"] => { AppCommand::Scale(ScaleChange::By(1.1)) }
        "smaller", "Size: smaller texts and buttons", ["Ctrl+Alt+Minus"] => { AppCommand::Scale(ScaleChange::By(1.0 / 1.1)) }
        "usual-size", "Size: texts and buttons as usual", ["Ctrl+Alt+0"] => { AppCommand::Scale(ScaleChange::To(1.0)) }
        "dark", "Dark theme", [] => { AppCommand::Theme(ThemeChoice::Dark) }
        "light", "Light theme", [] => { AppCommand::Theme(ThemeChoice::Light) }
        "system", "System theme", [] => { AppCommand::Theme(ThemeChoice::System) }
    }),
];

/// Mouse actions, for the help.
pub const MOUSE: &[(&str, &str)] = &[
    (
        "Wheel",
        "Scroll the tracks; Ctrl: zoom (or the reverse, see above); Shift: pan",
    ),
    ("Click", "Select; double-click: select and zoom"),
    (
        "Ctrl+click",
        "Highlight all slices of this name too; again: stop highlighting them",
    ),
    (
        "Drag",
        "Mark an area and show its sums; drag its edges to change it (Alt: no snapping)",
    ),
    ("Drag on the ruler", "Mark a time on all tracks"),
    ("Shift, Space, middle or right drag", "Pan"),
    (
        "Right-click on the name of a track",
        "Pin, fold, hide or move it",
    ),
];

/// Escape closes the innermost open thing.
fn leave(state: &ViewState) -> AppCommand {
    for panel in [
        Panel::Palette,
        Panel::Keys,
        Panel::Help,
        Panel::Search,
        Panel::Notes,
    ] {
        if state.shows(panel) {
            return ViewCommand::ShowPanel(panel, false).into();
        }
    }
    let is_bare = state.place.selection.is_none()
        && state.place.mark.is_none()
        && state.highlighted.is_none();
    if is_bare && state.reports_over && state.shows(Panel::Reports) {
        // They lie over the timeline.
        return ViewCommand::ShowPanel(Panel::Reports, false).into();
    }
    ViewCommand::Deselect.into()
}
