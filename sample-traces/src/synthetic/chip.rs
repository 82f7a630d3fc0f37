//! Properties of the synthetic chips.
//!
//! Peaks are those that captures of such chips record (v5e) or the published ones. ICI
//! bandwidth is per link and direction. Sources: Google Cloud's TPU documentation and
//! <https://jax-ml.github.io/scaling-book/tpus>.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyntheticChip {
    /// Name for display and for file names.
    pub id: &'static str,
    /// `device_type_string` of its captures.
    pub type_name: &'static str,
    /// bf16 peak of one device, TFLOP/s.
    pub peak_teraflops: f64,
    /// HBM bandwidth of one device, GB/s.
    pub hbm_gigabytes: f64,
    /// VMEM read and write bandwidth, GB/s.
    pub vmem_gigabytes: (f64, f64),
    /// Rows and columns of the systolic array.
    pub mxu_tile: u64,
    /// Whether two cores form one device.
    pub megacore: bool,
    /// Bandwidth of one ICI link in one direction, bytes/s.
    pub link_bytes: f64,
    /// An axis has wrap-around links if its length is a multiple of this.
    pub wraps_at: u32,
}

impl SyntheticChip {
    /// v5e, "TPU v5 Lite".
    pub const V5E: Self = Self {
        id: "v5e",
        type_name: "TPU v5 Lite",
        peak_teraflops: 202.7,
        hbm_gigabytes: 819.157_637_529_6,
        vmem_gigabytes: (18_432.002_474_639_36, 6_144.004_404_019_201),
        mxu_tile: 128,
        megacore: false,
        link_bytes: 45e9,
        wraps_at: 16,
    };
    pub const V5P: Self = Self {
        id: "v5p",
        type_name: "TPU v5p",
        peak_teraflops: 459.0,
        hbm_gigabytes: 2765.0,
        vmem_gigabytes: (0.0, 0.0),
        mxu_tile: 128,
        megacore: true,
        link_bytes: 90e9,
        wraps_at: 4,
    };
    /// v6e, "TPU v6 Lite", Trillium.
    pub const V6E: Self = Self {
        id: "v6e",
        type_name: "TPU v6 Lite",
        peak_teraflops: 918.0,
        hbm_gigabytes: 1_637.993_152_512,
        vmem_gigabytes: (23_296.009_987_686_4, 16_128.031_693_209_601),
        mxu_tile: 256,
        megacore: false,
        link_bytes: 90e9,
        wraps_at: 16,
    };

    /// bf16 peak, FLOP/s.
    pub fn peak_flops(&self) -> f64 {
        self.peak_teraflops * 1e12
    }

    /// HBM bandwidth, bytes/s.
    pub fn hbm_bytes(&self) -> f64 {
        self.hbm_gigabytes * 1e9
    }

    /// Bytes per second that a ring along an axis of `devices` moves past each device: both
    /// directions with wrap-around links, half of that without.
    pub fn ring_bytes(&self, devices: u32) -> f64 {
        if devices.is_multiple_of(self.wraps_at) {
            2.0 * self.link_bytes
        } else {
            self.link_bytes
        }
    }

    /// Number of hops of a message on its way around an axis.
    pub fn hops(&self, devices: u32) -> u32 {
        if devices.is_multiple_of(self.wraps_at) {
            devices.div_ceil(2)
        } else {
            devices - 1
        }
    }

    /// Share of the tiles of a bf16 matmul that is not padding.
    pub fn padding_efficiency(&self, rows: u64, inner: u64, columns: u64) -> f64 {
        const BF16_SUBLANES: u64 = 16;
        let padded = rows.next_multiple_of(BF16_SUBLANES)
            * inner.next_multiple_of(self.mxu_tile)
            * columns.next_multiple_of(self.mxu_tile);
        (rows * inner * columns) as f64 / padded as f64
    }
}
