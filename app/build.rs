//! Tells the program which commit it is built from.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SYSTOLE_COMMIT");
    // Whoever packs the source can say it; else git knows it, where there is git. Builds for development do not ask:
    // each commit would rebuild the program.
    let told = std::env::var("SYSTOLE_COMMIT").ok();
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = told.or_else(|| if is_release { commit_of_git() } else { None });
    if let Some(commit) = commit.filter(|commit| is_commit(commit)) {
        println!("cargo::rustc-env=SYSTOLE_VERSION={} ({commit})", env!("CARGO_PKG_VERSION"));
    } else {
        println!("cargo::rustc-env=SYSTOLE_VERSION={}", env!("CARGO_PKG_VERSION"));
    }
}

fn is_commit(text: &str) -> bool {
    (7..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The commit of the checkout that this file belongs to; `None` in a tree without git, or inside of another's.
fn commit_of_git() -> Option<String> {
    let prefix = git(&["rev-parse", "--show-prefix"])?;
    if prefix != "app/" {
        return None;
    }
    for path in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", path])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
