//! Finds stragglers and their cost.

use facts::prelude::*;
use math::stats::{OUTLIER_Z, SPREAD_FLOOR, median, modified_z};

use super::absent::clause;
use super::load::{DeviceLoad, HostLoad, StepBalance};

/// A comparison of devices or hosts by one quantity.
#[engine::row(measured)]
pub struct BalancedQuantity {
    /// Stable name.
    pub id: &'static str,
    /// Display name.
    #[column(id = "what")]
    pub title: &'static str,
    /// The denominator: a step, or the window.
    #[column("Per")]
    pub of: &'static str,
    /// Least.
    #[column("Least")]
    pub min_ps: f64,
    /// The middle one.
    #[column]
    pub median_ps: f64,
    /// Most.
    #[column("Most")]
    pub max_ps: f64,
    /// `(max − median) ÷ median`.
    #[column("Over median", derived)]
    pub imbalance_percent: Option<Percent>,
    /// Who has most; empty where all have as much.
    #[column("Who", non_empty)]
    pub most: String,
    /// Modified z-score of the maximum; `None` with fewer than three values.
    #[column("Modified z", derived)]
    pub z: Option<f64>,
    /// Number of devices or hosts with a known value.
    #[column("Compared")]
    pub count: usize,
}

/// Whether the same device is always slowest.
#[engine::reported]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ImbalancePattern {
    /// In hardly any step is a device slower than the others.
    Balanced,
    /// Mostly the same device.
    Persistent {
        /// Which.
        core: String,
        /// In how many of the uneven steps.
        steps: usize,
        /// Number of steps in which a device is slower.
        uneven: usize,
    },
    /// Different devices in different steps: uneven work rather than a slow chip.
    Rotating {
        /// How many devices.
        cores: usize,
        /// Number of steps in which a device is slower.
        uneven: usize,
    },
    /// Unknown with fewer than three steps.
    Unknown,
}

/// A step is uneven if the device with the most work exceeds the median by this percentage.
const UNEVEN: Percent = Percent(1.0);
/// Minimum number of steps for a pattern.
const FEW_STEPS: usize = 3;
/// A run is uneven if this share of its steps is.
const UNEVEN_STEPS: f64 = 0.1;

pub(super) fn pattern(steps: &[StepBalance]) -> ImbalancePattern {
    if steps.len() < FEW_STEPS {
        return ImbalancePattern::Unknown;
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for step in steps.iter().filter(|step| {
        step.imbalance_percent
            .is_some_and(|percent| percent >= UNEVEN)
    }) {
        *counts.entry(&step.most).or_default() += 1;
    }
    let uneven: usize = counts.values().sum();
    let most = counts
        .iter()
        .max_by_key(|(core, count)| (**count, Reverse(**core)));
    match most {
        Some((core, &count)) if uneven as f64 >= UNEVEN_STEPS * steps.len() as f64 => {
            if count * 2 > uneven {
                ImbalancePattern::Persistent {
                    core: (*core).to_owned(),
                    steps: count,
                    uneven,
                }
            } else {
                ImbalancePattern::Rotating {
                    cores: counts.len(),
                    uneven,
                }
            }
        }
        _ => ImbalancePattern::Balanced,
    }
}

/// Id, title, denominator and value of a quantity.
type DeviceMeasure<T> = (
    &'static str,
    &'static str,
    &'static str,
    fn(&T) -> Option<f64>,
);

const OF_DEVICES: [DeviceMeasure<DeviceLoad>; 7] = [
    ("work_ps", "Work", "step", |load| load.work_ps),
    ("step_ps", "Step time", "step", |load| load.step_ps),
    ("exposed_comm_ps", "Exposed comm", "step", |load| {
        load.exposed_comm_ps
    }),
    ("copy_wait_ps", "Copy wait", "step", |load| {
        load.copy_wait_ps
    }),
    ("idle_ps", "Idle", "step", |load| load.idle_ps),
    ("skew_wait_ps", "Waits for others", "window", |load| {
        load.skew_wait_ps
    }),
    ("barrier_ps", "Barriers", "window", |load| load.barrier_ps),
];

const OF_HOSTS: [DeviceMeasure<HostLoad>; 3] = [
    ("work_ps", "Work", "step", |load| load.work_ps),
    ("exposed_comm_ps", "Exposed comm", "step", |load| {
        load.exposed_comm_ps
    }),
    ("barrier_ps", "Barriers", "window", |load| load.barrier_ps),
];

/// Compares devices; sets their scores and marks stragglers.
pub(super) fn quantities(loads: &mut [DeviceLoad]) -> Vec<BalancedQuantity> {
    let step = median(&values(loads, |load| load.step_ps)).unwrap_or_default();
    let window = median(&values(loads, |load| load.window_ps)).unwrap_or_default();
    let out = compare(loads, &OF_DEVICES, |load| &load.core, step, window);
    let scores = scores(&values(loads, |load| load.work_ps), step);
    let working = loads.iter_mut().filter(|load| load.work_ps.is_some());
    for (load, z) in working.zip(scores) {
        load.work_z = Some(z);
        load.is_straggler = z > OUTLIER_Z;
    }
    out
}

/// Compares hosts; sets their scores and marks stragglers.
pub(super) fn host_quantities(loads: &mut [HostLoad]) -> Vec<BalancedQuantity> {
    let step = median(&values(loads, |load| load.work_ps)).unwrap_or_default();
    let out = compare(loads, &OF_HOSTS, |load| &load.host, step, step);
    let scores = scores(&values(loads, |load| load.work_ps), step);
    for (load, z) in loads
        .iter_mut()
        .filter(|load| load.work_ps.is_some())
        .zip(scores)
    {
        load.work_z = Some(z);
        load.is_straggler = z > OUTLIER_Z;
    }
    out
}

fn values<T>(loads: &[T], of: fn(&T) -> Option<f64>) -> Vec<f64> {
    loads.iter().filter_map(of).collect()
}

/// Modified z-scores of at least three values; a spread that is small compared with `whole` counts as none.
fn scores(values: &[f64], whole: f64) -> Vec<f64> {
    if values.len() < 3 {
        Vec::new()
    } else {
        modified_z(values, SPREAD_FLOOR * whole)
    }
}

fn compare<T>(
    loads: &[T],
    measures: &[DeviceMeasure<T>],
    name: impl Fn(&T) -> &String,
    step: f64,
    window: f64,
) -> Vec<BalancedQuantity> {
    let one = |&(id, title, of, value): &DeviceMeasure<T>| {
        let known: Vec<(&T, f64)> = loads
            .iter()
            .filter_map(|load| Some((load, value(load)?)))
            .collect();
        let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
        let median_ps = median(&values)?;
        let min_ps = values.iter().copied().reduce(f64::min)?;
        let ((index, &(most, max_ps)), are_equal) = math::most(
            known.iter().enumerate(),
            |(_, known)| known.1,
            |(_, known)| name(known.0),
        )?;
        let whole = if of == "step" { step } else { window };
        (max_ps > 0.0 && values.len() > 1).then(|| BalancedQuantity {
            id,
            title,
            count: values.len(),
            min_ps,
            median_ps,
            max_ps,
            most: if are_equal {
                String::new()
            } else {
                name(most).clone()
            },
            imbalance_percent: Percent::ratio(max_ps - median_ps, median_ps),
            z: scores(&values, whole).get(index).copied(),
            of,
        })
    };
    measures.iter().filter_map(one).collect()
}

/// Mean over steps of the cost of the slowest device.
pub(super) fn mean_cost(steps: &[StepBalance]) -> Option<(f64, f64)> {
    let mean = |of: fn(&StepBalance) -> f64| steps.iter().map(of).sum::<f64>() / steps.len() as f64;
    (!steps.is_empty()).then(|| {
        (
            mean(|step| step.cost_ps),
            mean(|step| step.time_ps.as_ps_f64()),
        )
    })
}

/// That the `compared` devices work equally long, without those that hardly run.
fn equally_long(loads: &[DeviceLoad], compared: usize) -> String {
    let who = if compared < loads.len() {
        format!("the other {compared} devices")
    } else {
        "all devices".to_owned()
    };
    let when = if loads
        .iter()
        .any(|load| load.work_ps.is_some() && load.absence.is_some())
    {
        " in the steps that they run"
    } else {
        ""
    };
    format!("{who} work equally long{when}")
}

pub(super) fn statement(
    loads: &[DeviceLoad],
    quantities: &[BalancedQuantity],
    steps: &[StepBalance],
    pattern: &ImbalancePattern,
) -> String {
    let length = |ps: f64| Picos::rounded(ps).to_string();
    let mut clauses = Vec::new();
    clauses.extend(clause(loads));
    let stragglers: Vec<&str> = loads
        .iter()
        .filter(|load| load.is_straggler)
        .map(|load| load.core.as_str())
        .collect();
    let work = quantities.iter().find(|quantity| quantity.id == "work_ps");
    if let Some((work, imbalance)) = work.and_then(|work| Some((work, work.imbalance_percent?))) {
        let more = format!(
            "{imbalance:.2} ({}) more than the median one",
            length(work.max_ps - work.median_ps)
        );
        clauses.push(match stragglers[..] {
            [] if work.max_ps <= work.min_ps => equally_long(loads, work.count),
            [] => format!("no outlier: {} works longest, {more}", work.most),
            [one] => format!("{one} is a straggler: it works {more}"),
            _ => format!(
                "{} devices work much longer than the others: {}",
                stragglers.len(),
                stragglers.join(", ")
            ),
        });
    }
    clauses.extend(match pattern {
        ImbalancePattern::Persistent { core, steps, uneven } => {
            let who = if stragglers[..] == [core.as_str()] {
                String::new()
            } else {
                format!("{core} works ")
            };
            Some(format!("{who}most in {steps} of {uneven} uneven steps"))
        }
        ImbalancePattern::Rotating { cores, uneven } => Some(format!(
            "in {uneven} uneven steps, {cores} different devices were slowest: uneven work rather than a slow chip"
        )),
        ImbalancePattern::Balanced | ImbalancePattern::Unknown => None,
    });
    if let Some((cost, time)) = mean_cost(steps).filter(|(cost, time)| *cost >= 0.001 * time) {
        let percent = 100.0 * cost / time;
        clauses.push(format!(
            "waiting for the slowest device costs {} per step ({percent:.1})",
            length(cost),
            percent = Percent(percent)
        ));
    }
    clauses.join("; ")
}
