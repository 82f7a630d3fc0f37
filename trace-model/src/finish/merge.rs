//! Concatenates finished tracks into the slice table.

use std::ops::Range;

use super::flows::Rows;
use super::track::FinishedTrack;
use crate::attrs::SparseColumn;
use crate::compact::CompactColumn;
use crate::import_log::{ImportLog, IssueKind};
use crate::nesting::NO_PARENT;
use crate::slices::{DeviceClockColumns, NO_ARGS, Reparented, SliceTable};
use crate::time::{TimeRange, Timestamp};
use crate::track::{Lane, TrackId};

/// All tracks, one after the other.
#[derive(Default)]
pub(super) struct MergedTracks {
    pub table: SliceTable,
    pub lanes: Vec<Lane>,
    pub track_lanes: Vec<Range<u32>>,
    pub track_args: Vec<Option<u16>>,
    /// Where the slices of each track are.
    pub rows_of: Vec<Rows>,
}

impl MergedTracks {
    pub fn with_capacity(rows: usize, has_args: bool) -> Self {
        Self {
            table: SliceTable {
                starts: Vec::with_capacity(rows),
                durs: CompactColumn::with_capacity(rows),
                child_durs: CompactColumn::with_capacity(rows),
                labels: Vec::with_capacity(rows),
                parents: Vec::with_capacity(rows),
                args: CompactColumn::with_capacity(if has_args { rows } else { 0 }),
                ..SliceTable::default()
            },
            ..Self::default()
        }
    }

    pub fn append(
        &mut self,
        id: TrackId,
        track: FinishedTrack,
        log: &mut ImportLog,
        name: impl Fn(u32) -> String,
    ) {
        let base = self.table.starts.len() as u32;
        let n = track.starts.len();
        let example = |(label, start)| format!("{:?} at {start} ps", name(label));
        let spilled = track.spilled.first().map(|&row| row as usize);
        let spilled = spilled.map(|row| (track.labels[row], track.starts[row]));
        log.add_many(
            IssueKind::OverlapSpilled,
            track.spilled.len() as u64,
            || spilled.map_or_else(String::new, example),
        );
        let placed = track.placed.first().copied();
        log.add_many(
            IssueKind::DeviceClockMissing,
            track.placed.len() as u64,
            || placed.map_or_else(String::new, example),
        );
        for label in track.unterminated {
            log.add(IssueKind::BeginWithoutEnd, || format!("{:?}", name(label)));
        }

        for left_out in track.left_out {
            log.add(IssueKind::ImpossibleTime, || example(left_out));
        }

        let first_lane = self.lanes.len() as u32;
        let mut row = base;
        for (depth, &len) in track.lane_lens.iter().enumerate() {
            self.lanes.push(Lane {
                track: id,
                depth: depth as u32,
                rows: row..row + len,
            });
            row += len;
        }
        self.track_lanes.push(first_lane..self.lanes.len() as u32);
        self.track_args.push(track.arg_source);

        let table = &mut self.table;
        table.durs.extend_from_slice(&track.durs);
        table.child_durs.extend_from_slice(&track.child_durs);
        table.starts.extend_from_slice(&track.starts);
        table.labels.extend_from_slice(&track.labels);
        table.parents.extend(
            track
                .parents
                .iter()
                .map(|&p| if p == NO_PARENT { p } else { p + base }),
        );
        if !track.args.is_empty() {
            table.args.resize(base as usize, NO_ARGS);
            table.args.extend_from_slice(&track.args);
        }
        if let Some((clock_base, start_minus_base, dur_minus_timeline)) = track.device {
            let rows = base..base + n as u32;
            table.device_clocks.push(DeviceClockColumns {
                rows,
                base: clock_base,
                start_minus_base,
                dur_minus_timeline,
            });
        }
        if !track.reparented.is_empty() {
            let pairs = track
                .reparented
                .into_iter()
                .map(|(parent, child)| (parent + base, child + base))
                .collect();
            table.reparented.push(Reparented {
                rows: base..base + n as u32,
                pairs,
            });
        }
        for (attr, column) in track.attrs {
            let into: &mut SparseColumn = table.attrs.entry(attr).or_default();
            for (row, value) in column {
                into.rows.push(row + base);
                into.values.push(value);
            }
        }
        self.rows_of.push(Rows {
            base,
            of_index: track.rows_of,
        });
    }

    /// From the first slice to the end of the last, those in `unread` included.
    pub fn extent(&self, unread: impl Iterator<Item = TimeRange>) -> TimeRange {
        let ends = self
            .lanes
            .iter()
            .filter(|lane| !lane.is_empty())
            .map(|lane| {
                let (first, last) = (lane.rows.start as usize, lane.rows.end as usize - 1);
                let start = Timestamp::from_ps(self.table.starts[first]);
                let end = Timestamp::from_ps(
                    self.table.starts[last].saturating_add(self.table.durs.get(last)),
                );
                TimeRange::new(start, end)
            });
        ends.chain(unread)
            .reduce(TimeRange::hull)
            .unwrap_or_default()
    }
}
