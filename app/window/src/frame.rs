//! One frame of the window: input, background jobs, drawing.

use super::App;
use crate::open_traces::{self, OpenWorkspaces};
use crate::panels::path_dialog::{PathAnswer, PathPurpose};
use crate::prelude::*;
use crate::workspace::FrameContext;
use crate::{AppCommand, AppCommands};
use crate::{panels, platform, theme, times};

impl App {
    fn path_dialog_ui(&mut self, ctx: &Context, out: &mut AppCommands) {
        let Some(dialog) = &mut self.path_dialog else {
            return;
        };
        let purpose = dialog.purpose();
        let beside = purpose == PathPurpose::Compare;
        match dialog.ui(ctx) {
            None => return,
            Some(PathAnswer::Browse) => return out.push(AppCommand::Browse { beside }),
            Some(PathAnswer::Cancelled) if purpose == PathPurpose::Save => self.saving.forget(),
            Some(PathAnswer::Cancelled) => {}
            // What was found last comes first.
            Some(PathAnswer::Found(prefix)) => self.settings.source_prefixes.insert(0, prefix),
            Some(PathAnswer::Chosen(path)) if purpose == PathPurpose::Save => {
                self.saving.write(path);
            }
            #[cfg(not(target_arch = "wasm32"))]
            Some(PathAnswer::Follow(folder)) => {
                out.push(crate::command::FollowCommand::Start(folder).into());
            }
            // Nobody is asked for a directory there.
            #[cfg(target_arch = "wasm32")]
            Some(PathAnswer::Follow(folder)) => drop(folder),
            Some(PathAnswer::Chosen(path)) => out.push(AppCommand::open(path, beside)),
        }
        self.path_dialog = None;
    }
}

impl eframe::App for App {
    #[cfg(not(target_arch = "wasm32"))]
    fn raw_input_hook(&mut self, _ctx: &Context, raw: &mut egui::RawInput) {
        if self.screenshot.is_some() {
            // A picture must not show a tooltip at the pointer.
            raw.events
                .retain(|event| !matches!(event, egui::Event::PointerMoved(_)));
        }
    }

    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        // Commands about the current trace are applied before a new trace replaces it.
        self.apply_commands(ctx);
        self.poll_jobs();
        self.read_global_input(ctx);
        self.apply_commands(ctx);
        if let Some(open_traces) = &mut self.open_traces {
            open_traces.ask_jobs();
        }
        self.ask_for_runs(ctx);
        #[cfg(not(target_arch = "wasm32"))]
        self.follow(ctx);
        self.show_address(ctx);
        #[cfg(not(target_arch = "wasm32"))]
        self.frame_begins(ctx);
        let names: Vec<String> = TraceSide::BOTH
            .into_iter()
            .filter_map(|side| self.trace_of(side))
            .map(OpenTrace::title)
            .collect();
        let title = if names.is_empty() {
            "Systole".to_owned()
        } else {
            format!("{} – Systole", names.join(" ↔ "))
        };
        if title != self.title {
            // Only on changes, because every command to the window causes a new frame.
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
            self.title = title;
        }
        if self.loading.is_running() {
            ctx.request_repaint_after(std::time::Duration::from_millis(100));
        }
    }

    /// The ground of the timeline, which then needs not be painted: it is most of the window.
    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        visuals.extreme_bg_color.to_normalized_gamma_f32()
    }

    fn ui(&mut self, ui: &mut Ui, frame: &mut eframe::Frame) {
        let mut out = Vec::new();
        times::write_as(self.settings.times);
        theme::paint_in(
            self.state()
                .map_or(self.settings.colors, |state| state.colors),
        );
        let loading = self
            .loading
            .key()
            .map(|wanted| &wanted.path)
            .zip(self.loading.progress());
        panels::toolbar::toolbar_ui(
            ui,
            self.open_traces.as_ref().map(OpenWorkspaces::focused),
            &self.settings,
            &self.sessions,
            &self.runs,
            &mut out,
        );
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(following) = &self.following {
            let open = self.trace().map(|trace| trace.path.as_path());
            panels::followed::followed_ui(ui, following, open, &mut out);
        }
        if let Some(open_traces) = &mut self.open_traces {
            if let Some(error) = &self.error {
                panels::welcome::error_ui(ui, error, &mut out);
            }
            let (settings, keys) = (&self.settings, &self.keys);
            let frame = FrameContext {
                settings,
                keys,
                loading,
            };
            open_traces.ui(ui, frame, &mut out);
        } else {
            let error = self.error.as_ref();
            panels::welcome::welcome_ui(
                ui,
                &self.settings,
                &self.sessions,
                &mut self.runs,
                loading,
                error,
                &mut out,
            );
            if self.lobby.shows(Panel::Help) {
                panels::help::help_ui(ui.ctx(), &self.keys, &self.settings, &mut out);
            }
            if self.lobby.shows(Panel::Keys) {
                panels::keys::keys_ui(
                    ui.ctx(),
                    &self.keys,
                    &self.settings,
                    &mut self.changing,
                    &mut out,
                );
            }
        }
        self.saving.step(ui.ctx());
        let open = self.trace().map(|trace| trace.path.clone());
        self.runs.dialog_ui(ui.ctx(), open.as_deref(), &mut out);
        self.path_dialog_ui(ui.ctx(), &mut out);
        #[cfg(not(target_arch = "wasm32"))]
        self.capture.ui(ui.ctx(), &mut out);
        panels::welcome::drop_hint_ui(ui, self.open_traces.is_some());
        open_traces::dropped_ui(ui, &self.dropped, &mut out);
        if let Some(notice) = &mut self.notice {
            notice.ui(ui.ctx(), &mut out);
        }
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(mut photographer) = self.screenshot.take() {
            let settled = self.is_settled() && (self.open_traces.is_some() || self.error.is_some());
            out.extend(photographer.step(ui.ctx(), settled, self.trace().zip(self.state())));
            self.screenshot = Some(photographer);
        }
        #[cfg(not(target_arch = "wasm32"))]
        self.frame_ends(ui.ctx());
        if !out.is_empty() {
            self.commands.extend(out);
            ui.ctx().request_repaint();
        }
        platform::publish(|| self.published(frame.info().cpu_usage));
    }
}

/// Start times are printed of the window of a system only.
#[cfg(not(target_arch = "wasm32"))]
impl App {
    fn frame_begins(&mut self, ctx: &Context) {
        let is_open = self.open_traces.is_some() && !self.is_first_look();
        if let Some(times) = &mut self.start_times {
            times.frame_begins(ctx, is_open);
        }
    }

    fn frame_ends(&mut self, ctx: &Context) {
        let open = self.open_traces.as_ref();
        let has_slices = open.is_some_and(|open| open.focused().draws_slices());
        let is_whole = !self.is_first_look();
        if let Some(times) = &mut self.start_times {
            times.frame_ends(ctx, has_slices, is_whole);
        }
    }
}
