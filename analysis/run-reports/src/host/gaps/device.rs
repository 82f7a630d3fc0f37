//! Gaps between programs of one device, with the host activity in them.
//!
//! Host activity is processed once, in time order, for all devices of a host ([`GapCollector::see`]) and summed immediately,
//! because gaps are in time order as well. What lies between gaps may be left out.

use facts::ClocksReport;
use facts::prelude::*;

use super::cause::IdleCause;
use super::merge::HostActivity;
use super::report::{DeviceGaps, Gap, GapPlace, IdleSpanCause};
use super::steps::StepSums;
use super::tally::{CauseTimes, ReportNames};
use crate::host::clocks::Clocks;

/// Maximum number of listed gaps per device, the longest first.
const LISTED: usize = 100;

/// An idle span, on the clock of the host.
#[derive(Clone, Copy)]
struct IdleSpan {
    range: TimeRange,
    place: GapPlace,
    after: Option<SliceId>,
    before: Option<SliceId>,
}

/// The idle spans of a device within `window`, in time order. With `in_steps` all of it belongs to the loop, also what no
/// program follows.
fn idle(
    mut programs: Vec<(SliceRef<'_>, TimeRange)>,
    window: TimeRange,
    in_steps: bool,
) -> Vec<IdleSpan> {
    let mut out = Vec::new();
    let mut end = window
        .start
        .min(programs.first().map_or(window.start, |(_, r)| r.start));
    let mut after = None;
    let mut add = |from: Timestamp, to: Timestamp, after, before| {
        if let Some(range) = TimeRange::new(from, to)
            .intersect(window)
            .filter(|range| !range.is_empty())
        {
            out.push(IdleSpan {
                range,
                place: match (after, before) {
                    _ if in_steps => GapPlace::Between,
                    (None, _) => GapPlace::BeforeFirst,
                    (_, None) => GapPlace::AfterLast,
                    _ => GapPlace::Between,
                },
                after,
                before,
            });
        }
    };
    programs.sort_by_key(|(program, range)| (range.start, program.id()));
    for (program, range) in programs {
        add(end, range.start, after, Some(program.id()));
        if after.is_none() || range.end >= end {
            after = Some(program.id());
        }
        end = end.max(range.end);
    }
    add(end, window.end, after, None);
    out
}

/// Indices of the longest of them, in time order.
fn longest(idle: &[IdleSpan]) -> Vec<usize> {
    let mut listed: Vec<usize> = (0..idle.len()).collect();
    listed.sort_by_key(|&index| (Reverse(idle[index].range.dur()), index));
    listed.truncate(LISTED);
    listed.sort_unstable();
    listed
}

/// Follows the host activity along the gaps of one device.
///
/// ```text
/// doing   ....ddddddd....eee....fff
/// gap        |-----------:qqqqq|       : the next program is queued
/// pieces      ddddd......:qqqqq
/// ```
pub(super) struct GapCollector<'a> {
    model: &'a TraceModel,
    window: TimeRange,
    clocks: Option<Arc<ClocksReport>>,
    /// Remaining gaps; the current one is last.
    idle: Vec<IdleSpan>,
    /// Number of remaining entries of `idle` when the next listed gap is reached.
    listed: Vec<usize>,
    /// State of the current gap: the end of its explained part, the time at which the next program was queued, and the
    /// sums.
    now: Timestamp,
    queued: Option<(Timestamp, LabelId)>,
    own: CauseTimes,
    between: CauseTimes,
    steps: StepSums,
    out: DeviceGaps,
}

impl<'a> GapCollector<'a> {
    /// `None` if the device recorded no program in the scope.
    pub fn new(
        cx: &Context<'a>,
        core: GroupId,
        steps: Option<&StepsReport>,
    ) -> Result<Option<Self>> {
        let programs = cx.programs_on_host(core);
        let Some(window) = cx.window_on_host(core)? else {
            return Ok(None);
        };
        if programs.is_empty() || window.is_empty() {
            return Ok(None);
        }
        let busy: IntervalSet = programs
            .iter()
            .filter_map(|(_, range)| range.intersect(window))
            .collect();
        let ran = programs
            .iter()
            .filter(|(_, range)| range.overlaps(window))
            .count();
        let mut idle = idle(programs, window, matches!(cx.scope, Scope::Steps { .. }));
        let listed = longest(&idle);
        let out = DeviceGaps {
            core: cx.model.device_name(core),
            group: core,
            // Its host says it.
            has_host: false,
            window_ps: window.dur(),
            program_ps: busy.measure(),
            programs: ran as u64,
            idle_ps: idle.iter().map(|gap| gap.range.dur()).sum(),
            count: idle
                .iter()
                .filter(|gap| gap.place == GapPlace::Between)
                .count() as u64,
            before: Vec::new(),
            between: Vec::new(),
            after: Vec::new(),
            gaps: Vec::with_capacity(listed.len()),
            steps: Vec::new(),
            inside: None,
            spans: Vec::new(),
        };
        let listed = listed
            .iter()
            .rev()
            .map(|index| idle.len() - index)
            .collect();
        idle.reverse();
        let mut watch = Self {
            model: cx.model,
            window,
            clocks: cx.whole().report::<Clocks>().ok(),
            idle,
            listed,
            now: Timestamp::MIN,
            queued: None,
            own: CauseTimes::default(),
            between: CauseTimes::default(),
            steps: StepSums::new(cx, core, steps),
            out,
        };
        watch.open();
        Ok(Some(watch))
    }

    /// Advances to the next gap.
    fn open(&mut self) {
        let Some(gap) = self.idle.last() else { return };
        self.now = gap.range.start;
        self.queued = gap
            .before
            .and_then(|program| self.launch(program))
            .filter(|(entered, _)| *entered < gap.range.end);
    }

    /// When a program entered the device's queue, and the event that queued it.
    fn launch(&self, program: SliceId) -> Option<(Timestamp, LabelId)> {
        let begins = &self.clocks.as_ref()?.launches_of(self.out.group)?.begins;
        let key = |program: SliceId| (self.model.slice(program).start(), program);
        let index = begins
            .binary_search_by_key(&key(program), |pair| key(pair.program))
            .ok()?;
        let host = self.model.slice(begins[index].host);
        Some((host.range().end, host.label_id()))
    }

    /// The spans in which host activity is needed.
    pub fn idle(&self) -> impl Iterator<Item = TimeRange> + '_ {
        self.idle.iter().map(|gap| gap.range)
    }

    /// Processes the next activity of the host.
    pub fn see(&mut self, doing: &HostActivity, names: &mut ReportNames<'_>) {
        while let Some(&gap) = self.idle.last() {
            if doing.range.end <= self.now {
                return;
            }
            let until = self.until(&gap);
            if doing.range.start < until {
                let from = doing.range.start.max(self.now);
                let to = doing.range.end.min(until);
                self.add(self.now, from, IdleCause::Unknown, None, names);
                self.add(from, to, doing.cause, Some(doing.label), names);
                self.now = self.now.max(to);
            }
            if doing.range.end < until {
                return;
            }
            self.close(&gap, names);
        }
    }

    /// The end of the explained part of a gap, given this host activity.
    fn until(&self, gap: &IdleSpan) -> Timestamp {
        self.queued
            .map_or(gap.range.end, |(entered, _)| entered.max(gap.range.start))
    }

    fn add(
        &mut self,
        from: Timestamp,
        to: Timestamp,
        cause: IdleCause,
        label: Option<LabelId>,
        names: &mut ReportNames<'_>,
    ) {
        if from >= to {
            return;
        }
        let range = TimeRange::new(from, to);
        self.own.add(cause, label, range.dur());
        self.steps.add(range, cause, label, names);
        match self.out.spans.last_mut() {
            Some(last) if last.cause == cause && last.range.end == from => last.range.end = to,
            _ => self.out.spans.push(IdleSpanCause { range, cause }),
        }
    }

    /// Finishes the current gap, for which no more activities follow.
    fn close(&mut self, gap: &IdleSpan, names: &mut ReportNames<'_>) {
        let until = self.until(gap);
        self.add(self.now, until, IdleCause::Unknown, None, names);
        if let Some((_, label)) = self.queued {
            self.add(until, gap.range.end, IdleCause::Queued, Some(label), names);
        }
        let is_listed = self.listed.last() == Some(&self.idle.len());
        let place = gap.place;
        let causes = if is_listed || place != GapPlace::Between {
            self.own.causes(names)
        } else {
            Vec::new()
        };
        if is_listed {
            self.listed.pop();
            let mut name =
                |program: Option<SliceId>| Some(names.of(self.model.slice(program?).label_id()));
            self.out.gaps.push(Gap {
                place,
                start_ps: self.recorded_start(gap),
                length_ps: gap.range.dur(),
                step: self.steps.at(gap.range.start),
                after: name(gap.after),
                before: name(gap.before),
                causes: causes.clone(),
            });
        }
        match place {
            GapPlace::BeforeFirst => self.out.before = causes,
            GapPlace::Between => self.between.add_all(&self.own),
            GapPlace::AfterLast => self.out.after = causes,
        }
        self.own.clear();
        self.idle.pop();
        self.open();
    }

    /// The start of a gap on the timeline as recorded; the window's start if no program of the device precedes it.
    fn recorded_start(&self, gap: &IdleSpan) -> Timestamp {
        let recorded = gap
            .after
            .map(|program| self.model.slice(program).range().end);
        match recorded {
            Some(end) if gap.range.start > self.window.start => end,
            _ => gap.range.start,
        }
    }

    /// Called after the last host activity.
    pub fn finish(mut self, names: &mut ReportNames<'_>) -> DeviceGaps {
        while let Some(&gap) = self.idle.last() {
            self.close(&gap, names);
        }
        let mut out = self.out;
        // The first of equally long ones.
        out.gaps.sort_by_key(|gap| Reverse(gap.length_ps));
        out.between = self.between.causes(names);
        out.steps = self.steps.finish(names);
        out.spans.shrink_to_fit();
        out
    }
}
