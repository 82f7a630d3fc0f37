//! Why a program does not fit into memory: what it needs, by kind and source line, what of that is padding, and the changes
//! that would make it fit.
//!
//! ```text
//! message of the compiler or the runtime ─► message ─┐
//! buffer assignment (the report `buffers`) ─► plan ──┼─► MemoryShortage ─► fixes
//! schedule of a program without one ────────► live ──┘
//! ```

mod finish;
mod fixes;
mod live;
mod message;
mod need;
mod plan;
mod size;
mod text;

pub use live::of_schedule;
pub use message::MessageReader;
pub use need::{MemoryFix, MemoryShortage, NeededBuffer, NeededKind, NeededSource};
pub use plan::of_program;
pub use size::binary;
