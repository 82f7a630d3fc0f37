//! Why no op runs between two programs, from the report on gaps: what the host did meanwhile.

use facts::prelude::*;
use run_reports::host::gaps::IdleSpanCause;
use run_reports::{Gaps, GapsReport, IdleCause};

use super::schedule::CoreSchedule;

/// The idle time of all devices by cause.
pub(super) struct IdleCauses<'a> {
    cx: Context<'a>,
    gaps: Option<Arc<GapsReport>>,
    /// Places of devices in the report.
    places: BTreeMap<GroupId, usize>,
}

impl<'a> IdleCauses<'a> {
    pub fn of(cx: &Context<'a>) -> Self {
        let cx = cx.whole();
        let gaps = cx.report::<Gaps>().ok();
        let devices = gaps.iter().flat_map(|gaps| gaps.devices.iter());
        let places = devices.map(|device| device.group).zip(0..).collect();
        Self { cx, gaps, places }
    }

    /// A part of the time between the piece `row` of a core and the next one, divided by cause, the last part first: lengths
    /// that add up to it. The cause is `None` where the report on gaps has no idle time of the device.
    ///
    /// ```text
    /// ops of the device   ]                [      the time between them by their clock
    /// the same, on host     ]          [          can have another length: the parts are taken in proportion
    /// causes                iiiiiqqqqqq
    /// ```
    pub fn parts(
        &self,
        core: &CoreSchedule,
        row: Option<usize>,
        part: TimeRange,
    ) -> Vec<(Picos, Option<IdleCause>)> {
        let spans = self.spans(core.group);
        let next = row.map_or(0, |row| row + 1);
        let earlier = row.and_then(|row| core.pieces().get(row));
        let later = core.pieces().get(next);
        let timed = TimeRange::new(
            earlier.map_or(part.start, |piece| piece.range.end),
            later.map_or(part.end, |piece| piece.range.start),
        );
        let mut out: Vec<(Picos, Option<IdleCause>)> = Vec::new();
        let mut from = part.start;
        let mut add = |until: Timestamp, cause: Option<IdleCause>| {
            let until = until.clamp(from, part.end);
            let time = until - from;
            from = until;
            match out.last_mut() {
                _ if time == Picos::ZERO => {}
                Some((sum, last)) if *last == cause => *sum += time,
                _ => out.push((time, cause)),
            }
        };
        if let Some(host) = self.on_host(core.group, earlier.as_ref(), later.as_ref(), timed) {
            let first = spans.partition_point(|span| span.range.end <= host.start);
            let within = spans.get(first..).unwrap_or_default();
            for span in within.iter().take_while(|span| span.range.start < host.end) {
                trace_model::may_pause();
                add(in_proportion(span.range.start, host, timed), None);
                add(in_proportion(span.range.end, host, timed), Some(span.cause));
            }
        }
        add(part.end, None);
        out.reverse();
        out
    }

    fn spans(&self, core: GroupId) -> &[IdleSpanCause] {
        let place = self.places.get(&core).copied();
        let device = place.and_then(|place| self.gaps.as_ref()?.devices.get(place));
        device.map_or(&[], |device| &device.spans)
    }

    /// The time between two ops on the clock of the host; `None` if it has no length there.
    fn on_host(
        &self,
        core: GroupId,
        earlier: Option<&SelfTimeSegment>,
        later: Option<&SelfTimeSegment>,
        timed: TimeRange,
    ) -> Option<TimeRange> {
        let shown = |piece: &SelfTimeSegment| self.cx.model.slice(piece.slice).range();
        let end = earlier.map(|piece| shown(piece).end);
        let start = later.map(|piece| shown(piece).start);
        let gap = match (end, start) {
            (Some(end), Some(start)) => (end < start).then(|| TimeRange::new(end, start))?,
            (Some(end), None) => TimeRange::at(end, timed.dur()),
            (None, Some(start)) => TimeRange::new(start - timed.dur(), start),
            (None, None) => return None,
        };
        Some(self.cx.to_host(core, gap)).filter(|host| !host.is_empty())
    }
}

/// A time on the host, by the clock of the ops: time passes evenly between them.
fn in_proportion(time: Timestamp, host: TimeRange, timed: TimeRange) -> Timestamp {
    let passed = i128::from((time.clamp(host.start, host.end) - host.start).ps());
    let length = timed.dur().ps();
    let whole = host.dur().ps().max(1);
    let passed = i128::from(length) * passed / i128::from(whole);
    timed.start + Picos::from_ps(i64::try_from(passed).unwrap_or(length))
}
