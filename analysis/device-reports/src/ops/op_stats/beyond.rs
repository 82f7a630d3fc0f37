//! Rates above a peak: impossible, so the amount of work, or the peak, is wrong.
//!
//! The work of such an op against that limit is excluded from all sums. Its time counts like any other.

use facts::prelude::*;
use hardware::peaks::PeakSource;

use super::OpRow;
use super::report::{BeyondPeak, CoreOps};

/// Why an op can seem to exceed a limit, as a clause.
pub fn cause(model: &TraceModel, row: &OpRow, limit: BoundBy, peaks: &Peaks) -> &'static str {
    if model
        .sources()
        .iter()
        .any(|source| source.simulator.is_some())
    {
        return "its time is computed, not measured";
    }
    let assumed = limit
        .peak(peaks)
        .is_some_and(|peak| peak.source != PeakSource::Recorded);
    if limit != BoundBy::Compute && row.costs.hbm_estimate_bytes.is_some() {
        "its bytes are estimated from shapes: it read a part of them, or they stayed on the chip"
    } else if assumed {
        "the peak is assumed: is it the right chip? Otherwise the costs are too high"
    } else if row.is_custom_call {
        "its author declares more work than it does, such as blocks that a mask skips"
    } else if limit == BoundBy::Compute && row.group == OpGroup::MatMul {
        "the compiler counts work that was not done, or its operands are narrower than bf16"
    } else {
        "the compiler counts work that was not done, or bytes that stayed on the chip"
    }
}

/// One clause for each limit that is exceeded: `3 ops above the peak of HBM …`.
pub(super) fn notes(cores: &[CoreOps], rows: &[OpRow]) -> Vec<String> {
    let all: Vec<&CoreOps> = cores.iter().collect();
    let note = |limit: BoundBy| {
        let ops = all
            .iter()
            .filter_map(|core| {
                core.beyond_peak
                    .iter()
                    .find(|beyond| beyond.limit == limit)
                    .map(|beyond| beyond.ops)
            })
            .max()
            .unwrap_or_default();
        let (ops, verb) = if ops == 1 {
            ("1 op".to_owned(), "is")
        } else {
            (format!("{ops} ops"), "are")
        };
        let what = if limit == BoundBy::Compute {
            "operations"
        } else {
            "bytes"
        };
        let time = BeyondPeak::time_of(&all, limit);
        let outer = match rows
            .iter()
            .filter(|row| {
                !row.is_leaf
                    && row
                        .rates
                        .beyond_peak
                        .is_some_and(|(beyond, _)| beyond == limit)
            })
            .count()
        {
            0 => String::new(),
            count => format!(
                ", which never count the {} with others inside that are above it, too",
                counted(count, "op")
            ),
        };
        format!(
            "{ops} of {time} {verb} above the peak ({}), which is impossible: their {what} are left out of sums{outer}",
            limit.title()
        )
    };
    BoundBy::ALL
        .into_iter()
        .filter(|limit| {
            all.iter()
                .any(|core| core.beyond_peak.iter().any(|beyond| beyond.limit == *limit))
        })
        .map(note)
        .collect()
}
