//! What a server may cost: a time for each phase, bytes, and a least rate of transfers.

use std::future::Future;
use std::time::{Duration, Instant};

use input::{ImportError, Result};

use super::settings::RETRIES;

/// For one question, with its retries: whether an object is there, how long it is, how it begins.
pub(crate) const ASK: Duration = Duration::from_mins(2);
/// For a list of all objects.
pub(crate) const LIST: Duration = Duration::from_mins(5);
/// Most bytes of a file: more than any profile has that a machine can open.
pub(crate) const MOST_BYTES: u64 = 64 << 30;
/// Most bytes where the server does not say how long the file is: it may have no end.
pub(crate) const MOST_UNKNOWN: u64 = 4 << 30;
/// Bytes that a transfer must have brought in so long a time.
const LEAST_BYTES: u64 = 32 << 10;
const WINDOW: Duration = Duration::from_secs(30);
/// Longest silence of a server: its connection is given up then, and another one goes on with what is missing.
pub(crate) const SILENCE: Duration = Duration::from_secs(30);

/// The result of a phase, or an error when its time is up.
pub(crate) async fn within<T>(limit: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(limit, work)
        .await
        .unwrap_or_else(|_elapsed| {
            let what = format!("the server has not answered within {} s", limit.as_secs());
            Err(ImportError::Remote { what })
        })
}

/// The error about a file that is too long.
pub(crate) fn too_long(most: u64) -> ImportError {
    ImportError::TooLarge {
        what: format!("the file is longer than {} GB, the limit", most >> 30),
    }
}

/// The rate of one transfer.
pub(crate) struct TransferRate {
    since: Instant,
    bytes: u64,
    /// When bytes came last, and how often nothing came for so long that the connection was given up.
    last: Instant,
    silences: usize,
}

impl TransferRate {
    /// A transfer that begins.
    pub fn new() -> Self {
        let now = Instant::now();
        Self {
            since: now,
            bytes: 0,
            last: now,
            silences: 0,
        }
    }

    /// Counts bytes that have come; an error if they come too slowly.
    pub fn add(&mut self, bytes: usize) -> Result<()> {
        self.add_at(bytes, Instant::now())
    }

    fn add_at(&mut self, bytes: usize, now: Instant) -> Result<()> {
        let was_silent = now.duration_since(self.last) >= SILENCE;
        self.last = now;
        if was_silent && self.silences < RETRIES {
            // A server that stalled is no slow one, unless it does so again and again.
            self.silences += 1;
            (self.since, self.bytes) = (now, 0);
        }
        self.bytes += bytes as u64;
        self.check(now.duration_since(self.since))
    }

    fn check(&mut self, elapsed: Duration) -> Result<()> {
        if elapsed < WINDOW {
            return Ok(());
        }
        if self.bytes < LEAST_BYTES {
            let what = format!(
                "the transfer is too slow: {} bytes in {} s, and {LEAST_BYTES} in {} s are the least",
                self.bytes,
                elapsed.as_secs(),
                WINDOW.as_secs()
            );
            return Err(ImportError::Remote { what });
        }
        (self.since, self.bytes) = (self.since + elapsed, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_a_second_is_too_slow() {
        let mut rate = TransferRate::new();
        let begun = rate.since;
        let at = |second| begun + Duration::from_secs(second);
        assert!((1..30).all(|second| rate.add_at(1, at(second)).is_ok()));
        let why = rate.add_at(1, at(30)).unwrap_err().to_string();
        assert!(why.contains("30 bytes in 30 s"), "{why}");

        let mut rate = TransferRate::new();
        let begun = rate.since;
        assert!(
            rate.add_at(LEAST_BYTES as usize, begun + WINDOW / 2)
                .is_ok()
        );
        assert!(rate.add_at(0, begun + WINDOW).is_ok());
        assert_eq!(rate.bytes, 0, "each window counts for itself");
    }

    #[test]
    fn a_server_that_stalls_is_not_slow_until_it_does_so_often() {
        let mut rate = TransferRate::new();
        let begun = rate.since;
        let after = |stalls: usize| begun + SILENCE * u32::try_from(stalls).unwrap();
        assert!((1..=RETRIES).all(|stall| rate.add_at(1, after(stall)).is_ok()));
        assert!(rate.add_at(1, after(RETRIES + 1)).is_err());
    }

    #[test]
    fn a_phase_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let never = within(
            Duration::from_millis(20),
            std::future::pending::<Result<(), _>>(),
        );
        assert!(
            runtime
                .block_on(never)
                .unwrap_err()
                .to_string()
                .contains("has not answered")
        );
    }
}
