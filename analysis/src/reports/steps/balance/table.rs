//! Load balance as tables.

use super::{BalanceReport, BalancedQuantity, DeviceLoad, HostLoad, StepBalance};
use crate::engine::{Cell, Column, Provenance, Table, Tabular};
use crate::math::unit::Unit;
use crate::reports::steps::step_parts::sentence;

impl Tabular for BalanceReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.devices_table(), quantities_table("balance", "Devices compared", &self.quantities)];
        if self.hosts.len() > 1 {
            tables.push(self.hosts_table());
            tables.push(quantities_table("host_balance", "Hosts compared", &self.host_quantities));
        }
        tables.push(self.steps_table());
        tables
    }
}

fn column(id: &'static str, title: &'static str, unit: Unit) -> Column {
    let is_derived = matches!(id, "z" | "imbalance_percent" | "cost_ps" | "cost_percent");
    let provenance = if is_derived { Provenance::Derived } else { Provenance::Measured };
    Column { id, title, unit, provenance }
}

fn remark(is_straggler: bool, is_unused: bool) -> Cell {
    let words = [(is_straggler, "straggler"), (is_unused, "hardly used")];
    let words: Vec<&str> = words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    Cell::text(words.join(", "))
}

impl BalanceReport {
    fn devices_table(&self) -> Table {
        let row = |load: &DeviceLoad| {
            vec![
                Cell::text(load.core.clone()),
                Cell::maybe(load.step_ps),
                Cell::maybe(load.work_ps),
                Cell::maybe(load.exposed_comm_ps),
                Cell::maybe(load.copy_wait_ps),
                Cell::maybe(load.idle_ps),
                remark(load.is_straggler, load.is_unused),
                Cell::maybe(load.work_z),
                Cell::maybe(load.skew_wait_ps),
                Cell::maybe(load.awaited_ps),
                Cell::maybe(load.barrier_ps),
                Cell::maybe(load.host_io_ps),
                Cell::maybe(load.busy_percent),
                Cell::count(load.steps as u64),
                Cell::text(load.host.clone()),
            ]
        };
        let measured = if self.steps.iter().any(|step| step.step.is_some()) {
            "Means over counted steps"
        } else {
            "Over the whole window, for want of steps"
        };
        Table {
            id: "device_load",
            title: "What each device does in a step".to_owned(),
            columns: vec![
                column("core", "Device", Unit::None),
                column("step_ps", "Step", Unit::Picoseconds),
                column("work_ps", "Work", Unit::Picoseconds),
                column("exposed_comm_ps", "Exposed comm", Unit::Picoseconds),
                column("copy_wait_ps", "Copy wait", Unit::Picoseconds),
                column("idle_ps", "Idle", Unit::Picoseconds),
                column("remark", "Remark", Unit::None),
                column("z", "Modified z", Unit::None),
                column("skew_wait_ps", "Waits for others", Unit::Picoseconds),
                column("awaited_ps", "Others wait", Unit::Picoseconds),
                column("barrier_ps", "Barriers", Unit::Picoseconds),
                column("host_io_ps", "Host I/O", Unit::Picoseconds),
                column("busy_percent", "Ops, of window", Unit::Percent),
                column("steps", "Steps", Unit::Count),
                column("host", "Host", Unit::None),
            ],
            rows: self.devices.iter().map(row).collect(),
            notes: vec![
                format!("{}.", sentence(&self.statement)),
                format!("{measured}; waits for others (in synchronous collectives) and barriers are of the window."),
                "Others wait: for this device, which came last to a collective; added up over the others.".to_owned(),
                "Work is time in ops that neither communicate nor wait: collectives make all steps equally long."
                    .to_owned(),
            ],
        }
    }

    fn hosts_table(&self) -> Table {
        let row = |load: &HostLoad| {
            vec![
                Cell::text(load.host.clone()),
                Cell::count(load.devices as u64),
                Cell::maybe(load.work_ps),
                Cell::maybe(load.most_work_ps),
                Cell::maybe(load.exposed_comm_ps),
                Cell::maybe(load.barrier_ps),
                Cell::maybe(load.work_z),
                remark(load.is_straggler, false),
            ]
        };
        Table {
            id: "host_load",
            title: "What the devices of each host do in a step".to_owned(),
            columns: vec![
                column("host", "Host", Unit::None),
                column("devices", "Devices", Unit::Count),
                column("work_ps", "Work, mean", Unit::Picoseconds),
                column("most_work_ps", "most", Unit::Picoseconds),
                column("exposed_comm_ps", "Exposed comm", Unit::Picoseconds),
                column("barrier_ps", "Barriers", Unit::Picoseconds),
                column("z", "Modified z", Unit::None),
                column("remark", "Remark", Unit::None),
            ],
            rows: self.hosts.iter().map(row).collect(),
            notes: Vec::new(),
        }
    }

    fn steps_table(&self) -> Table {
        let row = |step: &StepBalance| {
            vec![
                step.step.map_or_else(|| Cell::text("window"), |step| Cell::count(u64::from(step))),
                Cell::Int(step.time_ps),
                Cell::text(&*step.most),
                Cell::Int(step.max_ps),
                Cell::Float(step.median_ps),
                Cell::Float(step.mean_ps),
                Cell::maybe(step.imbalance_percent),
                Cell::Float(step.cost_ps),
                Cell::maybe((step.time_ps > 0).then(|| 100.0 * step.cost_ps / step.time_ps as f64)),
            ]
        };
        Table {
            id: "step_balance",
            title: "Work in each step over devices".to_owned(),
            columns: vec![
                column("step", "Step", Unit::None),
                column("time_ps", "Time", Unit::Picoseconds),
                column("most", "Works most", Unit::None),
                column("max_ps", "Its work", Unit::Picoseconds),
                column("median_ps", "Median", Unit::Picoseconds),
                column("mean_ps", "Mean", Unit::Picoseconds),
                column("imbalance_percent", "Over median", Unit::Percent),
                column("cost_ps", "Cost", Unit::Picoseconds),
                column("cost_percent", "Of step", Unit::Percent),
            ],
            rows: self.steps.iter().map(row).collect(),
            notes: vec![
                "Cost is the most work less the median: what the step would be shorter by if all wait for it."
                    .to_owned(),
            ],
        }
    }
}

fn quantities_table(id: &'static str, title: &str, quantities: &[BalancedQuantity]) -> Table {
    let row = |quantity: &BalancedQuantity| {
        vec![
            Cell::text(quantity.title),
            Cell::text(quantity.of),
            Cell::Float(quantity.min_ps),
            Cell::Float(quantity.median_ps),
            Cell::Float(quantity.max_ps),
            Cell::maybe(quantity.imbalance_percent),
            Cell::text(quantity.most.clone()),
            Cell::maybe(quantity.z),
            Cell::count(quantity.count as u64),
        ]
    };
    Table {
        id,
        title: title.to_owned(),
        columns: vec![
            column("what", "What", Unit::None),
            column("of", "Per", Unit::None),
            column("min_ps", "Least", Unit::Picoseconds),
            column("median_ps", "Median", Unit::Picoseconds),
            column("max_ps", "Most", Unit::Picoseconds),
            column("imbalance_percent", "Over median", Unit::Percent),
            column("most", "Who", Unit::None),
            column("z", "Modified z", Unit::None),
            column("count", "Compared", Unit::Count),
        ],
        rows: quantities.iter().map(row).collect(),
        notes: vec![
            "A modified z-score above 3.5 stands out; spreads below 0.5 % of the step (or window) count as that much."
                .to_owned(),
        ],
    }
}
