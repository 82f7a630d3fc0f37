//! How long each execution of one program takes on each device, and each call of it on the host: of a profile in which
//! one program is called again and again, each call in an annotation.
//!
//! ```text
//! host    [ call 1            ][ call 2            ]
//! device     [ execution 1 ]      [ execution 2 ]
//!         |-|             |---|  dispatch: the call without the execution
//! ```
//!
//! Devices that record no executions of programs, as the CPU, have those of the ops of the program on threads of the
//! host: from the first to the last within a call.

use std::collections::BTreeMap;

use analysis::engine::number;
use analysis::facts::steps::function_of;
use analysis::math::stats::Stats;
use analysis::{Table, Tabular, Unit};
use schemars::JsonSchema;
use serde::Serialize;
use trace_model::{Arg, ArgValue, Picos, SliceRef, TimeRange, TraceModel, TrackKind};

/// The executions of a program.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExecutionTimes {
    /// The program: `jit_f`.
    pub program: String,
    /// Where its executions were recorded.
    pub recorded_by: RecordedBy,
    /// The time of an execution on the slowest device, in a sentence.
    pub statement: String,
    /// Each device, the slowest first.
    pub devices: Vec<DeviceExecutions>,
}

/// Where executions were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecordedBy {
    /// By the device, on its own clock.
    Device,
    /// By threads of the host that run ops.
    HostThreads,
}

/// The executions on one device.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeviceExecutions {
    /// The device.
    pub device: String,
    /// Executions.
    pub executions: u64,
    /// Median time of an execution.
    pub median_ps: f64,
    /// Lower end of the 95 % confidence interval of the median; `None` for fewer than six executions.
    pub low_ps: Option<f64>,
    /// Its upper end.
    pub high_ps: Option<f64>,
    /// The fastest execution.
    pub least_ps: f64,
    /// Median time of a call on the host, until its result is there; `None` unless calls and executions are as many.
    pub call_ps: Option<f64>,
    /// Median of what a call takes beyond its execution, on the same condition.
    pub dispatch_ps: Option<f64>,
}

impl ExecutionTimes {
    /// The times of `program` (`jit_f`), whose calls are annotated as `call`; an error says what is missing.
    pub fn of(model: &TraceModel, program: &str, call: &str) -> Result<Self, String> {
        let calls = calls(model, call);
        let on_devices = on_devices(model, program);
        let (recorded_by, times) = if on_devices.is_empty() {
            (RecordedBy::HostThreads, on_host(model, program, &calls))
        } else {
            (RecordedBy::Device, on_devices)
        };
        let mut devices: Vec<DeviceExecutions> = times
            .into_iter()
            .filter_map(|(device, times)| DeviceExecutions::of(device, &times, &calls))
            .collect();
        devices.sort_by(|a, b| {
            b.median_ps
                .total_cmp(&a.median_ps)
                .then_with(|| a.device.cmp(&b.device))
        });
        let Some(slowest) = devices.first() else {
            return Err(format!(
                "the profile has no execution of {program}, on a device or on threads of the host"
            ));
        };
        Ok(Self {
            statement: slowest.statement(program, recorded_by, devices.len()),
            program: program.to_owned(),
            recorded_by,
            devices,
        })
    }
}

impl DeviceExecutions {
    fn of(device: String, times: &[Picos], calls: &[TimeRange]) -> Option<Self> {
        let times_ps: Vec<f64> = times.iter().map(|time| time.as_ps_f64()).collect();
        let stats = Stats::of(&times_ps)?;
        let whole: Vec<f64> = calls.iter().map(|call| call.dur().as_ps_f64()).collect();
        let is_paired = whole.len() == times_ps.len();
        let beyond: Vec<f64> = whole
            .iter()
            .zip(&times_ps)
            .map(|(call, time)| call - time)
            .collect();
        let median = |values: &[f64]| {
            Stats::of(values)
                .filter(|_| is_paired)
                .map(|stats| stats.median)
        };
        Some(Self {
            device,
            executions: times_ps.len() as u64,
            median_ps: stats.median,
            low_ps: stats.median_range.map(|(low, _)| low),
            high_ps: stats.median_range.map(|(_, high)| high),
            least_ps: stats.min,
            call_ps: median(&whole),
            dispatch_ps: median(&beyond),
        })
    }

    fn statement(&self, program: &str, recorded_by: RecordedBy, devices: usize) -> String {
        let time = |ps: f64| number::value(ps, Unit::Picoseconds);
        let interval = match (self.low_ps, self.high_ps) {
            (Some(low), Some(high)) => {
                format!(
                    " (95 % confidence interval {} to {})",
                    time(low),
                    time(high)
                )
            }
            _ => String::new(),
        };
        let place = match (recorded_by, devices) {
            (RecordedBy::Device, 1) => format!("on {}", self.device),
            (RecordedBy::Device, _) => {
                format!("on {}, the slowest of {devices} devices", self.device)
            }
            (RecordedBy::HostThreads, 1) => {
                "from its first to its last op on threads of the host".to_owned()
            }
            (RecordedBy::HostThreads, _) => format!(
                "from its first to its last op on threads of the host, of the slowest of {devices} devices"
            ),
        };
        let dispatch = self.dispatch_ps.map_or(String::new(), |beyond| {
            format!(
                "; a call takes {} more, the median of dispatch and waiting",
                time(beyond)
            )
        });
        format!(
            "An execution of {program} takes {}{interval} {place}, the median of {}{dispatch}.",
            time(self.median_ps),
            self.executions
        )
    }
}

/// The calls on the host, in time order.
fn calls(model: &TraceModel, name: &str) -> Vec<TimeRange> {
    let mut calls: Vec<TimeRange> = host_slices(model)
        .filter(|slice| slice.name() == name)
        .map(SliceRef::range)
        .collect();
    calls.sort_by_key(|call| call.start);
    calls
}

fn host_slices(model: &TraceModel) -> impl Iterator<Item = SliceRef<'_>> {
    let is_host = |slice: &SliceRef<'_>| slice.track_ref().kind == TrackKind::HostThread;
    model.all_slices().filter(is_host)
}

/// Executions that devices recorded, by device, in time order.
fn on_devices(model: &TraceModel, program: &str) -> BTreeMap<String, Vec<Picos>> {
    let mut by_device = BTreeMap::new();
    for core in model.tensor_cores() {
        let tracks = model.tracks_of_kind(core, TrackKind::Modules);
        let slices = tracks.flat_map(|track| model.slices_on(track));
        let mut executions: Vec<SliceRef<'_>> = slices
            .filter(|slice| function_of(slice.name()) == program)
            .collect();
        executions.sort_by_key(|slice| slice.start());
        if !executions.is_empty() {
            let device = model.device_name(core);
            by_device.insert(
                device,
                executions.into_iter().map(SliceRef::measured_dur).collect(),
            );
        }
    }
    by_device
}

/// From the first to the last op of the program in each call, by the number of the device.
fn on_host(model: &TraceModel, program: &str, calls: &[TimeRange]) -> BTreeMap<String, Vec<Picos>> {
    let mut spans: BTreeMap<(u64, usize), TimeRange> = BTreeMap::new();
    for slice in host_slices(model) {
        let begun = calls.partition_point(|call| call.start <= slice.range().start);
        let Some(call) = begun
            .checked_sub(1)
            .filter(|&index| slice.range().start < calls[index].end)
        else {
            continue;
        };
        let Ok(args) = slice.args() else { continue };
        let is_own = |arg: &Arg| {
            arg.name == "hlo_module"
                && matches!(&arg.value, ArgValue::Text(name) if name == program)
        };
        if !args.iter().any(is_own) {
            continue;
        }
        let device = args.iter().find(|arg| arg.name == "device_ordinal");
        let device = device.map_or(0, |arg| match arg.value {
            ArgValue::Int(number) => u64::try_from(number).unwrap_or(0),
            ArgValue::Uint(number) => number,
            _ => 0,
        });
        let span = spans.entry((device, call)).or_insert(slice.range());
        *span = span.hull(slice.range());
    }
    let mut by_device: BTreeMap<String, Vec<Picos>> = BTreeMap::new();
    for ((device, _), span) in spans {
        by_device
            .entry(format!("CPU:{device}"))
            .or_default()
            .push(span.dur());
    }
    by_device
}

impl Tabular for ExecutionTimes {
    fn tables(&self) -> Vec<Table> {
        let time = Unit::Picoseconds;
        let table = Table::of(
            "execution_times",
            format!("Executions of {}", self.program),
            &self.devices,
        )
        .recorded("device", "Device", Unit::None, |row| row.device.clone())
        .recorded("executions", "Executions", Unit::Count, |row| {
            Some(row.executions as f64)
        })
        .derived("median_ps", "Execution", time, |row| Some(row.median_ps))
        .derived("low_ps", "From", time, |row| row.low_ps)
        .derived("high_ps", "To", time, |row| row.high_ps)
        .derived("least_ps", "Least", time, |row| Some(row.least_ps))
        .derived("call_ps", "Call", time, |row| row.call_ps)
        .derived("dispatch_ps", "Dispatch", time, |row| row.dispatch_ps)
        .build();
        vec![table]
    }
}

#[cfg(test)]
mod tests {
    use sample_traces::text_trace;

    use super::*;

    /// Two devices run a program twice, in calls of the host; another program runs, too.
    const CALLS: &str = "
        modules      : .FFFF......FFFFFF....
        TPU:1 modules: .FF..GGG...FF........
        host python  : CCCCCC....DDDDDDDD...

        F = jit_f(7)
        G = jit_g(8)
        C = call
        D = call
    ";

    #[test]
    fn devices_are_compared_by_their_median_and_calls_are_longer() {
        let model = text_trace(CALLS);
        let times = ExecutionTimes::of(&model, "jit_f", "call").unwrap();
        let of =
            |one: &DeviceExecutions| (one.executions, one.median_ps, one.call_ps, one.dispatch_ps);
        let devices: Vec<_> = times.devices.iter().map(of).collect();
        let expected = [
            (2, 5_000.0, Some(7_000.0), Some(2_000.0)),
            (2, 2_000.0, Some(7_000.0), Some(5_000.0)),
        ];
        assert_eq!(
            (times.recorded_by, devices.as_slice()),
            (RecordedBy::Device, &expected[..])
        );
        assert_eq!(
            times.devices[0].low_ps, None,
            "two executions have no interval"
        );
        assert!(
            times
                .statement
                .contains("An execution of jit_f takes 5.000 ns on "),
            "{}",
            times.statement
        );
        assert!(
            times
                .statement
                .contains("the slowest of 2 devices, the median of 2; a call takes 2.000 ns more")
        );

        let other = ExecutionTimes::of(&model, "jit_g", "call").unwrap();
        assert_eq!(
            (other.devices.len(), other.devices[0].dispatch_ps),
            (1, None),
            "one of two calls"
        );
        let why = ExecutionTimes::of(&model, "jit_h", "call").unwrap_err();
        assert!(why.contains("no execution of jit_h"), "{why}");
    }
}
