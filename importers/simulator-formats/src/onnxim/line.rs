//! Parses lines of the log.

use importer_common::simulated::{amount, cycle};

/// Dimensions of a matrix product: `[M,K] × [K,N]` in the usual notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MatmulDims {
    pub rows: u64,
    pub inner: u64,
    pub columns: u64,
}

/// Utilization of a core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CoreUtilization {
    /// Percentage of cycles in which the array worked.
    pub array: f64,
    /// Percentage of the multipliers' peak, if the version prints it.
    pub multipliers: Option<f64>,
    /// Percentage of cycles in which the vector unit worked.
    pub vector: f64,
}

/// A relevant line.
#[derive(Debug, PartialEq)]
pub(super) enum OnnximLine<'a> {
    /// The start of a simulation.
    Begin,
    /// The peak of all cores together, as each core prints it.
    Peak {
        core: u32,
        gflops: f64,
    },
    DramPeak {
        gigabytes: f64,
    },
    /// One of three lines about a matrix product in a layer.
    Sizes(MatmulDims),
    Work {
        gflops: f64,
        gigabytes: f64,
    },
    LeastCompute {
        ms: f64,
    },
    /// Number of layers that are ready to start.
    Ready {
        layers: u64,
    },
    Start {
        layer: &'a str,
    },
    GetTile {
        layer: &'a str,
        core: u32,
        cycle: i64,
    },
    FinishTile {
        layer: u64,
        core: u32,
        cycle: i64,
    },
    /// The end of a layer; schedulers of several models write the model before the layer.
    Finish {
        layer: &'a str,
        cycle: i64,
    },
    /// The duration of the layer in the previous line.
    Took {
        cycles: i64,
    },
    Model {
        name: &'a str,
        start_us: i64,
        cycle: i64,
    },
    /// The end of the run: cycles, and whole microseconds.
    End {
        cycle: i64,
        us: i64,
    },
    Usage {
        core: u32,
        cycle: i64,
        usage: CoreUtilization,
    },
    DramUsage {
        percent: f64,
    },
}

/// Parses a message; `None` for irrelevant ones. The error is for lines that begin like a relevant one.
pub(super) fn parse(message: &str) -> Option<Result<OnnximLine<'_>, ()>> {
    if message == "Simulator Configuration:" {
        return Some(Ok(OnnximLine::Begin));
    }
    let readers: [(&str, LineReader); 12] = [
        ("[Core ", peak),
        ("DRAM Bandwidth ", |rest| {
            Some(OnnximLine::DramPeak {
                gigabytes: amount(rest.strip_suffix(" GB/s")?)?,
            })
        }),
        ("[GemmWs] Keys ", sizes),
        ("[GemmWS]: ", product),
        ("executable layer count ", |rest| {
            Some(OnnximLine::Ready {
                layers: rest.trim().parse().ok()?,
            })
        }),
        ("Start layer ", |rest| {
            Some(OnnximLine::Start { layer: rest })
        }),
        ("Layer ", layer),
        ("Total compute time ", |rest| {
            Some(OnnximLine::Took {
                cycles: cycle(rest)?,
            })
        }),
        ("Model[", model),
        ("Simulation Finished at ", end),
        ("Core [", usage),
        ("DRAM: AVG BW Util ", |rest| {
            Some(OnnximLine::DramUsage {
                percent: amount(rest.strip_suffix('%')?)?,
            })
        }),
    ];
    let (rest, read) = readers
        .iter()
        .find_map(|(beginning, read)| Some((message.strip_prefix(beginning)?, read)))?;
    if matters(message) {
        Some(read(rest).ok_or(()))
    } else {
        None
    }
}

type LineReader = fn(&str) -> Option<OnnximLine<'_>>;

/// Whether a line with this beginning is relevant.
fn matters(message: &str) -> bool {
    match message.as_bytes() {
        [b'[', b'C', ..] => message.contains("Systolic Array Throughput"),
        [b'C', ..] => message.contains("Systolic Array Utilization"),
        // Some schedulers write this line at the end of a model, in addition to or instead of the line with the times.
        [b'M', ..] => !message.contains("] finish "),
        [b'L', ..] => message.contains(" finish at ") || message.contains(" Tile at "),
        _ => true,
    }
}

/// The text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

/// `0] Systolic Array Throughput: 131072 GFLOPS, Spad size: …`
fn peak(rest: &str) -> Option<OnnximLine<'_>> {
    let (core, rest) = rest.split_once(']')?;
    let gflops = amount(between(rest, "Systolic Array Throughput: ", " GFLOPS")?)?;
    Some(OnnximLine::Peak {
        core: core.parse().ok()?,
        gflops,
    })
}

/// `K = 512, N = 256, M = 2048`: N rows, M columns.
fn sizes(rest: &str) -> Option<OnnximLine<'_>> {
    let size = |name: &str| {
        let value = rest
            .split(',')
            .find_map(|part| part.trim().strip_prefix(name)?.strip_prefix(" = "));
        value?
            .trim()
            .parse::<u64>()
            .ok()
            .filter(|size| (1..=1 << 40).contains(size))
    };
    Some(OnnximLine::Sizes(MatmulDims {
        rows: size("N")?,
        inner: size("K")?,
        columns: size("M")?,
    }))
}

/// `total 0.5 GFLOPs, 0.003 GB`, or `Theoretical time(ms): a Compute time: b Memory time: c`.
fn product(rest: &str) -> Option<OnnximLine<'_>> {
    if let Some(rest) = rest.strip_prefix("total ") {
        let (gflops, rest) = rest.split_once(" GFLOPs, ")?;
        return Some(OnnximLine::Work {
            gflops: amount(gflops)?,
            gigabytes: amount(rest.strip_suffix(" GB")?)?,
        });
    }
    Some(OnnximLine::LeastCompute {
        ms: amount(between(rest, "Compute time: ", " Memory")?)?,
    })
}

/// `Gemm_0 Core 3 Get Tile at 0`, `9 Core 0 Finish Tile at 8526 Remain tile 4`, or
/// `Gemm_0 finish at 8595`. A name can contain any text.
fn layer(rest: &str) -> Option<OnnximLine<'_>> {
    if let Some((layer, cycle_text)) = rest.rsplit_once(" Get Tile at ") {
        let (layer, core) = layer.rsplit_once(" Core ")?;
        return Some(OnnximLine::GetTile {
            layer,
            core: core.parse().ok()?,
            cycle: cycle(cycle_text)?,
        });
    }
    if let Some((layer, cycle_text)) = rest.rsplit_once(" Finish Tile at ") {
        let (layer, core) = layer.rsplit_once(" Core ")?;
        let cycle_text = cycle_text
            .split_once(" Remain")
            .map_or(cycle_text, |(cycle_text, _)| cycle_text);
        return Some(OnnximLine::FinishTile {
            layer: layer.parse().ok()?,
            core: core.parse().ok()?,
            cycle: cycle(cycle_text)?,
        });
    }
    let (layer, cycle_text) = rest.rsplit_once(" finish at ")?;
    Some(OnnximLine::Finish {
        layer,
        cycle: cycle(cycle_text)?,
    })
}

/// `mlp3] Request: 0 us, Start: 0 us, finish:59 us, Current Cycle:59263`; some
/// schedulers leave out the last comma.
fn model(rest: &str) -> Option<OnnximLine<'_>> {
    let (name, rest) = rest.rsplit_once("] Request: ")?;
    let start_us = cycle(between(rest, "Start: ", " us")?)?;
    let (_, cycle_text) = rest.split_once("Current Cycle:")?;
    Some(OnnximLine::Model {
        name,
        start_us,
        cycle: cycle(cycle_text)?,
    })
}

/// `59403 cycle 59 us`
fn end(rest: &str) -> Option<OnnximLine<'_>> {
    let (cycle_text, us) = rest.strip_suffix(" us")?.split_once(" cycle ")?;
    Some(OnnximLine::End {
        cycle: cycle(cycle_text)?,
        us: cycle(us)?,
    })
}

/// `0] : Systolic Array Utilization(%) 45.14 (41.37% PE util), Vector Unit Utilization(%) 0.00, Total cycle: 59403`
fn usage(rest: &str) -> Option<OnnximLine<'_>> {
    let (core, rest) = rest.split_once(']')?;
    let array = between(rest, "Systolic Array Utilization(%) ", ",")?;
    let vector = amount(between(rest, "Vector Unit Utilization(%) ", ",")?)?;
    let (_, cycle_text) = rest.split_once("Total cycle: ")?;
    let (array, multipliers) = match array.split_once(" (") {
        Some((array, rest)) => (array, Some(amount(rest.strip_suffix("% PE util)")?)?)),
        None => (array, None),
    };
    let usage = CoreUtilization {
        array: amount(array)?,
        multipliers,
        vector,
    };
    Some(OnnximLine::Usage {
        core: core.parse().ok()?,
        cycle: cycle(cycle_text)?,
        usage,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_contain_field_separators() {
        let get = "Layer a Core 1 Core 3 Get Tile at 7";
        assert_eq!(
            parse(get),
            Some(Ok(OnnximLine::GetTile {
                layer: "a Core 1",
                core: 3,
                cycle: 7
            }))
        );
        let finish = "Layer b finish at 3 finish at 9";
        assert_eq!(
            parse(finish),
            Some(Ok(OnnximLine::Finish {
                layer: "b finish at 3",
                cycle: 9
            }))
        );
    }

    #[test]
    fn reads_model_ends_with_and_without_times() {
        assert_eq!(parse("Model[a] finish  at 90"), None);
        assert_eq!(parse("Model[a] Request: 1 us, Start"), Some(Err(())));
    }

    #[test]
    fn reads_output_of_each_version() {
        let usage = |array, multipliers| {
            Some(Ok(OnnximLine::Usage {
                core: 2,
                cycle: 9,
                usage: CoreUtilization {
                    array,
                    multipliers,
                    vector: 1.5,
                },
            }))
        };
        let old = "Core [2] : Systolic Array Utilization(%) 40.25, Vector Unit Utilization(%) 1.50, Total cycle: 9";
        assert_eq!(parse(old), usage(40.25, None));
        let new = "Core [2] : Systolic Array Utilization(%) 40.25 (30.00% PE util), Vector Unit Utilization(%) 1.50, Total cycle: 9";
        assert_eq!(parse(new), usage(40.25, Some(30.0)));
        let model = Some(Ok(OnnximLine::Model {
            name: "m",
            start_us: 4,
            cycle: 9,
        }));
        assert_eq!(
            parse("Model[m] Request: 1 us, Start: 4 us, finish:5 us, Current Cycle:9"),
            model
        );
        assert_eq!(
            parse("Model[m] Request: 1 us, Start: 4 us, finish:5 us Current Cycle:9"),
            model
        );
    }

    #[test]
    fn broken_lines_are_distinguished_from_foreign_lines() {
        for other in [
            "Layer a 3: Enqueue",
            "Core [0] : issued tile 1 ",
            "[Core 0] Spad",
            "MODEL a Scheduled",
            "",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
        for broken in [
            "Layer a finish at -3",
            "Layer a Core x Get Tile at 3",
            "Simulation Finished at 5",
            "[GemmWs] Keys K = 0, N = 1, M = 1",
            "[GemmWS]: total nan GFLOPs, 1 GB",
            "Core [0] : Systolic Array Utilization(%)",
            "Total compute time 99999999999999999999",
        ] {
            assert_eq!(parse(broken), Some(Err(())), "{broken}");
        }
    }
}
