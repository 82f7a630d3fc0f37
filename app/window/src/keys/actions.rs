//! The table of actions.

use crate::command::{AppCommand, ComparisonCommand, ScaleChange};
use crate::panels::tabs::{compare, found};
use crate::settings::ThemeChoice;
use render::pictures::{PictureFormat, PicturePanel as Picture};
use view::compare::{TraceSide, ViewLock};
use view::palette::Preset;
use view::state::{ColorBy, MouseMode, Neighbour, Panel, TimelineLayer, ViewCommand, ViewState};
use view::time_format::TimeFormat;

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

const fn action(
    id: &'static str,
    title: &'static str,
    keys: &'static [&'static str],
    run: fn(&ViewState) -> AppCommand,
) -> Action {
    Action {
        id,
        title,
        keys,
        run: Some(run),
    }
}

const fn held(id: &'static str, title: &'static str, keys: &'static [&'static str]) -> Action {
    Action {
        id,
        title,
        keys,
        run: None,
    }
}

fn toggle(state: &ViewState, panel: Panel) -> AppCommand {
    ViewCommand::ShowPanel(panel, !state.shows(panel)).into()
}

fn toggle_layer(state: &ViewState, layer: TimelineLayer) -> AppCommand {
    ViewCommand::ShowLayer(layer, !state.draws(layer)).into()
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
    ("Move", &[
        held("zoom-in", "Zoom in at the pointer", &["W", "Plus", "Equals"]),
        held("zoom-out", "Zoom out at the pointer", &["S", "Minus"]),
        action("zoom-in-once", "Zoom in one step, around the center", &["Ctrl+Equals", "Ctrl+Plus"], |_| ViewCommand::Zoom { factor: STEP, anchor: 0.5 }.into()),
        action("zoom-out-once", "Zoom out one step, around the center", &["Ctrl+Minus"], |_| ViewCommand::Zoom { factor: 1.0 / STEP, anchor: 0.5 }.into()),
        held("pan-left", "Pan left (Shift: faster, Alt: finer)", &["A"]),
        held("pan-right", "Pan right", &["D"]),
        held("scroll-up", "Scroll the tracks up", &["Up"]),
        held("scroll-down", "Scroll the tracks down", &["Down"]),
        action("focus", "Zoom to the selection; again: fill the view", &["F"], |_| ViewCommand::Focus.into()),
        action("fit", "Show what the devices do, or the whole trace", &["0", "Z"], |_| ViewCommand::Fit.into()),
        action("undo", "Back to the previous view", &["Alt+Left", "Backspace"], |_| ViewCommand::Undo.into()),
        action("redo", "Forward again", &["Alt+Right"], |_| ViewCommand::Redo.into()),
    ]),
    ("Select", &[
        action("previous", "Previous slice of the lane", &["Left", "Comma"], |_| ViewCommand::Step(Neighbour::Previous).into()),
        action("next", "Next slice of the lane", &["Right", "Period"], |_| ViewCommand::Step(Neighbour::Next).into()),
        action("previous-of-name", "Previous slice of the same name on this track", &["Shift+Left"], |_| ViewCommand::Step(Neighbour::PreviousOfName).into()),
        action("next-of-name", "Next slice of the same name on this track", &["Shift+Right"], |_| ViewCommand::Step(Neighbour::NextOfName).into()),
        action("parent", "Parent slice", &["Ctrl+Up"], |_| ViewCommand::Step(Neighbour::Parent).into()),
        action("child", "Child slice", &["Ctrl+Down"], |_| ViewCommand::Step(Neighbour::Child).into()),
        action("follow", "Follow a flow", &["CloseBracket"], |_| ViewCommand::FollowFlow(true).into()),
        action("follow-back", "Follow a flow back", &["OpenBracket"], |_| ViewCommand::FollowFlow(false).into()),
        action("cycle-flow", "Choose the next flow", &["Ctrl+CloseBracket"], |_| ViewCommand::CycleFlow(true).into()),
        action("cycle-flow-back", "Choose the previous flow", &["Ctrl+OpenBracket"], |_| ViewCommand::CycleFlow(false).into()),
        action("mark", "Mark the time of the selection", &["M", "R"], |_| ViewCommand::MarkSelection(false).into()),
        action("keep-mark", "Save the marked time as a note", &["Shift+M"], |_| ViewCommand::MarkSelection(true).into()),
        action("mark-all", "Mark the whole trace", &["Ctrl+A"], |_| ViewCommand::MarkAll.into()),
        action("pin", "Pin the track below the pointer to the top", &["P"], |_| AppCommand::PinHovered),
        action("isolate", "Show only search results, or everything", &["I"], |state| ViewCommand::Isolate(!state.isolate).into()),
        action(LEAVE, "Close the open box, or clear the selection", &["Escape"], leave),
    ]),
    ("Mouse", &[
        action("mouse-select", "Dragging marks an area of tracks", &["1"], |_| ViewCommand::Mouse(MouseMode::Select).into()),
        action("mouse-pan", "Dragging pans", &["2"], |_| ViewCommand::Mouse(MouseMode::Pan).into()),
        action("mouse-zoom", "Dragging zooms into a box", &["3"], |_| ViewCommand::Mouse(MouseMode::Zoom).into()),
        action("mouse-time", "Dragging marks a time on all tracks", &["4"], |_| ViewCommand::Mouse(MouseMode::Time).into()),
    ]),
    ("Window", &[
        action("search", "Search; Enter / Shift+Enter: next / previous", &["Slash", "Ctrl+F"], |_| ViewCommand::ShowPanel(Panel::Search, true).into()),
        action("found-list", "List search results", &["L"], |_| found::TAB.show().into()),
        action("palette", "Command palette", &["Ctrl+Shift+P", "F1"], |state| toggle(state, Panel::Palette)),
        action("filter-tracks", "Filter tracks by name", &["Ctrl+P", "Shift+T"], |_| AppCommand::FilterTracks),
        action("details", "Details", &["Q"], |state| toggle(state, Panel::Details)),
        action("reports", "Reports", &["Ctrl+B"], |state| toggle(state, Panel::Reports)),
        action("wide", "Reports: wide or one column", &["Ctrl+Shift+B"], |state| ViewCommand::WideReports(!state.wide_reports).into()),
        action("move-tab", "Reports: move the open tab below the timeline", &[], |state| ViewCommand::MoveTab { tab: state.tab.clone(), below: true }.into()),
        action("notes", "Notes", &["N"], |state| toggle(state, Panel::Notes)),
        action("grid", "Grid", &["G"], |state| toggle_layer(state, TimelineLayer::Grid)),
        action("help", "This help", &["Questionmark"], |state| toggle(state, Panel::Help)),
        action("keys", "Change keys", &[], |state| toggle(state, Panel::Keys)),
        action("open", "Open a file", &["Ctrl+O"], |_| AppCommand::OpenDialog),
        action("compare", "Compare with another file", &[], |_| AppCommand::CompareDialog),
        #[cfg(not(target_arch = "wasm32"))]
        action("capture", "Capture a running program", &[], |_| AppCommand::CaptureDialog),
        action("save-session", "Save view and notes as a session", &["Ctrl+S"], |_| AppCommand::SaveSession(String::new())),
        action("save-svg", "Save the timeline as SVG", &[], |_| AppCommand::SavePicture(Picture::Timeline, PictureFormat::Svg)),
        action("save-picture", "Save the timeline as PNG", &[], |_| AppCommand::SavePicture(Picture::Timeline, PictureFormat::Png)),
        action("save-png", "Save the window as PNG", &[], |_| AppCommand::SaveWindow),
    ]),
    (COMPARE, &[
        action("swap-focus", "Compare: switch keys and panels to the other run", &["C"], |_| ComparisonCommand::SwapFocus.into()),
        action("lock", "Compare: lock or unlock the two timelines", &["Shift+C"], |_| ComparisonCommand::ToggleLock.into()),
        action("swap", "Compare: swap A and B", &["X"], |_| ComparisonCommand::Swap.into()),
        action("interleave", "Compare: interleave the tracks of both runs, or stack the runs", &["Shift+X"], |_| ComparisonCommand::Interleave.into()),
        action("lock-steps", "Compare: lock by steps", &[], |_| ComparisonCommand::Lock(ViewLock::Step).into()),
        action("lock-ops", "Compare: lock by ops", &[], |_| ComparisonCommand::Lock(ViewLock::Op).into()),
        action("lock-offset", "Compare: lock by an offset", &[], |_| ComparisonCommand::Lock(ViewLock::Offset).into()),
        action("color-change", "Colour by change", &[], |_| ViewCommand::Color(ColorBy::Change).into()),
        action("compare-tab", "Reports: Compare", &[], |_| compare::TAB.show().into()),
        action("keep-a", "Compare: close B", &[], |_| ComparisonCommand::Keep(TraceSide::A).into()),
        action("keep-b", "Compare: close A", &[], |_| ComparisonCommand::Keep(TraceSide::B).into()),
    ]),
    ("View", &[
        action("fold-all", "Fold all tracks", &[], |_| ViewCommand::FoldAll(true).into()),
        action("unfold-all", "Unfold all tracks", &[], |_| ViewCommand::FoldAll(false).into()),
        action("hide-empty", "Hide tracks without slices in sight", &[], |_| ViewCommand::HideEmpty.into()),
        action("show-all", "Show all hidden tracks", &[], |_| ViewCommand::ShowAllTracks.into()),
        action("minimap", "Minimap", &[], |state| toggle_layer(state, TimelineLayer::Minimap)),
        action("steps", "Step bands", &[], |state| toggle_layer(state, TimelineLayer::Steps)),
        action("arrows", "Flow arrows of the selected slice", &[], |state| toggle_layer(state, TimelineLayer::Arrows)),
        action("times", "Times: next format", &["T"], |_| AppCommand::NextTimes),
        action("times-digits", "Times: four digits", &[], |_| AppCommand::Times(TimeFormat::Digits)),
        action("times-exact", "Times: exact", &[], |_| AppCommand::Times(TimeFormat::Exact)),
        action("times-s", "Times: in seconds", &[], |_| AppCommand::Times(TimeFormat::Seconds)),
        action("times-ms", "Times: in milliseconds", &[], |_| AppCommand::Times(TimeFormat::Milliseconds)),
        action("times-us", "Times: in microseconds", &[], |_| AppCommand::Times(TimeFormat::Microseconds)),
        action("times-ns", "Times: in nanoseconds", &[], |_| AppCommand::Times(TimeFormat::Nanoseconds)),
        action("color-category", "Colour by category", &[], |_| ViewCommand::Color(ColorBy::Category).into()),
        action("color-name", "Colour by name", &[], |_| ViewCommand::Color(ColorBy::Name).into()),
        action("color-module", "Colour by program", &[], |_| ViewCommand::Color(ColorBy::Module).into()),
        action("color-efficiency", "Colour by roofline efficiency", &[], |_| ViewCommand::Color(ColorBy::Efficiency).into()),
        action("colors-systole", "Colours: Systole", &[], |_| AppCommand::Colors(Preset::Systole)),
        action("colors-perfetto", "Colours: Perfetto", &[], |_| AppCommand::Colors(Preset::Perfetto)),
        action("colors-catapult", "Colours: Catapult", &[], |_| AppCommand::Colors(Preset::Catapult)),
        action("colors-material", "Colours: Material", &[], |_| AppCommand::Colors(Preset::Material)),
        action("colors-dracula", "Colours: Dracula", &[], |_| AppCommand::Colors(Preset::Dracula)),
        action("colors-solarized", "Colours: Solarized", &[], |_| AppCommand::Colors(Preset::Solarized)),
        action("colors-monokai", "Colours: Monokai", &[], |_| AppCommand::Colors(Preset::Monokai)),
        action("wheel-zooms", "Wheel: zooms; with Ctrl it scrolls", &[], |_| AppCommand::WheelZooms(true)),
        action("wheel-scrolls", "Wheel: scrolls the tracks; with Ctrl it zooms", &[], |_| AppCommand::WheelZooms(false)),
        action("larger", "Size: larger texts and buttons", &["Ctrl+Alt+Equals", "Ctrl+Alt+Plus"], |_| AppCommand::Scale(ScaleChange::By(1.1))),
        action("smaller", "Size: smaller texts and buttons", &["Ctrl+Alt+Minus"], |_| AppCommand::Scale(ScaleChange::By(1.0 / 1.1))),
        action("usual-size", "Size: texts and buttons as usual", &["Ctrl+Alt+0"], |_| AppCommand::Scale(ScaleChange::To(1.0))),
        action("dark", "Dark theme", &[], |_| AppCommand::Theme(ThemeChoice::Dark)),
        action("light", "Light theme", &[], |_| AppCommand::Theme(ThemeChoice::Light)),
        action("system", "System theme", &[], |_| AppCommand::Theme(ThemeChoice::System)),
    ]),
];

/// Mouse actions, for the help.
pub const MOUSE: &[(&str, &str)] = &[
    (
        "Wheel",
        "Scroll the tracks; Ctrl: zoom (or the reverse, see Help); Shift: pan",
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
