//! Carries out the commands that widgets, keys and dialogs asked for.

use crate::command::ScaleChange;
use crate::open_traces::OpenWorkspaces;
use crate::panels::notice::PassingNotice;
use crate::panels::path_dialog::{PathDialog, PathPurpose};
use crate::panels::search;
use crate::panels::welcome::FailedToOpen;
use crate::prelude::*;
use crate::{
    App, AppCommand, QueuedTrace, SavedView, TraceToOpen, compare, editor, keys, panels, platform,
    samples, timeline,
};
use render::pictures::{self, Picture, PictureFormat, PictureStyle};
use view::charts::timeline::OtherTraceColors;
use view::drawing::shortened;
use view::sessions::SavedSession;

impl App {
    /// Says something that passes.
    pub(super) fn tell(&mut self, text: impl Into<String>) {
        self.notice = Some(PassingNotice::passing(text.into()));
    }

    /// Carries out the commands collected so far.
    pub(super) fn apply_commands(&mut self, ctx: &Context) {
        for command in std::mem::take(&mut self.commands) {
            self.apply(command, ctx);
        }
    }

    fn apply(&mut self, command: AppCommand, ctx: &Context) {
        if self.must_wait(&command) {
            return;
        }
        match command {
            AppCommand::Open(path) => self.open(&path),
            AppCommand::OpenSample(index) => match samples::SAMPLES
                .get(index)
                .map(samples::SampleTrace::unpack)
            {
                Some(Ok(path)) => self.open(&path),
                Some(Err(error)) => self.error = Some(FailedToOpen::open(error)),
                None => {}
            },
            AppCommand::OpenSession(name) => self.open_session(&name),
            AppCommand::SaveSession(name) => self.save_session(&name),
            AppCommand::RenameSession(from, to) => {
                self.error = self
                    .sessions
                    .rename(&from, &to)
                    .err()
                    .map(FailedToOpen::save);
            }
            AppCommand::DeleteSession(name) => {
                self.error = self.sessions.delete(&name).err().map(FailedToOpen::save);
            }
            AppCommand::Save(save) => self.saving.text(save),
            AppCommand::SavePicture(panel, format) => self.save_picture(panel, format, ctx),
            AppCommand::Edit { path, line } => {
                self.notice = editor::open(&path, line).err().map(PassingNotice::passing);
            }
            AppCommand::ShowReport(id) => self.show_report(id),
            AppCommand::CopyView => {
                if let Some(link) = self.link_to_view() {
                    let text = format!("Copied {}", shortened(&link, 90));
                    self.tell(text);
                    ctx.copy_text(link);
                }
            }
            AppCommand::SaveWindow => self.saving.window(),
            AppCommand::FilterTracks => {
                let name = self.link().map(|link| link.focus.name());
                ctx.memory_mut(|memory| memory.request_focus(timeline::filter_id(name)));
            }
            AppCommand::WheelZooms(zooms) => self.settings.set_wheel_zooms(zooms),
            AppCommand::OpenDialog => self.ask_for_path(false),
            AppCommand::Compare(path) => self.compare(&path),
            AppCommand::CompareDialog => self.ask_for_path(true),
            AppCommand::FindSource(file) => self.ask_for_source(file),
            #[cfg(not(target_arch = "wasm32"))]
            AppCommand::CaptureDialog => self.capture.open(),
            #[cfg(not(target_arch = "wasm32"))]
            AppCommand::Following(command) => self.change_following(command),
            AppCommand::Browse { beside } => self.ask_for_file(beside),
            AppCommand::Dropped(paths) => self.take_dropped(paths),
            AppCommand::CancelLoad => self.cancel_loading(),
            AppCommand::DismissError => self.error = None,
            AppCommand::DismissNotice => self.notice = None,
            AppCommand::ForgetRecent(path) => self.settings.forget(&path),
            AppCommand::Theme(choice) => {
                ctx.set_theme(choice.preference());
                self.settings.set_theme(choice);
            }
            AppCommand::Times(format) => self.settings.set_times(format),
            AppCommand::Colors(preset) => {
                self.settings.set_colors(preset);
                if let Some(open_traces) = &mut self.open_traces {
                    open_traces.apply(open_traces.focus(), &ViewCommand::Paint(preset));
                }
            }
            AppCommand::AssumeChip(chip) => self.assume_chip(&chip),
            AppCommand::NextTimes => self.settings.set_times(self.settings.times.next()),
            AppCommand::PanelSize(part, size) => self.settings.set_size(part, size),
            AppCommand::Scale(scale) => self.scale(scale, ctx),
            AppCommand::Remap(wish) => self.remap(wish, ctx),
            AppCommand::PinHovered => self
                .open_traces
                .iter_mut()
                .for_each(OpenWorkspaces::pin_hovered),
            AppCommand::View(command) => {
                if command == ViewCommand::ShowPanel(Panel::Search, true) {
                    ctx.memory_mut(|memory| memory.request_focus(search::field_id()));
                }
                match self.open_traces.as_ref().map(OpenWorkspaces::focus) {
                    Some(side) => self.change_view(side, &command, ctx),
                    None => self.lobby.apply(&command),
                }
            }
            AppCommand::On(side, command) => self.change_view(side, &command, ctx),
            AppCommand::Comparison(command) => {
                if let Some(open_traces) = &mut self.open_traces {
                    open_traces.link(&command);
                }
            }
        }
    }

    fn remap(&mut self, wish: crate::Remap, ctx: &Context) {
        let keys = keys::remapped(&self.settings.keys, wish);
        self.settings.set_keys(keys);
        self.keys = Arc::new(keys::Keys::new(&self.settings.keys));
        self.keys.install(ctx);
    }

    fn cancel_loading(&mut self) {
        self.loading.clear();
        self.next = None;
        self.leave_first_look();
        if self.trace().is_none() {
            // The address would load again what was cancelled.
            let _place_of_it = self.address.take_wanted();
            platform::show_address(&[], "");
        }
    }

    fn show_report(&mut self, id: &'static str) {
        if let Some(open_traces) = &mut self.open_traces {
            open_traces.show_report(id);
        }
    }

    fn change_view(&mut self, side: TraceSide, command: &ViewCommand, ctx: &Context) {
        let Some(open_traces) = &mut self.open_traces else {
            return;
        };
        if matches!(command, ViewCommand::OrderDevices(order) if *order != DeviceOrder::Host)
            && open_traces
                .side(side)
                .is_some_and(|workspace| !workspace.has_devices_to_order())
        {
            let text = "The trace has one device or none: there is nothing to order";
            self.tell(text);
            return;
        }
        if *command == ViewCommand::Isolate(true)
            && open_traces
                .side(side)
                .is_some_and(|workspace| !workspace.state.is_searching())
        {
            let text = "Nothing is found or highlighted: search, or Ctrl+click a slice first";
            self.tell(text);
            return;
        }
        let adds_note = matches!(
            command,
            ViewCommand::AddNote(_) | ViewCommand::MarkSelection(true)
        );
        if !adds_note {
            open_traces.apply(side, command);
            return;
        }
        let notes = |open: &OpenWorkspaces| {
            open.side(side)
                .map(|workspace| workspace.state.notes.clone())
        };
        let before = notes(open_traces);
        open_traces.apply(side, command);
        let Some((before, after)) = before.zip(notes(open_traces)) else {
            return;
        };
        if after.len() > before.len() {
            let added = before.iter().zip(&after).take_while(|(a, b)| a == b);
            panels::notes::edit(ctx, added.count());
        } else {
            let text = "Select a slice that takes time, or mark a time first: a note is about it";
            self.tell(text);
        }
    }

    fn open_session(&mut self, name: &str) {
        match self.sessions.load(name) {
            Ok(saved) => self.open_saved(saved),
            Err(error) => self.error = Some(FailedToOpen::open(error)),
        }
    }

    fn scale(&mut self, change: ScaleChange, ctx: &Context) {
        self.settings.set_scale(match change {
            ScaleChange::To(scale) => scale,
            ScaleChange::By(factor) => self.settings.scale * factor,
        });
        ctx.set_zoom_factor(self.settings.scale);
    }

    fn assume_chip(&mut self, chip: &str) {
        if let Some(open_traces) = &mut self.open_traces {
            open_traces.assume_chip(chip, &self.wake);
        }
    }

    fn save_picture(
        &mut self,
        panel: pictures::PicturePanel,
        format: PictureFormat,
        ctx: &Context,
    ) {
        let Some(open_traces) = &self.open_traces else {
            return;
        };
        let state = &open_traces.focused().state;
        let name = format!(
            "{}.{}",
            panel.id,
            if format == PictureFormat::Png {
                "png"
            } else {
                "svg"
            }
        );
        let dark = ctx.global_style().visuals.dark_mode;
        let look = PictureStyle {
            width: 1600.0,
            height: panel.height,
            dark,
            colors: state.colors,
            times: self.settings.times,
        };
        // A PNG has the resolution of the window.
        let scale = ctx.pixels_per_point().max(1.0);
        let compared = open_traces
            .comparison()
            .and_then(|comparison| comparison.compared().latest());
        let of_side = |side: TraceSide| {
            let workspace = open_traces.side(side)?;
            let beside = compared.map(|compared| &compared.partners).map(|all| {
                (
                    all.colors[side.index()].clone(),
                    all.only[side.index()].clone(),
                )
            });
            Some((workspace.trace.clone(), workspace.state.clone(), beside))
        };
        // Timelines stand below each other, as in the window; plots are about the one in focus.
        let sides: Vec<_> = TraceSide::BOTH
            .into_iter()
            .filter(|&side| panel.is_stacked || side == open_traces.focus())
            .filter_map(of_side)
            .collect();
        let make = move || {
            let mut whole: Option<Picture> = None;
            for (trace, state, beside) in &sides {
                let beside = beside
                    .as_ref()
                    .map(|(colors, only)| OtherTraceColors { colors, only });
                let drawing = pictures::draw(panel, trace, state, beside, look)?;
                whole = Some(match whole {
                    Some(above) => above.above(drawing),
                    None => drawing,
                });
            }
            whole.ok_or("nothing is open")?.encoded(format, scale)
        };
        self.saving.file(name, Box::new(make));
    }

    fn ask_for_path(&mut self, beside: bool) {
        if self.runs.is_there() {
            return self.runs.open(beside);
        }
        if platform::IN_BROWSER {
            return self.ask_for_file(beside);
        }
        self.ask_for_typed_path(beside);
    }

    /// The folder of the open trace, or of the one that was open last.
    fn folder_of_trace(&self) -> Option<PathBuf> {
        let recent = self.trace().map(|trace| trace.path.as_path()).or(self
            .settings
            .recent
            .first()
            .map(PathBuf::as_path));
        let folder = recent.and_then(Path::parent);
        folder.filter(|folder| folder.is_dir()).map(Path::to_owned)
    }

    /// Asks where a source file is that the trace names.
    fn ask_for_source(&mut self, file: String) {
        let beside = self.folder_of_trace();
        let dialog = PathDialog::to_find(file, beside.as_deref(), &self.wake);
        self.path_dialog = Some(dialog);
    }

    fn ask_for_typed_path(&mut self, beside: bool) {
        let folder = self.folder_of_trace();
        let purpose = if beside {
            PathPurpose::Compare
        } else {
            PathPurpose::Open
        };
        self.path_dialog = Some(PathDialog::new(folder.as_deref(), purpose, &self.wake));
    }

    /// Says why the system did not ask for a file, where the path can be typed instead.
    pub(super) fn cannot_browse(&mut self, why: String, beside: bool) {
        if platform::IN_BROWSER {
            self.error = Some(FailedToOpen::open(why));
            return;
        }
        if self.path_dialog.is_none() {
            self.ask_for_typed_path(beside);
        }
        if let Some(dialog) = &mut self.path_dialog {
            dialog.explain(format!("{why}. Type the path here."));
        }
    }

    fn ask_for_file(&mut self, beside: bool) {
        self.dialogs_opened += 1;
        if cfg!(target_os = "macos") {
            // There, dialogs belong to the main thread.
            match platform::place_to_open() {
                Ok(path) => self
                    .commands
                    .extend(path.map(|path| AppCommand::open(path, beside))),
                Err(why) => self.cannot_browse(why, beside),
            }
        } else {
            let ask = self.ask_to_open;
            self.dialog
                .ask_later((self.dialogs_opened, beside), move |_, answer| {
                    ask(Box::new(move |path| answer.give(path)));
                });
        }
    }

    /// Opens a file next to the open trace for comparison, or alone if nothing is open.
    pub(super) fn compare(&mut self, path: &Path) {
        self.dropped.clear();
        let path = self
            .sessions
            .find(path)
            .map_or_else(|| path.to_owned(), |saved| saved.trace);
        if self.compares_later(&path) {
            return;
        }
        self.load(&path, self.open_traces.is_some());
    }

    /// Handles dropped files. Two files, or one file dropped on an empty window, are opened at once; otherwise the user
    /// is asked what to do with the file.
    fn take_dropped(&mut self, paths: Vec<PathBuf>) {
        // Whoever drops a file need not type its path.
        if self
            .path_dialog
            .as_ref()
            .is_some_and(|dialog| dialog.purpose() != PathPurpose::Save)
        {
            self.path_dialog = None;
        }
        match &paths[..] {
            [first, second, more @ ..] => {
                if !more.is_empty() {
                    let text = format!(
                        "Of {} dropped files the first two are opened: two runs are compared at a time.",
                        paths.len()
                    );
                    self.tell(text);
                }
                self.open(first);
                self.next = Some(QueuedTrace {
                    path: second.clone(),
                    saved: None,
                });
            }
            [path] if self.open_traces.is_none() => self.open(path),
            _ => self.dropped = paths,
        }
    }

    /// Loads the trace of a session. The trace named there is never itself looked up as a session, because two sessions
    /// could name each other.
    fn open_saved(&mut self, saved: SavedSession) {
        self.load(&saved.trace, false);
        self.restore = Some(SavedView::First(saved.name, Box::new(saved.view)));
        self.next = saved.second.map(|second| QueuedTrace {
            path: second.trace.clone(),
            saved: Some(second),
        });
    }

    fn save_session(&mut self, typed: &str) {
        let Some(open_traces) = &self.open_traces else {
            return;
        };
        let Some(first) = open_traces.side(TraceSide::A) else {
            return;
        };
        let names = joined(
            TraceSide::BOTH
                .into_iter()
                .filter_map(|side| Some(open_traces.side(side)?.trace.name())),
            " and ",
        );
        let chosen = Some(typed.trim())
            .filter(|name| !name.is_empty())
            .or(self.sessions.open_name());
        let wanted = chosen.map_or(names, str::to_owned);
        let name = self
            .sessions
            .free_name(&wanted, &first.trace.path, chosen.is_some());
        let second = open_traces
            .comparison()
            .map(compare::TraceComparison::saved);
        match self
            .sessions
            .save(&name, &first.trace.path, &first.state, second)
        {
            Ok(()) if name == wanted => {
                self.tell(format!("Saved the view as session “{name}”"));
            }
            Ok(()) => {
                let text = format!("Saved the view as session “{name}”: “{wanted}” is another one");
                self.tell(text);
            }
            Err(error) => self.error = Some(FailedToOpen::save(error)),
        }
    }

    fn open(&mut self, path: &Path) {
        self.dropped.clear();
        #[cfg(not(target_arch = "wasm32"))]
        self.pause_following(true);
        if let Some(saved) = self.sessions.find(path) {
            return self.open_saved(saved);
        }
        self.load(path, false);
    }

    /// The view that was packed with the trace at a path.
    pub(super) fn packed_view(&mut self, path: &Path) -> Option<SavedView> {
        let packed = platform::packed_view(path).map_err(|error| error.to_string());
        match packed.and_then(|text| {
            text.map(|text| SessionStore::of_archive(path, &text))
                .transpose()
        }) {
            Ok(saved) => saved.map(|saved| SavedView::First(saved.name, Box::new(saved.view))),
            Err(error) => {
                self.notice = Some(PassingNotice::lasting(error));
                None
            }
        }
    }

    pub(super) fn load(&mut self, path: &Path, beside: bool) {
        self.error = None;
        self.restore = None;
        // The caller sets `next` afterwards if it opens two traces.
        self.next = None;
        let is_early = std::mem::take(&mut self.is_loading_early);
        if is_early && !beside && self.loading.key().is_some_and(|early| early.path == path) {
            return;
        }
        self.loading.clear();
        self.leave_first_look();
        let wanted = TraceToOpen {
            path: path.to_owned(),
            beside,
        };
        self.early = self.loaders.load(&mut self.loading, wanted, &self.wake);
    }
}
