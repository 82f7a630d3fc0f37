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

impl SampleStat {
    /// A stat of any kind.
    pub fn new(name: &str, value: SampleValue) -> Self {
        Self {
            name: name.to_owned(),
            value,
        }
    }
    pub fn int(name: &str, value: i64) -> Self {
        Self::new(name, SampleValue::Int(value))
    }
    pub fn uint(name: &str, value: u64) -> Self {
        Self::new(name, SampleValue::Uint(value))
    }
    /// A floating point number.
    pub fn double(name: &str, value: f64) -> Self {
        Self::new(name, SampleValue::Double(value))
    }
    /// Text in place.
    pub fn text(name: &str, value: impl Into<String>) -> Self {
        Self::new(name, SampleValue::Text(value.into()))
    }
    /// Shared text.
    pub fn shared(name: &str, value: impl Into<String>) -> Self {
        Self::new(name, SampleValue::Ref(value.into()))
    }
    pub fn bytes(name: &str, value: Vec<u8>) -> Self {
        Self::new(name, SampleValue::Bytes(value))
    }
}

impl SamplePlane {
    /// Index of the metadata called `name`, adding it when new.
    pub fn named(&mut self, name: &str) -> usize {
        self.metadata
            .iter()
            .position(|metadata| metadata.name == name)
            .unwrap_or_else(|| {
                self.metadata.push(SampleEventMetadata {
                    name: name.to_owned(),
                    ..SampleEventMetadata::default()
                });
                self.metadata.len() - 1
            })
    }

    /// Index of the line called `name`, adding it when new.
    pub fn line(&mut self, id: i64, name: &str) -> usize {
        self.lines
            .iter()
            .position(|line| line.id == id)
            .unwrap_or_else(|| {
                self.lines.push(SampleLine {
                    id,
                    name: name.to_owned(),
                    ..SampleLine::default()
                });
                self.lines.len() - 1
            })
    }

    /// Adds an event called `name` to the line at index `line`.
    pub fn event(
        &mut self,
        line: usize,
        name: &str,
        offset_ps: i64,
        duration_ps: i64,
        stats: Vec<SampleStat>,
    ) {
        let metadata = self.named(name);
        self.lines[line].events.push(SampleEvent {
            metadata,
            offset_ps,
            duration_ps,
            stats,
        });
    }

    /// Orders the events of each line by start, enclosing ones first.
    pub fn sort(&mut self) {
        for line in &mut self.lines {
            line.events
                .sort_by_key(|event| (event.offset_ps, -event.duration_ps));
        }
    }
}
