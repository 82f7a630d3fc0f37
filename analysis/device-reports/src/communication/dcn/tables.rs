//! The tables of the report on communication between slices.

use facts::prelude::*;

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
        .declared([
            "rendezvous",
            "stall_ps",
            "stall_percent",
            "slack_ps",
            "observed_ps",
            "required_bandwidth",
            "occurrences",
        ])
        .remaining()
        .notes(notes)
        .build()
    }

    fn device_table(&self) -> Table {
        Table::of(
            "dcn_devices",
            "Devices in transfers over slices",
            &self.devices,
        )
        .declared(["device", "stall_ps", "stall_percent", "occurrences"])
        .remaining()
        .build()
    }

    fn host_table(&self) -> Table {
        Table::of("dcn_hosts", "Network bandwidth of hosts", &self.hosts)
            .declared(["host", "messages", "bytes", "mean_bandwidth", "peak_bandwidth"])
            .remaining()
            .note(
                "Messages received from other slices, each taken to move at an even pace from its start to its arrival.",
            )
            .build()
    }

    fn message_table(&self) -> Table {
        Table::of("dcn_messages", "Messages between slices", &self.messages)
            .remaining()
            .build()
    }

    fn action_table(&self) -> Table {
        Table::of(
            "dcn_actions",
            "Events of the Megascale runtime",
            &self.actions,
        )
        .remaining()
        .note("Durations as the events state them; they overlap.")
        .build()
    }
}
