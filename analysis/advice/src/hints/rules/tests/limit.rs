//! What limits the loop, and what lies outside of it.

use std::fmt::Write as _;

use engine::{Context, Options, Percent, Provenance, ReportCache, Scope};
use facts::TimeUse;
use sample_traces::text_trace;
use trace_model::{Picos, TimeRange, Timestamp};

use super::report;
use crate::hints::Hints;

/// Three steps of 8 ms after 11 ms in which the host compiles; it compiles once more in the second.
const COMPILES_TWICE: &str = "
    @column 1ms
    steps      : ............000000001111111122222222
    modules    : ............AAAAAAAA....BBBBCCCCCCCC
    ops        : ............mmmmmmmm....mmmmmmmmmmmm
    host python: .ccc................cccc............
    A = jit_step(1)
    B = jit_step(1)
    C = jit_step(1)
    m = fusion.1 [convolution fusion]
    c = backend_compile
    ";

#[test]
fn compiling_within_the_loop_is_not_outside_of_it() {
    let limit = report(COMPILES_TWICE).limit.unwrap();
    let outside = limit.outside.unwrap();
    let ms = |ms: i64| Picos::from_ps(ms * 1_000_000_000);
    assert_eq!(outside.compile_ps, Some(ms(3)));
    assert_eq!((outside.time_ps, outside.of_ps), (ms(11), ms(35)));
}

#[test]
fn parts_are_those_of_a_mean_step() {
    let limit = report(COMPILES_TWICE).limit.unwrap();
    let parts: Vec<_> = limit
        .parts
        .iter()
        .map(|part| (part.id, part.time_ps))
        .collect();
    // 20 of 24 ms in ops, 4 ms idle while the host compiles.
    let third = 1e9 / 3.0;
    let close = |a: f64, b: f64| (a - b).abs() < 1.0;
    assert_eq!(parts[0].0, TimeUse::MatMul);
    assert!(close(parts[0].1, 20.0 * third), "{parts:?}");
    assert_eq!(parts[1].0, TimeUse::Compile);
    assert!(close(parts[1].1, 4.0 * third), "{parts:?}");
}

/// Of the idle time only that with the main cause is named after it; all parts add up to the step.
#[test]
fn idle_time_is_divided_by_its_main_cause() {
    let report = report(
        "
        @column 1ms
        steps      : 000000000011111111112222222222
        modules    : AAA....BBBAAA....BBBAAA....BBB
        ops        : mmm....mmmmmm....mmmmmm....mmm
        host python: ...iiic......iiic......iiic...
        A = jit_first(1)
        B = jit_second(1)
        m = fusion.1 [convolution fusion]
        i = IteratorGetNext
        c = backend_compile
        ",
    );
    let limit = report.limit.unwrap();
    let parts = limit.parts.iter();
    let parts: Vec<_> = parts
        .map(|part| (part.id, part.time_ps, part.title_among(&limit.parts)))
        .collect();
    let expected = [
        (TimeUse::MatMul, 6e9, "matrix products"),
        (TimeUse::Input, 3e9, "waiting for input"),
        (TimeUse::Idle, 1e9, "other idle time"),
    ];
    assert_eq!(parts, expected);
    assert_eq!(
        limit.statement,
        "The loop waits for input 30.0 % of each step: 3.000 ms of 10.00 ms"
    );
    assert_eq!(limit.provenance, Provenance::Inferred);
    let saving = report.hints.iter().find(|hint| hint.id == "K34");
    assert_eq!(
        saving.and_then(|hint| hint.saving_ps),
        Some(Picos::rounded(limit.time_ps))
    );
}

/// A device is idle in the steps in which it runs nothing, too.
#[test]
fn devices_that_run_little_are_idle_in_all_steps() {
    let steps = "0000000000111111111122222222223333333333";
    let picture = format!(
        "
        @column 1ms
        TPU:0 steps: {steps}
        TPU:1 steps: 0000000000..............................
        TPU:0 ops  : {}
        TPU:1 ops  : mmmm..mmmm
        m = fusion.1 [convolution fusion]
        ",
        "mmmm..mmmm".repeat(4)
    );
    let limit = report(&picture).limit.unwrap();
    assert_eq!(
        limit.statement,
        // (4 × 2 + 2 + 3 × 10) ÷ 8, and 32 of these 40 ms on the second device.
        "The devices, mostly TPU:1 (stopped early), are idle 50.0 % of each step: 5.000 ms of 10.00 ms per device"
    );
}

#[test]
fn a_range_without_a_whole_step_is_not_idle() {
    let model = text_trace(COMPILES_TWICE);
    let (options, reports) = (Options::default(), ReportCache::default());
    let ms = |ms: i64| Timestamp::from_ps(ms * 1_000_000_000);
    let cx = Context {
        model: &model,
        scope: Scope::Range(TimeRange::new(ms(13), ms(19))),
        options: &options,
        reports: &reports,
    };
    let report = cx.report::<Hints>().unwrap();
    let limit = report.limit.as_ref().unwrap();
    assert_eq!((limit.id, limit.of), (TimeUse::MatMul, "device time"));
    assert_eq!(limit.percent, Percent(100.0));
}

#[test]
fn efficiency_says_how_its_peak_is_known() {
    let slow = |kind: &str| {
        let picture = format!(
            "
            @device flops=1e12 hbm=1e12 {kind}
            @column 1ms
            steps: 0000000011111111
            ops  : mmmmmmmmmmmmmmmm
            m = fusion.1 [convolution fusion] flops=1e8 hbm_read=1e3
            "
        );
        report(&picture).limit.unwrap()
    };
    let limit = slow("TPU v5 lite");
    assert_eq!((limit.id, limit.percent), (TimeUse::MatMul, Percent(100.0)));
    assert!(
        limit.statement.contains(" of peak FLOP/s: "),
        "{}",
        limit.statement
    );
    assert_eq!(limit.provenance, Provenance::Derived);
    // A wait is measured.
    let waits = report(
        "
        @column 1ms
        steps: 0000000011111111
        ops  : mm......mm......
        m = fusion.1 [loop fusion]
        ",
    );
    let limit = waits.limit.unwrap();
    assert_eq!(
        (limit.id, limit.provenance),
        (TimeUse::Idle, Provenance::Measured)
    );
}

/// A collective that is in flight while the core waits for a copy does not make the window longer.
#[test]
fn parts_of_a_window_add_up_to_it() {
    let limit = report(
        "
        @column 1ms
        ops  : SmmkcccD.m
        async: FFFFFFFF..
        S = all-gather-start.1 [all-gather-start]
        F = all-gather-start.1 [all-gather-start] done=all-gather-done.1
        D = all-gather-done.1 [all-gather-done]
        m = fusion.1 [convolution fusion]
        k = copy-start.1 [copy-start]
        c = copy-done.1 [copy-done]
        ",
    )
    .limit
    .unwrap();
    let whole = (limit.of, limit.of_ps);
    assert_eq!(whole, ("device time", 10e9), "{:?}", limit.parts);
    let of = |id| {
        limit
            .parts
            .iter()
            .find(|part| part.id == id)
            .map(|part| part.time_ps)
    };
    assert_eq!(of(TimeUse::Collective), Some(2e9));
    assert_eq!(of(TimeUse::Idle), Some(1e9));
}

/// Most of a step is in a kernel without costs; a hint saves time in the rest of it, which is work or a wait.
#[test]
fn kernels_of_which_nothing_is_known_lead_before_other_work() {
    let statement = |rest: &str| {
        let picture = format!(
            "
            @column 1ms
            steps: 000000000011111111112222222222
            ops  : kkkkkkkrrrkkkkkkkrrrkkkkkkkrrr
            k = kernel.1 [custom-call] :: %kernel.1 = f32[8]{{0}} custom-call(f32[8]{{0}} %p), custom_call_target=\"tpu_custom_call\"
            r = {rest}
            "
        );
        let limit = report(&picture).limit.unwrap();
        (limit.id, limit.statement)
    };
    let expected =
        "Custom kernels of unknown efficiency take 70.0 % of each step: 7.000 ms of 10.00 ms";
    let slow = "slice.1 [dynamic-update-slice]";
    assert_eq!(statement(slow), (TimeUse::CustomKernel, expected.into()));
    let wait = "all-reduce.1 [all-reduce]";
    assert_eq!(statement(wait).0, TimeUse::Collective);
}

/// The shapes of one of two kernels tell what it has to do, which is most of the time of both.
#[test]
fn kernels_known_by_their_shapes_are_not_called_unknown() {
    let statement = |name: &str| {
        let picture = format!(
            "
            @column 1ms
            @device flops=918e12 hbm=1640e9 TPU v6 lite
            steps: 00000000001111111111
            ops  : kkkkccrrrrkkkkccrrrr
            k = {name}.1 [custom-call] :: %{name}.1 = bf16[1024,256]{{1,0}} custom-call(bf16[1024,512]{{1,0}} %a, bf16[512,256]{{1,0}} %b), custom_call_target=\"tpu_custom_call\"
            c = other.1 [custom-call] :: %other.1 = f32[8]{{0}} custom-call(f32[8]{{0}} %p), custom_call_target=\"tpu_custom_call\"
            r = slice.1 [dynamic-update-slice]
            "
        );
        report(&picture).limit.unwrap().statement
    };
    assert_eq!(
        statement("matmul_kernel"),
        "Custom kernels take 60.0 % of each step (20.0 % of unknown efficiency): 6.000 ms of 10.00 ms"
    );
    let unknown = statement("kernel");
    assert!(
        unknown.starts_with("Custom kernels of unknown efficiency take 60.0 %"),
        "{unknown}"
    );
}

/// Compilation fills the first step, and one hint says so.
#[test]
fn a_step_that_compiles_is_not_idle_for_reasons_of_the_loop() {
    let model = text_trace(COMPILES_TWICE);
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::Steps { first: 1, last: 1 },
        options: &options,
        reports: &reports,
    };
    let report = cx.report::<Hints>().unwrap();
    let ids: Vec<&str> = report.hints.iter().map(|hint| hint.id).collect();
    assert!(!ids.contains(&"K31"), "{ids:?}");
}

/// Communication fills half of a step, of a loop and of a program that ran once.
#[test]
fn a_step_that_is_chosen_from_a_loop_is_of_the_loop() {
    let sentence = |steps: usize, scope: Scope| {
        let numbers: String = (0..steps).map(|step| step.to_string().repeat(10)).collect();
        let model = text_trace(&format!(
            "
            @column 1ms
            steps: {numbers}
            ops  : {}
            m = fusion.1 [convolution fusion]
            r = all-reduce.1 [all-reduce]
            ",
            "mmmmmrrrrr".repeat(steps)
        ));
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context {
            model: &model,
            scope,
            options: &options,
            reports: &reports,
        };
        let limit = cx.report::<Hints>().unwrap().limit.clone().unwrap();
        (limit.is_of_loop, limit.statement)
    };
    let waits = |what: &str| {
        format!("{what} waits for communication 50.0 % of the step: 5.000 ms of 10.00 ms")
    };
    assert_eq!(
        sentence(3, Scope::Steps { first: 1, last: 1 }),
        (true, waits("The loop"))
    );
    assert_eq!(
        sentence(1, Scope::WholeTrace),
        (false, waits("The program"))
    );
}

/// Idle time of less than a tenth of a step is called what the hint about it calls it.
#[test]
fn idle_time_has_the_name_that_its_hint_gives() {
    let parts = |input: usize, devices: usize| {
        let work = 100 - input;
        let step = |letter: char, own: usize, rest: char| {
            format!(
                "{}{}",
                letter.to_string().repeat(own),
                rest.to_string().repeat(100 - own)
            )
        };
        let steps: String = (0..4)
            .map(|at| step(char::from(b'0' + at), 100, '.'))
            .collect();
        let device = |at: usize| {
            format!(
                "TPU:{at} steps: {steps}\nTPU:{at} modules: {}\nTPU:{at} ops: {}\n",
                step('A', work, '.').repeat(4),
                step('m', work, '.').repeat(4)
            )
        };
        let devices: String = (0..devices).map(device).collect();
        let report = report(&format!(
            "@column 100us\n{devices}host python: {}\nA = jit_step(1)\nm = fusion.1 [convolution fusion]\ni = IteratorGetNext",
            step('.', work, 'i').repeat(4)
        ));
        let limit = report.limit.unwrap();
        let names = limit
            .parts
            .iter()
            .map(|part| part.title_among(&limit.parts));
        let names: Vec<_> = names.collect();
        (names, report.hints.iter().any(|hint| hint.id == "K34"))
    };
    for devices in [1, 3] {
        for input in [4, 9, 30] {
            let (names, is_told) = parts(input, devices);
            assert!(is_told, "{input}");
            assert_eq!(
                names[1], "waiting for input",
                "{input} of {devices}: {names:?}"
            );
        }
        // So little that no hint speaks of it.
        assert_eq!(parts(1, devices), (vec!["matrix products", "idle"], false));
    }
}

/// The last of four devices runs nothing, or joins for the last of four steps.
fn with_absent(late: bool, parts: usize) -> String {
    let steps: String = (0..4).map(|step| step.to_string().repeat(20)).collect();
    let (mut work, mut legend) = (String::new(), String::new());
    for part in 0..parts {
        let letter = char::from(b'a' + part as u8);
        let columns = 18 / parts;
        work += &letter.to_string().repeat(columns);
        writeln!(
                    legend,
            "{letter} = fusion.{part} [convolution fusion] source=m.py:1 flops={} hbm_read=1 hbm_write=1",
            columns * 1_000_000).unwrap();
    }
    work += "..";
    let device = |at: usize, ops: &str| format!("TPU:{at} steps: {steps}\nTPU:{at} ops: {ops}\n");
    let busy: String = (0..3).map(|at| device(at, &work.repeat(4))).collect();
    let last = if late {
        format!(
            "TPU:3 steps: {}{}\nTPU:3 ops: {}{work}\n",
            ".".repeat(60),
            "3".repeat(20),
            ".".repeat(60)
        )
    } else {
        format!("TPU:3 ops: z{}\n", ".".repeat(79))
    };
    format!(
        "@column 10us\n@device flops=1e12 hbm=1e12 TPU v5 lite\n{busy}{last}{legend}z = add.9 [loop fusion]"
    )
}

/// What is said of time and what a fix saves refer to the same devices: those that work.
#[test]
fn a_hint_saves_no_more_time_than_there_is() {
    for late in [false, true] {
        for parts in [1, 6] {
            let report = report(&with_absent(late, parts));
            let limit = report.limit.as_ref().unwrap();
            assert_eq!(
                limit.statement,
                "Matrix products take 90.0 % of each step: 180.0 µs of 200.0 µs per busy device",
                "{late} {parts} {:?}",
                report
                    .hints
                    .iter()
                    .map(|h| (h.id, h.saving_ps))
                    .collect::<Vec<_>>()
            );
            let hint = report.hints.iter().find(|hint| hint.id == "K12").unwrap();
            let saving = hint.saving_percent.unwrap();
            assert!(saving < limit.percent, "{saving:?}");
            assert!(
                hint.statement
                    .contains("take 90.0 % of the time of busy devices"),
                "{}",
                hint.statement
            );
            let seen = &hint.evidence[0];
            assert!(
                (seen.value - 90.0).abs() < 0.1 && seen.of.contains("busy"),
                "{seen:?}"
            );
            let each: Picos = hint
                .ops
                .iter()
                .map(|op| report.sums_over.each_ps(op.self_time_ps))
                .sum();
            assert_eq!(each, Picos::from_ps(180_000_000), "{late} {parts}");
            assert!(report.sums_over.text().starts_with("3 busy devices"));
        }
    }
    // Where all work, all count.
    let steps: String = (0..4).map(|step| step.to_string().repeat(20)).collect();
    let absent = format!("TPU:3 ops: z{}", ".".repeat(79));
    let work = format!("{}..", "a".repeat(18)).repeat(4);
    let all = format!("TPU:3 steps: {steps}\nTPU:3 ops: {work}");
    let all = with_absent(false, 1).replace(&absent, &all);
    let report = report(&all);
    let statement = report.limit.unwrap().statement;
    assert!(
        statement.ends_with("180.0 µs of 200.0 µs per device"),
        "{statement}"
    );
}
