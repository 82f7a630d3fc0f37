//! Which of two values is better.

use serde::{Deserialize, Serialize};

/// Whether lower or higher values are better.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Lower is better.
    Lower,
    /// Higher is better.
    Higher,
    /// Neither is better in general.
    #[default]
    Neither,
}
