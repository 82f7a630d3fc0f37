//! Tells the program which commit it is built from.

use std::path::Path;
use std::process::Command;

/// Digits of a commit that are shown.
const DIGITS: usize = 12;

fn main() {
    fixed_address();
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SYSTOLE_COMMIT");
    // Whoever packs the source can say it; else git knows it, where there is git.
    let told = std::env::var("SYSTOLE_COMMIT")
        .ok()
        .filter(|told| !told.is_empty());
    if let Some(told) = told.as_ref().filter(|told| !is_commit(told)) {
        println!(
            "cargo::warning=SYSTOLE_COMMIT is no commit, and is left out of the version: {told}"
        );
    }
    let commit = told
        .or_else(commit_of_git)
        .filter(|commit| is_commit(commit));
    if let Some(commit) = commit
        .as_deref()
        .map(|commit| commit.get(..DIGITS).unwrap_or(commit))
    {
        println!(
            "cargo::rustc-env=SYSTOLE_VERSION={} ({commit})",
            env!("CARGO_PKG_VERSION")
        );
    } else {
        println!(
            "cargo::rustc-env=SYSTOLE_VERSION={}",
            env!("CARGO_PKG_VERSION")
        );
    }
}

/// The program is loaded where it is linked: otherwise the dynamic linker changes 72,000 addresses of a program with all
/// features at each start, and with them pages that would only be read.
fn fixed_address() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|set| set == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
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
    // The log of HEAD changes with each commit and checkout, and with nothing else. Without it: the branch that HEAD
    // names, in its own file or among the packed ones. A file that is not there would run this again each time.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
    let watched = |names: &[&str]| {
        let paths = names
            .iter()
            .filter_map(|name| git(&["rev-parse", "--git-path", name]));
        let paths: Vec<String> = paths.filter(|path| Path::new(path).is_file()).collect();
        for path in &paths {
            println!("cargo::rerun-if-changed={path}");
        }
        !paths.is_empty()
    };
    if !watched(&["logs/HEAD"]) {
        watched(&["HEAD", &branch, "packed-refs"]);
    }
    git(&["rev-parse", "HEAD"])
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(args)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
