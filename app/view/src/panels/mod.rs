//! Content of the lists and plots beside the timeline.

pub mod area;
pub mod heat_map;
pub mod histogram;
pub mod hlo_graph;
pub mod legend;
pub mod op_facts;
pub mod op_families;
pub mod optree;
pub mod source;
pub mod target;
pub mod transfer;
