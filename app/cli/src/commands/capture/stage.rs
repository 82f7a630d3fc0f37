//! How far a capture is, on a terminal.

use std::io::IsTerminal as _;

use capture::CaptureStage;

use crate::common::{Stderr, terminal};

/// One line on a terminal that says how far a capture is.
pub(super) struct StageLine {
    is_shown: bool,
    last: String,
}

impl StageLine {
    pub fn new(stderr: &Stderr) -> Self {
        Self {
            is_shown: stderr.warns() && std::io::stderr().is_terminal(),
            last: String::new(),
        }
    }

    /// Shows the stage; a capture always goes on.
    pub fn show(&mut self, stage: CaptureStage) -> bool {
        let text = stage.to_string();
        if self.is_shown && text != self.last {
            terminal::write_stderr(&format!("\r\x1b[K{text}"));
            self.last = text;
        }
        true
    }

    pub fn clear(&mut self) {
        if !self.last.is_empty() {
            terminal::write_stderr("\r\x1b[K");
        }
    }
}
