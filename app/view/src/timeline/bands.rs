//! Steps as bands across all tracks.

use std::borrow::Cow;

use crate::prelude::*;
use analysis::facts::{Step, StepSource};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepBand {
    /// From its first start to its last end over the cores that run it together.
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
    /// Whether it is what the host annotated, and not what devices ran.
    pub is_of_host: bool,
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

/// In which step a slice begins. A host runs ahead of its devices: what it does for a step, it does while they run an
/// earlier one, so both are named.
pub fn step_of(bands: &[StepBand], model: &TraceModel, slice: SliceRef<'_>) -> Option<String> {
    let step = slice.attr(SliceAttr::StepNum).map(|step| step.to_string());
    let band = step_at(bands, slice.start()).and_then(|place| bands.get(place));
    let Some(band) = band else {
        return step.map(|step| format!("Step {step}"));
    };
    let is_on_device = matches!(
        model.group(slice.track_ref().group).kind,
        GroupKind::TensorCore { .. } | GroupKind::SparseCore { .. } | GroupKind::Gpu { .. }
    );
    let is_of_band = is_on_device || band.is_of_host;
    let running = band.short_name();
    Some(match step {
        Some(step) if step == running => band.name(),
        Some(step) if is_of_band => format!("{}, recorded as step {step}", band.name()),
        Some(step) => format!("Step {step} on the host, while the device runs step {running}"),
        None if is_of_band => band.name(),
        None => format!("while the device runs step {running}"),
    })
}

/// All steps in time order; none if the whole capture counts as one step. A step that devices run far apart, as where
/// each counts its own, has a band for each time.
pub fn bands(report: &StepsReport) -> Vec<StepBand> {
    if !report.has_steps() {
        return Vec::new();
    }
    let is_of_host = report.source == StepSource::HostAnnotations;
    let bands = report.steps.iter().enumerate().flat_map(|(i, step)| {
        runs_together(step)
            .into_iter()
            .map(move |(range, time)| StepBand {
                range,
                time,
                number: step.number,
                title: step.label.clone(),
                is_outlier: step.is_outlier,
                is_odd: i % 2 == 1,
                is_of_host,
            })
    });
    let mut bands: Vec<StepBand> = bands.collect();
    bands.sort_by_key(|band| band.range.start);
    bands
}

/// The times in which cores run a step, and the longest on a core, by its clock; cores that are less apart than the step
/// is long run it together.
fn runs_together(step: &Step) -> Vec<(TimeRange, Picos)> {
    let mut spans: Vec<_> = step.spans.iter().collect();
    spans.sort_by_key(|span| span.range.start);
    let mut runs: Vec<(TimeRange, Picos)> = Vec::new();
    for span in spans {
        let time = span.measured.dur();
        match runs.last_mut() {
            Some((run, longest)) if span.range.start - run.end <= step.time_ps => {
                (*run, *longest) = (run.hull(span.range), time.max(*longest));
            }
            _ => runs.push((span.range, time)),
        }
    }
    runs
}

/// The bands that overlap a range; `bands` are in time order.
pub fn in_sight(bands: &[StepBand], range: TimeRange) -> &[StepBand] {
    let end = bands.partition_point(|band| band.range.start < range.end);
    // Steps overlap a little, because cores do not begin at the same time.
    let start = bands[..end]
        .iter()
        .rposition(|band| band.range.end <= range.start)
        .map_or(0, |last| last + 1);
    &bands[start..end]
}

/// The place of the step at a time; of two, that of the one that begins later.
pub fn step_at(bands: &[StepBand], time: Timestamp) -> Option<usize> {
    let end = bands.partition_point(|band| band.range.start <= time);
    // Steps overlap a little, because cores do not begin at the same time.
    (end.saturating_sub(2)..end)
        .rev()
        .find(|&place| time < bands[place].range.end)
}

#[cfg(test)]
mod tests {
    use analysis::facts::steps::StepSpan;
    use trace_model::{SliceSpec, TraceBuilder};

    use super::*;

    #[test]
    fn finds_visible_bands() {
        let band = |start: i64, end: i64| StepBand {
            range: TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(end - start)),
            time: Picos::from_ps(end - start),
            number: start as u32,
            title: format!("{start}"),
            ..StepBand::default()
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

    #[test]
    fn what_a_host_does_for_the_next_step_names_both() {
        let mut builder = TraceBuilder::new();
        let range = |start, end| TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
        let groups = [
            (GroupKind::HostProcess, "/host:CPU"),
            (GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0"),
        ];
        let tracks = groups.map(|(kind, name)| {
            let group = builder.group(None, kind, name);
            builder.track(group, TrackKind::Other, 0, "track")
        });
        let label = builder.label("work", None);
        let mut add = |track, number: Option<i64>| {
            let id = builder.add_slice(track, SliceSpec::new(range(10, 20), label));
            if let Some(number) = number {
                builder.set_attr(id, SliceAttr::StepNum, number);
            }
        };
        add(tracks[0], Some(15));
        add(tracks[1], None);
        let model = builder.finish();
        let band = |is_of_host| StepBand {
            range: range(0, 30),
            number: 14,
            is_of_host,
            ..StepBand::default()
        };
        let said = |is_of_host| {
            let slices = tracks.map(|track| model.slices_on(track).next().unwrap());
            slices.map(|slice| step_of(&[band(is_of_host)], &model, slice).unwrap())
        };
        assert_eq!(
            said(false),
            [
                "Step 15 on the host, while the device runs step 14",
                "Step 14"
            ]
        );
        assert_eq!(said(true), ["Step 14, recorded as step 15", "Step 14"]);
    }

    #[test]
    fn a_step_that_devices_run_far_apart_has_a_band_for_each_time() {
        let range = |start, end| TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
        let span = |group, start, end| StepSpan {
            group,
            range: range(start, end),
            measured: range(start, end),
        };
        let step = |spans: &[StepSpan]| Step {
            time_ps: Picos::from_ps(20),
            spans: spans.to_vec(),
            ..Step::default()
        };
        let mut builder = TraceBuilder::new();
        let cores = [0, 1, 2].map(|ordinal| builder.group(None, GroupKind::Gpu { ordinal }, "gpu"));
        let apart = [
            span(cores[0], 0, 20),
            span(cores[1], 5, 22),
            span(cores[2], 640, 655),
        ];
        assert_eq!(
            runs_together(&step(&apart)),
            [
                (range(0, 22), Picos::from_ps(20)),
                (range(640, 655), Picos::from_ps(15))
            ]
        );
        assert_eq!(
            runs_together(&step(&apart[..2])),
            [(range(0, 22), Picos::from_ps(20))]
        );
    }
}
