//! What a table row refers to on the timeline.
//!
//! Only column ids are known here, so every report with the usual column names leads to the timeline: `start_ps` with a
//! length, `peak_at_ps`, the name of an op or function, a `step`, or else a device or host.

use crate::prelude::*;
use analysis::Cell;

use crate::state::{HighlightedLabels, ViewCommand, ViewCommands};
use crate::timeline::trace::OpenTrace;

/// Columns with the length of something that begins at `start_ps`.
const LENGTHS: [&str; 5] = ["dur_ps", "length_ps", "wall_ps", "time_ps", "event_ps"];
/// Columns with the name of something on the timeline, the most specific first.
const NAMES: [&str; 10] = [
    "op",
    "name",
    "instruction",
    "transfer",
    "kernel",
    "function",
    "module",
    "event",
    "after",
    "program",
];
/// Columns with a device or host, the most specific first.
const PLACES: [&str; 3] = ["core", "device", "host"];
/// The range shown around a point in time, as a fraction of the trace.
const AROUND_MOMENT: i64 = 1_000;

/// What a row refers to.
#[derive(Debug, PartialEq)]
pub enum RowTarget {
    Slice(SliceId),
    Range(TimeRange),
    /// All slices of some labels.
    Slices(HighlightedLabels),
    /// All tracks of a device or host.
    Tracks {
        tracks: BTreeSet<TrackId>,
        /// The first slice of the first non-empty track.
        first: SliceId,
    },
}

impl RowTarget {
    /// The target of a row; `None` if nothing on the timeline matches it.
    pub fn of_row(
        trace: &OpenTrace,
        steps: Option<&StepsReport>,
        table: &Table,
        row: &[Cell],
    ) -> Option<Self> {
        let cell = |id: &str| {
            table
                .columns
                .iter()
                .position(|column| column.id == id)
                .and_then(|index| row.get(index))
        };
        let int = |id: &str| {
            if let Some(&Cell::Int(ps)) = cell(id) {
                Some(ps)
            } else {
                None
            }
        };
        let text = |id: &str| {
            if let Some(Cell::Text(text)) = cell(id) {
                Some(text.as_str())
            } else {
                None
            }
        };
        if let Some(slice) = int("slice_id").and_then(|id| usize::try_from(id).ok())
            && slice < trace.model.slice_count()
        {
            return Some(Self::Slice(SliceId::from_index(slice)));
        }
        if let (Some(start), Some(length)) = (int("start_ps"), LENGTHS.into_iter().find_map(int)) {
            return Some(Self::Range(TimeRange::at(
                Timestamp::from_ps(start),
                Picos::from_ps(length.max(1)),
            )));
        }
        if let Some(time) = int("peak_at_ps") {
            return Some(Self::moment(&trace.model, time));
        }
        let program = text("program");
        let named = NAMES
            .into_iter()
            .find_map(|id| Self::named(trace, text(id)?, program));
        let step = || {
            let number = int("step")
                .and_then(|number| u32::try_from(number).ok())
                .or_else(|| text("step")?.parse().ok())?;
            steps?.range_of(number, number).map(Self::Range)
        };
        named.or_else(step).or_else(|| {
            PLACES
                .into_iter()
                .find_map(|id| Self::place(&trace.model, text(id)?))
        })
    }

    /// All slices of a name; of one program if its title is given.
    pub fn named(trace: &OpenTrace, name: &str, program: Option<&str>) -> Option<Self> {
        let model = &trace.model;
        let labels = trace.labels_named(name);
        let title_of = |label: &LabelId| {
            let program = model.op(model.label(*label).op?).program?;
            Some(model.program_title(program))
        };
        let of_program: BTreeSet<LabelId> = labels
            .iter()
            .copied()
            .filter(|label| program.is_some() && title_of(label).as_deref() == program)
            .collect();
        let labels = if of_program.is_empty() {
            labels.iter().copied().collect()
        } else {
            of_program
        };
        (!labels.is_empty()).then(|| Self::Slices(HighlightedLabels::new(name, labels)))
    }

    /// A range around a point in time.
    fn moment(model: &TraceModel, time_ps: i64) -> Self {
        let around = Picos::from_ps((model.extent().dur().ps() / AROUND_MOMENT).max(2));
        Self::Range(TimeRange::at(
            Timestamp::from_ps(time_ps.saturating_sub(around.ps() / 2)),
            around,
        ))
    }

    /// A device or host with everything inside it.
    fn place(model: &TraceModel, name: &str) -> Option<Self> {
        let group = model
            .group_ids()
            .find(|&id| model.device_name(id) == name)?;
        let is_inside = |id: GroupId| {
            std::iter::successors(Some(id), |&id| model.group(id).parent).any(|id| id == group)
        };
        let tracks: BTreeSet<TrackId> = model
            .track_ids()
            .filter(|&track| is_inside(model.track(track).group))
            .collect();
        let first = tracks
            .iter()
            .find_map(|&track| model.slices_on(track).next())?
            .id();
        Some(Self::Tracks { tracks, first })
    }

    /// The commands that show it.
    pub fn commands(&self, trace: &OpenTrace) -> ViewCommands {
        match self {
            Self::Slice(slice) => vec![ViewCommand::GoTo(*slice)],
            Self::Range(range) => {
                vec![
                    ViewCommand::Mark(*range, BTreeSet::new()),
                    ViewCommand::ShowAround(*range),
                ]
            }
            Self::Slices(highlighted) => {
                let light = ViewCommand::Highlight(Some(highlighted.clone()));
                let longest = trace.longest(&*highlighted.labels).map(ViewCommand::GoTo);
                std::iter::once(light).chain(longest).collect()
            }
            Self::Tracks { tracks, first } => {
                vec![
                    ViewCommand::Reveal(*first),
                    ViewCommand::Mark(trace.model.extent(), tracks.clone()),
                ]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::{Options, Unit};
    use session::Session;
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
        OpenTrace::new(
            "trace".into(),
            Session::from_model(builder.finish(), Options::default()),
        )
    }

    fn target(columns: &[&'static str], row: &[Cell]) -> Option<RowTarget> {
        let mut table = Table::of("t", "", [row]);
        for (at, id) in columns.iter().enumerate() {
            table = table.measured(id, id, Unit::None, move |row| row[at].clone());
        }
        RowTarget::of_row(&trace(), None, &table.build(), row)
    }

    #[test]
    fn rows_have_targets_by_time_and_name() {
        let found = target(
            &["function", "start_ps", "wall_ps"],
            &[Cell::text("f"), Cell::Int(20), Cell::Int(30)],
        );
        let range = TimeRange::new(Timestamp::from_ps(20), Timestamp::from_ps(50));
        assert_eq!(found, Some(RowTarget::Range(range)));
        let found = target(&["time_ps", "op"], &[Cell::Int(3), Cell::text("compile")]).unwrap();
        let commands = found.commands(&trace());
        assert!(
            matches!(&commands[..], [ViewCommand::Highlight(Some(_)), ViewCommand::GoTo(slice)] if slice.index() == 1)
        );
        let found = target(
            &["name", "slice_id"],
            &[Cell::text("compile"), Cell::Int(1)],
        );
        assert_eq!(
            found,
            Some(RowTarget::Slice(SliceId::from_index(1))),
            "a slice is most specific"
        );
        assert_eq!(target(&["slice_id"], &[Cell::Int(99)]), None);
        assert_eq!(target(&["op"], &[Cell::text("unknown")]), None);
        let found = target(
            &["start_ps", "instruction"],
            &[Cell::Int(20), Cell::text("compile")],
        );
        assert!(
            matches!(found, Some(RowTarget::Slices(_))),
            "a begin without a length is no time: {found:?}"
        );
        assert_eq!(
            target(&["step"], &[Cell::Int(1)]),
            None,
            "no steps are known"
        );
    }

    #[test]
    fn rows_with_a_time_or_track_have_that_target() {
        let found = target(
            &["memory", "peak_at_ps"],
            &[Cell::text("HBM"), Cell::Int(20)],
        );
        let range = TimeRange::new(Timestamp::from_ps(19), Timestamp::from_ps(21));
        assert_eq!(
            found,
            Some(RowTarget::Range(range)),
            "with a little around it"
        );

        let trace = trace();
        let found = target(
            &["core", "host"],
            &[Cell::text("no such core"), Cell::text("host")],
        )
        .unwrap();
        let commands = found.commands(&trace);
        let [ViewCommand::Reveal(first), ViewCommand::Mark(range, tracks)] = &commands[..] else {
            panic!("{commands:?}")
        };
        assert_eq!((first.index(), *range), (0, trace.model.extent()));
        assert!(
            tracks
                .iter()
                .eq(&trace.model.track_ids().collect::<Vec<_>>())
        );
        assert_eq!(target(&["core"], &[Cell::text("no such core")]), None);
    }
}
