//! Messages of `MegaScale` as in the public tests of other tools.

use analysis::reports::Dcn;
use analysis::reports::communication::dcn::DcnReport;
use analysis::{AnalysisError, Scope};
use sample_traces::session::{SamplePlane, int, text};

use super::public_cases::{NS, US, add, capture, plane};

const RECEIVED: &str = "MegaScale: Communication Transport Receive";

/// An arrival at `ns`, from a slice to a slice, with its duration and size.
fn arrival(
    host: &mut SamplePlane,
    line: i64,
    ns: i64,
    slices: Option<(i64, i64)>,
    us: i64,
    bytes: i64,
) {
    let mut stats = vec![int("duration_us", us), int("payload_size_bytes", bytes)];
    if let Some((from, to)) = slices {
        stats.extend([
            text("dcn_label", format!("exchange.{line}")),
            int("dcn_source_slice_id", from),
            int("dcn_source_per_slice_device_id", 3),
            int("dcn_destination_slice_id", to),
            int("dcn_destination_per_slice_device_id", 2),
        ]);
    }
    add(host, (line, "runtime"), RECEIVED, (ns * NS, ns * NS), stats);
}

fn dcn(host: SamplePlane) -> Result<DcnReport, AnalysisError> {
    capture(vec![host])
        .scoped::<Dcn>(Scope::WholeTrace)
        .map(|report| report.as_ref().clone())
}

/// `dcn_analysis_test.cc`, `CreateMessageTestValidMessages`: three messages that begin 50, 75 and 125 µs after the start
/// are one burst from 50 to 175 µs of 32,779 bytes, of which at most two are in flight.
#[test]
fn megascale_messages_begin_their_duration_before_they_arrive() {
    let mut host = plane("/host:CPU");
    arrival(&mut host, 1, 100_000, Some((2, 1)), 50, 32_768);
    arrival(&mut host, 1, 175_000, Some((112, 34)), 50, 1);
    arrival(&mut host, 2, 150_000, Some((9, 0)), 75, 10);
    let report = dcn(host).unwrap();
    let found = &report.hosts[0];
    assert_eq!(
        (
            found.messages,
            found.loopback,
            found.invalid,
            found.active_ps.ps()
        ),
        (3, 0, 0, 125 * US)
    );
    assert!((found.bytes - 32_779.0).abs() < 1e-9);
    // Two at once: the largest and the one of 75 µs.
    assert!((found.peak_bandwidth - (32_768.0 / 50e-6 + 10.0 / 75e-6)).abs() < 1.0);
    let times: Vec<_> = report
        .messages
        .iter()
        .map(|row| (row.label.as_str(), row.messages, row.max_ps.ps()))
        .collect();
    assert_eq!(
        times,
        [("exchange.1", 2, 50 * US), ("exchange.2", 1, 75 * US)]
    );
}

/// `CreateLoopBackMessageTest`, `CreateZeroDurationMessageTest`, `CreateMissingKeyTest`. The last two are invalid there,
/// too. A message within its slice is valid there; here it is counted apart, because it does not cross the network.
#[test]
fn megascale_messages_that_say_nothing_about_the_network_are_counted_apart() {
    for (slices, us, expected) in [
        (Some((2, 2)), 1_000, (1, 0)),
        (Some((2, 1)), 0, (0, 1)),
        (None, 10, (0, 1)),
    ] {
        let mut host = plane("/host:CPU");
        arrival(&mut host, 1, 5_000_000, slices, us, 1_000);
        let report = dcn(host).unwrap();
        let found = &report.hosts[0];
        assert_eq!(
            (found.messages, (found.loopback, found.invalid)),
            (0, expected),
            "{slices:?}"
        );
        assert!(report.messages.is_empty() && found.mean_bandwidth.is_none());
    }
}

/// `xplane_to_dcn_collective_stats_test.cc`: a capture without names of Megascale has no statistics. One that only
/// declares such a name has, there; here an event must bear it.
#[test]
fn megascale_needs_an_event() {
    let mut host = plane("/host:CPU");
    add(&mut host, (1, "main"), "f", (0, US), Vec::new());
    assert!(dcn(host.clone()).is_err());
    host.named("MegaScale: Barrier.");
    assert!(dcn(host.clone()).is_err());
    add(
        &mut host,
        (1, "main"),
        "MegaScale: Barrier.",
        (US, 2 * US),
        Vec::new(),
    );
    assert_eq!(dcn(host).unwrap().actions[0].action, "Barrier");
}
