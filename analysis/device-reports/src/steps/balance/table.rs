//! Load balance as tables.

use engine::{Cell, Table, Tabular};
use math::unit::Unit;

use super::{BalanceReport, BalancedQuantity};
use crate::steps::step_parts::sentence;

impl Tabular for BalanceReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![
            self.devices_table(),
            quantities_table("balance", "Devices compared", &self.quantities),
        ];
        if self.hosts.len() > 1 {
            tables.push(self.hosts_table());
            tables.push(quantities_table(
                "host_balance",
                "Hosts compared",
                &self.host_quantities,
            ));
        }
        tables.push(self.steps_table());
        tables
    }
}

fn remark(is_straggler: bool, absence: Option<&str>) -> Cell {
    let words: Vec<&str> = is_straggler
        .then_some("straggler")
        .into_iter()
        .chain(absence)
        .collect();
    Cell::text(words.join(", "))
}

impl BalanceReport {
    fn devices_table(&self) -> Table {
        let measured = if self.steps.iter().any(|step| step.step.is_some()) {
            "Means over counted steps"
        } else {
            "Over the whole window, because there are no steps"
        };
        Table::of("device_load", "What each device does in a step", &self.devices)
            .measured("core", "Device", Unit::None, |load| &load.core)
            .measured("step_ps", "Step", Unit::Picoseconds, |load| load.step_ps)
            .measured("work_ps", "Work", Unit::Picoseconds, |load| load.work_ps)
            .measured("exposed_comm_ps", "Exposed comm", Unit::Picoseconds, |load| load.exposed_comm_ps)
            .measured("copy_wait_ps", "Copy wait", Unit::Picoseconds, |load| load.copy_wait_ps)
            .measured("idle_ps", "Idle", Unit::Picoseconds, |load| load.idle_ps)
            .measured("remark", "Remark", Unit::None, |load| remark(load.is_straggler, load.absence.as_deref()))
            .derived("z", "Modified z", Unit::None, |load| load.work_z)
            .measured("skew_wait_ps", "Waits for others", Unit::Picoseconds, |load| load.skew_wait_ps)
            .measured("awaited_ps", "Others wait", Unit::Picoseconds, |load| load.awaited_ps)
            .measured("barrier_ps", "Barriers", Unit::Picoseconds, |load| load.barrier_ps)
            .measured("host_io_ps", "Host I/O", Unit::Picoseconds, |load| load.host_io_ps)
            .measured("busy_percent", "Ops, of window", Unit::Percent, |load| load.busy_percent)
            .measured("steps", "Steps", Unit::Count, |load| load.steps)
            .measured("host", "Host", Unit::None, |load| &load.host)
            .note(format!("{}.", sentence(&self.statement)))
            .note(format!("{measured}; waits for others (in synchronous collectives) and barriers are of the window."))
            .note("Others wait: time that other devices waited for this one to arrive at a collective, added up.")
            .note("Work is time in ops that neither communicate nor wait: collectives make all steps equally long.")
            .build()
    }

    fn hosts_table(&self) -> Table {
        Table::of(
            "host_load",
            "What the devices of each host do in a step",
            &self.hosts,
        )
        .measured("host", "Host", Unit::None, |load| &load.host)
        .measured("devices", "Devices", Unit::Count, |load| load.devices)
        .measured("work_ps", "Work, mean", Unit::Picoseconds, |load| {
            load.work_ps
        })
        .measured("most_work_ps", "most", Unit::Picoseconds, |load| {
            load.most_work_ps
        })
        .measured(
            "exposed_comm_ps",
            "Exposed comm",
            Unit::Picoseconds,
            |load| load.exposed_comm_ps,
        )
        .measured("barrier_ps", "Barriers", Unit::Picoseconds, |load| {
            load.barrier_ps
        })
        .derived("z", "Modified z", Unit::None, |load| load.work_z)
        .measured("remark", "Remark", Unit::None, |load| {
            remark(load.is_straggler, None)
        })
        .build()
    }

    fn steps_table(&self) -> Table {
        Table::of("step_balance", "Work in each step over devices", &self.steps)
            .measured("step", "Step", Unit::None, |step| {
                step.step.map_or_else(|| Cell::text("window"), |step| Cell::count(u64::from(step)))
            })
            .measured("time_ps", "Time", Unit::Picoseconds, |step| step.time_ps)
            .measured("most", "Works most", Unit::None, |step| &step.most)
            .measured("max_ps", "Its work", Unit::Picoseconds, |step| step.max_ps)
            .measured("median_ps", "Median", Unit::Picoseconds, |step| step.median_ps)
            .measured("mean_ps", "Mean", Unit::Picoseconds, |step| step.mean_ps)
            .derived("imbalance_percent", "Over median", Unit::Percent, |step| step.imbalance_percent)
            .derived("cost_ps", "Cost", Unit::Picoseconds, |step| step.cost_ps)
            .derived("cost_percent", "Of step", Unit::Percent, |step| {
                (step.time_ps > 0).then(|| 100.0 * step.cost_ps / step.time_ps as f64)
            })
            .note("Cost: the most work minus the median, which is what the step would save if all devices wait for the slowest.")
            .build()
    }
}

fn quantities_table(id: &'static str, title: &str, quantities: &[BalancedQuantity]) -> Table {
    Table::of(id, title, quantities)
        .measured("what", "What", Unit::None, |quantity| quantity.title)
        .measured("of", "Per", Unit::None, |quantity| quantity.of)
        .measured("min_ps", "Least", Unit::Picoseconds, |quantity| quantity.min_ps)
        .measured("median_ps", "Median", Unit::Picoseconds, |quantity| quantity.median_ps)
        .measured("max_ps", "Most", Unit::Picoseconds, |quantity| quantity.max_ps)
        .derived("imbalance_percent", "Over median", Unit::Percent, |quantity| quantity.imbalance_percent)
        .measured("most", "Who", Unit::None, |quantity| &quantity.most)
        .derived("z", "Modified z", Unit::None, |quantity| quantity.z)
        .measured("count", "Compared", Unit::Count, |quantity| quantity.count)
        .note(
            "A modified z-score above 3.5 marks an outlier; spreads below 0.5 % of the step (or window) count as 0.5 %.",
        )
        .build()
}
