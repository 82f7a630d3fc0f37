//! Time that a device or a step waited for input.

use facts::prelude::*;

/// Input wait of a device or step.
#[engine::row(measured)]
pub struct InputWait {
    /// The device or step that waited.
    #[column(id = "device")]
    #[column(id = "step")]
    pub name: String,
    /// The denominator: a step, or from the first program to the end of the last.
    #[column]
    pub length_ps: Picos,
    /// Time in ops that wait for the host's queue; `None` without ops.
    #[column("Infeed ops")]
    pub infeed_ps: Option<Picos>,
    /// Time in gaps between programs in which the host prepares input; `None` if the host was not recorded,
    /// or the end of a file is missing and nothing else shows any.
    #[column("Gaps with input", inferred)]
    pub gap_ps: Option<Picos>,
    /// The sum of both as a share of the length.
    #[column("Of length", inferred, id = "input_percent")]
    pub percent: Option<Percent>,
    /// The host event with the longest wait, if host events were examined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
}

impl InputWait {
    pub(super) fn new(
        name: impl Into<String>,
        length_ps: Picos,
        infeed_ps: Option<Picos>,
        gap_ps: Option<Picos>,
    ) -> Self {
        let mut wait = Self {
            name: name.into(),
            length_ps,
            infeed_ps,
            gap_ps,
            percent: None,
            event: None,
        };
        wait.percent = wait
            .total_ps()
            .and_then(|total| Percent::of(total, length_ps));
        wait
    }

    /// Infeed ops and gaps together, at least as far as they are known; `None` if neither shows whether anything waited.
    pub fn total_ps(&self) -> Option<Picos> {
        let infeed = self.infeed_ps.unwrap_or_default();
        let is_known = self.gap_ps.is_some() || infeed > Picos::ZERO;
        is_known.then(|| infeed + self.gap_ps.unwrap_or_default())
    }
}

pub(super) fn mean(all: &[InputWait]) -> Option<InputWait> {
    let first = all.first()?;
    let each = |sum: Picos| Picos::from_ps(sum.ps() / all.len() as i64);
    let sum =
        |get: fn(&InputWait) -> Option<Picos>| all.iter().map(get).sum::<Option<_>>().map(each);
    Some(InputWait::new(
        first.name.clone(),
        each(all.iter().map(|part| part.length_ps).sum()),
        sum(|part| part.infeed_ps),
        sum(|part| part.gap_ps),
    ))
}
