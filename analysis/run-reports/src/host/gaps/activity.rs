//! Host activity over time that can keep devices waiting.
//!
//! Events nest on each thread, and threads run concurrently. On each thread the innermost event of a known kind defines
//! its activity, except that everything inside a compilation is compiling, and waiting for a transfer is transferring.
//! Of several threads the one with the strongest explanation wins ([`super::merge`]):
//!
//! ```text
//! compile > input > host to device > device to host > dispatch
//!     > user code > input in the background > waiting > nothing recorded
//! ```
//!
//! As soon as the next program is in the device's queue, none of this matters: see [`IdleCause::Queued`].
//!
//! Waiting comes last, because a thread that waits for a device explains nothing.
//! User code and waiting count on threads that drive devices only: a poller or an
//! idle pool is always "active". Loaders that work ahead on their own threads are
//! the cause only while the driving thread does nothing itself.
//!
//! Hosts have about as many activities as recorded events, so activities are computed on the fly and never stored;
//! only the facts about labels are stored.

use std::iter::Peekable;

use facts::PythonFrame;
use facts::host_class::{is_input_loader, stripped};
use facts::prelude::*;
use trace_model::HostId;

use super::cause::{CausePriority, IdleCause};
use super::merge::{HostActivities, HostActivity, ThreadSpan};

/// Loads and look-ups shorter than this occur at every launch.
const SHORTEST_LOAD_PS: i64 = 1_000_000_000;

/// Facts about host events.
pub(crate) struct HostEventKinds {
    /// By label.
    kinds: Vec<EventKind>,
    threads: BTreeMap<HostId, Vec<ActivityThread>>,
}

#[derive(Clone, Copy)]
struct ActivityThread {
    track: TrackId,
    /// Whether it calls programs or marks steps.
    is_driver: bool,
}

/// Facts about a label.
#[derive(Clone, Copy)]
struct EventKind {
    own: EventActivity,
    /// Whether it hands input to a device, which is never done ahead of time.
    feeds: bool,
    /// Whether the program calls it, not a runtime.
    is_call: bool,
    /// Whether some of its slices carry a step number.
    marks: bool,
}

/// The activity that an event shows by itself.
#[derive(Clone, Copy)]
enum EventActivity {
    Always(IdleCause),
    /// Compiling if it takes long, otherwise part of a launch.
    Load,
    /// User code, unless it only carries a step number.
    User(IdleCause),
}

impl EventKind {
    const UNKNOWN: Self = Self {
        own: EventActivity::User(IdleCause::User),
        feeds: false,
        is_call: false,
        marks: false,
    };

    fn new(class: HostClass, name: &str) -> Self {
        use HostClass as H;
        let own_activity = match class {
            H::Trace | H::Lower | H::Compile => EventActivity::Always(IdleCause::Compile),
            H::Load | H::Cache => EventActivity::Load,
            H::Dispatch | H::Lazy => EventActivity::Always(IdleCause::Dispatch),
            H::HostToDevice => EventActivity::Always(IdleCause::HostToDevice),
            H::DeviceToHost | H::Outfeed => EventActivity::Always(IdleCause::DeviceToHost),
            H::Infeed => EventActivity::Always(IdleCause::Input),
            H::Wait => EventActivity::Always(IdleCause::Wait),
            H::User if is_input_loader(name) => EventActivity::User(IdleCause::Input),
            H::User if PythonFrame::of(name).is_some_and(PythonFrame::waits_for_threads) => {
                EventActivity::User(IdleCause::Wait)
            }
            H::User => EventActivity::User(IdleCause::User),
        };
        let called = stripped(name);
        let is_call = [
            "PjitFunction(",
            "ExecuteReplicated",
            "SyncTensorsGraph",
            "TpuExecuteOp",
        ]
        .iter()
        .any(|start| called.starts_with(start));
        Self {
            own: own_activity,
            feeds: name.contains("InfeedEnqueue"),
            is_call,
            marks: false,
        }
    }

    fn marks_step(self, slice: SliceRef<'_>) -> bool {
        self.marks && STEP_MARKS.iter().any(|&attr| slice.attr(attr).is_some())
    }

    /// The activity that an event shows by itself; `None` if it shows none.
    fn own(self, slice: SliceRef<'_>, range: TimeRange) -> Option<IdleCause> {
        match self.own {
            EventActivity::Always(cause) => Some(cause),
            EventActivity::Load if range.dur().ps() >= SHORTEST_LOAD_PS => Some(IdleCause::Compile),
            EventActivity::Load => Some(IdleCause::Dispatch),
            EventActivity::User(cause) => (!self.marks_step(slice)).then_some(cause),
        }
    }
}

/// Facts of slices that carry a step number.
const STEP_MARKS: [SliceAttr; 2] = [SliceAttr::StepNum, SliceAttr::StepRoot];

impl Fact for HostEventKinds {
    fn find(cx: &Context<'_>) -> Self {
        let model = cx.model;
        let classes = cx.host_classes();
        let kind = |label: LabelId| {
            let name = || model.str(model.label(label).name);
            if classes.knows(label) {
                EventKind::new(classes.class(label), name())
            } else {
                EventKind::UNKNOWN
            }
        };
        let mut kinds: Vec<EventKind> = model.label_ids().map(kind).collect();
        for (slice, _) in STEP_MARKS
            .into_iter()
            .flat_map(|attr| model.slices_with(attr))
        {
            if let Some(kind) = kinds.get_mut(slice.label_id().index()) {
                kind.marks = true;
            }
        }
        let mut events = Self {
            kinds,
            threads: BTreeMap::new(),
        };
        for track in host_threads(model) {
            let is_driver = model.slices_on(track).any(|slice| {
                let kind = events.kind(slice.label_id());
                kind.is_call || kind.marks_step(slice)
            });
            let host = model.host_of(model.track(track).group);
            events
                .threads
                .entry(host)
                .or_default()
                .push(ActivityThread { track, is_driver });
        }
        events
    }
}

impl HostEventKinds {
    fn kind(&self, label: LabelId) -> EventKind {
        self.kinds
            .get(label.index())
            .copied()
            .unwrap_or(EventKind::UNKNOWN)
    }

    /// The time in which a host records as many events as it takes work to begin anew behind them.
    pub(super) fn worth_skipping(&self, model: &TraceModel, host: HostId) -> Picos {
        /// To find where to begin on a thread takes about as long as to read so many events of it.
        const EVENTS: i64 = 16;
        let threads = self.threads.get(&host).map_or(&[][..], Vec::as_slice);
        let lanes = threads.iter().flat_map(|thread| model.lanes(thread.track));
        let events: i64 = lanes.map(|lane| lane.len() as i64).sum();
        let least = EVENTS.saturating_mul(threads.len() as i64);
        let each = model.extent().dur().ps() / events.max(1);
        Picos::from_ps(each.saturating_mul(least))
    }

    /// The spans in which host activity is read for those in which devices are `idle`: some are joined, because what is
    /// between them is not `worth` skipping, or because a thread cannot be read from there on.
    pub(super) fn spans_to_read(
        &self,
        model: &TraceModel,
        host: HostId,
        idle: &IntervalSet,
        worth: Picos,
    ) -> Vec<TimeRange> {
        let may_begin = |time: Timestamp| {
            let mut threads = self.threads.get(&host).into_iter().flatten();
            threads.all(|thread| model.last_change(thread.track, time).is_some())
        };
        let mut out: Vec<TimeRange> = Vec::new();
        for &span in idle.ranges() {
            match out.last_mut() {
                Some(last) if span.start - last.end <= worth || !may_begin(span.start) => {
                    last.end = span.end;
                }
                _ => out.push(span),
            }
        }
        out
    }

    /// Host activity in a span and before, in time order without overlaps; times without recorded events are left out.
    pub(super) fn doings<'a>(
        &'a self,
        model: &'a TraceModel,
        host: HostId,
        TimeRange { start: from, end }: TimeRange,
    ) -> impl Iterator<Item = HostActivity> + 'a {
        let threads = self
            .threads
            .get(&host)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let begins_inside = move |(_, range): &(SliceRef<'_>, TimeRange)| range.start < end;
        let all = HostActivities::new(threads.iter().map(move |&thread| {
            // Starts at the beginning if the slices around `from` do not suffice.
            let known = model.last_change(thread.track, from);
            let (from, now) = known.map_or((Timestamp::MIN, Timestamp::MIN), |now| (from, now));
            ThreadSpans {
                events: self,
                is_driver: thread.is_driver,
                slices: model
                    .slices_in_order(thread.track, from)
                    .take_while(begins_inside)
                    .peekable(),
                open: Vec::new(),
                now,
            }
        }));
        // What begins after the end is not known, and may be inside of what goes on.
        let begun = all.take_while(move |doing| doing.range.start < end);
        begun.map(move |doing| HostActivity {
            range: TimeRange::new(doing.range.start, doing.range.end.min(end)),
            ..doing
        })
    }
}

/// The activities of one thread, cut into spans that do not overlap, in time order.
struct ThreadSpans<'a, I: Iterator<Item = (SliceRef<'a>, TimeRange)>> {
    events: &'a HostEventKinds,
    is_driver: bool,
    /// Slices that have not started, by start.
    slices: Peekable<I>,
    /// End and activity of each slice that has started.
    open: Vec<(Timestamp, ThreadActivity)>,
    now: Timestamp,
}

impl<'a, I: Iterator<Item = (SliceRef<'a>, TimeRange)>> Iterator for ThreadSpans<'a, I> {
    type Item = ThreadSpan;

    fn next(&mut self) -> Option<ThreadSpan> {
        loop {
            let begins = self.slices.peek().map(|(_, range)| range.start);
            let ended = self
                .open
                .pop_if(|(end, _)| begins.is_none_or(|begins| *end <= begins));
            let (until, state) = match ended {
                Some(ended) => ended,
                None => self.begin()?,
            };
            let from = self.now;
            self.now = from.max(until);
            if let Some((cause, label)) = state.filter(|_| from < until)
                && let Some(rank) = rank(cause, self.is_driver, self.events.kind(label).feeds)
            {
                return Some(ThreadSpan {
                    range: TimeRange::new(from, until),
                    rank,
                    label,
                });
            }
        }
    }
}

impl<'a, I: Iterator<Item = (SliceRef<'a>, TimeRange)>> ThreadSpans<'a, I> {
    /// Opens the next slice; returns its start and the activity until then. Those that end within it do not contain
    /// it, and from now on no instant belongs to them, as with self time.
    fn begin(&mut self) -> Option<(Timestamp, ThreadActivity)> {
        let (slice, range) = self.slices.next()?;
        let activity =
            |open: &[(Timestamp, ThreadActivity)]| open.last().and_then(|(_, state)| *state);
        let before = activity(&self.open);
        while self.open.pop_if(|(end, _)| *end < range.end).is_some() {}
        let around = activity(&self.open);
        let label = slice.label_id();
        self.open.push((
            range.end,
            inside(around, self.events.kind(label).own(slice, range), label),
        ));
        Some((range.start, before))
    }
}

/// The activity of a thread, and the outermost event that shows it.
type ThreadActivity = Option<(IdleCause, LabelId)>;

/// The activity inside an event with activity `own` in a span with activity `around`.
fn inside(around: ThreadActivity, own: Option<IdleCause>, label: LabelId) -> ThreadActivity {
    let Some(own) = own else { return around };
    match around {
        // Everything inside a compilation is part of it, and everything without a known kind inside user code is user
        // code.
        Some((IdleCause::Compile, _)) => around,
        Some((cause, _)) if cause == own && cause != IdleCause::User => around,
        Some((cause, _)) if own == IdleCause::User && cause != IdleCause::User => around,
        // Waiting for a transfer or for input counts as that.
        Some((IdleCause::Input | IdleCause::HostToDevice | IdleCause::DeviceToHost, _))
            if own == IdleCause::Wait =>
        {
            around
        }
        _ => Some((own, label)),
    }
}

/// How the activity of a thread competes with other threads; `None` if it does not count.
fn rank(cause: IdleCause, is_driver: bool, feeds: bool) -> Option<CausePriority> {
    match cause {
        IdleCause::User | IdleCause::Wait if !is_driver => None,
        IdleCause::Input if !is_driver && !feeds => Some(CausePriority::BackgroundInput),
        _ => Some(CausePriority::Cause(cause)),
    }
}

#[cfg(test)]
mod tests {
    use engine::{Options, ReportCache, Scope};
    use proptest::prelude::*;
    use sample_traces::text_trace;
    use trace_model::{GroupKind, SliceSpec, TraceBuilder, TrackKind};

    use super::*;

    const NAMES: [&str; 6] = [
        "backend_compile",
        "batched_device_put",
        "block_until_ready",
        "$train.py:3 log",
        "IteratorGetNext",
        "algsimp",
    ];

    proptest! {
        /// A reader that starts later gets the same result as one that starts at the beginning, with or without
        /// overlaps.
        #[test]
        fn host_activity_is_independent_of_the_read_position(
            spans in prop::collection::vec((0_i64..60, 0_i64..30, 0_usize..2, 0..NAMES.len()), 0..20),
            from in 0_i64..70,
        ) {
            let mut builder = TraceBuilder::new();
            let host = builder.group(None, GroupKind::Host, "host");
            let tracks = [1, 2].map(|id| builder.track(host, TrackKind::HostThread, id, "thread"));
            let labels = ["PjitFunction(f)"].iter().chain(&NAMES).map(|name| builder.label(name, None));
            let labels: Vec<LabelId> = labels.collect();
            let range = |start, len| TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(start + len));
            builder.add_slice(tracks[0], SliceSpec::new(range(0, 1), labels[0]));
            for (start, len, thread, name) in spans {
                builder.add_slice(tracks[thread], SliceSpec::new(range(start, len), labels[name + 1]));
            }
            let model = builder.finish();
            let (options, reports) = (Options::default(), ReportCache::default());
            let cx = Context { model: &model, scope: Scope::WholeTrace, options: &options, reports: &reports };
            let (events, host, from) = (cx.fact::<HostEventKinds>(), model.host_of(model.track(tracks[0]).group), Timestamp::from_ps(from));
            let after = |doings: Vec<HostActivity>| {
                let clip = |doing: HostActivity| {
                    let range = TimeRange::new(doing.range.start.max(from), doing.range.end);
                    (!range.is_empty()).then_some(HostActivity { range, ..doing })
                };
                doings.into_iter().filter_map(clip).collect::<Vec<_>>()
            };
            let all = after(events.doings(&model, host, TimeRange::new(Timestamp::MIN, Timestamp::MAX)).collect());
            prop_assert_eq!(after(events.doings(&model, host, TimeRange::new(from, Timestamp::MAX)).collect()), all);
        }
    }

    #[test]
    fn thread_that_launches_or_marks_steps_drives_devices() {
        let model = text_trace(
            "modules: AA\nhost main: dd\nhost pool: ss\n d = PjitFunction(f)\n s = algsimp",
        );
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context {
            model: &model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        let threads = cx.fact::<HostEventKinds>().threads.values().flatten();
        let drivers: Vec<&str> = threads
            .filter(|thread| thread.is_driver)
            .map(|thread| model.str(model.track(thread.track).name))
            .collect();
        assert_eq!(drivers, ["main"]);
    }
}
