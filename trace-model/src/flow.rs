//! Flows from slice to slice.

use crate::slices::SliceId;

/// One flow: a launch and the program it launched, a start and its done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// Where it leaves.
    pub from: SliceId,
    /// Where it arrives.
    pub to: SliceId,
    /// Id as recorded.
    pub id: u64,
}
