//! One instruction as a line of text, in the manner of HLO.

use facts::prelude::*;
use std::fmt::Write as _;

use hlo::{DotDimensions, FusionKind, HloModule, Instruction};

/// `ROOT fusion.1 = f32[8]{0} fusion(a, b), kind=loop, calls=fused`, with what was read of its attributes.
pub(super) fn text(module: &HloModule, instruction: &Instruction) -> String {
    let mut out = String::new();
    let root = module
        .computation(instruction.computation)
        .and_then(|it| module.instruction(it.root?));
    if root.is_some_and(|root| std::ptr::eq(root, instruction)) {
        out.push_str("ROOT ");
    }
    let _ = write!(out, "{} = ", instruction.name);
    if let Some(shape) = &instruction.shape {
        let _ = write!(out, "{shape} ");
    }
    let inside = match &*instruction.opcode {
        // The serialized form leaves out a number of 0.
        "parameter" => instruction.parameter_number.unwrap_or(0).to_string(),
        _ => joined(
            module.operands(instruction).map(|operand| &*operand.name),
            ", ",
        ),
    };
    let _ = write!(out, "{}({inside})", instruction.opcode);
    attributes(&mut out, module, instruction);
    if !instruction.op_name.is_empty() {
        let _ = write!(out, ", op_name=\"{}\"", instruction.op_name);
    }
    if let Some(source) = module.source(instruction) {
        let _ = write!(out, ", source={source}");
    }
    out
}

fn attributes(out: &mut String, module: &HloModule, instruction: &Instruction) {
    let attributes = instruction.attributes();
    let kind = attributes.fusion_kind.map(|kind| match kind {
        FusionKind::Loop => "loop",
        FusionKind::Input => "input",
        FusionKind::Output => "output",
        FusionKind::Custom => "custom",
    });
    if let Some(kind) = kind {
        let _ = write!(out, ", kind={kind}");
    }
    let called: Vec<&str> = instruction
        .called
        .iter()
        .filter_map(|&id| module.computation(id))
        .map(|it| it.name.as_str())
        .collect();
    if !called.is_empty() {
        let _ = write!(out, ", calls={}", called.join(", "));
    }
    if let Some(dot) = &attributes.dot {
        let DotDimensions {
            lhs_contracting,
            rhs_contracting,
            lhs_batch,
            rhs_batch,
            ..
        } = &**dot;
        for (name, dims) in [
            ("lhs_batch_dims", lhs_batch),
            ("lhs_contracting_dims", lhs_contracting),
            ("rhs_batch_dims", rhs_batch),
            ("rhs_contracting_dims", rhs_contracting),
        ] {
            if !dims.is_empty() {
                let _ = write!(out, ", {name}={{{}}}", joined(dims, ","));
            }
        }
    }
    if let Some(target) = &attributes.custom_call_target {
        let _ = write!(out, ", custom_call_target=\"{target}\"");
    }
    if let Some(collective) = &attributes.collective {
        if let Some(channel) = collective.channel_id {
            let _ = write!(out, ", channel_id={channel}");
        }
        if let Some(groups) = groups(instruction) {
            let _ = write!(out, ", replica_groups={groups}");
        }
    }
    if let Some(trips) = attributes.trip_count {
        let _ = write!(out, ", trip_count={trips}");
    }
}

/// The groups of a collective, listed: `{{0,1},{2,3}}`; `None` for others, and for groups that contradict themselves.
pub(super) fn groups(instruction: &Instruction) -> Option<String> {
    let groups = instruction
        .attributes()
        .collective
        .as_ref()?
        .groups
        .as_ref()?
        .expand()?;
    Some(format!(
        "{{{}}}",
        joined(
            groups
                .iter()
                .map(|group| format!("{{{}}}", joined(group, ","))),
            ","
        )
    ))
}
