//! Parses lines of the log. Two generations of the simulator write them differently: the
//! newer one numbers instructions, the older one gives the end of computations at their issue.

use importer_common::simulated::cycle;

/// The unit that executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum TogSimUnit {
    /// A systolic array: matrix products, and loading their weights.
    Array,
    Vector,
    CrossLane,
    /// Loads into the core.
    Load,
    /// Stores from the core.
    Store,
}

impl TogSimUnit {
    /// Whether it moves data between the core and its memory.
    pub fn moves_data(self) -> bool {
        matches!(self, Self::Load | Self::Store)
    }
}

/// An instruction, with the facts that a line contains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TogSimInstruction<'a> {
    pub core: u32,
    pub cycle: i64,
    pub unit: TogSimUnit,
    /// Number in the run; `None` in logs of the older generation.
    pub id: Option<u64>,
    /// Index of the array.
    pub array: u32,
    /// The tensor that is moved, or the kind of computation.
    pub name: &'a str,
}

/// A relevant line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TogSimLine<'a> {
    Clock {
        mhz: f64,
    },
    /// The issue of an instruction. The older generation also gives the cycle at which it will end.
    Issued(TogSimInstruction<'a>, Option<i64>),
    Finished(TogSimInstruction<'a>),
    Kernel {
        scheduler: u32,
        number: u64,
        name: &'a str,
        end: i64,
    },
    KernelTimes {
        scheduler: u32,
        number: u64,
        start: i64,
    },
    /// `Core [0] : Systolic array [1] utilization(%) 41.5, active_cycles 3, idle_cycles 4`
    Statistic {
        core: u32,
        text: &'a str,
    },
    End {
        cycle: i64,
    },
}

/// Parses a message; `None` for irrelevant ones. The error is for lines that begin like a relevant one.
pub(super) fn parse(message: &str) -> Option<Result<TogSimLine<'_>, ()>> {
    if let Some(cycle_text) = message.strip_prefix("Total execution cycles: ") {
        return Some(
            cycle(cycle_text)
                .map(|cycle| TogSimLine::End { cycle })
                .ok_or(()),
        );
    }
    if let Some(rest) = message.strip_prefix("[Config/Core] Core ") {
        let mhz = rest.split_once("core_freq_mhz: ")?.1.split(',').next()?;
        let mhz = mhz
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|mhz| (1e-3..=1e6).contains(mhz));
        return Some(mhz.map(|mhz| TogSimLine::Clock { mhz }).ok_or(()));
    }
    if let Some(rest) = message.strip_prefix("[Scheduler ") {
        return if rest.contains("] Kernel ") {
            kernel(rest).transpose()
        } else {
            None
        };
    }
    if let Some(rest) = message.strip_prefix("Core [") {
        return if rest.contains("tilization(%)") || rest.contains("DRAM BW") {
            Some(statistic(rest).ok_or(()))
        } else {
            None
        };
    }
    let (cycle_text, rest) = message.strip_prefix('[')?.split_once("][Core ")?;
    if [
        "[INST_ISSUED",
        "[INST_FINISHED",
        "ASYNC FINISHED",
        "[DRAM_RESP_DONE",
    ]
    .iter()
    .any(|tag| rest.contains(tag))
    {
        return instruction(cycle_text, rest).transpose();
    }
    None
}

/// The word after `name`.
fn word<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(name)?;
    let end = rest.find([' ', ',', ')', ']']).unwrap_or(rest.len());
    Some(&rest[..end])
}

/// `0] Kernel 3 has completed - … operation: NAME finished at cycle 90`, or
/// `0] Kernel 3 execution summary - Started at: 5 cycles, …`; `None` inside for others.
fn kernel(rest: &str) -> Result<Option<TogSimLine<'_>>, ()> {
    let parsed = || {
        let (scheduler, rest) = rest.split_once("] Kernel ")?;
        let (number, rest) = rest.split_once(' ')?;
        let (scheduler, number) = (scheduler.parse().ok()?, number.parse().ok()?);
        if rest.starts_with("has completed") {
            let (rest, end) = rest.rsplit_once(" finished at cycle ")?;
            let name = rest.split_once(" operation: ")?.1;
            return Some(Some(TogSimLine::Kernel {
                scheduler,
                number,
                name,
                end: cycle(end)?,
            }));
        }
        if !rest.starts_with("execution summary") {
            return Some(None);
        }
        Some(Some(TogSimLine::KernelTimes {
            scheduler,
            number,
            start: cycle(word(rest, "Started at: ")?)?,
        }))
    };
    parsed().ok_or(())
}

fn statistic(rest: &str) -> Option<TogSimLine<'_>> {
    let (core, text) = rest.split_once("] : ")?;
    Some(TogSimLine::Statistic {
        core: core.parse().ok()?,
        text: text.trim(),
    })
}

/// Parses a line about an instruction; `None` for barriers, which occupy no unit.
fn instruction<'a>(cycle_text: &str, rest: &'a str) -> Result<Option<TogSimLine<'a>>, ()> {
    let (core, mut text) = rest.split_once(']').ok_or(())?;
    let (core, cycle_number) = (number(core)?, cycle(cycle_text).ok_or(())?);
    let (mut tag, mut id, mut array) = ("", None, None);
    while let Some((field, after)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        if let Some(text) = field
            .strip_prefix("INST_ID=")
            .or_else(|| field.strip_prefix("global_inst_id="))
        {
            id = Some(number(text)?);
        } else if let Some(text) = field.strip_prefix("SA ") {
            array = Some(number(text)?);
        } else {
            tag = field.trim_end();
        }
        text = after;
    }
    let text = text.trim_start();
    if text.len() < 4 || text.starts_with('[') {
        return Err(());
    }
    let Some((unit, name)) = unit(text)? else {
        return Ok(None);
    };
    let array = array
        .or_else(|| word(text, " sa=")?.parse().ok())
        .filter(|_| unit == TogSimUnit::Array)
        .unwrap_or(0);
    let instruction = TogSimInstruction {
        core,
        cycle: cycle_number,
        unit,
        id,
        array,
        name,
    };
    Ok(match tag {
        "INST_ISSUED" if unit.moves_data() || id.is_some() => {
            Some(TogSimLine::Issued(instruction, None))
        }
        // The simulator writes `finsh`; a later version may correct the spelling.
        "INST_ISSUED" => {
            let end = word(text, "finsh at ")
                .or_else(|| word(text, "finish at "))
                .and_then(cycle);
            Some(TogSimLine::Issued(instruction, Some(end.ok_or(())?)))
        }
        "INST_FINISHED" | "DRAM_RESP_DONE" => Some(TogSimLine::Finished(instruction)),
        // The older generation writes no tag when the data of an asynchronous load has arrived.
        "" if text.contains("ASYNC FINISHED") => Some(TogSimLine::Finished(instruction)),
        _ => None,
    })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, ()> {
    text.trim().parse().ok().ok_or(())
}

/// The unit of an instruction, and its name; `None` for barriers.
fn unit(text: &str) -> Result<Option<(TogSimUnit, &str)>, ()> {
    if text.starts_with("MOVIN") {
        return Ok(Some((TogSimUnit::Load, tensor(text).ok_or(())?)));
    }
    if text.starts_with("MOVOUT") {
        return Ok(Some((TogSimUnit::Store, tensor(text).ok_or(())?)));
    }
    if !text.starts_with("COMP") {
        return Ok(None);
    }
    match word(text, "compute_type=").or_else(|| word(text, "COMP-")) {
        Some("0") => Ok(Some((TogSimUnit::Vector, "vector"))),
        Some("1") => Ok(Some((TogSimUnit::Array, "matmul"))),
        Some("2") => Ok(Some((TogSimUnit::Array, "preload"))),
        Some("3") => Ok(Some((TogSimUnit::CrossLane, "cross-lane"))),
        _ => Err(()),
    }
}

/// `addr_name: X tag_id: …` or `addr_name=X dram=…`.
fn tensor(text: &str) -> Option<&str> {
    word(text, "addr_name: ").or_else(|| word(text, "addr_name="))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(
        cycle: i64,
        unit: TogSimUnit,
        id: Option<u64>,
        array: u32,
        name: &str,
    ) -> TogSimInstruction<'_> {
        TogSimInstruction {
            core: 1,
            cycle,
            unit,
            id,
            array,
            name,
        }
    }

    #[test]
    fn reads_both_log_generations() {
        for (text, line) in [
            (
                "[7][Core 1][INST_ISSUED][SA 1] COMP-1, finsh at 70",
                TogSimLine::Issued(at(7, TogSimUnit::Array, None, 1, "matmul"), Some(70)),
            ),
            (
                "[7][Core 1][INST_ISSUED][SA 1] COMP-0, finsh at 70",
                TogSimLine::Issued(at(7, TogSimUnit::Vector, None, 0, "vector"), Some(70)),
            ),
            (
                "[8][Core 1][INST_ISSUED] MOVIN, addr_name: arg0 tag_id: [1, 2] tag_idx_list: [] tag_stride_list: []",
                TogSimLine::Issued(at(8, TogSimUnit::Load, None, 0, "arg0"), None),
            ),
            (
                "[9][Core 1][INST_FINISHED] MOVOUT addr_name: out",
                TogSimLine::Finished(at(9, TogSimUnit::Store, None, 0, "out")),
            ),
            (
                "[9][Core 1] MOVIN ASYNC FINISHED, subgraph_id: 0 addr_name: arg0 tag_id: [1]",
                TogSimLine::Finished(at(9, TogSimUnit::Load, None, 0, "arg0")),
            ),
            (
                "[7][Core 1][INST_ISSUED    ][INST_ID=12] COMP (compute_type=2 compute_cycle=128 overlapping_cycle=0 sa=1 tile=3)",
                TogSimLine::Issued(at(7, TogSimUnit::Array, Some(12), 1, "preload"), None),
            ),
            (
                "[9][Core 1][DRAM_RESP_DONE ][INST_ID=4] MOVIN (ASYNC subgraph_id=0 addr_name=arg0 tag_id=[0x1])",
                TogSimLine::Finished(at(9, TogSimUnit::Load, Some(4), 0, "arg0")),
            ),
        ] {
            assert_eq!(parse(text), Some(Ok(line)), "{text}");
        }
    }

    #[test]
    fn reads_kernels_and_statistics() {
        let done = "[Scheduler 0] Kernel 3 has completed - TOG path: /a b operation: gemm finished at cycle 90";
        assert_eq!(
            parse(done),
            Some(Ok(TogSimLine::Kernel {
                scheduler: 0,
                number: 3,
                name: "gemm",
                end: 90
            }))
        );
        let times = "[Scheduler 0] Kernel 3 execution summary - Started at: 5 cycles, Total compute time: 85 cycles";
        assert_eq!(
            parse(times),
            Some(Ok(TogSimLine::KernelTimes {
                scheduler: 0,
                number: 3,
                start: 5
            }))
        );
        let core = "[Config/Core] Core 0: core_freq_mhz: 940, systolic_arrays_per_core: 2";
        assert_eq!(parse(core), Some(Ok(TogSimLine::Clock { mhz: 940.0 })));
    }

    #[test]
    fn broken_lines_are_distinguished_from_foreign_lines() {
        for other in [
            "[7][Core 1][TILE_SCHEDULED]",
            "[7][Core 1][INST_ISSUED] BAR,  addr_name: a tag_id: []",
            "[7][Core 1][ASYNC] MOVIN subgraph_id: 0 addr_name: a",
            "[7][Core 1][ASYNC_DMA_ISSUE][INST_ID=4] MOVIN (ASYNC subgraph_id=0 addr_name=a)",
            "[Scheduler 0] Enqueued kernel_id: 3, tog_path: a",
            "",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
        for broken in [
            "[x][Core 1][INST_ISSUED] MOVIN, addr_name: a",
            "[7][Core 1][INST_ISSUED] MOVIN, tag_id: []",
            "[7][Core 1][INST_ISSUED][SA 0] COMP-1, fin",
            "[7][Core 1][INST_ISSUED][SA 0] COMP-9, finsh at 9",
            "[7][Core 1][INST_ISSUED][SA é",
            "[Scheduler 0] Kernel 3 has completed",
            "Total execution cycles: many",
        ] {
            assert_eq!(parse(broken), Some(Err(())), "{broken}");
        }
    }
}
