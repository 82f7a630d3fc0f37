//! What the program itself said about a compilation: arguments of events.

use std::collections::BTreeMap;

use trace_model::{ArgValue, SliceRef, StringId, TimeRange, TrackId};

use super::drafts::Draft;
use super::place::{Place, StepFinder};
use super::shapes::Change;
use crate::Context;
use crate::hlo_text::Shape;
use crate::host_class::{HostClass, classify};

/// How many slices of a step are asked for arguments.
const MAX_ASKED: usize = 256;

/// Shapes in the arguments of the compile events (and the calls) of two
/// compilations of one function that differ.
pub(super) fn event_arguments(draft: &Draft<'_>, earlier: &Draft<'_>) -> Option<Vec<Change>> {
    let (now, before) = (shape_arguments(draft), shape_arguments(earlier));
    let changes = before.iter().filter_map(|(key, old)| {
        let new = now.get(key)?;
        Change::between(&format!("{} of {}", key.1, key.0), &Shape::parse(old)?, &Shape::parse(new)?)
    });
    let changes: Vec<_> = changes.collect();
    (!changes.is_empty()).then_some(changes)
}

/// Arguments that are shapes, by event and name.
fn shape_arguments(draft: &Draft<'_>) -> BTreeMap<(String, String), String> {
    let events = draft.events.iter().filter(|event| event.class == HostClass::Compile).map(|event| event.slice);
    let mut out = BTreeMap::new();
    for slice in draft.call.into_iter().chain(events.take(MAX_ASKED)) {
        for arg in slice.args().unwrap_or_default() {
            let ArgValue::Text(text) = arg.value else { continue };
            if Shape::parse(&text).is_some() {
                out.entry((slice.name().to_owned(), arg.name)).or_insert(text);
            }
        }
    }
    out
}

/// Arguments of annotations in the step of a compilation that differ from the
/// step before, though they did not differ between that step and the one before it:
/// numbers that count steps differ always.
pub(super) fn in_steps(
    cx: &Context<'_>,
    steps: &StepFinder<'_>,
    place: Place,
    draft: &Draft<'_>,
) -> Option<Vec<Change>> {
    let Place::InStep(step) = place else { return None };
    let track = draft.call.or(draft.events.first().map(|event| event.slice))?.track();
    let mut back = steps.back_from(step);
    let (own, one, two) = (back.next()?, back.next()?, back.next()?);
    let own = TimeRange::new(own.start, draft.start().max(own.start));
    let [now, before, earlier] = [own, one, two].map(|range| annotated(cx, track, range));
    let changes = now.into_iter().filter_map(|((label, name), value)| {
        let old = before.get(&(label, name.clone()))?;
        let is_constant = earlier.get(&(label, name.clone())) == Some(old);
        let what = format!("{} of {}", name, cx.model.str(label));
        (is_constant && *old != value).then(|| Change { what, from: old.clone(), to: value, dims: Vec::new() })
    });
    let changes: Vec<_> = changes.collect();
    (!changes.is_empty()).then_some(changes)
}

/// Arguments that profilers add to events.
fn is_of_profiler(name: &str) -> bool {
    name.starts_with('_') || matches!(name, "group_id" | "step_num" | "long_name" | "run_id" | "id" | "is_eager")
}

/// Values of the arguments of annotations that begin in `range` on a thread.
fn annotated(cx: &Context<'_>, track: TrackId, range: TimeRange) -> BTreeMap<(StringId, String), String> {
    let slices = cx.model.lanes(track).iter().flat_map(|lane| cx.model.slices_in(lane, range));
    let is_annotation = |slice: &SliceRef<'_>| {
        let is_user = classify(slice.name()) == HostClass::User && !slice.name().starts_with('$');
        is_user && range.contains(slice.start())
    };
    let mut out = BTreeMap::new();
    for slice in slices.filter(is_annotation).take(MAX_ASKED) {
        for arg in slice.args().unwrap_or_default() {
            let value = match arg.value {
                ArgValue::Int(number) => number.to_string(),
                ArgValue::Uint(number) => number.to_string(),
                ArgValue::Text(text) => text,
                _ => continue,
            };
            if !is_of_profiler(&arg.name) {
                out.entry((slice.label().name, arg.name)).or_insert(value);
            }
        }
    }
    out
}
