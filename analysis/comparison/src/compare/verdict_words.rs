//! What is said of a change in one word, and what its signs mean.

use super::change::ChangeVerdict;

/// `slower`, `? faster`, `~`; empty for equal times that were not tested.
fn word_of(finding: ChangeVerdict, change_ps: f64) -> &'static str {
    match (finding, change_ps > 0.0) {
        (ChangeVerdict::Untested, _) if change_ps == 0.0 => "",
        (ChangeVerdict::Changed, true) => "slower",
        (ChangeVerdict::Changed, false) => "faster",
        (ChangeVerdict::Noise, _) => "~",
        (ChangeVerdict::BetweenRuns, true) => "? slower",
        (ChangeVerdict::BetweenRuns, false) => "? faster",
        _ => "?",
    }
}

/// The word for a change of a time, which is `new` or `gone` where a side (`None`) has nothing that takes it.
pub(super) fn word_of_sides(finding: ChangeVerdict, sides: [Option<f64>; 2]) -> &'static str {
    match sides {
        [None, _] => "new",
        [_, None] => "gone",
        [Some(base), Some(cand)] => word_of(finding, cand - base),
    }
}

/// Why a change with the sign `?` was not tested.
pub(super) fn reason(finding: ChangeVerdict) -> Option<&'static str> {
    match finding {
        ChangeVerdict::TooFew => {
            Some("?: not tested, because there are too few steps or runs; it may be noise.")
        }
        ChangeVerdict::Correlated => Some(
            "?: not tested, because the times of neighbouring steps are correlated; it may be noise.",
        ),
        ChangeVerdict::Untested => {
            Some("?: not tested, because there is one number on each side; it may be noise.")
        }
        _ => None,
    }
}

/// What a `?` says, for a reader who sees it for the first time.
pub fn doubt(verdict: &str) -> Option<&'static str> {
    match verdict.strip_prefix('?')? {
        "" => Some(
            "?: not tested, because there are too few independent steps or runs, or one number on each side; it may be noise.",
        ),
        " too few" => {
            Some("? too few: not tested, because there are too few steps or runs; it may be noise.")
        }
        " correlated" => Some(
            "? correlated: not tested, because the times of neighbouring steps are correlated; it may be noise.",
        ),
        _ => Some(
            "? before a direction: more than the steps of a run differ, but not more than runs of the same program may.",
        ),
    }
}
