//! The tables of the counter report.

use engine::TableBuilder;
use facts::prelude::*;

use super::HardwareCountersReport;
use super::metrics::CounterMetric;

impl Tabular for HardwareCountersReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = Vec::new();
        if self.devices.iter().any(|device| !device.metrics.is_empty()) {
            tables.push(self.metric_table());
        }
        if self
            .devices
            .iter()
            .any(|device| device.samples.len() > 1 && !device.metrics.is_empty())
        {
            tables.push(self.sample_table());
        }
        tables.push(self.count_table());
        tables
    }
}

/// A metric of a device, and its sample; `None` is all samples.
type MetricRow<'a> = (&'a str, Option<&'a str>, &'a CounterMetric);

fn metric_table<'a>(
    id: &'static str,
    title: &str,
    has_samples: bool,
    rows: impl Iterator<Item = MetricRow<'a>>,
) -> TableBuilder<'a, MetricRow<'a>> {
    let mut table =
        Table::of(id, title, rows).recorded("device", "Device", Unit::None, |(device, ..)| device);
    if has_samples {
        table = table.recorded("sample", "Sample", Unit::None, |(_, sample, _)| sample);
    }
    table.declared_by(
        |(.., metric)| metric,
        [
            "core", "metric", "percent", "achieved", "peak", "unit", "of",
        ],
    )
}

impl HardwareCountersReport {
    fn metric_table(&self) -> Table {
        let rows = self.devices.iter().flat_map(|device| {
            device
                .metrics
                .iter()
                .map(|metric| (&*device.device, None, metric))
        });
        metric_table("hardware_counters", "Utilization by hardware counters", false, rows)
            .note("Sums over the samples that recorded a counter. An instruction is taken to need one cycle.")
            .notes(self.notes.iter().cloned())
            .build()
    }

    fn sample_table(&self) -> Table {
        let rows = self.devices.iter().flat_map(|device| {
            device.samples.iter().flat_map(|sample| {
                sample
                    .metrics
                    .iter()
                    .map(|metric| (&*device.device, Some(&*sample.name), metric))
            })
        });
        metric_table("counter_samples", "The same by sample", true, rows).build()
    }

    fn count_table(&self) -> Table {
        let rows = self
            .devices
            .iter()
            .flat_map(|device| device.counts.iter().map(move |count| (device, count)));
        Table::of("counters", "Counters as recorded", rows)
            .recorded("device", "Device", Unit::None, |(device, _)| &device.device)
            .declared_by(|(_, count)| count, ["counter", "value", "id", "is_known"])
            .notes(self.notes.iter().cloned())
            .build()
    }
}
