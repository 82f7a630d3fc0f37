//! A headline number, with its target.

use crate::prelude::*;
use analysis::reports::summary::targets::Target;
use analysis::{LowerBound, Metric, Provenance};

/// The metrics that have the value of a target, the first that is known, and the target.
const JUDGED: ([&str; 2], &str) = (
    ["mxu_util_steady_percent", "mxu_util_on_mxu_ops_percent"],
    "mxu",
);

/// A headline number.
pub struct KeyFigure {
    /// Stable name of the metric or target.
    pub id: &'static str,
    pub title: &'static str,
    /// The number; `None` where it is not known.
    pub value: Option<f64>,
    /// The least value possible, where it is known as a range.
    pub low: Option<f64>,
    /// Whether it is a lower bound; the note gives the reason.
    pub is_lower_bound: bool,
    /// Unit of the value.
    pub unit: Unit,
    /// Its denominator, or the span that it covers.
    pub of: String,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Why it is missing, or a remark.
    pub note: Option<String>,
    pub target: Option<Target>,
}

impl KeyFigure {
    pub(super) fn of_metric(title: &'static str, metric: &Metric, targets: &[Target]) -> Self {
        let Metric {
            value,
            is_lower_bound,
            unit,
            of,
            provenance,
            note,
            ..
        } = metric.clone();
        let target = targets
            .iter()
            .find(|target| JUDGED.0.contains(&metric.id) && target.id == JUDGED.1)
            .cloned();
        Self {
            id: metric.id,
            title,
            value,
            low: None,
            is_lower_bound,
            unit,
            of,
            provenance,
            note,
            target,
        }
    }

    /// The value of a target.
    pub fn of_target(target: &Target) -> Self {
        let Target {
            title,
            value_percent,
            low_percent,
            is_lower_bound,
            of,
            provenance,
            note,
            ..
        } = target.clone();
        let unit = Unit::Percent;
        Self {
            id: target.id,
            title,
            value: value_percent.map(|share| share.0),
            low: low_percent.map(|share| share.0),
            is_lower_bound,
            unit,
            of,
            provenance,
            note,
            target: Some(target.clone()),
        }
    }

    pub(super) fn time(
        [id, title]: [&'static str; 2],
        ps: f64,
        of: String,
        provenance: Provenance,
    ) -> Self {
        let unit = Unit::Picoseconds;
        let (low, is_lower_bound) = (None, false);
        Self {
            id,
            title,
            value: Some(ps),
            low,
            is_lower_bound,
            unit,
            of,
            provenance,
            note: None,
            target: None,
        }
    }

    pub(super) fn is_missed(&self) -> bool {
        self.target.as_ref().is_some_and(Target::is_missed)
    }

    /// The number, the least value possible where there are several, and then the greatest where it is known; `None` where
    /// nothing is known.
    pub fn ends(&self) -> Option<(f64, Option<f64>)> {
        let value = self.value?;
        Some(match self.low {
            Some(low) if self.is_lower_bound => (low, None),
            Some(low) => (low, Some(value)),
            None => (value, None),
        })
    }

    /// How far a bar of the number reaches: to the least value possible where it is a lower bound.
    pub fn bar(&self) -> Option<f64> {
        self.ends().map(|(low, high)| high.unwrap_or(low))
    }

    /// Where a bar of the number has the mark of its target; `None` where no target is judged.
    pub fn mark(&self) -> Option<f64> {
        let target = self.target.as_ref().filter(|target| target.is_judged())?;
        Some(target.green_percent.0)
    }

    /// The number, as `written`, with what is known of it: `8.25 %`, `at least 8.25 %`, `30 % to 60 %`; `None` where
    /// it is not known.
    pub fn text(&self, written: impl Fn(f64, Unit) -> String) -> Option<String> {
        let (low, high) = self.ends()?;
        let low = written(low, self.unit);
        Some(match high {
            Some(high) => format!("{low} to {}", written(high, self.unit)),
            None => LowerBound(self.is_lower_bound).of(low),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::reports::summary::targets::TargetColor;

    #[test]
    fn a_bar_says_what_its_text_says() {
        let mut target = Target {
            id: "ici",
            short: "ICI",
            title: "Links during collectives",
            light: TargetColor::NotJudged,
            low_percent: Some(Percent(35.0)),
            value_percent: Some(Percent(71.0)),
            is_lower_bound: true,
            green_percent: Percent(85.0),
            red_percent: Percent(50.0),
            is_at_least: true,
            of: String::new(),
            provenance: Provenance::Derived,
            note: None,
        };
        let figure = KeyFigure::of_target(&target);
        assert_eq!((figure.bar(), figure.mark()), (Some(35.0), None));
        (target.light, target.is_lower_bound) = (TargetColor::Amber, false);
        let figure = KeyFigure::of_target(&target);
        assert_eq!((figure.bar(), figure.mark()), (Some(71.0), Some(85.0)));
    }
}
