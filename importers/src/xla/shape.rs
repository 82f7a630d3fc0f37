//! Shapes in HLO text: `(bf16[8,128]{1,0:T(8,128)S(1)}, u32[]{:S(2)})`.

/// One array of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Array<'a> {
    /// `bf16`, `pred` …
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

impl Array<'_> {
    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.dims.iter().fold(1, |all, &dim| all.saturating_mul(dim))
    }

    /// Bytes without the padding of tiles.
    pub fn bytes(&self) -> u64 {
        self.elements().saturating_mul(bits(self.dtype)).div_ceil(8)
    }
}

/// Size of one element; 0 for what has none (`token`, `opaque`) or is not known.
fn bits(dtype: &str) -> u64 {
    match dtype {
        "pred" => 8,
        "c64" => 64,
        "c128" => 128,
        _ => {
            // `bf16`, `s4`, `f8e4m3fn`: the first number is the width.
            let digits = dtype.trim_start_matches(|c: char| c.is_ascii_lowercase());
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            digits.get(..end).and_then(|width| width.parse().ok()).filter(|&width| width <= 64).unwrap_or(0)
        }
    }
}

/// All arrays of a shape, those in tuples one after the other.
pub(super) fn arrays(shape: &str) -> Vec<Array<'_>> {
    let mut out = Vec::new();
    let mut rest = shape;
    while let Some(open) = rest.find('[') {
        let dtype = rest[..open].rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let Some(close) = rest[open..].find(']').map(|at| open + at) else { break };
        let dims = rest[open + 1..close].split(',').filter(|dim| !dim.trim().is_empty());
        let dims = dims.map(|dim| dim.trim().trim_start_matches("<=").parse().unwrap_or(0)).collect();
        rest = &rest[close + 1..];
        let layout = rest.strip_prefix('{').and_then(|layout| layout.split_once('}'));
        let space = layout.and_then(|(layout, _)| layout.split_once("S(")?.1.split(')').next()?.parse().ok());
        rest = layout.map_or(rest, |(_, after)| after);
        out.push(Array { dtype, dims, space: space.unwrap_or(HBM) });
    }
    out
}

/// Bytes of a whole shape.
pub(super) fn bytes(shape: &str) -> u64 {
    arrays(shape).iter().fold(0, |sum, array| sum.saturating_add(array.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_in_tuples() {
        let start =
            "(bf16[4096,4096]{1,0:T(8,128)(2,1)S(1)}, /*index=1*/ bf16[4096,4096]{1,0:T(8,128)(2,1)}, u32[]{:S(2)})";
        let found = arrays(start);
        assert_eq!(
            found.iter().map(|it| (it.dtype, it.space)).collect::<Vec<_>>(),
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
