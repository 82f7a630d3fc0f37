//! Work that takes longer than a frame: named threads (in a browser, tasks that pause for frames), one result each, the
//! newest request wins. Nothing here depends on egui; waking the window is a closure.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use crate::prelude::*;

use crate::platform;

/// The error of a cancelled job; not shown.
pub const CANCELLED: &str = "cancelled";

/// Called on a worker thread when [`Worker::poll`] has something to take.
pub type WakeUi = Arc<dyn Fn() + Send + Sync>;

/// A result that may still be missing.
#[derive(Debug, Default)]
pub enum JobAnswer<T> {
    /// Nothing was requested.
    #[default]
    Empty,
    /// Being computed; `previous` is the result of an older request.
    Running {
        /// Shown until the new result arrives.
        previous: Option<T>,
    },
    Ready(T),
    Failed {
        /// The reason, as a sentence.
        error: String,
        /// The result of an older request.
        previous: Option<T>,
    },
}

impl<T> JobAnswer<T> {
    /// The result, or the previous one.
    pub fn latest(&self) -> Option<&T> {
        match self {
            Self::Empty => None,
            Self::Ready(value) => Some(value),
            Self::Running { previous } | Self::Failed { previous, .. } => previous.as_ref(),
        }
    }

    /// Whether a result is being computed.
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running { .. })
    }

    fn into_latest(self) -> Option<T> {
        match self {
            Self::Empty => None,
            Self::Ready(value) => Some(value),
            Self::Running { previous } | Self::Failed { previous, .. } => previous,
        }
    }
}

type Task<T> = Box<dyn FnOnce(Arc<Progress>, AnswerSlot<T>) + Send>;

/// Where a task leaves its result, at once or later. Dropped without one, the task has failed.
pub struct AnswerSlot<T> {
    sender: Option<SyncSender<Result<T, String>>>,
    wake: WakeUi,
}

impl<T> AnswerSlot<T> {
    /// Leaves the result; the error is a sentence.
    pub fn give(self, result: Result<T, String>) {
        if let Some(sender) = &self.sender {
            // The receiver is dropped when the result is no longer needed.
            let _unwanted = sender.send(result);
        }
    }
}

impl<T> Drop for AnswerSlot<T> {
    fn drop(&mut self) {
        // The channel is closed before waking, so that both a panic and a result are noticed.
        drop(self.sender.take());
        (self.wake)();
    }
}

struct RunningJob<K, T> {
    key: K,
    progress: Arc<Progress>,
    answer: Receiver<Result<T, String>>,
}

/// Computes one kind of result, one at a time.
pub struct Worker<K, T> {
    name: &'static str,
    wake: WakeUi,
    running: Option<RunningJob<K, T>>,
    /// A request that waits until the running one, which was cancelled, ends.
    next: Option<(K, Task<T>)>,
    /// The request that [`Self::memo`] answers.
    key: Option<K>,
    memo: JobAnswer<T>,
}

impl<K: PartialEq + Clone, T: Send + 'static> Worker<K, T> {
    /// A worker; `name` is the name of its threads.
    pub fn new(name: &'static str, wake: &WakeUi) -> Self {
        Self {
            name,
            wake: Arc::clone(wake),
            running: None,
            next: None,
            key: None,
            memo: JobAnswer::Empty,
        }
    }

    /// Requests `key`, unless it was the last request. An older request that is still running is cancelled; only the
    /// newest one waits.
    pub fn ask(
        &mut self,
        key: K,
        task: impl FnOnce(&Progress) -> Result<T, String> + Send + 'static,
    ) {
        self.ask_later(key, move |progress, answer| answer.give(task(&progress)));
    }

    /// Starts a task that may give its answer after it has returned.
    pub fn ask_later(
        &mut self,
        key: K,
        task: impl FnOnce(Arc<Progress>, AnswerSlot<T>) + Send + 'static,
    ) {
        if self.key.as_ref() == Some(&key) {
            return;
        }
        self.key = Some(key.clone());
        self.memo = JobAnswer::Running {
            previous: std::mem::take(&mut self.memo).into_latest(),
        };
        self.next = Some((key, Box::new(task)));
        match &self.running {
            Some(running) => running.progress.cancel(),
            None => self.start_next(),
        }
    }

    /// Forgets the request and its result.
    pub fn clear(&mut self) {
        if let Some(running) = &self.running {
            running.progress.cancel();
        }
        self.next = None;
        self.key = None;
        self.memo = JobAnswer::Empty;
    }

    /// Cancels the running task; whatever it returns then is the result.
    pub fn cancel(&self) {
        if let Some(running) = &self.running {
            running.progress.cancel();
        }
    }

    /// Takes a finished result over; returns whether [`Self::memo`] changed.
    pub fn poll(&mut self) -> bool {
        let Some(running) = &self.running else {
            return false;
        };
        let answer = match running.answer.try_recv() {
            Ok(answer) => answer,
            Err(TryRecvError::Empty) => return false,
            Err(TryRecvError::Disconnected) => {
                Err(format!("the {} thread stopped unexpectedly", self.name))
            }
        };
        // If another request waits, this one was cancelled, even if both are equal.
        let wanted = self.next.is_none() && self.key.as_ref() == Some(&running.key);
        self.running = None;
        if wanted {
            let previous = std::mem::take(&mut self.memo).into_latest();
            self.memo = match answer {
                Ok(value) => JobAnswer::Ready(value),
                Err(error) => JobAnswer::Failed { error, previous },
            };
        }
        self.start_next();
        wanted
    }

    pub fn memo(&self) -> &JobAnswer<T> {
        &self.memo
    }

    /// The latest result.
    pub fn latest(&self) -> Option<&T> {
        self.memo.latest()
    }

    /// Whether a request is being answered.
    pub fn is_running(&self) -> bool {
        self.memo.is_running()
    }

    /// Takes the result out and leaves nothing.
    pub fn take(&mut self) -> JobAnswer<T> {
        if !self.memo.is_running() {
            self.key = None;
        }
        std::mem::take(&mut self.memo)
    }

    pub fn key(&self) -> Option<&K> {
        self.key.as_ref()
    }

    /// Progress of the computation.
    pub fn progress(&self) -> Option<&Progress> {
        self.running.as_ref().map(|running| &*running.progress)
    }

    fn start_next(&mut self) {
        let Some((key, task)) = self.next.take() else {
            return;
        };
        let progress = Arc::new(Progress::new());
        let (sender, answer) = sync_channel(1);
        let slot = AnswerSlot {
            sender: Some(sender),
            wake: Arc::clone(&self.wake),
        };
        let for_task = Arc::clone(&progress);
        let spawned = platform::run(self.name, move || task(for_task, slot));
        match spawned {
            Ok(()) => {
                self.running = Some(RunningJob {
                    key,
                    progress,
                    answer,
                });
            }
            Err(error) => {
                self.memo = JobAnswer::Failed {
                    error: format!("cannot start a thread: {error}"),
                    previous: None,
                };
            }
        }
    }
}

impl<K, T> Drop for Worker<K, T> {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            running.progress.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    fn worker() -> Worker<u32, u32> {
        Worker::new("test", &(Arc::new(|| {}) as WakeUi))
    }

    fn wait(worker: &mut Worker<u32, u32>) {
        let start = Instant::now();
        while worker.memo().is_running() {
            worker.poll();
            assert!(start.elapsed() < Duration::from_secs(10), "no answer");
            std::thread::yield_now();
        }
    }

    #[test]
    fn result_is_computed_once() {
        let calls = Arc::new(AtomicUsize::new(0));
        let mut worker = worker();
        for _ in 0..5 {
            let calls = Arc::clone(&calls);
            worker.ask(1, move |_| {
                calls.fetch_add(1, Ordering::SeqCst);
                Ok(10)
            });
            wait(&mut worker);
        }
        assert!(matches!(worker.memo(), JobAnswer::Ready(10)));
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn newest_request_cancels_the_old_one() {
        let mut worker = worker();
        worker.ask(1, |progress| {
            while progress.check().is_ok() {
                std::thread::yield_now();
            }
            Ok(1)
        });
        worker.ask(2, |_| panic!("never started: a newer one came"));
        worker.ask(3, |_| Ok(3));
        wait(&mut worker);
        assert!(matches!(worker.memo(), JobAnswer::Ready(3)));
    }

    #[test]
    fn previous_result_stays_until_the_next_succeeds() {
        let mut worker = worker();
        worker.ask(1, |_| Ok(1));
        wait(&mut worker);
        worker.ask(2, |_| Err("no".to_owned()));
        assert_eq!(worker.memo().latest(), Some(&1));
        wait(&mut worker);
        assert!(
            matches!(worker.memo(), JobAnswer::Failed { error, previous: Some(1) } if error == "no")
        );
    }

    #[test]
    fn a_panic_becomes_a_failure() {
        let mut worker = worker();
        worker.ask(1, |_| panic!("expected by this test"));
        wait(&mut worker);
        assert!(matches!(worker.memo(), JobAnswer::Failed { .. }));
    }

    #[test]
    fn same_request_after_clearing_is_computed_again() {
        let mut worker = worker();
        worker.ask(1, |progress| {
            while progress.check().is_ok() {
                std::thread::yield_now();
            }
            Err("cancelled".to_owned())
        });
        worker.clear();
        worker.ask(1, |_| Ok(1));
        wait(&mut worker);
        assert!(matches!(worker.memo(), JobAnswer::Ready(1)));
    }

    #[test]
    fn cancelled_request_reports_it_and_can_be_repeated() {
        let mut worker = worker();
        worker.ask(1, |progress| {
            while progress.check().is_ok() {
                std::thread::yield_now();
            }
            Err("stopped".to_owned())
        });
        worker.cancel();
        wait(&mut worker);
        assert!(matches!(worker.memo(), JobAnswer::Failed { error, .. } if error == "stopped"));
        worker.clear();
        worker.ask(1, |_| Ok(1));
        wait(&mut worker);
        assert!(matches!(worker.memo(), JobAnswer::Ready(1)));
    }

    #[test]
    fn clearing_drops_running_requests() {
        let mut worker = worker();
        worker.ask(1, |_| Ok(1));
        worker.clear();
        worker.poll();
        assert!(matches!(worker.memo(), JobAnswer::Empty));
        // Results arrive in the order of requests: once the second is there, so is the first.
        worker.ask(2, |_| Ok(2));
        wait(&mut worker);
        assert!(matches!(worker.memo(), JobAnswer::Ready(2)));
    }
}
