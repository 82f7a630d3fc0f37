//! Idle time inside programs, on the clock that timed the ops: between two ops of one execution, before the first and
//! after the last.

use facts::clock_alignment::timed_programs;
use facts::prelude::*;
use trace_model::time::PS_PER_US;

/// Shorter gaps between ops are the normal issue overhead of a core.
pub const LONG: Picos = Picos::from_ps(PS_PER_US);

/// Idle time of one device within its programs.
#[engine::row(measured)]
#[derive(Default)]
pub struct InsidePrograms {
    /// Programs by the clock of their ops: the denominator.
    #[column("Programs")]
    pub program_ps: Picos,
    /// Total idle time.
    #[column("No op")]
    #[column("Of programs", id = "idle_percent", with = |it| Percent::of(it.idle_ps, it.program_ps))]
    pub idle_ps: Picos,
    /// The part before the first and after the last op, in which programs wait for each other.
    #[column("At begin and end")]
    pub edges_ps: Picos,
    /// Gaps of more than 1 µs between two ops.
    #[column("Over 1 µs")]
    pub long_gaps: u64,
    /// Sum of these gaps.
    #[column("together")]
    pub long_gaps_ps: Picos,
    /// The longest between two ops.
    #[column]
    pub longest_ps: Picos,
    /// The program that contains it.
    pub longest_in: Option<String>,
    /// The op before it.
    #[column("After")]
    pub longest_after: Option<String>,
    /// The op after it.
    #[column("Before")]
    pub longest_before: Option<String>,
}

/// The idle time; `None` if the device has no ops or no programs in the scope.
pub(super) fn inside_programs(cx: &Context<'_>, core: GroupId) -> Result<Option<InsidePrograms>> {
    let Some(time) = cx.core_time(core)? else {
        return Ok(None);
    };
    let mut out = InsidePrograms::default();
    for timed in timed_programs(cx, core).iter() {
        let program = cx.model.slice(timed.program);
        let span = timed.measured;
        // The window of the whole trace begins with the first op, and the program of that before it.
        let part = if cx.scope == Scope::WholeTrace {
            Some(span)
        } else {
            span.intersect(time.window.measured)
        };
        let Some(span) = part else { continue };
        out.program_ps += span.dur();
        let from = time.segments.partition_point(|op| op.end <= span.start);
        let until = time.segments.partition_point(|op| op.start < span.end);
        let ops = time.segments.rows(from..until);
        // The first and the last op may reach beyond the program.
        let ran = ops
            .clone()
            .next()
            .zip(ops.clone().next_back())
            .map(|(first, last)| TimeRange::new(first.range.start, last.range.end));
        let inner = out.add_gaps(cx.model, program.name(), ops);
        let edges = match ran {
            Some(ran) => (ran.start - span.start).clamped() + (span.end - ran.end).clamped(),
            None => span.dur(),
        };
        out.idle_ps += inner + edges;
        out.edges_ps += edges;
    }
    Ok((out.program_ps > Picos::ZERO && !time.segments.is_empty()).then_some(out))
}

impl InsidePrograms {
    /// Adds the gaps between the ops of a program; returns their sum.
    fn add_gaps(
        &mut self,
        model: &TraceModel,
        program: &str,
        ops: impl Iterator<Item = SelfTimeSegment>,
    ) -> Picos {
        let mut sum = Picos::ZERO;
        let mut last = None;
        for after in ops {
            let Some(before) = last.replace(after) else {
                continue;
            };
            let gap = (after.range.start - before.range.end).clamped();
            sum += gap;
            if gap > LONG {
                self.long_gaps += 1;
                self.long_gaps_ps += gap;
            }
            if gap > self.longest_ps {
                let name = |op: SelfTimeSegment| Some(model.slice(op.slice).name().to_owned());
                self.longest_ps = gap;
                self.longest_in = Some(program.to_owned());
                (self.longest_after, self.longest_before) = (name(before), name(after));
            }
        }
        sum
    }
}
