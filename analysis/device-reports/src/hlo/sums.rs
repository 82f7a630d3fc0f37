//! Sums of two programs beside each other.

use std::collections::BTreeSet;

use hlo::ProgramMatch;

use super::contents::{ContentSum, PeakMemory, ProgramContents};
use super::differences::ChangedParts;

/// A sum of two programs.
#[engine::row(derived)]
pub struct ProgramSum {
    /// Of what: `all-gather`, `fusions of kind loop`, `FLOPs`.
    #[column("What")]
    pub what: String,
    /// Number in the first program; absent if it is a number of bytes, or unknown.
    #[column("First")]
    pub first: Option<u64>,
    /// Number in the second program.
    #[column("Second")]
    pub second: Option<u64>,
    /// Bytes in the first program, over all executions of its loops; absent if unknown, or if it moves none.
    #[column("Bytes, first")]
    pub first_bytes: Option<u64>,
    /// Bytes in the second program.
    #[column("Bytes, second")]
    pub second_bytes: Option<u64>,
    /// Whether both differ.
    pub differs: bool,
}

impl ProgramSum {
    /// What a text that ends too early holds is no sum of its program.
    fn without_what_is_cut(&mut self, is_first: bool) {
        if is_first {
            (self.first, self.first_bytes) = (None, None);
        } else {
            (self.second, self.second_bytes) = (None, None);
        }
        self.differs = false;
    }
}

fn counted(what: impl Into<String>, first: u64, second: u64) -> ProgramSum {
    ProgramSum {
        what: what.into(),
        first: Some(first),
        second: Some(second),
        first_bytes: None,
        second_bytes: None,
        differs: first != second,
    }
}

fn bytes(what: impl Into<String>, first: Option<u64>, second: Option<u64>) -> ProgramSum {
    ProgramSum {
        what: what.into(),
        first: None,
        second: None,
        first_bytes: first,
        second_bytes: second,
        differs: first != second,
    }
}

/// All sums that one of both programs has.
pub(super) fn sums(
    [first, second]: [&ProgramContents; 2],
    found: &ProgramMatch,
    changed: &ChangedParts,
) -> Vec<ProgramSum> {
    let mut out = Vec::new();
    let keys: BTreeSet<_> = first
        .collectives
        .keys()
        .chain(second.collectives.keys())
        .collect();
    for key in keys {
        let what = match key {
            (kind, Some(devices)) => format!("{} among {devices} devices", kind.name()),
            (kind, None) => kind.name().to_owned(),
        };
        let (a, b) = (first.collectives.get(key), second.collectives.get(key));
        let mut row = of_sort(what, a, b);
        let moved = |sum: Option<&ContentSum>| sum.map_or(Some(0), |sum| sum.bytes);
        (row.first_bytes, row.second_bytes) = (moved(a), moved(b));
        row.differs |= row.first_bytes != row.second_bytes;
        out.push(row);
    }
    for (what, a, b) in [
        ("products", &first.products, &second.products),
        ("custom calls of", &first.custom_calls, &second.custom_calls),
    ] {
        let keys: BTreeSet<_> = a.keys().chain(b.keys()).collect();
        out.extend(
            keys.into_iter()
                .map(|key| of_sort(format!("{what} {key}"), a.get(key), b.get(key))),
        );
    }
    let kinds: BTreeSet<_> = first.fusions.keys().chain(second.fusions.keys()).collect();
    for kind in kinds {
        let what = format!("fusions of kind {kind}");
        out.push(of_sort(
            what,
            first.fusions.get(kind),
            second.fusions.get(kind),
        ));
    }
    out.extend(others([first, second], found, changed));
    // Two texts that both end too early are compared by what they hold.
    if first.is_cut != second.is_cut {
        for row in &mut out {
            row.without_what_is_cut(first.is_cut);
        }
    }
    out
}

fn of_sort(what: String, first: Option<&ContentSum>, second: Option<&ContentSum>) -> ProgramSum {
    let count = |sum: Option<&ContentSum>| sum.map_or(0, |sum| sum.instructions as u64);
    let times = |sum: Option<&ContentSum>| sum.map_or(0, |sum| sum.executions);
    let mut row = counted(what, count(first), count(second));
    row.differs |= times(first) != times(second);
    row
}

fn others(
    [first, second]: [&ProgramContents; 2],
    found: &ProgramMatch,
    changed: &ChangedParts,
) -> Vec<ProgramSum> {
    let mut out = Vec::new();
    let again = [first, second].map(|it| it.rematerialized.instructions as u64);
    if again != [0, 0] {
        let mut row = counted("rematerialized instructions", again[0], again[1]);
        // Only names and scopes tell, and these are not compared of what both programs have.
        let is_in = |sum: &ContentSum, only: &[hlo::InstructionId]| {
            sum.ids.iter().any(|id| only.binary_search(id).is_ok())
        };
        row.differs &= is_in(&first.rematerialized, &found.only_first)
            || is_in(&second.rematerialized, &found.only_second);
        out.push(row);
    }
    for (what, count) in [
        ("other layouts", changed.layouts),
        ("other memory spaces", changed.memory_spaces),
        ("other shardings", changed.shardings),
    ] {
        if count > 0 {
            out.push(counted(what, 0, count as u64));
        }
    }
    let donated = [first.donated as u64, second.donated as u64];
    if donated != [0, 0] {
        out.push(counted("results in donated memory", donated[0], donated[1]));
    }
    let donors = [first.donors as u64, second.donors as u64];
    if donors != [0, 0] {
        out.push(counted("donated parameters", donors[0], donors[1]));
    }
    let flops = |contents: &ProgramContents| (contents.uncounted == 0).then_some(contents.flops);
    let mut row = counted("FLOPs", 0, 0);
    (row.first, row.second) = (flops(first), flops(second));
    row.differs = row.first != row.second;
    out.push(row);
    out.push(bytes(
        "traffic of main memory",
        Some(first.hbm_bytes),
        Some(second.hbm_bytes),
    ));
    let peak = |contents: &ProgramContents| contents.peak.as_ref().ok().copied();
    let (a, b) = (peak(first), peak(second));
    let mut row = bytes("peak memory", a.map(|it| it.bytes), b.map(|it| it.bytes));
    let is_planned = |peak: Option<PeakMemory>| peak.map(|peak| peak.is_planned);
    // A plan and an estimate are different numbers of the same program.
    row.differs &= is_planned(a).is_some() && is_planned(a) == is_planned(b);
    out.push(row);
    out
}
