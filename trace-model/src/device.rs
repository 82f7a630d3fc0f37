//! What a capture says about the device itself.

/// Device type and peaks *as recorded in the capture*. Published values and the
/// choice between them are policy and live in the analyses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceInfo {
    /// `TPU v6 Lite`, `TPU v5p` …
    pub type_name: Option<String>,
    /// Peak rate at the chip's bf16 speed, FLOP/s.
    pub peak_flops: Option<f64>,
    /// Peak HBM bandwidth, bytes/s.
    pub peak_hbm_bytes: Option<f64>,
    /// Peak CMEM read bandwidth, bytes/s.
    pub peak_cmem_read_bytes: Option<f64>,
    /// Peak CMEM write bandwidth, bytes/s.
    pub peak_cmem_write_bytes: Option<f64>,
    /// Peak VMEM read bandwidth, bytes/s.
    pub peak_vmem_read_bytes: Option<f64>,
    /// Peak VMEM write bandwidth, bytes/s.
    pub peak_vmem_write_bytes: Option<f64>,
    /// Rows and columns of a matrix unit, where it is square.
    pub matrix_unit: Option<u32>,
    /// Whether one device spans two cores.
    pub has_megacore: Option<bool>,
    /// Whether VMEM is one pool (v5 and later).
    pub has_merged_vmem: Option<bool>,
    /// Chip on its host, joins the cores of one chip.
    pub local_chip_id: Option<i64>,
    /// Chip in the slice.
    pub global_chip_id: Option<i64>,
    /// How it is linked to the others, if that is recorded.
    pub links: Option<DeviceLinks>,
}

/// Links between devices that form a torus.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceLinks {
    /// Devices along each axis, each of which closes to a ring.
    pub rings: Vec<u32>,
    /// One way of one link, bytes/s.
    pub bytes_per_second: f64,
    /// From a device to its neighbour.
    pub hop_seconds: f64,
}
