//! What the program itself said about a compilation: arguments of events.

use std::collections::{BTreeMap, BTreeSet};

use trace_model::{ArgValue, LabelId, SliceRef, TimeRange, TrackId};

use super::drafts::Draft;
use super::place::{Place, StepFinder};
use super::shapes::Change;
use crate::Context;
use crate::hlo_text::Shape;
use crate::host_class::{HostClass, classify};

/// How many events are asked for arguments: in a packed export each takes milliseconds.
const MAX_ASKED: usize = 16;

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
    let model = cx.model;
    let labels = annotations(cx, track, own);
    let mut changes = Vec::new();
    for &(label, slice) in labels.iter().take(MAX_ASKED) {
        let values = [Some(slice), first(cx, track, one, label), first(cx, track, two, label)]
            .map(|slice| slice.map(values).unwrap_or_default());
        let [now, before, earlier] = &values;
        for (name, value) in now {
            let Some(old) = before.get(name).filter(|&old| old != value && earlier.get(name) == Some(old)) else {
                continue;
            };
            let what = format!("{name} of {}", model.str(model.label(label).name));
            changes.push(Change { what, from: old.clone(), to: value.clone(), dims: Vec::new() });
        }
    }
    (!changes.is_empty()).then_some(changes)
}

/// Arguments that profilers add to events.
fn is_of_profiler(name: &str) -> bool {
    name.starts_with('_') || matches!(name, "group_id" | "step_num" | "long_name" | "run_id" | "id" | "is_eager")
}

/// The first of each kind of annotation that begins in `range` on a thread.
fn annotations<'a>(cx: &Context<'a>, track: TrackId, range: TimeRange) -> Vec<(LabelId, SliceRef<'a>)> {
    let mut seen = BTreeSet::new();
    let slices = cx.model.lanes(track).iter().flat_map(|lane| cx.model.slices_in(lane, range));
    let is_first = |slice: &SliceRef<'_>| range.contains(slice.start()) && seen.insert(slice.label_id());
    let firsts = slices.filter(is_first).map(|slice| (slice.label_id(), slice));
    firsts.filter(|(_, slice)| classify(slice.name()) == HostClass::User && !slice.name().starts_with('$')).collect()
}

/// The first slice of a label that begins in `range` on a thread.
fn first<'a>(cx: &Context<'a>, track: TrackId, range: TimeRange, label: LabelId) -> Option<SliceRef<'a>> {
    let mut slices = cx.model.lanes(track).iter().flat_map(|lane| cx.model.slices_in(lane, range));
    slices.find(|slice| slice.label_id() == label && range.contains(slice.start()))
}

/// Arguments that the program gave to an annotation.
fn values(slice: SliceRef<'_>) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for arg in slice.args().unwrap_or_default() {
        let value = match arg.value {
            ArgValue::Int(number) => number.to_string(),
            ArgValue::Uint(number) => number.to_string(),
            ArgValue::Text(text) => text,
            _ => continue,
        };
        if !is_of_profiler(&arg.name) {
            out.insert(arg.name, value);
        }
    }
    out
}
