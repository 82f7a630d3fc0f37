//! Takes a picture of the window and quits: how the pictures of the README are
//! made (`systole open FILE --screenshot out.png`).

use std::sync::Mutex;

use crate::prelude::*;
use egui::ViewportCommand;

use crate::keys;
use crate::saving::write_png;
use crate::settings::ThemeChoice;
use crate::{AppCommand, AppCommands};

/// Frames to wait for before the picture: layout settles, fonts load.
const FRAMES: u32 = 6;
/// Number of frames after which the picture is taken even if the trace is still loading.
const PATIENCE: u32 = 20_000;

/// What picture to take.
#[derive(Debug, Default)]
pub struct Screenshot {
    /// Where to write the PNG.
    pub path: PathBuf,
    pub size: (f32, f32),
    /// Part of the trace to show, in times as on its ruler.
    pub range: Option<(Picos, Picos)>,
    /// Name of a slice to select; the longest of that name.
    pub select: Option<String>,
    /// Whether to use the light theme.
    pub light: bool,
    /// Names of groups to fold.
    pub fold: Vec<String>,
    /// Reports to show; `wide:ops` gives them most of the window.
    pub tab: Option<String>,
    pub search: Option<String>,
    /// Mark the range instead of showing it.
    pub mark: Option<(Picos, Picos)>,
    /// Actions to perform, by their ids.
    pub actions: Vec<String>,
}

/// Hidden options of `systole open`, for the project's own pictures.
#[derive(Debug, clap::Args)]
pub struct ScreenshotArgs {
    /// Write a picture of the window to this PNG file and quit
    #[arg(long, hide = true, value_name = "PNG")]
    screenshot: Option<PathBuf>,
    /// Size of the window
    #[arg(long, hide = true, value_name = "WxH", default_value = "1600x1000", value_parser = size)]
    size: (f32, f32),
    /// Part of the trace to show, in times as on its ruler: 10ms..12ms
    #[arg(long, hide = true, value_name = "A..B", value_parser = range, allow_hyphen_values = true)]
    range: Option<(Picos, Picos)>,
    /// Select the longest slice of this name
    #[arg(long, hide = true, value_name = "NAME")]
    select: Option<String>,
    /// Fold groups whose name contains this
    #[arg(long, hide = true, value_name = "TEXT")]
    fold: Vec<String>,
    /// Use the light theme
    #[arg(long, hide = true)]
    light: bool,
    /// Reports to show; wide:NAME gives them most of the window
    #[arg(long, hide = true, value_name = "NAME")]
    tab: Option<String>,
    /// Search for this
    #[arg(long, hide = true, value_name = "TEXT")]
    search: Option<String>,
    /// Mark this part of the trace, in times as on its ruler
    #[arg(long, hide = true, value_name = "A..B", value_parser = range, allow_hyphen_values = true)]
    mark: Option<(Picos, Picos)>,
    /// Perform this action, by its id
    #[arg(long = "do", hide = true, value_name = "ACTION")]
    actions: Vec<String>,
}

impl From<ScreenshotArgs> for Option<Screenshot> {
    fn from(args: ScreenshotArgs) -> Self {
        let ScreenshotArgs {
            screenshot,
            size,
            range,
            select,
            fold,
            light,
            tab,
            search,
            mark,
            actions,
        } = args;
        screenshot.map(|path| Screenshot {
            path,
            size,
            range,
            select,
            light,
            fold,
            tab,
            search,
            mark,
            actions,
        })
    }
}

fn size(text: &str) -> Result<(f32, f32), String> {
    let parsed = text
        .split_once('x')
        .and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    parsed
        .filter(|&(w, h): &(f32, f32)| w >= 100.0 && h >= 100.0)
        .ok_or_else(|| "write for example 1600x1000".to_owned())
}

fn range(text: &str) -> Result<(Picos, Picos), String> {
    let (start, end) = text
        .split_once("..")
        .ok_or_else(|| "write for example 10ms..12ms".to_owned())?;
    let parse = str::parse::<Picos>;
    Ok((parse(start)?, parse(end)?))
}

/// The outcome; `None` while no picture was taken.
pub type ScreenshotOutcome = Arc<Mutex<Option<Result<(), String>>>>;

/// Takes the picture when the window is ready.
pub struct Photographer {
    shot: Screenshot,
    outcome: ScreenshotOutcome,
    frames: u32,
    prepared: bool,
    settled: u32,
    taken: bool,
}

impl Photographer {
    /// Takes `shot` and stores the outcome in `outcome`.
    pub fn new(shot: Screenshot, outcome: ScreenshotOutcome) -> Self {
        Self {
            shot,
            outcome,
            frames: 0,
            prepared: false,
            settled: 0,
            taken: false,
        }
    }

    /// Handles one frame; returns the commands to apply before the picture is taken.
    pub fn step(
        &mut self,
        ctx: &Context,
        settled: bool,
        open: Option<(&OpenTrace, &ViewState)>,
    ) -> AppCommands {
        self.frames += 1;
        if !self.taken {
            ctx.request_repaint();
        }
        if locked(&self.outcome).is_some() {
            ctx.send_viewport_cmd(ViewportCommand::Close);
            return Vec::new();
        }
        if !settled && self.frames < PATIENCE {
            return Vec::new();
        }
        if !self.prepared {
            self.prepared = true;
            ctx.all_styles_mut(|style| style.animation_time = 0.0);
            return self.preparations(open);
        }
        self.settled += 1;
        if self.settled >= FRAMES && !self.taken {
            self.taken = true;
            let (path, outcome, again) = (
                self.shot.path.clone(),
                Arc::clone(&self.outcome),
                ctx.clone(),
            );
            ctx.send_viewport_cmd(ViewportCommand::Screenshot(egui::ScreenshotCallback::new(
                move |image| {
                    let result = write_png(&path, &image);
                    *locked(&outcome) = Some(result);
                    again.request_repaint();
                },
            )));
        }
        Vec::new()
    }

    fn preparations(&self, open: Option<(&OpenTrace, &ViewState)>) -> AppCommands {
        let mut commands = AppCommands::new();
        if self.shot.light {
            commands.push(AppCommand::Theme(ThemeChoice::Light));
        }
        let Some((trace, state)) = open else {
            return commands;
        };
        let model = &trace.model;
        for name in &self.shot.fold {
            let named = |id: &GroupId| model.str(model.group(*id).name).contains(name.as_str());
            commands.extend(
                model
                    .group_ids()
                    .filter(named)
                    .map(|id| ViewCommand::FoldGroup(id, true).into()),
            );
        }
        if let Some(name) = &self.shot.select {
            let longest = model
                .all_slices()
                .filter(|slice| slice.name() == name)
                .max_by_key(|slice| slice.dur());
            match longest {
                Some(slice) => commands.push(ViewCommand::GoTo(slice.id()).into()),
                None => commands.push(ViewCommand::ShowPanel(Panel::Details, true).into()),
            }
        }
        if let Some(tab) = &self.shot.tab {
            if let Some(tab) = tab.strip_prefix("below:") {
                commands.push(
                    ViewCommand::MoveTab {
                        tab: tab.to_owned(),
                        below: true,
                    }
                    .into(),
                );
            }
            let tab = tab.strip_prefix("below:").unwrap_or(tab);
            let (wide, tab) = tab
                .strip_prefix("wide:")
                .map_or((false, tab), |tab| (true, tab));
            commands.push(ViewCommand::ShowTab(tab.to_owned()).into());
            commands.push(ViewCommand::WideReports(wide).into());
        }
        if let Some(text) = &self.shot.search {
            commands.push(ViewCommand::ShowPanel(Panel::Search, true).into());
            commands.push(ViewCommand::Search(text.clone()).into());
        }
        if let Some((start, end)) = self.shot.mark {
            let from = Timestamp::ZERO;
            let range = TimeRange::new(from + start, from + end);
            commands.push(ViewCommand::Mark(range, BTreeSet::new()).into());
            commands.push(ViewCommand::ScopeToMark.into());
        }
        if let Some((start, end)) = self.shot.range {
            let from = Timestamp::ZERO;
            commands.push(ViewCommand::Show(TimeRange::new(from + start, from + end)).into());
        }
        let wanted = self
            .shot
            .actions
            .iter()
            .filter_map(|id| keys::action_of(id)?.run);
        commands.extend(wanted.map(|run| run(state)));
        commands
    }
}

/// The outcome; an error if no picture was taken although one was requested.
pub fn result(outcome: &ScreenshotOutcome) -> anyhow::Result<()> {
    match locked(outcome).take() {
        Some(Err(error)) => Err(anyhow::anyhow!(error)),
        _ => Ok(()),
    }
}
