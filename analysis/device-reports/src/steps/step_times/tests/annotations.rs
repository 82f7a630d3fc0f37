//! Steps that the host names.

use super::*;

#[test]
fn host_annotations_keep_all_steps_and_mark_compilation() {
    let report = whole(&annotated());
    assert_eq!(
        (report.source, report.steps.len()),
        (StepSource::HostAnnotations, 20)
    );
    let outliers = report.outliers();
    assert_eq!(outliers.len(), 1);
    assert_eq!((outliers[0].number, outliers[0].compile_ps.ps()), (5, 900));
    assert_eq!(outliers[0].remark(), "slow, compiles");
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

/// Two hosts annotate steps 100 to 129 of training; the first also evaluates every tenth step, with numbers of its own
/// that the training uses, too. The clock of the second is 2 behind.
fn evaluating_host() -> TraceModel {
    let mut builder = trace_model::TraceBuilder::new();
    let train = builder.label("train", None);
    for host in 0..2 {
        let machine = builder.group(None, GroupKind::Host, &format!("host{host}"));
        let process = builder.group(Some(machine), GroupKind::HostProcess, "/host:CPU");
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
    assert!(
        on_both.iter().all(|step| step.time_ps.ps() == 10),
        "{on_both:?}"
    );
    assert!(
        report.steps.iter().all(|step| !step.is_partial),
        "the second host did not evaluate; nothing is missing"
    );
    assert!(
        on_both
            .iter()
            .all(|step| step.interval_ps.is_none_or(|time| time.ps() == 11)),
        "{on_both:?}"
    );
    let same_number = |step: &&Step| {
        step.spans
            .windows(2)
            .all(|pair| (pair[0].range.start - pair[1].range.start).ps() == 2)
    };
    assert!(on_both.iter().all(same_number), "{on_both:?}");
}

/// A host that annotates three steps, and devices whose programs start at these times.
fn programs_of_annotations(starts: [&[i64]; 2]) -> TraceModel {
    let mut builder = trace_model::TraceBuilder::new();
    let [train, program] = ["train", "jit_step(7)"].map(|name| builder.label(name, None));
    let at = |start: i64, len: i64| TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(len));
    let host = builder.group(None, GroupKind::Host, "host");
    let process = builder.group(Some(host), GroupKind::HostProcess, "/host:CPU");
    let thread = builder.track(process, TrackKind::HostThread, 0, "main");
    for number in 0..3 {
        let key = builder.add_slice(thread, SliceSpec::new(at(100 * number, 100), train));
        builder.set_attr(key, SliceAttr::StepNum, number);
    }
    for (ordinal, starts) in (0..).zip(starts) {
        let kind = GroupKind::TensorCore { ordinal };
        let device = builder.group(Some(host), kind, &format!("/device:TPU:{ordinal}"));
        let programs = builder.track(device, TrackKind::Modules, 10, "XLA Modules");
        for &start in starts {
            builder.add_slice(programs, SliceSpec::new(at(start, 10), program));
        }
    }
    builder.finish()
}

#[test]
fn the_weakest_of_several_devices_says_how_programs_are_known() {
    let (even, uneven) = ([5, 105, 205], [5, 105, 120, 205]);
    for (starts, by) in [
        ([&even[..], &even[..]], "their order"),
        ([&even, &uneven], "the times at which they start"),
        ([&uneven, &even], "the times at which they start"),
    ] {
        let report = whole(&programs_of_annotations(starts));
        assert_eq!(
            report.source,
            StepSource::AnnotatedPrograms,
            "{:?}",
            report.why
        );
        assert!(report.why[1].ends_with(by), "{:?}", report.why);
    }
}
