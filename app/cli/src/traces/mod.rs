//! Traces that servers keep open between calls, and the places that they may read.

mod open;
mod roots;

pub use open::{AskedTrace, TraceCache};
pub use roots::Roots;
