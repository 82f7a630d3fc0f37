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
//! and the shape of what it makes agree, so a dump of another program adds nothing.
//!
//! Ignored: everything else of such a dump (it is hundreds of megabytes): only names of
//! files are looked at. Which buffers lie in VMEM when is in its tables of the memory
//! space assignment, in steps of a schedule that nothing relates to time.
//!
//! Written from dumps of libtpu 0.0.51 and 0.0.52 for v5e and v5p.

mod dump;
mod table;

pub(crate) use dump::is_dump;

use std::fs;
use std::path::{Path, PathBuf};

use hashbrown::{HashMap, HashSet};
use trace_model::{Bundles, IssueKind, Op, OpId, StringId, TraceBuilder};

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
    let mut ops: HashMap<StringId, Vec<OpId>> = HashMap::new();
    for (id, op) in out.ops() {
        ops.entry(op.name).or_default().push(id);
    }
    for folder in folders {
        let found = dump::tables(&folder);
        if found.is_empty() && named.is_some() {
            let what = format!(
                "no *-final_hlo-static-per-bundle-utilization.txt in {}: dump with \
                 LIBTPU_INIT_ARGS=\"--xla_jf_dump_to=DIR --xla_jf_dump_llo_text=true\" and name DIR",
                folder.display()
            );
            return Err(ImportError::NothingFound { what });
        }
        let tables = found.len();
        let mut described: HashSet<OpId> = HashSet::new();
        for found in found {
            progress.check()?;
            described.extend(add_table(&found, &ops, progress, out)?);
        }
        if !described.is_empty() {
            let value = format!("{} of {tables} tables say what {} ops use", folder.display(), described.len());
            out.source_mut().facts.push(("LLO tables".to_owned(), value));
        } else if named.is_some() {
            out.log(IssueKind::SourceSkipped, || {
                format!("{}: its {tables} tables are of ops that this program does not have", folder.display())
            });
        }
    }
    Ok(())
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

/// Adds one table to the ops that it is of, and returns them.
fn add_table(
    found: &dump::Found,
    ops: &HashMap<StringId, Vec<OpId>>,
    progress: &Progress,
    out: &mut TraceBuilder,
) -> Result<Vec<OpId>, ImportError> {
    let Some(wanted) = found.text.as_deref().and_then(dump::shape) else { return Ok(Vec::new()) };
    let mut meant = Vec::new();
    for name in &found.shared_by {
        let name = out.intern(name);
        for &id in ops.get(&name).into_iter().flatten() {
            let text = out.op_ref(id).hlo_text.map(|text| out.str(text));
            if text.and_then(dump::shape).is_some_and(|shape| shape == wanted) {
                meant.push(id);
            }
        }
    }
    if meant.is_empty() {
        return Ok(meant);
    }
    let file = found.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let table = match Source::open(&found.path).map(|source| table::read(&source, progress)) {
        Ok(table) => table?,
        Err(error) => Err(error.to_string()),
    };
    let table = match table {
        Ok(table) => table,
        Err(what) => {
            out.log(IssueKind::SourceSkipped, || format!("{file}: {what}: the dump is cut, write it again"));
            return Ok(Vec::new());
        }
    };
    let emitted_for = out.intern(&found.hlo);
    let bundles = Bundles { count: table.bundles, units: table.slots(|name| out.intern(name)), emitted_for };
    for &id in &meant {
        let Op { name, program, .. } = *out.op_ref(id);
        out.op(Op { name, program, bundles: Some(Box::new(bundles.clone())), ..Op::default() });
    }
    Ok(meant)
}

#[cfg(test)]
mod tests;
