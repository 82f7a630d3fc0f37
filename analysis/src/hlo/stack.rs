//! Where in the user's program an instruction comes from.

use super::Instruction;
use super::module::HloModule;

/// Deepest stack that is followed: a ring of frames must end somewhere.
const MAX_FRAMES: usize = 256;

/// One frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Source file.
    pub file: &'a str,
    /// Function; empty where not recorded.
    pub function: &'a str,
    /// Line, from 1; 0 where not recorded.
    pub line: u64,
}

/// Frames that instructions refer to: four flat arrays, numbered from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StackFrames {
    pub(super) files: Vec<String>,
    pub(super) functions: Vec<String>,
    /// File, function, line.
    pub(super) locations: Vec<[u64; 3]>,
    /// Location, parent frame.
    pub(super) frames: Vec<[u64; 2]>,
}

/// The element with a number that counts from 1.
fn numbered<T>(list: &[T], number: u64) -> Option<&T> {
    usize::try_from(number).ok()?.checked_sub(1).and_then(|index| list.get(index))
}

impl StackFrames {
    fn frame(&self, number: u64) -> Option<(Frame<'_>, u64)> {
        let &[location, parent] = numbered(&self.frames, number)?;
        let &[file, function, line] = numbered(&self.locations, location)?;
        let text = |list, number| numbered::<String>(list, number).map_or("", String::as_str);
        Some((Frame { file: text(&self.files, file), function: text(&self.functions, function), line }, parent))
    }
}

impl HloModule {
    /// The stack that made an instruction, innermost frame first; a single frame where
    /// only a file and line are recorded, none where nothing is.
    pub fn stack<'a>(&'a self, instruction: &'a Instruction) -> Vec<Frame<'a>> {
        let mut frames = Vec::new();
        let mut number = u64::from(instruction.stack_frame);
        while let Some((frame, parent)) = self.frames.frame(number).filter(|_| frames.len() < MAX_FRAMES) {
            frames.push(frame);
            number = parent;
        }
        if frames.is_empty() && !instruction.source_file.is_empty() {
            frames.push(Frame {
                file: &instruction.source_file,
                function: "",
                line: u64::from(instruction.source_line),
            });
        }
        frames
    }

    /// `file:line` of an instruction; `None` where it is not recorded.
    pub fn source(&self, instruction: &Instruction) -> Option<String> {
        let recorded = (!instruction.source_file.is_empty())
            .then_some((&*instruction.source_file, u64::from(instruction.source_line)));
        let innermost =
            || self.frames.frame(u64::from(instruction.stack_frame)).map(|(frame, _)| (frame.file, frame.line));
        let (file, line) = recorded.or_else(innermost).filter(|(file, _)| !file.is_empty())?;
        Some(format!("{file}:{line}"))
    }
}
