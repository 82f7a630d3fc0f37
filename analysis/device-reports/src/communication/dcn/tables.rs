//! The tables of the report on communication between slices.

use engine::{Table, Tabular};
use math::unit::Unit;

use super::report::DcnReport;

impl Tabular for DcnReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = Vec::new();
        if !self.devices.is_empty() {
            tables.extend([self.collective_table(), self.device_table()]);
        }
        if !self.hosts.is_empty() {
            tables.extend([self.host_table(), self.message_table()]);
        }
        if !self.actions.is_empty() {
            tables.push(self.action_table());
        }
        tables
    }
}

impl DcnReport {
    fn collective_table(&self) -> Table {
        let mut notes = vec![
            "Stall: the sum of all executions on all devices".to_owned(),
            "of window: of the windows of all devices that take part; slack: send to recv-done, less transfer ops between"
                .to_owned(),
            "Required: bytes that one device transmits ÷ slack; a NIC of 100 Gb/s carries 12.5 GB/s for all devices of a host"
                .to_owned(),
        ];
        if self.unmatched > 0 {
            notes.push(format!(
                "{} ends of transfers had no begin in the capture",
                self.unmatched
            ));
        }
        Table::of(
            "dcn_collectives",
            "Collectives over slices",
            &self.collectives,
        )
        .measured("rendezvous", "Rendezvous", Unit::None, |row| {
            &row.rendezvous
        })
        .measured("stall_ps", "Stall", Unit::Picoseconds, |row| row.stall_ps)
        .measured("stall_percent", "of window", Unit::Percent, |row| {
            row.stall_percent
        })
        .measured("slack_ps", "Mean slack", Unit::Picoseconds, |row| {
            Some(row.mean?.slack_ps)
        })
        .measured("observed_ps", "Mean observed", Unit::Picoseconds, |row| {
            Some(row.mean?.observed_ps)
        })
        .inferred(
            "required_bandwidth",
            "Required",
            Unit::BytesPerSecond,
            |row| row.required_bandwidth,
        )
        .measured("occurrences", "Runs", Unit::Count, |row| row.occurrences)
        .compiler("transfer", "Kind", Unit::None, |row| &row.transfer)
        .inferred("slices", "Slices", Unit::Count, |row| row.slices)
        .inferred("transmitted_bytes", "Transmitted", Unit::Bytes, |row| {
            row.transmitted_bytes
        })
        .inferred(
            "observed_bandwidth",
            "Observed",
            Unit::BytesPerSecond,
            |row| row.observed_bandwidth,
        )
        .measured("send_ps", "send", Unit::Picoseconds, |row| {
            Some(row.mean?.send_ps)
        })
        .measured("send_done_ps", "send-done", Unit::Picoseconds, |row| {
            Some(row.mean?.send_done_ps)
        })
        .measured("recv_ps", "recv", Unit::Picoseconds, |row| {
            Some(row.mean?.recv_ps)
        })
        .measured("recv_done_ps", "recv-done", Unit::Picoseconds, |row| {
            Some(row.mean?.recv_done_ps)
        })
        .measured("program", "Program", Unit::None, |row| &row.program)
        .notes(notes)
        .build()
    }

    fn device_table(&self) -> Table {
        Table::of(
            "dcn_devices",
            "Devices in transfers over slices",
            &self.devices,
        )
        .measured("device", "Device", Unit::None, |device| &device.device)
        .measured("stall_ps", "Stall", Unit::Picoseconds, |device| {
            device.stall_ps
        })
        .measured("stall_percent", "of window", Unit::Percent, |device| {
            device.stall_percent
        })
        .measured("occurrences", "Runs", Unit::Count, |device| {
            device.occurrences
        })
        .measured("window_ps", "Window", Unit::Picoseconds, |device| {
            device.window_ps
        })
        .build()
    }

    fn host_table(&self) -> Table {
        Table::of("dcn_hosts", "Network bandwidth of hosts", &self.hosts)
            .recorded("host", "Host", Unit::None, |host| &host.host)
            .recorded("messages", "Messages", Unit::Count, |host| host.messages)
            .recorded("bytes", "Bytes", Unit::Bytes, |host| host.bytes)
            .recorded("mean_bandwidth", "Mean", Unit::BytesPerSecond, |host| host.mean_bandwidth)
            .recorded("peak_bandwidth", "Most", Unit::BytesPerSecond, |host| host.peak_bandwidth)
            .recorded("active_ps", "Active", Unit::Picoseconds, |host| host.active_ps)
            .recorded("low_ps", "< 4.17 GB/s", Unit::Picoseconds, |host| host.active_ps_by_class[0])
            .recorded("medium_ps", "< 8.34 GB/s", Unit::Picoseconds, |host| host.active_ps_by_class[1])
            .recorded("high_ps", "≤ 12.5 GB/s", Unit::Picoseconds, |host| host.active_ps_by_class[2])
            .recorded("above_ps", "above", Unit::Picoseconds, |host| host.active_ps_by_class[3])
            .recorded("loopback", "Within slice", Unit::Count, |host| host.loopback)
            .recorded("invalid", "Incomplete", Unit::Count, |host| host.invalid)
            .note(
                "Messages received from other slices, each taken to move at an even pace from its start to its arrival.",
            )
            .build()
    }

    fn message_table(&self) -> Table {
        Table::of("dcn_messages", "Messages between slices", &self.messages)
            .recorded("label", "Collective", Unit::None, |row| &row.label)
            .recorded("messages", "Messages", Unit::Count, |row| row.messages)
            .recorded("bytes", "Bytes", Unit::Bytes, |row| row.bytes)
            .recorded("mean_ps", "Mean time", Unit::Picoseconds, |row| row.mean_ps)
            .recorded("max_ps", "Longest", Unit::Picoseconds, |row| row.max_ps)
            .recorded("bandwidth", "One at a time", Unit::BytesPerSecond, |row| {
                row.bandwidth
            })
            .build()
    }

    fn action_table(&self) -> Table {
        Table::of(
            "dcn_actions",
            "Events of the Megascale runtime",
            &self.actions,
        )
        .recorded("action", "Event", Unit::None, |row| &row.action)
        .recorded("count", "How often", Unit::Count, |row| row.count)
        .recorded("total_ps", "Total", Unit::Picoseconds, |row| row.total_ps)
        .recorded("max_ps", "Longest", Unit::Picoseconds, |row| row.max_ps)
        .note("Durations as the events state them; they overlap.")
        .build()
    }
}
