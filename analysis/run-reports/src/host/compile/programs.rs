//! Program executions, and programs that are variants of one function.
//!
//! A program's name is `jit_` and the function's; its id distinguishes programs of the same name. Devices record
//! executions themselves; on the CPU backend the first op of each run says which program it belongs to.

use facts::prelude::*;
use facts::steps::function_of;
use trace_model::ArgValue;

/// A program that ran.
pub(super) struct ProgramRuns {
    /// Name without the id.
    pub module: String,
    /// Name with the id.
    pub title: String,
    /// Its entry in the model, if the capture contains it.
    pub program: Option<ProgramId>,
    /// Starts of its executions, on the device that ran it most often.
    pub begins: Vec<Timestamp>,
}

/// Executions of a program, for a report.
#[engine::reported]
pub struct ProgramCount {
    /// Name with id (`jit_f(123)`).
    pub program: String,
    /// Number of executions on the device that ran it most often.
    pub executions: u64,
}

/// All programs that ran, by name, then by their first execution.
pub(super) struct ProgramTable {
    runs: Vec<ProgramRuns>,
}

impl ProgramTable {
    /// Programs that devices ran; if there are none and reading arguments is worth it, those of the ops of a host
    /// backend.
    pub fn new(cx: &Context<'_>, ask_host: bool) -> Self {
        let known: BTreeMap<(&str, Option<u64>), ProgramId> = cx
            .model
            .programs()
            .iter()
            .zip(cx.model.program_ids())
            .map(|(program, id)| ((cx.model.str(program.name), program.id), id))
            .collect();
        let mut runs_by_program = device_runs(cx);
        if runs_by_program.is_empty() && ask_host {
            runs_by_program = host_runs(cx);
        }
        let mut runs: Vec<ProgramRuns> = runs_by_program
            .into_iter()
            .map(|((module, id), mut begins)| {
                begins.sort_unstable();
                let title = id.map_or_else(|| module.clone(), |id| format!("{module}({id})"));
                ProgramRuns {
                    program: known.get(&(module.as_str(), id)).copied(),
                    module,
                    title,
                    begins,
                }
            })
            .collect();
        runs.sort_by(|a, b| {
            (&a.module, a.begins.first(), &a.title).cmp(&(&b.module, b.begins.first(), &b.title))
        });
        Self { runs }
    }

    /// Programs of a module, by their first execution.
    pub fn of(&self, module: &str) -> &[ProgramRuns] {
        let from = self
            .runs
            .partition_point(|run| run.module.as_str() < module);
        let rest = self.runs.get(from..).unwrap_or_default();
        &rest[..rest.partition_point(|run| run.module == module)]
    }

    /// The module that `function` is compiled to, if it ran.
    pub fn module_of(&self, function: &str) -> Option<&str> {
        let wanted = identifier(function);
        let modules: BTreeSet<&str> = self.runs.iter().map(|run| run.module.as_str()).collect();
        modules.into_iter().find(|module| {
            let bare = ["jit_", "pmap_", "jit__wrapped_"]
                .iter()
                .find_map(|prefix| module.strip_prefix(prefix));
            identifier(bare.unwrap_or(module)) == wanted || identifier(module) == wanted
        })
    }

    /// Names of all modules.
    pub fn modules(&self) -> BTreeSet<&str> {
        self.runs.iter().map(|run| run.module.as_str()).collect()
    }
}

/// JAX replaces each character that is not part of a word by an underscore.
fn identifier(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_alphanumeric() { c } else { '_' })
        .collect::<String>()
        .trim_matches('_')
        .to_owned()
}

type RunsByProgram = BTreeMap<(String, Option<u64>), Vec<Timestamp>>;

/// `jit_f` and 12 of `jit_f(12)`.
fn name_and_id(title: &str) -> (&str, Option<u64>) {
    let name = function_of(title);
    let id = title
        .get(name.len()..)
        .and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')')?.parse().ok());
    (name, id)
}

fn device_runs(cx: &Context<'_>) -> RunsByProgram {
    let mut runs = RunsByProgram::new();
    for core in cx.tensor_cores() {
        let by_name = grouped(
            cx.programs_on_host(core)
                .into_iter()
                .map(|(slice, range)| (slice.name(), range.start)),
        );
        for (name, begins) in by_name {
            let (name, id) = name_and_id(name);
            let most = runs.entry((name.to_owned(), id)).or_default();
            if begins.len() > most.len() {
                *most = begins;
            }
        }
    }
    runs
}

/// Maximum number of events of a run that are searched for its program.
const ASKED_PER_RUN: usize = 4;

fn host_runs(cx: &Context<'_>) -> RunsByProgram {
    let threads: BTreeSet<TrackId> = host_threads(cx.model).collect();
    let mut runs: Vec<(i64, SliceRef<'_>)> = cx
        .model
        .slices_with(SliceAttr::RunId)
        .filter(|(slice, _)| threads.contains(&slice.track()))
        .map(|(slice, run)| (run, slice))
        .collect();
    runs.sort_by_key(|(run, slice)| (*run, slice.start(), slice.id()));
    let mut by_program = RunsByProgram::new();
    for run in runs.chunk_by(|a, b| a.0 == b.0) {
        let Some(begin) = run.first().map(|(_, slice)| slice.start()) else {
            continue;
        };
        // Ops have plain names, unlike the runtime events around them.
        let ops = run
            .iter()
            .filter(|(_, slice)| !slice.name().contains("::"))
            .take(ASKED_PER_RUN);
        match ops.map(|(_, slice)| *slice).find_map(program_in_args) {
            // Exports leave ids out, and names alone do not distinguish programs.
            Some((_, None)) => return RunsByProgram::new(),
            Some(program) => by_program.entry(program).or_default().push(begin),
            None => {}
        }
    }
    by_program
}

fn program_in_args(slice: SliceRef<'_>) -> Option<(String, Option<u64>)> {
    let args = slice.args().ok()?;
    let value = |name: &str| {
        args.iter()
            .find(|arg| arg.name == name)
            .map(|arg| &arg.value)
    };
    let ArgValue::Text(module) = value("hlo_module")? else {
        return None;
    };
    let id = match value("program_id") {
        Some(ArgValue::Int(id)) => Some(*id as u64),
        Some(ArgValue::Uint(id)) => Some(*id),
        Some(ArgValue::Text(id)) => id.parse().ok(),
        _ => None,
    };
    Some((module.clone(), id))
}

impl ProgramRuns {
    /// The executions of this program, for a report.
    pub fn count(&self) -> ProgramCount {
        ProgramCount {
            program: self.title.clone(),
            executions: self.begins.len() as u64,
        }
    }

    /// Whether it ran before `time`.
    pub fn ran_before(&self, time: Timestamp) -> bool {
        self.begins.first().is_some_and(|&first| first < time)
    }

    /// Its first execution at or after `time`.
    pub fn next_run(&self, time: Timestamp) -> Option<Timestamp> {
        self.begins
            .get(self.begins.partition_point(|&begin| begin < time))
            .copied()
    }

    /// Its last execution before `time`.
    pub fn last_run(&self, time: Timestamp) -> Option<Timestamp> {
        let before = self.begins.partition_point(|&begin| begin < time);
        before
            .checked_sub(1)
            .and_then(|last| self.begins.get(last))
            .copied()
    }
}

/// Among the programs of one function, the one that was in use at `from`, and the one that a compilation from `from`
/// to `until` produced.
pub(super) fn before_and_after(
    programs: &[ProgramRuns],
    from: Timestamp,
    compiled: Timestamp,
    until: Option<Timestamp>,
) -> (Option<usize>, Option<usize>) {
    let last = |(_, run): &(usize, &ProgramRuns)| run.last_run(from);
    let before = programs
        .iter()
        .enumerate()
        .filter(|pair| last(pair).is_some())
        .max_by_key(last);
    let in_time = |begin: &Timestamp| until.is_none_or(|until| *begin < until);
    // A program first runs after its compilation. If the clocks of device and host could not be aligned, it can seem to
    // run somewhat earlier.
    let new = programs
        .iter()
        .enumerate()
        .filter(|(_, run)| !run.ran_before(from));
    let new = new
        .filter_map(|(k, run)| Some((run.next_run(from).filter(in_time)?, k)))
        .min();
    // The same program again, for example after a cache was cleared.
    let again = || {
        programs
            .iter()
            .enumerate()
            .filter_map(|(k, run)| Some((run.next_run(compiled).filter(in_time)?, k)))
            .min()
    };
    (before.map(|(k, _)| k), new.or_else(again).map(|(_, k)| k))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(title: &str, begins: &[i64]) -> ProgramRuns {
        let (module, _) = name_and_id(title);
        let begins = begins.iter().map(|&ps| Timestamp::from_ps(ps)).collect();
        ProgramRuns {
            module: module.to_owned(),
            title: title.to_owned(),
            program: None,
            begins,
        }
    }

    #[test]
    fn functions_are_found_by_module_name() {
        let runs = vec![
            runs("jit__lambda_(3)", &[1]),
            runs("jit_f(1)", &[1]),
            runs("jit_f(2)", &[5]),
        ];
        let programs = ProgramTable { runs };
        assert_eq!(programs.module_of("<lambda>"), Some("jit__lambda_"));
        assert_eq!(programs.module_of("f"), Some("jit_f"));
        assert_eq!(programs.module_of("g"), None);
        assert_eq!(programs.of("jit_f").len(), 2);
        assert_eq!(
            name_and_id("jit_f(18446744073709551615)"),
            ("jit_f", Some(u64::MAX))
        );
    }

    #[test]
    fn compilation_belongs_to_the_next_new_program() {
        let at = Timestamp::from_ps;
        let programs = [
            runs("jit_f(1)", &[0, 10, 100, 110]),
            runs("jit_f(2)", &[60, 130]),
        ];
        assert_eq!(
            before_and_after(&programs, at(20), at(50), None),
            (Some(0), Some(1))
        );
        // The next compilation comes first, so the result of this one is unknown.
        assert_eq!(
            before_and_after(&programs, at(20), at(50), Some(at(55))),
            (Some(0), None)
        );
        // Nothing new runs afterwards: the same program was compiled again.
        assert_eq!(
            before_and_after(&programs, at(70), at(90), None),
            (Some(1), Some(0))
        );
        assert_eq!(before_and_after(&[], at(70), at(90), None), (None, None));
    }
}
