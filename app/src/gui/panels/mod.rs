//! Everything around the timeline. A panel is a function from the state to widgets; what the user does comes back as
//! commands.

pub mod area;
pub mod context;
pub mod copy;
pub mod details;
pub mod dock;
pub mod find;
pub mod follow;
pub mod found;
pub mod frame;
pub mod health;
pub mod help;
pub mod hints;
pub mod histogram;
pub mod hlo;
pub mod icons;
pub mod keys;
pub mod legend;
pub mod notes;
pub mod notice;
pub mod number;
pub mod open_path;
pub mod optree;
pub mod overview;
pub mod palette;
pub mod rail;
pub mod roofline;
pub mod scope;
pub mod search;
pub mod sessions;
pub mod steps;
pub mod table;
pub mod tables;
pub mod tabs_with_data;
pub mod toolbar;
pub mod welcome;
