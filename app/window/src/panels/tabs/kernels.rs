//! Custom kernels and what the hardware counted.

use super::prelude::*;

pub const TAB: Tab = Tab {
    id: "kernels",
    title: "Kernels",
    reports: Some(&["kernels", "hardware_counters", "sparse_cores"]),
    icon: "line 0.90703 0.735 0.5 0.97 0.09297 0.735 0.09297 0.265 \
           0.5 0.03 0.90703 0.265 0.90703 0.735; dot 0.5 0.5 0.14",
    ..TABLES
};
