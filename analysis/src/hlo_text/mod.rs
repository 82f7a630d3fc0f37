//! Reads the one-line text of an HLO instruction: in exported JSON it is all that
//! is known of an op.
//!
//! ```text
//! %name = <shape> opcode(<shape> %operand, …), attribute=value, …
//! ```
//!
//! The text comes from a file and may be cut anywhere: every function answers
//! `None`, or what could be read, and never panics.

mod shape;

pub use crate::hlo::{parse_pairs, parse_replica_groups};
pub use shape::{ArrayShape, Shape, element_bits};
pub(crate) use shape::{MAX_DEPTH, array_sizes, dtype_of_number};

/// Byte offset after the balanced brackets that begin at `at`, or the end of a
/// text that was cut inside.
fn after_brackets(text: &str, at: usize) -> usize {
    let mut depth = 0usize;
    let mut quoted = false;
    for (i, byte) in text.bytes().enumerate().skip(at) {
        match byte {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return i + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// Byte offset of the first byte at or after `at`, outside all brackets and
/// quotes, for which `wanted` holds.
fn find_outside(text: &str, at: usize, wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = at;
    while let Some(&byte) = bytes.get(at) {
        if wanted(byte) {
            return Some(at);
        }
        at = match byte {
            b'(' | b'[' | b'{' => after_brackets(text, at),
            b'"' => text.get(at + 1..)?.find('"').map_or(text.len(), |end| at + end + 2),
            _ => at + 1,
        };
    }
    None
}

/// The parts of an instruction's text, still as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HloText<'a> {
    /// Name of the instruction, without `%`.
    pub name: &'a str,
    /// The result's shape.
    pub shape: &'a str,
    /// `fusion`, `all-reduce-start`, `copy-done` …
    pub opcode: &'a str,
    /// What is between the parentheses after the opcode.
    pub operands: &'a str,
    /// What follows them: `kind=kLoop, calls=%fused_computation`.
    pub attributes: &'a str,
}

impl<'a> HloText<'a> {
    /// Splits `%name = shape opcode(operands), attributes`; `None` for any text
    /// that has no such form at its beginning.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (name, rest) = text.split_once(" = ")?;
        let name = name.trim().trim_start_matches("ROOT ").trim_start_matches('%');
        let rest = rest.trim_start();
        let shape_end = find_outside(rest, 0, |byte| byte == b' ')?;
        let shape = rest.get(..shape_end)?;
        let rest = rest.get(shape_end..)?.trim_start();
        let open = rest.find('(')?;
        let opcode = rest.get(..open)?;
        let is_opcode = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if opcode.is_empty() || !opcode.bytes().all(is_opcode) {
            return None;
        }
        let close = after_brackets(rest, open);
        let inside = rest.get(open + 1..close)?;
        Some(Self {
            name,
            shape,
            opcode,
            operands: inside.strip_suffix(')').unwrap_or(inside),
            attributes: rest.get(close..)?.trim_start_matches([',', ' ']),
        })
    }

    /// The value of an attribute, as written.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.attributes;
        if !rest.contains(name) {
            return None;
        }
        loop {
            let end = find_outside(rest, 0, |byte| byte == b',').unwrap_or(rest.len());
            let (key, value) = rest.get(..end)?.split_once('=').unwrap_or_default();
            if key.trim() == name {
                return Some(value.trim());
            }
            rest = rest.get(end + 1..)?;
        }
    }

    /// The result's shape.
    pub fn result(&self) -> Option<Shape<'a>> {
        Shape::parse(self.shape)
    }

    /// The text of each operand, in order.
    pub(crate) fn operand_texts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        split_commas(self.operands).map(str::trim)
    }

    /// The operands, in order.
    pub fn operand_list(&self) -> Vec<Operand<'a>> {
        self.operand_texts().map(Operand::parse).collect()
    }

    /// The groups of devices that communicate; `Some` of no group means that all
    /// do, `None` that the text does not say.
    pub fn replica_groups(&self) -> Option<Vec<Vec<u64>>> {
        parse_replica_groups(self.attribute("replica_groups")?)
    }

    /// Who sends to whom, for permutes.
    pub fn source_target_pairs(&self) -> Option<Vec<(u64, u64)>> {
        parse_pairs(self.attribute("source_target_pairs")?)
    }

    /// The channel of communication between devices.
    pub fn channel_id(&self) -> Option<u64> {
        self.attribute("channel_id")?.parse().ok()
    }

    /// The computation that a fusion, call or asynchronous op runs, without `%`.
    pub fn calls(&self) -> Option<&'a str> {
        Some(self.attribute("calls")?.trim_start_matches('%'))
    }

    /// The kernel that a custom call runs.
    pub fn custom_call_target(&self) -> Option<&'a str> {
        Some(self.attribute("custom_call_target")?.trim_matches('"'))
    }
}

/// One operand of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand<'a> {
    /// Its shape, where the text gives it.
    pub shape: Option<Shape<'a>>,
    /// The instruction that makes it, without `%`; empty where the text does not say.
    pub name: &'a str,
}

impl<'a> Operand<'a> {
    /// Reads `f32[8]{0} %name`, `%name`, `name` or `f32[8]{0}`, after `/*index=5*/` or not.
    fn parse(text: &'a str) -> Self {
        let text = text.strip_prefix("/*").and_then(|text| text.split_once("*/")).map_or(text, |(_, text)| text.trim());
        let (shape, name) = match find_outside(text, 0, |byte| byte == b' ') {
            Some(at) => (text.get(..at).unwrap_or_default(), text.get(at..).unwrap_or_default().trim()),
            None if text.contains('[') || text.starts_with('(') => (text, ""),
            None => ("", text),
        };
        Self { shape: Shape::parse(shape), name: name.trim_start_matches('%') }
    }
}

/// The parts between commas outside all brackets.
fn split_commas(text: &str) -> impl Iterator<Item = &str> + use<'_> {
    let mut rest = Some(text).filter(|text: &&str| !text.trim().is_empty());
    std::iter::from_fn(move || {
        let text = rest?;
        let comma = find_outside(text, 0, |byte| byte == b',');
        rest = comma.and_then(|at| text.get(at + 1..));
        text.get(..comma.unwrap_or(text.len()))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL_GATHER: &str = "%all-gather.3 = s32[2,1,8]{2,1,0:T(1,128)S(1)} all-gather(s32[1,1,8]{2,1,0:T(1,128)S(1)} \
         %bitcast.11), channel_id=2, replica_groups=[1,2]<=[2], dimensions={0}, use_global_device_ids=true";

    #[test]
    fn takes_an_instruction_apart() {
        let hlo = HloText::parse(ALL_GATHER).unwrap();
        assert_eq!((hlo.name, hlo.opcode, hlo.channel_id()), ("all-gather.3", "all-gather", Some(2)));
        assert_eq!(hlo.result().unwrap().bytes(), Some(64));
        assert_eq!(hlo.attribute("dimensions"), Some("{0}"));
        assert_eq!(hlo.attribute("dimension"), None);
        assert_eq!(hlo.replica_groups(), Some(vec![vec![0, 1]]));
        let operands = hlo.operand_list();
        assert_eq!(operands.len(), 1);
        assert_eq!((operands[0].name, operands[0].shape.as_ref().unwrap().bytes()), ("bitcast.11", Some(32)));
    }

    #[test]
    fn reads_tuples_and_missing_percent_signs() {
        let hlo = HloText::parse("cs = (f32[4]{0}, f32[4]{0:S(5)}, u32[]{:S(2)}) copy-start(p.1), a=1").unwrap();
        assert_eq!((hlo.name, hlo.opcode, hlo.operands), ("cs", "copy-start", "p.1"));
        let Some(Shape::Tuple(parts)) = hlo.result() else { panic!("a tuple") };
        assert_eq!(parts.len(), 3);
        assert_eq!(parts[1].arrays()[0].memory_space, 5);
        assert_eq!(hlo.operand_list(), [Operand { shape: None, name: "p.1" }]);
    }

    #[test]
    fn quoted_text_hides_brackets_and_commas() {
        let hlo =
            HloText::parse(r#"%c = f32[]{:T(128)} custom-call(), custom_call_target="a,(b", x={"},"}, y=2"#).unwrap();
        assert_eq!(hlo.custom_call_target(), Some("a,(b"));
        assert_eq!(hlo.attribute("y"), Some("2"));
        assert!(hlo.operand_list().is_empty());
    }

    #[test]
    fn text_without_that_form_is_none() {
        for text in ["", "%x", "%x = ", "%x = f32[8]", "%x = f32[8] add", "jit_f(123)", "a = b"] {
            assert_eq!(HloText::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[%a-z0-9 =,(){}\\[\\]\"<:TSE\u{e9}-]{0,80}", cut in 0usize..300) {
            for text in [text.as_str(), ALL_GATHER.get(..cut).unwrap_or(ALL_GATHER)] {
                if let Some(hlo) = HloText::parse(text) {
                    let _ = (hlo.result(), hlo.operand_list(), hlo.replica_groups(), hlo.source_target_pairs());
                    let _ = (hlo.attribute("calls"), hlo.custom_call_target(), hlo.channel_id());
                }
                let _ = (Shape::parse(text), parse_replica_groups(text), parse_pairs(text));
            }
        }
    }
}
