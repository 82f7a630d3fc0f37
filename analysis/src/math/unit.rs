//! What numbers count.

use serde::{Deserialize, Serialize};

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Text, or a number without unit.
    None,
    /// How many.
    Count,
    /// Picoseconds.
    Picoseconds,
    /// Bytes.
    Bytes,
    /// 0 to 100.
    Percent,
    /// Operations.
    Flop,
    /// Operations per second.
    FlopPerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Operations per byte.
    FlopPerByte,
}
