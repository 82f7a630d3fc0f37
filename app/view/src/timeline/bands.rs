//! Steps as bands across all tracks.

use std::borrow::Cow;
use std::collections::BTreeMap;

use analysis::OpGroup;
use analysis::facts::steps::{Step, StepsReport};
use analysis::reports::steps::step_parts::{DividedStep, StepPart, StepPartsReport};
use trace_model::{Picos, SliceRef, TimeRange, Timestamp, TraceModel, TrackKind};

#[derive(Clone, Debug, PartialEq)]
pub struct StepBand {
    /// From its first start to its last end over the cores.
    pub range: TimeRange,
    /// Time on the slowest core, by the device clock.
    pub time: Picos,
    /// Its number in the reports.
    pub number: u32,
    /// Recorded name.
    pub title: String,
    /// Whether it took unusually long.
    pub is_outlier: bool,
    /// Whether its band is shaded.
    pub is_odd: bool,
}

impl StepBand {
    /// Its displayed name: the recorded name if that is a number, else its number in the reports. The name of a
    /// program with its fingerprint would be the same for all steps.
    pub fn name(&self) -> String {
        format!("Step {}", self.short_name())
    }

    /// A shorter form, for little room.
    pub fn short_name(&self) -> Cow<'_, str> {
        if is_number(&self.title) {
            Cow::Borrowed(&self.title)
        } else {
            Cow::Owned(self.number.to_string())
        }
    }
}

fn is_number(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_digit())
}

/// The name of a slice as a heading: profilers call the slices of steps by their number alone.
pub fn heading_of<'a>(model: &'a TraceModel, slice: SliceRef<'a>) -> Cow<'a, str> {
    let name = slice.name();
    let is_step = model.track(slice.track()).kind == TrackKind::Steps && is_number(name);
    if is_step {
        Cow::Owned(format!("Step {name}"))
    } else {
        Cow::Borrowed(name)
    }
}

/// All steps in time order; none if the whole capture counts as one step.
pub fn bands(report: &StepsReport) -> Vec<StepBand> {
    if !report.has_steps() {
        return Vec::new();
    }
    let bands = report.steps.iter().enumerate().filter_map(|(i, step)| {
        let range = step.range()?;
        Some(StepBand {
            range,
            time: step.time_ps,
            number: step.number,
            title: step.label.clone(),
            is_outlier: step.is_outlier,
            is_odd: i % 2 == 1,
        })
    });
    let mut bands: Vec<StepBand> = bands.collect();
    bands.sort_by_key(|band| band.range.start);
    bands
}

/// The bands that overlap a range; `bands` are in time order.
pub fn in_sight(bands: &[StepBand], range: TimeRange) -> &[StepBand] {
    let end = bands.partition_point(|band| band.range.start < range.end);
    // Steps overlap a little, because cores do not begin at the same time.
    let start = bands[..end]
        .iter()
        .rposition(|band| band.range.end <= range.start)
        .map_or(0, |at| at + 1);
    &bands[start..end]
}

/// The place of the step at a time; of two, that of the one that begins later.
pub fn step_at(bands: &[StepBand], at: Timestamp) -> Option<usize> {
    let end = bands.partition_point(|band| band.range.start <= at);
    // Steps overlap a little, because cores do not begin at the same time.
    (end.saturating_sub(2)..end)
        .rev()
        .find(|&place| at < bands[place].range.end)
}

/// The category whose colour a step part has.
pub fn group_of(part: StepPart) -> OpGroup {
    match part {
        StepPart::MatMul => OpGroup::MatMul,
        StepPart::Vector => OpGroup::Vector,
        StepPart::DataMovement => OpGroup::DataMovement,
        StepPart::Kernel => OpGroup::CustomKernel,
        StepPart::ExposedComm => OpGroup::Collective,
        StepPart::CopyWait => OpGroup::AsyncWait,
        StepPart::HostIo => OpGroup::HostIo,
        StepPart::SparseCore => OpGroup::SparseCore,
        StepPart::Other => OpGroup::Other,
        StepPart::Idle => OpGroup::Idle,
    }
}

/// A step as a bar, or the mean of several.
#[derive(Clone, Debug, PartialEq)]
pub struct StepBar {
    /// The first and the last step.
    pub steps: (u32, u32),
    /// The mean time.
    pub time: Picos,
    /// The number of the longest step, and its time.
    pub longest: (u32, Picos),
    /// Mean parts on the slowest core of each step, from the bottom; empty if unknown.
    pub parts: Vec<(StepPart, Picos)>,
    /// Whether the statistics include one of them.
    pub is_counted: bool,
}

impl StepBar {
    pub fn title(&self) -> String {
        match self.steps {
            (first, last) if first == last => format!("Step {first}"),
            (first, last) => format!("Steps {first} to {last}, mean"),
        }
    }

    /// Where it lies between the numbers of steps.
    pub fn middle(&self) -> f64 {
        f64::midpoint(f64::from(self.steps.0), f64::from(self.steps.1))
    }
}

/// Maximum number of bars.
const MOST_BARS: usize = 400;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepBars {
    /// In time order.
    pub bars: Vec<StepBar>,
    /// Height at which bars are cut, so that one compiling step does not flatten all others.
    pub cut: Picos,
    /// Number of steps per bar.
    pub each: usize,
}

impl StepBars {
    /// From all steps, with the parts where known.
    pub fn new(steps: &StepsReport, divided: Option<&StepPartsReport>) -> Self {
        let divided = divided.map_or(&[][..], |report| &report.steps);
        let parts: BTreeMap<u32, &DividedStep> =
            divided.iter().map(|step| (step.step, step)).collect();
        let each = steps.steps.len().div_ceil(MOST_BARS).max(1);
        let bar = |chunk: &[Step]| {
            let longest = chunk.iter().max_by_key(|step| step.time_ps)?;
            let mean = |time: &dyn Fn(&Step) -> Option<Picos>| {
                let sum = chunk.iter().map(time).sum::<Option<Picos>>()?;
                let mean = sum.ps() as f64 / chunk.len() as f64;
                Some(Picos::from_ps(mean.round() as i64))
            };
            let of_part = |part: StepPart, step: &Step| {
                Some(parts.get(&step.number)?.critical()?.parts.get(part))
            };
            let own = StepPart::ALL
                .into_iter()
                .filter_map(|part| Some((part, mean(&|step| of_part(part, step))?)));
            Some(StepBar {
                steps: (chunk.first()?.number, chunk.last()?.number),
                time: mean(&|step| Some(step.time_ps))?,
                longest: (longest.number, longest.time_ps),
                parts: own.filter(|&(_, time)| time > Picos::ZERO).collect(),
                is_counted: chunk
                    .iter()
                    .any(|step| !(step.is_partial || step.is_warmup)),
            })
        };
        let bars: Vec<StepBar> = steps.steps.chunks(each).filter_map(bar).collect();
        let highest = |counted: bool| {
            bars.iter()
                .filter(|bar| bar.is_counted || !counted)
                .map(|bar| bar.time)
                .max()
        };
        let least = Picos::from_ps(1);
        let cut = highest(true).map_or(Picos::MAX, |time| time + time);
        let cut = cut.min(highest(false).unwrap_or(least)).max(least);
        Self { bars, cut, each }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_visible_bands() {
        let band = |start: i64, end: i64| StepBand {
            range: TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(end - start)),
            time: Picos::from_ps(end - start),
            number: start as u32,
            title: format!("{start}"),
            is_outlier: false,
            is_odd: false,
        };
        let all = [band(0, 10), band(10, 20), band(19, 30), band(40, 50)];
        let shown = |start: i64, end: i64| {
            let range = TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(end - start));
            in_sight(&all, range)
                .iter()
                .map(|band| band.title.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(12, 42), ["10", "19", "40"]);
        assert_eq!(shown(31, 39), Vec::<String>::new());
        let step =
            |at: i64| step_at(&all, Timestamp::from_ps(at)).map(|place| all[place].title.as_str());
        assert_eq!(
            [0, 9, 10, 19, 29, 30, 49].map(step),
            [
                Some("0"),
                Some("0"),
                Some("10"),
                Some("19"),
                Some("19"),
                None,
                Some("40")
            ]
        );
        assert_eq!(shown(0, 5), ["0"]);
    }
}
