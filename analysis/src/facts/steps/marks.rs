//! Marks of steps, and how the marks of all devices are joined into steps.

use std::collections::BTreeMap;

use trace_model::{GroupId, SliceAttr, SliceRef, TimeRange, TraceModel, TrackId, TrackKind};

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
pub(super) fn trailing_number(name: &str) -> Option<u32> {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name.get(name.len() - digits..)?.parse().ok()
}

pub(super) fn step_number(slice: SliceRef<'_>) -> Option<u32> {
    let attr = slice.attr(SliceAttr::StepNum).or_else(|| slice.attr(SliceAttr::GroupId));
    attr.and_then(|number| u32::try_from(number).ok()).or_else(|| trailing_number(slice.name()))
}
