//! How two runs are compared.

use analysis::compare::{CompareOptions, TestOptions};
use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{RequestError, Result};

/// Options of the significance test.
#[derive(Debug, Args, Deserialize, JsonSchema)]
#[command(next_help_heading = "Significance")]
#[serde(default)]
pub struct CompareRequest {
    /// Significance level: the chance of calling noise a change
    #[arg(long, value_name = "P", default_value_t = Self::default().alpha)]
    pub alpha: f64,
    /// Ignore changes below this percentage of the step
    #[arg(long, value_name = "PERCENT", default_value_t = Self::default().min_effect)]
    pub min_effect: f64,
    /// Compare even if the runs are not comparable, and replace output files that Systole did not write
    #[arg(long)]
    #[schemars(description = "Compare even if the runs are not comparable")]
    pub force: bool,
}

impl Default for CompareRequest {
    fn default() -> Self {
        Self {
            alpha: 0.05,
            min_effect: 0.1,
            force: false,
        }
    }
}

impl CompareRequest {
    /// The options of the comparison.
    pub fn options(&self) -> Result<CompareOptions> {
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return Err(RequestError::argument(
                "alpha",
                "write a probability between 0 and 1: 0.05",
            ));
        }
        if !(self.min_effect.is_finite() && self.min_effect >= 0.0) {
            return Err(RequestError::argument(
                "min_effect",
                "write a part of the step in percent: 0.5",
            ));
        }
        let test = TestOptions {
            alpha: self.alpha,
            min_effect_percent: self.min_effect,
            ..TestOptions::default()
        };
        Ok(CompareOptions {
            test,
            force: self.force,
            ..CompareOptions::default()
        })
    }
}
