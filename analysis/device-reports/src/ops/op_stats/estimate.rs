//! HBM traffic of an op inferred from its HLO text, for captures without a recorded split of bytes by memory
//! (exported JSON loses it).
//!
//! Every operand and result array without a memory space mark is in HBM and is read or written once; arrays marked
//! `S(1)` are in VMEM. For ops that read only part of an operand this would be too much, so the recorded bytes of the
//! op are the upper limit. If those are not recorded either, there is no estimate for such ops, nor for kernels that
//! XLA did not write. In an asynchronous copy or slice the start op reads the source and the done op writes the
//! result.

use facts::prelude::*;
use trace_model::Op;

use facts::AsyncRole;
use hlo::{HBM, HloText, Shape};

/// Estimated HBM bytes of one execution.
pub(super) fn hbm_bytes(model: &TraceModel, op: &Op, class: OpClass) -> Option<u64> {
    if class.may_have_inner_ops() || class.is_async() && class.is_collective() {
        return None;
    }
    let recorded = op.bytes_accessed.or(op.raw_bytes_accessed);
    if class.is_custom_call() && recorded.is_none_or(|bytes| bytes == 0) {
        return None;
    }
    let hlo = HloText::parse(model.str(op.hlo_text?))?;
    // Of a truncated text, what is missing does not mean that there is nothing.
    if hlo.is_cut || recorded.is_none() && reads_parts(hlo.opcode) {
        return None;
    }
    let result = hlo.result()?;
    let operands = || {
        let shapes = hlo.operand_list().into_iter().map(|operand| operand.shape);
        let bytes = shapes.map(|shape| in_hbm(&shape?));
        bytes.sum::<Option<u64>>()
    };
    let sum = match class.role {
        None => operands()?.saturating_add(in_hbm(&result)?),
        // The result is `(source, destination, context)` or the other way round, both of the
        // moved size unless it is a slice: then the smaller of the two.
        Some(AsyncRole::Start) => {
            let moved = result
                .parts()
                .iter()
                .take(2)
                .map(Shape::bytes)
                .collect::<Option<Vec<_>>>()?;
            operands()?.min(moved.into_iter().min()?)
        }
        Some(AsyncRole::Update) => 0,
        Some(AsyncRole::Done) => in_hbm(&result)?,
    };
    Some(recorded.map_or(sum, |recorded| sum.min(recorded)))
}

/// Bytes of the arrays in HBM; `None` if a type is unknown.
fn in_hbm(shape: &Shape<'_>) -> Option<u64> {
    shape
        .arrays()
        .into_iter()
        .filter(|array| array.memory_space == HBM)
        .try_fold(0u64, |sum, array| Some(sum.saturating_add(array.bytes()?)))
}

/// Ops that touch only part of their operands. A fusion may contain any of them.
fn reads_parts(opcode: &str) -> bool {
    matches!(
        opcode,
        "slice"
            | "dynamic-slice"
            | "dynamic-update-slice"
            | "gather"
            | "scatter"
            | "fusion"
            | "custom-call"
    )
}

#[cfg(test)]
mod tests {
    use trace_model::TraceBuilder;

    use super::*;

    fn estimate(text: &str, bytes: Option<u64>) -> Option<u64> {
        let mut builder = TraceBuilder::new();
        let op = Op {
            hlo_text: Some(builder.intern(text)),
            bytes_accessed: bytes,
            ..Op::default()
        };
        let class = facts::category::classify_texts(None, text, "").0;
        hbm_bytes(&builder.finish(), &op, class)
    }

    #[test]
    fn vmem_arrays_are_not_hbm_traffic() {
        let text = "%f = bf16[512,512]{1,0:T(8,128)(2,1)} fusion(bf16[512,512]{1,0:T(8,128)(2,1)S(1)} %a, \
                    bf16[512,512]{1,0:T(8,128)(2,1)} %b), kind=kOutput, calls=%c";
        assert_eq!(estimate(text, Some(1_572_864)), Some(1_048_576));
        let reduce = "%r = bf16[]{:T(256)} reduce(bf16[512,512]{1,0S(1)} %a, bf16[]{:T(256)} %c), to_apply=%add";
        assert_eq!(estimate(&reduce.replace("0S(1)", "0:S(1)"), None), Some(4));
    }

    #[test]
    fn start_ops_read_and_done_ops_write() {
        // From host memory to HBM, and from HBM to VMEM.
        let load = "%s = (f32[4]{0}, f32[4]{0:S(5)}, u32[]{:S(2)}) copy-start(f32[4]{0:S(5)} %a)";
        assert_eq!(estimate(load, None), Some(0));
        let loaded = "%c = f32[4]{0} copy-done((f32[4]{0}, f32[4]{0:S(5)}, u32[]{:S(2)}) %s)";
        assert_eq!(estimate(loaded, None), Some(16));
        let fetch = "%s = (f32[4]{0:S(1)}, f32[4]{0}, u32[]{:S(2)}) copy-start(f32[4]{0} %a)";
        assert_eq!(estimate(fetch, None), Some(16));
        let slice =
            "%s = ((s8[10]{0}), s8[4]{0:S(1)}, s32[]{:S(2)}) async-start(s8[10]{0} %a), calls=%c";
        assert_eq!(estimate(slice, None), Some(4));
        let gather = "%s = (f32[1]{0}, f32[8]{0}) all-gather-start(f32[1]{0} %a), dimensions={0}";
        assert_eq!(estimate(gather, None), None);
    }

    #[test]
    fn truncated_text_has_no_estimate() {
        let text =
            "%f = f32[4]{0:T(128)} add(f32[8]{0} %a, (f32[1024]{0:T(8,128)}, f32[4096]{0}) %b)";
        assert_eq!(estimate(text, None), Some(4 * (4 + 8 + 1024 + 4096)));
        let second = text.find("(f32[1024]").unwrap();
        for cut in second + 1..text.rfind(") %b").unwrap() {
            assert_eq!(estimate(&text[..cut], None), None, "{}", &text[..cut]);
        }
    }

    #[test]
    fn estimate_is_capped_by_recorded_bytes_and_needs_them() {
        let slice = "%s = f32[1,4]{1,0} dynamic-slice(f32[100,4]{1,0} %a, s32[] %i), dynamic_slice_sizes={1,4}";
        assert_eq!(estimate(slice, Some(36)), Some(36));
        assert_eq!(estimate(slice, None), None);
        let kernel =
            "%k = f32[4]{0} custom-call(f32[4]{0} %a), custom_call_target=\"tpu_custom_call\"";
        assert_eq!(estimate(kernel, Some(0)), None);
        assert_eq!(
            estimate("%c = mystery[4]{0} copy(mystery[4]{0} %s)", Some(16)),
            None
        );
        assert_eq!(estimate("no text", Some(16)), None);
    }
}
