//! Commands whose answers are reports do not read what no report reads; commands that show slices do.

use std::path::PathBuf;

use sample_traces::session::{SamplePlane, SampleSession, int};
use sample_traces::write::xspace_bytes;

use crate::place::{Place, stderr};

/// A host that annotates its steps, in which Python was traced.
fn capture() -> Vec<u8> {
    const MS: i64 = 1_000_000_000;
    let mut host = SamplePlane::host(1);
    for step in 0..5 {
        let (main, at) = ((1, "main"), step * 10 * MS);
        host.event(main, "train", at, 9 * MS, [int("step_num", step)]);
        host.event(main, "$model.py:3 forward", at + MS, 5 * MS, []);
        host.event(main, "PjitFunction(step)", at + 2 * MS, MS, []);
    }
    xspace_bytes(&SampleSession::new("host", "made for a test", vec![host]))
}

/// A log directory with one run of it, and the profile.
fn place() -> (Place, PathBuf) {
    let place = Place::empty();
    let profile = "logs/plugins/profile/run/host.xplane.pb";
    place.write(profile, &capture());
    let path = place.path(profile);
    (place, path)
}

/// Whether a command only counted what no report reads; it read the capture.
fn only_counts(place: &Place, args: &[&str]) -> bool {
    let said = stderr(&place.run(&[args, &["--verbose"]].concat()));
    assert!(said.contains("15 slices on"), "{args:?}: {said}");
    said.contains("; 5 of them were only counted")
}

#[test]
fn what_no_report_reads_is_only_counted_for_reports() {
    let (place, path) = place();
    let path = path.to_str().unwrap();
    for args in [
        &["analyze", path][..],
        &["summarize", path],
        &["kernels", path],
        &["memory", path],
        &["compile", path],
        &["environment", path],
        &["hlo", path],
        &["expect", path, "--init=expect.toml"],
        &["whatif", path, "--no-idle"],
        &["doctor", path, "--size"],
        &["doctor", path, "--rows", "--device-spec", "v5e"],
        &["query", path, "SELECT * FROM verdict_findings"],
        &["query", path, "instructions"],
        &["export", path, "--tables", "runs,counters", "-o", "out"],
        &["watch", "logs", "--once", "--settle", "0"],
    ] {
        assert!(only_counts(&place, args), "{args:?}");
    }
    for args in [
        &["doctor", path][..],
        &["query", path, "SELECT count(*) FROM slices"],
        &["query", path, "--list"],
        &["query", path, "tracks"],
        &["export", path, "--tables", "runs,tracks", "-o", "out"],
        &["export", path, "-o", "out"],
        &["events", path],
        &["render", path],
    ] {
        assert!(!only_counts(&place, args), "{args:?}");
    }
}

/// Whether slices are read besides makes no difference to tables of reports.
#[test]
fn tables_of_reports_are_the_same_without_slices() {
    let (place, path) = place();
    let path = path.to_str().unwrap();
    let answer = |query: &str| {
        let output = place.run(&["query", path, query, "--format", "json"]);
        (output.status.success(), output.stdout, output.stderr)
    };
    for table in [
        "runs",
        "steps",
        "verdict_findings",
        "doctor_findings",
        "sources",
        "opps",
    ] {
        let alone = format!("SELECT * FROM {table}");
        let found = answer(&alone);
        assert_eq!(found.0, table != "opps", "{table}");
        assert_eq!(found, answer(&format!("{alone} /* slices */")), "{table}");
    }
    let exported = |tables: &str, out: &str| {
        place.run(&["export", path, "--to", "csv", "--tables", tables, "-o", out]);
        place.read(&format!("{out}/runs.csv"))
    };
    assert_eq!(exported("runs", "alone"), exported("runs,slices", "both"));
}
