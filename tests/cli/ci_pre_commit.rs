//! The hooks of `assets/ci/pre-commit-config.yaml`, run as pre-commit runs them.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::fs;
use std::process::Command;

use crate::guide::repository;
use crate::place::Place;

/// The commands of the hooks, by their ids.
fn hooks() -> Vec<(String, String)> {
    let text = fs::read_to_string(repository().join("assets/ci/pre-commit-config.yaml")).unwrap();
    let values = |key: &str| -> Vec<String> {
        let lines = text
            .lines()
            .map(|line| line.trim().trim_start_matches("- "));
        lines
            .filter_map(|line| line.strip_prefix(key).map(str::to_owned))
            .collect()
    };
    let (ids, entries) = (values("id: "), values("entry: "));
    assert_eq!(ids.len(), entries.len());
    ids.into_iter().zip(entries).collect()
}

#[test]
fn pre_commit_hooks_pass_and_fail_with_the_limits() {
    let place = Place::empty();
    place.log("profile", 2.0);
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_systole"));
    let path = format!(
        "{}:{}",
        programs.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let codes = |config: &str| -> Vec<(String, i32)> {
        place.write("systole.toml", config.as_bytes());
        let run = |(id, entry): (String, String)| {
            let status = Command::new("sh")
                .args(["-c", &entry])
                .current_dir(place.path(""))
                .env("PATH", &path)
                .output()
                .unwrap()
                .status;
            (id, status.code().unwrap())
        };
        hooks().into_iter().map(run).collect()
    };
    let limit = |ms: u32| format!("[[budget]]\nmetric = \"step.time_ms\"\nmax = {ms}\n");
    let named = |config: i32, gate: i32| {
        [("systole-config", config), ("systole-gate", gate)].map(|(id, code)| (id.to_owned(), code))
    };
    assert_eq!(codes(&limit(1000)), named(0, 0));
    assert_eq!(codes(&limit(1)), named(0, 10));
    assert_eq!(codes("[[budget]]\nmetric = 3\n")[0].1, 2);
    // Without a profile there is nothing to judge.
    fs::rename(place.path("profile"), place.path("elsewhere")).unwrap();
    assert_eq!(codes(&limit(1)), named(0, 0));
}
