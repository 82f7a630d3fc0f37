//! What became of expectations.

use facts::prelude::*;
use run_reports::hlo::HloOp;

use crate::gates::{Gate, GatesReport, Status};

/// The answer to an expectation.
#[engine::titled]
pub enum Verdict {
    /// As expected.
    Met,
    /// Not as expected.
    NotMet = "NOT MET",
    /// The file does not tell.
    Unknown,
}

/// One expectation with its answer.
#[engine::row(derived)]
pub struct JudgedExpectation {
    /// The answer.
    #[column]
    pub verdict: Verdict,
    /// The name of the expectation.
    #[column("Expectation")]
    pub name: String,
    /// What was found, or why it is unknown; one sentence.
    #[column("Found")]
    pub message: String,
    /// The program that was judged; absent if the condition is about the run.
    #[column(non_empty)]
    pub program: Option<String>,
    /// Instructions that the answer is about, by self time; the first ones only.
    pub instructions: Vec<HloOp>,
    /// Number of all these instructions; absent if the condition is not about instructions.
    pub count: Option<u64>,
    /// Self time of all these instructions; absent if none was measured.
    #[column(measured)]
    pub self_time_ps: Option<Picos>,
    /// Source line of the first instruction.
    #[column]
    pub source: Option<String>,
}

/// All expectations with their answers.
#[engine::reported]
pub struct ExpectReport {
    /// The headline.
    pub statement: String,
    /// Expectations: those that are not met first, then unknown ones.
    pub rows: Vec<JudgedExpectation>,
    /// What to know when reading it.
    pub notes: Vec<String>,
}

impl ExpectReport {
    pub(super) fn of(mut rows: Vec<JudgedExpectation>, mut notes: Vec<String>) -> Self {
        if rows.iter().any(|row| row.self_time_ps.is_some()) {
            let sums = "Self times of instructions are sums of all executions on all devices.";
            notes.push(sums.to_owned());
        }
        notes.sort();
        notes.dedup();
        let order = |verdict| match verdict {
            Verdict::NotMet => 0,
            Verdict::Unknown => 1,
            Verdict::Met => 2,
        };
        rows.sort_by_key(|row| order(row.verdict));
        let count = |wanted| rows.iter().filter(|row| row.verdict == wanted).count();
        let parts = [
            (count(Verdict::NotMet), "not met"),
            (count(Verdict::Unknown), "unknown"),
            (count(Verdict::Met), "met"),
        ];
        let parts = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"));
        let all = counted(rows.len(), "expectation");
        let statement = if rows.is_empty() {
            "no expectations are set".to_owned()
        } else {
            format!("{all}: {}", joined(parts, ", "))
        };
        Self {
            statement,
            rows,
            notes,
        }
    }

    /// Expectations with this answer.
    pub fn with(&self, verdict: Verdict) -> impl Iterator<Item = &JudgedExpectation> {
        self.rows.iter().filter(move |row| row.verdict == verdict)
    }

    /// The expectations as gates, for what shows and tests gates.
    pub fn gates(&self) -> GatesReport {
        let gate = |row: &JudgedExpectation| Gate {
            status: match row.verdict {
                Verdict::Met => Status::Pass,
                Verdict::NotMet => Status::Fail,
                Verdict::Unknown => Status::Inconclusive,
            },
            actual: row.count.map(|count| count as f64),
            message: format!("{}: {}", row.name, row.message),
            ..Gate::unjudged("expectation", &row.name)
        };
        GatesReport {
            statement: self.statement.clone(),
            gates: self.rows.iter().map(gate).collect(),
        }
    }
}

/// An answer before it is shown.
pub(super) struct Answer {
    pub verdict: Verdict,
    pub message: String,
    pub instructions: Vec<HloOp>,
    pub count: Option<u64>,
}

impl Answer {
    pub fn new(verdict: Verdict, message: impl Into<String>) -> Self {
        Self {
            verdict,
            message: message.into(),
            instructions: Vec::new(),
            count: None,
        }
    }

    pub fn unknown(why: impl Into<String>) -> Self {
        Self::new(Verdict::Unknown, why)
    }

    pub fn met_if(is_met: bool, message: impl Into<String>) -> Self {
        let verdict = if is_met {
            Verdict::Met
        } else {
            Verdict::NotMet
        };
        Self::new(verdict, message)
    }

    /// With the instructions that it is about: those with most self time first.
    pub fn about(mut self, mut instructions: Vec<HloOp>) -> Self {
        self.count = Some(instructions.len() as u64);
        let time = |op: &HloOp| Reverse(op.self_time_ps);
        instructions.sort_by(|a, b| {
            let name = |op: &HloOp| Arc::clone(&op.name);
            (time(a), name(a)).cmp(&(time(b), name(b)))
        });
        self.instructions = instructions;
        self
    }

    pub fn judged(self, name: &str, program: Option<String>) -> JudgedExpectation {
        /// Instructions kept in a report.
        const MOST: usize = 20;
        let times = self.instructions.iter().filter_map(|op| op.self_time_ps);
        let mut instructions = self.instructions.clone();
        let self_time_ps = times.reduce(|sum, time| sum + time);
        let source = instructions.iter().find_map(|op| op.source.clone());
        instructions.truncate(MOST);
        JudgedExpectation {
            verdict: self.verdict,
            name: name.to_owned(),
            message: self.message,
            program,
            instructions,
            count: self.count,
            self_time_ps,
            source,
        }
    }
}

impl Tabular for ExpectReport {
    fn tables(&self) -> Vec<Table> {
        let table = Table::of("expectations", self.statement.clone(), &self.rows)
            .remaining()
            .notes(self.notes.clone());
        vec![table.build()]
    }
}
