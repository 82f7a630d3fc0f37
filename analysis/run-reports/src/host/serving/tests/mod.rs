mod steps;

use engine::{Options, ReportCache, Scope, ServingPattern, Tabular as _};
use sample_traces::rare::ServingSample;
use sample_traces::text_trace;
use sample_traces::write::xspace_bytes;
use trace_model::TraceModel;

use super::*;

fn ps(time: i64) -> Picos {
    Picos::from_ps(time)
}

fn report_with(model: &TraceModel, options: &Options) -> Result<ServingReport> {
    let reports = ReportCache::default();
    let cx = Context {
        model,
        scope: Scope::WholeTrace,
        options,
        reports: &reports,
    };
    cx.report::<Serving>().map(|report| report.as_ref().clone())
}

fn report_of(model: &TraceModel) -> Result<ServingReport> {
    report_with(model, &Options::default())
}

fn sample(sample: &ServingSample) -> TraceModel {
    let source =
        importers::InputSource::from_bytes("serving.xplane.pb", xspace_bytes(&sample.session()))
            .unwrap();
    importers::import(&source, &importers::Progress::new()).unwrap()
}

/// The schedule of the sample knows when each request was where.
#[test]
fn requests_have_the_times_of_their_server() {
    let spec = ServingSample::default();
    let report = report_of(&sample(&spec)).unwrap();
    let served = spec.served();
    assert_eq!(report.requests.len(), served.len());
    for (id, times) in served.iter().enumerate() {
        let request = report
            .requests
            .iter()
            .find(|request| request.request == id.to_string())
            .unwrap();
        assert_eq!(
            request.latency_ps,
            Some(ps(times.end_ps - times.arrival_ps)),
            "{id}"
        );
        assert_eq!(
            request.queue_ps,
            Some(ps(times.prefill_ps - times.arrival_ps)),
            "{id}"
        );
        assert_eq!(request.prefill_ps, Some(ps(spec.prefill_ps(id))), "{id}");
        assert_eq!(
            request.first_token_ps,
            Some(ps(times.first_token_ps - times.arrival_ps)),
            "{id}"
        );
        assert_eq!(
            request.decode_ps,
            Some(ps(times.end_ps - times.first_token_ps)),
            "{id}"
        );
        assert_eq!(request.decode_tokens, Some(spec.answer as u64 - 1), "{id}");
    }
    let slow = report
        .requests
        .iter()
        .find(|request| request.request == "9")
        .unwrap();
    assert_eq!(slow.prefill_ps, Some(ps(16_200_000_000)));
    // Three others generate tokens when its prefill begins, and it stalls each of them.
    let stalled = report
        .requests
        .iter()
        .filter(|request| request.prefill_stall_ps >= Some(ps(16_200_000_000)));
    assert!(stalled.count() >= 1 && report.prefill_stall_percent.unwrap().0 > 10.0);
}

/// 24 values: p90 and p95 are there, p99 is not.
#[test]
fn distributions_have_the_quantiles_that_their_count_allows() {
    let spec = ServingSample::default();
    let report = report_of(&sample(&spec)).unwrap();
    let names: Vec<_> = report
        .latencies
        .iter()
        .map(|latency| latency.name)
        .collect();
    assert_eq!(
        names,
        [
            "queue",
            "prefill",
            "time to first token",
            "time per output token",
            "latency"
        ]
    );
    let latency = &report.latencies[4].time;
    assert!(latency.count == 24 && latency.p95_ps.is_some() && latency.p99_ps.is_none());
    let longest = spec
        .served()
        .iter()
        .map(|times| times.end_ps - times.arrival_ps)
        .max()
        .unwrap();
    assert!((latency.max_ps - longest as f64).abs() < 1.0);
    let prefill = report
        .phases
        .iter()
        .find(|phase| phase.phase == "prefill")
        .unwrap();
    // The program is 60 µs shorter than the annotation.
    let time: i64 = (0..24)
        .map(|request| spec.prefill_ps(request) - 60_000_000)
        .sum();
    assert_eq!(
        (prefill.programs, prefill.device_ps, prefill.time.count),
        (24, Some(ps(time)), 24)
    );
    assert_eq!(report.other_program_ps, Picos::ZERO);
    let sizes: Vec<_> = report
        .batches
        .iter()
        .map(|batch| (batch.phase, batch.requests, batch.time.p50_ps))
        .collect();
    let decode = |requests| ("decode", requests, spec.decode_ps(requests) as f64);
    assert_eq!(
        sizes,
        [
            ("prefill", 1, 1.2e9),
            decode(1),
            decode(2),
            decode(3),
            decode(4)
        ]
    );
    let titles: Vec<_> = report.tables().iter().map(|table| table.id).collect();
    assert_eq!(
        titles,
        [
            "serving_latencies",
            "serving_phases",
            "serving_steps",
            "serving_idle",
            "serving_requests",
            "serving_batches",
            "serving_annotations"
        ]
    );
}

/// Phases without ids: no requests, no latencies; programs belong to the only phase that is open at their start.
#[test]
fn phases_alone_are_reported_without_requests() {
    let model = text_trace(
        "
        modules    : .AAA.BB.BB.C
        host engine: PPPPPDDDDDD.
        A = jit_f(1)
        B = jit_g(2)
        C = jit_h(3)
        P = prefill
        D = decode
        ",
    );
    let report = report_of(&model).unwrap();
    assert!(report.requests.is_empty() && report.latencies.is_empty() && report.batches.is_empty());
    let of: Vec<_> = report
        .phases
        .iter()
        .map(|phase| (phase.phase, phase.device_ps, phase.programs))
        .collect();
    assert_eq!(
        of,
        [
            ("prefill", Some(ps(3_000)), 1),
            ("decode", Some(ps(4_000)), 2)
        ]
    );
    assert_eq!(
        (report.program_ps, report.other_program_ps),
        (ps(8_000), ps(1_000))
    );
}

/// What is not recorded is missing: no arrival, so no time to first token; one decode without a number of tokens.
#[test]
fn what_annotations_do_not_say_is_missing() {
    let model = text_trace(
        "
        host engine: PPPPDDDD
        P = prefill#request_id=a#
        D = decode#request_id=a#
        ",
    );
    let report = report_of(&model).unwrap();
    let request = &report.requests[0];
    assert_eq!(
        (&*request.request, request.prefill_ps, request.decode_ps),
        ("a", Some(ps(4_000)), Some(ps(4_000)))
    );
    assert_eq!(
        (request.first_token_ps, request.queue_ps, request.latency_ps),
        (None, None, None)
    );
    assert_eq!((request.decode_tokens, request.per_token_ps), (None, None));
    assert_eq!(report.phases[0].device_ps, None, "there is no device");
}

/// A batch that counts tokens: a request with more than one is prefilled.
#[test]
fn mixed_batches_are_told_by_their_tokens() {
    let model = text_trace(
        "
        host stage 0: AAABBB
        host stage 1: ...AAABBB
        A = [0,1]#batch_id=7,request_ids=0;1,num_tokens=512;1#
        B = [0,1]#batch_id=8,request_ids=0;1,num_tokens=1;1#
        ",
    );
    let report = report_of(&model).unwrap();
    let of = |id: &str| {
        report
            .requests
            .iter()
            .find(|request| request.request == id)
            .unwrap()
    };
    // Both stages of a pipeline: from 0 to 6, and from 3 to 9.
    assert_eq!(
        (of("0").prefill_ps, of("0").decode_tokens, of("0").decode_ps),
        (Some(ps(6_000)), Some(1), Some(ps(3_000)))
    );
    assert_eq!((of("1").prefill_ps, of("1").decode_ps), (None, None));
    assert_eq!(
        (
            report.batches.len(),
            report.batches[0].requests,
            report.batches[0].time.count
        ),
        (1, 2, 2)
    );
    assert_eq!(report.batches[0].tokens, Some(515));
}

/// As vLLM names its batches on TPUs. Request a is prefilled alone, b together with a token of a, so nothing says when its
/// prompt ends; after a token that both get, it gets one in each batch.
#[test]
fn batches_of_vllm_tell_requests_and_tokens() {
    let model = text_trace(
        "
        modules    : AA.BB.CC.DD
        host engine: PPPMMMTTTMMM
        A = jit_step_fun(1)
        B = jit_step_fun(1)
        C = jit_step_fun(1)
        D = jit_step_fun(1)
        P = execute_model: 1 reqs, 512 toks#request_id1=a#
        M = execute_model: 2 reqs, 65 toks#request_id1=a,request_id2=b#
        T = execute_model: 2 reqs, 2 toks#request_id1=a,request_id2=b#
        ",
    );
    let report = report_of(&model).unwrap();
    let of = |id: &str| {
        report
            .requests
            .iter()
            .find(|request| request.request == id)
            .unwrap()
    };
    assert_eq!(
        (of("a").prefill_ps, of("b").prefill_ps, of("b").decode_ps),
        (None, None, None),
        "the second batch is mixed"
    );
    let read: Vec<_> = report
        .annotations
        .iter()
        .map(|one| (&*one.name, one.read_as, one.by, one.count))
        .collect();
    assert!(
        read.contains(&("execute_model: … reqs, … toks", "batch", "name of vLLM", 2)),
        "{read:?}"
    );
    let sizes: Vec<_> = report
        .batches
        .iter()
        .map(|one| (one.phase, one.requests, one.time.count, one.tokens))
        .collect();
    assert_eq!(
        sizes,
        [
            ("prefill", 1, 1, Some(512)),
            ("decode", 2, 1, Some(2)),
            ("batch", 2, 2, Some(130))
        ]
    );
    let programs: Vec<_> = report
        .phases
        .iter()
        .map(|one| (one.phase, one.device_ps))
        .collect();
    assert_eq!(
        programs,
        [
            ("prefill", Some(ps(2_000))),
            ("decode", Some(ps(2_000))),
            ("batch", None)
        ]
    );
}

/// All is known of a request that is prefilled alone and gets a token before the first mixed batch.
#[test]
fn a_mixed_batch_after_the_first_token_is_a_token() {
    let model = text_trace(
        "
        host engine: PPPTTTMMM
        P = execute_model: 1 reqs, 512 toks#request_id1=a#
        T = execute_model: 1 reqs, 1 toks#request_id1=a#
        M = execute_model: 2 reqs, 65 toks#request_id1=a,request_id2=b#
        ",
    );
    let report = report_of(&model).unwrap();
    let a = report
        .requests
        .iter()
        .find(|request| request.request == "a")
        .unwrap();
    assert_eq!(
        (a.prefill_ps, a.decode_ps, a.decode_tokens),
        (Some(ps(3_000)), Some(ps(6_000)), Some(2))
    );
}

/// Without ids, batches have a size and a time; those of `SGLang` have a time only.
#[test]
fn batches_without_ids_are_reported() {
    let older = report_of(&text_trace(
        "host engine: MMMTT\n M = execute_model: 3 reqs, 65 toks\n T = execute_model: 3 reqs, 3 toks",
    ));
    let sizes: Vec<_> = older
        .unwrap()
        .batches
        .iter()
        .map(|one| (one.phase, one.requests))
        .collect();
    assert_eq!(sizes, [("decode", 3), ("batch", 3)]);
    let report = report_of(&text_trace(
        "host engine: AAA.BB\n A = forward_batch_generation 1\n B = forward_batch_generation 2",
    ))
    .unwrap();
    assert!(report.batches.is_empty() && report.requests.is_empty());
    let phases: Vec<_> = report
        .phases
        .iter()
        .map(|one| (one.phase, one.time.count, one.busy_ps))
        .collect();
    assert_eq!(phases, [("batch", 2, ps(5_000))]);
}

#[test]
fn programs_that_serve_nothing_have_no_report() {
    for picture in [
        "host main: DDD\n D = decode",
        "host main: BBB\n B = process batch",
        "host main: DDD\n D = decode image",
        "host main: PPP\n P = $model.py:12 prefill",
        "ops: ff\n f = fusion.1 [loop fusion]",
    ] {
        let Err(AnalysisError::NotApplicable(why)) = report_of(&text_trace(picture)) else {
            panic!("{picture}")
        };
        assert!(why.contains("--serving PHASE=PATTERN"), "{why}");
    }
    let options = Options {
        serving: vec![ServingPattern {
            phase: "decode".to_owned(),
            pattern: "token*".to_owned(),
        }],
        ..Options::default()
    };
    let report = report_with(&text_trace("host main: TTT\n T = token loop"), &options).unwrap();
    assert_eq!(
        (report.phases[0].phase, report.annotations[0].by),
        ("decode", "pattern")
    );
}
