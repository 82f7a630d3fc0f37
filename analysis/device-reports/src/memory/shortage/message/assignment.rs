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
        if let Some(value) = line.strip_prefix("value: <") {
            if let Some(kind) = self.kind {
                self.value(value, kind);
            }
            return true;
        }
        line.is_empty()
    }

    fn allocation(&mut self, text: &str) {
        self.kind = None;
        let Some(bytes) = size_after(text, ": size ") else {
            self.without_size += 1;
            return;
        };
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

    /// `9 x.1 @0> (size=16384,offset=0): f32[64,64]{1,0}`
    fn value(&mut self, text: &str, kind: &str) {
        let Some((name, rest)) = text.split_once('>') else {
            return;
        };
        let Some(bytes) = size_after(rest, "(size=") else {
            return;
        };
        let shape = rest.split_once("): ").map(|(_, shape)| shape);
        let elements = shape.and_then(Shape::parse).and_then(|shape| shape.bytes());
        let buffers = &mut self.out.buffers;
        buffers.push(NeededBuffer {
            bytes,
            instruction: limited(name.split_whitespace().nth(1).unwrap_or(name)),
            kind: kind.to_owned(),
            padding_bytes: elements.map(|elements| bytes.saturating_sub(elements)),
            shape: shape.map(limited),
            ..NeededBuffer::default()
        });
        if buffers.len() >= 2 * MOST_BUFFERS {
            buffers.sort_by_key(|buffer| std::cmp::Reverse(buffer.bytes));
            buffers.truncate(MOST_BUFFERS);
        }
    }

    /// What the assignment needs; `None` if it has no allocation.
    pub(super) fn finish(self) -> Option<MemoryShortage> {
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
        if self.others > 0 {
            let bytes = super::super::size::binary(self.others);
            out.unknown
                .push(format!("what {bytes} in other memories are for"));
        }
        Some(out)
    }
}
