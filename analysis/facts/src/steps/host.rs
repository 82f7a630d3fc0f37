//! Steps from annotations on the host.

use engine::prelude::*;
use trace_model::HostId;

use super::marks::{CUT_OFF, MarkedSteps, StepMark, join, step_number};

/// `train`, `test 7`, `TraceContext`, `StepMarker`, `ProfilerStep#7` (of PyTorch): names that mark steps if no
/// attribute does.
pub(crate) fn is_step_name(name: &str) -> bool {
    matches!(
        annotation_of(name),
        "train" | "test" | "TraceContext" | "StepMarker" | "ProfilerStep"
    )
}

/// Slices of host threads that are marked as steps, else those with the name of a step.
fn candidates(model: &TraceModel) -> Vec<SliceRef<'_>> {
    let is_host = |slice: &SliceRef<'_>| slice.track_ref().kind == TrackKind::HostThread;
    let numbered = model.slices_with(SliceAttr::StepNum);
    let roots = model
        .slices_with(SliceAttr::StepRoot)
        .filter(|&(_, value)| value != 0);
    let mut marked: Vec<SliceRef<'_>> = numbered
        .chain(roots)
        .map(|(slice, _)| slice)
        .filter(is_host)
        .collect();
    marked.sort_unstable_by_key(|slice| slice.id());
    marked.dedup_by_key(|slice| slice.id());
    let named: Vec<bool> = model
        .labels()
        .iter()
        .map(|label| is_step_name(model.str(label.name)))
        .collect();
    if marked.is_empty() && named.contains(&true) {
        marked = trace_model::pausing(model.all_slices())
            .filter(|slice| {
                named
                    .get(slice.label_id().index())
                    .copied()
                    .unwrap_or(false)
            })
            .filter(is_host)
            .collect();
    }
    marked
}

/// The annotations of steps on hosts.
pub(super) struct HostAnnotations {
    /// What they have in common: `train`.
    pub name: String,
    /// The annotations of each host, in time order.
    by_host: Vec<(GroupId, Vec<StepMark>)>,
}

impl HostAnnotations {
    /// Those of the host of a device; if it has none, of the first host.
    pub fn of(&self, model: &TraceModel, device: GroupId) -> Option<&[StepMark]> {
        let device_host = model.host_of(device);
        let annotations = self
            .by_host
            .iter()
            .find(|(host, _)| model.host_of(*host) == device_host);
        annotations
            .or(self.by_host.first())
            .map(|(_, marks)| &marks[..])
    }
}

/// Whether a host annotates steps.
pub fn has_annotations(model: &TraceModel) -> bool {
    !candidates(model).is_empty()
}

/// The number that the host gives to the step in which it is at a time, on this host.
pub fn annotated_number(model: &TraceModel, host: HostId, time: Timestamp) -> Option<u32> {
    let annotated = annotations(model).ok()?;
    let (_, marks) = annotated
        .by_host
        .iter()
        .find(|(group, _)| model.host_of(*group) == host)?;
    let begun = marks.partition_point(|mark| mark.range.start <= time);
    let last = marks.get(begun.checked_sub(1)?)?;
    last.number.filter(|_| last.range.contains(time))
}

/// The annotations of steps; the error says that there are none.
pub(super) fn annotations(model: &TraceModel) -> Result<HostAnnotations, String> {
    let marked = candidates(model);
    // Of several annotations (train, eval) and threads, the one that covers the most time.
    let mut totals: BTreeMap<(&str, GroupId, TrackId), Picos> = BTreeMap::new();
    for slice in &marked {
        let key = (
            annotation_of(slice.name()),
            slice.track_ref().group,
            slice.track(),
        );
        *totals.entry(key).or_default() += slice.dur();
    }
    let Some((name, ..)) = totals
        .iter()
        .max_by_key(|(_, total)| **total)
        .map(|(key, _)| *key)
    else {
        return Err("the host has no step annotations".to_owned());
    };
    let mut by_group: BTreeMap<GroupId, (Picos, TrackId)> = BTreeMap::new();
    for (&(_, group, track), &total) in totals.iter().filter(|((n, ..), _)| *n == name) {
        let best = by_group.entry(group).or_insert((total, track));
        *best = (*best).max((total, track));
    }
    let marks = |track: TrackId| {
        let mut slices: Vec<_> = marked
            .iter()
            .filter(|s| s.track() == track && annotation_of(s.name()) == name)
            .copied()
            .collect();
        slices.sort_by_key(|slice| slice.start());
        host_marks(&slices, name == "StepMarker")
    };
    let by_host = by_group
        .into_iter()
        .map(|(group, (_, track))| (group, marks(track)))
        .collect();
    Ok(HostAnnotations {
        name: name.to_owned(),
        by_host,
    })
}

/// Steps from annotations on hosts.
pub(super) fn find(model: &TraceModel) -> Result<MarkedSteps, String> {
    let HostAnnotations { name, by_host } = annotations(model)?;
    let steps = join(model, by_host);
    Ok(MarkedSteps {
        why: format!(
            "the host annotates {} as {name}",
            counted(steps.len(), "step")
        ),
        marker: name,
        steps,
    })
}

/// The name without the number of the step.
fn annotation_of(name: &str) -> &str {
    let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
    word.strip_suffix('#').unwrap_or(word).trim_end()
}

/// Annotations span their step; a `StepMarker` only starts one.
fn host_marks(slices: &[SliceRef<'_>], begins_only: bool) -> Vec<StepMark> {
    let mark = |(k, slice): (usize, &SliceRef<'_>)| {
        let next = slices
            .get(k + 1)
            .filter(|_| begins_only)
            .map(|next| next.start());
        let end = next.unwrap_or(slice.range().end);
        StepMark {
            number: step_number(*slice),
            label: slice.name().to_owned(),
            range: TimeRange::new(slice.start(), end),
            partial: (slice.attr(SliceAttr::Unterminated).is_some()
                || (begins_only && next.is_none()))
            .then_some(CUT_OFF),
        }
    };
    slices.iter().enumerate().map(mark).collect()
}
