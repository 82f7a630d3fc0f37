//! The chip that a program was compiled for, and the parameters of the cost model.

use std::path::Path;
use std::sync::LazyLock;

use toml::{Table, Value};

use super::program::ScheduledProgram;

/// One chip generation: parameters for modelling copies and collectives.
#[derive(Debug, PartialEq)]
pub(super) struct ChipModel {
    /// Name as in `--device-spec`; the device type is `TPU` and this.
    pub id: String,
    /// Words that identify the chip in the path of a dump.
    path_words: Vec<String>,
    /// Clock derived from the published peak, Hz.
    clock_hz: f64,
    /// HBM bandwidth, bytes/s.
    pub hbm: f64,
    /// Modelled bandwidth of one direction of one link between chips, bytes/s.
    pub link: f64,
    /// Latency of one hop between chips, seconds.
    pub hop_s: f64,
    /// Whether both cores of a chip work on one program.
    megacore: bool,
}

/// The chips whose programs can be modelled. The table of chips (`assets/chips.toml`) gives the sources of its numbers.
static CHIPS: LazyLock<Vec<ChipModel>> =
    LazyLock::new(|| models(include_str!("../../../../assets/chips.toml")));

/// The entries of a table of chips that have parameters for modelling. Each entry is parsed separately, because parsing
/// the whole document takes more memory than many traces.
fn models(table: &str) -> Vec<ChipModel> {
    table
        .split("[[chip]]")
        .skip(1)
        .filter_map(|entry| ChipModel::of(&entry.parse().ok()?))
        .collect()
}

impl ChipModel {
    fn of(entry: &Table) -> Option<Self> {
        // A fact is a number, or a table with the number and its source.
        let fact = |key: &str| {
            let value = entry.get(key)?;
            let value = value.get("value").unwrap_or(value);
            value
                .as_float()
                .or_else(|| value.as_integer().map(|whole| whole as f64))
        };
        let programs = entry.get("programs")?;
        let words = programs.get("path_words")?.as_array()?;
        Some(Self {
            id: entry.get("id")?.as_str()?.to_owned(),
            path_words: words
                .iter()
                .filter_map(|word| word.as_str().map(str::to_owned))
                .collect(),
            clock_hz: fact("clock_ghz")? * 1e9,
            hbm: fact("hbm_bandwidth")?,
            link: programs
                .get("ici_link")
                .and_then(Value::as_float)
                .or_else(|| fact("ici_link_achievable"))?,
            hop_s: fact("ici_hop_latency_us")? * 1e-6,
            megacore: fact("cores")? > fact("devices")?,
        })
    }
}

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
    pub fn find(
        program: &ScheduledProgram<'_>,
        path: Option<&Path>,
        clock_mhz: Option<f64>,
        schedule_mhz: Option<f64>,
    ) -> Result<Self, String> {
        let named = path.and_then(chip_in_path);
        let told = clock_mhz
            .map(|mhz| (mhz, "as given"))
            .or(schedule_mhz.map(|mhz| (mhz, "of the adjacent schedule")));
        let told = told
            .map(|(mhz, from)| (mhz * 1e6, from))
            .filter(|(hz, _)| hz.is_finite() && *hz > 0.0);
        let chip = named.or_else(|| told.and_then(|(hz, _)| chip_by_clock(hz, program.is_split())));
        let Some(chip) = chip else {
            return Err(format!(
                "the chip that {} was compiled for is unknown: put {} in the name of the file or its directory, or \
                 place the *.schedule.txt of the same dump next to it",
                program.module.name,
                trace_model::joined(CHIPS.iter().map(|chip| chip.id.as_str()), ", "),
            ));
        };
        let (clock_hz, clock_from) = told.unwrap_or((chip.clock_hz, "of the chip"));
        Ok(Self {
            chip,
            clock_hz,
            clock_from,
        })
    }
}

/// The chip that the file or one of the two directories around it is named after.
pub(super) fn chip_in_path(path: &Path) -> Option<&'static ChipModel> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    whole
        .iter()
        .rev()
        .take(3)
        .find_map(|name| chip_in(&name.to_string_lossy().to_lowercase()))
}

/// The chip that a file or directory of this name is named after.
pub(crate) fn chip_named(name: &str) -> Option<&'static str> {
    chip_in(&name.to_lowercase()).map(|chip| chip.id.as_str())
}

fn chip_in(name: &str) -> Option<&'static ChipModel> {
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.find_map(|word| {
        CHIPS
            .iter()
            .find(|chip| chip.path_words.iter().any(|known| known == word))
    })
}

/// The only chip with this clock whose compiler splits, or does not split, work between two cores.
fn chip_by_clock(hz: f64, is_split: bool) -> Option<&'static ChipModel> {
    let mut fits = CHIPS
        .iter()
        .filter(|chip| chip.megacore == is_split && (chip.clock_hz / hz - 1.0).abs() < 0.01);
    fits.next().filter(|_| fits.next().is_none())
}

#[cfg(test)]
mod tests {
    use hlo::TextProgram;

    use super::*;

    #[test]
    fn chip_table_entry_is_sufficient() {
        let ids: Vec<&str> = CHIPS.iter().map(|chip| chip.id.as_str()).collect();
        assert_eq!(ids, ["v4", "v5e", "v5p", "v6e"]);
        let table = include_str!("../../../../assets/chips.toml");
        let entries = table
            .split("[[chip]]")
            .filter(|entry| entry.contains("\nprograms = "))
            .count();
        assert_eq!(entries, ids.len(), "no entry lacks a number");
        let facts = r#"
            clock_ghz = { value = 2, source = "x" }
            hbm_bandwidth = 3e12
            ici_link_achievable = { value = 90e9, source = "x" }
            ici_hop_latency_us = 1
            cores = 2
            devices = 1"#;
        let chip =
            |programs: &str| models(&format!("[[chip]]\nid = \"v9x\"\n{facts}\n{programs}")).pop();
        assert_eq!(chip(""), None, "its programs are not modelled");
        let model = chip(r#"programs = { path_words = ["v9x"] }"#).unwrap();
        assert_eq!(
            (model.clock_hz, model.hbm, model.link, model.megacore),
            (2e9, 3e12, 90e9, true)
        );
        let measured = chip(r#"programs = { path_words = ["v9x"], ici_link = 92e9 }"#).unwrap();
        assert!((measured.link - 92e9).abs() < 1.0, "{}", measured.link);
    }

    #[test]
    fn chip_is_found_by_path_or_clock() {
        let named = |path: &str| chip_in_path(Path::new(path)).map(|chip| chip.id.as_str());
        assert_eq!(named("/a/ring_v5p/hlo.txt"), Some("v5p"));
        assert_eq!(named("/dumps/v5litepod-4/x/hlo.txt"), Some("v5e"));
        assert_eq!(named("/v6e/hlo.v5e.txt"), Some("v5e"));
        assert_eq!(named("/a/rev5p/xv6e/hlo.txt"), None);
        assert_eq!(
            chip_by_clock(1.75e9, true).map(|chip| chip.id.as_str()),
            Some("v5p")
        );
        assert_eq!(
            chip_by_clock(1.75e9, false).map(|chip| chip.id.as_str()),
            Some("v6e")
        );
        assert_eq!(chip_by_clock(1.3e9, false), None);
    }

    #[test]
    fn user_clock_takes_precedence() {
        let read = TextProgram::read("HloModule jit_f, is_scheduled=true\n").unwrap();
        let program = ScheduledProgram::new(&read.module, &read.lines, 0);
        let path = Path::new("/v5e/hlo.txt");
        let clock = |given, schedule| {
            let machine = MachineModel::find(&program, Some(path), given, schedule).unwrap();
            (machine.clock_hz / 1e6, machine.clock_from)
        };
        assert_eq!(clock(None, None), (1500.0, "of the chip"));
        assert_eq!(
            clock(None, Some(1400.0)),
            (1400.0, "of the adjacent schedule")
        );
        assert_eq!(clock(Some(700.0), Some(1400.0)), (700.0, "as given"));
        let error = MachineModel::find(&program, None, None, None).unwrap_err();
        assert!(
            error.contains("jit_f") && error.contains("v5p, v6e in the name"),
            "{error}"
        );
    }
}
