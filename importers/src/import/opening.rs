//! Opens the files of a run. Files of buckets are copied to this machine first, those of all hosts at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use compiler_formats::hlo_dump::DumpFiles;
use importer_common::{ImportOptions, Importer};
use input::storage::FileTree;
use input::{ImportError, InputSource, Progress, Result, is_remote};

use crate::access::tree_of;
use crate::import::locate::LocatedRun;
use crate::remote;

/// Opens files wherever they are.
pub(super) struct FileOpener<'a> {
    options: &'a ImportOptions,
    progress: &'a Progress,
    /// Copies that were not asked for yet.
    copied: BTreeMap<PathBuf, Result<InputSource>>,
}

impl<'a> FileOpener<'a> {
    /// Copies the file of each host that is tried first.
    pub fn new(
        run: &LocatedRun,
        options: &'a ImportOptions,
        progress: &'a Progress,
    ) -> Result<Self> {
        let first = run.hosts.iter().filter_map(|host| host.files.first());
        let wanted: Vec<PathBuf> = first.filter(|path| is_remote(path)).cloned().collect();
        let mut opener = Self {
            options,
            progress,
            copied: BTreeMap::new(),
        };
        if !wanted.is_empty() {
            opener.copy(&wanted)?;
        }
        Ok(opener)
    }

    /// Opens a file.
    pub fn open(&mut self, path: &Path) -> Result<InputSource> {
        if !is_remote(path) {
            return Ok(InputSource::open(path)?.within(&self.options.roots));
        }
        if !self.copied.contains_key(path) {
            self.copy(&[path.to_owned()])?;
        }
        let missing = || {
            Err(ImportError::NothingFound {
                what: "no file".to_owned(),
            })
        };
        self.copied.remove(path).unwrap_or_else(missing)
    }

    /// The source of a bucket with the files beside it that its importer reads, too.
    pub fn with_neighbours(
        &self,
        source: InputSource,
        importer: &dyn Importer,
        skipped: &mut Vec<String>,
    ) -> Result<InputSource> {
        let patterns = importer.beside(source.name());
        if patterns.is_empty() || !source.path().is_some_and(is_remote) {
            return Ok(source);
        }
        remote::with_neighbours(
            source,
            &patterns,
            !self.options.no_cache,
            self.progress,
            skipped,
        )
    }

    fn copy(&mut self, paths: &[PathBuf]) -> Result<()> {
        let sources = remote::fetch(paths, !self.options.no_cache, self.progress)?;
        self.copied.extend(paths.iter().cloned().zip(sources));
        Ok(())
    }
}

impl DumpFiles for FileOpener<'_> {
    fn tree(&self, path: &Path) -> Result<Box<dyn FileTree>> {
        tree_of(path, self.progress)
    }

    fn open(&mut self, path: &Path) -> Result<InputSource> {
        Self::open(self, path)
    }
}
