//! How far a capture is, on a terminal.

use std::io::{IsTerminal as _, Write as _};

use capture::CaptureStage;

use crate::common::Stderr;

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
            Self::write(&format!("\r\x1b[K{text}"));
            self.last = text;
        }
        true
    }

    pub fn clear(&mut self) {
        if !self.last.is_empty() {
            Self::write("\r\x1b[K");
        }
    }

    fn write(text: &str) {
        let mut stderr = std::io::stderr().lock();
        // A line that cannot be shown is no reason to stop.
        let _ = stderr
            .write_all(text.as_bytes())
            .and_then(|()| stderr.flush());
    }
}
