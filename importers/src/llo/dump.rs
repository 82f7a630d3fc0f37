//! A dump directory: which tables there are, and of which ops.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Dumps have some fifty files an op; more names are not looked at.
const MAX_NAMES: usize = 1 << 20;
/// In a directory that may be none.
const MAX_NAMES_OF_OTHERS: usize = 1 << 13;
/// Maps and texts of ops are short.
const MAX_BYTES: u64 = 16 << 20;

const TABLE: &str = "-final_hlo-static-per-bundle-utilization.txt";
const ANALYSIS: &str = "-schedule-analysis_final_bundles.txt";
const MAP: &str = "-deduplication-map.txt";
/// What belongs to all of a program.
const PROGRAM: &str = "TLP";

/// The table of one emitted op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub path: PathBuf,
    /// The op that it was emitted for.
    pub hlo: String,
    /// Ops that run the same code, this one included.
    pub shared_by: Vec<String>,
    /// The op as HLO text.
    pub text: Option<String>,
}

/// Which file of a dump a name is: when it was written, of what.
fn split(name: &str, ending: &str) -> Option<(u64, String)> {
    let (rest, number) = name.strip_suffix(ending)?.rsplit_once('-')?;
    let (stamp, hlo) = rest.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number(number).then_some(())?;
    Some((stamp.parse().ok()?, hlo.to_owned()))
}

/// Whether a directory has tables, as far as its first names tell: nobody named it.
pub(crate) fn is_dump(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().take(MAX_NAMES_OF_OTHERS).filter_map(Result::ok);
    entries.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().ends_with(TABLE))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().take(MAX_NAMES).filter_map(Result::ok);
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// All tables of a dump with the ops that they are of.
pub(super) fn tables(folder: &Path) -> Vec<Found> {
    let names = names(folder);
    let maps: BTreeMap<u64, Map> = names
        .iter()
        .filter_map(|name| Some((split(name, MAP).filter(|(_, hlo)| hlo == PROGRAM)?.0, read(&folder.join(name))?)))
        .map(|(stamp, text)| (stamp, map(&text)))
        .collect();
    let texts: BTreeMap<(u64, String), &String> =
        names.iter().filter_map(|name| Some((split(name, ANALYSIS)?, name))).collect();
    let mut found = Vec::new();
    for name in &names {
        let Some((stamp, hlo)) = split(name, TABLE) else { continue };
        if hlo == PROGRAM || hlo.starts_with('<') {
            continue;
        }
        // The program that was begun last, of those that have the op.
        let shared = maps.range(..=stamp).rev().find_map(|(_, map)| map.get(&hlo));
        let shared_by = shared.cloned().unwrap_or_else(|| vec![hlo.clone()]);
        let text = texts.get(&(stamp, hlo.clone())).and_then(|name| read(&folder.join(name)));
        let text = text.and_then(|text| instruction(&text, &hlo));
        found.push(Found { path: folder.join(name), hlo, shared_by, text });
    }
    found
}

fn read(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    let bytes = (metadata.is_file() && metadata.len() <= MAX_BYTES).then(|| fs::read(path).ok()).flatten()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Ops that run the same code, by the one that it was emitted for.
type Map = BTreeMap<String, Vec<String>>;

/// ```text
/// key:fusion.19
/// ordinal:8
/// equivalent_hlos[size=2]:
///   fusion.19
///   fusion.28
/// ```
fn map(text: &str) -> Map {
    let mut map = Map::new();
    let mut key = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("key:") {
            key = Some(name.trim().to_owned());
        } else if let (Some(key), Some(name)) = (&key, line.strip_prefix("  ")) {
            map.entry(key.clone()).or_default().push(name.trim().to_owned());
        }
    }
    map
}

/// The line of an op in the analysis of its schedule: `… (100.00%): %fusion.26 = …`.
fn instruction(text: &str, hlo: &str) -> Option<String> {
    let defined = format!("%{hlo} = ");
    let line = text.lines().find(|line| line.contains(&defined))?;
    Some(line[line.find(&defined)?..].to_owned())
}

/// What an instruction makes, without where and how it lies in memory: what the texts of
/// compiler and profiler have in common.
pub(super) fn shape(text: &str) -> Option<String> {
    let (_, rest) = text.split_once(" = ")?;
    let mut depth = 0_usize;
    let mut layout = 0_usize;
    let mut shape = String::new();
    for letter in rest.chars().take(1 << 16) {
        match letter {
            '{' => layout += 1,
            '}' => layout = layout.saturating_sub(1),
            _ if layout > 0 => {}
            ' ' if depth == 0 => return Some(shape),
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if layout == 0 && !matches!(letter, '}' | ' ' | '(' | ')') {
            shape.push(letter);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_say_when_and_of_what() {
        let name = "1795296125656858844-reduce-window.1-64-final_hlo-static-per-bundle-utilization.txt";
        assert_eq!(split(name, TABLE), Some((1_795_296_125_656_858_844, "reduce-window.1".to_owned())));
        for other in ["a-b-64", "12-b", "12-b-x", "99999999999999999999-b-1"] {
            assert_eq!(split(&format!("{other}{TABLE}"), TABLE), None, "{other}");
        }
    }

    #[test]
    fn ops_share_code() {
        let text = "key:<top-inlining-caller>\nordinal:0\nequivalent_hlos[size=0]:\nkey:fusion.19\nordinal:8\n\
                    equivalent_hlos[size=2]:\n  fusion.19\n  fusion.28\n";
        assert_eq!(
            map(text),
            Map::from([("fusion.19".to_owned(), vec!["fusion.19".to_owned(), "fusion.28".to_owned()])])
        );
    }

    #[test]
    fn shapes_are_compared_without_layout() {
        let of = |text: &str| shape(text).unwrap_or_default();
        assert_eq!(of("%a = f32[8,128]{1,0:T(8,128)S(1)} fusion(%b)"), "f32[8,128]");
        assert_eq!(of("%a = (f32[8]{0}, bf16[2]{0:T(256)}) fusion(f32[8] %b)"), "f32[8],bf16[2]");
        assert_eq!(shape("%a = f32[8"), None);
        assert_eq!(shape("no instruction"), None);
    }
}
