//! Reads `xla.HloInstructionProto`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use crate::syntax::{AxisRef, IotaGroups, MeshGroups, ReplicaGroups, Shape};

use super::super::config;
use super::super::facts::{
    Attributes, CollectiveAttributes, Convolution, DotDimensions, FusionKind, PrecisionConfig,
    ProductPrecision, WindowDimension, has_groups,
};
use super::super::wire::{HloDamage, ProtoValue};
use super::counter::read_counter;
use super::{ProtoReader, shape};
use crate::counter::CounterPart;
use crate::instruction::{ComputationId, Instruction, InstructionId};

const INSTRUCTION: &str = "HloInstructionProto";

/// Fields that name things, number them anew in each compilation, or are compared in another way: name, opcode, shape,
/// metadata, number of a parameter, channel, ids, configuration, groups of devices, frontend attributes, statistics,
/// original values, payload.
const NOT_CONTENT: [u32; 19] = [
    1, 2, 3, 7, 9, 26, 35, 36, 37, 38, 43, 49, 68, 77, 87, 88, 92, 93, 99,
];

/// References that are resolved after the whole instruction is read.
#[derive(Default)]
struct UnresolvedInstruction {
    id: u64,
    operands: Vec<u64>,
    called: Vec<u64>,
    convolution: Convolution,
    is_convolution: bool,
    collective: CollectiveAttributes,
}

impl<'a> ProtoReader<'a> {
    /// Reads an instruction with the compiler's id.
    pub fn read_instruction(
        &mut self,
        message: &ProtoValue<'a>,
        computation: ComputationId,
        local: &HashMap<u64, InstructionId>,
    ) -> Result<(u64, Instruction), HloDamage> {
        let mut out = Instruction::blank(&self.texts.intern(b""), computation);
        let mut facts = Attributes::default();
        let mut pending = UnresolvedInstruction::default();
        message.walk(INSTRUCTION, |field, value| {
            self.read_core(field, value, &mut out, &mut pending)?;
            read_facts(field, value, &mut facts, &mut pending)?;
            read_counter(field, value, &mut out.counter)?;
            if field == 99 {
                facts.backend_config = self.payload(value)?;
            }
            if !NOT_CONTENT.contains(&field) {
                out.content = out.content.wrapping_add(digest(field, value));
            }
            Ok(())
        })?;
        let damage = |why| message.damage(INSTRUCTION, why);
        if out.name.is_empty() || out.opcode.is_empty() {
            return Err(damage("an instruction without name or operation"));
        }
        let operand = |id: &u64| {
            local
                .get(id)
                .copied()
                .ok_or_else(|| damage("an operand that is defined after its use"))
        };
        out.operands = all(pending.operands.iter().map(operand))?;
        let called = |id: &u64| {
            self.computations
                .get(id)
                .copied()
                .ok_or_else(|| damage("a computation that is defined after its caller"))
        };
        out.called = all(pending.called.iter().map(called))?;
        let id = pending.id;
        if &*out.opcode == "get-tuple-element" && out.counter == CounterPart::None {
            // Position 0 is not written.
            out.counter = CounterPart::Element(0);
        }
        finish(self.bytes, &out, pending, &mut facts);
        if let Some(config) = facts.backend_config.clone() {
            out.config = digest(0, &ProtoValue::message(self.bytes, config));
        }
        out.attributes = Some(facts)
            .filter(|facts| *facts != Attributes::default())
            .map(Box::new);
        Ok((id, out))
    }

    fn read_core(
        &mut self,
        field: u32,
        value: &ProtoValue<'a>,
        out: &mut Instruction,
        pending: &mut UnresolvedInstruction,
    ) -> Result<(), HloDamage> {
        match field {
            1 => out.name = Arc::from(value.text()),
            2 => out.opcode = self.texts.intern(value.slice()),
            3 => out.shape = Some(self.read_shape(value)?),
            7 => self.read_metadata(value, out)?,
            9 => out.parameter_number = u32::try_from(value.number()).ok(),
            35 => pending.id = value.number(),
            36 => value.numbers(&mut pending.operands)?,
            38 => value.numbers(&mut pending.called)?,
            _ => {}
        }
        Ok(())
    }

    /// Reads a shape; repeated ones are shared.
    fn read_shape(&mut self, message: &ProtoValue<'a>) -> Result<Arc<Shape<'static>>, HloDamage> {
        let known = match self.shapes.entry(message.slice()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(Arc::new(shape::read(message, 0)?)),
        };
        Ok(Arc::clone(known))
    }

    fn read_metadata(
        &mut self,
        message: &ProtoValue<'a>,
        out: &mut Instruction,
    ) -> Result<(), HloDamage> {
        message.walk("OpMetadata", |field, value| {
            match field {
                2 => out.op_name = self.texts.intern(value.slice()),
                3 => out.source_file = self.texts.intern(value.slice()),
                4 => out.source_line = u32::try_from(value.number()).unwrap_or(0),
                15 => out.stack_frame = u32::try_from(value.number()).unwrap_or(0),
                _ => {}
            }
            Ok(())
        })
    }

    /// `xla.Payload`: the bytes, or an index into the module's list.
    fn payload(
        &self,
        message: &ProtoValue<'a>,
    ) -> Result<Option<std::ops::Range<usize>>, HloDamage> {
        let mut out = None;
        message.walk("Payload", |field, value| {
            match field {
                1 => out = Some(value.range()),
                2 => {
                    out = usize::try_from(value.number())
                        .ok()
                        .and_then(|id| self.payloads.get(id).cloned());
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(out)
    }
}

/// Digest of a field.
fn digest(field: u32, value: &ProtoValue<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value.number() {
        _ if value.is_bytes() => (field, value.slice()).hash(&mut hasher),
        0 => return 0,
        number => (field, number).hash(&mut hasher),
    }
    hasher.finish()
}

/// Collects items without spare capacity.
fn all<T>(items: impl ExactSizeIterator<Item = Result<T, HloDamage>>) -> Result<Vec<T>, HloDamage> {
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        out.push(item?);
    }
    Ok(out)
}

fn read_facts(
    field: u32,
    value: &ProtoValue<'_>,
    facts: &mut Attributes,
    pending: &mut UnresolvedInstruction,
) -> Result<(), HloDamage> {
    match field {
        11 => facts.fusion_kind = FusionKind::parse(&value.text()),
        15 => pending.convolution.window = window(value)?,
        16 => {
            pending.is_convolution = true;
            convolution_dimensions(value, &mut pending.convolution)?;
        }
        20 => value.numbers(&mut facts.slice_sizes)?,
        // Compilers write 0 or -1 if there is none.
        26 => {
            pending.collective.channel_id =
                Some(value.number()).filter(|&id| id > 0 && i64::try_from(id).is_ok());
        }
        28 => {
            facts.custom_call_target = Some(value.text()).filter(|target| !target.is_empty());
        }
        30 => dot_dimensions(value, facts.dot.get_or_insert_default())?,
        43 => facts.backend_config = Some(value.range()).filter(|range| !range.is_empty()),
        47 => facts.is_host_transfer = value.number() != 0,
        49 => push_group(value, &mut pending.collective)?,
        50 => pending.convolution.feature_groups = value.number(),
        51 => facts.precision = precision(value)?,
        52 => {
            let [source, target] = value.first_numbers("SourceTarget")?;
            pending.collective.pairs.push((source, target));
        }
        58 => pending.convolution.batch_groups = value.number(),
        71 => pending.collective.uses_global_ids = value.number() != 0,
        87 => device_list(value, &mut pending.collective)?,
        90 => facts.dot = Some(Box::new(ragged_dimensions(value)?)),
        92 => pending.collective.groups = Some(ReplicaGroups::Iota(iota(value)?)),
        93 => pending.collective.groups = Some(ReplicaGroups::Mesh(mesh_groups(value)?)),
        _ => {}
    }
    Ok(())
}

/// Sets what depends on several fields.
fn finish(bytes: &[u8], out: &Instruction, pending: UnresolvedInstruction, facts: &mut Attributes) {
    if pending.is_convolution {
        let mut convolution = pending.convolution;
        convolution.feature_groups = convolution.feature_groups.max(1);
        convolution.batch_groups = convolution.batch_groups.max(1);
        facts.convolution = Some(Box::new(convolution));
    }
    let mut collective = pending.collective;
    if has_groups(&out.opcode) && collective.groups.is_none() {
        // Not written where everyone belongs to one group.
        collective.groups = Some(ReplicaGroups::Listed(Vec::new()));
    }
    facts.collective =
        (collective != CollectiveAttributes::default()).then(|| Box::new(collective));
    let config = facts.backend_config.clone();
    let config = config.and_then(|range| bytes.get(range));
    match &*out.opcode {
        "while" => facts.trip_count = config.and_then(config::trip_count),
        "custom-call" => facts.declared_flops = config.and_then(config::declared_flops),
        _ => {}
    }
}

fn window(message: &ProtoValue<'_>) -> Result<Vec<WindowDimension>, HloDamage> {
    const WINDOW: &str = "Window";
    let mut out = Vec::new();
    message.walk(WINDOW, |field, value| {
        if field != 1 {
            return Ok(());
        }
        // Absent is zero in this message, and zero strides mean nothing else than 1.
        let mut dimension = WindowDimension {
            size: 0,
            ..WindowDimension::default()
        };
        value.walk(WINDOW, |field, value| {
            let number = value.number();
            match field {
                1 => dimension.size = number,
                2 => dimension.stride = number.max(1),
                3 => dimension.padding_low = number as i64,
                4 => dimension.padding_high = number as i64,
                5 => dimension.window_dilation = number.max(1),
                6 => dimension.base_dilation = number.max(1),
                7 => dimension.is_reversed = number != 0,
                _ => {}
            }
            Ok(())
        })?;
        out.push(dimension);
        Ok(())
    })?;
    Ok(out)
}

fn convolution_dimensions(
    message: &ProtoValue<'_>,
    out: &mut Convolution,
) -> Result<(), HloDamage> {
    const DIMENSIONS: &str = "ConvolutionDimensionNumbers";
    message.walk(DIMENSIONS, |field, value| {
        match field {
            3 => out.kernel_input_feature = value.number(),
            4 => out.kernel_output_feature = value.number(),
            6 => value.numbers(&mut out.kernel_spatial)?,
            7 => out.input_batch = value.number(),
            8 => out.input_feature = value.number(),
            9 => out.output_batch = value.number(),
            10 => out.output_feature = value.number(),
            11 => value.numbers(&mut out.input_spatial)?,
            12 => value.numbers(&mut out.output_spatial)?,
            _ => {}
        }
        Ok(())
    })
}

fn dot_dimensions(message: &ProtoValue<'_>, out: &mut DotDimensions) -> Result<(), HloDamage> {
    const DIMENSIONS: &str = "DotDimensionNumbers";
    message.walk(DIMENSIONS, |field, value| match field {
        1 => value.numbers(&mut out.lhs_contracting),
        2 => value.numbers(&mut out.rhs_contracting),
        3 => value.numbers(&mut out.lhs_batch),
        4 => value.numbers(&mut out.rhs_batch),
        _ => Ok(()),
    })
}

fn ragged_dimensions(message: &ProtoValue<'_>) -> Result<DotDimensions, HloDamage> {
    const DIMENSIONS: &str = "RaggedDotDimensionNumbers";
    message.read(DIMENSIONS, |out: &mut DotDimensions, field, value| {
        match field {
            1 => dot_dimensions(value, out)?,
            2 => value.numbers(&mut out.lhs_ragged)?,
            3 => value.numbers(&mut out.rhs_group)?,
            _ => {}
        }
        Ok(())
    })
}

fn precision(message: &ProtoValue<'_>) -> Result<PrecisionConfig, HloDamage> {
    let named = |number| match number {
        1 => ProductPrecision::High,
        2 => ProductPrecision::Highest,
        _ => ProductPrecision::Default,
    };
    message.read(
        "PrecisionConfig",
        |out: &mut PrecisionConfig, field, value| {
            let mut numbers = Vec::new();
            match field {
                1 => value.numbers(&mut numbers)?,
                2 => out.algorithm = value.number(),
                _ => {}
            }
            out.operands.extend(numbers.into_iter().map(named));
            Ok(())
        },
    )
}

/// One `xla.ReplicaGroup` more.
fn push_group(message: &ProtoValue<'_>, out: &mut CollectiveAttributes) -> Result<(), HloDamage> {
    let ids = message.list("ReplicaGroup")?;
    match &mut out.groups {
        Some(ReplicaGroups::Listed(groups)) => groups.push(ids),
        // The newer forms say the same.
        Some(_) => {}
        None => out.groups = Some(ReplicaGroups::Listed(vec![ids])),
    }
    Ok(())
}

/// `xla.CollectiveDeviceListProto`, which replaces the older list of groups.
fn device_list(message: &ProtoValue<'_>, out: &mut CollectiveAttributes) -> Result<(), HloDamage> {
    let read = |list: &mut CollectiveAttributes, field, value: &ProtoValue<'_>| {
        match field {
            1 => push_group(value, list)?,
            2 => list.groups = Some(ReplicaGroups::Iota(iota(value)?)),
            _ => {}
        }
        Ok(())
    };
    let list = message.read("CollectiveDeviceListProto", read)?;
    if list.groups.is_some() {
        out.groups = list.groups;
    }
    Ok(())
}

fn iota(message: &ProtoValue<'_>) -> Result<IotaGroups, HloDamage> {
    message.read(
        "IotaReplicaGroupListProto",
        |out: &mut IotaGroups, field, value| {
            match field {
                1 => out.count = value.number(),
                2 => out.size = value.number(),
                3 => value.numbers(&mut out.dims)?,
                4 => value.numbers(&mut out.permutation)?,
                _ => {}
            }
            Ok(())
        },
    )
}

fn mesh_groups(message: &ProtoValue<'_>) -> Result<MeshGroups, HloDamage> {
    const MESH: &str = "MeshAxesReplicaGroupListProto";
    message.read(MESH, |out: &mut MeshGroups, field, value| {
        match field {
            1 => value.walk(MESH, |field, value| {
                match field {
                    1 => out.mesh.axes.push(mesh_axis(value)?),
                    2 => value.numbers(&mut out.mesh.devices)?,
                    _ => {}
                }
                Ok(())
            })?,
            2 => out.along.push(axis_ref(value)?),
            _ => {}
        }
        Ok(())
    })
}

fn mesh_axis(message: &ProtoValue<'_>) -> Result<(String, u64), HloDamage> {
    let read = |out: &mut (String, u64), field, value: &ProtoValue<'_>| {
        match field {
            1 => out.0 = value.text(),
            2 => out.1 = value.number(),
            _ => {}
        }
        Ok(())
    };
    message.read("MeshProto.MeshAxis", read)
}

fn axis_ref(message: &ProtoValue<'_>) -> Result<AxisRef, HloDamage> {
    const AXIS: &str = "AxisRefProto";
    message.read(AXIS, |out: &mut AxisRef, field, value| {
        match field {
            1 => out.axis = usize::try_from(value.number()).unwrap_or(usize::MAX),
            2 => {
                let [before, size] = value.first_numbers(AXIS)?;
                out.part = Some((before, size));
            }
            _ => {}
        }
        Ok(())
    })
}
