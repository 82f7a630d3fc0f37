//! The report on vector memory of a program: a page whose script holds JSON.
//!
//! ```text
//! const DATA ={"global_info": {"vmem_capacity": 134217728},
//!   "hlo_breakdowns": {"matmul.1": {"blocks": [{"block_type": "SCOPED", "block_size": 1048576}], "total_size": 1048576}}};
//! ```

use std::collections::BTreeMap;

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
        let spills = blocks.filter(|block| block["block_type"] == "SPILL");
        let sizes = spills.filter_map(|block| block["block_size"].as_u64());
        let found = VmemUse {
            bytes: known["total_size"].as_u64()?,
            spill_bytes: sizes.fold(0, u64::saturating_add),
            limit_bytes: limit_bytes.filter(|&limit| limit > 0),
        };
        Some((op.clone(), found))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
