//! What most reports name: `use facts::prelude::*`.

pub use engine::prelude::*;
pub use hardware::limits::BoundBy;
pub use hardware::peaks::Peaks;

pub use crate::TraceFacts as _;
pub use crate::{
    CollectiveKind, HostClass, OpClass, OpClasses, OpGroup, SelfTimeSegment, Step, StepsReport,
    SumOver, TimeUse, host_threads, largest_first, largest_number_first,
};
