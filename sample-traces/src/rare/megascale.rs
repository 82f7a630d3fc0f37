//! Two slices that exchange gradients, seen from one host of the first.

use super::{MODULE, MODULES, OPS};
use crate::session::{SamplePlane, SampleSession, SampleStat};
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
const RUNTIME: (i64, &str) = (77, "megascale-runtime");
const ATTRIBUTES: &str = "is_host_transfer=true, frontend_attributes={_xla_host_transfer_handler_name=\"xla_megascale_runtime\",\
                          _xla_host_transfer_rendezvous=\"all-reduce.7_0\",_xla_megascale_transfer_type=\"ALL_REDUCE\",\
                          _xla_megascale_reduce_operation=\"SUM\",_xla_megascale_target=\"{1,2}x{0:0}\"}";

impl MegascaleSample {
    pub fn session(&self) -> SampleSession {
        let mut plane = super::device(0, &SyntheticChip::V5P);
        let mut op =
            |text: String, category: &str| super::op(&mut plane, &text, category, Vec::new());
        let shape = "f32[10000]{0:T(1024)}";
        let send = op(
            format!(
                "%send.1 = ({shape}, u32[], token[]) send({shape} %g, token[] %t), channel_id=1, {ATTRIBUTES}"
            ),
            "host send",
        );
        let send_done = op(
            "%send-done.1 = token[] send-done(%send.1), channel_id=1, is_host_transfer=true"
                .to_owned(),
            "host send-done",
        );
        let recv = op(
            format!(
                "%recv.1 = ({shape}, u32[], token[]) recv(token[] %t), channel_id=2, {ATTRIBUTES}"
            ),
            "host recv",
        );
        let recv_done = op(
            format!(
                "%recv-done.1 = ({shape}, token[]) recv-done(%recv.1), channel_id=2, is_host_transfer=true"
            ),
            "host recv-done",
        );
        let fusion = op(
            "%fusion.1 = f32[8]{0} fusion(f32[8]{0} %p), kind=kOutput, calls=%c".to_owned(),
            "convolution fusion",
        );
        for step in 0..self.steps {
            let at = |us: i64| 100 * US + step * PERIOD_PS + us * US;
            super::event(
                &mut plane,
                MODULES,
                MODULE,
                at(0),
                10 * US,
                vec![SampleStat::int("run_id", step)],
            );
            for (op, from, to) in [
                (send, 0, 1),
                (fusion, 1, 5),
                (send_done, 5, 6),
                (recv, 6, 7),
                (recv_done, 7, 9),
                (fusion, 9, 10),
            ] {
                super::execution(&mut plane, OPS, op, at(from), (to - from) * US, Vec::new());
            }
        }
        plane.sort();
        super::session("slice0-host0", vec![plane, self.host()])
    }

    fn host(&self) -> SamplePlane {
        let mut host = SamplePlane {
            id: 50,
            name: "/host:CPU".to_owned(),
            ..SamplePlane::default()
        };
        let message = |us: i64, source: i64| {
            vec![
                SampleStat::text("dcn_label", "all-reduce.7_0"),
                SampleStat::int("dcn_source_slice_id", source),
                SampleStat::int("dcn_destination_slice_id", 1),
                SampleStat::int("payload_size_bytes", self.message_bytes),
                SampleStat::int("duration_us", us),
            ]
        };
        let received = "MegaScale: Communication Transport Receive";
        for step in 0..self.steps {
            let begin = 100 * US + step * PERIOD_PS;
            for number in 0..self.messages {
                // The event marks the end of the transmission.
                let end = begin + (number + 1) * self.message_us * US;
                super::event(
                    &mut host,
                    RUNTIME,
                    received,
                    end,
                    0,
                    message(self.message_us, 2),
                );
            }
        }
        // One message from the same slice, and one with a duration of zero.
        super::event(&mut host, RUNTIME, received, 99 * US, 0, message(1, 1));
        super::event(&mut host, RUNTIME, received, 99 * US, 0, message(0, 2));
        let reduced = vec![SampleStat::int("action_duration_ns", 1_500)];
        super::event(
            &mut host,
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
