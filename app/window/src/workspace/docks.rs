//! The reports of an open trace: the rail, the panel beside the timeline or over it, and the tabs below.

use crate::prelude::*;
use egui::{Area, Order, UiBuilder};

use crate::panels::comparison_tables::ComparisonTables;
use crate::panels::context::PanelContext;
use crate::panels::dock::{self, PanelState};
use crate::panels::frame::{self, is_narrow, sized_ui, window_width};
use crate::panels::rail::rail_ui;
use crate::panels::tabs::{self, tab::Tab};
use crate::panels::tabs_with_data::TabsWithData;
use crate::panels::widgets::ResponseExt as _;
use crate::settings::{PanelPart, Settings};
use crate::theme;
use crate::{AppCommand, AppCommands};

pub(super) fn tabs_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    with_data: &TabsWithData,
    out: &mut AppCommands,
) {
    let mut wanted = Vec::new();
    rail_ui(ui, context, with_data.without(), &mut wanted);
    out.extend(wanted.into_iter().map(AppCommand::from));
}

/// The reports beside the timeline or over it, and those below; returns how many points they cover at the right.
pub(super) fn docks_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    memory: &mut PanelState,
    mut comparison: Option<&mut ComparisonTables>,
    settings: &Settings,
    out: &mut AppCommands,
) -> f32 {
    let state = context.state;
    let height = ui.available_height();
    if let Some(tab) = state.tab_below() {
        let panel: (fn(_) -> _, _) = (EguiPanel::bottom, "reports below");
        let tab = tabs::tab(tab);
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
                let comparison = comparison.as_deref_mut();
                dock::dock_ui(ui, context, (tab, true), memory, comparison, out);
            },
        );
        dock::drop_ui(ui, &shown, true, out);
    } else if dock::is_dragging(ui) {
        let place = EguiPanel::bottom("drop reports")
            .exact_size(64.0)
            .show(ui, |ui| {
                ui.centered_and_justified(|ui| ui.weak("Drop here to show it below the timeline"));
            });
        dock::drop_ui(ui, &place.response, true, out);
    }
    let (name, part) = if state.wide_reports {
        ("wide reports", PanelPart::WideReports)
    } else {
        ("reports", PanelPart::Reports)
    };
    let tab = tabs::tab(&state.tab);
    if is_narrow(ui) {
        overlay_ui(ui, context, tab, memory, comparison, (part, settings), out)
    } else {
        let most = ui.available_width() - 200.0;
        let panel: (fn(_) -> _, _) = (EguiPanel::right, name);
        let shown = sized_ui(ui, panel, (part, most), settings, out, |ui, out| {
            dock::dock_ui(ui, context, (tab, false), memory, comparison, out);
        });
        dock::drop_ui(ui, &shown, false, out);
        0.0
    }
}

/// Reports over the right part of the timeline; returns their width.
fn overlay_ui(
    ui: &Ui,
    context: PanelContext<'_>,
    tab: &'static Tab,
    memory: &mut PanelState,
    comparison: Option<&mut ComparisonTables>,
    (part, settings): (PanelPart, &Settings),
    out: &mut AppCommands,
) -> f32 {
    /// Width of the timeline that remains visible.
    const BESIDE: f32 = 48.0;
    let theme = theme::current(ui);
    let room = ui.available_rect_before_wrap();
    let [least, _] = part.limits();
    let most = (room.width() - BESIDE).max(least.min(room.width()));
    let width = settings.sizes.of(part, window_width(ui)).min(most);
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
                .stroke(Stroke::new(1.0, theme.edge));
            let mut inner = ui.new_child(UiBuilder::new().max_rect(rect));
            inner.set_clip_rect(rect);
            // Clicks do not pass through it.
            let ground = ui.interact(rect, ui.scope_id().with("ground"), Sense::click_and_drag());
            ground.labeled(Role::Pane, "Reports over the timeline");
            frame.show(&mut inner, |ui| {
                ui.set_min_size(rect.size() - Vec2::splat(18.0));
                ui.set_max_size(rect.size() - Vec2::splat(18.0));
                dock::dock_ui(ui, context, (tab, false), memory, comparison, out);
            });
            let edge = Rect::from_x_y_ranges(rect.left() - 2.0..=rect.left() + 4.0, rect.y_range());
            let edge = ui.interact(edge, ui.scope_id().with("edge"), Sense::drag());
            edge.labeled(Role::Splitter, "Width of reports");
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
