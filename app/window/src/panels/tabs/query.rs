//! SQL over the tables of the trace: a field for the query, ready-made queries, the result as a table. A click on a row
//! with a slice, a time or a name goes there.

use std::sync::atomic::{AtomicBool, Ordering};

use super::prelude::*;
use egui::Modifiers;
use egui::text::{LayoutJob, TextFormat};

use crate::panels::table::SortedTable;
use crate::panels::tables::trace_table_ui;
use query::{
    Database, PIVOT_KEYS, PRESETS, QueryError, QueryLimits, QueryView, VIEWS, pivot, query_table,
    word_at,
};
use view::state::{DerivedTrack, QueryTrack};
use view::timeline::derived::QueryColumns;

pub const TAB: Tab = Tab {
    id: "query",
    title: "Query",
    icon: "line 0.08 0.2 0.38 0.45 0.08 0.7; line 0.45 0.85 0.95 0.85",
    panel: |wake| Box::new(QueryPanel::new(wake)),
    ..TABLES
};

/// Maximum numbers of rows that can be chosen.
const LIMITS: [usize; 3] = [1_000, 10_000, 100_000];

/// A query that was run.
#[derive(Clone, Debug, PartialEq)]
struct AskedQuery {
    sql: String,
    scope: Scope,
    limit: usize,
    /// Counts runs, so that the same query can be run again.
    run: u32,
}

struct QueryResult {
    table: Table,
    is_truncated: bool,
}

/// Names of tables, their columns and a description.
type TableDescriptions = Vec<(String, String, String)>;

/// State of the tab.
struct QueryPanel {
    text: String,
    limit: usize,
    runs: u32,
    sorted: SortedTable,
    answers: Worker<AskedQuery, Result<QueryResult, QueryError>>,
    stop: Arc<AtomicBool>,
    tables: Worker<Scope, TableDescriptions>,
}

impl QueryPanel {
    /// The first ready-made query, which is run when the tab is opened.
    fn new(wake: &WakeUi) -> Self {
        Self {
            text: PRESETS[0].sql.to_owned(),
            limit: LIMITS[0],
            runs: 0,
            sorted: SortedTable::default(),
            answers: Worker::new("query", wake),
            stop: Arc::default(),
            tables: Worker::new("tables", wake),
        }
    }

    fn run(&mut self, session: &Session, scope: Scope) {
        self.run_sql(session, scope, self.text.clone());
    }

    fn run_sql(&mut self, session: &Session, scope: Scope, sql: String) {
        self.stop.store(true, Ordering::Relaxed);
        self.stop = Arc::default();
        self.runs += 1;
        let asked = AskedQuery {
            sql,
            scope,
            limit: self.limit,
            run: self.runs,
        };
        let (session, question, cancel) = (session.clone(), asked.clone(), Arc::clone(&self.stop));
        self.answers
            .ask(asked, move |_| Ok(answer(&session, &question, cancel)));
    }

    fn error(&self) -> Option<(&AskedQuery, &QueryError)> {
        match self.answers.memo() {
            JobAnswer::Ready(Err(error)) => Some((self.answers.key()?, error)),
            _ => None,
        }
    }

    /// The part of the text that an error is about, while the text is the one that was run.
    fn wrong_word(&self) -> Option<std::ops::Range<usize>> {
        let (asked, error) = self.error()?;
        let (sql, position) = error.place.as_ref()?;
        (asked.sql == self.text && *sql == self.text).then(|| word_at(sql, *position))
    }
}

impl TabPanel for QueryPanel {
    fn poll(&mut self, _is_open: bool) {
        if self.answers.poll() {
            self.sorted = SortedTable::default();
            // The query names them.
            self.sorted.all_columns = true;
        }
        self.tables.poll();
    }

    fn is_settled(&self) -> bool {
        !self.answers.is_running() && !self.tables.is_running()
    }

    fn ui(&mut self, ui: &mut Ui, tab: TabContent<'_>) {
        let TabContent {
            context, out, view, ..
        } = tab;
        let scope = Scope::from(context.state.scope);
        let session = &context.trace.session;
        match self
            .answers
            .key()
            .map(|asked| (asked.scope, asked.sql.clone()))
        {
            None => self.run(session, scope),
            // Tables of reports are about the scope that is named above.
            Some((other, sql)) if other != scope => self.run_sql(session, scope, sql),
            Some(_) => {}
        }
        presets_ui(ui, self, session, scope);
        let runs_by_key = editor_ui(ui, self);
        let is_running = self.answers.is_running();
        ui.horizontal(|ui| {
            let run = ui.add_enabled(!self.text.trim().is_empty(), Button::new("Run"));
            if run.on_hover_text("Run the query (Ctrl+Enter)").clicked() || runs_by_key {
                self.run(session, scope);
            }
            if ui.add_enabled(is_running, Button::new("Stop")).clicked() {
                self.stop.store(true, Ordering::Relaxed);
            }
            limit_ui(ui, self);
            if is_running {
                ui.spinner();
            }
        });
        ui.separator();
        if let Some((_, error)) = self.error() {
            error_ui(ui, error);
            return;
        }
        match self.answers.memo() {
            JobAnswer::Empty => {
                ui.weak("The result appears here. Rows with a slice, a time, a step or the name of an op lead there.");
            }
            JobAnswer::Failed { error, .. } => {
                ui.colored_label(theme::current(ui).error, error);
            }
            memo => {
                let Some(Ok(result)) = memo.latest() else {
                    return;
                };
                // A table that is still shown is not of the query that runs now.
                let asked = self.answers.key().filter(|_| !memo.is_running());
                let sql = asked.map(|asked| asked.sql.as_str());
                result_ui(ui, context, result, sql, &mut self.sorted, out, view);
            }
        }
    }
}

impl Drop for QueryPanel {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn answer(
    session: &Session,
    asked: &AskedQuery,
    cancel: Arc<AtomicBool>,
) -> Result<QueryResult, QueryError> {
    let limits = QueryLimits {
        rows: asked.limit,
        time: None,
        cancel,
        ..QueryLimits::default()
    };
    let answer = Database::new(session, asked.scope)?.ask(&asked.sql, &limits)?;
    let is_truncated = answer.is_truncated;
    Ok(QueryResult {
        table: query_table(answer),
        is_truncated,
    })
}

fn tables_of(session: &Session, scope: Scope) -> Result<TableDescriptions, String> {
    let mut database = Database::new(session, scope).map_err(|error| error.to_string())?;
    let tables = database.tables().map_err(|error| error.to_string())?;
    let about = |table: &Arc<session::tables::DataTable>| {
        let columns = joined(table.columns.iter().map(|column| &*column.name), ", ");
        (table.name.clone(), columns, table.about.clone())
    };
    let view = |view: &QueryView| {
        (
            view.name.to_owned(),
            joined(view.columns(), ", "),
            view.about.to_owned(),
        )
    };
    Ok(VIEWS
        .iter()
        .map(view)
        .chain(tables.iter().map(about))
        .collect())
}

fn result_ui(
    ui: &mut Ui,
    context: PanelContext<'_>,
    result: &QueryResult,
    sql: Option<&str>,
    sorted: &mut SortedTable,
    out: &mut AppCommands,
    view: &mut ViewCommands,
) {
    let table = &result.table;
    if let Some(sql) = sql {
        track_ui(ui, context.state, sql, table, view);
    }
    if result.is_truncated {
        let text = format!(
            "Only the first {} rows: there are more.",
            group_digits(table.rows.len() as u64)
        );
        ui.colored_label(theme::current(ui).warning, text);
    }
    if table.rows.is_empty() {
        ui.weak("No rows.");
        return;
    }
    trace_table_ui(ui, context, table, sorted, (None, &|_| false), out, view);
}

/// The button that shows the rows as a track, or takes the track away.
fn track_ui(ui: &mut Ui, state: &ViewState, sql: &str, table: &Table, view: &mut ViewCommands) {
    let shown = state.queries.iter().position(|query| query.sql == sql);
    if let Some(number) = shown {
        let item = TreeItem::Derived(DerivedTrack::Query(number));
        ui.button("Remove the track")
            .on_hover_text("The rows of this query are a track below the devices")
            .sends(view, ViewCommand::Hide(item, true));
        return;
    }
    let missing = QueryColumns::of(table).err();
    let button = ui.add_enabled(missing.is_none(), Button::new("Show as track"));
    let button = match &missing {
        Some(why) => button.on_disabled_hover_text(why),
        None => button.on_hover_text(
            "Show the rows as a track below the devices; the query runs over the whole capture",
        ),
    };
    let preset = PRESETS.iter().find(|preset| preset.sql == sql);
    let title = preset.map_or_else(
        || free_title(&state.queries),
        |preset| preset.name.to_owned(),
    );
    let sql = sql.to_owned();
    button.sends(view, ViewCommand::AddQuery(QueryTrack { title, sql }));
}

/// The first of `Query 1`, `Query 2`, … that no track has.
fn free_title(queries: &[QueryTrack]) -> String {
    let titles = (1..).map(|number| format!("Query {number}"));
    let mut free = titles.filter(|title| queries.iter().all(|query| query.title != *title));
    free.next().unwrap_or_default()
}

/// Lists of ready-made queries and of tables.
fn presets_ui(ui: &mut Ui, panel: &mut QueryPanel, session: &Session, scope: Scope) {
    ui.horizontal(|ui| {
        let current = PRESETS.iter().find(|preset| preset.sql == panel.text);
        let text = current.map_or("Ready-made queries", |preset| preset.name);
        let list = ComboBox::from_id_salt("ready-made queries")
            .selected_text(text)
            .width(170.0)
            .height(420.0);
        let mut chosen = None;
        let list = list.show_ui(ui, |ui| {
            for preset in &PRESETS {
                let is_own = current.is_some_and(|current| current.name == preset.name);
                let entry =
                    ui.selectable_label(is_own, format!("{}: {}", preset.name, preset.about));
                if entry.clicked() {
                    chosen = Some(preset.sql);
                }
            }
        });
        list.response.labeled(Role::ComboBox, "Ready-made queries");
        if let Some(sql) = chosen {
            sql.clone_into(&mut panel.text);
            panel.run(session, scope);
        }
        if let Some(sql) = pivot_ui(ui) {
            panel.text = sql;
            panel.run(session, scope);
        }
        ui.menu_button("Tables", |ui| {
            let traced = session.clone();
            panel.tables.ask(scope, move |_| tables_of(&traced, scope));
            ui.set_min_width(320.0);
            match panel.tables.memo() {
                JobAnswer::Ready(tables) => {
                    ScrollArea::vertical().max_height(420.0).show(ui, |ui| {
                        for (name, columns, about) in tables {
                            let entry = ui
                                .button(name)
                                .on_hover_text(format!("{about}\n\n{columns}"));
                            if entry.clicked() {
                                panel.text = format!("SELECT * FROM {name}");
                                ui.close();
                            }
                        }
                    });
                }
                JobAnswer::Failed { error, .. } => drop(ui.label(error)),
                _ => drop(ui.spinner()),
            }
        });
    });
}

/// A menu of pivot tables: by what, and by what within it. Returns the query of the chosen one.
fn pivot_ui(ui: &mut Ui) -> Option<String> {
    let mut chosen = None;
    let menu = ui.menu_button("Pivot", |ui| {
        for outer in PIVOT_KEYS {
            ui.menu_button(format!("by {}", outer.name), |ui| {
                if ui.button(format!("only by {}", outer.name)).clicked() {
                    chosen = Some(pivot(&[outer]));
                }
                for inner in PIVOT_KEYS.into_iter().filter(|inner| *inner != outer) {
                    if ui.button(format!("then by {}", inner.name)).clicked() {
                        chosen = Some(pivot(&[outer, inner]));
                    }
                }
            })
            .response
            .on_hover_text(outer.about);
        }
    });
    menu.response
        .on_hover_text("Self time of ops, its share and its rates by one or two things");
    chosen
}

/// The field with the query; returns whether it is to be run.
fn editor_ui(ui: &mut Ui, panel: &mut QueryPanel) -> bool {
    let (theme, wrong) = (theme::current(ui), panel.wrong_word());
    let font = FontId::monospace(12.5);
    let mut layouter = |ui: &Ui, text: &dyn egui::TextBuffer, width: f32| {
        let text = text.as_str();
        let plain = TextFormat::simple(font.clone(), theme.text);
        let mut job = LayoutJob {
            text: text.to_owned(),
            ..LayoutJob::default()
        };
        job.wrap.max_width = width;
        // The text may have been edited in this frame.
        let wrong = wrong
            .clone()
            .filter(|wrong| text.get(wrong.clone()).is_some())
            .unwrap_or(text.len()..text.len());
        let mut marked = TextFormat::simple(font.clone(), theme.error);
        marked.underline = Stroke::new(1.5, theme.error);
        for (range, format) in [
            (0..wrong.start, plain.clone()),
            (wrong.clone(), marked),
            (wrong.end..text.len(), plain),
        ] {
            if !range.is_empty() {
                job.sections.push(egui::text::LayoutSection {
                    leading_space: 0.0,
                    byte_range: egui::text::ByteIndex(range.start)
                        ..egui::text::ByteIndex(range.end),
                    format,
                });
            }
        }
        ui.fonts_mut(|fonts| fonts.layout_job(job))
    };
    let id = ui.scope_id().with("query");
    let runs = ui.memory(|memory| memory.has_focus(id))
        && ui.input_mut(|input| input.consume_key(Modifiers::COMMAND, Key::Enter));
    let rows = panel.text.lines().count().clamp(3, 9);
    let field = TextEdit::multiline(&mut panel.text)
        .id(id)
        .code_editor()
        .desired_rows(rows)
        .layouter(&mut layouter);
    let response = ui.add(
        field
            .desired_width(f32::INFINITY)
            .hint_text("SELECT … FROM slices"),
    );
    response.labeled(Role::MultilineTextInput, "SQL");
    runs
}

fn limit_ui(ui: &mut Ui, panel: &mut QueryPanel) {
    let text = |rows: usize| format!("{} rows", group_digits(rows as u64));
    let list = ComboBox::from_id_salt("limit")
        .selected_text(text(panel.limit))
        .width(110.0)
        .show_ui(ui, |ui| {
            for limit in LIMITS {
                ui.selectable_value(&mut panel.limit, limit, text(limit));
            }
        });
    list.response.labeled(Role::ComboBox, "Most rows");
    list.response
        .on_hover_text("The result ends after this many rows");
}

/// What is wrong with a query, and the names that exist instead.
fn error_ui(ui: &mut Ui, error: &QueryError) {
    let color = theme::current(ui).error;
    let mut letters = error.message.chars();
    let first: String = letters
        .next()
        .map(|c| c.to_uppercase().collect())
        .unwrap_or_default();
    ui.colored_label(color, format!("{first}{}", letters.as_str()));
    if let Some((sql, position)) = &error.place
        && let Some(word) = sql
            .get(word_at(sql, *position))
            .filter(|word| !word.is_empty())
    {
        let line = sql
            .get(..*position)
            .map_or(1, |before| before.matches('\n').count() + 1);
        ui.weak(format!("at “{word}” in line {line}"));
    }
    if let Some(help) = &error.help {
        ui.add_space(4.0);
        ui.small(help);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_queries_do_not_repeat() {
        let named = |title: &&str| QueryTrack {
            title: (*title).to_owned(),
            sql: String::new(),
        };
        let free = |titles: &[&str]| free_title(&titles.iter().map(named).collect::<Vec<_>>());
        assert_eq!(free(&[]), "Query 1");
        assert_eq!(free(&["Query 2", "Busy time"]), "Query 1");
        assert_eq!(free(&["Query 1", "Query 2"]), "Query 3");
    }
}
