//! The clocks as tables.

use crate::engine::{Cell, Column, Provenance, Table, Tabular};
use crate::facts::clock_alignment::{Base, ClockShift, ClocksReport, HostOffset, Interval, Sync};
use crate::math::unit::Unit;

fn column(id: &'static str, title: &'static str, unit: Unit, provenance: Provenance) -> Column {
    Column { id, title, unit, provenance }
}

impl Tabular for ClocksReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![device_table(&self.devices)];
        if self.devices.iter().any(|shift| shift.first_third.is_some()) {
            tables.push(drift_table(&self.devices));
        }
        if !self.hosts.is_empty() {
            tables.push(host_table(&self.hosts));
        }
        tables
    }
}

/// The table of shifts; the health report shows it too.
pub(crate) fn device_table(shifts: &[ClockShift]) -> Table {
    let row = |shift: &ClockShift| {
        vec![
            Cell::text(&shift.core),
            Cell::count(shift.pairs as u64),
            Cell::count(shift.ends as u64),
            Cell::text(shift.paired_by.title()),
            Cell::Int(shift.bounds.at_least_ps),
            shift.bounds.at_most_ps.map_or(Cell::Missing, Cell::Int),
            Cell::Int(shift.shift_ps),
            Cell::text(shift.sync.title()),
            Cell::text(shift.base.title()),
            Cell::text(shift.evidence.join(", ")),
        ]
    };
    let mut notes = vec![
        "The shift is added to device times wherever they are compared with the host, and to no length of time; the \
         timeline stays as recorded."
            .to_owned(),
    ];
    if shifts.iter().any(|shift| shift.sync == Sync::Shifted) {
        notes.push(
            "It is the smallest that lets no program begin before its launch: the true one can be anything up to \
             “at most”."
                .to_owned(),
        );
    }
    if shifts.iter().any(|shift| shift.base == Base::DeviceClock) {
        notes.push(
            "Of device clock: no shift puts the timeline in order, because the profiler misplaced programs on it; the \
             clock that timed the ops is in order, and its times are compared with the host."
                .to_owned(),
        );
    }
    if shifts.iter().any(|shift| shift.sync == Sync::Poor) {
        notes.push(
            "Poor sync: no shift puts all programs between their launch and their completion; what device and host did \
             at the same time is uncertain by the difference of the bounds."
                .to_owned(),
        );
    }
    let (measured, inferred) = (Provenance::Measured, Provenance::Inferred);
    Table {
        id: "clocks",
        title: "Device clocks against the host's".to_owned(),
        columns: vec![
            column("core", "Device", Unit::None, measured),
            column("pairs", "Launches", Unit::Count, measured),
            column("ends", "Ends", Unit::Count, measured),
            column("paired_by", "Paired by", Unit::None, measured),
            column("at_least_ps", "At least", Unit::Picoseconds, measured),
            column("at_most_ps", "At most", Unit::Picoseconds, measured),
            column("shift_ps", "Shift", Unit::Picoseconds, inferred),
            column("sync", "Clocks", Unit::None, inferred),
            column("base", "Of", Unit::None, inferred),
            column("evidence", "By", Unit::None, measured),
        ],
        rows: shifts.iter().map(row).collect(),
        notes,
    }
}

fn drift_table(shifts: &[ClockShift]) -> Table {
    let both = |interval: Option<Interval>| {
        let at_least = interval.map_or(Cell::Missing, |interval| Cell::Int(interval.at_least_ps));
        let at_most = interval.and_then(|interval| interval.at_most_ps).map_or(Cell::Missing, Cell::Int);
        [at_least, at_most]
    };
    let row = |shift: &ClockShift| {
        let mut row = vec![Cell::text(&shift.core)];
        row.extend(both(shift.first_third));
        row.extend(both(shift.last_third));
        row.push(Cell::maybe(shift.drift.map(|line| line.drift_ppm)));
        row
    };
    let (measured, inferred) = (Provenance::Measured, Provenance::Inferred);
    Table {
        id: "clock_drift",
        title: "Whether the shift changes".to_owned(),
        columns: vec![
            column("core", "Device", Unit::None, measured),
            column("first_at_least_ps", "First third at least", Unit::Picoseconds, measured),
            column("first_at_most_ps", "at most", Unit::Picoseconds, measured),
            column("last_at_least_ps", "Last third at least", Unit::Picoseconds, measured),
            column("last_at_most_ps", "at most", Unit::Picoseconds, measured),
            column("drift_ppm", "Drift (ppm)", Unit::None, inferred),
        ],
        rows: shifts.iter().map(row).collect(),
        notes: vec![
            "A drift is only said where no constant shift fits all programs but one that grows with time does; it is \
             then the one applied."
                .to_owned(),
        ],
    }
}

fn host_table(hosts: &[HostOffset]) -> Table {
    let inferred = Provenance::Inferred;
    let time = |ps: Option<i64>| ps.map_or(Cell::Missing, Cell::Int);
    let row = |host: &HostOffset| {
        vec![
            Cell::text(&host.host),
            Cell::text(&host.against),
            Cell::count(host.collectives as u64),
            Cell::Int(host.offset_ps),
            Cell::Int(host.spread_ps),
            time(host.first_third_ps),
            time(host.last_third_ps),
            Cell::maybe(host.drift_ppm),
        ]
    };
    Table {
        id: "host_clocks",
        title: "Host clocks against each other".to_owned(),
        columns: vec![
            column("host", "Host", Unit::None, inferred),
            column("against", "Against", Unit::None, inferred),
            column("collectives", "Collectives", Unit::Count, inferred),
            column("offset_ps", "Ahead by", Unit::Picoseconds, inferred),
            column("spread_ps", "within", Unit::Picoseconds, inferred),
            column("first_third_ps", "First third", Unit::Picoseconds, inferred),
            column("last_third_ps", "Last third", Unit::Picoseconds, inferred),
            column("drift_ppm", "Drift (ppm)", Unit::None, inferred),
        ],
        rows: hosts.iter().map(row).collect(),
        notes: vec![
            "Hosts are aligned by when their sessions began. All participants leave a collective together, so its ends \
             should agree; by how much they do not is how far the clocks of the hosts are apart, as exactly as the \
             shifts of their devices are known. The middle eight of ten lie “within” that length. A check: it is not \
             applied."
                .to_owned(),
        ],
    }
}
