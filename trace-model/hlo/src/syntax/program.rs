//! A whole program: `HloModule …`, tables of sources, computations of instructions.

use super::scan::{attribute, pairs, split_commas};
use super::statements::{Statement, Statements, computation_head};
use super::{HloText, StackFrames, unescaped};

/// The text that every HLO module starts with.
pub const BEGIN: &str = "HloModule ";

/// The content of a program outside its computations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramText<'a> {
    /// The program's name.
    pub name: &'a str,
    /// The first line.
    header: &'a str,
    /// Stack frames of instructions, as written: a frame may call itself.
    pub frames: StackFrames,
    /// The computation in which the text ends.
    pub cut_in: Option<&'a str>,
}

/// A part of a computation, in the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramPart<'a> {
    /// A computation starts.
    Begin {
        /// Its name, without `%`.
        name: &'a str,
        /// Whether it is the entry computation.
        is_entry: bool,
    },
    /// One of its instructions.
    Instruction(HloText<'a>),
    /// A statement that should be an instruction but is not.
    Broken {
        /// The number of its line, from 1.
        line: usize,
        /// Its text.
        text: &'a str,
    },
    /// The computation ends.
    End,
}

impl<'a> ProgramText<'a> {
    /// Reads a text and passes each part of its computations to `visit`; `None` if the text is not a program.
    pub fn read(text: &'a str, mut visit: impl FnMut(ProgramPart<'a>)) -> Option<Self> {
        let mut statements = Statements::of(text);
        let header = statements.next()?.text.strip_prefix(BEGIN)?;
        let mut program = Self {
            name: split_commas(header).next()?,
            header,
            ..Self::default()
        };
        let (mut table, mut open) = ("", None);
        for Statement {
            line,
            text,
            is_last,
        } in statements
        {
            if text.starts_with('}') {
                if open.take().is_some() {
                    visit(ProgramPart::End);
                }
            } else if open.is_some() {
                match HloText::parse(text).filter(|instruction| !instruction.is_cut) {
                    Some(instruction) => visit(ProgramPart::Instruction(instruction)),
                    None if is_last => {}
                    None => visit(ProgramPart::Broken { line, text }),
                }
            } else if let Some((name, is_entry)) = computation_head(text) {
                open = Some(name);
                visit(ProgramPart::Begin { name, is_entry });
            } else if text.starts_with(|c: char| c.is_ascii_digit()) {
                program.frames.add_row(table, text);
            } else {
                table = text;
            }
        }
        program.cut_in = open;
        if open.is_some() {
            visit(ProgramPart::End);
        }
        // HLO text numbers callers from 2, so the outermost frame seems to call itself.
        if program
            .frames
            .frames
            .first()
            .is_some_and(|&[_, parent]| parent == 1)
        {
            program
                .frames
                .frames
                .iter_mut()
                .for_each(|[_, parent]| *parent = parent.saturating_sub(1));
        }
        Some(program)
    }

    /// The value of an attribute of the first line.
    pub fn attribute(&self, key: &str) -> Option<&'a str> {
        attribute(self.header, key)
    }
}

impl StackFrames {
    /// Adds a row like `3 "file.py"` or `3 {file_name_id=1 line=7}` to the table with this heading.
    /// Rows are in the order of their numbers.
    fn add_row(&mut self, table: &str, line: &str) {
        let Some((_, value)) = line.split_once(' ') else {
            return;
        };
        let text = || {
            let text = value.trim();
            let text = text.strip_prefix('"').unwrap_or(text);
            unescaped(text.strip_suffix('"').unwrap_or(text)).into_owned()
        };
        let number = |key| {
            pairs(value)
                .find(|&(name, _)| name == key)
                .and_then(|(_, number)| number.parse().ok())
        };
        let [file, function, line] =
            ["file_name_id", "function_name_id", "line"].map(|key| number(key).unwrap_or_default());
        match table {
            "FileNames" => self.files.push(text()),
            "FunctionNames" => self.functions.push(text()),
            "FileLocations" => self.locations.push([file, function, line]),
            "StackFrames" => {
                let [location, parent] = ["file_location_id", "parent_frame_id"]
                    .map(|key| number(key).unwrap_or_default());
                self.frames.push([location, parent]);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"HloModule jit_f, is_scheduled=true, num_partitions=4

FileNames
1 "tr\"ain.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3}
2 {file_name_id=1 function_name_id=1 line=7 end_line=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

%add (x: f32[], y: f32[]) -> f32[] {
  ROOT %x = f32[] parameter(0)
  what is this
}

ENTRY %main (a: f32[8]) -> f32[8] {
  ROOT %a = f32[8]{0} parameter(0)
}
"#;

    #[test]
    fn program_text_is_read_in_chunks() {
        let mut parts = Vec::new();
        let program = ProgramText::read(TEXT, |part| parts.push(part)).unwrap();
        assert_eq!(
            (
                program.name,
                program.attribute("num_partitions"),
                program.cut_in
            ),
            ("jit_f", Some("4"), None)
        );
        let stack: Vec<_> = program
            .frames
            .stack(2)
            .map(|frame| (frame.file, frame.function, frame.line))
            .collect();
        assert_eq!(stack, [("tr\"ain.py", "f", 7), ("tr\"ain.py", "f", 3)]);
        let begins = |name, is_entry| ProgramPart::Begin { name, is_entry };
        assert_eq!(
            [parts[0], parts[3], parts[4], parts[6]],
            [
                begins("add", false),
                ProgramPart::End,
                begins("main", true),
                ProgramPart::End
            ]
        );
        assert_eq!(
            parts[2],
            ProgramPart::Broken {
                line: 19,
                text: "what is this"
            }
        );
        assert!(matches!(
            parts[5],
            ProgramPart::Instruction(HloText {
                name: "a",
                is_root: true,
                ..
            })
        ));
        assert_eq!(ProgramText::read("HloModul", |_| ()), None);
        let cut = &TEXT[..TEXT.len() - 20];
        assert_eq!(ProgramText::read(cut, |_| ()).unwrap().cut_in, Some("main"));
    }
}
