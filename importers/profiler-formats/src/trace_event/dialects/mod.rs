//! Roles of the tracks of known writers, and waits that their devices do not record.

use std::sync::LazyLock;

use importer_common::TrackRoles;
use importer_common::prelude::*;
use importer_common::roles::WriterMark;
use importer_common::waits::add_waits;
use trace_model::Label;

static MODEL: LazyLock<Arc<TrackRoles>> =
    LazyLock::new(|| known(include_str!("device_model.toml")));
static CHAKRA: LazyLock<Arc<TrackRoles>> =
    LazyLock::new(|| known(include_str!("chakra_timeline.toml")));
static VIDUR: LazyLock<Arc<TrackRoles>> = LazyLock::new(|| known(include_str!("vidur.toml")));
static LOCAL_MEMORY: LazyLock<Arc<TrackRoles>> =
    LazyLock::new(|| known(include_str!("astra_local_memory.toml")));

/// Parses an embedded file of roles; a test parses them all.
fn known(text: &str) -> Arc<TrackRoles> {
    Arc::new(TrackRoles::parse(text).unwrap_or_default())
}

/// Roles that depend only on the names of processes.
pub(super) fn usual() -> Arc<TrackRoles> {
    Arc::clone(&MODEL)
}

/// The roles of a known writer, by a member of the document.
pub(super) fn of_document(facts: &[(String, String)]) -> Option<Arc<TrackRoles>> {
    let Some(WriterMark::Member {
        key: wanted,
        value: said,
    }) = &CHAKRA.when
    else {
        return None;
    };
    let is_said = facts
        .iter()
        .any(|(key, value)| key == wanted && value == said);
    is_said.then(|| Arc::clone(&CHAKRA))
}

/// The roles of a known writer, by the beginning of the document.
pub(super) fn of_head(head: &[u8]) -> Option<Arc<TrackRoles>> {
    let has = |text: &String| memchr::memmem::find(head, text.as_bytes()).is_some();
    let fits = |roles: &TrackRoles| matches!(&roles.when, Some(WriterMark::Head { head }) if head.iter().all(has));
    [&VIDUR, &LOCAL_MEMORY]
        .into_iter()
        .find(|roles| fits(roles))
        .map(|roles| Arc::clone(roles))
}

/// Adds the waits that are missing on the op track of a device.
pub(super) fn add_missing_waits(builder: &mut TraceBuilder, lines: &[(TrackId, TrackKind)]) {
    let group_of: HashMap<TrackId, GroupId> = builder
        .tracks()
        .map(|(track, about)| (track, about.group))
        .collect();
    let mut devices: BTreeMap<GroupId, DialectLines> = BTreeMap::new();
    for (track, kind) in lines {
        let Some(&group) = group_of.get(track) else {
            continue;
        };
        let device = devices.entry(group).or_default();
        match kind {
            TrackKind::Ops => device.ops = Some(*track),
            TrackKind::AsyncOps => device.in_flight.push(*track),
            _ => {}
        }
    }
    for DialectLines { ops, in_flight } in devices.into_values() {
        let Some(ops) = ops else { continue };
        let batch = builder.batch(ops);
        let indexes = 0..batch.len() as u32;
        if indexes
            .clone()
            .any(|index| is_wait(builder, batch.label(index)))
        {
            continue;
        }
        let mut busy: Vec<TimeRange> = indexes.map(|index| batch.range(index)).collect();
        let mut flights = Vec::new();
        for track in in_flight {
            for index in 0..builder.batch(track).len() as u32 {
                let (range, label) = (
                    builder.batch(track).range(index),
                    builder.batch(track).label(index),
                );
                flights.extend(wait_for(builder, label).map(|wait| (range, wait)));
            }
        }
        add_waits(&mut busy, flights, ops, builder);
    }
}

/// Tracks of one device.
#[derive(Default)]
struct DialectLines {
    ops: Option<TrackId>,
    in_flight: Vec<TrackId>,
}

fn is_wait(builder: &TraceBuilder, label: LabelId) -> bool {
    let category = builder
        .label_ref(label)
        .op
        .and_then(|op| builder.op_ref(op).category);
    category.is_some_and(|category| builder.str(category).ends_with("-done"))
}

/// The label of the op that waits for the transfer with this `label`.
fn wait_for(builder: &mut TraceBuilder, label: LabelId) -> Option<LabelId> {
    let Label { name, op } = builder.label_ref(label);
    let category = builder.op_ref(op?).category?;
    let category = format!("{}-done", builder.str(category).strip_suffix("-start")?);
    let text = format!("wait {}", builder.str(name));
    let (name, category) = (builder.intern(&text), builder.intern(&category));
    let op = builder.op(Op {
        name,
        category: Some(category),
        ..Op::default()
    });
    Some(builder.label(&text, Some(op)))
}

#[cfg(test)]
mod tests;
