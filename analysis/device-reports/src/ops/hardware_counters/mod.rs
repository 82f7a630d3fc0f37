//! Hardware performance counters, and the utilization computed from them.
//!
//! A sample is one line of a device's plane; each of its events is a counter with its number and value. The meaning
//! of counters is known for v6e and v7x only; counts of other chips are listed and not interpreted. Formulas are
//! those of `XProf`'s utilization viewer; `DIFFERENCES.md` lists deliberate deviations. A metric whose counters were
//! not recorded is left out, because it is not zero.
//!
//! Tested on generated captures only: no public capture has counters.

mod known;
mod metrics;
mod tables;
#[cfg(test)]
mod tests;

use facts::prelude::*;
use hardware::chips::Chip;

use known::KnownCounter;
use metrics::{Counts, Limits, metrics};

pub use known::CounterGeneration;
pub use metrics::{CounterMetric, CounterUnit};

/// The analysis `hardware_counters`.
pub struct HardwareCounters;

/// Counts and metrics from hardware counters.
#[engine::reported]
pub struct HardwareCountersReport {
    /// Every device that recorded counters.
    pub devices: Vec<DeviceCounters>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Counters of one device.
#[engine::reported]
pub struct DeviceCounters {
    /// Its name.
    pub device: String,
    /// The chip, if its counters are known.
    pub generation: Option<CounterGeneration>,
    /// Metrics over all samples: sum of achieved and sum of peak amounts.
    pub metrics: Vec<CounterMetric>,
    /// Each sample, in the order of the trace.
    pub samples: Vec<HardwareCounterSample>,
    /// Counts as recorded, over all samples, by number.
    pub counts: Vec<HardwareCounterTotal>,
}

/// One reading of the counters.
#[engine::reported]
pub struct HardwareCounterSample {
    /// Name of its line: the kernel, or a number.
    pub name: String,
    /// Its metrics.
    pub metrics: Vec<CounterMetric>,
}

/// One counter.
#[engine::row(recorded)]
pub struct HardwareCounterTotal {
    /// Number of the counter.
    #[column("Number", unit = None, with = |count| count.id.to_string())]
    pub id: u64,
    /// Name as recorded.
    #[column(id = "counter")]
    pub name: String,
    /// Sum over samples.
    #[column(unit = Count)]
    pub value: f64,
    /// Whether a metric uses it.
    #[column("Used", with = |count| if count.is_known { "yes" } else { "no" })]
    pub is_known: bool,
}

impl Analysis for HardwareCounters {
    type Report = HardwareCountersReport;
    const ID: &str = "hardware_counters";
    const TITLE: &str = "Hardware counters";

    fn run(cx: &Context<'_>) -> Result<HardwareCountersReport> {
        let mut devices: BTreeMap<GroupId, Readings> = BTreeMap::new();
        let mut most_readings: BTreeMap<(TrackId, u64), usize> = BTreeMap::new();
        for (slice, bits) in cx.model.slices_with(SliceAttr::CounterValueBits) {
            let Some(id) = slice.attr(SliceAttr::CounterId) else {
                continue;
            };
            let (track, value) = (slice.track(), f64::from_bits(bits as u64));
            if value.is_finite() && is_wanted(cx, cx.model.track(track).group) {
                let readings = devices.entry(cx.model.track(track).group).or_default();
                *most_readings.entry((track, id as u64)).or_default() += 1;
                // If a sample contains a counter twice, the last value counts, as in XProf.
                readings
                    .entry(track)
                    .or_default()
                    .insert(id as u64, (slice.name().to_owned(), value));
            }
        }
        if devices.is_empty() {
            return Err("no hardware counters were recorded; options of the profiler (advanced_configuration of \
                 jax.profiler.ProfileOptions) record them: tpu_perf_counters once for the capture; on Ironwood (TPU7x) and \
                 later also tpu_enable_periodic_counter_sampling with tpu_tc_perf_counter_sampling_options, as series; \
                 systole doctor --rows says what a chip has".into());
        }
        let devices: Vec<_> = devices
            .iter()
            .map(|(&group, readings)| device(cx, group, readings))
            .collect();
        let samples = devices.iter().map(|device| device.samples.len()).max();
        let most = most_readings.values().copied().max();
        let mut notes = vec![how_read(samples.unwrap_or(0), most.unwrap_or(0))];
        if devices.iter().any(|device| device.generation.is_none()) {
            notes.push(
                "counters are known for v6e and v7x only; those of other chips are listed as recorded".to_owned(),
            );
        }
        Ok(HardwareCountersReport { devices, notes })
    }
}

/// What the values are.
fn how_read(samples: usize, most_readings: usize) -> String {
    let value = if most_readings > 1 {
        format!("the last of up to {most_readings} readings, a series")
    } else {
        "the one reading that it records".to_owned()
    };
    if samples == 1 {
        format!("each device has one sample; its value of a counter is {value}")
    } else {
        format!(
            "a device has up to {samples} samples, one for each line of the profile; their values are added up; that of a \
             sample is {value}"
        )
    }
}

/// Number, name and value of each counter, by sample.
type Readings = BTreeMap<TrackId, BTreeMap<u64, (String, f64)>>;

/// Groups of whole chips have no ordinal: they count unless devices were selected.
fn is_wanted(cx: &Context<'_>, group: GroupId) -> bool {
    let wanted = &cx.options.devices;
    match cx.model.group(group).kind {
        _ if wanted.is_empty() => true,
        GroupKind::TensorCore { ordinal } => wanted.contains(&ordinal),
        _ => false,
    }
}

fn device(cx: &Context<'_>, group: GroupId, readings: &Readings) -> DeviceCounters {
    let peaks = cx.peaks(group);
    let hbm = peaks.hbm.map(|peak| peak.per_second);
    let limits = peaks
        .chip
        .as_deref()
        .and_then(Chip::named)
        .and_then(|chip| Limits::of(chip, hbm));
    let generation = limits.map(|limits| limits.generation);
    let find =
        |name: &str, id| generation.and_then(|generation| KnownCounter::find(generation, name, id));
    let mut samples = Vec::new();
    let mut counts: BTreeMap<u64, HardwareCounterTotal> = BTreeMap::new();
    for (&track, reading) in readings {
        let mut known = Counts::new();
        for (&id, (name, value)) in reading {
            let counter = find(name, id);
            if let Some(counter) = counter {
                *known.entry(counter).or_default() += value;
            }
            let is_known = counter.is_some();
            let count = counts.entry(id).or_insert_with(|| HardwareCounterTotal {
                id,
                name: name.clone(),
                value: 0.0,
                is_known,
            });
            count.value += value;
        }
        let metrics = limits
            .map(|limits| metrics(&known, &limits))
            .unwrap_or_default();
        samples.push(HardwareCounterSample {
            name: cx.model.str(cx.model.track(track).name).to_owned(),
            metrics,
        });
    }
    DeviceCounters {
        device: cx.model.device_name(group),
        generation,
        metrics: totals(&samples),
        samples,
        counts: counts.into_values().collect(),
    }
}

/// The same metrics over all samples, in the order of their first occurrence.
fn totals(samples: &[HardwareCounterSample]) -> Vec<CounterMetric> {
    let mut out: Vec<CounterMetric> = Vec::new();
    for metric in samples.iter().flat_map(|sample| &sample.metrics) {
        match out
            .iter_mut()
            .find(|sum| (sum.id, sum.core) == (metric.id, metric.core))
        {
            Some(sum) => sum.add(metric),
            None => out.push(metric.clone()),
        }
    }
    out
}
