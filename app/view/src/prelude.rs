//! What most of the view names: `use crate::prelude::*`.

pub use analysis::facts::StepsReport;
pub use analysis::{OpClasses, OpGroup, Percent, Table, Unit, measured_range};
pub use importers::Progress;
pub use serde::{Deserialize, Serialize};
pub use session::number::counted;
pub use trace_model::prelude::*;
