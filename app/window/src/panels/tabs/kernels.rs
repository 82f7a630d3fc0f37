//! Custom kernels and what the hardware counted.

use std::f32::consts::TAU;

use super::prelude::*;

pub const TAB: Tab = Tab {
    id: "kernels",
    title: "Kernels",
    reports: Some(&["kernels", "hardware_counters", "sparse_cores"]),
    icon: |pen| {
        let corner = |i: u8| {
            let angle = (f32::from(i) + 0.5) / 6.0 * TAU;
            (0.5 + 0.47 * angle.cos(), 0.5 + 0.47 * angle.sin())
        };
        pen.line(&(0..=6).map(corner).collect::<Vec<_>>());
        pen.dot((0.5, 0.5), 0.14);
    },
    ..TABLES
};
