//! `systole open`: the desktop app.

use super::args::OpenArgs;
use super::failure::{Failure, Outcome};

/// Whether a window could be shown: this build has one, and the system says where.
pub fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let needs_display = cfg!(all(unix, not(target_os = "macos")));
    cfg!(feature = "gui")
        && (!needs_display || ["WAYLAND_DISPLAY", "WAYLAND_SOCKET", "DISPLAY"].into_iter().any(is_set))
}

/// Runs the command.
#[cfg(feature = "gui")]
pub fn run(args: OpenArgs) -> Result<Outcome, Failure> {
    if !has_display() {
        return Err(Failure::Display("neither DISPLAY nor WAYLAND_DISPLAY is set".to_owned()));
    }
    let import = importers::ImportOptions {
        run: args.run,
        clock_mhz: args.clock.map(|clock| clock.0),
        roles: args.roles.map(|roles| roles.0),
        llo: args.llo,
    };
    let mut options = analysis::Options::default();
    if let Some(chip) = &args.device_spec {
        chip.assume(&mut options);
    }
    let launch = crate::gui::Launch {
        path: args.path,
        second: args.second,
        import,
        options,
        screenshot: args.screenshot.into(),
    };
    crate::gui::launch(launch).map_err(|error| match error.downcast::<crate::gui::NoWindow>() {
        Ok(crate::gui::NoWindow(why)) => Failure::Display(why),
        Err(error) => Failure::Internal(format!("{error:#}")),
    })?;
    Ok(Outcome::Done)
}

/// Runs the command.
#[cfg(not(feature = "gui"))]
pub fn run(args: OpenArgs) -> Result<Outcome, Failure> {
    drop(args);
    Err(Failure::Usage("this build has no window; build with the feature \"gui\", or use analyze".to_owned()))
}
