//! Finds steps from four kinds of sources; the best available one is used.
//!
//! 1. **Steps line**: the runtime recorded steps on the device.
//! 2. **Programs**: every execution of the function that takes most device time
//!    starts a step, which lasts until the next one starts.
//! 3. **Host annotations**: `StepTraceAnnotation` and its like.
//! 4. **Whole capture**: one pseudo-step.
//!
//! Executions are grouped by *function* (`jit_train_step` of `jit_train_step(12)`),
//! because a function that was compiled for several shapes is still one step
//! function. A coefficient of variation below 0.5 would reject the traces that
//! matter most, those with one very slow step; the middle half of the durations
//! decides instead (`MAX_SPREAD`). A function that ran only once still makes a
//! step if it dominates the device: serving captures often hold a single one.

use std::collections::BTreeMap;

use serde::Serialize;
use trace_model::{GroupId, GroupKind, SliceAttr, SliceRef, TimeRange, TraceModel, TrackId, TrackKind};

use super::{host, programs};
use crate::engine::counted;

/// Source of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepSource {
    /// Recorded on the device.
    StepsLine,
    /// Executions of the dominant program.
    Modules,
    /// Annotations on the host.
    HostAnnotations,
    /// The capture as one pseudo-step.
    WholeCapture,
}

impl StepSource {
    /// Display name.
    pub fn title(self) -> &'static str {
        match self {
            Self::StepsLine => "steps recorded on the device",
            Self::Modules => "executions of the dominant program",
            Self::HostAnnotations => "step annotations on the host",
            Self::WholeCapture => "whole capture as one pseudo-step",
        }
    }
}

/// One step before classification.
#[derive(Clone, Debug)]
pub(super) struct RawStep {
    pub number: Option<u32>,
    pub label: String,
    /// One span for each core (or host) that took part.
    pub spans: Vec<(GroupId, TimeRange)>,
    /// Reason why it is partial, if it is.
    pub partial: Option<String>,
}

/// Result of the step detection.
pub(super) struct DetectedSteps {
    pub source: StepSource,
    /// The marker of steps: a track, a function, an annotation.
    pub marker: String,
    pub steps: Vec<RawStep>,
    /// Why better sources were not used, then why this one was.
    pub why: Vec<String>,
}

/// Tries the sources of steps, the best one first.
pub(super) fn find(model: &TraceModel, devices: &[GroupId]) -> DetectedSteps {
    let mut why = Vec::new();
    let sources: [(StepSource, StepSearch<'_>); 3] = [
        (StepSource::StepsLine, &|| steps_line(model, devices)),
        (StepSource::Modules, &|| programs::find(model, devices)),
        (StepSource::HostAnnotations, &|| host::find(model)),
    ];
    for (source, search) in sources {
        match search() {
            Ok(marked) => {
                why.push(marked.why);
                return DetectedSteps { source, marker: marked.marker, steps: marked.steps, why };
            }
            Err(reason) => why.push(reason),
        }
    }
    why.push("so the whole capture counts as one step".to_owned());
    let extent = model.extent();
    // Without devices any group stands for the host.
    let host = model.group_ids().next().filter(|_| devices.is_empty());
    let everything = devices.iter().copied().chain(host).map(|group| (group, extent)).collect();
    let step = RawStep { number: Some(0), label: "capture".to_owned(), spans: everything, partial: None };
    let steps = if extent.is_empty() { Vec::new() } else { vec![step] };
    DetectedSteps { source: StepSource::WholeCapture, marker: "capture".to_owned(), steps, why }
}

/// Searches for steps of one kind; the error names what is missing.
type StepSearch<'a> = &'a dyn Fn() -> Result<MarkedSteps, String>;

/// Marks of one source.
pub(super) struct MarkedSteps {
    pub marker: String,
    pub steps: Vec<RawStep>,
    pub why: String,
}

/// A mark of one step on one core or host.
pub(super) struct StepMark {
    pub number: Option<u32>,
    pub label: String,
    pub range: TimeRange,
    /// Why it is not complete, if it is not.
    pub partial: Option<&'static str>,
}

/// Reason for steps that had not ended when the capture ended.
pub(super) const CUT_OFF: &str = "the capture ended in it";

/// Joins the marks of several cores: by number if every core has unique numbers, else by order.
pub(super) fn join(by_group: Vec<(GroupId, Vec<StepMark>)>) -> Vec<RawStep> {
    let numbered = by_group.iter().all(|(_, marks)| {
        let mut numbers: Vec<_> = marks.iter().map(|mark| mark.number).collect();
        numbers.sort_unstable();
        numbers.windows(2).all(|pair| pair[0] != pair[1]) && numbers.iter().all(Option::is_some)
    });
    let groups = by_group.len();
    let mut steps: BTreeMap<u32, RawStep> = BTreeMap::new();
    for (group, marks) in by_group {
        for (k, mark) in marks.into_iter().enumerate() {
            let key = mark.number.filter(|_| numbered).unwrap_or(k as u32);
            let step = steps.entry(key).or_insert_with(|| RawStep {
                number: Some(key),
                label: mark.label,
                spans: Vec::new(),
                partial: None,
            });
            step.spans.push((group, mark.range));
            step.partial = step.partial.take().or(mark.partial.map(str::to_owned));
        }
    }
    let mut steps: Vec<RawStep> = steps.into_values().collect();
    for step in &mut steps {
        let missing = groups.saturating_sub(step.spans.len());
        if missing > 0 && step.partial.is_none() {
            step.partial = Some(format!("not recorded on {missing} of {groups} devices or hosts"));
        }
    }
    steps.sort_by_key(|step| step.spans.iter().map(|(_, range)| range.start).min());
    steps
}

/// Slices of a track that have no parent, in time order.
pub(super) fn top_slices(model: &TraceModel, track: TrackId) -> Vec<SliceRef<'_>> {
    let mut slices: Vec<_> = model.slices_on(track).filter(|slice| slice.parent().is_none()).collect();
    slices.sort_by_key(|slice| (slice.start(), slice.id()));
    slices
}

pub(super) fn tracks_of_kind(model: &TraceModel, group: GroupId, kind: TrackKind) -> Vec<TrackId> {
    model.tracks_of(group).into_iter().filter(|&track| model.track(track).kind == kind).collect()
}

/// The number at the end of `train 12` or `12`.
fn trailing_number(name: &str) -> Option<u32> {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name.get(name.len() - digits..)?.parse().ok()
}

pub(super) fn step_number(slice: SliceRef<'_>) -> Option<u32> {
    let attr = slice.attr(SliceAttr::StepNum).or_else(|| slice.attr(SliceAttr::GroupId));
    attr.and_then(|number| u32::try_from(number).ok()).or_else(|| trailing_number(slice.name()))
}

fn steps_line(model: &TraceModel, devices: &[GroupId]) -> Result<MarkedSteps, String> {
    let mut by_group = Vec::new();
    for &device in devices {
        let mut marks: Vec<StepMark> = Vec::new();
        for slice in
            tracks_of_kind(model, device, TrackKind::Steps).into_iter().flat_map(|track| top_slices(model, track))
        {
            let number = step_number(slice);
            let partial = slice.attr(SliceAttr::Unterminated).map(|_| CUT_OFF);
            match marks.last_mut().filter(|last| number.is_some() && last.number == number) {
                // One step in several parts.
                Some(last) => last.range = last.range.hull(slice.range()),
                None => marks.push(StepMark { number, label: slice.name().to_owned(), range: slice.range(), partial }),
            }
        }
        if !marks.is_empty() {
            by_group.push((device, marks));
        }
    }
    if by_group.is_empty() {
        return Err("no device recorded steps".to_owned());
    }
    let why = format!("{} of {} recorded steps", by_group.len(), counted(devices.len(), "device"));
    Ok(MarkedSteps { marker: "Steps".to_owned(), steps: join(by_group), why })
}

/// The devices whose tracks may have steps: `TensorCore`s, else GPUs.
pub(super) fn devices(model: &TraceModel, tensor_cores: Vec<GroupId>) -> Vec<GroupId> {
    if tensor_cores.is_empty() {
        return model.group_ids().filter(|&id| matches!(model.group(id).kind, GroupKind::Gpu { .. })).collect();
    }
    tensor_cores
}
