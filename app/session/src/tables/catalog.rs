//! The tables of a session.

use std::sync::Arc;

use analysis::Scope;

use super::data::DataTable;
use super::tracks::TrackNames;
use super::{instructions, reports, slices, timeline, tracks};
use crate::open::Session;

type PartOfSlices = fn(&Session, Scope, Arc<DataTable>) -> Arc<DataTable>;

/// Tables that only a whole trace has: they show or count slices, or say what its model takes.
pub const OF_WHOLE_TRACES: [&str; 4] = ["slices", "tracks", "flows", "doctor_memory"];

/// The tables of a session: those of the timeline at once, those of reports on demand, because they are computed. Of what
/// was opened for reports, [`OF_WHOLE_TRACES`] are missing.
pub struct Catalog {
    session: Session,
    scope: Scope,
    timeline: Vec<Arc<DataTable>>,
}

impl Catalog {
    /// The tables of `session`. The scope, and which devices were chosen, hold for reports and slices; the other tables
    /// of the timeline are always whole.
    pub fn new(session: &Session, scope: Scope) -> Self {
        let is_whole = !session.model().is_partial();
        let part: PartOfSlices = slices::in_scope;
        Self::with(session, scope, is_whole.then_some(part))
    }

    /// The tables of `session`, with the slices of all devices, whatever was chosen.
    pub fn whole(session: &Session) -> Self {
        Self::with(session, Scope::WholeTrace, Some(|_, _, slices| slices))
    }

    /// The part of the slices that is shown; without one nothing that a whole trace is needed for.
    fn with(session: &Session, scope: Scope, part: Option<PartOfSlices>) -> Self {
        let whole = part.map(|part| (part, session.whole_model()));
        if let Some((_, model)) = whole {
            model.expect_many_args();
        }
        let model = session.model();
        let names = Arc::new(TrackNames::new(model));
        let in_trace = |table: DataTable| Arc::new(table.in_trace(model));
        let timeline = [
            whole.map(|(part, _)| part(session, scope, in_trace(slices::table(session, &names)))),
            whole.map(|_| in_trace(tracks::table(&names))),
            Some(in_trace(timeline::counters(&names))),
            whole.map(|(_, model)| Arc::new(timeline::flows(model))),
            Some(Arc::new(instructions::table(session))),
            Some(Arc::new(timeline::sources(model))),
        ];
        Self {
            session: session.clone(),
            scope,
            timeline: timeline.into_iter().flatten().collect(),
        }
    }

    /// Slices, tracks, counters, flows, instructions and files.
    pub fn timeline(&self) -> &[Arc<DataTable>] {
        &self.timeline
    }

    /// The tables of all reports that the trace has; computes the reports.
    pub fn reports(&self) -> Vec<Arc<DataTable>> {
        let tables = reports::tables(&self.session, self.scope).into_iter();
        let is_here = |table: &DataTable| self.has(&table.name);
        tables.filter(is_here).map(Arc::new).collect()
    }

    /// Whether a table of this name can be here.
    fn has(&self, name: &str) -> bool {
        !self.session.model().is_partial() || !OF_WHOLE_TRACES.contains(&name)
    }

    /// One table by its name; computes the report that has it, others only if the name does not tell which.
    pub fn table(&self, name: &str) -> Option<Arc<DataTable>> {
        let of_timeline = self
            .timeline
            .iter()
            .find(|table| table.name == name)
            .cloned();
        let of_report = || reports::table(&self.session, self.scope, name);
        of_timeline.or_else(|| of_report().filter(|_| self.has(name)).map(Arc::new))
    }

    pub fn all(&self) -> Vec<Arc<DataTable>> {
        self.timeline
            .iter()
            .cloned()
            .chain(self.reports())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use analysis::{Options, Provenance, Unit};
    use trace_model::Caveat;

    use super::super::samples;
    use super::*;

    #[test]
    fn times_of_a_model_are_not_measured() {
        let mut builder = sample_traces::text_builder("ops: MM\nM = fusion.1 [convolution fusion]");
        let source = builder.source_mut();
        source.simulator = Some("a model".to_owned());
        source.caveats.push(Caveat::Predicted);
        let session = Session::from_model(builder.finish(), Options::default());
        let catalog = Catalog::new(&session, Scope::WholeTrace);
        for name in ["slices", "ops"] {
            let table = catalog.table(name).expect("it has slices and ops");
            let from: BTreeSet<_> = table
                .columns
                .iter()
                .filter(|one| one.unit != Unit::Count)
                .filter_map(|one| one.provenance)
                .collect();
            assert!(from.contains(&Provenance::Predicted), "{name}: {from:?}");
            assert!(!from.contains(&Provenance::Measured), "{name}: {from:?}");
        }
    }

    #[test]
    fn table_and_column_names_are_unique() {
        for (file, session) in samples::sessions() {
            let tables = Catalog::new(&session, Scope::WholeTrace).all();
            let names: BTreeSet<&str> = tables.iter().map(|table| &*table.name).collect();
            assert_eq!(names.len(), tables.len(), "{file}: {names:?}");
            let catalog = Catalog::new(&session, Scope::WholeTrace);
            for table in &tables {
                let found = catalog
                    .table(&table.name)
                    .expect("every table is found by its name");
                assert_eq!(
                    (&found.name, &found.about, found.len),
                    (&table.name, &table.about, table.len),
                    "{file}"
                );
            }
            assert!(catalog.table("no-such-table").is_none());
            for table in &tables {
                let columns: BTreeSet<&str> =
                    table.columns.iter().map(|column| &*column.name).collect();
                assert_eq!(
                    columns.len(),
                    table.columns.len(),
                    "{}: {columns:?}",
                    table.name
                );
            }
        }
    }

    #[test]
    #[should_panic(expected = "asked for its slices")]
    fn what_was_imported_for_reports_has_no_tables_of_slices() {
        let mut builder = trace_model::TraceBuilder::new();
        builder.set_partial();
        let session = Session::from_model(builder.finish(), Options::default());
        let _ = Catalog::whole(&session);
    }
}
