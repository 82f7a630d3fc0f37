//! Published facts of every TPU generation, per chip.
//!
//! They are used only where a capture does not record its own peaks, and then are
//! always named as published ([`crate::peaks`]). Where sources disagree, `note`
//! says how. What one `/device:TPU:N` of a trace is differs: a core on v2, v3 and
//! v7x, a whole chip on all others; [`Chip::per_device`] scales.
//!
//! Consistency, checked by the tests: bf16 peak = cores × MXUs × dim² × 2 ×
//! rows per cycle × clock.

/// Speed of the links between chips.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Links {
    /// Links per chip.
    pub per_chip: u32,
    /// One way of one link, bytes/s, as published by the cloud provider.
    pub peak_bytes: f64,
    /// One way of one link, bytes/s, as programs achieve it.
    pub achievable_bytes: f64,
    /// Dimensions of the torus.
    pub torus_dims: u32,
    /// Chips in the largest pod.
    pub max_chips: u32,
}

/// One generation. Rates are per second and per chip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chip {
    /// Short name, as the option `--device-spec` takes it.
    pub id: &'static str,
    /// Other spellings, without `TPU`, in lower case.
    aliases: &'static [&'static str],
    /// `TensorCores`.
    pub cores: u32,
    /// Devices of a trace.
    pub devices: u32,
    /// Matrix units of a core.
    pub mxus_per_core: u32,
    /// Rows and columns of a matrix unit: operands are padded to multiples of it.
    pub mxu_dim: u32,
    /// Rows that a matrix unit takes each cycle.
    pub rows_per_cycle: u32,
    /// Clock that the peak implies, Hz.
    pub clock_hz: f64,
    /// FLOP/s in bf16.
    pub bf16_flops: f64,
    /// Operations per second in int8.
    pub int8_ops: Option<f64>,
    /// FLOP/s in fp8.
    pub fp8_flops: Option<f64>,
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
    /// Links between chips, where published.
    pub links: Option<Links>,
    /// `SparseCores`.
    pub sparse_cores: u32,
    /// Bytes/s between host and chip, where published.
    pub pcie_bandwidth: Option<f64>,
    /// What sources disagree about.
    pub note: Option<&'static str>,
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TERA: f64 = 1e12;
const GIGA: f64 = 1e9;

/// What is zero or absent in most rows.
const BASE: Chip = Chip {
    id: "",
    aliases: &[],
    cores: 1,
    devices: 1,
    mxus_per_core: 4,
    mxu_dim: 128,
    rows_per_cycle: 1,
    clock_hz: 0.0,
    bf16_flops: 0.0,
    int8_ops: None,
    fp8_flops: None,
    hbm_bytes: 0,
    hbm_bandwidth: 0.0,
    vmem_bytes_per_core: 16 * MIB,
    cmem_bytes: None,
    vmem_read_bandwidth: None,
    vmem_write_bandwidth: None,
    links: None,
    sparse_cores: 0,
    pcie_bandwidth: None,
    note: None,
};

const fn links(per_chip: u32, peak: f64, achievable: f64, torus_dims: u32, max_chips: u32) -> Links {
    Links { per_chip, peak_bytes: peak * GIGA, achievable_bytes: achievable * GIGA, torus_dims, max_chips }
}

/// Every generation, oldest first.
pub static CHIPS: &[Chip] = &[
    Chip {
        id: "v2",
        cores: 2,
        devices: 2,
        mxus_per_core: 1,
        clock_hz: 0.70 * GIGA,
        bf16_flops: 46.0 * TERA,
        hbm_bytes: 16_000_000_000,
        hbm_bandwidth: 716.0 * GIGA,
        ..BASE
    },
    Chip {
        id: "v3",
        cores: 2,
        devices: 2,
        mxus_per_core: 2,
        clock_hz: 0.94 * GIGA,
        bf16_flops: 123.0 * TERA,
        int8_ops: Some(123.0 * TERA),
        hbm_bytes: 32 * GIB,
        hbm_bandwidth: 900.0 * GIGA,
        links: Some(links(4, 100.0, 100.0, 2, 1024)),
        note: Some("sources say 123 or 140 TFLOP/s, 825 or 900 GB/s"),
        ..BASE
    },
    Chip {
        id: "v4i",
        aliases: &["v4 lite"],
        clock_hz: 1.05 * GIGA,
        bf16_flops: 137.0 * TERA,
        hbm_bytes: 8_000_000_000,
        hbm_bandwidth: 614.0 * GIGA,
        cmem_bytes: Some(128 * MIB),
        ..BASE
    },
    Chip {
        id: "v4",
        cores: 2,
        clock_hz: 1.05 * GIGA,
        bf16_flops: 275.0 * TERA,
        int8_ops: Some(275.0 * TERA),
        hbm_bytes: 32 * GIB,
        hbm_bandwidth: 1200.0 * GIGA,
        cmem_bytes: Some(128 * MIB),
        links: Some(links(6, 45.0, 45.0, 3, 4096)),
        pcie_bandwidth: Some(16.0 * GIGA),
        note: Some("sources say 1200 or 1228 GB/s"),
        ..BASE
    },
    Chip {
        id: "v5e",
        aliases: &["v5 lite", "v5lite", "v5litepod"],
        clock_hz: 1.50 * GIGA,
        bf16_flops: 197.0 * TERA,
        int8_ops: Some(394.0 * TERA),
        hbm_bytes: 16_000_000_000,
        hbm_bandwidth: 819.0 * GIGA,
        vmem_bytes_per_core: 128 * MIB,
        vmem_read_bandwidth: Some(18_432.0 * GIGA),
        vmem_write_bandwidth: Some(6_144.0 * GIGA),
        links: Some(links(4, 50.0, 45.0, 2, 256)),
        pcie_bandwidth: Some(16.0 * GIGA),
        note: Some("captures record 202.7 TFLOP/s"),
        ..BASE
    },
    Chip {
        id: "v5p",
        aliases: &["v5"],
        cores: 2,
        clock_hz: 1.75 * GIGA,
        bf16_flops: 459.0 * TERA,
        int8_ops: Some(918.0 * TERA),
        hbm_bytes: 95_000_000_000,
        hbm_bandwidth: 2765.0 * GIGA,
        vmem_bytes_per_core: 64 * MIB,
        links: Some(links(6, 100.0, 90.0, 3, 8960)),
        sparse_cores: 4,
        pcie_bandwidth: Some(16.0 * GIGA),
        note: Some("sources say 2460 to 2800 GB/s"),
        ..BASE
    },
    Chip {
        id: "v6e",
        aliases: &["v6 lite", "v6lite", "trillium"],
        mxus_per_core: 2,
        mxu_dim: 256,
        rows_per_cycle: 2,
        clock_hz: 1.75 * GIGA,
        bf16_flops: 918.0 * TERA,
        int8_ops: Some(1836.0 * TERA),
        fp8_flops: Some(918.0 * TERA),
        hbm_bytes: 32_000_000_000,
        hbm_bandwidth: 1638.0 * GIGA,
        vmem_bytes_per_core: 128 * MIB,
        vmem_read_bandwidth: Some(23_296.0 * GIGA),
        vmem_write_bandwidth: Some(16_128.0 * GIGA),
        links: Some(links(4, 100.0, 90.0, 2, 256)),
        sparse_cores: 2,
        pcie_bandwidth: Some(32.0 * GIGA),
        note: Some("captures record 918 or 946.7 TFLOP/s"),
        ..BASE
    },
    Chip {
        id: "v7x",
        aliases: &["v7", "7", "7x", "ironwood"],
        cores: 2,
        devices: 2,
        mxus_per_core: 2,
        mxu_dim: 256,
        rows_per_cycle: 2,
        clock_hz: 2.2 * GIGA,
        bf16_flops: 2307.0 * TERA,
        fp8_flops: Some(4614.0 * TERA),
        hbm_bytes: 192 * GIB,
        hbm_bandwidth: 7380.0 * GIGA,
        vmem_bytes_per_core: 64 * MIB,
        links: Some(links(6, 100.0, 100.0, 3, 9216)),
        sparse_cores: 4,
        note: Some("the peak implies 2.2 GHz, the profiler's own tables say 1.9 GHz"),
        ..BASE
    },
];

impl Chip {
    /// A per-chip number per device of a trace.
    pub fn per_device(&self, per_chip: f64) -> f64 {
        per_chip / f64::from(self.devices)
    }

    /// Operations per byte at which bf16 work stops being limited by HBM.
    pub fn ridge(&self) -> f64 {
        self.bf16_flops / self.hbm_bandwidth
    }

    /// The chip that a device type (`TPU v5 Lite`), version text or option names;
    /// `None` for anything that is not plainly a known one.
    pub fn named(text: &str) -> Option<&'static Self> {
        let lower = text.to_lowercase();
        let words = lower.split_whitespace().collect::<Vec<_>>().join(" ");
        // Version texts have more in front: "… TFRT TPU v6 lite".
        let tail = words.rfind("tpu").and_then(|at| words.get(at + 3..)).unwrap_or(&words);
        let wanted = tail.trim();
        CHIPS.iter().find(|chip| chip.id == wanted || chip.aliases.contains(&wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_follow_from_units_and_clock() {
        for chip in CHIPS {
            let per_cycle = f64::from(chip.cores * chip.mxus_per_core * chip.mxu_dim * chip.mxu_dim * 2);
            let peak = per_cycle * f64::from(chip.rows_per_cycle) * chip.clock_hz;
            assert!((peak / chip.bf16_flops - 1.0).abs() < 0.01, "{}: {peak:e}", chip.id);
        }
    }

    #[test]
    fn recorded_peaks_imply_a_slightly_faster_clock() {
        // Peaks as seen in captures, over the operations per cycle of the table.
        let clock = |id: &str, peak: f64| {
            let chip = Chip::named(id).unwrap();
            peak / f64::from(chip.mxus_per_core * chip.mxu_dim.pow(2) * 2 * chip.rows_per_cycle)
        };
        assert!((clock("v6e", 946.7e12) / 1.8057e9 - 1.0).abs() < 1e-4);
        assert!((clock("v5e", 202.7e12) / 1.5465e9 - 1.0).abs() < 1e-4);
    }

    #[test]
    fn device_types_are_recognised() {
        let id = |text: &str| Chip::named(text).map(|chip| chip.id);
        assert_eq!(id("TPU v5 Lite"), Some("v5e"));
        assert_eq!(id("Google TPU  v5e"), Some("v5e"));
        assert_eq!(id("TPU v5"), Some("v5p"));
        assert_eq!(id("TPU v6 Lite"), Some("v6e"));
        assert_eq!(id("0.0.37 TFRT TPU v6 lite"), Some("v6e"));
        assert_eq!(id("TPU7x"), Some("v7x"));
        assert_eq!(id("v4 lite"), Some("v4i"));
        assert_eq!(id("v6e"), Some("v6e"));
        for unknown in ["", "TPU", "v8", "NVIDIA H200", "v5ee", "tpu v6 lite pod"] {
            assert_eq!(id(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn ridges_of_the_published_peaks() {
        let ridge = |id: &str| Chip::named(id).unwrap().ridge().floor() as u32;
        assert_eq!([ridge("v5e"), ridge("v5p"), ridge("v6e"), ridge("v7x")], [240, 166, 560, 312]);
    }
}
