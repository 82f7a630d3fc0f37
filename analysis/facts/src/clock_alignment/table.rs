//! The tables of clock offsets.

use engine::{Table, Tabular};
use math::unit::Unit;

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
    if shifts.iter().any(|shift| shift.sync == ClockSync::Shifted) {
        notes.push(
            "It is the smallest that lets no program begin before its launch: the true shift lies between it and “at most”."
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
    if shifts.iter().any(|shift| shift.sync == ClockSync::Poor) {
        notes.push(
            "Poor sync: no shift puts all programs between their launch and their completion; what device and host did \
             at the same time is uncertain by the difference of the bounds."
                .to_owned(),
        );
    }
    Table::of("clocks", "Device clocks against the host's", shifts)
        .measured("core", "Device", Unit::None, |shift| &shift.core)
        .measured("pairs", "Launches", Unit::Count, |shift| shift.pairs)
        .measured("ends", "Ends", Unit::Count, |shift| shift.ends)
        .measured("paired_by", "Paired by", Unit::None, |shift| {
            shift.paired_by.title()
        })
        .measured("at_least_ps", "At least", Unit::Picoseconds, |shift| {
            shift.bounds.at_least_ps
        })
        .measured("at_most_ps", "At most", Unit::Picoseconds, |shift| {
            shift.bounds.at_most_ps
        })
        .inferred("shift_ps", "Shift", Unit::Picoseconds, |shift| {
            shift.shift_ps
        })
        .inferred("sync", "Clocks", Unit::None, |shift| shift.sync.title())
        .inferred("base", "Of", Unit::None, |shift| shift.base.title())
        .measured("evidence", "By", Unit::None, |shift| {
            shift.evidence.join(", ")
        })
        .notes(notes)
        .build()
}

fn drift_table(shifts: &[ClockShift]) -> Table {
    Table::of("clock_drift", "Drift over time", shifts)
        .measured("core", "Device", Unit::None, |shift| &shift.core)
        .measured("first_at_least_ps", "First third at least", Unit::Picoseconds, |shift| {
            Some(shift.first_third?.at_least_ps)
        })
        .measured("first_at_most_ps", "at most", Unit::Picoseconds, |shift| shift.first_third?.at_most_ps)
        .measured("last_at_least_ps", "Last third at least", Unit::Picoseconds, |shift| {
            Some(shift.last_third?.at_least_ps)
        })
        .measured("last_at_most_ps", "at most", Unit::Picoseconds, |shift| shift.last_third?.at_most_ps)
        .inferred("drift_ppm", "Drift (ppm)", Unit::None, |shift| Some(shift.drift?.drift_ppm))
        .note(
            "A drift is only said where no constant shift fits all programs but one that grows with time does; it is \
             then the one applied.",
        )
        .build()
}

fn host_table(hosts: &[HostOffset]) -> Table {
    Table::of("host_clocks", "Host clocks against each other", hosts)
        .inferred("host", "Host", Unit::None, |host| &host.host)
        .inferred("against", "Against", Unit::None, |host| &host.against)
        .inferred("collectives", "Collectives", Unit::Count, |host| host.collectives)
        .inferred("offset_ps", "Ahead by", Unit::Picoseconds, |host| host.offset_ps)
        .inferred("spread_ps", "within", Unit::Picoseconds, |host| host.spread_ps)
        .inferred("first_third_ps", "First third", Unit::Picoseconds, |host| host.first_third_ps)
        .inferred("last_third_ps", "Last third", Unit::Picoseconds, |host| host.last_third_ps)
        .inferred("drift_ppm", "Drift (ppm)", Unit::None, |host| host.drift_ppm)
        .note(
            "Hosts are aligned by when their sessions began. All participants leave a collective together, so its ends \
             should agree; by how much they do not is how far the clocks of the hosts are apart, as exactly as the \
             shifts of their devices are known. The middle eight of ten lie “within” that length. It is applied only \
             to match executions over hosts.",
        )
        .build()
}
