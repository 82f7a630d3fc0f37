//! The tabs with reports beside the timeline.

use egui::{
    Align, Button, CollapsingHeader, DragAndDrop, Layout, Response, RichText, Role, ScrollArea,
    Sense, Stroke, StrokeKind, Ui, WidgetInfo,
};

use analysis::Analysis as _;
use analysis::reports::ops::op_stats::Ops;

use super::context::PanelContext;
use super::memory_curve::{MemoryCurveState, memory_curve_ui};
use super::memory_map::MemoryView;
#[cfg(not(target_arch = "wasm32"))]
use super::query;
use super::rail::{DraggedTab, move_menu};
use super::tables::{TableBrowser, tables_ui};
use super::{
    health, heat_map, hints, hlo, memory_map, optree, overview, requests, roofline, scope, source,
    steps, what_if,
};
use crate::AppCommand;
use crate::jobs::WakeUi;
use crate::keys::hint;
use crate::theme;
#[cfg(not(target_arch = "wasm32"))]
use view::state::tabs::QUERY;
use view::state::tabs::{COMPARE, FOUND, HLO, SOURCE, follows_scope, report_tabs, reports_of};
use view::state::{Panel, ReportScope, ViewCommand};

/// State of the panels between frames; not part of a saved view.
pub struct PanelState {
    tables: TableBrowser,
    hints: hints::HintCards,
    roofline: roofline::RooflinePlot,
    overview: overview::OverviewState,
    steps: steps::StepsState,
    trees: optree::OpTrees,
    hlo: hlo::HloPanel,
    heat: heat_map::HeatMapState,
    map: memory_map::MemoryMapState,
    curve: MemoryCurveState,
    source: source::SourcePanel,
    what_if: what_if::WhatIfState,
    #[cfg(not(target_arch = "wasm32"))]
    query: query::QueryPanel,
}

impl PanelState {
    /// Nothing was chosen yet.
    pub fn new(wake: &WakeUi) -> Self {
        Self {
            tables: TableBrowser::default(),
            hints: hints::HintCards::new(wake),
            roofline: roofline::RooflinePlot::default(),
            overview: overview::OverviewState::default(),
            steps: steps::StepsState::default(),
            trees: optree::OpTrees::default(),
            hlo: hlo::HloPanel::new(wake),
            heat: heat_map::HeatMapState::default(),
            map: memory_map::MemoryMapState::new(wake),
            curve: MemoryCurveState::new(wake),
            source: source::SourcePanel::new(wake),
            what_if: what_if::WhatIfState::new(wake),
            #[cfg(not(target_arch = "wasm32"))]
            query: query::QueryPanel::new(wake),
        }
    }

    /// Takes over finished results.
    pub fn poll(&mut self) {
        self.hlo.poll();
        self.map.poll();
        self.hints.poll();
        self.curve.poll();
        self.source.poll();
        self.what_if.poll();
        #[cfg(not(target_arch = "wasm32"))]
        self.query.poll();
    }

    /// Whether nothing is being computed.
    pub fn is_settled(&self) -> bool {
        #[cfg(not(target_arch = "wasm32"))]
        if !self.query.is_settled() {
            return false;
        }
        self.hlo.is_settled()
            && self.map.is_settled()
            && self.curve.is_settled()
            && self.source.is_settled()
            && self.hints.is_settled()
            && self.what_if.is_settled()
    }

    /// Forgets everything derived from reports, because new reports replace them.
    pub fn forget_made(&mut self) {
        self.tables.forget_made();
        self.trees.forget_made();
        self.heat.forget_made();
        self.overview.forget_made();
        self.source.forget_made();
    }

    /// Shows the row of an op in the table of ops.
    pub fn find_op(&mut self, name: &str) {
        self.tables.find(Ops::ID, Ops::ID, name);
        self.trees.leave();
    }
}

/// Draws a tab that is not a report of one trace.
pub type DrawTab<'a> = &'a mut dyn FnMut(&mut Ui, &mut Vec<AppCommand>);

/// A tab that is not a report of one trace.
pub struct ComparisonTab<'a> {
    /// Name of the tab.
    pub id: &'static str,
    pub title: String,
    pub draw: DrawTab<'a>,
}

/// Ids of the reports that the open tab needs for the selected scope.
pub fn wanted(tab: &str) -> Vec<&'static str> {
    match tab {
        "overview" => {
            vec![
                "verdict",
                "utilization",
                "targets",
                "devices",
                "hints",
                "steps",
                "overlap",
                "ops",
                "balance",
            ]
        }
        HLO => hlo::WANTED.to_vec(),
        SOURCE => source::WANTED.to_vec(),
        tab => reports_of(tab),
    }
}

/// Ids of the reports that the open tab needs for the whole trace.
pub fn wanted_of_whole(tab: &str) -> &'static [&'static str] {
    match tab {
        "overview" => &["doctor", "steps", "step_parts"],
        _ => &[],
    }
}

/// Whether a tab is being dragged.
pub fn is_dragging(ui: &Ui) -> bool {
    DragAndDrop::has_payload_of_type::<DraggedTab>(ui.ctx())
}

/// Moves the tab that is dropped on `onto`.
pub fn drop_ui(ui: &Ui, onto: &Response, below: bool, out: &mut Vec<AppCommand>) {
    if onto.dnd_hover_payload::<DraggedTab>().is_some() {
        let stroke = Stroke::new(2.0, theme::current(ui).accent);
        ui.painter()
            .rect_stroke(onto.rect.shrink(2.0), 4.0, stroke, StrokeKind::Inside);
    }
    if let Some(dragged) = onto.dnd_release_payload::<DraggedTab>() {
        out.push(
            ViewCommand::MoveTab {
                tab: dragged.0.to_owned(),
                below,
            }
            .into(),
        );
    }
}

/// A tab below the timeline: a click opens it, dragging moves it.
fn tab_ui(ui: &mut Ui, id: &'static str, title: &str, is_open: bool, view: &mut Vec<ViewCommand>) {
    let button = ui.add(Button::selectable(is_open, title).sense(Sense::click_and_drag()));
    button.widget_info(|| WidgetInfo::selected(Role::Tab, true, is_open, title));
    button.dnd_set_drag_payload(DraggedTab(id));
    if button.clicked() {
        view.push(ViewCommand::ShowTab(id.to_owned()));
    }
    button.context_menu(|ui| move_menu(ui, id, true, view));
}

/// The line above a report: which one, what it covers, and how much room it takes.
fn head_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    extras: &[ComparisonTab<'_>],
    view: &mut Vec<ViewCommand>,
) {
    let extra = extras
        .iter()
        .find(|extra| extra.id == context.tab)
        .map(|extra| extra.title.as_str());
    let title = extra.or_else(|| {
        report_tabs()
            .find(|(id, _)| *id == context.tab)
            .map(|(_, title)| title)
    });
    ui.horizontal(|ui| {
        ui.label(RichText::new(title.unwrap_or_default()).size(15.0).strong());
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let close = ui.add(Button::new("×").frame(false));
            close.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Close reports"));
            if close
                .on_hover_text(hint(ui.ctx(), "Close the reports", "reports"))
                .clicked()
            {
                view.push(ViewCommand::ShowPanel(Panel::Reports, false));
            }
            let wide = context.state.wide_reports;
            let button = ui.add(Button::new(
                RichText::new(if wide { "Narrow" } else { "Wide" }).small(),
            ));
            let about = hint(
                ui.ctx(),
                "Give the reports most of the window, or one column",
                "wide",
            );
            if button.on_hover_text(about).clicked() {
                view.push(ViewCommand::WideReports(!wide));
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                scope::scope_ui(ui, context, view);
            });
        });
    });
}

/// The content of the open tab of one side, below a line with its title; `extras` are tabs that are no reports.
#[expect(clippy::too_many_lines, reason = "one branch for each tab")]
pub fn dock_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    memory: &mut PanelState,
    extras: Vec<ComparisonTab<'_>>,
    below: bool,
    out: &mut Vec<AppCommand>,
) {
    let mut view: Vec<ViewCommand> = Vec::new();
    ui.add_space(4.0);
    if below {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            for extra in &extras {
                tab_ui(
                    ui,
                    extra.id,
                    &extra.title,
                    context.tab == extra.id,
                    &mut view,
                );
            }
            for (id, title) in report_tabs().filter(|(id, _)| context.state.is_below(id)) {
                tab_ui(ui, id, title, context.tab == id, &mut view);
            }
            if context.state.scope != ReportScope::Capture {
                scope::scope_ui(ui, context, &mut view);
            }
        });
    } else {
        head_ui(ui, context, &extras, &mut view);
    }
    ui.separator();
    let context = if follows_scope(context.tab) {
        context
    } else {
        PanelContext {
            reports: context.whole,
            ..context
        }
    };
    match context.tab {
        id @ (COMPARE | FOUND) => {
            if let Some(extra) = extras.into_iter().find(|extra| extra.id == id) {
                (extra.draw)(ui, out);
            }
        }
        tab @ ("overview" | "hints") => {
            ScrollArea::vertical()
                .id_salt(tab)
                .auto_shrink([false, false])
                .show(ui, |ui| {
                    match tab {
                        "hints" => {
                            let what_if = CollapsingHeader::new("What if").id_salt("what if");
                            what_if.show(ui, |ui| {
                                what_if::what_if_ui(ui, context, &mut memory.what_if);
                            });
                            hints::hints_ui(ui, context, &mut memory.hints, &mut view);
                        }
                        _ => {
                            overview::overview_ui(
                                ui,
                                context,
                                &mut memory.overview,
                                out,
                                &mut view,
                            );
                        }
                    }
                    ui.add_space(12.0);
                    // The tables with every number of the view above.
                    let all = CollapsingHeader::new("All tables").id_salt(("all tables", tab));
                    all.show_unindented(ui, |ui| {
                        tables_ui(ui, context, &mut memory.tables, out, &mut view);
                    });
                    ui.add_space(12.0);
                });
        }
        #[cfg(not(target_arch = "wasm32"))]
        QUERY => query::query_ui(ui, context, &mut memory.query, out, &mut view),
        SOURCE => source::source_ui(ui, context, &mut memory.source, out, &mut view),
        HLO => hlo::hlo_ui(ui, context, &mut memory.hlo, out, &mut view),
        "roofline" => {
            roofline::roofline_ui(ui, context, &mut memory.roofline, &mut view);
            tables_ui(ui, context, &mut memory.tables, out, &mut view);
        }
        "health" => {
            let room = ui.available_height() * 0.5;
            let list = ScrollArea::vertical()
                .id_salt("findings")
                .auto_shrink([false, true])
                .max_height(room);
            list.show(ui, |ui| health::health_ui(ui, context));
            tables_ui(ui, context, &mut memory.tables, out, &mut view);
        }
        "steps" => {
            steps::steps_ui(ui, context, &mut memory.steps, &mut view);
            if heat_map::choice_ui(ui, context, &mut memory.heat) {
                heat_map::heat_map_ui(ui, context, &mut memory.heat, &mut view);
            } else {
                tables_ui(ui, context, &mut memory.tables, out, &mut view);
            }
        }
        "serving" => {
            requests::requests_ui(ui, context, &mut view);
            tables_ui(ui, context, &mut memory.tables, out, &mut view);
        }
        "ops" if optree::choice_ui(ui, &mut memory.trees) => {
            optree::tree_ui(ui, context, &mut memory.trees, out, &mut view);
        }
        "memory" => match memory_map::choice_ui(ui, &mut memory.map) {
            MemoryView::Tables => tables_ui(ui, context, &mut memory.tables, out, &mut view),
            MemoryView::Recorded => memory_curve_ui(ui, context, &mut memory.curve, out, &mut view),
            MemoryView::Planned => {
                memory_map::memory_map_ui(ui, context, &mut memory.map, out, &mut view);
            }
        },
        _ => tables_ui(ui, context, &mut memory.tables, out, &mut view),
    }
    out.extend(view.into_iter().map(AppCommand::from));
}
