//! The folders of each crate import each other in one direction only, and no files import each other in a cycle.
//!
//! Source files are scanned without a parser: comments, literals and tests are removed, then every path that begins
//! with `crate::` or `super::` is found, in `use` trees as elsewhere, and made absolute.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

mod layers_imports;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use layers_imports::{absolute, imports, paths, plain};

/// The folders of a crate. An import may lead to a later group only; folders of one group do not know each other.
/// A module below another is named by its path.
struct CrateFolders {
    /// Folder of the sources, from the root of the repository.
    sources: &'static str,
    /// From the top to the bottom.
    order: &'static [&'static [&'static str]],
}

const CRATES: [CrateFolders; 8] = [
    CrateFolders {
        sources: "analysis/advice/src",
        order: &[&["hints", "critical_path"], &["what_if"]],
    },
    CrateFolders {
        sources: "analysis/comparison/src",
        order: &[&["expect"], &["gates", "kernels"], &["compare"]],
    },
    CrateFolders {
        sources: "analysis/run-reports/src",
        order: &[&["summary"], &["host"], &["hlo"]],
    },
    CrateFolders {
        sources: "analysis/device-reports/src",
        order: &[&["ops", "memory"], &["steps"], &["communication"]],
    },
    CrateFolders {
        sources: "importers/src",
        order: &[&["import"], &["registry", "access"], &["remote"]],
    },
    CrateFolders {
        sources: "app/session/src",
        order: &[
            &["export"],
            &["convert", "events", "anonymize"],
            &["tables", "run_summary", "capture_size"],
            &["open", "devices"],
            &["user_files"],
            &["environment"],
            &["files"],
            &["stdin"],
            &["number", "fingerprint", "xml"],
        ],
    },
    CrateFolders {
        sources: "app/view/src",
        order: &[
            &["sessions"],
            &["compare"],
            &["charts"],
            &["panels", "search"],
            &["timeline"],
            &["state"],
            &["drawing"],
            &["time_format", "palette", "in_time"],
            &["viewport", "overview"],
            &["prelude"],
        ],
    },
    CrateFolders {
        sources: "app/cli/src",
        order: &[&["commands"], &["common"], &["prelude"]],
    },
];

/// The crates of the workspace, by folder.
fn members(root: &Path) -> Vec<PathBuf> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let list = manifest
        .split_once("members = [")
        .unwrap()
        .1
        .split_once(']')
        .unwrap()
        .0;
    let folders: Vec<PathBuf> = list
        .split(',')
        .map(|name| root.join(name.trim().trim_matches('"')))
        .collect();
    assert!(
        folders.len() > 20
            && folders
                .iter()
                .all(|folder| folder.join("Cargo.toml").is_file()),
        "{folders:?}"
    );
    folders
}

#[test]
fn files_of_a_crate_do_not_import_each_other_in_a_cycle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    for folder in members(&root).into_iter().map(|folder| folder.join("src")) {
        let mut paths = vec![folder.join("lib.rs")];
        sources(&folder, &mut paths);
        let read = |path: &PathBuf| {
            (
                module_of(path.strip_prefix(&folder).unwrap()),
                fs::read_to_string(path).unwrap(),
            )
        };
        let found = cycles(
            &paths
                .iter()
                .filter(|path| path.is_file())
                .map(read)
                .collect(),
        );
        wrong.extend(
            found
                .iter()
                .map(|cycle| format!("{}: {}", folder.display(), cycle.join(", "))),
        );
    }
    assert!(
        wrong.is_empty(),
        "files import each other in a cycle:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn import_cycles_through_reexports_are_found() {
    let of = |files: &[(&str, &str)]| {
        let module = |name: &str| name.split("::").map(str::to_owned).collect::<Vec<_>>();
        cycles(
            &files
                .iter()
                .map(|(name, text)| (module(name), (*text).to_owned()))
                .collect(),
        )
        .len()
    };
    assert_eq!(
        of(&[("a", "use crate::b::B;"), ("b", "use crate::a::A;")]),
        1
    );
    assert_eq!(
        of(&[
            ("a", "use crate::b::B;"),
            ("b", "// crate::a::A"),
            ("c", "use crate::a::A;")
        ]),
        0
    );
    let parent = |text| ("p", text);
    assert_eq!(
        of(&[
            parent("mod x; pub use x::X;"),
            ("p::x", "use super::y::Y;"),
            ("p::y", "")
        ]),
        0,
        "it only hands on"
    );
    assert_eq!(
        of(&[
            parent("mod x; mod y; pub use x::X;"),
            ("p::x", "use super::y::Y;"),
            ("p::y", "use super::X;")
        ]),
        1
    );
    assert_eq!(
        of(&[
            parent("mod x; fn f() { x::g() }"),
            ("p::x", "use super::Own;")
        ]),
        1,
        "a child by its name"
    );
    let prelude = ("prelude", "pub(crate) use crate::a::A;");
    assert_eq!(
        of(&[
            prelude,
            ("a", "use crate::b::B;"),
            ("b", "use crate::prelude::*;")
        ]),
        1,
        "all of a prelude"
    );
    assert_eq!(
        of(&[
            prelude,
            ("a", "use std::fmt;"),
            ("b", "use crate::prelude::*;")
        ]),
        0
    );
}

#[test]
fn folders_import_downwards_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    for own in &CRATES {
        let folder = root.join(own.sources);
        let mut files = Vec::new();
        sources(&folder, &mut files);
        assert!(files.len() > 10, "{}: {} files", own.sources, files.len());
        for file in files {
            let inside = file.strip_prefix(&folder).unwrap();
            let text = fs::read_to_string(&file).unwrap();
            let found = upwards(&module_of(inside), &text, own.order);
            wrong.extend(
                found
                    .iter()
                    .map(|what| format!("{}/{}: {what}", own.sources, inside.display())),
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "imports against the order of the folders:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn upward_imports_are_found_in_every_syntax() {
    let order: &[&[&str]] = &[
        &["top"],
        &["left", "right"],
        &["bottom::upper"],
        &["bottom::lower"],
    ];
    let of = |module: &str, text: &str| {
        let module: Vec<String> = module.split("::").map(str::to_owned).collect();
        upwards(&module, text, order).len()
    };
    assert_eq!(
        of(
            "top",
            "use crate::left::A;\nuse crate::{right::{B, C}, bottom::lower};"
        ),
        0
    );
    assert_eq!(of("left", "use crate::top::A;"), 1);
    assert_eq!(of("left", "use crate::right::A;"), 1, "one beside it");
    assert_eq!(
        of(
            "left::deep",
            "use super::super::{left::B, top::{self, C as D}};"
        ),
        2
    );
    assert_eq!(of("bottom::lower", "use super::upper::X;"), 1);
    assert_eq!(of("bottom::upper", "use super::lower::X;"), 0);
    assert_eq!(
        of(
            "bottom::upper::a",
            "use crate::{\n    bottom::{lower::Y, upper::Z},\n    right::{B, C},\n};"
        ),
        2
    );
    assert_eq!(
        of("left", "fn f() { crate::top::g(); }"),
        1,
        "paths count as imports do"
    );
    assert_eq!(
        of("left", "use crate::Unnamed;"),
        1,
        "the root of the crate is above all folders"
    );
    assert_eq!(
        of(
            "left",
            "// crate::top::A\n/* crate::top::A */ const A: &str = \"crate::top\";"
        ),
        0
    );
    assert_eq!(
        of(
            "left",
            "#[cfg(test)]\nmod tests {\n    use crate::top::A; fn f() { let c = '{'; }\n}\nfn f() {}"
        ),
        0
    );
    assert_eq!(
        of(
            "left",
            "#[cfg(test)]\nmod tests { fn f() {} }\nuse crate::top::A;"
        ),
        1
    );
}

/// A module with submodules is the `mod.rs` of its folder.
#[test]
fn no_file_stands_beside_its_folder() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crates = members(&root);
    let folders = crates
        .iter()
        .flat_map(|folder| [folder.join("src"), folder.join("tests/suite")]);
    let mut files = Vec::new();
    for folder in folders.chain([root.join("tests")]) {
        if folder.is_dir() {
            sources(&folder, &mut files);
        }
    }
    files.retain(|file| file.with_extension("").is_dir());
    assert!(files.is_empty(), "{files:?}");
}

/// Files below `folder` that are part of the program.
fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "tests" {
                sources(&path, out);
            }
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && name != "lib"
            && name != "testing"
            && name != "tests"
            && !name.ends_with("_tests")
        {
            out.push(path);
        }
    }
}

/// The module of a file.
fn module_of(inside: &Path) -> Vec<String> {
    let mut module: Vec<String> = inside
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if module
        .last()
        .is_some_and(|last| last == "mod" || last == "lib")
    {
        module.pop();
    }
    module
}

/// Imports of `module` that lead upwards, to the same group, or to a module that the order does not name. A module
/// outside all folders may import nothing: it only lists others.
fn upwards(module: &[String], text: &str, order: &[&[&str]]) -> Vec<String> {
    let here = place(module, order);
    let mut wrong = Vec::new();
    for path in paths(&plain(text)) {
        let target = absolute(module, &path);
        // A module may import from its own submodules.
        if target.starts_with(module) {
            continue;
        }
        let is_fine = match (here, place(&target, order)) {
            (Some((a, own)), Some((b, other))) => a < b || own == other,
            _ => false,
        };
        if !is_fine {
            wrong.push(path.join("::"));
        }
    }
    wrong
}

/// The group of a path in the order, and its folder: the longest matching prefix.
fn place<'a>(path: &[String], order: &[&[&'a str]]) -> Option<(usize, &'a str)> {
    let fits = |folder: &&str| {
        let parts: Vec<&str> = folder.split("::").collect();
        parts.len() <= path.len() && parts.iter().zip(path).all(|(part, own)| part == own)
    };
    let all = order
        .iter()
        .enumerate()
        .flat_map(|(at, group)| group.iter().map(move |folder| (at, *folder)));
    all.filter(|(_, folder)| fits(folder))
        .max_by_key(|(_, folder)| folder.len())
}

/// The modules that a module imports from, and those that it re-exports.
type Imports = (Vec<Vec<String>>, Vec<Vec<String>>);

/// Groups of modules that import each other in a cycle. An item that a module only re-exports (`pub use`) counts as
/// imported from the module that defines it, and all that a prelude re-exports as imported by those who import the
/// prelude.
fn cycles(files: &BTreeMap<Vec<String>, String>) -> Vec<Vec<String>> {
    let files: BTreeMap<&Vec<String>, Imports> = files
        .iter()
        .map(|(module, text)| (module, imports(module, &plain(text))))
        .collect();
    let handed_on: BTreeMap<Vec<String>, &Vec<String>> = files
        .iter()
        .flat_map(|(module, (_, on))| {
            on.iter()
                .map(|path| ([&module[..], &path[path.len() - 1..]].concat(), path))
        })
        .collect();
    let place = |path: &Vec<String>| {
        let mut path = path.clone();
        for _ in 0..8 {
            let known = (0..=path.len())
                .rev()
                .find(|&length| files.contains_key(&path[..length].to_vec()));
            let length = known.unwrap_or(0);
            match path.get(..=length).and_then(|name| handed_on.get(name)) {
                Some(target) if path[..=length] != target[..] => {
                    path = [target, &path[length + 1..]].concat();
                }
                _ => return known.map(|length| path[..length].to_vec()),
            }
        }
        None
    };
    let whole = |target: Vec<String>| {
        let is_prelude = target.last().is_some_and(|name| name == "prelude");
        let on = files.get(&target).filter(|_| is_prelude);
        let handed = on.into_iter().flat_map(|(_, on)| on).filter_map(place);
        handed.chain([target.clone()]).collect::<Vec<_>>()
    };
    let edges: BTreeMap<&Vec<String>, BTreeSet<Vec<String>>> = files
        .iter()
        .map(|(module, (used, _))| {
            let used = used.iter().filter_map(place).flat_map(whole);
            (*module, used.collect())
        })
        .collect();
    let reach = |from: &Vec<String>| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = open.pop() {
            open.extend(
                edges[&module]
                    .iter()
                    .filter(|&next| *next != module && seen.insert(next.clone()))
                    .cloned(),
            );
        }
        seen
    };
    let reached: BTreeMap<&Vec<String>, BTreeSet<Vec<String>>> =
        files.keys().map(|&from| (from, reach(from))).collect();
    let mut cycles: BTreeSet<Vec<String>> = BTreeSet::new();
    for (from, to) in &reached {
        if to.contains(*from) {
            cycles.insert(
                to.iter()
                    .filter(|&other| reached[other].contains(*from))
                    .map(|m| m.join("::"))
                    .collect(),
            );
        }
    }
    cycles.into_iter().collect()
}
