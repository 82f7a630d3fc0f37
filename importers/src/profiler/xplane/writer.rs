//! Writes small `XSpace` files for tests, field by field.

/// A message in the making.
#[derive(Clone, Default)]
pub(super) struct MessageWriter(pub(super) Vec<u8>);

impl MessageWriter {
    pub(super) fn varint(mut self, field: u64, value: u64) -> Self {
        self.push(field << 3);
        self.push(value);
        self
    }

    pub(super) fn double(mut self, field: u64, value: f64) -> Self {
        self.push(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn bytes(mut self, field: u64, value: impl AsRef<[u8]>) -> Self {
        self.push(field << 3 | 2);
        self.push(value.as_ref().len() as u64);
        self.0.extend(value.as_ref());
        self
    }

    pub(super) fn message(self, field: u64, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }

    fn push(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// A stat before its name has an id.
#[derive(Clone)]
pub(super) enum WrittenStat {
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(&'static str),
    Bytes(Vec<u8>),
    /// A text stored as the name of another stat.
    Ref(&'static str),
}

/// A plane; ids of metadata are handed out as names appear.
#[derive(Default)]
pub(super) struct PlaneWriter {
    name: &'static str,
    /// Added to all ids, to make them large.
    pub(super) id_offset: u64,
    events: Vec<(String, MessageWriter)>,
    stats: Vec<&'static str>,
    pub(super) lines: Vec<MessageWriter>,
    plane_stats: Vec<MessageWriter>,
}

impl PlaneWriter {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    fn stat_id(&mut self, name: &'static str) -> u64 {
        let at = self.stats.iter().position(|&known| known == name).unwrap_or_else(|| {
            self.stats.push(name);
            self.stats.len() - 1
        });
        self.id_offset + at as u64
    }

    pub(super) fn stat(&mut self, name: &'static str, value: &WrittenStat) -> MessageWriter {
        let id = self.stat_id(name);
        let stat = MessageWriter::default().varint(1, id);
        match value {
            WrittenStat::Int(v) => stat.varint(4, *v as u64),
            WrittenStat::Uint(v) => stat.varint(3, *v),
            WrittenStat::Double(v) => stat.double(2, *v),
            WrittenStat::Text(v) => stat.bytes(5, v),
            WrittenStat::Bytes(v) => stat.bytes(6, v),
            WrittenStat::Ref(v) => {
                let id = self.stat_id(v);
                stat.varint(7, id)
            }
        }
    }

    /// Metadata of an event; returns its id.
    pub(super) fn metadata(&mut self, name: &str, display_name: &str, stats: &[(&'static str, WrittenStat)]) -> u64 {
        if let Some(at) = self.events.iter().position(|(known, _)| known == name) {
            return self.id_offset + at as u64;
        }
        let mut message = MessageWriter::default().bytes(2, name);
        if !display_name.is_empty() {
            message = message.bytes(4, display_name);
        }
        for (name, value) in stats {
            message = message.message(5, &self.stat(name, value));
        }
        self.events.push((name.to_owned(), message));
        self.id_offset + self.events.len() as u64 - 1
    }

    /// An event of a name without further metadata.
    pub(super) fn event(
        &mut self,
        name: &str,
        offset: i64,
        dur: i64,
        stats: &[(&'static str, WrittenStat)],
    ) -> MessageWriter {
        let id = self.metadata(name, "", &[]);
        self.event_of(id, offset, dur, stats)
    }

    pub(super) fn event_of(
        &mut self,
        id: u64,
        offset: i64,
        dur: i64,
        stats: &[(&'static str, WrittenStat)],
    ) -> MessageWriter {
        let mut event = MessageWriter::default().varint(1, id).varint(2, offset as u64).varint(3, dur as u64);
        for (name, value) in stats {
            event = event.message(4, &self.stat(name, value));
        }
        event
    }

    pub(super) fn line(&mut self, id: i64, name: &str, timestamp_ns: i64, events: &[MessageWriter]) {
        let mut line = MessageWriter::default().varint(1, id as u64).bytes(2, name).varint(3, timestamp_ns as u64);
        for event in events {
            line = line.message(4, event);
        }
        self.lines.push(line);
    }

    pub(super) fn plane_stat(&mut self, name: &'static str, value: &WrittenStat) {
        let stat = self.stat(name, value);
        self.plane_stats.push(stat);
    }

    pub(super) fn finish(&self) -> MessageWriter {
        let mut plane = MessageWriter::default().varint(1, 7).bytes(2, self.name);
        for line in &self.lines {
            plane = plane.message(3, line);
        }
        let entry = |at: usize, message: &MessageWriter| {
            let key = self.id_offset + at as u64;
            // A key of zero is left out, as every writer does.
            let entry = if key == 0 { MessageWriter::default() } else { MessageWriter::default().varint(1, key) };
            entry.message(2, message)
        };
        for (at, (_, message)) in self.events.iter().enumerate() {
            plane = plane.message(4, &entry(at, message));
        }
        for (at, name) in self.stats.iter().enumerate() {
            plane = plane.message(5, &entry(at, &MessageWriter::default().bytes(2, name)));
        }
        for stat in &self.plane_stats {
            plane = plane.message(6, stat);
        }
        plane
    }
}

/// A file of these planes.
pub(super) fn space(planes: &[&PlaneWriter]) -> Vec<u8> {
    planes.iter().fold(MessageWriter::default(), |space, plane| space.message(1, &plane.finish())).0
}
