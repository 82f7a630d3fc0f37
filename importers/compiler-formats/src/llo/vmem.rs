//! The report on vector memory of a program: a page whose script holds JSON.
//!
//! ```text
//! const DATA ={"global_info": {"vmem_capacity": 134217728},
//!   "hlo_breakdowns": {"matmul.1": {"blocks": [{"block_type": "SCOPED", "block_size": 1048576,
//!     "allocations": [{"size": 413696, "tag": "SPILL"}]}], "total_size": 1048576}}};
//! ```
//!
//! Registers are spilled to allocations with the tag `SPILL`, or to blocks of this type.

use importer_common::prelude::*;
use serde_json::{Deserializer, Value};
use trace_model::VmemUse;

const BEGIN: &str = "const DATA =";

/// The memory of each op; empty if the page holds nothing that can be read.
pub(super) fn read(page: &str) -> BTreeMap<String, VmemUse> {
    let data = page.split_once(BEGIN).map(|(_, data)| data);
    let value = data.and_then(|data| {
        Deserializer::from_str(data)
            .into_iter::<Value>()
            .next()?
            .ok()
    });
    let Some(value) = value else {
        return BTreeMap::new();
    };
    let limit_bytes = value["global_info"]["vmem_capacity"].as_u64();
    let ops = value["hlo_breakdowns"].as_object().into_iter().flatten();
    ops.filter_map(|(op, known)| {
        let blocks = known["blocks"].as_array().into_iter().flatten();
        let sizes = blocks.map(spill_bytes);
        let vmem = VmemUse {
            bytes: known["total_size"].as_u64()?,
            spill_bytes: sizes.fold(0, u64::saturating_add),
            limit_bytes: limit_bytes.filter(|&limit| limit > 0),
        };
        Some((op.clone(), vmem))
    })
    .collect()
}

/// Bytes of a block that hold spilled registers.
fn spill_bytes(block: &Value) -> u64 {
    if block["block_type"] == "SPILL" {
        return block["block_size"].as_u64().unwrap_or(0);
    }
    let allocations = block["allocations"].as_array().into_iter().flatten();
    let spills = allocations.filter(|allocation| allocation["tag"] == "SPILL");
    spills
        .filter_map(|allocation| allocation["size"].as_u64())
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spills_are_allocations_in_blocks() {
        let page = "const DATA ={\"hlo_breakdowns\": {\"k\": {\"total_size\": 9, \"blocks\": [{\"block_type\": \"SCOPED\", \
            \"allocations\": [{\"size\": 5, \"tag\": \"SPILL\"}, {\"size\": 3, \"tag\": \"x\"}, {\"size\": 2, \"tag\": \"SPILL\"}]}]}}};";
        assert_eq!(read(page)["k"].spill_bytes, 7);
    }

    #[test]
    fn memory_is_told_by_op() {
        let page = "<script>\nconst DATA ={\"global_info\": {\"vmem_capacity\": 134217728}, \"hlo_breakdowns\": {\"matmul.1\": \
            {\"blocks\": [{\"block_type\": \"SCOPED\", \"block_size\": 1044480}, {\"block_type\": \"SPILL\", \"block_size\": 4096}], \
            \"total_size\": 1048576}, \"odd\": {\"total_size\": -1}}};\nconst MAX = DATA.global_info;\n</script>";
        let expected = VmemUse {
            bytes: 1_048_576,
            spill_bytes: 4096,
            limit_bytes: Some(134_217_728),
        };
        assert_eq!(
            read(page),
            BTreeMap::from([("matmul.1".to_owned(), expected)])
        );
        let end = page.find("}}};").unwrap() + 3;
        for at in 0..end {
            assert!(read(&page[..at]).is_empty(), "{at}");
        }
        assert_eq!(read(&page[..end]).len(), 1, "the rest is not needed");
        assert_eq!(read("const DATA ={"), BTreeMap::new());
    }
}
