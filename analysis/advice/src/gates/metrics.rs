//! Every metric that a summary can hold, with its unit and meaning: the single list for checking gates, for `systole
//! metrics` and for the docs.

use math::unit::Unit;
use serde::Serialize;

use super::nearest;

/// What a metric has one value for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MetricScope {
    /// Each steady step of the main class; `aggregate` turns them into one number.
    Step,
    /// Each steady step of the loop, of all classes.
    LoopStep,
    /// The whole run.
    Run,
    /// Each op in each step; `op` selects ops, which are summed.
    Op,
}

impl MetricScope {
    /// Short description.
    pub fn title(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::LoopStep => "step of the loop",
            Self::Run => "run",
            Self::Op => "op and step",
        }
    }
}

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct GateMetric {
    /// Name in configurations: `step.time_ms`. `*` stands for any word.
    pub name: &'static str,
    /// Id in a summary: `step.time_ps`.
    pub id: &'static str,
    /// Unit of the number in a summary.
    pub unit: Unit,
    /// What it has one value for.
    pub per: MetricScope,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Its meaning.
    pub meaning: &'static str,
}

const fn step(
    name: &'static str,
    id: &'static str,
    unit: Unit,
    meaning: &'static str,
) -> GateMetric {
    GateMetric {
        name,
        id,
        unit,
        per: MetricScope::Step,
        aliases: &[],
        meaning,
    }
}

const fn run(
    name: &'static str,
    id: &'static str,
    unit: Unit,
    meaning: &'static str,
) -> GateMetric {
    GateMetric {
        name,
        id,
        unit,
        per: MetricScope::Run,
        aliases: &[],
        meaning,
    }
}

const fn op(name: &'static str, id: &'static str, meaning: &'static str) -> GateMetric {
    GateMetric {
        name,
        id,
        unit: Unit::Picoseconds,
        per: MetricScope::Op,
        aliases: &[],
        meaning,
    }
}

impl GateMetric {
    const fn of_loop(self) -> Self {
        Self {
            per: MetricScope::LoopStep,
            ..self
        }
    }

    const fn also(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }
}

const PS: Unit = Unit::Picoseconds;
const PERCENT: Unit = Unit::Percent;

/// All metrics.
#[rustfmt::skip]
pub const METRICS: &[GateMetric] = &[
    step("step.time_ms", "step.time_ps", PS, "Time of a step on the device that took longest"),
    step("step.interval_ms", "step.interval_ps", PS, "From the start of a step to the start of the next"),
    step("step.matmul_ms", "step.matmul_ps", PS, "Part of the step in matrix multiplications and convolutions"),
    step("step.vector_ms", "step.vector_ps", PS, "Part of the step in elementwise work and reductions"),
    step("step.kernel_ms", "step.kernel_ps", PS, "Part of the step in custom kernels (Pallas, Mosaic)"),
    step("step.exposed_comm_ms", "step.exposed_comm_ps", PS, "Exposed communication in the step: time in collectives that is not hidden behind compute"),
    step("step.copy_wait_ms", "step.copy_wait_ps", PS, "Part of the step waiting for copies and other asynchronous ops"),
    step("step.idle_ms", "step.idle_ps", PS, "Part of the step in which no op runs and no collective is in flight"),
    step("step.host_io_ms", "step.host_io_ps", PS, "Part of the step in infeed, outfeed and transfers to and from the host"),
    step("step.data_movement_ms", "step.data_movement_ps", PS, "Part of the step in copies and layout changes executed by the core"),
    step("step.sparse_core_ms", "step.sparse_core_ps", PS, "Part of the step in work of or for a SparseCore"),
    step("step.other_ms", "step.other_ps", PS, "Part of the step in loop overhead and ops of unknown kind"),
    step("step.exposed_comm_pct", "step.exposed_comm_percent", PERCENT, "Exposed communication, of the step")
        .also(&["time.communication_share"]),
    step("step.idle_pct", "step.idle_percent", PERCENT, "Idle time, of the step").also(&["time.idle_share", "time.stall_share"]),
    step("loop.step_ms", "loop.step_ps", PS,
        "Time of the loop per step, including the time between steps; its mean times the number of steps is the time of the loop").of_loop(),
    step("loop.slow_pct", "loop.slow_percent", PERCENT,
        "Slow steps, of the steps of the loop: modified z above 3.5 and more than 1.3 times the median (aggregate = \"mean\")").of_loop(),
    run("loop.gap_ms", "loop.gap_ps", PS, "Time between the steps of the loop, mean per step"),
    run("loop.compile_ms", "loop.compile_ps", PS, "Compilation on the host during the steps of the loop, mean per step"),
    run("loop.input_wait_ms", "loop.input_wait_ps", PS,
        "Waiting for input in the steps of the loop, mean per step and over the devices"),
    run("compile.loop_count", "compile.loop_count", Unit::Count, "Compilations in the loop, after warm-up"),
    run("compile.count", "compile.count", Unit::Count, "Compilations in the capture").also(&["compile.count_in_window"]),
    run("compile.recompilations", "compile.recompilations", Unit::Count, "Compilations of functions that had been compiled or run before"),
    run("compile.wall_ms", "compile.wall_ps", PS, "Time in which anything was traced, lowered, compiled or loaded"),
    run("mfu_pct", "mfu_steady_percent", PERCENT, "Model FLOPs utilization, of the peak over the steady steps")
        .also(&["mfu_steady_pct"]),
    run("mfu_window_pct", "mfu_window_percent", PERCENT,
        "Model FLOPs utilization, of the peak over the window, including warm-up and the time between steps"),
    run("hbm_util_steady_pct", "hbm_util_steady_percent", PERCENT, "HBM traffic, of the peak bandwidth over the steady steps"),
    run("flops_util_window_pct", "flops_util_window_percent", PERCENT, "FLOPs, of the peak over the window").also(&["flops.utilization_pct"]),
    run("flops_util_busy_pct", "flops_util_busy_percent", PERCENT, "FLOPs, of the peak over the time in which ops ran"),
    run("flops_util_capture_pct", "flops_util_capture_percent", PERCENT, "FLOPs, of the peak over the profiling session"),
    run("mxu_util_on_mxu_ops_pct", "mxu_util_on_mxu_ops_percent", PERCENT, "FLOPs of matrix ops, of the peak over their time")
        .also(&["mxu.utilization_pct"]),
    run("mxu_hw_pct", "mxu_hw_percent", PERCENT, "Matrix unit utilization by hardware counter"),
    run("mxu_busy_fraction_pct", "mxu_busy_fraction_percent", PERCENT, "Time in matrix ops, of the window"),
    run("hbm_util_window_pct", "hbm_util_window_percent", PERCENT, "HBM traffic, of the peak bandwidth over the window")
        .also(&["hbm.utilization_pct"]),
    run("hbm_util_busy_pct", "hbm_util_busy_percent", PERCENT, "HBM traffic, of the peak bandwidth over the time in which ops ran"),
    run("hbm_hw_pct", "hbm_hw_percent", PERCENT, "HBM utilization by hardware counter"),
    run("vmem_read_util_busy_pct", "vmem_read_util_busy_percent", PERCENT, "Bytes read from VMEM, of the peak bandwidth while ops ran"),
    run("vmem_write_util_busy_pct", "vmem_write_util_busy_percent", PERCENT, "Bytes written to VMEM, of the peak bandwidth while ops ran"),
    run("wait_pct", "wait_percent", PERCENT, "Time in done ops of asynchronous ops, of the window"),
    run("duty_cycle_pct", "duty_cycle_percent", PERCENT, "Time in which ops ran, of the window"),
    run("duty_cycle_xprof_pct", "duty_cycle_xprof_percent", PERCENT, "Duty cycle as XProf defines it"),
    run("device_idle_pct", "device_idle_percent", PERCENT, "Time in which no op ran, of the window"),
    run("window_of_capture_pct", "window_of_capture_percent", PERCENT, "Time from the first op to the last, of the profiling session"),
    run("clock_of_default_pct", "clock_of_default_percent", PERCENT, "Clock of the device, of its default clock"),
    run("overlap.exposed_share_pct", "overlap.exposed_share_percent", PERCENT,
        "Exposed communication, of the window of the device with most of it").also(&["ici.exposed_pct"]),
    run("overlap.hidden_pct", "overlap.hidden_percent", PERCENT, "Communication hidden behind ops, of all communication time"),
    run("collectives.*.bus_gb_per_s", "collectives.*.bus_bytes_per_second", Unit::BytesPerSecond,
        "Bus bandwidth of a kind of collectives (all-reduce, all-gather …; all): bytes sent ÷ time"),
    run("memory.peak_gib", "memory.peak_bytes", Unit::Bytes, "Memory peak of the fullest memory"),
    run("memory.peak_pct", "memory.peak_percent", PERCENT, "The same, of its capacity"),
    run("input_wait_pct", "input_wait_percent", PERCENT,
        "Waiting for input, of the time of the steady steps on the device (or host) that waits most"),
    run("host_offload_wait_pct", "host_offload_wait_percent", PERCENT,
        "Waiting for copies to and from the memory of the host, of the time of ops"),
    run("recompute_pct", "recompute_percent", PERCENT, "Ops recomputed to save memory, of the time of ops"),
    run("padding_waste_pct", "padding_waste_percent", PERCENT,
        "Padding of matmuls of known size, of their work on whole tiles"),
    op("op.time_ms_per_step", "op.time", "Time of ops in a step in which they are the innermost op or exposed"),
    op("op.exposed_ms_per_step", "op.exposed", "Exposed time of collectives in a step"),
];

/// A suffix of names: its unit, the factor to the summary's unit, and how the unit is written.
type Suffix = (&'static str, Unit, f64, &'static str);

const SUFFIXES: [Suffix; 14] = [
    ("_ps", Unit::Picoseconds, 1.0, "ps"),
    ("_ns", Unit::Picoseconds, 1e3, "ns"),
    ("_us", Unit::Picoseconds, 1e6, "µs"),
    ("_ms", Unit::Picoseconds, 1e9, "ms"),
    ("_s", Unit::Picoseconds, 1e12, "s"),
    ("_percent", Unit::Percent, 1.0, "%"),
    ("_pct", Unit::Percent, 1.0, "%"),
    ("_share", Unit::Percent, 100.0, ""),
    ("_bytes", Unit::Bytes, 1.0, "B"),
    ("_mib", Unit::Bytes, 1_048_576.0, "MiB"),
    ("_gib", Unit::Bytes, 1_073_741_824.0, "GiB"),
    ("_gb", Unit::Bytes, 1e9, "GB"),
    ("_bytes_per_second", Unit::BytesPerSecond, 1.0, "B/s"),
    ("_gb_per_s", Unit::BytesPerSecond, 1e9, "GB/s"),
];

/// A name without its unit; the longest matching suffix is removed.
fn split_suffix(name: &str) -> (&str, Option<&'static Suffix>) {
    let fitting = SUFFIXES
        .iter()
        .filter_map(|suffix| Some((name.strip_suffix(suffix.0)?, suffix)));
    fitting
        .min_by_key(|(stem, _)| stem.len())
        .map_or((name, None), |(stem, suffix)| (stem, Some(suffix)))
}

fn split_unit(name: &str) -> (&str, Option<(Unit, f64)>) {
    let (stem, suffix) = split_suffix(name);
    (stem, suffix.map(|&(_, unit, scale, _)| (unit, scale)))
}

/// The unit of a name as it is written behind a number: ` ms`; empty for counts.
pub(super) fn written_unit(name: &str) -> String {
    let (_, suffix) = split_suffix(name.strip_suffix("_per_step").unwrap_or(name));
    suffix
        .filter(|suffix| !suffix.3.is_empty())
        .map_or_else(String::new, |suffix| format!(" {}", suffix.3))
}

/// The unit of a difference as it is written behind a number: percentages differ by points.
pub(super) fn written_difference(name: &str) -> String {
    let unit = written_unit(name);
    if unit == " %" {
        " points".to_owned()
    } else {
        unit
    }
}

/// The suffixes that a metric of this unit can have.
pub fn suffixes(unit: Unit) -> impl Iterator<Item = &'static str> {
    SUFFIXES
        .iter()
        .filter(move |suffix| suffix.1 == unit)
        .map(|suffix| suffix.0)
}

/// A metric with the name that the user wrote.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WantedMetric {
    /// The metric.
    pub metric: &'static GateMetric,
    /// The id in a summary, without `*`.
    pub id: String,
    /// Factor from the name's unit to the summary's unit.
    pub scale: f64,
}

/// Finds the metric with a name; the error suggests the nearest one.
pub(super) fn find(name: &str) -> Result<WantedMetric, String> {
    METRICS
        .iter()
        .find_map(|metric| wanted(metric, name))
        .ok_or_else(|| {
            let names = METRICS.iter().flat_map(|metric| {
                metric
                    .aliases
                    .iter()
                    .copied()
                    .chain([metric.name, metric.id])
            });
            let nearest = nearest::of(name, names)
                .map(|name| format!("; did you mean {name:?}?"))
                .unwrap_or_default();
            format!("there is no metric {name:?}{nearest} (`systole metrics` lists them)")
        })
}

fn wanted(metric: &'static GateMetric, name: &str) -> Option<WantedMetric> {
    let name_in_summary = |id: &str| WantedMetric {
        metric,
        id: id.to_owned(),
        scale: 1.0,
    };
    if metric.per == MetricScope::Op {
        let (stem, unit) = split_unit(name.strip_suffix("_per_step").unwrap_or(name));
        let (unit, scale) = unit?;
        return (stem == metric.id && unit == metric.unit).then(|| WantedMetric {
            scale,
            ..name_in_summary(stem)
        });
    }
    if name == metric.id || metric.unit == Unit::Count && metric.aliases.contains(&name) {
        return Some(name_in_summary(metric.id));
    }
    let (stem, unit) = split_unit(name);
    let (unit, scale) = unit.filter(|(unit, _)| *unit == metric.unit)?;
    let (id_stem, _) = split_unit(metric.id);
    let is_named = |other: &str| split_unit(other).0 == stem;
    if metric.aliases.iter().any(|alias| is_named(alias))
        || is_named(metric.name)
        || id_stem == stem
    {
        return Some(WantedMetric {
            scale,
            ..name_in_summary(metric.id)
        });
    }
    // `collectives.all-reduce.bus`, of `collectives.*.bus`.
    let (before, after) = id_stem.split_once('*')?;
    let kind = stem.strip_prefix(before)?.strip_suffix(after)?;
    let is_word = !kind.is_empty() && !kind.contains(['.', '*']);
    is_word.then(|| {
        let suffix = suffixes(unit)
            .find(|suffix| metric.id.ends_with(suffix))
            .unwrap_or_default();
        WantedMetric {
            scale,
            ..name_in_summary(&format!("{stem}{suffix}"))
        }
    })
}

impl WantedMetric {
    /// Whether it is a time.
    pub(crate) fn is_time(&self) -> bool {
        self.metric.unit == Unit::Picoseconds
    }
}

/// Whether a number of a summary is a listed metric with this unit.
pub fn is_listed(id: &str, unit: Unit) -> bool {
    find(id).is_ok_and(|wanted| wanted.id == id && wanted.metric.unit == unit)
}

/// Formats a value with four digits.
pub(super) fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value.fract() == 0.0 && magnitude < 1e6 {
        format!("{value:.0}")
    } else if magnitude >= 1000.0 {
        format!("{value:.1}")
    } else if magnitude >= 0.01 {
        format!("{value:.3}")
    } else {
        format!("{value:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> String {
        find(name).map_or_else(
            |why| why,
            |wanted| format!("{} / {}", wanted.id, wanted.scale),
        )
    }

    #[test]
    fn every_name_and_alias_finds_its_metric() {
        for metric in METRICS {
            for name in metric.aliases.iter().chain([&metric.name]) {
                let name = name.replace('*', "all-reduce");
                assert_eq!(
                    find(&name).map(|wanted| wanted.metric.id),
                    Ok(metric.id),
                    "{name}"
                );
            }
            assert_eq!(
                METRICS
                    .iter()
                    .filter(|other| other.id == metric.id || other.name == metric.name)
                    .count(),
                1
            );
        }
    }

    #[test]
    fn metric_unit_matches_its_name() {
        assert_eq!(id("step.time_us"), "step.time_ps / 1000000");
        assert_eq!(id("compile.count_in_window"), "compile.count / 1");
        assert_eq!(id("time.idle_share"), "step.idle_percent / 100");
        assert_eq!(id("op.exposed_ms_per_step"), "op.exposed / 1000000000");
        assert_eq!(
            id("collectives.all-gather.bus_gb_per_s"),
            "collectives.all-gather.bus_bytes_per_second / 1000000000"
        );
        for wrong in [
            "step.time",
            "step.time_pct",
            "step.time_gib",
            "compile.count_ms",
            "collectives.bus_gb_per_s",
        ] {
            assert!(find(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn misspelt_name_gets_a_suggestion() {
        for (wrong, right) in [
            ("step.tiem_ms", "step.time_ms"),
            ("steptime_ms", "step.time_ms"),
            ("compile.cuont", "compile.count"),
            ("mfu", "mfu_pct"),
            ("memory.peek_gib", "memory.peak_gib"),
        ] {
            assert!(
                find(wrong)
                    .unwrap_err()
                    .contains(&format!("did you mean {right:?}")),
                "{}",
                id(wrong)
            );
        }
        assert!(
            !find("colour").unwrap_err().contains("did you mean"),
            "{}",
            id("colour")
        );
    }
}
