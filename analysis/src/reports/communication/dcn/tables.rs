//! The report about slices as tables.

use super::DcnReport;
use crate::engine::{Cell, Column, Provenance, Table, Tabular};
use crate::math::unit::Unit;

fn column(id: &'static str, title: &'static str, unit: Unit, provenance: Provenance) -> Column {
    Column { id, title, unit, provenance }
}

fn measured(id: &'static str, title: &'static str, unit: Unit) -> Column {
    column(id, title, unit, Provenance::Measured)
}

fn text(value: Option<&String>) -> Cell {
    value.map_or(Cell::Missing, Cell::text)
}

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
        let inferred = |id, title, unit| column(id, title, unit, Provenance::Inferred);
        let columns = vec![
            measured("rendezvous", "Rendezvous", Unit::None),
            measured("stall_ps", "Stall", Unit::Picoseconds),
            measured("stall_percent", "of window", Unit::Percent),
            measured("slack_ps", "Mean slack", Unit::Picoseconds),
            measured("observed_ps", "Mean observed", Unit::Picoseconds),
            inferred("required_bandwidth", "Required", Unit::BytesPerSecond),
            measured("occurrences", "Runs", Unit::Count),
            column("transfer", "Kind", Unit::None, Provenance::StaticCost),
            inferred("slices", "Slices", Unit::Count),
            inferred("transmitted_bytes", "Transmitted", Unit::Bytes),
            inferred("observed_bandwidth", "Observed", Unit::BytesPerSecond),
            measured("send_ps", "send", Unit::Picoseconds),
            measured("send_done_ps", "send-done", Unit::Picoseconds),
            measured("recv_ps", "recv", Unit::Picoseconds),
            measured("recv_done_ps", "recv-done", Unit::Picoseconds),
            measured("program", "Program", Unit::None),
        ];
        let rows = self.collectives.iter().map(|row| {
            let mean = &row.mean;
            vec![
                Cell::text(&row.rendezvous),
                Cell::Int(row.stall_ps),
                Cell::maybe(row.stall_percent),
                Cell::Float(mean.slack_ps),
                Cell::Float(mean.observed_ps),
                Cell::maybe(row.required_bandwidth),
                Cell::count(row.occurrences),
                text(row.transfer.as_ref()),
                row.slices.map_or(Cell::Missing, Cell::count),
                Cell::maybe(row.transmitted_bytes),
                Cell::maybe(row.observed_bandwidth),
                Cell::Float(mean.send_ps),
                Cell::Float(mean.send_done_ps),
                Cell::Float(mean.recv_ps),
                Cell::Float(mean.recv_done_ps),
                text(row.program.as_ref()),
            ]
        });
        let mut notes = vec![
            "of window: of the windows of all devices that take part; slack: send to recv-done, less transfer ops between"
                .to_owned(),
            "Required: bytes that one device transmits ÷ slack; a NIC of 100 Gb/s carries 12.5 GB/s for all devices of a host"
                .to_owned(),
        ];
        if self.unmatched > 0 {
            notes.push(format!("{} ends of transfers had no begin in the capture", self.unmatched));
        }
        Table {
            id: "dcn_collectives",
            title: "Collectives over slices".to_owned(),
            columns,
            rows: rows.collect(),
            notes,
        }
    }

    fn device_table(&self) -> Table {
        let columns = vec![
            measured("device", "Device", Unit::None),
            measured("stall_ps", "Stall", Unit::Picoseconds),
            measured("stall_percent", "of window", Unit::Percent),
            measured("occurrences", "Runs", Unit::Count),
            measured("window_ps", "Window", Unit::Picoseconds),
        ];
        let rows = self.devices.iter().map(|device| {
            vec![
                Cell::text(&device.device),
                Cell::Int(device.stall_ps),
                Cell::maybe(device.stall_percent),
                Cell::count(device.occurrences),
                Cell::Int(device.window_ps),
            ]
        });
        Table {
            id: "dcn_devices",
            title: "Devices in transfers over slices".to_owned(),
            columns,
            rows: rows.collect(),
            notes: Vec::new(),
        }
    }

    fn host_table(&self) -> Table {
        let recorded = |id, title, unit| column(id, title, unit, Provenance::Profile);
        let columns = vec![
            recorded("host", "Host", Unit::None),
            recorded("messages", "Messages", Unit::Count),
            recorded("bytes", "Bytes", Unit::Bytes),
            recorded("mean_bandwidth", "Mean", Unit::BytesPerSecond),
            recorded("peak_bandwidth", "Most", Unit::BytesPerSecond),
            recorded("active_ps", "Active", Unit::Picoseconds),
            recorded("low_ps", "< 4.17 GB/s", Unit::Picoseconds),
            recorded("medium_ps", "< 8.34 GB/s", Unit::Picoseconds),
            recorded("high_ps", "≤ 12.5 GB/s", Unit::Picoseconds),
            recorded("above_ps", "above", Unit::Picoseconds),
            recorded("loopback", "Within slice", Unit::Count),
            recorded("invalid", "Incomplete", Unit::Count),
        ];
        let rows = self.hosts.iter().map(|host| {
            let mut row = vec![
                Cell::text(&host.host),
                Cell::count(host.messages),
                Cell::Float(host.bytes),
                Cell::maybe(host.mean_bandwidth),
                Cell::Float(host.peak_bandwidth),
                Cell::Int(host.active_ps),
            ];
            row.extend(host.active_ps_by_class.map(Cell::Int));
            row.extend([Cell::count(host.loopback), Cell::count(host.invalid)]);
            row
        });
        let note =
            "Messages received from other slices, each taken to move at an even pace from its begin to its arrival.";
        Table {
            id: "dcn_hosts",
            title: "Network bandwidth of hosts".to_owned(),
            columns,
            rows: rows.collect(),
            notes: vec![note.to_owned()],
        }
    }

    fn message_table(&self) -> Table {
        let recorded = |id, title, unit| column(id, title, unit, Provenance::Profile);
        let columns = vec![
            recorded("label", "Collective", Unit::None),
            recorded("messages", "Messages", Unit::Count),
            recorded("bytes", "Bytes", Unit::Bytes),
            recorded("mean_ps", "Mean time", Unit::Picoseconds),
            recorded("max_ps", "Longest", Unit::Picoseconds),
            recorded("bandwidth", "One at a time", Unit::BytesPerSecond),
        ];
        let rows = self.messages.iter().map(|row| {
            vec![
                Cell::text(&row.label),
                Cell::count(row.messages),
                Cell::Float(row.bytes),
                Cell::Float(row.mean_ps),
                Cell::Int(row.max_ps),
                Cell::maybe(row.bandwidth),
            ]
        });
        Table {
            id: "dcn_messages",
            title: "Messages between slices".to_owned(),
            columns,
            rows: rows.collect(),
            notes: Vec::new(),
        }
    }

    fn action_table(&self) -> Table {
        let recorded = |id, title, unit| column(id, title, unit, Provenance::Profile);
        let columns = vec![
            recorded("action", "Event", Unit::None),
            recorded("count", "How often", Unit::Count),
            recorded("total_ps", "Total", Unit::Picoseconds),
            recorded("max_ps", "Longest", Unit::Picoseconds),
        ];
        let rows = self.actions.iter().map(|row| {
            vec![Cell::text(&row.action), Cell::count(row.count), Cell::Int(row.total_ps), Cell::Int(row.max_ps)]
        });
        Table {
            id: "dcn_actions",
            title: "Events of the Megascale runtime".to_owned(),
            columns,
            rows: rows.collect(),
            notes: vec!["Durations as the events state them; they overlap.".to_owned()],
        }
    }
}
