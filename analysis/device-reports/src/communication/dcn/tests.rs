use engine::{Options, ReportCache, Scope};
use sample_traces::text_trace;
use trace_model::TraceModel;

use super::*;

fn report_of(model: &TraceModel) -> Result<DcnReport> {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    cx.report::<Dcn>().map(|report| report.as_ref().clone())
}

/// Two collectives that overlap, with the times of a case in `XProf`'s own tests:
/// slack 2 and 2, stall 6 and 140, observed 11 and 146 µs.
#[test]
fn reports_slack_stall_and_observed_time_of_overlapping_collectives() {
    let begin = |name: &str, opcode: &str, rendezvous: &str, channel: u32| {
        format!(
            "{name} [host {opcode}] :: %{name} = (f32[256]{{0}}, u32[], token[]) {opcode}(%p, %t), channel_id={channel}, \
             is_host_transfer=true, frontend_attributes={{_xla_host_transfer_rendezvous=\"{rendezvous}\",\
             _xla_megascale_transfer_type=\"ALL_REDUCE\",_xla_megascale_target=\"{{1,2,3,4}}x{{0:7}}\"}}"
        )
    };
    let end = |name: &str, opcode: &str, of: &str, channel: u32| {
        format!(
            "{name} [host {opcode}] :: %{name} = (f32[256]{{0}}, token[]) {opcode}(%{of}), channel_id={channel}, is_host_transfer=true"
        )
    };
    let long = "R".repeat(136);
    let picture = format!(
        "
        @column 1us
        modules: MMMMMMMMMMMMMMMMM
        ops    : ..AABffaCCcrrD{long}
        M = jit_f(1)
        f = fusion.1 [loop fusion]
        A = {}
        B = {}
        a = {}
        C = {}
        c = {}
        r = {}
        D = {}
        R = {}
        ",
        begin("send.1", "send", "one", 1),
        begin("send.2", "send", "two", 2),
        end("send-done.1", "send-done", "send.1", 1),
        end("send-done.2", "send-done", "send.2", 2),
        begin("recv.3", "recv", "one", 3),
        end("recv-done.3", "recv-done", "recv.3", 3),
        begin("recv.4", "recv", "two", 4),
        end("recv-done.4", "recv-done", "recv.4", 4),
    );
    let report = report_of(&text_trace(&picture)).unwrap();
    let times: Vec<_> = report
        .collectives
        .iter()
        .map(|row| {
            let mean = row.mean.unwrap();
            (
                row.rendezvous.as_str(),
                mean.slack_ps / 1e6,
                mean.stall_ps / 1e6,
                mean.observed_ps / 1e6,
            )
        })
        .collect();
    assert_eq!(times, [("two", 2.0, 140.0, 146.0), ("one", 2.0, 6.0, 11.0)]);
    let one = &report.collectives[1];
    assert_eq!(
        (one.transfer.as_deref(), one.slices, one.transmitted_bytes),
        (Some("ALL_REDUCE"), Some(4), Some(1536.0))
    );
    assert!((one.required_bandwidth.unwrap() - 1536.0 / 2e-6).abs() < 1.0);
    assert_eq!(
        (
            report.devices.len(),
            report.devices[0].occurrences,
            report.unmatched
        ),
        (1, 2, 0)
    );
    assert_eq!(report.devices[0].stall_ps.ps(), 146_000_000);
}

#[test]
fn host_transfers_are_not_dcn_traffic() {
    let model = text_trace(
        "
        ops: sd
        s = send.1 [host send] :: %send.1 = (f32[2]{0}, token[]) send(%p, %t), channel_id=1, is_host_transfer=true
        d = send-done.1 [host send-done] :: %send-done.1 = token[] send-done(%send.1), channel_id=1
        ",
    );
    assert!(
        report_of(&model)
            .unwrap_err()
            .to_string()
            .contains("several slices")
    );
}
