//! Content of the lists and plots beside the timeline.

pub mod area;
pub mod histogram;
pub mod legend;
pub mod op_facts;
pub mod optree;
pub mod roofline;
pub mod target;
