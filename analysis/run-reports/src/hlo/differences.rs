//! What differs between two instructions, in words.

use facts::prelude::*;
use hlo::{
    ArrayShape, Attributes, CollectiveAttributes, HloModule, Instruction, MatchedInstruction,
    Shape, opcodes_inside,
};

/// How many changed instructions have another layout, memory space or sharding.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChangedParts {
    pub layouts: usize,
    pub memory_spaces: usize,
    pub shardings: usize,
}

/// Opcodes named in the difference of two bodies.
const NAMED: usize = 4;

/// What became of an instruction.
pub(super) fn change(
    [first, second]: [&HloModule; 2],
    pair: MatchedInstruction,
    parts: &mut ChangedParts,
) -> Option<String> {
    let a = first.instruction(pair.first)?;
    let b = second.instruction(pair.second)?;
    let mut out = Vec::new();
    shapes(a, b, parts, &mut out);
    let arrays = |module: &HloModule, it: &Instruction| {
        let arrays = module.operands(it).map(|it| it.shape.as_deref().map(types));
        arrays.collect::<Vec<_>>()
    };
    let of_a = arrays(first, a);
    let of_b = arrays(second, b);
    if of_a.len() != of_b.len() {
        out.push(format!("{} operands → {}", of_a.len(), of_b.len()));
    } else if let Some((x, y)) = of_a.iter().zip(&of_b).find(|(x, y)| x != y) {
        let text = |shape: &Option<String>| shape.clone().unwrap_or_else(|| "unknown".to_owned());
        out.push(format!("operand {} → {}", text(x), text(y)));
    }
    groups([first, second], [a, b], &mut out);
    attributes(a.attributes(), b.attributes(), parts, &mut out);
    if let (Some(x), Some(y)) = (first.trip_count(a), second.trip_count(b))
        && x != y
    {
        out.push(format!("iterations {x} → {y}"));
    }
    bodies([first, second], [a, b], &mut out);
    if out.is_empty() {
        // What is left: who makes its operands, a literal, or an attribute that is only known as a digest.
        let same_makers = a.operands.len() == b.operands.len() && {
            let opcodes = |module: &HloModule, it: &Instruction| {
                module
                    .operands(it)
                    .map(|it| it.opcode.to_string())
                    .collect::<Vec<_>>()
            };
            opcodes(first, a) == opcodes(second, b)
        };
        out.push(if same_makers && a.operands.is_empty() {
            "value or attributes".to_owned()
        } else if same_makers {
            "attributes or operands".to_owned()
        } else {
            "operands".to_owned()
        });
    }
    Some(out.join("; "))
}

/// `f32[8,16]`, without layout.
pub(super) fn types(shape: &Shape<'_>) -> String {
    const MOST: usize = 4;
    let one = |array: &&ArrayShape<'_>| format!("{}{:?}", array.dtype, array.dims).replace(' ', "");
    let arrays = shape.arrays();
    if let [only] = arrays[..] {
        return one(&only);
    }
    let more = if arrays.len() > MOST { ", …" } else { "" };
    format!(
        "({}{more})",
        joined(arrays.iter().take(MOST).map(one), ", ")
    )
}

fn shapes(a: &Instruction, b: &Instruction, parts: &mut ChangedParts, out: &mut Vec<String>) {
    let (Some(x), Some(y)) = (a.shape.as_deref(), b.shape.as_deref()) else {
        return;
    };
    if types(x) != types(y) || x.arrays().len() != y.arrays().len() {
        out.push(format!("{} → {}", types(x), types(y)));
        return;
    }
    let mut layout = false;
    let mut space = None;
    for (x, y) in x.arrays().into_iter().zip(y.arrays()) {
        layout |= (&x.minor_to_major, &x.tiles, x.packed_bits)
            != (&y.minor_to_major, &y.tiles, y.packed_bits);
        if x.memory_space != y.memory_space {
            space.get_or_insert((x.memory_space, y.memory_space));
        }
    }
    if layout {
        parts.layouts += 1;
        out.push(format!("layout {x} → {y}").chars().take(200).collect());
    }
    if let Some((from, to)) = space {
        parts.memory_spaces += 1;
        out.push(format!("memory space {from} → {to}"));
    }
}

/// Who takes part in a collective.
fn groups(modules: [&HloModule; 2], [a, b]: [&Instruction; 2], out: &mut Vec<String>) {
    let [x, y] = [a, b].map(|it| it.attributes().collective.as_deref());
    let written = |it: Option<&CollectiveAttributes>| it.and_then(|it| it.groups.clone());
    let pairs = |it: Option<&CollectiveAttributes>| it.map(|it| it.pairs.clone());
    let listed = || {
        modules[0]
            .listed_groups(a)
            .is_some_and(|it| Some(it) == modules[1].listed_groups(b))
    };
    if written(x) != written(y) && !listed() {
        let said = |it| written(it).map_or_else(|| "none".to_owned(), |it| it.to_string());
        out.push(format!("groups {} → {}", said(x), said(y)));
    } else if pairs(x) != pairs(y) {
        out.push("source and target pairs".to_owned());
    }
}

fn attributes(a: &Attributes, b: &Attributes, parts: &mut ChangedParts, out: &mut Vec<String>) {
    let said = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
    if a.sharding != b.sharding {
        parts.shardings += 1;
        let said = |it: &Attributes| said(it.sharding.clone());
        out.push(format!("sharding {} → {}", said(a), said(b)));
    }
    if a.custom_call_target != b.custom_call_target {
        let said = |it: &Attributes| said(it.custom_call_target.clone());
        out.push(format!("target {} → {}", said(a), said(b)));
    }
    for (differs, what) in [
        (a.fusion_kind != b.fusion_kind, "kind of fusion"),
        (
            a.dot != b.dot || a.convolution != b.convolution,
            "dimensions of the product",
        ),
        (a.precision != b.precision, "precision"),
        (a.slice_sizes != b.slice_sizes, "sizes of the slice"),
    ] {
        if differs {
            out.push(what.to_owned());
        }
    }
}

/// `body: +1 convert, -2 add`.
fn bodies(modules: [&HloModule; 2], [a, b]: [&Instruction; 2], out: &mut Vec<String>) {
    let is_inside = |it: &Instruction| &*it.opcode != "while" && !it.opcode.starts_with("async-");
    let inside = |module, it: &Instruction| {
        let body = it.called.first().copied().filter(|_| is_inside(it));
        body.map(|body| opcodes_inside(module, body))
    };
    let (Some(x), Some(y)) = (inside(modules[0], a), inside(modules[1], b)) else {
        return;
    };
    let mut changes: BTreeMap<&str, i64> = BTreeMap::new();
    for (opcode, count) in &y {
        *changes.entry(opcode).or_default() += *count as i64;
    }
    for (opcode, count) in &x {
        *changes.entry(opcode).or_default() -= *count as i64;
    }
    changes.retain(|_, count| *count != 0);
    let some: Vec<String> = changes
        .iter()
        .take(NAMED)
        .map(|(opcode, count)| format!("{count:+} {opcode}"))
        .collect();
    if !some.is_empty() {
        let more = if changes.len() > NAMED { ", …" } else { "" };
        out.push(format!("body: {}{more}", some.join(", ")));
    } else if out.is_empty() {
        out.push("body".to_owned());
    }
}
