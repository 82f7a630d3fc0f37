//! Input wait of hosts without TPUs, as a share of their steps.
//!
//! ```text
//! main   |step 0              |step 1            |
//!          [next()   ][compute] [next()  ][comp.]      counts: the step cannot go on
//! pool         [Iterator::Map ]  [Iterator::Map]       does not: it runs in parallel
//! ```
//!
//! An event of an input pipeline counts on the thread that runs the step. `IteratorGetNext` counts on every thread,
//! because its op runs in a pool and the step waits for it (XProf: `HOST_WAIT_INPUT`).

use device_reports::Steps;
use facts::StepSource;
use facts::host_class::is_input_loader;
use facts::prelude::*;

use super::wait::InputWait;

/// Input wait of every host that has steps, and of each step.
pub(super) fn waits(cx: &Context<'_>, no_device: AnalysisError) -> Result<Waits> {
    let model = cx.model;
    let steps = cx.report::<Steps>().ok();
    // Steps of other devices are not on the clock of the host.
    let by_host = |steps: &StepsReport| {
        steps.source == StepSource::HostAnnotations && cx.tensor_cores().is_empty()
    };
    let Some(steps) = steps.filter(|steps| by_host(steps)) else {
        return Err(no_device);
    };
    let threads: Vec<TrackId> = host_threads(model).collect();
    let watch = InputWatch::new(cx, threads);
    if !watch.has_input() {
        return Err(
            "no event of an input pipeline was recorded on a host, and no TPU device".into(),
        );
    }
    let mut out = Waits::default();
    let mut hosts: BTreeMap<GroupId, HostSum> = BTreeMap::new();
    for step in steps.counted() {
        let Some(range) = step.range().filter(|range| !range.is_empty()) else {
            continue;
        };
        let waiting = watch.within(step, range);
        let gap = waiting.spans.measure();
        out.steps.push(InputWait::new(
            step.number.to_string(),
            range.dur(),
            None,
            Some(gap),
        ));
        if let Some(span) = step.spans.first() {
            hosts
                .entry(span.group)
                .or_default()
                .add(range, gap, waiting.events);
        }
    }
    for (group, sum) in hosts {
        let name = model
            .source(model.group(group).source)
            .host
            .clone()
            .unwrap_or_else(|| model.device_name(group));
        let mut host = InputWait::new(name, sum.length_ps, None, Some(sum.gap_ps));
        host.event = sum
            .events
            .into_iter()
            .max_by_key(|(name, time)| (*time, Reverse(name.clone())))
            .map(|most| most.0);
        out.hosts.push(host);
    }
    Ok(out)
}

/// Hosts and their steps.
#[derive(Default)]
pub(super) struct Waits {
    pub hosts: Vec<InputWait>,
    pub steps: Vec<InputWait>,
}

#[derive(Default)]
struct HostSum {
    length_ps: Picos,
    gap_ps: Picos,
    events: BTreeMap<String, Picos>,
}

impl HostSum {
    fn add(&mut self, range: TimeRange, gap: Picos, events: BTreeMap<String, Picos>) {
        self.length_ps += range.dur();
        self.gap_ps += gap;
        for (name, time) in events {
            *self.events.entry(name).or_default() += time;
        }
    }
}

struct InputWaits {
    spans: IntervalSet,
    events: BTreeMap<String, Picos>,
}

struct InputWatch<'a> {
    cx: &'a Context<'a>,
    threads: Vec<TrackId>,
    /// Whether slices of each label belong to an input pipeline. Names are compared once per label, not per slice.
    input_labels: Vec<bool>,
}

impl<'a> InputWatch<'a> {
    fn new(cx: &'a Context<'a>, threads: Vec<TrackId>) -> Self {
        let model = cx.model;
        let classes = cx.host_classes();
        let is_input = |label: LabelId| match classes.class(label) {
            HostClass::Infeed => true,
            HostClass::User => {
                classes.knows(label) && is_input_loader(model.str(model.label(label).name))
            }
            _ => false,
        };
        Self {
            cx,
            threads,
            input_labels: model.label_ids().map(is_input).collect(),
        }
    }

    fn is_input(&self, slice: SliceRef<'_>) -> bool {
        self.input_labels
            .get(slice.label_id().index())
            .copied()
            .unwrap_or(false)
    }

    fn has_input(&self) -> bool {
        let slices = self
            .threads
            .iter()
            .flat_map(|&track| self.cx.model.slices_on(track));
        self.cx.watched(slices).any(|slice| self.is_input(slice))
    }

    /// The spans in which the step waits for input, and the events that show it.
    fn within(&self, step: &Step, range: TimeRange) -> InputWaits {
        let model = self.cx.model;
        let device_host = step.spans.first().map(|span| model.host_of(span.group));
        let (mut spans, mut events) = (Vec::new(), BTreeMap::<String, Picos>::new());
        for &track in self
            .threads
            .iter()
            .filter(|&&track| Some(model.host_of(model.track(track).group)) == device_host)
        {
            let slices = || {
                self.cx.watched(
                    model
                        .lanes(track)
                        .iter()
                        .flat_map(|lane| model.slices_in(lane, range)),
                )
            };
            let runs_step = slices()
                .any(|slice| slice.start() <= range.start && slice.range().end >= range.end);
            for slice in slices().filter(|slice| self.is_input(*slice)) {
                let waits = runs_step || slice.name().starts_with("IteratorGetNext");
                if let Some(part) = slice
                    .range()
                    .intersect(range)
                    .filter(|part| waits && *part != range)
                {
                    spans.push(part);
                    *events.entry(slice.name().into()).or_default() += part.dur();
                }
            }
        }
        InputWaits {
            spans: spans.into_iter().collect(),
            events,
        }
    }
}
