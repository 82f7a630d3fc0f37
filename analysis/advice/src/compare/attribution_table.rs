//! Where the time of a step changed, as a table.

use engine::Table;
use math::unit::Unit;

use super::FamilyChange;
use super::attribution::Attribution;
use super::change::ChangeVerdict;

/// The mean step, or the share of a kind of ops in its change.
#[derive(Clone, Copy)]
struct ShareRow<'a> {
    name: &'a str,
    part: &'static str,
    ops: [usize; 2],
    base_ps: f64,
    cand_ps: f64,
    change_ps: f64,
    verdict: &'static str,
    p: Option<f64>,
}

impl<'a> ShareRow<'a> {
    fn whole(of: &Attribution) -> Self {
        let &Attribution {
            base_ps,
            cand_ps,
            change_ps,
            ..
        } = of;
        let name = "interquartile mean step";
        Self {
            name,
            part: "",
            ops: [0, 0],
            base_ps,
            cand_ps,
            change_ps,
            verdict: "",
            p: None,
        }
    }

    fn family(family: &'a FamilyChange) -> Self {
        let &FamilyChange {
            base_ps,
            cand_ps,
            change_ps,
            p,
            ..
        } = family;
        let p = p.filter(|_| family.finding.is_some_and(ChangeVerdict::is_tested));
        let ops = [family.base_ops, family.cand_ops];
        Self {
            name: &family.name,
            part: family.part.title(),
            ops,
            base_ps,
            cand_ps,
            change_ps,
            verdict: family.verdict(),
            p,
        }
    }

    /// Number of ops on a side; unknown for the whole step.
    fn count(self, side: usize) -> Option<usize> {
        self.ops.get(side).copied().filter(|_| self.ops != [0, 0])
    }
}

pub(super) fn attribution_table(attribution: &Attribution) -> Table {
    let whole = attribution.base_ps;
    let families = attribution.families.iter().map(ShareRow::family);
    Table::of("attribution", "Where the time changed", [ShareRow::whole(attribution)].into_iter().chain(families))
        .derived("ops", "Ops", Unit::None, |row| row.name)
        .derived("part", "Part", Unit::None, |row| row.part)
        .derived("base_ops", "Base ops", Unit::Count, |row| row.count(0))
        .derived("cand_ops", "Cand ops", Unit::Count, |row| row.count(1))
        .derived("base_ps", "Base", Unit::Picoseconds, |row| row.base_ps)
        .derived("cand_ps", "Cand", Unit::Picoseconds, |row| row.cand_ps)
        .derived("change_ps", "Change", Unit::Picoseconds, |row| row.change_ps)
        .derived("change_of_step_percent", "Of base step", Unit::Percent, |row| {
            (whole > 0.0).then(|| 100.0 * row.change_ps / whole)
        })
        .derived("verdict", "Verdict", Unit::None, |row| row.verdict)
        .derived("p", "p", Unit::None, |row| row.p)
        .note(
            "Rows add up to the first one. Ops whose names differ only in their number share a row; matched ops appear under their name in cand.",
        )
        .build()
}
