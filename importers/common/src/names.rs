//! Classifies XProf's planes and lines by their names, because its formats have no other identification.

use hashbrown::HashSet;
use trace_model::{GroupKind, SliceAttr, TrackKind};

/// Ids of lines that post-processing adds, as unsigned 32-bit numbers.
const DERIVED_LINE_IDS: std::ops::Range<u32> = 0xDEAD_BEEF..0xDEAD_BEEF + 300;

/// Name of events without a name.
pub const NO_NAME: &str = "(no name)";

/// Whether a string is what C prints for a null string.
pub fn is_null(text: &str) -> bool {
    text == "(null)"
}

/// The kind of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneKind {
    /// Host threads.
    Host,
    /// A device's core that runs HLO programs.
    TensorCore {
        /// Number of the core or device on its host.
        ordinal: u32,
    },
    /// A core for sparse data.
    SparseCore {
        /// Number of its device on the host.
        device: u32,
        /// Number of the core or device on its host.
        ordinal: u32,
    },
    /// A GPU.
    Gpu {
        /// Number of the core or device on its host.
        ordinal: u32,
    },
    /// A chip as a whole.
    Chip,
    /// What a program or tool adds.
    Custom,
    /// HLO protos, no timeline.
    Metadata,
    /// Facts of the session, no timeline.
    TaskEnvironment,
    /// Unknown.
    Other,
}

/// The kind of the plane `name`.
pub fn plane_kind(name: &str) -> PlaneKind {
    if let Some(rest) = name.strip_prefix("/device:TPU:") {
        return tpu(rest).unwrap_or(PlaneKind::Other);
    }
    if let Some(ordinal) = name.strip_prefix("/device:GPU:").and_then(number) {
        return PlaneKind::Gpu { ordinal };
    }
    match name {
        "/host:metadata" => PlaneKind::Metadata,
        "Task Environment" => PlaneKind::TaskEnvironment,
        "/host:CPU"
        | "/host:TPU-runtime"
        | "/host:CUPTI"
        | "/host:ROCTRACER"
        | "/host:python-tracer" => PlaneKind::Host,
        _ if name.starts_with("/host:") => PlaneKind::Host,
        _ if name.starts_with("#Chip") => PlaneKind::Chip,
        _ if name.starts_with("/device:CUSTOM:") || name.starts_with("/custom:") => {
            PlaneKind::Custom
        }
        _ => PlaneKind::Other,
    }
}

/// `0` is a tensor core; `0 SparseCore 1` and `0 SparseCore v2 1` are sparse cores.
fn tpu(rest: &str) -> Option<PlaneKind> {
    let Some((device, sparse)) = rest.split_once(" SparseCore") else {
        return Some(PlaneKind::TensorCore {
            ordinal: number(rest)?,
        });
    };
    let (version, ordinal) = sparse.rsplit_once(' ')?;
    let version = version.trim_start();
    let named = version.chars().all(|c| c.is_ascii_alphanumeric());
    named.then_some(PlaneKind::SparseCore {
        device: number(device)?,
        ordinal: number(ordinal)?,
    })
}

/// Digits only: `3` but not `+3`, ` 3` or nothing.
fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

/// Whether a plane can have this name, to distinguish planes from damaged data.
pub fn is_plane_name(name: &[u8]) -> bool {
    const BEGINNINGS: &[&[u8]] = &[
        b"/host:",
        b"/device:",
        b"#Chip",
        b"/custom:",
        b"/virtualdevice:",
        b"Task Environment",
        b"Host CPUs",
        b"Syscalls",
    ];
    BEGINNINGS
        .iter()
        .any(|beginning| name.starts_with(beginning))
        && name.len() < 512
        && std::str::from_utf8(name).is_ok_and(|name| !name.contains(char::is_control))
}

impl PlaneKind {
    /// The group that shows the plane; `None` for planes without a timeline.
    pub fn group_kind(self) -> Option<GroupKind> {
        match self {
            Self::Host => Some(GroupKind::HostProcess),
            Self::TensorCore { ordinal } => Some(GroupKind::TensorCore { ordinal }),
            Self::SparseCore { ordinal, .. } => Some(GroupKind::SparseCore { ordinal }),
            Self::Gpu { ordinal } => Some(GroupKind::Gpu { ordinal }),
            Self::Chip => Some(GroupKind::Chip),
            Self::Custom | Self::Other => Some(GroupKind::Custom),
            Self::Metadata | Self::TaskEnvironment => None,
        }
    }

    /// Display order of planes.
    pub fn sort(self) -> i64 {
        match self {
            Self::TensorCore { ordinal }
            | Self::Gpu { ordinal }
            | Self::SparseCore { ordinal, .. } => i64::from(ordinal),
            Self::Chip => 1 << 33,
            Self::Custom | Self::Other | Self::Metadata | Self::TaskEnvironment => 1 << 34,
            Self::Host => 1 << 35,
        }
    }

    /// Whether it runs HLO programs.
    pub fn is_core(self) -> bool {
        matches!(self, Self::TensorCore { .. } | Self::SparseCore { .. })
    }
}

/// What a line of a plane records.
pub fn track_kind(plane: PlaneKind, id: i64, name: &str) -> TrackKind {
    // GPU planes are post-processed: all lines except streams and steps repeat the streams.
    if name == "Steps" || name == "Sparse Core Steps" {
        return TrackKind::Steps;
    }
    if is_derived(name) || is_derived_id(id) {
        return TrackKind::Derived;
    }
    if name == "_counters_" {
        return TrackKind::Counter;
    }
    match plane {
        PlaneKind::TensorCore { .. } | PlaneKind::SparseCore { .. } => core_track_kind(name),
        PlaneKind::Gpu { .. } if name.starts_with("Stream") => TrackKind::Stream,
        PlaneKind::Gpu { .. } if matches!(name, "XLA Ops" | "XLA Modules") => TrackKind::Derived,
        PlaneKind::Host => TrackKind::HostThread,
        _ => TrackKind::Other,
    }
}

fn core_track_kind(name: &str) -> TrackKind {
    match name {
        "XLA Modules" | "Sparse Core Modules" => TrackKind::Modules,
        "XLA Ops" | "Sparse Core Ops" => TrackKind::Ops,
        "Async XLA Ops" => TrackKind::AsyncOps,
        "XLA TraceMe" | "Sparse Core TraceMe" => TrackKind::DeviceScopes,
        "Tensor Core" | "Scalar Unit" | "Overlay" | "TC Overlay" | "SC Overlay"
        | "LLO utilization" | "Sparse Core Syncs" => TrackKind::LowLevel,
        // The vector subcores of a SparseCore.
        _ if name.starts_with("TEC ") => TrackKind::LowLevel,
        _ if name.ends_with("Sync Flag") || name.ends_with("Sync Flags") => TrackKind::LowLevel,
        // Events inside kernels, and kernels a second time. Their time is already that of the custom calls.
        "Pallas Primitives" | "LLO Ops" | "Source Lines" => TrackKind::LowLevel,
        _ if name.eq_ignore_ascii_case("pallas") || name.ends_with(" Instructions") => {
            TrackKind::LowLevel
        }
        _ if name.starts_with("counters_") => TrackKind::LowLevel,
        _ => TrackKind::Other,
    }
}

fn is_derived(name: &str) -> bool {
    matches!(
        name,
        "Framework Name Scope"
            | "Framework Ops"
            | "TensorFlow Name Scope"
            | "TensorFlow Ops"
            | "Source code"
            | "Source Code"
            | "Launch Stats"
    ) || name.starts_with("Host Offload Ops")
}

fn is_derived_id(id: i64) -> bool {
    // Files contain both 3735928559 and, after a conversion to 32 bits, -559038737.
    (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&id)
        && DERIVED_LINE_IDS.contains(&(id as u32))
}

/// Order of lines in a plane: from steps down to details, then by name.
pub fn track_sort(kind: TrackKind) -> i64 {
    match kind {
        TrackKind::Steps => 0,
        TrackKind::Modules => 1,
        TrackKind::Ops => 2,
        TrackKind::AsyncOps => 3,
        TrackKind::DeviceScopes => 4,
        TrackKind::Stream => 5,
        TrackKind::Counter => 6,
        TrackKind::LowLevel => 7,
        TrackKind::HostThread | TrackKind::Async | TrackKind::Other => 8,
        TrackKind::Derived => 9,
    }
}

/// `jit_f(123)` as name and program id; a name alone has none.
pub fn program_name(module: &str) -> (&str, Option<u64>) {
    let parts = module
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once('('));
    match parts.map(|(name, id)| {
        (
            name,
            id.bytes()
                .all(|b| b.is_ascii_digit())
                .then(|| id.parse().ok())
                .flatten(),
        )
    }) {
        Some((name, Some(id))) => (name, Some(id)),
        _ => (module, None),
    }
}

/// The op that an HLO text defines: `%fusion.3 = …` is `fusion.3`.
pub fn op_name(text: &str) -> Option<&str> {
    let (left, _) = text.split_once(" = ")?;
    let name = left.strip_prefix("ROOT ").unwrap_or(left);
    let name = name.strip_prefix('%')?;
    (!name.is_empty() && !name.contains(' ')).then_some(name)
}

/// What a stat or an argument of this name says about one execution.
pub fn execution_attr(name: &[u8]) -> Option<SliceAttr> {
    Some(match name {
        b"run_id" => SliceAttr::RunId,
        b"group_id" => SliceAttr::GroupId,
        b"step_num" => SliceAttr::StepNum,
        b"_r" => SliceAttr::StepRoot,
        b"all_reduce_unique_id" => SliceAttr::CollectiveInstance,
        b"queue_id" => SliceAttr::QueueId,
        b"Time Scale Multiplier" => SliceAttr::TimeScaleBits,
        b"dma_stall_duration_ps" => SliceAttr::DmaStallPs,
        b"dropped_traces" => SliceAttr::DroppedTraces,
        b"device_ordinal" => SliceAttr::DeviceOrdinal,
        b"bytes_transferred" | b"size" => SliceAttr::TransferBytes,
        b"tc_offload_start_id" => SliceAttr::OffloadStart,
        b"offload_execution_index" => SliceAttr::OffloadExecution,
        b"offload_core_id" => SliceAttr::OffloadCore,
        b"performance_counter_id" => SliceAttr::CounterId,
        b"counter_value" => SliceAttr::CounterValueBits,
        _ => return None,
    })
}

/// A text that is truncated at a limit and then ends in `…`.
pub struct BoundedNames {
    text: String,
    most: usize,
    is_cut: bool,
}

impl BoundedNames {
    /// An empty text with a limit of about `most` bytes.
    pub fn new(most: usize) -> Self {
        Self {
            text: String::new(),
            most,
            is_cut: false,
        }
    }

    /// Appends strings while there is room.
    pub fn push_all(&mut self, texts: &[&str]) {
        for text in texts {
            let room = self.most.saturating_sub(self.text.len());
            if self.is_cut || text.len() > room {
                let end = if self.is_cut {
                    0
                } else {
                    text.floor_char_boundary(room)
                };
                self.text.push_str(&text[..end]);
                self.is_cut = true;
                return;
            }
            self.text.push_str(text);
        }
    }

    /// Whether something was cut.
    pub fn is_full(&self) -> bool {
        self.is_cut
    }

    /// The text.
    pub fn finish(mut self) -> String {
        if self.is_cut {
            self.text.push('…');
        }
        self.text
    }
}

/// Makes names unique, because analyses identify ops by their names.
#[derive(Debug, Default)]
pub struct TakenNames(HashSet<String>);

impl TakenNames {
    /// The name, with a suffix if it is already taken.
    pub fn distinct(&mut self, name: String, what: &str, number: u64) -> String {
        if self.0.insert(name.clone()) {
            return name;
        }
        let mut distinct = format!("{name} ({what} {number})");
        // A recorded name can look like this, too.
        while !self.0.insert(distinct.clone()) {
            distinct.push('\'');
        }
        distinct
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_core_planes_are_not_tensor_cores() {
        assert_eq!(
            plane_kind("/device:TPU:12"),
            PlaneKind::TensorCore { ordinal: 12 }
        );
        assert_eq!(
            plane_kind("/device:TPU:1 SparseCore 3"),
            PlaneKind::SparseCore {
                device: 1,
                ordinal: 3
            }
        );
        assert_eq!(
            plane_kind("/device:TPU:1 SparseCore v 3"),
            PlaneKind::SparseCore {
                device: 1,
                ordinal: 3
            }
        );
        assert_eq!(plane_kind("/device:TPU:1 Something"), PlaneKind::Other);
        assert_eq!(plane_kind("/device:TPU:99999999999"), PlaneKind::Other);
    }

    #[test]
    fn classifies_other_planes_by_name() {
        assert_eq!(plane_kind("/host:CPU"), PlaneKind::Host);
        assert_eq!(plane_kind("/host:CPU [1234]"), PlaneKind::Host);
        assert_eq!(plane_kind("/host:metadata"), PlaneKind::Metadata);
        assert_eq!(plane_kind("/device:GPU:7"), PlaneKind::Gpu { ordinal: 7 });
        assert_eq!(plane_kind("#Chip TPU Non-Core HBM"), PlaneKind::Chip);
        assert_eq!(
            plane_kind("/device:CUSTOM:Megascale Trace"),
            PlaneKind::Custom
        );
        assert_eq!(plane_kind("Task Environment"), PlaneKind::TaskEnvironment);
        assert_eq!(plane_kind(""), PlaneKind::Other);
    }

    #[test]
    fn classifies_lines_by_name_and_derived_ones_by_id() {
        let core = PlaneKind::TensorCore { ordinal: 0 };
        assert_eq!(track_kind(core, 3, "XLA Ops"), TrackKind::Ops);
        assert_eq!(
            track_kind(core, 9, "Framework Name Scope"),
            TrackKind::Derived
        );
        assert_eq!(
            track_kind(core, 0xDEAD_BEEF + 7, "anything"),
            TrackKind::Derived
        );
        assert_eq!(
            track_kind(
                PlaneKind::Gpu { ordinal: 0 },
                -559_038_734,
                "TensorFlow Ops"
            ),
            TrackKind::Derived
        );
        assert_eq!(
            track_kind(PlaneKind::Gpu { ordinal: 0 }, -559_038_732, "XLA Modules"),
            TrackKind::Derived
        );
        assert_eq!(
            track_kind(PlaneKind::Host, -9_218_331_974_486_972_635, "python"),
            TrackKind::HostThread
        );
        assert_eq!(track_kind(core, i64::MAX, "_counters_"), TrackKind::Counter);
        assert_eq!(
            track_kind(core, 1, "TensorCore Sync Flags"),
            TrackKind::LowLevel
        );
        for name in [
            "PALLAS",
            "Pallas",
            "Pallas Primitives",
            "LLO Ops",
            "LLO Instructions",
            "MXU0 Instructions",
        ] {
            assert_eq!(track_kind(core, 1, name), TrackKind::LowLevel, "{name}");
            assert_eq!(
                track_kind(PlaneKind::Host, 1, name),
                TrackKind::HostThread,
                "{name}"
            );
        }
        assert_eq!(track_kind(core, 1, "Instructions"), TrackKind::Other);
    }

    #[test]
    fn joined_names_stop_at_the_size_limit() {
        let text = |most: usize, parts: &[&str]| {
            let mut text = BoundedNames::new(most);
            text.push_all(parts);
            text.push_all(&["z"]);
            text.finish()
        };
        assert_eq!(text(9, &["ab", "cd"]), "abcdz");
        assert_eq!(text(4, &["ab", "cd"]), "abcd…");
        assert_eq!(text(3, &["aé", "é"]), "aé…");
        assert_eq!(text(2, &["aé", "b"]), "a…");
    }

    #[test]
    fn rows_with_the_same_name_get_unique_names() {
        let mut taken = TakenNames::default();
        let names = ["a", "a", "a (row 5)", "a"].map(str::to_owned);
        let told: Vec<String> = names
            .into_iter()
            .zip([1, 5, 6, 5])
            .map(|(it, n)| taken.distinct(it, "row", n))
            .collect();
        assert_eq!(told, ["a", "a (row 5)", "a (row 5) (row 6)", "a (row 5)'"]);
    }

    #[test]
    fn classifies_programs_and_ops_by_text() {
        assert_eq!(
            program_name("jit_f(7387342164949680137)"),
            ("jit_f", Some(7_387_342_164_949_680_137))
        );
        assert_eq!(
            program_name("jit_f(11287434908481120160)"),
            ("jit_f", Some(11_287_434_908_481_120_160))
        );
        assert_eq!(
            program_name("PjitFunction(step)"),
            ("PjitFunction(step)", None)
        );
        assert_eq!(program_name("f()"), ("f()", None));
        assert_eq!(op_name("%fusion.3 = f32[2] fusion(%a)"), Some("fusion.3"));
        assert_eq!(op_name("dependency-wait"), None);
    }
}
