//! Rows of devices that a capture can hold: what each shows, by which option or flag it is recorded, and on which chips.
//!
//! One list, from which `systole doctor --rows`, the rule about kernels and the page of the report come. What no public page
//! and no public capture says is unknown.

use engine::Options;
use facts::prelude::*;
use hardware::chips::Chip;
use trace_model::CounterSeries;

/// The flag that records the stages of kernels, since libtpu 0.0.44, and before.
pub(super) const STAGES: [&str; 2] = [
    "xla_xprof_enable_custom_call_tracing",
    "xla_enable_custom_call_region_trace",
];
/// The flag that keeps the schedule of kernels for LLO rows.
pub(super) const SCHEDULE: [&str; 1] = ["xla_xprof_register_llo_debug_info"];

/// What is known of a row on a generation of chips.
#[engine::titled]
pub enum RowOnChip {
    /// A public capture of this chip has it.
    Recorded,
    /// A public page says that this chip, or every TPU, has it.
    Documented,
    /// This chip has none.
    Never,
    /// Nothing public tells.
    Unknown,
}

use RowOnChip::{Documented, Never, Recorded, Unknown};

/// Generations that the list knows, by their names in the table of chips.
const CHIPS: [&str; 5] = ["v4", "v5e", "v5p", "v6e", "v7x"];

/// How a row is told in a capture.
enum RowIs {
    /// Lines of these names.
    Lines(&'static [&'static str]),
    /// Lines whose names begin or end so.
    Like(&'static [&'static str]),
    /// Events with this begin of their name on a line.
    Events(&'static str, &'static str),
    /// Series with one of these units.
    Units(&'static [&'static str]),
    /// Series whose name or unit contains one of these words.
    Words(&'static [&'static str]),
    /// Readings of hardware counters.
    Readings,
}

struct KnownRow {
    row: &'static str,
    shows: &'static str,
    by: &'static str,
    /// First version of libtpu that has the option.
    since: Option<&'static str>,
    /// By chip, in the order of [`CHIPS`].
    on: [RowOnChip; 5],
    is: RowIs,
}

/// What a profiler records without any option.
const DEFAULT: &str = "default";
/// What records the schedule of kernels.
const TRACED: &str =
    "--xla_xprof_enable_custom_call_tracing=true and --xla_xprof_register_llo_debug_info=true";

const ROWS: &[KnownRow] = &[
    KnownRow {
        row: "XLA Modules",
        shows: "programs",
        by: DEFAULT,
        since: None,
        on: [Documented, Recorded, Recorded, Recorded, Recorded],
        is: RowIs::Lines(&["XLA Modules"]),
    },
    KnownRow {
        row: "XLA Ops",
        shows: "ops",
        by: DEFAULT,
        since: None,
        on: [Documented, Recorded, Recorded, Recorded, Recorded],
        is: RowIs::Lines(&["XLA Ops"]),
    },
    KnownRow {
        row: "Async XLA Ops",
        shows: "copies and collectives in flight",
        by: DEFAULT,
        since: None,
        on: [Unknown, Recorded, Unknown, Recorded, Recorded],
        is: RowIs::Lines(&["Async XLA Ops"]),
    },
    KnownRow {
        row: "Steps",
        shows: "steps of the program",
        by: "jax.profiler.StepTraceAnnotation in the program",
        since: None,
        on: [Documented, Documented, Recorded, Documented, Documented],
        is: RowIs::Lines(&["Steps"]),
    },
    KnownRow {
        row: "XLA TraceMe",
        shows: "scopes on the device",
        by: DEFAULT,
        since: None,
        on: [Unknown, Recorded, Unknown, Recorded, Recorded],
        is: RowIs::Lines(&["XLA TraceMe"]),
    },
    KnownRow {
        row: "ep_… on XLA TraceMe",
        shows: "stages of a kernel's pipeline",
        by: "--xla_xprof_enable_custom_call_tracing=true; before libtpu 0.0.44 --xla_enable_custom_call_region_trace=true",
        since: Some("0.0.44"),
        on: [Unknown, Documented, Documented, Recorded, Documented],
        is: RowIs::Events("XLA TraceMe", "ep_"),
    },
    KnownRow {
        row: "MXU, Vector ALU … (% util), spills, fills",
        shows: "LLO estimates of units while kernels run",
        by: TRACED,
        since: None,
        on: [Unknown, Documented, Documented, Recorded, Documented],
        is: RowIs::Units(&["% util", "spills", "fills"]),
    },
    KnownRow {
        row: "bundle.… on Tensor Core",
        shows: "markers of bundles, from which LLO rows are made",
        by: TRACED,
        since: None,
        on: [Unknown, Unknown, Unknown, Recorded, Unknown],
        is: RowIs::Events("Tensor Core", "bundle."),
    },
    KnownRow {
        row: "LLO Ops, Source Lines, Pallas Primitives, … Instructions",
        shows: "what is inside a kernel, by op, line and unit",
        by: TRACED,
        since: Some("0.0.44"),
        on: [Unknown, Documented, Documented, Documented, Documented],
        is: RowIs::Like(&[
            "LLO Ops",
            "Source Lines",
            "Pallas Primitives",
            " Instructions",
        ]),
    },
    KnownRow {
        row: "Sparse Core Modules, Sparse Core Ops …",
        shows: "work of SparseCores",
        by: "tpu_num_sparse_cores_to_trace",
        since: None,
        on: [Documented, Never, Documented, Documented, Documented],
        is: RowIs::Like(&["Sparse Core "]),
    },
    KnownRow {
        row: "hardware counters, once",
        shows: "counts of cycles, instructions and bytes over the capture",
        by: "tpu_perf_counters",
        since: None,
        on: [Documented; 5],
        is: RowIs::Readings,
    },
    KnownRow {
        row: "counters_…, sampled",
        shows: "the same as series",
        by: "tpu_enable_periodic_counter_sampling and tpu_tc_perf_counter_sampling_options",
        since: None,
        on: [Never, Never, Never, Never, Documented],
        is: RowIs::Like(&["counters_"]),
    },
    KnownRow {
        row: "power",
        shows: "power and its level",
        by: "tpu_power_trace_level=1, tpu_e2e_enable_fw_power_level_event",
        since: None,
        on: [Documented; 5],
        is: RowIs::Words(&["power"]),
    },
    KnownRow {
        row: "temperature",
        shows: "heat of the chip",
        by: "tpu_e2e_enable_fw_thermal_event",
        since: None,
        on: [Documented; 5],
        is: RowIs::Words(&["temperature", "thermal"]),
    },
    KnownRow {
        row: "throttling",
        shows: "when the firmware slows the chip down",
        by: "tpu_e2e_enable_fw_throttle_event",
        since: None,
        on: [Documented; 5],
        is: RowIs::Words(&["throttl"]),
    },
    KnownRow {
        row: "PCIe utilization",
        shows: "traffic between host and chip",
        by: "tpu_enable_fw_pcie_utilization_event",
        since: None,
        on: [Documented; 5],
        is: RowIs::Words(&["pcie"]),
    },
];

/// The rows of a capture beside those that it can hold.
#[engine::reported]
pub struct CaptureRows {
    /// The chip of its devices, if it is known.
    pub chip: Option<String>,
    /// In the order of the list.
    pub rows: Vec<CaptureRow>,
}

/// A row that devices can have.
#[engine::row(recorded)]
pub struct CaptureRow {
    /// Its name, or that of its events or series.
    #[column]
    pub row: &'static str,
    /// What it shows.
    #[column]
    pub shows: &'static str,
    /// Its events, samples or readings in this capture, on all devices.
    #[column("Events here", measured)]
    pub events: u64,
    /// What is known of it on the chip of this capture; `None` if the chip is not known.
    #[column("On this chip")]
    pub on_chip: Option<RowOnChip>,
    /// The option or flag that records it.
    #[column("Recorded by")]
    pub by: &'static str,
    /// The first version of libtpu that has the option, where it is known.
    #[column("Since libtpu")]
    pub since: Option<&'static str>,
}

impl CaptureRows {
    pub fn of(model: &TraceModel, options: &Options) -> Self {
        let typed = model
            .tensor_cores()
            .into_iter()
            .find_map(|core| Chip::named(model.group(core).device.as_ref()?.type_name.as_deref()?));
        let chip = options.chip().or(typed);
        let column = chip.and_then(|chip| CHIPS.iter().position(|id| *id == chip.id));
        let rows = ROWS.iter().map(|known| CaptureRow {
            row: known.row,
            shows: known.shows,
            events: known.is.events(model),
            on_chip: column.and_then(|column| known.on.get(column)).copied(),
            by: known.by,
            since: known.since,
        });
        Self {
            chip: chip.map(|chip| chip.id.clone()),
            rows: rows.collect(),
        }
    }
}

impl CaptureRow {
    /// How to record a row that is not here, on a chip that may have it.
    pub fn remedy(&self) -> Option<String> {
        let is_missing = self.events == 0 && self.on_chip != Some(Never);
        (is_missing && self.by != DEFAULT).then(|| format!("{}: {}", self.row, self.by))
    }
}

impl RowIs {
    /// How many there are on devices of a capture.
    fn events(&self, model: &TraceModel) -> u64 {
        match self {
            Self::Lines(names) => of_lines(model, &|name| names.contains(&name), ""),
            Self::Like(parts) => {
                let is_like = |name: &str| {
                    let mut parts = parts.iter();
                    parts.any(|part| name.starts_with(part) || name.ends_with(part))
                };
                of_lines(model, &is_like, "")
            }
            Self::Events(line, begin) => of_lines(model, &|name| name == *line, begin),
            Self::Units(units) => of_series(model, &|_, unit| units.contains(&unit)),
            Self::Words(words) => of_series(model, &|name, unit| {
                let words_of = format!("{name} {unit}").to_ascii_lowercase();
                words.iter().any(|word| words_of.contains(word))
            }),
            Self::Readings => model.slices_with(SliceAttr::CounterId).count() as u64,
        }
    }
}

fn is_device(kind: GroupKind) -> bool {
    matches!(
        kind,
        GroupKind::TensorCore { .. } | GroupKind::SparseCore { .. } | GroupKind::Chip
    )
}

/// Events on lines of devices whose names begin so.
fn of_lines(model: &TraceModel, is: &dyn Fn(&str) -> bool, begin: &str) -> u64 {
    let lines = model.track_ids().filter(|&id| {
        let track = model.track(id);
        is(model.str(track.name)) && is_device(model.group(track.group).kind)
    });
    let events = lines.flat_map(|id| model.slices_on(id));
    events
        .filter(|event| event.name().starts_with(begin))
        .count() as u64
}

fn of_series(model: &TraceModel, is: &dyn Fn(&str, &str) -> bool) -> u64 {
    let wanted = |series: &&CounterSeries| {
        let track = model.track(series.track());
        let unit = series.unit().map_or("", |unit| model.str(unit));
        is_device(model.group(track.group).kind) && is(model.str(track.name), unit)
    };
    let series = model.counters().iter().filter(wanted);
    series.map(|series| series.len() as u64).sum()
}

impl Tabular for CaptureRows {
    fn tables(&self) -> Vec<Table> {
        let chip = match &self.chip {
            Some(chip) if CHIPS.contains(&chip.as_str()) => {
                format!(
                    "This chip: {chip}. Recorded: a public capture of it has the row; documented: a public page says that it, \
                         or every TPU, has it; unknown: nothing public tells"
                )
            }
            Some(chip) => format!("The list does not know the chip {chip}"),
            None => "The chip is not known: name it with --device-spec".to_owned(),
        };
        let table = Table::of(
            "capture_rows",
            "Rows of devices that a capture can hold",
            &self.rows,
        )
        .remaining()
        .note(chip)
        .note(
            "Names with -- are flags of LIBTPU_INIT_ARGS when the program starts, those that begin with tpu_ options of the \
             profiler: advanced_configuration of jax.profiler.ProfileOptions, or --option of systole capture",
        );
        vec![table.build()]
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use device_reports::communication::sparse_cores::SparseCores;
    use device_reports::ops::hardware_counters::HardwareCounters;
    use engine::{Context, ReportCache, Scope};
    use sample_traces::text_trace;

    use super::*;

    fn page_table() -> String {
        let mut text = format!(
            "| row | shows | recorded by | since libtpu | {} |\n|---|---|---|---|{}\n",
            CHIPS.join(" | "),
            "---|".repeat(CHIPS.len())
        );
        for known in ROWS {
            let on = known.on.map(RowOnChip::title).join(" | ");
            let code = |text: &str| {
                let words = text.split(' ').map(|word| {
                    let (name, end) = word.split_at(word.trim_end_matches([',', ';']).len());
                    if name.starts_with("--")
                        || name.starts_with("tpu_")
                        || name.starts_with("jax.")
                    {
                        format!("`{name}`{end}")
                    } else {
                        word.to_owned()
                    }
                });
                words.collect::<Vec<_>>().join(" ")
            };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {on} |",
                known.row,
                known.shows,
                code(known.by),
                known.since.unwrap_or("unknown")
            );
        }
        text
    }

    /// The table of the page is this list; `UPDATE_GOLDEN=1` writes it.
    #[test]
    fn page_has_the_list() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reports/doctor.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let begin = page.find("| row | shows |").unwrap();
        let (before, rest) = page.split_at(begin);
        let end = rest.find("\n\n").unwrap() + 1;
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let text = format!("{before}{}{}", page_table(), &rest[end..]);
            std::fs::write(&path, text).unwrap();
        } else {
            assert_eq!(&rest[..end], page_table());
        }
    }

    /// Options that reports without rows name are in the list, so that what they say of chips is what it says.
    #[test]
    fn advice_names_options_of_the_list() {
        let model = text_trace("@device TPU v6 lite\nops: aa\na = fusion.1 [loop fusion]");
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context {
            model: &model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        let missing = [
            cx.report::<HardwareCounters>().err(),
            cx.report::<SparseCores>().err(),
        ];
        for why in missing.map(|why| why.unwrap().to_string()) {
            let words = why.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
            let named: Vec<&str> = words.filter(|word| word.starts_with("tpu_")).collect();
            assert!(!named.is_empty(), "{why}");
            for option in named {
                assert!(
                    ROWS.iter().any(|row| row.by.contains(option)),
                    "{option}: {why}"
                );
            }
            assert!(why.contains("systole doctor --rows"), "{why}");
        }
    }

    #[test]
    fn rows_of_a_capture_are_counted() {
        let model = text_trace(
            "
            @device TPU v6 lite
            TPU:0 modules: MM
            TPU:0 ops: ab
            TPU:1 ops: a.
            TPU:0 scopes: es
            TPU:1 counter Power W: 12
            e = ep_run_kernel
            s = scope
            ",
        );
        let found = CaptureRows::of(&model, &Options::default());
        assert_eq!(found.chip.as_deref(), Some("v6e"));
        let there: Vec<_> = found
            .rows
            .iter()
            .filter(|row| row.events > 0)
            .map(|row| (row.row, row.events, row.on_chip))
            .collect();
        assert_eq!(
            there,
            [
                ("XLA Modules", 1, Some(Recorded)),
                ("XLA Ops", 3, Some(Recorded)),
                ("XLA TraceMe", 2, Some(Recorded)),
                ("ep_… on XLA TraceMe", 1, Some(Recorded)),
                ("power", 2, Some(Documented))
            ]
        );
        assert!(found.tables()[0].notes[0].starts_with("This chip: v6e."));
        // Chips without SparseCores have no rows of them.
        for (at, id) in CHIPS.iter().enumerate() {
            let none = Chip::named(id).unwrap().sparse_cores == Some(0);
            let row = ROWS.iter().find(|row| row.row.starts_with("Sparse"));
            assert_eq!(row.unwrap().on[at] == Never, none, "{id}");
        }
    }
}
