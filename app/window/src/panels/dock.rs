//! The tabs with reports beside the timeline.

use super::prelude::*;
use egui::DragAndDrop;

use super::comparison_tables::ComparisonTables;
use super::context::side_ui;
use super::rail::{DraggedTab, move_menu};
use super::scope;
use super::tables::TableBrowser;
use super::tabs::tab::{Tab, TabContent, TabPanel, TabSubject};
use super::tabs::{TABS, offered, ops, reports_of};
use view::state::COMPARE_TAB;

/// State of the panels between frames; not part of a saved view.
pub struct PanelState {
    tables: TableBrowser,
    /// In the order of [`TABS`].
    tabs: Vec<(&'static str, Box<dyn TabPanel>)>,
}

impl PanelState {
    /// Nothing was chosen yet.
    pub fn new(wake: &WakeUi) -> Self {
        Self {
            tables: TableBrowser::default(),
            tabs: TABS.iter().map(|tab| (tab.id, (tab.panel)(wake))).collect(),
        }
    }

    /// Takes over finished results.
    pub fn poll(&mut self, state: &ViewState) {
        for (id, panel) in &mut self.tabs {
            panel.poll(state.shows_tab(id));
        }
    }

    /// Whether nothing is being computed.
    pub fn is_settled(&self) -> bool {
        self.tabs.iter().all(|(_, panel)| panel.is_settled())
    }

    /// Forgets everything derived from reports, because new reports replace them.
    pub fn forget_made(&mut self) {
        self.tables.forget_made();
        for (_, panel) in &mut self.tabs {
            panel.forget_made();
        }
    }

    /// Shows the row of an op in the table of ops.
    pub fn find_op(&mut self, name: &str) {
        self.tables.find(ops::TAB.id, Ops::ID, name);
        self.show_tables(&ops::TAB);
    }

    /// Shows the tables of a report; what comes first in a tab is in sight without them.
    pub fn show_report(&mut self, tab: &'static Tab, report: &'static str) {
        self.tables.show(tab.id, report);
        if reports_of(tab).first() != Some(&report) {
            self.tables.wanted = Some(tab.id);
        }
        self.show_tables(tab);
    }

    fn show_tables(&mut self, tab: &'static Tab) {
        if let Some((_, panel)) = self.tabs.iter_mut().find(|(id, _)| *id == tab.id) {
            panel.show_tables();
        }
    }

    fn content_ui(
        &mut self,
        ui: &mut Ui,
        context: PanelContext<'_>,
        tab: &'static Tab,
        comparison: Option<&mut ComparisonTables>,
        out: &mut AppCommands,
        view: &mut ViewCommands,
    ) {
        if context.trace.model.is_partial() {
            ui.weak("Reports follow when the whole file is read.");
            return;
        }
        let Some((_, panel)) = self.tabs.iter_mut().find(|(id, _)| *id == tab.id) else {
            return;
        };
        let reports = match tab.subject {
            TabSubject::Scope => context.reports,
            TabSubject::Capture | TabSubject::Other => context.whole,
        };
        let content = TabContent {
            context: PanelContext { reports, ..context },
            id: tab.id,
            reports: reports_of(tab),
            tables: &mut self.tables,
            comparison,
            out,
            view,
        };
        panel.ui(ui, content);
    }
}

/// Whether a tab is being dragged.
pub fn is_dragging(ui: &Ui) -> bool {
    DragAndDrop::has_payload_of_type::<DraggedTab>(ui.ctx())
}

/// Moves the tab that is dropped on `onto`.
pub fn drop_ui(ui: &Ui, onto: &Response, below: bool, out: &mut AppCommands) {
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
fn tab_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    tab: &'static Tab,
    is_open: bool,
    view: &mut ViewCommands,
) {
    let title = tab.full_title(context);
    let button = ui.add(Button::selectable(is_open, &title).sense(Sense::click_and_drag()));
    button.labeled_choice(Role::Tab, is_open, &title);
    button.dnd_set_drag_payload(DraggedTab(tab.id));
    button.sends(view, tab.show());
    button.context_menu(|ui| move_menu(ui, tab.id, true, view));
}

/// The line above a report: which one, what it covers, and how much room it takes.
fn head_ui(ui: &mut Ui, context: PanelContext<'_>, tab: &Tab, view: &mut ViewCommands) {
    let title = tab.full_title(context);
    ui.horizontal(|ui| {
        if tab.id != COMPARE_TAB {
            side_ui(ui, context);
        }
        ui.label(RichText::new(title).size(15.0).strong());
        at_right(ui, |ui| {
            close_button(ui, "Close reports")
                .hint("Close the reports", "reports")
                .sends(view, ViewCommand::ShowPanel(Panel::Reports, false));
            let wide = context.state.wide_reports;
            let button = ui.add(Button::new(
                RichText::new(if wide { "Narrow" } else { "Wide" }).small(),
            ));
            let about = hint(
                ui.ctx(),
                "Give the reports most of the window, or one column",
                "wide",
            );
            button
                .on_hover_text(about)
                .sends(view, ViewCommand::WideReports(!wide));
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                scope::scope_ui(ui, context, tab.subject, view);
            });
        });
    });
}

/// The content of the open tab of one side, below a line with its title.
pub fn dock_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    (tab, below): (&'static Tab, bool),
    memory: &mut PanelState,
    comparison: Option<&mut ComparisonTables>,
    out: &mut AppCommands,
) {
    let mut view = ViewCommands::new();
    ui.add_space(4.0);
    if below {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            for other in offered(context).filter(|other| context.state.is_below(other.id)) {
                tab_ui(ui, context, other, other.id == tab.id, &mut view);
            }
            if tab.id != COMPARE_TAB {
                side_ui(ui, context);
            }
            if context.state.scope != ReportScope::Capture {
                scope::scope_ui(ui, context, tab.subject, &mut view);
            }
        });
    } else {
        head_ui(ui, context, tab, &mut view);
    }
    ui.separator();
    memory.content_ui(ui, context, tab, comparison, out, &mut view);
    out.extend(view.into_iter().map(AppCommand::from));
}
