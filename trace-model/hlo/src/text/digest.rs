//! What an instruction says beside its shape, operands and computations, as one number by which two are compared.

use std::hash::{DefaultHasher, Hasher as _};

use crate::syntax::{CALLING, HloText, ReplicaGroups, split_attributes};

/// Attributes that, beside those that name computations, name things, number them anew in each compilation, or are compared in another way.
const LEFT_OUT: [&str; 12] = [
    "metadata",
    "backend_config",
    "channel_id",
    "origin",
    "original_value",
    "statistics",
    "frontend_attributes",
    "control-predecessors",
    "async_execution_thread",
    "output_to_operand_aliasing",
    "custom_call_schedule",
    "api_version",
];

/// Digest of the attributes and literals, whatever the order of the attributes.
pub(super) fn content(hlo: &HloText<'_>) -> u64 {
    let attributes = split_attributes(hlo.attributes).map(|attribute| {
        let (key, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        let key = key.trim();
        // Groups that can be read are compared by what they are.
        let is_read =
            || ReplicaGroups::parse(value.trim()).is_some_and(|groups| groups.expand().is_some());
        if LEFT_OUT.contains(&key) || CALLING.contains(&key) || key == "replica_groups" && is_read()
        {
            0
        } else {
            hash(&(key, value.trim()))
        }
    });
    let attributes = attributes.fold(0, u64::wrapping_add);
    // The text between the parentheses is a value, and names of operands elsewhere.
    match hlo.opcode {
        "constant" => attributes.wrapping_add(hash(&hlo.operands.trim())),
        _ => attributes,
    }
}

/// Digest of the backend's configuration; 0 for none.
pub(super) fn config(hlo: &HloText<'_>) -> u64 {
    hlo.attribute("backend_config").map_or(0, |it| hash(&it))
}

fn hash(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
