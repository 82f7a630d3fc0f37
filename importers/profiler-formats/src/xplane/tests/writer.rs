//! Writes small `XSpace` files for tests, field by field.

use sample_traces::write::ProtoMessage;

/// A stat whose name has no id yet.
#[derive(Clone)]
pub(crate) enum WrittenStat {
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(&'static str),
    Bytes(Vec<u8>),
    /// A text stored as the name of another stat.
    Ref(&'static str),
}

/// A plane; metadata ids are assigned when names first occur.
#[derive(Default)]
pub(crate) struct PlaneWriter {
    name: &'static str,
    /// Added to all ids, to make them large.
    pub(crate) id_offset: u64,
    events: Vec<(String, ProtoMessage)>,
    stats: Vec<&'static str>,
    pub(crate) lines: Vec<Vec<u8>>,
    plane_stats: Vec<ProtoMessage>,
}

impl PlaneWriter {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    fn stat_id(&mut self, name: &'static str) -> u64 {
        let at = self
            .stats
            .iter()
            .position(|&known| known == name)
            .unwrap_or_else(|| {
                self.stats.push(name);
                self.stats.len() - 1
            });
        self.id_offset + at as u64
    }

    pub(crate) fn stat(&mut self, name: &'static str, value: &WrittenStat) -> ProtoMessage {
        let id = self.stat_id(name);
        let mut stat = ProtoMessage::default();
        stat.present(1, id);
        match value {
            WrittenStat::Int(v) => stat.present(4, *v as u64),
            WrittenStat::Uint(v) => stat.present(3, *v),
            WrittenStat::Double(v) => stat.double(2, *v),
            WrittenStat::Text(v) => stat.bytes(5, v),
            WrittenStat::Bytes(v) => stat.bytes(6, v),
            WrittenStat::Ref(v) => stat.present(7, self.stat_id(v)),
        }
        stat
    }

    /// Adds metadata of an event; returns its id.
    pub(crate) fn metadata(
        &mut self,
        name: &str,
        display_name: &str,
        stats: &[(&'static str, WrittenStat)],
    ) -> u64 {
        if let Some(at) = self.events.iter().position(|(known, _)| known == name) {
            return self.id_offset + at as u64;
        }
        let mut message = ProtoMessage::default();
        message.bytes(2, name);
        message.text(4, display_name);
        for (name, value) in stats {
            message.bytes(5, self.stat(name, value));
        }
        self.events.push((name.to_owned(), message));
        self.id_offset + self.events.len() as u64 - 1
    }

    /// An event with this name and no further metadata.
    pub(crate) fn event(
        &mut self,
        name: &str,
        offset: i64,
        dur: i64,
        stats: &[(&'static str, WrittenStat)],
    ) -> ProtoMessage {
        let id = self.metadata(name, "", &[]);
        self.event_of(id, offset, dur, stats)
    }

    pub(crate) fn event_of(
        &mut self,
        id: u64,
        offset: i64,
        dur: i64,
        stats: &[(&'static str, WrittenStat)],
    ) -> ProtoMessage {
        let mut event = ProtoMessage::default();
        for (field, value) in [(1, id), (2, offset as u64), (3, dur as u64)] {
            event.present(field, value);
        }
        for (name, value) in stats {
            event.bytes(4, self.stat(name, value));
        }
        event
    }

    pub(crate) fn line(&mut self, id: i64, name: &str, timestamp_ns: i64, events: &[ProtoMessage]) {
        let mut line = ProtoMessage::default();
        line.present(1, id as u64);
        line.bytes(2, name);
        line.present(3, timestamp_ns as u64);
        for event in events {
            line.bytes(4, event);
        }
        self.lines.push(line.into_bytes());
    }

    pub(crate) fn plane_stat(&mut self, name: &'static str, value: &WrittenStat) {
        let stat = self.stat(name, value);
        self.plane_stats.push(stat);
    }

    pub(crate) fn finish(&self) -> ProtoMessage {
        let mut plane = ProtoMessage::default();
        plane.present(1, 7);
        plane.bytes(2, self.name);
        for line in &self.lines {
            plane.bytes(3, line);
        }
        let entry = |at: usize, message: &[u8]| {
            let mut entry = ProtoMessage::default();
            // Like every writer, leave out a key of zero.
            entry.uint(1, self.id_offset + at as u64);
            entry.bytes(2, message);
            entry
        };
        for (at, (_, message)) in self.events.iter().enumerate() {
            plane.bytes(4, entry(at, message.as_ref()));
        }
        for (at, name) in self.stats.iter().enumerate() {
            let mut stat = ProtoMessage::default();
            stat.bytes(2, name);
            plane.bytes(5, entry(at, stat.as_ref()));
        }
        for stat in &self.plane_stats {
            plane.bytes(6, stat);
        }
        plane
    }
}

/// A file with these planes.
pub(crate) fn space(planes: &[&PlaneWriter]) -> Vec<u8> {
    let mut space = ProtoMessage::default();
    for plane in planes {
        space.bytes(1, plane.finish());
    }
    space.into_bytes()
}
