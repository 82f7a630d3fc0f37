//! Duration of communication between chips.
//!
//! The compiler's text does not contain it, so a model of latency and bandwidth is used, and the results are marked as
//! modelled. All participants form one ring with a link in each direction. A collective takes `hops · α + bytes ÷
//! rate`: among `n` devices the farthest one is `⌊n/2⌋` hops away, and both directions of the ring work at the same
//! time ("How to Scale Your Model").

use hlo::{FusionKind, Instruction, InstructionId, ReplicaGroups};

use super::machine::ChipModel;
use super::program::ScheduledProgram;

/// The communication pattern of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CollectivePattern {
    AllGather,
    ReduceScatter,
    AllReduce,
    AllToAll,
    Broadcast,
    Permute,
}

impl CollectivePattern {
    fn of_opcode(opcode: &str) -> Option<Self> {
        Some(match opcode.trim_end_matches("-start") {
            "all-gather" => Self::AllGather,
            "reduce-scatter" => Self::ReduceScatter,
            "all-reduce" => Self::AllReduce,
            "all-to-all" | "ragged-all-to-all" => Self::AllToAll,
            "collective-broadcast" => Self::Broadcast,
            "collective-permute" => Self::Permute,
            _ => return None,
        })
    }
}

/// Directions of the ring that a collective uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RingLinks {
    Next,
    Previous,
    Both,
}

/// One collective with its cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct CollectiveTransfer {
    pub links: RingLinks,
    /// Bytes that each device sends; for a permute, the bytes to its one neighbour.
    pub bytes: u64,
    pub seconds: f64,
}

/// The collective that an instruction is or wraps, and its role.
pub(super) fn transfer(
    program: &ScheduledProgram<'_>,
    id: InstructionId,
    chip: &ChipModel,
) -> Option<CollectiveTransfer> {
    let (instruction, kind) = collective(program, id)?;
    Some(of_kind(kind, program, instruction, chip))
}

/// The collective that an instruction is or wraps, and its pattern.
pub(super) fn collective<'a>(
    program: &ScheduledProgram<'a>,
    id: InstructionId,
) -> Option<(&'a Instruction, CollectivePattern)> {
    let instruction = program.instruction(id)?;
    if let Some(kind) = CollectivePattern::of_opcode(&instruction.opcode) {
        return Some((instruction, kind));
    }
    let is_wrapper = &*instruction.opcode == "async-start"
        || instruction.attributes().fusion_kind == Some(FusionKind::Custom);
    let body = instruction.called.first().copied();
    let body = body.filter(|_| is_wrapper)?;
    let (inner, kind) = program
        .module
        .instructions_of(body)
        .iter()
        .find_map(|inner| Some((inner, CollectivePattern::of_opcode(&inner.opcode)?)))?;
    // XLA writes a reduce-scatter as a fusion of an all-reduce and a slice of its result.
    let name = &program.module.computation(body)?.name;
    let scatters = kind == CollectivePattern::AllReduce && name.starts_with("all-reduce-scatter");
    Some((
        inner,
        if scatters {
            CollectivePattern::ReduceScatter
        } else {
            kind
        },
    ))
}

fn of_kind(
    kind: CollectivePattern,
    program: &ScheduledProgram<'_>,
    instruction: &Instruction,
    chip: &ChipModel,
) -> CollectiveTransfer {
    let operands = program.module.operands(instruction).map(Instruction::bytes);
    let attributes = instruction.attributes().collective.as_deref();
    let input = operands.fold(0, u64::saturating_add) as f64;
    if kind == CollectivePattern::Permute {
        let pairs = attributes.map(|it| it.pairs.as_slice());
        let (links, hops) = direction(pairs.unwrap_or_default());
        return CollectiveTransfer {
            links,
            bytes: input as u64,
            seconds: hops as f64 * chip.hop_s + input / chip.link,
        };
    }
    // No size means that all take part, or that the text is not understood.
    let groups = attributes.and_then(|it| it.groups.as_ref());
    let n = groups
        .and_then(ReplicaGroups::size)
        .filter(|&n| n > 0)
        .unwrap_or_else(|| program.devices());
    if n < 2 {
        return CollectiveTransfer {
            links: RingLinks::Both,
            bytes: 0,
            seconds: 0.0,
        };
    }
    let devices = n as f64;
    // Two devices are connected by a single link.
    let rate = if n == 2 { chip.link } else { 2.0 * chip.link };
    let latency = (n / 2) as f64 * chip.hop_s;
    // Each device sends all parts except one.
    let (sent, busiest, times) = match kind {
        CollectivePattern::AllGather => (input * (devices - 1.0), None, 1.0),
        CollectivePattern::AllReduce => (input / devices * (devices - 1.0), None, 2.0),
        CollectivePattern::AllToAll => (
            input / devices * (devices - 1.0),
            Some(input * devices / 4.0),
            1.0,
        ),
        CollectivePattern::Broadcast => (input, Some(2.0 * input), 1.0),
        CollectivePattern::ReduceScatter | CollectivePattern::Permute => {
            (input / devices * (devices - 1.0), None, 1.0)
        }
    };
    let seconds = times * (latency + busiest.unwrap_or(sent) / rate);
    CollectiveTransfer {
        links: RingLinks::Both,
        bytes: (times * sent) as u64,
        seconds,
    }
}

/// The direction in which most pairs communicate, and the number of hops.
fn direction(pairs: &[(u64, u64)]) -> (RingLinks, u64) {
    let devices = pairs.iter().flat_map(|&(from, to)| [from, to]);
    let n = devices.max().map_or(1, |last| last.saturating_add(1));
    let moving = pairs.iter().filter(|(from, to)| from != to);
    let steps = moving.map(|&(from, to)| {
        if to > from {
            to - from
        } else {
            n - (from - to)
        }
    });
    let mut steps: Vec<u64> = steps.collect();
    steps.sort_unstable();
    let Some(&step) = steps.get(steps.len() / 2) else {
        return (RingLinks::Next, 0);
    };
    if step <= n - step {
        (RingLinks::Next, step)
    } else {
        (RingLinks::Previous, n - step)
    }
}

#[cfg(test)]
mod tests {
    use hlo::TextProgram;

    use super::*;
    use crate::xla::machine::chip_in_path;

    fn cost(line: &str) -> CollectiveTransfer {
        let text = format!(
            "HloModule m, num_partitions=8\n\nENTRY %main (a: f32[1]) -> f32[1] {{\n  %a = bf16[1048576] parameter(0)\n  \
             ROOT %r = bf16[1] {line}\n}}\n"
        );
        let read = TextProgram::read(&text).unwrap();
        let program = ScheduledProgram::new(&read.module, &read.lines, text.len());
        let chip = chip_in_path(std::path::Path::new("/v5p/hlo")).unwrap();
        transfer(&program, read.module.last().unwrap(), chip).unwrap()
    }

    #[test]
    fn ring_time_of_each_collective() {
        let mib = 2.0 * 1_048_576.0;
        let is = |line: &str, seconds: f64, bytes: f64| {
            let cost = cost(line);
            assert!(
                (cost.seconds - seconds).abs() < 1e-12,
                "{line}: {cost:?}, expected {seconds}"
            );
            assert_eq!(cost.bytes, bytes as u64, "{line}");
        };
        // Two hops, plus three shards over two links.
        is(
            "all-gather(%a), replica_groups={{0,1,2,3},{4,5,6,7}}",
            2e-6 + 1.5 * mib / 92e9,
            3.0 * mib,
        );
        is(
            "reduce-scatter(%a), replica_groups=[2,4]<=[8]",
            2e-6 + 0.375 * mib / 92e9,
            0.75 * mib,
        );
        is(
            "all-reduce(%a), replica_groups=mesh['x'=2,'y'=4] {'y'}",
            4e-6 + 0.75 * mib / 92e9,
            1.5 * mib,
        );
        is(
            "all-to-all(%a), replica_groups=mesh['x'=2,'y'=4] {'y'}",
            2e-6 + 0.5 * mib / 92e9,
            0.75 * mib,
        );
        let with_ids = "all-gather(%a), replica_groups=mesh['x'=2,'y'=4], device_ids=([2,4]) {'x':(1)2}, dimensions={0}";
        is(with_ids, 1e-6 + mib / 92e9, mib);
        is(
            "all-gather(%a), replica_groups=[4,2]<=[8]",
            1e-6 + mib / 92e9,
            mib,
        );
        is("all-gather(%a)", 4e-6 + 3.5 * mib / 92e9, 7.0 * mib);
        is("all-reduce(%a), replica_groups={{0},{1}}", 0.0, 0.0);
        is(
            "collective-permute(%a), source_target_pairs={{0,2},{1,3},{2,0},{3,1}}",
            2e-6 + mib / 92e9,
            mib,
        );
    }

    #[test]
    fn permute_uses_one_direction() {
        let ring = [(0, 1), (1, 2), (2, 3), (3, 0)];
        assert_eq!(direction(&ring), (RingLinks::Next, 1));
        let back = [(0, 3), (1, 0), (2, 1), (3, 2)];
        assert_eq!(direction(&back), (RingLinks::Previous, 1));
        let opposite = [(0, 2), (1, 3), (2, 0), (3, 1)];
        assert_eq!(direction(&opposite), (RingLinks::Next, 2));
        assert_eq!(direction(&[(0, 0)]), (RingLinks::Next, 0));
        assert_eq!(direction(&[(0, u64::MAX)]), (RingLinks::Previous, 0));
        assert_eq!(direction(&[]), (RingLinks::Next, 0));
    }
}
