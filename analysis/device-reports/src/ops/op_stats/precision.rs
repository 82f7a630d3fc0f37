//! How much faster than bf16 a matrix op runs because its operands are narrow.
//!
//! `flops` of a capture are already scaled to the bf16 rate: an int8 product counts half if the chip does twice as
//! many. Operations of the algorithm (`model_flops`) are not scaled: if only they are known, and for the utilization
//! that is computed from them, the rate of the element type is used.
//!
//! This is certain only for a plain `dot` or `convolution` with two operands of the same narrow kind. A fusion may
//! widen its operands before it multiplies, so its operations count at the bf16 rate, which can give more than 100 %.

use facts::prelude::*;
use hlo::HloText;

/// Kinds of elements that chips multiply faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NarrowType {
    Int8,
    Fp8,
    Int4,
}

impl NarrowType {
    /// The kind of both factors of a product; `None` if they differ or one is wide.
    pub fn of_both([left, right]: [&str; 2]) -> Option<Self> {
        let kind = |dtype: &str| match dtype {
            "s8" | "u8" => Some(Self::Int8),
            "s4" | "u4" => Some(Self::Int4),
            dtype if dtype.starts_with("f8e") => Some(Self::Fp8),
            _ => None,
        };
        kind(left).filter(|left| Some(*left) == kind(right))
    }

    /// Rate relative to bf16; `None` if it is the same or not published.
    pub fn speedup(self, peaks: &Peaks) -> Option<f64> {
        let rate = match self {
            Self::Int8 => peaks.int8_speedup,
            Self::Fp8 => peaks.fp8_speedup,
            Self::Int4 => peaks.int4_speedup,
        };
        rate.filter(|&rate| rate > 1.0)
    }
}

/// The element type that a matrix op multiplies; `None` if it is uncertain or wide.
pub(super) fn narrow(text: &str) -> Option<NarrowType> {
    let hlo = HloText::parse(text).filter(|hlo| matches!(hlo.opcode, "dot" | "convolution"))?;
    let operands = hlo.operand_list();
    let [left, right] = operands.as_slice() else {
        return None;
    };
    let dtype = |operand: &hlo::Operand<'_>| match operand.shape.as_ref()?.arrays().as_slice() {
        [array] => Some(array.dtype.to_owned()),
        _ => None,
    };
    NarrowType::of_both([&dtype(left)?, &dtype(right)?])
}

#[cfg(test)]
mod tests {
    use hardware::chips::Chip;

    use super::*;

    fn on(chip: &str, left: &str, right: &str, opcode: &str) -> Option<f64> {
        let text = format!(
            "%d = s32[8,8]{{1,0}} {opcode}({left}[8,8]{{1,0}} %a, {right}[8,8]{{1,0}} %b), dim_labels=bf_io->bf"
        );
        narrow(&text)?.speedup(&Peaks::choose(None, Chip::named(chip)))
    }

    #[test]
    fn narrow_matmuls_use_their_own_peak() {
        assert_eq!(on("v5e", "s8", "s8", "dot"), Some(2.0));
        assert_eq!(on("v5e", "s4", "u4", "convolution"), Some(4.0));
        assert_eq!(on("v7x", "f8e4m3fn", "f8e5m2", "dot"), Some(2.0));
        // No gain, not published, no chip.
        assert_eq!(on("v6e", "f8e4m3fn", "f8e4m3fn", "dot"), None);
        assert_eq!(on("v7x", "s8", "s8", "dot"), None);
        assert_eq!(on("", "s8", "s8", "dot"), None);
    }

    #[test]
    fn uncertain_precision_is_taken_as_bf16() {
        assert_eq!(on("v5e", "s8", "bf16", "dot"), None);
        assert_eq!(on("v5e", "bf16", "bf16", "dot"), None);
        assert_eq!(on("v5e", "s8", "s8", "fusion"), None);
        assert_eq!(on("v5e", "s8", "s4", "dot"), None);
        assert_eq!(narrow(""), None);
    }
}
