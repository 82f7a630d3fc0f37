//! Series of the chip: its clock, its throttling, its temperature and its power.
//!
//! Their names are not published, so that they are told by the words of their names and units: a clock is counted in hertz
//! and is not that of memory or links. Samples are on the timeline, and so are the spans of ops here.

use super::prelude::*;
use engine::number::value;
use trace_model::CounterSeries;

/// The clock of a core below its highest recorded value while ops run.
pub(super) struct ClockDrop {
    pub device: String,
    pub series: String,
    /// Share of the time in which ops ran and the clock was recorded.
    pub of_busy_percent: Percent,
    /// The lowest clock in that time, as a share of the highest recorded value; `mean_percent` is the mean.
    pub lowest_percent: f64,
    pub mean_percent: f64,
    /// The first time.
    pub first: TimeRange,
    /// What compute-bound ops lose on this device in the counted steps at most, and these ops.
    pub lost: Picos,
    pub ops: BTreeSet<OpId>,
    /// What temperature and power did.
    pub meanwhile: Vec<SeriesThen>,
}

/// A series at the begin of its samples, and when the clock first falls.
pub(super) struct SeriesThen {
    pub series: String,
    pub unit: String,
    pub first: f64,
    pub then: f64,
}

impl SeriesThen {
    /// `Temperature rose from 60 °C to 90 °C by then`
    pub fn in_words(&self) -> String {
        let [first, then] = [self.first, self.then].map(|number| self.with_unit(number));
        let series = &self.series;
        if first == then {
            return format!("{series} stood at {then}");
        }
        let how = if self.then > self.first {
            "rose"
        } else {
            "fell"
        };
        format!("{series} {how} from {first} to {then} by then")
    }

    /// `60 °C`
    pub fn with_unit(&self, number: f64) -> String {
        let number = value(number, Unit::None);
        format!("{number} {}", self.unit).trim_end().to_owned()
    }
}

/// The words of a series: those of its name and unit, in lower case.
fn words(facts: &HintFacts<'_>, series: &CounterSeries) -> Vec<String> {
    let (name, unit) = name_and_unit(facts, series);
    format!("{name} {unit}")
        .to_ascii_lowercase()
        .split(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '%' | '°')))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn name_and_unit(facts: &HintFacts<'_>, series: &CounterSeries) -> (String, String) {
    let model = facts.cx.model;
    let name = model.str(model.track(series.track()).name).to_owned();
    let unit = series.unit().map_or("", |unit| model.str(unit));
    (name, unit.to_owned())
}

fn is_clock(words: &[String]) -> bool {
    let any = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    any(&["hz", "khz", "mhz", "ghz"])
        && !any(&["hbm", "memory", "mem", "dram", "ici", "link", "host", "cpu"])
}

fn is_heat_or_power(words: &[String]) -> bool {
    let any = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    let is_share = any(&["%"]) || words.iter().any(|word| word.contains("throttl"));
    !is_share
        && any(&[
            "temperature",
            "temp",
            "power",
            "°c",
            "celsius",
            "watt",
            "watts",
        ])
}

/// Whether a series of `group` is about a core: of the core itself, or of the chip around it.
fn is_of(facts: &HintFacts<'_>, group: GroupId, core: GroupId) -> bool {
    let model = facts.cx.model;
    let mut around = Some(core);
    while let Some(ancestor) = around {
        if ancestor == group {
            return true;
        }
        around = model.group(ancestor).parent;
    }
    model.group(group).parent == Some(core)
}

/// The devices whose clock falls more than `percent` below its highest value while ops run, by what that costs, the most
/// first; `None` if no clock was recorded beside a core that ran ops.
pub(super) fn clock_drops(facts: &HintFacts<'_>, percent: f64) -> Result<Option<Vec<ClockDrop>>> {
    let cx = facts.cx;
    let model = facts.cx.model;
    let clocks: Vec<&CounterSeries> = model
        .counters()
        .iter()
        .filter(|series| is_clock(&words(facts, series)))
        .collect();
    if clocks.is_empty() {
        return Ok(None);
    }
    let bound: BTreeSet<OpId> = facts
        .select(|row| row.is_leaf && row.rates.bound_by == Some(BoundBy::Compute))?
        .rows
        .iter()
        .filter_map(|row| row.op)
        .collect();
    let in_steps = cx.scoped(facts.step_scope());
    let mut drops = Vec::new();
    let mut is_recorded = false;
    for core in cx.tensor_cores() {
        let clock = clocks
            .iter()
            .find(|series| is_of(facts, model.track(series.track()).group, core));
        let (Some(series), Some(window)) = (clock, cx.window(core)?) else {
            continue;
        };
        is_recorded = true;
        let Some(low) = LowClock::of(series, percent) else {
            continue;
        };
        let steps = in_steps.window(core)?;
        let mut busy = Vec::new();
        let mut ops = BTreeSet::new();
        let mut lost = 0.0;
        for call in model.slices_of_kind(core, TrackKind::Ops) {
            busy.extend(call.range().intersect(window.range));
            let op = call.op().filter(|op| bound.contains(op));
            let part = steps.and_then(|steps| call.range().intersect(steps.range));
            let of_call = part.map_or(0.0, |part| low.lost(part));
            if let Some(op) = op.filter(|_| of_call > 0.0) {
                ops.insert(op);
                lost += of_call;
            }
        }
        let busy: IntervalSet = busy.into_iter().collect();
        let drop = low.drop(facts, core, &busy);
        drops.extend(drop.map(|drop| ClockDrop {
            lost: Picos::from_ps(lost as i64),
            ops,
            ..drop
        }));
    }
    let weight = |drop: &ClockDrop| drop.of_busy_percent.0 * (100.0 - drop.mean_percent);
    drops.sort_by(|a, b| (b.lost.cmp(&a.lost)).then_with(|| weight(b).total_cmp(&weight(a))));
    Ok(is_recorded.then_some(drops))
}

/// A series of a clock with its highest value.
struct LowClock<'a> {
    series: &'a CounterSeries,
    highest: f64,
    /// Below this it is low.
    limit: f64,
}

impl<'a> LowClock<'a> {
    fn of(series: &'a CounterSeries, percent: f64) -> Option<Self> {
        let values = series.samples().map(|(_, value)| value);
        let highest = values.filter(|value| value.is_finite()).reduce(f64::max)?;
        (highest > 0.0).then(|| Self {
            series,
            highest,
            limit: highest * (1.0 - percent / 100.0),
        })
    }

    /// Samples in a range with a low clock: zero is none, as of a chip that is switched off.
    fn low_in(&self, range: TimeRange) -> impl Iterator<Item = (TimeRange, f64)> {
        self.series
            .samples_in(range)
            .filter(|(_, value)| *value > 0.0 && *value < self.limit)
    }

    /// What work in this range would take less at the highest clock, ps.
    fn lost(&self, range: TimeRange) -> f64 {
        self.low_in(range)
            .map(|(part, value)| part.dur().as_ps_f64() * (1.0 - value / self.highest))
            .sum()
    }

    /// The clock while ops run; `None` if it is never low.
    fn drop(&self, facts: &HintFacts<'_>, core: GroupId, busy: &IntervalSet) -> Option<ClockDrop> {
        let known: Picos = busy
            .ranges()
            .iter()
            .flat_map(|&range| self.series.samples_in(range))
            .filter(|(_, value)| *value > 0.0)
            .map(|(part, _)| part.dur())
            .sum();
        let mut low = Picos::ZERO;
        let mut weighted = 0.0;
        let mut lowest = f64::INFINITY;
        let mut first: Option<TimeRange> = None;
        let parts = busy.ranges().iter().flat_map(|&range| self.low_in(range));
        for (part, value) in parts {
            low += part.dur();
            weighted += value * part.dur().as_ps_f64();
            lowest = lowest.min(value);
            first.get_or_insert(part);
        }
        let model = facts.cx.model;
        let first = first?;
        Some(ClockDrop {
            device: model.device_name(core),
            series: name_and_unit(facts, self.series).0,
            of_busy_percent: Percent::of(low, known)?,
            lowest_percent: 100.0 * lowest / self.highest,
            mean_percent: 100.0 * weighted / low.as_ps_f64() / self.highest,
            first,
            lost: Picos::ZERO,
            ops: BTreeSet::new(),
            meanwhile: meanwhile(facts, core, first),
        })
    }
}

/// Temperature and power of a core when its clock falls.
fn meanwhile(facts: &HintFacts<'_>, core: GroupId, falls: TimeRange) -> Vec<SeriesThen> {
    let model = facts.cx.model;
    let series_of_core = model.counters().iter().filter(|series| {
        is_of(facts, model.track(series.track()).group, core)
            && is_heat_or_power(&words(facts, series))
    });
    series_of_core
        .filter_map(|series| {
            let (series_name, unit) = name_and_unit(facts, series);
            Some(SeriesThen {
                series: series_name,
                unit,
                first: series.samples().next()?.1,
                then: series.value_at(falls.start)?,
            })
        })
        .collect()
}

/// The device whose recorded series of throttling in percent has the highest mean: its name, the series, and the mean.
/// How much time that costs is not recorded.
pub(super) fn throttling(facts: &HintFacts<'_>) -> Option<(String, String, f64)> {
    let model = facts.cx.model;
    let means = model.counters().iter().filter_map(|series| {
        let (name, unit) = name_and_unit(facts, series);
        let words = format!("{name} {unit}").to_ascii_lowercase();
        let is_share = words.contains("throttl") && words.contains('%');
        let mean = is_share.then(|| series.mean(model.extent()))??;
        let device = model
            .str(model.group(model.track(series.track()).group).name)
            .to_owned();
        (0.0..=100.0)
            .contains(&mean)
            .then_some((device, name, mean))
    });
    means.max_by(|a, b| a.2.total_cmp(&b.2))
}
