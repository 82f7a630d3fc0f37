//! One open trace in the window: its state, timeline, panels and background jobs.

mod background;
mod derived;
mod docks;

use crate::prelude::*;
use analysis::hints::Hints;
use analysis::reports::communication::collectives::DevicePlaces;
use analysis::reports::{Collectives, Overlap};
use egui::CentralPanel;
use trace_model::Arg;

use self::derived::DerivedJobs;
use self::docks::{docks_ui, tabs_ui};
use crate::jobs::{WakeUi, Worker};
use crate::keys::Keys;
use crate::panels::comparison_tables::ComparisonTables;
use crate::panels::context::{OtherRun, PanelContext};
use crate::panels::dock::PanelState;
use crate::panels::frame::{self, overlay_command, sized_ui, top_ui};
use crate::panels::tabs::TAB_IDS;
use crate::panels::tabs_with_data::TabsWithData;
use crate::panels::{
    area as area_panel, details, help, keys as keys_panel, legend, notes, palette,
    search as search_panel, welcome,
};
use crate::reports::ReportJobs;
use crate::settings::{PanelPart, Settings};
use crate::timeline::reveal::first_in_sight;
use crate::timeline::{OtherTrace, Timeline, TimelineContext};
use crate::{AppCommand, AppCommands, times};
use view::panels::area::{AreaSummaries, AreaSummary, MarkedArea};
use view::panels::histogram::Histogram;
use view::panels::op_facts::KnownReports;
use view::search::{SearchFor, SearchResults};
use view::state::ColorBy;

/// What the panels show of a comparison with another trace.
pub struct Companion<'a> {
    /// State of the comparison tab.
    pub tables: &'a mut ComparisonTables,
    /// A sentence about the selected op.
    pub about: Option<String>,
    pub other: OtherRun<'a>,
}

/// What drawing needs besides the traces.
#[derive(Clone, Copy)]
pub struct FrameContext<'a> {
    pub settings: &'a Settings,
    pub keys: &'a Keys,
    /// A file that is being opened.
    pub loading: Option<(&'a PathBuf, &'a Progress)>,
}

pub struct Workspace {
    pub trace: OpenTrace,
    pub state: ViewState,
    timeline: Timeline,
    /// Reports about the whole trace.
    reports: ReportJobs,
    /// Reports about the selected scope.
    scoped: ReportJobs,
    args: Worker<SliceId, Vec<Arg>>,
    search: Worker<SearchFor, Arc<SearchResults>>,
    areas: Arc<AreaSummaries>,
    area: Worker<MarkedArea, AreaSummary>,
    durations: Worker<LabelId, Histogram>,
    derived: DerivedJobs,
    /// Finds what would delay a frame that needs it: see [`Self::ask_jobs`].
    ahead: Worker<(), ()>,
    /// Whether a frame has been drawn, so that jobs cannot delay the first.
    is_drawn: bool,
    /// Whether jobs were asked for since.
    has_asked: bool,
    wake: WakeUi,
    choice: area_panel::AreaPanelState,
    pub memory: PanelState,
    palette: palette::PaletteInput,
    changing: keys_panel::KeyEdit,
    typed: String,
    bands: Option<Arc<[StepBand]>>,
    efficiency: Option<Vec<ColorKey>>,
    /// The devices that the others wait for over the whole trace, once they are known.
    late: Option<Vec<GroupId>>,
    with_data: TabsWithData,
}

impl Workspace {
    /// A new view of `trace`.
    pub fn new(trace: OpenTrace, wake: &WakeUi) -> Self {
        let state = ViewState::new(&trace.model).with_tabs(&TAB_IDS);
        Self {
            state,
            ahead: Worker::new("precomputation", wake),
            is_drawn: false,
            has_asked: false,
            wake: WakeUi::clone(wake),
            timeline: Timeline::default(),
            reports: ReportJobs::new(trace.session.clone(), Arc::clone(wake)),
            scoped: ReportJobs::new(trace.session.clone(), Arc::clone(wake)),
            args: Worker::new("arguments", wake),
            search: Worker::new("search", wake),
            areas: Arc::new(AreaSummaries::new(
                trace.model.clone(),
                Arc::clone(&trace.classes),
            )),
            area: Worker::new("area", wake),
            durations: Worker::new("durations", wake),
            derived: DerivedJobs::new(wake),
            choice: area_panel::AreaPanelState::default(),
            memory: PanelState::new(wake),
            palette: palette::PaletteInput::default(),
            changing: keys_panel::KeyEdit::default(),
            typed: String::new(),
            bands: None,
            efficiency: None,
            late: None,
            with_data: TabsWithData::new(wake),
            trace,
        }
    }

    /// Takes the peaks of a chip for devices that record none; the view stays.
    pub fn assume_chip(&mut self, chip: &str, wake: &WakeUi) {
        let mut trace = self.trace.clone();
        trace.session = trace.session.with_chip(chip);
        let (state, typed) = (self.state.clone(), std::mem::take(&mut self.typed));
        *self = Self::new(trace, wake);
        self.scoped.set_scope(state.scope.into());
        (self.state, self.typed) = (state, typed);
    }

    pub fn apply(&mut self, command: &ViewCommand) {
        if let ViewCommand::Search(text) = command
            && self.typed.trim() != text
        {
            // The search was not typed but comes from a picture or a session.
            self.typed.clone_from(text);
        }
        let scope = self.state.scope;
        // Where nothing is selected, a step begins at what can be seen, which the state does not know.
        let first = matches!(command, ViewCommand::Step(_)) && self.state.place.selection.is_none();
        let range = self.state.place.time.range();
        let first = first
            .then(|| first_in_sight(&self.trace, self.timeline.drawn(), range))
            .flatten()
            .map(ViewCommand::Select);
        self.state
            .apply(first.as_ref().unwrap_or(command), &self.trace.model);
        if self.state.scope != scope {
            self.scoped.set_scope(self.state.scope.into());
            self.memory.forget_made();
        }
        if matches!(
            command,
            ViewCommand::Restore(_) | ViewCommand::ShowPanel(Panel::Search, false)
        ) {
            self.typed.clone_from(&self.state.search);
        }
    }

    /// The first sentence about the whole trace, once it is known.
    pub fn verdict(&self) -> Option<String> {
        self.reports
            .overview()
            .verdict
            .as_ref()
            .map(|verdict| verdict.statement.clone())
    }

    /// Number of arguments of the selected slice, once they are read.
    pub fn arguments(&self) -> Option<usize> {
        self.args.latest().map(Vec::len)
    }

    /// Whether it shows a part of a trace that is still being read.
    pub fn is_first_look(&self) -> bool {
        self.trace.model.is_partial()
    }

    /// Whether nothing is being computed, and all slices in sight are drawn.
    pub fn is_settled(&self) -> bool {
        self.has_asked
            && !self.timeline.is_incomplete()
            && self.reports.is_settled()
            && self.scoped.is_settled()
            && self.with_data.is_settled()
            && self.memory.is_settled()
            && self.derived.is_settled()
            && !(self.ahead.is_running()
                || self.args.is_running()
                || self.search.is_running()
                || self.area.is_running()
                || self.durations.is_running())
    }

    /// Draws everything below the toolbar.
    pub fn ui(&mut self, ui: &mut Ui, frame: FrameContext<'_>, out: &mut AppCommands) {
        self.panels_ui(ui, frame, None, out);
        let mut wanted = ViewCommands::new();
        CentralPanel::default().frame(Frame::NONE).show(ui, |ui| {
            self.timeline_ui(ui, frame, None, &mut wanted);
        });
        out.extend(wanted.into_iter().map(AppCommand::from));
    }

    /// Draws everything around the timeline.
    pub fn panels_ui(
        &mut self,
        ui: &mut Ui,
        frame: FrameContext<'_>,
        companion: Option<Companion<'_>>,
        out: &mut AppCommands,
    ) {
        let FrameContext {
            settings, loading, ..
        } = frame;
        times::are_of(&self.trace.model);
        let comparing = companion.is_some();
        let other = companion.as_ref().map(|other_side| other_side.other);
        let (comparison, about) = companion.map_or((None, None), |other_side| {
            (Some(other_side.tables), other_side.about)
        });
        let mut wanted = ViewCommands::new();
        if let Some((path, progress)) = loading {
            top_ui(ui, "loading", |ui| {
                welcome::progress_ui(ui, path, progress, out);
                if self.is_first_look() {
                    ui.label(welcome::shown_so_far(&self.trace.model));
                    ui.add_space(4.0);
                }
            });
        }
        EguiPanel::bottom("legend").exact_size(26.0).show(ui, |ui| {
            legend::legend_ui(ui, &self.trace, &self.state, comparing, &mut wanted);
        });
        let (trace, state, whole) = (&self.trace, &self.state, &self.reports);
        let context = PanelContext {
            trace,
            state,
            reports: if state.scope == ReportScope::Capture {
                whole
            } else {
                &self.scoped
            },
            whole,
            search: self.search.memo(),
            prefixes: &settings.source_prefixes,
            other,
        };
        tabs_ui(ui, context, &self.with_data, out);
        wanted.extend(overlay_command(ui, state.reports_over));
        let covered = if state.shows(Panel::Reports) {
            docks_ui(ui, context, &mut self.memory, comparison, settings, out)
        } else {
            0.0
        };
        if self.state.shows(Panel::Details) {
            let most = ui.available_height() - frame::TIMELINE;
            let panel: (fn(_) -> _, _) = (EguiPanel::bottom, "details");
            sized_ui(
                ui,
                panel,
                (PanelPart::Details, most),
                settings,
                out,
                |ui, out| {
                    // Beside reports that lie over the timeline, as long as there is room.
                    ui.set_max_width((ui.available_width() - covered).max(200.0));
                    if self.state.place.mark.is_some() {
                        area_panel::area_ui(
                            ui,
                            &self.state,
                            other.map(|other| other.side),
                            self.area.memo(),
                            &mut self.choice,
                            out,
                        );
                    } else {
                        if let Some(about) = about {
                            ui.strong(about);
                        }
                        let (args, durations) = (self.args.memo(), self.durations.memo());
                        let known = details::DetailsContext {
                            args,
                            durations,
                            steps: self.bands.as_deref().unwrap_or_default(),
                        };
                        // The details compare a slice with all slices of its name.
                        let context = PanelContext {
                            reports: whole,
                            ..context
                        };
                        details::details_ui(ui, context, known, &mut self.memory, &mut wanted);
                    }
                },
            );
        }
        self.dialogs_ui(ui, frame, comparing, &mut wanted, out);
        out.extend(wanted.into_iter().map(AppCommand::from));
    }

    /// Draws what lies over the other panels.
    fn dialogs_ui(
        &mut self,
        ui: &mut Ui,
        frame: FrameContext<'_>,
        comparing: bool,
        wanted: &mut ViewCommands,
        out: &mut AppCommands,
    ) {
        let FrameContext { settings, keys, .. } = frame;
        if self.state.shows(Panel::Search) || self.state.highlighted.is_some() {
            search_panel::floating_ui(
                ui,
                &self.trace.model,
                &self.state,
                &mut self.typed,
                self.search.memo(),
                wanted,
            );
        }
        if self.state.shows(Panel::Notes) {
            notes::notes_ui(ui.ctx(), &self.state, wanted);
        }
        if self.state.shows(Panel::Help) {
            help::help_ui(ui.ctx(), keys, settings, out);
        }
        if self.state.shows(Panel::Keys) {
            keys_panel::keys_ui(ui.ctx(), keys, settings, &mut self.changing, out);
        }
        if self.state.shows(Panel::Palette) {
            let (trace, state, steps) = (
                &self.trace,
                &self.state,
                self.bands.as_deref().unwrap_or_default(),
            );
            let hints = self.reports.ready::<Hints>();
            let context = palette::PaletteContext {
                keys,
                trace,
                state,
                steps,
                hints: hints.map_or(&[], |report| &report.hints),
                comparing,
            };
            palette::palette_ui(ui.ctx(), context, &mut self.palette, out);
        } else {
            // It is empty when it opens, however it was closed.
            self.palette = palette::PaletteInput::default();
        }
    }

    pub fn timeline_ui(
        &mut self,
        ui: &mut Ui,
        frame: FrameContext<'_>,
        beside: Option<OtherTrace<'_>>,
        out: &mut ViewCommands,
    ) {
        let highlighted = self
            .search
            .latest()
            .filter(|_| self.state.is_searching())
            .map(|search| &search.highlighted);
        let known = TimelineContext {
            highlighted,
            steps: self.bands.as_deref().unwrap_or_default(),
            efficiency: self.efficiency.as_deref(),
            late: self.late.as_deref().unwrap_or_default(),
            wheel_zooms: frame.settings.wheel_zooms,
            reports: KnownReports {
                ops: self.reports.ready::<Ops>(),
                overlap: self.reports.ready::<Overlap>(),
            },
            keys: Some(frame.keys),
            other_trace: beside,
        };
        if self.trace.tree.nodes().is_empty() {
            welcome::nothing_inside_ui(ui, &self.trace);
        } else {
            self.timeline.ui(ui, &self.trace, &self.state, &known, out);
        }
    }

    /// The time below the pointer.
    pub fn hovered(&self) -> Option<Timestamp> {
        self.timeline.hovered()
    }

    /// The track whose row or name is below the pointer.
    pub fn hovered_track(&self) -> Option<TrackId> {
        self.timeline.hovered_track()
    }

    /// Whether one of its rows is at this height below the top of its tracks.
    pub fn has_row_at(&self, y: f32) -> bool {
        self.timeline.drawn().row_at(y).is_some()
    }

    /// Whether there are several devices.
    pub fn has_devices_to_order(&self) -> bool {
        let model = &self.trace.model;
        let is_core =
            |group: &GroupId| matches!(model.group(*group).kind, GroupKind::TensorCore { .. });
        model.group_ids().filter(is_core).count() > 1
    }

    /// Where the devices are along axes, as far as it is known.
    pub fn device_places(&self) -> &[DevicePlaces] {
        let collectives = self.reports.ready::<Collectives>();
        collectives.map_or(&[], |collectives| &collectives.places)
    }

    /// The median time of its steps, once it is known.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn step_time(&self) -> Option<Picos> {
        let steps = self.reports.ready::<Steps>()?;
        let time = steps.time.as_ref()?;
        Some(Picos::from_ps(time.median.round() as i64))
    }

    /// Whether the last frame showed slices.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn draws_slices(&self) -> bool {
        let drawn = self.timeline.drawn();
        [&drawn.scrolled, &drawn.pinned].iter().any(|rows| {
            !(rows.boxes.is_empty() && rows.loads.is_empty() && rows.columns.is_empty())
        })
    }

    /// The visible times in the last frame.
    pub fn shown_time(&self) -> Viewport {
        self.timeline.shown().unwrap_or(self.state.place.time)
    }

    /// Called when there is no second trace any more.
    pub fn alone(&mut self) {
        self.state.leave_comparison();
        if self.state.color_by == ColorBy::Change {
            self.state.color_by = ColorBy::default();
        }
    }
}
