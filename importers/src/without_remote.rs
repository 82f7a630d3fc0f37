//! What a build without buckets answers in place of the crate `remote`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use input::storage::{Address, FileTree};
use input::{ImportError, InputSource, Progress, Result};

pub(crate) fn tree_below(_: &Address, _: &Progress) -> Result<Box<dyn FileTree>> {
    Err(not_built())
}

pub(crate) fn fetch(
    _: &[PathBuf],
    _: bool,
    _: &Progress,
) -> Result<Vec<Result<InputSource, ImportError>>> {
    Err(not_built())
}

#[expect(clippy::unnecessary_wraps, reason = "the other one can fail")]
pub(crate) fn with_neighbours(
    source: InputSource,
    _: &[String],
    _: bool,
    _: &Progress,
    _: &mut Vec<String>,
) -> Result<InputSource> {
    Ok(source)
}

pub(crate) fn upload(_: &Path, _: &mut File) -> io::Result<()> {
    Err(io::Error::other(
        "this build cannot write to buckets; build with --features remote",
    ))
}

pub(crate) fn post_json(_: &str, _: String) -> Result<()> {
    Err(ImportError::remote(
        "this build asks no web servers; build with --features remote",
    ))
}

fn not_built() -> ImportError {
    ImportError::remote("this build cannot read buckets; build with --features remote")
}
