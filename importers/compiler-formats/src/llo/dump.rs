//! A dump directory of the compiler: its tables and the ops they belong to.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use importer_common::prelude::*;
use input::source::is_within;
use trace_model::VmemUse;

use super::code::BundleTexts;
use super::vmem;

/// Largest number of file names that are read; dumps have about fifty files per op.
const MAX_NAMES: usize = 1 << 20;
/// Largest number of file names of a directory that may not be a dump.
const MAX_NAMES_OF_OTHERS: usize = 1 << 13;
/// Maximum size of maps and op texts.
const MAX_BYTES: u64 = 16 << 20;
/// Maximum size of all files read from a dump.
const MAX_BYTES_OF_ALL: u64 = if cfg!(test) { 40 << 20 } else { 256 << 20 };
/// Largest number of pairs of a table and an op that runs its code.
const MAX_PAIRS: usize = if cfg!(test) { 1 << 6 } else { 1 << 22 };
/// Cancellation is checked once per this many names.
const NAMES_A_CHECK: usize = 1 << 10;

const TABLE: &str = "-final_hlo-static-per-bundle-utilization.txt";
const ANALYSIS: &str = "-schedule-analysis_final_bundles.txt";
const MAP: &str = "-deduplication-map.txt";
const CODE: &str = "-final_bundles.txt";
const VMEM: &str = "-vmem_report.html";
const REGISTERS: &str = "-register-pressure.txt";
/// Name used in file names that concern the whole program.
const PROGRAM: &str = "TLP";

/// The kind of a file, from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DumpKind {
    Map,
    Vmem,
    Table,
    Analysis,
    Registers,
    Code,
}

impl DumpKind {
    /// Whether it concerns the whole program.
    fn is_of_program(self) -> bool {
        matches!(self, Self::Map | Self::Vmem)
    }
}

/// A file of a dump, ordered by time; what concerns the program comes before tables of the same time.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DumpFile {
    stamp: u64,
    kind: DumpKind,
    hlo: String,
    name: String,
}

impl DumpFile {
    fn of(name: String) -> Option<Self> {
        let kinds = [
            (MAP, DumpKind::Map),
            (TABLE, DumpKind::Table),
            (ANALYSIS, DumpKind::Analysis),
            (CODE, DumpKind::Code),
            (REGISTERS, DumpKind::Registers),
            (VMEM, DumpKind::Vmem),
        ];
        let (kind, (stamp, hlo)) = kinds
            .into_iter()
            .find_map(|(ending, kind)| Some((kind, split(&name, ending)?)))?;
        let is_program = hlo == PROGRAM;
        let is_meant = if kind.is_of_program() {
            is_program
        } else {
            !is_program && !hlo.starts_with('<')
        };
        is_meant.then_some(Self {
            stamp,
            kind,
            hlo,
            name,
        })
    }
}

/// The table of one op whose code was emitted.
#[derive(Debug, PartialEq)]
pub(super) struct EmittedOp {
    pub path: PathBuf,
    /// The op.
    pub hlo: String,
    /// Requested ops that share its code.
    pub shared_by: Rc<[String]>,
    /// The op as HLO text, if the dump has the analysis of its schedule.
    pub text: Option<String>,
    /// Number of bundles according to the analysis.
    pub bundles: Option<u64>,
    /// Vector registers that it needs at one time, before they are allocated.
    pub live_registers: Option<u64>,
    /// The text of its code, with the name of its file.
    pub code: Option<(String, BundleTexts)>,
    /// Its vector memory.
    pub vmem: Option<VmemUse>,
}

/// Parses a file name with this ending: timestamp and op.
fn split(name: &str, ending: &str) -> Option<(u64, String)> {
    let (rest, number) = name.strip_suffix(ending)?.rsplit_once('-')?;
    let (stamp, hlo) = rest.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number(number).then_some(())?;
    Some((stamp.parse().ok()?, hlo.to_owned()))
}

/// Whether a directory seems to be a dump, judged by its first names.
pub fn is_dump(folder: &Path) -> bool {
    let entries = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .take(MAX_NAMES_OF_OTHERS)
        .filter_map(Result::ok);
    entries
        .map(|entry| entry.file_name())
        .any(|name| name.to_string_lossy().ends_with(TABLE))
}

/// The relevant files, ordered by time.
fn files(folder: &Path, roots: &[PathBuf], progress: &Progress) -> Result<Vec<DumpFile>> {
    let mut files = Vec::new();
    for (index, entry) in fs::read_dir(folder)
        .into_iter()
        .flatten()
        .take(MAX_NAMES)
        .enumerate()
    {
        if index % NAMES_A_CHECK == 0 {
            progress.check()?;
        }
        files.extend(
            entry
                .ok()
                .and_then(|entry| DumpFile::of(entry.file_name().into_string().ok()?)),
        );
    }
    files.retain(|file| is_within(&folder.join(&file.name), roots));
    files.sort();
    Ok(files)
}

/// The tables of a dump for the requested ops.
#[derive(Debug, Default)]
pub(super) struct DumpTables {
    pub found: Vec<EmittedOp>,
    /// Number of tables, including those of other ops.
    pub all: usize,
    /// Whether the dump was too large to read completely.
    pub is_cut: bool,
}

/// Finds the tables of ops with the given names. Texts of other ops are not read.
pub(super) fn tables(
    folder: &Path,
    ops_named: impl Fn(&str) -> usize,
    roots: &[PathBuf],
    progress: &Progress,
) -> Result<DumpTables> {
    let files = files(folder, roots, progress)?;
    let named = |kind| -> HashMap<(u64, &str), &str> {
        let of_kind = files.iter().filter(|file| file.kind == kind);
        of_kind
            .map(|file| ((file.stamp, file.hlo.as_str()), file.name.as_str()))
            .collect()
    };
    let [analyses, registers, codes] =
        [DumpKind::Analysis, DumpKind::Registers, DumpKind::Code].map(named);
    let mut tables = DumpTables::default();
    let (mut budget, mut pairs) = (MAX_BYTES_OF_ALL, 0);
    // Uses the last program that has the op among those started so far.
    let mut shared = SharedCode::new();
    let mut memory: BTreeMap<String, VmemUse> = BTreeMap::new();
    let mut named_codes = Vec::new();
    for file in &files {
        progress.check()?;
        if file.kind == DumpKind::Map {
            let text = read(&folder.join(&file.name), &mut budget, &mut tables.is_cut);
            add_map(&mut shared, &text.unwrap_or_default(), &ops_named);
        }
        if file.kind == DumpKind::Vmem {
            let page = read(&folder.join(&file.name), &mut budget, &mut tables.is_cut);
            memory = vmem::read(&page.unwrap_or_default());
        }
        if file.kind != DumpKind::Table {
            continue;
        }
        tables.all += 1;
        let shared_by = shared
            .get(&file.hlo)
            .cloned()
            .unwrap_or_else(|| Rc::new([file.hlo.clone()]));
        let wanted: usize = shared_by.iter().map(|name| ops_named(name)).sum();
        if wanted == 0 {
            continue;
        }
        pairs += wanted;
        if pairs > MAX_PAIRS {
            tables.is_cut = true;
            break;
        }
        let key = (file.stamp, file.hlo.as_str());
        let mut text = |names: &HashMap<(u64, &str), &str>| {
            let name = names.get(&key)?;
            read(&folder.join(name), &mut budget, &mut tables.is_cut)
        };
        let analysis = text(&analyses).unwrap_or_default();
        let registers = text(&registers).unwrap_or_default();
        named_codes.push(codes.get(&key));
        tables.found.push(EmittedOp {
            path: folder.join(&file.name),
            hlo: file.hlo.clone(),
            shared_by,
            text: instruction(&analysis, &file.hlo),
            bundles: bundles(&analysis),
            live_registers: live_registers(&registers),
            code: None,
            vmem: memory.get(&file.hlo).copied(),
        });
    }
    // Without its analysis a table belongs to no op: texts of code get what the analyses leave.
    for (op, name) in tables.found.iter_mut().zip(named_codes) {
        progress.check()?;
        let Some(name) = name else { continue };
        let text = read(&folder.join(name), &mut budget, &mut tables.is_cut);
        op.code = text.map(|text| ((*name).to_owned(), BundleTexts::read(&text)));
    }
    Ok(tables)
}

/// Reads a text, as far as the budget allows.
fn read(path: &Path, budget: &mut u64, is_cut: &mut bool) -> Option<String> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    if metadata.len() > MAX_BYTES.min(*budget) {
        *is_cut = true;
        return None;
    }
    *budget -= metadata.len();
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned())
}

/// Ops with the same code, by the op that the code was emitted for.
type SharedCode = BTreeMap<String, Rc<[String]>>;

/// ```text
/// key:fusion.19
/// ordinal:8
/// equivalent_hlos[size=2]:
///   fusion.19
///   fusion.28
/// ```
fn add_map(map: &mut SharedCode, text: &str, ops_named: impl Fn(&str) -> usize) {
    let is_wanted = |name: &str| ops_named(name) > 0;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(key) = line.strip_prefix("key:") else {
            continue;
        };
        let mut shared_by = BTreeSet::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("key:")) {
            shared_by.extend(line.strip_prefix("  ").map(str::trim));
        }
        // Most maps belong to other programs.
        if shared_by.iter().any(|name| is_wanted(name)) {
            let wanted = shared_by
                .into_iter()
                .filter(|name| is_wanted(name))
                .map(str::to_owned);
            map.insert(key.trim().to_owned(), wanted.collect());
        } else if !shared_by.is_empty() {
            map.remove(key.trim());
        }
    }
}

/// `total scheduled bundles:    1678`
fn bundles(text: &str) -> Option<u64> {
    let rest = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("total scheduled bundles:"))?;
    rest.trim().parse().ok()
}

/// `Register pressure for vregs is 153`
fn live_registers(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.strip_prefix("Register pressure for vregs is "))?;
    rest.trim().parse().ok()
}

/// The line of an op in the analysis of its schedule: `… (100.00%): %fusion.26 = …`.
fn instruction(text: &str, hlo: &str) -> Option<String> {
    let defined = format!("%{hlo} = ");
    let line = text.lines().find(|line| line.contains(&defined))?;
    Some(line[line.find(&defined)?..].to_owned())
}

/// The output shape of an instruction without its layout: the part that compiler and profiler write in the same way.
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
    fn dump_file_names_have_time_and_program() {
        let name =
            "1795296125656858844-reduce-window.1-64-final_hlo-static-per-bundle-utilization.txt";
        assert_eq!(
            split(name, TABLE),
            Some((1_795_296_125_656_858_844, "reduce-window.1".to_owned()))
        );
        for other in ["a-b-64", "12-b", "12-b-x", "99999999999999999999-b-1"] {
            assert_eq!(split(&format!("{other}{TABLE}"), TABLE), None, "{other}");
        }
    }

    #[test]
    fn identical_ops_share_code() {
        let text = "key:<top-inlining-caller>\nordinal:0\nequivalent_hlos[size=0]:\nkey:fusion.19\nordinal:8\n\
                    equivalent_hlos[size=3]:\n  fusion.19\n  fusion.28\n  fusion.28\n";
        let mut map = SharedCode::new();
        add_map(&mut map, text, |name| usize::from(name == "fusion.28"));
        assert_eq!(
            map,
            SharedCode::from([("fusion.19".to_owned(), Rc::from(["fusion.28".to_owned()]))])
        );
        let later = "key:fusion.19\nordinal:1\nequivalent_hlos[size=1]:\n  fusion.19\n";
        add_map(&mut map, later, |name| usize::from(name == "fusion.28"));
        assert_eq!(
            map,
            SharedCode::new(),
            "the later program says that they do not"
        );
    }

    #[test]
    fn text_of_other_ops_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        for (stamp, hlo) in [(100, "a"), (9, "a"), (5, "b")] {
            write(&format!("{stamp}-{hlo}-64{TABLE}"), "");
            write(
                &format!("{stamp}-{hlo}-65{ANALYSIS}"),
                &format!("\ttotal scheduled bundles:    {stamp}\n"),
            );
        }
        let of = |name: &'static str| {
            tables(
                dir.path(),
                move |it| usize::from(it == name),
                &[],
                &Progress::new(),
            )
            .unwrap()
        };
        let stamps = |tables: &DumpTables| {
            tables
                .found
                .iter()
                .map(|found| found.bundles)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            stamps(&of("a")),
            [Some(9), Some(100)],
            "in the order of time"
        );
        assert_eq!((of("c").all, of("c").found), (3, vec![]));
        let large = fs::File::create(dir.path().join(format!("5-b-65{ANALYSIS}"))).unwrap();
        large.set_len(MAX_BYTES + 1).unwrap();
        assert_eq!((of("a").is_cut, of("b").is_cut), (false, true));
        let progress = Progress::new();
        progress.cancel();
        assert!(matches!(
            tables(dir.path(), |_| 1, &[], &progress),
            Err(input::ImportError::Cancelled)
        ));
    }

    #[test]
    fn analyses_are_read_before_texts_of_code() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| fs::File::create(dir.path().join(name)).unwrap();
        for stamp in 1..4_u64 {
            file(&format!("{stamp}-a-64{TABLE}"));
            let analysis = format!("{stamp}-a-65{ANALYSIS}");
            fs::write(
                dir.path().join(&analysis),
                "\ttotal scheduled bundles:    7\n",
            )
            .unwrap();
            file(&format!("{stamp}-a-66{CODE}"))
                .set_len(MAX_BYTES)
                .unwrap();
        }
        // Two of the three texts of code fit.
        let tables = tables(dir.path(), |_| 1, &[], &Progress::new()).unwrap();
        let all = |is: fn(&EmittedOp) -> bool| tables.found.iter().filter(|op| is(op)).count();
        assert_eq!(all(|op| op.bundles == Some(7)), 3);
        assert_eq!((all(|op| op.code.is_some()), tables.is_cut), (2, true));
    }

    #[test]
    fn ops_of_tables_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let names: Vec<String> = (0..MAX_PAIRS / 2).map(|at| format!("  a.{at}")).collect();
        let map = format!(
            "key:a\nordinal:1\nequivalent_hlos[size=9]:\n{}\n",
            names.join("\n")
        );
        fs::write(dir.path().join(format!("1-TLP-00{MAP}")), map).unwrap();
        for stamp in 2..5 {
            fs::write(dir.path().join(format!("{stamp}-a-64{TABLE}")), "").unwrap();
        }
        let tables = tables(dir.path(), |_| 1, &[], &Progress::new()).unwrap();
        assert_eq!((tables.found.len(), tables.is_cut), (2, true));
        // Each name can belong to ops of many programs.
        fs::remove_file(dir.path().join(format!("1-TLP-00{MAP}"))).unwrap();
        let tables = super::tables(dir.path(), |_| MAX_PAIRS / 2, &[], &Progress::new()).unwrap();
        assert_eq!((tables.found.len(), tables.is_cut), (2, true));
    }

    #[test]
    fn shapes_compare_without_layout() {
        let of = |text: &str| shape(text).unwrap_or_default();
        assert_eq!(
            of("%a = f32[8,128]{1,0:T(8,128)S(1)} fusion(%b)"),
            "f32[8,128]"
        );
        assert_eq!(
            of("%a = (f32[8]{0}, bf16[2]{0:T(256)}) fusion(f32[8] %b)"),
            "f32[8],bf16[2]"
        );
        assert_eq!(shape("%a = f32[8"), None);
        assert_eq!(shape("no instruction"), None);
    }
}
