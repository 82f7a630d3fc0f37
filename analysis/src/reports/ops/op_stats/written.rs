//! A row of the op table as JSON.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::OpRow;
use super::costs::OpCosts;
use super::row::{CoreOpTime, OpRates};
use super::rows::OpRows;
use crate::facts::category::{CollectiveKind, OpGroup};
use crate::hardware::limits::BoundBy;

/// One op of one program, on all cores. Work is of all executions together; missing is
/// "this capture does not say".
#[derive(Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
#[schemars(rename = "OpRow")]
struct WrittenOpRow<'a> {
    /// Name of the program, with its id.
    program: &'a str,
    /// Name of the instruction.
    name: &'a str,
    /// HLO category.
    category: &'a str,
    /// Kind of work.
    group: OpGroup,
    /// Kind of collective, of collectives.
    collective: Option<CollectiveKind>,
    /// It starts or awaits something that runs beside other ops.
    is_async: bool,
    /// No op runs inside it.
    is_leaf: bool,
    /// Custom call.
    is_custom_call: bool,
    /// Computed again to save memory.
    is_remat: bool,
    /// Executions.
    occurrences: u64,
    /// Their time.
    total_time_ps: i64,
    /// The same without ops inside.
    self_time_ps: i64,
    /// Mean time of an execution.
    mean_time_ps: f64,
    /// Time of the shortest execution.
    min_time_ps: Option<i64>,
    /// Self time of the time of all devices, idle time included.
    self_of_total_percent: Option<f64>,
    /// Self time of the time in ops.
    self_of_op_time_percent: Option<f64>,
    #[serde(flatten)]
    costs: OpCosts,
    #[serde(flatten)]
    rates: OpRates,
    /// The limit that it would have gone beyond: its costs or its times are wrong.
    beyond_peak_of: Option<BoundBy>,
    /// Time that it would have taken at the default clock of the chip.
    time_at_default_clock_ps: Option<f64>,
    /// Time in which it waited for memory.
    dma_stall_ps: Option<i64>,
    /// That time of its total time.
    dma_stall_percent: Option<f64>,
    /// Name in the framework.
    framework_name: Option<&'a str>,
    /// File and line.
    source: Option<&'a str>,
    /// Executions on each core.
    per_core: Vec<CoreOpTime>,
}

impl<'a> From<OpRow<'a>> for WrittenOpRow<'a> {
    fn from(row: OpRow<'a>) -> Self {
        Self {
            program: row.program(),
            name: row.name(),
            category: row.category(),
            group: row.group(),
            collective: row.collective(),
            is_async: row.is_async(),
            is_leaf: row.is_leaf(),
            is_custom_call: row.is_custom_call(),
            is_remat: row.is_remat(),
            occurrences: row.occurrences(),
            total_time_ps: row.total_time_ps(),
            self_time_ps: row.self_time_ps(),
            mean_time_ps: row.mean_time_ps(),
            min_time_ps: row.min_time_ps(),
            self_of_total_percent: row.self_of_total_percent(),
            self_of_op_time_percent: row.self_of_op_time_percent(),
            costs: row.costs(),
            rates: row.rates(),
            beyond_peak_of: row.rates().beyond_peak.map(|(limit, _)| limit),
            time_at_default_clock_ps: row.time_at_default_clock_ps(),
            dma_stall_ps: row.dma_stall_ps(),
            dma_stall_percent: row.dma_stall_percent(),
            framework_name: row.framework_name(),
            source: row.source(),
            per_core: row.per_core(),
        }
    }
}

impl Serialize for OpRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WrittenOpRow::from(*self).serialize(serializer)
    }
}

impl Serialize for OpRows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl JsonSchema for OpRows {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OpRows".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<WrittenOpRow<'_>>::json_schema(generator)
    }
}
