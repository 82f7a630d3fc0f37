//! Published facts of every TPU generation, per chip.
//!
//! They are data (`assets/chips.toml`), each with its source; a file of the same keys
//! describes a chip of the user. They are used only where a capture does not record
//! its own, and then are always named as assumed ([`crate::peaks`]). What one
//! `/device:TPU:N` of a trace is differs: a core on v2, v3 and v7x, a whole chip on
//! most others; `Chip::per_device` scales.

mod facts;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use toml::{Table, Value};

use facts::ChipFacts;
pub use facts::{ChipError, ChipFact, ChipQuantity, QUANTITIES};

/// Links between chips.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChipLinks {
    /// Links per chip.
    pub per_chip: u32,
    /// Published bandwidth of one direction of one link, bytes/s.
    pub peak_bytes: f64,
    /// Achievable bandwidth of one direction of one link, bytes/s.
    pub achievable_bytes: f64,
    /// Dimensions of the torus.
    pub torus_dims: u32,
    /// Chips in the largest pod.
    pub max_chips: u32,
    /// Axes of a slice wrap around if their length is a multiple of this; `None` if not published.
    pub wrap_multiple: Option<u32>,
    /// Latency of a hop in seconds, if published.
    pub hop_latency_s: Option<f64>,
}

/// One generation. Rates are per second and per chip.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Chip {
    /// Short name, as used by `--device-spec`.
    pub id: String,
    /// Other spellings, without `TPU`, in lower case.
    pub aliases: Vec<String>,
    /// `TensorCores`.
    pub cores: u32,
    /// Number of devices in a trace per chip.
    pub devices: u32,
    /// Matrix units of a core.
    pub mxus_per_core: u32,
    /// Rows and columns of a matrix unit: operands are padded to multiples of it.
    pub mxu_dim: u32,
    /// Rows that a matrix unit takes each cycle, where published or implied.
    pub rows_per_cycle: Option<u32>,
    /// Clock implied by the peak, Hz.
    pub clock_hz: Option<f64>,
    /// FLOP/s in bf16.
    pub bf16_flops: f64,
    /// Operations per second in int8.
    pub int8_ops: Option<f64>,
    /// FLOP/s in fp8.
    pub fp8_flops: Option<f64>,
    /// Operations per second in int4.
    pub int4_ops: Option<f64>,
    /// Bytes of HBM.
    pub hbm_bytes: u64,
    /// HBM bandwidth, bytes/s.
    pub hbm_bandwidth: f64,
    /// Bytes of VMEM of one core.
    pub vmem_bytes_per_core: u64,
    /// Bytes of CMEM.
    pub cmem_bytes: Option<u64>,
    /// VMEM read bandwidth, bytes/s, seen in captures.
    pub vmem_read_bandwidth: Option<f64>,
    /// VMEM write bandwidth, bytes/s, seen in captures.
    pub vmem_write_bandwidth: Option<f64>,
    /// Links between chips, where published. The sides of the largest pod are the
    /// fact `pod_shape`.
    pub links: Option<ChipLinks>,
    /// `SparseCores`, where published.
    pub sparse_cores: Option<u32>,
    /// Bytes/s of one chip's share of the data center network, where published.
    pub dcn_bandwidth: Option<f64>,
    /// Bytes/s between host and chip, where published.
    pub pcie_bandwidth: Option<f64>,
    /// All of the above with their sources.
    pub facts: Vec<ChipFact>,
    /// How its hardware counters are read, if that is known.
    pub counters: Option<ChipCounters>,
}

/// How the hardware counters of a chip are read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChipCounters {
    /// Layout of the numbers of its registers.
    pub registers: String,
    /// Clock of its tensor cores, GHz, as `XProf` takes it.
    pub clock_ghz: f64,
    /// Cycles that an instruction keeps a cross-lane unit busy.
    pub cycles_per_xlu_instruction: f64,
}

/// Every generation, oldest first.
pub fn chips() -> &'static [Chip] {
    &PUBLISHED.1
}

/// Descriptions of the sources.
pub fn sources() -> &'static BTreeMap<String, String> {
    &PUBLISHED.0
}

static PUBLISHED: LazyLock<(BTreeMap<String, String>, Vec<Chip>)> = LazyLock::new(|| {
    published(include_str!("../../../../assets/chips.toml"))
        .expect("chips.toml is read by the tests")
});

/// Keys of a chip that are not facts.
const NAMES: [&str; 3] = ["id", "aliases", "base"];

/// Sources come first, then one chip after the other: each is read by itself, because
/// all of them as one document take more memory than many a trace.
fn published(text: &str) -> Result<(BTreeMap<String, String>, Vec<Chip>), ChipError> {
    let read = |part: &str| {
        part.parse::<Table>()
            .map_err(|error| ChipError(format!("{error}")))
    };
    let mut parts = text.split("[[chip]]");
    let head = read(parts.next().unwrap_or_default())?;
    let sources = head
        .get("sources")
        .and_then(Value::as_table)
        .into_iter()
        .flatten();
    let sources =
        sources.map(|(name, text)| (name.clone(), text.as_str().unwrap_or_default().to_owned()));
    let chip = |part| {
        let mut table = read(part)?;
        table.remove("programs");
        let counters = table.remove("counters").map(Value::try_into).transpose();
        let counters = counters.map_err(|error| ChipError(format!("counters: {error}")))?;
        Ok::<_, ChipError>(Chip {
            counters,
            ..Chip::from_table(&table, "", None)?
        })
    };
    let chips = parts.map(chip);
    Ok((sources.collect(), chips.collect::<Result<_, _>>()?))
}

impl Chip {
    /// A per-chip number per device of a trace.
    pub fn per_device(&self, per_chip: f64) -> f64 {
        per_chip / f64::from(self.devices)
    }

    /// Operations per byte at which bf16 work stops being limited by HBM.
    pub fn ridge(&self) -> f64 {
        self.bf16_flops / self.hbm_bandwidth
    }

    /// The published chip of a device type (`TPU v5 Lite`), version text or option; `None` if it is not clearly a known
    /// one.
    pub fn named(text: &str) -> Option<&'static Self> {
        let lower = text.to_lowercase();
        let words = trace_model::joined(lower.split_whitespace(), " ");
        // Version strings have more in front: "… TFRT TPU v6 lite".
        let tail = words
            .rfind("tpu")
            .and_then(|index| words.get(index + 3..))
            .unwrap_or(&words);
        let wanted = tail.trim();
        chips()
            .iter()
            .find(|chip| chip.id == wanted || chip.aliases.iter().any(|alias| alias == wanted))
    }

    /// The chip described by a file: the keys of [`QUANTITIES`], `id`, and `base`, the published chip that provides all
    /// missing values.
    ///
    /// # Errors
    ///
    /// The text is no TOML, a key is unknown, or a value is missing or out of range.
    pub fn from_toml(text: &str, file_name: &str) -> Result<Self, ChipError> {
        let table: Table = text
            .parse()
            .map_err(|error| ChipError(format!("no TOML: {error}")))?;
        let base = match table.get("base") {
            None => None,
            Some(base) => {
                let named = base.as_str().and_then(Self::named);
                Some(named.ok_or_else(|| ChipError(format!("base: no such chip; {}", known())))?)
            }
        };
        Self::from_table(&table, file_name, base)
    }

    fn from_table(table: &Table, file_name: &str, base: Option<&Self>) -> Result<Self, ChipError> {
        let texts = |key: &str| match table.get(key) {
            None => Some(Vec::new()),
            Some(Value::String(text)) => Some(vec![text.clone()]),
            Some(Value::Array(texts)) => texts
                .iter()
                .map(|text| text.as_str().map(str::to_owned))
                .collect(),
            Some(_) => None,
        };
        let texts = |key| texts(key).ok_or_else(|| ChipError(format!("{key}: not a text")));
        let stem = file_name.strip_suffix(".toml").unwrap_or(file_name);
        let id = texts("id")?
            .into_iter()
            .next()
            .unwrap_or_else(|| stem.to_owned());
        if id.is_empty() || id.len() > 64 || id.chars().any(char::is_control) {
            return Err(ChipError("id: write a short name".to_owned()));
        }
        let mut facts: ChipFacts = base
            .into_iter()
            .flat_map(|base| &base.facts)
            .map(|fact| (fact.key, fact.clone()))
            .collect();
        facts.extend(facts::read(table, &NAMES, file_name)?);
        let missing = facts::missing(&facts);
        if !missing.is_empty() {
            let keys = missing.join(", ");
            return Err(ChipError(format!(
                "lacks {keys}: add them, or a chip to start from, like base = \"v5e\""
            )));
        }
        Ok(Self::from_facts(id, texts("aliases")?, facts))
    }

    /// Builds a chip; required facts were checked before.
    fn from_facts(id: String, aliases: Vec<String>, mut facts: ChipFacts) -> Self {
        let value = |key: &str| facts.get(key).and_then(|fact| fact.values.first().copied());
        let whole = |key: &str| value(key).map(|value| value as u32);
        let or_zero = |key: &str| value(key).unwrap_or_default();
        let peak = value("ici_link_peak").or(value("ici_link_achievable"));
        let link = |peak_bytes: f64| {
            Some(ChipLinks {
                per_chip: whole("ici_links")?,
                peak_bytes,
                achievable_bytes: value("ici_link_achievable").unwrap_or(peak_bytes),
                torus_dims: whole("torus_dims")?,
                max_chips: whole("pod_chips")?,
                wrap_multiple: whole("wrap_multiple"),
                hop_latency_s: value("ici_hop_latency_us").map(|us| us * 1e-6),
            })
        };
        Self {
            id,
            aliases,
            cores: or_zero("cores") as u32,
            devices: or_zero("devices") as u32,
            mxus_per_core: or_zero("mxus_per_core") as u32,
            mxu_dim: or_zero("mxu_dim") as u32,
            rows_per_cycle: whole("rows_per_cycle"),
            clock_hz: value("clock_ghz").map(|ghz| ghz * 1e9),
            bf16_flops: or_zero("bf16_flops"),
            int8_ops: value("int8_ops"),
            fp8_flops: value("fp8_flops"),
            int4_ops: value("int4_ops"),
            hbm_bytes: or_zero("hbm_bytes") as u64,
            hbm_bandwidth: or_zero("hbm_bandwidth"),
            vmem_bytes_per_core: or_zero("vmem_bytes_per_core") as u64,
            cmem_bytes: value("cmem_bytes").map(|bytes| bytes as u64),
            vmem_read_bandwidth: value("vmem_read_bandwidth"),
            vmem_write_bandwidth: value("vmem_write_bandwidth"),
            links: peak.and_then(link),
            sparse_cores: whole("sparse_cores"),
            dcn_bandwidth: value("dcn_bandwidth"),
            pcie_bandwidth: value("pcie_bandwidth"),
            counters: None,
            facts: QUANTITIES
                .iter()
                .filter_map(|quantity| facts.remove(quantity.key))
                .collect(),
        }
    }
}

/// `known chips are v2, v3 …`, for messages.
pub fn known() -> String {
    format!(
        "known chips are {}",
        trace_model::joined(chips().iter().map(|chip| chip.id.as_str()), ", ")
    )
}
