//! Messages of `RESOURCE_EXHAUSTED` of the TPU compiler and its runtime, as JAX, PyTorch/XLA and TensorFlow print them.
//!
//! They come in the middle of logs, with a prefix on each line or as one line with `\n` in it, often several times. The
//! compiler says "Ran out of memory in memory space hbm", with tables of kinds and of the largest allocations; the runtime
//! "Attempting to reserve" (for a program) or "Attempting to allocate" (for a buffer). Lines that are not understood are
//! skipped.

mod assignment;
mod parts;
mod sentence;

use super::finish::finished;
use super::need::{MemoryShortage, NeededBuffer};
use super::size::{size, size_after};
use assignment::AssignmentReader;
use parts::{KERNEL, OF_CORES, RAN_OUT_ON, add, limited, quoted, unknown};

/// Messages and buffers of each at most: a log may be anything.
const MOST_MESSAGES: usize = 64;
const MOST_BUFFERS: usize = 4096;

const RAN_OUT: &str = "Ran out of memory in memory space ";
const RESERVE: &str = "Attempting to reserve ";
const ALLOCATE: &str = "Attempting to allocate ";
const OTHER_ALLOCATE: &str = "Out of memory while trying to allocate ";
const REQUEST: &str = "Failed to allocate request for ";
/// The message of memory of the host or of another device.
const ALLOCATING: &str = "Out of memory allocating ";
/// Whether a text holds such a message.
fn is_meant(text: &str) -> bool {
    [
        RAN_OUT,
        RAN_OUT_ON,
        OF_CORES,
        RESERVE,
        ALLOCATE,
        OTHER_ALLOCATE,
        REQUEST,
        ALLOCATING,
        KERNEL,
    ]
    .iter()
    .any(|mark| text.contains(mark))
}

/// All different messages of a log, in its order.
#[cfg(test)]
fn read(log: &str) -> Vec<MemoryShortage> {
    let mut reader = MessageReader::default();
    log.lines().for_each(|line| reader.add(line));
    reader.finish()
}

/// The table that the lines belong to.
#[derive(Clone, Copy, Default)]
enum Section {
    #[default]
    None,
    /// `Total hbm usage >= 65.05G:`
    Total,
    /// `Program hbm requirement 63.80G:`
    Program,
    /// `Persistent allocations include some or all of:`
    Persistent,
    /// `Largest program allocations in hbm:`, `Peak buffers:`
    Buffers,
    /// `BufferAssignment stats:`
    Assignment,
}

/// Reads a log line by line, so that it may be longer than memory.
#[derive(Default)]
pub struct MessageReader {
    messages: Vec<MemoryShortage>,
    current: Option<MemoryShortage>,
    assignment: Option<AssignmentReader>,
    section: Section,
    /// Length of what a collector of logs writes before each line of the message.
    prefix: usize,
    /// The program of plans, which do not name it.
    program: Option<String>,
}

impl MessageReader {
    /// Of a file beside a dumped program, whose plan it may hold.
    pub fn beside(program: Option<String>) -> Self {
        Self {
            program,
            ..Self::default()
        }
    }

    /// The next line of the log.
    pub fn add(&mut self, line: &str) {
        if self.assignment.as_mut().is_some_and(|read| read.add(line)) {
            return;
        }
        if self.assignment.is_some() || AssignmentReader::begins(line) {
            self.end();
        }
        if AssignmentReader::begins(line) {
            self.assignment = Some(AssignmentReader::default());
            return;
        }
        if line.contains("\\n") && is_meant(line) {
            // A message that was written as the text of an exception.
            line.split("\\n").for_each(|line| self.line(line));
            self.end();
        } else {
            self.line(line);
        }
    }

    /// All different messages, in the order of the log.
    pub fn finish(mut self) -> Vec<MemoryShortage> {
        self.end();
        self.messages
    }

    fn line(&mut self, line: &str) {
        self.begin(without_prefix(line));
        let line = self.own_text(line);
        let Some(current) = &mut self.current else {
            return;
        };
        numbers(line, current);
        match header(line) {
            Some(section) => self.section = section,
            None => match self.section {
                Section::Buffers => buffer_line(line, current),
                Section::None => {}
                section => entry(line, section, current),
            },
        }
    }

    /// The line without what stands before it: `[rank3] 2026-01-01T00:00:00Z worker-3:` has the same length before each.
    fn own_text<'a>(&mut self, line: &'a str) -> &'a str {
        let logged = without_prefix(line);
        if self.current.is_none() || logged.len() < line.trim().len() {
            return logged;
        }
        let mut tables = ["Total ", "Program ", "Persistent ", "Largest "].into_iter();
        let before = tables.find_map(|word| {
            let (before, text) = line.split_at_checked(line.find(word)?)?;
            header(text.trim()).map(|_| before.trim_end().len())
        });
        self.prefix = before.unwrap_or(self.prefix);
        line.get(self.prefix..).unwrap_or_default().trim()
    }

    /// Begins a message, if the line does.
    fn begin(&mut self, line: &str) {
        if let Some(told) = sentence::told(line) {
            self.end();
            self.current = Some(told);
            self.end();
            return;
        }
        let begun = if let Some(start) = line.find(RAN_OUT) {
            let rest = line.get(start + RAN_OUT.len()..).unwrap_or_default();
            let memory = rest
                .split(|c: char| !c.is_ascii_alphanumeric())
                .next()
                .unwrap_or_default();
            Some((
                "the compiler",
                memory.to_owned(),
                size_after(line, "Scoped allocation with size "),
            ))
        } else {
            let runtime = [
                (RESERVE, "hbm"),
                (ALLOCATE, "hbm"),
                (OTHER_ALLOCATE, "hbm"),
                (REQUEST, "hbm"),
                (ALLOCATING, "main memory"),
            ];
            let mut begun_by = runtime.into_iter().filter_map(|(mark, memory)| {
                Some((
                    "the runtime",
                    memory.to_owned(),
                    Some(size_after(line, mark)?),
                ))
            });
            begun_by.next()
        };
        let Some((told_by, memory, needed_bytes)) = begun else {
            return;
        };
        self.end();
        self.current = Some(MemoryShortage {
            told_by: told_by.to_owned(),
            memory,
            program: quoted(line, "rror loading program '", '\''),
            needed_bytes,
            capacity_bytes: size_after(line, " and limit "),
            over_bytes: size_after(line, "limit by "),
            buffers: on_stack(line).into_iter().collect(),
            ..MemoryShortage::default()
        });
    }

    /// Keeps a message unless it was there before.
    fn end(&mut self) {
        (self.section, self.prefix) = (Section::None, 0);
        let assigned = self
            .assignment
            .take()
            .and_then(AssignmentReader::finish)
            .map(|plan| MemoryShortage {
                program: self.program.clone(),
                ..plan
            });
        let Some(message) = self.current.take().or(assigned) else {
            return;
        };
        let message = finished(message);
        if self.messages.len() < MOST_MESSAGES && !self.messages.contains(&message) {
            self.messages.push(message);
        }
    }
}

/// The instruction of `while allocating on stack for %f = f32[8,4]{1,0:T(8,128)} custom-call(…)`, and what it asked for.
fn on_stack(line: &str) -> Option<NeededBuffer> {
    let (_, rest) = line.split_once("while allocating on stack for %")?;
    let (instruction, _) = rest.split_once(" = ")?;
    // The shape of its result is not what it allocates.
    Some(NeededBuffer {
        bytes: size_after(line, "Scoped allocation with size ")?,
        instruction: limited(instruction),
        kind: "scoped".to_owned(),
        ..NeededBuffer::default()
    })
}

/// The line without what a logger writes before it: `2020-05-04 09:05:40.72: E 1578 xla_util.cc:76] `.
fn without_prefix(line: &str) -> &str {
    let logged = line.split_once("] ").filter(|(before, _)| {
        before.contains(".cc:") || before.contains(".py:") || before.contains(".h:")
    });
    logged.map_or(line, |(_, rest)| rest).trim()
}

/// The table that a line begins.
fn header(line: &str) -> Option<Section> {
    if line.starts_with("Total ") && line.contains(" usage >=") {
        Some(Section::Total)
    } else if line.starts_with("Program ") && line.contains(" requirement ") {
        Some(Section::Program)
    } else if line.starts_with("Persistent allocations") {
        Some(Section::Persistent)
    } else if line.starts_with("Largest ") && line.contains("allocations in ")
        || line.starts_with("Peak buffers:")
    {
        Some(Section::Buffers)
    } else if line.starts_with("BufferAssignment stats:") {
        Some(Section::Assignment)
    } else if line.ends_with(':')
        && (line.starts_with("Heap allocator") || line.contains("capacity "))
    {
        Some(Section::None)
    } else {
        None
    }
}

/// Numbers that stand in sentences.
fn numbers(line: &str, out: &mut MemoryShortage) {
    if let Some(start) = line.find("Used ")
        && let Some(used) = line.get(start..)
        && used.contains(" of ")
        && out.told_by == "the compiler"
    {
        out.needed_bytes = size_after(used, "Used ").or(out.needed_bytes);
        out.capacity_bytes = size_after(used, " of ").or(out.capacity_bytes);
    }
    if line.contains("Exceeded ") {
        out.over_bytes = size_after(line, "capacity by ").or(out.over_bytes);
    }
    if line.contains("That was not possible") && out.told_by == "the runtime" {
        // What can be reserved is what counts for a program.
        let free = line
            .rsplit_once(" reservable")
            .and_then(|(before, _)| size(before.rsplit(' ').next()?));
        out.capacity_bytes = free
            .or_else(|| size_after(line, "There are "))
            .or(out.capacity_bytes);
    }
    if line.starts_with("Output size ") {
        let output = size_after(line, "Output size ");
        out.shared_bytes = size_after(line, "shares ").or(out.shared_bytes);
        match output {
            Some(bytes) => add(
                out,
                "results",
                bytes.saturating_sub(out.shared_bytes.unwrap_or(0)),
                None,
            ),
            None => unknown(out, "the size of the results"),
        }
    }
    for (mark, kind) in [
        ("Top-of-Memory reserved:", "reserved by the system"),
        ("Currently allocated:", "allocated before"),
    ] {
        if let Some(bytes) = line.strip_prefix(mark).and_then(size) {
            add(out, kind, bytes, None);
        }
    }
    if line.contains("by rematerialization") {
        out.unknown.extend(
            line.find("Can't reduce")
                .and_then(|start| line.get(start..))
                .map(limited),
        );
    }
}

/// A row of a table of kinds: `HLO temp 63.79G (…)`.
fn entry(line: &str, section: Section, out: &mut MemoryShortage) {
    let mut words = line.split_whitespace();
    let name: Vec<&str> = words
        .by_ref()
        .take_while(|word| !word.starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    let name = name.join(" ");
    let Some(rest) = line
        .find(|c: char| c.is_ascii_digit())
        .and_then(|start| line.get(start..))
    else {
        if let Some(what) = line.strip_suffix("unknown size") {
            unknown(out, &format!("the size of {}", what.trim()));
        }
        return;
    };
    let Some(bytes) = size(rest).filter(|_| !name.is_empty()) else {
        return;
    };
    match (section, name.as_str()) {
        // The sum of the next table, and the heap, which holds arguments and results of all programs.
        (Section::Total, "program") => {}
        (Section::Total | Section::Persistent, "arguments") => add(out, "arguments", bytes, None),
        (Section::Total, name) if name.starts_with("reserved") => {
            add(out, "reserved by the system", bytes, None);
        }
        (Section::Total, name) if name.starts_with("heap") => {}
        (Section::Persistent, "output") => add(out, "results", bytes, None),
        (Section::Assignment, name) => assigned(name.trim_end_matches(':'), bytes, out),
        (Section::Program, "HLO temp") => temporaries(line, bytes, out),
        (Section::Program, name) => add(out, &limited(name), bytes, None),
        _ => {}
    }
}

/// A row of the assignment of buffers: `preallocated temp allocation: 32.00GiB`.
fn assigned(name: &str, bytes: u64, out: &mut MemoryShortage) {
    let kind = match name {
        "parameter allocation" => "arguments",
        "constant allocation" => "constants",
        "maybe_live_out allocation" => "results",
        "preallocated temp allocation" => "temporaries",
        "total allocation" => {
            // That is no longer the buffer that was asked for, but all of the program.
            out.needed_bytes = Some(bytes);
            "the compiler's plan".clone_into(&mut out.told_by);
            return;
        }
        // It is a part of the temporaries.
        "preallocated temp fragmentation" => {
            let all = out.kinds.iter_mut().find(|it| it.kind == "temporaries");
            if let Some(all) = all {
                all.bytes = all.bytes.saturating_sub(bytes);
                add(out, "fragmentation", bytes, None);
            }
            return;
        }
        _ => return,
    };
    add(out, kind, bytes, None);
}

/// Temporaries, their padding and what is lost between them.
fn temporaries(line: &str, bytes: u64, out: &mut MemoryShortage) {
    let fragmentation = line
        .split_once("fragmentation (")
        .and_then(|(_, rest)| size(rest))
        .unwrap_or(0);
    let unpadded = size_after(line, "Unpadded (");
    let padded = line
        .match_indices("Padded (")
        .find_map(|(index, mark)| size(line.get(index + mark.len()..)?));
    let padding = unpadded
        .zip(padded)
        .map(|(unpadded, padded)| padded.saturating_sub(unpadded));
    add(
        out,
        "temporaries",
        bytes.saturating_sub(fragmentation),
        padding,
    );
    if fragmentation > 0 {
        add(out, "fragmentation", fragmentation, None);
    }
}

/// A line of the table of allocations.
fn buffer_line(line: &str, out: &mut MemoryShortage) {
    let numbered = line
        .split_once(". Size: ")
        .filter(|(number, _)| number.parse::<u32>().is_ok());
    let named = line
        .strip_prefix("Buffer ")
        .and_then(|rest| rest.strip_suffix(':'));
    if named.is_some_and(|number| number.parse::<u32>().is_ok()) {
        if out.buffers.len() < MOST_BUFFERS {
            out.buffers.push(NeededBuffer::default());
        }
        return;
    }
    if let Some((_, rest)) = numbered {
        if let Some(bytes) = size(rest).filter(|_| out.buffers.len() < MOST_BUFFERS) {
            out.buffers.push(NeededBuffer {
                bytes,
                ..NeededBuffer::default()
            });
        }
        return;
    }
    let Some(buffer) = out.buffers.last_mut() else {
        return;
    };
    let Some((name, value)) = line.split_once(": ") else {
        return;
    };
    match name {
        "Operator" => {
            buffer.op_name = quoted(value, "op_name=\"", '"');
            let file = quoted(value, "source_file=\"", '"');
            let number = value
                .split_once("source_line=")
                .and_then(|(_, rest)| leading_number(rest));
            buffer.source = file.map(|file| {
                number.map_or_else(|| file.clone(), |number| format!("{file}:{number}"))
            });
        }
        "Size" => buffer.bytes = size(value).unwrap_or(buffer.bytes),
        "Shape" | "Entry Parameter Subshape" => buffer.shape = Some(limited(value)),
        "Unpadded size" => {
            buffer.padding_bytes =
                size(value).map(|unpadded| buffer.bytes.saturating_sub(unpadded));
        }
        "Extra memory due to padding" => {
            buffer.padding_bytes = size(value).or(buffer.padding_bytes);
        }
        "XLA label" | "XLA Label" => {
            let label = value.trim_start_matches('%');
            let label = label.split(" = ").next().unwrap_or(label);
            buffer.instruction = limited(label);
        }
        "Allocation type" => buffer.kind = limited(value),
        _ => {}
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests;
