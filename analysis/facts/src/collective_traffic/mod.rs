//! Traffic of collectives: participants, message size, and bytes that each device must send.
//!
//! `bytes_accessed` of a collective is local HBM traffic; what crosses the network follows from shapes and group size.
//! Sizes follow the convention of NCCL's tests: algorithm bandwidth = size / time, bus bandwidth = that × a factor that
//! makes it comparable with the speed of a link. The time that links need is computed in [`hardware::ici`].

mod mesh_axis;

use engine::prelude::*;
use hardware::chips::Chip;
use hardware::ici::{GroupLayout, Topology, layouts, placed};
use hlo::{
    CollectiveAttributes, DeviceAssignment, GroupMode, HloModule, Instruction, ReplicaGroups, Shape,
};

pub use mesh_axis::{GroupPlace, MeshAxis};

use crate::TraceFacts as _;
use crate::category::{CollectiveKind, resized};

/// Traffic of one execution of a collective.
#[engine::row(compiler)]
#[derive(Default)]
pub struct CollectiveTraffic {
    /// Message size by the convention of nccl-tests; `None` if no shape is known.
    #[column("Message")]
    pub bytes: Option<u64>,
    /// The size is an upper bound: how much a ragged exchange moves depends on data.
    pub is_upper_bound: bool,
    /// Number of devices that communicate with each other; `None` if it is not even known from the capture.
    #[column("Group")]
    pub participants: Option<u64>,
    /// Whether the number of participants is that of the captured devices, because the groups are unknown.
    pub participants_estimated: bool,
    /// Bytes that each device must send, by the best ring algorithm.
    #[column]
    pub sent_bytes: Option<f64>,
    /// Groups of devices, listed; `None` if unknown, or all in one.
    #[serde(skip)]
    pub groups: Option<Vec<Vec<u64>>>,
    /// Whether the ids in `groups` are device ids of the runtime, by the program's device assignment; otherwise they
    /// are ids within the program.
    #[serde(skip)]
    pub groups_are_devices: bool,
    /// The axis of the program's mesh along which the groups lie; `None` if they follow none or are unknown.
    #[serde(skip)]
    pub axis: Option<MeshAxis>,
    /// What the program calls this axis; `None` if it does not say.
    #[serde(skip)]
    pub axis_name: Option<Arc<str>>,
}

/// Largest number of devices whose groups are listed: more than the largest pod has.
const MAX_SPELLED_OUT: u64 = 1 << 14;

impl CollectiveTraffic {
    /// The message of an op; `captured` devices take part if the program does not name the participants.
    ///
    /// It comes from the HLO text of the op, and from the program, if recorded, for facts that the text does not have:
    /// the inside fusions and wrappers, and the devices. For fusions the program is used first, because their text
    /// has no groups.
    pub fn of(cx: &Context<'_>, op: Option<OpId>, kind: CollectiveKind, captured: usize) -> Self {
        let Some(id) = op else {
            return Self::estimated(captured);
        };
        let program = cx
            .model
            .op(id)
            .program
            .and_then(|program| cx.hlo(program).ok());
        let mut traffic = Self::recorded(cx, id, program.as_deref(), kind, captured);
        if let (Some(axis), Some(program)) = (traffic.axis, program) {
            traffic.name_axis(axis, &program);
        }
        traffic
    }

    /// The traffic of a collective without the name of the axis, unless the op itself says it.
    fn recorded(
        cx: &Context<'_>,
        id: OpId,
        program: Option<&HloModule>,
        kind: CollectiveKind,
        captured: usize,
    ) -> Self {
        let op = cx.model.op(id);
        let devices = program.and_then(|module| module.devices.as_ref());
        let text = op
            .hlo_text
            .and_then(|text| HloModule::from_text(cx.model.str(text)));
        let last = text
            .as_ref()
            .and_then(|module| Some((module, module.instructions.last()?)));
        let is_fusion = last.is_some_and(|(_, op)| &*op.opcode == "fusion");
        let by_text =
            last.map(|(module, op)| Self::of_instruction(module, op, devices, kind, captured));
        if let Some(traffic) = by_text
            .as_ref()
            .filter(|traffic| !is_fusion && traffic.bytes.is_some() && traffic.knows_who())
        {
            return traffic.clone();
        }
        let by_program = cx.instruction(id).map(|op| {
            let inner = collective_in(op.module(), &op);
            Self::of_instruction(op.module(), inner, devices, kind, captured)
        });
        match (by_text, by_program) {
            (Some(text), Some(program)) if is_fusion => program.or(text, kind),
            (Some(text), Some(program)) => text.or(program, kind),
            (one, other) => one.or(other).unwrap_or_else(|| Self::estimated(captured)),
        }
    }

    /// The traffic from HLO text; `None` for any other text.
    pub fn of_text(text: &str, kind: CollectiveKind, captured: usize) -> Option<Self> {
        let module = HloModule::from_text(text)?;
        Some(Self::of_instruction(
            &module,
            module.instructions.last()?,
            None,
            kind,
            captured,
        ))
    }

    /// Every possible layout of the participants on the grid of chips.
    pub fn layouts(&self, chip: &Chip, topology: Option<&Topology>) -> Vec<GroupLayout> {
        match (&self.groups, self.participants) {
            (Some(groups), _) => placed(groups, self.groups_are_devices, chip, topology),
            (None, Some(n)) => layouts(n, chip, topology),
            (None, None) => Vec::new(),
        }
    }

    /// Fills in missing facts from `other`, which takes precedence if only it knows the participants, because sizes can
    /// depend on them.
    fn or(self, other: Self, kind: CollectiveKind) -> Self {
        let prefer_other = !self.knows_who() && other.knows_who();
        let (mut out, bytes) = if prefer_other {
            (other, self.bytes)
        } else {
            (self, other.bytes)
        };
        out.bytes = out.bytes.or(bytes);
        out.sent_bytes = out
            .bytes
            .zip(out.participants)
            .map(|(bytes, n)| sent_bytes(kind, bytes, n));
        out
    }

    /// Whether the participants are recorded.
    pub fn knows_who(&self) -> bool {
        self.participants.is_some() && !self.participants_estimated
    }

    /// Takes the name of the axis from the program, if the op does not say it.
    fn name_axis(&mut self, axis: MeshAxis, program: &HloModule) {
        if self.axis_name.is_none() {
            self.axis_name = program
                .axis_name(axis.devices, axis.apart, axis.of)
                .cloned();
        }
    }

    /// All captured devices; `None` for a single device, because the others are unknown.
    fn estimated(captured: usize) -> Self {
        let participants = Some(captured as u64).filter(|&n| n > 1);
        Self {
            participants,
            participants_estimated: participants.is_some(),
            ..Self::default()
        }
    }

    /// The message of a collective in a program, by its own opcode; `None` for other instructions, and for the end of an
    /// asynchronous one.
    pub fn in_program(module: &HloModule, op: &Instruction) -> Option<(CollectiveKind, Self)> {
        let base = op.opcode.strip_suffix("-start").unwrap_or(&op.opcode);
        let kind = CollectiveKind::from_opcode(base)?;
        let mut traffic = Self::of_instruction(module, op, module.devices.as_ref(), kind, 0);
        if let Some(axis) = traffic.axis {
            traffic.name_axis(axis, module);
        }
        Some((kind, traffic))
    }

    /// The message of an instruction.
    fn of_instruction(
        module: &HloModule,
        op: &Instruction,
        devices: Option<&DeviceAssignment>,
        kind: CollectiveKind,
        captured: usize,
    ) -> Self {
        let mut out = Self::estimated(captured);
        let everyone = CollectiveAttributes::default();
        let who = op.attributes().collective.as_deref().unwrap_or(&everyone);
        out.read_participants(who, &op.opcode, devices);
        out.is_upper_bound = kind == CollectiveKind::RaggedAllToAll;
        let half = half_fusion(module, op, kind);
        if let Some((_, n)) = half.filter(|_| !out.knows_who()) {
            (out.participants, out.participants_estimated) = (Some(n), false);
        }
        let bytes = message_bytes(module, op, kind).or(half.map(|(bytes, _)| bytes));
        out.bytes = bytes.or_else(|| match kind {
            // Without operand shapes: the result size times the number of participants.
            CollectiveKind::ReduceScatter => result_bytes(op)?.checked_mul(out.participants?),
            _ => None,
        });
        out.sent_bytes = out
            .bytes
            .zip(out.participants)
            .map(|(bytes, n)| sent_bytes(kind, bytes, n));
        out
    }

    fn read_participants(
        &mut self,
        who: &CollectiveAttributes,
        opcode: &str,
        devices: Option<&DeviceAssignment>,
    ) {
        let mode = who.group_mode(opcode);
        let everybody = everybody(mode, opcode, devices);
        // Replicas of several partitions each are no devices.
        let are_devices =
            mode != GroupMode::Replicas || devices.is_none_or(|devices| devices.partitions == 1);
        if !who.pairs.is_empty() {
            // A device that only sends to itself uses no link.
            let ends = who
                .pairs
                .iter()
                .filter(|(from, to)| from != to)
                .flat_map(|&(from, to)| [from, to]);
            let n = ends.collect::<BTreeSet<u64>>().len() as u64;
            (self.participants, self.participants_estimated) = (Some(n.max(1)), false);
            if are_devices && who.pairs.len() as u64 <= MAX_SPELLED_OUT {
                self.axis = MeshAxis::of_pairs(&who.pairs, everybody);
            }
            return;
        }
        let size = who
            .groups
            .as_ref()
            .and_then(ReplicaGroups::size)
            .filter(|&size| size > 0);
        let known = match (mode, size) {
            (_, None) => everybody
                .filter(|&n| n > 0 && who.groups.as_ref().is_none_or(ReplicaGroups::is_everybody)),
            (GroupMode::ReplicasAndPartitions, Some(size)) => devices
                .and_then(|devices| size.checked_mul(devices.partitions))
                .filter(|&n| n > 0),
            (_, Some(size)) => Some(size),
        };
        if known.is_some() {
            (self.participants, self.participants_estimated) = (known, false);
        } else if let Some(size) = size.filter(|&size| size > 1) {
            // All partitions of these replicas: how many there are is not recorded.
            (self.participants, self.participants_estimated) = (Some(size), true);
        }
        let total = who.groups.as_ref().and_then(total);
        if mode != GroupMode::ReplicasAndPartitions
            && total.is_some_and(|total| total <= MAX_SPELLED_OUT)
        {
            let groups = who.groups.as_ref().and_then(ReplicaGroups::expand);
            let listed = groups.as_deref().filter(|groups| !groups.is_empty());
            self.axis = match listed.filter(|_| are_devices) {
                Some(groups) => MeshAxis::of_groups(groups),
                None => everybody
                    .filter(|_| are_devices && self.knows_who())
                    .and_then(MeshAxis::everybody),
            };
            if let (Some(_), Some(ReplicaGroups::Mesh(groups))) = (self.axis, &who.groups) {
                self.axis_name = groups.axis_name().map(Arc::from);
            }
            self.spell_out(groups.filter(|groups| groups.len() > 1), mode, devices);
        }
    }

    /// Stores groups, with device ids if the program contains the device assignment.
    fn spell_out(
        &mut self,
        groups: Option<Vec<Vec<u64>>>,
        mode: GroupMode,
        devices: Option<&DeviceAssignment>,
    ) {
        let assigned = |assignment: &DeviceAssignment, id: u64| match mode {
            GroupMode::Devices => {
                let partitions = assignment.partitions.max(1);
                assignment.device(id / partitions, id % partitions)
            }
            GroupMode::Replicas => assignment.device(id, 0),
            GroupMode::Partitions | GroupMode::ReplicasAndPartitions => assignment.device(0, id),
        };
        let as_devices = groups
            .as_ref()
            .zip(devices)
            .and_then(|(groups, assignment)| {
                groups
                    .iter()
                    .map(|group| group.iter().map(|&id| assigned(assignment, id)).collect())
                    .collect::<Option<Vec<Vec<u64>>>>()
            });
        self.groups_are_devices = as_devices.is_some();
        self.groups = as_devices.or(groups);
    }
}

/// All that can take part in a collective; `None` if that is not recorded.
fn everybody(mode: GroupMode, opcode: &str, devices: Option<&DeviceAssignment>) -> Option<u64> {
    let everybody = devices.and_then(|devices| devices.participants(mode));
    // Unknown for fusions and wrappers: their own attributes have no groups.
    let base = opcode.trim_end_matches("-start").trim_end_matches("-done");
    everybody.filter(|_| CollectiveKind::from_opcode(base).is_some())
}

/// Devices in all groups together.
fn total(groups: &ReplicaGroups) -> Option<u64> {
    match groups {
        ReplicaGroups::Listed(groups) => Some(groups.iter().map(|group| group.len() as u64).sum()),
        ReplicaGroups::Iota(iota) => iota.count.checked_mul(iota.size),
        ReplicaGroups::Mesh(groups) => groups
            .mesh
            .axes
            .iter()
            .try_fold(1_u64, |all, &(_, size)| all.checked_mul(size)),
    }
}

/// The collective of an op: itself, the one inside a fusion or asynchronous wrapper, or the one that it awaits.
fn collective_in<'a>(module: &'a HloModule, op: &'a Instruction) -> &'a Instruction {
    let is_done = |op: &Instruction| op.opcode.ends_with("-done") || op.opcode.ends_with("-update");
    let mut op = op;
    // An op can be awaited through updates; such chains are short.
    for _ in 0..8 {
        let first = module
            .operands(op)
            .next()
            .filter(|first| !first.opcode.is_empty());
        match first {
            Some(first) if is_done(op) => op = first,
            _ => break,
        }
    }
    let inner = module
        .body(op)
        .map(|body| module.instructions_of(body))
        .unwrap_or_default();
    inner
        .iter()
        .rev()
        .find(|op| CollectiveKind::from_opcode(op.opcode.trim_end_matches("-start")).is_some())
        .unwrap_or(op)
}

/// Message size and number of participants of a fusion that starts or ends an asynchronous collective, if the
/// collective changes the size of its operand.
fn half_fusion(module: &HloModule, op: &Instruction, kind: CollectiveKind) -> Option<(u64, u64)> {
    let parts = op
        .shape
        .as_ref()
        .filter(|_| &*op.opcode == "fusion")?
        .parts();
    let operand = module.operands(op).next()?.shape.as_deref()?;
    let result = match parts {
        [first, second, ..] if first == operand => second,
        [one] => one,
        _ => return None,
    };
    let (resized_kind, n) =
        resized(operand, result).filter(|&(resized_kind, _)| resized_kind == kind)?;
    let whole = if resized_kind == CollectiveKind::AllGather {
        result
    } else {
        operand
    };
    Some((whole.bytes()?, n))
}

fn result_bytes(op: &Instruction) -> Option<u64> {
    op.shape.as_ref()?.bytes().filter(|&bytes| bytes > 0)
}

/// The size that bandwidths are computed from: the buffer for all-reduce and permutes, the **full gathered** result for
/// all-gather, the **full** input for reduce-scatter, the whole buffer of one device for all-to-all.
///
/// `None` if no usable shape is known. Starts of asynchronous ops carry their operands and context scalars in the
/// result; those do not count.
fn message_bytes(module: &HloModule, op: &Instruction, kind: CollectiveKind) -> Option<u64> {
    if &*op.opcode == "fusion" {
        return None; // The fused computation is unknown: its result can be larger than the message.
    }
    let operands = || {
        let shapes = module
            .operands(op)
            .map(|operand| operand.shape.as_ref()?.bytes());
        shapes.sum::<Option<u64>>().filter(|&bytes| bytes > 0)
    };
    let part = |n: usize| op.shape.as_ref()?.parts().get(n)?.bytes();
    let is_start = op.opcode.ends_with("-start");
    // `(operands, results, contexts …)`, but an `all-reduce-start` has plain results.
    let results = || {
        if is_start && matches!(op.shape.as_deref(), Some(Shape::Tuple(_))) {
            part(1)
        } else {
            result_bytes(op)
        }
    };
    match kind {
        CollectiveKind::AllGather
        | CollectiveKind::CollectivePermute
        | CollectiveKind::CollectiveBroadcast => {
            results().or_else(|| operands().filter(|_| kind != CollectiveKind::AllGather))
        }
        CollectiveKind::ReduceScatter => operands(),
        CollectiveKind::AllToAll => operands().or_else(results),
        CollectiveKind::RaggedAllToAll | CollectiveKind::Send => {
            module.operands(op).next()?.shape.as_ref()?.bytes()
        }
        CollectiveKind::Recv => part(0),
        CollectiveKind::AllReduce if is_start => operands().or_else(|| result_bytes(op)),
        CollectiveKind::AllReduce | CollectiveKind::Unknown => result_bytes(op).or_else(operands),
    }
}

/// Bus bandwidth divided by algorithm bandwidth, for `n` participants; 0 for a single one.
pub(crate) fn bus_factor(kind: CollectiveKind, n: u64) -> f64 {
    if n < 2 {
        return 0.0;
    }
    let others = (n - 1) as f64 / n as f64;
    match kind {
        CollectiveKind::AllReduce => 2.0 * others,
        CollectiveKind::AllGather
        | CollectiveKind::ReduceScatter
        | CollectiveKind::AllToAll
        | CollectiveKind::RaggedAllToAll => others,
        _ => 1.0,
    }
}

/// Bytes that each participant must send, by the best ring algorithm.
pub(crate) fn sent_bytes(kind: CollectiveKind, bytes: u64, n: u64) -> f64 {
    bytes as f64 * bus_factor(kind, n)
}

#[cfg(test)]
mod tests;
