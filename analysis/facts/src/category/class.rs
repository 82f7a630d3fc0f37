//! Classes of ops.

use hardware::ici::CollectiveKind;
use serde::Serialize;

/// Groups of categories, coarse enough for a legend.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum OpGroup {
    /// Matrix multiplications and convolutions, also fused with what follows them.
    #[serde(rename = "matmul")]
    MatMul,
    /// Communication between devices, started, awaited or synchronous.
    Collective,
    /// Waiting for an asynchronous copy or another asynchronous op that is not a collective.
    AsyncWait,
    /// Copies, layout changes, slices, gathers, scatters.
    DataMovement,
    /// Elementwise work and reductions, fused or not.
    Vector,
    /// Kernels that XLA did not write (Pallas, Mosaic).
    CustomKernel,
    /// Infeed, outfeed, transfers to and from the host.
    HostIo,
    /// Loops, branches, calls: they contain other ops.
    Control,
    /// Work of or for a `SparseCore`.
    SparseCore,
    /// Any other work, or unknown.
    #[default]
    Other,
    /// Nothing runs; no op has this group.
    Idle,
}

impl OpGroup {
    /// Every group, in the order of a legend.
    pub const ALL: [Self; 11] = [
        Self::MatMul,
        Self::Vector,
        Self::DataMovement,
        Self::CustomKernel,
        Self::Collective,
        Self::AsyncWait,
        Self::HostIo,
        Self::SparseCore,
        Self::Control,
        Self::Other,
        Self::Idle,
    ];

    /// Its index in a table of all groups, which has as many entries as [`Self::ALL`].
    #[inline]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Display name.
    pub fn title(self) -> &'static str {
        match self {
            Self::MatMul => "Matmul",
            Self::Collective => "Collective",
            Self::AsyncWait => "Copy wait",
            Self::DataMovement => "Data movement",
            Self::Vector => "Vector",
            Self::CustomKernel => "Custom kernel",
            Self::HostIo => "Host I/O",
            Self::Control => "Control flow",
            Self::SparseCore => "SparseCore",
            Self::Other => "Other",
            Self::Idle => "Idle",
        }
    }
}

engine::shown_by_title!(OpGroup);

/// Role of an instruction in an asynchronous op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AsyncRole {
    /// Issues the work and returns.
    Start,
    /// Passes it through.
    Update,
    /// Waits for it to finish.
    Done,
}

bitflags::bitflags! {
    /// Flags of an op.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) struct OpFlags: u8 {
        const FUSED_COLLECTIVE = 1;
        const OFF_DUTY = 1 << 1;
        const MAY_HAVE_INNER_OPS = 1 << 2;
        const REMAT = 1 << 3;
        const CUSTOM_CALL = 1 << 4;
        const CATEGORY_RECORDED = 1 << 5;
    }
}

/// The classification of an op. Small, because every segment of a core's time carries one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpClass {
    /// Coarse group.
    pub group: OpGroup,
    /// The pattern, for communication between devices.
    pub collective: Option<CollectiveKind>,
    /// Role in an asynchronous pair; `None` if it is synchronous.
    pub role: Option<AsyncRole>,
    pub(super) traits: OpFlags,
}

impl OpClass {
    /// A class of which only the group is known.
    pub fn of_group(group: OpGroup) -> Self {
        Self {
            group,
            ..Self::default()
        }
    }
    /// Starts an asynchronous op.
    #[inline]
    pub fn is_start(self) -> bool {
        self.role == Some(AsyncRole::Start)
    }
    /// Awaits an asynchronous op.
    #[inline]
    pub fn is_done(self) -> bool {
        self.role == Some(AsyncRole::Done)
    }
    /// A collective fused with other work, so that the two cannot be distinguished.
    #[inline]
    pub fn is_fused_collective(self) -> bool {
        self.traits.contains(OpFlags::FUSED_COLLECTIVE)
    }
    /// Whether the core is off duty by `XProf`'s list: infeed, outfeed, host transfers, `async-done`, megacore
    /// fusion.
    #[inline]
    pub fn is_off_duty(self) -> bool {
        self.traits.contains(OpFlags::OFF_DUTY)
    }
    /// Whether its time and costs include those of other ops on the same track (`while`, `conditional`, `call`,
    /// megacore fusion).
    pub fn may_have_inner_ops(self) -> bool {
        self.traits.contains(OpFlags::MAY_HAVE_INNER_OPS)
    }
    /// Whether it is recomputed to save memory.
    #[inline]
    pub fn is_remat(self) -> bool {
        self.traits.contains(OpFlags::REMAT)
    }
    /// Whether the category is exactly `custom-call`: costs are then per execution.
    #[inline]
    pub fn is_custom_call(self) -> bool {
        self.traits.contains(OpFlags::CUSTOM_CALL)
    }
    /// Whether time and costs of its ops are their own; `None` if that depends on whether an op had ops inside.
    #[inline]
    pub fn leaf(self) -> Option<bool> {
        if self.may_have_inner_ops() {
            return Some(false);
        }
        self.category_recorded().then_some(true)
    }
    /// Whether the category was recorded, not inferred from text or name.
    #[inline]
    pub fn category_recorded(self) -> bool {
        self.traits.contains(OpFlags::CATEGORY_RECORDED)
    }
    /// Whether it is part of an asynchronous op: its time on the op track is then not the time of the work.
    #[inline]
    pub fn is_async(self) -> bool {
        self.role.is_some()
    }
    /// Communication between devices.
    #[inline]
    pub fn is_collective(self) -> bool {
        self.collective.is_some()
    }
    /// Useful work of the core itself: no communication, no half of an
    /// asynchronous pair, no host transfer, no container.
    #[inline]
    pub fn is_compute(self) -> bool {
        !self.is_collective()
            && !self.is_async()
            && !self.may_have_inner_ops()
            && self.group != OpGroup::HostIo
    }
}

/// Removes `-start`, `-update` or `-done`.
pub(super) fn split_role(category: &str) -> (&str, Option<AsyncRole>) {
    [
        ("-start", AsyncRole::Start),
        ("-update", AsyncRole::Update),
        ("-done", AsyncRole::Done),
    ]
    .into_iter()
    .find_map(|(suffix, role)| Some((category.strip_suffix(suffix)?, Some(role))))
    // A plain `send` or `recv` is the start of a pair that ends with its `-done`.
    .unwrap_or(match category {
        "send" | "recv" | "host send" | "host recv" => (category, Some(AsyncRole::Start)),
        _ => (category, None),
    })
}

/// The group of a category without its asynchronous suffix.
pub(super) fn group_of(base: &str) -> OpGroup {
    match base {
        "dot" | "ragged-dot" | "output fusion" => OpGroup::MatMul,
        _ if base.starts_with("convolution") => OpGroup::MatMul,
        "data formatting"
        | "copy"
        | "reshape"
        | "transpose"
        | "pad"
        | "slice"
        | "dynamic-slice"
        | "dynamic-update-slice"
        | "concatenate"
        | "gather"
        | "gather fusion"
        | "scatter"
        | "scatter fusion"
        | "broadcast"
        | "reverse"
        | "async"
        | "bitcast" => OpGroup::DataMovement,
        "loop fusion"
        | "input fusion"
        | "non-fusion elementwise"
        | "reduce"
        | "reduce-window"
        | "select"
        | "select-and-scatter"
        | "iota"
        | "sort"
        | "map" => OpGroup::Vector,
        _ if base.starts_with("rng") => OpGroup::Vector,
        "custom-call" => OpGroup::CustomKernel,
        "infeed" | "outfeed" | "host send" | "host recv" => OpGroup::HostIo,
        "while" | "conditional" | "call" | "megacore fusion" => OpGroup::Control,
        _ if base.starts_with("sparsecore") => OpGroup::SparseCore,
        _ => OpGroup::Other,
    }
}
