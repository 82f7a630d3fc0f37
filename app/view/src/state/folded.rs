//! The groups that are folded when a trace is opened.

use crate::prelude::*;

/// With more devices than this, they are folded at first.
const MOST_UNFOLDED: usize = 16;

/// The devices of a pod, so that all of them are in sight.
pub(super) fn folded_at_first(model: &TraceModel) -> BTreeSet<GroupId> {
    let is_core = |&id: &GroupId| matches!(model.group(id).kind, GroupKind::TensorCore { .. });
    let cores: BTreeSet<GroupId> = model.group_ids().filter(is_core).collect();
    if cores.len() > MOST_UNFOLDED {
        cores
    } else {
        BTreeSet::new()
    }
}
