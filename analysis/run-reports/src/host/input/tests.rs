//! Waiting for input, and transfers to devices.

use engine::{Options, ReportCache, Scope};
use trace_model::*;

use super::*;

fn ps(time: i64) -> Picos {
    Picos::from_ps(time)
}

fn report(model: &TraceModel) -> InputReport {
    report_of(model, Scope::WholeTrace)
}

fn report_of(model: &TraceModel, scope: Scope) -> InputReport {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope,
        options: &options,
        reports: &reports,
    };
    cx.report::<Input>().unwrap().as_ref().clone()
}

#[test]
fn infeed_and_input_gaps_sum_to_the_input_wait() {
    let model = sample_traces::text_trace(
        "
        steps    : 00000000001111111111
        modules  : AAAAAA....AAAAAA....
        ops      : iiffff....ifffff....
        host main: ......IIp.......IIId
        A = jit_f(1)
        i = infeed.1 [infeed]
        f = fusion.1 [loop fusion]
        I = IteratorGetNext
        p = batched_device_put
        d = PjitFunction(f)
        ",
    );
    let report = report(&model);
    let device = &report.devices[0];
    // The time after the last program is not input wait of a step.
    assert_eq!(
        (device.length_ps, device.infeed_ps, device.gap_ps),
        (ps(16_000), Some(ps(3_000)), Some(ps(2_000)))
    );
    assert_eq!(device.percent, Some(Percent(31.25)));
    // Of the loop it is: a device has waited for as long as its steps together.
    let of_steps = report_of(&model, Scope::Steps { first: 0, last: 1 });
    let device = &of_steps.devices[0];
    assert_eq!(
        (device.length_ps, device.infeed_ps, device.gap_ps),
        (ps(20_000), Some(ps(3_000)), Some(ps(5_000)))
    );
    let steps: Vec<_> = report
        .steps
        .iter()
        .map(|step| (step.infeed_ps, step.gap_ps))
        .collect();
    assert_eq!(
        steps,
        [
            (Some(ps(2_000)), Some(ps(2_000))),
            (Some(ps(1_000)), Some(ps(3_000)))
        ]
    );
    assert!(report.transfers.is_empty());
}

/// Nor is it known of what is missing at the end of a file; what was recorded is the least.
#[test]
fn gaps_without_input_are_unknown_in_a_cut_file() {
    let gap = |host: &str| {
        let mut builder = sample_traces::text_builder(&format!(
            "modules: AAAA....AAAA\nops: ffff....ffff\nhost main: {host}\nA = jit_f(1)\nf = fusion.1 [loop fusion]\n\
             I = IteratorGetNext\np = PjitFunction(f)"
        ));
        builder.log(IssueKind::TruncatedFile, || "byte 9".to_owned());
        let report = report(&builder.finish());
        (
            report.devices[0].gap_ps,
            report.devices[0].percent.is_some(),
        )
    };
    assert_eq!(gap("p..........."), (None, false));
    assert_eq!(gap("....II......"), (Some(ps(2_000)), true));
}

/// What a host that was not recorded did in the gaps is unknown; ops that wait for it show themselves.
#[test]
fn without_its_host_only_infeed_ops_show_that_a_device_waits() {
    for (op, waits) in [("f", None), ("i", Some(ps(3_000)))] {
        let picture = format!(
            "modules: AAAA....AAAA\nops: {op}{op}{op}f....ffff\nA = jit_f(1)\ni = infeed.1 [infeed]\nf = fusion.1 [loop fusion]"
        );
        let report = report(&sample_traces::text_trace(&picture));
        let device = &report.devices[0];
        assert_eq!((device.gap_ps, device.total_ps()), (None, waits), "{op}");
        assert_eq!(device.percent.is_some(), waits.is_some(), "{op}");
    }
}

/// Three of five columns of each step wait; the work of a pool in parallel does not count.
#[test]
fn host_only_trace_reports_the_waiting_share_of_steps() {
    let model = sample_traces::text_trace(
        "
        @column 1ms
        host python: AAAAABBBBBCCCCCDDDDD
                   : nnn..nnn..nnn..nnn..
        host pool  : mmmmmmmmmmmmmmmmmmmm
        host tf    : ..g....g....g....g..
        A = train step=0
        B = train step=1
        C = train step=2
        D = train step=3
        n = DataLoader.__next__
        m = Iterator::Root::Map
        g = IteratorGetNext
        ",
    );
    let found = report(&model);
    let [host] = &found.devices[..] else {
        panic!("{:?}", found.devices)
    };
    assert_eq!(
        (host.length_ps, host.gap_ps, host.percent),
        (
            ps(20_000_000_000),
            Some(ps(12_000_000_000)),
            Some(Percent(60.0))
        )
    );
    assert_eq!(host.event.as_deref(), Some("DataLoader.__next__"));
    assert!(
        found
            .steps
            .iter()
            .all(|step| step.percent == Some(Percent(60.0))),
        "{:?}",
        found.steps
    );
}

#[test]
fn host_input_wait_is_unknown_without_input_events() {
    let model =
        sample_traces::text_trace("host python: AAAAABBBBB\nA = train step=0\nB = train step=1");
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model: &model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    assert!(cx.report::<Input>().is_err());
}

/// Two transfers of 4 kB that overlap in flight: 8 kB in 3 µs. Stages repeat sizes.
#[test]
fn overlapping_transfers_count_once_until_they_end() {
    let mut builder = sample_traces::text_builder("@device TPU v5 lite\nmodules: A\n A = jit_f(1)");
    let host = builder.group(None, GroupKind::Host, "text");
    let cpu = builder.group(Some(host), GroupKind::HostProcess, "/host:CPU");
    let thread = builder.track(cpu, TrackKind::HostThread, 71, "main");
    let [begin, done] = [
        "tpu::System::TransferToDevice",
        "tpu::System::TransferToDevice=>IssueEvent=>Done",
    ]
    .map(|name| builder.label(name, None));
    let at = |us: i64, ns: i64| {
        TimeRange::at(
            Timestamp::from_ps(us * 1_000_000),
            Picos::from_ps(ns * 1_000),
        )
    };
    for (id, (from, to)) in [(10, 12), (11, 13)].into_iter().enumerate() {
        let [from, to] = [(from, begin), (to, done)].map(|(us, label)| {
            let key = builder.add_slice(thread, SliceSpec::new(at(us, 100), label));
            builder.set_attr(key, SliceAttr::TransferBytes, 4_000);
            key
        });
        builder.add_flow(FlowEnd::Slice(from), FlowEnd::Slice(to), id as u64);
    }
    let report = report(&builder.finish());
    let [transfers] = &report.transfers[..] else {
        panic!("{:?}", report.transfers)
    };
    assert_eq!(
        (transfers.direction, transfers.count, transfers.bytes),
        ("host to device", 2, 8_000)
    );
    assert_eq!(transfers.in_flight_ps, Some(ps(3_000_000)));
    assert!((transfers.bytes_per_second.unwrap() - 8_000.0 / 3e-6).abs() < 1.0);
    let tables = Tabular::tables(&report);
    assert!(tables.iter().all(|table| {
        table
            .rows
            .iter()
            .all(|row| row.len() == table.columns.len())
    }));
}
