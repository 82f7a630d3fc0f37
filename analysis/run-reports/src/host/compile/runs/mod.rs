//! Compilations of several runs: what each function cost, why it was compiled, and what a cache would have saved.

use chrono::DateTime;
use facts::prelude::*;

use super::cache::CacheUse;
use super::compilations::Compilation;
use super::shapes::{ChangeSource, ShapeChange};
use super::{CompileReport, KeyPart};

/// The compilations of one run.
pub struct RunCompilations<'a> {
    /// What tells the run from the others.
    pub run: &'a str,
    /// Unix time of the begin of its timeline in nanoseconds, if it is recorded.
    pub zero_unix_ns: Option<i64>,
    pub report: &'a CompileReport,
}

impl<'a> RunCompilations<'a> {
    /// Those of the run that `model` holds.
    pub fn new(run: &'a str, model: &TraceModel, report: &'a CompileReport) -> Self {
        Self {
            run,
            zero_unix_ns: model
                .sources()
                .iter()
                .find_map(trace_model::Source::zero_unix_ns),
            report,
        }
    }

    /// The day of a compilation.
    fn day(&self, compilation: &Compilation) -> Option<String> {
        let ns = self.zero_unix_ns? + compilation.start_ps.ps() / 1000;
        let day = DateTime::from_timestamp_nanos(ns).date_naive();
        Some(day.to_string())
    }
}

/// One function in one run.
#[engine::row(measured)]
#[derive(Default)]
pub struct RunFunction {
    /// Name in the program.
    #[column]
    pub function: String,
    /// The run.
    #[column]
    pub run: String,
    /// Compilations in the run.
    #[column("Compiled")]
    pub compilations: u64,
    /// Programs that the persistent cache had; `None` if that is not recorded.
    #[column]
    pub cache_hits: Option<u64>,
    /// Programs that it had not; `None` if that is not recorded.
    #[column]
    pub cache_misses: Option<u64>,
    /// Time of all its phases.
    #[column("Time")]
    pub wall_ps: Picos,
    /// The part in which Python was traced; `None` if that is not recorded.
    #[column]
    pub trace_ps: Option<Picos>,
    /// The part in which jaxprs were lowered; `None` if that is not recorded.
    #[column]
    pub lower_ps: Option<Picos>,
    /// The part in which a compiler ran, or the cache was read; `None` where nothing was compiled.
    #[column]
    pub compile_ps: Option<Picos>,
    /// The part in which the executable was loaded; `None` if that is not recorded.
    #[column]
    pub load_ps: Option<Picos>,
    /// Why it was compiled the last time.
    #[column(inferred)]
    pub why: String,
}

/// One compilation of one run.
#[engine::row(measured)]
pub struct RunCompilation {
    /// Name in the program.
    #[column]
    pub function: String,
    /// The run.
    #[column]
    pub run: String,
    /// Time of all its phases.
    #[column("Time")]
    pub wall_ps: Picos,
    /// The part in which a compiler ran, or the cache was read.
    #[column]
    pub compile_ps: Picos,
    /// Whether the persistent cache had the program; `None` if that is not recorded.
    #[column]
    pub cache: Option<CacheUse>,
    /// The part of `compile_ps` that a cache with all programs of the runs before would have saved at most.
    #[column("Could be saved", derived)]
    pub saved_ps: Option<Picos>,
    /// Why it was compiled.
    #[column(inferred)]
    pub why: String,
}

/// All compilations of one day.
#[engine::row(measured)]
#[derive(Default)]
pub struct CompileDay {
    /// The day, by the clock of the log, otherwise in UTC.
    #[column]
    pub day: String,
    /// Compilations.
    #[column("Compiled")]
    pub compilations: u64,
    /// Their times, added up over runs.
    #[column("Time")]
    pub wall_ps: Picos,
    /// What a persistent cache would have saved of that at most.
    #[column("Could be saved", derived)]
    pub saved_ps: Picos,
}

/// The compilations of several runs.
#[engine::reported]
pub struct CompileRuns {
    /// Number of runs.
    pub runs: u64,
    /// Number of compilations.
    pub compilations: u64,
    /// Time of the compilations, added up over runs.
    pub wall_ps: Picos,
    /// The part of it in which a compiler ran, or a cache was read.
    pub compile_ps: Picos,
    /// The part of `compile_ps` that a persistent cache would have saved at most: programs that had been compiled before
    /// in these runs.
    pub saved_ps: Picos,
    /// Number of these programs.
    pub saved_compilations: u64,
    /// Compilations of which it is not known whether their program had been compiled before.
    pub unknown_compilations: u64,
    /// Sentences about all this.
    pub statements: Vec<String>,
    /// By function and run, the longest first.
    pub functions: Vec<RunFunction>,
    /// Every compilation, the longest first.
    pub list: Vec<RunCompilation>,
    /// By day; empty if no run has a date.
    pub days: Vec<CompileDay>,
}

/// What tells whether two compilations made the same program.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    /// The key of the persistent cache.
    Key(String),
    /// The program with its fingerprint.
    Program(String),
}

impl Identity {
    fn of(compilation: &Compilation) -> Option<Self> {
        let key = compilation.cache_key.clone().map(Self::Key);
        let program = compilation.program.as_ref();
        key.or_else(|| {
            let program = program.filter(|program| has_fingerprint(program))?;
            Some(Self::Program(program.clone()))
        })
    }
}

/// Whether the number in `jit_f(1234)` is a fingerprint. CPUs number programs as they are compiled.
fn has_fingerprint(program: &str) -> bool {
    const SMALLEST: u64 = 1 << 32;
    let number = program
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('));
    let number = number.and_then(|(_, number)| number.parse::<u64>().ok());
    number.is_some_and(|number| number >= SMALLEST)
}

impl CompileRuns {
    /// Compares the compilations of all runs, in the order of their dates; runs without a date keep their places.
    pub fn new(mut runs: Vec<RunCompilations<'_>>) -> Self {
        if runs.iter().all(|run| run.zero_unix_ns.is_some()) {
            runs.sort_by_key(|run| run.zero_unix_ns);
        }
        let mut before = Before::default();
        let mut functions: BTreeMap<(usize, &str), RunFunction> = BTreeMap::new();
        let mut days: BTreeMap<String, CompileDay> = BTreeMap::new();
        let mut list = Vec::new();
        let mut unknown = 0;
        for (run_index, run) in runs.iter().enumerate() {
            for compilation in &run.report.list {
                let (why, saved_ps) = before.judge(run.run, compilation);
                unknown += u64::from(saved_ps.is_none());
                if let Some(day) = run.day(compilation) {
                    let row = days.entry(day.clone()).or_insert_with(|| CompileDay {
                        day,
                        ..CompileDay::default()
                    });
                    row.compilations += 1;
                    row.wall_ps += compilation.wall_ps;
                    row.saved_ps += saved_ps.unwrap_or_default();
                }
                let row = functions
                    .entry((run_index, &compilation.function))
                    .or_default();
                add(row, compilation, &why);
                list.push(RunCompilation {
                    function: compilation.function.clone(),
                    run: run.run.to_owned(),
                    wall_ps: compilation.wall_ps,
                    compile_ps: compilation.compile_ps,
                    cache: compilation.cache,
                    saved_ps,
                    why,
                });
            }
            for function in &run.report.functions {
                let is_seen = function.first_ps.is_some();
                let new = || RunFunction {
                    why: "not compiled: traced only, or read from the cache".to_owned(),
                    wall_ps: function.wall_ps,
                    ..RunFunction::default()
                };
                if !is_seen {
                    continue;
                }
                let row = functions
                    .entry((run_index, &function.function))
                    .or_insert_with(new);
                row.function.clone_from(&function.function);
                run.run.clone_into(&mut row.run);
                row.cache_hits = function.cache_hits;
                row.cache_misses = function.cache_misses;
            }
        }
        let mut functions: Vec<RunFunction> = functions.into_values().collect();
        functions.sort_by_key(|row| Reverse(row.wall_ps));
        list.sort_by_key(|row| Reverse(row.wall_ps));
        let sum = |of: fn(&RunCompilation) -> Picos| list.iter().map(of).sum::<Picos>();
        let saved = |row: &&RunCompilation| row.saved_ps.is_some_and(|saved| saved > Picos::ZERO);
        let mut report = Self {
            runs: runs.len() as u64,
            compilations: list.len() as u64,
            wall_ps: sum(|row| row.wall_ps),
            compile_ps: sum(|row| row.compile_ps),
            saved_ps: sum(|row| row.saved_ps.unwrap_or_default()),
            saved_compilations: list.iter().filter(saved).count() as u64,
            unknown_compilations: unknown,
            statements: Vec::new(),
            functions,
            list,
            days: days.into_values().collect(),
        };
        report.statements = report.sentences();
        report
    }

    fn sentences(&self) -> Vec<String> {
        let compiled = counted(self.compilations as usize, "compilation");
        let runs = counted(self.runs as usize, "run");
        if self.compilations == 0 {
            return vec![format!("Nothing was compiled in {runs}.")];
        }
        let mut said = vec![format!(
            "{compiled} in {runs} took {}, {} of it in the compiler or its cache.",
            self.wall_ps, self.compile_ps
        )];
        let others: Picos = self
            .functions
            .iter()
            .filter(|row| row.compilations == 0)
            .map(|row| row.wall_ps)
            .sum();
        if others > Picos::ZERO {
            said.push(format!("Phases that belong to none of them took {others}."));
        }
        if let [.., before, last] = &self.days[..] {
            said.push(format!(
                "On the last two of {} days: {} on {}, {} on {}.",
                self.days.len(),
                before.wall_ps,
                before.day,
                last.wall_ps,
                last.day
            ));
        }
        let known = self.compilations - self.unknown_compilations;
        if self.saved_compilations > 0 {
            said.push(format!(
                "A persistent cache would have saved at most {} of these {}: {} of programs that had been compiled before \
                 in these runs. Reading the cache takes a part of it.",
                self.saved_ps,
                self.compile_ps,
                counted(self.saved_compilations as usize, "compilation"),
            ));
        } else if known > 0 {
            said.push(
                "A persistent cache would have saved nothing: no program was compiled twice, or the cache had it."
                    .to_owned(),
            );
        }
        if self.unknown_compilations > 0 {
            said.push(format!(
                "For {} of {compiled} it is not known whether the program had been compiled before: neither a cache key \
                 nor a fingerprint is recorded.",
                self.unknown_compilations
            ));
        }
        said
    }
}

fn add(row: &mut RunFunction, compilation: &Compilation, why: &str) {
    let sum = |all: &mut Option<Picos>, part: Option<Picos>| {
        if let Some(part) = part {
            *all = Some(all.unwrap_or_default() + part);
        }
    };
    row.compilations += 1;
    row.wall_ps += compilation.wall_ps;
    sum(&mut row.compile_ps, Some(compilation.compile_ps));
    sum(&mut row.trace_ps, compilation.trace_ps);
    sum(&mut row.lower_ps, compilation.lower_ps);
    sum(&mut row.load_ps, compilation.load_ps);
    why.clone_into(&mut row.why);
}

/// What was compiled before.
#[derive(Default)]
struct Before<'a> {
    /// Programs, with the run that compiled them last.
    programs: BTreeMap<Identity, &'a str>,
    /// The last compilation of each function, with its run.
    last: BTreeMap<&'a str, (&'a str, &'a Compilation)>,
}

impl<'a> Before<'a> {
    /// Why a program was compiled, and what a cache would have saved; `None` if that is not known.
    fn judge(&mut self, run: &'a str, now: &'a Compilation) -> (String, Option<Picos>) {
        let last = self.last.insert(&now.function, (run, now));
        let identity = Identity::of(now);
        let known_in = identity
            .as_ref()
            .and_then(|identity| self.programs.get(identity).copied());
        let is_hit = now.cache == Some(CacheUse::Hit);
        let saved = identity.map(|identity| {
            self.programs.insert(identity, run);
            if known_in.is_some() && !is_hit {
                now.compile_ps
            } else {
                Picos::ZERO
            }
        });
        // What the cache had is nothing to be saved, whatever program it was.
        let saved = saved.or(is_hit.then_some(Picos::ZERO));
        (why(run, now, last, known_in), saved)
    }
}

fn why(
    run: &str,
    now: &Compilation,
    last: Option<(&str, &Compilation)>,
    known_in: Option<&str>,
) -> String {
    if now.cache == Some(CacheUse::Hit) {
        return "read from the persistent cache".to_owned();
    }
    let Some((before_run, before)) = last else {
        if now.again.is_some() {
            let changes =
                recorded_changes(now).unwrap_or_else(|| "what changed is not recorded".to_owned());
            return format!("it had run before, compiled before the capture began: {changes}");
        }
        return "the first compilation of this function in these runs".to_owned();
    };
    let place = |before: &str| {
        if before == run {
            "before in this run".to_owned()
        } else {
            format!("in {before}")
        }
    };
    if let Some(known) = known_in {
        let place = place(known);
        return format!("the same program had been compiled {place}: the cache did not keep it");
    }
    let place = place(before_run);
    // A function that is new to a process may be known from another run.
    let reason = now.reason.as_deref();
    if let Some(reason) = reason.filter(|reason| !reason.starts_with("never seen")) {
        return reason.to_owned();
    }
    let parts = changed_parts(&before.key_parts, &now.key_parts);
    let types = changed_types(&before.arguments, &now.arguments);
    let types = types.map(|types| format!("{types}, compared with what was compiled {place}"));
    if let Some(changes) = types.or_else(|| recorded_changes(now)) {
        changes
    } else if !parts.is_empty() {
        format!(
            "the cache key differs from that {place} in {}",
            parts.join(", ")
        )
    } else if !now.arguments.is_empty() && now.arguments == before.arguments {
        format!(
            "unknown: compiled {place} for arguments of the same types; static arguments or the code may differ"
        )
    } else {
        format!("unknown: neither arguments nor cache keys are recorded both here and {place}")
    }
}

/// What the capture shows to have changed, and since when.
fn recorded_changes(now: &Compilation) -> Option<String> {
    let with = match now.changed_in? {
        ChangeSource::Parameters | ChangeSource::OpText => "the program that ran before",
        ChangeSource::EventArguments => "the compilation before",
        ChangeSource::Annotation => "the steps before",
    };
    let changes = ShapeChange::summary(&now.changes)?;
    Some(format!("{changes}, compared with {with}"))
}

/// Arguments whose types differ: the first one, and the number of the others.
fn changed_types(before: &[String], now: &[String]) -> Option<String> {
    if before.is_empty() || now.is_empty() {
        return None;
    }
    if before.len() != now.len() {
        return Some(format!(
            "{} arguments instead of {}",
            now.len(),
            before.len()
        ));
    }
    let mut changed = before
        .iter()
        .zip(now)
        .enumerate()
        .filter(|(_, (before, now))| before != now);
    let (index, (from, to)) = changed.next()?;
    let more = engine::and_more(changed.count());
    Some(format!("argument {index} {from} → {to}{more}"))
}

/// Parts of a cache key whose hashes differ.
fn changed_parts(before: &[KeyPart], now: &[KeyPart]) -> Vec<String> {
    let hash = |part: &str| before.iter().find(|known| known.part == part);
    now.iter()
        .filter(|now| hash(&now.part).is_some_and(|known| known.hash != now.hash))
        .map(|now| now.part.clone())
        .collect()
}

impl Tabular for CompileRuns {
    fn tables(&self) -> Vec<Table> {
        let functions = Table::of(
            "functions",
            "Functions by run, the longest first",
            &self.functions,
        )
        .remaining()
        .notes(["Time: of all phases of each compilation, added up.".to_owned()])
        .build();
        let list = Table::of(
            "compilations",
            "Compilations, the longest first",
            &self.list,
        )
        .remaining()
        .build();
        let mut tables = vec![functions, list];
        if !self.days.is_empty() {
            let days = Table::of("days", "By day", &self.days).remaining().build();
            tables.push(days);
        }
        tables
    }
}

#[cfg(test)]
mod tests;
