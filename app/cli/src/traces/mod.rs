//! Traces that servers keep open between calls, and the places that they may read.

mod open;
mod roots;

pub use open::{AskedTrace, OpenTraces};
pub use roots::Roots;
