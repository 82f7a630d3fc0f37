//! A directory in which the built program runs.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests may fail loudly too, and say what they skip"
)]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Variables to remove, so that tests do not depend on the machine that runs them.
pub const CI_VARIABLES: [&str; 5] = [
    "GITHUB_ACTIONS",
    "GITHUB_STEP_SUMMARY",
    "GITHUB_SHA",
    "GITHUB_OUTPUT",
    "NO_COLOR",
];

pub struct Place {
    pub dir: TempDir,
}

impl Place {
    pub fn empty() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file, and creates its directories.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
        for name in CI_VARIABLES {
            command.env_remove(name);
        }
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        let output = self.command().args(args).output().unwrap();
        assert!(
            !stderr(&output).contains("panicked"),
            "{args:?}: {output:?}"
        );
        output
    }

    pub fn code(&self, args: &[&str]) -> i32 {
        self.run(args).status.code().unwrap()
    }
}

pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The directory of real traces, if there is one.
pub fn corpus() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    if path.is_dir() {
        return Some(path);
    }
    assert!(
        std::env::var_os("SYSTOLE_REQUIRE_CORPUS").is_none(),
        "no corpus at {}",
        path.display()
    );
    println!("skipped: no corpus at {}", path.display());
    None
}
