use std::fs;
use std::io::Cursor;

use importer_common::TraceFormat;
use input::FingerprintHash;
use input::archive::ArchiveWriter;
use tempfile::TempDir;
use trace_model::{GroupKind, SliceSpec, TimeRange, Timestamp, TrackKind};

use super::*;

/// An importer that reads `<prefix><digits>` as one slice of this length. `<prefix>!` fails half-way.
struct Toy {
    format: TraceFormat,
    prefix: &'static [u8],
    sure: DetectionConfidence,
}

impl Importer for Toy {
    fn format(&self) -> &'static TraceFormat {
        // Two constants instead of a borrow, because the trait requires 'static.
        if self.format.id == "toy" {
            &TOY_FORMAT
        } else {
            &OTHER_FORMAT
        }
    }
    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        if head.starts_with(self.prefix) {
            self.sure
        } else {
            DetectionConfidence::No
        }
    }
    fn import(
        &self,
        source: &InputSource,
        _options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<(), ImportError> {
        let group = out.group(None, GroupKind::Host, source.name());
        let track = out.track(group, TrackKind::Other, 0, self.format.id);
        let label = out.label("slice", None);
        let bytes = source.content(progress)?.bytes;
        let text = String::from_utf8_lossy(&(*bytes).as_ref()[self.prefix.len()..]).into_owned();
        let range = TimeRange::new(
            Timestamp::ZERO,
            Timestamp::from_ps(text.trim_end_matches('!').parse().unwrap()),
        );
        out.add_slice(track, SliceSpec::new(range, label));
        if text.ends_with('!') {
            return Err(ImportError::Malformed {
                format: "toy",
                offset: 3,
                what: "on purpose".to_owned(),
            });
        }
        Ok(())
    }
}

const fn format(id: &'static str, title: &'static str) -> TraceFormat {
    TraceFormat {
        id,
        title,
        extensions: &["json"],
        markers: &[],
        about: "",
    }
}
static TOY_FORMAT: TraceFormat = format("toy", "Toy traces");
static OTHER_FORMAT: TraceFormat = format("other", "Other traces");
static TOY: Toy = Toy {
    format: format("toy", ""),
    prefix: b"toy",
    sure: DetectionConfidence::Certain,
};
static OTHER: Toy = Toy {
    format: format("other", ""),
    prefix: b"to",
    sure: DetectionConfidence::Possible,
};
static SECOND: Toy = Toy {
    format: format("other", ""),
    prefix: b"toy",
    sure: DetectionConfidence::Certain,
};

fn import_dir(dir: &TempDir) -> Result<TraceModel, ImportError> {
    import_dir_with(dir, &ImportOptions::default())
}

fn import_dir_with(dir: &TempDir, options: &ImportOptions) -> Result<TraceModel, ImportError> {
    let located = locate(dir.path(), options, &Progress::new())?;
    import_located(&located, &[&OTHER, &TOY], options, &Progress::new())
}

fn dir(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(dir.path().join(name), content).unwrap();
    }
    dir
}

fn read_files(model: &TraceModel) -> Vec<(String, &'static str)> {
    model
        .sources()
        .iter()
        .map(|source| (source.name.clone(), source.format))
        .collect()
}

#[test]
fn most_certain_importer_wins_then_the_first() {
    assert_eq!(detect(b"toy1", &[&OTHER, &TOY]).unwrap().format().id, "toy");
    assert_eq!(
        detect(b"toy1", &[&TOY, &SECOND]).unwrap().format().id,
        "toy"
    );
    assert_eq!(
        detect(b"toy1", &[&SECOND, &TOY]).unwrap().format().id,
        "other"
    );
    assert_eq!(
        detect(b"tomato", &[&TOY, &OTHER]).unwrap().format().id,
        "other"
    );
}

/// The head of an uncompressed archive shows the file inside.
#[test]
fn archive_is_not_opened_as_its_content() {
    let log = b"[x] [info] [Core 0] Systolic Array Throughput: 1 GFLOPS, Spad size: 1 KB\n";
    let zip = [b"PK\x03\x04\x14\0\0\0\0\0run.log".as_slice(), log].concat();
    let mut tar = [b"run.log".to_vec(), vec![0; 505], log.to_vec()].concat();
    tar[257..262].copy_from_slice(b"ustar");
    for (archive, kind) in [(zip, "ZIP"), (tar, "tar")] {
        let source = InputSource::from_bytes("runs", archive).unwrap();
        let error = import(&source, &Progress::new()).err().unwrap().to_string();
        assert!(error.contains(&format!("{kind} archive")), "{error}");
    }
}

#[test]
fn unknown_format_error_names_guess_and_supported_formats() {
    let error = |head: &[u8]| {
        let found = detect(head, &[&TOY, &OTHER]);
        found.err().unwrap().to_string()
    };
    let json = error(b"{\"neither\": 1}");
    assert!(
        json.contains("likeliest would be Toy traces or Other traces"),
        "{json}"
    );
    // What no profile looks like is likely none of them.
    for head in [&b"\x7fELF"[..], b"", b"<html></html>", b"Out of memory"] {
        let error = error(head);
        assert!(
            !error.contains("likeliest") && error.contains("systole formats"),
            "{error}"
        );
    }
}

#[test]
fn every_host_becomes_a_source_of_one_model() {
    let dir = dir(&[("b.xplane.pb", "toy5"), ("a.xplane.pb", "toy7")]);
    let model = import_dir(&dir).unwrap();
    assert_eq!(
        read_files(&model),
        [
            ("a.xplane.pb".to_owned(), "toy"),
            ("b.xplane.pb".to_owned(), "toy")
        ]
    );
    assert_eq!(model.slice_count(), 2);
    assert_eq!(model.sources()[0].host.as_deref(), Some("a"));
    assert_eq!(model.sources()[0].packed_bytes, 4);
    assert_eq!(
        model.sources()[0].path,
        Some(dir.path().join("a.xplane.pb"))
    );
}

#[test]
fn each_file_has_the_fingerprint_of_its_bytes_on_disk_if_that_is_asked_for() {
    let dir = dir(&[("b.xplane.pb", "toy5"), ("a.xplane.pb", "toy7")]);
    let packed = sample_traces::write::gzip(b"toy6");
    fs::write(dir.path().join("c.xplane.pb.gz"), &packed).unwrap();
    let of = |bytes: &[u8]| {
        let mut hash = FingerprintHash::default();
        hash.update(bytes);
        Some(hash.finish())
    };
    let found = |fingerprints: bool| -> Vec<_> {
        let options = ImportOptions {
            fingerprints,
            ..ImportOptions::default()
        };
        let model = import_dir_with(&dir, &options).unwrap();
        let sources = model.sources().iter();
        sources.map(|source| source.fingerprint).collect()
    };
    assert_eq!(found(true), [of(b"toy7"), of(b"toy5"), of(&packed)]);
    assert_eq!(found(false), [None; 3]);
}

#[test]
fn same_capture_under_two_names_is_read_once() {
    let dir = dir(&[
        ("a.xplane.pb", "toy5"),
        ("b.xplane.pb", "toy5"),
        ("c.xplane.pb", "toy6"),
    ]);
    fs::write(
        dir.path().join("d.xplane.pb.gz"),
        sample_traces::write::gzip(b"toy5"),
    )
    .unwrap();
    let model = import_dir(&dir).unwrap();
    assert_eq!(
        read_files(&model),
        [
            ("a.xplane.pb".to_owned(), "toy"),
            ("c.xplane.pb".to_owned(), "toy")
        ]
    );
    let issue = model
        .import_log()
        .counts()
        .iter()
        .find(|issue| issue.kind == IssueKind::SameContent)
        .unwrap();
    assert_eq!(issue.count, 2);
    let names = ["b.xplane.pb", "a.xplane.pb", "under another name"];
    assert!(
        names.iter().all(|name| issue.examples[0].contains(name)),
        "{issue:?}"
    );
}

#[test]
fn file_failing_midway_adds_nothing() {
    for bad in ["toy9!", "\x7fELF"] {
        let dir = dir(&[
            ("a.xplane.pb", "toy5"),
            ("b.xplane.pb", bad),
            ("c.xplane.pb", "toy6"),
        ]);
        let model = import_dir(&dir).unwrap();
        assert_eq!(model.slice_count(), 2, "{bad:?}");
        assert_eq!(model.import_log().count(IssueKind::SourceSkipped), 1);
        assert!(model.import_log().counts()[0].examples[0].starts_with("b.xplane.pb: "));
    }
}

/// Counts how often a file is read.
struct Counting(std::sync::atomic::AtomicUsize);

impl Importer for Counting {
    fn format(&self) -> &'static TraceFormat {
        TOY.format()
    }
    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        TOY.detect(head)
    }
    fn import(
        &self,
        source: &InputSource,
        options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<(), ImportError> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        TOY.import(source, options, progress, out)
    }
}

#[test]
fn many_bad_files_are_found_in_one_pass() {
    let dir = tempfile::tempdir().unwrap();
    for host in 0..60 {
        let bad = if host % 2 == 0 { "" } else { "!" };
        fs::write(
            dir.path().join(format!("{host:02}.xplane.pb")),
            format!("toy{}{bad}", host + 1),
        )
        .unwrap();
    }
    let located = locate(dir.path(), &ImportOptions::default(), &Progress::new()).unwrap();
    let counting = Counting(std::sync::atomic::AtomicUsize::new(0));
    let model = import_located(
        &located,
        &[&counting],
        &ImportOptions::default(),
        &Progress::new(),
    )
    .unwrap();
    assert_eq!((model.sources().len(), model.slice_count()), (30, 30));
    assert_eq!(model.import_log().count(IssueKind::SourceSkipped), 30);
    assert_eq!(counting.0.into_inner(), 60 + 30);
}

#[test]
fn second_format_of_a_host_is_a_fallback() {
    let mended = dir(&[("a.xplane.pb", "toy5!"), ("a.trace.json", "toy8")]);
    let model = import_dir(&mended).unwrap();
    assert_eq!(read_files(&model), [("a.trace.json".to_owned(), "toy")]);
    assert_eq!(model.import_log().count(IssueKind::SourceSkipped), 1);
    assert_eq!(model.extent().end.ps(), 8);

    let both = dir(&[("a.xplane.pb", "toy5"), ("a.trace.json", "toy8")]);
    let model = import_dir(&both).unwrap();
    assert_eq!(model.import_log().count(IssueKind::Duplicate), 1);
    assert_eq!(model.extent().end.ps(), 5);
}

#[test]
fn if_all_files_fail_each_reason_is_given() {
    let several = dir(&[("a.xplane.pb", "toy5!"), ("b.xplane.pb", "%PDF")]);
    let error = import_dir(&several).unwrap_err().to_string();
    assert!(
        error.contains("on purpose") && error.contains("PDF"),
        "{error}"
    );
    let one = dir(&[("a.xplane.pb", "toy5!")]);
    assert!(matches!(
        import_dir(&one),
        Err(ImportError::Malformed { .. })
    ));
}

#[test]
fn import_of_several_files_can_be_cancelled() {
    let dir = dir(&[("a.xplane.pb", "toy5"), ("b.xplane.pb", "toy6")]);
    let located = locate(dir.path(), &ImportOptions::default(), &Progress::new()).unwrap();
    let progress = Progress::new();
    progress.cancel();
    assert!(matches!(
        import_located(&located, &[&TOY], &ImportOptions::default(), &progress),
        Err(ImportError::Cancelled)
    ));
}

#[test]
fn a_missing_path_is_an_io_error() {
    let error = import_path(
        &PathBuf::from("/no/such/path"),
        &ImportOptions::default(),
        &Progress::new(),
    );
    assert!(matches!(error, Err(ImportError::Io(_))));
}

#[test]
fn files_of_different_sessions_are_not_merged() {
    let model = |starts: &[Option<i64>]| {
        let mut builder = TraceBuilder::new();
        for &started_unix_ns in starts {
            builder.begin_source(trace_model::Source {
                started_unix_ns,
                ..trace_model::Source::default()
            });
        }
        builder.finish()
    };
    let hour = 3_600 * 1_000_000_000;
    assert!(sessions::refuse_far_apart(&model(&[Some(5), Some(7), None])).is_ok());
    assert!(sessions::refuse_far_apart(&model(&[Some(5 * hour)])).is_ok());
    let error = sessions::refuse_far_apart(&model(&[Some(5 * hour), None, Some(6 * hour)]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("60 minutes apart"), "{error}");
}

#[test]
fn archive_in_memory_is_the_run_in_it() {
    let names_of = |bytes: Vec<u8>| {
        let source = InputSource::from_bytes("run.zip", bytes);
        let sources = source
            .and_then(|source| packed::sources_in(source, None))
            .map_err(|error| error.to_string())?;
        Ok::<_, String>(
            sources
                .into_iter()
                .map(|(host, source)| (host, source.name().to_owned()))
                .collect::<Vec<_>>(),
        )
    };
    let archive = |files: &[(&str, &[u8])]| {
        let mut writer = ArchiveWriter::new(Cursor::new(Vec::new()));
        for (name, content) in files {
            writer.add(name, *content).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    let run = archive(&[
        ("run/a.xplane.pb", b"1"),
        ("run/b.xplane.pb", b"2"),
        ("run/notes.txt", b"3"),
    ]);
    let of_host = |host: &str| (Some(host.to_owned()), format!("{host}.xplane.pb"));
    assert_eq!(names_of(run), Ok(vec![of_host("a"), of_host("b")]));
    assert_eq!(
        names_of(b"no archive".to_vec()),
        Ok(vec![(None, "run.zip".to_owned())])
    );
    let none = names_of(archive(&[("notes.txt", b"3")]));
    assert!(
        none.as_ref()
            .is_err_and(|error| error.contains("no file that ends in")),
        "{none:?}"
    );
}

#[test]
#[cfg(feature = "riegeli")]
fn a_profile_in_records_is_a_profile() {
    let bytes = include_bytes!("../../tests/fixtures/host.xplane.riegeli");
    let source = InputSource::from_bytes("host.xplane.riegeli", bytes.to_vec()).unwrap();
    let model = import(&source, &Progress::new()).unwrap();
    assert!(model.slice_count() > 0);
    assert_eq!(model.sources()[0].packed_bytes, bytes.len() as u64);
    assert_eq!(model.import_log().count(IssueKind::DamagedRecords), 0);
}
