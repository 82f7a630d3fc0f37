//! Annotations of a program that serves requests: what each says of which requests.

use std::collections::{BTreeMap, BTreeSet};

use trace_model::{Arg, ArgValue, LabelId, SliceId, SliceRef, SourceId, TimeRange, TrackKind};

use super::names::{NamedPhase, ServingPhase, phase_of_name};
use super::report::ServingAnnotation;
use crate::engine::Context;
use crate::facts::host_class::stripped;

/// One event.
#[derive(Clone, Debug)]
pub(super) struct Annotation {
    /// The file, because ids are those of one process.
    pub source: SourceId,
    pub slice: SliceId,
    pub range: TimeRange,
    pub phase: ServingPhase,
    /// The requests.
    pub ids: Vec<String>,
    /// Tokens of each request, in the same order; empty if not recorded.
    pub tokens: Vec<u64>,
    /// The batch.
    pub batch: Option<String>,
}

/// All of a trace, by start.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    pub all: Vec<Annotation>,
    /// What was read as what.
    pub read: Vec<ServingAnnotation>,
    /// Whether they show that requests are served: a prefill, the id of a request, or the user says so.
    pub is_serving: bool,
}

const ID: [&str; 4] = ["request_id", "request_ids", "req_id", "req_ids"];
const TOKENS: [&str; 2] = ["num_tokens", "tokens"];
const BATCH: &str = "batch_id";
const PHASE: &str = "phase";

impl Annotations {
    pub(super) fn find(cx: &Context<'_>) -> Self {
        let model = cx.model;
        let mut labels: Vec<Option<NamedPhase>> = Vec::with_capacity(model.labels().len());
        for label in model.labels() {
            let is_op = label.op.is_some();
            let named = || phase_of_name(model.str(label.name), &cx.options.serving);
            labels.push(if is_op { None } else { named() });
        }
        let mut found = Self::default();
        if labels.iter().all(Option::is_none) {
            return found;
        }
        let phase_of = |label: LabelId| labels.get(label.index()).copied().flatten();
        let tracks = model.track_ids().filter(|&track| {
            matches!(model.track(track).kind, TrackKind::HostThread | TrackKind::Async | TrackKind::Other)
        });
        let mut read: BTreeMap<(String, ServingPhase, &'static str), u64> = BTreeMap::new();
        // A label whose first event has no id has none: arguments are read from the file.
        let mut without_id: BTreeSet<LabelId> = BTreeSet::new();
        let named = |slice: SliceRef<'_>| phase_of(slice.label_id()).is_some();
        let mut events: Vec<SliceRef<'_>> =
            tracks.flat_map(|track| model.slices_on(track)).filter(|slice| named(*slice)).collect();
        // A compressed export can only be read forwards.
        events.sort_by_key(|slice| (slice.track(), slice.start(), slice.id()));
        for slice in events {
            let label = slice.label_id();
            let Some(named) = phase_of(label).filter(|_| !without_id.contains(&label)) else { continue };
            if let Some((annotation, by)) = annotation(cx, slice, named) {
                let is_certain = matches!(named, NamedPhase::ByUser(_)) || !annotation.ids.is_empty();
                found.is_serving |= is_certain || annotation.phase == ServingPhase::Prefill;
                *read.entry((plain(slice.name()), annotation.phase, by)).or_default() += 1;
                found.all.push(annotation);
            } else {
                without_id.insert(label);
            }
        }
        found.all.sort_by_key(|annotation| (annotation.range.start, annotation.range.end, annotation.phase));
        found.read = read
            .into_iter()
            .map(|((name, phase, by), count)| ServingAnnotation { name, read_as: phase.id(), by, count })
            .collect();
        found.read.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        found
    }
}

/// The name without arguments and numbers, so that `prefill 7` and `prefill 8` are one.
fn plain(name: &str) -> String {
    let digits = |letter: char| letter.is_ascii_digit();
    let parts: Vec<&str> = stripped(name).split(digits).filter(|part| !part.is_empty()).collect();
    parts.join("…")
}

fn annotation(cx: &Context<'_>, slice: SliceRef<'_>, named: NamedPhase) -> Option<(Annotation, &'static str)> {
    let args = args_of(slice);
    let text =
        |names: &[&str]| args.iter().find(|arg| names.contains(&arg.name.as_str())).map(|arg| arg.value.to_string());
    let ids = text(&ID).map(|text| list(&text)).unwrap_or_default();
    let said = text(&[PHASE]).and_then(|phase| ServingPhase::named(&phase.to_ascii_lowercase()));
    let (phase, by) = match (named, said) {
        (NamedPhase::ByUser(phase), _) => (phase, "pattern"),
        (_, Some(phase)) => (phase, "argument phase"),
        (NamedPhase::Certain(phase), None) => (phase, "name"),
        (NamedPhase::WithId(_), None) if ids.is_empty() => return None,
        (NamedPhase::WithId(phase), None) => (phase.unwrap_or(ServingPhase::Request), "name and id of a request"),
    };
    let tokens = text(&TOKENS).map(|text| list(&text)).unwrap_or_default();
    let tokens: Vec<u64> = tokens.iter().filter_map(|number| number.parse().ok()).collect();
    let track = cx.model.track(slice.track());
    let found = Annotation {
        source: cx.model.group(track.group).source,
        slice: slice.id(),
        range: slice.range(),
        phase,
        tokens: if tokens.len() == ids.len().max(1) { tokens } else { Vec::new() },
        ids,
        batch: text(&[BATCH]),
    };
    Some((found, by))
}

/// The arguments as recorded, and those that are still in the name (`prefill#request_id=7#`).
fn args_of(slice: SliceRef<'_>) -> Vec<Arg> {
    let mut args = slice.args().unwrap_or_default();
    if let Some((_, inside)) = slice.name().strip_suffix('#').and_then(|name| name.split_once('#')) {
        let pairs = inside.split(',').filter_map(|pair| pair.split_once('='));
        args.extend(pairs.map(|(name, value)| Arg { name: name.to_owned(), value: ArgValue::Text(value.to_owned()) }));
    }
    args
}

/// `[0, 2]`, `0 2` or `0`.
fn list(text: &str) -> Vec<String> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    let parts = inner.split([',', ' ', ';']).map(|part| part.trim_matches(['"', '\'']));
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
