//! The dialog that records a profile of running programs, and opens it.

use std::sync::Mutex;
use std::time::Duration;

use super::prelude::*;
use egui::{DragValue, Grid, ProgressBar};

use capture::{Capture, CaptureOptions, CaptureStage, LONGEST_MS, ServerAddress, capture};

/// What is recorded of the host, by level.
const HOST_LEVELS: [&str; 4] = [
    "nothing",
    "annotations",
    "annotations and the runtime",
    "the runtime and its details",
];
/// Width of the fields.
const FIELD: f32 = 380.0;
/// Longest recording, in seconds: as long as that of `systole capture`.
const MOST_SECONDS: f64 = LONGEST_MS as f64 / 1000.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DialogState {
    Closed,
    /// The first field is still to get the focus.
    New,
    Open,
}

/// The dialog. It keeps what was typed for the next capture.
pub struct CaptureDialog {
    state: DialogState,
    servers: String,
    seconds: f64,
    host_level: usize,
    python: bool,
    devices: bool,
    attempts: u32,
    logdir: String,
    /// What went wrong, a line for each host.
    failed: Vec<String>,
    stage: Arc<Mutex<CaptureStage>>,
    /// Number of captures so far, which tells them apart.
    asked: u32,
    job: Worker<u32, Capture>,
}

impl CaptureDialog {
    /// A closed dialog.
    pub fn new(wake: &WakeUi) -> Self {
        let logdir = std::env::home_dir()
            .unwrap_or_default()
            .join("systole-captures");
        let usual = CaptureOptions::default();
        Self {
            state: DialogState::Closed,
            servers: String::new(),
            seconds: usual.duration.as_secs_f64(),
            host_level: usual.host_level as usize,
            python: usual.python_level > 0,
            devices: usual.device_level > 0,
            attempts: usual.attempts,
            logdir: logdir.display().to_string(),
            failed: Vec::new(),
            stage: Arc::new(Mutex::new(CaptureStage::Connecting)),
            asked: 0,
            job: Worker::new("capture", wake),
        }
    }

    pub fn open(&mut self) {
        self.state = DialogState::New;
    }

    /// Draws it while it is open. A profile that has come is opened.
    pub fn ui(&mut self, ctx: &Context, out: &mut AppCommands) {
        if self.job.poll() {
            self.take(out);
        }
        if self.state == DialogState::Closed {
            return;
        }
        let is_running = self.job.is_running();
        dialog("Capture a running program")
            .anchor(Align2::CENTER_TOP, [0.0, 80.0])
            .show(ctx, |ui| {
                ui.add_enabled_ui(!is_running, |ui| self.fields_ui(ui));
                ui.add_space(6.0);
                let theme = theme::current(ui);
                for line in &self.failed {
                    ui.colored_label(theme.error, line);
                }
                if is_running {
                    self.progress_ui(ui);
                } else {
                    self.buttons_ui(ui);
                }
            });
        if is_running {
            ctx.request_repaint_after(Duration::from_millis(100));
        } else if ctx.input(|i| i.key_pressed(Key::Escape)) {
            self.state = DialogState::Closed;
        }
    }

    fn fields_ui(&mut self, ui: &mut Ui) {
        Grid::new("capture")
            .num_columns(2)
            .spacing([12.0, 6.0])
            .show(ui, |ui| {
                let label = ui.label("Profiler servers");
                let field = TextEdit::singleline(&mut self.servers).desired_width(FIELD);
                let field = ui
                    .add(field.hint_text("worker0:9012, worker1:9012"))
                    .labelled_by(label.id);
                if self.state == DialogState::New {
                    field.request_focus();
                    self.state = DialogState::Open;
                }
                ui.end_row();
                let label = ui.label("Length");
                let length = DragValue::new(&mut self.seconds)
                    .range(0.001..=MOST_SECONDS)
                    .speed(0.1)
                    .suffix(" s");
                ui.add(length).labelled_by(label.id);
                ui.end_row();
                let label = ui.label("Host");
                let levels = ComboBox::from_id_salt("host level")
                    .width(FIELD)
                    .selected_text(HOST_LEVELS[self.host_level])
                    .show_ui(ui, |ui| {
                        for (level, name) in HOST_LEVELS.iter().enumerate() {
                            ui.selectable_value(&mut self.host_level, level, *name);
                        }
                    });
                levels.response.labelled_by(label.id);
                ui.end_row();
                ui.label("");
                let about = "Python calls, which slows the program down";
                check_box(ui, &mut self.python, about);
                ui.end_row();
                ui.label("");
                check_box(ui, &mut self.devices, "Devices");
                ui.end_row();
                let label = ui.label("Attempts");
                ui.horizontal(|ui| {
                    ui.add(DragValue::new(&mut self.attempts).range(1..=1000))
                        .labelled_by(label.id);
                    ui.weak("until each host has recorded a device");
                });
                ui.end_row();
                let label = ui.label("Log directory");
                ui.add(TextEdit::singleline(&mut self.logdir).desired_width(FIELD))
                    .labelled_by(label.id);
                ui.end_row();
            });
        ui.add_space(4.0);
        ui.small("In the program: jax.profiler.start_server(9012), or that of its framework.");
        let warning = "The server has no password and no encryption: reach it through a tunnel, not an open port.";
        ui.label(remark(warning));
    }

    fn buttons_ui(&mut self, ui: &mut Ui) {
        ui.horizontal(|ui| {
            let start = ui.add(Button::new(RichText::new("Capture").strong()));
            start.labeled(Role::Button, "Start the capture");
            if start.clicked() || ui.input(|i| i.key_pressed(Key::Enter)) {
                self.start();
            }
            if ui.button("Close").clicked() {
                self.state = DialogState::Closed;
            }
        });
    }

    fn progress_ui(&self, ui: &mut Ui) {
        let stage = *locked(&self.stage);
        let share = match stage {
            CaptureStage::Recording { passed, total } => {
                passed.as_secs_f32() / total.as_secs_f32().max(0.001)
            }
            CaptureStage::Receiving { .. } | CaptureStage::Reading => 1.0,
            CaptureStage::Connecting | CaptureStage::Retrying { .. } => 0.0,
        };
        ui.horizontal(|ui| {
            ui.add(
                ProgressBar::new(share.min(1.0))
                    .desired_width(FIELD)
                    .text(stage.to_string()),
            );
            let stop = ui
                .button("Stop")
                .on_hover_text("The servers stop recording; nothing is kept");
            stop.labeled(Role::Button, "Stop the capture");
            if stop.clicked() {
                self.job.cancel();
            }
        });
    }

    /// What is asked for, or what is wrong with it.
    fn options(&self) -> Result<CaptureOptions, String> {
        let typed = self
            .servers
            .split([',', ';', ' '])
            .map(str::trim)
            .filter(|text| !text.is_empty());
        let addresses: Vec<ServerAddress> = typed.map(str::parse).collect::<Result<_, _>>()?;
        if addresses.is_empty() {
            return Err("Profiler servers: write HOST:PORT, as in localhost:9012".to_owned());
        }
        let logdir = self.logdir.trim();
        if logdir.is_empty() || importers::is_remote(logdir.as_ref()) {
            return Err("Log directory: name one of this machine".to_owned());
        }
        let duration = Duration::from_secs_f64(self.seconds.clamp(0.001, MOST_SECONDS));
        let options = CaptureOptions {
            addresses,
            duration,
            timeout: CaptureOptions::timeout_for(duration),
            logdir: PathBuf::from(logdir),
            host_level: self.host_level as u32,
            python_level: u32::from(self.python),
            device_level: u32::from(self.devices),
            attempts: self.attempts,
            ..CaptureOptions::default()
        };
        if let Some(name) = options.same_name() {
            return Err(format!("two addresses have the same file name {name}"));
        }
        let cannot = |error| format!("Log directory: cannot write: {error}");
        options.check_place().map_err(cannot)?;
        Ok(options)
    }

    fn start(&mut self) {
        let options = match self.options() {
            Ok(options) => options,
            Err(why) => {
                self.failed = vec![why];
                return;
            }
        };
        self.failed.clear();
        self.asked += 1;
        let stage = Arc::clone(&self.stage);
        *locked(&stage) = CaptureStage::Connecting;
        self.job.ask(self.asked, move |progress| {
            let watch = |now| {
                *locked(&stage) = now;
                progress.check().is_ok()
            };
            capture(&options, watch).map_err(|error| error.to_string())
        });
    }

    /// Opens what was captured, and keeps what to say about the rest.
    fn take(&mut self, out: &mut AppCommands) {
        let capture = match self.job.take() {
            JobAnswer::Ready(capture) => capture,
            JobAnswer::Failed { error, .. } => {
                self.failed = vec![error];
                return;
            }
            JobAnswer::Empty | JobAnswer::Running { .. } => return,
        };
        self.failed = capture.reasons();
        if capture.saved().any(|saved| saved.contents.has_events) {
            if self.failed.is_empty() {
                self.state = DialogState::Closed;
            }
            out.push(AppCommand::Open(capture.run));
        } else if capture.saved().next().is_some() {
            let why = "nothing was recorded: the program did nothing in this time; capture longer, or while it works";
            self.failed.push(why.to_owned());
        }
    }
}
