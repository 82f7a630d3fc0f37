//! The run as one row: its key figures, for tables of many runs.

use analysis::reports::{
    Doctor, Ops, OpsReport, StepParts, StepPartsReport, Steps, Utilization, UtilizationReport,
};
use analysis::{OpGroup, Provenance, Scope, Table, Unit};
use std::borrow::Cow;
use std::sync::Arc;
use trace_model::{Picos, joined};

use super::data::{DataTable, Field};
use super::from_report::of_report;
use crate::devices::devices_in_words;
use crate::open::Session;

/// Data of the row. What does not apply to a trace is missing.
struct RunRow<'a> {
    session: &'a Session,
    scope: Scope,
    ops: Option<Arc<OpsReport>>,
    parts: Option<Arc<StepPartsReport>>,
    utilization: Option<Arc<UtilizationReport>>,
}

/// Columns of the times of all devices; together they are `device_time_ps`.
const GROUPS: [(OpGroup, &str); 11] = [
    (OpGroup::MatMul, "matmul_ps"),
    (OpGroup::Vector, "vector_ps"),
    (OpGroup::DataMovement, "data_movement_ps"),
    (OpGroup::CustomKernel, "custom_kernel_ps"),
    (OpGroup::Collective, "collective_ps"),
    (OpGroup::AsyncWait, "copy_wait_ps"),
    (OpGroup::HostIo, "host_io_ps"),
    (OpGroup::SparseCore, "sparse_core_ps"),
    (OpGroup::Control, "control_ps"),
    (OpGroup::Other, "other_ps"),
    (OpGroup::Idle, "idle_ps"),
];

/// Key figures of the report `utilization`.
const METRICS: [(&str, &str); 7] = [
    ("mfu_steady_percent", "MFU, steady steps"),
    ("mfu_window_percent", "MFU, first op to last"),
    (
        "mxu_util_on_mxu_ops_percent",
        "FLOPs utilization of matrix ops",
    ),
    ("hbm_util_steady_percent", "HBM bandwidth, steady steps"),
    ("hbm_util_window_percent", "HBM bandwidth, first op to last"),
    ("device_idle_percent", "Idle, first op to last"),
    ("wait_percent", "Time waiting for asynchronous ops"),
];

const BOUNDS: &str = "Figures that are only lower bounds";

pub(super) const NAME: &str = "runs";

pub(super) fn table(session: &Session, scope: Scope) -> DataTable {
    let row = RunRow {
        session,
        scope,
        ops: session.report::<Ops>(scope).ok(),
        parts: session.report::<StepParts>(scope).ok(),
        utilization: session.report::<Utilization>(scope).ok(),
    };
    let about = "One row: the run and its key figures.";
    // Hints take longer than all else: they are asked for when somebody reads what they say.
    let asked = Arc::new((session.clone(), scope));
    let limit: Field<(Session, Scope)> =
        Field::Text(|(session, scope), _| session.limit(*scope).map(Cow::Owned));
    let (name, title) = ("verdict", "What limits the program");
    let mut data = DataTable::of(NAME, about, 1, asked)
        .fact(name, title, Unit::None, Provenance::Inferred, limit)
        .build();
    let others = of_report(NAME, NAME, row.table());
    data.columns.extend(others.columns);
    data
}

impl RunRow<'_> {
    fn table(&self) -> Table {
        let model = self.session.model();
        let steps = self
            .session
            .report::<Steps>(self.scope)
            .ok()
            .filter(|steps| steps.has_steps());
        let doctor = self.session.report::<Doctor>(Scope::WholeTrace).ok();
        let started = model
            .sources()
            .iter()
            .filter_map(|source| source.started_unix_ns)
            .min();
        let ps = Unit::Picoseconds;
        let mut table = Table::of(NAME, "The run", [self])
            .recorded("device_type", "Devices", Unit::None, |_| {
                devices_in_words(model, self.session.options())
            })
            .measured(
                "devices",
                "Number of devices with ops",
                Unit::Count,
                |row| row.ops.as_ref().map(|ops| ops.cores.len() as u64),
            )
            .recorded(
                "started_unix_ns",
                "Start of the session, nanoseconds since 1970",
                Unit::None,
                move |_| started,
            )
            .measured("slices", "Number of slices", Unit::Count, |_| {
                model.recorded_slices()
            })
            .measured(
                "lost_events",
                "Events, files and damaged parts of files that were lost: of a part all its events count as one",
                Unit::Count,
                |_| doctor.as_ref().map(|doctor| doctor.lost_events),
            )
            .measured(
                "lost_bytes",
                "Bytes of the damaged parts that were lost, as far as known",
                Unit::Bytes,
                |_| {
                    let issues = model.import_log().counts().iter();
                    issues.filter_map(|issue| issue.skipped_bytes).reduce(u64::saturating_add)
                },
            )
            .inferred(
                "steps",
                "Number of steps that statistics count",
                Unit::Count,
                |_| steps.as_ref().map(|steps| steps.counted().count() as u64),
            )
            .measured("step_time_ps", "Median step time", ps, |_| {
                Some(steps.as_ref()?.time.as_ref()?.median)
            })
            .measured(
                "step_interval_ps",
                "Median time from step to step",
                ps,
                |_| Some(steps.as_ref()?.interval.as_ref()?.median),
            )
            .measured(
                "step_work_ps",
                "Median over the steps: work of the device with most work",
                ps,
                Self::work,
            )
            .measured(
                "device_time_ps",
                "First op to last, devices added up",
                ps,
                |row| Some(row.ops.as_ref()?.total_time_ps),
            );
        for (group, id) in GROUPS {
            table = table.measured(id, group.title(), ps, move |row| row.time_of(group));
        }
        for (id, title) in METRICS {
            let metric = self
                .utilization
                .as_ref()
                .and_then(|report| report.metric(id));
            let provenance = metric.map_or(Provenance::Derived, |metric| metric.provenance);
            let value = metric.and_then(|metric| metric.value);
            table = table.column(id, title, Unit::Percent, provenance, move |_| value);
        }
        table
            .derived("lower_bounds", BOUNDS, Unit::None, RunRow::lower_bounds)
            .build()
    }

    /// The figures that are only lower bounds; `None` if there is none.
    fn lower_bounds(&self) -> Option<String> {
        let report = self.utilization.as_ref()?;
        let metrics = METRICS.iter().filter_map(|(id, _)| report.metric(id));
        let bounds = metrics.filter(|metric| metric.is_lower_bound);
        Some(joined(bounds.map(|metric| metric.id), ", ")).filter(|bounds| !bounds.is_empty())
    }

    /// Time of a group over all devices; a group without ops has none.
    fn time_of(&self, group: OpGroup) -> Option<Picos> {
        let ops = self.ops.as_ref()?;
        if group == OpGroup::Idle {
            return Some(ops.idle_ps);
        }
        Some(
            ops.groups
                .iter()
                .find(|row| row.group == group)
                .map_or(Picos::ZERO, |row| row.self_time_ps),
        )
    }

    /// The work of the busiest device in a step: time in ops that neither communicate nor wait.
    fn work(&self) -> Option<f64> {
        let steps = self
            .parts
            .as_ref()?
            .steps
            .iter()
            .filter(|step| step.is_counted);
        let most = steps.filter_map(|step| step.cores.iter().map(|core| core.parts.work()).max());
        analysis::math::stats::median(&most.map(Picos::as_ps_f64).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Value;
    use super::super::samples;
    use super::*;

    fn int(table: &DataTable, column: &str) -> Option<i64> {
        match table
            .column(column)
            .expect("the table has the column")
            .value(0)
        {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    #[test]
    fn times_of_groups_add_up_to_the_time_of_the_devices() {
        let mut seen = 0;
        for (file, session) in samples::sessions() {
            let table = table(&session, Scope::WholeTrace);
            assert_eq!(table.len, 1);
            let Some(total) = int(&table, "device_time_ps") else {
                assert!(
                    GROUPS.iter().all(|(_, id)| int(&table, id).is_none()),
                    "{file}"
                );
                continue;
            };
            let parts: i64 = GROUPS.iter().filter_map(|(_, id)| int(&table, id)).sum();
            assert_eq!(parts, total, "{file}");
            seen += 1;
        }
        assert!(seen > 5, "{seen}");
    }

    #[test]
    fn work_is_that_of_the_straggler() {
        let straggler = samples::sessions()
            .find(|(file, _)| file.contains("straggler"))
            .expect("there is one")
            .1;
        let balance = straggler.report::<analysis::reports::Balance>(Scope::WholeTrace);
        let most = balance
            .expect("8 devices")
            .devices
            .iter()
            .filter_map(|device| device.work_ps)
            .fold(0.0, f64::max);
        let table = table(&straggler, Scope::WholeTrace);
        let Value::Float(work) = table.column("step_work_ps").expect("a column").value(0) else {
            panic!("no work")
        };
        assert!((work - most).abs() < 1e-3 * most, "{work} {most}");
    }
}
