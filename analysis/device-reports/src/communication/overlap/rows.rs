//! One row for each collective and each asynchronous transfer.

use facts::prelude::*;
use facts::{CollectiveTraffic, GroupPlace, SharedClock};
use math::parallel;
use trace_model::{SourceId, StringId};

use super::cores::{CoreActivity, CoreTraffic};
use super::hiding_ops::HidingOps;
use super::kinds::KindTimes;
use super::report::{CoreOverlap, HiddenBy, Skew, Transfer};
use super::skew::{MatchedCollective, matched};
use super::sums::{OverlapSums, TransferKey, key_of};
use super::times::TransferTimes;

/// Maximum number of listed ops that hide a transfer.
const MAX_HIDERS: usize = 5;

/// The rows of all cores, which come one after the other.
#[derive(Default)]
pub(super) struct OverlapRows {
    /// Number of cores.
    captured: usize,
    places: BTreeMap<TransferKey, usize>,
    rows: Vec<OverlapSums>,
    kinds: KindTimes,
}

impl OverlapRows {
    pub fn new(captured: usize) -> Self {
        Self {
            captured,
            ..Self::default()
        }
    }

    /// Index of the row of `key`, and whether there was one before; `slice` is one of its executions.
    fn place(
        &mut self,
        cx: &Context<'_>,
        key: TransferKey,
        (slice, class): (SliceId, OpClass),
    ) -> (usize, bool) {
        let known = self.rows.len();
        let place = *self.places.entry(key).or_insert(known);
        if place == known {
            let mut row = OverlapSums::new(cx.model, slice, class);
            row.message = class
                .collective
                .map(|kind| CollectiveTraffic::of(cx, row.op, kind, self.captured))
                .map(Arc::new);
            let along = row.message.as_deref().map(GroupPlace::of);
            row.kinds = self.kinds.places(kind_of(cx, &row), class, along);
            self.rows.push(row);
        }
        (place, place < known)
    }

    /// Adds the activity of the core with this index.
    pub fn add(
        &mut self,
        cx: &Context<'_>,
        index: usize,
        core: &CoreTraffic,
        meanwhile: &CoreActivity,
    ) {
        let dones = add_spans(cx, self, index, core, meanwhile);
        add_ops(cx, self, &dones, index, core);
        self.kinds.end_core(meanwhile);
    }

    /// All rows, most exposed first, how long cores waited for each other in synchronous collectives, and the times of
    /// kinds.
    pub fn finish(
        mut self,
        cx: &Context<'_>,
        cores: &[CoreOverlap],
    ) -> (Vec<Transfer>, SkewWaits, TransferTimes) {
        let names: Vec<String> = cores.iter().map(|core| core.core.clone()).collect();
        let groups: Vec<GroupId> = cores.iter().map(|core| core.group).collect();
        // What several rows need is found before threads of the pool would wait for it.
        for &core in &groups {
            SharedClock::of(cx, core);
        }
        let executions: f64 = self.rows.iter().map(|row| row.executions).sum();
        let row = |(key, place): (_, usize)| (key, std::mem::take(&mut self.rows[place]));
        let rows: Vec<_> = self.places.into_iter().map(row).collect();
        let finished = parallel::map_owned(rows, executions as usize, |row| {
            trace_model::may_pause();
            finish(cx, row, (&names, &groups))
        });
        let mut waits = SkewWaits::default();
        let mut out = Vec::with_capacity(finished.len());
        for (transfer, collective) in finished {
            if let Some(collective) = &collective {
                waits.add(collective);
            }
            out.push(transfer);
        }
        out.sort_by(|a, b| {
            let rank = |row: &Transfer| (Reverse(row.is_collective), Reverse(row.exposed_ps));
            rank(a)
                .cmp(&rank(b))
                .then_with(|| (&a.op, &a.program).cmp(&(&b.op, &b.program)))
        });
        (out, waits, self.kinds.finish())
    }
}

/// Wait in synchronous collectives until the last core arrived, by core.
#[derive(Default)]
pub(super) struct SkewWaits {
    /// How long a core waited for others.
    pub own: BTreeMap<usize, Picos>,
    /// How long the others waited for it.
    pub caused: BTreeMap<usize, Picos>,
}

impl SkewWaits {
    fn add(&mut self, collective: &MatchedCollective) {
        for (sums, times) in [
            (&mut self.own, &collective.waits),
            (&mut self.caused, &collective.caused),
        ] {
            for (&core, &time) in times {
                *sums.entry(core).or_default() += time;
            }
        }
    }
}

/// Adds spans in flight; returns the row to which each waiting op belongs.
fn add_spans(
    cx: &Context<'_>,
    rows: &mut OverlapRows,
    index: usize,
    core: &CoreTraffic,
    meanwhile: &CoreActivity,
) -> BTreeMap<TransferKey, TransferKey> {
    let model = cx.model;
    let mut dones = BTreeMap::new();
    let label_of = |segment: &SelfTimeSegment| model.slice(segment.slice).label_id();
    let mut compute = HidingOps::of(core, &label_of);
    for span in cx.watched(&core.in_flight) {
        let key = key_of(model, span.label);
        let (place, _) = rows.place(cx, key, (span.slice, span.class));
        let row = &mut rows.rows[place];
        let hidden = row.add_span(model, span, (index, meanwhile), &mut compute);
        rows.kinds.add(row.kinds, span.range, hidden);
        if let Some(done) = span.done {
            dones.insert((key.0, done), key);
        }
    }
    dones
}

/// Adds synchronous collectives, and the time in which a core waits in starts and dones.
fn add_ops(
    cx: &Context<'_>,
    rows: &mut OverlapRows,
    dones: &BTreeMap<TransferKey, TransferKey>,
    index: usize,
    core: &CoreTraffic,
) {
    let model = cx.model;
    let mut seen = BTreeSet::<SliceId>::new();
    // Rows by label: names are looked up once for each label, not for each segment.
    let mut known: Vec<Option<u32>> = vec![None; model.labels().len()];
    for segment in cx.watched(&core.time.segments) {
        let class = segment.class;
        if !class.is_collective() && !class.is_async() {
            continue;
        }
        let slice = model.slice(segment.slice);
        let of_label = &mut known[slice.label_id().index()];
        let (place, is_known) = if let Some(place) = *of_label {
            (place as usize, true)
        } else {
            let op_key = key_of(model, slice.label_id());
            let key = dones.get(&op_key).copied().unwrap_or(op_key);
            let (place, is_known) = rows.place(cx, key, (segment.slice, class));
            *of_label = Some(place as u32);
            (place, is_known)
        };
        let row = &mut rows.rows[place];
        row.blocking += segment.range.dur();
        if class.is_async()
            && is_known
            && row.name != StringId::EMPTY
            && row.in_flight_on == Some(index)
        {
            continue; // Counted with its span in flight.
        }
        row.ran_on(index);
        row.time += segment.range.dur();
        rows.kinds.add(row.kinds, segment.range, Picos::ZERO);
        // A done op whose start came before the window is no execution of the window.
        let counts = !class.is_async()
            || (class.is_done() && (core.unknown_flight || !class.is_collective()));
        if !counts {
            continue;
        }
        // An op with another one inside consists of several pieces, and a border of the scope may cut it.
        let range = slice.measured_range();
        let is_one_piece = segment.range == range;
        row.executions += segment
            .range
            .dur()
            .fraction_of(slice.self_dur())
            .unwrap_or(1.0)
            .min(1.0);
        if is_one_piece || seen.insert(segment.slice) {
            row.occurrences += u64::from(core.begins_inside(range));
            let Some(shared) = row.shared.as_mut().filter(|_| !class.is_async()) else {
                continue;
            };
            if is_one_piece {
                shared.add_synchronous(index, segment.slice);
            } else {
                shared.add_cut(index, slice, core.time.window.measured);
            }
        }
    }
}

/// A row, and how cores waited for each other in it, if they did nothing else meanwhile.
fn finish(
    cx: &Context<'_>,
    (key, mut row): (TransferKey, OverlapSums),
    (names, cores): (&[String], &[GroupId]),
) -> (Transfer, Option<MatchedCollective>) {
    let op = row.op.map(|op| cx.model.op(op));
    let text = |id: Option<StringId>| id.map(|id| cx.model.str(id).to_owned());
    let kind = row.class.collective;
    let message = row.message.take();
    let groups = message
        .as_ref()
        .and_then(|message| message.groups.as_deref());
    let executions = row
        .shared
        .as_mut()
        .map(|shared| shared.executions(cx, key, cores));
    let hosts: Vec<SourceId> = cores
        .iter()
        .map(|&core| cx.model.group(core).source)
        .collect();
    let collective = executions.and_then(|executions| matched(executions, groups, &hosts));
    let skew = collective
        .as_ref()
        .filter(|collective| collective.instances > 0)
        .map(|collective| Arc::new(Skew::of(collective, names)));
    // A core that has an asynchronous collective in flight may compute meanwhile.
    let waited = collective.filter(|_| !row.class.is_async());
    let transfer = Transfer {
        kind: kind_of(cx, &row).to_owned(),
        hidden_by: hidden_by(cx.model, &row),
        issued_by: row.op,
        program: op
            .and_then(|op| op.program)
            .map(|program| cx.model.str(cx.model.program(program).name).to_owned()),
        source: op.and_then(|op| text(op.source)),
        is_collective: kind.is_some(),
        is_async: row.class.is_async(),
        is_fused: row.class.is_fused_collective(),
        cores: row.cores,
        occurrences: row.occurrences,
        executions: row.executions,
        time_ps: row.time,
        hidden_ps: row.hidden,
        exposed_ps: row.time - row.hidden,
        blocking_ps: row.blocking,
        idle_ps: row.idle,
        adjacent: row.adjacent,
        skew,
        op: cx.model.str(row.name).to_owned(),
        collective: kind,
        message,
    };
    (transfer, waited)
}

/// `all-reduce`, …, or the kind of transfer (`copy`).
fn kind_of<'a>(cx: &'a Context<'_>, row: &OverlapSums) -> &'a str {
    if let Some(kind) = row.class.collective {
        return kind.name();
    }
    let category = row.op.map_or("", |op| cx.classes().category(op));
    let name = cx.model.str(row.name);
    let stem = if category.is_empty() { name } else { category };
    stem.trim_end_matches("-start")
}

/// The ops that hid it, most time first; `None` if they are unknown.
fn hidden_by(model: &TraceModel, row: &OverlapSums) -> Option<Vec<HiddenBy>> {
    let shared = row
        .shared
        .as_ref()
        .filter(|shared| !shared.has_unknown_hiding_ops)?;
    let mut by_op: BTreeMap<TransferKey, (LabelId, Picos)> = BTreeMap::new();
    for (&label, &time) in &shared.hiding_ops {
        by_op
            .entry(key_of(model, label))
            .or_insert((label, Picos::ZERO))
            .1 += time;
    }
    let named = by_op.into_values().map(|(label, time)| {
        let label = model.label(label);
        let name = label.op.map_or(label.name, |op| model.op(op).name);
        HiddenBy {
            op: model.str(name).to_owned(),
            time_ps: time,
        }
    });
    let mut named: Vec<HiddenBy> = named.collect();
    named.sort_by(|a, b| (Reverse(a.time_ps), &a.op).cmp(&(Reverse(b.time_ps), &b.op)));
    named.truncate(MAX_HIDERS);
    Some(named)
}
