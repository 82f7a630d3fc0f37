//! The tables of clock offsets.

use engine::prelude::*;

use super::{ClockBase, ClockShift, ClockSync, ClocksReport, HostOffset};

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
pub fn device_table(shifts: &[ClockShift]) -> Table {
    let mut notes = vec![
        "The shift is added to device times wherever they are compared with the host, and to no length of time; the \
         timeline stays as recorded."
            .to_owned(),
    ];
    let any_is = |sync| shifts.iter().any(|shift| shift.sync == sync);
    if any_is(ClockSync::Shifted) {
        notes.push(
            "It is the smallest that lets no program begin before its launch or end after the host noticed its end: the \
             true shift lies between “at least” and “at most”."
                .to_owned(),
        );
    }
    if any_is(ClockSync::Drifting) {
        notes.push(
            "Drifting: no constant shift fits, so that “at least” can be above “at most”; the shift grows with time."
                .to_owned(),
        );
    }
    if shifts
        .iter()
        .any(|shift| shift.base == ClockBase::DeviceClock)
    {
        notes.push(
            "Of device clock: no shift puts the timeline in order, because the profiler misplaced programs on it; the \
             clock that timed the ops is in order, and its times are compared with the host."
                .to_owned(),
        );
    }
    if any_is(ClockSync::Poor) {
        notes.push(
            "Poor sync: no shift puts all programs between their launch and their completion; what device and host did \
             at the same time is uncertain by the difference of the bounds."
                .to_owned(),
        );
    }
    Table::of("clocks", "Device clocks against the host's", shifts)
        .declared([
            "core",
            "pairs",
            "ends",
            "paired_by",
            "at_least_ps",
            "at_most_ps",
            "shift_ps",
            "sync",
            "base",
            "evidence",
        ])
        .notes(notes)
        .build()
}

fn drift_table(shifts: &[ClockShift]) -> Table {
    Table::of("clock_drift", "Drift over time", shifts)
        .declared([
            "core",
            "first_at_least_ps",
            "first_at_most_ps",
            "last_at_least_ps",
            "last_at_most_ps",
            "drift_ppm",
        ])
        .note(
            "A drift is only said where no constant shift fits all programs but one that grows with time does; it is \
             then the one applied.",
        )
        .build()
}

fn host_table(hosts: &[HostOffset]) -> Table {
    Table::of("host_clocks", "Host clocks against each other", hosts)
        .remaining()
        .note(
            "Hosts are aligned by when their sessions began. All participants leave a collective together, so its ends \
             should agree; by how much they do not is how far the clocks of the hosts are apart, as exactly as the \
             shifts of their devices are known. The middle eight of ten lie “within” that length. It is applied only \
             to match executions over hosts.",
        )
        .build()
}
