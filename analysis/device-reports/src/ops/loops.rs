//! Loops: their iterations, and the cost of one iteration.
//!
//! A `while` op spans all its iterations. Their number comes from two sources: the trip count, if the compiler found
//! it, and the number of executions of the ops of the body inside each execution of the loop. Ops of the condition
//! run once more than the body; if the capture contains the program, only ops of the body count.
//!
//! The loop's own time is its time without the ops inside: condition, control and gaps between ops.

use facts::prelude::*;
use hlo::{HloModule, InstructionRef};
use math::bounds::{Bounds, bounds};
use math::summed;

use crate::ops::op_stats::{OpRow, Ops};

/// The analysis `loops`.
pub struct Loops;

/// Every loop that ran.
#[engine::reported]
pub struct LoopsReport {
    /// By total time, the largest first.
    pub rows: Vec<LoopRow>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// One `while` op of one program, on all cores.
#[engine::row(measured)]
pub struct LoopRow {
    /// The op.
    #[serde(skip)]
    pub op: Option<OpId>,
    /// Instruction name.
    #[column("Loop")]
    pub name: Arc<str>,
    /// Time of all executions.
    #[column("Time (sum)")]
    pub total_time_ps: Picos,
    /// Executions of the loop.
    #[column("Runs")]
    pub occurrences: u64,
    /// Measured iterations of one execution; the mean if executions differ.
    #[column("Iterations", unit = Count)]
    pub measured_trip_count: Option<f64>,
    /// Fewest and most iterations of an execution.
    #[serde(rename = "measured_trip_count_range", serialize_with = "bounds")]
    #[schemars(with = "Option<Bounds<u64>>")]
    pub measured_range: Option<(u64, u64)>,
    /// Iterations of one execution, according to the program: stated by the compiler, or counted from constants.
    #[column("in program", compiler)]
    pub known_trip_count: Option<u64>,
    /// Time of an iteration.
    #[column("An iteration", derived)]
    pub iteration_time_ps: Option<f64>,
    /// The part of it that is the loop's own time.
    #[column("own", derived)]
    pub iteration_own_time_ps: Option<f64>,
    /// The loop's own time as a share of the time of an iteration.
    #[column("own share")]
    pub own_of_iteration_percent: Option<Percent>,
    /// Number of ops that run directly in an iteration.
    #[column("Ops each", derived, unit = Count)]
    pub ops_per_iteration: Option<f64>,
    /// The op in it with the most time.
    #[column(non_empty)]
    pub longest_op: Option<String>,
    /// Its share of the time of the loop.
    #[column("its share")]
    pub longest_op_percent: Option<Percent>,
    /// Program, with its id.
    #[column]
    pub program: Arc<str>,
    /// `file:line`.
    #[column(recorded, non_empty)]
    pub source: Option<Arc<str>>,
    /// Provenance in the framework.
    #[column("Framework op", recorded, non_empty)]
    pub framework_name: Option<Arc<str>>,
}

/// The ops inside a loop.
#[derive(Default)]
struct LoopBody {
    /// Iterations of each execution, if the ops inside show them.
    iterations: Vec<u64>,
    /// Ops directly inside, of executions with known iterations.
    ops: u64,
    /// Time by op.
    time: BTreeMap<OpId, Picos>,
}

impl Analysis for Loops {
    type Report = LoopsReport;
    const ID: &str = "loops";
    const TITLE: &str = "Loops";

    fn run(cx: &Context<'_>) -> Result<LoopsReport> {
        let ops = cx.report::<Ops>()?;
        let classes = cx.classes();
        let is_loop = |op: OpId| classes.category(op) == "while";
        let mut rows: Vec<&OpRow> = ops
            .rows
            .iter()
            .filter(|row| row.op.is_some_and(is_loop))
            .collect();
        if rows.is_empty() {
            return Err("no loop ran: the capture has no while op".into());
        }
        rows.sort_by_key(|row| Reverse(row.total_time_ps));
        let inside = inside_of_loops(cx, is_loop)?;
        let rows: Vec<LoopRow> = rows
            .into_iter()
            .map(|row| loop_row(cx, row, &inside))
            .collect();
        Ok(LoopsReport {
            notes: notes(&rows),
            rows,
        })
    }
}

/// The ops directly inside each loop, on all cores.
fn inside_of_loops(
    cx: &Context<'_>,
    is_loop: impl Fn(OpId) -> bool,
) -> Result<BTreeMap<OpId, LoopBody>> {
    let model = cx.model;
    let mut all: BTreeMap<OpId, LoopBody> = BTreeMap::new();
    let mut bodies: BTreeMap<OpId, OpsOfBody> = BTreeMap::new();
    let mut sums = ExecutionSums::new(model);
    for core in cx.tensor_cores() {
        let Some(window) = cx.window(core)? else {
            continue;
        };
        for track in model.tracks_of_kind(core, TrackKind::Ops) {
            let slices = model
                .lanes(track)
                .iter()
                .flat_map(|lane| model.slices_in(lane, window.range));
            for slice in cx
                .watched(slices)
                .filter(|slice| slice.has_children() && window.contains(*slice))
            {
                let Some(op) = slice.op().filter(|&op| is_loop(op)) else {
                    continue;
                };
                let ops = bodies.entry(op).or_insert_with(|| OpsOfBody::of(cx, op));
                sums.collect(cx, slice);
                all.entry(op)
                    .or_default()
                    .add(&mut sums, |op| ops.contains(cx, op));
            }
        }
    }
    Ok(all)
}

/// Sums over the ops directly inside one execution of a loop. Indexed by op: an execution has many children, and few
/// distinct ones.
struct ExecutionSums {
    counts: Vec<u64>,
    time: Vec<Picos>,
    /// The ops that ran.
    found: Vec<OpId>,
}

impl ExecutionSums {
    fn new(model: &TraceModel) -> Self {
        let ops = model.ops().len();
        Self {
            counts: vec![0; ops],
            time: vec![Picos::ZERO; ops],
            found: Vec::new(),
        }
    }

    fn collect(&mut self, cx: &Context<'_>, execution: SliceRef<'_>) {
        for slice in cx.watched(execution.children()) {
            let Some(op) = slice.op() else { continue };
            if self.counts[op.index()] == 0 {
                self.found.push(op);
            }
            self.counts[op.index()] += 1;
            self.time[op.index()] += slice.measured_dur();
        }
    }
}

/// Which ops belong to the body of a loop and not to its condition.
struct OpsOfBody {
    program: Option<ProgramId>,
    instruction: Option<InstructionRef>,
    /// The answers so far.
    known: BTreeMap<OpId, bool>,
}

impl OpsOfBody {
    fn of(cx: &Context<'_>, loop_op: OpId) -> Self {
        Self {
            program: cx.model.op(loop_op).program,
            instruction: cx.instruction(loop_op),
            known: BTreeMap::new(),
        }
    }

    fn contains(&mut self, cx: &Context<'_>, op: OpId) -> bool {
        let Some(it) = &self.instruction else {
            return true;
        };
        let module = it.module();
        let Some(body) = module.loop_body(it).map(|(body, ..)| body) else {
            return true;
        };
        // One line of HLO text does not contain the ops of the body.
        if module.instructions_of(body).is_empty() {
            return true;
        }
        let program = self.program;
        *self.known.entry(op).or_insert_with(|| {
            let find = |module: &HloModule| module.find(cx.model.str(cx.model.op(op).name));
            cx.model.op(op).program == program
                && find(module)
                    .and_then(|id| module.instruction(id))
                    .is_some_and(|it| it.computation == body)
        })
    }
}

impl LoopBody {
    /// Adds an execution of the loop and clears its sums.
    fn add(&mut self, sums: &mut ExecutionSums, in_body: impl FnMut(OpId) -> bool) {
        sums.found.sort_unstable();
        let counts = || sums.found.iter().map(|&op| (op, sums.counts[op.index()]));
        if let Some(iterations) = iterations(counts(), in_body) {
            self.iterations.push(iterations);
            self.ops += counts().map(|(_, count)| count).sum::<u64>();
        }
        for op in sums.found.drain(..) {
            *self.time.entry(op).or_default() += std::mem::take(&mut sums.time[op.index()]);
            sums.counts[op.index()] = 0;
        }
    }
}

/// Number of runs of the body: the number that most of its ops have.
fn iterations(
    counts: impl Iterator<Item = (OpId, u64)>,
    mut in_body: impl FnMut(OpId) -> bool,
) -> Option<u64> {
    let counts = counts.filter(|&(op, _)| in_body(op));
    let ops_by_count: BTreeMap<u64, u64> = summed(counts.map(|(_, count)| (count, 1)));
    // Ties go to the smaller count: the others are ops of the condition.
    ops_by_count
        .into_iter()
        .max_by_key(|&(count, ops)| (ops, Reverse(count)))
        .map(|(count, _)| count)
}

fn loop_row(cx: &Context<'_>, row: &OpRow, inside: &BTreeMap<OpId, LoopBody>) -> LoopRow {
    let inside = row.op.and_then(|op| inside.get(&op));
    let iterations = inside
        .map(|inside| &inside.iterations)
        .filter(|iterations| !iterations.is_empty());
    let sum: Option<u64> = iterations.map(|iterations| iterations.iter().sum());
    let mean = |whole: f64| Some(whole / sum.filter(|&sum| sum > 0)? as f64);
    // Executions without a single op inside show no iterations and are in no mean; nor are parts of executions.
    let is_whole = (row.executions - row.occurrences as f64).abs() < 1e-9;
    let complete =
        is_whole && iterations.is_some_and(|iterations| iterations.len() as u64 == row.occurrences);
    let per_iteration = |time: Picos| mean(time.as_ps_f64()).filter(|_| complete);
    let longest = inside
        .filter(|_| is_whole)
        .and_then(|inside| inside.time.iter().max_by_key(|&(_, &time)| time));
    LoopRow {
        op: row.op,
        program: Arc::clone(&row.program),
        name: Arc::clone(&row.name),
        occurrences: row.occurrences,
        total_time_ps: row.total_time_ps,
        known_trip_count: row
            .op
            .and_then(|op| cx.instruction(op))
            .and_then(|it| it.module().trip_count(&it)),
        measured_trip_count: iterations.and_then(|all| Some(sum? as f64 / all.len() as f64)),
        measured_range: iterations.and_then(|all| Some((*all.iter().min()?, *all.iter().max()?))),
        ops_per_iteration: inside.and_then(|inside| mean(inside.ops as f64)),
        iteration_time_ps: per_iteration(row.total_time_ps),
        iteration_own_time_ps: per_iteration(row.self_time_ps),
        own_of_iteration_percent: Percent::of(row.self_time_ps, row.total_time_ps),
        longest_op: longest.map(|(&op, _)| cx.model.str(cx.model.op(op).name).to_owned()),
        longest_op_percent: longest.and_then(|(_, &time)| Percent::of(time, row.total_time_ps)),
        source: row.source.clone(),
        framework_name: row.framework_name.clone(),
    }
}

fn notes(rows: &[LoopRow]) -> Vec<String> {
    let mut notes =
        vec!["time: the sum of all executions on all devices; an iteration: time of the loop / iterations as measured; own: \
              without the ops inside"
            .to_owned()];
    for row in rows {
        let (Some(known), Some(measured)) = (row.known_trip_count, row.measured_trip_count) else {
            continue;
        };
        if (measured - known as f64).abs() > 0.5 {
            notes.push(format!(
                "{}: the program has {known} iterations, {measured:.1} were seen: the capture begins or ends \
                 inside the loop, lost ops, or the body was unrolled",
                row.name
            ));
        }
    }
    if rows.iter().all(|row| row.known_trip_count.is_none()) {
        notes.push(
            "the programs that tell trip counts are not in this capture, or the counts depend on data".to_owned(),
        );
    }
    notes
}

impl Tabular for LoopsReport {
    fn tables(&self) -> Vec<Table> {
        vec![
            Table::of("loops", "Loops by time", &self.rows)
                .remaining()
                .notes(self.notes.clone())
                .build(),
        ]
    }
}
