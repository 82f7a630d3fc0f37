//! Arguments of events that describe a compilation.

use facts::host_class::classify;
use facts::prelude::*;
use hlo::Shape;
use trace_model::ArgValue;

use super::arguments::plain_text;
use super::event_grouping::EventGroup;
use super::place::{CompilePlace, StepFinder};
use super::shapes::ShapeChange;

/// Maximum number of events whose arguments are read: in a gzipped export each read takes milliseconds.
const MAX_ASKED: usize = 16;

/// Labels of calls and compile events whose arguments contain shapes: few runtimes record them. One event of each
/// label is read.
pub(super) fn labels_with_shapes(groups: &[EventGroup<'_>]) -> BTreeSet<LabelId> {
    let mut firsts: BTreeMap<LabelId, SliceRef<'_>> = BTreeMap::new();
    for slice in groups.iter().flat_map(entries) {
        firsts.entry(slice.label_id()).or_insert(slice);
    }
    let mut firsts: Vec<SliceRef<'_>> = firsts.into_values().collect();
    firsts.sort_by_key(reading_order);
    firsts
        .into_iter()
        .filter(|&slice| !shapes(slice).is_empty())
        .map(SliceRef::label_id)
        .collect()
}

/// A compressed export can only be read forwards.
pub(super) fn reading_order(slice: &SliceRef<'_>) -> (TrackId, Timestamp, SliceId) {
    (slice.track(), slice.start(), slice.id())
}

/// The call and the first compile events of a compilation.
fn entries<'a>(group: &EventGroup<'a>) -> impl Iterator<Item = SliceRef<'a>> {
    let events = group
        .events
        .iter()
        .filter(|event| event.class == HostClass::Compile)
        .map(|event| event.slice);
    group.call.into_iter().chain(events).take(MAX_ENTRIES)
}

/// Maximum number of events of a compilation that are searched for shapes.
const MAX_ENTRIES: usize = 4;

fn shapes(slice: SliceRef<'_>) -> Vec<(String, String)> {
    let texts = slice
        .args()
        .unwrap_or_default()
        .into_iter()
        .filter_map(|arg| match arg.value {
            ArgValue::Text(text) => Some((arg.name, text)),
            _ => None,
        });
    texts
        .filter(|(_, text)| Shape::parse(text).is_some())
        .collect()
}

/// Shapes that differ between two compilations of one function, from the arguments of their compile events and calls.
pub(super) fn event_arguments(
    group: &EventGroup<'_>,
    earlier: &EventGroup<'_>,
    labels: &BTreeSet<LabelId>,
) -> Option<Vec<ShapeChange>> {
    let collect = |group: &EventGroup<'_>| {
        let known = entries(group).filter(|slice| labels.contains(&slice.label_id()));
        let named = known.flat_map(|slice| {
            shapes(slice)
                .into_iter()
                .map(move |(name, text)| ((slice.name(), name), text))
        });
        named
            .map(|((event, name), text)| ((event.to_owned(), name), text))
            .collect::<BTreeMap<_, _>>()
    };
    let before = collect(earlier);
    let now = collect(group);
    let changes: Vec<_> = before
        .iter()
        .filter_map(|(key, old)| {
            ShapeChange::between(
                &format!("{} of {}", key.1, key.0),
                &Shape::parse(old)?,
                &Shape::parse(now.get(key)?)?,
            )
        })
        .collect();
    (!changes.is_empty()).then_some(changes)
}

/// Arguments of annotations in the step of a compilation that differ from the step before, but did not differ between
/// that step and the one before it: step numbers always differ.
pub(super) fn in_steps(
    cx: &Context<'_>,
    steps: &StepFinder<'_>,
    place: CompilePlace,
    group: &EventGroup<'_>,
) -> Option<Vec<ShapeChange>> {
    let CompilePlace::InStep(step) = place else {
        return None;
    };
    let track = group
        .call
        .or(group.events.first().map(|event| event.slice))?
        .track();
    let mut back = steps.back_from(step);
    let step = back.next()?;
    let one = back.next()?;
    let two = back.next()?;
    let step = TimeRange::new(step.start, group.start().max(step.start));
    let model = cx.model;
    let mut asked: Vec<(LabelId, usize, SliceRef<'_>)> = Vec::new();
    for (label, slice) in annotations(cx, track, step).into_iter().take(MAX_ASKED) {
        let others = [(1, one), (2, two)].map(|(k, range)| {
            let first = starting(cx, track, range).find(|slice| slice.label_id() == label);
            Some((label, k, first?))
        });
        asked.push((label, 0, slice));
        asked.extend(others.into_iter().flatten());
    }
    asked.sort_by_key(|(.., slice)| reading_order(slice));
    let mut values_by_label: BTreeMap<LabelId, [BTreeMap<String, String>; 3]> = BTreeMap::new();
    for (label, k, slice) in asked {
        values_by_label.entry(label).or_default()[k] = values(slice);
    }
    let mut changes = Vec::new();
    for (label, [now, before, earlier]) in values_by_label {
        for (name, value) in now {
            if let Some(old) = before
                .get(&name)
                .filter(|old| **old != value && earlier.get(&name) == Some(*old))
            {
                changes.push(ShapeChange {
                    what: format!("{name} of {}", model.str(model.label(label).name)),
                    from: old.clone(),
                    to: value,
                    dims: Vec::new(),
                });
            }
        }
    }
    (!changes.is_empty()).then_some(changes)
}

/// Arguments that profilers add to events.
fn is_of_profiler(name: &str) -> bool {
    name.starts_with('_')
        || matches!(
            name,
            "group_id" | "step_num" | "long_name" | "run_id" | "id" | "is_eager"
        )
}

/// The slices that start in `range` on a thread.
fn starting<'a>(
    cx: &Context<'a>,
    track: TrackId,
    range: TimeRange,
) -> impl Iterator<Item = SliceRef<'a>> {
    let model = cx.model;
    model
        .lanes(track)
        .iter()
        .flat_map(move |lane| model.slices_in(lane, range))
        .filter(move |slice| range.contains(slice.start()))
}

/// The first of each kind of annotation that starts in `range` on a thread.
fn annotations<'a>(
    cx: &Context<'a>,
    track: TrackId,
    range: TimeRange,
) -> Vec<(LabelId, SliceRef<'a>)> {
    let mut seen = BTreeSet::new();
    starting(cx, track, range)
        .filter(|slice| seen.insert(slice.label_id()))
        .filter(|slice| classify(slice.name()) == HostClass::User && !slice.name().starts_with('$'))
        .map(|slice| (slice.label_id(), slice))
        .collect()
}

/// Arguments that the program gave to an annotation.
fn values(slice: SliceRef<'_>) -> BTreeMap<String, String> {
    slice
        .args()
        .unwrap_or_default()
        .into_iter()
        .filter(|arg| !is_of_profiler(&arg.name))
        .filter_map(|arg| Some((arg.name, plain_text(arg.value)?)))
        .collect()
}
