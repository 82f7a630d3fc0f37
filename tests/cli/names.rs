//! Names of the Python package: `systole` belongs to another project on `PyPI`, so that nothing here may tell people to
//! install or import it.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::process::Command;
use std::sync::LazyLock;

use regex_lite::Regex;

use crate::guide::repository;

/// What installs, imports or runs a Python package; group 1 is its name.
const USES: [&str; 5] = [
    r#"\b(?:pip3?|pipx|conda|uv add|uv pip)(?: install| run| add| download)*(?: +-[^ ]+)* +['"]?(systole[a-z_-]*)(?:[^a-z/.]|$)"#,
    r"\b(?:import|from|python3? -m) +(systole[a-z_]*)\b",
    r#"\buvx +(?:--from +)?['"]?(systole[a-z_-]*)(?:[^a-z/.]|$)"#,
    r"(?:^|[^A-Za-z_:-])(systole(?:-tpu|_tpu)?)\[[a-z,]+\]",
    r"(?:^|[^A-Za-z_./-])(systole(?:_tpu)?)\.(?:open|trace|fleet|program|Run|Error)[(`\s)]",
];

fn named_in(text: &str) -> Vec<String> {
    static COMPILED: LazyLock<[Regex; 5]> =
        LazyLock::new(|| USES.map(|pattern| Regex::new(pattern).unwrap()));
    // Most lines name nothing, and patterns are slow without optimisation.
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("systole"))
        .collect();
    COMPILED
        .iter()
        .flat_map(|pattern| lines.iter().flat_map(|line| pattern.captures_iter(line)))
        .map(|found| found[1].to_owned())
        .collect()
}

#[test]
fn only_our_own_package_is_installed_and_imported() {
    assert_eq!(named_in("pip install -q 'systole[fleet]'"), ["systole"; 2]);
    assert_eq!(named_in("import systole\n"), ["systole"]);
    assert_eq!(
        named_in("`pip install systole`, then systole.open(path)"),
        ["systole"; 2]
    );
    assert!(named_in("systole query systole.toml, schema systole.fleet/1").is_empty());

    let root = repository();
    let listed = Command::new("git")
        .args(["ls-files"])
        .current_dir(&root)
        .output();
    let Some(listed) = listed.ok().filter(|git| git.status.success()) else {
        return;
    };
    let (mut wrong, mut ours) = (Vec::new(), 0);
    for name in String::from_utf8(listed.stdout).unwrap().lines() {
        // Rust has a crate of that name; this file names the other package.
        let is_build_file = name.ends_with("Cargo.toml") || name.ends_with("tests/cli/names.rs");
        let Ok(text) = fs::read_to_string(root.join(name)) else {
            continue;
        };
        for package in named_in(&text) {
            if package.ends_with("tpu") {
                ours += 1;
            } else if !is_build_file {
                wrong.push(format!("{name}: {package}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(ours > 50, "{ours} uses: the files are somewhere else");
}
