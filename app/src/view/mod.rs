//! What is looked at of a trace, and what there is to draw of it: state, layout,
//! colours. Knows neither widgets nor screens, so that the window and pictures made
//! without one are the same, and every habit can be tested without either.

pub mod area;
pub mod bands;
pub mod density;
pub mod histogram;
mod history;
pub mod layout;
pub mod legend;
pub mod optree;
pub mod pair;
pub mod palette;
pub mod peaks;
pub mod roofline;
pub mod search;
pub mod state;
pub mod tabs;
pub mod target;
pub mod tiles;
pub mod time_format;
pub mod trace;
pub mod tree;
pub mod viewport;
