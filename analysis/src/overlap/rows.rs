//! One row for each collective and each asynchronous transfer.

use std::collections::{BTreeMap, BTreeSet};

use trace_model::{LabelId, OpId, Picos, ProgramId, SliceId, TraceModel};

use super::cores::{Traffic, name_of};
use super::skew::{Execution, skew_waits};
use super::{KindTotal, Transfer};
use crate::Context;
use crate::category::{OpClass, OpClasses};
use crate::collective_bytes::{bus_factor, message_bytes};
use crate::hlo_text::HloText;

/// Program and index of the name of the op that issues a transfer.
type Key = (Option<ProgramId>, usize);

#[derive(Default)]
struct Row {
    class: OpClass,
    op: Option<OpId>,
    name: String,
    occurrences: u64,
    time: Picos,
    hidden: Picos,
    blocking: Picos,
    /// Executions by core.
    executions: BTreeMap<usize, Vec<Execution>>,
    cores: BTreeSet<usize>,
}

/// All rows, most exposed first, and how long each core waited for others in
/// synchronous collectives.
pub(super) fn rows(
    cx: &Context<'_>,
    classes: &OpClasses,
    cores: &[Traffic],
) -> (Vec<Transfer>, BTreeMap<usize, Picos>) {
    let mut rows: BTreeMap<Key, Row> = BTreeMap::new();
    for (index, core) in cores.iter().enumerate() {
        let dones = add_spans(cx.model, &mut rows, index, core);
        add_ops(cx.model, &mut rows, &dones, index, core);
    }
    let captured = cores.len();
    let mut waits = BTreeMap::new();
    let mut out: Vec<Transfer> =
        rows.into_values().map(|row| finish(cx.model, classes, row, captured, &mut waits)).collect();
    out.sort_by(|a, b| {
        let rank = |row: &Transfer| (std::cmp::Reverse(row.is_collective), std::cmp::Reverse(row.exposed_ps));
        rank(a).cmp(&rank(b)).then_with(|| (&a.op, &a.program).cmp(&(&b.op, &b.program)))
    });
    (out, waits)
}

fn key_of(model: &TraceModel, label: LabelId) -> Key {
    let label = model.label(label);
    match label.op {
        Some(op) => (model.op(op).program, model.op(op).name.index()),
        None => (None, label.name.index()),
    }
}

/// Adds spans in flight; returns which row each awaiting op belongs to.
fn add_spans(model: &TraceModel, rows: &mut BTreeMap<Key, Row>, index: usize, core: &Traffic) -> BTreeMap<Key, Key> {
    let mut dones = BTreeMap::new();
    for span in &core.in_flight {
        let key = key_of(model, span.label);
        let row = rows.entry(key).or_insert_with(|| new_row(model, span.slice, span.class));
        let hidden = core.compute.measure_in(span.range);
        row.occurrences += u64::from(span.begins_here);
        row.time += span.range.dur();
        row.hidden += hidden;
        row.cores.insert(index);
        row.executions.entry(index).or_default().push(Execution::of(model.slice(span.slice), span.range.dur()));
        if let Some(done) = span.done {
            dones.insert((key.0, done), key);
        }
    }
    dones
}

/// Adds synchronous collectives, and the time in which a core waits in starts and dones.
fn add_ops(
    model: &TraceModel,
    rows: &mut BTreeMap<Key, Row>,
    dones: &BTreeMap<Key, Key>,
    index: usize,
    core: &Traffic,
) {
    let mut seen: BTreeSet<SliceId> = BTreeSet::new();
    for segment in &core.time.segments {
        let class = segment.class;
        if !class.is_collective() && !class.is_async() {
            continue;
        }
        let slice = model.slice(segment.slice);
        let own = key_of(model, slice.label_id());
        let key = dones.get(&own).copied().unwrap_or(own);
        let is_known = rows.contains_key(&key);
        let row = rows.entry(key).or_insert_with(|| new_row(model, segment.slice, class));
        row.blocking += segment.range.dur();
        if class.is_async() && (is_known && !row.name.is_empty() && row.executions.contains_key(&index)) {
            continue; // Its time is that of the span in flight.
        }
        row.cores.insert(index);
        row.time += segment.range.dur();
        let counts = !class.is_async() || class.is_done();
        if counts && seen.insert(segment.slice) {
            row.occurrences += 1;
            if !class.is_async() {
                row.executions.entry(index).or_default().push(Execution::of(slice, slice.measured_dur()));
            }
        }
    }
}

fn new_row(model: &TraceModel, slice: SliceId, class: OpClass) -> Row {
    let slice = model.slice(slice);
    Row { class, op: slice.op(), name: model.str(name_of(model, slice)).to_owned(), ..Row::default() }
}

fn finish(
    model: &TraceModel,
    classes: &OpClasses,
    mut row: Row,
    captured: usize,
    all_waits: &mut BTreeMap<usize, Picos>,
) -> Transfer {
    let op = row.op.map(|op| model.op(op));
    let text = op.and_then(|op| op.hlo_text).map(|text| model.str(text)).unwrap_or_default();
    let hlo = HloText::parse(text);
    let kind = row.class.collective;
    let groups = hlo.as_ref().and_then(HloText::replica_groups).filter(|groups| groups.iter().any(|g| !g.is_empty()));
    let declared = groups.as_ref().and_then(|groups| groups.first()).map(|group| group.len() as u64);
    let is_pairwise = hlo.as_ref().is_some_and(|hlo| hlo.source_target_pairs().is_some());
    let participants = kind.and(if is_pairwise { Some(2) } else { declared.or(Some(captured as u64)) });
    let bytes = kind.zip(hlo.as_ref()).and_then(|(kind, hlo)| message_bytes(hlo, kind));
    let mean_seconds = (row.occurrences > 0).then(|| row.time.as_secs_f64() / row.occurrences as f64);
    let bandwidth = bytes.zip(mean_seconds).filter(|&(_, s)| s > 0.0).map(|(bytes, s)| bytes as f64 / s);
    let factor = kind.zip(participants).map(|(kind, n)| bus_factor(kind, n));
    let waits = kind.and_then(|_| skew_waits(std::mem::take(&mut row.executions), groups.as_deref(), captured));
    // Who awaits an asynchronous collective may compute meanwhile.
    for (core, wait) in waits.iter().flatten().filter(|_| !row.class.is_async()) {
        *all_waits.entry(*core).or_default() += *wait;
    }
    let category = row.op.map_or("", |op| classes.category(op));
    let stem = if category.is_empty() { row.name.as_str() } else { category };
    Transfer {
        kind: kind.map_or_else(|| stem.trim_end_matches("-start").to_owned(), |kind| kind.name().to_owned()),
        op: row.name,
        program: op.and_then(|op| op.program).map(|program| model.str(model.program(program).name).to_owned()),
        is_collective: kind.is_some(),
        is_async: row.class.is_async(),
        is_fused: row.class.is_fused_collective,
        cores: row.cores.len(),
        occurrences: row.occurrences,
        time_ps: row.time.ps(),
        hidden_ps: row.hidden.ps(),
        exposed_ps: (row.time - row.hidden).ps(),
        blocking_ps: row.blocking.ps(),
        bytes,
        participants,
        participants_estimated: kind.is_some() && declared.is_none() && !is_pairwise,
        algorithm_bandwidth: bandwidth,
        bus_bandwidth: bandwidth.zip(factor).map(|(bandwidth, factor)| bandwidth * factor),
        skew_wait_ps: waits.and_then(|waits| waits.into_values().max()).map(Picos::ps),
    }
}

/// Transfers of one pattern together.
pub(super) fn kinds(transfers: &[Transfer]) -> Vec<KindTotal> {
    let mut by_kind: BTreeMap<(&str, bool), Vec<&Transfer>> = BTreeMap::new();
    for transfer in transfers {
        by_kind.entry((&transfer.kind, transfer.is_collective)).or_default().push(transfer);
    }
    let total = |((kind, is_collective), rows): ((&str, bool), Vec<&Transfer>)| {
        let sum = |of: &dyn Fn(&Transfer) -> i64| rows.iter().fold(0_i64, |sum, row| sum.saturating_add(of(row)));
        let moved = |row: &Transfer| row.bytes?.checked_mul(row.occurrences);
        let seconds = |row: &Transfer| row.time_ps as f64 / 1e12;
        // Bandwidth × time is the data moved, weighted by the factor of the pattern.
        let on_bus = rows.iter().map(|row| Some(row.bus_bandwidth? * seconds(row))).sum::<Option<f64>>();
        let time: f64 = rows.iter().map(|row| seconds(row)).sum();
        KindTotal {
            kind: kind.to_owned(),
            is_collective,
            ops: rows.len(),
            occurrences: rows.iter().map(|row| row.occurrences).sum(),
            time_ps: sum(&|row| row.time_ps),
            hidden_ps: sum(&|row| row.hidden_ps),
            exposed_ps: sum(&|row| row.exposed_ps),
            blocking_ps: sum(&|row| row.blocking_ps),
            bytes: rows.iter().map(|row| moved(row)).try_fold(0_u64, |sum, bytes| sum.checked_add(bytes?)),
            bus_bandwidth: on_bus.filter(|_| time > 0.0).map(|on_bus| on_bus / time),
        }
    };
    let mut kinds: Vec<KindTotal> = by_kind.into_iter().map(total).collect();
    kinds.sort_by(|a, b| {
        let rank = |kind: &KindTotal| (std::cmp::Reverse(kind.is_collective), std::cmp::Reverse(kind.exposed_ps));
        rank(a).cmp(&rank(b)).then_with(|| a.kind.cmp(&b.kind))
    });
    kinds
}
