//! The table of slices: millions of rows, read straight from the model.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use analysis::{OpGroup, Provenance, Scope, TraceFacts as _, Unit, measured_range};
use serde_json::json;
use trace_model::{
    ArgValue, GroupId, GroupKind, OpId, Picos, SliceAttr, SliceId, SliceRef, TimeRange, TraceModel,
    TrackId,
};

use super::data::{
    Choices, ChoicesBuilder, DataTable, Field, RowFilter, limits_of, partition, some_rows,
};
use super::tracks::TrackNames;
use crate::open::Session;

/// Data that the columns need in addition to the model.
struct SliceRows {
    model: TraceModel,
    tracks: Arc<TrackNames>,
    names: Choices,
    /// By label.
    name_of: Vec<u32>,
    categories: Choices,
    /// By op.
    category_of: Vec<u32>,
    /// By op; `None` where ops inside of an execution tell.
    leaf_of: Vec<Option<bool>>,
    programs: Choices,
    /// By op.
    program_of: Vec<Option<u32>>,
    /// By track: the steps of its core or host, in time order.
    steps: Vec<Arc<[(TimeRange, u32)]>>,
}

/// The column of arguments: exact, and by far the slowest to read.
pub const ARGS: &str = "args";

const SLICE_ID: usize = 0;
const TRACK_ID: usize = 1;
const START: usize = 2;

/// The table of slices of a session.
pub(super) fn table(session: &Session, tracks: &Arc<TrackNames>) -> DataTable {
    let rows = Arc::new(SliceRows::new(session, tracks));
    let about =
        "One row per slice: an execution of an op, a program, a step, an event of a host thread.";
    let table = DataTable::of("slices", about, rows.model.slice_count(), rows);
    let table = table
        .id("slice_id", "number of the slice in this trace", Field::Int(|_, row| Some(row as i64)))
        .id("track_id", "its track", Field::Int(|all, row| Some(all.track(row).index() as i64)))
        .time(
            "start_ps",
            "start on the timeline of hosts and devices",
            Field::Int(|all, row| Some(all.at(row).start().ps())),
        )
        .time(
            "dur_ps",
            "length by the most precise clock, that of the device where recorded, as in all reports",
            Field::Int(|all, row| Some(all.measured(row).ps())),
        )
        .time("self_ps", "the same without that of its children", Field::Int(|all, row| Some(all.own(row).ps())))
        .id("name", "display name", Field::Choice(|all| &all.names, SliceRows::name))
        .fact(
            "category",
            "kind of work of the op; missing for other slices",
            Unit::None,
            Provenance::Inferred,
            Field::Choice(|all| &all.categories, |all, row| all.category_of.get(all.at(row).op()?.index()).copied()),
        )
        .fact(
            "step",
            "number of the step in which it starts on its core or host",
            Unit::None,
            Provenance::Inferred,
            Field::Int(SliceRows::step),
        );
    places(facts(table)).found_by(SliceRows::find).build()
}

type SliceTableBuilder = super::data::DataTableBuilder<SliceRows>;

fn places(table: SliceTableBuilder) -> SliceTableBuilder {
    table
        .id(
            "program",
            "compiled program of the op",
            Field::Choice(
                |all| &all.programs,
                |all, row| *all.program_of.get(all.at(row).op()?.index())?,
            ),
        )
        .id(
            "host",
            "host that recorded it",
            Field::Choice(
                |all| &all.tracks.hosts,
                |all, row| all.tracks.host(all.track(row)),
            ),
        )
        .id(
            "device",
            "device; missing on hosts",
            Field::Choice(
                |all| &all.tracks.devices,
                |all, row| all.tracks.device(all.track(row)),
            ),
        )
        .id(
            "track",
            "name of its track",
            Field::Choice(
                |all| &all.tracks.tracks,
                |all, row| all.tracks.track(all.track(row)),
            ),
        )
        .id(
            "track_kind",
            "what its track records",
            Field::Choice(
                |all| &all.tracks.kinds,
                |all, row| all.tracks.kind(all.track(row)),
            ),
        )
        .id(
            "depth",
            "level of nesting on its track, 0 at the top",
            Field::Int(|all, row| Some(i64::from(all.at(row).depth()))),
        )
        .id(
            "parent_id",
            "the slice that contains it",
            Field::Int(|all, row| {
                all.at(row)
                    .parent()
                    .map(|parent| parent.id().index() as i64)
            }),
        )
        .id(
            "is_leaf",
            "1 if its costs are its own, 0 if they include those of ops inside; missing for other slices",
            Field::Int(SliceRows::is_leaf),
        )
        .id(
            "op_id",
            "the instruction that it executes",
            Field::Int(|all, row| all.at(row).op().map(|op| op.index() as i64)),
        )
}

/// Columns of facts about single slices.
fn facts(table: SliceTableBuilder) -> SliceTableBuilder {
    table
        .time(
            "device_start_ps",
            "start by the clock of the device",
            Field::Int(|all, row| Some(all.at(row).device_range()?.start.ps())),
        )
        .time(
            "timeline_dur_ps",
            "length as drawn on the timeline of hosts and devices",
            Field::Int(|all, row| Some(all.at(row).dur().ps())),
        )
        .fact(
            "flops",
            "operations of this execution",
            Unit::Flop,
            Provenance::StaticCost,
            Field::Int(|all, row| {
                all.or_of_op(row, SliceAttr::Flops, |model, op| model.op(op).flops)
            }),
        )
        .fact(
            "bytes_accessed",
            "bytes to and from all memories in this execution",
            Unit::Bytes,
            Provenance::StaticCost,
            Field::Int(|all, row| {
                all.or_of_op(row, SliceAttr::Bytes, |model, op| {
                    model.op(op).bytes_accessed
                })
            }),
        )
        .fact(
            "run_id",
            "id of the execution of the program",
            Unit::None,
            Provenance::Profile,
            Field::Int(|all, row| all.at(row).attr(SliceAttr::RunId)),
        )
        .fact(
            "group_id",
            "step that the profiler assigned",
            Unit::None,
            Provenance::Profile,
            Field::Int(|all, row| all.at(row).attr(SliceAttr::GroupId)),
        )
        .fact(
            ARGS,
            "recorded arguments, as a JSON object",
            Unit::None,
            Provenance::Profile,
            Field::Text(|all, row| arguments(all.at(row)).map(Cow::Owned)),
        )
}

/// Arguments of a slice as a JSON object, read from its file; `None` if it has none or they cannot be read.
pub fn arguments(slice: SliceRef<'_>) -> Option<String> {
    let args = slice.args().ok().filter(|args| !args.is_empty())?;
    let value = |value: &ArgValue| match value {
        ArgValue::Int(number) => json!(number),
        ArgValue::Uint(number) => json!(number),
        ArgValue::Float(number) => json!(number),
        ArgValue::Bool(is_true) => json!(is_true),
        ArgValue::Null => serde_json::Value::Null,
        ArgValue::Text(_) | ArgValue::Opaque(_) => json!(value.to_string()),
    };
    let object: serde_json::Map<_, _> = args
        .into_iter()
        .map(|arg| (arg.name, value(&arg.value)))
        .collect();
    Some(serde_json::Value::Object(object).to_string())
}

impl SliceRows {
    fn new(session: &Session, tracks: &Arc<TrackNames>) -> Self {
        let model = session.whole_model();
        let context = session.context(Scope::WholeTrace);
        let mut names = ChoicesBuilder::default();
        let name_of = model
            .labels()
            .iter()
            .map(|label| names.code(model.str(label.name)))
            .collect();
        let mut categories = ChoicesBuilder::default();
        let codes = OpGroup::ALL.map(|group| (group, categories.code(group.title())));
        let code = |wanted: OpGroup| {
            codes
                .iter()
                .find(|(group, _)| *group == wanted)
                .map_or(0, |(_, code)| *code)
        };
        let classes = context.classes();
        let category_of = model
            .op_ids()
            .map(|op| code(classes.class(op).group))
            .collect();
        let leaf_of = model.op_ids().map(|op| classes.class(op).leaf()).collect();
        let mut programs = ChoicesBuilder::default();
        let program_of = model
            .ops()
            .iter()
            .map(|op| Some(programs.code(&model.program_title(op.program?))))
            .collect();
        Self {
            tracks: Arc::clone(tracks),
            names: names.build(),
            name_of,
            categories: categories.build(),
            category_of,
            leaf_of,
            programs: programs.build(),
            program_of,
            steps: steps_by_track(session),
            model: model.clone(),
        }
    }

    fn at(&self, row: usize) -> SliceRef<'_> {
        self.model.slice(SliceId::from_index(row))
    }

    fn track(&self, row: usize) -> TrackId {
        self.at(row).track()
    }

    fn measured(&self, row: usize) -> Picos {
        measured_range(self.at(row), &self.model).dur()
    }

    fn own(&self, row: usize) -> Picos {
        let slice = self.at(row);
        if slice.children_dur() > Picos::ZERO {
            slice.self_dur()
        } else {
            self.measured(row)
        }
    }

    fn is_leaf(&self, row: usize) -> Option<i64> {
        let slice = self.at(row);
        let by_class = self.leaf_of.get(slice.op()?.index()).copied().flatten();
        let is_leaf = by_class.unwrap_or_else(|| slice.children_dur() == Picos::ZERO);
        Some(i64::from(is_leaf))
    }

    fn name(&self, row: usize) -> Option<u32> {
        self.name_of.get(self.at(row).label_id().index()).copied()
    }

    fn step(&self, row: usize) -> Option<i64> {
        step_of(&self.steps, self.at(row))
    }

    /// A fact of this execution, else of its op.
    fn or_of_op(
        &self,
        row: usize,
        attr: SliceAttr,
        of: impl Fn(&TraceModel, OpId) -> Option<u64>,
    ) -> Option<i64> {
        let slice = self.at(row);
        let by_op = || of(&self.model, slice.op()?).and_then(|value| i64::try_from(value).ok());
        slice.attr(attr).or_else(by_op)
    }

    /// Rows by id, track and start: the model is sorted by track, lane and start.
    fn find(&self, filters: &[RowFilter]) -> Vec<Range<usize>> {
        let (tracks, starts) = (
            RowFilter::limits(filters, TRACK_ID),
            RowFilter::limits(filters, START),
        );
        let ids = limits_of(filters, SLICE_ID, self.model.slice_count());
        // A join looks up a slice for each row: only the lanes around it are looked at.
        let lanes = self.model.all_lanes();
        let first = lanes.partition_point(|lane| self.model.lane_rows(lane).end <= ids.start);
        let lanes = lanes[first..]
            .iter()
            .take_while(|lane| self.model.lane_rows(lane).start < ids.end)
            .filter(|lane| (tracks.0..=tracks.1).contains(&(lane.track.index() as i64)));
        let parts = lanes.filter_map(|lane| {
            let rows = self.model.lane_rows(lane);
            let start_of = |row: &usize| self.at(*row).start().ps();
            let from = match starts.0 {
                i64::MIN => rows.start,
                least => partition(rows.clone(), |row| start_of(&row) < least),
            };
            let to = match starts.1 {
                i64::MAX => rows.end,
                most => partition(rows, |row| start_of(&row) <= most),
            };
            let part = from.max(ids.start)..to.min(ids.end);
            (!part.is_empty()).then_some(part)
        });
        parts.collect()
    }
}

/// The slices of the chosen devices that begin in the scope, as reports count them: whole, even if they end later.
pub(super) fn in_scope(session: &Session, scope: Scope, all: Arc<DataTable>) -> Arc<DataTable> {
    let (model, devices) = (session.model(), &session.options().devices);
    if scope == Scope::WholeTrace && devices.is_empty() {
        return all;
    }
    let steps = match scope {
        Scope::Steps { first, last } => Some(wanted_steps(session, first..=last)),
        Scope::WholeTrace | Scope::Range(_) => None,
    };
    let range = match scope {
        Scope::Range(range) => Some(range),
        // The whole span of the steps, so that not all slices are looked at.
        Scope::WholeTrace | Scope::Steps { .. } => steps.as_ref().map(|steps| {
            let ranges = || {
                steps
                    .iter()
                    .flat_map(|steps| steps.iter().map(|(range, _)| *range))
            };
            let start = ranges().map(|range| range.start).min();
            let end = ranges().map(|range| range.end).max();
            TimeRange::new(start.unwrap_or_default(), end.unwrap_or_default())
        }),
    };
    let starts = range.map(|range| RowFilter {
        column: START,
        least: range.start.ps(),
        most: range.end.ps().saturating_sub(1),
    });
    let tracks: Vec<bool> = model
        .track_ids()
        .map(|track| devices.is_empty() || is_on_device(model, track, devices))
        .collect();
    let is_wanted = |&row: &usize| {
        let slice = model.slice(SliceId::from_index(row));
        let is_in_step = |steps: &Vec<_>| step_of(steps, slice).is_some();
        tracks.get(slice.track().index()) == Some(&true) && steps.as_ref().is_none_or(is_in_step)
    };
    let starts: Vec<_> = starts.into_iter().collect();
    let rows = all
        .find(&starts)
        .into_iter()
        .flatten()
        .filter(is_wanted)
        .map(|row| row as u32)
        .collect();
    Arc::new(some_rows(&all, rows))
}

/// Some steps of the core or host of each track.
fn wanted_steps(session: &Session, numbers: RangeInclusive<u32>) -> Vec<Arc<[(TimeRange, u32)]>> {
    let of_track = |steps: Arc<[(TimeRange, u32)]>| {
        steps
            .iter()
            .filter(|(_, step)| numbers.contains(step))
            .copied()
            .collect()
    };
    steps_by_track(session).into_iter().map(of_track).collect()
}

/// Whether a track belongs to one of these devices.
pub fn is_on_device(model: &TraceModel, track: TrackId, devices: &[u32]) -> bool {
    let groups = std::iter::successors(Some(model.track(track).group), |&group| {
        model.group(group).parent
    });
    groups
        .into_iter()
        .any(|group| match model.group(group).kind {
            GroupKind::TensorCore { ordinal } | GroupKind::Gpu { ordinal } => {
                devices.contains(&ordinal)
            }
            _ => false,
        })
}

/// The step in which a slice begins.
fn step_of(steps: &[Arc<[(TimeRange, u32)]>], slice: SliceRef<'_>) -> Option<i64> {
    let steps = steps.get(slice.track().index())?;
    let before = steps
        .partition_point(|(range, _)| range.start <= slice.start())
        .checked_sub(1)?;
    let (range, number) = steps.get(before)?;
    range.contains(slice.start()).then_some(i64::from(*number))
}

/// Steps of the core or host of each track.
fn steps_by_track(session: &Session) -> Vec<Arc<[(TimeRange, u32)]>> {
    let (model, context) = (session.model(), session.context(Scope::WholeTrace));
    let report = context.steps();
    let mut of_group: Vec<Vec<(TimeRange, u32)>> = vec![Vec::new(); model.groups().len()];
    for step in report.steps.iter().filter(|_| report.has_steps()) {
        for span in &step.spans {
            if let Some(steps) = of_group.get_mut(span.group.index()) {
                steps.push((span.range, step.number));
            }
        }
    }
    let sorted = |mut steps: Vec<(TimeRange, u32)>| {
        steps.sort_by_key(|(range, _)| range.start);
        Arc::<[_]>::from(steps)
    };
    let of_group: Vec<Arc<[_]>> = of_group.into_iter().map(sorted).collect();
    let nearest = |group: GroupId| {
        let mut groups = std::iter::successors(Some(group), |&group| model.group(group).parent);
        let steps = groups.find_map(|group| {
            of_group
                .get(group.index())
                .filter(|steps| !steps.is_empty())
        });
        steps.map_or_else(|| Arc::from([]), Arc::clone)
    };
    model
        .tracks()
        .iter()
        .map(|track| nearest(track.group))
        .collect()
}
