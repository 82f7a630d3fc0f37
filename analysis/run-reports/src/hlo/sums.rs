//! What programs consist of, as sums, and those of two programs beside each other.

use facts::prelude::*;
use serde::Deserialize;

use super::contents::{ContentSum, PeakMemory, ProgramContents};

/// Sums that every program has, known or not.
const FLOPS: &str = "FLOPs";
const TRAFFIC: &str = "traffic of main memory";
const PRODUCTS: &str = "products ";
const PEAK: &str = "peak memory";
pub(super) const REMATERIALIZED: &str = "rematerialized instructions";

/// What a loop of unknown length means for sums.
pub(super) const LOWER_LIMITS: &str = "A loop of unknown length counts once: FLOPs, traffic, executions and bytes of messages \
                                       are lower limits.";

/// Why FLOPs may be unknown.
pub(super) const UNCOUNTED: &str = "FLOPs are unknown where the operations of a product cannot be counted, or a kernel \
                                    declares none (cost_estimate).";

/// What branches mean for sums.
pub(super) const BRANCHES: &str = "One branch of a conditional runs: FLOPs and traffic are at most these, those of the \
                                   branch with the most; executions and messages are those of all branches.";

/// One sum of a program, small enough to be kept with a run.
#[engine::row(compiler)]
#[derive(Default, Deserialize)]
pub struct ProgramPart {
    /// What is added up: `all-gather among 8 devices`, `fusions of kind loop`, `FLOPs`.
    #[column]
    pub what: String,
    /// Their number in the text; absent if it is a number of bytes, or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[column("Number")]
    pub count: Option<u64>,
    /// Their number over all iterations of loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[column]
    pub executions: Option<u64>,
    /// Bytes over all iterations of loops; absent if unknown, or if it moves none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[column]
    pub bytes: Option<u64>,
    /// Whether it may be more: a loop of unknown length counts once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_least: bool,
    /// How a number was found, where there are several ways: only numbers of one way can be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[column]
    pub how: Option<String>,
}

impl ProgramPart {
    fn counted(what: impl Into<String>, count: Option<u64>) -> Self {
        Self {
            what: what.into(),
            count,
            ..Self::default()
        }
    }

    fn of_sort(what: String, sum: &ContentSum) -> Self {
        Self {
            executions: Some(sum.executions),
            ..Self::counted(what, Some(sum.instructions as u64))
        }
    }

    fn bytes(what: &str, bytes: Option<u64>) -> Self {
        Self {
            what: what.to_owned(),
            bytes,
            ..Self::default()
        }
    }

    /// A program without instructions of a sort has none of them; sums of the whole program are unknown instead.
    fn none(&self) -> Self {
        let zero = |known: Option<u64>| known.map(|_| 0);
        Self {
            what: self.what.clone(),
            count: zero(self.count),
            executions: zero(self.executions),
            bytes: zero(self.bytes),
            ..Self::default()
        }
    }
}

impl ProgramContents {
    /// What to know when reading the sums.
    pub(super) fn doubts(&self) -> Vec<String> {
        let doubts = [
            (self.has_branches, BRANCHES),
            (self.uncounted > 0, UNCOUNTED),
        ];
        let doubts = doubts.into_iter().filter(|(is_so, _)| *is_so);
        let doubts = doubts.map(|(_, why)| why.to_owned());
        let of_all = self.devices.map(|devices| {
            format!("FLOPs and traffic are of all {devices} partitions together: the program is not divided among them yet.")
        });
        doubts.chain(of_all).collect()
    }

    /// All sums, in the order of tables.
    pub fn parts(&self) -> Vec<ProgramPart> {
        let collectives = self.collectives.iter().map(|((kind, devices), sum)| {
            let what = match devices {
                Some(devices) => format!("{} among {devices} devices", kind.name()),
                None => kind.name().to_owned(),
            };
            ProgramPart {
                bytes: sum.bytes,
                ..ProgramPart::of_sort(what, sum)
            }
        });
        let products = self
            .products
            .iter()
            .map(|(types, sum)| ProgramPart::of_sort(format!("{PRODUCTS}{types}"), sum));
        let calls = self
            .custom_calls
            .iter()
            .map(|(target, sum)| ProgramPart::of_sort(format!("custom calls of {target}"), sum));
        let fusions = self
            .fusions
            .iter()
            .map(|(kind, sum)| ProgramPart::of_sort(format!("fusions of kind {kind}"), sum));
        let mut out: Vec<ProgramPart> = collectives
            .chain(products)
            .chain(calls)
            .chain(fusions)
            .collect();
        for (what, count) in [
            (REMATERIALIZED, self.rematerialized.instructions),
            ("results in donated memory", self.donated),
            ("donated parameters", self.donors),
        ] {
            if count > 0 {
                out.push(ProgramPart::counted(what, Some(count as u64)));
            }
        }
        let flops = (self.uncounted == 0).then_some(self.flops);
        out.push(ProgramPart::counted(FLOPS, flops));
        out.push(ProgramPart::bytes(TRAFFIC, Some(self.hbm_bytes)));
        for part in &mut out {
            let is_sum = part.executions.is_some() || [FLOPS, TRAFFIC].contains(&&*part.what);
            part.is_least = self.is_least && is_sum;
        }
        let peak = self.peak.as_ref().ok();
        out.push(ProgramPart {
            how: peak.map(|peak| peak.how().to_owned()),
            ..ProgramPart::bytes(PEAK, peak.map(|peak| peak.bytes))
        });
        out
    }
}

impl PeakMemory {
    /// How it was found.
    pub fn how(self) -> &'static str {
        if self.is_planned {
            "planned by the compiler"
        } else {
            "estimated from the lifetimes of values, without padding"
        }
    }
}

/// A sum of two programs.
#[engine::row(derived)]
pub struct ProgramSum {
    /// What is added up: `all-gather`, `fusions of kind loop`, `FLOPs`.
    #[column]
    pub what: String,
    /// Number in the first program; absent if it is a number of bytes, or unknown.
    #[column]
    pub first: Option<u64>,
    /// Number in the second program.
    #[column]
    pub second: Option<u64>,
    /// Bytes in the first program, over all executions of its loops; absent if unknown, or if it moves none.
    #[column("Bytes, first")]
    pub first_bytes: Option<u64>,
    /// Bytes in the second program.
    #[column("Bytes, second")]
    pub second_bytes: Option<u64>,
    // Where not all columns fit, these are left out first.
    /// Number over all iterations of loops in the first program.
    #[column("Executions, first")]
    pub first_executions: Option<u64>,
    /// Number over all iterations of loops in the second program.
    #[column("Executions, second")]
    pub second_executions: Option<u64>,
    /// Whether both differ, as far as both are known.
    pub differs: bool,
    /// Whether both are known, and found in the same way.
    pub is_known: bool,
    /// Whether one of them is a lower limit: see [`ProgramPart::is_least`].
    pub is_least: bool,
}

impl ProgramSum {
    /// All sums that one of both programs has.
    pub fn between(first: &[ProgramPart], second: &[ProgramPart]) -> Vec<Self> {
        let called = |parts: &[ProgramPart], what: &str| {
            parts.iter().find(|part| part.what == what).cloned()
        };
        let mut order: Vec<&ProgramPart> = first.iter().collect();
        let mut place = 0;
        for part in second {
            if let Some(known) = order.iter().position(|known| known.what == part.what) {
                place = known + 1;
            } else {
                order.insert(place, part);
                place += 1;
            }
        }
        order
            .into_iter()
            .map(|part| {
                let side = |parts| called(parts, &part.what).unwrap_or_else(|| part.none());
                Self::of(&side(first), &side(second))
            })
            .collect()
    }

    fn of(first: &ProgramPart, second: &ProgramPart) -> Self {
        let differ = |a: Option<u64>, b: Option<u64>| a.zip(b).is_some_and(|(a, b)| a != b);
        // A plan and an estimate are different numbers of the same program.
        let is_alike = first.how == second.how;
        let differs = is_alike
            && (differ(first.count, second.count)
                || differ(first.executions, second.executions)
                || differ(first.bytes, second.bytes));
        Self {
            what: first.what.clone(),
            first: first.count,
            second: second.count,
            first_executions: first.executions,
            second_executions: second.executions,
            first_bytes: first.bytes,
            second_bytes: second.bytes,
            differs,
            is_known: is_alike
                && (first.count.is_some() || first.bytes.is_some())
                && first.count.is_some() == second.count.is_some()
                && first.bytes.is_some() == second.bytes.is_some(),
            is_least: first.is_least || second.is_least,
        }
    }

    /// The sums that differ, as a table.
    pub fn table(sums: &[Self]) -> Table {
        let differing = sums.iter().filter(|sum| sum.differs);
        let count = |is: fn(&Self) -> bool| sums.iter().filter(|sum| is(sum)).count();
        let all = sums.len();
        let differ = differing.clone().count();
        let equal = count(|sum| sum.is_known && !sum.differs);
        let unknown = count(|sum| !sum.is_known && !sum.differs);
        let is = |count: usize| if count == 1 { "is" } else { "are" };
        let others = |count: usize| match differ {
            0 => counted(count, "sum"),
            _ => counted(count, "more sum"),
        };
        let mut notes = Vec::new();
        if equal > 0 || all == 0 {
            notes.push(format!("{} {} equal.", others(equal), is(equal)));
        }
        if unknown > 0 {
            notes.push(format!(
                "{} {} not known of both.",
                others(unknown),
                is(unknown)
            ));
        }
        if sums.iter().any(|sum| sum.is_least) {
            notes.push(LOWER_LIMITS.to_owned());
        }
        notes.push(
            "Bytes are over all iterations of loops of known length; of collectives, those of messages.".to_owned(),
        );
        Table::of("program_sums", "Sums that differ", differing)
            .remaining()
            .note(notes.join(" "))
            .build()
    }

    /// How many instructions of the second program are otherwise.
    pub(super) fn changed(what: &str, count: usize) -> Self {
        let part = |count: usize| ProgramPart::counted(what, Some(count as u64));
        Self::of(&part(0), &part(count))
    }

    /// Whether the lines of the ops that ran tell it: not what is inside fusions, nor sums of the whole program.
    pub(super) fn is_of_ops(&self) -> bool {
        self.first_executions.or(self.second_executions).is_some()
            && !self.what.starts_with(PRODUCTS)
    }

    /// What a part of a program holds is no sum of it.
    pub(super) fn without_what_is_cut(&mut self, is_first: bool) {
        if is_first {
            (self.first, self.first_executions, self.first_bytes) = (None, None, None);
        } else {
            (self.second, self.second_executions, self.second_bytes) = (None, None, None);
        }
        (self.differs, self.is_known) = (false, false);
    }
}
