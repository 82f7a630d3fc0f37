//! Programs of the compiler from files beside a profile that holds none of them: exported JSON, and captures whose
//! profiler was told to leave them out.
//!
//! ```text
//! module_0003.jit_f.after_codegen.txt, module_0003.jit_f.cpu_after_optimizations.hlo.pb    --xla_dump_to=DIR
//! jit_f(7387342164949680137).hlo_proto.pb                                                   caches of XProf
//! f.txt                                                                                     compiled.as_text()
//! ```
//!
//! A file belongs to a program of the trace if it has its id: in the name of the file, or, where the id counts the
//! modules of a process (as on CPUs), as the number of the module. Dumps of other machines have no such id; then the name
//! of the module decides. Names are not unique, because a function that is compiled again keeps its name, and every
//! process counts its modules: if several programs of the trace have a name, or several different files the name or the
//! id, none is used. Neither is a file whose instructions are not those that ran.
//!
//! Ignored: programs before optimization and between passes, and all other files of such a dump.

mod file_name;
mod outline;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use hlo::{HloText, Shape};
use importer_common::prelude::*;
use input::storage::{EntryKind, FileTree};
use input::{ImportError, SharedBytes, is_remote, shown_path};
use trace_model::ProgramBytes;

use file_name::DumpName;
use outline::ProgramOutline;
pub(crate) use outline::module_name;

/// Largest number of files that are examined.
const MOST_FILES: usize = 20_000;
/// How a user gets what is missing.
const HOW_TO_DUMP: &str =
    "dump with XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_proto\" and name DIR";
/// Maximum number of names in a message.
const SHOWN: usize = 4;

/// A program of the trace without HLO.
struct WantedProgram {
    id: ProgramId,
    name: String,
    program_id: Option<u64>,
}

/// A program of the dump whose name a program of the trace has.
struct DumpedProgram {
    file: String,
    name: DumpName,
    outline: ProgramOutline,
    bytes: SharedBytes,
    is_used: bool,
}

/// How a file was recognized as that of a program.
#[derive(Clone, Copy)]
enum ProgramMatch {
    ById,
    /// By name; this many of its ops that ran were found.
    ByName {
        found: usize,
    },
}

/// Where dumped programs are: on this machine or in a bucket.
pub trait DumpFiles {
    /// The tree that a path belongs to.
    ///
    /// # Errors
    ///
    /// A bucket cannot be read.
    fn tree(&self, path: &Path) -> Result<Box<dyn FileTree>>;

    /// Opens a file.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or copied.
    fn open(&mut self, path: &Path) -> Result<InputSource>;
}

/// Adds the programs of the files and folders `named` to those of the trace that have none.
///
/// # Errors
///
/// There is no program, the dump is too large, or the import was cancelled.
pub fn add(
    named: &[PathBuf],
    place: &mut dyn DumpFiles,
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<()> {
    if named.is_empty() {
        return Ok(());
    }
    let mut files = Vec::new();
    for path in named {
        files.extend(files_of(path, place)?);
    }
    let wanted = wanted(out);
    let mut dumped: BTreeMap<String, Vec<DumpedProgram>> = wanted
        .iter()
        .map(|program| (program.name.clone(), Vec::new()))
        .collect();
    let (mut programs, mut others) = (0, 0);
    for (path, name) in files {
        progress.check()?;
        if is_remote(&path) && !wanted.iter().any(|program| name.may_be_of(&program.name)) {
            // Reading its beginning would copy it.
            (programs, others) = (programs + 1, others + 1);
            continue;
        }
        match read(&path, &name, &dumped, place, progress) {
            Ok(FileContent::Wanted(program)) => {
                programs += 1;
                if let Some(same_name) = dumped.get_mut(&program.outline.name) {
                    same_name.push(*program);
                }
            }
            Ok(FileContent::OtherProgram) => (programs, others) = (programs + 1, others + 1),
            Ok(FileContent::NoProgram) => {}
            Err(ImportError::Cancelled) => return Err(ImportError::Cancelled),
            Err(error) => {
                (programs, others) = (programs + 1, others + 1);
                out.log(IssueKind::SourceSkipped, || {
                    format!("{}: {error}", file_of(&path))
                });
            }
        }
    }
    let folders: Vec<String> = named
        .iter()
        .map(|path| shown_path(path).display().to_string())
        .collect();
    let folders = folders.join(", ");
    if programs == 0 {
        let what = format!(
            "--hlo {folders}: no program there: looked for *.hlo_proto.pb, *.hlo.pb and HLO text after optimization; {HOW_TO_DUMP}"
        );
        return Err(ImportError::ProgramsMissing { what });
    }
    if out.programs().is_empty() {
        out.log(IssueKind::ProgramNotInDump, || {
            "the profile does not name the programs that ran".to_owned()
        });
    }
    attach(&wanted, &mut dumped, out);
    let unused = dumped
        .values()
        .flatten()
        .filter(|program| !program.is_used)
        .count()
        + others;
    let attached = programs - unused;
    let what = || format!("{folders}: programs: {programs}, used: {attached}");
    out.log_mut()
        .add_many(IssueKind::DumpNotUsed, unused as u64, what);
    out.source_mut().facts.push(("HLO dump".to_owned(), what()));
    Ok(())
}

/// Adds all programs of a folder that no profile is in, for questions about programs only; returns how many.
///
/// # Errors
///
/// The folder holds too many, or the import was cancelled.
pub fn add_all(
    folder: &Path,
    place: &mut dyn DumpFiles,
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<usize> {
    let mut added = 0;
    for (path, name) in files_of(folder, place)? {
        progress.check()?;
        let source = place.open(&path)?;
        let Some(module) = module_name(source.head()) else {
            continue;
        };
        let content = source.content(progress)?;
        // The folder is the source, and what was read of it its size.
        out.source_mut().packed_bytes += source.disk_len();
        if let Some(damage) = content.damage {
            out.log(IssueKind::TruncatedFile, || {
                format!("{}: {damage}", file_of(&path))
            });
        }
        let len = (*content.bytes).as_ref().len();
        let program = out.program(&module, name.program_id.or(name.module_number));
        out.set_program_hlo(program, ProgramBytes::new(content.bytes, 0..len));
        // Its name says after which stage of the compiler.
        out.log(IssueKind::ProgramFromDump, || file_of(&path));
        added += 1;
    }
    Ok(added)
}

/// The program files at a path, by name: of each program the form that says most.
fn files_of(named: &Path, place: &dyn DumpFiles) -> Result<Vec<(PathBuf, DumpName)>> {
    let tree = place.tree(named)?;
    let missing = |error| ImportError::ProgramsMissing {
        what: format!(
            "--hlo {}: {error}; check the path, or {HOW_TO_DUMP}",
            shown_path(named).display()
        ),
    };
    if tree.kind(named).map_err(missing)? != EntryKind::Directory {
        // The user chose it, whatever its name.
        let name = DumpName::parse(&file_of(named)).unwrap_or_default();
        return Ok(vec![(named.to_owned(), name)]);
    }
    let entries = tree
        .entries(named)?
        .into_iter()
        .filter(|entry| entry.kind == EntryKind::File);
    let mut best: BTreeMap<String, (DumpName, PathBuf)> = BTreeMap::new();
    for entry in entries {
        let Some(name) = DumpName::parse(&entry.name) else {
            continue;
        };
        match best.get(&name.stem) {
            Some((other, _)) if other.rank <= name.rank => {}
            _ => {
                best.insert(name.stem.clone(), (name, entry.path));
            }
        }
    }
    if best.len() > MOST_FILES {
        let what = format!(
            "--hlo {} holds {} programs, more than {MOST_FILES}: name a folder with those of this run",
            shown_path(named).display(),
            best.len()
        );
        return Err(ImportError::TooLarge { what });
    }
    Ok(best
        .into_values()
        .map(|(name, path)| (path, name))
        .collect())
}

fn file_of(path: &Path) -> String {
    shown_path(path)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The programs of the trace that have no HLO, but a name.
fn wanted(out: &mut TraceBuilder) -> Vec<WantedProgram> {
    let without = out
        .programs()
        .iter()
        .filter(|program| program.hlo.is_none());
    let named: Vec<(String, Option<u64>)> = without
        .map(|program| (out.str(program.name).to_owned(), program.id))
        .collect();
    let named = named.into_iter().filter(|(name, _)| !name.is_empty());
    named
        .map(|(name, program_id)| WantedProgram {
            id: out.program(&name, program_id),
            name,
            program_id,
        })
        .collect()
}

enum FileContent {
    Wanted(Box<DumpedProgram>),
    OtherProgram,
    NoProgram,
}

/// Reads a file if it holds a program of a wanted name, which its first bytes tell.
fn read(
    path: &Path,
    name: &DumpName,
    wanted: &BTreeMap<String, Vec<DumpedProgram>>,
    place: &mut dyn DumpFiles,
    progress: &Progress,
) -> Result<FileContent> {
    let source = place.open(path)?;
    let Some(module) = module_name(source.head()) else {
        return Ok(FileContent::NoProgram);
    };
    if !wanted.contains_key(&module) {
        return Ok(FileContent::OtherProgram);
    }
    let content = source.content(progress)?;
    let damaged = |what: String| ImportError::Unusable {
        format: "program of the compiler",
        what,
    };
    if let Some(damage) = content.damage {
        return Err(damaged(damage));
    }
    let outline = ProgramOutline::read(&content.bytes).map_err(damaged)?;
    let (file, name, bytes) = (file_of(path), name.clone(), content.bytes);
    Ok(FileContent::Wanted(Box::new(DumpedProgram {
        file,
        name,
        outline,
        bytes,
        is_used: false,
    })))
}

/// Gives each wanted program the file that is its own, and logs why others have none.
fn attach(
    wanted: &[WantedProgram],
    dumped: &mut BTreeMap<String, Vec<DumpedProgram>>,
    out: &mut TraceBuilder,
) {
    let ops = ops_of(out);
    let mut names: HashMap<String, usize> = HashMap::new();
    for program in out.programs() {
        *names.entry(out.str(program.name).to_owned()).or_default() += 1;
    }
    for program in wanted {
        let Some(of_name) = dumped.get_mut(&program.name) else {
            continue;
        };
        let of_program = ops.get(&program.id).map_or(&[][..], Vec::as_slice);
        let namesakes = names.get(&program.name).copied().unwrap_or_default();
        let title = program.program_id.map_or_else(
            || program.name.clone(),
            |id| format!("{}({id})", program.name),
        );
        match choose(program, of_name, namesakes, of_program) {
            Ok((index, how)) => {
                let Some(chosen) = of_name.get_mut(index) else {
                    continue;
                };
                chosen.is_used = true;
                let len = (*chosen.bytes).as_ref().len();
                out.set_program_hlo(
                    program.id,
                    ProgramBytes::new(SharedBytes::clone(&chosen.bytes), 0..len),
                );
                let how = match how {
                    ProgramMatch::ById => "by its id".to_owned(),
                    ProgramMatch::ByName { found } => {
                        format!(
                            "by its name, with {found} of {} ops that ran",
                            of_program.len()
                        )
                    }
                };
                out.log(IssueKind::ProgramFromDump, || {
                    format!("{title}: {} {how}", chosen.file)
                });
            }
            Err(why) => out.log(IssueKind::ProgramNotInDump, || format!("{title}: {why}")),
        }
    }
}

/// The file of a program among those of its name, or why there is none.
fn choose(
    program: &WantedProgram,
    of_name: &[DumpedProgram],
    namesakes: usize,
    ops: &[OpResult],
) -> Result<(usize, ProgramMatch), String> {
    let has_id = |dump: &DumpedProgram| {
        // The number of a module in its process is the id of its program on CPUs, and never on TPUs.
        let id = dump
            .name
            .program_id
            .or(dump.outline.id)
            .or(dump.name.module_number);
        program.program_id.is_some() && id == program.program_id
    };
    let files = || of_name.iter().enumerate();
    let mut candidates: Vec<(usize, &DumpedProgram)> =
        files().filter(|(_, dump)| has_id(dump)).collect();
    let is_by_id = !candidates.is_empty();
    if !is_by_id {
        candidates.extend(files().filter(|(_, dump)| dump.name.program_id.is_none()));
    }
    let Some(&(index, first)) = candidates.first() else {
        return Err(match of_name {
            [] => "no file has this name".to_owned(),
            [only] => format!("{} has another id", only.file),
            _ => "the files of this name have other ids".to_owned(),
        });
    };
    if namesakes > 1 && !is_by_id {
        return Err(format!(
            "{namesakes} programs of the trace have this name, and no file has the id"
        ));
    }
    if candidates
        .iter()
        .any(|(_, other)| !other.outline.is_same(&first.outline))
    {
        let mut files: Vec<&str> = candidates
            .iter()
            .take(SHOWN)
            .map(|(_, dump)| dump.file.as_str())
            .collect();
        if candidates.len() > SHOWN {
            files.push("…");
        }
        let what = if is_by_id { "id" } else { "name" };
        return Err(format!(
            "different programs have this {what}, name one of {}",
            files.join(", ")
        ));
    }
    let found = ops
        .iter()
        .filter(|op| first.outline.results.contains_key(&op.name))
        .count();
    if found * 2 < ops.len() {
        return Err(format!(
            "{} has {found} of {} ops that ran: it is another program",
            first.file,
            ops.len()
        ));
    }
    let differs = |op: &&OpResult| match (&op.dims, first.outline.results.get(&op.name)) {
        (Some(dims), Some(Some(other))) => dims != other,
        _ => false,
    };
    match ops.iter().find(differs) {
        Some(op) => Err(format!(
            "{} has another shape of {}: it was compiled for other inputs",
            first.file, op.name
        )),
        None => Ok((
            index,
            if is_by_id {
                ProgramMatch::ById
            } else {
                ProgramMatch::ByName { found }
            },
        )),
    }
}

/// An op that ran.
struct OpResult {
    name: String,
    /// Sizes of its result, if that is one array.
    dims: Option<Vec<u64>>,
}

/// The ops of each program.
fn ops_of(out: &TraceBuilder) -> HashMap<ProgramId, Vec<OpResult>> {
    let mut ops: HashMap<ProgramId, Vec<OpResult>> = HashMap::new();
    for (_, op) in out.ops() {
        let Some(program) = op.program else { continue };
        let of_text = op.hlo_text.and_then(|text| {
            HloText::parse(out.str(text))?
                .result()
                .map(Shape::into_static)
        });
        let shape = of_text.or_else(|| Shape::parse(out.str(op.shape?)).map(Shape::into_static));
        let dims = shape.and_then(|shape| Some(shape.array()?.dims.clone()));
        ops.entry(program).or_default().push(OpResult {
            name: out.str(op.name).to_owned(),
            dims,
        });
    }
    ops
}
