//! Steps of drawn traces, one source of steps a test.

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
        .map(|step| step.time_ps / 1000)
        .collect()
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
            .map(|step| step.interval_ps)
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

#[test]
fn host_annotations_keep_all_steps_and_mark_compilation() {
    let report = whole(&annotated());
    assert_eq!(
        (report.source, report.steps.len()),
        (StepSource::HostAnnotations, 20)
    );
    let outliers = report.outliers();
    assert_eq!(outliers.len(), 1);
    assert_eq!((outliers[0].number, outliers[0].compile_ps), (5, 900));
    assert_eq!(outliers[0].remark(), "slow, compiles");
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
fn pytorch_step_names_define_steps() {
    let report = whole(&text_trace(
        "host main: aaaabbbb\na = ProfilerStep#1\nb = ProfilerStep#2",
    ));
    assert_eq!(
        (report.source, report.marker.as_str()),
        (StepSource::HostAnnotations, "ProfilerStep")
    );
    assert_eq!(times(&report), [4, 4]);
}

#[test]
fn host_without_annotations_is_one_pseudo_step() {
    let report = whole(&text_trace("host main: aaaa.bb"));
    assert_eq!(
        (report.source, times(&report), report.has_steps()),
        (StepSource::WholeCapture, vec![7], false)
    );
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

fn letters(report: &StepsReport) -> String {
    report
        .steps
        .iter()
        .map(|step| report.class_of(step).map_or("?", |class| class.id.as_str()))
        .collect()
}

#[test]
fn steps_with_equal_programs_share_a_class() {
    // Every third step evaluates, too; step 4 runs another program of the same function.
    let model = text_trace(
        "
        steps  : 0000111122222222333344445555555566667777888888889999
        modules: TTT.TTT.TTT.EEE.TTT.SSS.TTT.EEE.TTT.TTT.TTT.EEE.TTT.
        T = jit_train(1)
        S = jit_train(2)
        E = jit_eval(3)
        ",
    );
    let report = whole(&model);
    assert_eq!(letters(&report), "AABAABAABA");
    let titles: Vec<_> = report
        .classes
        .iter()
        .map(|class| (class.title.as_str(), class.steps))
        .collect();
    assert_eq!(titles, [("jit_train", 7), ("jit_eval + jit_train", 3)]);
    // Twice as long, and yet no outlier.
    assert!(report.outliers().is_empty());
    let medians: Vec<_> = report
        .classes
        .iter()
        .map(|class| class.time.unwrap().median as i64)
        .collect();
    assert_eq!(medians, [4_000, 8_000]);
    assert_eq!(report.tables()[0].rows.len(), 6);
}

#[test]
fn class_is_split_by_time_only_if_both_parts_are_large() {
    let steps = |lengths: &[usize]| {
        let digits = lengths
            .iter()
            .enumerate()
            .map(|(k, &len)| (k % 10).to_string().repeat(len));
        whole(&text_trace(&format!(
            "steps: {}",
            digits.collect::<String>()
        )))
    };
    // Every second step is long: two classes. Three different long ones are outliers.
    assert_eq!(letters(&steps(&[3, 9, 3, 9, 3, 9, 3, 9])), "ABABABAB");
    let rare = steps(&[3, 3, 3, 9, 3, 3, 20, 3, 3, 50]);
    assert_eq!(
        (letters(&rare).as_str(), rare.outliers().len()),
        ("AAAAAAAAAA", 3)
    );
    assert_eq!(steps(&[3, 9, 3, 9, 3, 9]).classes[1].title, "Steps, long");
}

#[test]
fn excluded_steps_give_a_reason() {
    let options = Options {
        warmup_steps: 1,
        ..Options::default()
    };
    let report = report(&annotated(), &options, Scope::WholeTrace);
    assert_eq!(
        report.steps[0].left_out.as_deref(),
        Some("warm-up: among the first 1, as asked for")
    );
    assert_eq!(report.steps[1].left_out, None);
    let model = text_trace("steps: 000011112222\n TPU:1 steps: ....11112222");
    let report = whole(&model);
    let why = report.steps[0].left_out.as_deref();
    assert_eq!(
        why,
        Some("partial: not recorded on 1 of 2 devices or hosts")
    );
}

#[test]
fn compiling_first_step_is_warm_up_and_later_one_is_slow() {
    let (mut compiles, mut marks) = (String::new(), String::new());
    for step in 0..8 {
        let len = if [0, 5].contains(&step) { 30 } else { 4 };
        marks += &step.to_string().repeat(len);
        compiles += &"C".repeat(len - 4);
        compiles += "....";
    }
    let report = whole(&text_trace(&format!(
        "host main: {compiles}\n steps: {marks}\n C = backend_compile"
    )));
    let warmup: Vec<u32> = report
        .steps
        .iter()
        .filter(|step| step.is_warmup)
        .map(|step| step.number)
        .collect();
    assert_eq!((warmup, report.left_out), (vec![0], 1));
    assert_eq!(
        report
            .outliers()
            .iter()
            .map(|step| step.number)
            .collect::<Vec<_>>(),
        [0, 5]
    );
    assert_eq!(
        report.steps[0].left_out.as_deref(),
        Some("warm-up: compiles for 26.00 ns of 30.00 ns")
    );
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

/// Two hosts annotate steps 100 to 129 of training; the first also evaluates every tenth step, with numbers of its own
/// that the training uses, too. The clock of the second is 2 behind.
fn evaluating_host() -> TraceModel {
    let mut builder = trace_model::TraceBuilder::new();
    let train = builder.label("train", None);
    for host in 0..2 {
        let machine = builder.group(None, trace_model::GroupKind::Host, &format!("host{host}"));
        let process = builder.group(
            Some(machine),
            trace_model::GroupKind::HostProcess,
            "/host:CPU",
        );
        let thread = builder.track(process, TrackKind::HostThread, host, "main");
        let mut at = 1_000 - 2 * host;
        let annotate = |builder: &mut trace_model::TraceBuilder, at: i64, len: i64, number: i64| {
            let range = TimeRange::at(Timestamp::from_ps(at), Picos::from_ps(len));
            let key = builder.add_slice(thread, SliceSpec::new(range, train));
            builder.set_attr(key, SliceAttr::StepNum, number);
        };
        for number in 0..30 {
            annotate(&mut builder, at, 10, 100 + number);
            at += 11;
            if number % 10 == 4 {
                if host == 0 {
                    annotate(&mut builder, at, 250, 100 + number / 10);
                }
                at += 254;
            }
        }
    }
    builder.finish()
}

#[test]
fn steps_of_two_hosts_are_matched_by_number() {
    let report = whole(&evaluating_host());
    assert_eq!(report.steps.len(), 33);
    assert_eq!(report.steps[5].title(), "5 (recorded as 100)");
    let on_both: Vec<&Step> = report
        .steps
        .iter()
        .filter(|step| step.spans.len() == 2)
        .collect();
    assert_eq!(on_both.len(), 30, "each training step is one on both hosts");
    assert!(on_both.iter().all(|step| step.time_ps == 10), "{on_both:?}");
    assert!(
        report.steps.iter().all(|step| !step.is_partial),
        "the second host did not evaluate; nothing is missing"
    );
    assert!(
        on_both
            .iter()
            .all(|step| step.interval_ps.is_none_or(|ps| ps == 11)),
        "{on_both:?}"
    );
    let same_number = |step: &&Step| {
        step.spans
            .windows(2)
            .all(|pair| (pair[0].range.start - pair[1].range.start).ps() == 2)
    };
    assert!(on_both.iter().all(same_number), "{on_both:?}");
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
