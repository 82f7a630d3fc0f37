//! What is expected of a program or a run.

use analysis::Context;
use analysis::expect::{ExpectReport, Expectation, judge};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{RequestError, Result};

/// Expectations.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExpectRequest {
    /// What is expected: each with a name and one condition.
    pub expect: Vec<Expectation>,
}

impl ExpectRequest {
    /// The answer to each. None at all would count as met.
    pub fn answer(&self, cx: &Context<'_>) -> Result<ExpectReport> {
        if self.expect.is_empty() {
            return Err(RequestError::argument(
                "expect",
                "name at least one expectation",
            ));
        }
        judge(cx, &self.expect).map_err(|error| RequestError::argument("expect", error.to_string()))
    }
}
