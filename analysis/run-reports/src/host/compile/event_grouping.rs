//! Groups events into compilations.
//!
//! ```text
//! python   PjitFunction(f)[ trace ][ lower ][ backend_compile          ]
//! worker                                     [TfrtTpuCompiler::Compile]
//! ```
//!
//! A call is one compilation; events of other threads belong to the call that they overlap most. Without a call
//! (ahead-of-time compilation, other frameworks) each compile event is a compilation, together with the tracing and
//! lowering before it on its thread.

use facts::compile_events::PhaseEvent;
use facts::host_class::{compiled_function, stripped};
use facts::prelude::*;

use super::arguments::{decorations, plain_text};

/// Name of events that cannot be attributed.
pub(super) const UNKNOWN: &str = "(unknown)";

/// One compilation, or phases without one.
pub(super) struct EventGroup<'a> {
    pub function: String,
    pub module: Option<String>,
    /// The call that triggered it.
    pub call: Option<SliceRef<'a>>,
    pub events: Vec<PhaseEvent<'a>>,
    /// The span of the call or of all events.
    pub hull: TimeRange,
    /// Whether a compiler ran.
    pub compiles: bool,
    /// Number of events that were searched for the module.
    asked: u32,
}

impl<'a> EventGroup<'a> {
    fn new(function: String, event: PhaseEvent<'a>) -> Self {
        let mut group = Self {
            function,
            module: None,
            call: event.call,
            events: vec![event],
            hull: event.call.map_or(event.range, SliceRef::range),
            compiles: false,
            asked: 0,
        };
        group.learn_module(&event);
        group
    }

    fn push(&mut self, event: PhaseEvent<'a>) {
        if self.call.is_none() {
            self.hull = self.hull.hull(event.range);
        }
        self.events.push(event);
        self.learn_module(&event);
    }

    /// Most events do not contain their module: searching a few is enough.
    fn learn_module(&mut self, event: &PhaseEvent<'_>) {
        if self.module.is_none() && event.class == HostClass::Compile && self.asked < MAX_ASKED {
            self.asked += 1;
            self.module = compiled_module(event);
        }
    }

    /// The spans in which one phase was active.
    pub fn when(&self, class: HostClass) -> IntervalSet {
        self.events
            .iter()
            .filter(|event| event.class == class)
            .map(|event| event.range)
            .collect()
    }

    /// The spans in which any phase was active.
    pub fn all(&self) -> IntervalSet {
        self.events.iter().map(|event| event.range).collect()
    }

    /// Start of the first phase; start of the window if there is none.
    pub fn start(&self) -> Timestamp {
        self.events
            .iter()
            .map(|event| event.range.start)
            .min()
            .unwrap_or(self.hull.start)
    }
}

/// Sorts events into compilations, by start.
pub(super) fn groups<'a>(events: &[PhaseEvent<'a>]) -> Vec<EventGroup<'a>> {
    let mut calls: BTreeMap<SliceId, EventGroup<'a>> = BTreeMap::new();
    let mut others: Vec<PhaseEvent<'a>> = Vec::new();
    for &event in events {
        let Some(call) = event.call else {
            others.push(event);
            continue;
        };
        if let Some(group) = calls.get_mut(&call.id()) {
            group.push(event);
        } else {
            let function = compiled_function(call.name()).unwrap_or(UNKNOWN).to_owned();
            calls.insert(call.id(), EventGroup::new(function, event));
        }
    }
    let mut groups: Vec<EventGroup<'a>> = calls.into_values().collect();
    groups.sort_by_key(|group| group.hull.start);
    for group in &mut groups {
        group.compiles = group
            .events
            .iter()
            .any(|event| event.class == HostClass::Compile);
    }
    others.sort_by_key(|event| (event.range.start, Reverse(event.range.end)));
    let alone = join(&mut groups, others);
    groups.extend(without_call(alone));
    groups.sort_by(|a, b| (a.start(), &a.function).cmp(&(b.start(), &b.function)));
    groups
}

/// Assigns events of other threads to the calls that they overlap; returns the rest.
fn join<'a>(groups: &mut [EventGroup<'a>], others: Vec<PhaseEvent<'a>>) -> Vec<PhaseEvent<'a>> {
    let mut latest = Timestamp::from_ps(i64::MIN);
    let ends: Vec<Timestamp> = groups
        .iter()
        .map(|group| {
            latest = latest.max(group.hull.end);
            latest
        })
        .collect();
    let mut alone = Vec::new();
    for event in others {
        let after = groups.partition_point(|group| group.hull.start < event.range.end);
        let open = (0..after)
            .rev()
            .take_while(|&k| ends[k] > event.range.start);
        let open: Vec<usize> = open
            .filter(|&k| groups[k].hull.end > event.range.start)
            .take(MAX_PARALLEL)
            .collect();
        // The module is only needed to tell threads apart that compile at the same time.
        let module = (open.len() > 1).then(|| compiled_module(&event)).flatten();
        let fit = |&k: &usize| {
            let group = &groups[k];
            let shared = group
                .hull
                .intersect(event.range)
                .map_or(Picos::ZERO, TimeRange::dur);
            let agrees = module.as_deref().is_some_and(|module| {
                group.module.as_deref() == Some(module)
                    || module.strip_prefix("jit_") == Some(&group.function)
            });
            (agrees, group.compiles, shared, Reverse(k))
        };
        match open.into_iter().max_by_key(fit) {
            Some(best) => groups[best].push(event),
            None => alone.push(event),
        }
    }
    alone
}

/// Compilations without a call, in the order of their events.
fn without_call(events: Vec<PhaseEvent<'_>>) -> Vec<EventGroup<'_>> {
    let mut groups: Vec<EventGroup<'_>> = Vec::new();
    // Tracing and lowering are kept until the compile event of their thread.
    let mut waiting: BTreeMap<TrackId, Vec<PhaseEvent<'_>>> = BTreeMap::new();
    let mut rest = Vec::new();
    for event in events {
        match event.class {
            HostClass::Trace | HostClass::Lower => {
                waiting.entry(event.slice.track()).or_default().push(event);
            }
            HostClass::Compile => {
                let before = waiting.remove(&event.slice.track()).unwrap_or_default();
                compile_without_call(&mut groups, event, before);
            }
            _ => rest.push(event),
        }
    }
    rest.extend(waiting.into_values().flatten());
    groups.sort_by_key(|group| group.hull.start);
    let compilations = groups.len();
    for event in rest {
        let after =
            groups[..compilations].partition_point(|group| group.hull.start < event.range.end);
        let mut open = (0..after).rev().take(MAX_PARALLEL);
        match open.find(|&k| groups[k].hull.end > event.range.start) {
            Some(k) => groups[k].push(event),
            None => groups.push(EventGroup::new(UNKNOWN.to_owned(), event)),
        }
    }
    for group in &mut groups {
        if group.function == UNKNOWN
            && let Some(module) = &group.module
        {
            group.function.clone_from(module);
        }
    }
    groups
}

fn compile_without_call<'a>(
    groups: &mut Vec<EventGroup<'a>>,
    event: PhaseEvent<'a>,
    before: Vec<PhaseEvent<'a>>,
) {
    let is_entry = is_entry_point(event.slice.name());
    let module = is_entry.then(|| compiled_module(&event)).flatten();
    let mut recent = groups.iter_mut().rev().take(MAX_PARALLEL);
    let overlapping = recent.find(|group| {
        let same = module.is_none() || group.module.is_none() || module == group.module;
        same && group.hull.end > event.range.start
    });
    let mut made = EventGroup::new(UNKNOWN.to_owned(), event);
    let is_new = overlapping.is_none();
    let group = overlapping.unwrap_or(&mut made);
    if !is_new {
        group.push(event);
    }
    for event in before {
        group.push(event);
    }
    group.compiles |= is_entry;
    if let Some(graph) = graph_hash(event.slice) {
        group.function = format!("graph {graph}");
    }
    if is_new {
        groups.push(made);
    }
}

/// Maximum number of concurrent compilations without a call.
const MAX_PARALLEL: usize = 64;

/// Whether an event is a whole compilation rather than a part of one that a pool
/// thread runs on its own (`XLA::TPU lowering and optimization`).
fn is_entry_point(name: &str) -> bool {
    let name = stripped(name);
    name.starts_with("backend_compile")
        || (name.contains("Compile") && !name.starts_with("XLA::") && !is_part_of_program(name))
}

/// The CPU backend compiles each kernel of a program separately.
fn is_part_of_program(name: &str) -> bool {
    ["FusionCompiler::", "JitCompiler::"]
        .iter()
        .any(|prefix| stripped(name).starts_with(prefix))
}

/// Value of an argument of a slice, from its name or its recorded arguments.
pub(super) fn argument(slice: SliceRef<'_>, names: &[&str]) -> Option<String> {
    let in_name = decorations(slice)
        .find(|(name, _)| names.contains(name))
        .map(|(_, value)| value.to_owned());
    in_name
        .or_else(|| {
            let mut args = slice.args().ok()?.into_iter();
            let arg = args.find(|arg| names.contains(&arg.name.as_str()))?;
            plain_text(arg.value)
        })
        .filter(|value| !value.is_empty())
}

/// `PyTorch`/XLA names a graph by the hash of its operations.
pub(super) fn graph_hash(slice: SliceRef<'_>) -> Option<String> {
    (stripped(slice.name()) == "XLAGraphExecutor::Compile")
        .then(|| argument(slice, &["graph_hash"]))
        .flatten()
}

/// The module that an event compiles, from its name, its arguments or those of its direct children.
fn compiled_module(event: &PhaseEvent<'_>) -> Option<String> {
    let slice = event.slice;
    if event.class != HostClass::Compile || is_part_of_program(slice.name()) {
        return None;
    }
    let inside = || {
        let children = slice.children().take(MAX_INSIDE);
        children.flat_map(|child| std::iter::once(child).chain(child.children().take(MAX_INSIDE)))
    };
    // Pipelines of passes have the module in their names: `simplification (jit_f)`.
    let of_pipeline = |slice: SliceRef<'_>| {
        let module = slice.name().strip_suffix(')')?.rsplit_once(" (")?.1;
        (!module.is_empty() && !module.contains(' ')).then(|| module.to_owned())
    };
    let mut asked = std::iter::once(slice)
        .chain(inside())
        .take(MAX_ASKED as usize);
    inside()
        .find_map(of_pipeline)
        .or_else(|| asked.find_map(|slice| argument(slice, &["module", "hlo_module", "name"])))
}

/// Maximum number of direct children that are searched for the module.
const MAX_INSIDE: usize = 4;
/// Maximum number of events of a compilation that are searched for it.
const MAX_ASKED: u32 = 4;
