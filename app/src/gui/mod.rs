//! The desktop app.

use std::path::PathBuf;

use analysis::Options;
use importers::ImportOptions;

/// Opens the window, with a trace where one is named.
pub fn run(path: Option<PathBuf>, import: ImportOptions, options: Options) -> anyhow::Result<()> {
    let _ = (path, import, options);
    anyhow::bail!("the desktop app is not in this build")
}
