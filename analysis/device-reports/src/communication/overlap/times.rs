//! The times of sets of transfers, over all devices.

use facts::GroupPlace;
use facts::prelude::*;

/// Which transfers are summed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TransferSet {
    /// Those of a kind on one device.
    Copies(String),
    /// Those of a kind between devices.
    Collectives(String),
    /// Those of a kind between devices that are fused with other work (`true`), or those that are not.
    Part(String, bool),
    /// Those between devices along one axis of the mesh.
    Along(GroupPlace),
}

/// The time in flight or of the ops over all devices, and the part of it in which they computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KindTime {
    pub time: Picos,
    pub hidden: Picos,
}

/// The times of all sets of transfers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TransferTimes(pub(super) BTreeMap<TransferSet, KindTime>);

impl TransferTimes {
    pub(super) fn of(&self, set: &TransferSet) -> KindTime {
        self.0.get(set).copied().unwrap_or_default()
    }

    /// Those of the collectives of a kind that are fused with other work, or of the others.
    pub fn collectives(&self, kind: &str, is_fused: bool) -> KindTime {
        self.of(&TransferSet::Part(kind.to_owned(), is_fused))
    }

    /// Those of the collectives along one axis of the mesh.
    pub fn along(&self, place: GroupPlace) -> KindTime {
        self.of(&TransferSet::Along(place))
    }
}
