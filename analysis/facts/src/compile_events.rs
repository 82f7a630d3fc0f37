//! Compilation events on host threads, collected in one pass.
//!
//! A trace has thousands of labels and millions of slices, so labels are classified once and slices only look up their
//! label.

use engine::prelude::*;

use crate::host_class::{
    HostClass, HostClasses, compiled_function, host_threads, pjit_function, stripped,
};
use crate::python_frame::PythonFrame;

/// A load shorter than this is the check that precedes every execution.
const SHORTEST_LOAD_PS: i64 = 1_000_000_000;

/// An outermost event of one phase.
#[derive(Clone, Copy)]
pub struct PhaseEvent<'a> {
    /// The event.
    pub slice: SliceRef<'a>,
    /// The phase.
    pub class: HostClass,
    /// Inside the window.
    pub range: TimeRange,
    /// The innermost compiling call `PjitFunction(f)` around it, or the compilation of a log, if there is one.
    pub call: Option<SliceRef<'a>>,
}

/// Role of a host event.
#[derive(Clone, Copy, Default)]
struct CompileRole {
    phase: Option<HostClass>,
    is_call: bool,
    cache: Option<CacheRole>,
    lazy: Option<LazyRole>,
}

impl CompileRole {
    fn of(name: &str, class: HostClass) -> Self {
        let phase = match class {
            class
            @ (HostClass::Compile | HostClass::Lower | HostClass::Trace | HostClass::Load) => {
                Some(class)
            }
            _ => None,
        };
        Self {
            phase,
            is_call: pjit_function(name).is_some(),
            cache: CacheRole::of(name),
            lazy: LazyRole::of(name),
        }
    }
    fn matters(self) -> bool {
        self.phase.is_some() || self.is_call || self.cache.is_some() || self.lazy.is_some()
    }
}

/// All compilation events on host threads, in no particular order.
#[derive(Default)]
pub struct CompileEvents<'a> {
    /// Outermost events of each phase in the window; a compile inside another phase is an event of its own.
    pub phases: Vec<PhaseEvent<'a>>,
    /// Outermost calls `PjitFunction(f)` of the whole trace: inner calls are traced into the outer one.
    pub calls: Vec<SliceRef<'a>>,
    /// Events of caches of programs that start in the window.
    pub cache: Vec<(CacheRole, SliceRef<'a>)>,
    /// Events of lazy tensors that start in the window.
    pub lazy: Vec<(LazyRole, SliceRef<'a>)>,
}

impl<'a> CompileEvents<'a> {
    /// Collects the events of all host threads.
    pub fn collect(cx: &Context<'a>, window: TimeRange) -> Self {
        let model = cx.model;
        let classes = cx.fact::<HostClasses>();
        let role = |label: LabelId| {
            let name = || model.str(model.label(label).name);
            if classes.knows(label) {
                CompileRole::of(name(), classes.class(label))
            } else {
                CompileRole::default()
            }
        };
        let roles: Vec<CompileRole> = model.label_ids().map(role).collect();
        let mut out = Self::default();
        if !roles.iter().any(|role| role.matters()) {
            return out;
        }
        let role = |label: LabelId| roles.get(label.index()).copied().unwrap_or_default();
        for slice in cx.watched(host_threads(model).flat_map(|track| model.slices_on(track))) {
            let own_role = role(slice.label_id());
            if own_role.is_call && !ancestors(slice).any(|around| role(around.label_id()).is_call) {
                out.calls.push(slice);
            }
            if !own_role.matters() {
                continue;
            }
            if let Some(cache) = own_role.cache.filter(|_| window.contains(slice.start())) {
                out.cache.push((cache, slice));
            }
            let Some(range) = slice.range().intersect(window) else {
                continue;
            };
            if let Some(lazy) = own_role.lazy.filter(|_| window.contains(slice.start())) {
                out.lazy.push((lazy, slice));
            }
            out.phase(slice, range, &role);
        }
        attribute(&mut out.phases);
        out
    }

    fn phase(
        &mut self,
        slice: SliceRef<'a>,
        range: TimeRange,
        role: &impl Fn(LabelId) -> CompileRole,
    ) {
        let phase_of = |slice: SliceRef<'_>| {
            let is_check = slice.dur().ps() < SHORTEST_LOAD_PS;
            role(slice.label_id())
                .phase
                .filter(|&class| class != HostClass::Load || !is_check)
        };
        let Some(class) = phase_of(slice) else { return };
        let mut around = ancestors(slice).filter_map(phase_of);
        // A compilation inside tracing (for a constant) still counts as compilation.
        let is_inner = match class {
            HostClass::Compile => around.any(|class| class == HostClass::Compile),
            _ => around.next().is_some(),
        };
        if !is_inner {
            self.phases.push(PhaseEvent {
                slice,
                class,
                range,
                call: None,
            });
        }
    }

    /// The spans in which any phase was active, on any thread.
    pub(crate) fn all(&self) -> IntervalSet {
        self.phases.iter().map(|event| event.range).collect()
    }

    /// The spans in which one phase was active, on any thread.
    pub fn when(&self, class: HostClass) -> impl Iterator<Item = TimeRange> {
        self.phases
            .iter()
            .filter(move |event| event.class == class)
            .map(|event| event.range)
    }
}

/// Ancestors of a slice, from the inside out.
pub fn ancestors(slice: SliceRef<'_>) -> impl Iterator<Item = SliceRef<'_>> {
    std::iter::successors(slice.parent(), |around| around.parent())
}

/// Assigns each event to its call. Calls nest: functions that are traced into another are called inside its call. A
/// compilation belongs to the innermost call, tracing and lowering to the innermost call that compiles.
fn attribute(events: &mut [PhaseEvent<'_>]) {
    let mut compiling = BTreeSet::new();
    for event in events
        .iter_mut()
        .filter(|event| event.class == HostClass::Compile)
    {
        event.call = innermost(event.slice).map(whole_call);
        compiling.extend(event.call.map(SliceRef::id));
    }
    for event in events
        .iter_mut()
        .filter(|event| event.class != HostClass::Compile)
    {
        let compiled = ancestors(event.slice).find(|around| compiling.contains(&around.id()));
        event.call = compiled.or_else(|| innermost(event.slice).map(whole_call));
    }
}

fn innermost(slice: SliceRef<'_>) -> Option<SliceRef<'_>> {
    ancestors(slice).find(|around| compiled_function(around.name()).is_some())
}

/// `PjitFunction(f)` is recorded twice, one inside the other.
fn whole_call(call: SliceRef<'_>) -> SliceRef<'_> {
    call.parent()
        .filter(|around| around.label_id() == call.label_id())
        .unwrap_or(call)
}

/// Events of compilation caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheRole {
    /// Lookup in the persistent cache.
    Lookup,
    /// The program was found.
    Hit,
    /// The program was not found.
    Miss,
    /// A program is stored.
    Write,
    /// A serialized program is loaded into an executable.
    Deserialize,
    /// The program was not in the device's cache of loaded programs.
    LoadMiss,
}

impl CacheRole {
    /// The role of the event called `name`.
    pub fn of(name: &str) -> Option<Self> {
        if let Some(frame) = PythonFrame::of(name) {
            return Some(match (frame.file, frame.function) {
                ("compilation_cache.py", "get_executable_and_time") => Self::Lookup,
                ("compilation_cache.py", "put_executable_and_time") => Self::Write,
                ("compiler.py", "log_persistent_cache_hit") => Self::Hit,
                ("compiler.py", "log_persistent_cache_miss") => Self::Miss,
                _ => return None,
            });
        }
        match stripped(name) {
            "LoadProgramCacheMiss" => Some(Self::LoadMiss),
            "Persistent compilation cache hit" => Some(Self::Hit),
            "Persistent compilation cache miss" => Some(Self::Miss),
            name if name.ends_with("Client::DeserializeExecutable") => Some(Self::Deserialize),
            name if name.ends_with("Client::LoadSerializedExecutable") => Some(Self::Deserialize),
            _ => None,
        }
    }
}

/// Events of lazy tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LazyRole {
    /// End of a step (`mark_step`).
    Step,
    /// Pending tensors become a graph that runs.
    Sync,
    /// A graph is compiled.
    Compile,
    /// A graph is scheduled to run.
    Schedule,
    /// A graph from another compiler runs (`torch.compile`).
    Dynamo,
    /// A graph is passed to the runtime.
    Execute,
    /// Values are copied to the host.
    Fetch,
}

impl LazyRole {
    /// The role of the event called `name`.
    pub fn of(name: &str) -> Option<Self> {
        Some(match stripped(name) {
            "StepMarker" => Self::Step,
            "SyncTensorsGraph" | "SyncLiveTensorsGraph" | "SyncTensorsGraphInternal" => Self::Sync,
            "XLAGraphExecutor::Compile" => Self::Compile,
            "ScheduleSyncTensorsGraph" => Self::Schedule,
            "ExecuteComputationWithBarrier" => Self::Dynamo,
            name => match name.split_once("ComputationClient::")?.1 {
                "ExecuteComputation" | "ExecuteReplicated" => Self::Execute,
                "TransferFromDevice" | "TransferFromServer" => Self::Fetch,
                _ => return None,
            },
        })
    }
}

/// The spans in which any thread of a host traced, lowered, compiled or loaded something.
pub(crate) fn compiling(cx: &Context<'_>) -> IntervalSet {
    CompileEvents::collect(cx, cx.model.extent()).all()
}
