//! A profiler session, independent of the file format. [`crate::write`] turns it into
//! protobuf or JSON.
//!
//! The structure is that of the profiler's own data: planes (devices, hosts) hold
//! lines, lines hold events, and facts that are constant for an op are stored once as
//! metadata of its events.

/// One capture of one host.
#[derive(Clone, Debug, Default)]
pub struct SampleSession {
    /// Name of the host that wrote the session.
    pub host: String,
    /// Description of the session, stored wherever the format has a place for a remark.
    pub remark: String,
    pub planes: Vec<SamplePlane>,
}

/// A device, a host, or a collection of facts.
#[derive(Clone, Debug, Default)]
pub struct SamplePlane {
    /// Number of the plane.
    pub id: i64,
    /// Name, which identifies the kind of plane (`/device:TPU:0`).
    pub name: String,
    /// Facts about the plane.
    pub stats: Vec<SampleStat>,
    pub metadata: Vec<SampleEventMetadata>,
    pub lines: Vec<SampleLine>,
    /// How far the clock of a device is ahead of the offsets of its events.
    pub clock_ahead_ps: i64,
}

/// One timeline of a plane.
#[derive(Clone, Debug, Default)]
pub struct SampleLine {
    /// Id, any 64-bit number that is unique in its plane.
    pub id: i64,
    pub name: String,
    /// Origin of the offsets of its events, ns after the session started.
    pub timestamp_ns: i64,
    /// Events, ordered by offset.
    pub events: Vec<SampleEvent>,
}

/// Facts that several events share.
#[derive(Clone, Debug, Default)]
pub struct SampleEventMetadata {
    /// Key, if it has a meaning (program ids); otherwise the writer assigns numbers.
    pub id: Option<i64>,
    /// Name; for a device op, the instruction as text.
    pub name: String,
    /// Display name, if it differs from the name.
    pub display_name: String,
    pub stats: Vec<SampleStat>,
}

#[derive(Clone, Debug, Default)]
pub struct SampleEvent {
    /// Index into [`SamplePlane::metadata`].
    pub metadata: usize,
    /// Start, ps after the origin of the line.
    pub offset_ps: i64,
    pub duration_ps: i64,
    /// Facts about this occurrence.
    pub stats: Vec<SampleStat>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SampleStat {
    pub name: String,
    pub value: SampleValue,
}

/// The value of a [`SampleStat`].
#[derive(Clone, Debug, PartialEq)]
pub enum SampleValue {
    Int(i64),
    Uint(u64),
    /// A floating point number.
    Double(f64),
    /// Text, stored in place.
    Text(String),
    /// Text, stored once per plane and referenced by id.
    Ref(String),
    Bytes(Vec<u8>),
}

fn stat(name: &str, value: SampleValue) -> SampleStat {
    SampleStat {
        name: name.to_owned(),
        value,
    }
}

pub fn int(name: &str, value: i64) -> SampleStat {
    stat(name, SampleValue::Int(value))
}

pub fn uint(name: &str, value: u64) -> SampleStat {
    stat(name, SampleValue::Uint(value))
}

/// A floating point number.
pub fn double(name: &str, value: f64) -> SampleStat {
    stat(name, SampleValue::Double(value))
}

/// Text in place.
pub fn text(name: &str, value: impl Into<String>) -> SampleStat {
    stat(name, SampleValue::Text(value.into()))
}

/// Shared text.
pub fn shared(name: &str, value: impl Into<String>) -> SampleStat {
    stat(name, SampleValue::Ref(value.into()))
}

pub fn bytes(name: &str, value: Vec<u8>) -> SampleStat {
    stat(name, SampleValue::Bytes(value))
}

/// Id and name of a line of a plane.
pub type LineKey<'a> = (i64, &'a str);

pub const STEPS: LineKey<'_> = (1, "Steps");
pub const MODULES: LineKey<'_> = (2, "XLA Modules");
pub const OPS: LineKey<'_> = (3, "XLA Ops");

impl SampleSession {
    pub fn new(host: &str, remark: &str, planes: Vec<SamplePlane>) -> Self {
        Self {
            host: host.to_owned(),
            remark: remark.to_owned(),
            planes,
        }
    }
}

impl SampleEventMetadata {
    /// Facts about what is called `name`.
    pub fn new(name: &str, stats: Vec<SampleStat>) -> Self {
        Self {
            name: name.to_owned(),
            stats,
            ..Self::default()
        }
    }

    /// An op of a program, from its instruction as text, with the compiler's facts about it.
    pub fn op(
        instruction: &str,
        category: &str,
        [program, symbol]: [u64; 2],
        facts: impl IntoIterator<Item = SampleStat>,
    ) -> Self {
        let name = instruction.split_once(" = ").map_or(instruction, |it| it.0);
        let mut stats = vec![
            shared("hlo_category", category),
            uint("program_id", program),
            uint("symbol_id", symbol),
        ];
        stats.extend(facts);
        Self {
            display_name: name.trim_start_matches('%').to_owned(),
            ..Self::new(instruction, stats)
        }
    }
}

impl SamplePlane {
    pub fn new(id: i64, name: &str) -> Self {
        Self {
            id,
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// The plane of a device, with its facts.
    pub fn device(ordinal: u32, clock_ahead_ps: i64, stats: Vec<SampleStat>) -> Self {
        Self {
            stats,
            clock_ahead_ps,
            ..Self::new(2 + i64::from(ordinal), &format!("/device:TPU:{ordinal}"))
        }
    }

    /// The plane of the threads of a host.
    pub fn host(id: i64) -> Self {
        Self::new(id, "/host:CPU")
    }

    /// Adds metadata and returns its index.
    pub fn add(&mut self, metadata: SampleEventMetadata) -> usize {
        self.metadata.push(metadata);
        self.metadata.len() - 1
    }

    /// Index of the metadata called `name`, adding it when new.
    pub fn named(&mut self, name: &str) -> usize {
        self.metadata
            .iter()
            .position(|metadata| metadata.name == name)
            .unwrap_or_else(|| self.add(SampleEventMetadata::new(name, Vec::new())))
    }

    /// A line, which is added when it is new.
    pub fn line(&mut self, (id, name): LineKey<'_>) -> &mut SampleLine {
        let known = self.lines.iter().position(|line| line.id == id);
        let at = known.unwrap_or_else(|| {
            self.lines.push(SampleLine {
                id,
                name: name.to_owned(),
                ..SampleLine::default()
            });
            self.lines.len() - 1
        });
        &mut self.lines[at]
    }

    /// Adds an event with this metadata to a line.
    pub fn occurrence(
        &mut self,
        line: LineKey<'_>,
        metadata: usize,
        offset_ps: i64,
        duration_ps: i64,
        stats: impl IntoIterator<Item = SampleStat>,
    ) {
        self.line(line).events.push(SampleEvent {
            metadata,
            offset_ps,
            duration_ps,
            stats: stats.into_iter().collect(),
        });
    }

    /// Adds an execution of an op to a line, with its times on both clocks.
    pub fn execution(
        &mut self,
        line: LineKey<'_>,
        op: usize,
        offset_ps: i64,
        duration_ps: i64,
        facts: impl IntoIterator<Item = SampleStat>,
    ) {
        let clock = [
            int("device_offset_ps", offset_ps + self.clock_ahead_ps),
            int("device_duration_ps", duration_ps),
        ];
        let stats = clock.into_iter().chain(facts);
        self.occurrence(line, op, offset_ps, duration_ps, stats);
    }

    /// Adds an event called `name` to a line.
    pub fn event(
        &mut self,
        line: LineKey<'_>,
        name: &str,
        offset_ps: i64,
        duration_ps: i64,
        stats: impl IntoIterator<Item = SampleStat>,
    ) {
        let metadata = self.named(name);
        self.occurrence(line, metadata, offset_ps, duration_ps, stats);
    }

    /// Orders the events of each line by start, enclosing ones first.
    pub fn sort(&mut self) {
        for line in &mut self.lines {
            line.events
                .sort_by_key(|event| (event.offset_ps, -event.duration_ps));
        }
    }
}
