//! Waiting for a program that a command has started.

use std::io;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is looked whether it has ended.
const TICK: Duration = Duration::from_millis(20);

/// How a program has ended; `None` if it still runs after `most`.
pub fn ended_within(child: &mut Child, most: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        match child.try_wait()? {
            None if begun.elapsed() < most => thread::sleep(TICK),
            ended => return Ok(ended),
        }
    }
}
