//! What attention reads of a cache of keys and values.
//!
//! The lengths of the sequences say how much of a cache a step reads. Where attention is a kernel that is known by name, its
//! declared bytes tell it, if the author gave them, or its shapes, if these are as long as the sequences. The keys of paged
//! attention are in pages, and the lengths are values of an operand, which captures do not hold: then it is known only how
//! much it can be.

use device_reports::Kernels;
use device_reports::ops::kernels::CostLimit;
use facts::prelude::*;
use hardware::limits::is_beyond_peak;
use hardware::peaks::Peak;

use super::report::CacheFrom;

/// What the attention kernels of a program read, over all executions.
#[derive(Debug, Default)]
pub(super) struct CacheReads {
    /// By their shapes.
    shapes: Option<f64>,
    /// Whether these are limits.
    is_limit: bool,
    /// As declared; `None` if one declares nothing.
    declared: Option<f64>,
}

/// What the kernels of each program read of a cache, by name of the program.
pub(super) fn cache_reads(cx: &Context<'_>) -> BTreeMap<String, CacheReads> {
    let mut by_program: BTreeMap<String, CacheReads> = BTreeMap::new();
    let Ok(report) = cx.report::<Kernels>() else {
        return by_program;
    };
    for cost in &report.costs {
        let Some(bytes) = cost.cache_bytes else {
            continue;
        };
        let runs = cost.occurrences as f64;
        let all = bytes as f64 * runs;
        let declared = cost.declared_bytes.map(|bytes| bytes as f64 * runs);
        let reads = by_program
            .entry(cost.program.to_string())
            .or_insert(CacheReads {
                declared: Some(0.0),
                ..CacheReads::default()
            });
        reads.shapes = Some(reads.shapes.unwrap_or(0.0) + all);
        reads.is_limit |= cost.limit == CostLimit::AtMost;
        reads.declared = reads.declared.zip(declared).map(|(a, b)| a + b);
    }
    by_program
}

impl CacheReads {
    /// What is known of the bytes that all executions read, in `time_ps` altogether, of a program that updates
    /// parameters as large as a cache, if `may_cache`.
    pub fn known(
        &self,
        time_ps: f64,
        peak: Option<Peak>,
        may_cache: bool,
    ) -> (CacheFrom, Option<f64>) {
        // More than HBM can deliver is no measure.
        let is_possible = |bytes: f64| {
            peak.is_none_or(|peak| {
                !is_beyond_peak(100.0 * bytes * 1e12 / time_ps / peak.per_second)
            })
        };
        match (self.shapes, self.declared) {
            (None, _) if !may_cache => (CacheFrom::NoCache, None),
            (Some(shapes), _) if !self.is_limit => (CacheFrom::Shapes, Some(shapes)),
            (Some(_), Some(declared)) if is_possible(declared) => {
                (CacheFrom::Declared, Some(declared))
            }
            _ => (CacheFrom::NotKnown, None),
        }
    }

    /// The most that all executions can read, if it is not known how much they do.
    pub fn limit(&self) -> Option<f64> {
        self.shapes.filter(|_| self.is_limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hardware::peaks::PeakSource;

    #[test]
    fn declared_bytes_count_where_shapes_are_limits() {
        let peak = Some(Peak {
            per_second: 1e12,
            source: PeakSource::Recorded,
        });
        let known = |shapes, is_limit, declared, may_cache| {
            let reads = CacheReads {
                shapes,
                is_limit,
                declared,
            };
            // A millisecond: a gigabyte at most.
            reads.known(1e9, peak, may_cache)
        };
        assert_eq!(known(None, false, None, false), (CacheFrom::NoCache, None));
        assert_eq!(known(None, false, None, true), (CacheFrom::NotKnown, None));
        let exact = known(Some(4e6), false, Some(9e6), true);
        assert_eq!(exact, (CacheFrom::Shapes, Some(4e6)));
        let limited = |declared| known(Some(4e8), true, declared, true);
        assert_eq!(limited(Some(9e6)), (CacheFrom::Declared, Some(9e6)));
        assert_eq!(limited(Some(2e9)), (CacheFrom::NotKnown, None));
        assert_eq!(limited(None), (CacheFrom::NotKnown, None));
    }
}
