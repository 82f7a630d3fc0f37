//! What a row of a table is about, on the timeline.
//!
//! Nothing but the ids of columns is known here, so every report that names its
//! columns as the others do leads to the timeline by itself: `start_ps` with a
//! length, a `step`, or the name of an op or function.

use std::collections::BTreeSet;

use analysis::steps::StepsReport;
use analysis::{Cell, Table};
use trace_model::{LabelId, Picos, SliceId, SliceRef, TimeRange, Timestamp, TraceModel};

use super::state::{Spotlight, ViewCommand};
use super::trace::OpenTrace;

/// Columns that say how long something took that begins at `start_ps`.
const LENGTHS: [&str; 4] = ["length_ps", "wall_ps", "time_ps", "event_ps"];
/// Columns that name something that the timeline shows, the surest first.
const NAMES: [&str; 9] = ["op", "name", "transfer", "kernel", "function", "module", "event", "after", "program"];

/// What a row is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A time.
    Range(TimeRange),
    /// All slices of some labels.
    Slices(Spotlight),
}

impl Target {
    /// Of a row; `None` where the timeline has nothing of it.
    pub fn of_row(trace: &OpenTrace, steps: Option<&StepsReport>, table: &Table, row: &[Cell]) -> Option<Self> {
        let cell = |id: &str| table.columns.iter().position(|column| column.id == id).and_then(|at| row.get(at));
        if let Some(&Cell::Int(start)) = cell("start_ps") {
            let length =
                LENGTHS.iter().find_map(|id| if let Some(&Cell::Int(ps)) = cell(id) { Some(ps) } else { None });
            return Some(Self::Range(TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(length?.max(1)))));
        }
        let program = match cell("program") {
            Some(Cell::Text(program)) => Some(program.as_str()),
            _ => None,
        };
        let named = NAMES.iter().find_map(|id| match cell(id) {
            Some(Cell::Text(name)) => Self::named(trace, name, program),
            _ => None,
        });
        named.or_else(|| {
            let number = match cell("step")? {
                Cell::Int(number) => u32::try_from(*number).ok()?,
                Cell::Text(text) => text.parse().ok()?,
                _ => return None,
            };
            steps?.range_of(number, number).map(Self::Range)
        })
    }

    /// All slices of a name, of one program where its title is given.
    pub fn named(trace: &OpenTrace, name: &str, program: Option<&str>) -> Option<Self> {
        let model = &trace.model;
        let labels = trace.labels_named(name);
        let title_of = |label: &LabelId| {
            let program = model.op(model.label(*label).op?).program?;
            Some(model.program_title(program))
        };
        let own: BTreeSet<LabelId> =
            labels.iter().copied().filter(|label| program.is_some() && title_of(label).as_deref() == program).collect();
        let labels = if own.is_empty() { labels.iter().copied().collect() } else { own };
        (!labels.is_empty()).then(|| Self::Slices(Spotlight::new(name, labels)))
    }

    /// What to do to show it.
    pub fn commands(&self, model: &TraceModel) -> Vec<ViewCommand> {
        match self {
            Self::Range(range) => {
                vec![ViewCommand::Mark(*range, BTreeSet::new()), ViewCommand::ShowAround(*range)]
            }
            Self::Slices(spotlight) => {
                let light = ViewCommand::LightUp(Some(spotlight.clone()));
                let longest = longest(model, &spotlight.labels).map(ViewCommand::GoTo);
                std::iter::once(light).chain(longest).collect()
            }
        }
    }
}

/// The longest slice of some labels; the first of equals.
pub fn longest(model: &TraceModel, labels: &BTreeSet<LabelId>) -> Option<SliceId> {
    let mut wanted = vec![false; model.labels().len()];
    for label in labels {
        wanted[label.index()] = true;
    }
    let slices = model.all_slices().filter(|slice| wanted[slice.label_id().index()]);
    slices.max_by_key(|slice| (slice.measured_dur(), std::cmp::Reverse(slice.id()))).map(SliceRef::id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;
    use analysis::{Column, Options, Provenance, Unit};
    use trace_model::{GroupKind, SliceSpec, TraceBuilder, TrackKind};

    fn trace() -> OpenTrace {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let track = builder.track(host, TrackKind::HostThread, 1, "main");
        let label = builder.label("compile", None);
        for (start, end) in [(0, 10), (20, 50)] {
            let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
            builder.add_slice(track, SliceSpec::new(range, label));
        }
        OpenTrace::new("trace".into(), Session::from_model(builder.finish(), Options::default()))
    }

    fn target(columns: &[&'static str], row: &[Cell]) -> Option<Target> {
        let column = |&id| Column { id, title: id, unit: Unit::None, provenance: Provenance::Measured };
        let columns = columns.iter().map(column).collect();
        let table = Table { id: "t", title: String::new(), columns, rows: vec![row.to_vec()], notes: Vec::new() };
        Target::of_row(&trace(), None, &table, row)
    }

    #[test]
    fn rows_lead_to_times_and_names() {
        let found = target(&["function", "start_ps", "wall_ps"], &[Cell::text("f"), Cell::Int(20), Cell::Int(30)]);
        let range = TimeRange::new(Timestamp::from_ps(20), Timestamp::from_ps(50));
        assert_eq!(found, Some(Target::Range(range)));
        let found = target(&["time_ps", "op"], &[Cell::Int(3), Cell::text("compile")]).unwrap();
        let commands = found.commands(&trace().model);
        assert!(
            matches!(&commands[..], [ViewCommand::LightUp(Some(_)), ViewCommand::GoTo(slice)] if slice.index() == 1)
        );
        assert_eq!(target(&["op"], &[Cell::text("unknown")]), None);
        assert_eq!(target(&["step"], &[Cell::Int(1)]), None, "no steps are known");
    }
}
