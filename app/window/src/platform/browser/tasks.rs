//! Tasks beside the frames, one at a time, which the page interrupts for its frames.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use web_time::Instant;

use super::script::call;

/// Something to do later.
type PageTask = Box<dyn FnOnce() + Send>;

/// How long a task runs at least until the page may draw and take input.
const LEAST: Duration = Duration::from_millis(8);
/// And at most: a key must not wait longer.
const MOST: Duration = Duration::from_millis(40);

thread_local! {
    static WAITING: RefCell<VecDeque<PageTask>> = const { RefCell::new(VecDeque::new()) };
    /// When the running task was begun or went on; `None` while none runs, and where the page cannot interrupt any.
    static WENT_ON: Cell<Option<Instant>> = const { Cell::new(None) };
    /// How long it runs until the next pause.
    static SLICE: Cell<Duration> = const { Cell::new(LEAST) };
}

/// Runs a task beside the frames.
pub fn run(_name: &str, task: impl FnOnce() + Send + 'static) -> io::Result<()> {
    WAITING.with_borrow_mut(|waiting| waiting.push_back(Box::new(task)));
    let _ = call("work", &[]);
    Ok(())
}

/// Runs the task that has waited longest. Returns whether another one waits. `can_pause` says whether [`pause`] may be
/// called by it, which needs a browser that can interrupt WebAssembly.
pub fn run_task(can_pause: bool) -> bool {
    let task = WAITING.with_borrow_mut(VecDeque::pop_front);
    WENT_ON.set(can_pause.then(Instant::now));
    if let Some(task) = task {
        task();
    }
    WENT_ON.set(None);
    WAITING.with_borrow(|waiting| !waiting.is_empty())
}

/// Interrupts a task by `stop` once it has run for a while. Frames that are drawn meanwhile are not interrupted. Where they
/// are slow, the task gets as much time as they took, so that it does not last for ever.
pub fn pause(stop: impl FnOnce()) {
    if WENT_ON
        .get()
        .is_some_and(|went_on| went_on.elapsed() >= SLICE.get())
    {
        WENT_ON.set(None);
        let stopped = Instant::now();
        stop();
        SLICE.set(stopped.elapsed().clamp(LEAST, MOST));
        WENT_ON.set(Some(Instant::now()));
    }
}
