//! Tables of reports as [`DataTable`]s.

use analysis::{ANALYSES, AnalysisEntry, Report, Scope};

use super::data::DataTable;
use super::from_report::of_report;
use super::runs;
use crate::open::Session;

/// Ids that tables of several reports have, or that are tables of the timeline.
const SHARED: [&str; 6] = [
    "transfers",
    "findings",
    "counters",
    "sources",
    "slices",
    "tracks",
];

/// The tables of all reports that this trace has, in one scope. A table is called by its id. If that is also the name
/// of another report or table, the name of its report comes first: `doctor_memory`.
pub(super) fn tables(session: &Session, scope: Scope) -> Vec<DataTable> {
    let entries: Vec<_> = ANALYSES.iter().collect();
    let reports = session.context(scope).reports_of(&entries);
    let mut tables = vec![runs::table(session, scope)];
    for (entry, report) in ANALYSES.iter().zip(reports) {
        let Ok(report) = report else { continue };
        tables.extend(tables_of(session, entry, &*report));
    }
    tables
}

/// One table of [`tables`] by its name. Most names say which report has it: that one alone is computed.
pub(super) fn table(session: &Session, scope: Scope, name: &str) -> Option<DataTable> {
    if name == runs::NAME {
        return Some(runs::table(session, scope));
    }
    let is_likely = |entry: &&AnalysisEntry| {
        name.strip_prefix(entry.id)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    let likely = ANALYSES.iter().filter(is_likely).find_map(|entry| {
        let report = (entry.run)(&session.context(scope)).ok()?;
        tables_of(session, entry, &*report).find(|table| table.name == name)
    });
    likely.or_else(|| {
        tables(session, scope)
            .into_iter()
            .find(|table| table.name == name)
    })
}

fn tables_of<'s>(
    session: &'s Session,
    entry: &AnalysisEntry,
    report: &dyn Report,
) -> impl Iterator<Item = DataTable> + use<'s> {
    let id = entry.id;
    report.tables().into_iter().map(move |table| {
        let of_another = table.id != id && ANALYSES.iter().any(|other| other.id == table.id);
        let name = if of_another || SHARED.contains(&table.id) {
            format!("{id}_{}", table.id)
        } else {
            table.id.to_owned()
        };
        of_report(&name, id, table).in_trace(session.model())
    })
}
