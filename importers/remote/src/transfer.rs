//! Copies objects to this machine: ranges of all files of a run at once, each tried again after failures.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;

use futures_util::stream::{self, StreamExt as _};

use input::storage::Address;
use input::{ImportError, InputSource, Progress, ProgressStage, Result};

use super::cache::Cache;
use super::errors::nothing_below;
use super::limits::{MOST_BYTES, MOST_UNKNOWN, too_long};
use super::location::Location;
use super::object::ObjectFacts;
use super::part::PartFile;
use super::runtime;
use super::settings::CloudSettings;

/// Size of a range.
const PIECE: u64 = 8 << 20;
/// Ranges that are read at once.
const AT_ONCE: usize = 12;

/// Where a copy is written.
enum CopyTarget {
    /// An unnamed file, which ends with the process.
    Passing(File),
    /// A file that becomes part of the cache.
    Kept(PartFile),
    /// It is in the cache already.
    There(PathBuf),
}

/// A file to copy.
struct Wanted {
    address: Address,
    facts: ObjectFacts,
    target: CopyTarget,
}

impl Wanted {
    fn file(&self) -> Option<&File> {
        match &self.target {
            CopyTarget::Passing(file) => Some(file),
            CopyTarget::Kept(part) => Some(part.file()),
            CopyTarget::There(_) => None,
        }
    }

    fn ranges(&self) -> Vec<Range<u64>> {
        match self.facts.size {
            _ if self.file().is_none() => Vec::new(),
            Some(size) if self.facts.has_ranges => (0..size.div_ceil(PIECE))
                .map(|piece| piece * PIECE..size.min((piece + 1) * PIECE))
                .collect(),
            size => std::iter::once(0..size.unwrap_or(MOST_UNKNOWN)).collect(),
        }
    }

    /// Whether an earlier process has copied a range.
    fn has(&self, range: &Range<u64>) -> bool {
        matches!(&self.target, CopyTarget::Kept(part) if part.has(range))
    }
}

/// Copies the files to this machine and opens the copies, each for itself. `keeps_copies`: in the cache, for the next
/// time.
///
/// # Errors
///
/// The import was cancelled.
pub fn fetch(
    paths: &[PathBuf],
    keeps_copies: bool,
    progress: &Progress,
) -> Result<Vec<Result<InputSource, ImportError>>> {
    let settings = CloudSettings::of_process();
    let cache = if keeps_copies {
        Cache::of_user(&settings)
    } else {
        None
    };
    fetch_with(paths, &settings, cache.as_ref(), progress)
}

pub(crate) fn fetch_with(
    paths: &[PathBuf],
    settings: &CloudSettings,
    cache: Option<&Cache>,
    progress: &Progress,
) -> Result<Vec<Result<InputSource, ImportError>>> {
    progress.begin(ProgressStage::Downloading);
    let fetched = runtime::run(progress, fetch_all(paths, settings, cache, progress));
    progress.begin(ProgressStage::Reading);
    let opened = fetched?
        .into_iter()
        .map(|wanted| open(wanted?, cache))
        .collect();
    if let Some(cache) = cache {
        cache.shrink();
    }
    Ok(opened)
}

async fn fetch_all(
    paths: &[PathBuf],
    settings: &CloudSettings,
    cache: Option<&Cache>,
    progress: &Progress,
) -> Result<Vec<Result<Wanted, ImportError>>> {
    let addresses: Vec<Address> = paths.iter().filter_map(|path| Address::of(path)).collect();
    let mut locations: BTreeMap<&str, Location> = BTreeMap::new();
    for address in &addresses {
        if !locations.contains_key(&address.root[..]) {
            locations.insert(&address.root, Location::of(address, settings)?);
        }
    }
    let location = |address: &Address| {
        locations
            .get(&address.root[..])
            .ok_or_else(|| nothing_below(address))
    };
    let asked = stream::iter(&addresses).map(async |address| {
        let facts = location(address)?
            .facts(address)
            .await?
            .ok_or_else(|| nothing_below(address))?;
        if facts.size.is_some_and(|size| size > MOST_BYTES) {
            return Err(too_long(MOST_BYTES));
        }
        let target = target(address, &facts, cache)?;
        Ok::<_, ImportError>(Wanted {
            address: address.clone(),
            facts,
            target,
        })
    });
    let mut wanted: Vec<Result<Wanted>> = asked.buffered(AT_ONCE).collect().await;
    let mut jobs = Vec::new();
    for (index, one) in wanted
        .iter()
        .enumerate()
        .filter_map(|(index, one)| Some((index, one.as_ref().ok()?)))
    {
        if one.file().is_some() {
            progress.add_total(one.facts.size.unwrap_or(0));
        }
        let (there, missing): (Vec<_>, Vec<_>) =
            one.ranges().into_iter().partition(|range| one.has(range));
        progress.add_done(there.iter().map(|range| range.end - range.start).sum());
        jobs.extend(missing.into_iter().map(|range| (index, range)));
    }
    let failed: Vec<(usize, ImportError)> = {
        let wanted = &wanted;
        let copies = stream::iter(jobs).map(async |(index, range)| {
            let Some(Ok(one)) = wanted.get(index) else {
                return None;
            };
            let location = location(&one.address).ok()?;
            let copied = location
                .copy(
                    &one.address,
                    &one.facts,
                    range.clone(),
                    one.file()?,
                    progress,
                )
                .await;
            if let (Ok(()), CopyTarget::Kept(part), true) =
                (&copied, &one.target, one.facts.has_ranges)
            {
                part.add(&range);
            }
            Some((index, copied.err()?))
        });
        copies
            .buffer_unordered(AT_ONCE)
            .filter_map(async |failed| failed)
            .collect()
            .await
    };
    for (index, error) in failed {
        if let Some(one @ Ok(_)) = wanted.get_mut(index) {
            *one = Err(error);
        }
    }
    Ok(wanted)
}

fn target(address: &Address, facts: &ObjectFacts, cache: Option<&Cache>) -> Result<CopyTarget> {
    if let Some(cache) = cache {
        if let Some(there) = cache.find(address, facts) {
            return Ok(CopyTarget::There(there));
        }
        if let Some(part) = cache.begin(address, facts) {
            return Ok(CopyTarget::Kept(part));
        }
    }
    Ok(CopyTarget::Passing(tempfile::tempfile()?))
}

fn open(wanted: Wanted, cache: Option<&Cache>) -> Result<InputSource> {
    let shown = PathBuf::from(wanted.address.shown());
    let kept = |copy: &File, path: PathBuf| InputSource::from_copy(&shown, copy, Some(path));
    match (wanted.target, cache) {
        (CopyTarget::There(path), _) => kept(&File::open(&path)?, path),
        (CopyTarget::Kept(part), Some(cache)) => {
            let copy = part.file().try_clone()?;
            match cache.keep(part, &wanted.address, &wanted.facts) {
                Ok(path) => kept(&copy, path),
                // The content is there, even if it cannot be kept.
                Err(_) => InputSource::from_copy(&shown, &copy, None),
            }
        }
        (CopyTarget::Kept(part), None) => InputSource::from_copy(&shown, part.file(), None),
        (CopyTarget::Passing(file), _) => InputSource::from_copy(&shown, &file, None),
    }
}
