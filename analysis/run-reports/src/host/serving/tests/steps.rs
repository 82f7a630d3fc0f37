//! Steps of engines, and what the host does in them while devices run nothing.

use super::*;

/// Frames of vLLM: a step with a launch, one that waits for its result on another thread, and an empty one.
const ENGINE: &str = "
    @column 1us
    TPU:0 modules: ..........MMMMMMMMMM.......mm.
    TPU:1 modules: ............MMMMMMMM.......mm.
    host engine: EEEEEEEEEEEEEEEEeeeeeeeeeeeee.
               : .sssiiiilll.....llllltt....ss.
    host output: ................oooooooooo....
    E = $core.py:985 _process_engine_step
    e = $core.py:985 _process_engine_step
    s = $scheduler.py:227 schedule
    i = $tpu_runner.py:1203 _prepare_inputs
    l = $tpu_runner.py:558 execute_model
    t = $tpu_runner.py:570 sample_tokens
    o = $tpu_runner.py:125 get_output
    M = jit_step_fun(7)
    m = jit_sample(8)
";

#[test]
fn idle_time_between_engine_steps_has_the_part_of_the_step() {
    let report = report_of(&text_trace(ENGINE)).unwrap();
    assert!(report.requests.is_empty() && report.annotations.is_empty());
    let [steps] = report.steps.as_slice() else {
        panic!("{:?}", report.steps);
    };
    assert_eq!(
        (steps.phase, steps.time.count, steps.tokens),
        ("not told", 2, None)
    );
    assert_eq!(steps.to_next_ps, Some(16e6));
    let us = |time: Picos| time.ps() / 1_000_000;
    let parts: Vec<_> = report
        .idle
        .iter()
        .map(|idle| (idle.part, us(idle.time_ps)))
        .collect();
    // Of 17 µs on one device and 19 µs on the other.
    assert_eq!(
        parts,
        [
            (EnginePart::Inputs, 8),
            (EnginePart::Launch, 7),
            (EnginePart::Scheduler, 6),
            (EnginePart::CopyToHost, 6),
            (EnginePart::OtherInStep, 5),
            (EnginePart::Sampling, 4)
        ]
    );
    let of_idle: f64 = report
        .idle
        .iter()
        .filter_map(|idle| idle.of_idle_percent)
        .map(|share| share.0)
        .sum();
    assert!((of_idle - 100.0).abs() < 1e-9);
    let tables: Vec<_> = report.tables().iter().map(|table| table.id).collect();
    assert_eq!(tables, ["serving_steps", "serving_idle"]);
}

/// Annotations of an engine that nobody knows; a batch of vLLM says what runs in the step.
#[test]
fn annotations_tell_steps_parts_and_phases() {
    let picture = ENGINE
        .replace("$core.py:985 _process_engine_step", "engine_step")
        .replace("$scheduler.py:227 schedule", "schedule")
        .replace("$tpu_runner.py:1203 _prepare_inputs", "prepare inputs")
        .replace(
            "$tpu_runner.py:558 execute_model",
            "execute_model: 3 reqs, 3 toks",
        )
        .replace("$tpu_runner.py:570 sample_tokens", "sampling")
        .replace("$tpu_runner.py:125 get_output", "copy to host");
    let report = report_of(&text_trace(&picture)).unwrap();
    let steps: Vec<_> = report
        .steps
        .iter()
        .map(|steps| (steps.phase, steps.time.count, steps.tokens))
        .collect();
    assert_eq!(steps, [("decode", 2, Some(6))]);
    let idle = |model: &TraceModel| report_of(model).unwrap().idle;
    let parts = |model: &TraceModel| -> Vec<_> {
        idle(model)
            .iter()
            .map(|idle| (idle.part, idle.time_ps))
            .collect()
    };
    assert_eq!(parts(&text_trace(&picture)), parts(&text_trace(ENGINE)));
    // Without devices or engine steps nothing is said.
    let other = text_trace("modules: MM\n host a: ss\n s = schedule");
    assert!(matches!(
        report_of(&other),
        Err(AnalysisError::NotApplicable(_))
    ));
}

/// Batches are the steps where nothing else is.
#[test]
fn batches_are_steps_of_servers_without_a_loop() {
    let report = report_of(&sample(&ServingSample::default())).unwrap();
    let phases: Vec<_> = report.steps.iter().map(|steps| steps.phase).collect();
    assert_eq!(phases, ["decode", "prefill"]);
    let idle: Picos = report.idle.iter().map(|idle| idle.time_ps).sum();
    assert!(
        idle > Picos::ZERO
            && report
                .idle
                .iter()
                .any(|idle| idle.part == EnginePart::OtherInStep)
    );
}

/// An engine calls itself, a batch holds the steps of its requests, and another thread does something else.
#[test]
fn steps_inside_of_others_count_once() {
    let told = |picture: &str| -> Vec<_> {
        let report = report_of(&text_trace(picture)).unwrap();
        let steps = report.steps.iter();
        steps
            .map(|steps| (steps.phase, steps.time.count, steps.tokens))
            .collect()
    };
    let engine = "
        @column 1us
        modules: ..MMMMM...MMMMM.
        host engine: EEEEEEEEeeeeeeee
                   : .ffff...........
                   : ..pp.d....dd....
        E = engine_step
        e = engine_step
        f = engine_step
        p = execute_model: 1 reqs, 64 toks
        d = execute_model: 2 reqs, 2 toks
        M = jit_step_fun(7)
    ";
    assert_eq!(
        told(engine),
        [("decode", 1, Some(2)), ("mixed", 1, Some(66))]
    );
    let batches = "
        @column 1us
        modules: ..MMMMM...MMMMM.
        host a: PPPPPPPP........
              : .q..............
        host b: .DDD....ddd.....
        P = execute_model: 1 reqs, 64 toks
        q = prefill
        D = execute_model: 2 reqs, 2 toks
        d = execute_model: 2 reqs, 2 toks
        M = jit_step_fun(7)
    ";
    assert_eq!(
        told(batches),
        [("decode", 2, Some(4)), ("prefill", 1, Some(64))]
    );
}

/// Annotations that begin together, that two threads write of the same batch, and that are inside one without tokens.
#[test]
fn tokens_of_a_step_are_those_of_its_batch() {
    let told = |picture: &str| -> Vec<_> {
        let picture = format!(
            "
            @column 1us
            modules: ..MMMMM.
            host engine: EEEEEEEE
            {picture}
            E = engine_step
            b = forward_batch_generation 12
            p = execute_model: 3 reqs, 66 toks
            d = execute_model: 2 reqs, 2 toks
            M = jit_step_fun(7)
            "
        );
        let report = report_of(&text_trace(&picture)).unwrap();
        let steps = report.steps.iter();
        steps.map(|steps| steps.tokens).collect()
    };
    assert_eq!(
        told("           : .ppppp..\n           : .dd....."),
        [Some(66)]
    );
    assert_eq!(
        told("host a: .pppp...\n           host b: .pppp..."),
        [Some(66)]
    );
    assert_eq!(
        told("           : .bbbbbb.\n           : ..pppp.."),
        [Some(66)]
    );
    assert_eq!(told("           : .ppp.bb."), [None]);
}

/// A step of vLLM in an exported JSON, which holds no program: the texts of its ops name parameters. The cache has 7007 pages
/// of 64 positions of 8 heads of 128 for keys and values; the embedding is gathered.
const READS: &str = "
    @column 1ms
    @device flops=2e15 hbm=1e12 TPU v7x
    modules: MMMMMMMMMM..
    ops: GWWAAAAAAA..
    host engine: EEEEEEEEEEEE
    E = $core.py:985 _process_engine_step
    M = jit_step_fun(7)
    G = gather.1 [gather] bytes=4000000 :: %gather.1 = bf16[1024,512]{1,0} gather(bf16[32000,512]{1,0} %param.1, s32[1024]{0} %param.2)
    W = fusion.1 [convolution fusion] bytes=60000000 :: %fusion.1 = bf16[1024,5120]{1,0} fusion(bf16[1024,5120]{1,0:S(1)} %b, bf16[5120,5120]{1,0} %param.3), kind=kOutput
    A = RPA-bq_32-bkvp_64-p_64-.1 [custom-call] DECLARED :: %RPA-bq_32-bkvp_64-p_64-.1 = (bf16[4,1024,3,2,128], bf16[7007,64,4,2,128]) custom-call(s32[] %s, s32[256] %param.4, s32[131072] %param.5, s32[257] %param.6, s32[3] %param.7, s32[3] %t, s32[4] %u, s32[6] %v, bf16[4,1024,3,2,128] %q, bf16[1024,4,2,128] %n, bf16[7007,64,4,2,128] %param.8), custom_call_target=\"tpu_custom_call\"
";

#[test]
fn cache_of_keys_and_values_is_part_of_the_bound_or_named() {
    let reads = |declared: &str| {
        let report = report_of(&text_trace(&READS.replace("DECLARED", declared))).unwrap();
        let [reads] = report.reads.as_slice() else {
            panic!("{:?}", report.reads);
        };
        reads.clone()
    };
    let (weights, cache) = (4_000_000 + 5120 * 5120 * 2, 7007 * 64 * 8 * 128 * 2);
    // Indices are read, too: page table, lengths and starts of 256 sequences, and the tokens.
    let indices = 4 * (1024 + 256 + 131_072 + 257 + 3);
    let unknown = reads("");
    assert_eq!(
        (unknown.weight_bytes, unknown.updated_bytes),
        (weights + indices, cache)
    );
    assert_eq!(
        (unknown.cache_from, unknown.most_cache_bytes),
        (CacheFrom::NotKnown, Some(cache))
    );
    assert_eq!((unknown.cache_bytes, unknown.bound_time_ps), (None, None));
    assert_eq!(unknown.weights_from, WeightsFrom::OpTexts);
    assert_eq!(
        unknown.finding,
        "jit_step_fun reads 56.96 MB of weights, which takes at least 56.96 µs, 0.6 % of its mean time; what it reads of its cache of \
         keys and values is not known, because captures do not hold the lengths of sequences; it is at most 918.4 MB. The \
         bound is that of the weights alone, a lower limit"
    );
    let declared = reads("bytes=100000000");
    assert_eq!(
        (declared.cache_from, declared.cache_bytes),
        (CacheFrom::Declared, Some(100_000_000))
    );
    assert_eq!(declared.most_cache_bytes, None);
    let bound = (weights + indices) as f64 + 1e8;
    assert!((declared.bound_time_ps.unwrap() - bound).abs() < 1.0);
    assert!(
        declared.finding.contains(
            "and 100.0 MB of its cache of keys and values as its attention kernel declares"
        ),
        "{}",
        declared.finding
    );
    // More than HBM can deliver in 10 ms is no measure.
    assert_eq!(reads("bytes=20000000000").cache_from, CacheFrom::NotKnown);
}
