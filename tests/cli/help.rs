//! Help, the version, completions and the manual.

use std::process::Command;

use crate::outputs::{printed, program, recompile, refused, run, text};

#[test]
fn without_display_help_replaces_the_window() {
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("Usage: systole"),
        "{}",
        text(&output.stderr)
    );
    if cfg!(target_os = "linux") {
        for display in [None, Some(":4711")] {
            let mut open = program(&["open", &recompile()]);
            if let Some(display) = display {
                open.env("DISPLAY", display);
            }
            let output = open.output().unwrap();
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{said}");
            assert!(
                said.contains("systole analyze PATH") && !said.contains("internal error"),
                "{said}"
            );
        }
    }
}

#[test]
fn help_is_short_or_has_examples() {
    let (short, long) = (printed(&["analyze", "-h"]), printed(&["analyze", "--help"]));
    assert!(
        short.lines().count() < 50 && !short.contains("Examples"),
        "{short}"
    );
    for wanted in [
        "Examples:",
        "Output:",
        "Assumptions:",
        "Part of the trace:",
        "Gates:",
        "json=-",
    ] {
        assert!(long.contains(wanted), "{wanted}: {long}");
    }
    for format in [
        "text", "json", "ndjson", "csv", "md", "junit", "sarif", "html",
    ] {
        assert!(
            refused(&["analyze", "x", "-o", "nonsense=x"]).contains(format),
            "{format}"
        );
        let about = short
            .split("--output")
            .nth(1)
            .unwrap()
            .split("--table")
            .next()
            .unwrap();
        assert!(about.contains(format), "{format}: {about}");
    }
    // Options are grouped under headings.
    let gates = long
        .split("Gates:")
        .nth(1)
        .unwrap()
        .split("Messages:")
        .next()
        .unwrap();
    assert!(
        gates.contains("--fail-on") && gates.contains("--budget") && !gates.contains("--format"),
        "{gates}"
    );
}

#[test]
fn completions_and_manual_list_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        assert!(
            script.contains("analyze") && script.contains("fail-on"),
            "{shell}"
        );
    }
    assert!(printed(&["man"]).contains(".TH systole 1"));
    let page = printed(&["man", "analyze"]);
    assert!(
        page.contains("fail\\-on") && page.contains("Examples"),
        "{page}"
    );
    assert!(refused(&["man", "nonsense"]).contains("analyze"));
}

#[test]
fn the_version_names_the_commit_where_there_is_one() {
    let version = printed(&["--version"]);
    let rest = version
        .trim_end()
        .strip_prefix(concat!("systole ", env!("CARGO_PKG_VERSION")))
        .unwrap();
    let commit = rest
        .strip_prefix(" (")
        .and_then(|rest| rest.strip_suffix(')'));
    let is_commit = |text: &str| {
        (7..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    assert!(
        rest.is_empty() || commit.is_some_and(is_commit),
        "{version}"
    );
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(args)
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| text(&output.stdout).trim().to_owned())
    };
    // Whoever builds a package from the source sets the commit in `SYSTOLE_COMMIT`.
    let is_told = option_env!("SYSTOLE_COMMIT").is_some_and(|told| !told.is_empty());
    if !is_told && git(&["rev-parse", "--show-prefix"]).as_deref() == Some("app/") {
        let commit = commit.expect("a build in a checkout knows its commit");
        assert!(
            git(&["rev-parse", "--verify", &format!("{commit}^{{commit}}")]).is_some(),
            "{version}"
        );
    }
}
