//! The chip that a program was compiled for, and the parameters of the cost model.

use std::path::Path;

use super::hlo::ScheduledProgram;

/// One chip generation: parameters for modelling copies and collectives.
#[derive(Debug, PartialEq)]
pub(super) struct ChipModel {
    /// Name as in `--device-spec`; the device type is `TPU` and this.
    pub id: &'static str,
    aliases: &'static [&'static str],
    /// Clock derived from the published peak, Hz.
    clock_hz: f64,
    /// HBM bandwidth, bytes/s.
    pub hbm: f64,
    /// Achievable bandwidth of one direction of one link between chips, bytes/s.
    pub link: f64,
    /// Whether both cores of a chip work on one program.
    megacore: bool,
}

const fn chip(id: &'static str, aliases: &'static [&'static str], ghz: f64, hbm: f64, link: f64) -> ChipModel {
    ChipModel { id, aliases, clock_hz: ghz * 1e9, hbm: hbm * 1e9, link: link * 1e9, megacore: false }
}

/// HBM bandwidth as published by the vendor, links from "How to Scale Your Model"; the v5p links as measured in a
/// course at MIT: 92, where the chip table of the analyses has 90 and names both. Predictions use the measured value,
/// so that they can be compared with it.
#[rustfmt::skip]
static CHIPS: &[ChipModel] = &[
    ChipModel { megacore: true, ..chip("v4", &[], 1.05, 1200.0, 45.0) },
    chip("v5e", &["v5lite", "v5litepod"], 1.5, 819.0, 45.0),
    ChipModel { megacore: true, ..chip("v5p", &[], 1.75, 2765.0, 92.0) },
    chip("v6e", &["v6lite", "trillium"], 1.75, 1638.0, 90.0),
];

/// Latency of one hop in seconds ("How to Scale Your Model").
pub(super) const HOP_S: f64 = 1e-6;

/// The modelled hardware.
#[derive(Debug)]
pub(super) struct MachineModel {
    pub chip: &'static ChipModel,
    pub clock_hz: f64,
    /// Source of the clock, for display.
    pub clock_from: &'static str,
}

impl MachineModel {
    /// Determines the chip by the names of the file and its directories, else by elimination from the program and its
    /// clock; the clock comes from the user, a schedule, or the chip. The error is a sentence with a remedy.
    pub(crate) fn find(
        program: &ScheduledProgram<'_>,
        path: Option<&Path>,
        clock_mhz: Option<f64>,
        schedule_mhz: Option<f64>,
    ) -> Result<Self, String> {
        let named = path.and_then(chip_in_path);
        let told = clock_mhz.map(|mhz| (mhz, "as given")).or(schedule_mhz.map(|mhz| (mhz, "of the schedule beside")));
        let told = told.map(|(mhz, from)| (mhz * 1e6, from)).filter(|(hz, _)| hz.is_finite() && *hz > 0.0);
        let chip = named.or_else(|| told.and_then(|(hz, _)| chip_by_clock(hz, is_split(program))));
        let Some(chip) = chip else {
            return Err(format!(
                "nothing says for which chip {} was compiled: put {} in the name of the file or its directory, or lay \
                 the *.schedule.txt of the same dump beside it",
                program.name,
                CHIPS.iter().map(|chip| chip.id).collect::<Vec<_>>().join(", "),
            ));
        };
        let (clock_hz, clock_from) = told.unwrap_or((chip.clock_hz, "of the chip"));
        Ok(Self { chip, clock_hz, clock_from })
    }
}

/// The chip that the file or one of the two directories around it is named after.
pub(super) fn chip_in_path(path: &Path) -> Option<&'static ChipModel> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    whole.iter().rev().take(3).find_map(|name| chip_in(&name.to_string_lossy().to_lowercase()))
}

/// The chip that a file or directory of this name is named after.
pub(crate) fn chip_named(name: &str) -> Option<&'static str> {
    chip_in(&name.to_lowercase()).map(|chip| chip.id)
}

fn chip_in(name: &str) -> Option<&'static ChipModel> {
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.find_map(|word| CHIPS.iter().find(|chip| chip.id == word || chip.aliases.contains(&word)))
}

/// The only chip with this clock whose compiler splits, or does not split, work between two cores.
fn chip_by_clock(hz: f64, is_split: bool) -> Option<&'static ChipModel> {
    let mut fits = CHIPS.iter().filter(|chip| chip.megacore == is_split && (chip.clock_hz / hz - 1.0).abs() < 0.01);
    fits.next().filter(|_| fits.next().is_none())
}

/// Whether the compiler split work between two cores.
fn is_split(program: &ScheduledProgram<'_>) -> bool {
    let mut all = program.computations.iter().flat_map(|computation| &computation.instructions);
    all.any(|instruction| instruction.attributes.contains("\"megacore_split_dim\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_are_found_by_words_of_the_path_or_by_clock() {
        let named = |path: &str| chip_in_path(Path::new(path)).map(|chip| chip.id);
        assert_eq!(named("/a/ring_v5p/hlo.txt"), Some("v5p"));
        assert_eq!(named("/dumps/v5litepod-4/x/hlo.txt"), Some("v5e"));
        assert_eq!(named("/v6e/hlo.v5e.txt"), Some("v5e"));
        assert_eq!(named("/a/rev5p/xv6e/hlo.txt"), None);
        assert_eq!(chip_by_clock(1.75e9, true).map(|chip| chip.id), Some("v5p"));
        assert_eq!(chip_by_clock(1.75e9, false).map(|chip| chip.id), Some("v6e"));
        assert_eq!(chip_by_clock(1.3e9, false), None);
    }

    #[test]
    fn what_the_user_says_of_the_clock_comes_first() {
        let program = ScheduledProgram::parse("HloModule jit_f, is_scheduled=true\n").unwrap();
        let path = Path::new("/v5e/hlo.txt");
        let clock = |given, schedule| {
            let machine = MachineModel::find(&program, Some(path), given, schedule).unwrap();
            (machine.clock_hz / 1e6, machine.clock_from)
        };
        assert_eq!(clock(None, None), (1500.0, "of the chip"));
        assert_eq!(clock(None, Some(1400.0)), (1400.0, "of the schedule beside"));
        assert_eq!(clock(Some(700.0), Some(1400.0)), (700.0, "as given"));
        let error = MachineModel::find(&program, None, None, None).unwrap_err();
        assert!(error.contains("jit_f") && error.contains("v5p, v6e in the name"), "{error}");
    }
}
