//! Identifies the known counters.
//!
//! By name if the event is named after its counter, otherwise by number. The numbers are addresses of registers,
//! listed in XProf's `tpu_counter_ids_v6e.h` and `tpu_counter_ids_v7x.h`, and repeat at fixed distances for each die,
//! memory stack and controller. Registers of `SparseCores` are not distinguished.

use serde::Serialize;

/// Generations whose counters are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CounterGeneration {
    /// v6e: one core.
    V6e,
    /// v7x: two dies with one core each.
    V7x,
}

impl CounterGeneration {
    /// The generation whose register numbers follow this layout, in the table of chips.
    pub(super) fn of_registers(layout: &str) -> Option<Self> {
        match layout {
            "v6e" => Some(Self::V6e),
            "v7x" => Some(Self::V7x),
            _ => None,
        }
    }
}

/// The operand type of a matrix multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dtype {
    F32,
    Bf16,
    F8,
    I8,
    I4,
}

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CountedQuantity {
    /// Cycles of the tensor core.
    Cycles,
    /// Cycles as the power manager counts them, including skipped ones.
    PowerCycles,
    Skipped,
    SkippedExternal,
    SkippedDroop,
    Scalar,
    VectorAlu,
    Store,
    Load,
    /// Cycles in which this number of matrix units was busy.
    MxuBusy(u8),
    /// Instructions of a matrix unit; `from_register` means that its rows come from vector registers.
    Matmul {
        mxu: u8,
        dtype: Dtype,
        from_register: bool,
    },
    Matpush,
    /// Instructions of a cross-lane unit.
    Xlu(u8),
    /// Cycles in which this number of cross-lane units was busy.
    XluBusy(u8),
    /// Beats of 32 bytes.
    HbmRead,
    HbmWrite,
    /// Flits of 128 bytes.
    IciRead,
    IciWrite,
}

/// A counter of one core of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KnownCounter {
    pub die: u8,
    pub what: CountedQuantity,
}

impl KnownCounter {
    /// By name in upper or lower case, otherwise by number.
    pub fn find(generation: CounterGeneration, name: &str, id: u64) -> Option<Self> {
        by_name(name).or_else(|| by_id(generation, id))
    }
}

/// `VF_CHIP_DIE1_TC_…_UNPRIVILEGED_COUNT_MXU_BUSY_2`.
fn by_name(name: &str) -> Option<KnownCounter> {
    let name = name.to_ascii_uppercase();
    let (place, register) = name.rsplit_once("UNPRIVILEGED_")?;
    let what = if place.contains("TCS_STATS") {
        tensor_core(register.strip_prefix("COUNT_")?)
    } else if place.contains("PWRMGR") {
        power(register)
    } else if place.contains("HBMC") {
        memory(register)
    } else if place.contains("_ICR_") {
        links(register)
    } else {
        None
    };
    Some(KnownCounter {
        die: u8::from(place.contains("_DIE1_")),
        what: what?,
    })
}

fn tensor_core(register: &str) -> Option<CountedQuantity> {
    if register == "CYCLES" {
        return Some(CountedQuantity::Cycles);
    }
    if register == "VST_INSTRUCTION" {
        return Some(CountedQuantity::Store);
    }
    let (stem, unit) = register.rsplit_once('_')?;
    let unit: u8 = unit.parse().ok()?;
    Some(match stem {
        "SCALAR_ALU_INSTRUCTION" => CountedQuantity::Scalar,
        "VECTOR_ALU_INSTRUCTION" => CountedQuantity::VectorAlu,
        "VLD_INSTRUCTION" => CountedQuantity::Load,
        "MXU_BUSY" => CountedQuantity::MxuBusy(unit),
        "XLU_BUSY" => CountedQuantity::XluBusy(unit),
        "MATPUSH_CYCLES_MXU" => CountedQuantity::Matpush,
        "PACKED_XLU"
        | "TRANSPOSE_XLU"
        | "ROTATE_PERMUTE_INSTRUCTION_XLU"
        | "ROTATE_PERMUTE_SET_INSTRUCTION_XLU" => CountedQuantity::Xlu(unit),
        _ => matmul(stem.strip_prefix("MATMUL_")?.strip_suffix("_MXU")?, unit)?,
    })
}

/// `VREG_BF16`.
fn matmul(kind: &str, mxu: u8) -> Option<CountedQuantity> {
    let (source, dtype) = kind.split_once('_')?;
    let dtype = match dtype {
        "F32" => Dtype::F32,
        "BF16" => Dtype::Bf16,
        "F8" => Dtype::F8,
        "I8" => Dtype::I8,
        "I4" => Dtype::I4,
        _ => return None,
    };
    Some(CountedQuantity::Matmul {
        mxu,
        dtype,
        from_register: source == "VREG",
    })
}

fn power(register: &str) -> Option<CountedQuantity> {
    Some(match register {
        "CYCLE_COUNT" => CountedQuantity::PowerCycles,
        "CLOCKS_SKIPPED" => CountedQuantity::Skipped,
        "EXT_THROTTLE_CLOCKS_SKIPPED" => CountedQuantity::SkippedExternal,
        "LDIDT_DROOP_CLOCKS_SKIPPED" => CountedQuantity::SkippedDroop,
        _ => return None,
    })
}

fn memory(register: &str) -> Option<CountedQuantity> {
    let (kind, _) = register.rsplit_once("_PS")?;
    match kind {
        "RD_RESP" => Some(CountedQuantity::HbmRead),
        "WR_REQ" | "PARTIAL_WRITE_REQ" => Some(CountedQuantity::HbmWrite),
        _ => None,
    }
}

fn links(register: &str) -> Option<CountedQuantity> {
    let (fifo, _) = register
        .strip_suffix("_INSERTION_COUNT")?
        .rsplit_once('_')?;
    match fifo {
        "BN_RD_REQ" => Some(CountedQuantity::IciRead),
        "BN_WR_REQ" => Some(CountedQuantity::IciWrite),
        _ => None,
    }
}

/// Distance of the registers of the second die of v7x.
const DIE: u64 = 0x2000_0000;

fn by_id(generation: CounterGeneration, id: u64) -> Option<KnownCounter> {
    match generation {
        CounterGeneration::V6e => {
            let tensor_core = || tensor_core_at(id.checked_sub(3_257_466_888)?, generation);
            let memory = || hbm_at(id.checked_sub(3_019_980_800)?, 2, 0x0200_0000, 0x20_0000);
            let links = || match id {
                2_953_257_136 | 2_953_257_192 => Some(CountedQuantity::IciRead),
                2_953_257_248 | 2_953_257_304 => Some(CountedQuantity::IciWrite),
                _ => None,
            };
            Some(KnownCounter {
                die: 0,
                what: tensor_core().or_else(memory).or_else(links)?,
            })
        }
        CounterGeneration::V7x => {
            let die = u8::from(id >= 2_705_724_416 + DIE);
            let first = id - u64::from(die) * DIE;
            let tensor_core = || tensor_core_at(first.checked_sub(2_791_874_568)?, generation);
            let memory = || hbm_at(first.checked_sub(2_705_724_416)?, 4, 0x20_0000, 0x2_0000);
            let power = || {
                Some(match first {
                    2_847_490_056 => CountedQuantity::PowerCycles,
                    2_847_490_064 => CountedQuantity::Skipped,
                    2_847_490_088 => CountedQuantity::SkippedExternal,
                    2_847_490_112 => CountedQuantity::SkippedDroop,
                    _ => return None,
                })
            };
            // Four routers, all numbered with the registers of the second die.
            let links = || {
                let offset = id
                    .checked_sub(3_238_449_440)
                    .filter(|offset| offset / 0x8000 < 4)?;
                match offset % 0x8000 {
                    0 => Some(CountedQuantity::IciRead),
                    56 => Some(CountedQuantity::IciWrite),
                    _ => None,
                }
            };
            match links() {
                Some(what) => Some(KnownCounter { die: 1, what }),
                None => Some(KnownCounter {
                    die,
                    what: tensor_core().or_else(memory).or_else(power)?,
                }),
            }
        }
    }
}

/// The register at this offset in bytes from that of the cycles.
fn tensor_core_at(register: u64, generation: CounterGeneration) -> Option<CountedQuantity> {
    // v7x lacks some kinds of matmul, so the registers after them are closer.
    let (matmuls, busy): (&[(Dtype, bool)], u64) = match generation {
        CounterGeneration::V6e => (
            &[
                (Dtype::F32, true),
                (Dtype::Bf16, true),
                (Dtype::F8, true),
                (Dtype::I8, true),
                (Dtype::I4, true),
                (Dtype::Bf16, false),
                (Dtype::I8, false),
                (Dtype::I4, false),
            ],
            512,
        ),
        CounterGeneration::V7x => (
            &[
                (Dtype::F32, true),
                (Dtype::Bf16, true),
                (Dtype::F8, true),
                (Dtype::Bf16, false),
            ],
            448,
        ),
    };
    if !register.is_multiple_of(8) {
        return None;
    }
    let unit = |from: u64| ((register - from) / 8) as u8;
    Some(match register {
        0 => CountedQuantity::Cycles,
        80 | 88 => CountedQuantity::Scalar,
        248..=272 => CountedQuantity::VectorAlu,
        280 => CountedQuantity::Store,
        296 | 304 => CountedQuantity::Load,
        _ if (384..busy).contains(&register) => {
            let &(dtype, from_register) = matmuls.get(((register - 384) / 16) as usize)?;
            CountedQuantity::Matmul {
                mxu: unit(384) % 2,
                dtype,
                from_register,
            }
        }
        _ if (busy..=busy + 16).contains(&register) => CountedQuantity::MxuBusy(unit(busy)),
        _ if (busy + 40..=busy + 48).contains(&register) => CountedQuantity::Matpush,
        _ if (busy + 72..busy + 136).contains(&register) => {
            CountedQuantity::Xlu(unit(busy + 72) % 2)
        }
        _ if (busy + 136..=busy + 152).contains(&register) => {
            CountedQuantity::XluBusy(unit(busy + 136))
        }
        _ => return None,
    })
}

/// The register at this offset in bytes from the first controller of the first stack.
fn hbm_at(offset: u64, stacks: u64, stack: u64, controller: u64) -> Option<CountedQuantity> {
    if offset / stack >= stacks || offset % stack / controller >= 16 {
        return None;
    }
    match offset % controller {
        24 | 32 | 40 | 48 => Some(CountedQuantity::HbmWrite),
        56 | 64 => Some(CountedQuantity::HbmRead),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCS: &str = "TC_TCS_TC_MISC_TCS_STATS_TCS_STATS_COUNTERS_UNPRIVILEGED_COUNT_";

    /// Numbers and names of XProf's lists, from every block of registers.
    #[test]
    fn counter_numbers_match_xprof_names() {
        let v6e = [
            (3_257_466_888, "CYCLES"),
            (3_257_466_976, "SCALAR_ALU_INSTRUCTION_1"),
            (3_257_467_160, "VECTOR_ALU_INSTRUCTION_3"),
            (3_257_467_168, "VST_INSTRUCTION"),
            (3_257_467_192, "VLD_INSTRUCTION_1"),
            (3_257_467_272, "MATMUL_VREG_F32_MXU_0"),
            (3_257_467_312, "MATMUL_VREG_F8_MXU_1"),
            (3_257_467_336, "MATMUL_VREG_I4_MXU_0"),
            (3_257_467_360, "MATMUL_LMR_BF16_MXU_1"),
            (3_257_467_392, "MATMUL_LMR_I4_MXU_1"),
            (3_257_467_416, "MXU_BUSY_2"),
            (3_257_467_448, "MATPUSH_CYCLES_MXU_1"),
            (3_257_467_472, "ROTATE_PERMUTE_INSTRUCTION_XLU_0"),
            (3_257_467_528, "PACKED_XLU_1"),
            (3_257_467_552, "XLU_BUSY_2"),
        ];
        for (id, register) in v6e {
            let name = format!("vf_chip_{TCS}{register}");
            let found = by_name(&name).unwrap();
            assert_eq!(
                (Some(found), found.die),
                (by_id(CounterGeneration::V6e, id), 0),
                "{register}"
            );
        }
        let v7x = [
            (2_791_874_568, 3_328_745_480, "CYCLES"),
            (2_791_874_816, 3_328_745_728, "VECTOR_ALU_INSTRUCTION_0"),
            (2_791_874_984, 3_328_745_896, "MATMUL_VREG_F8_MXU_0"),
            (2_791_875_008, 3_328_745_920, "MATMUL_LMR_BF16_MXU_1"),
            (2_791_875_024, 3_328_745_936, "MXU_BUSY_1"),
            (2_791_875_056, 3_328_745_968, "MATPUSH_CYCLES_MXU_0"),
            (2_791_875_128, 3_328_746_040, "TRANSPOSE_XLU_1"),
            (2_791_875_152, 3_328_746_064, "XLU_BUSY_0"),
        ];
        for (first, second, register) in v7x {
            for (die, id) in [(0, first), (1, second)] {
                let name = format!("VF_CHIP_DIE{die}_{TCS}{register}");
                assert_eq!(by_name(&name), by_id(CounterGeneration::V7x, id), "{name}");
            }
        }
    }

    #[test]
    fn finds_memory_link_and_power_counters() {
        let hbm = |stack: &str, register: &str| {
            format!("VF_CHIP_{stack}_CMN_HI_FREQ_STATS_COUNTERS_UNPRIVILEGED_{register}")
        };
        for (generation, id, name) in [
            (
                CounterGeneration::V6e,
                3_019_980_856,
                hbm("HBM_0_HBMC_0", "RD_RESP_PS0"),
            ),
            (
                CounterGeneration::V6e,
                3_040_952_368,
                hbm("HBM_0_HBMC_10", "PARTIAL_WRITE_REQ_PS1"),
            ),
            (
                CounterGeneration::V6e,
                3_084_992_536,
                hbm("HBM_1_HBMC_15", "WR_REQ_PS0"),
            ),
            (
                CounterGeneration::V7x,
                2_705_855_544,
                hbm("DIE0_HBM_0_SS_HBMC_1", "RD_RESP_PS0"),
            ),
            (
                CounterGeneration::V7x,
                2_713_195_552,
                hbm("DIE0_HBM_3_SS_HBMC_9", "WR_REQ_PS1"),
            ),
            (
                CounterGeneration::V7x,
                3_250_066_472,
                hbm("DIE1_HBM_3_SS_HBMC_9", "PARTIAL_WRITE_REQ_PS0"),
            ),
        ] {
            assert_eq!(by_name(&name), by_id(generation, id), "{name}");
            assert!(by_name(&name).is_some(), "{name}");
        }
        let fifo = |place: &str, register: &str| {
            format!(
                "VF_CHIP_{place}_PERF_COUNTERS_FIFO_STATS_COUNTERS_UNPRIVILEGED_{register}_INSERTION_COUNT"
            )
        };
        assert_eq!(
            by_name(&fifo("OCI_ICR", "BN_RD_REQ_1")),
            by_id(CounterGeneration::V6e, 2_953_257_192)
        );
        let write = by_name(&fifo("DIE1_OCI_ICR_3", "BN_WR_REQ_0"));
        assert_eq!(
            (write, write.unwrap().what),
            (
                by_id(CounterGeneration::V7x, 3_238_547_800),
                CountedQuantity::IciWrite
            )
        );
        let power = "VF_CHIP_DIE1_PWRMGR_PWRMGR_TC_THROTTLE_CORE_DEBUG_STATS_UNPRIVILEGED_LDIDT_DROOP_CLOCKS_SKIPPED";
        assert_eq!(by_name(power), by_id(CounterGeneration::V7x, 3_384_361_024));
    }

    #[test]
    fn unsupported_registers_are_unknown() {
        for id in [
            0,
            1,
            3_019_980_808,
            3_019_980_872,
            2_953_257_168,
            3_490_185_704,
            u64::MAX,
        ] {
            assert_eq!(by_id(CounterGeneration::V6e, id), None, "{id}");
            assert_eq!(by_id(CounterGeneration::V7x, id), None, "{id}");
        }
        assert_eq!(
            by_name("VF_CHIP_SC_0_SCS_SC_STATS_COUNTERS_UNPRIVILEGED_COUNT_CYCLES"),
            None
        );
        assert_eq!(by_name("MXU"), None);
    }
}
