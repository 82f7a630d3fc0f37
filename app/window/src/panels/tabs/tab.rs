//! What a tab declares.

use crate::panels::prelude::*;
use egui::CollapsingHeader;

use crate::panels::comparison_tables::ComparisonTables;
use crate::panels::tables::{TableBrowser, tables_ui};

type WhyEmpty = fn(&[&str], &Session, &Progress) -> Result<Option<String>, String>;

/// The declaration of a tab.
pub struct Tab {
    /// Stable name, stored in saved views.
    pub id: &'static str,
    pub title: &'static str,
    /// Ids of the analyses whose tables it shows, most important first; `None` for those that no other tab names.
    pub reports: Option<&'static [&'static str]>,
    /// Ids of further analyses that it reads, about the selected scope.
    pub also: &'static [&'static str],
    /// Ids of the analyses that it reads about the whole trace.
    pub of_whole: &'static [&'static str],
    pub subject: TabSubject,
    /// In the words of [`icons`](crate::panels::icons).
    pub icon: &'static str,
    /// Whether it can be opened.
    pub is_offered: fn(PanelContext<'_>) -> bool,
    /// The number behind its title.
    pub count: fn(PanelContext<'_>) -> Option<usize>,
    /// Why a trace has nothing to show in it; `None` if there is something. The ids are those of its reports.
    pub why_empty: WhyEmpty,
    pub panel: fn(&WakeUi) -> Box<dyn TabPanel>,
}

/// What a tab is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TabSubject {
    /// The scope that the user selected.
    Scope,
    /// The whole capture, whatever is selected.
    Capture,
    /// Something other than reports of the trace.
    Other,
}

/// The state of a tab between frames, which is not part of a saved view, and its drawing.
pub trait TabPanel {
    /// Takes over finished results.
    fn poll(&mut self, _is_open: bool) {}

    /// Whether nothing is being computed.
    fn is_settled(&self) -> bool {
        true
    }

    /// Forgets everything derived from reports, because new reports replace them.
    fn forget_made(&mut self) {}

    /// Shows the tables instead of another view.
    fn show_tables(&mut self) {}

    fn ui(&mut self, ui: &mut Ui, tab: TabContent<'_>);
}

/// What a tab reads, and where its commands go.
pub struct TabContent<'a> {
    pub context: PanelContext<'a>,
    pub id: &'static str,
    /// Ids of the analyses whose tables it shows.
    pub reports: Vec<&'static str>,
    pub tables: &'a mut TableBrowser,
    pub comparison: Option<&'a mut ComparisonTables>,
    pub out: &'a mut AppCommands,
    pub view: &'a mut ViewCommands,
}

impl TabContent<'_> {
    /// The tables of the tab.
    pub fn tables_ui(&mut self, ui: &mut Ui) {
        let tab = (self.id, &self.reports[..]);
        tables_ui(ui, self.context, tab, self.tables, self.out, self.view);
    }

    /// A view, and the tables with every number of it, which are closed at first.
    pub fn view_ui(mut self, ui: &mut Ui, content: impl FnOnce(&mut Ui, &mut Self)) {
        let id = self.id;
        ScrollArea::vertical()
            .id_salt(id)
            .auto_shrink([false, false])
            .show(ui, |ui| {
                content(ui, &mut self);
                ui.add_space(12.0);
                let is_wanted = self.tables.wanted.take_if(|wanted| *wanted == id).is_some();
                let tables = CollapsingHeader::new("All tables")
                    .id_salt(("all tables", id))
                    .open(is_wanted.then_some(true))
                    .show_unindented(ui, |ui| self.tables_ui(ui));
                ui.add_space(12.0);
                if is_wanted {
                    ui.scroll_to_rect(tables.header_response.rect, Some(Align::TOP));
                }
            });
    }
}

/// Nothing but the tables of the tab.
struct OnlyTables;

impl TabPanel for OnlyTables {
    fn ui(&mut self, ui: &mut Ui, mut tab: TabContent<'_>) {
        tab.tables_ui(ui);
    }
}

/// A tab with the tables of its reports; the declarations name what differs.
pub const TABLES: Tab = Tab {
    id: "",
    title: "",
    reports: Some(&[]),
    also: &[],
    of_whole: &[],
    subject: TabSubject::Scope,
    icon: "ring 0.5 0.5 0.42; dot 0.5 0.5 0.12",
    is_offered: |_| true,
    count: |_| None,
    why_empty: why_tables_are_empty,
    panel: |_| Box::new(OnlyTables),
};

impl Tab {
    /// Whether its reports are about this scope, and not about the whole capture.
    pub fn follows(&self, scope: ReportScope) -> bool {
        scope != ReportScope::Capture && self.subject == TabSubject::Scope
    }

    /// The command that opens it.
    pub fn show(&self) -> ViewCommand {
        ViewCommand::ShowTab(self.id.to_owned())
    }

    /// The title with a number behind it.
    pub fn full_title(&self, context: PanelContext<'_>) -> String {
        (self.count)(context).map_or_else(
            || self.title.to_owned(),
            |count| format!("{} ({})", self.title, group_digits(count as u64)),
        )
    }
}

/// The reason that the first of the reports gives, where none has a row.
fn why_tables_are_empty(
    reports: &[&str],
    session: &Session,
    progress: &Progress,
) -> Result<Option<String>, String> {
    if reports.is_empty() {
        return Ok(None);
    }
    let mut reason = None;
    for id in reports {
        progress.check().map_err(|error| error.to_string())?;
        match session.report_by_id(id, Scope::WholeTrace) {
            Ok(report) if report.tables().iter().any(|table| !table.rows.is_empty()) => {
                return Ok(None);
            }
            Ok(_) => {}
            Err(error) => reason = reason.or(Some(error.to_string())),
        }
    }
    Ok(Some(
        reason.unwrap_or_else(|| "all its tables are empty".to_owned()),
    ))
}
