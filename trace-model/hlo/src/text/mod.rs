//! Builds a module from text: of one instruction from its line, or of a whole program.

mod convolution;
mod digest;
mod header;
mod lines;
#[cfg(test)]
mod parser_tests;
mod whole;

pub use whole::{BEGIN, TextProgram};

use std::sync::Arc;

use crate::syntax::{HloText, ReplicaGroups, Shape, is_inline};

use super::config;
use super::counter::{CompareDirection, CounterPart};
use super::facts::{
    Attributes, CollectiveAttributes, DotDimensions, FusionKind, PrecisionConfig, ProductPrecision,
};
use super::index::HloIndex;
use super::instruction::{ComputationId, Instruction, InstructionId};
use super::module::{Computation, HloModule, HloOrigin};

impl HloModule {
    /// A module from one line of HLO text; `None` for other text. The instruction comes last, after its operands, of
    /// which at most name and shape are known. Called computations have a name and no content.
    pub fn from_text(text: &str) -> Option<Self> {
        let hlo = HloText::parse(text)?;
        let mut module = Self {
            origin: HloOrigin::Text,
            entry: Some(ComputationId(0)),
            ..Self::default()
        };
        module.computations.push(Computation::default());
        for operand in hlo.operand_list() {
            let shape = operand.shape.map(Shape::into_static).map(Arc::new);
            module.instructions.push(Instruction {
                shape,
                ..blank(operand.name, "")
            });
        }
        let operands = (0..module.instructions.len() as u32)
            .map(InstructionId)
            .collect();
        let called = module.add_called(&hlo);
        module.instructions.push(Instruction {
            operands,
            called,
            ..instruction(&hlo)
        });
        module.index = HloIndex::new(&module.instructions, Vec::new());
        let last = InstructionId(module.instructions.len() as u32 - 1);
        if let Some(entry) = module.computations.first_mut() {
            entry.instructions = 0..module.instructions.len();
            entry.root = Some(last);
        }
        Some(module)
    }

    /// Adds empty computations for the names that the text calls, in the order of the serialized form.
    fn add_called(&mut self, hlo: &HloText<'_>) -> Vec<ComputationId> {
        let mut called = Vec::new();
        for (key, value) in hlo.called() {
            called.push(ComputationId(self.computations.len() as u32));
            let name = if is_inline(value) { key } else { value }.to_owned();
            let is_fusion = hlo.opcode == "fusion";
            self.computations.push(Computation {
                name,
                is_fusion,
                ..Computation::default()
            });
        }
        called
    }
}

/// An instruction of which only name and opcode are known.
fn blank(name: &str, opcode: &str) -> Instruction {
    let empty = Arc::from("");
    Instruction {
        name: Arc::from(name),
        opcode: Arc::from(opcode),
        ..Instruction::blank(&empty, ComputationId(0))
    }
}

/// An instruction from its line, without references to operands and computations.
fn instruction(hlo: &HloText<'_>) -> Instruction {
    let text = |key| Arc::from(&*hlo.metadata(key).unwrap_or_default());
    let number = |key| {
        hlo.metadata(key)
            .and_then(|number| number.parse().ok())
            .unwrap_or(0)
    };
    Instruction {
        shape: hlo.result().map(Shape::into_static).map(Arc::new),
        op_name: text("op_name"),
        source_file: text("source_file"),
        source_line: number("source_line"),
        stack_frame: number("stack_frame_id"),
        parameter_number: hlo.parameter_number(),
        attributes: Some(attributes(hlo))
            .filter(|it| *it != Attributes::default())
            .map(Box::new),
        counter: counter(hlo),
        content: digest::content(hlo),
        config: digest::config(hlo),
        ..blank(hlo.name, hlo.opcode)
    }
}

fn counter(hlo: &HloText<'_>) -> CounterPart {
    let part = match hlo.opcode {
        "constant" => hlo.constant().map(CounterPart::Constant),
        "get-tuple-element" => {
            let index = hlo.attribute("index").and_then(|index| index.parse().ok());
            index.map(CounterPart::Element)
        }
        "compare" => {
            let direction = hlo.attribute("direction").and_then(CompareDirection::parse);
            direction.map(CounterPart::Compare)
        }
        _ => None,
    };
    part.unwrap_or_default()
}

fn attributes(hlo: &HloText<'_>) -> Attributes {
    let dims = |key| hlo.attribute(key).and_then(list).unwrap_or_default();
    let dot = DotDimensions {
        lhs_contracting: dims("lhs_contracting_dims"),
        rhs_contracting: dims("rhs_contracting_dims"),
        lhs_batch: dims("lhs_batch_dims"),
        rhs_batch: dims("rhs_batch_dims"),
        lhs_ragged: dims("lhs_ragged_dims"),
        rhs_group: dims("rhs_group_dims"),
    };
    let channel_id = hlo.channel_id().filter(|&id| id > 0);
    let collective = CollectiveAttributes {
        groups: hlo
            .attribute("replica_groups")
            .and_then(ReplicaGroups::parse),
        pairs: hlo.source_target_pairs().unwrap_or_default(),
        channel_id,
        uses_global_ids: hlo.attribute("use_global_device_ids") == Some("true"),
    };
    let config = |opcode| {
        let of = Some(hlo).filter(|hlo| hlo.opcode == opcode);
        of?.attribute("backend_config").map(str::as_bytes)
    };
    Attributes {
        fusion_kind: hlo.attribute("kind").and_then(FusionKind::parse),
        dot: (dot != DotDimensions::default()).then(|| Box::new(dot)),
        convolution: convolution::parse(hlo).map(Box::new),
        precision: PrecisionConfig {
            operands: precisions(hlo),
            algorithm: 0,
        },
        collective: (collective != CollectiveAttributes::default()).then(|| Box::new(collective)),
        custom_call_target: hlo.custom_call_target().map(str::to_owned),
        declared_flops: config("custom-call").and_then(config::declared_flops),
        trip_count: config("while").and_then(config::trip_count),
        is_host_transfer: hlo.attribute("is_host_transfer") == Some("true"),
        slice_sizes: dims("dynamic_slice_sizes"),
        sharding: hlo.attribute("sharding").map(str::to_owned),
        ..Attributes::default()
    }
}

/// `operand_precision={highest,default}`.
fn precisions(hlo: &HloText<'_>) -> Vec<ProductPrecision> {
    let list = hlo
        .attribute("operand_precision")
        .and_then(|list| list.strip_prefix('{')?.strip_suffix('}'));
    let precision = |word: &str| match word.trim() {
        "high" => ProductPrecision::High,
        "highest" => ProductPrecision::Highest,
        _ => ProductPrecision::Default,
    };
    list.map(|list| list.split(',').map(precision).collect())
        .unwrap_or_default()
}

/// `{0,1}`.
fn list(text: &str) -> Option<Vec<u64>> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?.trim();
    if inner.is_empty() {
        return Some(Vec::new());
    }
    inner
        .split(',')
        .map(|number| number.trim().parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> (HloModule, Instruction) {
        let module = HloModule::from_text(text).unwrap();
        let last = module.instructions.last().unwrap().clone();
        (module, last)
    }

    #[test]
    fn parses_a_dot_with_all_attributes() {
        let (module, dot) = one(concat!(
            "%dot.3 = f32[2,8,16]{2,1,0} dot(bf16[2,8,4]{2,1,0} %a, %b), lhs_batch_dims={0}, lhs_contracting_dims={2}, ",
            "rhs_batch_dims={0}, rhs_contracting_dims={1}, operand_precision={highest,default}, ",
            "metadata={op_type=\"dot\" op_name=\"jit(f)/dot, general\" source_file=\"a b.py\" source_line=7}"
        ));
        assert_eq!(
            (&*dot.opcode, module.find("dot.3")),
            ("dot", Some(InstructionId(2)))
        );
        let facts = dot.attributes().dot.as_ref().unwrap();
        assert_eq!(
            (facts.lhs_contracting.as_slice(), facts.rhs_batch.as_slice()),
            ([2].as_slice(), [0].as_slice())
        );
        assert_eq!(
            dot.attributes().precision.operands,
            [ProductPrecision::Highest, ProductPrecision::Default]
        );
        let operands: Vec<_> = module
            .operands(&dot)
            .map(|it| (&*it.name, it.shape.is_some()))
            .collect();
        assert_eq!(operands, [("a", true), ("b", false)]);
        assert_eq!(
            (&*dot.op_name, module.source(&dot).as_deref()),
            ("jit(f)/dot, general", Some("a b.py:7"))
        );
        assert_eq!(module.stack(&dot)[0].line, 7);
    }

    #[test]
    fn parses_async_wrappers_loops_and_kernels() {
        let (module, start) = one(concat!(
            "%s = ((bf16[8]{0}), bf16[32]{0}, u32[]{:S(2)}) async-start(bf16[8]{0} %p), ",
            "calls=%all-gather.7"
        ));
        assert_eq!(
            module
                .computation(module.body(&start).unwrap())
                .unwrap()
                .name,
            "all-gather.7"
        );
        let (module, outer) = one(concat!(
            "%while.1 = (s32[], f32[8]) while((s32[], f32[8]) %t), condition=%cond, body=%body, ",
            "backend_config={\"known_trip_count\":{\"n\":\"12\"}}"
        ));
        let (body, condition) = module.loop_body(&outer).unwrap();
        assert_eq!(module.computation(body).unwrap().name, "body");
        assert_eq!(module.computation(condition).unwrap().name, "cond");
        assert_eq!(outer.attributes().trip_count, Some(12));
        let (_, kernel) =
            one("%k = f32[8] custom-call(f32[8] %p), custom_call_target=\"tpu_custom_call\"");
        assert_eq!(
            kernel.attributes().custom_call_target.as_deref(),
            Some("tpu_custom_call")
        );
        let (module, parameter) = one("%p.1 = f32[8]{0} parameter(3)");
        assert_eq!(
            (parameter.parameter_number, module.instructions.len()),
            (Some(3), 1)
        );
        assert_eq!(module.parameters()[0].0, 3);
    }

    #[test]
    fn escaped_quote_in_a_name_ends_correctly() {
        let (_, reduce) = one(concat!(
            "%ar = f32[8] all-reduce(f32[8] %p), channel_id=3, metadata={op_name=\"jit(f)/he said \\\"hi(\" ",
            "source_file=\"a.py\" source_line=7}, replica_groups={{0,1},{2,3}}, to_apply=%add"
        ));
        let groups = reduce
            .attributes()
            .collective
            .as_ref()
            .unwrap()
            .groups
            .as_ref();
        assert_eq!(groups.and_then(ReplicaGroups::size), Some(2));
        assert_eq!(
            (&*reduce.op_name, &*reduce.source_file),
            ("jit(f)/he said \"hi(", "a.py")
        );
        assert_eq!(reduce.called.len(), 1);
    }

    #[test]
    fn mesh_with_devices_is_one_attribute() {
        let (_, gather) = one(concat!(
            "%ag = f32[16] all-gather(f32[8] %p), replica_groups=mesh['x'=2,'y'=4], ",
            "device_ids=([0,1,2,3,4,5,6,7]) {'x'}, dimensions={0}"
        ));
        let groups = gather
            .attributes()
            .collective
            .as_ref()
            .unwrap()
            .groups
            .as_ref();
        assert_eq!(groups.and_then(ReplicaGroups::size), Some(2));
    }

    #[test]
    fn index_comments_in_long_tuples_are_skipped() {
        let (_, tuple) = one(
            "%t = (f32[2]{0}, /*index=1*/s32[3]{0}) tuple(f32[2]{0} %a, /*index=1*/s32[3]{0} %b)",
        );
        assert_eq!(tuple.shape.as_ref().unwrap().bytes(), Some(20));
    }

    #[test]
    fn unknown_replica_groups_are_none() {
        let (_, reduce) =
            one("%ar = f32[8] all-reduce(f32[8] %p), channel_id=3, replica_groups=@future{x}");
        let collective = reduce.attributes().collective.as_ref().unwrap();
        assert_eq!(
            (&collective.groups, collective.channel_id),
            (&None, Some(3))
        );
        let (_, reduce) = one(
            "%ar = f32[8] all-reduce(f32[8] %p), replica_groups=mesh['x'=2,'y'=4] {'y'}, to_apply=%a",
        );
        assert_eq!(
            reduce
                .attributes()
                .collective
                .as_ref()
                .unwrap()
                .groups
                .as_ref()
                .unwrap()
                .size(),
            Some(4)
        );
    }
}
