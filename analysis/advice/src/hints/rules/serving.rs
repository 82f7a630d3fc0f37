//! Rules about servers: what requests wait for.

use engine::{AnalysisError, Provenance, Threshold};
use run_reports::host::serving::{ServedRequest, Serving, ServingReport};
use trace_model::Picos;

use crate::hints::{
    Confidence, Finding, FindingPlace, HintEvidence, HintFacts, PossibleSaving, Rule, RuleResult,
};

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "K51",
        title: "Requests wait in the queue",
        confidence: Confidence::Medium,
        thresholds: &[&QUEUE],
        check: queueing,
        page: include_str!("../../../../../docs/hints/K51.md"),
    },
    Rule {
        id: "K52",
        title: "Prefills keep other requests waiting",
        confidence: Confidence::Medium,
        thresholds: &[&STALL],
        check: prefill_stalls,
        page: include_str!("../../../../../docs/hints/K52.md"),
    },
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
fn report(facts: &HintFacts<'_>) -> Result<Option<std::sync::Arc<ServingReport>>, AnalysisError> {
    match facts.report::<Serving>() {
        Ok(report) => Ok(Some(report)),
        Err(AnalysisError::NotApplicable(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn queueing(facts: &HintFacts<'_>) -> RuleResult {
    let Some(report) = report(facts)? else {
        return Ok(None);
    };
    let limit = facts.limit(&QUEUE);
    let waiting =
        |request: &&ServedRequest| request.queue_ps.is_some() && request.first_token_ps.is_some();
    let count = report.requests.iter().filter(waiting).count();
    let Some(share) = report
        .queue_of_first_token_percent
        .filter(|&share| share.0 >= limit && count >= FEWEST)
    else {
        return Ok(None);
    };
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
    Ok(Some(Finding {
        statement: format!(
            "requests spend {share:.1} of the time to their first token in the queue"
        ),
        evidence,
        spots: spots(&report, |request| request.queue_ps),
        saving: PossibleSaving::Unknown,
        ..Finding::default()
    }))
}

fn prefill_stalls(facts: &HintFacts<'_>) -> RuleResult {
    let Some(report) = report(facts)? else {
        return Ok(None);
    };
    let limit = facts.limit(&STALL);
    let Some(share) = report
        .prefill_stall_percent
        .filter(|share| share.0 >= limit)
    else {
        return Ok(None);
    };
    let of = "time after the first token, over all requests";
    let evidence = HintEvidence::percent(
        "prefills of other requests run instead",
        share.0,
        of,
        Some(limit),
    );
    Ok(Some(Finding {
        statement: format!(
            "prefills of other requests take {share:.1} of the time in which requests wait for their tokens"
        ),
        evidence: vec![evidence.by(Provenance::Inferred)],
        spots: spots(&report, |request| request.prefill_stall_ps),
        saving: PossibleSaving::Unknown,
        ..Finding::default()
    }))
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
    worst.sort_by_key(|request| std::cmp::Reverse(of(request)));
    let place = |request: &&ServedRequest| {
        FindingPlace::span(format!("request {}", request.request), request.range())
    };
    worst.iter().take(MOST).map(place).collect()
}
