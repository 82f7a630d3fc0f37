//! Everything around the timeline. A panel is a function from the state to widgets; what the user does comes back as
//! commands.

pub mod area;
#[cfg(not(target_arch = "wasm32"))]
pub mod capture;
pub mod chip;
pub mod comparison_tables;
pub mod context;
pub mod controls;
pub mod copy;
pub mod details;
pub mod dock;
pub mod find;
pub mod follow;
#[cfg(not(target_arch = "wasm32"))]
pub mod followed;
pub mod frame;
pub mod heat_map;
pub mod help;
pub mod histogram;
pub mod icicle;
pub mod icons;
pub mod keys;
pub mod late;
pub mod legend;
pub mod memory_curve;
pub mod memory_map;
pub mod notes;
pub mod notice;
pub mod number;
mod op_rows;
pub mod palette;
pub mod path_dialog;
mod prelude;
pub mod rail;
pub mod roofline;
pub mod scope;
pub mod search;
pub mod server_runs;
pub mod sessions;
pub mod steps;
pub mod table;
pub mod tables;
pub mod tabs;
pub mod tabs_with_data;
pub mod timed_lines;
pub mod toolbar;
pub mod welcome;
pub mod widgets;
