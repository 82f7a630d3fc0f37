//! What the TPU compiler emitted for each op: how many issue slots of each unit the
//! bundles of its code use (`--xla_jf_dump_to=DIR --xla_jf_dump_llo_text=true` in
//! `LIBTPU_INIT_ARGS`).
//!
//! ```text
//! DIR/<time>-fusion.19-70-final_hlo-static-per-bundle-utilization.txt   the table
//! DIR/<time>-fusion.19-71-schedule-analysis_final_bundles.txt           the op as text
//! DIR/<time>-TLP-00-deduplication-map.txt                               ops of the same code
//! ```
//!
//! A bundle stands there once, however often the loops of the kernel run it: the numbers
//! are of the code, never of time. They become facts of ops ([`trace_model::Bundles`]),
//! of predicted and of measured programs alike: an op is the one meant where its name
//! and the shape of what it makes agree, so a dump of another program adds nothing. Where
//! several tables are of an op and differ, which one is its own is not known: none is
//! believed. Nor is a table with fewer or more rows than bundles were scheduled.
//!
//! Ignored: everything else of such a dump (it is hundreds of megabytes): only names of
//! files are looked at. Which buffers lie in VMEM when is in its tables of the memory
//! space assignment, in steps of a schedule that nothing relates to time.
//!
//! Written from dumps of libtpu 0.0.51 and 0.0.52 for v5e and v5p.

mod dump;
mod table;

pub(crate) use dump::is_dump;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;
use trace_model::{Bundles, IssueKind, Op, OpId, TraceBuilder};

use crate::{ImportError, Progress, Source};

/// Directories around a program that are looked into.
const MAX_FOLDERS: usize = 64;

/// Adds what the dump in `named` says, or, where none is named, one that lies beside the
/// programs `beside`.
pub(crate) fn add(
    named: Option<&Path>,
    beside: &[&Path],
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<(), ImportError> {
    let folders = match named {
        Some(folder) => vec![folder.to_owned()],
        None => near(beside),
    };
    let mut ops: HashMap<String, Vec<OpId>> = HashMap::new();
    for (id, op) in out.ops() {
        ops.entry(out.str(op.name).to_owned()).or_default().push(id);
    }
    let mut said: BTreeMap<OpId, Said> = BTreeMap::new();
    let mut read: Vec<(PathBuf, usize)> = Vec::new();
    for folder in folders {
        let tables = dump::tables(&folder, |name| ops.contains_key(name), progress)?;
        if tables.all == 0 && named.is_some() {
            let what = format!(
                "no *-final_hlo-static-per-bundle-utilization.txt in {}: dump with \
                 LIBTPU_INIT_ARGS=\"--xla_jf_dump_to=DIR --xla_jf_dump_llo_text=true\" and name DIR",
                folder.display()
            );
            return Err(ImportError::NothingFound { what });
        }
        if tables.is_cut {
            let what =
                || format!("{}: there is too much in it, some tables or texts of ops were left out", folder.display());
            out.log(IssueKind::TextCut, what);
        }
        let nameless = tables.found.iter().filter(|found| found.text.is_none()).count() as u64;
        out.log_mut().add_many(IssueKind::UnknownMetadata, nameless, || {
            format!("{}: tables without the text of their op were left out", folder.display())
        });
        for found in &tables.found {
            progress.check()?;
            add_table(found, read.len(), &ops, &mut said, progress, out)?;
        }
        read.push((folder, tables.all));
    }
    write(said, &read, named.is_some(), out);
    Ok(())
}

/// What tables say of an op.
struct Said {
    bundles: Bundles,
    /// Which folder says so.
    folder: usize,
    file: String,
    /// A table that says something else.
    other: Option<String>,
}

/// Gives the ops what all tables agree upon.
fn write(said: BTreeMap<OpId, Said>, read: &[(PathBuf, usize)], is_named: bool, out: &mut TraceBuilder) {
    let mut described = vec![0_usize; read.len()];
    let mut is_meant = vec![false; read.len()];
    for (id, Said { bundles, folder, file, other }) in said {
        is_meant[folder] = true;
        let Op { name, program, .. } = *out.op_ref(id);
        if let Some(other) = other {
            let name = out.str(name).to_owned();
            out.log(IssueKind::ImplausibleValue, || {
                format!(
                    "{file} and {other} say different things of {name}, which may be of two programs: none was read"
                )
            });
            continue;
        }
        described[folder] += 1;
        out.op(Op { name, program, bundles: Some(Box::new(bundles)), ..Op::default() });
    }
    for (((folder, tables), described), is_meant) in read.iter().zip(described).zip(is_meant) {
        if described > 0 {
            let value = format!("{} of {tables} tables say what {described} ops use", folder.display());
            out.source_mut().facts.push(("LLO tables".to_owned(), value));
        } else if is_named && !is_meant {
            out.log(IssueKind::SourceSkipped, || {
                format!("{}: its {tables} tables are of ops that this program does not have", folder.display())
            });
        }
    }
}

/// Dumps in the folders of the programs, in those inside, and in those beside.
fn near(programs: &[&Path]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in programs.iter().filter_map(|path| path.parent()) {
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let inside = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
            let mut inside: Vec<PathBuf> =
                entries.map(|entry| entry.path()).filter(|path| path.is_dir()).take(MAX_FOLDERS).collect();
            inside.sort();
            inside
        };
        folders.extend(inside(&folder));
        folders.extend(folder.parent().into_iter().flat_map(inside));
        folders.push(folder);
    }
    folders.sort();
    folders.dedup();
    folders.retain(|folder| is_dump(folder));
    folders
}

/// Adds what one table says to the ops that it is of.
fn add_table(
    found: &dump::Found,
    folder: usize,
    ops: &HashMap<String, Vec<OpId>>,
    said: &mut BTreeMap<OpId, Said>,
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<(), ImportError> {
    let Some(wanted) = found.text.as_deref().and_then(dump::shape) else { return Ok(()) };
    let mut meant = Vec::new();
    for &id in found.shared_by.iter().filter_map(|name| ops.get(name)).flatten() {
        let text = out.op_ref(id).hlo_text.map(|text| out.str(text));
        if text.and_then(dump::shape).is_some_and(|shape| shape == wanted) {
            meant.push(id);
        }
    }
    if meant.is_empty() {
        return Ok(());
    }
    let file = found.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let table = match Source::open(&found.path).map(|source| table::read(&source, progress)) {
        Ok(table) => table?,
        Err(error) => Err(error.to_string()),
    };
    let table = table.and_then(|table| match found.bundles {
        Some(bundles) if bundles != table.bundles => {
            Err(format!("{} rows, but {bundles} bundles were scheduled", table.bundles))
        }
        _ => Ok(table),
    });
    let table = match table {
        Ok(table) => table,
        Err(what) => {
            out.log(IssueKind::SourceSkipped, || format!("{file}: {what}: the dump is cut, write it again"));
            return Ok(());
        }
    };
    let emitted_for = out.intern(&found.hlo);
    let bundles = Bundles { count: table.bundles, units: table.slots(|name| out.intern(name)), emitted_for };
    for id in meant {
        match said.entry(id) {
            Entry::Vacant(said) => {
                said.insert(Said { bundles: bundles.clone(), folder, file: file.clone(), other: None });
            }
            Entry::Occupied(mut said) => {
                let said = said.get_mut();
                if (said.bundles.count, &said.bundles.units) != (bundles.count, &bundles.units) {
                    said.other.get_or_insert_with(|| file.clone());
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
