//! Time that a device or a step waited for input.

use math::stats::percent;
use serde::Serialize;
use trace_model::Picos;

/// Input wait of a device or step.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct InputWait {
    /// The device or step that waited.
    pub name: String,
    /// The denominator: a step, or from the first program to the end of the last.
    pub length_ps: i64,
    /// Time in ops that wait for the host's queue; `None` without ops.
    pub infeed_ps: Option<i64>,
    /// Time in gaps between programs in which the host prepares input.
    pub gap_ps: i64,
    /// The sum of both as a share of the length.
    pub percent: Option<f64>,
    /// The host event with the longest wait, if host events were examined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
}

impl InputWait {
    /// Infeed ops and gaps together.
    pub fn total_ps(&self) -> i64 {
        self.infeed_ps.unwrap_or(0).saturating_add(self.gap_ps)
    }
}

pub(super) fn wait(
    name: impl Into<String>,
    length_ps: i64,
    infeed_ps: Option<i64>,
    gap_ps: i64,
) -> InputWait {
    let percent = percent(infeed_ps.unwrap_or(0).saturating_add(gap_ps), length_ps);
    InputWait {
        name: name.into(),
        length_ps,
        infeed_ps,
        gap_ps,
        percent,
        event: None,
    }
}

pub(super) fn mean(all: &[InputWait]) -> Option<InputWait> {
    let count = i64::try_from(all.len()).ok().filter(|&count| count > 0)?;
    let sum = |get: fn(&InputWait) -> i64| all.iter().map(get).sum::<Picos>().ps() / count;
    let infeed = all
        .iter()
        .map(|part| part.infeed_ps.map(Picos::from_ps))
        .sum::<Option<Picos>>();
    let infeed = infeed.map(|sum| sum.ps() / count);
    Some(wait(
        all.first()?.name.clone(),
        sum(|part| part.length_ps),
        infeed,
        sum(|part| part.gap_ps),
    ))
}
