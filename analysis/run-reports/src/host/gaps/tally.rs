//! Time by cause, with the event that took most of it for each cause.

use facts::prelude::*;
use trace_model::StringId;

use super::cause::IdleCause;
use super::report::CauseTime;

/// Names for reports, each stored once.
pub(super) struct ReportNames<'a> {
    model: &'a TraceModel,
    known: BTreeMap<StringId, Arc<str>>,
}

impl<'a> ReportNames<'a> {
    pub fn new(model: &'a TraceModel) -> Self {
        Self {
            model,
            known: BTreeMap::new(),
        }
    }

    pub fn of(&mut self, label: LabelId) -> Arc<str> {
        let name = self.model.label(label).name;
        self.known
            .entry(name)
            .or_insert_with(|| self.model.str(name).into())
            .clone()
    }
}

/// Sums of time by cause and event; the event is `None` if nothing was recorded.
#[derive(Default)]
pub(super) struct CauseTimes(BTreeMap<(IdleCause, Option<LabelId>), Picos>);

impl CauseTimes {
    pub fn add(&mut self, cause: IdleCause, label: Option<LabelId>, time: Picos) {
        *self.0.entry((cause, label)).or_default() += time;
    }

    pub fn add_all(&mut self, other: &Self) {
        for (&(cause, label), &time) in &other.0 {
            self.add(cause, label, time);
        }
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Causes in their order.
    pub fn causes(&self, names: &mut ReportNames<'_>) -> Vec<CauseTime> {
        let mut out = Vec::new();
        let mut parts = self.0.iter().peekable();
        while let Some(&(&(cause, _), _)) = parts.peek() {
            let mut sum = Picos::ZERO;
            let mut top = None;
            while let Some((&(_, label), &time)) = parts.next_if(|((of, _), _)| *of == cause) {
                sum += time;
                top = top.max(label.map(|label| (time, Reverse(label))));
            }
            if sum > Picos::ZERO {
                out.push(CauseTime {
                    cause,
                    time_ps: sum,
                    event: top.map(|(_, Reverse(label))| names.of(label)),
                    event_ps: top.map(|(time, _)| time),
                });
            }
        }
        // There is one list for each step of each device, and most have one cause.
        out.shrink_to_fit();
        out
    }
}
