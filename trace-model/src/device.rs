//! Facts that a capture records about a device.

use serde::{Deserialize, Serialize};

/// `TPU:3` of `/device:TPU:3`.
pub fn short_device_name(name: &str) -> &str {
    name.strip_prefix("/device:").unwrap_or(name)
}

/// Device type and peaks *as recorded in the capture*. Published values, and the choice between recorded and published
/// ones, belong to the analyses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Number of the chip on its host; the cores of one chip share it.
    pub local_chip_id: Option<i64>,
    /// Number of the chip in the slice of the pod.
    pub global_chip_id: Option<i64>,
    /// Links to other devices, if recorded.
    pub links: Option<DeviceLinks>,
}

/// Links between devices that form a torus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceLinks {
    /// Number of devices along each axis; each axis closes to a ring.
    pub rings: Vec<u32>,
    /// Bandwidth of one link in one direction, bytes/s.
    pub bytes_per_second: f64,
    /// Latency from a device to its neighbour, seconds.
    pub hop_seconds: f64,
}
