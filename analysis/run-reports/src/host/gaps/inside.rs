//! Idle time inside programs, on the clock that timed the ops: between two ops of one execution, before the first and
//! after the last.

use engine::{AnalysisError, Context, Scope};
use facts::TraceFacts as _;
use facts::clock_alignment::programs;
use facts::core_time::SelfTimeSegment;
use facts::device_shift::shifted;
use serde::Serialize;
use trace_model::{GroupId, Picos, TimeRange, TraceModel};

/// Shorter gaps between ops are the normal issue overhead of a core.
pub const LONG_PS: i64 = 1_000_000;

/// Idle time of one device within its programs.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct InsidePrograms {
    /// Total idle time.
    pub idle_ps: i64,
    /// The part before the first and after the last op, in which programs wait for each other.
    pub edges_ps: i64,
    /// Programs by the clock of their ops: the denominator.
    pub program_ps: i64,
    /// Gaps of more than 1 µs between two ops.
    pub long_gaps: u64,
    /// Sum of these gaps.
    pub long_gaps_ps: i64,
    /// The longest between two ops.
    pub longest_ps: i64,
    /// The program that contains it.
    pub longest_in: Option<String>,
    /// The op before it.
    pub longest_after: Option<String>,
    /// The op after it.
    pub longest_before: Option<String>,
}

/// The idle time; `None` if the device has no ops or no programs in the scope.
pub(super) fn inside_programs(
    cx: &Context<'_>,
    core: GroupId,
) -> Result<Option<InsidePrograms>, AnalysisError> {
    let Some(time) = cx.core_time(core)? else {
        return Ok(None);
    };
    let mut out = InsidePrograms {
        idle_ps: 0,
        edges_ps: 0,
        program_ps: 0,
        long_gaps: 0,
        long_gaps_ps: 0,
        longest_ps: 0,
        longest_in: None,
        longest_after: None,
        longest_before: None,
    };
    for program in programs(cx.model, core) {
        let span = shifted(cx.model, core, program.range());
        // The window of the whole trace begins with the first op, and the program of that before it.
        let part = if cx.scope == Scope::WholeTrace {
            Some(span)
        } else {
            span.intersect(time.window.measured)
        };
        let Some(span) = part else { continue };
        out.program_ps = out.program_ps.saturating_add(span.dur().ps());
        let ops = ops_in(&time.segments, span);
        // The first and the last op may reach beyond the program.
        let ran = ops
            .first()
            .zip(ops.last())
            .map(|(first, last)| TimeRange::new(first.range.start, last.range.end));
        let inner = out.add_gaps(cx.model, program.name(), ops);
        let edges = match ran {
            Some(ran) => (ran.start - span.start).clamped() + (span.end - ran.end).clamped(),
            None => span.dur(),
        };
        out.idle_ps = out.idle_ps.saturating_add((inner + edges).ps());
        out.edges_ps = out.edges_ps.saturating_add(edges.ps());
    }
    Ok((out.program_ps > 0 && !time.segments.is_empty()).then_some(out))
}

fn ops_in(segments: &[SelfTimeSegment], span: TimeRange) -> &[SelfTimeSegment] {
    let from = segments.partition_point(|segment| segment.range.end <= span.start);
    let to = segments.partition_point(|segment| segment.range.start < span.end);
    segments.get(from..to).unwrap_or_default()
}

impl InsidePrograms {
    /// Adds the gaps between the ops of a program; returns their sum.
    fn add_gaps(&mut self, model: &TraceModel, program: &str, ops: &[SelfTimeSegment]) -> Picos {
        let mut sum = Picos::ZERO;
        for pair in ops.windows(2) {
            let gap = (pair[1].range.start - pair[0].range.end)
                .max(Picos::ZERO)
                .ps();
            sum += Picos::from_ps(gap);
            if gap > LONG_PS {
                self.long_gaps += 1;
                self.long_gaps_ps = self.long_gaps_ps.saturating_add(gap);
            }
            if gap > self.longest_ps {
                let name =
                    |segment: &SelfTimeSegment| Some(model.slice(segment.slice).name().to_owned());
                self.longest_ps = gap;
                self.longest_in = Some(program.to_owned());
                (self.longest_after, self.longest_before) = (name(&pair[0]), name(&pair[1]));
            }
        }
        sum
    }
}
