//! Annotations of a program that serves requests: what each says of which requests.

use engine::{ServingPattern, glob};
use facts::host_class::stripped;
use facts::prelude::*;
use trace_model::{Arg, ArgValue, SourceId};

use super::names::{NamedPhase, ServingPhase, phase_of_name};
use super::report::ServingAnnotation;
use super::servers::{ServerBatch, numbered_ids};

/// One event.
#[derive(Debug)]
pub(super) struct Annotation {
    /// The file, because ids are those of one process.
    pub source: SourceId,
    pub track: TrackId,
    pub slice: SliceId,
    pub range: TimeRange,
    pub phase: ServingPhase,
    /// The requests.
    pub ids: Vec<String>,
    /// Number of requests, also if their ids are not recorded.
    pub requests: usize,
    /// Tokens of each request, in the same order; empty if not recorded.
    pub tokens: Vec<u64>,
    /// Tokens of all requests.
    pub all_tokens: Option<u64>,
    /// Whether some requests may be prefilled and others decoded, and nothing says which.
    pub is_mixed: bool,
    pub batch: Option<String>,
}

/// All of a trace, by start.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    pub all: Vec<Annotation>,
    /// What was read as what.
    pub read: Vec<ServingAnnotation>,
    /// Patterns of the user that no event matches: `prefill=PATTERN`.
    pub unmatched: Vec<String>,
    /// Whether they show that requests are served: a prefill, the id of a request, or the user says so.
    pub is_serving: bool,
}

const ID: [&str; 4] = ["request_id", "request_ids", "req_id", "req_ids"];
const TOKENS: [&str; 2] = ["num_tokens", "tokens"];
const BATCH: &str = "batch_id";
const PHASE: &str = "phase";

impl Annotations {
    pub fn find(cx: &Context<'_>) -> Self {
        let model = cx.model;
        let mut labels: Vec<Option<NamedPhase>> = Vec::with_capacity(model.labels().len());
        for label in model.labels() {
            let is_op = label.op.is_some();
            let named = || phase_of_name(model.str(label.name), &cx.options.serving);
            labels.push(if is_op { None } else { named() });
        }
        let mut annotations = Self::default();
        let patterns = || cx.options.serving.iter();
        if labels.iter().all(Option::is_none) {
            annotations.unmatched = patterns().map(ToString::to_string).collect();
            return annotations;
        }
        let phase_of = |label: LabelId| labels.get(label.index()).copied().flatten();
        let tracks = model.track_ids().filter(|&track| {
            matches!(
                model.track(track).kind,
                TrackKind::HostThread | TrackKind::Async | TrackKind::Other
            )
        });
        let mut read: BTreeMap<(String, ServingPhase, &'static str), u64> = BTreeMap::new();
        // A label whose first event has no id has none: arguments are read from the file.
        let mut without_id: BTreeSet<LabelId> = BTreeSet::new();
        let named = |slice: SliceRef<'_>| phase_of(slice.label_id()).is_some();
        let mut events: Vec<SliceRef<'_>> = tracks
            .flat_map(|track| model.slices_on(track))
            .filter(|slice| named(*slice))
            .collect();
        let names: BTreeSet<&str> = events.iter().map(|slice| stripped(slice.name())).collect();
        let is_there =
            |pattern: &&ServingPattern| names.iter().any(|name| glob(&pattern.pattern, name));
        let unmatched = patterns().filter(|pattern| !is_there(pattern));
        annotations.unmatched = unmatched.map(ToString::to_string).collect();
        // A compressed export can only be read forwards.
        events.sort_by_key(|slice| (slice.track(), slice.start(), slice.id()));
        for slice in events {
            let label = slice.label_id();
            let Some(named) = phase_of(label).filter(|_| !without_id.contains(&label)) else {
                continue;
            };
            if let Some((annotation, by)) = annotation(cx, slice, named) {
                let is_certain = matches!(named, NamedPhase::ByUser(_) | NamedPhase::ByServer)
                    || !annotation.ids.is_empty();
                annotations.is_serving |= is_certain || annotation.phase == ServingPhase::Prefill;
                *read
                    .entry((plain(slice.name()), annotation.phase, by))
                    .or_default() += 1;
                annotations.all.push(annotation);
            } else {
                without_id.insert(label);
            }
        }
        annotations.all.sort_by_key(|annotation| {
            (
                annotation.range.start,
                annotation.range.end,
                annotation.phase,
            )
        });
        annotations.read = read
            .into_iter()
            .map(|((name, phase, by), count)| ServingAnnotation {
                name,
                read_as: phase.title(),
                by,
                count,
            })
            .collect();
        largest_first(&mut annotations.read, |row| row.count, |row| &row.name);
        annotations
    }
}

/// The name without arguments and numbers, so that `prefill 7` and `prefill 8` are one.
fn plain(name: &str) -> String {
    let digits = |letter: char| letter.is_ascii_digit();
    let parts = stripped(name).split(digits).filter(|part| !part.is_empty());
    joined(parts, "…")
}

fn annotation(
    cx: &Context<'_>,
    slice: SliceRef<'_>,
    named: NamedPhase,
) -> Option<(Annotation, &'static str)> {
    let args = args_of(slice);
    let text = |names: &[&str]| {
        args.iter()
            .find(|arg| names.contains(&arg.name.as_str()))
            .map(|arg| arg.value.to_string())
    };
    let ids = text(&ID).map(|text| list(&text)).unwrap_or_default();
    if let (NamedPhase::ByServer, Some(batch)) =
        (named, ServerBatch::of_name(stripped(slice.name())))
    {
        return Some((
            of_server(cx, slice, &batch, numbered_ids(&args)),
            batch.server,
        ));
    }
    let said = text(&[PHASE]).and_then(|phase| ServingPhase::named(&phase.to_ascii_lowercase()));
    let (phase, by) = match (named, said) {
        (NamedPhase::ByUser(phase), _) => (phase, "pattern"),
        (_, Some(phase)) => (phase, "argument phase"),
        (NamedPhase::Certain(phase), None) => (phase, "name"),
        (NamedPhase::ByServer, None) => return None,
        (NamedPhase::WithId(_), None) if ids.is_empty() => return None,
        (NamedPhase::WithId(phase), None) => (
            phase.unwrap_or(ServingPhase::Request),
            "name and id of a request",
        ),
    };
    let tokens: Vec<u64> = text(&TOKENS)
        .map(|text| list(&text))
        .unwrap_or_default()
        .iter()
        .filter_map(|number| number.parse().ok())
        .collect();
    let tokens = if tokens.len() == ids.len().max(1) {
        tokens
    } else {
        Vec::new()
    };
    let annotation = Annotation {
        source: source_of(cx, slice),
        track: slice.track(),
        slice: slice.id(),
        range: slice.range(),
        phase,
        requests: ids.len(),
        all_tokens: if tokens.is_empty() {
            None
        } else {
            sum(&tokens)
        },
        tokens,
        ids,
        is_mixed: false,
        batch: text(&[BATCH]),
    };
    Some((annotation, by))
}

/// A batch of a server that names the number of its tokens at most: one for each request are decoded, and several of a
/// single one are its prompt.
fn of_server(
    cx: &Context<'_>,
    slice: SliceRef<'_>,
    batch: &ServerBatch<'_>,
    ids: Vec<String>,
) -> Annotation {
    let requests = if ids.is_empty() {
        batch.requests.unwrap_or_default()
    } else {
        ids.len()
    };
    let (phase, tokens) = match batch.tokens {
        Some(tokens) if requests > 0 && tokens == requests as u64 => {
            (ServingPhase::Decode, vec![1; requests])
        }
        Some(tokens) if requests == 1 && tokens > 1 => (ServingPhase::Prefill, vec![tokens]),
        _ => (ServingPhase::Batch, Vec::new()),
    };
    Annotation {
        source: source_of(cx, slice),
        track: slice.track(),
        slice: slice.id(),
        range: slice.range(),
        phase,
        requests,
        all_tokens: batch.tokens,
        is_mixed: phase == ServingPhase::Batch,
        tokens,
        ids,
        batch: batch.batch.map(str::to_owned),
    }
}

/// The file of a slice.
fn source_of(cx: &Context<'_>, slice: SliceRef<'_>) -> SourceId {
    cx.model.group(slice.track_ref().group).source
}

fn sum(tokens: &[u64]) -> Option<u64> {
    tokens
        .iter()
        .try_fold(0_u64, |sum, &tokens| sum.checked_add(tokens))
}

/// The arguments as recorded, and those that are still in the name (`prefill#request_id=7#`).
fn args_of(slice: SliceRef<'_>) -> Vec<Arg> {
    let mut args = slice.args().unwrap_or_default();
    if let Some((_, inside)) = slice
        .name()
        .strip_suffix('#')
        .and_then(|name| name.split_once('#'))
    {
        let pairs = inside.split(',').filter_map(|pair| pair.split_once('='));
        args.extend(pairs.map(|(name, value)| Arg {
            name: name.to_owned(),
            value: ArgValue::Text(value.to_owned()),
        }));
    }
    args
}

/// `[0, 2]`, `0 2` or `0`.
fn list(text: &str) -> Vec<String> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    let parts = inner
        .split([',', ' ', ';'])
        .map(|part| part.trim_matches(['"', '\'']));
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}
