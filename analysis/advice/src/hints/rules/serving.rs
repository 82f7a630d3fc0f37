//! Rules about servers: what requests wait for.

use super::prelude::*;
use run_reports::host::serving::{ServedRequest, ServingReport};
use run_reports::{Serving, ServingPhase};

pub(super) static RULES: &[Rule] = &[
    rule!(
        "K51",
        "Requests wait in the queue",
        Medium,
        [QUEUE],
        queueing
    ),
    rule!(
        "K52",
        "Prefills keep other requests waiting",
        Medium,
        [STALL],
        prefill_stalls
    ),
];

static QUEUE: Threshold = Threshold::percent(
    "K51.queue_percent",
    50.0,
    "from here on a faster prefill saves less of the time to the first token than a shorter queue",
);
static STALL: Threshold = Threshold::percent(
    "K52.stall_percent",
    20.0,
    "some waiting is the price of serving new requests soon",
);

/// Fewer requests are no queue.
const FEWEST: usize = 4;

/// Programs that serve nothing have nothing to say here.
fn report(facts: &HintFacts<'_>) -> RuleResult<Arc<ServingReport>> {
    facts.report::<Serving>().map_err(|error| match error {
        AnalysisError::NotApplicable(_) => Nothing,
        error => error.into(),
    })
}

fn queueing(facts: &HintFacts<'_>) -> RuleResult {
    let report = report(facts)?;
    let limit = facts.limit(&QUEUE);
    let count = report
        .requests
        .iter()
        .filter(|request| request.queue_ps.is_some() && request.first_token_ps.is_some())
        .count();
    let share = report
        .queue_of_first_token_percent
        .filter(|&share| share.0 >= limit && count >= FEWEST)
        .ok_or(Nothing)?;
    let mut evidence = vec![HintEvidence::percent(
        "in the queue",
        share.0,
        format!("time to the first token of {count} requests"),
        Some(limit),
    )];
    evidence.extend(
        p50(&report, "queue")
            .map(|ps| HintEvidence::time("time in the queue", ps, "median of requests")),
    );
    Ok(Finding {
        statement: format!(
            "requests spend {share:.1} of the time to their first token in the queue"
        ),
        evidence,
        spots: spots(&report, |request| request.queue_ps),
        saving: PossibleSaving::Unknown,
        ..Finding::default()
    })
}

fn prefill_stalls(facts: &HintFacts<'_>) -> RuleResult {
    let report = report(facts)?;
    let share = report.prefill_stall_percent.ok_or(Nothing)?;
    let limit = facts.reached(&STALL, share.0)?;
    let of = "time after the first token, over all requests";
    let evidence = HintEvidence::percent(
        "prefills of other requests run instead",
        share.0,
        of,
        Some(limit),
    );
    let queue = queue_behind_prefills(&report);
    let of_queue = queue.map(|share| {
        let of = "time in the queue, over all requests";
        HintEvidence::percent(
            "prefills of other requests run meanwhile",
            share.0,
            of,
            None,
        )
    });
    let is_most = queue.is_some_and(|share| share.0 > 50.0);
    Ok(Finding {
        statement: format!(
            "prefills of other requests take {share:.1} of the time in which requests wait for their tokens"
        ),
        evidence: [evidence]
            .into_iter()
            .chain(of_queue)
            .map(|evidence| evidence.by(Provenance::Inferred))
            .collect(),
        // Requests queue because the device reads other prompts.
        explains: if is_most { &["K51"] } else { &[] },
        spots: spots(&report, |request| request.prefill_stall_ps),
        saving: PossibleSaving::Unknown,
        ..Finding::default()
    })
}

/// The share of the time in the queue in which prefills of others run; `None` if no request waits in it.
fn queue_behind_prefills(report: &ServingReport) -> Option<Percent> {
    let spans = |wanted| {
        let all = report.requests.iter().flat_map(|request| &request.spans);
        all.filter(move |(phase, _)| *phase == wanted)
            .map(|(_, range)| *range)
    };
    // That of a request comes after its own queue.
    let prefills: IntervalSet = spans(ServingPhase::Prefill).collect();
    let queues = || spans(ServingPhase::Queue);
    Percent::of(
        queues().map(|queue| prefills.measure_in(queue)).sum(),
        queues().map(TimeRange::dur).sum(),
    )
}

fn p50(report: &ServingReport, name: &str) -> Option<f64> {
    report
        .latencies
        .iter()
        .find(|latency| latency.name == name)
        .map(|latency| latency.time.p50_ps)
}

/// The requests that wait longest.
fn spots(
    report: &ServingReport,
    of: impl Fn(&ServedRequest) -> Option<Picos>,
) -> Vec<FindingPlace> {
    const MOST: usize = 5;
    let mut worst: Vec<&ServedRequest> = report
        .requests
        .iter()
        .filter(|request| of(request) > Some(Picos::ZERO))
        .collect();
    worst.sort_by_key(|request| Reverse(of(request)));
    worst
        .iter()
        .take(MOST)
        .map(|request| FindingPlace::span(format!("request {}", request.request), request.range()))
        .collect()
}
