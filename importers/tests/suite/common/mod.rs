//! Where real traces are, on machines that have them.

#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};

/// The folder of real traces. Where it is absent the test has nothing to do, which
/// it says; with `SYSTOLE_REQUIRE_CORPUS=1` that is a failure.
pub fn corpus() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(
        std::env::var("SYSTOLE_REQUIRE_CORPUS").as_deref() != Ok("1"),
        "no corpus at {}",
        folder.display()
    );
    println!("skipped: no corpus at {}", folder.display());
    None
}
