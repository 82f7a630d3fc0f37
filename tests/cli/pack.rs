//! `systole pack`, and archives as input.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::fs::{self, File};
use std::path::Path;

use importers::{Archive, ArchiveWriter};
use serde_json::Value;

use crate::place::{Place, stderr, stdout};

/// A profile that comes with the program.
fn sample() -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read(root.join("assets/samples/synthetic_v5e_8chip_serial.xplane.pb")).unwrap()
}

fn zipped(place: &Place, name: &str, files: &[(&str, &[u8])]) {
    let mut archive = ArchiveWriter::new(File::create(place.path(name)).unwrap());
    for (name, content) in files {
        archive.add(name, *content).unwrap();
    }
    archive.finish().unwrap();
}

fn reports(place: &Place, path: &str) -> Value {
    let output = place.run(&["analyze", path, "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document: Value = serde_json::from_str(stdout(&output)).unwrap();
    document["reports"].clone()
}

#[test]
fn packed_run_has_the_same_reports() {
    let place = Place::empty();
    place.write(
        "logs/plugins/profile/2026_01_31_12_00_00/worker0.xplane.pb",
        &sample(),
    );
    place.write(
        "logs/plugins/profile/2026_01_31_12_00_00/worker0.op_stats.pb",
        b"a cache of XProf",
    );
    let output = place.run(&["pack", "logs", "-o", "run.systole.zip"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(reports(&place, "run.systole.zip") == reports(&place, "logs"));
    assert_eq!(place.code(&["doctor", "run.systole.zip"]), 0);

    let mut archive = Archive::open(&place.path("run.systole.zip")).unwrap();
    let files = archive.files().to_vec();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "summary.json",
            "report.html",
            "systole-pack.json",
            "profile/worker0.xplane.pb"
        ]
    );
    let text = |archive: &mut Archive, at: usize| {
        String::from_utf8(archive.read(&files[at]).unwrap()).unwrap()
    };
    let (summary, page, facts) = (
        text(&mut archive, 0),
        text(&mut archive, 1),
        text(&mut archive, 2),
    );
    assert!(page.starts_with("<!doctype html>"), "{}", &page[..100]);
    let here = place.dir.path().to_string_lossy().into_owned();
    assert!(
        !summary.contains(&here) && !facts.contains(&here),
        "where it lay concerns nobody"
    );
    let facts: Value = serde_json::from_str(&facts).unwrap();
    assert_eq!(facts["profiles"][0]["file"], "profile/worker0.xplane.pb");
    assert_eq!(facts["profiles"][0]["sha256"].as_str().unwrap().len(), 64);
    let runs: Value = serde_json::from_str(&summary).unwrap();
    for name in ["fingerprint", "sha256"] {
        assert_eq!(runs["inputs"][0][name], facts["profiles"][0][name]);
        assert!(runs["inputs"][0][name].is_string());
    }
    // The summary is one to compare with.
    place.write("summary.json", summary.as_bytes());
    assert_eq!(
        place.code(&["compare", "summary.json", "run.systole.zip"]),
        0
    );
}

#[test]
fn environment_is_packed() {
    let place = Place::empty();
    place.write("run/w0.xplane.pb", &sample());
    place.write(
        "run/systole.run.json",
        br#"{"schema": "systole.run/1", "versions": {"jax": "0.10.2"}}"#,
    );
    assert_eq!(place.code(&["pack", "run", "-o", "run.systole.zip"]), 0);
    let output = place.run(&["environment", "run.systole.zip"]);
    assert!(stdout(&output).contains("0.10.2"), "{output:?}");
    let refused = place.run(&["environment", "run.systole.zip", "--write"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(!place.path("systole.run.json").exists());
}

#[test]
fn zipped_run_folder_is_opened() {
    let place = Place::empty();
    let sample = sample();
    zipped(
        &place,
        "folder.zip",
        &[
            ("run/w0.xplane.pb", &sample),
            ("run/w0.trace.json.gz", b"not read"),
            ("run/x", b""),
        ],
    );
    place.write("folder/w0.xplane.pb", &sample);
    assert!(reports(&place, "folder.zip") == reports(&place, "folder"));
}

#[test]
fn archives_without_one_run_are_refused_with_the_reason() {
    let place = Place::empty();
    let sample = sample();
    zipped(
        &place,
        "several.zip",
        &[("a/w0.xplane.pb", &sample), ("b/w0.xplane.pb", &sample)],
    );
    zipped(&place, "none.zip", &[("readme.txt", b"hello")]);
    // A writer would mend this name.
    zipped(&place, "outside.zip", &[("up/up/w0.xplane.pb", &sample)]);
    let mut outside = fs::read(place.path("outside.zip")).unwrap();
    for at in 0..outside.len() {
        if outside[at..].starts_with(b"up/up/w0") {
            outside[at..at + 5].copy_from_slice(b"../..");
        }
    }
    place.write("outside.zip", &outside);
    zipped(&place, "bomb.zip", &[("w0.xplane.pb", &vec![0; 100 << 20])]);
    zipped(&place, "other.zip", &[("w0.xplane.pb", b"hello there")]);
    let whole = fs::read(place.path("several.zip")).unwrap();
    place.write("cut.zip", &whole[..whole.len() / 2]);
    for (name, code, why) in [
        (
            "several.zip",
            3,
            "profiles in several folders; name one with --run: b, a",
        ),
        ("none.zip", 3, "no file that ends in .xplane.pb"),
        ("outside.zip", 4, "outside of itself"),
        ("bomb.zip", 4, "do not trust it"),
        ("other.zip", 4, "text"),
        ("cut.zip", 4, "the copy is incomplete"),
    ] {
        let output = place.run(&["analyze", name]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        assert!(said.contains(why) && said.contains(name), "{name}: {said}");
    }
    assert_eq!(place.code(&["doctor", "several.zip", "--run", "a"]), 0);
    // From standard input as well.
    let input = File::open(place.path("several.zip")).unwrap();
    let output = place
        .command()
        .args(["doctor", "-", "--run", "b"])
        .stdin(input)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn failed_pack_leaves_no_file() {
    let place = Place::empty();
    place.write("w0.xplane.pb", &sample());
    assert_eq!(place.code(&["pack", "missing", "-o", "run.systole.zip"]), 3);
    assert_eq!(
        place.code(&["pack", "w0.xplane.pb", "-o", "no/such/run.systole.zip"]),
        3
    );
    assert_eq!(
        place.code(&["pack", "w0.xplane.pb", "-o", "run.systole.zip"]),
        0
    );
    let output = place.run(&["pack", "run.systole.zip", "-o", "again.zip"]);
    assert_eq!(
        output.status.code(),
        Some(2),
        "it is packed already: {}",
        stderr(&output)
    );
    assert_eq!(fs::read_dir(place.dir.path()).unwrap().count(), 2);
}

#[test]
fn the_view_that_was_saved_last_is_packed() {
    use view::sessions::SessionStore;
    use view::state::{Note, ViewCommand, ViewState};

    let place = Place::empty();
    place.write(
        "logs/plugins/profile/2026_01_31_12_00_00/worker0.xplane.pb",
        &sample(),
    );
    let logs = place.path("logs");
    let model = importers::import_path(
        &logs,
        &importers::ImportOptions::default(),
        &importers::Progress::new(),
    )
    .unwrap();
    let mut view = ViewState::new(&model);
    view.apply(
        &ViewCommand::AddNote(Note {
            range: model.extent(),
            text: "here it waits".to_owned(),
        }),
        &model,
    );
    let mut sessions = SessionStore::in_folder(&place.path("config/systole/sessions"));
    sessions.save("night", &logs, &view, None).unwrap();
    sessions
        .save("of another run", Path::new("/elsewhere/x.pb"), &view, None)
        .unwrap();
    let pack = |args: &[&str]| {
        let mut command = place.command();
        command.env("XDG_CONFIG_HOME", place.path("config")).args([
            "pack",
            "logs",
            "-o",
            "run.systole.zip",
        ]);
        let output = command.args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stderr(&output)
    };
    let said = pack(&[]);
    assert!(
        said.contains("session “night” with 1 note is packed") && said.contains("--no-session"),
        "{said}"
    );
    let archive = place.path("run.systole.zip");
    let text = importers::packed_file(&archive, importers::PACKED_SESSION)
        .unwrap()
        .unwrap();
    assert!(
        !String::from_utf8_lossy(&text).contains(place.dir.path().to_str().unwrap()),
        "where it lay concerns nobody"
    );
    let saved = SessionStore::of_archive(&archive, &text).unwrap();
    assert_eq!(
        (saved.name.as_str(), &saved.trace, saved.view.notes.len()),
        ("night", &archive, 1)
    );
    let model = importers::import_path(
        &archive,
        &importers::ImportOptions::default(),
        &importers::Progress::new(),
    )
    .unwrap();
    assert!(
        saved.view.may_be_of(&model),
        "pins and marks come back, too"
    );
    assert_eq!(place.code(&["doctor", "run.systole.zip"]), 0);

    assert!(!pack(&["--no-session"]).contains("is packed"));
    assert!(
        importers::packed_file(&archive, importers::PACKED_SESSION)
            .unwrap()
            .is_none()
    );
    assert!(pack(&["--session", "of another run"]).contains("of another run"));
}
