//! Shapes in the syntax of HLO: `bf16[8,128]{1,0:T(8,128)(2,1)S(1)}`, tuples of them.

use std::fmt;
use trace_model::joined;

use super::{after_brackets, split_commas, without_comment};

/// Deepest nesting of tuples that is read; deeper ones are not real shapes.
pub const MAX_DEPTH: usize = 32;

/// The size in a tile that joins a dimension with the next one, `*` in text; the lowest `i64` of the protobuf.
pub const COMBINED: u64 = 1 << 63;

/// Memory space of the memory of a chip, which shapes do not mark.
pub const HBM: u64 = 0;
/// Memory space of vector memory, `S(1)`.
pub const VMEM: u64 = 1;

/// The shape of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape<'a> {
    /// One array; also `token[]`.
    Array(ArrayShape<'a>),
    /// Several values.
    Tuple(Vec<Self>),
}

/// The shape of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrayShape<'a> {
    /// `bf16`, `f8e4m3fn`, `pred` …
    pub dtype: &'a str,
    /// Sizes, as written.
    pub dims: Vec<u64>,
    /// Dimension numbers from the fastest to the slowest varying.
    pub minor_to_major: Vec<u64>,
    /// `T(8,128)(2,1)`: tiles, outermost first; a size of [`COMBINED`] joins dimensions.
    pub tiles: Vec<Vec<u64>>,
    /// `S(n)`: [`HBM`], [`VMEM`], 2 for sync flags, 5 for host memory, 6 for SMEM.
    pub memory_space: u64,
    /// `E(n)`, where elements are packed.
    pub packed_bits: Option<u64>,
}

/// Bits of one element of a type; `None` for types without data and unknown ones.
pub fn element_bits(dtype: &str) -> Option<u64> {
    Some(match dtype {
        "s1" | "u1" => 1,
        "s2" | "u2" => 2,
        "s4" | "u4" | "f4e2m1fn" => 4,
        "pred" | "s8" | "u8" | "f8e8m0fnu" => 8,
        "s16" | "u16" | "f16" | "bf16" => 16,
        "s32" | "u32" | "f32" => 32,
        "s64" | "u64" | "f64" | "c64" => 64,
        "c128" => 128,
        _ if dtype.starts_with("f8e") => 8,
        _ => return None,
    })
}

/// Element types of HLO by their number in the protobuf, as the text spells them.
const DTYPES: [&str; 35] = [
    "",
    "pred",
    "s8",
    "s16",
    "s32",
    "s64",
    "u8",
    "u16",
    "u32",
    "u64",
    "f16",
    "f32",
    "f64",
    "tuple",
    "opaque",
    "c64",
    "bf16",
    "token",
    "c128",
    "f8e5m2",
    "f8e4m3fn",
    "s4",
    "u4",
    "f8e4m3b11fnuz",
    "f8e5m2fnuz",
    "f8e4m3fnuz",
    "s2",
    "u2",
    "f8e4m3",
    "f8e3m4",
    "s1",
    "u1",
    "f4e2m1fn",
    "f8e8m0fnu",
    "buffer",
];

/// The type with a number of `xla.PrimitiveType`; `unknown` for numbers added by later versions.
pub fn dtype_of_number(number: u64) -> &'static str {
    usize::try_from(number)
        .ok()
        .and_then(|number| DTYPES.get(number))
        .copied()
        .unwrap_or("unknown")
}

/// The number of a type in `xla.PrimitiveType`; a number without a type for other words.
pub fn dtype_number(dtype: &str) -> u64 {
    let place = DTYPES.iter().position(|&known| known == dtype);
    place.unwrap_or(DTYPES.len()) as u64
}

/// Whether a word names an element type.
pub fn is_dtype(word: &str) -> bool {
    DTYPES.contains(&word) && !["unknown", "tuple", "opaque", "token", "buffer"].contains(&word)
}

impl<'a> Shape<'a> {
    /// A copy that borrows nothing; unknown types become `unknown`.
    pub fn into_static(self) -> Shape<'static> {
        match self {
            Self::Array(ArrayShape {
                dtype,
                dims,
                minor_to_major,
                tiles,
                memory_space,
                packed_bits,
            }) => {
                let dtype = DTYPES
                    .into_iter()
                    .find(|&known| known == dtype)
                    .unwrap_or("unknown");
                Shape::Array(ArrayShape {
                    dtype,
                    dims,
                    minor_to_major,
                    tiles,
                    memory_space,
                    packed_bits,
                })
            }
            Self::Tuple(parts) => Shape::Tuple(parts.into_iter().map(Self::into_static).collect()),
        }
    }

    /// The array shape, if it is an array.
    pub fn array(&self) -> Option<&ArrayShape<'a>> {
        match self {
            Self::Array(array) => Some(array),
            Self::Tuple(_) => None,
        }
    }

    /// Reads a shape; `None` for anything else.
    pub fn parse(text: &'a str) -> Option<Self> {
        Self::parse_nested(text.trim(), 0)
    }

    fn parse_nested(text: &'a str, depth: usize) -> Option<Self> {
        if depth > MAX_DEPTH {
            return None;
        }
        if let Some(inner) = text.strip_prefix('(') {
            let inner = inner.strip_suffix(')')?;
            let parts = split_commas(inner)
                .map(|part| Self::parse_nested(without_comment(part), depth + 1));
            parts.collect::<Option<Vec<_>>>().map(Self::Tuple)
        } else {
            // A buffer, `b(f32[8])`, is its array.
            let buffer = text
                .strip_prefix("b(")
                .and_then(|text| text.strip_suffix(')'));
            ArrayShape::parse(buffer.unwrap_or(text)).map(Self::Array)
        }
    }

    /// All arrays in it, in order.
    pub fn arrays(&self) -> Vec<&ArrayShape<'a>> {
        match self {
            Self::Array(array) => vec![array],
            Self::Tuple(parts) => parts.iter().flat_map(Self::arrays).collect(),
        }
    }

    /// All arrays in it, in order, with their places in the tuple and the tuples in it.
    pub fn arrays_with_index(&self) -> Vec<(Vec<u64>, &ArrayShape<'a>)> {
        let parts = match self {
            Self::Array(array) => return vec![(Vec::new(), array)],
            Self::Tuple(parts) => parts,
        };
        let mut out = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let arrays = part.arrays_with_index().into_iter();
            out.extend(arrays.map(|(index, array)| ([vec![number as u64], index].concat(), array)));
        }
        out
    }

    /// Bytes of all arrays without padding; `None` if a type is unknown.
    pub fn bytes(&self) -> Option<u64> {
        self.arrays()
            .into_iter()
            .try_fold(0u64, |sum, array| sum.checked_add(array.bytes()?))
    }

    /// The elements of a tuple; for an array, the array itself.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Array(_) => std::slice::from_ref(self),
            Self::Tuple(parts) => parts,
        }
    }
}

impl<'a> ArrayShape<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let open = text.find('[')?;
        let dtype = text.get(..open)?;
        if dtype.is_empty() || !dtype.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        let close = after_brackets(text, open)?;
        let dims = text.get(open + 1..close)?.strip_suffix(']')?;
        // `<=8` is a bounded dynamic dimension: the bound is the allocated size.
        let dims = numbers(dims)?;
        let mut shape = Self {
            dtype,
            dims,
            ..Self::default()
        };
        match text.get(close..)? {
            "" => {}
            layout => {
                let layout = layout.strip_prefix('{')?;
                shape.read_layout(layout.strip_suffix('}').unwrap_or(layout));
            }
        }
        Some(shape)
    }

    /// Reads `1,0:T(8,128)(2,1)S(1)E(4)`; unknown parts are skipped.
    fn read_layout(&mut self, layout: &'a str) {
        let (order, mut rest) = layout.split_once(':').unwrap_or((layout, ""));
        self.minor_to_major = numbers(order).unwrap_or_default();
        let mut letter = "";
        while let Some(open) = rest.find('(') {
            let close = after_brackets(rest, open).unwrap_or(rest.len());
            let before = rest.get(..open).unwrap_or_default();
            // A group without a letter continues the previous one: T(8,128)(2,1).
            letter = if before.is_empty() { letter } else { before };
            let inside = rest
                .get(open + 1..close)
                .unwrap_or_default()
                .trim_end_matches(')');
            let tile = |size: &str| {
                if size.trim() == "*" {
                    Some(COMBINED)
                } else {
                    size.trim().parse().ok()
                }
            };
            match (letter, numbers(inside)) {
                ("T", _) => self
                    .tiles
                    .extend(inside.split(',').map(tile).collect::<Option<Vec<u64>>>()),
                ("S", Some(space)) => self.memory_space = space.first().copied().unwrap_or(0),
                ("E", Some(bits)) => self.packed_bits = bits.first().copied(),
                _ => {}
            }
            rest = rest.get(close..).unwrap_or_default();
        }
    }

    /// Number of elements; `None` if it overflows.
    pub fn elements(&self) -> Option<u64> {
        self.dims
            .iter()
            .try_fold(1u64, |product, &dim| product.checked_mul(dim))
    }

    /// Bytes without padding; `None` if the type is unknown. Tokens have none.
    pub fn bytes(&self) -> Option<u64> {
        if matches!(self.dtype, "token" | "opaque") {
            return Some(0);
        }
        let bits = self.packed_bits.or_else(|| element_bits(self.dtype))?;
        self.elements()?
            .checked_mul(bits)
            .map(|bits| bits.div_ceil(8))
    }
}

/// Writes the shape as HLO text.
impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Array(array) => array.fmt(f),
            Self::Tuple(parts) => {
                write!(f, "({})", joined(parts.iter().map(Self::to_string), ", "))
            }
        }
    }
}

/// Writes the shape as HLO text.
impl fmt::Display for ArrayShape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |numbers: &[u64]| joined(numbers, ",");
        write!(f, "{}[{}]", self.dtype, list(&self.dims))?;
        let mut layout = list(&self.minor_to_major);
        let mut attributes = String::new();
        if !self.tiles.is_empty() {
            attributes.push('T');
        }
        let size = |&size: &u64| {
            if size == COMBINED {
                "*".to_owned()
            } else {
                size.to_string()
            }
        };
        let tile = |tile: &Vec<u64>| format!("({})", joined(tile.iter().map(size), ","));
        attributes.extend(self.tiles.iter().map(tile));
        attributes.extend((self.memory_space != 0).then(|| format!("S({})", self.memory_space)));
        attributes.extend(self.packed_bits.map(|bits| format!("E({bits})")));
        if !attributes.is_empty() {
            layout.push(':');
        }
        if layout.is_empty() && attributes.is_empty() {
            Ok(())
        } else {
            write!(f, "{{{layout}{attributes}}}")
        }
    }
}

/// Comma-separated numbers; `None` if any is not a number.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let number = |part: &str| part.trim().trim_start_matches("<=").parse().ok();
    if text.trim().is_empty() {
        Some(Vec::new())
    } else {
        text.split(',').map(number).collect()
    }
}

#[cfg(test)]
mod tests;
