//! Source positions of instructions.

use super::module::HloModule;
use super::{Frame, Instruction};

impl HloModule {
    /// The stack of an instruction, innermost frame first; a single frame if only a file and line are recorded, empty
    /// if nothing is.
    pub fn stack<'a>(&'a self, instruction: &'a Instruction) -> Vec<Frame<'a>> {
        let mut frames: Vec<Frame<'_>> = self
            .frames
            .stack(u64::from(instruction.stack_frame))
            .collect();
        if frames.is_empty() && !instruction.source_file.is_empty() {
            frames.push(Frame {
                file: &instruction.source_file,
                function: "",
                line: u64::from(instruction.source_line),
            });
        }
        frames
    }

    /// `file:line` of an instruction; `None` if it is not recorded.
    pub fn source(&self, instruction: &Instruction) -> Option<String> {
        let recorded = (!instruction.source_file.is_empty()).then_some((
            &*instruction.source_file,
            u64::from(instruction.source_line),
        ));
        let innermost = || {
            self.frames
                .stack(u64::from(instruction.stack_frame))
                .next()
                .map(|frame| (frame.file, frame.line))
        };
        let (file, line) = recorded
            .or_else(innermost)
            .filter(|(file, _)| !file.is_empty())?;
        Some(format!("{file}:{line}"))
    }
}
