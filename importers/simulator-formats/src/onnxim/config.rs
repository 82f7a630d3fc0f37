//! The simulated hardware. The log has peaks but neither clock nor array size, which are in the simulator's
//! configuration. The configuration is searched next to the log, and used only if its peak equals that of the log and
//! its clock is consistent with the end of the log.

use importer_common::cycles::CycleClock;
use importer_common::prelude::*;
use input::source::{file_name, small_text};
use serde_json::Value;

use super::run::OnnximRun;

/// Maximum number of files examined in a directory.
const MAX_FILES: usize = 256;
/// Tolerance: the log prints whole GFLOP/s, or seven digits.
const TOLERANCE: f64 = 1e-4;

/// A configuration that matches the run.
#[derive(Debug, PartialEq)]
pub(super) struct OnnximConfig {
    pub file: String,
    pub mhz: f64,
    /// Columns and rows of the arrays of each core.
    pub arrays: Vec<(u64, u64)>,
}

impl OnnximConfig {
    fn parse(file: &str, text: &str) -> Option<Self> {
        let json: Value = serde_json::from_str(text).ok()?;
        let mhz = json
            .get("core_freq")?
            .as_f64()
            .filter(|mhz| (1e-3..=1e6).contains(mhz))?;
        let cores = json.get("core_config")?.as_object()?.values();
        let side = |core: &Value, name| {
            core.get(name)?
                .as_u64()
                .filter(|side| (1..=1 << 20).contains(side))
        };
        let arrays =
            cores.map(|core| Some((side(core, "core_width")?, side(core, "core_height")?)));
        Some(Self {
            file: file.to_owned(),
            mhz,
            arrays: arrays.collect::<Option<_>>()?,
        })
    }

    /// Peak of all cores, FLOP/s.
    pub fn peak(&self) -> f64 {
        let multipliers: f64 = self
            .arrays
            .iter()
            .map(|(width, height)| *width as f64 * *height as f64)
            .sum();
        2.0 * multipliers * self.mhz * 1e6
    }

    /// Contradictions between log and configuration, or a missing clock.
    fn fits(&self, run: &OnnximRun) -> Result<(), String> {
        let (arrays, cores) = (self.arrays.len(), run.cores.len());
        if cores > 0 && cores != arrays {
            return Err(format!("{arrays} cores, the log has {cores}"));
        }
        let (computed_peak, peak) = (self.peak(), peak(run));
        if let Some(peak) = peak.filter(|peak| (computed_peak / peak - 1.0).abs() >= TOLERANCE) {
            return Err(format!(
                "a peak of {computed_peak:.4e} FLOP/s, the log says {peak:.4e}"
            ));
        }
        let mhz = self.mhz;
        match implied(run) {
            Some((_, [least, most])) if !can_be(mhz, least, most) => Err(format!(
                "a clock of {mhz} MHz, the end of the log says {least:.1} to {most:.1} MHz"
            )),
            None if peak.is_none() => {
                Err("nothing in the log confirms that it belongs to the run".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// Whether a clock is in a range; versions differ in rounding the cycle time to whole picoseconds.
fn can_be(mhz: f64, least: f64, most: f64) -> bool {
    let whole = 1e6 / (1e6 / mhz).floor();
    [mhz, whole]
        .into_iter()
        .any(|mhz| (least * (1.0 - 1e-9)..=most * (1.0 + 1e-9)).contains(&mhz))
}

/// Peak of the chip, FLOP/s: every core prints its own peak times the number of cores.
pub(super) fn peak(run: &OnnximRun) -> Option<f64> {
    let printed: Vec<f64> = run.cores.values().filter_map(|core| core.gflops).collect();
    let mean = printed.iter().sum::<f64>() * 1e9 / printed.len() as f64;
    (mean.is_finite() && mean > 0.0).then_some(mean)
}

/// The configuration next to the log, if exactly one matches, or if all matching ones have the same clock. If none
/// matches, the contradictions are logged.
pub(super) fn find(
    log: &InputSource,
    run: &OnnximRun,
    out: &mut TraceBuilder,
) -> Option<OnnximConfig> {
    let folder = log.folders().next()?;
    let paths = log.files_in(folder, &["json"], MAX_FILES).into_iter();
    let configs =
        paths.filter_map(|path| OnnximConfig::parse(&file_name(&path), &small_text(&path)?));
    let (mut fitting, mut others) = (Vec::new(), Vec::new());
    for config in configs {
        match config.fits(run) {
            Ok(()) => fitting.push(config),
            Err(why) => others.push(format!("{}: {why}", config.file)),
        }
    }
    if let [first, rest @ ..] = &fitting[..] {
        let Some(other) = rest
            .iter()
            .find(|other| other.mhz.total_cmp(&first.mhz).is_ne())
        else {
            return fitting.into_iter().next();
        };
        others = vec![format!(
            "{} and {} have different clocks, and both fit: neither was read",
            first.file, other.file
        )];
    }
    for why in others {
        out.log(IssueKind::SourceSkipped, || why);
    }
    None
}

/// The clock implied by the end of the log, which prints cycles and whole microseconds: the roundest possible number,
/// with the bounds.
pub(super) fn implied(run: &OnnximRun) -> Option<(CycleClock, [f64; 2])> {
    let (cycles, us) = run.ended.filter(|(cycles, us)| *cycles > 0 && *us > 0)?;
    let (least, most) = (cycles as f64 / (us as f64 + 1.0), cycles as f64 / us as f64);
    let roundest = [1000.0, 500.0, 100.0, 50.0, 10.0, 5.0, 1.0]
        .into_iter()
        .find_map(|step: f64| {
            let mhz = (most / step).floor() * step;
            (mhz > least).then_some(mhz)
        });
    Some((
        CycleClock {
            mhz: roundest.unwrap_or(cycles as f64 / (us as f64 + 0.5)),
        },
        [least, most],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_CORES: &str = r#"{"core_freq": 940, "core_config": {"core_0": {"core_width": 128, "core_height": 64},
                               "core_1": {"core_width": 128, "core_height": 64}}, "precision": 2}"#;

    #[test]
    fn peaks_are_summed_over_cores() {
        let config = OnnximConfig::parse("c.json", TWO_CORES).unwrap();
        assert_eq!(config.arrays, [(128, 64), (128, 64)]);
        assert!((config.peak() - 2.0 * 2.0 * 8192.0 * 940e6).abs() < 1.0);
        for wrong in [
            "",
            "{}",
            r#"{"core_freq": 0, "core_config": {}}"#,
            r#"{"core_freq": 9, "core_config": {"a": {"core_width": -1}}}"#,
        ] {
            assert_eq!(OnnximConfig::parse("c.json", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn config_clock_is_used_if_the_log_agrees() {
        let config = OnnximConfig::parse("c.json", TWO_CORES).unwrap();
        let fits = |peak: Option<f64>, ended| {
            let mut run = OnnximRun::default();
            run.set_peak(peak);
            run.ended = ended;
            config.fits(&run).err()
        };
        let peak = Some(2.0 * 2.0 * 8192.0 * 0.94);
        assert_eq!(fits(peak, None), None);
        assert_eq!(fits(peak, Some((940_000, 1000))), None);
        assert_eq!(fits(None, Some((940_000, 1000))), None);
        // A cycle has whole picoseconds: 1063 instead of 1063.83.
        assert_eq!(fits(peak, Some((1_000_000_000, 1_063_000))), None);
        assert!(
            fits(peak, Some((1_000_000, 1000)))
                .unwrap()
                .contains("the end of the log says 999.0 to 1000.0 MHz")
        );
        assert!(fits(None, None).unwrap().contains("nothing in the log"));
        assert!(
            fits(Some(1.0), None)
                .unwrap()
                .contains("the log says 1.0000e9")
        );
    }

    #[test]
    fn log_end_bounds_the_clock() {
        let clock = |cycles, us| {
            let mut run = OnnximRun::default();
            run.ended = Some((cycles, us));
            implied(&run).map(|(clock, _)| clock.mhz)
        };
        assert_eq!(clock(59_403, 59), Some(1000.0));
        assert_eq!(clock(940_000, 1000), Some(940.0));
        assert_eq!(clock(94_000, 100), Some(940.0));
        assert_eq!(clock(500, 0), None);
        assert_eq!(clock(0, 5), None);
    }
}
