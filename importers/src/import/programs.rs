//! Files and folders that hold programs of the compiler, and no profile.

use std::path::Path;

use compiler_formats::{hlo_dump, program, xla};
use importer_common::{DetectionConfidence, ImportOptions, Importer};
use input::{ImportError, Progress, Result};
use trace_model::{Source, TraceBuilder, TraceModel};

use super::locate::{LocatedRun, locate};
use super::opening::FileOpener;

/// The programs of a folder that XLA dumped, or XProf; `None` if there is none.
pub(super) fn of_dump(
    folder: &Path,
    options: &ImportOptions,
    progress: &Progress,
) -> Result<Option<TraceModel>> {
    let mut builder = TraceBuilder::new();
    let name = folder.file_name().unwrap_or(folder.as_os_str());
    builder.begin_source(Source {
        name: name.to_string_lossy().into_owned(),
        path: Some(folder.to_owned()),
        format: program::HLO_PROTO.format().id,
        cannot_know: vec!["times: programs were read, not a run of them"],
        ..Source::default()
    });
    let mut opener = FileOpener::new(&LocatedRun::default(), options, progress)?;
    if hlo_dump::add_all(folder, &mut opener, progress, &mut builder)? == 0 {
        return Ok(None);
    }
    let model = builder.finish_unless(&|| progress.check().is_err());
    model.ok_or(ImportError::Cancelled).map(Some)
}

/// Whether a path holds programs that may have no times: HLO as text or serialized, `StableHLO`, or a folder of them.
pub fn holds_programs_only(path: &Path, options: &ImportOptions, progress: &Progress) -> bool {
    let path = if path.is_dir() {
        match locate(path, options, progress) {
            Err(_) => return matches!(of_dump(path, options, progress), Ok(Some(_))),
            Ok(located) => {
                let mut files = located.hosts.into_iter().flat_map(|host| host.files);
                match (files.next(), files.next()) {
                    (Some(only), None) => only,
                    _ => return false,
                }
            }
        }
    } else {
        path.to_owned()
    };
    // A pipe can be read only once, and a file of a bucket would be copied.
    if !path.is_file() {
        return false;
    }
    let formats: [&dyn Importer; 3] =
        [&xla::ScheduledHlo, &program::HLO_PROTO, &program::STABLEHLO];
    let Ok(mut opener) = FileOpener::new(&LocatedRun::default(), options, progress) else {
        return false;
    };
    opener.open(&path).is_ok_and(|source| {
        let is_sure = |it: &dyn Importer| it.detect(source.head()) == DetectionConfidence::Certain;
        formats.into_iter().any(is_sure)
    })
}
