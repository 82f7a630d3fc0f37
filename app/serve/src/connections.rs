//! The connections that are open. Where there are too many, the oldest one that waits for its client ends: clients that
//! send or read slowly, or nothing, must not keep others out.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use trace_model::locked;

#[derive(Debug, Default)]
pub(super) struct OpenConnection {
    /// Whether its request is being answered, and the client takes the answer.
    is_busy: AtomicBool,
    /// Whether a write waits for the client.
    is_stuck: AtomicBool,
    end: Notify,
}

impl OpenConnection {
    /// A request has arrived as a whole, or has been answered.
    pub fn set_busy(&self, is_busy: bool) {
        self.is_busy.store(is_busy, Ordering::Relaxed);
    }

    /// A write waits for the client, or goes on.
    pub fn set_stuck(&self, is_stuck: bool) {
        self.is_stuck.store(is_stuck, Ordering::Relaxed);
    }

    /// Ends when another one needs its place.
    pub async fn ended(&self) {
        self.end.notified().await;
    }

    fn waits_for_client(&self) -> bool {
        !self.is_busy.load(Ordering::Relaxed) || self.is_stuck.load(Ordering::Relaxed)
    }
}

/// All connections, by the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Connections(Mutex<OpenList>);

#[derive(Debug, Default)]
struct OpenList {
    next: u64,
    open: BTreeMap<u64, Arc<OpenConnection>>,
}

impl Connections {
    /// Adds one; it is removed when what is returned is dropped.
    pub fn add(self: &Arc<Self>) -> ConnectionEntry {
        let connection = Arc::<OpenConnection>::default();
        let mut list = locked(&self.0);
        let id = list.next;
        list.next += 1;
        list.open.insert(id, Arc::clone(&connection));
        ConnectionEntry {
            all: Arc::clone(self),
            id,
            connection,
        }
    }

    /// Ends the oldest connection that waits for its client; false if there is none.
    pub fn end_one(&self) -> bool {
        let mut list = locked(&self.0);
        let idle = list
            .open
            .iter()
            .find(|(_, one)| one.waits_for_client())
            .map(|(id, _)| *id);
        let Some(one) = idle.and_then(|id| list.open.remove(&id)) else {
            return false;
        };
        one.end.notify_one();
        true
    }
}

/// A connection in the list.
pub(super) struct ConnectionEntry {
    all: Arc<Connections>,
    id: u64,
    pub connection: Arc<OpenConnection>,
}

impl Drop for ConnectionEntry {
    fn drop(&mut self) {
        locked(&self.all.0).open.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_that_waits_for_its_client_ends() {
        let all = Arc::new(Connections::default());
        let [busy, idle, stuck] = [(); 3].map(|()| all.add());
        busy.connection.set_busy(true);
        stuck.connection.set_busy(true);
        stuck.connection.set_stuck(true);
        assert!(all.end_one() && !all.0.lock().unwrap().open.contains_key(&idle.id));
        assert!(all.end_one() && !all.0.lock().unwrap().open.contains_key(&stuck.id));
        assert!(!all.end_one(), "what is being answered stays");
    }
}
