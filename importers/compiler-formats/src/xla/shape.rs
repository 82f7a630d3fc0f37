//! Sizes of shapes in HLO text: `(bf16[8,128]{1,0:T(8,128)S(1)}, u32[]{:S(2)})`.

use hlo::{ArrayText, array_texts, element_bits};

/// One array of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScheduleArray<'a> {
    /// Element type: `bf16`, `pred` …
    pub dtype: &'a str,
    /// Its dimensions.
    pub dims: Vec<u64>,
    /// Number of its memory space: 0 is HBM, 1 VMEM, 2 sync flags, 5 the host, 6 SMEM.
    pub space: u32,
}

/// Memory space of vector memory.
pub(super) const VMEM: u32 = 1;
/// Memory space of the chip's memory.
pub(super) const HBM: u32 = 0;

impl ScheduleArray<'_> {
    /// Number of elements.
    pub(crate) fn elements(&self) -> u64 {
        self.dims
            .iter()
            .fold(1, |all, &dim| all.saturating_mul(dim))
    }

    /// Bytes without tile padding; 0 for arrays without data and for unknown types.
    pub(crate) fn bytes(&self) -> u64 {
        self.elements()
            .saturating_mul(element_bits(self.dtype).unwrap_or(0))
            .div_ceil(8)
    }
}

/// All arrays of a shape; tuples are flattened.
pub(super) fn arrays(shape: &str) -> Vec<ScheduleArray<'_>> {
    array_texts(shape).filter_map(array).collect()
}

/// The first array of a shape.
pub(super) fn first_array(shape: &str) -> Option<ScheduleArray<'_>> {
    array_texts(shape).find_map(array)
}

/// Total size of all arrays of a shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShapeSize {
    /// Bytes without tile padding.
    pub bytes: u64,
    /// Number of elements.
    pub elements: u64,
}

impl ShapeSize {
    pub(crate) fn of(shape: &str) -> Self {
        array_texts(shape)
            .filter_map(array)
            .fold(Self::default(), |sum, array| Self {
                bytes: sum.bytes.saturating_add(array.bytes()),
                elements: sum.elements.saturating_add(array.elements()),
            })
    }
}

/// Bytes of a whole shape.
pub(super) fn bytes(shape: &str) -> u64 {
    ShapeSize::of(shape).bytes
}

fn array(text: ArrayText<'_>) -> Option<ScheduleArray<'_>> {
    let dims = text.sizes()?.map(|size| size.unwrap_or(0)).collect();
    let space = u32::try_from(text.memory_space()).unwrap_or(u32::MAX);
    Some(ScheduleArray {
        dtype: text.dtype,
        dims,
        space,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_arrays_in_tuples() {
        let start = "(bf16[4096,4096]{1,0:T(8,128)(2,1)S(1)}, /*index=1*/ bf16[4096,4096]{1,0:T(8,128)(2,1)}, u32[]{:S(2)})";
        let found = arrays(start);
        assert_eq!(
            found
                .iter()
                .map(|it| (it.dtype, it.space))
                .collect::<Vec<_>>(),
            [("bf16", 1), ("bf16", 0), ("u32", 2)]
        );
        assert_eq!(bytes(start), 2 * 33_554_432 + 4);
        assert_eq!(bytes("s4[3]"), 2);
        assert_eq!(bytes("f8e4m3fn[7]{0}"), 7);
        assert_eq!(bytes("pred[<=8]"), 8);
        assert_eq!(bytes("(token[], opaque[])"), 0);
        assert_eq!(bytes("f32[99999999999,99999999999]"), u64::MAX / 8 + 1);
        assert_eq!(arrays("f32[8"), []);
    }
}
