//! The screen without a trace, and while one is being opened.

use super::prelude::*;
use egui::{CentralPanel, ProgressBar};
use importers::IMPORTERS;

use super::frame::{bar, top_ui};
use super::server_runs::ServerRuns;
use super::sessions::sessions_ui;
use crate::samples::SAMPLES;

/// Width of the centre column.
const COLUMN: f32 = 520.0;

pub fn welcome_ui(
    ui: &mut Ui,
    settings: &Settings,
    sessions: &SessionStore,
    runs: &mut ServerRuns,
    loading: Option<(&PathBuf, &Progress)>,
    error: Option<&FailedToOpen>,
    out: &mut AppCommands,
) {
    CentralPanel::default().show(ui, |ui| {
        let side = ((ui.available_width() - COLUMN) / 2.0).max(0.0);
        let above = (ui.available_height() * 0.1).max(12.0);
        ScrollArea::vertical()
            .id_salt("welcome")
            .auto_shrink([false, false])
            .show(ui, |ui| {
                ui.add_space(above);
                ui.horizontal(|ui| {
                    ui.add_space(side);
                    ui.vertical(|ui| {
                        ui.set_width(COLUMN.min(ui.available_width()));
                        ui.label(RichText::new("Systole").size(34.0).strong());
                        ui.label(
                            RichText::new("Profiles of TPU programs: see where the time goes.")
                                .size(15.0)
                                .weak(),
                        );
                        ui.add_space(18.0);
                        if let Some(failed) = error {
                            bar(ui).show(ui, |ui| failed_ui(ui, failed, out));
                            ui.add_space(18.0);
                        }
                        match loading {
                            Some((path, progress)) => progress_ui(ui, path, progress, out),
                            None => start_ui(ui, settings, sessions, runs, out),
                        }
                        ui.add_space(18.0);
                    });
                });
            });
    });
}

fn start_ui(
    ui: &mut Ui,
    settings: &Settings,
    sessions: &SessionStore,
    runs: &mut ServerRuns,
    out: &mut AppCommands,
) {
    let theme = theme::current(ui);
    runs.list_ui(ui, out);
    ui.horizontal(|ui| {
        let open = Button::new(RichText::new("Open a profile…").size(15.0))
            .min_size(Vec2::new(160.0, 34.0));
        if ui.add(open).hint("Open a profile", "open").clicked() {
            out.push(if runs.is_there() {
                AppCommand::Browse { beside: false }
            } else {
                AppCommand::OpenDialog
            });
        }
        ui.weak(if platform::IN_BROWSER {
            "of this machine, or drop it here: it stays in this page"
        } else {
            "or drop a file or a log directory here"
        });
    });
    #[cfg(not(target_arch = "wasm32"))]
    ui.horizontal(|ui| {
        ui.link("Capture a running program…")
            .sends(out, AppCommand::CaptureDialog);
        ui.weak("through its profiler server");
    });
    ui.add_space(24.0);
    if !settings.recent.is_empty() {
        ui.strong("Recent");
        for path in &settings.recent {
            ui.horizontal(|ui| {
                let name = path
                    .file_name()
                    .unwrap_or(path.as_os_str())
                    .to_string_lossy();
                if ui.link(RichText::new(name.clone())).clicked() {
                    out.push(AppCommand::Open(path.clone()));
                }
                let folder = path.parent().unwrap_or(path).display().to_string();
                ui.add(Label::new(remark(folder)).truncate());
                let forget = close_button(ui, format_args!("Forget {name}"));
                if forget.on_hover_text("Remove it from this list").clicked() {
                    out.push(AppCommand::ForgetRecent(path.clone()));
                }
            });
        }
        ui.add_space(18.0);
    }
    if !sessions.names().is_empty() {
        ui.strong("Sessions");
        sessions_ui(ui, sessions, out);
        ui.add_space(18.0);
    }
    ui.strong("Samples");
    for (index, sample) in SAMPLES.iter().enumerate() {
        ui.link(sample.title)
            .sends(out, AppCommand::OpenSample(index));
    }
    ui.add_space(18.0);
    ui.strong("Supported formats");
    for importer in IMPORTERS {
        ui.colored_label(theme.text, importer.format().title);
        ui.label(remark(importer.format().about));
    }
}

pub fn progress_ui(ui: &mut Ui, path: &Path, progress: &Progress, out: &mut AppCommands) {
    ui.add_space(4.0);
    let path = importers::shown_path(path);
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    ui.label(format!("Opening {name}"));
    ui.horizontal(|ui| {
        let (done, total) = progress.bytes();
        let bar = match progress.fraction() {
            // After all bytes are read, sorting and nesting still follow.
            Some(share) if share >= 1.0 => ProgressBar::new(1.0).text("arranging"),
            Some(share) => ProgressBar::new(share).text(format!(
                "{} of {} MB",
                megabytes(done),
                megabytes(total)
            )),
            None if done > 0 => ProgressBar::new(0.0).text(format!("{} MB", megabytes(done))),
            None => ProgressBar::new(0.0).text("starting"),
        };
        ui.add(bar.desired_width((ui.available_width() - 90.0).clamp(80.0, 420.0)));
        ui.button("Cancel").sends(out, AppCommand::CancelLoad);
    });
    ui.add_space(4.0);
}

fn megabytes(bytes: u64) -> String {
    if bytes < 10_000_000 {
        format!("{:.1}", bytes as f64 / 1e6)
    } else {
        group_digits(bytes / 1_000_000)
    }
}

/// A failed attempt to open or save.
#[derive(Debug)]
pub struct FailedToOpen {
    /// What failed, as a sentence.
    pub what: &'static str,
    pub why: String,
}

impl FailedToOpen {
    /// A file or a folder cannot be opened.
    pub fn open(why: String) -> Self {
        Self {
            what: "This cannot be opened.",
            why,
        }
    }

    /// A file cannot be saved.
    pub fn save(why: String) -> Self {
        Self {
            what: "This file cannot be saved.",
            why,
        }
    }
}

/// The error message above open traces, in a bar below the toolbar.
pub fn error_ui(ui: &mut Ui, failed: &FailedToOpen, out: &mut AppCommands) {
    top_ui(ui, "error", |ui| failed_ui(ui, failed, out));
}

fn failed_ui(ui: &mut Ui, failed: &FailedToOpen, out: &mut AppCommands) {
    let theme = theme::current(ui);
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(failed.what).color(theme.error).strong());
        ui.label(&failed.why);
        ui.button("Dismiss").sends(out, AppCommand::DismissError);
    });
}

/// Shown for a trace without slices and counter samples.
pub fn nothing_inside_ui(ui: &mut Ui, trace: &OpenTrace) {
    ui.vertical_centered(|ui| {
        ui.add_space(60.0);
        ui.heading("This profile holds no events");
        ui.label(format!(
            "{} could be read, but no track in it has a slice or a counter sample.",
            trace.name()
        ));
        for issue in trace.model.import_log().counts() {
            ui.weak(format!("{} × {}", issue.count, issue.kind.explain()));
        }
    });
}

/// What a first look at a trace shows so far, as sentences.
pub fn shown_so_far(model: &TraceModel) -> String {
    let devices = model.group_ids().filter(|&group| {
        matches!(
            model.group(group).kind,
            GroupKind::TensorCore { .. } | GroupKind::Gpu { .. }
        )
    });
    let is_shown = |track| !model.lanes(track).is_empty();
    let has_slices = |group: &_| model.tracks_of(*group).into_iter().any(is_shown);
    let (shown, others): (Vec<_>, Vec<_>) = devices.partition(has_slices);
    let all = counted((shown.len() + others.len()) as u64, "device");
    if shown.is_empty() {
        let shown = model.track_ids().filter(|&track| is_shown(track));
        let tracks = counted(shown.count() as u64, "track");
        return format!("{tracks} can be seen so far. The others follow, and then all reports.");
    }
    format!(
        "{} of {all} can be seen so far. The rest follows, and then all reports.",
        shown.len()
    )
}

/// Shown while files are dragged over the window: what dropping them does.
pub fn drop_hint_ui(ui: &Ui, is_open: bool) {
    let text = match (ui.input(|i| i.raw.hovered_files.len()), is_open) {
        (0, _) => return,
        (1, false) => "Drop to open",
        (1, true) => "Drop to open, or to compare with the open run",
        _ => "Drop to open the first two beside each other",
    };
    let theme = theme::current(ui);
    let layer = egui::LayerId::new(egui::Order::Foreground, Id::unique("drop hint"));
    let painter = ui.ctx().layer_painter(layer);
    let rect = ui.ctx().content_rect();
    painter.rect_filled(rect, 0.0, theme.canvas.gamma_multiply(0.8));
    let font = FontId::proportional(24.0);
    painter.text(
        rect.center(),
        Align2::CENTER_CENTER,
        text,
        font,
        theme.text_strong,
    );
}
