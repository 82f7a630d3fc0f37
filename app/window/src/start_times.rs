//! Prints how long the start took and quits: `systole open FILE --start-times`.

use std::time::Instant;

use crate::prelude::*;
use egui::ViewportCommand;

/// Points in time of a start.
pub struct StartTimes {
    began: Instant,
    /// When the first frame began: the window and its OpenGL context exist.
    window: Option<f64>,
    /// When the whole trace was there, in whatever frame this was noticed.
    opened: Option<f64>,
    /// When the first frame with slices was on the screen.
    first: Option<f64>,
    /// Whether the last frame drew slices, and whether of the whole trace.
    drawn: Option<bool>,
    is_printed: bool,
}

impl StartTimes {
    pub fn new() -> Self {
        Self {
            began: Instant::now(),
            window: None,
            opened: None,
            first: None,
            drawn: None,
            is_printed: false,
        }
    }

    fn elapsed(&self) -> f64 {
        self.began.elapsed().as_secs_f64() * 1e3
    }

    /// A frame begins; `is_open` tells whether a whole trace is open.
    #[expect(clippy::print_stdout, reason = "these lines are what was asked for")]
    pub fn frame_begins(&mut self, ctx: &Context, is_open: bool) {
        let now = self.elapsed();
        let window = *self.window.get_or_insert(now);
        if is_open {
            self.opened.get_or_insert(now);
        }
        let Some(is_whole) = self.drawn.take() else {
            return;
        };
        // The frame before this one is on the screen.
        let first = *self.first.get_or_insert(now);
        if is_whole {
            self.is_printed = true;
            let opened = self.opened.unwrap_or(now);
            println!(
                "window {window:.1} ms, trace {opened:.1} ms, first frame with slices {first:.1} ms, \
                 with the whole trace {now:.1} ms"
            );
            ctx.send_viewport_cmd(ViewportCommand::Close);
        }
    }

    /// A frame ends; it tells whether it drew slices, and whether of a whole trace.
    pub fn frame_ends(&mut self, ctx: &Context, has_slices: bool, is_whole: bool) {
        if has_slices && !self.is_printed {
            self.drawn = Some(is_whole);
            ctx.request_repaint();
        }
    }
}
