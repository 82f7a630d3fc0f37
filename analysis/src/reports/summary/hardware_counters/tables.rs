//! The counter report as tables.

use super::{CounterMetric, HardwareCountersReport};
use crate::engine::{Cell, Column, Provenance, Table, Tabular};
use crate::math::unit::Unit;

impl Tabular for HardwareCountersReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = Vec::new();
        if self.devices.iter().any(|device| !device.metrics.is_empty()) {
            tables.push(self.metric_table());
        }
        if self.devices.iter().any(|device| device.samples.len() > 1 && !device.metrics.is_empty()) {
            tables.push(self.sample_table());
        }
        tables.push(self.count_table());
        tables
    }
}

fn column(id: &'static str, title: &'static str, unit: Unit, provenance: Provenance) -> Column {
    Column { id, title, unit, provenance }
}

fn metric_columns(sample: bool) -> Vec<Column> {
    let recorded = |id, title, unit| column(id, title, unit, Provenance::Profile);
    let mut columns = vec![recorded("device", "Device", Unit::None)];
    if sample {
        columns.push(recorded("sample", "Sample", Unit::None));
    }
    columns.extend([
        recorded("core", "Core", Unit::None),
        recorded("metric", "Unit", Unit::None),
        column("percent", "of peak", Unit::Percent, Provenance::Derived),
        recorded("achieved", "Achieved", Unit::Count),
        column("peak", "Peak", Unit::Count, Provenance::Derived),
        recorded("unit", "in", Unit::None),
        column("of", "Peak is", Unit::None, Provenance::Derived),
    ]);
    columns
}

fn metric_row(device: &str, sample: Option<&str>, metric: &CounterMetric) -> Vec<Cell> {
    let mut row = vec![Cell::text(device)];
    row.extend(sample.map(Cell::text));
    row.extend([
        metric.core.map_or(Cell::text("chip"), |core| Cell::text(core.to_string())),
        Cell::text(metric.title),
        Cell::maybe(metric.percent()),
        Cell::Float(metric.achieved),
        // Cycles at a clock rarely make whole bytes.
        Cell::maybe(metric.peak.map(f64::round)),
        Cell::text(metric.unit.title()),
        Cell::text(&metric.of),
    ]);
    row
}

impl HardwareCountersReport {
    fn metric_table(&self) -> Table {
        let rows = self
            .devices
            .iter()
            .flat_map(|device| device.metrics.iter().map(|metric| metric_row(&device.device, None, metric)));
        let mut notes = vec![
            "Sums over the samples that recorded a counter. An instruction is taken to need one cycle.".to_owned(),
        ];
        notes.extend(self.notes.iter().cloned());
        Table {
            id: "hardware_counters",
            title: "Utilization by hardware counters".to_owned(),
            columns: metric_columns(false),
            rows: rows.collect(),
            notes,
        }
    }

    fn sample_table(&self) -> Table {
        let rows = self.devices.iter().flat_map(|device| {
            device.samples.iter().flat_map(|sample| {
                sample.metrics.iter().map(|metric| metric_row(&device.device, Some(&sample.name), metric))
            })
        });
        Table {
            id: "counter_samples",
            title: "The same by sample".to_owned(),
            columns: metric_columns(true),
            rows: rows.collect(),
            notes: Vec::new(),
        }
    }

    fn count_table(&self) -> Table {
        let recorded = |id, title, unit| column(id, title, unit, Provenance::Profile);
        let columns = vec![
            recorded("device", "Device", Unit::None),
            recorded("counter", "Counter", Unit::None),
            recorded("value", "Value", Unit::Count),
            recorded("id", "Number", Unit::None),
            recorded("is_known", "Used", Unit::None),
        ];
        let rows = self.devices.iter().flat_map(|device| {
            device.counts.iter().map(|count| {
                vec![
                    Cell::text(&device.device),
                    Cell::text(&count.name),
                    Cell::Float(count.value),
                    Cell::text(count.id.to_string()),
                    Cell::text(if count.is_known { "yes" } else { "no" }),
                ]
            })
        });
        Table {
            id: "counters",
            title: "Counters as recorded".to_owned(),
            columns,
            rows: rows.collect(),
            notes: self.notes.clone(),
        }
    }
}
