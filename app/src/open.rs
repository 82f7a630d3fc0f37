//! `systole open`: the desktop app.

use std::path::PathBuf;

use clap::Args;

#[cfg(feature = "gui")]
use cli::common::Loading;
use cli::common::{CommandOutcome, Stderr};
use request::{Assumptions, RequestError, Result};
use view::panels::source::SourcePrefix;

/// Whether a window can be opened: this build has one, and the system has a display.
pub fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let needs_display = cfg!(all(unix, not(target_os = "macos")));
    cfg!(feature = "gui")
        && (!needs_display
            || ["WAYLAND_DISPLAY", "WAYLAND_SOCKET", "DISPLAY"]
                .into_iter()
                .any(is_set))
}

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// A profile, a session by its name, a run or log directory, or a pattern in quotes
    pub path: Option<PathBuf>,
    /// A second profile, shown below the first and compared with it
    #[arg(value_name = "OTHER")]
    pub second: Option<PathBuf>,
    /// Follow a log directory: open its newest run, and each newer one in its place as soon as it is complete
    #[arg(long, requires = "path", conflicts_with_all = ["second", "run"])]
    pub follow: bool,
    /// Run of a log directory; the newest by default
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    /// Where source files are: a beginning of their recorded paths and what replaces it; can be repeated
    #[arg(long = "src-prefix", value_name = "OLD=NEW")]
    pub src_prefix: Vec<SourcePrefix>,
    /// The view to show, as Y in the window copies it: time, selection, tab, scope, pinned tracks, search
    #[cfg(feature = "gui")]
    #[arg(long, value_name = "STRING", value_parser = window::check_view)]
    pub view: Option<String>,
    #[command(flatten)]
    pub assume: Assumptions,
    #[cfg(feature = "gui")]
    #[command(flatten)]
    pub screenshot: window::ScreenshotArgs,
    /// Print how long the start took and quit
    #[cfg(feature = "gui")]
    #[arg(long, hide = true)]
    pub start_times: bool,
}

#[cfg(feature = "gui")]
pub fn run(args: OpenArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    if !has_display() {
        return Err(RequestError::Display(
            "neither DISPLAY nor WAYLAND_DISPLAY is set".to_owned(),
        ));
    }
    let import = args.assume.import(args.run)?;
    let (assume, stderr) = (args.assume, stderr.clone());
    // Read again with every trace that is opened, as the command line does.
    let options = move || {
        Loading::new(&assume, &stderr)
            .map(|loading| loading.options())
            .map_err(|error| {
                let said = error.on_command_line();
                stderr.error(&said);
                said
            })
    };
    let launch = window::WindowOptions {
        path: args.path,
        follow: args.follow,
        second: args.second,
        view: args.view,
        import,
        options: std::sync::Arc::new(options),
        source_prefixes: args.src_prefix,
        screenshot: args.screenshot.into(),
        start_times: args.start_times,
    };
    window::launch(launch).map_err(|error| match error.downcast::<window::NoWindow>() {
        Ok(window::NoWindow(why)) => RequestError::Display(why),
        Err(error) => RequestError::Internal(format!("{error:#}")),
    })?;
    Ok(CommandOutcome::Done)
}

#[cfg(not(feature = "gui"))]
pub fn run(args: OpenArgs, _talk: &Stderr) -> Result<CommandOutcome> {
    drop(args);
    Err(RequestError::Usage(
        "this build has no window; build with the feature \"gui\", or use analyze".to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::command_line::{Cli, CliCommand};

    /// Traces may begin before time 0, so a value may begin with a minus sign, like an option.
    #[test]
    fn ranges_may_begin_with_a_minus_sign() {
        for command in ["analyze", "render"] {
            let words = ["systole", command, "trace", "--range", "-2us..-1us"];
            let scope = match Cli::try_parse_from(words).unwrap().command {
                CliCommand::Analyze(args) => args.scope,
                CliCommand::Render(args) => args.scope,
                other => panic!("{other:?}"),
            };
            assert_eq!(scope.range.map(|range| range.0), "-2us..-1us".parse().ok());
        }
    }

    #[test]
    fn window_takes_the_same_assumptions_as_reports() {
        let words = [
            "--topology",
            "2x2",
            "--warmup",
            "3",
            "--device",
            "1",
            "--device-spec",
            "v6e",
            "--config",
            "x.toml",
        ];
        let of = |command: &str| {
            let args = ["systole", command, "trace"].into_iter().chain(words);
            match Cli::try_parse_from(args).unwrap().command {
                CliCommand::Analyze(args) => args.input.assume,
                CliCommand::Open(args) => args.assume,
                other => panic!("{other:?}"),
            }
        };
        let (report, window) = (of("analyze"), of("open"));
        assert_eq!(
            (window.values.warmup, &window.values.device[..]),
            (3, &[1][..])
        );
        assert_eq!(format!("{window:?}"), format!("{report:?}"));
    }
}
