//! Patterns of communication.

use serde::Serialize;

/// Which communication pattern.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CollectiveKind {
    /// Every device receives the reduction of all inputs.
    AllReduce,
    /// Everybody gets everything.
    AllGather,
    /// Every device receives one part of the reduction.
    ReduceScatter,
    /// Every device sends a part to every other one.
    AllToAll,
    /// Every device sends a part to every other one, of different sizes.
    RaggedAllToAll,
    /// Pairs of devices exchange.
    CollectivePermute,
    /// One device sends to all others.
    CollectiveBroadcast,
    /// To one other device.
    Send,
    /// From one other device.
    Recv,
    /// Fused, so that the pattern is unknown.
    Unknown,
}

impl CollectiveKind {
    /// The HLO opcode (`all-reduce`).
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllToAll => "all-to-all",
            Self::RaggedAllToAll => "ragged-all-to-all",
            Self::CollectivePermute => "collective-permute",
            Self::CollectiveBroadcast => "collective-broadcast",
            Self::Send => "send",
            Self::Recv => "recv",
            Self::Unknown => "collective",
        }
    }

    /// The kind of an opcode without `-start` or `-done`.
    pub fn from_opcode(opcode: &str) -> Option<Self> {
        Some(match opcode {
            "all-reduce" => Self::AllReduce,
            "all-gather" => Self::AllGather,
            // XLA names the fusion of an all-reduce with the slice of its result so.
            "reduce-scatter" | "all-reduce-scatter" => Self::ReduceScatter,
            "all-to-all" => Self::AllToAll,
            "ragged-all-to-all" => Self::RaggedAllToAll,
            "collective-permute" => Self::CollectivePermute,
            "collective-broadcast" => Self::CollectiveBroadcast,
            "send" => Self::Send,
            "recv" => Self::Recv,
            // What importers call communication of which a trace does not tell the pattern,
            // and what the TPU compiler calls halves of its asynchronous collectives.
            "collective" | "async-collective" => Self::Unknown,
            _ => return None,
        })
    }

    /// The kind that a name (`all-gather-start.12`, `all_reduce_fusion`) starts with, and what follows.
    pub fn from_name(name: &str) -> Option<(Self, &str)> {
        // Longest first: "all-reduce-scatter" also starts with "all-reduce".
        const OPCODES: [&str; 11] = [
            "collective-broadcast",
            "collective-permute",
            "all-reduce-scatter",
            "ragged-all-to-all",
            "async-collective",
            "reduce-scatter",
            "all-reduce",
            "all-gather",
            "all-to-all",
            "send",
            "recv",
        ];
        let name = name.trim_start_matches('%');
        OPCODES.into_iter().find_map(|opcode| {
            let (head, rest) = (name.get(..opcode.len())?, name.get(opcode.len()..)?);
            let same = head
                .bytes()
                .zip(opcode.bytes())
                .all(|(a, b)| a == b || (a == b'_' && b == b'-'));
            let ends = rest
                .bytes()
                .next()
                .is_none_or(|byte| !byte.is_ascii_alphanumeric());
            (same && ends)
                .then(|| Some((Self::from_opcode(opcode)?, rest)))
                .flatten()
        })
    }
}
