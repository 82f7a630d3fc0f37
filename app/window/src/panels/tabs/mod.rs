//! The tabs with reports. To add one: a file here with its declaration, and a line in [`TABS`].

mod collectives;
pub mod compare;
mod compile;
pub mod found;
pub mod health;
pub mod hints;
mod hlo;
mod host;
mod kernels;
mod memory;
mod more;
pub mod ops;
mod overview;
#[cfg(not(target_arch = "wasm32"))]
mod query;
mod roofline;
mod serving;
pub mod source;
mod steps;

use analysis::{ANALYSES, Scope};
use egui::{CollapsingHeader, ScrollArea, Ui};
use importers::Progress;

use self::compare::ComparisonTables;
use super::context::PanelContext;
use super::icons::Pen;
use super::tables::{TableBrowser, tables_ui};
use crate::AppCommand;
use crate::jobs::WakeUi;
use session::Session;
use view::state::{ReportScope, ViewCommand};
use view::timeline::tree::group_digits;

/// All tabs, in the order of the rail.
pub const TABS: &[Tab] = &[
    overview::TAB,
    hints::TAB,
    ops::TAB,
    roofline::TAB,
    hlo::TAB,
    source::TAB,
    collectives::TAB,
    steps::TAB,
    compile::TAB,
    memory::TAB,
    kernels::TAB,
    serving::TAB,
    host::TAB,
    health::TAB,
    #[cfg(not(target_arch = "wasm32"))]
    query::TAB,
    more::TAB,
    compare::TAB,
    found::TAB,
];

/// The ids of all tabs.
pub const TAB_IDS: [&str; TABS.len()] = {
    let mut ids = [""; TABS.len()];
    let mut at = 0;
    while at < ids.len() {
        ids[at] = TABS[at].id;
        at += 1;
    }
    ids
};

/// The declaration of a tab.
pub struct Tab {
    /// Stable name, stored in saved views.
    pub id: &'static str,
    pub title: &'static str,
    /// Ids of the analyses whose tables it shows, most important first.
    pub reports: &'static [&'static str],
    /// Ids of further analyses that it reads, about the selected scope.
    pub also: &'static [&'static str],
    /// Ids of the analyses that it reads about the whole trace.
    pub of_whole: &'static [&'static str],
    pub subject: TabSubject,
    pub icon: fn(&Pen<'_>),
    /// Whether it can be opened.
    pub is_offered: fn(PanelContext<'_>) -> bool,
    /// The number behind its title.
    pub count: fn(PanelContext<'_>) -> Option<usize>,
    /// Why a trace has nothing to show in it; `None` if there is something.
    pub why_empty: fn(&Tab, &Session, &Progress) -> Result<Option<String>, String>,
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
    pub tables: &'a mut TableBrowser,
    pub comparison: Option<&'a mut ComparisonTables>,
    pub out: &'a mut Vec<AppCommand>,
    pub view: &'a mut Vec<ViewCommand>,
}

impl TabContent<'_> {
    /// The tables of the tab.
    pub fn tables_ui(&mut self, ui: &mut Ui) {
        tables_ui(ui, self.context, self.tables, self.out, self.view);
    }

    /// A view, and the tables with every number of it, which are closed at first.
    fn view_ui(mut self, ui: &mut Ui, content: impl FnOnce(&mut Ui, &mut Self)) {
        let id = self.context.tab.id;
        ScrollArea::vertical()
            .id_salt(id)
            .auto_shrink([false, false])
            .show(ui, |ui| {
                content(ui, &mut self);
                ui.add_space(12.0);
                CollapsingHeader::new("All tables")
                    .id_salt(("all tables", id))
                    .show_unindented(ui, |ui| self.tables_ui(ui));
                ui.add_space(12.0);
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
const TABLES: Tab = Tab {
    id: "",
    title: "",
    reports: &[],
    also: &[],
    of_whole: &[],
    subject: TabSubject::Scope,
    icon: |pen| {
        pen.ring((0.5, 0.5), 0.42);
        pen.dot((0.5, 0.5), 0.12);
    },
    is_offered: |_| true,
    count: |_| None,
    why_empty: Tab::why_tables_are_empty,
    panel: |_| Box::new(OnlyTables),
};

impl Tab {
    /// The ids of the analyses whose tables it shows.
    pub fn reports(&self) -> Vec<&'static str> {
        if self.id == more::TAB.id {
            unlisted_reports()
        } else {
            self.reports.to_vec()
        }
    }

    /// The ids of the analyses that it needs for the selected scope.
    pub fn wanted(&self) -> impl Iterator<Item = &'static str> {
        self.reports().into_iter().chain(self.also.iter().copied())
    }

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

    /// The reason that the first of its reports gives, where none has a row.
    fn why_tables_are_empty(
        &self,
        session: &Session,
        progress: &Progress,
    ) -> Result<Option<String>, String> {
        let mut reason = None;
        for id in self.reports() {
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
}

/// The tab with this id; the first one for an id that no tab has.
pub fn tab(id: &str) -> &'static Tab {
    TABS.iter().find(|tab| tab.id == id).unwrap_or(&TABS[0])
}

/// The tab with the tables of an analysis.
pub fn tab_of_report(id: &str) -> &'static Tab {
    let own = TABS.iter().find(|tab| tab.reports.contains(&id));
    own.unwrap_or_else(|| tab(more::TAB.id))
}

/// The tabs that can be opened.
pub fn offered(context: PanelContext<'_>) -> impl Iterator<Item = &'static Tab> {
    TABS.iter().filter(move |tab| (tab.is_offered)(context))
}

/// Analyses that no other tab names.
fn unlisted_reports() -> Vec<&'static str> {
    ANALYSES
        .iter()
        .map(|entry| entry.id)
        .filter(|id| !TABS.iter().any(|tab| tab.reports.contains(id)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn tabs_name_analyses_that_exist() {
        for id in TABS
            .iter()
            .flat_map(|tab| tab.wanted().chain(tab.of_whole.iter().copied()))
        {
            assert!(ANALYSES.iter().any(|entry| entry.id == id), "{id}");
        }
        assert_eq!(TAB_IDS.iter().collect::<BTreeSet<_>>().len(), TABS.len());
    }

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
        let below = folders.iter().flat_map(|folder| sources(folder));
        files.into_iter().chain(below).collect()
    }

    #[test]
    fn tabs_are_named_in_their_declarations_only() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let here = root.join("src/panels/tabs");
        let others = [root.join("src"), root.join("../view/src")]
            .iter()
            .flat_map(|folder| sources(folder))
            .filter(|path| !path.starts_with(&here) && !path.ends_with("tests.rs"))
            .collect::<Vec<_>>();
        assert!(others.len() > 100, "{}", others.len());
        for path in others {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code.lines().filter(|line| !line.contains("_TAB: &str"));
            for line in lines {
                let about = line.to_lowercase().replace("table", "");
                let named = TAB_IDS
                    .iter()
                    .find(|id| line.contains(&format!("\"{id}\"")));
                assert!(
                    named.is_none() || !about.contains("tab"),
                    "{}: {line}",
                    path.display()
                );
            }
        }
    }
}
