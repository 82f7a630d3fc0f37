//! Idle time of one device within each step.

use facts::StepSource;
use facts::prelude::*;

use super::cause::IdleCause;
use super::report::StepGaps;
use super::tally::{CauseTimes, ReportNames};

/// Sums spans given in time order. Steps may overlap.
pub(super) struct StepSums {
    /// In the order of the report.
    spans: Vec<(u32, TimeRange)>,
    /// Indices of `spans` by begin, each with the latest end up to it.
    by_begin: Vec<(usize, Timestamp)>,
    out: Vec<StepGaps>,
    /// Indices of steps that have not started, the first of them last.
    coming: Vec<usize>,
    /// Indices of steps that have started.
    open: Vec<(usize, CauseTimes)>,
}

impl StepSums {
    pub fn new(cx: &Context<'_>, core: GroupId, steps: Option<&StepsReport>) -> Self {
        Self::of(step_spans(cx, core, steps))
    }

    fn of(spans: Vec<(u32, TimeRange)>) -> Self {
        let empty = |&(step, range): &(u32, TimeRange)| StepGaps {
            step,
            length_ps: range.dur(),
            causes: Vec::new(),
        };
        let mut coming: Vec<usize> = (0..spans.len()).collect();
        coming.sort_unstable_by_key(|&index| Reverse(spans[index].1.start));
        let mut latest = Timestamp::from_ps(i64::MIN);
        let by_begin = coming
            .iter()
            .rev()
            .map(|&index| {
                latest = latest.max(spans[index].1.end);
                (index, latest)
            })
            .collect();
        Self {
            by_begin,
            out: spans.iter().map(empty).collect(),
            coming,
            open: Vec::new(),
            spans,
        }
    }

    /// The step that contains an instant; if several do, the first of the report.
    pub fn at(&self, time: Timestamp) -> Option<u32> {
        let begun = self
            .by_begin
            .partition_point(|&(span, _)| self.spans[span].1.start <= time);
        // If the latest end up to a step has passed, all steps before it have ended.
        let not_over = self.by_begin[..begun]
            .iter()
            .rev()
            .take_while(|(_, latest)| *latest > time);
        let holding = not_over
            .map(|(span, _)| *span)
            .filter(|&span| self.spans[span].1.contains(time));
        holding.min().map(|span| self.spans[span].0)
    }

    pub fn add(
        &mut self,
        part: TimeRange,
        cause: IdleCause,
        label: Option<LabelId>,
        names: &mut ReportNames<'_>,
    ) {
        while let Some(index) = self
            .coming
            .pop_if(|index| self.spans[*index].1.start < part.end)
        {
            self.open.push((index, CauseTimes::default()));
        }
        let spans = &self.spans;
        let out = &mut self.out;
        self.open.retain_mut(|(index, tally)| {
            let range = spans[*index].1;
            let is_open = range.end > part.start;
            match range.intersect(part) {
                Some(both) if is_open => tally.add(cause, label, both.dur()),
                _ => {}
            }
            if !is_open {
                out[*index].causes = tally.causes(names);
            }
            is_open
        });
    }

    pub fn finish(mut self, names: &mut ReportNames<'_>) -> Vec<StepGaps> {
        for (index, tally) in self.open {
            self.out[index].causes = tally.causes(names);
        }
        self.out
    }
}

/// The steps of a device, on the clock of its host.
fn step_spans(
    cx: &Context<'_>,
    core: GroupId,
    steps: Option<&StepsReport>,
) -> Vec<(u32, TimeRange)> {
    let Some(steps) = steps.filter(|steps| steps.has_steps()) else {
        return Vec::new();
    };
    let range_of = |step: &Step| {
        if steps.source == StepSource::HostAnnotations {
            return step.range();
        }
        Some(step.span_on(core)?.on_host(cx))
    };
    steps
        .steps
        .iter()
        .filter_map(|step| Some((step.number, range_of(step)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use trace_model::Picos;

    use super::*;

    #[test]
    fn steps_may_overlap_leave_gaps_or_be_empty() {
        let range = |start, end| TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
        let model = sample_traces::text_trace("host main: a");
        let names = &mut ReportNames::new(&model);
        let mut sums = StepSums::of(vec![
            (3, range(30, 40)),
            (0, range(0, 10)),
            (1, range(5, 20)),
            (2, range(22, 24)),
        ]);
        assert_eq!(
            (
                sums.at(Timestamp::from_ps(7)),
                sums.at(Timestamp::from_ps(20))
            ),
            (Some(0), None)
        );
        let steps: Vec<_> = [-1, 0, 6, 12, 21, 23, 24, 35, 40]
            .map(|at| sums.at(Timestamp::from_ps(at)))
            .into();
        assert_eq!(
            steps,
            [
                None,
                Some(0),
                Some(0),
                Some(1),
                None,
                Some(2),
                None,
                Some(3),
                None
            ]
        );
        for (part, cause) in [
            (range(4, 8), IdleCause::Compile),
            (range(8, 21), IdleCause::Wait),
            (range(24, 25), IdleCause::Wait),
            (range(33, 50), IdleCause::User),
        ] {
            sums.add(part, cause, None, names);
        }
        let steps = sums.finish(names);
        let found: Vec<Vec<(IdleCause, i64)>> = steps
            .iter()
            .map(|step| {
                step.causes
                    .iter()
                    .map(|part| (part.cause, part.time_ps.ps()))
                    .collect()
            })
            .collect();
        let (compile, wait, user) = (IdleCause::Compile, IdleCause::Wait, IdleCause::User);
        assert_eq!(
            found,
            [
                vec![(user, 7)],
                vec![(compile, 4), (wait, 2)],
                vec![(compile, 3), (wait, 12)],
                vec![]
            ],
            "{steps:?}"
        );
        assert_eq!(
            steps.iter().map(|step| step.length_ps).sum::<Picos>().ps(),
            37
        );
    }
}
