//! Requests and batches, put together from annotations.

use facts::prelude::*;
use math::intervals::MeasureIndex;
use trace_model::SourceId;

use super::ServingPhase;
use super::annotations::Annotation;
use super::report::{BatchSize, ServedRequest, ServingLatency, TimeDistribution};

/// What one request does at one time. The stages of a pipeline run the same batch one after the other: that is one span.
struct RequestSpan {
    phase: ServingPhase,
    range: TimeRange,
    tokens: Option<u64>,
    slice: SliceId,
    /// It is part of a prefill or a token, and nothing says which.
    is_unclear: bool,
}

type RequestKey<'a> = (SourceId, &'a str);

/// The requests that begin in `scope`, by start. `prefill` is the time in which any request is prefilled.
pub(super) fn requests(
    all: &[Annotation],
    prefill: IntervalSet,
    scope: TimeRange,
) -> Vec<ServedRequest> {
    let mut spans: BTreeMap<RequestKey<'_>, Vec<RequestSpan>> = BTreeMap::new();
    let mut in_batches: BTreeMap<(RequestKey<'_>, &str), usize> = BTreeMap::new();
    for annotation in all {
        for (index, id) in annotation.ids.iter().enumerate() {
            let tokens = annotation.tokens.get(index).copied();
            let key = (annotation.source, id.as_str());
            let of_request = spans.entry(key).or_default();
            if let Some(batch) = &annotation.batch {
                let first = *in_batches.entry((key, batch)).or_insert(of_request.len());
                if let Some(span) = of_request.get_mut(first) {
                    span.range = span.range.hull(annotation.range);
                    continue;
                }
            }
            // After its first token, a request gets one in each batch.
            let is_decoded = annotation.is_mixed
                && of_request
                    .iter()
                    .any(|span| span.phase == ServingPhase::Decode);
            let (phase, tokens) = if is_decoded {
                (ServingPhase::Decode, Some(1))
            } else {
                (phase_in_batch(annotation.phase, tokens), tokens)
            };
            of_request.push(RequestSpan {
                phase,
                range: annotation.range,
                tokens,
                slice: annotation.slice,
                is_unclear: annotation.is_mixed && !is_decoded,
            });
        }
    }
    let prefill = MeasureIndex::new(prefill);
    let mut requests: Vec<ServedRequest> = spans
        .into_iter()
        .filter_map(|((_, id), spans)| request(id, &spans, &prefill))
        .collect();
    requests.retain(|request| scope.contains(request.start_ps));
    requests.sort_by(|a, b| (a.start_ps, &a.request).cmp(&(b.start_ps, &b.request)));
    requests
}

/// A batch that says how many tokens of each request it runs: more than one is a prompt.
fn phase_in_batch(phase: ServingPhase, tokens: Option<u64>) -> ServingPhase {
    match (phase, tokens) {
        (ServingPhase::Batch, Some(0 | 1)) => ServingPhase::Decode,
        (ServingPhase::Batch, Some(_)) => ServingPhase::Prefill,
        _ => phase,
    }
}

fn request(id: &str, spans: &[RequestSpan], prefills: &MeasureIndex) -> Option<ServedRequest> {
    let of = |phase| spans.iter().filter(move |span| span.phase == phase);
    let hull = |phase| of(phase).map(|span| span.range).reduce(TimeRange::hull);
    let whole = spans
        .iter()
        .map(|span| span.range)
        .reduce(TimeRange::hull)?;
    let request = hull(ServingPhase::Request);
    let queue = hull(ServingPhase::Queue);
    let prefill = hull(ServingPhase::Prefill).filter(|_| !spans.iter().any(|span| span.is_unclear));
    let arrival = request.or(queue).map(|span| span.start);
    let queue_ps = match queue {
        Some(_) => Some(
            of(ServingPhase::Queue)
                .map(|span| span.range)
                .collect::<IntervalSet>()
                .measure(),
        ),
        None => request
            .zip(prefill)
            .map(|(request, prefill)| (prefill.start - request.start).clamped()),
    };
    let decode = prefill
        .zip(hull(ServingPhase::Decode))
        .map(|(prefill, last)| TimeRange::new(prefill.end, last.end));
    let decode = decode.filter(|decode| decode.start <= decode.end);
    let decode_tokens = decode.and_then(|_| tokens(of(ServingPhase::Decode)));
    let decode_ps = decode.map(TimeRange::dur);
    let stall = |decode: TimeRange| {
        let running: IntervalSet = of(ServingPhase::Decode)
            .filter_map(|span| span.range.intersect(decode))
            .collect();
        let meanwhile = running
            .ranges()
            .iter()
            .map(|&span| prefills.measure_in(span))
            .sum();
        (prefills.measure_in(decode) - meanwhile).clamped()
    };
    Some(ServedRequest {
        request: id.to_owned(),
        start_ps: whole.start,
        end_ps: whole.end,
        queue_ps,
        prefill_ps: prefill.map(TimeRange::dur),
        first_token_ps: arrival
            .zip(prefill)
            .map(|(arrival, prefill)| (prefill.end - arrival).clamped()),
        decode_ps,
        decode_tokens,
        per_token_ps: decode_ps
            .zip(decode_tokens.filter(|&tokens| tokens > 0))
            .map(|(decode, tokens)| decode.as_ps_f64() / tokens as f64),
        latency_ps: request.map(TimeRange::dur),
        prefill_stall_ps: decode.map(stall),
        spans: spans.iter().map(|span| (span.phase, span.range)).collect(),
        slice: spans
            .iter()
            .max_by_key(|span| span.range.dur())
            .map(|span| span.slice),
    })
}

/// Tokens of the decode annotations of a request: as recorded, otherwise one for each of several. A single one without
/// a number can be one token or all of them.
fn tokens<'a>(spans: impl Iterator<Item = &'a RequestSpan>) -> Option<u64> {
    let tokens: Vec<Option<u64>> = spans.map(|span| span.tokens).collect();
    if let Some(recorded) = tokens.iter().copied().collect::<Option<Vec<u64>>>() {
        return recorded.into_iter().try_fold(0_u64, u64::checked_add);
    }
    (tokens.len() > 1 && tokens.iter().all(Option::is_none)).then_some(tokens.len() as u64)
}

/// The batches that begin in `scope`, by phase and number of requests.
pub(super) fn batches(all: &[Annotation], scope: TimeRange) -> Vec<BatchSize> {
    let mut batches: BTreeMap<(SourceId, Option<&str>, usize), Batch> = BTreeMap::new();
    for (index, annotation) in all.iter().enumerate() {
        let is_batch = annotation.phase == ServingPhase::Batch
            || annotation.batch.is_some()
            || annotation.requests > 1
            || annotation.all_tokens.is_some();
        if !is_batch || annotation.requests == 0 {
            continue;
        }
        let batch = annotation.batch.as_deref();
        // Without an id, every annotation is a batch of its own.
        let key = (
            annotation.source,
            batch,
            if batch.is_some() { 0 } else { index },
        );
        let entry = batches.entry(key).or_insert_with(|| Batch {
            range: annotation.range,
            size: (annotation.phase, annotation.requests),
            tokens: annotation.all_tokens,
        });
        entry.range = entry.range.hull(annotation.range);
    }
    let mut by_size: BTreeMap<(ServingPhase, usize), (Vec<f64>, Option<u64>)> = BTreeMap::new();
    for batch in batches
        .into_values()
        .filter(|batch| scope.contains(batch.range.start))
    {
        let (times, sum) = by_size.entry(batch.size).or_insert((Vec::new(), Some(0)));
        times.push(batch.range.dur().as_ps_f64());
        *sum = sum
            .zip(batch.tokens)
            .and_then(|(sum, tokens)| sum.checked_add(tokens));
    }
    let sizes = by_size
        .into_iter()
        .filter_map(|((phase, requests), (times, tokens))| {
            Some(BatchSize {
                phase: phase.title(),
                requests,
                time: TimeDistribution::of(times)?,
                tokens,
            })
        });
    sizes.collect()
}

/// A batch: the parts of one on the stages of a pipeline are one.
struct Batch {
    range: TimeRange,
    /// Its phase and the number of its requests.
    size: (ServingPhase, usize),
    tokens: Option<u64>,
}

/// The distributions of what the requests record.
pub(super) fn latencies(requests: &[ServedRequest]) -> Vec<ServingLatency> {
    type Of = fn(&ServedRequest) -> Option<f64>;
    fn ps(time: Option<Picos>) -> Option<f64> {
        Some(time?.as_ps_f64())
    }
    let kinds: [(&'static str, Of); 5] = [
        ("queue", |request| ps(request.queue_ps)),
        ("prefill", |request| ps(request.prefill_ps)),
        ("time to first token", |request| ps(request.first_token_ps)),
        ("time per output token", |request| request.per_token_ps),
        ("latency", |request| ps(request.latency_ps)),
    ];
    let latencies = kinds.into_iter().filter_map(|(name, of)| {
        Some(ServingLatency {
            name,
            time: TimeDistribution::of(requests.iter().filter_map(of).collect())?,
        })
    });
    latencies.collect()
}
