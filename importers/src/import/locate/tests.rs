use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::*;

fn tree(files: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for file in files {
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, b"").unwrap();
    }
    dir
}

/// Located files as text: `host: file file`, relative to `dir`.
fn shown(dir: &TempDir, located: &LocatedRun) -> Vec<String> {
    let relative = |path: &PathBuf| path.strip_prefix(dir.path()).unwrap().display().to_string();
    let files = |host: &HostFiles| {
        host.files
            .iter()
            .map(relative)
            .collect::<Vec<_>>()
            .join(" ")
    };
    located
        .hosts
        .iter()
        .map(|host| format!("{}: {}", host.host.as_deref().unwrap_or("-"), files(host)))
        .collect()
}

fn found(dir: &TempDir, path: &str) -> LocatedRun {
    locate(
        &dir.path().join(path),
        &ImportOptions::default(),
        &Progress::new(),
    )
    .unwrap()
}

fn run(name: &str) -> ImportOptions {
    ImportOptions {
        run: Some(name.to_owned()),
        ..ImportOptions::default()
    }
}

const NEW: &str = "log/plugins/profile/2026_02_01_00_00_00";
const OLD: &str = "log/plugins/profile/2025_12_31_23_59_59";

#[test]
fn newest_run_is_chosen_by_the_date_in_its_name() {
    let dir = tree(&[&format!("{NEW}/a.xplane.pb"), &format!("{OLD}/b.xplane.pb")]);
    // The older run was copied later.
    let touched = SystemTime::now() + Duration::from_secs(1000);
    File::options()
        .write(true)
        .open(dir.path().join(OLD).join("b.xplane.pb"))
        .unwrap()
        .set_modified(touched)
        .unwrap();
    for named in ["", "log", "log/plugins", "log/plugins/profile"] {
        let located = found(&dir, named);
        assert_eq!(
            shown(&dir, &located),
            [format!("a: {NEW}/a.xplane.pb")],
            "{named}"
        );
        assert!(located.run.unwrap().ends_with("2026_02_01_00_00_00"));
        assert_eq!(located.other_runs.len(), 1);
    }
}

#[test]
fn runs_with_other_names_are_ordered_by_file_date() {
    let dir = tree(&[
        "plugins/profile/zebra/a.xplane.pb",
        "plugins/profile/ant/a.xplane.pb",
    ]);
    let touched = SystemTime::now() + Duration::from_secs(1000);
    let ant = dir.path().join("plugins/profile/ant/a.xplane.pb");
    File::options()
        .write(true)
        .open(ant)
        .unwrap()
        .set_modified(touched)
        .unwrap();
    assert_eq!(found(&dir, "").run.as_deref(), Some("ant"));
}

#[test]
fn run_can_be_named_and_unknown_name_lists_runs() {
    let dir = tree(&[&format!("{NEW}/a.xplane.pb"), &format!("{OLD}/b.xplane.pb")]);
    let located = locate(dir.path(), &run("2025_12_31_23_59_59"), &Progress::new()).unwrap();
    assert_eq!(shown(&dir, &located), [format!("b: {OLD}/b.xplane.pb")]);
    let error = locate(dir.path(), &run("2024"), &Progress::new())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("2026_02_01_00_00_00") && error.contains("2025_12_31_23_59_59"),
        "{error}"
    );
    let error = locate(
        &dir.path().join(NEW).join("a.xplane.pb"),
        &run("x"),
        &Progress::new(),
    )
    .unwrap_err()
    .to_string();
    assert!(error.contains("one file"), "{error}");
}

#[test]
fn train_and_validation_directories_are_searched() {
    let dir = tree(&[
        "train/plugins/profile/2026_01_01_00_00_00/h.xplane.pb",
        "eval/x/plugins/profile/2026_01_02_00_00_00/h.xplane.pb",
    ]);
    let located = found(&dir, "");
    assert_eq!(located.run.as_deref(), Some("eval/x/2026_01_02_00_00_00"));
    assert_eq!(located.other_runs, ["train/2026_01_01_00_00_00"]);
}

#[test]
fn hosts_are_merged_with_the_richest_format_first() {
    let dir = tree(&[
        "run/h1.trace.json.gz",
        "run/h1.xplane.pb",
        "run/h0.xplane.pb",
        "run/h2.trace.json.gz",
        "run/perfetto_trace.json.gz",
        "run/h0.op_stats.pb",
        "run/h0.op_stats_v2.pb",
        "run/jit_f.hlo_proto.pb",
        "run/ALL_HOSTS.op_stats.pb",
        "run/ALL_HOSTS.xplane.pb",
        "run/h0.SSTABLE",
        "run/notes.txt",
    ]);
    assert_eq!(
        shown(&dir, &found(&dir, "run")),
        [
            "h0: run/h0.xplane.pb run/perfetto_trace.json.gz",
            "h1: run/h1.xplane.pb run/h1.trace.json.gz",
            "h2: run/h2.trace.json.gz",
        ]
    );
}

#[test]
fn perfetto_trace_alone_is_found() {
    let dir = tree(&["run/perfetto_trace.json.gz"]);
    assert_eq!(
        shown(&dir, &found(&dir, "run")),
        ["-: run/perfetto_trace.json.gz"]
    );
}

#[test]
fn patterns_name_files_and_directories() {
    let dir = tree(&[
        &format!("{NEW}/a.xplane.pb"),
        &format!("{NEW}/b.xplane.pb"),
        "x/odd name.bin",
    ]);
    assert_eq!(
        found(&dir, "log/plugins/profile/2026*/*.xplane.pb")
            .hosts
            .len(),
        2
    );
    assert_eq!(found(&dir, "l?g").hosts.len(), 2);
    assert_eq!(shown(&dir, &found(&dir, "x/*.bin")), ["-: x/odd name.bin"]);
    let error = locate(
        &dir.path().join("nothing*"),
        &ImportOptions::default(),
        &Progress::new(),
    )
    .unwrap_err();
    assert!(matches!(error, ImportError::NothingFound { .. }), "{error}");
}

#[test]
fn directory_without_profiles_lists_expected_files() {
    let dir = tree(&["a/readme.md", "plugins/profile/empty/x.op_stats.pb"]);
    let error = locate(dir.path(), &ImportOptions::default(), &Progress::new())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("plugins/profile/<run>/") && error.contains(".xplane.pb"),
        "{error}"
    );
    let missing = locate(
        &dir.path().join("missing"),
        &ImportOptions::default(),
        &Progress::new(),
    )
    .unwrap_err();
    assert!(matches!(missing, ImportError::Io(_)), "{missing}");
}

#[test]
fn existing_file_with_wildcard_name_is_opened() {
    let dir = tree(&["a*b", "axb"]);
    assert_eq!(shown(&dir, &found(&dir, "a*b")), ["-: a*b"]);
}

#[test]
fn hosts_of_one_capture_in_sibling_runs_are_joined() {
    let (first, second) = (
        "log/plugins/profile/2026_01_31_04_47_36",
        "log/plugins/profile/2026_01_31_04_47_38",
    );
    let older = "log/plugins/profile/2026_01_30_04_47_37";
    let dir = tree(&[
        &format!("{first}/a.xplane.pb"),
        &format!("{second}/b.xplane.pb"),
        &format!("{older}/a.xplane.pb"),
        &format!("{older}/b.xplane.pb"),
    ]);
    let both = [
        format!("a: {first}/a.xplane.pb"),
        format!("b: {second}/b.xplane.pb"),
    ];
    let located = found(&dir, "log");
    assert_eq!(shown(&dir, &located), both);
    assert_eq!(located.run.as_deref(), Some("2026_01_31_04_47_38"));
    assert_eq!(located.joined_runs, ["2026_01_31_04_47_36"]);
    assert_eq!(
        (located.nearby_runs.len(), located.other_runs.len()),
        (0, 1)
    );
    // `--run` with any folder of a capture selects the whole capture; the path of a folder selects only this folder.
    let named = locate(
        &dir.path().join("log"),
        &run("2026_01_31_04_47_36"),
        &Progress::new(),
    )
    .unwrap();
    assert_eq!(
        (shown(&dir, &named), named.joined_runs),
        (both.to_vec(), vec!["2026_01_31_04_47_38".to_owned()])
    );
    assert_eq!(shown(&dir, &found(&dir, first)), both[..1]);
}

#[test]
fn profiles_beside_the_runs_are_named() {
    let dir = tree(&[
        "log/plugins/profile/2026_01_31_04_46_36/a.xplane.pb",
        "log/b.xplane.pb",
        "log/b.trace.json.gz",
        "log/c.xplane.pb",
        "log/notes.txt",
    ]);
    let beside = [
        dir.path().join("log/b.xplane.pb"),
        dir.path().join("log/c.xplane.pb"),
    ];
    assert_eq!(found(&dir, "log").beside_runs, beside);
    assert_eq!(
        found(&dir, "log/plugins").beside_runs,
        [""; 0].map(PathBuf::from)
    );
    let chosen = locate(
        &dir.path().join("log"),
        &run("2026_01_31_04_46_36"),
        &Progress::new(),
    );
    assert!(
        chosen.unwrap().beside_runs.is_empty(),
        "the user has chosen"
    );
}

#[test]
fn possibly_related_run_is_named() {
    let (first, second) = (
        "log/plugins/profile/2026_01_31_04_46_36",
        "log/plugins/profile/2026_01_31_04_47_38",
    );
    let dir = tree(&[
        &format!("{first}/a.xplane.pb"),
        &format!("{second}/b.xplane.pb"),
    ]);
    let located = found(&dir, "log");
    assert_eq!(shown(&dir, &located), [format!("b: {second}/b.xplane.pb")]);
    assert_eq!(located.nearby_runs, ["2026_01_31_04_46_36"]);
    assert_eq!(
        locate(
            &dir.path().join("log"),
            &run("2026_01_31_04_47_38"),
            &Progress::new()
        )
        .unwrap()
        .nearby_runs,
        [""; 0]
    );
}
