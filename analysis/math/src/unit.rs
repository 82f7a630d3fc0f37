//! Units of numbers.

use serde::{Deserialize, Serialize};

/// Unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Text, or a number without unit.
    None,
    /// A count.
    Count,
    /// Picoseconds.
    Picoseconds,
    /// Bytes.
    Bytes,
    /// Percent, 0 to 100.
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
