//! Whether the parts of a snapshot fit together, so that damaged bytes cannot make later code panic or never end.

use std::ops::Range;

use crate::compact::CompactColumn;
use crate::model::TraceColumns;
use crate::nesting::NO_PARENT;
use crate::pause::{may_pause, pausing};
use crate::slices::SliceTable;

type CheckResult = Result<(), &'static str>;

/// Checks all references between columns. The error says what is wrong.
pub(super) fn check(columns: &TraceColumns, arg_sources: usize) -> CheckResult {
    check_names(columns)?;
    check_hierarchy(columns)?;
    check_slices(&columns.slices, columns.labels.len())?;
    check_lanes(columns)?;
    let rows = columns.slices.starts.len();
    ensure(columns.flows.rows_are_below(rows), "a flow of no slice")?;
    let tracks = columns.tracks.len();
    ensure(
        columns.track_args.len() == tracks,
        "argument sources of other tracks",
    )?;
    let known = |source: &u16| usize::from(*source) < arg_sources;
    ensure(
        columns.track_args.iter().flatten().all(known),
        "an unknown argument source",
    )?;
    for series in &columns.counters {
        let len = series.values.len();
        ensure(series.track.index() < tracks, "a counter of no track")?;
        ensure(
            series.starts.len() == len && series.ends.len() == len,
            "samples without times",
        )?;
    }
    let of_labels = |unread: &crate::UnreadSlices| {
        let mut labels = unread.counts.iter().map(|(label, _)| label.index());
        unread.track.index() < tracks && labels.all(|label| label < columns.labels.len())
    };
    ensure(columns.unread.iter().all(of_labels), "slices of no track")?;
    let of_model = |op: &crate::AggregatedOp| {
        op.track.index() < tracks && op.label.index() < columns.labels.len()
    };
    ensure(columns.aggregates.iter().all(of_model), "totals of no op")
}

fn ensure(holds: bool, what: &'static str) -> CheckResult {
    if holds { Ok(()) } else { Err(what) }
}

fn check_names(columns: &TraceColumns) -> CheckResult {
    let (ops, programs) = (columns.ops.len(), columns.programs.len());
    ensure(
        columns
            .labels
            .iter()
            .all(|label| label.op.is_none_or(|op| op.index() < ops)),
        "a label of no op",
    )?;
    let has_program = |op: &crate::Op| op.program.is_none_or(|program| program.index() < programs);
    ensure(columns.ops.iter().all(has_program), "an op of no program")
}

fn check_hierarchy(columns: &TraceColumns) -> CheckResult {
    let groups = &columns.groups;
    ensure(
        groups
            .iter()
            .all(|group| group.source.index() < columns.sources.len()),
        "a group of no file",
    )?;
    ensure(
        columns
            .tracks
            .iter()
            .all(|track| track.group.index() < groups.len()),
        "a track of no group",
    )?;
    for group in groups {
        let mut parent = group.parent;
        let mut levels = 0;
        while let Some(id) = parent {
            let above = groups.get(id.index()).ok_or("a group below no group")?;
            levels += 1;
            ensure(levels <= groups.len(), "a group inside itself")?;
            parent = above.parent;
        }
    }
    Ok(())
}

fn check_slices(slices: &SliceTable, labels: usize) -> CheckResult {
    let rows = slices.starts.len();
    let is_whole = |column: &CompactColumn, len: usize| column.len() == len && column.is_sound();
    ensure(u32::try_from(rows).is_ok(), "too many slices")?;
    ensure(
        slices.labels.len() == rows && slices.parents.len() == rows,
        "columns of different lengths",
    )?;
    ensure(
        is_whole(&slices.durs, rows) && is_whole(&slices.child_durs, rows),
        "durations of other slices",
    )?;
    ensure(
        slices.args.len() <= rows && slices.args.is_sound(),
        "arguments of other slices",
    )?;
    ensure(
        pausing(&slices.labels).all(|&label| (label as usize) < labels),
        "a slice without a label",
    )?;
    // A parent lies in a lane above, so in an earlier row.
    let mut parents = pausing((0_u32..).zip(&slices.parents));
    ensure(
        parents.all(|(row, &parent)| parent == NO_PARENT || parent < row),
        "a slice inside a later one",
    )?;
    for column in slices.attrs.values() {
        ensure(
            is_whole(&column.values, column.rows.len()),
            "facts without slices",
        )?;
        ensure(
            column.rows.is_sorted() && column.rows.last().is_none_or(|&row| (row as usize) < rows),
            "facts of no slice",
        )?;
    }
    check_ranges(slices.device_clocks.iter().map(|clock| &clock.rows), rows)?;
    for clock in &slices.device_clocks {
        let len = clock.rows.len();
        ensure(
            is_whole(&clock.start_minus_base, len) && is_whole(&clock.dur_minus_timeline, len),
            "clocks of other slices",
        )?;
    }
    check_ranges(slices.reparented.iter().map(|track| &track.rows), rows)?;
    let mut pairs = slices.reparented.iter().flat_map(|track| &track.pairs);
    ensure(
        pairs.all(|&(parent, child)| parent < child && (child as usize) < rows),
        "children of no slice",
    )
}

/// Ranges of rows must ascend.
fn check_ranges<'a>(ranges: impl Iterator<Item = &'a Range<u32>>, rows: usize) -> CheckResult {
    let mut end = 0;
    for range in ranges {
        ensure(
            end <= range.start && range.start <= range.end && range.end as usize <= rows,
            "ranges out of order",
        )?;
        end = range.end;
    }
    Ok(())
}

fn check_lanes(columns: &TraceColumns) -> CheckResult {
    let mut next = 0;
    for lane in &columns.lanes {
        may_pause();
        ensure(
            lane.track.index() < columns.tracks.len(),
            "a lane of no track",
        )?;
        ensure(
            lane.rows.start == next && lane.rows.end >= next,
            "lanes out of order",
        )?;
        next = lane.rows.end;
        let starts = columns
            .slices
            .starts
            .get(lane.rows.start as usize..lane.rows.end as usize);
        ensure(
            starts.is_some_and(<[i64]>::is_sorted),
            "slices out of order",
        )?;
    }
    ensure(
        next as usize == columns.slices.starts.len(),
        "slices outside of lanes",
    )?;
    ensure(
        columns.track_lanes.len() == columns.tracks.len(),
        "lanes of other tracks",
    )?;
    let fits =
        |range: &Range<u32>| range.start <= range.end && range.end as usize <= columns.lanes.len();
    ensure(
        columns.track_lanes.iter().all(fits),
        "lanes that do not exist",
    )
}
