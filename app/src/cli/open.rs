//! `systole open`: the desktop app.

use super::args::OpenArgs;
use super::failure::{Failure, Outcome};

/// Runs the command.
#[cfg(feature = "gui")]
pub fn run(args: OpenArgs) -> Result<Outcome, Failure> {
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
    crate::gui::launch(launch).map_err(|error| Failure::Internal(format!("{error:#}")))?;
    Ok(Outcome::Done)
}

/// Runs the command.
#[cfg(not(feature = "gui"))]
pub fn run(args: OpenArgs) -> Result<Outcome, Failure> {
    drop(args);
    Err(Failure::Usage("this build has no window; build with the feature \"gui\", or use analyze".to_owned()))
}
