//! Inputs of the simulation: configuration and topology. The reports name neither, so both are searched near the
//! reports, and used only if the numbers agree.

use std::fs;
use std::path::{Path, PathBuf};

use csv::{ReaderBuilder, StringRecord, Trim};
use importer_common::prelude::*;
use importer_common::simulated::product_text;
use input::source::{file_name, small_text};

use super::layer::ScaleSimLayer;

/// Maximum number of files examined in a directory.
const MAX_FILES: usize = 256;
/// Names of folders next to a run that usually contain inputs.
const FOLDERS: [&str; 6] = [
    "inputs",
    "configs",
    "config",
    "cfg",
    "topologies",
    "topology",
];
/// Tolerance of utilizations, which are printed with all digits.
const TOLERANCE: f64 = 1e-6;

/// The inputs that were found.
#[derive(Debug, Default)]
pub(super) struct ScaleSimInputs {
    pub config: Option<ScaleSimConfig>,
    pub topology: Option<ScaleSimTopology>,
    /// Number of multipliers of the array.
    pub multipliers: Option<u64>,
}

/// A configuration (`.cfg`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ScaleSimConfig {
    pub file: String,
    run_name: String,
    pub height: u64,
    pub width: u64,
    pub dataflow: String,
}

/// A topology: the sizes of all layers.
#[derive(Debug)]
pub(super) struct ScaleSimTopology {
    pub file: String,
    rows: Vec<TopologyRow>,
}

/// One layer of a topology.
#[derive(Debug)]
pub(super) struct TopologyRow {
    pub name: String,
    /// The sizes, for display.
    pub sizes: String,
    /// HLO text with one-byte elements, from which analyses take sizes.
    pub hlo_text: String,
    /// Number of multiplications.
    multiplications: f64,
    pub is_convolution: bool,
}

impl ScaleSimTopology {
    /// The row of layer `id`.
    pub fn layer(&self, id: u64) -> Option<&TopologyRow> {
        self.rows.get(usize::try_from(id).ok()?)
    }
}

/// Where inputs and reports are, relative to the directory of a report.
pub(super) fn near() -> Vec<String> {
    let above = FOLDERS.iter().map(|folder| format!("../{folder}/"));
    let folders = ["", "../"].map(str::to_owned).into_iter().chain(above);
    folders
        .flat_map(|folder| ["csv", "cfg"].map(|ending| format!("{folder}*.{ending}")))
        .collect()
}

/// Searches for the inputs of the run with this report.
pub(super) fn find(report: &InputSource, layers: &[ScaleSimLayer]) -> ScaleSimInputs {
    let Some(run) = report.place().and_then(Path::parent) else {
        return ScaleSimInputs::default();
    };
    let run = fs::canonicalize(run).unwrap_or_else(|_| run.to_owned());
    let near = files_near(report, &run);
    let tables = near.iter().filter(|path| has_ending(path, "csv"));
    let mut topologies =
        tables.filter_map(|path| ScaleSimTopology::parse(&file_name(path), &small_text(path)?));
    let fitting = topologies.find_map(|topology| Some((array_size(&topology, layers)?, topology)));
    let (size, topology) = fitting.unzip();

    let configs = near.iter().filter(|path| has_ending(path, "cfg"));
    let configs: Vec<(&PathBuf, ScaleSimConfig)> = configs
        .filter_map(|path| {
            Some((
                path,
                ScaleSimConfig::parse(&file_name(path), &small_text(path)?)?,
            ))
        })
        .filter(|(_, config)| {
            size.is_none_or(|size| size == config.height.saturating_mul(config.width))
        })
        .filter(|(_, config)| fits(config, layers))
        .collect();
    let config = choose(&run, &configs);
    let multipliers = config
        .as_ref()
        .map(|config| config.height * config.width)
        .or(size);
    ScaleSimInputs {
        config,
        topology,
        multipliers,
    }
}

/// The configuration of the run: the one in its directory, the one that contains its name, or
/// the values on which all matching ones agree.
fn choose(run: &Path, configs: &[(&PathBuf, ScaleSimConfig)]) -> Option<ScaleSimConfig> {
    let inside = configs
        .iter()
        .filter(|(path, _)| path.parent() == Some(run));
    let named = configs.iter().filter(|(_, config)| {
        run.file_name()
            .is_some_and(|name| *name == *config.run_name)
    });
    if let Some((_, config)) = inside.chain(named).next() {
        return Some(config.clone());
    }
    // The name of a run often says its dataflow: `decoder_ws`.
    let run = run.file_name().unwrap_or_default().to_string_lossy();
    let says = |config: &ScaleSimConfig| {
        let mut words = run.split(['_', '-', '.', ' ']);
        words.any(|word| word.eq_ignore_ascii_case(&config.dataflow))
    };
    let said: Vec<_> = configs
        .iter()
        .filter(|(_, config)| says(config))
        .cloned()
        .collect();
    if !said.is_empty() && said.len() < configs.len() {
        return choose_alike(&said);
    }
    choose_alike(configs)
}

/// The values on which configurations agree.
fn choose_alike(configs: &[(&PathBuf, ScaleSimConfig)]) -> Option<ScaleSimConfig> {
    let (_, first) = configs.first()?;
    let size = |config: &ScaleSimConfig| (config.height, config.width);
    if configs
        .iter()
        .any(|(_, config)| size(config) != size(first))
    {
        return None;
    }
    let same_dataflow = configs
        .iter()
        .all(|(_, config)| config.dataflow == first.dataflow);
    let dataflow = if same_dataflow {
        first.dataflow.clone()
    } else {
        String::new()
    };
    let file = if configs.len() == 1 {
        first.file.clone()
    } else {
        format!("{} and {} more that fit", first.file, configs.len() - 1)
    };
    Some(ScaleSimConfig {
        file,
        dataflow,
        ..first.clone()
    })
}

/// Files of the run, of its parent directory, and of the folders there.
fn files_near(report: &InputSource, run: &Path) -> Vec<PathBuf> {
    let above = run.parent();
    let folders = above
        .into_iter()
        .flat_map(|above| FOLDERS.map(|folder| above.join(folder)));
    let directories = [run.to_owned()]
        .into_iter()
        .chain(above.map(Path::to_owned))
        .chain(folders);
    directories
        .flat_map(|directory| report.files_in(&directory, &["csv", "cfg"], MAX_FILES))
        .collect()
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case(ending))
}

/// The number of multipliers for which the work of the topology equals that in the reports,
/// if it is the same for all layers.
fn array_size(topology: &ScaleSimTopology, layers: &[ScaleSimLayer]) -> Option<u64> {
    if layers.last()?.id.checked_add(1)? != topology.rows.len() as u64 {
        return None;
    }
    let mut size: Option<f64> = None;
    for layer in layers {
        let (busy, row) = (
            layer.busy_cycles().filter(|&busy| busy > 0.0)?,
            topology.layer(layer.id)?,
        );
        let computed = row.multiplications / busy;
        let agreed = *size.get_or_insert(computed.round());
        if !(1.0..=1e12).contains(&agreed) || (computed / agreed - 1.0).abs() > TOLERANCE {
            return None;
        }
    }
    size.map(|size| size as u64)
}

/// Whether all layers do a whole number of multiplications on this array.
fn fits(config: &ScaleSimConfig, layers: &[ScaleSimLayer]) -> bool {
    let multipliers = (config.height as f64) * (config.width as f64);
    let whole = |busy: f64| {
        let multiplications = busy * multipliers;
        (multiplications - multiplications.round()).abs() <= TOLERANCE * multiplications.max(1.0)
    };
    layers
        .iter()
        .filter_map(ScaleSimLayer::busy_cycles)
        .all(whole)
}

impl ScaleSimConfig {
    fn parse(file: &str, text: &str) -> Option<Self> {
        let value = |key: &str| {
            text.lines().find_map(|line| {
                let (name, value) = line.split_once([':', '='])?;
                name.trim()
                    .eq_ignore_ascii_case(key)
                    .then(|| value.trim().to_owned())
            })
        };
        let size = |key| {
            value(key)?
                .parse::<u64>()
                .ok()
                .filter(|size| (1..=1 << 20).contains(size))
        };
        Some(Self {
            file: file.to_owned(),
            run_name: value("run_name").unwrap_or_default(),
            height: size("ArrayHeight")?,
            width: size("ArrayWidth")?,
            dataflow: value("Dataflow").unwrap_or_default(),
        })
    }
}

impl ScaleSimTopology {
    fn parse(file: &str, text: &str) -> Option<Self> {
        let mut reader = ReaderBuilder::new()
            .flexible(true)
            .trim(Trim::All)
            .from_reader(text.as_bytes());
        let header: Vec<String> = reader
            .headers()
            .ok()?
            .iter()
            .map(str::to_ascii_lowercase)
            .collect();
        let columns = |names: &[&str]| {
            names
                .iter()
                .map(|name| header.iter().position(|column| column == name))
                .collect::<Option<Vec<usize>>>()
        };
        let product = columns(&["m", "n", "k"]);
        let convolution = columns(&[
            "ifmap height",
            "ifmap width",
            "filter height",
            "filter width",
            "channels",
            "num filter",
            "strides",
        ]);
        if !header
            .first()
            .is_some_and(|first| first.starts_with("layer"))
        {
            return None;
        }
        let records = reader.records().map(Result::ok);
        let rows = records.map(|record| match (&product, &convolution) {
            (Some(columns), _) => matrix_product(&record?, columns),
            (None, Some(columns)) => convolved(&record?, columns),
            (None, None) => None,
        });
        Some(Self {
            file: file.to_owned(),
            rows: rows.collect::<Option<_>>()?,
        })
    }
}

fn numbers(record: &StringRecord, columns: &[usize]) -> Option<Vec<u32>> {
    columns
        .iter()
        .map(|&column| {
            record
                .get(column)?
                .parse()
                .ok()
                .filter(|&number| number > 0)
        })
        .collect()
}

fn matrix_product(record: &StringRecord, columns: &[usize]) -> Option<TopologyRow> {
    let [m, n, k] = numbers(record, columns)?[..] else {
        return None;
    };
    Some(TopologyRow {
        name: record.get(0)?.to_owned(),
        sizes: format!("[{m},{k}] × [{k},{n}]"),
        hlo_text: product_text("s8", [m, k, n].map(u64::from)),
        multiplications: f64::from(m) * f64::from(n) * f64::from(k),
        is_convolution: false,
    })
}

fn convolved(record: &StringRecord, columns: &[usize]) -> Option<TopologyRow> {
    let [
        height,
        width,
        filter_height,
        filter_width,
        channels,
        filters,
        stride,
    ] = numbers(record, columns)?[..]
    else {
        return None;
    };
    // The simulator rounds the number of positions up.
    let positions = |size: u32, filter: u32| {
        size.checked_sub(filter)
            .map(|rest| u64::from(rest.div_ceil(stride)) + 1)
    };
    let (rows, columns) = (
        positions(height, filter_height)?,
        positions(width, filter_width)?,
    );
    let positions = rows as f64 * columns as f64;
    let products = f64::from(filter_height)
        * f64::from(filter_width)
        * f64::from(channels)
        * f64::from(filters);
    Some(TopologyRow {
        name: record.get(0)?.to_owned(),
        sizes: format!(
            "{height}×{width}×{channels}, {filters} filters of {filter_height}×{filter_width}, stride {stride}"
        ),
        hlo_text: format!(
            "%conv = s8[1,{rows},{columns},{filters}]{{3,2,1,0}} convolution(s8[1,{height},{width},{channels}]{{3,2,1,0}} \
             %lhs, s8[{filter_height},{filter_width},{channels},{filters}]{{3,2,1,0}} %rhs), \
             window={{size={filter_height}x{filter_width} stride={stride}x{stride}}}, dim_labels=b01f_01io->b01f"
        ),
        multiplications: positions * products,
        is_convolution: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_accepts_both_separators() {
        let text = "[general]\nrun_name = a\n[architecture_presets]\nArrayHeight:    256\nArrayWidth = 128\nDataflow : ws\n";
        let config = ScaleSimConfig::parse("a.cfg", text).unwrap();
        assert_eq!(
            (config.height, config.width, config.dataflow.as_str()),
            (256, 128, "ws")
        );
        for wrong in [
            "",
            "ArrayHeight: 256",
            "ArrayHeight: -1\nArrayWidth: 1",
            "ArrayHeight: 1e308\nArrayWidth: 1",
        ] {
            assert_eq!(ScaleSimConfig::parse("a.cfg", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn topology_gives_the_multiplications() {
        let gemm = ScaleSimTopology::parse("t.csv", "Layer,M,N,K,\nqkv,128,768,256,\n").unwrap();
        assert_eq!(
            (gemm.rows[0].name.as_str(), gemm.rows[0].multiplications),
            ("qkv", 25_165_824.0)
        );
        // 110 positions in each direction, because the simulator rounds up.
        let text = "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n\
                    Conv1,224,224,7,7,3,64,2,\n";
        let conv = ScaleSimTopology::parse("t.csv", text).unwrap();
        assert!((conv.rows[0].multiplications - 113_836_800.0).abs() < 0.5);
        for wrong in [
            "",
            "a,b\n",
            "Layer,M,N,K\nx,1,2\n",
            "Layer,M,N,K\nx,1,2,NaN\n",
            "Layer,M,N,K\nx,0,1,1\n",
        ] {
            assert!(
                ScaleSimTopology::parse("t.csv", wrong)
                    .is_none_or(|topology| topology.rows.is_empty()),
                "{wrong}"
            );
        }
    }
}
