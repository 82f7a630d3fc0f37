//! Steps as bands across all tracks.

use std::borrow::Cow;

use analysis::OpGroup;
use analysis::facts::steps::StepsReport;
use analysis::reports::steps::step_parts::StepPart;
use trace_model::{Picos, SliceRef, TimeRange, Timestamp, TrackKind};

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
        short_name(&self.title, self.number)
    }
}

/// What a step is called, from its recorded name and its number: see [`StepBand::name`].
pub fn short_name(recorded: &str, number: u32) -> Cow<'_, str> {
    if is_number(recorded) {
        Cow::Borrowed(recorded)
    } else {
        Cow::Owned(number.to_string())
    }
}

fn is_number(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_digit())
}

/// The name of a slice as a heading: profilers call the slices of steps by their number alone.
pub fn heading_of(slice: SliceRef<'_>) -> Cow<'_, str> {
    let name = slice.name();
    let is_step = slice.track_ref().kind == TrackKind::Steps && is_number(name);
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
