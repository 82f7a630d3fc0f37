//! Blocks of output in the guide and in README.md are what the program prints:
//!
//! ~~~text
//! <!-- run: systole summarize assets/samples/a.xplane.pb -o base.json -->
//! <!-- output: systole analyze assets/samples/b.xplane.pb | first 4, "K01" 2 -->
//! ```text
//! ~~~
//!
//! `run` prepares what the commands below it read. After the bar stand the parts that are shown: so many lines (`*`: those
//! before the next empty one) from the first one, or from the first one that contains a text. A line `…` stands for lines
//! that are left out. `exit 10` among the parts is the code with which the command ends, 0 if none is named. The commands
//! run in one folder a page, in which `assets` and `../shared/corpus` are those of the project; a block that needs the
//! corpus is checked only where it is. `UPDATE_GOLDEN=1` writes the blocks.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests may fail loudly too"
)]

use std::fs;
use std::ops::Range;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex_lite::Regex;

use crate::guide::{pages_on_disk, repository};

const CORPUS: &str = "../shared/corpus";
/// The folder in which the commands of a page run.
struct Workplace {
    folder: tempfile::TempDir,
}

impl Workplace {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        symlink(
            repository().join("assets"),
            folder.path().join("project/assets"),
        )
        .unwrap();
        symlink(repository().join("../shared"), folder.path().join("shared")).unwrap();
        Self { folder }
    }

    /// What a command prints that ends with this code; `None` if it needs the corpus and there is none.
    fn run(&self, command: &str, code: i32) -> Option<String> {
        let folder = self.folder.path().join("project");
        if command.contains(CORPUS) && !folder.join(CORPUS).is_dir() {
            let is_required =
                std::env::var_os("SYSTOLE_REQUIRE_CORPUS").is_some_and(|value| value == "1");
            assert!(!is_required, "{CORPUS} is required but absent");
            println!("skipped: {CORPUS} is absent: {command}");
            return None;
        }
        let arguments = command
            .strip_prefix("systole ")
            .unwrap_or_else(|| panic!("not a command: {command}"));
        let mut program = Command::new(env!("CARGO_BIN_EXE_systole"));
        for name in ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"] {
            program.env_remove(name);
        }
        let program = program
            .args(arguments.split_whitespace())
            .env("COLUMNS", "100")
            .current_dir(folder);
        let output = program.stdin(Stdio::null()).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{command}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Some(String::from_utf8(output.stdout).unwrap())
    }
}

fn parts_of(parts: &str) -> impl Iterator<Item = &str> {
    parts
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

/// 10 of `exit 10`.
fn exit_code(part: &str) -> Option<i32> {
    part.strip_prefix("exit ").map(|code| code.parse().unwrap())
}

/// The parts of an output that a page shows, `first 4, "K01" 2`, with `…` where lines are left out.
fn shown(output: &str, parts: &str) -> String {
    let lines: Vec<&str> = output.lines().map(str::trim_end).collect();
    let range = |part: &str| -> Range<usize> {
        let (from, count) = part.trim().rsplit_once(' ').unwrap();
        let start = match from.trim_matches('"') {
            "first" => 0,
            text => lines
                .iter()
                .position(|line| line.contains(text))
                .unwrap_or_else(|| panic!("no {text:?}: {output}")),
        };
        let rest = &lines[start..];
        let paragraph = || {
            rest.iter()
                .position(|line| line.is_empty())
                .unwrap_or(rest.len())
        };
        let count = if count == "*" {
            paragraph()
        } else {
            count.parse().unwrap()
        };
        start..start + count.min(rest.len())
    };
    let mut ranges: Vec<Range<usize>> = parts_of(parts)
        .filter(|part| exit_code(part).is_none())
        .map(range)
        .collect();
    if ranges.is_empty() {
        ranges.push(0..lines.len());
    }
    let (mut out, mut done) = (String::new(), 0);
    let rest = lines.len()..lines.len();
    for range in ranges.into_iter().chain([rest]) {
        assert!(done <= range.start, "the parts are not in order: {parts}");
        if done < range.start {
            out.push_str("…\n");
        }
        for line in &lines[range.clone()] {
            out.push_str(line);
            out.push('\n');
        }
        done = range.end;
    }
    out
}

/// A page with its blocks as they should be.
fn renewed(page: &Path, text: &str) -> String {
    let mark = Regex::new(r"(?m)^<!-- (run|output): ([^|>]+?)(?: \| ([^>]+?))? -->\n").unwrap();
    let mut workplace = None;
    let (mut out, mut copied) = (String::new(), 0);
    for found in mark.captures_iter(text) {
        let (end, command) = (found.get(0).unwrap().end(), &found[2]);
        let parts = found.get(3).map_or("", |parts| parts.as_str());
        let code = parts_of(parts).find_map(exit_code).unwrap_or(0);
        let output = workplace
            .get_or_insert_with(Workplace::new)
            .run(command, code);
        if &found[1] == "run" {
            continue;
        }
        let block = text[end..]
            .strip_prefix("```text\n")
            .unwrap_or_else(|| panic!("{}: no block: {command}", page.display()));
        let start = text.len() - block.len();
        let close = start + block.find("```").unwrap();
        let Some(output) = output else { continue };
        out.push_str(&text[copied..start]);
        out.push_str(&shown(&output, parts));
        copied = close;
    }
    out + &text[copied..]
}

/// All pages but the one that is made as a whole.
fn written_pages() -> Vec<(PathBuf, String)> {
    let made = repository().join("docs/commands.md");
    let pages = pages_on_disk()
        .into_iter()
        .chain([repository().join("README.md")])
        .filter(|page| *page != made);
    pages
        .map(|page| {
            (
                fs::read_to_string(&page).unwrap().replace("\r\n", "\n"),
                page,
            )
        })
        .map(|(text, page)| (page, text))
        .collect()
}

#[test]
fn output_blocks_are_what_the_program_prints() {
    let mut stale = Vec::new();
    for (page, text) in written_pages() {
        let now = renewed(&page, &text);
        if now == text {
            continue;
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&page, &now).unwrap();
            continue;
        }
        let differing = now
            .lines()
            .zip(text.lines())
            .find(|(now, then)| now != then);
        stale.push(format!("{}: {differing:?}", page.display()));
    }
    assert!(
        stale.is_empty(),
        "stale blocks, write them with UPDATE_GOLDEN=1:\n{}",
        stale.join("\n")
    );
}

#[test]
fn output_blocks_name_their_command() {
    let mut found = 0;
    for (page, text) in written_pages() {
        let lines: Vec<&str> = text.lines().collect();
        for (at, _) in lines
            .iter()
            .enumerate()
            .filter(|(_, line)| line.trim() == "```text")
        {
            let above = at
                .checked_sub(1)
                .and_then(|above| lines.get(above))
                .copied()
                .unwrap_or_default();
            assert!(
                above.starts_with("<!-- output: "),
                "{}, line {}: what prints this?",
                page.display(),
                at + 1
            );
            found += 1;
        }
        let fences = lines
            .iter()
            .filter(|line| line.trim_start().starts_with("```"));
        let unnamed = fences.step_by(2).find(|line| line.trim() == "```");
        assert!(
            unnamed.is_none(),
            "{}: a block without a language",
            page.display()
        );
    }
    assert!(found >= 6, "{found} blocks of output");
}

#[test]
fn left_out_lines_are_marked() {
    let output = "a\nb\nK01 x\n  y\nK02 z\nend\n";
    assert_eq!(shown(output, ""), output);
    assert_eq!(shown(output, "exit 10"), output);
    assert_eq!(
        shown(output, "first 1, \"K01\" 2, exit 10"),
        "a\n…\nK01 x\n  y\n…\n"
    );
    assert_eq!(
        shown(output, "first 2, \"K01\" 1, \"end\" 1"),
        "a\nb\nK01 x\n…\nend\n"
    );
    assert_eq!(
        shown("head\n\na b\nc\n\nend\n", "\"b\" *"),
        "…\na b\nc\n…\n"
    );
}
