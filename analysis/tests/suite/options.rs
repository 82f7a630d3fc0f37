//! Flags and options that hints and the guide name exist: each is in a list that says where it was looked up.
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use analysis::hardware::chips::Chip;
use regex_lite::Regex;
use toml::{Table, Value};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn list() -> Table {
    std::fs::read_to_string(root().join("assets/options.toml"))
        .unwrap()
        .parse()
        .unwrap()
}

fn entries<'t>(list: &'t Table, key: &str) -> impl Iterator<Item = &'t Table> {
    list[key]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry.as_table().unwrap())
}

fn text<'t>(entry: &'t Table, key: &str) -> &'t str {
    entry[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} of {entry:?}"))
}

/// What holds where nobody sets an option, where that is known.
fn defaults(list: &Table) -> BTreeMap<&str, Option<&str>> {
    entries(list, "option")
        .map(|entry| {
            (
                text(entry, "name"),
                entry.get("default").and_then(Value::as_str),
            )
        })
        .collect()
}

/// Files below a folder with one of these endings, with what they say; tests beside the code are cut off.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("tests") {
                folders.push(path);
            } else if path.extension().is_some_and(|own| own == ending)
                && !path.ends_with("tests.rs")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                let text = text
                    .split("#[cfg(test)]")
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                found.push((path.display().to_string(), text));
            }
        }
    }
    assert!(!found.is_empty(), "nothing in {folder}");
    found
}

/// Flags and variables of the environment, which look like nothing else.
const FLAGS: &str =
    r"--(xla_\w+)|\b(xla_tpu_\w+)|\b(LIBTPU_INIT_ARGS|XLA_FLAGS|(?:JAX|PT_XLA|TPU)_[A-Z_]{3,})\b";
/// Options of JAX, and functions; in sentences and examples only.
const NAMES: &str = r#"["`](jax_[a-z_]+)["`]|\b((?:jax|lax|jnp|pl|pltpu|xm|xs|xr|xp|met|torch_xla|tf|optax)(?:\.[A-Za-z]\w*)+)"#;

/// Names that a pattern finds, each with a file.
fn named(pattern: &str, files: &[(String, String)]) -> BTreeMap<String, String> {
    let pattern = Regex::new(pattern).unwrap();
    let of_file = |(path, text): &(String, String)| -> Vec<(String, String)> {
        let names = pattern
            .captures_iter(text)
            .filter_map(|found| found.iter().skip(1).flatten().next());
        names
            .map(|name| (name.as_str().to_owned(), path.clone()))
            .collect()
    };
    files.iter().flat_map(of_file).collect()
}

fn all_names() -> BTreeMap<String, String> {
    let (pages, hints) = (
        files("docs", "md"),
        files("analysis/advice/src/hints", "rs"),
    );
    let code: Vec<_> = ["analysis", "app", "importers"]
        .iter()
        .flat_map(|at| files(at, "rs"))
        .collect();
    let mut names = named(NAMES, &pages);
    // Paths of Rust have two colons, so that names with a point are those of Python.
    names.extend(named(r"\b(jax(?:\.[A-Za-z]\w*)+)", &hints));
    names.extend(named(FLAGS, &pages));
    names.extend(named(FLAGS, &code));
    names
}

#[test]
fn each_named_option_is_listed_with_its_source() {
    let list = list();
    let (known, sources) = (defaults(&list), list["sources"].as_table().unwrap());
    let mut named = all_names();
    // Ends of file names, of words and of the address docs.jax.dev, no functions.
    named.retain(|name, _| {
        !["md", "py", "pb", "dev"]
            .iter()
            .any(|end| name.ends_with(&format!(".{end}")))
    });
    let unknown: Vec<_> = named
        .iter()
        .filter(|(name, _)| !known.contains_key(name.as_str()))
        .collect();
    assert!(
        unknown.is_empty(),
        "not in assets/options.toml: look them up, or do not name them: {unknown:#?}"
    );
    for entry in entries(&list, "option") {
        let own = entry["sources"].as_array().unwrap();
        let is_source = |source: &Value| {
            source
                .as_str()
                .is_some_and(|source| sources.contains_key(source))
        };
        assert!(
            !own.is_empty() && own.iter().all(is_source),
            "{}: where was it looked up?",
            text(entry, "name")
        );
        let kinds = [
            "libtpu flag",
            "xla flag",
            "environment variable",
            "jax option",
            "function",
        ];
        assert!(kinds.contains(&text(entry, "kind")), "{entry:?}");
    }
    let of_collectives: BTreeSet<&str> = collective_flags(&list)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let unused = |name: &&&str| !named.contains_key(**name) && !of_collectives.contains(**name);
    let unused: Vec<_> = known.keys().filter(unused).collect();
    assert!(unused.is_empty(), "named nowhere: {unused:?}");
}

/// Flags that make collectives asynchronous, with their values.
fn collective_flags(list: &Table) -> Vec<(&str, &str)> {
    let flags = entries(list, "collective")
        .filter_map(|entry| entry.get("flags")?.as_array())
        .flatten();
    flags
        .map(|flag| flag.as_str().unwrap().split_once('=').unwrap())
        .collect()
}

#[test]
fn advice_sets_no_option_to_its_default() {
    let list = list();
    let known = defaults(&list);
    let same = |a: &str, b: &str| {
        a == b
            || matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if (a - b).abs() < f64::EPSILON)
    };
    let is_default = |name: &str, value: &str| {
        known
            .get(name)
            .copied()
            .flatten()
            .is_some_and(|default| same(default, value))
    };
    let set = Regex::new(r#"--(xla_\w+)=(\w+)|`(jax_\w+)` to (\w+)|"(jax_\w+)", (\w+)\)"#).unwrap();
    let mut settings = 0;
    for (path, text) in files("docs", "md").iter().chain(&files("analysis", "rs")) {
        for found in set.captures_iter(text) {
            let mut parts = found.iter().skip(1).flatten().map(|part| part.as_str());
            let (Some(name), Some(value)) = (parts.next(), parts.next()) else {
                panic!("{path}")
            };
            assert!(!is_default(name, value), "{path}: {name} is {value} anyway");
            settings += 1;
        }
    }
    assert!(settings >= 10, "{settings}: the pattern fits nothing");
    for (name, value) in collective_flags(&list) {
        assert!(known.contains_key(name), "{name} is not looked up");
        assert!(!is_default(name, value), "{name} is {value} anyway");
    }
}

#[test]
fn each_kind_of_collective_has_one_answer_for_a_chip() {
    let list = list();
    let mut seen = BTreeSet::new();
    for entry in entries(&list, "collective") {
        let by_default = entry["by_default"].as_bool().unwrap();
        assert!(
            !by_default || !entry.contains_key("flags"),
            "no flag is needed: {entry:?}"
        );
        for chip in entry["chips"].as_array().unwrap() {
            let chip = chip.as_str().unwrap();
            assert!(
                Chip::named(chip).is_some_and(|own| own.id == chip),
                "{chip}"
            );
            assert!(seen.insert((text(entry, "kind"), chip)), "twice: {entry:?}");
        }
    }
}
