//! Dumps of the TPU compiler: the issue slots of each unit that the bundles of an op's code use (`--xla_jf_dump_to=DIR
//! --xla_jf_dump_llo_text=true` in `LIBTPU_INIT_ARGS`).
//!
//! ```text
//! DIR/<time>-fusion.19-70-final_hlo-static-per-bundle-utilization.txt   the table
//! DIR/<time>-fusion.19-46-register-pressure.txt                         vector registers that it needs at one time
//! DIR/<time>-fusion.19-71-schedule-analysis_final_bundles.txt           the op as text
//! DIR/<time>-fusion.19-72-final_bundles.txt                             its code as text
//! DIR/<time>-TLP-00-deduplication-map.txt                               ops that share code
//! DIR/<time>-TLP-83-vmem_report.html                                    vector memory by op
//! ```
//!
//! A bundle is listed once, however often the loops of the kernel run it: the numbers refer to the code, not to time.
//! They become facts of ops ([`trace_model::Bundles`]), both in predicted and in measured programs. Tables are matched
//! by the name and output shape of the op. A dump of another program rarely has matching ops, but a dump of the same
//! program for another chip does. Without `--llo`, a dump is therefore only read from the folder of the program, or
//! from a folder in it that is not named after another chip, and the import log names it. If several tables of an op
//! differ, none is used. A table is also not used if its number of rows differs from the number of scheduled bundles.
//!
//! Ignored: all other files of such a dump, which has hundreds of megabytes; only their names are read. Tables of the
//! memory space assignment list the buffers in VMEM, but by schedule steps that cannot be related to time.
//!
//! Written from dumps of libtpu 0.0.42 to 0.0.52 for v5e and v5p.

mod code;
mod dump;
mod table;
mod vmem;

pub use dump::is_dump;

use std::collections::btree_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};

use importer_common::prelude::*;
use input::ImportError;
use input::source::is_within;
use trace_model::{Bundles, CodeText, EmptyRuns, Source, VmemUse};

use code::BundleTexts;

use crate::xla;

/// Maximum number of directories searched next to a program.
const MAX_FOLDERS: usize = 64;
/// Cancellation is checked once per this many comparisons.
const OPS_A_CHECK: usize = 1 << 12;

/// Adds the contents of the dump `named`; if it is `None`, of a dump next to the programs `beside`, below the
/// `roots`.
///
/// # Errors
///
/// The dump that was named cannot be used, or the import was cancelled.
pub fn add(
    named: Option<&Path>,
    beside: &[&Path],
    roots: &[PathBuf],
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<()> {
    let folders = if let Some(folder) = named {
        vec![folder.to_owned()]
    } else {
        let mut folders = near(beside, out);
        folders.retain(|folder| is_within(folder, roots));
        folders
    };
    if folders.is_empty() {
        return Ok(());
    }
    let mut shapes = OpShapes::default();
    let mut ops: HashMap<String, Vec<OpId>> = HashMap::new();
    for (id, op) in out.ops() {
        ops.entry(out.str(op.name).to_owned()).or_default().push(id);
    }
    let mut said: BTreeMap<OpId, OpBundles> = BTreeMap::new();
    let mut read: Vec<(PathBuf, usize)> = Vec::new();
    for folder in folders {
        if named.is_some() && !folder.is_dir() {
            let what = format!(
                "{} is no folder: --llo names the folder of a dump",
                folder.display()
            );
            return Err(ImportError::NothingFound { what });
        }
        let tables = dump::tables(
            &folder,
            |name| ops.get(name).map_or(0, Vec::len),
            roots,
            progress,
        )?;
        if tables.all == 0 && named.is_some() {
            let what = format!(
                "no *-final_hlo-static-per-bundle-utilization.txt in {}: dump with \
                 LIBTPU_INIT_ARGS=\"--xla_jf_dump_to=DIR --xla_jf_dump_llo_text=true\" and name DIR",
                folder.display()
            );
            return Err(ImportError::NothingFound { what });
        }
        if tables.is_cut {
            let what = || {
                format!(
                    "{}: too large, some tables or op texts were skipped",
                    folder.display()
                )
            };
            out.log(IssueKind::SourceSkipped, what);
        }
        let nameless = tables.found.iter().filter(|op| op.text.is_none()).count() as u64;
        out.log_mut()
            .add_many(IssueKind::UnknownMetadata, nameless, || {
                format!("{}: tables without op text were skipped", folder.display())
            });
        for op in &tables.found {
            progress.check()?;
            let meant = shapes.meant(op, &ops, progress, out)?;
            if !meant.is_empty() {
                add_table(op, read.len(), meant, &mut said, progress, out)?;
            }
        }
        read.push((folder, tables.all));
    }
    write(said, &read, named.is_some(), out);
    Ok(())
}

/// The bundles of an op according to the tables.
struct OpBundles {
    bundles: Bundles,
    /// Index of the dump directory.
    folder: usize,
    file: String,
    /// A table that contradicts the others.
    other: Option<String>,
    /// A table whose program has another report on its vector memory.
    other_memory: Option<String>,
}

impl OpBundles {
    /// Compares the vector memory that another table gives the op.
    fn add_memory(&mut self, other: Option<VmemUse>, file: &str) {
        let vmem = &mut self.bundles.vmem;
        if vmem.is_none() {
            *vmem = other;
        } else if other.is_some() && *vmem != other {
            self.other_memory.get_or_insert_with(|| file.to_owned());
        }
    }
}

/// Sets the bundles of ops on which all tables agree.
fn write(
    said: BTreeMap<OpId, OpBundles>,
    read: &[(PathBuf, usize)],
    is_named: bool,
    out: &mut TraceBuilder,
) {
    let mut described = vec![0_usize; read.len()];
    let mut is_meant = vec![false; read.len()];
    for (
        id,
        OpBundles {
            mut bundles,
            folder,
            file,
            other,
            other_memory,
        },
    ) in said
    {
        is_meant[folder] = true;
        let Op { name, program, .. } = *out.op_ref(id);
        if let Some(other) = other {
            let name = out.str(name).to_owned();
            out.log(IssueKind::ImplausibleValue, || {
                format!("{file} and {other} conflict for {name}, which may belong to two programs: neither was read")
            });
            continue;
        }
        if let Some(other) = other_memory {
            bundles.vmem = None;
            let name = out.str(name).to_owned();
            out.log(IssueKind::ImplausibleValue, || {
                format!(
                    "the programs of {file} and {other} have {name} with different vector memory, which stays unknown"
                )
            });
        }
        described[folder] += 1;
        out.op(Op {
            name,
            program,
            bundles: Some(Box::new(bundles)),
            ..Op::default()
        });
    }
    for (((folder, tables), described), is_meant) in read.iter().zip(described).zip(is_meant) {
        if described > 0 {
            let what = format!(
                "{}: tables: {tables}, ops described: {described}",
                folder.display()
            );
            if !is_named {
                out.log(IssueKind::FoundBeside, || what.clone());
            }
            out.source_mut().facts.push(("LLO tables".to_owned(), what));
        } else if is_named && !is_meant {
            let mut sources = out.sources().iter();
            let why = match sources.find_map(|source| source.fact(Source::NOT_PLAYED)) {
                Some(why) => {
                    format!("its tables ({tables}) were matched with no op, because {why}")
                }
                None => format!("no op of this program matches its tables ({tables})"),
            };
            out.log(IssueKind::SourceSkipped, || {
                format!("{}: {why}", folder.display())
            });
        }
    }
}

/// Dumps in the directories of the programs and their subdirectories. Parent directories are not searched: they contain
/// dumps of other programs, whose ops have similar names and shapes. Dumps named after another chip are skipped for the
/// same reason.
fn near(programs: &[&Path], out: &mut TraceBuilder) -> Vec<PathBuf> {
    let mut dumps: Vec<PathBuf> = Vec::new();
    for program in programs {
        let Some(folder) = program.parent() else {
            continue;
        };
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let of = chip_of(program, out);
        for inside in folders_in(&folder)
            .into_iter()
            .filter(|folder| is_dump(folder))
        {
            let named = xla::chip_named(&inside.file_name().unwrap_or_default().to_string_lossy());
            match (named, &of) {
                (Some(named), Some(of)) if *named != **of => {
                    out.log(IssueKind::FoundBeside, || {
                        format!(
                            "{} is named after {named}, the program after {of}: it was not read",
                            inside.display()
                        )
                    });
                }
                _ => dumps.push(inside),
            }
        }
        dumps.extend(is_dump(&folder).then_some(folder));
    }
    dumps.sort();
    dumps.dedup();
    dumps
}

/// The chip of an imported program.
fn chip_of(program: &Path, out: &TraceBuilder) -> Option<String> {
    let source = out
        .sources()
        .iter()
        .find(|source| source.path.as_deref() == Some(program))?;
    source
        .facts
        .iter()
        .find(|(name, _)| name == xla::CHIP)
        .map(|(_, chip)| chip.clone())
}

/// The first folders in a folder, by name.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let is_folder = |entry: &fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_symlink() => entry.path().is_dir(),
        kind => kind.is_ok_and(|kind| kind.is_dir()),
    };
    let mut folders: Vec<PathBuf> = entries
        .filter(is_folder)
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    folders.truncate(MAX_FOLDERS);
    folders
}

/// Output shapes of ops, each parsed once.
#[derive(Default)]
struct OpShapes {
    /// A number per distinct shape.
    numbers: HashMap<String, usize>,
    of_ops: HashMap<OpId, Option<usize>>,
    /// Number of comparisons between ops and tables.
    compared: usize,
}

impl OpShapes {
    fn number(&mut self, text: &str) -> Option<usize> {
        let shape = dump::shape(text)?;
        let next = self.numbers.len();
        Some(*self.numbers.entry(shape).or_insert(next))
    }

    /// The ops of a table: those with its name and output shape.
    fn meant(
        &mut self,
        emitted: &dump::EmittedOp,
        ops: &HashMap<String, Vec<OpId>>,
        progress: &Progress,
        out: &TraceBuilder,
    ) -> Result<Vec<OpId>> {
        let wanted = emitted.text.as_deref().and_then(|text| self.number(text));
        let Some(wanted) = wanted else {
            return Ok(Vec::new());
        };
        let mut meant = Vec::new();
        for &id in emitted
            .shared_by
            .iter()
            .filter_map(|name| ops.get(name))
            .flatten()
        {
            self.compared += 1;
            if self.compared.is_multiple_of(OPS_A_CHECK) {
                progress.check()?;
            }
            let known = self.of_ops.get(&id).copied();
            let made = known.unwrap_or_else(|| self.number(out.str(out.op_ref(id).hlo_text?)));
            self.of_ops.insert(id, made);
            if made == Some(wanted) {
                meant.push(id);
            }
        }
        Ok(meant)
    }
}

/// Adds the contents of a table to its ops.
fn add_table(
    emitted: &dump::EmittedOp,
    folder: usize,
    meant: Vec<OpId>,
    said: &mut BTreeMap<OpId, OpBundles>,
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<()> {
    let file = emitted
        .path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let table = match InputSource::open(&emitted.path).map(|source| table::read(&source, progress))
    {
        Ok(table) => table?,
        Err(error) => Err(error.to_string()),
    };
    let table = table.and_then(|table| match emitted.bundles {
        Some(bundles) if bundles != table.bundles => Err(format!(
            "{} rows, but {bundles} bundles were scheduled",
            table.bundles
        )),
        _ => Ok(table),
    });
    let table = match table {
        Ok(table) => table,
        Err(what) => {
            out.log(IssueKind::SourceSkipped, || {
                format!("{file}: {what}: the dump is truncated, write it again")
            });
            return Ok(());
        }
    };
    let code = emitted.code.as_ref();
    let is_whole = |(_, code): &&(String, BundleTexts)| code.all == table.bundles;
    if let Some((name, code)) = code.filter(|code| !is_whole(code)) {
        out.log(IssueKind::SourceSkipped, || {
            format!(
                "{name}: {} bundles of {}: the dump is truncated, write it again",
                code.all, table.bundles
            )
        });
    }
    let code = code.filter(is_whole).map(|(_, code)| code);
    let emitted_for = out.intern(&emitted.hlo);
    let bundles = Bundles {
        count: table.bundles,
        units: table.slots(|name| out.intern(name)),
        emitted_for,
        text: code.map(|code| CodeText {
            empty: code.empty,
            matmuls: code.matmuls,
            dma_waits: code.dma_waits,
            stalls: code
                .stalls
                .iter()
                .map(|(after, runs, bundles)| EmptyRuns {
                    after: out.intern(after),
                    runs: *runs,
                    bundles: *bundles,
                })
                .collect(),
        }),
        vmem: emitted.vmem,
        live_registers: emitted.live_registers,
    };
    for id in meant {
        match said.entry(id) {
            Entry::Vacant(said) => {
                said.insert(OpBundles {
                    bundles: bundles.clone(),
                    folder,
                    file: file.clone(),
                    other: None,
                    other_memory: None,
                });
            }
            Entry::Occupied(mut said) => {
                let said = said.get_mut();
                if (said.bundles.count, &said.bundles.units) != (bundles.count, &bundles.units) {
                    said.other.get_or_insert_with(|| file.clone());
                }
                said.add_memory(bundles.vmem, &file);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
