//! Tests each rule with and without its cause.

use ::facts::clock_alignment::{ClockSync, PairedBy};
use engine::{Options, ReportCache, Scope, Tabular as _};
use sample_traces::{text_builder, text_trace};
use trace_model::{
    GroupKind, IssueKind, Severity, SliceAttr, SliceSpec, TimeRange, Timestamp, TraceModel,
    TrackKind,
};

use super::*;

fn report(model: &TraceModel) -> DoctorReport {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    cx.report::<Doctor>().unwrap().as_ref().clone()
}

fn ids(model: &TraceModel) -> Vec<&'static str> {
    report(model)
        .findings
        .iter()
        .map(|finding| finding.id)
        .collect()
}

const HEALTHY: &str = "
    @device flops=2e14 hbm=8e11 TPU v5 lite
    steps: 000011112222
    ops  : aaa.aaa.aaa.
    a = fusion.1 [loop fusion]
";

#[test]
fn healthy_capture_has_no_findings() {
    let report = report(&text_trace(HEALTHY));
    assert_eq!(report.findings, []);
    assert_eq!(
        (report.slices, report.devices, report.lost_events),
        (6, 1, 0)
    );
    assert!(report.bytes_per_slice.is_some());
}

#[test]
fn capture_without_a_tpu_says_which_checks_apply() {
    let tpu = report(&text_trace(HEALTHY));
    assert_eq!(tpu.not_applicable, None);
    assert_eq!(tpu.tables()[0].notes, ["Nothing limits this capture."]);

    let mut builder = text_builder("host: aaa");
    builder.group(None, GroupKind::Gpu { ordinal: 0 }, "/device:GPU:0");
    let gpu = report(&builder.finish());
    let notes = &gpu.tables()[0].notes;
    assert!(
        notes
            .last()
            .is_some_and(|note| note.starts_with("No TPU is in this capture")),
        "{notes:?}"
    );
    assert!(!notes.iter().any(|note| note.contains("Nothing limits")));
}

#[test]
fn devices_of_a_cut_file_are_counted() {
    let message = |cut: &[usize]| {
        let mut builder = text_builder(
            "TPU:0 ops: aaa\nTPU:1 ops: aa.\nTPU:2 ops: a..\na = fusion.1 [loop fusion]",
        );
        builder.log(IssueKind::TruncatedFile, || "byte 9".to_owned());
        let ops: Vec<_> = builder.tracks().map(|(_, track)| track.group).collect();
        for &nth in cut {
            builder.group_mut(ops[nth]).is_cut = true;
        }
        report(&builder.finish()).findings[0].message.clone()
    };
    assert_eq!(message(&[]), "The end of the session is missing.");
    assert_eq!(
        message(&[1, 2]),
        "The end of the file is missing: 2 of 3 devices are left out of the numbers."
    );
    assert!(message(&[0, 1, 2]).contains("after their last recorded op is unknown"));
}

#[test]
fn sessions_apart_are_said_first() {
    let mut builder = text_builder(&HEALTHY.replace("steps:", "# "));
    builder.log(IssueKind::SessionsApart, || {
        "b began 7 minutes after a".to_owned()
    });
    let found = report(&builder.finish()).findings;
    assert_eq!((found[0].id, found[0].name), ("Q18", "sessions-apart"));
    assert!(found[0].message.starts_with("b began 7 minutes after a: "));
}

#[test]
fn empty_capture_reports_only_missing_steps() {
    assert_eq!(ids(&trace_model::TraceBuilder::new().finish()), ["Q03"]);
}

/// Such files are read with a list of roles, too.
#[test]
fn a_trace_of_another_tool_names_the_list_of_its_devices() {
    let mut builder = trace_model::TraceBuilder::new();
    builder.begin_source(Source::default());
    let process = builder.group(None, GroupKind::Process { pid: 1 }, "replica 0");
    let track = builder.track(process, TrackKind::HostThread, 1, "stage");
    let label = builder.label("batch", None);
    builder.add_slice(
        track,
        SliceSpec::new(
            TimeRange::new(Timestamp::ZERO, Timestamp::from_ps(9)),
            label,
        ),
    );
    let found = report(&builder.finish()).findings;
    let cure = found
        .iter()
        .find(|finding| finding.id == "Q04")
        .map(|finding| finding.cure);
    assert!(
        cure.is_some_and(|cure| cure.contains("--roles FILE.toml")),
        "{cure:?}"
    );
}

/// How many events were in what was skipped is not known.
#[test]
fn skipped_parts_are_told_by_their_bytes() {
    let message = |name: &str, events: u64| {
        let mut builder = text_builder(HEALTHY);
        let source = builder.source_mut();
        (source.name, source.packed_bytes) = (name.to_owned(), 2_490_395);
        let log = builder.log_mut();
        log.add_skipped(1_426_187, || "byte 1254".to_owned());
        log.add_many(IssueKind::MalformedEvent, events, || "byte 9".to_owned());
        let found = report(&builder.finish()).findings;
        found
            .into_iter()
            .find(|finding| finding.id == "Q12")
            .unwrap()
            .message
    };
    assert_eq!(
        message("a.xplane.pb", 0),
        "One place is damaged: at least 1.426 MB (57.3 % of the file) were not read, nor the events in them."
    );
    assert_eq!(
        message("a.xplane.pb.gz", 2),
        "One place is damaged: at least 1.426 MB were not read, nor the events in them; besides, 2 events could not be read \
         and are missing."
    );
}

#[test]
fn lost_data_is_listed_first() {
    let mut builder = text_builder(&HEALTHY.replace("steps:", "# "));
    builder.log(IssueKind::ExportLimit, || "1000000 events".to_owned());
    builder.log(IssueKind::MalformedEvent, || "event 7".to_owned());
    let found = report(&builder.finish());
    assert_eq!(
        found
            .findings
            .iter()
            .map(|finding| finding.id)
            .collect::<Vec<_>>(),
        ["Q01", "Q12", "Q03"]
    );
    assert_eq!((found.lost_events, found.issues.len()), (2, 2));
}

#[test]
fn missing_devices_and_peaks_are_reported() {
    assert_eq!(ids(&text_trace("host main: aaaa")), ["Q03", "Q04"]);
    assert_eq!(ids(&text_trace(&HEALTHY.replace("@device", "# "))), ["Q05"]);
}

/// GPUs, devices of unknown kinds and processes of other tools are not "no device".
#[test]
fn devices_that_are_no_tpus_are_devices() {
    let with = |kind: GroupKind, name: &str| {
        let mut builder = text_builder("host main: aaaa");
        builder.group(None, kind, name);
        report(&builder.finish())
            .findings
            .into_iter()
            .find(|finding| finding.id == "Q04")
    };
    assert!(with(GroupKind::Gpu { ordinal: 0 }, "/device:GPU:0").is_none());
    assert!(with(GroupKind::Custom, "/device:CUSTOM:0").is_none());
    let foreign = with(GroupKind::Process { pid: 7 }, "GPU 7").unwrap();
    assert!(
        !foreign.message.contains("No device was recorded"),
        "{}",
        foreign.message
    );
    let host_only = with(GroupKind::HostProcess, "/host:CPU").unwrap();
    assert!(
        host_only.cure.contains("raise_error_on_start_failure"),
        "{}",
        host_only.cure
    );
}

#[test]
fn capture_of_half_the_devices_is_reported() {
    let picture = format!(
        "{HEALTHY}\n TPU:1 steps: 000011112222\n TPU:1 ops: rrr.rrr.rrr.\n r = all-reduce.1 [all-reduce] :: %all-reduce.1 = f32[8]{{0}} all-reduce(f32[8]{{0}} %p), replica_groups=[4,2]<=[2,4]T(1,0)"
    );
    let found = report(&text_trace(&picture));
    let finding = found
        .findings
        .iter()
        .find(|finding| finding.id == "Q08")
        .unwrap();
    assert!(
        finding
            .message
            .contains("on 8 devices, and the capture holds 2"),
        "{}",
        finding.message
    );
}

#[test]
fn slow_first_step_is_warm_up() {
    assert_eq!(
        ids(&text_trace(
            &HEALTHY.replace("000011112222", "000000000111222333")
        )),
        Vec::<&str>::new()
    );
    assert_eq!(
        ids(&text_trace(
            &HEALTHY.replace("000011112222", "0000000000111222333")
        )),
        ["Q09"]
    );
}

#[test]
fn python_tracing_overhead_is_reported() {
    let host = |names: &str| text_trace(&format!("{HEALTHY}\n host main: aabbccdd\n{names}"));
    assert_eq!(
        ids(&host(" a = f\n b = g\n c = h\n d = $x.py:1 f")),
        Vec::<&str>::new()
    );
    assert_eq!(
        ids(&host(" a = f\n b = g\n c = $x.py:2 g\n d = $x.py:1 f")),
        ["Q10"]
    );
}

/// Two programs that start 100 and 120 µs before their enqueue, and whose host notices their end 30 µs after it at
/// the earliest.
fn skewed(completions: [i64; 2]) -> TraceModel {
    use trace_model::{GroupKind, Picos, SliceSpec, TimeRange, Timestamp, TrackKind};
    let mut builder = text_builder(HEALTHY);
    let host = builder.group(None, GroupKind::Host, "text");
    let core = builder.group(
        Some(host),
        GroupKind::TensorCore { ordinal: 0 },
        "/device:TPU:0",
    );
    let cpu = builder.group(Some(host), GroupKind::HostProcess, "/host:CPU");
    let modules = builder.track(core, TrackKind::Modules, 70, "XLA Modules");
    let thread = builder.track(cpu, TrackKind::HostThread, 71, "main");
    let at = |us: i64| {
        TimeRange::at(
            Timestamp::from_ps(us * 1_000_000),
            Picos::from_ps(10_000_000),
        )
    };
    let [module, enqueue, done] =
        ["jit_f(1)", "DoEnqueueProgram", "CompleteCallbacks"].map(|name| builder.label(name, None));
    for (run, (begin, enqueued, completed)) in
        [(1000, 1100, completions[0]), (2000, 2120, completions[1])]
            .into_iter()
            .enumerate()
    {
        for (track, label, us) in [
            (modules, module, begin),
            (thread, enqueue, enqueued),
            (thread, done, completed),
        ] {
            let key = builder.add_slice(track, SliceSpec::new(at(us), label));
            builder.set_attr(key, SliceAttr::RunId, run as i64);
            builder.set_attr(key, SliceAttr::DeviceOrdinal, 0);
        }
    }
    builder.finish()
}

#[test]
fn clock_offset_is_bounded_by_host_events() {
    let found = report(&skewed([1150, 2160]));
    let shift = &found.clock_shifts[0];
    assert_eq!((shift.pairs, shift.paired_by), (2, PairedBy::RunId));
    assert_eq!(
        (
            shift.bounds.at_least_ps.ps(),
            shift.bounds.at_most_ps.map(Picos::ps)
        ),
        (120_000_000, Some(140_000_000))
    );
    assert_eq!(
        (shift.shift_ps.ps(), shift.sync),
        (120_000_000, ClockSync::Shifted)
    );
    assert!(
        found
            .findings
            .iter()
            .any(|finding| finding.id == "Q06" && finding.severity == Severity::Info)
    );
    let inconsistent = report(&skewed([1115, 2160]));
    assert_eq!(inconsistent.clock_shifts[0].sync, ClockSync::Poor);
}

#[test]
fn recorded_file_and_device_messages_are_listed_once() {
    use trace_model::{ArgValue, GroupKind, Source};
    let mut builder = trace_model::TraceBuilder::new();
    builder.begin_source(Source {
        name: "run.log".to_owned(),
        ..Source::default()
    });
    builder.source_mut().facts = [("clock", "940 MHz"), ("network", "Ring of 2")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    for ordinal in 0..3 {
        let core = builder.group(
            None,
            GroupKind::TensorCore { ordinal },
            &format!("core {ordinal}"),
        );
        builder.set_group_fact(core, "clock", ArgValue::Text("940 MHz".to_owned()));
        builder.set_group_fact(core, "array busy", ArgValue::Text(format!("{ordinal} %")));
        builder.set_group_fact(core, "arrays", ArgValue::Int(2));
        builder.set_group_fact(core, "core_details", ArgValue::Opaque(4));
    }
    let found = report(&builder.finish());
    let said: Vec<_> = found
        .facts
        .iter()
        .map(|fact| (fact.of_whom(), &*fact.name, &*fact.value))
        .collect();
    let said: Vec<_> = said
        .iter()
        .map(|(of, name, value)| (&**of, *name, *value))
        .collect();
    let expected = [
        ("run.log", "clock", "940 MHz"),
        ("run.log", "network", "Ring of 2"),
        ("core 0 and 2 others", "arrays", "2"),
        ("core 0", "array busy", "0 %"),
        ("core 1", "array busy", "1 %"),
        ("core 2", "array busy", "2 %"),
    ];
    assert_eq!((&said[..], found.facts_note()), (&expected[..], None));
}

#[test]
fn long_fact_lists_are_truncated() {
    use trace_model::{ArgValue, GroupKind};
    let mut builder = trace_model::TraceBuilder::new();
    let facts = (0..1000).map(|at| (format!("fact {at}"), "é".repeat(10_000)));
    builder.source_mut().facts = facts.collect();
    let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "core 0");
    builder.set_group_fact(core, "clock", ArgValue::Text("940 MHz".to_owned()));
    let found = report(&builder.finish());
    assert_eq!((found.facts.len(), found.facts_left_out), (65, 936));
    assert_eq!(
        found.facts_note().unwrap(),
        "936 more facts are not listed."
    );
    assert!(
        found
            .facts
            .iter()
            .all(|fact| fact.value.chars().count() <= 401),
        "nor all of a long one"
    );
    assert_eq!(
        found.facts.last().unwrap().name,
        "clock",
        "devices have their own"
    );
}

#[test]
fn rates_above_peak_are_reported_with_their_cause() {
    let picture = |flops: &str| {
        format!(
            "@column 1us
            @device flops=1e12 hbm=1e9 TPU v5 lite
            ops: kkkkkkkkkk
            k = kernel.1 [custom-call] flops={flops} hbm_read=10 hbm_write=0"
        )
    };
    let finding = |flops: &str| {
        let findings = report(&text_trace(&picture(flops))).findings;
        findings.into_iter().find(|finding| finding.id == "Q15")
    };
    let found = finding("2e7").unwrap();
    let named = "kernel.1 at 200.0 % of peak (Compute): its author declares more work than it does";
    assert!(found.evidence.contains(named), "{}", found.evidence);
    assert_eq!(finding("1.001e7"), None);
}

/// Which flag was missing follows from what is there.
#[test]
fn kernels_without_rows_say_which_flag_was_missing() {
    let kernel = "K = k.1 [custom-call] tf=jit(f)/k/pallas_call: flops=10\n u = ep_run_kernel";
    let found = |rows: &str| {
        let report = report(&text_trace(&format!(
            "{HEALTHY}\n TPU:1 ops: KKKK\n{rows}\n{kernel}"
        )));
        report
            .findings
            .into_iter()
            .find(|finding| finding.id == "Q17")
    };
    let (stages, schedule) = ("TPU:1 scopes: uuuu\n", "TPU:1 counter MXU: 5555\n");
    let cure = |rows: &str| {
        found(rows).map(|finding| {
            (
                finding.cure.contains("custom_call_tracing"),
                finding.cure.contains("llo_debug_info"),
            )
        })
    };
    assert_eq!(cure(""), Some((true, true)));
    assert_eq!(cure(stages), Some((false, true)));
    assert_eq!(cure(schedule), Some((true, false)));
    assert_eq!(cure(&format!("{stages}{schedule}")), None);
    let evidence = found(stages).unwrap().evidence;
    assert!(
        evidence.contains("scopes yes, LLO series or lines no, bundle markers 0"),
        "{evidence}"
    );
    assert!(
        !ids(&text_trace(HEALTHY)).contains(&"Q17"),
        "there is no kernel"
    );
}

/// `skip` bytes of a file of 100 kB were not read, and what follows its document.
fn lossy(skip: usize, has_rest: bool) -> TraceModel {
    let mut builder = text_builder(HEALTHY);
    builder.source_mut().packed_bytes = 100_000;
    builder.log_mut().add_skipped(skip, || "byte 9".to_owned());
    if has_rest {
        builder.log(IssueKind::ContentAfterEnd, || "byte 90".to_owned());
    }
    builder.finish()
}

#[test]
fn skipped_bytes_decide_whether_a_loss_is_small() {
    assert!(is_little_lost(&lossy(100, false)));
    assert!(!is_little_lost(&lossy(57_300, false)));
    assert!(!is_little_lost(&lossy(100, true)));
    assert!(!is_little_lost(&text_trace(HEALTHY)), "nothing is counted");
}

#[test]
fn what_follows_a_document_is_no_event() {
    let message = |model: &TraceModel| report(model).findings[0].message.clone();
    let mut builder = text_builder(HEALTHY);
    builder.log(IssueKind::ContentAfterEnd, || "byte 90".to_owned());
    assert_eq!(
        message(&builder.finish()),
        "What follows the end of the document was not read."
    );
    let both = message(&lossy(57_300, true));
    let expected =
        "(57.3 % of the file) were not read, nor the events in them; besides, what follows the end";
    assert!(both.contains(expected), "{both}");
}
