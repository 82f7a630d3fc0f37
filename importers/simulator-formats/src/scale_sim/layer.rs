//! A layer and its memory traffic, from the reports and traces.

use importer_common::csv_table::RowArgs;
use trace_model::Arg;

/// The counted content of a trace.
#[derive(Debug)]
pub(super) struct DramTraceCounts {
    /// Number of cells with an address.
    pub words: u64,
    /// First cycle of the first bin.
    pub first: i64,
    /// Number of cycles per bin.
    pub bin_cycles: i64,
    /// Number of words in each bin.
    pub bins: Vec<u64>,
}

/// One of the three streams of a layer.
#[derive(Clone, Copy)]
pub(super) struct ScaleSimStream {
    /// Name in the reports and traces, such as `IFMAP`.
    pub name: &'static str,
    /// Name in `DETAILED_ACCESS_REPORT.csv`.
    pub report_name: &'static str,
    /// Whether the array writes it.
    pub is_written: bool,
}

/// The streams: inputs, weights and results.
pub(super) const STREAMS: [ScaleSimStream; 3] = [
    ScaleSimStream {
        name: "IFMAP",
        report_name: "IFMAP",
        is_written: false,
    },
    ScaleSimStream {
        name: "FILTER",
        report_name: "Filter",
        is_written: false,
    },
    ScaleSimStream {
        name: "OFMAP",
        report_name: "OFMAP",
        is_written: true,
    },
];

/// Traffic of a stream with one memory, in cycles of the layer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScaleSimTraffic {
    pub first: i64,
    /// The last cycle, inclusive.
    pub last: i64,
    pub words: u64,
}

/// The traffic of one stream.
#[derive(Debug, Default)]
pub(super) struct ScaleSimAccess {
    pub sram: ScaleSimTraffic,
    pub dram: ScaleSimTraffic,
    /// Counts from the DRAM trace, if there is one.
    pub counted: Option<DramTraceCounts>,
    /// Whether the report counts more than is possible and there is no trace with the actual number.
    pub is_padded: bool,
}

impl ScaleSimAccess {
    /// Words to or from DRAM; `None` if only a count with padding is known.
    pub fn dram_words(&self) -> Option<u64> {
        self.counted
            .as_ref()
            .map(|counted| counted.words)
            .or((!self.is_padded).then_some(self.dram.words))
    }
}

/// One layer.
pub(super) struct ScaleSimLayer {
    /// Number in the reports.
    pub id: u64,
    pub name: String,
    /// Number of cycles of the array.
    pub cycles: i64,
    pub stalls: i64,
    /// Utilization of all multipliers over all cycles, in percent.
    pub overall: Option<f64>,
    /// Percentage of the multipliers to which data is mapped.
    pub mapping: Option<f64>,
    /// Traffic, in the order of [`STREAMS`].
    pub access: Option<[ScaleSimAccess; 3]>,
    /// The rows of the reports, as arguments.
    pub rows: Vec<RowArgs>,
    /// Its sizes, for display.
    pub sizes: Option<Arg>,
}

impl ScaleSimLayer {
    /// Cycles × utilization. Multiplied by the number of multipliers, this is the number of multiplications.
    pub fn busy_cycles(&self) -> Option<f64> {
        Some(self.cycles as f64 * self.overall? / 100.0)
    }

    /// Number of cycles that the array waits for the first data.
    pub fn prefetch(&self) -> i64 {
        let firsts = self.reads().map(|access| access.dram.first);
        firsts.min().map_or(0, |first| (-first).max(0))
    }

    /// Number of cycles from the first compute cycle until everything is done.
    pub fn end(&self) -> i64 {
        let ends = self
            .access
            .iter()
            .flatten()
            .filter(|access| access.dram.words > 0)
            .map(|access| access.dram.last + 1);
        ends.max().unwrap_or(0).max(self.cycles)
    }

    fn reads(&self) -> impl Iterator<Item = &ScaleSimAccess> {
        let all = self.access.iter().flatten().zip(STREAMS);
        all.filter(|(access, stream)| !stream.is_written && access.dram.words > 0)
            .map(|(access, _)| access)
    }
}
