//! A program as HLO text: computations of instructions, and where they come from.

use std::cell::OnceCell;

use hashbrown::HashMap;

use super::scan::{after_brackets, attribute, json_number, split_commas};
use crate::names::Bounded;

/// One instruction; every part still as written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Instruction<'a> {
    /// Name without `%`.
    pub name: &'a str,
    pub shape: &'a str,
    pub opcode: &'a str,
    /// What is between the parentheses.
    operands: &'a str,
    /// What follows them.
    pub attributes: &'a str,
    /// Makes the result of its computation.
    pub is_root: bool,
}

impl<'a> Instruction<'a> {
    /// Splits `[ROOT] %name = shape opcode(operands), attributes`.
    fn parse(line: &'a str) -> Option<Self> {
        let (name, rest) = line.split_once(" = ")?;
        let is_root = name.starts_with("ROOT ");
        let name = name.trim_start_matches("ROOT ").trim().trim_start_matches('%');
        let shape_end = if rest.starts_with('(') { after_brackets(rest, 0)? } else { rest.find(' ')? };
        let (shape, rest) = (rest.get(..shape_end)?, rest.get(shape_end..)?.trim_start());
        let open = rest.find('(')?;
        let opcode = rest.get(..open)?;
        if opcode.is_empty() || opcode.contains(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.')) {
            return None;
        }
        let close = after_brackets(rest, open)?;
        let attributes = rest.get(close..)?.trim_start_matches([',', ' ']);
        Some(Self { name, shape, opcode, operands: rest.get(open + 1..close - 1)?, attributes, is_root })
    }

    /// Names of the operands, in order, without `%`, shape and comment (`/*index=5*/%a`).
    pub fn operands(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let is_value = matches!(self.opcode, "parameter" | "constant" | "iota");
        let list = if is_value { "" } else { self.operands };
        split_commas(list).map(|operand| operand.rsplit([' ', '/']).next().unwrap_or(operand).trim_start_matches('%'))
    }

    /// The number of a `parameter`.
    pub fn parameter_number(&self) -> Option<usize> {
        if self.opcode == "parameter" { self.operands.trim().parse().ok() } else { None }
    }

    /// The value of a `constant` that is a whole number.
    pub fn constant(&self) -> Option<i64> {
        if self.opcode == "constant" { self.operands.trim().parse().ok() } else { None }
    }

    pub fn attribute(&self, key: &str) -> Option<&'a str> {
        attribute(self.attributes, key)
    }

    /// The name of a computation that it calls (`calls`, `body`, `to_apply`), without `%`.
    pub fn called(&self, key: &str) -> Option<&'a str> {
        self.attribute(key).map(|name| name.trim_start_matches('%'))
    }

    /// The value of `key` in the metadata, without quotes.
    pub fn metadata(&self, key: &str) -> Option<&'a str> {
        let mut rest = self.attribute("metadata")?.trim_start_matches('{').trim_end_matches('}');
        loop {
            let (name, after) = rest.trim_start().split_once('=')?;
            let (value, after) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"')?,
                None => after.split_at(after.find(' ').unwrap_or(after.len())),
            };
            if name == key {
                return Some(value);
            }
            rest = after;
        }
    }

    /// The line of text as profiles have it: operands with their shapes, and without the
    /// compiler's configuration but for loops, whose trip count stands there. Ends in …
    /// where it would be longer than `most`: many ops can share an operand of a huge shape.
    pub fn text(&self, computation: &Computation<'_>, most: usize) -> Bounded {
        let mut out = Bounded::new(most);
        out.push_all(&["%", self.name, " = ", self.shape, " ", self.opcode, "("]);
        let mut separator = "";
        for name in self.operands() {
            let shape = computation.find(name).map_or("", |operand| operand.shape);
            let space = if shape.is_empty() { "" } else { " " };
            out.push_all(&[separator, shape, space, "%", name]);
            separator = ", ";
        }
        if separator.is_empty() {
            out.push_all(&[self.operands]);
        }
        out.push_all(&[")"]);
        let keep = |part: &&str| self.opcode == "while" || !part.starts_with("backend_config=");
        for attribute in split_commas(self.attributes).filter(keep) {
            out.push_all(&[", ", attribute]);
        }
        out
    }
}

/// A list of instructions.
#[derive(Debug, Default)]
pub(super) struct Computation<'a> {
    pub name: &'a str,
    pub instructions: Vec<Instruction<'a>>,
    by_name: HashMap<&'a str, usize>,
    /// Position of the instruction that awaits each start.
    dones: HashMap<&'a str, usize>,
    root: Option<usize>,
    estimated_cycles: OnceCell<u64>,
}

impl<'a> Computation<'a> {
    fn push(&mut self, instruction: Instruction<'a>) {
        let index = self.instructions.len();
        self.by_name.insert(instruction.name, index);
        let awaits = instruction.operands().next().filter(|_| instruction.opcode.ends_with("-done"));
        self.dones.extend(awaits.map(|start| (start, index)));
        self.root = self.root.or(instruction.is_root.then_some(index));
        self.instructions.push(instruction);
    }

    /// The instruction that awaits a start, and its position.
    pub fn done(&self, start: &str) -> Option<(usize, &Instruction<'a>)> {
        let index = *self.dones.get(start)?;
        Some((index, self.instructions.get(index)?))
    }

    pub fn find(&self, name: &str) -> Option<&Instruction<'a>> {
        self.instructions.get(*self.by_name.get(name)?)
    }

    /// Position of an instruction.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// What the compiler estimates for its own instructions together.
    pub fn estimated_cycles(&self) -> u64 {
        *self.estimated_cycles.get_or_init(|| {
            let own = |it: &Instruction<'a>| json_number(it.attributes, "estimated_cycles").unwrap_or(0);
            self.instructions.iter().map(own).fold(0, u64::saturating_add)
        })
    }

    /// The instruction that makes its result.
    pub fn root(&self) -> Option<&Instruction<'a>> {
        self.root.map_or_else(|| self.instructions.last(), |root| self.instructions.get(root))
    }
}

/// A whole program.
#[derive(Debug, Default)]
pub(super) struct Program<'a> {
    pub name: &'a str,
    /// Bytes of its text.
    pub len: usize,
    /// What the first line says besides.
    header: &'a str,
    pub computations: Vec<Computation<'a>>,
    by_name: HashMap<&'a str, usize>,
    /// The computation that runs.
    pub entry: Option<usize>,
    /// Computation inside of which the text ends.
    pub cut_in: Option<&'a str>,
    /// Lines that are no instructions where one is expected: number and text.
    pub broken: Vec<(usize, &'a str)>,
    tables: Tables<'a>,
}

/// Rows of the tables that instructions refer to by `stack_frame_id`, by their number.
#[derive(Debug, Default)]
struct Tables<'a> {
    files: HashMap<u64, &'a str>,
    functions: HashMap<u64, &'a str>,
    locations: HashMap<u64, &'a str>,
    frames: HashMap<u64, &'a str>,
}

/// Deepest stack that is followed: a ring of frames must end somewhere.
const MAX_FRAMES: usize = 64;

impl<'a> Program<'a> {
    /// Reads a text; `None` where it is no HLO module at all.
    pub fn parse(text: &'a str) -> Option<Self> {
        let header = text.lines().next()?.strip_prefix("HloModule ")?;
        let name = split_commas(header).next()?;
        let mut program = Self { name, header, len: text.len(), ..Self::default() };
        let mut table = "";
        let mut open: Option<(Computation<'a>, bool)> = None;
        let whole = text.ends_with('\n');
        let mut lines = text.lines().enumerate().skip(1).peekable();
        while let Some((at, line)) = lines.next() {
            let is_cut = lines.peek().is_none() && !whole;
            if line.starts_with('}') {
                if let Some((computation, is_entry)) = open.take() {
                    program.add(computation, is_entry);
                }
            } else if let Some((computation, _)) = &mut open {
                match Instruction::parse(line.trim()) {
                    Some(instruction) => computation.push(instruction),
                    None if is_cut || line.trim().is_empty() => {}
                    None => program.broken.push((at + 1, line)),
                }
            } else if line.ends_with('{') && line.contains("->") {
                let is_entry = line.starts_with("ENTRY ");
                let name = line.trim_start_matches("ENTRY ").trim_start_matches('%');
                let end = name.find([' ', '(']).unwrap_or(name.len());
                open = Some((Computation { name: &name[..end], ..Computation::default() }, is_entry));
            } else if line.starts_with(|c: char| c.is_ascii_digit()) {
                program.tables.add(table, line);
            } else {
                table = line.trim();
            }
        }
        if let Some((computation, is_entry)) = open {
            program.cut_in = Some(computation.name);
            program.add(computation, is_entry);
        }
        Some(program)
    }

    fn add(&mut self, computation: Computation<'a>, is_entry: bool) {
        let index = self.computations.len();
        self.by_name.insert(computation.name, index);
        if is_entry {
            self.entry = Some(index);
        }
        self.computations.push(computation);
    }

    /// Position of a computation.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub fn computation(&self, index: usize) -> Option<&Computation<'a>> {
        self.computations.get(index)
    }

    /// Whether the instructions are in the order of execution.
    pub fn is_scheduled(&self) -> bool {
        attribute(self.header, "is_scheduled") == Some("true")
    }

    /// How many devices run it together, where it says so.
    pub fn devices(&self) -> u64 {
        let count = |key| attribute(self.header, key).and_then(|count| count.parse::<u64>().ok()).unwrap_or(1);
        count("num_partitions").saturating_mul(count("replica_count")).max(1)
    }

    /// The Python stack of an instruction, innermost frame first: file, line, function.
    pub fn stack(&self, instruction: &Instruction<'a>) -> Vec<(&'a str, u64, &'a str)> {
        // Older compilers write the innermost frame beside each instruction.
        if let Some(file) = instruction.metadata("source_file") {
            let line = instruction.metadata("source_line").and_then(|line| line.parse().ok());
            return vec![(file, line.unwrap_or(0), "")];
        }
        let Tables { files, functions, locations, frames } = &self.tables;
        // Texts count parents from 2, so that the outermost frame seems to be its own.
        let offset = u64::from(frames.get(&1).and_then(|row| field(row, "parent_frame_id")) == Some(1));
        let mut stack = Vec::new();
        let mut number = instruction.metadata("stack_frame_id").and_then(|id| id.parse::<u64>().ok());
        while let Some(row) = number.and_then(|number| frames.get(&number)).filter(|_| stack.len() < MAX_FRAMES) {
            if let Some(location) = field(row, "file_location_id").and_then(|id| locations.get(&id)) {
                let name =
                    |table: &HashMap<u64, &'a str>, key| field(location, key).and_then(|id| table.get(&id).copied());
                let (file, function) = (name(files, "file_name_id"), name(functions, "function_name_id"));
                let line = field(location, "line").unwrap_or(0);
                stack.push((file.unwrap_or_default(), line, function.unwrap_or_default()));
            }
            number = field(row, "parent_frame_id").and_then(|parent| parent.checked_sub(offset));
        }
        stack
    }
}

impl<'a> Tables<'a> {
    /// Adds a row like `3 "file.py"` or `3 {file_name_id=1 line=7}`.
    fn add(&mut self, table: &str, line: &'a str) {
        let Some((number, value)) = line.split_once(' ') else { return };
        let Ok(number) = number.parse() else { return };
        let value = value.trim().trim_matches('"');
        match table {
            "FileNames" => self.files.insert(number, value),
            "FunctionNames" => self.functions.insert(number, value),
            "FileLocations" => self.locations.insert(number, value),
            "StackFrames" => self.frames.insert(number, value),
            _ => None,
        };
    }
}

/// The number of `key=number` in `{a=1 b=2}`.
fn field(row: &str, key: &str) -> Option<u64> {
    let inner = row.trim_start_matches('{').trim_end_matches('}');
    inner.split(' ').find_map(|pair| pair.split_once('=').filter(|(name, _)| *name == key))?.1.parse().ok()
}
