//! Finds steps from five kinds of sources; the best available one is used.
//!
//! 1. **Steps line**: the runtime recorded steps on the device.
//! 2. **Annotated programs**: the programs that the host launched in each step that it annotates (`StepTraceAnnotation`
//!    and its like).
//! 3. **Programs**: every execution of the function that takes most device time
//!    starts a step, which lasts until the next one starts.
//! 4. **Host annotations**: the annotations themselves, where no programs were recorded.
//! 5. **Whole capture**: one pseudo-step.
//!
//! Executions are grouped by *function* (`jit_train_step` of `jit_train_step(12)`), because a function that was
//! compiled for several shapes is still one step function. A limit of 0.5 for the coefficient of variation would
//! reject the traces that matter most, those with one very slow step; so the middle half of the durations decides
//! (`MAX_SPREAD`). A function that ran only once still makes a step if it dominates the device: serving captures
//! often contain only one execution.

use engine::prelude::*;
use serde::Deserialize;
use trace_model::UNKNOWN_EVENT;

use super::marks::{CUT_OFF, MarkedSteps, RawStep, StepMark, join, step_number, top_slices};
use super::{annotated, host, programs};
use crate::spans::spans;

/// Source of steps.
#[engine::titled]
#[derive(Deserialize)]
pub enum StepSource {
    /// Recorded on the device.
    StepsLine = "steps recorded on the device",
    /// Programs on the device of steps that the host annotates.
    AnnotatedPrograms = "programs of the steps that the host annotates",
    /// Executions of the dominant program.
    Modules = "executions of the dominant program",
    /// Annotations on the host.
    HostAnnotations = "step annotations on the host",
    /// The capture as one pseudo-step.
    WholeCapture = "whole capture as one pseudo-step",
}

/// Result of the step detection.
pub(super) struct DetectedSteps {
    pub source: StepSource,
    /// The marker of steps: a track, a function, an annotation.
    pub marker: String,
    pub steps: Vec<RawStep>,
    /// The reasons why better sources were not used and why this one was.
    pub why: Vec<String>,
}

/// Tries the sources of steps, the best one first.
pub(super) fn find(cx: &Context<'_>, devices: &[GroupId]) -> DetectedSteps {
    let model = cx.model;
    let mut why = Vec::new();
    let sources: [(StepSource, StepSearch<'_>); 4] = [
        (StepSource::StepsLine, &|| steps_line(model, devices)),
        (StepSource::AnnotatedPrograms, &|| {
            annotated::find(cx, devices)
        }),
        (StepSource::Modules, &|| programs::find(model, devices)),
        (StepSource::HostAnnotations, &|| host::find(model)),
    ];
    for (source, search) in sources {
        match search() {
            Ok(marked) => {
                why.push(marked.why);
                let mut steps = marked.steps;
                for step in &mut steps {
                    cut_off(cx, step);
                }
                return DetectedSteps {
                    source,
                    marker: marked.marker,
                    steps,
                    why,
                };
            }
            // Two searches may miss the same.
            Err(reason) if why.contains(&reason) => {}
            Err(reason) => why.push(reason),
        }
    }
    why.push("so the whole capture counts as one step".to_owned());
    let extent = model.extent();
    // Without devices any group represents the host.
    let host = model.group_ids().next().filter(|_| devices.is_empty());
    let everything = devices
        .iter()
        .copied()
        .chain(host)
        .map(|group| (group, extent))
        .collect();
    let step = RawStep {
        number: Some(0),
        label: "capture".to_owned(),
        spans: everything,
        ..RawStep::default()
    };
    let steps = if extent.is_empty() {
        Vec::new()
    } else {
        vec![step]
    };
    DetectedSteps {
        source: StepSource::WholeCapture,
        marker: "capture".to_owned(),
        steps,
        why,
    }
}

/// Marks a step that goes on after the last op of a device that the file cuts.
fn cut_off(cx: &Context<'_>, step: &mut RawStep) {
    for &(group, range) in &step.spans {
        let ops = || cx.model.tracks_of_kind(group, TrackKind::Ops);
        let last = || {
            ops()
                .filter_map(|track| Some(spans(cx, track).range?.end))
                .max()
        };
        if cx.model.group(group).is_cut && last().is_none_or(|end| range.end > end) {
            step.partial_on.push(group);
            step.cut_on.push(group);
            step.partial
                .get_or_insert_with(|| "the file ends in it".to_owned());
        }
    }
}

/// Searches for steps of one kind; the error names what is missing.
type StepSearch<'a> = &'a dyn Fn() -> Result<MarkedSteps, String>;

fn steps_line(model: &TraceModel, devices: &[GroupId]) -> Result<MarkedSteps, String> {
    let mut by_group = Vec::new();
    for &device in devices {
        let mut marks: Vec<StepMark> = Vec::new();
        let tracks = model.tracks_of_kind(device, TrackKind::Steps);
        let slices = tracks.flat_map(|track| top_slices(model, track));
        // Of a damaged file nobody knows which steps these are.
        for slice in slices.filter(|slice| slice.name() != UNKNOWN_EVENT) {
            let number = step_number(slice);
            let partial = slice.attr(SliceAttr::Unterminated).map(|_| CUT_OFF);
            match marks
                .last_mut()
                .filter(|last| number.is_some() && last.number == number)
            {
                // One step consisting of several parts.
                Some(last) => last.range = last.range.hull(slice.range()),
                None => marks.push(StepMark {
                    number,
                    label: slice.name().to_owned(),
                    range: slice.range(),
                    partial,
                }),
            }
        }
        if !marks.is_empty() {
            by_group.push((device, marks));
        }
    }
    if by_group.is_empty() {
        return Err("no device recorded steps".to_owned());
    }
    Ok(MarkedSteps {
        marker: "Steps".to_owned(),
        why: format!(
            "{} of {} recorded steps",
            by_group.len(),
            counted(devices.len(), "device")
        ),
        steps: join(model, by_group),
    })
}

/// The devices whose tracks may have steps: `TensorCore`s, else GPUs.
pub(super) fn devices(model: &TraceModel, tensor_cores: Vec<GroupId>) -> Vec<GroupId> {
    if tensor_cores.is_empty() {
        return model
            .group_ids()
            .filter(|&id| matches!(model.group(id).kind, GroupKind::Gpu { .. }))
            .collect();
    }
    tensor_cores
}
