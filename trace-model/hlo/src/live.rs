//! How often each computation runs, and how much memory the values of a program need in the order of its schedule.

use std::collections::{HashMap, HashSet};

use crate::{ComputationId, HBM, HloModule, Instruction, InstructionId, Shape};

/// Deepest nesting of loops and calls that is followed.
const MAX_DEPTH: usize = 32;

/// How often a computation runs in one execution of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executions {
    /// Times; 0 if nothing runs it.
    pub times: u64,
    /// A loop around it has an unknown length, and counts once.
    pub is_least: bool,
}

/// Executions of each computation. Where the text ends before the entry computation, each counts once.
pub fn executions(module: &HloModule) -> Vec<Executions> {
    let mut out = vec![Executions::default(); module.computations.len()];
    let once = Executions {
        times: 1,
        is_least: module.entry.is_none(),
    };
    let is_root = roots(module);
    for (slot, _) in out.iter_mut().zip(is_root).filter(|(_, is_root)| *is_root) {
        *slot = once;
    }
    // Callers come after what they call.
    for computation in module
        .computation_ids()
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
    {
        let callers = out.get(computation.index()).copied().unwrap_or_default();
        for instruction in module.instructions_of(computation) {
            let is_loop = &*instruction.opcode == "while";
            let known = module.trip_count(instruction).filter(|_| is_loop);
            for called in &instruction.called {
                let Some(slot) = out.get_mut(called.index()).filter(|_| callers.times > 0) else {
                    continue;
                };
                // A condition is asked once more than it lets the body run.
                let asks = module
                    .loop_body(instruction)
                    .is_some_and(|(_, it)| it == *called);
                let turns = known.map_or(1, |turns| turns.saturating_add(u64::from(asks)));
                let times = callers.times.saturating_mul(turns);
                slot.times = slot.times.saturating_add(times);
                slot.is_least |= callers.is_least || (is_loop && known.is_none());
            }
        }
    }
    out
}

/// Sum over one execution of what each instruction takes by itself: the body of a loop as often as it is known to run, and
/// of the branches of a conditional the one with the most.
pub fn sum_of_execution(module: &HloModule, by_instruction: &[u64]) -> u64 {
    let mut sums: Vec<u64> = Vec::with_capacity(module.computations.len());
    // Callers come after what they call.
    for computation in module.computation_ids() {
        let mut sum = 0_u64;
        for (id, it) in module.iter_of(computation) {
            let of = |called: &ComputationId| sums.get(called.index()).copied().unwrap_or(0);
            let called = it.called.iter();
            let called = match (&*it.opcode, module.loop_body(it)) {
                ("conditional", _) => called.map(of).max().unwrap_or(0),
                (_, Some((body, condition))) => {
                    let known = module.trip_count(it);
                    let turns = known.unwrap_or(1);
                    // A condition is asked once more than it lets the body run.
                    let asked = turns.saturating_add(u64::from(known.is_some()));
                    let body = of(&body).saturating_mul(turns);
                    body.saturating_add(of(&condition).saturating_mul(asked))
                }
                _ => called.map(of).fold(0, u64::saturating_add),
            };
            let its_own = by_instruction.get(id.index()).copied().unwrap_or(0);
            sum = sum.saturating_add(its_own).saturating_add(called);
        }
        sums.push(sum);
    }
    let of_roots = sums.iter().zip(roots(module));
    let of_roots = of_roots.filter(|(_, is_root)| *is_root);
    of_roots.fold(0, |all, (sum, _)| all.saturating_add(*sum))
}

/// The entry computation; where the text ends before it, those that nothing calls.
fn roots(module: &HloModule) -> Vec<bool> {
    let mut is_root = vec![module.entry.is_none(); module.computations.len()];
    if let Some(slot) = module
        .entry
        .and_then(|entry| is_root.get_mut(entry.index()))
    {
        *slot = true;
        return is_root;
    }
    for called in module.instructions.iter().flat_map(|it| &it.called) {
        if let Some(slot) = is_root.get_mut(called.index()) {
            *slot = false;
        }
    }
    is_root
}

/// The most memory that the values of a program need at one time.
#[derive(Clone, Copy, Debug)]
pub struct LivePeak {
    /// Bytes in main memory, parameters included; without padding and gaps.
    pub bytes: u64,
    /// The instruction of the entry computation during which that is.
    pub at: InstructionId,
}

/// The peak of the live bytes in main memory, in the order of the schedule. Results that a program may write into the
/// memory of a parameter need none of their own.
///
/// # Errors
///
/// Why it cannot be told.
pub fn peak_of_live_bytes(module: &HloModule) -> Result<LivePeak, &'static str> {
    if let Some(entry) = module.entry.filter(|_| module.cut.is_none()) {
        if !module.is_scheduled() {
            return Err("its text has no order of execution (is_scheduled=true is missing)");
        }
        let mut peaks = HashMap::new();
        let (bytes, peak_at) = peak_in(module, entry, &mut peaks, 0).ok_or("it is empty")?;
        let parameters = module.parameters();
        let parameters = parameters
            .iter()
            .map(|(_, it)| main_memory_bytes(it.shape.as_deref()));
        Ok(LivePeak {
            bytes: parameters.fold(bytes, u64::saturating_add),
            at: peak_at,
        })
    } else if module.cut.is_some() {
        Err("its text ends before the program does")
    } else {
        Err("it has no ENTRY computation")
    }
}

/// The values that are in main memory at this peak, parameters excluded, with their bytes.
pub fn values_at_peak(module: &HloModule) -> Vec<(InstructionId, u64)> {
    let entry = module.entry.filter(|_| module.is_scheduled());
    let values = entry.and_then(|entry| live_at_peak(module, entry, &mut HashMap::new(), 0));
    values.unwrap_or_default()
}

/// Bytes in main memory of a value.
pub fn main_memory_bytes(shape: Option<&Shape<'_>>) -> u64 {
    let arrays = shape.map(Shape::arrays).unwrap_or_default().into_iter();
    arrays
        .filter(|array| array.memory_space == HBM)
        .filter_map(crate::ArrayShape::bytes)
        .fold(0, u64::saturating_add)
}

/// Whether a value lies in the memory of its operands.
fn is_alias(it: &Instruction) -> bool {
    match &*it.opcode {
        "tuple" | "get-tuple-element" | "bitcast" | "while" | "opt-barrier" | "parameter" => true,
        "custom-call" => it.moves_nothing() && !it.operands.is_empty(),
        opcode => opcode.ends_with("-done"),
    }
}

/// Sizes of the results that an instruction may write into the memory of an operand of the same size that nothing else
/// needs. Compilers decide it for each; here all do that can.
fn sizes_written_in_place(module: &HloModule, it: &Instruction) -> Vec<u64> {
    let never = [
        "all-gather",
        "all-to-all",
        "call",
        "conditional",
        "convolution",
        "copy",
        "dot",
        "while",
    ];
    let opcode = it.opcode.strip_suffix("-start").unwrap_or(&it.opcode);
    if never.contains(&opcode) {
        return Vec::new();
    }
    sizes_allocated(module, it)
}

/// Bytes in main memory of each result of an instruction that lies in the memory of no operand.
fn sizes_allocated(module: &HloModule, it: &Instruction) -> Vec<u64> {
    if is_alias(it) {
        return Vec::new();
    }
    let arrays = started_result(it).map(Shape::arrays).unwrap_or_default();
    let updates = module.updates_in_place(it);
    let allocated = arrays.iter().enumerate().filter(|(part, array)| {
        array.memory_space == HBM && updates.iter().all(|update| update.part != *part)
    });
    allocated.filter_map(|(_, array)| array.bytes()).collect()
}

/// The result of an instruction, or of the transfer that it starts. Results of starts have their operand, too: of copies
/// (result, operand, context), of others (operand, result, context); that of an all-reduce is the result alone.
pub fn started_result(it: &Instruction) -> Option<&Shape<'static>> {
    let shape = it.shape.as_deref();
    match (&*it.opcode, shape) {
        ("copy-start", Some(Shape::Tuple(parts))) => parts.first(),
        ("all-reduce-start", _) => shape,
        (opcode, Some(Shape::Tuple(parts))) if opcode.ends_with("-start") => parts.get(1),
        _ => shape,
    }
}

/// How long each value of a computation is needed, in the order of its schedule.
struct Lifetimes {
    order: Vec<InstructionId>,
    /// Place in the order after which it is no longer needed.
    ends: Vec<usize>,
    /// Bytes in main memory of its own.
    bytes: Vec<u64>,
}

impl Lifetimes {
    fn of(module: &HloModule, computation: ComputationId) -> Option<Self> {
        let order = module.schedule(computation)?;
        let place: HashMap<InstructionId, usize> = order.iter().copied().zip(0..).collect();
        let last = order.len().checked_sub(1)?;
        let mut ends: Vec<usize> = (0..order.len()).collect();
        let root = module.computation(computation)?.root;
        let donated = donated_results(module, computation);
        let mut bytes = vec![0; order.len()];
        for (position, &id) in order.iter().enumerate().rev() {
            let it = module.instruction(id)?;
            if !donated.contains(&id) {
                let sizes = sizes_allocated(module, it).into_iter();
                *bytes.get_mut(position)? = sizes.fold(0, u64::saturating_add);
            }
            let end = ends.get_mut(position)?;
            *end = if Some(id) == root { last } else { *end };
            let end = *end;
            let updates = module.updates_in_place(it);
            for (number, id) in it.operands.iter().enumerate() {
                let lends = is_alias(it) || updates.iter().any(|it| it.operand == number);
                let until = if lends { end } else { position };
                if let Some(end) = place.get(id).and_then(|&end| ends.get_mut(end)) {
                    *end = (*end).max(until);
                }
            }
        }
        // Of each instruction the results that no operand has lent its memory yet.
        let mut free: HashMap<usize, Vec<u64>> = HashMap::new();
        for (position, end) in ends
            .iter_mut()
            .enumerate()
            .filter(|(position, end)| *position < **end)
        {
            let user = module.instruction(*order.get(*end)?)?;
            let free = free
                .entry(*end)
                .or_insert_with(|| sizes_written_in_place(module, user));
            let size = *bytes.get(position)?;
            if let Some(same) = free.iter().position(|&written| written == size) {
                free.swap_remove(same);
                *end -= 1;
            }
        }
        Some(Self { order, ends, bytes })
    }

    /// The values that are needed at a place, with their bytes.
    fn live(&self, place: usize) -> impl Iterator<Item = (InstructionId, u64)> {
        let values = self.order.iter().zip(&self.ends).zip(&self.bytes);
        values
            .take(place + 1)
            .filter(move |((_, end), bytes)| **end >= place && **bytes > 0)
            .map(|((id, _), bytes)| (*id, *bytes))
    }
}

/// The most bytes that a computation needs beside its parameters, and where.
fn peak_in(
    module: &HloModule,
    computation: ComputationId,
    known: &mut HashMap<ComputationId, u64>,
    depth: usize,
) -> Option<(u64, InstructionId)> {
    let values = Lifetimes::of(module, computation)?;
    let mut released = vec![0_u64; values.order.len()];
    let (mut live, mut peak) = (0_u64, (0, *values.order.first()?));
    for (place, (&id, &bytes)) in values.order.iter().zip(&values.bytes).enumerate() {
        live = live.saturating_add(bytes);
        if let Some(slot) = values
            .ends
            .get(place)
            .and_then(|&end| released.get_mut(end))
        {
            *slot = slot.saturating_add(bytes);
        }
        let inside = inside(module, module.instruction(id)?, known, depth);
        if live.saturating_add(inside) > peak.0 {
            peak = (live.saturating_add(inside), id);
        }
        live = live.saturating_sub(released.get(place).copied().unwrap_or_default());
    }
    Some(peak)
}

/// The values that are in memory at the peak of a computation, and of what it calls then.
fn live_at_peak(
    module: &HloModule,
    computation: ComputationId,
    known: &mut HashMap<ComputationId, u64>,
    depth: usize,
) -> Option<Vec<(InstructionId, u64)>> {
    let (_, peak_at) = peak_in(module, computation, known, depth)?;
    let values = Lifetimes::of(module, computation)?;
    let place = values.order.iter().position(|id| *id == peak_at)?;
    let mut live: Vec<_> = values.live(place).collect();
    let it = module.instruction(peak_at)?;
    if runs_others(it, depth) {
        let needs = |callee: &&ComputationId| known.get(callee).copied().unwrap_or_default();
        if let Some(&callee) = it.called.iter().max_by_key(needs) {
            live.extend(live_at_peak(module, callee, known, depth + 1).unwrap_or_default());
        }
    }
    Some(live)
}

/// Whether an instruction runs the instructions of other computations, as deep as they are followed.
fn runs_others(it: &Instruction, depth: usize) -> bool {
    matches!(&*it.opcode, "while" | "call" | "conditional") && depth < MAX_DEPTH
}

/// What loops, calls and branches need while they run.
fn inside(
    module: &HloModule,
    it: &Instruction,
    known: &mut HashMap<ComputationId, u64>,
    depth: usize,
) -> u64 {
    let runs = runs_others(it, depth);
    let called = it.called.iter().filter(|_| runs);
    let peaks = called.map(|&callee| {
        if let Some(&bytes) = known.get(&callee) {
            return bytes;
        }
        let peak = peak_in(module, callee, known, depth + 1);
        let bytes = peak.map_or(0, |(bytes, _)| bytes);
        known.insert(callee, bytes);
        bytes
    });
    peaks.max().unwrap_or(0)
}

/// Results of the program that lie in the memory of a parameter, and all of a computation that is called: whoever calls it
/// has memory for them, a loop that of what it carries.
fn donated_results(module: &HloModule, computation: ComputationId) -> HashSet<InstructionId> {
    let Some(root) = module.root(computation) else {
        return HashSet::new();
    };
    if module.entry != Some(computation) {
        let parts = (&*root.opcode == "tuple").then(|| root.operands.iter().copied());
        let whole = module.computation(computation).and_then(|it| it.root);
        return parts.into_iter().flatten().chain(whole).collect();
    }
    let result = |index: &Vec<u64>| match (&*root.opcode, index.as_slice()) {
        ("tuple", [at]) => root.operands.get(usize::try_from(*at).ok()?).copied(),
        (_, []) => module.computation(computation)?.root,
        _ => None,
    };
    let aliases = module.aliases.iter();
    aliases
        .filter_map(|alias| result(&alias.output_index))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextProgram;

    /// A loop of three steps; `f32[256]` is 1 KiB.
    const TEXT: &str = "HloModule m, is_scheduled=true, input_output_alias={ {1}: (0, {}, may-alias) }\n\n\
        %body (p: (s32[], f32[256])) -> (s32[], f32[256]) {\n  %p = (s32[], f32[256]{0}) parameter(0)\n  \
        %x = f32[256]{0} get-tuple-element(%p), index=1\n  %t = f32[1024]{0} broadcast(%x), dimensions={0}\n  \
        %s = f32[256]{0} slice(%t), slice={[0:256]}\n  %i = s32[] get-tuple-element(%p), index=0\n  \
        ROOT %r = (s32[], f32[256]{0}) tuple(%i, %s)\n}\n\n\
        %cond (q: (s32[], f32[256])) -> pred[] {\n  %q = (s32[], f32[256]{0}) parameter(0)\n  \
        ROOT %c = pred[] constant(true)\n}\n\n\
        ENTRY %main (a: f32[256]) -> (f32[256], f32[256]) {\n  %a = f32[256]{0} parameter(0)\n  \
        %b = f32[256]{0} negate(%a)\n  %v = f32[512]{0:S(1)} broadcast(%a), dimensions={0}\n  \
        %z = s32[]{:S(6)} constant(0)\n  %init = (s32[], f32[256]{0}) tuple(%z, %b)\n  \
        %w = (s32[], f32[256]{0}) while(%init), condition=%cond, body=%body, \
        backend_config={\"known_trip_count\":{\"n\":\"3\"}}\n  %y = f32[256]{0} get-tuple-element(%w), index=1\n  \
        %d = f32[256]{0} add(%y, %a)\n  ROOT %out = (f32[256]{0}, f32[256]{0}) tuple(%y, %d)\n}\n";

    #[test]
    fn loops_multiply_executions() {
        let module = TextProgram::read(TEXT).unwrap().module;
        let times: Vec<u64> = executions(&module).iter().map(|it| it.times).collect();
        // The condition ends the loop when it is asked once more.
        assert_eq!(times, [3, 4, 1]);
        let unknown = TEXT.replace("known_trip_count", "other");
        let module = TextProgram::read(&unknown).unwrap().module;
        assert_eq!(
            executions(&module)[0],
            Executions {
                times: 1,
                is_least: true
            }
        );
        let cut = TextProgram::read(&TEXT[..TEXT.find("ENTRY").unwrap()]).unwrap();
        assert!(executions(&cut.module).iter().all(|it| it.times == 1));
    }

    /// One execution takes one branch of a conditional: the one with the most counts.
    #[test]
    fn branches_are_not_added_up() {
        let branch = |name: &str, ops: &str| {
            format!(
                "%{name} (p.{name}: f32[8]) -> f32[8] {{\n  %p.{name} = f32[8]{{0}} parameter(0)\n{ops}  \
                 ROOT %r.{name} = f32[8]{{0}} negate(%p.{name})\n}}\n\n"
            )
        };
        let text = format!(
            "HloModule m\n\n{}{}ENTRY %main (i: s32[], x: f32[8]) -> f32[8] {{\n  %i = s32[] parameter(0)\n  \
             %x = f32[8]{{0}} parameter(1)\n  %c = f32[8]{{0}} conditional(%i, %x, %x), \
             branch_computations={{%few, %many}}\n  ROOT %n = f32[8]{{0}} negate(%c)\n}}\n",
            branch("few", ""),
            branch("many", "  %e.many = f32[8]{0} exponential(%p.many)\n"),
        );
        let sum_of = |text: &str, counted: &[&str]| {
            let module = TextProgram::read(text).unwrap().module;
            let all = module.instructions.iter();
            let own = all.map(|it| u64::from(counted.contains(&&*it.opcode)));
            sum_of_execution(&module, &own.collect::<Vec<_>>())
        };
        assert_eq!(sum_of(&text, &["negate", "exponential"]), 3);
        assert_eq!(sum_of(TEXT, &["slice"]), 3);
    }

    /// A table is in memory once, although a fusion has it in its result beside another value.
    #[test]
    fn updates_in_place_need_no_memory() {
        let text = "HloModule m, is_scheduled=true\n\n\
            %f (p: f32[4,16], u: f32[16]) -> (f32[4,16], bf16[16]) {\n  \
            %p = f32[4,16]{1,0} parameter(0)\n  %u = f32[16]{0} parameter(1)\n  %z = s32[] constant(0)\n  \
            %d = f32[4,16]{1,0} dynamic-update-slice(%p, %u, %z, %z)\n  %c = bf16[16]{0} convert(%u)\n  \
            ROOT %t = (f32[4,16]{1,0}, bf16[16]{0}) tuple(%d, %c)\n}\n\n\
            ENTRY %main (r: f32[16]) -> (f32[4,16], bf16[16]) {\n  %r = f32[16]{0} parameter(0)\n  \
            %a = f32[4,16]{1,0} custom-call(), custom_call_target=\"AllocateBuffer\"\n  \
            ROOT %fu = (f32[4,16]{1,0}, bf16[16]{0}) fusion(%a, %r), kind=kLoop, calls=%f\n}\n";
        let module = TextProgram::read(text).unwrap().module;
        assert_eq!(peak_of_live_bytes(&module).unwrap().bytes, 64 + 256 + 32);
    }

    #[test]
    fn results_of_starts_are_told_from_their_operands() {
        let text = "HloModule m, is_scheduled=true\n\nENTRY %main (a: f32[256]) -> f32[256] {\n  \
            %a = f32[256]{0} parameter(0)\n  \
            %r = (f32[256]{0}, f32[256]{0}) all-reduce-start(%a, %a)\n  \
            %g = (f32[256]{0}, f32[512]{0}) all-gather-start(%a), dimensions={0}\n  \
            %c = (f32[256]{0:S(1)}, f32[256]{0}, u32[]) copy-start(%a)\n  \
            ROOT %n = f32[256]{0} negate(%a)\n}\n";
        let module = TextProgram::read(text).unwrap().module;
        let bytes = ["r", "g", "c"].map(|name| {
            let it = module.instruction(module.find(name).unwrap()).unwrap();
            main_memory_bytes(started_result(it))
        });
        assert_eq!(bytes, [2048, 2048, 0]);
    }

    #[test]
    fn peak_is_where_most_values_live() {
        let module = TextProgram::read(TEXT).unwrap().module;
        let peak = peak_of_live_bytes(&module).unwrap();
        // The parameter, the state of the loop, and inside of it the long row; what is made of that is written into the
        // state, the sum into the parameter, and vector memory does not count.
        assert_eq!(peak.bytes, 1024 + 1024 + 4096);
        let name = |id| &*module.instruction(id).unwrap().name;
        assert_eq!(name(peak.at), "w");
        let live = values_at_peak(&module).into_iter();
        let live: Vec<_> = live.map(|(id, bytes)| (name(id), bytes)).collect();
        assert_eq!(live, [("b", 1024), ("t", 4096)]);
        let reason = |text: &str| {
            let module = TextProgram::read(text).unwrap().module;
            peak_of_live_bytes(&module).unwrap_err()
        };
        assert!(
            reason(&TEXT.replace("is_scheduled=true", "x=1")).contains("no order of execution")
        );
        assert!(reason(&TEXT[..TEXT.len() - 9]).contains("ends before"));
    }
}
