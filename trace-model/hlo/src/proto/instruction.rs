//! Reads `xla.HloInstructionProto`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use crate::syntax::{AxisRef, IotaGroups, MeshGroups, ReplicaGroups, Shape};
use trace_model::wire::WireValue;

use super::super::config;
use super::super::facts::{
    Attributes, CollectiveAttributes, Convolution, DotDimensions, FusionKind, PrecisionConfig,
    ProductPrecision, WindowDimension, has_groups,
};
use super::super::wire::{HloDamage, ProgramMessage, number, range};
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
        message: &WireValue,
        computation: ComputationId,
        local: &HashMap<u64, InstructionId>,
    ) -> Result<(u64, Instruction), HloDamage> {
        let bytes = self.bytes;
        let mut out = Instruction::blank(&self.texts.intern(b""), computation);
        let mut facts = Attributes::default();
        let mut pending = UnresolvedInstruction::default();
        bytes.walk(message, INSTRUCTION, |field, value| {
            self.read_core(field, value, &mut out, &mut pending)?;
            read_facts(bytes, field, value, &mut facts, &mut pending)?;
            read_counter(bytes, field, value, &mut out.counter)?;
            if field == 99 {
                facts.backend_config = self.payload(value)?;
            }
            if !NOT_CONTENT.contains(&field) {
                out.content = out.content.wrapping_add(digest(field, bytes, value));
            }
            Ok(())
        })?;
        let damage = |why| HloDamage {
            message: INSTRUCTION,
            at: range(message).start,
            why,
        };
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
        finish(bytes, &out, pending, &mut facts);
        if let Some(config) = facts.backend_config.clone() {
            out.config = digest(0, bytes, &WireValue::Bytes(config));
        }
        out.attributes = Some(facts)
            .filter(|facts| *facts != Attributes::NONE)
            .map(Box::new);
        Ok((id, out))
    }

    fn read_core(
        &mut self,
        field: u32,
        value: &WireValue,
        out: &mut Instruction,
        pending: &mut UnresolvedInstruction,
    ) -> Result<(), HloDamage> {
        let bytes = self.bytes;
        match field {
            1 => out.name = Arc::from(bytes.text(value)),
            2 => out.opcode = self.texts.intern(bytes.slice(value)),
            3 => out.shape = Some(self.read_shape(value)?),
            7 => self.read_metadata(value, out)?,
            9 => out.parameter_number = u32::try_from(number(value)).ok(),
            35 => pending.id = number(value),
            36 => bytes.numbers(value, INSTRUCTION, &mut pending.operands)?,
            38 => bytes.numbers(value, INSTRUCTION, &mut pending.called)?,
            _ => {}
        }
        Ok(())
    }

    /// Reads a shape; repeated ones are shared.
    fn read_shape(&mut self, message: &WireValue) -> Result<Arc<Shape<'static>>, HloDamage> {
        let bytes: ProgramMessage<'a> = self.bytes;
        let known = match self.shapes.entry(bytes.slice(message)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(Arc::new(shape::read(bytes, message, 0)?)),
        };
        Ok(Arc::clone(known))
    }

    fn read_metadata(
        &mut self,
        message: &WireValue,
        out: &mut Instruction,
    ) -> Result<(), HloDamage> {
        let bytes: ProgramMessage<'a> = self.bytes;
        bytes.walk(message, "OpMetadata", |field, value| {
            match field {
                2 => out.op_name = self.texts.intern(bytes.slice(value)),
                3 => out.source_file = self.texts.intern(bytes.slice(value)),
                4 => out.source_line = u32::try_from(number(value)).unwrap_or(0),
                15 => out.stack_frame = u32::try_from(number(value)).unwrap_or(0),
                _ => {}
            }
            Ok(())
        })
    }

    /// `xla.Payload`: the bytes, or an index into the module's list.
    fn payload(&self, message: &WireValue) -> Result<Option<std::ops::Range<usize>>, HloDamage> {
        let mut out = None;
        self.bytes.walk(message, "Payload", |field, value| {
            match field {
                1 => out = Some(range(value)),
                2 => {
                    out = usize::try_from(number(value))
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
fn digest(field: u32, bytes: ProgramMessage<'_>, value: &WireValue) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        WireValue::Bytes(_) => (field, bytes.slice(value)).hash(&mut hasher),
        _ if number(value) == 0 => return 0,
        _ => (field, number(value)).hash(&mut hasher),
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
    bytes: ProgramMessage<'_>,
    field: u32,
    value: &WireValue,
    facts: &mut Attributes,
    pending: &mut UnresolvedInstruction,
) -> Result<(), HloDamage> {
    match field {
        11 => facts.fusion_kind = FusionKind::parse(&bytes.text(value)),
        15 => pending.convolution.window = window(bytes, value)?,
        16 => {
            pending.is_convolution = true;
            convolution_dimensions(bytes, value, &mut pending.convolution)?;
        }
        20 => bytes.numbers(value, INSTRUCTION, &mut facts.slice_sizes)?,
        // Compilers write 0 or -1 if there is none.
        26 => {
            pending.collective.channel_id =
                Some(number(value)).filter(|&id| id > 0 && i64::try_from(id).is_ok());
        }
        28 => {
            facts.custom_call_target = Some(bytes.text(value)).filter(|target| !target.is_empty());
        }
        30 => {
            facts.dot = Some(Box::new(dot_dimensions(
                bytes,
                value,
                *facts.dot.take().unwrap_or_default(),
            )?));
        }
        43 => facts.backend_config = Some(range(value)).filter(|range| !range.is_empty()),
        47 => facts.is_host_transfer = number(value) != 0,
        49 => push_group(bytes, value, &mut pending.collective)?,
        50 => pending.convolution.feature_groups = number(value),
        51 => facts.precision = precision(bytes, value)?,
        52 => {
            let [source, target] = bytes.first_numbers(value, "SourceTarget")?;
            pending.collective.pairs.push((source, target));
        }
        58 => pending.convolution.batch_groups = number(value),
        71 => pending.collective.uses_global_ids = number(value) != 0,
        87 => device_list(bytes, value, &mut pending.collective)?,
        90 => facts.dot = Some(Box::new(ragged_dimensions(bytes, value)?)),
        92 => pending.collective.groups = Some(ReplicaGroups::Iota(iota(bytes, value)?)),
        93 => pending.collective.groups = Some(ReplicaGroups::Mesh(mesh_groups(bytes, value)?)),
        _ => {}
    }
    Ok(())
}

/// Sets what depends on several fields.
fn finish(
    bytes: ProgramMessage<'_>,
    out: &Instruction,
    pending: UnresolvedInstruction,
    facts: &mut Attributes,
) {
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
    if &*out.opcode == "while" {
        let config = facts
            .backend_config
            .clone()
            .and_then(|range| bytes.0.get(range));
        facts.trip_count = config.and_then(config::trip_count);
    }
}

fn window(
    bytes: ProgramMessage<'_>,
    message: &WireValue,
) -> Result<Vec<WindowDimension>, HloDamage> {
    const WINDOW: &str = "Window";
    let mut out = Vec::new();
    bytes.walk(message, WINDOW, |field, value| {
        if field != 1 {
            return Ok(());
        }
        // Absent is zero in this message, and zero strides mean nothing else than 1.
        let mut dimension = WindowDimension {
            size: 0,
            ..WindowDimension::default()
        };
        bytes.walk(value, WINDOW, |field, value| {
            let number = number(value);
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
    bytes: ProgramMessage<'_>,
    message: &WireValue,
    out: &mut Convolution,
) -> Result<(), HloDamage> {
    const DIMENSIONS: &str = "ConvolutionDimensionNumbers";
    bytes.walk(message, DIMENSIONS, |field, value| {
        match field {
            3 => out.kernel_input_feature = number(value),
            4 => out.kernel_output_feature = number(value),
            6 => bytes.numbers(value, DIMENSIONS, &mut out.kernel_spatial)?,
            7 => out.input_batch = number(value),
            8 => out.input_feature = number(value),
            9 => out.output_batch = number(value),
            10 => out.output_feature = number(value),
            11 => bytes.numbers(value, DIMENSIONS, &mut out.input_spatial)?,
            12 => bytes.numbers(value, DIMENSIONS, &mut out.output_spatial)?,
            _ => {}
        }
        Ok(())
    })
}

fn dot_dimensions(
    bytes: ProgramMessage<'_>,
    message: &WireValue,
    mut out: DotDimensions,
) -> Result<DotDimensions, HloDamage> {
    const DIMENSIONS: &str = "DotDimensionNumbers";
    bytes.walk(message, DIMENSIONS, |field, value| match field {
        1 => bytes.numbers(value, DIMENSIONS, &mut out.lhs_contracting),
        2 => bytes.numbers(value, DIMENSIONS, &mut out.rhs_contracting),
        3 => bytes.numbers(value, DIMENSIONS, &mut out.lhs_batch),
        4 => bytes.numbers(value, DIMENSIONS, &mut out.rhs_batch),
        _ => Ok(()),
    })?;
    Ok(out)
}

fn ragged_dimensions(
    bytes: ProgramMessage<'_>,
    message: &WireValue,
) -> Result<DotDimensions, HloDamage> {
    const DIMENSIONS: &str = "RaggedDotDimensionNumbers";
    bytes.read(
        message,
        DIMENSIONS,
        |out: &mut DotDimensions, field, value| {
            match field {
                1 => *out = dot_dimensions(bytes, value, std::mem::take(out))?,
                2 => bytes.numbers(value, DIMENSIONS, &mut out.lhs_ragged)?,
                3 => bytes.numbers(value, DIMENSIONS, &mut out.rhs_group)?,
                _ => {}
            }
            Ok(())
        },
    )
}

fn precision(bytes: ProgramMessage<'_>, message: &WireValue) -> Result<PrecisionConfig, HloDamage> {
    const PRECISION: &str = "PrecisionConfig";
    let named = |number| match number {
        1 => ProductPrecision::High,
        2 => ProductPrecision::Highest,
        _ => ProductPrecision::Default,
    };
    bytes.read(
        message,
        PRECISION,
        |out: &mut PrecisionConfig, field, value| {
            let mut numbers = Vec::new();
            match field {
                1 => bytes.numbers(value, PRECISION, &mut numbers)?,
                2 => out.algorithm = number(value),
                _ => {}
            }
            out.operands.extend(numbers.into_iter().map(named));
            Ok(())
        },
    )
}

/// One `xla.ReplicaGroup` more.
fn push_group(
    bytes: ProgramMessage<'_>,
    message: &WireValue,
    out: &mut CollectiveAttributes,
) -> Result<(), HloDamage> {
    let ids = bytes.list(message, "ReplicaGroup")?;
    match &mut out.groups {
        Some(ReplicaGroups::Listed(groups)) => groups.push(ids),
        // The newer forms say the same.
        Some(_) => {}
        None => out.groups = Some(ReplicaGroups::Listed(vec![ids])),
    }
    Ok(())
}

/// `xla.CollectiveDeviceListProto`, which replaces the older list of groups.
fn device_list(
    bytes: ProgramMessage<'_>,
    message: &WireValue,
    out: &mut CollectiveAttributes,
) -> Result<(), HloDamage> {
    let read = |list: &mut CollectiveAttributes, field, value: &WireValue| {
        match field {
            1 => push_group(bytes, value, list)?,
            2 => list.groups = Some(ReplicaGroups::Iota(iota(bytes, value)?)),
            _ => {}
        }
        Ok(())
    };
    let list = bytes.read(message, "CollectiveDeviceListProto", read)?;
    if list.groups.is_some() {
        out.groups = list.groups;
    }
    Ok(())
}

fn iota(bytes: ProgramMessage<'_>, message: &WireValue) -> Result<IotaGroups, HloDamage> {
    const IOTA: &str = "IotaReplicaGroupListProto";
    bytes.read(message, IOTA, |out: &mut IotaGroups, field, value| {
        match field {
            1 => out.count = number(value),
            2 => out.size = number(value),
            3 => bytes.numbers(value, IOTA, &mut out.dims)?,
            4 => bytes.numbers(value, IOTA, &mut out.permutation)?,
            _ => {}
        }
        Ok(())
    })
}

fn mesh_groups(bytes: ProgramMessage<'_>, message: &WireValue) -> Result<MeshGroups, HloDamage> {
    const MESH: &str = "MeshAxesReplicaGroupListProto";
    bytes.read(message, MESH, |out: &mut MeshGroups, field, value| {
        match field {
            1 => bytes.walk(value, MESH, |field, value| {
                match field {
                    1 => out.mesh.axes.push(mesh_axis(bytes, value)?),
                    2 => bytes.numbers(value, MESH, &mut out.mesh.devices)?,
                    _ => {}
                }
                Ok(())
            })?,
            2 => out.along.push(axis_ref(bytes, value)?),
            _ => {}
        }
        Ok(())
    })
}

fn mesh_axis(bytes: ProgramMessage<'_>, message: &WireValue) -> Result<(String, u64), HloDamage> {
    let read = |out: &mut (String, u64), field, value: &WireValue| {
        match field {
            1 => out.0 = bytes.text(value),
            2 => out.1 = number(value),
            _ => {}
        }
        Ok(())
    };
    bytes.read(message, "MeshProto.MeshAxis", read)
}

fn axis_ref(bytes: ProgramMessage<'_>, message: &WireValue) -> Result<AxisRef, HloDamage> {
    const AXIS: &str = "AxisRefProto";
    bytes.read(message, AXIS, |out: &mut AxisRef, field, value| {
        match field {
            1 => out.axis = usize::try_from(number(value)).unwrap_or(usize::MAX),
            2 => {
                let [before, size] = bytes.first_numbers(value, AXIS)?;
                out.part = Some((before, size));
            }
            _ => {}
        }
        Ok(())
    })
}
