//! The runs of the server that a page comes from: a list on the start screen, and a dialog to open or compare one.

use super::prelude::*;
use egui::TextWrapMode;

use crate::platform::RunsAnswer;
use session::RunSummary;

/// Gives the runs of the server as JSON, `None` if no server of Systole is there; the error is a sentence.
pub type RunSource = Arc<dyn Fn(RunsAnswer) + Send + Sync>;

/// How long a list is good, in seconds.
const AGE_S: f64 = 5.0;

/// Runs that are drawn; the field for names finds the others.
const MOST: usize = 300;

/// Up to so many runs need no field to find one.
const FEW: usize = 12;

/// A run of the server.
#[derive(Debug, Deserialize)]
struct OfferedRun {
    id: String,
    name: String,
    place: String,
    hosts: Vec<String>,
    bytes: Option<u64>,
    modified_s: Option<u64>,
    /// What it says of itself; missing until the server has read it.
    summary: Option<RunSummary>,
    /// Why the server cannot read it.
    error: Option<String>,
}

/// A place that the server cannot read.
#[derive(Debug, Deserialize)]
struct UnreadPlace {
    place: String,
    message: String,
}

/// What the server answers.
#[derive(Debug, Deserialize)]
struct ServerRunPage {
    runs: Vec<OfferedRun>,
    total: usize,
    errors: Vec<UnreadPlace>,
}

/// The runs of the server, asked for again while they are looked at.
pub struct ServerRuns {
    source: RunSource,
    list: Worker<u64, Option<ServerRunPage>>,
    filter: String,
    /// Whether the dialog is open, and whether the run is to be compared with the open trace.
    dialog: Option<bool>,
    is_dialog_new: bool,
}

impl ServerRuns {
    /// Nothing is asked yet.
    pub fn new(source: RunSource, wake: &WakeUi) -> Self {
        let list = Worker::new("runs of the server", wake);
        Self {
            source,
            list,
            filter: String::new(),
            dialog: None,
            is_dialog_new: false,
        }
    }

    /// Asks for the list if the last one is old. `now_s` is a clock.
    pub fn ask(&mut self, now_s: f64) {
        if self.list.is_running() {
            return;
        }
        let source = Arc::clone(&self.source);
        self.list
            .ask_later((now_s / AGE_S) as u64, move |_, answer| {
                source(Box::new(move |text| {
                    answer.give(text.and_then(|text| text.map(|text| parsed(&text)).transpose()));
                }));
            });
    }

    /// Seconds until [`Self::ask`] asks again, if there is a server.
    pub fn asks_in(&self, now_s: f64) -> Option<f64> {
        self.is_there().then(|| AGE_S - now_s % AGE_S)
    }

    /// Takes over an answer.
    pub fn poll(&mut self) {
        self.list.poll();
    }

    /// Whether the first answer is there.
    pub fn is_settled(&self) -> bool {
        !matches!(self.list.memo(), JobAnswer::Running { previous: None })
    }

    /// Whether a server of Systole is there.
    pub fn is_there(&self) -> bool {
        matches!(self.list.latest(), Some(Some(_)))
    }

    /// Names of the runs, as far as they are known.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list
            .latest()
            .into_iter()
            .flatten()
            .flat_map(|page| page.runs.iter().map(|run| run.name.as_str()))
    }

    /// Names and paths of the newest runs without that at `open`.
    pub fn others(&self, open: &Path) -> Vec<(&str, PathBuf)> {
        let runs = self
            .list
            .latest()
            .into_iter()
            .flatten()
            .flat_map(|page| page.runs.iter().map(|run| (&*run.name, path_of(run))));
        runs.filter(|(_, path)| path != open).take(FEW).collect()
    }

    /// Whether the dialog is open.
    pub fn is_open(&self) -> bool {
        self.dialog.is_some()
    }

    pub fn open(&mut self, beside: bool) {
        self.dialog = Some(beside);
        self.is_dialog_new = true;
        self.filter.clear();
    }

    /// Draws the dialog, if it is open; the run at `open` is not offered to be compared with itself.
    pub fn dialog_ui(&mut self, ctx: &Context, open: Option<&Path>, out: &mut AppCommands) {
        let Some(beside) = self.dialog else { return };
        let open = open.filter(|_| beside);
        let mut done = ctx.input(|input| input.key_pressed(Key::Escape));
        let title = if beside { "Compare with" } else { "Open" };
        dialog(title)
            .title_bar(false)
            .anchor(Align2::CENTER_TOP, [0.0, 80.0])
            .fixed_size([640.0, 420.0])
            .show(ctx, |ui| {
                ui.horizontal(|ui| {
                    ui.strong(format!("{title} a run of this server"));
                    at_right(ui, |ui| {
                        done |= ui.button("Cancel").clicked();
                        if ui.button("A file of this machine…").clicked() {
                            out.push(AppCommand::Browse { beside });
                            done = true;
                        }
                    });
                });
                let field = self.filter_ui(ui);
                if std::mem::take(&mut self.is_dialog_new) {
                    field.request_focus();
                }
                // Enter opens the first.
                let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
                if let Some(first) = self.fitting(open).first().filter(|_| entered) {
                    out.push(AppCommand::open(path_of(first), beside));
                    done = true;
                }
                ui.separator();
                ScrollArea::vertical()
                    .auto_shrink([false, false])
                    .show(ui, |ui| done |= self.rows_ui(ui, beside, open, out));
            });
        if done {
            self.dialog = None;
            self.filter.clear();
        }
    }

    /// Draws the list; nothing if there is no server.
    pub fn list_ui(&mut self, ui: &mut Ui, out: &mut AppCommands) {
        let Some(Some(page)) = self.list.latest() else {
            if let JobAnswer::Failed { error, .. } = self.list.memo() {
                ui.colored_label(theme::current(ui).error, error);
                ui.add_space(18.0);
            }
            return;
        };
        let count = page.runs.len();
        ui.horizontal(|ui| {
            ui.strong("Runs of this server");
            if count > FEW {
                at_right(ui, |ui| {
                    drop(self.filter_ui(ui));
                });
            }
        });
        if !self.is_open() {
            self.rows_ui(ui, false, None, out);
        }
        ui.add_space(24.0);
    }

    fn filter_ui(&mut self, ui: &mut Ui) -> Response {
        let width = ui.available_width().min(260.0);
        let label = "Find a run by name";
        text_field(ui, &mut self.filter, label, "Find by name", width)
    }

    /// The runs with the typed text in their names or those of their hosts, without that at `open`.
    fn fitting(&self, open: Option<&Path>) -> Vec<&OfferedRun> {
        let Some(Some(page)) = self.list.latest() else {
            return Vec::new();
        };
        let wanted = self.filter.trim().to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        let fits = |run: &&OfferedRun| has(&run.name) || run.hosts.iter().any(|host| has(host));
        let is_other = |run: &&OfferedRun| open.is_none_or(|open| path_of(run) != open);
        page.runs.iter().filter(fits).filter(is_other).collect()
    }

    /// One line for each run; whether one was chosen.
    fn rows_ui(
        &self,
        ui: &mut Ui,
        beside: bool,
        open: Option<&Path>,
        out: &mut AppCommands,
    ) -> bool {
        let Some(Some(page)) = self.list.latest() else {
            return false;
        };
        for UnreadPlace { place, message } in &page.errors {
            ui.label(remark(format!("{message}: {place}")));
        }
        let fitting = self.fitting(open);
        if page.runs.is_empty() {
            ui.label("No runs yet. They appear here when there are some.");
        } else if fitting.is_empty() {
            ui.label("No run has this in its name.");
        }
        let now_s = platform::unix_seconds();
        let is_many = page
            .runs
            .windows(2)
            .any(|pair| pair[0].place != pair[1].place);
        let mut place = None;
        let mut chosen = false;
        for run in fitting.iter().take(MOST) {
            if is_many && place.replace(&run.place) != Some(&run.place) {
                ui.label(remark(&run.place));
            }
            if run_ui(ui, run, now_s) {
                out.push(AppCommand::open(path_of(run), beside));
                chosen = true;
            }
        }
        // The server sends a part of a very long list.
        let more = fitting.len().saturating_sub(MOST) + page.total.saturating_sub(page.runs.len());
        if more > 0 {
            ui.weak(format!("{more} more: type a part of the name"));
        }
        chosen
    }
}

/// A line of the list; whether it was clicked.
fn run_ui(ui: &mut Ui, run: &OfferedRun, now_s: u64) -> bool {
    let line = ui.horizontal(|ui| {
        at_right(ui, |ui| {
            ui.weak(facts(run, now_s));
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.style_mut().wrap_mode = Some(TextWrapMode::Truncate);
                let hosts = if run.hosts.is_empty() {
                    String::new()
                } else {
                    format!("\n{}", run.hosts.join(", "))
                };
                ui.link(&run.name)
                    .on_hover_text(format!("{} in {}{hosts}", run.name, run.place))
                    .clicked()
            })
        })
        .inner
    });
    for line in said(run) {
        ui.label(remark(line));
    }
    line.inner
}

/// What is known of the content of a run, as `systole runs` says it.
fn said(run: &OfferedRun) -> Vec<String> {
    let summary = run.summary.as_ref();
    let known = summary.map(|summary| summary.facts().join(" · "));
    let lines = summary.map(RunSummary::lines).unwrap_or_default();
    let error = run.error.as_ref();
    let error = error.map(|error| format!("cannot be opened: {error}"));
    known.into_iter().chain(lines).chain(error).collect()
}

/// Hosts, size and age of a run, as far as they are known.
fn facts(run: &OfferedRun, now_s: u64) -> String {
    let hosts = Some(run.hosts.len())
        .filter(|&count| count > 1)
        .map(|count| format!("{count} hosts"));
    let size = run.bytes.map(analysis::number::bytes);
    let age = run
        .modified_s
        .map(|modified| ago(now_s.saturating_sub(modified)));
    joined([hosts, size, age].into_iter().flatten(), " · ")
}

/// How long ago something was, in the largest unit of which there are two.
fn ago(seconds: u64) -> String {
    let units = [("day", 86_400), ("h", 3600), ("min", 60)];
    let fitting = units.into_iter().find(|(_, unit)| seconds >= 2 * unit);
    match fitting {
        Some(("day", unit)) => format!("{} days ago", seconds / unit),
        Some((name, unit)) => format!("{} {name} ago", seconds / unit),
        None => "just now".to_owned(),
    }
}

/// The path by which the page reads a run.
fn path_of(run: &OfferedRun) -> PathBuf {
    PathBuf::from(format!("run/{}/{}", run.id, run.name))
}

fn parsed(text: &str) -> Result<ServerRunPage, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("the server's list of runs cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_said_in_the_largest_unit_with_two() {
        for (seconds, expected) in [
            (0, "just now"),
            (119, "just now"),
            (120, "2 min ago"),
            (7199, "119 min ago"),
            (7200, "2 h ago"),
            (3 * 86_400, "3 days ago"),
        ] {
            assert_eq!(ago(seconds), expected);
        }
    }

    #[test]
    fn what_is_not_known_of_a_run_is_left_out() {
        let run = |hosts: &[&str], bytes, modified_s| OfferedRun {
            id: "0".to_owned(),
            name: "a".to_owned(),
            place: "logs".to_owned(),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            bytes,
            modified_s,
            summary: None,
            error: None,
        };
        assert_eq!(facts(&run(&[], None, None), 0), "");
        assert_eq!(
            facts(&run(&["a", "b"], None, Some(1000)), 1600),
            "2 hosts · 10 min ago"
        );
    }
}
