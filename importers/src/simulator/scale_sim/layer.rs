//! A layer and its traffic, as the reports and traces describe them.

use trace_model::Arg;

use crate::common::csv_table::RowArgs;

/// What a trace holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DramTraceCounts {
    /// Cells with an address.
    pub(super) words: u64,
    /// First cycle of the first bin.
    pub(super) first: i64,
    /// Cycles of a bin.
    pub(super) bin_cycles: i64,
    /// Words in each bin.
    pub(super) bins: Vec<u64>,
}

/// One of the three streams of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScaleSimStream {
    /// `IFMAP`, as the reports and traces call it.
    pub(super) name: &'static str,
    /// As [`ScaleSimStream::name`] in `DETAILED_ACCESS_REPORT.csv`.
    pub(super) report_name: &'static str,
    /// Whether the array writes it.
    pub(super) is_written: bool,
}

/// Inputs, weights and results.
pub(super) const STREAMS: [ScaleSimStream; 3] = [
    ScaleSimStream { name: "IFMAP", report_name: "IFMAP", is_written: false },
    ScaleSimStream { name: "FILTER", report_name: "Filter", is_written: false },
    ScaleSimStream { name: "OFMAP", report_name: "OFMAP", is_written: true },
];

/// What a stream does in one memory, in cycles of the layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ScaleSimTraffic {
    pub(super) first: i64,
    /// Included.
    pub(super) last: i64,
    pub(super) words: u64,
}

/// The traffic of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct ScaleSimAccess {
    pub(super) sram: ScaleSimTraffic,
    pub(super) dram: ScaleSimTraffic,
    /// What the DRAM trace holds, where there is one.
    pub(super) counted: Option<DramTraceCounts>,
    /// The report counts more than is possible, and there is no trace with the actual number.
    pub(super) is_padded: bool,
}

impl ScaleSimAccess {
    /// Words to or from DRAM; `None` if only a count with padding is known.
    pub(super) fn dram_words(&self) -> Option<u64> {
        self.counted.as_ref().map(|counted| counted.words).or((!self.is_padded).then_some(self.dram.words))
    }
}

/// One layer.
#[derive(Clone, Debug, Default)]
pub(super) struct ScaleSimLayer {
    /// Number in the reports.
    pub(super) id: u64,
    pub(super) name: String,
    /// Cycles of the array.
    pub(super) cycles: i64,
    pub(super) stalls: i64,
    /// Percent of all multipliers in all cycles.
    pub(super) overall: Option<f64>,
    /// Percent of the multipliers that data is mapped to.
    pub(super) mapping: Option<f64>,
    /// In the order of [`STREAMS`].
    pub(super) access: Option<[ScaleSimAccess; 3]>,
    /// What the reports say.
    pub(super) rows: Vec<RowArgs>,
    /// What it computes, for people.
    pub(super) sizes: Option<Arg>,
}

impl ScaleSimLayer {
    /// Cycles × share of the multipliers: the multiplications, once their number is known.
    pub(super) fn busy_cycles(&self) -> Option<f64> {
        Some(self.cycles as f64 * self.overall? / 100.0)
    }

    /// Cycles that the array waits for the first data.
    pub(super) fn prefetch(&self) -> i64 {
        let firsts = self.reads().map(|access| access.dram.first);
        firsts.min().map_or(0, |first| (-first).max(0))
    }

    /// From the first compute cycle until everything is done.
    pub(super) fn end(&self) -> i64 {
        let ends =
            self.access.iter().flatten().filter(|access| access.dram.words > 0).map(|access| access.dram.last + 1);
        ends.max().unwrap_or(0).max(self.cycles)
    }

    fn reads(&self) -> impl Iterator<Item = &ScaleSimAccess> {
        let all = self.access.iter().flatten().zip(STREAMS);
        all.filter(|(access, stream)| !stream.is_written && access.dram.words > 0).map(|(access, _)| access)
    }
}
