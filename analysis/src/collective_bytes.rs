//! What a collective moves: message size and bus bandwidth. How long links need
//! for it is in [`crate::ici`].
//!
//! `bytes_accessed` of a collective is local HBM traffic; what crosses the network
//! follows from shapes and group size. Sizes follow the convention of NCCL's
//! tests: algorithm bandwidth = size / time, bus bandwidth = that × a factor that
//! makes it comparable with the speed of a link.

use crate::category::CollectiveKind;
use crate::hlo_text::{HloText, Shape};

/// The size that bandwidths are computed from: the buffer for all-reduce and
/// permutes, the **full gathered** result for all-gather, the **full** input for
/// reduce-scatter, the whole buffer of one device for all-to-all.
///
/// `None` where the text gives no usable shape. Starts of asynchronous ops carry
/// their operands and context scalars in the result; those do not count.
pub fn message_bytes(hlo: &HloText<'_>, kind: CollectiveKind) -> Option<u64> {
    let operands = || {
        let shapes = hlo.operand_list().into_iter().map(|operand| operand.shape?.bytes());
        shapes.sum::<Option<u64>>().filter(|&bytes| bytes > 0)
    };
    let is_start = hlo.opcode.ends_with("-start");
    match kind {
        CollectiveKind::AllGather if is_start => start_results(&hlo.result()?),
        CollectiveKind::AllGather => hlo.result()?.bytes(),
        CollectiveKind::ReduceScatter
        | CollectiveKind::AllToAll
        | CollectiveKind::RaggedAllToAll
        | CollectiveKind::Send => operands(),
        CollectiveKind::CollectivePermute if is_start => hlo.result()?.parts().get(1)?.bytes(),
        CollectiveKind::AllReduce if is_start => operands().or_else(|| hlo.result()?.bytes()),
        _ => hlo.result()?.bytes().filter(|&bytes| bytes > 0).or_else(operands),
    }
}

/// The results in `(operands, results, contexts…)`: the second part.
fn start_results(shape: &Shape<'_>) -> Option<u64> {
    shape.parts().get(1)?.bytes()
}

/// Bus bandwidth over algorithm bandwidth, for `n` participants; 0 for one alone.
pub fn bus_factor(kind: CollectiveKind, n: u64) -> f64 {
    if n < 2 {
        return 0.0;
    }
    let others = (n - 1) as f64 / n as f64;
    match kind {
        CollectiveKind::AllReduce => 2.0 * others,
        CollectiveKind::AllGather
        | CollectiveKind::ReduceScatter
        | CollectiveKind::AllToAll
        | CollectiveKind::RaggedAllToAll => others,
        _ => 1.0,
    }
}

/// Bytes that each participant must send, by the best ring algorithm.
pub fn sent_bytes(kind: CollectiveKind, bytes: u64, n: u64) -> f64 {
    bytes as f64 * bus_factor(kind, n)
}

/// Bus bandwidth in bytes per second; `None` without time.
pub fn bus_bandwidth(kind: CollectiveKind, bytes: u64, n: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| sent_bytes(kind, bytes, n) / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB_256: u64 = 256 << 20;

    #[test]
    fn bus_bandwidth_follows_the_reference_convention() {
        let busbw = |kind| bus_bandwidth(kind, MIB_256, 8, 5e-3).unwrap() / 1e9;
        assert!((MIB_256 as f64 / 5e-3 / 1e9 - 53.687).abs() < 5e-4);
        assert!((busbw(CollectiveKind::AllReduce) - 93.952).abs() < 5e-4);
        assert!((busbw(CollectiveKind::AllGather) - 46.976).abs() < 5e-4);
        assert!(bus_factor(CollectiveKind::AllReduce, 1).abs() < f64::EPSILON);
        assert_eq!(bus_bandwidth(CollectiveKind::AllReduce, 1, 2, 0.0), None);
    }

    #[test]
    fn message_sizes_come_from_the_right_shape() {
        let size = |text: &str, kind| message_bytes(&HloText::parse(text).unwrap(), kind);
        let gather = "%ag = f32[8,4]{1,0} all-gather(f32[1,4]{1,0} %p), replica_groups=[1,8]<=[8], dimensions={0}";
        assert_eq!(size(gather, CollectiveKind::AllGather), Some(128));
        let start = "%ags = (f32[1,4]{1,0}, f32[8,4]{1,0}) all-gather-start(f32[1,4]{1,0} %p), dimensions={0}";
        assert_eq!(size(start, CollectiveKind::AllGather), Some(128));
        let scatter = "%rs = f32[1,4]{1,0} reduce-scatter(f32[8,4]{1,0} %p), dimensions={0}";
        assert_eq!(size(scatter, CollectiveKind::ReduceScatter), Some(128));
        let permute =
            "%cps = (f32[4]{0}, f32[4]{0}, u32[]{:S(2)}, u32[]{:S(2)}) collective-permute-start(f32[4]{0} %p)";
        assert_eq!(size(permute, CollectiveKind::CollectivePermute), Some(16));
        let tuple = "%ar = (f32[4]{0}, bf16[2]{0}) all-reduce(f32[4]{0} %p, bf16[2]{0} %q), to_apply=%add";
        assert_eq!(size(tuple, CollectiveKind::AllReduce), Some(20));
        let bare = "%rs = f32[1,4]{1,0} reduce-scatter(%p), dimensions={0}";
        assert_eq!(size(bare, CollectiveKind::ReduceScatter), None);
    }
}
