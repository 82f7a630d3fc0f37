//! What a host does at each instant that could keep its devices waiting.
//!
//! Threads nest events and run beside each other. On each thread the innermost
//! event of a known kind says what it does, except that everything inside of a
//! compilation is compiling, and waiting for a transfer is transferring. Of several
//! threads the one that explains most wins:
//!
//! ```text
//! compile > input > host to device > device to host > dispatch
//!     > user code > input in the background > waiting > nothing recorded
//! ```
//!
//! From the moment when the next program is in the device's queue nothing of this
//! matters: see [`Cause::Queued`].
//!
//! Waiting comes last, because a thread that waits for a device explains nothing.
//! User code and waiting count on threads that drive devices only: a poller or an
//! idle pool is always "active". Loaders that work ahead on their own threads are
//! the cause only while the driving thread does nothing itself.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use trace_model::{LabelId, SliceAttr, SliceId, SourceId, TimeRange, Timestamp, TraceModel, TrackId};

use crate::Context;
use crate::host_class::{HostClass, host_threads, is_input_loader, is_python_wait, stripped};

/// Why a device has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Tracing, lowering, compiling, loading programs.
    Compile,
    /// Infeed, input pipelines, data loaders.
    Input,
    /// Transfers to the device.
    HostToDevice,
    /// Transfers from the device.
    DeviceToHost,
    /// Launching programs.
    Dispatch,
    /// Code of the program itself on a thread that drives devices.
    User,
    /// The driving thread waits, and nobody else does anything.
    Wait,
    /// The next program is in the device's queue already, whatever the host does.
    Queued,
    /// Nothing was recorded.
    Unknown,
}

impl Cause {
    /// Every cause, in the order of precedence.
    pub const ALL: [Self; 9] = [
        Self::Compile,
        Self::Input,
        Self::HostToDevice,
        Self::DeviceToHost,
        Self::Dispatch,
        Self::User,
        Self::Wait,
        Self::Queued,
        Self::Unknown,
    ];

    /// Name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Compile => "compiling",
            Self::Input => "input",
            Self::HostToDevice => "host to device",
            Self::DeviceToHost => "device to host",
            Self::Dispatch => "dispatch",
            Self::User => "user code",
            Self::Wait => "waiting",
            Self::Queued => "next one queued",
            Self::Unknown => "nothing recorded",
        }
    }

    /// Place in [`Self::ALL`].
    pub(super) fn index(self) -> usize {
        self as usize
    }
}

/// Precedence among threads: causes, with input in the background apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Cause(Cause),
    /// After user code, before waiting.
    BackgroundInput,
}

impl Rank {
    const COUNT: usize = Cause::ALL.len() + 1;

    fn index(self) -> usize {
        match self {
            Self::Cause(Cause::Wait) => Cause::Wait.index() + 1,
            Self::Cause(cause) => cause.index(),
            Self::BackgroundInput => Cause::Wait.index(),
        }
    }
    fn cause(self) -> Cause {
        match self {
            Self::Cause(cause) => cause,
            Self::BackgroundInput => Cause::Input,
        }
    }
}

/// A span in which a host did one thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Doing {
    pub range: TimeRange,
    pub cause: Cause,
    /// The event that says so.
    pub label: LabelId,
}

/// What the hosts did, each in time order without overlaps; instants at which
/// nothing was recorded are left out.
pub(crate) type Activity = BTreeMap<SourceId, Vec<Doing>>;

/// What a thread does in a span.
struct Part {
    range: TimeRange,
    rank: Rank,
    label: LabelId,
}

/// Loads and look-ups shorter than this happen at every launch.
const SHORTEST_LOAD_PS: i64 = 1_000_000_000;

impl<'a> Context<'a> {
    /// What the hosts did, whatever the scope.
    pub(super) fn activity(&self) -> &'a Activity {
        self.reports.shared.activity.get_or_init(|| activity(self))
    }
}

fn activity(cx: &Context<'_>) -> Activity {
    let model = cx.model;
    let threads = Threads::new(cx);
    let mut by_host: BTreeMap<SourceId, Vec<TrackId>> = BTreeMap::new();
    for track in host_threads(model) {
        by_host.entry(model.group(model.track(track).group).source).or_default().push(track);
    }
    by_host
        .into_iter()
        .map(|(source, tracks)| {
            let drives: Vec<bool> = tracks.iter().map(|&track| threads.drives(track)).collect();
            let mut parts = Vec::new();
            for (&track, is_driver) in tracks.iter().zip(drives) {
                threads.parts(track, is_driver, &mut parts);
            }
            (source, merge(&mut parts))
        })
        .collect()
}

struct Threads<'a> {
    model: &'a TraceModel,
    /// By label.
    kinds: Vec<Kind>,
    /// Slices that only say which step it is, in order.
    steps: Vec<SliceId>,
}

/// What a label says.
#[derive(Clone, Copy, PartialEq)]
struct Kind {
    class: HostClass,
    /// What it is where the class is [`HostClass::User`].
    user: Cause,
    /// Hands input to a device, which is never done ahead of need.
    feeds: bool,
    /// Called by the program, not by a runtime.
    is_call: bool,
    /// Some of its slices say which step it is.
    marks: bool,
}

impl Kind {
    const UNKNOWN: Self =
        Self { class: HostClass::User, user: Cause::User, feeds: false, is_call: false, marks: false };
}

impl<'a> Threads<'a> {
    fn new(cx: &Context<'a>) -> Self {
        let (model, classes) = (cx.model, cx.host_classes());
        let kind = |label: LabelId| {
            if !classes.knows(label) {
                return Kind::UNKNOWN;
            }
            let name = model.str(model.label(label).name);
            let class = classes.class(label);
            let is_call = ["PjitFunction(", "ExecuteReplicated", "SyncTensorsGraph", "TpuExecuteOp"]
                .iter()
                .any(|start| stripped(name).starts_with(start));
            let user = match name {
                name if is_input_loader(name) => Cause::Input,
                name if is_python_wait(name) => Cause::Wait,
                _ => Cause::User,
            };
            Kind { class, user, feeds: name.contains("InfeedEnqueue"), is_call, marks: false }
        };
        let marks = [SliceAttr::StepNum, SliceAttr::StepRoot].map(|attr| model.slices_with(attr));
        let mut kinds: Vec<Kind> = model.label_ids().map(kind).collect();
        let mut steps = Vec::new();
        for (slice, _) in marks.into_iter().flatten() {
            steps.push(slice.id());
            if let Some(kind) = kinds.get_mut(slice.label_id().index()) {
                kind.marks = true;
            }
        }
        steps.sort_unstable();
        Self { model, kinds, steps }
    }

    fn kind(&self, label: LabelId) -> Kind {
        self.kinds.get(label.index()).copied().unwrap_or(Kind::UNKNOWN)
    }

    fn marks_step(&self, kind: Kind, slice: SliceId) -> bool {
        kind.marks && self.steps.binary_search(&slice).is_ok()
    }

    /// Whether a thread calls programs, or marks steps.
    fn drives(&self, track: TrackId) -> bool {
        self.model.slices_on(track).any(|slice| {
            let kind = self.kind(slice.label_id());
            kind.is_call || self.marks_step(kind, slice.id())
        })
    }

    /// What an event says by itself; `None` where nothing.
    fn own(&self, kind: Kind, slice: SliceId, range: TimeRange) -> Option<Cause> {
        use HostClass as H;
        Some(match kind.class {
            H::Trace | H::Lower | H::Compile => Cause::Compile,
            H::Load | H::Cache if range.dur().ps() >= SHORTEST_LOAD_PS => Cause::Compile,
            H::Load | H::Cache | H::Dispatch | H::Lazy => Cause::Dispatch,
            H::HostToDevice => Cause::HostToDevice,
            H::DeviceToHost | H::Outfeed => Cause::DeviceToHost,
            H::Infeed => Cause::Input,
            H::Wait => Cause::Wait,
            H::User if self.marks_step(kind, slice) => return None,
            H::User => kind.user,
        })
    }

    /// Adds what a thread does, cut into spans that do not overlap.
    fn parts(&self, track: TrackId, is_driver: bool, out: &mut Vec<Part>) {
        let mut emit = |state: State, from: Timestamp, to: Timestamp| {
            if let Some((cause, label)) = state
                && from < to
                && let Some(rank) = rank(cause, is_driver, self.kinds.get(label.index()).is_some_and(|kind| kind.feeds))
            {
                out.push(Part { range: TimeRange::new(from, to), rank, label });
            }
        };
        let mut open: Vec<(Timestamp, State)> = Vec::new();
        let mut now = Timestamp::MIN;
        for slice in self.model.slices_in_order(track) {
            let (range, label, id) = (slice.range(), slice.label_id(), slice.id());
            while let Some((end, state)) = open.pop_if(|(end, _)| *end <= range.start) {
                emit(state, now, end);
                now = now.max(end);
            }
            let around = open.last().and_then(|(_, state)| *state);
            emit(around, now, range.start);
            now = now.max(range.start);
            open.push((range.end, inside(around, self.own(self.kind(label), id, range), label)));
        }
        while let Some((end, state)) = open.pop() {
            emit(state, now, end);
            now = now.max(end);
        }
    }
}

/// What a thread does, and the outermost event that says so.
type State = Option<(Cause, LabelId)>;

/// The state within an event that says `own` and lies in a span of state `around`.
fn inside(around: State, own: Option<Cause>, label: LabelId) -> State {
    let Some(own) = own else { return around };
    match around {
        // Whatever happens in a compilation is part of it, and user code of what called it.
        Some((Cause::Compile, _)) => around,
        Some((cause, _)) if cause == own && cause != Cause::User => around,
        Some((cause, _)) if own == Cause::User && cause != Cause::User => around,
        // Waiting for a transfer, or for input, is that.
        Some((Cause::Input | Cause::HostToDevice | Cause::DeviceToHost, _)) if own == Cause::Wait => around,
        _ => Some((own, label)),
    }
}

/// How a thread's state counts among threads; `None` where it does not.
fn rank(cause: Cause, is_driver: bool, feeds: bool) -> Option<Rank> {
    match cause {
        Cause::User | Cause::Wait if !is_driver => None,
        Cause::Input if !is_driver && !feeds => Some(Rank::BackgroundInput),
        _ => Some(Rank::Cause(cause)),
    }
}

/// The parts of all threads as one sequence: at each instant the one of the best
/// rank, of several the one that began first.
fn merge(parts: &mut [Part]) -> Vec<Doing> {
    // Parts of one thread are in order already, which a stable sort makes use of.
    parts.sort_by_key(|part| (part.range.start, part.rank.index(), part.label));
    // By rank, begun and not known to have ended, the one that began first in front.
    let mut active: [VecDeque<&Part>; Rank::COUNT] = Default::default();
    // Bit by bit which of them are not empty: most are, most of the time.
    let mut filled = 0_u32;
    let mut out: Vec<Doing> = Vec::new();
    let mut begun = 0;
    let mut now = Timestamp::MIN;
    loop {
        let best = loop {
            let Some(same) = active.get_mut(filled.trailing_zeros() as usize) else { break None };
            while same.front().is_some_and(|part| part.range.end <= now) {
                same.pop_front();
            }
            match same.front() {
                Some(&part) => break Some(part),
                None => filled &= filled - 1,
            }
        };
        let begins = parts.get(begun).map(|part| part.range.start);
        now = match (best, begins) {
            (None, None) => return out,
            (None, Some(begins)) => begins,
            (Some(part), begins) => {
                let next = begins.map_or(part.range.end, |begins| begins.min(part.range.end));
                push(&mut out, Doing { range: TimeRange::new(now, next), cause: part.rank.cause(), label: part.label });
                next
            }
        };
        if begins == Some(now) {
            let rank = parts[begun].rank.index();
            active[rank].push_back(&parts[begun]);
            filled |= 1 << rank;
            begun += 1;
        }
    }
}

fn push(out: &mut Vec<Doing>, doing: Doing) {
    if doing.range.is_empty() {
        return;
    }
    match out.last_mut() {
        Some(last) if last.range.end == doing.range.start && (last.cause, last.label) == (doing.cause, doing.label) => {
            last.range.end = doing.range.end;
        }
        _ => out.push(doing),
    }
}
