//! The user guide in `docs`: its links are valid, every report, format, hint and command has its page, and pages use
//! no name that the program does not have. `docs/commands.md` is written by a test, see below.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use analysis::ANALYSES;
use analysis::hints::rules;
use importers::IMPORTERS;
use regex_lite::Regex;

/// Pages of formats without an importer, because they only add to other files.
const FORMATS_BESIDE_OTHERS: [&str; 1] = ["llo"];
/// Sections that each page of a report has.
const REPORT_SECTIONS: [&str; 3] = ["Figures", "Traps", "XProf"];
/// Sections that each page of a format has.
const FORMAT_SECTIONS: [&str; 3] = ["Recognised by", "What it tells", "What it cannot tell"];

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// The files of the guide.
pub fn pages_on_disk() -> BTreeSet<PathBuf> {
    fn collect(folder: &Path, pages: &mut BTreeSet<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, pages);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.insert(path);
            }
        }
    }
    let mut pages = BTreeSet::new();
    collect(&repository().join("docs"), &mut pages);
    assert!(
        pages.len() > 100,
        "{} pages: the guide is somewhere else",
        pages.len()
    );
    pages
}

/// The pages of the guide by their path below `docs`, with the files that they include.
fn pages() -> BTreeMap<PathBuf, String> {
    let docs = repository().join("docs");
    let below = |page: &Path| page.strip_prefix(&docs).unwrap().to_owned();
    pages_on_disk()
        .iter()
        .map(|page| (below(page), with_includes(page)))
        .collect()
}

fn with_includes(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let include = Regex::new(r"\{\{#include ([^}]+)\}\}").unwrap();
    let mut out = String::new();
    let mut rest = 0;
    for found in include.captures_iter(&text) {
        let (whole, file) = (
            found.get(0).unwrap(),
            path.parent().unwrap().join(&found[1]),
        );
        let included =
            fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        out.push_str(&text[rest..whole.start()]);
        out.push_str(&included);
        rest = whole.end();
    }
    out + &text[rest..]
}

/// Lines that are not in a block of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// Ids of the headings of a page, as mdBook makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let ids = headings.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let known = |letter: &char| {
            letter.is_alphanumeric() || matches!(letter, '_' | '-') || letter.is_whitespace()
        };
        let id: String = title
            .chars()
            .filter(known)
            .map(|c| if c.is_whitespace() { '-' } else { c })
            .collect();
        let times = seen.entry(id.clone()).or_default();
        *times += 1;
        if *times == 1 {
            id
        } else {
            format!("{id}-{}", *times - 1)
        }
    });
    ids.collect()
}

/// Targets of links and images on a page.
fn links(text: &str) -> Vec<String> {
    let code = Regex::new("`[^`]*`").unwrap();
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let lines = prose(text).map(|line| code.replace_all(line, "code").into_owned());
    lines
        .flat_map(|line| {
            link.captures_iter(&line)
                .map(|found| found[1].to_owned())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Normalizes `page/../other` to `other`; `None` if it leaves the folder.
fn resolved(page: &Path, target: &str) -> Option<PathBuf> {
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir if !path.pop() => return None,
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    Some(path)
}

/// The reason why a link is broken.
fn dead_link(
    page: &Path,
    target: &str,
    root: &Path,
    texts: &BTreeMap<PathBuf, String>,
) -> Option<String> {
    if target.contains("://") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() {
        Some(page.to_owned())
    } else {
        resolved(page, file)
    };
    let Some(path) = path.filter(|path| root.join(path).exists()) else {
        return Some(format!("{}: no file {target}", page.display()));
    };
    let known = anchor.is_empty()
        || texts
            .get(&path)
            .is_some_and(|text| anchors(text).contains(anchor));
    (!known).then(|| format!("{}: no heading {target}", page.display()))
}

#[test]
fn links_resolve() {
    let (root, guide) = (repository(), pages());
    let docs = root.join("docs");
    let within = guide.iter().flat_map(|(page, text)| {
        links(text)
            .into_iter()
            .filter_map(|target| dead_link(page, &target, &docs, &guide))
            .collect::<Vec<_>>()
    });
    let mut dead: Vec<String> = within.collect();
    let mut others: BTreeMap<PathBuf, String> = guide
        .iter()
        .map(|(page, text)| (Path::new("docs").join(page), text.clone()))
        .collect();
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "PERFORMANCE.md",
    ] {
        let page = PathBuf::from(name);
        others.insert(page.clone(), fs::read_to_string(root.join(&page)).unwrap());
        let targets = links(&others[&page]);
        dead.extend(
            targets
                .iter()
                .filter_map(|target| dead_link(&page, target, &root, &others)),
        );
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn summary_lists_every_page_once() {
    let guide = pages();
    let summary = Path::new("SUMMARY.md");
    let listed: Vec<PathBuf> = links(&guide[summary])
        .iter()
        .filter_map(|link| resolved(summary, link))
        .collect();
    let distinct: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(distinct.len(), listed.len(), "a page is listed twice");
    let missing: Vec<_> = guide
        .keys()
        .filter(|&page| page != summary && !distinct.contains(page))
        .collect();
    assert!(missing.is_empty(), "not in SUMMARY.md: {missing:?}");
}

/// The pages of a folder by name; checks that none is missing or superfluous.
fn pages_of(
    folder: &str,
    known: impl IntoIterator<Item = &'static str>,
) -> BTreeMap<String, String> {
    let below = pages()
        .into_iter()
        .filter(|(page, _)| page.parent() == Some(Path::new(folder)));
    let found =
        below.map(|(page, text)| (page.file_stem().unwrap().to_str().unwrap().to_owned(), text));
    let found: BTreeMap<String, String> = found.filter(|(name, _)| name != "README").collect();
    let known: BTreeSet<String> = known.into_iter().map(str::to_owned).collect();
    assert_eq!(
        found.keys().cloned().collect::<BTreeSet<_>>(),
        known,
        "pages of docs/{folder}, and what is known"
    );
    found
}

fn has_sections(folder: &str, pages: &BTreeMap<String, String>, sections: &[&str]) {
    for (name, text) in pages {
        for section in sections {
            let heading = format!("## {section}");
            assert!(
                prose(text).any(|line| line == heading),
                "docs/{folder}/{name}.md has no section {heading:?}"
            );
        }
        let id = format!("(`{name}`)");
        assert!(
            text.lines().next().unwrap_or_default().ends_with(&id),
            "docs/{folder}/{name}.md: title ends in {id}"
        );
    }
}

#[test]
fn each_report_has_its_page() {
    let pages = pages_of("reports", ANALYSES.iter().map(|analysis| analysis.id));
    has_sections("reports", &pages, &REPORT_SECTIONS);
}

#[test]
fn each_format_has_its_page() {
    let formats = IMPORTERS.iter().map(|importer| importer.format().id);
    let pages = pages_of("formats", formats.chain(FORMATS_BESIDE_OTHERS));
    has_sections("formats", &pages, &FORMAT_SECTIONS);
}

#[test]
fn each_hint_has_its_page() {
    pages_of("hints", rules().iter().map(|rule| rule.id));
}

/// `systole COMMAND --help`, in a hundred columns.
fn help(command: &[&str]) -> String {
    let program = Command::new(env!("CARGO_BIN_EXE_systole"))
        .args(command)
        .arg("--help")
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(program.status.success(), "{command:?}");
    let text = String::from_utf8(program.stdout).unwrap();
    text.lines()
        .fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

/// The commands of the program, as its help lists them.
fn commands() -> Vec<String> {
    let help = help(&[]);
    let list = help
        .split_once("Commands:\n")
        .unwrap()
        .1
        .split_once("\n\n")
        .unwrap()
        .0;
    let begins = Regex::new("(?m)^  ([a-z]+) ").unwrap();
    let names = begins.captures_iter(list).map(|found| found[1].to_owned());
    names.filter(|name| name != "help").collect()
}

/// Compares docs/commands.md with the help of the program; `UPDATE_GOLDEN=1` writes it.
#[test]
fn command_line_reference_is_up_to_date() {
    let mut text =
        "# Command line\n\nThis page is the output of `--help`.\n\n## systole\n\n```text\n"
            .to_owned();
    let _ = writeln!(text, "{}```", help(&[]));
    for command in commands() {
        let _ = write!(
            text,
            "\n## systole {command}\n\n```text\n{}```\n",
            help(&[&command])
        );
    }
    let path = repository().join("docs/commands.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let written = fs::read_to_string(&path)
        .unwrap_or_default()
        .replace("\r\n", "\n");
    let differing = text
        .lines()
        .zip(written.lines())
        .find(|(now, then)| now != then);
    assert!(
        written == text,
        "docs/commands.md is stale, write it with UPDATE_GOLDEN=1: {differing:?}"
    );
}

/// ARCHITECTURE.md names files by the end of their path.
#[test]
fn architecture_names_existing_files() {
    let root = repository();
    let listed = Command::new("git")
        .args(["ls-files"])
        .current_dir(&root)
        .output();
    let Some(listed) = listed.ok().filter(|git| git.status.success()) else {
        return;
    };
    let files: Vec<String> = String::from_utf8(listed.stdout)
        .unwrap()
        .lines()
        .map(|line| format!("/{line}"))
        .collect();
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let name = Regex::new(r"`([a-z_][a-z_/-]*\.(?:rs|toml))`").unwrap();
    let named: BTreeSet<&str> = name
        .captures_iter(&text)
        .map(|found| found.get(1).unwrap().as_str())
        .collect();
    assert!(named.len() > 15, "{named:?}");
    let missing: Vec<_> = named
        .iter()
        .filter(|name| !files.iter().any(|file| file.ends_with(&format!("/{name}"))))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Command lines of `systole` in the documents, in blocks or spans of code.
fn examples(text: &str) -> Vec<String> {
    let span = Regex::new("`(systole [^`]+)`").unwrap();
    let in_spans = span
        .captures_iter(text)
        .map(|found| found[1].replace('\n', " "));
    let joined = text.replace("\\\n", " ");
    let in_blocks = joined.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches("$ ");
        line.starts_with("systole ")
            .then(|| line.split(" #").next().unwrap_or_default().to_owned())
    });
    in_spans.chain(in_blocks.collect::<Vec<_>>()).collect()
}

#[test]
fn documents_name_existing_commands_options_reports_and_hints() {
    let root = repository();
    let mut documents: BTreeMap<PathBuf, String> = pages();
    documents.remove(Path::new("commands.md"));
    documents.insert(
        "README.md of the project".into(),
        fs::read_to_string(root.join("README.md")).unwrap(),
    );
    let commands = commands();
    let helps: BTreeMap<&str, String> = commands
        .iter()
        .map(|name| (name.as_str(), help(&[name])))
        .collect();
    let mut reports: BTreeSet<&str> = ANALYSES.iter().map(|analysis| analysis.id).collect();
    // Tables of comparisons.
    reports.insert("why");
    let hints: BTreeSet<&str> = rules().iter().map(|rule| rule.id).collect();
    let option = Regex::new(r"(?:^|[\s\[])--([a-z][a-z-]+)").unwrap();
    let only = Regex::new(r"--only[ =]([a-z_,]+)").unwrap();
    let hint = Regex::new(r"\b([KQ][0-9][0-9])\b").unwrap();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (page, text) in &documents {
        let mut report = |what: String| wrong.push(format!("{}: {what}", page.display()));
        for example in examples(text) {
            let name = example.split_whitespace().nth(1).unwrap_or_default();
            let Some(help) = helps.get(name) else {
                if !name.starts_with('-')
                    && name.chars().all(|letter| letter.is_ascii_lowercase())
                    && name != "help"
                {
                    report(format!("no command {name:?} in {example:?}"));
                }
                continue;
            };
            seen += 1;
            for found in option.captures_iter(&example) {
                let option = format!("--{}", &found[1]);
                if !help.contains(&option) && option != "--help" {
                    report(format!("systole {name} has no {option}: {example:?}"));
                }
            }
        }
        for found in only.captures_iter(text) {
            let unknown = found[1]
                .split(',')
                .filter(|id| !id.is_empty() && !reports.contains(id));
            unknown.for_each(|id| report(format!("no report {id:?}")));
        }
        let unknown: BTreeSet<&str> = hint
            .captures_iter(text)
            .map(|found| found.get(1).unwrap().as_str())
            .filter(|id| !hints.contains(id))
            .collect();
        for id in unknown {
            report(format!("no hint {id}"));
        }
    }
    assert!(seen > 50, "only {seen} examples found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Pages that only name files, tools or columns of XProf.
const NAME_XPROF_ONLY: [&str; 9] = [
    "SUMMARY.md",
    "capture.md",
    "compare.md",
    "formats/trace-event-json.md",
    "formats/xplane.md",
    "reports/README.md",
    "serve.md",
    "speed.md",
    "where.md",
];

/// What XProf does changes from version to version: a page that says what it does names the one that was asked.
#[test]
fn claims_about_xprof_name_its_version() {
    let version = Regex::new(r"XProf\s[0-9]+\.[0-9]+\.[0-9]+").unwrap();
    let mut without = Vec::new();
    for (page, text) in pages() {
        let name = page.to_str().unwrap().replace('\\', "/");
        if name.starts_with("hints/")
            || name == "commands.md"
            || NAME_XPROF_ONLY.contains(&name.as_str())
        {
            continue;
        }
        let section = text
            .split_once("\n## XProf\n")
            .map(|(_, rest)| rest.split("\n## ").next().unwrap());
        let claims = section.or_else(|| text.contains("XProf").then_some(text.as_str()));
        if claims.is_some_and(|claims| !version.is_match(claims)) {
            without.push(name);
        }
    }
    assert!(without.is_empty(), "which version of XProf? {without:?}");
}
