//! Steps of drawn traces, one source of steps a test.

mod annotations;
mod classes;

use engine::{Options, ReportCache, Tabular};
use facts::steps::*;
use sample_traces::{text_builder, text_trace};
use trace_model::{Picos, SliceAttr, SliceSpec, TimeRange, Timestamp, TraceModel, TrackKind};

use super::*;

fn report(model: &TraceModel, options: &Options, scope: Scope) -> StepsReport {
    let reports = ReportCache::default();
    let cx = Context {
        model,
        scope,
        options,
        reports: &reports,
    };
    cx.report::<Steps>().unwrap().as_ref().clone()
}

fn whole(model: &TraceModel) -> StepsReport {
    report(model, &Options::default(), Scope::WholeTrace)
}

fn times(report: &StepsReport) -> Vec<i64> {
    report
        .steps
        .iter()
        .map(|step| step.time_ps.ps() / 1000)
        .collect()
}

/// A host that runs 20 annotated steps, the fifth of which compiles.
fn annotated() -> TraceModel {
    let mut builder = text_builder("host main: .");
    let (track, _) = builder
        .tracks()
        .find(|(_, track)| track.kind == TrackKind::HostThread)
        .unwrap();
    let [train, compile] = ["train", "backend_compile"].map(|name| builder.label(name, None));
    let range =
        |start: i64, len: i64| TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(len));
    let mut at = 0;
    for number in 0..20 {
        let len = if number == 5 { 1_000 } else { 100 + number % 3 };
        let key = builder.add_slice(track, SliceSpec::new(range(at, len), train));
        builder.set_attr(key, SliceAttr::StepNum, number);
        if number == 5 {
            builder.add_slice(track, SliceSpec::new(range(at + 20, 900), compile));
        }
        at += len;
    }
    builder.finish()
}

/// Two files of one run, a device each: five steps of 100 ns, and three of 300 ns; a third file has none.
#[test]
fn files_of_a_run_have_their_own_intervals() {
    use trace_model::{GroupKind, Source, TraceBuilder};
    let mut builder = TraceBuilder::new();
    let mut files = Vec::new();
    for (ordinal, (count, length)) in [(5, 100_000), (3, 300_000)].into_iter().enumerate() {
        files.push(builder.begin_source(Source::default()));
        let kind = GroupKind::TensorCore {
            ordinal: ordinal as u32,
        };
        let core = builder.group(None, kind, &format!("/device:TPU:{ordinal}"));
        let steps = builder.track(core, TrackKind::Steps, 0, "Steps");
        for number in 0..count {
            let label = builder.label(&number.to_string(), None);
            let start = Timestamp::from_ps(number * length);
            let range = TimeRange::at(start, Picos::from_ps(length));
            builder.add_slice(steps, SliceSpec::new(range, label));
        }
    }
    files.push(builder.begin_source(Source::default()));
    let model = builder.finish();
    let report = whole(&model);
    let found: Vec<_> = files
        .iter()
        .map(|&file| {
            (
                report.interval_in(&model, file),
                report.complete_in(&model, file),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (Some(100_000.0), Some(5)),
            (Some(300_000.0), Some(3)),
            (None, None)
        ]
    );
}

#[test]
fn steps_line_is_used_with_the_slowest_core() {
    let model = text_trace(
        "
        steps      : 000011111222222
        ops        : aaaa.aaaa.aaaa.
        TPU:1 steps: 0000.111112222.
        TPU:1 ops  : aaaa.aaaa.aaaa.
        ",
    );
    let report = whole(&model);
    assert_eq!(report.source, StepSource::StepsLine);
    assert_eq!(times(&report), [4, 5, 6]);
    assert_eq!(report.steps[2].slowest.as_deref(), Some("/device:TPU:0"));
    assert_eq!(
        report
            .steps
            .iter()
            .map(|step| step.interval_ps.map(Picos::ps))
            .collect::<Vec<_>>(),
        [Some(4_000), Some(5_000), None]
    );
    let stats = report.time.unwrap();
    assert_eq!(
        [stats.mean, stats.min, stats.max].map(|ps| ps as i64),
        [5_000, 4_000, 6_000]
    );
    assert_eq!(stats.stddev.map(|ps| ps as i64), Some(1_000));
}

#[test]
fn step_missing_on_one_core_is_partial_and_excluded() {
    let model = text_trace(
        "
        steps      : 000011112222
        TPU:1 steps: ....11112222
        ",
    );
    let report = whole(&model);
    assert_eq!(
        report
            .steps
            .iter()
            .map(|step| step.is_partial)
            .collect::<Vec<_>>(),
        [true, false, false]
    );
    assert_eq!((report.time.unwrap().count, report.left_out), (2, 1));
}

#[test]
fn steps_whose_names_are_lost_are_none() {
    let model = text_trace(
        "
        steps      : 000011112222
        TPU:1 steps: uuuuuuuuuuuu
        u = (unknown event)
        ",
    );
    let report = whole(&model);
    assert_eq!(times(&report), [4, 4, 4]);
    assert!(report.why[0].contains("1 of 2 devices"), "{:?}", report.why);
}

/// What runs after the last execution of the dominant program may belong to anything.
#[test]
fn last_step_ends_with_its_program() {
    let model = text_trace(
        "
        modules: AAAAA...AAAAA...AAAAA.hh
        A = jit_f(1)
        h = jit_helper(2)
        ",
    );
    let report = whole(&model);
    assert_eq!(
        (report.source, times(&report)),
        (StepSource::Modules, vec![8, 8, 5])
    );
    assert!(report.steps[2].is_partial);
    assert!(
        report
            .why
            .iter()
            .any(|why| why.contains("88 % of the module time")),
        "{:?}",
        report.why
    );
}

#[test]
fn dominant_function_with_several_programs_defines_steps() {
    // Same function, two shapes; a helper runs once per step. Every step is 8 ns.
    let model = text_trace(
        "
        modules: AAAAA.h.BBBBB.h.AAAAA.h.
        ops    : aaaaa.b.aaaaa.b.aaaaa.b.
        A = jit_step(1)
        B = jit_step(2)
        h = jit_log(3)
        ",
    );
    let report = whole(&model);
    assert_eq!(
        (report.source, report.marker.as_str()),
        (StepSource::Modules, "jit_step")
    );
    // The last ends with its own program: what follows was not captured to its end.
    assert_eq!(times(&report), [8, 8, 5]);
    assert_eq!(report.time.unwrap().count, 2);
    assert!(report.why[0].contains("no device recorded steps"));
}

#[test]
fn one_very_slow_step_keeps_the_others() {
    // The coefficient of variation of these durations is 1.4.
    let model = text_trace(
        "modules: AAA.BBB.CCC.DDDDDDDDDDDDDDDDDDDDDDDDDDDDDD.EEE.FFF.\n A = jit_f(1)\n B = jit_f(1)\n C = jit_f(1)\n D = jit_f(1)\n E = jit_f(1)\n F = jit_f(1)",
    );
    let report = whole(&model);
    assert_eq!(report.source, StepSource::Modules);
    assert_eq!(times(&report), [4, 4, 4, 31, 4, 3]);
    assert_eq!(
        report
            .outliers()
            .iter()
            .map(|step| step.number)
            .collect::<Vec<_>>(),
        [3]
    );
}

#[test]
fn dominant_program_that_ran_once_is_one_step() {
    let model = text_trace(
        "
        modules: SSSSSSSS.l.s
        S = jit_step_fun(1)
        l = jit_compute_logits(2)
        s = jit_sample(3)
        ",
    );
    let report = whole(&model);
    assert_eq!(
        (report.source, times(&report)),
        (StepSource::Modules, vec![8])
    );
    assert_eq!(report.time.unwrap().stddev, None);
}

#[test]
fn irregular_programs_fall_back_to_the_whole_capture() {
    let model = text_trace("modules: aaa.bbb.cc.dd\n a = f(1)\n b = g(2)\n c = h(3)\n d = i(4)");
    let report = whole(&model);
    assert_eq!(report.source, StepSource::WholeCapture);
    assert_eq!(times(&report), [13]);
    assert_eq!(report.why.len(), 4);
}

/// Slow beside twelve that are left out, and as fast as the others that are not.
#[test]
fn steps_are_slow_beside_the_steps_that_are_counted() {
    let step = |letter: char| {
        format!(
            "{}.",
            letter.to_string().repeat(if letter < 'M' { 4 } else { 6 })
        )
    };
    let steps: String = ('A'..='O').map(step).collect();
    let names: Vec<String> = ('A'..='O')
        .map(|letter| format!("{letter} = jit_f(1)"))
        .collect();
    let model = text_trace(&format!("modules: {steps}\n {}", names.join("\n ")));
    assert_eq!(
        whole(&model).slow_steps().len(),
        2,
        "the last one ends with its program"
    );
    let left_out = report(
        &model,
        &Options {
            warmup_steps: 12,
            ..Options::default()
        },
        Scope::WholeTrace,
    );
    assert_eq!(
        (
            left_out.left_out,
            left_out.slow_steps().len(),
            left_out.outliers().len()
        ),
        (13, 0, 0)
    );
    // Of a part that holds only slow ones, none is slow beside the others.
    let part = report(
        &model,
        &Options::default(),
        Scope::Steps {
            first: 12,
            last: 13,
        },
    );
    assert_eq!((part.outliers().len(), part.slow_steps().len()), (2, 0));
}

#[test]
fn warm_up_steps_are_listed_but_not_counted() {
    let options = Options {
        warmup_steps: 6,
        ..Options::default()
    };
    let report = report(&annotated(), &options, Scope::WholeTrace);
    assert_eq!((report.steps.len(), report.left_out), (20, 6));
    assert_eq!(report.time.map(|stats| stats.max as i64), Some(102));
}

#[test]
fn a_scope_selects_steps() {
    let model = annotated();
    let options = Options::default();
    let some = report(&model, &options, Scope::Steps { first: 4, last: 6 });
    assert_eq!(
        some.steps
            .iter()
            .map(|step| step.number)
            .collect::<Vec<_>>(),
        [4, 5, 6]
    );
    assert_eq!(some.time.unwrap().count, 3);
    assert_eq!(
        some.range_of(5, 5).map(TimeRange::dur),
        Some(Picos::from_ps(1_000))
    );
    assert_eq!(some.range_of(7, 9), None);
}

#[test]
fn an_empty_trace_has_no_steps() {
    let report = whole(&trace_model::TraceBuilder::new().finish());
    assert_eq!(
        (report.source, report.steps.len(), report.time),
        (StepSource::WholeCapture, 0, None)
    );
    assert_eq!(Tabular::tables(&report).len(), 2);
}

/// The second device runs another program first, and joins the loop at its third execution.
#[test]
fn device_that_joins_late_leaves_earlier_steps_complete() {
    let modules = |marks: &str, ops: &str| {
        whole(&text_trace(&format!(
            "
            {marks}
            modules      : AAA.AAA.AAA.AAA.AAA.AAA.
            ops          : aaa.aaa.aaa.aaa.aaa.aaa.
            TPU:1 modules: I.......AAA.AAA.AAA.AAA.
            TPU:1 ops    : {ops}.......aaa.aaa.aaa.aaa.
            A = jit_train(1)
            I = jit_init(2)
            "
        )))
    };
    for marks in [
        "",
        "steps: 000011112222333344445555\n TPU:1 steps: ........2222333344445555",
    ] {
        let report = modules(marks, "a");
        assert_eq!(report.steps.len(), 6, "{marks}");
        let complete = if marks.is_empty() { 5 } else { 6 };
        assert_eq!(
            report.time.map(|time| time.count),
            Some(complete),
            "{:?}",
            report.steps
        );
        assert_eq!(report.steps[1].spans.len(), 1, "{marks}");
        assert_eq!(report.steps[2].spans.len(), 2, "{marks}");
    }
}

/// A device that runs a step whose beginning was not recorded lacks it.
#[test]
fn device_with_ops_of_an_unrecorded_program_lacks_the_step() {
    let report = whole(&text_trace(
        "
        modules      : AAA.AAA.AAA.
        ops          : aaa.aaa.aaa.
        TPU:1 modules: ....AAA.AAA.
        TPU:1 ops    : aaa.aaa.aaa.
        A = jit_train(1)
        ",
    ));
    assert_eq!(
        report.steps[0].left_out.as_deref(),
        Some("partial: not recorded on 1 of 2 devices or hosts")
    );
}

/// Numbers that are unique are kept, in whatever order the steps ran.
#[test]
fn recorded_step_numbers_are_kept() {
    let report = whole(&text_trace("steps: 555566667777222233334444"));
    assert_eq!(
        report
            .steps
            .iter()
            .map(|step| step.number)
            .collect::<Vec<_>>(),
        [5, 6, 7, 2, 3, 4]
    );
}
