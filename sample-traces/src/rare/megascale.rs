//! Two slices that exchange gradients, seen from one host of the first.

use super::MODULE;
use crate::session::{LineKey, OPS, SamplePlane, SampleSession, int, text};
use crate::synthetic::SyntheticChip;

/// Steps with one all-reduce over two slices. Times are µs after the start of a step:
///
/// ```text
///         0123456789
/// device  SffffdrRRf   send, compute, send-done, recv, recv-done, compute
/// ```
///
/// The observed time is 9 µs, the slack 7 − 3 = 4 µs, the stall 5 µs. The link transmits half of the
/// 40 kB received in each direction: 40 kB in 4 µs are 10 GB/s.
#[derive(Clone, Copy, Debug)]
pub struct MegascaleSample {
    pub steps: i64,
    /// Number of messages that the host receives in each step, one after the other.
    pub messages: i64,
    /// Size of each message.
    pub message_bytes: i64,
    /// Transmission time of each message.
    pub message_us: i64,
}

impl Default for MegascaleSample {
    fn default() -> Self {
        Self {
            steps: 3,
            messages: 2,
            message_bytes: 20_000,
            message_us: 4,
        }
    }
}

const US: i64 = 1_000_000;
const PERIOD_PS: i64 = 20 * US;
const RUNTIME: LineKey<'_> = (77, "megascale-runtime");
const ATTRIBUTES: &str = "is_host_transfer=true, frontend_attributes={_xla_host_transfer_handler_name=\"xla_megascale_runtime\",\
                          _xla_host_transfer_rendezvous=\"all-reduce.7_0\",_xla_megascale_transfer_type=\"ALL_REDUCE\",\
                          _xla_megascale_reduce_operation=\"SUM\",_xla_megascale_target=\"{1,2}x{0:0}\"}";

impl MegascaleSample {
    pub fn session(&self) -> SampleSession {
        let mut plane = super::device(0, &SyntheticChip::V5P);
        let mut op = |text: &str, category| plane.op(text, category, []);
        let shape = "f32[10000]{0:T(1024)}";
        let send = format!(
            "%send.1 = ({shape}, u32[], token[]) send({shape} %g, token[] %t), channel_id=1, {ATTRIBUTES}"
        );
        let send = op(&send, "host send");
        let send_done = op(
            "%send-done.1 = token[] send-done(%send.1), channel_id=1, is_host_transfer=true",
            "host send-done",
        );
        let recv = format!(
            "%recv.1 = ({shape}, u32[], token[]) recv(token[] %t), channel_id=2, {ATTRIBUTES}"
        );
        let recv = op(&recv, "host recv");
        let recv_done = format!(
            "%recv-done.1 = ({shape}, token[]) recv-done(%recv.1), channel_id=2, is_host_transfer=true"
        );
        let recv_done = op(&recv_done, "host recv-done");
        let fusion = op(
            "%fusion.1 = f32[8]{0} fusion(f32[8]{0} %p), kind=kOutput, calls=%c",
            "convolution fusion",
        );
        for step in 0..self.steps {
            let at = |us: i64| 100 * US + step * PERIOD_PS + us * US;
            plane.run(MODULE, step, at(0), 10 * US);
            for (op, from, to) in [
                (send, 0, 1),
                (fusion, 1, 5),
                (send_done, 5, 6),
                (recv, 6, 7),
                (recv_done, 7, 9),
                (fusion, 9, 10),
            ] {
                plane.execution(OPS, op, at(from), (to - from) * US, []);
            }
        }
        plane.sort();
        super::session("slice0-host0", vec![plane, self.host()])
    }

    fn host(&self) -> SamplePlane {
        let mut host = SamplePlane::host(50);
        let message = |us, source| {
            [
                text("dcn_label", "all-reduce.7_0"),
                int("dcn_source_slice_id", source),
                int("dcn_destination_slice_id", 1),
                int("payload_size_bytes", self.message_bytes),
                int("duration_us", us),
            ]
        };
        let received = "MegaScale: Communication Transport Receive";
        for step in 0..self.steps {
            let begin = 100 * US + step * PERIOD_PS;
            for number in 0..self.messages {
                // The event marks the end of the transmission.
                let end = begin + (number + 1) * self.message_us * US;
                host.event(RUNTIME, received, end, 0, message(self.message_us, 2));
            }
        }
        // One message from the same slice, and one with a duration of zero.
        host.event(RUNTIME, received, 99 * US, 0, message(1, 1));
        host.event(RUNTIME, received, 99 * US, 0, message(0, 2));
        let reduced = [int("action_duration_ns", 1_500)];
        host.event(
            RUNTIME,
            "MegaScale: Reduction Finished",
            99 * US,
            0,
            reduced,
        );
        host.sort();
        host
    }
}
