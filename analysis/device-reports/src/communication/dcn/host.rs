//! Messages that the runtime records on hosts.

use facts::prelude::*;
use trace_model::{ArgValue, HostEventUse};

use super::report::{DcnAction, DcnHost, DcnMessages};

const PREFIX: &str = "MegaScale:";
/// A message from another device has arrived.
const RECEIVED: &str = "MegaScale: Communication Transport Receive";
/// Limits of the bandwidth classes, bytes/s: thirds of 100 Gb/s.
const CLASSES: [f64; 3] = [4.17e9, 8.34e9, 12.5e9];

/// What is read of events on host threads with this name.
pub fn host_event_use(name: &str) -> HostEventUse {
    if name.starts_with(PREFIX) {
        HostEventUse::Each
    } else {
        HostEventUse::Count
    }
}

/// The data that hosts recorded.
#[derive(Default)]
pub(super) struct OnHosts {
    pub hosts: Vec<DcnHost>,
    pub messages: Vec<DcnMessages>,
    pub actions: Vec<DcnAction>,
}

impl OnHosts {
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }
}

/// Data of one event.
#[derive(Default)]
struct DcnEventFacts {
    label: Option<String>,
    source: Option<i64>,
    destination: Option<i64>,
    bytes: f64,
    dur: Picos,
}

/// A message in flight.
struct DcnMessage {
    range: TimeRange,
    bytes: f64,
}

#[derive(Default)]
struct HostSums {
    messages: Vec<DcnMessage>,
    loopback: u64,
    invalid: u64,
}

pub(super) fn collect(cx: &Context<'_>) -> Result<OnHosts> {
    let model = cx.model;
    let is_ours: Vec<bool> = model
        .labels()
        .iter()
        .map(|label| label.op.is_none() && model.str(label.name).starts_with(PREFIX))
        .collect();
    if !is_ours.contains(&true) {
        return Ok(OnHosts::default());
    }
    let window = cx.host_window()?;
    let mut hosts: BTreeMap<GroupId, HostSums> = BTreeMap::new();
    let mut labels: BTreeMap<String, DcnMessages> = BTreeMap::new();
    let mut actions: BTreeMap<&str, DcnAction> = BTreeMap::new();
    let ours = model
        .all_slices()
        .filter(|slice| is_ours.get(slice.label_id().index()) == Some(&true));
    // An event is recorded at the end of the activity that it describes; one at the very end of the window counts.
    for slice in ours.filter(|slice| window.start <= slice.start() && slice.start() <= window.end) {
        let stated = DcnEventFacts::of(slice);
        let name = slice.name();
        let action = actions.entry(name).or_insert_with(|| DcnAction {
            action: name
                .trim_start_matches(PREFIX)
                .trim()
                .trim_end_matches('.')
                .to_owned(),
            ..DcnAction::default()
        });
        action.count += 1;
        action.total_ps += stated.dur;
        action.max_ps = action.max_ps.max(stated.dur);
        if name == RECEIVED {
            receive(
                hosts.entry(host_of(model, slice)).or_default(),
                &mut labels,
                slice,
                stated,
            );
        }
    }
    let mut messages: Vec<_> = labels.into_values().collect();
    largest_number_first(&mut messages, |row| row.bytes, |row| &row.label);
    for row in &mut messages {
        let time = row.mean_ps;
        row.bandwidth = hardware::limits::ratio(Some(row.bytes), Some(time / 1e12));
        row.mean_ps = time / row.messages.max(1) as f64;
    }
    let mut actions: Vec<_> = actions.into_values().collect();
    largest_first(&mut actions, |row| row.total_ps, |row| &row.action);
    let hosts = hosts
        .into_iter()
        .map(|(host, sums)| sums.row(model, host))
        .collect();
    Ok(OnHosts {
        hosts,
        messages,
        actions,
    })
}

/// Adds a message to its host and its collective.
fn receive(
    host: &mut HostSums,
    labels: &mut BTreeMap<String, DcnMessages>,
    slice: SliceRef<'_>,
    stated: DcnEventFacts,
) {
    match stated.source.zip(stated.destination) {
        Some((source, destination)) if source == destination => {
            host.loopback += 1;
            return;
        }
        Some(_) if stated.bytes > 0.0 && stated.dur > Picos::ZERO => {}
        _ => {
            host.invalid += 1;
            return;
        }
    }
    let end = slice.start();
    host.messages.push(DcnMessage {
        range: TimeRange::new(end - stated.dur, end),
        bytes: stated.bytes,
    });
    let label = stated.label.unwrap_or_else(|| "(no label)".to_owned());
    let row = labels.entry(label.clone()).or_insert(DcnMessages {
        label,
        ..DcnMessages::default()
    });
    row.messages += 1;
    row.bytes += stated.bytes;
    // The sum, until all messages are known.
    row.mean_ps += stated.dur.as_ps_f64();
    row.max_ps = row.max_ps.max(stated.dur);
}

impl DcnEventFacts {
    /// Reads the arguments; missing or invalid ones stay empty.
    fn of(slice: SliceRef<'_>) -> Self {
        let mut stated = Self {
            dur: slice.dur(),
            ..Self::default()
        };
        let time = |value: &ArgValue, unit: f64| {
            let ps = value
                .as_f64()
                .filter(|number| number.is_finite())
                .map(|number| number * unit);
            ps.map(|ps| Picos::from_ps(ps.clamp(0.0, 9e18) as i64))
        };
        for arg in slice.args().unwrap_or_default() {
            match arg.name.as_str() {
                "dcn_label" => stated.label = Some(arg.value.to_string()),
                "dcn_source_slice_id" => stated.source = arg.value.as_i64(),
                "dcn_destination_slice_id" => stated.destination = arg.value.as_i64(),
                "payload_size_bytes" => {
                    stated.bytes = arg
                        .value
                        .as_f64()
                        .filter(|bytes| bytes.is_finite())
                        .unwrap_or(0.0);
                }
                "duration_us" => stated.dur = time(&arg.value, 1e6).unwrap_or(stated.dur),
                "action_duration_ns" => stated.dur = time(&arg.value, 1e3).unwrap_or(stated.dur),
                _ => {}
            }
        }
        stated
    }
}

/// The machine of a slice.
fn host_of(model: &TraceModel, slice: SliceRef<'_>) -> GroupId {
    let mut group = slice.track_ref().group;
    while let Some(parent) = model
        .group(group)
        .parent
        .filter(|_| model.group(group).kind != GroupKind::Host)
    {
        group = parent;
    }
    group
}

impl HostSums {
    fn row(&self, model: &TraceModel, host: GroupId) -> DcnHost {
        let mut active_ps_by_class = [Picos::ZERO; 4];
        let mut peak_bandwidth = 0.0_f64;
        for (dur, rate) in self.rates() {
            let class = CLASSES
                .iter()
                .position(|&bound| rate < bound)
                .unwrap_or(CLASSES.len());
            // A fully used NIC still belongs to the third class.
            let class = if rate <= CLASSES[2] {
                class.min(2)
            } else {
                class
            };
            active_ps_by_class[class] += dur;
            peak_bandwidth = peak_bandwidth.max(rate);
        }
        let active_ps = active_ps_by_class.into_iter().sum::<Picos>();
        let bytes: f64 = self.messages.iter().map(|message| message.bytes).sum();
        DcnHost {
            host: model.str(model.group(host).name).to_owned(),
            messages: self.messages.len() as u64,
            bytes,
            active_ps,
            mean_bandwidth: hardware::limits::ratio(
                Some(bytes),
                Some(active_ps.as_ps_f64() / 1e12),
            ),
            peak_bandwidth,
            active_ps_by_class,
            loopback: self.loopback,
            invalid: self.invalid,
        }
    }

    /// Spans with messages in flight, and the sum of their rates, bytes/s.
    fn rates(&self) -> Vec<(Picos, f64)> {
        let mut changes: Vec<(Timestamp, i32, f64)> = Vec::with_capacity(2 * self.messages.len());
        for message in &self.messages {
            let rate = message.bytes / message.range.dur().as_secs_f64();
            changes.push((message.range.start, 1, rate));
            changes.push((message.range.end, -1, -rate));
        }
        changes.sort_by_key(|&(time, count, _)| (time, count));
        let mut out = Vec::new();
        let mut under_way = 0;
        let mut rate = 0.0;
        for pair in changes.windows(2) {
            let [(time, count, change), (next, ..)] = *pair else {
                continue;
            };
            under_way += count;
            rate = if under_way == 0 { 0.0 } else { rate + change };
            if under_way > 0 && time < next {
                out.push((next - time, rate));
            }
        }
        out
    }
}
