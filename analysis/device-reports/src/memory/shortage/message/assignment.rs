//! The text of a buffer assignment, as XLA writes it beside dumped programs (`*-buffer-assignment.txt`):
//!
//! ```text
//! BufferAssignment:
//! allocation 0: size 16384, parameter 0, shape |f32[64,64]| at ShapeIndex {}:
//!  value: <9 x.1 @0> (size=16384,offset=0): f32[64,64]{1,0}
//! allocation 1: size 32768, preallocated-temp:
//!  value: <11 fusion.2 @0> (size=16384,offset=16384): f32[64,64]{1,0}
//! ```

use hlo::Shape;

use super::super::need::{MemoryShortage, NeededBuffer};
use super::super::size::size_after;
use super::parts::limited;

/// Buffers that are kept: the largest.
const MOST_BUFFERS: usize = 4096;

/// Reads one assignment, line by line.
#[derive(Default)]
pub(super) struct AssignmentReader {
    out: MemoryShortage,
    /// What the allocation of the last line is for; `None` if it takes no main memory.
    kind: Option<&'static str>,
    /// Bytes of allocations in other memories.
    others: u64,
    without_size: usize,
    /// Bytes of the last allocation, and where its values end.
    last: (u64, u64),
    /// Values of the last allocation: from which byte to which, and what of them holds no element.
    places: Vec<ValuePlace>,
    /// Lines that end too early.
    cut: usize,
}

/// A value in its allocation.
struct ValuePlace {
    start: u64,
    end: u64,
    padding: u64,
}

impl AssignmentReader {
    /// Whether an assignment begins here.
    pub(super) fn begins(line: &str) -> bool {
        line.trim() == "BufferAssignment:"
    }

    /// The next line; false if it is none of the assignment.
    pub(super) fn add(&mut self, line: &str) -> bool {
        let line = line.trim();
        if let Some(allocation) = line.strip_prefix("allocation ") {
            self.allocation(allocation);
            return true;
        }
        if let Some(value) = line.strip_prefix("value:") {
            if self.value(value.trim_start()).is_none() {
                self.cut += 1;
            }
            return true;
        }
        line.is_empty()
    }

    fn allocation(&mut self, text: &str) {
        self.end_allocation();
        self.kind = None;
        self.cut += usize::from(!text.ends_with(':'));
        let Some(bytes) = size_after(text, ": size ") else {
            self.without_size += 1;
            self.last = (0, 0);
            return;
        };
        self.last = (bytes, 0);
        let has = |word: &str| text.contains(&format!(", {word}"));
        if has("color ") {
            self.others = self.others.saturating_add(bytes);
            return;
        }
        // Those of a called computation are on the stack of the host.
        if has("thread-local") {
            return;
        }
        let kind = if has("parameter ") {
            "arguments"
        } else if has("constant") {
            "constants"
        } else if has("preallocated-temp") {
            "temporaries"
        } else if has("maybe-live-out") {
            "results"
        } else {
            "other buffers"
        };
        self.kind = Some(kind);
        self.out.add_to_kind(kind, bytes);
        let needed = self.out.needed_bytes.unwrap_or(0);
        self.out.needed_bytes = Some(needed.saturating_add(bytes));
        if kind == "arguments" && has("maybe-live-out") {
            let shared = self.out.shared_bytes.unwrap_or(0);
            self.out.shared_bytes = Some(shared.saturating_add(bytes));
        }
    }

    /// `<9 x.1 @0> (size=16384,offset=0): f32[64,64]{1,0}`; `None` if it ends too early.
    fn value(&mut self, text: &str) -> Option<()> {
        let (name, rest) = text.strip_prefix('<')?.split_once('>')?;
        let (place, shape) = rest.split_once("): ")?;
        let count = |wanted: &str| shape.matches(|c| wanted.contains(c)).count();
        if !shape.ends_with([')', ']', '}']) || count("([{") != count(")]}") {
            return None;
        }
        let bytes = size_after(place, "(size=")?;
        let start = size_after(place, "offset=")?;
        let end = start.saturating_add(bytes);
        self.last.1 = self.last.1.max(end);
        let Some(kind) = self.kind else {
            return Some(());
        };
        let elements = Shape::parse(shape).and_then(|shape| shape.bytes());
        let padding_bytes = elements.map(|elements| bytes.saturating_sub(elements));
        let padding = padding_bytes.unwrap_or(0);
        self.places.push(ValuePlace {
            start,
            end,
            padding,
        });
        let buffers = &mut self.out.buffers;
        buffers.push(NeededBuffer {
            bytes,
            instruction: limited(name.split_whitespace().nth(1).unwrap_or(name)),
            kind: kind.to_owned(),
            padding_bytes,
            shape: Some(limited(shape)),
            ..NeededBuffer::default()
        });
        if buffers.len() >= 2 * MOST_BUFFERS {
            buffers.sort_by_key(|buffer| std::cmp::Reverse(buffer.bytes));
            buffers.truncate(MOST_BUFFERS);
        }
        Some(())
    }

    /// Adds the padding of the last allocation to that of its kind: the most that values have which share no byte, because
    /// those that do are in memory at different times.
    fn end_allocation(&mut self) {
        let mut places = std::mem::take(&mut self.places);
        places.sort_by_key(|it| it.end);
        let mut most: Vec<u64> = vec![0];
        for place in &places {
            let before = places.partition_point(|it| it.end <= place.start);
            let with = most.get(before).copied().unwrap_or(0);
            let without = most.last().copied().unwrap_or(0);
            most.push(without.max(with.saturating_add(place.padding)));
        }
        let padding = most.last().copied().unwrap_or(0);
        let mut kinds = self.out.kinds.iter_mut();
        if let Some(kind) = kinds.find(|it| Some(it.kind.as_str()) == self.kind) {
            let sum = kind.padding_bytes.unwrap_or(0).saturating_add(padding);
            kind.padding_bytes = Some(sum);
        }
    }

    /// What the assignment needs; `None` if it has no allocation.
    pub(super) fn finish(mut self) -> Option<MemoryShortage> {
        self.end_allocation();
        let mut out = self.out;
        out.needed_bytes?;
        "the compiler's plan".clone_into(&mut out.told_by);
        "main memory".clone_into(&mut out.memory);
        out.unknown = vec![
            "how much memory there is: an assignment of buffers does not tell".to_owned(),
            "which temporaries are in memory at the same time: they are listed by what they take alone".to_owned(),
        ];
        if self.without_size > 0 {
            let count = engine::counted(self.without_size, "allocation");
            out.unknown
                .push(format!("the size of {count}: the text has none"));
            out.is_least = true;
        }
        // Values fill their allocation.
        if self.cut > 0 || self.last.1 < self.last.0 {
            out.unknown
                .push("what else is needed: the text ends inside of an allocation".to_owned());
            out.is_least = true;
        }
        if self.others > 0 {
            let bytes = super::super::size::binary(self.others);
            out.unknown
                .push(format!("what {bytes} in other memories are for"));
        }
        Some(out)
    }
}
