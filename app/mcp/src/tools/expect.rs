//! `expect`: whether a program or a run is as expected.

use super::prelude::*;
use analysis::Tabular as _;
use analysis::expect::Expectation;
use serde_json::{Map, Value};

use request::ExpectRequest;

pub(super) struct ExpectTool;

/// The keys of an expectation are told in words: their schema is as long as those of several tools.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ExpectInput {
    /// What is expected.
    #[schemars(
        description = "Objects with a name and one condition: op, collective (a kind, or any), product (a type), kernel, \
            fusion_of (opcodes), rematerialized, host_copies, compiles_in_steps (true or false), share_of (with min_percent, \
            max_percent), max_peak_bytes, max_flops, max_traffic_bytes, donated. op and collective take min, max, exactly, \
            collective min_bytes and max_bytes, kernel and fusion_of present. named, source, scope and program narrow it; \
            names are patterns with *."
    )]
    expect: Vec<Map<String, Value>>,
    #[serde(flatten)]
    of: PartOfTrace,
}

impl McpTool for ExpectTool {
    type Input = ExpectInput;
    const NAME: &'static str = "expect";
    const ABOUT: &'static str = "Did the change happen? Judges what must and must not be in a program (HLO, StableHLO) or a \
        profile: collectives, types of products, kernels, fusions, memory, compilation. Each is met, not met, or unknown.";

    fn run(call: &Call, input: ExpectInput) -> Result<ToolOutput> {
        let read = |one: Map<String, Value>| serde_json::from_value::<Expectation>(one.into());
        let expect = input.expect.into_iter().map(read).collect::<Result<_, _>>();
        let expect = expect.map_err(|error| RequestError::argument("expect", error.to_string()))?;
        let (session, scope) = input.of.open_programs(call)?;
        let report = ExpectRequest { expect }.answer(&session.context(scope))?;
        let content = AnswerContent {
            statement: Some(report.statement.clone()),
            ..AnswerContent::default()
        };
        let content = content.with_tables(report.tables());
        input.of.answer(&session, content)
    }
}
