//! Flows between slices.

use crate::slices::SliceId;

/// One flow: a launch and the program it launched, a start and its done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// Slice at which the flow starts.
    pub from: SliceId,
    /// Slice at which the flow ends.
    pub to: SliceId,
    /// Id as recorded.
    pub id: u64,
}
