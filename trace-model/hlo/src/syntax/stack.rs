//! Source locations of instructions: the stack in the user's program.

use super::{pairs, unescaped};

/// Maximum depth of a stack.
const MAX_FRAMES: usize = 256;

/// One frame of a stack.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Source file.
    pub file: &'a str,
    /// Function; empty if not recorded.
    pub function: &'a str,
    /// Line, from 1; 0 if not recorded.
    pub line: u64,
}

/// The stack frames of a program: four flat arrays, numbered from 1; 0 stands for none.
#[derive(Debug, Default)]
pub struct StackFrames {
    /// Names of source files.
    pub files: Vec<String>,
    /// Names of functions.
    pub functions: Vec<String>,
    /// File, function, line.
    pub locations: Vec<[u64; 3]>,
    /// Location, frame of the caller.
    pub frames: Vec<[u64; 2]>,
}

/// The element at a 1-based index.
fn numbered<T>(list: &[T], number: u64) -> Option<&T> {
    list.get(index(number)?)
}

fn index(number: u64) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}

impl StackFrames {
    /// A frame with its location; `None` if the program does not record the location.
    pub fn frame(&self, number: u64) -> Option<Frame<'_>> {
        let &[location, _] = numbered(&self.frames, number)?;
        let &[file, function, line] = numbered(&self.locations, location)?;
        let text = |list, number| numbered::<String>(list, number).map_or("", String::as_str);
        Some(Frame {
            file: text(&self.files, file),
            function: text(&self.functions, function),
            line,
        })
    }

    /// The stack that starts with a frame, innermost first. Frames without a location are left out; very deep stacks
    /// are cut off.
    pub fn stack(&self, number: u64) -> impl Iterator<Item = Frame<'_>> {
        let parent = |&number: &u64| numbered(&self.frames, number).map(|&[_, parent]| parent);
        let numbers = std::iter::successors(Some(number), parent).take(MAX_FRAMES);
        numbers.filter_map(|number| self.frame(number))
    }

    /// Adds a row like `3 "file.py"` or `3 {file_name_id=1 line=7}` to the table with this heading.
    /// Rows are in the order of their numbers.
    pub(crate) fn add_row(&mut self, table: &str, line: &str) {
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

    /// HLO text numbers callers from 2, so that the outermost frame seems to call itself.
    pub(crate) fn count_callers_from_zero(&mut self) {
        if self.frames.first().is_some_and(|&[_, parent]| parent == 1) {
            let parents = self.frames.iter_mut().map(|[_, parent]| parent);
            parents.for_each(|parent| *parent = parent.saturating_sub(1));
        }
    }

    /// Cuts cycles: every stack ends before a frame would repeat. Returns the number of cycles. Takes time linear in
    /// the number of frames.
    pub fn cut_rings(&mut self) -> u64 {
        let mut rings = 0;
        // The traversal that visited each frame first; 0 for none.
        let mut seen = vec![0_usize; self.frames.len()];
        for walk in 1..=self.frames.len() {
            let mut frame = walk - 1;
            while let (Some(mark @ 0), Some(&[_, parent])) =
                (seen.get_mut(frame), self.frames.get(frame))
            {
                *mark = walk;
                let Some(next) = index(parent) else { break };
                if seen.get(next) == Some(&walk) {
                    rings += 1;
                    if let Some([_, parent]) = self.frames.get_mut(frame) {
                        *parent = 0;
                    }
                }
                frame = next;
            }
        }
        rings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(parents: &[u64]) -> StackFrames {
        StackFrames {
            files: vec!["a.py".to_owned()],
            locations: (0..parents.len() as u64)
                .map(|line| [1, 0, line + 1])
                .collect(),
            frames: parents
                .iter()
                .zip(1..)
                .map(|(&parent, location)| [location, parent])
                .collect(),
            ..StackFrames::default()
        }
    }

    fn lines(frames: &StackFrames, number: u64) -> Vec<u64> {
        frames.stack(number).map(|frame| frame.line).collect()
    }

    #[test]
    fn cycles_are_cut() {
        // 1 → 2 → 3 → 1, 4 → 2, 5 → 5, 6 → a frame that does not exist.
        let mut ring = frames(&[2, 3, 1, 2, 5, 99]);
        assert_eq!(ring.cut_rings(), 2);
        assert_eq!(
            [1, 4, 5, 6, 0].map(|number| lines(&ring, number).len()),
            [3, 3, 1, 1, 0]
        );
        assert_eq!(lines(&ring, 4), [4, 2, 3]);
        assert_eq!(ring.cut_rings(), 0);
        let mut straight = frames(&[0, 1, 2, 2]);
        assert_eq!(
            (straight.cut_rings(), lines(&straight, 4)),
            (0, vec![4, 2, 1])
        );
    }

    #[test]
    fn frames_without_a_location_are_skipped() {
        let mut stack = frames(&[0, 1, 2]);
        stack.frames[1][0] = 7;
        assert_eq!(lines(&stack, 3), [3, 1]);
    }
}
