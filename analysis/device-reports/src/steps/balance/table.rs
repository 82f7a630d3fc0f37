//! Load balance as tables.

use facts::prelude::*;

use super::{BalanceReport, BalancedQuantity};

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

impl BalanceReport {
    fn devices_table(&self) -> Table {
        let with_steps = self.devices.iter().filter(|load| load.steps > 0).count();
        let measured = if with_steps == 0 {
            "Over the whole window, because there are no steps"
        } else if with_steps < self.devices.len() {
            "Means over counted steps; of devices without steps over the whole window"
        } else {
            "Means over counted steps"
        };
        Table::of("device_load", "What each device does in a step", &self.devices)
            .declared([
                "core",
                "step_ps",
                "work_ps",
                "exposed_comm_ps",
                "copy_wait_ps",
                "idle_ps",
                "remark",
                "z",
                "skew_wait_ps",
                "awaited_ps",
                "barrier_ps",
                "host_io_ps",
                "busy_percent",
                "steps",
                "host",
            ])
            .notes((!self.statement.is_empty()).then(|| engine::sentence(&self.statement)))
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
        .remaining()
        .build()
    }

    fn steps_table(&self) -> Table {
        Table::of("step_balance", "Work in each step over devices", &self.steps)
            .remaining()
            .note("Cost: the most work minus the median, which is what the step would save if all devices wait for the slowest.")
            .build()
    }
}

fn quantities_table(id: &'static str, title: &str, quantities: &[BalancedQuantity]) -> Table {
    Table::of(id, title, quantities)
        .remaining()
        .note(
            "A modified z-score above 3.5 marks an outlier; spreads below 0.5 % of the step (or window) count as 0.5 %.",
        )
        .build()
}
