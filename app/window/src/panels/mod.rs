//! Everything around the timeline. A panel is a function from the state to widgets; what the user does comes back as
//! commands.

pub mod area;
#[cfg(not(target_arch = "wasm32"))]
pub mod capture;
pub mod chip;
pub mod context;
pub mod copy;
pub mod details;
pub mod dock;
pub mod find;
pub mod follow;
pub mod found;
pub mod frame;
pub mod health;
pub mod heat_map;
pub mod help;
pub mod hints;
pub mod histogram;
pub mod hlo;
mod hlo_boxes;
mod hlo_diff;
pub mod icicle;
pub mod icons;
pub mod keys;
pub mod legend;
pub mod memory_curve;
pub mod memory_map;
pub mod notes;
pub mod notice;
pub mod number;
pub mod open_path;
pub mod optree;
pub mod overview;
pub mod palette;
#[cfg(not(target_arch = "wasm32"))]
pub mod query;
pub mod rail;
mod requests;
pub mod roofline;
pub mod scope;
pub mod search;
pub mod server_runs;
pub mod sessions;
pub mod source;
pub mod steps;
pub mod table;
pub mod tables;
pub mod tabs_with_data;
pub mod toolbar;
pub mod welcome;
pub mod what_if;
