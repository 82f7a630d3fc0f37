//! Computes utilization from counts: the achieved and the possible amount.

use facts::prelude::*;
use hardware::chips::Chip;
use hardware::limits::possible;

use super::known::{CountedQuantity, CounterGeneration, Dtype, KnownCounter};

/// The achieved and the possible amount of a unit.
#[engine::row(recorded)]
pub struct CounterMetric {
    /// Stable name.
    pub id: &'static str,
    /// Display name.
    #[column("Unit", id = "metric")]
    pub title: &'static str,
    /// Core of the chip; `None` for units of the chip.
    #[column(unit = None, with = |metric| metric.core.map_or("chip".to_owned(), |core| core.to_string()))]
    pub core: Option<u8>,
    /// The counted amount.
    #[column("of peak", derived, id = "percent", with = Self::percent)]
    #[column(unit = Count)]
    pub achieved: f64,
    /// The amount possible in the same cycles; `None` if unknown. It is rarely a whole number of bytes.
    #[column(derived, unit = Count, with = |metric| metric.peak.map(f64::round))]
    pub peak: Option<f64>,
    /// Unit of both amounts.
    #[column("in")]
    pub unit: CounterUnit,
    /// The reference for the peak: `2 a cycle`.
    #[column("Peak is", derived)]
    pub of: String,
}

/// The unit of a count.
#[engine::titled]
pub enum CounterUnit {
    /// Clock cycles.
    Cycles,
    /// Instructions issued.
    Instructions,
    /// Bytes moved.
    Bytes,
}

impl CounterMetric {
    /// Achieved of the peak, where that is possible.
    pub fn percent(&self) -> Option<f64> {
        let peak = self.peak.filter(|&peak| peak > 0.0)?;
        possible(100.0 * self.achieved / peak)
    }

    /// Adds the same metric of another reading.
    pub(crate) fn add(&mut self, other: &Self) {
        self.achieved += other.achieved;
        self.peak = self.peak.zip(other.peak).map(|(a, b)| a + b);
    }
}

/// The counts of one sample.
pub(super) type Counts = BTreeMap<KnownCounter, f64>;

/// The limits of one chip.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub generation: CounterGeneration,
    /// Number of `TensorCores` of the chip, one per die.
    pub dies: u8,
    /// Frequency of the counted cycles.
    pub clock_hz: f64,
    pub cycles_per_xlu_instruction: f64,
    /// HBM bandwidth of one core (v7x) or the chip (v6e), bytes/s.
    pub hbm: Option<f64>,
    /// Bandwidth of all links of the chip in one direction, bytes/s.
    pub links: Option<f64>,
}

impl Limits {
    /// The limits of a published chip; `None` if its counters cannot be read.
    pub fn of(chip: &Chip, hbm: Option<f64>) -> Option<Self> {
        let counters = chip.counters.as_ref()?;
        Some(Self {
            generation: CounterGeneration::of_registers(&counters.registers)?,
            dies: u8::try_from(chip.devices).ok()?,
            clock_hz: counters.clock_ghz * 1e9,
            cycles_per_xlu_instruction: counters.cycles_per_xlu_instruction,
            hbm,
            links: chip
                .links
                .map(|links| f64::from(links.per_chip) * links.peak_bytes),
        })
    }
}

/// Number of matrix units of a core.
const MXUS: f64 = 2.0;
const HBM_BYTES_PER_BEAT: f64 = 32.0;
const ICI_BYTES_PER_FLIT: f64 = 128.0;

/// Number of cycles for which a matmul instruction keeps its unit busy.
fn cycles_per_matmul(dtype: Dtype, from_register: bool) -> f64 {
    match (dtype, from_register) {
        (Dtype::F32, _) | (Dtype::Bf16, false) => 4.0,
        (Dtype::I8 | Dtype::I4, false) => 2.0,
        _ => 8.0,
    }
}

/// The counts of one core.
struct CoreCounts<'a> {
    counts: &'a Counts,
    die: u8,
}

impl CoreCounts<'_> {
    /// Weighted sum of all counters that `wanted` selects; `None` if none was recorded.
    fn sum(&self, wanted: impl Fn(CountedQuantity) -> Option<f64>) -> Option<f64> {
        let of_die = self
            .counts
            .iter()
            .filter(|(counter, _)| counter.die == self.die);
        of_die
            .filter_map(|(counter, value)| Some(wanted(counter.what)? * value))
            .reduce(|a, b| a + b)
    }

    fn count(&self, what: CountedQuantity) -> Option<f64> {
        self.sum(|other| (other == what).then_some(1.0))
    }

    fn matmul_cycles(&self, mxu: Option<u8>, dtypes: &[Dtype]) -> Option<f64> {
        self.sum(|what| match what {
            CountedQuantity::Matmul {
                mxu: unit,
                dtype,
                from_register,
            } => (mxu.is_none_or(|mxu| mxu == unit) && dtypes.contains(&dtype))
                .then(|| cycles_per_matmul(dtype, from_register)),
            _ => None,
        })
    }

    /// If one of two units is busy, the cycle counts half.
    fn busy(&self, busy: fn(u8) -> CountedQuantity) -> Option<f64> {
        self.sum(|what| {
            if what == busy(1) {
                Some(0.5)
            } else {
                (what == busy(2)).then_some(1.0)
            }
        })
    }

    fn xlu(&self, unit: u8) -> Option<f64> {
        self.count(CountedQuantity::Xlu(unit))
    }
}

/// The metrics of one sample; none for a core whose cycles were not counted.
pub(super) fn metrics(counts: &Counts, limits: &Limits) -> Vec<CounterMetric> {
    let mut out = Vec::new();
    for die in 0..limits.dies {
        let core = CoreCounts { counts, die };
        let all = core
            .count(CountedQuantity::PowerCycles)
            .filter(|_| limits.generation == CounterGeneration::V7x);
        let Some(cycles) = all
            .or_else(|| core.count(CountedQuantity::Cycles))
            .filter(|&cycles| cycles > 0.0)
        else {
            continue;
        };
        let mut core = CoreMetrics {
            core,
            cycles,
            out: &mut out,
        };
        core.add_instructions();
        core.add_mxus();
        core.add_xlus(limits.cycles_per_xlu_instruction);
        core.add_hbm(limits);
    }
    link_metrics(counts, limits, &mut out);
    out
}

/// The metrics of one core, which are added to `out`.
struct CoreMetrics<'a> {
    core: CoreCounts<'a>,
    cycles: f64,
    out: &'a mut Vec<CounterMetric>,
}

impl CoreMetrics<'_> {
    fn add(
        &mut self,
        id: &'static str,
        title: &'static str,
        achieved: Option<f64>,
        peak: f64,
        unit: CounterUnit,
        of: &str,
    ) {
        if let Some(achieved) = achieved {
            self.out.push(CounterMetric {
                id,
                title,
                core: Some(self.core.die),
                achieved,
                peak: Some(peak),
                unit,
                of: of.to_owned(),
            });
        }
    }

    /// Skipped clocks, and what the scalar and the vector unit do.
    fn add_instructions(&mut self) {
        use CounterUnit::{Cycles, Instructions};
        let cycles = self.cycles;
        self.add(
            "clocks_skipped",
            "Clocks skipped",
            self.core.count(CountedQuantity::Skipped),
            cycles,
            Cycles,
            "cycles",
        );
        self.add(
            "external_throttle",
            "Skipped, external",
            self.core.count(CountedQuantity::SkippedExternal),
            cycles,
            Cycles,
            "cycles",
        );
        self.add(
            "droop_throttle",
            "Skipped, voltage droop",
            self.core.count(CountedQuantity::SkippedDroop),
            cycles,
            Cycles,
            "cycles",
        );
        self.add(
            "scalar",
            "Scalar unit",
            self.core.count(CountedQuantity::Scalar),
            2.0 * cycles,
            Instructions,
            "2 a cycle",
        );
        self.add(
            "vector_alu",
            "Vector ALUs",
            self.core.count(CountedQuantity::VectorAlu),
            4.0 * cycles,
            Instructions,
            "4 a cycle",
        );
        self.add(
            "vector_stores",
            "VMEM stores",
            self.core.count(CountedQuantity::Store),
            cycles,
            Instructions,
            "1 a cycle",
        );
        self.add(
            "vector_loads",
            "VMEM loads",
            self.core.count(CountedQuantity::Load),
            2.0 * cycles,
            Instructions,
            "2 a cycle",
        );
    }

    fn add_mxus(&mut self) {
        use CounterUnit::Cycles;
        let cycles = self.cycles;
        let all = [Dtype::F32, Dtype::Bf16, Dtype::F8, Dtype::I8, Dtype::I4];
        self.add(
            "mxu_busy",
            "MXU busy, mean of two",
            self.core.busy(CountedQuantity::MxuBusy),
            cycles,
            Cycles,
            "cycles",
        );
        self.add(
            "mxu_0",
            "MXU 0",
            self.core.matmul_cycles(Some(0), &all),
            cycles,
            Cycles,
            "cycles",
        );
        self.add(
            "mxu_1",
            "MXU 1",
            self.core.matmul_cycles(Some(1), &all),
            cycles,
            Cycles,
            "cycles",
        );
        for (id, title, dtypes) in [
            (
                "mxu_bf16",
                "MXU bf16 and f32",
                &[Dtype::Bf16, Dtype::F32][..],
            ),
            ("mxu_fp8", "MXU fp8", &[Dtype::F8]),
            ("mxu_int8", "MXU int8", &[Dtype::I8]),
            ("mxu_int4", "MXU int4", &[Dtype::I4]),
        ] {
            let busy = self.core.matmul_cycles(None, dtypes);
            self.add(id, title, busy, MXUS * cycles, Cycles, "cycles × 2 MXUs");
        }
        self.add(
            "mxu_matpush",
            "MXU loading weights",
            self.core.count(CountedQuantity::Matpush),
            MXUS * cycles,
            Cycles,
            "cycles × 2 MXUs",
        );
    }

    /// The units for transposes and permutations, each of which starts an instruction every `issue` cycles.
    fn add_xlus(&mut self, issue: f64) {
        use CounterUnit::{Cycles, Instructions};
        let cycles = self.cycles;
        self.add(
            "xlu_busy",
            "XLU busy, mean of two",
            self.core.busy(CountedQuantity::XluBusy),
            cycles,
            Cycles,
            "cycles",
        );
        let of = format!("1 in {issue} cycles");
        self.add(
            "xlu_0",
            "XLU 0",
            self.core.xlu(0),
            cycles / issue,
            Instructions,
            &of,
        );
        self.add(
            "xlu_1",
            "XLU 1",
            self.core.xlu(1),
            cycles / issue,
            Instructions,
            &of,
        );
    }

    fn add_hbm(&mut self, limits: &Limits) {
        let beats = self.core.sum(|what| {
            matches!(what, CountedQuantity::HbmRead | CountedQuantity::HbmWrite)
                .then_some(HBM_BYTES_PER_BEAT)
        });
        let seconds = self.cycles / limits.clock_hz;
        let of = |rate: f64| {
            format!(
                "{:.1} GB/s, cycles at {:.2} GHz",
                rate / 1e9,
                limits.clock_hz / 1e9
            )
        };
        if let Some(achieved) = beats {
            self.out.push(CounterMetric {
                id: "hbm",
                title: "HBM read and write",
                core: Some(self.core.die),
                achieved,
                peak: limits.hbm.map(|rate| rate * seconds),
                unit: CounterUnit::Bytes,
                of: limits.hbm.map_or_else(|| "unknown".to_owned(), of),
            });
        }
    }
}

/// Links belong to the chip; the cycles of its first core that counts them are the clock.
fn link_metrics(counts: &Counts, limits: &Limits, out: &mut Vec<CounterMetric>) {
    let cycles = (0..limits.dies).find_map(|die| {
        let core = CoreCounts { counts, die };
        core.count(CountedQuantity::PowerCycles)
            .or_else(|| core.count(CountedQuantity::Cycles))
            .filter(|&cycles| cycles > 0.0)
    });
    let Some(seconds) = cycles.map(|cycles| cycles / limits.clock_hz) else {
        return;
    };
    for (id, title, wanted) in [
        ("ici_read", "ICI read", CountedQuantity::IciRead),
        ("ici_write", "ICI write", CountedQuantity::IciWrite),
    ] {
        let flits = counts
            .iter()
            .filter(|(counter, _)| counter.what == wanted)
            .map(|(_, value)| *value);
        if let Some(flits) = flits.reduce(|a, b| a + b) {
            out.push(CounterMetric {
                id,
                title,
                core: None,
                achieved: flits * ICI_BYTES_PER_FLIT,
                peak: limits.links.map(|rate| rate * seconds),
                unit: CounterUnit::Bytes,
                of: limits.links.map_or_else(
                    || "unknown".to_owned(),
                    |rate| format!("{:.0} GB/s one way over all links, published", rate / 1e9),
                ),
            });
        }
    }
}
