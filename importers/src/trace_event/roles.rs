//! What the tracks of a simulator are, for Chrome traces that do not say it in the
//! words of a profiler: which thread is the op line of a device, which shows transfers
//! in flight, what ops are called, and in which unit times are written.
//!
//! Known writers have a file under `dialects`; everybody else's is given by the user:
//!
//! ```toml
//! simulator = "mysim"        # optional: nothing in the trace was measured
//! time_unit = "ns"           # of ts and dur: ps, ns, us (default), ms, s
//!
//! [[track]]
//! process = "chip *"         # patterns with * and ?; everything where left out
//! thread = "MXU"
//! role = "ops"               # ops, in-flight, steps, programs
//!
//! [[op]]
//! role = "ops"
//! name = "matmul*"
//! category = "dot"           # as XLA calls it: fusion, copy-done, all-gather-start …
//! ```
//!
//! The first that matches counts. Each process with an op line is a device. Where its
//! op line shows no waiting, it waits while nothing computes and something is in flight.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use hashbrown::HashMap;
use serde::Deserialize;
use trace_model::{GroupId, Label, LabelId, Op, TraceBuilder, TrackId, TrackKind};

use crate::chakra::npu::add_waits;
use crate::glob;

/// Which tracks are what; see the source of this module for the form of the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roles {
    simulator: Option<String>,
    #[serde(default)]
    time_unit: TimeUnit,
    when: Option<When>,
    /// Names of processes and threads without one: `stage {}` with their number.
    process_names: Option<String>,
    thread_names: Option<String>,
    #[serde(default, rename = "track")]
    tracks: Vec<TrackRole>,
    #[serde(default, rename = "op")]
    ops: Vec<OpRole>,
}

/// Unit of `ts` and `dur`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TimeUnit {
    Ps,
    Ns,
    #[default]
    Us,
    Ms,
    S,
}

impl TimeUnit {
    /// Picoseconds of a time that was read as microseconds.
    #[inline]
    pub fn scaled(self, picos: i128) -> i128 {
        match self {
            Self::Us => picos,
            Self::Ps => picos / 1_000_000,
            Self::Ns => picos / 1000,
            Self::Ms => picos.saturating_mul(1000),
            Self::S => picos.saturating_mul(1_000_000),
        }
    }
}

/// How a writer is known: by a member of the document, or by texts that all stand in
/// its beginning.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum When {
    Member { key: String, value: String },
    Head { head: Vec<String> },
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrackRole {
    #[serde(default = "anything")]
    process: String,
    #[serde(default = "anything")]
    thread: String,
    role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpRole {
    role: Role,
    #[serde(default = "anything")]
    name: String,
    category: String,
}

fn anything() -> String {
    "*".to_owned()
}

/// What a track shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Role {
    Ops,
    InFlight,
    Steps,
    Programs,
}

impl Role {
    pub fn kind(self) -> TrackKind {
        match self {
            Self::Ops => TrackKind::Ops,
            Self::InFlight => TrackKind::AsyncOps,
            Self::Steps => TrackKind::Steps,
            Self::Programs => TrackKind::Modules,
        }
    }
}

static MODEL: LazyLock<Arc<Roles>> = LazyLock::new(|| known(include_str!("dialects/device_model.toml")));
static CHAKRA: LazyLock<Arc<Roles>> = LazyLock::new(|| known(include_str!("dialects/chakra_timeline.toml")));
static VIDUR: LazyLock<Arc<Roles>> = LazyLock::new(|| known(include_str!("dialects/vidur.toml")));
static LOCAL_MEMORY: LazyLock<Arc<Roles>> = LazyLock::new(|| known(include_str!("dialects/astra_local_memory.toml")));

/// Those that come with the program; a test reads them all.
fn known(text: &str) -> Arc<Roles> {
    Arc::new(Roles::parse(text).unwrap_or_default())
}

impl Roles {
    /// Reads a file. The error says where it is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Those that go by the names of processes alone.
    pub(super) fn usual() -> Arc<Self> {
        Arc::clone(&MODEL)
    }

    /// The roles of a known writer, by a member of the document.
    pub(super) fn of_document(facts: &[(String, String)]) -> Option<Arc<Self>> {
        let Some(When::Member { key: wanted, value: said }) = &CHAKRA.when else { return None };
        let is_said = facts.iter().any(|(key, value)| key == wanted && value == said);
        is_said.then(|| Arc::clone(&CHAKRA))
    }

    /// The roles of a known writer, by the beginning of the document.
    pub(super) fn of_head(head: &[u8]) -> Option<Arc<Self>> {
        let has = |text: &String| memchr::memmem::find(head, text.as_bytes()).is_some();
        let fits = |roles: &Roles| matches!(&roles.when, Some(When::Head { head }) if head.iter().all(has));
        [&VIDUR, &LOCAL_MEMORY].into_iter().find(|roles| fits(roles)).map(|roles| Arc::clone(roles))
    }

    /// The name of a process that has none.
    pub(super) fn process_name(&self, pid: i64) -> Option<String> {
        self.process_names.as_ref().map(|name| name.replace("{}", &pid.to_string()))
    }

    /// The name of a thread that has none.
    pub(super) fn thread_name(&self, id: &str) -> Option<String> {
        self.thread_names.as_ref().map(|name| name.replace("{}", id))
    }

    pub(super) fn time_unit(&self) -> TimeUnit {
        self.time_unit
    }

    pub(super) fn simulator(&self) -> Option<&str> {
        self.simulator.as_deref()
    }

    /// What a thread shows; `None` where no pattern says.
    pub(super) fn role(&self, process: &str, thread: &str) -> Option<Role> {
        let fits = |track: &&TrackRole| glob::matches(&track.process, process) && glob::matches(&track.thread, thread);
        self.tracks.iter().find(fits).map(|track| track.role)
    }

    fn category(&self, kind: TrackKind, name: &str) -> Option<&str> {
        let fits = |op: &&OpRole| op.role.kind() == kind && glob::matches(&op.name, name);
        self.ops.iter().find(fits).map(|op| op.category.as_str())
    }

    /// Gives the slices of a device's line ops with their categories.
    pub(super) fn categorise(&self, builder: &mut TraceBuilder, track: TrackId, kind: TrackKind) {
        for index in 0..builder.batch(track).len() as u32 {
            let label = builder.batch(track).label(index);
            let name = builder.label_ref(label).name;
            let Some(category) = self.category(kind, builder.str(name)) else { continue };
            let category = builder.intern(category);
            let op = builder.op(Op { name, category: Some(category), ..Op::default() });
            let label = builder.label_of(Label { name, op: Some(op) });
            builder.batch_mut(track).set_label(index, label);
        }
    }
}

/// Adds the waiting that a device's op line does not show.
pub(super) fn add_missing_waits(builder: &mut TraceBuilder, lines: &[(TrackId, TrackKind)]) {
    let group_of: HashMap<TrackId, GroupId> = builder.tracks().map(|(track, about)| (track, about.group)).collect();
    let mut devices: BTreeMap<GroupId, Lines> = BTreeMap::new();
    for (track, kind) in lines {
        let Some(&group) = group_of.get(track) else { continue };
        let device = devices.entry(group).or_default();
        match kind {
            TrackKind::Ops => device.ops.push(*track),
            TrackKind::AsyncOps => device.in_flight.push(*track),
            _ => {}
        }
    }
    for Lines { ops, in_flight } in devices.into_values() {
        // A device with several op lines waits while none of them has anything to do.
        let Some(&first) = ops.first() else { continue };
        let waits = |track: &TrackId| {
            let batch = builder.batch(*track);
            (0..batch.len() as u32).any(|index| is_wait(builder, batch.label(index)))
        };
        if ops.iter().any(waits) {
            continue;
        }
        let mut busy = Vec::new();
        for batch in ops.iter().map(|track| builder.batch(*track)) {
            busy.extend((0..batch.len() as u32).map(|index| batch.range(index)));
        }
        let mut flights = Vec::new();
        for track in in_flight {
            for index in 0..builder.batch(track).len() as u32 {
                let (range, label) = (builder.batch(track).range(index), builder.batch(track).label(index));
                flights.extend(wait_for(builder, label).map(|wait| (range, wait)));
            }
        }
        add_waits(&mut busy, flights, first, builder);
    }
}

/// Tracks of one device.
#[derive(Default)]
struct Lines {
    ops: Vec<TrackId>,
    in_flight: Vec<TrackId>,
}

fn is_wait(builder: &TraceBuilder, label: LabelId) -> bool {
    let category = builder.label_ref(label).op.and_then(|op| builder.op_ref(op).category);
    category.is_some_and(|category| builder.str(category).ends_with("-done"))
}

/// The op on which a device waits for what began with `label`.
fn wait_for(builder: &mut TraceBuilder, label: LabelId) -> Option<LabelId> {
    let Label { name, op } = builder.label_ref(label);
    let category = builder.op_ref(op?).category?;
    let category = format!("{}-done", builder.str(category).strip_suffix("-start")?);
    let text = format!("wait {}", builder.str(name));
    let (name, category) = (builder.intern(&text), builder.intern(&category));
    let op = builder.op(Op { name, category: Some(category), ..Op::default() });
    Some(builder.label(&text, Some(op)))
}

#[cfg(test)]
#[path = "roles_tests.rs"]
mod tests;
