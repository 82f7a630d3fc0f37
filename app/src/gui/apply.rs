//! What the user wants, done.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::export::{self, Beside, Drawing, Format, Look};
use crate::gui::panels::notice::Notice;
use crate::gui::panels::search;
use crate::gui::panels::welcome::Failed;
use crate::gui::{App, Command, Next, Restore, Wanted, chosen, compare, keys, pick_file, samples, sessions, timeline};
use crate::view::compare::Side;
use crate::view::state::{Panel, ViewCommand};

impl App {
    /// Does what is wanted so far.
    pub(super) fn apply_commands(&mut self, ctx: &egui::Context) {
        for command in std::mem::take(&mut self.commands) {
            self.apply(command, ctx);
        }
    }

    fn apply(&mut self, command: Command, ctx: &egui::Context) {
        match command {
            Command::Open(path) => self.open(&path),
            Command::OpenSample(index) => match samples::SAMPLES.get(index).map(samples::Sample::unpack) {
                Some(Ok(path)) => self.open(&path),
                Some(Err(error)) => self.error = Some(Failed::open(error)),
                None => {}
            },
            Command::OpenSession(name) => match self.sessions.load(&name) {
                Ok(saved) => self.open_saved(saved),
                Err(error) => self.error = Some(Failed::open(error)),
            },
            Command::SaveSession(name) => self.save_session(&name),
            Command::RenameSession(from, to) => self.error = self.sessions.rename(&from, &to).err().map(Failed::save),
            Command::DeleteSession(name) => self.error = self.sessions.delete(&name).err().map(Failed::save),
            Command::Save(save) => self.saving.text(save),
            Command::SavePicture(panel, format) => self.save_picture(panel, format, ctx),
            Command::SaveWindow => self.saving.window(),
            Command::FilterTracks => {
                let name = self.link().map(|link| link.focus.name());
                ctx.memory_mut(|memory| memory.request_focus(timeline::filter_id(name)));
            }
            Command::WheelZooms(zooms) => self.settings.set_wheel_zooms(zooms),
            Command::OpenDialog => self.ask_for_file(false),
            Command::Compare(path) => self.compare(&path),
            Command::CompareDialog => self.ask_for_file(true),
            Command::Dropped(paths) => self.take_dropped(paths),
            Command::CancelLoad => {
                self.loading.clear();
                self.next = None;
            }
            Command::DismissError => self.error = None,
            Command::DismissNotice => self.notice = None,
            Command::ForgetRecent(path) => self.settings.forget(&path),
            Command::Theme(choice) => {
                ctx.set_theme(choice.preference());
                self.settings.set_theme(choice);
            }
            Command::Times(format) => self.settings.set_times(format),
            Command::Colors(preset) => {
                self.settings.set_colors(preset);
                if let Some(open_traces) = &mut self.open_traces {
                    open_traces.apply(open_traces.focus(), &ViewCommand::Paint(preset));
                }
            }
            Command::NextTimes => self.settings.set_times(self.settings.times.next()),
            Command::Remap(wish) => {
                self.settings.set_keys(keys::remapped(&self.settings.keys, wish));
                self.keys = Arc::new(keys::Keys::new(&self.settings.keys));
                self.keys.install(ctx);
            }
            Command::PinHovered => {
                if let Some(open_traces) = &mut self.open_traces {
                    open_traces.pin_hovered();
                }
            }
            Command::View(command) => {
                if command == ViewCommand::ShowPanel(Panel::Search, true) {
                    ctx.memory_mut(|memory| memory.request_focus(search::field_id()));
                }
                match &mut self.open_traces {
                    Some(open_traces) => open_traces.apply(open_traces.focus(), &command),
                    None => self.lobby.apply(&command),
                }
            }
            Command::On(side, command) => {
                if let Some(open_traces) = &mut self.open_traces {
                    open_traces.apply(side, &command);
                }
            }
            Command::Comparison(command) => {
                if let Some(open_traces) = &mut self.open_traces {
                    open_traces.link(&command);
                }
            }
        }
    }

    fn save_picture(&mut self, panel: export::Panel, format: Format, ctx: &egui::Context) {
        let Some(open_traces) = &self.open_traces else { return };
        let state = &open_traces.focused().state;
        let (name, height) = match panel {
            export::Panel::Timeline => ("timeline", 2000.0),
            export::Panel::Roofline => ("roofline", 900.0),
            export::Panel::Steps => ("steps", 600.0),
        };
        let name = format!("{name}.{}", if format == Format::Png { "png" } else { "svg" });
        let dark = ctx.global_style().visuals.dark_mode;
        let look = Look { width: 1600.0, height, dark, colors: state.colors, times: self.settings.times };
        // Points: as sharp as the window.
        let scale = ctx.pixels_per_point().max(1.0);
        let compared = open_traces.comparison().and_then(|comparison| comparison.compared().latest());
        let of_side = |side: Side| {
            let own = open_traces.side(side)?;
            let partners = compared.map(|compared| &compared.partners);
            let beside = partners.map(|all| (all.colors[side.index()].clone(), all.only[side.index()].clone()));
            Some((own.trace.clone(), own.state.clone(), beside))
        };
        // Timelines stand below each other, as in the window; plots are about the one in focus.
        let sides =
            Side::BOTH.into_iter().filter(|&side| panel == export::Panel::Timeline || side == open_traces.focus());
        let sides: Vec<_> = sides.filter_map(of_side).collect();
        let make = move || {
            let mut whole: Option<Drawing> = None;
            for (trace, state, beside) in &sides {
                let beside = beside.as_ref().map(|(colors, only)| Beside { colors, only });
                let drawing = export::draw(panel, trace, state, beside, look)?;
                whole = Some(match whole {
                    Some(above) => above.above(drawing),
                    None => drawing,
                });
            }
            export::encoded(&whole.ok_or("nothing is open")?, format, scale)
        };
        self.saving.file(name, Box::new(make));
    }

    fn ask_for_file(&mut self, beside: bool) {
        self.dialogs_opened += 1;
        if cfg!(target_os = "macos") {
            // There, dialogs belong to the main thread.
            self.commands.extend(pick_file().map(|path| chosen(path, beside)));
        } else {
            self.dialog.ask((self.dialogs_opened, beside), |_| Ok(pick_file()));
        }
    }

    /// Opens a file beside the open one; alone where there is none.
    pub(super) fn compare(&mut self, path: &Path) {
        self.dropped.clear();
        let path = self.sessions.find(path).map_or_else(|| path.to_owned(), |saved| saved.trace);
        self.load(&path, self.open_traces.is_some());
    }

    /// Two files are opened side by side, one into an empty window; else it is asked
    /// what it is for.
    fn take_dropped(&mut self, paths: Vec<PathBuf>) {
        match &paths[..] {
            [first, second, ..] => {
                self.open(first);
                self.next = Some(Next { path: second.clone(), saved: None });
            }
            [path] if self.open_traces.is_none() => self.open(path),
            _ => self.dropped = paths,
        }
    }

    /// Loads the trace of a session; what it names is no session again, or two could
    /// name each other.
    fn open_saved(&mut self, saved: sessions::Saved) {
        self.load(&saved.trace, false);
        self.restore = Some(Restore::First(saved.name, Box::new(saved.view)));
        self.next = saved.second.map(|second| Next { path: second.trace.clone(), saved: Some(second) });
    }

    fn save_session(&mut self, typed: &str) {
        let Some(open_traces) = &self.open_traces else { return };
        let Some(first) = open_traces.side(Side::A) else { return };
        let names: Vec<String> =
            Side::BOTH.into_iter().filter_map(|side| Some(open_traces.side(side)?.trace.name())).collect();
        let chosen = Some(typed.trim()).filter(|name| !name.is_empty()).or(self.sessions.open_name());
        let wanted = chosen.map_or_else(|| names.join(" and "), str::to_owned);
        let name = self.sessions.free_name(&wanted, &first.trace.path, chosen.is_some());
        let second = open_traces.comparison().map(compare::TraceComparison::saved);
        match self.sessions.save(&name, &first.trace.path, &first.state, second) {
            Ok(()) if name == wanted => self.notice = Some(Notice::passing(format!("Kept as “{name}”"))),
            Ok(()) => {
                let text = format!("Kept as “{name}”: “{wanted}” is another session");
                self.notice = Some(Notice::passing(text));
            }
            Err(error) => self.error = Some(Failed::save(error)),
        }
    }

    fn open(&mut self, path: &Path) {
        self.dropped.clear();
        if let Some(saved) = self.sessions.find(path) {
            return self.open_saved(saved);
        }
        self.load(path, false);
    }

    pub(super) fn load(&mut self, path: &Path, beside: bool) {
        self.error = None;
        self.restore = None;
        // Who opens two says so afterwards.
        self.next = None;
        self.loading.clear();
        let (loader, path) = (Arc::clone(&self.loader), path.to_owned());
        let wanted = Wanted { path: path.clone(), beside };
        self.loading.ask(wanted, move |progress| loader(&path, progress));
    }
}
