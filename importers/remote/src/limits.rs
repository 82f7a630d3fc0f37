//! What a server may cost: a time for each phase, bytes, and a least rate of transfers.

use std::future::Future;
use std::time::{Duration, Instant};

use input::ImportError;

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

/// The result of a phase, or an error when its time is up.
pub(crate) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, ImportError>>,
) -> Result<T, ImportError> {
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
#[derive(Debug)]
pub(crate) struct TransferRate {
    since: Instant,
    bytes: u64,
}

impl TransferRate {
    /// A transfer that begins.
    pub fn new() -> Self {
        Self {
            since: Instant::now(),
            bytes: 0,
        }
    }

    /// Counts bytes that have come; an error if they come too slowly.
    pub fn add(&mut self, bytes: usize) -> Result<(), ImportError> {
        self.bytes += bytes as u64;
        self.check(self.since.elapsed())
    }

    fn check(&mut self, elapsed: Duration) -> Result<(), ImportError> {
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
        *self = Self::new();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_a_second_is_too_slow() {
        let mut rate = TransferRate {
            since: Instant::now(),
            bytes: 0,
        };
        assert!((1..30).all(|second| {
            rate.add(1).is_ok() && rate.check(Duration::from_secs(second)).is_ok()
        }));
        assert!(
            rate.check(WINDOW)
                .unwrap_err()
                .to_string()
                .contains("29 bytes in 30 s")
        );
        let mut rate = TransferRate {
            since: Instant::now(),
            bytes: LEAST_BYTES,
        };
        assert!(rate.check(WINDOW).is_ok());
        assert_eq!(rate.bytes, 0, "each window counts for itself");
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
