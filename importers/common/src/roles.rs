//! Roles of tracks in Chrome traces of simulators, which do not use a profiler's names: the threads that are op tracks
//! of devices, the threads with transfers in flight, the categories of ops, and the unit of times.
//!
//! For known writers there is a file under `profiler/trace_event/dialects`; for other writers the user provides one:
//!
//! ```toml
//! simulator = "mysim"        # optional: nothing in the trace was measured
//! time_unit = "ns"           # of ts and dur: ps, ns, us (default), ms, s
//!
//! [[track]]
//! process = "chip *"         # patterns with * and ?; matches everything if left out
//! thread = "MXU"
//! role = "ops"               # ops, in-flight, steps, programs
//!
//! [[op]]
//! role = "ops"
//! name = "matmul*"
//! category = "dot"           # in XLA's terms: fusion, copy-done, all-gather-start …
//! ```
//!
//! The first match counts. Each process with an op track is a device. If its op tracks have no waits, they are
//! reconstructed: the device waits while nothing computes and a transfer is in flight.

use input::glob;
use serde::Deserialize;
use trace_model::{Label, Op, TraceBuilder, TrackId, TrackKind};

/// Roles of the tracks of a trace; the module documentation describes the file format.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrackRoles {
    simulator: Option<String>,
    #[serde(default)]
    time_unit: TimeUnit,
    /// How the writer is recognized.
    pub when: Option<WriterMark>,
    /// Names for processes and threads without a name: `stage {}`, with their number in place of `{}`.
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
pub enum TimeUnit {
    /// Picoseconds.
    Ps,
    /// Nanoseconds.
    Ns,
    /// Microseconds, as the format says.
    #[default]
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
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

/// How a writer is recognized: by a member of the document, or by strings that all occur at its beginning.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum WriterMark {
    /// A member of the document.
    Member {
        /// Its name.
        key: String,
        value: String,
    },
    /// The beginning of the document.
    Head {
        /// What occurs in it.
        head: Vec<String>,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrackRole {
    #[serde(default = "anything")]
    process: String,
    #[serde(default = "anything")]
    thread: String,
    role: RoleKind,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpRole {
    role: RoleKind,
    #[serde(default = "anything")]
    name: String,
    category: String,
}

fn anything() -> String {
    "*".to_owned()
}

/// The role of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoleKind {
    /// Ops of a device.
    Ops,
    /// Asynchronous ops, from start to done.
    InFlight,
    /// Steps of the program.
    Steps,
    /// Executions of programs.
    Programs,
}

impl RoleKind {
    /// The kind of a track with the role.
    pub fn kind(self) -> TrackKind {
        match self {
            Self::Ops => TrackKind::Ops,
            Self::InFlight => TrackKind::AsyncOps,
            Self::Steps => TrackKind::Steps,
            Self::Programs => TrackKind::Modules,
        }
    }
}

impl TrackRoles {
    /// Parses a file of roles.
    ///
    /// # Errors
    ///
    /// The text is not a valid file of roles; the error names the place.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// The name for a process without one.
    pub fn process_name(&self, pid: i64) -> Option<String> {
        self.process_names
            .as_ref()
            .map(|name| name.replace("{}", &pid.to_string()))
    }

    /// The name for a thread without one.
    pub fn thread_name(&self, id: &str) -> Option<String> {
        self.thread_names
            .as_ref()
            .map(|name| name.replace("{}", id))
    }

    /// Unit of the times in the file.
    pub fn time_unit(&self) -> TimeUnit {
        self.time_unit
    }

    /// Title of the simulator that computed the times, if one did.
    pub fn simulator(&self) -> Option<&str> {
        self.simulator.as_deref()
    }

    /// The role of a thread; `None` if no pattern matches.
    pub fn role(&self, process: &str, thread: &str) -> Option<RoleKind> {
        let fits = |track: &&TrackRole| {
            glob::matches(&track.process, process) && glob::matches(&track.thread, thread)
        };
        self.tracks.iter().find(fits).map(|track| track.role)
    }

    fn category(&self, kind: TrackKind, name: &str) -> Option<&str> {
        let fits = |op: &&OpRole| op.role.kind() == kind && glob::matches(&op.name, name);
        self.ops.iter().find(fits).map(|op| op.category.as_str())
    }

    /// Sets the categories of the ops on a device track.
    pub fn categorise(&self, builder: &mut TraceBuilder, track: TrackId, kind: TrackKind) {
        for index in 0..builder.batch(track).len() as u32 {
            let label = builder.batch(track).label(index);
            let name = builder.label_ref(label).name;
            let Some(category) = self.category(kind, builder.str(name)) else {
                continue;
            };
            let category = builder.intern(category);
            let op = builder.op(Op {
                name,
                category: Some(category),
                ..Op::default()
            });
            let label = builder.label_of(Label { name, op: Some(op) });
            builder.batch_mut(track).set_label(index, label);
        }
    }
}
