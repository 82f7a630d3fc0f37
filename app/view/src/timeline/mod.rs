//! An open trace, its list of tracks, and the layout of what is drawn.

pub mod bands;
pub mod columns;
pub mod counter_peaks;
pub mod counter_text;
pub mod density;
pub mod derived;
pub mod group_load;
pub mod highlighted;
pub mod inks;
pub mod layout;
pub mod marks;
pub mod peaks;
pub mod ruler;
pub mod scene;
pub mod shapes;
pub mod tiles;
pub mod trace;
pub mod tree;
