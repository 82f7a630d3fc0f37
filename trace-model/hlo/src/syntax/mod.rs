//! Parser of HLO text for importers and analyses. It reads whole programs and single instructions, because exported
//! JSON contains nothing else about an op.
//!
//! ```text
//! %name = <shape> opcode(<shape> %operand, …), attribute=value, …
//! ```
//!
//! The text comes from a file and may be truncated anywhere: every function returns `None` or what it could read, and
//! never panics.

mod device_mesh;
mod grid;
mod groups;
mod mesh;
mod scan;
mod shape;
mod stack;
mod statements;

use std::borrow::Cow;

pub(crate) use device_mesh::AxisNames;
pub use device_mesh::DeviceMesh;
pub use groups::{IotaGroups, ReplicaGroups, parse_pairs, parse_replica_groups};
pub use mesh::{AxisRef, MeshGroups};
use scan::find_outside;
pub(crate) use scan::{after_brackets, split_at, split_commas};
pub use scan::{attribute, pairs, split_attributes, unescaped};
pub use shape::{
    ArrayShape, COMBINED, HBM, MAX_DEPTH, Shape, VMEM, dtype_number, dtype_of_number, element_bits,
    is_dtype,
};
pub use stack::{Frame, StackFrames};
pub(crate) use statements::{Statement, Statements, computation_head};

/// The parts of an instruction, as slices of its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HloText<'a> {
    /// Name of the instruction, without `%`.
    pub name: &'a str,
    /// The result's shape.
    pub shape: &'a str,
    /// `fusion`, `all-reduce-start`, `copy-done` …
    pub opcode: &'a str,
    /// The text between the parentheses after the opcode.
    pub operands: &'a str,
    /// The text after the operands: `kind=kLoop, calls=%fused_computation`.
    pub attributes: &'a str,
    /// Whether it is the root of its computation.
    pub is_root: bool,
    /// Whether the text ends inside the operands.
    pub is_cut: bool,
}

impl<'a> HloText<'a> {
    /// Splits `[ROOT] %name = shape opcode(operands), attributes`; `None` for text of any other form.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (name, rest) = text.split_once(" = ")?;
        let name = name.trim();
        let (is_root, name) = name
            .strip_prefix("ROOT ")
            .map_or((false, name), |name| (true, name.trim()));
        let name = name.trim_start_matches('%');
        let rest = without_comment(rest.trim_start());
        let shape_end = find_outside(rest, b' ')?;
        let shape = rest.get(..shape_end)?;
        let rest = rest.get(shape_end..)?.trim_start();
        let open = rest.find('(')?;
        let opcode = rest.get(..open)?;
        let is_opcode =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if opcode.is_empty() || !opcode.bytes().all(is_opcode) {
            return None;
        }
        let close = after_brackets(rest, open);
        let operands = rest.get(open + 1..close.map_or(rest.len(), |close| close - 1))?;
        let attributes = close
            .and_then(|close| rest.get(close..))
            .unwrap_or_default()
            .trim_start_matches([',', ' ']);
        Some(Self {
            name,
            shape,
            opcode,
            operands,
            attributes,
            is_root,
            is_cut: close.is_none(),
        })
    }

    /// The value of an attribute, as written.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        attribute(self.attributes, name)
    }

    /// The value of `key` in the metadata.
    pub fn metadata(&self, key: &str) -> Option<Cow<'a, str>> {
        pairs(self.attribute("metadata")?)
            .find(|&(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// The result's shape.
    pub fn result(&self) -> Option<Shape<'a>> {
        Shape::parse(self.shape)
    }

    /// The text of each operand, in order. For parameters and constants it is their value.
    pub fn operand_texts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let is_value = matches!(self.opcode, "parameter" | "constant" | "iota");
        split_commas(if is_value { "" } else { self.operands })
    }

    /// The names of the operands, in order, without `%`.
    pub fn operand_names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.operand_texts().map(|text| {
            text.rsplit([' ', '/'])
                .next()
                .unwrap_or(text)
                .trim_start_matches('%')
        })
    }

    /// The operands, in order.
    pub fn operand_list(&self) -> Vec<Operand<'a>> {
        self.operand_texts().map(Operand::parse).collect()
    }

    /// The number of a `parameter`.
    pub fn parameter_number<T: std::str::FromStr>(&self) -> Option<T> {
        if self.opcode == "parameter" {
            self.operands.trim().parse().ok()
        } else {
            None
        }
    }

    /// The value of a `constant` that is an integer.
    pub fn constant(&self) -> Option<i64> {
        if self.opcode == "constant" {
            self.operands.trim().parse().ok()
        } else {
            None
        }
    }

    /// The groups of devices that communicate; an empty list if all devices do, `None` if the text has no groups.
    pub fn replica_groups(&self) -> Option<Vec<Vec<u64>>> {
        parse_replica_groups(self.attribute("replica_groups")?)
    }

    /// Source and target device of each transfer of a permute.
    pub fn source_target_pairs(&self) -> Option<Vec<(u64, u64)>> {
        parse_pairs(self.attribute("source_target_pairs")?)
    }

    /// The channel of communication between devices.
    pub fn channel_id(&self) -> Option<u64> {
        self.attribute("channel_id")?.parse().ok()
    }

    /// The computations that it runs or applies, in the order of the compiler's protobuf, each with the attribute that
    /// states it: a name without `%`, or the whole computation (see [`is_inline`]).
    pub(crate) fn called(&self) -> impl Iterator<Item = (&'static str, &'a str)> + use<'a> {
        let attributes = self.attributes;
        CALLING.into_iter().flat_map(move |key| {
            let value = attribute(attributes, key).unwrap_or_default();
            let list = value.strip_prefix('{').filter(|_| !is_inline(value));
            let (list, one) = match list {
                Some(list) => (list.strip_suffix('}').unwrap_or(list), None),
                None => ("", Some(value).filter(|value| !value.is_empty())),
            };
            let called = split_commas(list).chain(one);
            called.map(move |called| (key, called.trim_start_matches('%')))
        })
    }

    /// The computation that an attribute names (`body`, `to_apply`), without `%`.
    pub fn computation(&self, key: &str) -> Option<&'a str> {
        Some(self.attribute(key)?.trim_start_matches('%'))
    }

    /// The kernel that a custom call runs.
    pub fn custom_call_target(&self) -> Option<&'a str> {
        Some(self.attribute("custom_call_target")?.trim_matches('"'))
    }
}

/// Whether an attribute holds a whole computation in braces, and not names or a list.
pub(crate) fn is_inline(value: &str) -> bool {
    let inside = value.strip_prefix('{').map(str::trim_start);
    inside.is_some_and(|inside| !inside.starts_with('{') && inside.contains(" = "))
}

/// Attributes that name one computation, or several in braces.
pub(crate) const CALLING: [&str; 10] = [
    "calls",
    "to_apply",
    "body",
    "condition",
    "select",
    "scatter",
    "true_computation",
    "false_computation",
    "branch_computations",
    "called_computations",
];

/// One operand of an instruction.
#[derive(Debug, PartialEq, Eq)]
pub struct Operand<'a> {
    /// Its shape, where the text gives it.
    pub shape: Option<Shape<'a>>,
    /// The instruction that produces it, without `%`; empty if the text has no name.
    pub name: &'a str,
}

impl<'a> Operand<'a> {
    /// Reads `f32[8]{0} %name`, `%name`, `name` or `f32[8]{0}`, with or without `/*index=5*/` before it.
    fn parse(text: &'a str) -> Self {
        let text = without_comment(text);
        let (shape, name) = match find_outside(text, b' ') {
            Some(position) => (
                text.get(..position).unwrap_or_default(),
                text.get(position..).unwrap_or_default().trim(),
            ),
            None if text.contains('[') || text.starts_with('(') => (text, ""),
            None => ("", text),
        };
        Self {
            shape: Shape::parse(shape),
            name: name.trim_start_matches('%'),
        }
    }
}

/// Removes the `/*index=5*/` that the compiler puts before every fifth item of a list.
fn without_comment(text: &str) -> &str {
    text.strip_prefix("/*")
        .and_then(|text| text.split_once("*/"))
        .map_or(text, |(_, text)| text.trim())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::TextProgram;

    const ALL_GATHER: &str = "%all-gather.3 = s32[2,1,8]{2,1,0:T(1,128)S(1)} all-gather(s32[1,1,8]{2,1,0:T(1,128)S(1)} \
         %bitcast.11), channel_id=2, replica_groups=[1,2]<=[2], dimensions={0}, use_global_device_ids=true";

    #[test]
    fn splits_an_instruction_into_its_parts() {
        let hlo = HloText::parse(ALL_GATHER).unwrap();
        assert_eq!(
            (hlo.name, hlo.opcode, hlo.channel_id()),
            ("all-gather.3", "all-gather", Some(2))
        );
        assert_eq!(hlo.result().unwrap().bytes(), Some(64));
        assert_eq!(hlo.attribute("dimensions"), Some("{0}"));
        assert_eq!(hlo.attribute("dimension"), None);
        assert_eq!(hlo.replica_groups(), Some(vec![vec![0, 1]]));
        let operands = hlo.operand_list();
        assert_eq!(operands.len(), 1);
        assert_eq!(
            (
                operands[0].name,
                operands[0].shape.as_ref().unwrap().bytes()
            ),
            ("bitcast.11", Some(32))
        );
    }

    #[test]
    fn reads_tuples_and_missing_percent_signs() {
        let hlo =
            HloText::parse("cs = (f32[4]{0}, f32[4]{0:S(5)}, u32[]{:S(2)}) copy-start(p.1), a=1")
                .unwrap();
        assert_eq!(
            (hlo.name, hlo.opcode, hlo.operands),
            ("cs", "copy-start", "p.1")
        );
        let Some(Shape::Tuple(parts)) = hlo.result() else {
            panic!("a tuple")
        };
        assert_eq!(parts.len(), 3);
        assert_eq!(parts[1].arrays()[0].memory_space, 5);
        assert_eq!(
            hlo.operand_list(),
            [Operand {
                shape: None,
                name: "p.1"
            }]
        );
    }

    #[test]
    fn quoted_text_hides_brackets_and_commas() {
        let hlo = HloText::parse(
            r#"%c = f32[]{:T(128)} custom-call(), custom_call_target="a,(b", x={"},"}, y=2"#,
        )
        .unwrap();
        assert_eq!(hlo.custom_call_target(), Some("a,(b"));
        assert_eq!(hlo.attribute("y"), Some("2"));
        assert!(hlo.operand_list().is_empty());
    }

    #[test]
    fn other_text_is_not_an_instruction() {
        for text in [
            "",
            "%x",
            "%x = ",
            "%x = f32[8]",
            "%x = f32[8] add",
            "jit_f(123)",
            "a = b",
        ] {
            assert_eq!(HloText::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "[%a-z0-9 =,(){}\\[\\]\"\\\\<:TSE\u{e9}-]{0,80}", cut in 0usize..300) {
            for text in [text.as_str(), ALL_GATHER.get(..cut).unwrap_or(ALL_GATHER)] {
                if let Some(hlo) = HloText::parse(text) {
                    let _ = (hlo.result(), hlo.operand_list(), hlo.replica_groups(), hlo.source_target_pairs());
                    let _ = (hlo.attribute("calls"), hlo.custom_call_target(), hlo.channel_id());
                }
                let _ = (pairs(text).count(), unescaped(text), ReplicaGroups::parse(text).map(|it| it.size()));
                let module = format!("HloModule m\n\nStackFrames\n1 {text}\n\nENTRY %e () -> () {{\n  {text}\n");
                prop_assert_eq!(TextProgram::read(&module).unwrap().module.computations.len(), 1);
                let _ = (Shape::parse(text), parse_replica_groups(text), parse_pairs(text));
            }
        }
    }
}
