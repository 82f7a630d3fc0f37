//! Turns a path or bytes into a model: detection, import, merging.

mod captures;
mod file_names;
mod first_look;
mod locate;
mod opened;
mod opening;
pub(crate) mod packed;
mod programs;
mod reopen;
mod run_search;
mod runs;
mod sessions;
mod writing;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use compiler_formats::{hlo_dump, llo, xla};
use importer_common::{DetectionConfidence, ImportOptions, Importer, fill_source_lines};
use input::sniffing::{self, looks_like};
use input::source::file_name;
use input::{ImportError, InputSource, Progress, Result, prepare_heap, shown_path};
use trace_model::{IssueKind, TraceBuilder, TraceModel, joined};

use crate::access::tree_if_there;
use crate::registry::IMPORTERS;
use opened::{OpenedFile, drop_copies, note_runs, note_what_was_left_out};
use opening::FileOpener;

pub use first_look::{first_look, first_look_at};
pub use locate::{HostFiles, LocatedRun, locate};
pub use programs::holds_programs_only;
pub use reopen::from_snapshot;
pub use runs::{ListedFile, ListedRun, list_files, list_log_directory, list_runs};

/// Imports what `path` names: a file, a run directory, a log directory, or a pattern (see [`locate`]). Hosts of one run
/// share one model. If one of several files cannot be read, it is left out and logged; an error is only returned if
/// none can be read.
///
/// # Errors
///
/// Nothing could be imported, or the import was cancelled.
pub fn import_path(
    path: &Path,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<TraceModel> {
    if let Some(limit) = options.wait {
        writing::wait(path, limit, options, progress)?;
    }
    if let Some(run) = packed::open(path, options, progress)? {
        return import_packed(run, options, progress);
    }
    let located = match locate(path, options, progress) {
        Err(error) if options.programs_only && path.is_dir() => {
            return programs::of_dump(path, options, progress)?.ok_or(error);
        }
        located => located?,
    };
    let before = located.state();
    let model = import_located(&located, IMPORTERS, options, progress);
    let model = model
        .map_err(|error| in_run(writing::explained(error, &before, options), &located, path))?;
    if located.run.is_none() {
        sessions::refuse_far_apart(&model)?;
        sessions::refuse_other_programs(&model)?;
    }
    Ok(model)
}

/// Opens one file, wherever it is. A file of a bucket or web server is copied to this machine first.
///
/// # Errors
///
/// The file cannot be opened or copied.
pub fn open_file(path: &Path, options: &ImportOptions, progress: &Progress) -> Result<InputSource> {
    FileOpener::new(&LocatedRun::default(), options, progress)?.open(path)
}

/// A small file of a bucket, unpacked; `None` if there is no such file.
///
/// # Errors
///
/// It cannot be read, it has more than `most` bytes, or this build cannot read buckets.
pub fn small_remote_file(
    path: &Path,
    most: u64,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<Option<Vec<u8>>> {
    let tree = tree_if_there(path, progress)?.filter(|tree| tree.is_file(path));
    let Some(tree) = tree else {
        return Ok(None);
    };
    let too_large = || ImportError::TooLarge {
        what: format!("it has more than {most} bytes"),
    };
    if tree.size(path).is_some_and(|size| size > most) {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    let source = open_file(path, options, progress)?;
    source
        .reader()
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large());
    }
    Ok(Some(bytes))
}

/// Imports one source without options.
///
/// # Errors
///
/// See [`import_source`].
pub fn import(source: &InputSource, progress: &Progress) -> Result<TraceModel> {
    import_source(source, &ImportOptions::default(), progress)
}

/// Imports one source, which need not have a path.
///
/// # Errors
///
/// No importer recognizes the content, nothing of it can be used, or the import was cancelled.
pub fn import_source(
    source: &InputSource,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<TraceModel> {
    import_of_host(source, None, options, progress)
}

/// Imports a source of a host, if its name is known.
fn import_of_host(
    source: &InputSource,
    host: Option<&str>,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<TraceModel> {
    if sniffing::is_archive(source.head()) {
        let run = packed::unpack(source.clone(), options, progress)?;
        return import_packed(run, options, progress);
    }
    let importer = detect(source.head(), IMPORTERS)?;
    progress.add_total(source.packed_len());
    let mut builder = TraceBuilder::new();
    import_into(&mut builder, importer, source, host, options, progress)?;
    llo::add(
        options.llo.as_deref(),
        &[],
        &options.roots,
        progress,
        &mut builder,
    )?;
    let mut opener = FileOpener::new(&LocatedRun::default(), options, progress)?;
    hlo_dump::add(&options.hlo, &mut opener, progress, &mut builder)?;
    finish(builder, progress)
}

/// Imports the files of one run that are in memory, each with the name of its host if it is known. One that cannot be
/// read is left out and logged.
///
/// # Errors
///
/// None can be read, they are not of one session, or the import was cancelled.
pub fn import_sources(
    sources: Vec<(Option<String>, InputSource)>,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<TraceModel> {
    if let [(host, source)] = &sources[..] {
        return import_of_host(source, host.as_deref(), options, progress);
    }
    let of_host = |(host, source): &(Option<String>, InputSource)| HostFiles {
        host: host.clone(),
        files: vec![PathBuf::from(source.name())],
    };
    let located = LocatedRun::of(sources.iter().map(of_host).collect());
    let sources = sources.into_iter().map(|(_, source)| source).collect();
    import_packed(packed::PackedRun { located, sources }, options, progress)
}

/// The importer with the highest confidence for `head`, the first bytes of the unpacked content; the first of equals.
///
/// # Errors
///
/// No importer recognizes the content; the error describes it.
pub fn detect<'a>(head: &[u8], importers: &[&'a dyn Importer]) -> Result<&'a dyn Importer> {
    // In an uncompressed archive, the head shows the file inside, so importers must not see it.
    let importers_of = if sniffing::is_archive(head) {
        &[]
    } else {
        importers
    };
    let sure = importers_of
        .iter()
        .map(|&importer| (importer.detect(head), importer));
    // `max_by_key` returns the last of equal elements, hence the reversed order.
    let best = sure
        .filter(|(confidence, _)| *confidence > DetectionConfidence::No)
        .rev()
        .max_by_key(|(sure, _)| *sure);
    best.map(|(_, importer)| importer).ok_or_else(|| {
        let likely = sniffing::usual_ending(head).map(|ending| {
            let formats = importers.iter().map(|importer| importer.format());
            let likely = formats.filter(|format| format.extensions.contains(&ending));
            joined(likely.take(2).map(|format| format.title), " or ")
        });
        ImportError::UnknownFormat {
            found: looks_like(head),
            likely: likely.filter(|titles| !titles.is_empty()),
        }
    })
}

/// Files larger than this are imported with the ordinary heap. Keeping freed memory would increase memory use by half,
/// and for large files memory matters more than time.
const MAPPED_IN_HUGE_PAGES: u64 = 64 << 20;

fn finish(mut builder: TraceBuilder, progress: &Progress) -> Result<TraceModel> {
    fill_source_lines(&mut builder);
    builder
        .finish_unless(&|| progress.check().is_err())
        .ok_or(ImportError::Cancelled)
}

fn import_packed(
    run: packed::PackedRun,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<TraceModel> {
    let single = run.sources.len() == 1;
    let (mut opened, mut skipped) = (Vec::new(), Vec::new());
    for (source, host) in run.sources.into_iter().zip(&run.located.hosts) {
        match detect(source.head(), IMPORTERS) {
            Ok(importer) => opened.push(OpenedFile {
                host: host.host.as_deref(),
                source,
                importer,
                others: &[],
            }),
            Err(error) if single => return Err(error),
            Err(error) => skipped.push(format!("{}: {error}", source.name())),
        }
    }
    let mut opener = FileOpener::new(&LocatedRun::default(), options, progress)?;
    let model = import_opened(
        &run.located,
        (opened, skipped),
        IMPORTERS,
        &mut opener,
        options,
        progress,
    )?;
    sessions::refuse_far_apart(&model)?;
    if run.located.run.is_none() {
        sessions::refuse_other_programs(&model)?;
    }
    Ok(model)
}

fn import_located(
    located: &LocatedRun,
    importers: &[&dyn Importer],
    options: &ImportOptions,
    progress: &Progress,
) -> Result<TraceModel> {
    let single = matches!(&located.hosts[..], [host] if host.files.len() == 1);
    let mut skipped = Vec::new();
    let mut opened = Vec::new();
    let mut opener = FileOpener::new(located, options, progress)?;
    for host in &located.hosts {
        match open_first(
            host.host.as_deref(),
            &host.files,
            importers,
            &mut opener,
            &mut skipped,
        ) {
            Ok(open) => opened.push(open),
            Err(error) if single => return Err(error),
            Err(ImportError::Cancelled) => return Err(ImportError::Cancelled),
            Err(_) => {}
        }
    }
    import_opened(
        located,
        (opened, skipped),
        importers,
        &mut opener,
        options,
        progress,
    )
}

fn import_opened<'a>(
    located: &'a LocatedRun,
    (mut opened, mut skipped): (Vec<OpenedFile<'a>>, Vec<String>),
    importers: &[&'a dyn Importer],
    opener: &mut FileOpener<'_>,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<TraceModel> {
    let single = matches!(&located.hosts[..], [host] if host.files.len() == 1);
    let same = drop_copies(&mut opened);
    let before = located.state();
    progress.add_total(opened.iter().map(|open| open.source.packed_len()).sum());
    let mapped: u64 = opened.iter().map(|open| open.source.mapped_len()).sum();
    if options.short_lived && mapped > 0 && mapped <= MAPPED_IN_HUGE_PAGES {
        // The model and the data for building it take about one and a half times the size of the files, and reports on
        // many device ops as much again. Pages that nobody needs are never touched.
        prepare_heap(mapped as usize * 3);
    }

    // A builder cannot remove a half-imported file. One pass finds all bad files; then start again without them.
    while !opened.is_empty() {
        let mut builder = TraceBuilder::new();
        let mut failed = Vec::new();
        for (index, open) in opened.iter().enumerate() {
            if let Err(error) = import_into(
                &mut builder,
                open.importer,
                &open.source,
                open.host,
                options,
                progress,
            ) {
                if single || matches!(error, ImportError::Cancelled) {
                    return Err(error);
                }
                failed.push((index, error));
                builder = TraceBuilder::new();
            }
        }
        if failed.is_empty() {
            let programs = opened
                .iter()
                .filter(|open| open.importer.format().id == xla::SCHEDULED_HLO);
            let programs: Vec<&Path> = programs.filter_map(|open| open.source.path()).collect();
            llo::add(
                options.llo.as_deref(),
                &programs,
                &options.roots,
                progress,
                &mut builder,
            )?;
            hlo_dump::add(&options.hlo, opener, progress, &mut builder)?;
            note_what_was_left_out(&mut builder, &opened, &skipped);
            note_runs(&mut builder, located, &same);
            writing::note(&before, &skipped, options, &mut builder);
            // The bytes of the files and the table of slices need not exist at the same time.
            drop(opened);
            return finish(builder, progress);
        }
        let mut failed = failed.into_iter().peekable();
        let mut rest = Vec::with_capacity(opened.len());
        for (index, open) in opened.into_iter().enumerate() {
            let Some((_, error)) = failed.next_if(|(bad, _)| *bad == index) else {
                rest.push(open);
                continue;
            };
            skipped.push(format!("{}: {error}", open.source.name()));
            if let Ok(other) = open_first(open.host, open.others, importers, opener, &mut skipped) {
                progress.add_total(other.source.packed_len());
                rest.push(other);
            }
        }
        opened = rest;
    }
    Err(ImportError::Unusable {
        format: "run",
        what: format!("no file could be read: {}", skipped.join("; ")),
    })
}

/// The error with the place of what cannot be read, if `path` only led to it.
fn in_run(error: ImportError, located: &LocatedRun, path: &Path) -> ImportError {
    let first = located.hosts.first().and_then(|host| host.files.first());
    let is_single = matches!(&located.hosts[..], [host] if host.files.len() == 1);
    let place = match first {
        Some(file) if is_single => Some(&**file),
        Some(file) if located.run.is_some() => file.parent(),
        _ => None,
    };
    match (place.filter(|place| *place != path), error) {
        (_, error @ (ImportError::Cancelled | ImportError::ProgramsMissing { .. }))
        | (None, error) => error,
        (Some(place), error) => ImportError::InRun {
            error: Box::new(error),
            path: place.to_owned(),
        },
    }
}

/// Opens the first of `files` that an importer recognizes. If there is none, returns the first reason; all reasons are
/// in `skipped`.
fn open_first<'a>(
    host: Option<&'a str>,
    files: &'a [PathBuf],
    importers: &[&'a dyn Importer],
    opener: &mut FileOpener<'_>,
    skipped: &mut Vec<String>,
) -> Result<OpenedFile<'a>> {
    let mut first_error = None;
    for (index, path) in files.iter().enumerate() {
        let result = opener
            .open(path)
            .and_then(|source| not_empty(source, path, files.get(index + 1)))
            .and_then(|source| detect(source.head(), importers).map(|importer| (source, importer)));
        match result {
            Ok((source, importer)) => {
                let source = opener.with_neighbours(source, importer, skipped)?;
                return Ok(OpenedFile {
                    host,
                    source,
                    importer,
                    others: &files[index + 1..],
                });
            }
            Err(error) => {
                let name = file_name(&shown_path(path));
                skipped.push(format!("{name}: {error}"));
                first_error.get_or_insert(error);
            }
        }
    }
    Err(first_error.unwrap_or(ImportError::NothingFound {
        what: "no file".to_owned(),
    }))
}

/// Refuses a protobuf without content, and says what is read instead. A profiler leaves one if the profile does not fit
/// into a protobuf.
fn not_empty(source: InputSource, path: &Path, next: Option<&PathBuf>) -> Result<InputSource> {
    if !source.is_empty() || !path.to_string_lossy().contains(".xplane.pb") {
        return Ok(source);
    }
    let mut what = "the file is empty: the profiler still writes it, or could not write more than 2 GB; capture for a \
                    shorter time"
        .to_owned();
    if let Some(name) = next
        .and_then(|next| next.file_name())
        .map(|name| name.to_string_lossy())
    {
        what = format!("{what}; {name} is read instead");
        if name.contains(".json") {
            what.push_str(
                ", which has no peaks, memory, programs and times of the device's own clock",
            );
        }
    }
    Err(ImportError::Unusable {
        format: "XLA profile",
        what,
    })
}

fn import_into(
    builder: &mut TraceBuilder,
    importer: &dyn Importer,
    source: &InputSource,
    host: Option<&str>,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<()> {
    // What is in an archive or comes from a pipe is no file.
    let fingerprint = match source.path() {
        Some(_) if options.fingerprints => source.fingerprint(progress)?,
        _ => None,
    };
    progress.check()?;
    builder.begin_source(trace_model::Source {
        name: source.name().to_owned(),
        path: source.path().map(Path::to_owned),
        copy: source.copy().map(Path::to_owned),
        packed_bytes: source.disk_len(),
        fingerprint,
        format: importer.format().id,
        host: host.map(str::to_owned),
        ..trace_model::Source::default()
    });
    for part in source.skipped() {
        builder.log(IssueKind::DamagedRecords, || {
            format!("{}: {part}", source.name())
        });
    }
    importer.import(source, options, progress, builder)
}

#[cfg(test)]
mod tests;
