//! The reports of an open trace: the rail, the panel beside the timeline or over it, and the tabs below.

use std::sync::Arc;

use analysis::reports::steps::step_times::Steps;
use egui::{
    Area, CursorIcon, Frame, Id, Order, Panel as EguiPanel, Rect, Role, Sense, Ui, UiBuilder,
    WidgetInfo,
};

use super::Workspace;
use crate::AppCommand;
use crate::jobs::{JobAnswer, Worker};
use crate::panels::context::{OtherRun, PanelContext};
use crate::panels::dock::{self, ComparisonTab, DrawTab, PanelState};
use crate::panels::found::{self as found_panel, ResultList, ResultOrder};
use crate::panels::frame::{self, is_narrow, sized_ui};
use crate::panels::rail::{RailContent, rail_ui};
use crate::settings::{PanelPart, Settings};
use crate::theme;
use view::search::SearchResults;
use view::state::tabs::{COMPARE, FOUND};
use view::state::{Panel, ReportScope, ViewState};
use view::timeline::trace::OpenTrace;
use view::timeline::tree::group_digits;

impl Workspace {
    /// Finds out which tabs have data, once the visible reports are ready.
    pub(super) fn ask_tabs(&mut self) {
        if self.reports.is_settled()
            && self
                .reports
                .get::<Steps>()
                .is_ok_and(|steps| steps.is_some())
        {
            self.with_data.ask(&self.trace.session);
        }
    }

    pub(super) fn rail_ui(&mut self, ui: &mut Ui, comparing: bool, out: &mut Vec<AppCommand>) {
        let is_at_rail = ui.rect_contains_pointer(self.with_data.rail);
        let mut extras = Vec::new();
        if comparing {
            extras.push((COMPARE, "Compare".to_owned()));
        }
        if self.state.is_searching() {
            extras.push((FOUND, self.title_of_found()));
        }
        let content = RailContent {
            extras,
            without_data: self.with_data.left_out(is_at_rail),
        };
        let mut wanted = Vec::new();
        let before = ui.available_rect_before_wrap();
        rail_ui(ui, &self.state, &content, &mut wanted);
        self.with_data.rail = before.with_min_x(ui.available_rect_before_wrap().right());
        out.extend(wanted.into_iter().map(AppCommand::from));
    }

    fn title_of_found(&self) -> String {
        let found = self
            .search
            .memo()
            .latest()
            .filter(|_| self.state.is_searching());
        found.map_or_else(
            || "Found".to_owned(),
            |found| format!("Found ({})", group_digits(found.total as u64)),
        )
    }

    /// The reports beside the timeline or over it, and those below; returns how many points they cover at the right.
    pub(super) fn docks_ui(
        &mut self,
        ui: &mut Ui,
        settings: &Settings,
        (comparison, other): (Option<DrawTab<'_>>, Option<OtherRun<'_>>),
        out: &mut Vec<AppCommand>,
    ) -> f32 {
        let title = self.title_of_found();
        let (trace, state, search, order) =
            (&self.trace, &self.state, self.search.memo(), &self.order);
        let list = &mut self.list;
        let mut found = |ui: &mut Ui, out: &mut Vec<AppCommand>| {
            found_tab_ui(ui, (trace, state), search, order, list, out);
        };
        let mut extras = Vec::new();
        extras.extend(comparison.map(|draw| ComparisonTab {
            id: COMPARE,
            title: "Compare".to_owned(),
            draw,
        }));
        if state.is_searching() {
            extras.push(ComparisonTab {
                id: FOUND,
                title,
                draw: &mut found,
            });
        }
        let (lower, upper): (Vec<_>, Vec<_>) = extras
            .into_iter()
            .partition(|extra| state.is_below(extra.id));
        let whole = &self.reports;
        let reports = if state.scope == ReportScope::Capture {
            whole
        } else {
            &self.scoped
        };
        let context = PanelContext {
            trace,
            state,
            reports,
            whole,
            tab: &state.tab,
            prefixes: &settings.source_prefixes,
            other,
        };
        let memory = &mut self.memory;
        let height = ui.available_height();
        if let Some(tab) = state.tab_below() {
            let panel = EguiPanel::bottom("reports below");
            let context = PanelContext { tab, ..context };
            let [details, _] = PanelPart::Details.limits();
            let others = if state.shows(Panel::Details) {
                frame::TIMELINE + details
            } else {
                frame::TIMELINE
            };
            let shown = sized_ui(
                ui,
                panel,
                (PanelPart::Below, height - others),
                settings,
                out,
                |ui, out| {
                    dock::dock_ui(ui, context, memory, lower, true, out);
                },
            );
            dock::drop_ui(ui, &shown, true, out);
        } else if dock::is_dragging(ui) {
            let place = EguiPanel::bottom("drop reports")
                .exact_size(64.0)
                .show(ui, |ui| {
                    ui.centered_and_justified(|ui| {
                        ui.weak("Drop here to show it below the timeline")
                    });
                });
            dock::drop_ui(ui, &place.response, true, out);
        }
        let (name, part) = if state.wide_reports {
            ("wide reports", PanelPart::WideReports)
        } else {
            ("reports", PanelPart::Reports)
        };
        if is_narrow(ui) {
            overlay_ui(ui, context, memory, upper, (part, settings), out)
        } else {
            let most = ui.available_width() - 200.0;
            let panel = EguiPanel::right(name);
            let shown = sized_ui(ui, panel, (part, most), settings, out, |ui, out| {
                dock::dock_ui(ui, context, memory, upper, false, out);
            });
            dock::drop_ui(ui, &shown, false, out);
            0.0
        }
    }
}

/// The list of search results.
fn found_tab_ui(
    ui: &mut Ui,
    (trace, state): (&OpenTrace, &ViewState),
    search: &JobAnswer<Arc<SearchResults>>,
    order: &Worker<ResultOrder, Vec<u32>>,
    list: &mut ResultList,
    out: &mut Vec<AppCommand>,
) {
    let wanted = search.latest().and_then(|found| list.order(found));
    let order = match order.memo() {
        JobAnswer::Ready(order_of) if wanted.is_some() && order.key() == wanted.as_ref() => {
            Some(order_of.as_slice())
        }
        _ => None,
    };
    found_panel::found_ui(ui, trace, state, search, order, list, out);
}

/// Reports over the right part of the timeline; returns their width.
fn overlay_ui(
    ui: &Ui,
    context: PanelContext<'_>,
    memory: &mut PanelState,
    extras: Vec<ComparisonTab<'_>>,
    (part, settings): (PanelPart, &Settings),
    out: &mut Vec<AppCommand>,
) -> f32 {
    /// Width of the timeline that remains visible.
    const BESIDE: f32 = 48.0;
    let theme = theme::current(ui);
    let room = ui.available_rect_before_wrap();
    let [least, _] = part.limits();
    let most = (room.width() - BESIDE).max(least.min(room.width()));
    let width = settings.sizes.of(part).min(most);
    let rect = room.with_min_x(room.right() - width);
    let area = Area::new(Id::unique("reports over the timeline"))
        .order(Order::Middle)
        .movable(false);
    area.fixed_pos(rect.min)
        .constrain(false)
        .show(ui.ctx(), |ui| {
            let frame = Frame::new()
                .fill(theme.panel)
                .inner_margin(8.0)
                .stroke(egui::Stroke::new(1.0, theme.edge));
            let mut inner = ui.new_child(UiBuilder::new().max_rect(rect));
            inner.set_clip_rect(rect);
            // Clicks do not pass through it.
            let ground = ui.interact(rect, ui.scope_id().with("ground"), Sense::click_and_drag());
            ground
                .widget_info(|| WidgetInfo::labeled(Role::Pane, true, "Reports over the timeline"));
            frame.show(&mut inner, |ui| {
                ui.set_min_size(rect.size() - egui::Vec2::splat(18.0));
                ui.set_max_size(rect.size() - egui::Vec2::splat(18.0));
                dock::dock_ui(ui, context, memory, extras, false, out);
            });
            let edge = Rect::from_x_y_ranges(rect.left() - 2.0..=rect.left() + 4.0, rect.y_range());
            let edge = ui.interact(edge, ui.scope_id().with("edge"), Sense::drag());
            edge.widget_info(|| WidgetInfo::labeled(Role::Splitter, true, "Width of reports"));
            if edge.hovered() || edge.dragged() {
                ui.ctx().set_cursor_icon(CursorIcon::ResizeHorizontal);
            }
            if edge.dragged() && edge.drag_delta().x != 0.0 {
                out.push(AppCommand::PanelSize(
                    part,
                    (width - edge.drag_delta().x).min(most),
                ));
            }
            ui.allocate_rect(rect, Sense::hover());
            dock::drop_ui(ui, &ground, false, out);
        });
    width
}
