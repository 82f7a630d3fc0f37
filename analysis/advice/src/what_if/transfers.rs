//! How long transfers take that hide behind other ops.

use facts::CollectiveTraffic;
use facts::prelude::*;
use hlo::{HloText, Shape};
use trace_model::pausing;

use super::schedule::{CoreSchedule, ReplaySchedule, TransferTime};

/// Observations of the transfers that an op issues.
struct ObservedTransfers {
    class: OpClass,
    /// The shortest one that a core waited for.
    shortest: Option<Picos>,
    has_hidden: bool,
}

fn seen(model: &TraceModel, schedule: &ReplaySchedule) -> BTreeMap<LabelId, ObservedTransfers> {
    let mut out: BTreeMap<LabelId, ObservedTransfers> = BTreeMap::new();
    let mut add = |core: &CoreSchedule, row: u32, took: TransferTime| {
        let empty = ObservedTransfers {
            class: core.piece(row).class,
            shortest: None,
            has_hidden: false,
        };
        let seen = out.entry(core.label(model, row)).or_insert(empty);
        match took {
            TransferTime::Seen(took) if took > Picos::ZERO => {
                seen.shortest = Some(seen.shortest.map_or(took, |least| least.min(took)));
            }
            TransferTime::Seen(_) => {}
            TransferTime::AtMost(_) => seen.has_hidden = true,
        }
    };
    for core in &schedule.cores {
        let mut members = core.members.iter().peekable();
        for &flight in pausing(&core.flights) {
            let member = members.next_if(|member| member.issues == flight.issues);
            let joint = member.and_then(|member| schedule.joint.get(member.transfer as usize));
            add(
                core,
                flight.issues,
                joint.map_or_else(|| core.took(flight, Picos::ZERO), |joint| joint.took),
            );
        }
        for &row in &core.alone {
            add(core, row, TransferTime::Seen(core.piece(row).range.dur()));
        }
    }
    out
}

/// A lower bound for hidden transfers: the shortest observed one of the same op, or else the time that its bytes need
/// at the highest rate observed for its kind.
pub(super) fn bound_hidden(cx: &Context<'_>, schedule: &mut ReplaySchedule) {
    if schedule
        .cores
        .iter()
        .all(|core| core.flights.iter().all(|flight| flight.is_sync()))
    {
        return; // No transfer is hidden.
    }
    let cores = schedule.cores.len();
    let seen = seen(cx.model, schedule);
    let unseen = || {
        seen.iter()
            .filter(|(_, seen)| seen.has_hidden && seen.shortest.is_none())
    };
    let mut fastest: BTreeMap<SimilarTransfers, f64> = BTreeMap::new();
    if unseen().next().is_some() {
        for (
            &label,
            ObservedTransfers {
                class, shortest, ..
            },
        ) in &seen
        {
            let Some(took) = *shortest else { continue };
            let Some(TransferSize { alike, bytes }) = size(cx, label, *class, cores) else {
                continue;
            };
            let rate = bytes / took.as_ps_f64();
            fastest
                .entry(alike)
                .and_modify(|most| *most = most.max(rate))
                .or_insert(rate);
        }
    }
    let by_time = seen
        .iter()
        .filter(|(_, seen)| seen.has_hidden)
        .filter_map(|(&label, seen)| Some((label, seen.shortest?)));
    let mut least = vec![None; cx.model.labels().len()];
    for (label, time) in by_time.chain(unseen().filter_map(|(&label, seen)| {
        let TransferSize { alike, bytes } = size(cx, label, seen.class, cores)?;
        Some((label, Picos::rounded(bytes / fastest.get(&alike)?)))
    })) {
        if let Some(slot) = least.get_mut(label.index()) {
            *slot = Some(time);
        }
    }
    schedule.least = least;
}

/// Key of transfers over the same links: a communication pattern with its group size, or source and target memory.
type SimilarTransfers = (Option<CollectiveKind>, Vec<u64>);

/// Size of a transfer.
struct TransferSize {
    alike: SimilarTransfers,
    bytes: f64,
}

/// `None` if the text of the op does not show it.
fn size(cx: &Context<'_>, label: LabelId, class: OpClass, cores: usize) -> Option<TransferSize> {
    let op = cx.model.label(label).op?;
    if let Some(kind) = class.collective {
        let message = CollectiveTraffic::of(cx, Some(op), kind, cores);
        return Some(TransferSize {
            alike: (Some(kind), message.participants.into_iter().collect()),
            bytes: message.bytes.filter(|&bytes| bytes > 0)? as f64,
        });
    }
    let hlo = HloText::parse(cx.model.str(cx.model.op(op).hlo_text?))?;
    let result = hlo.result()?;
    // (destination, source, context)
    let ends = result
        .parts()
        .iter()
        .take(2)
        .flat_map(Shape::arrays)
        .collect::<Vec<_>>();
    let bytes = result.parts().first()?.bytes().filter(|&bytes| bytes > 0)? as f64;
    (ends.len() == 2).then(|| TransferSize {
        alike: (None, ends.iter().map(|end| end.memory_space).collect()),
        bytes,
    })
}
