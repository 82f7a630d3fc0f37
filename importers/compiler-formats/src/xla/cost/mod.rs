//! Operations and bytes of an instruction, counted from shapes.

use std::rc::Rc;

use hashbrown::{HashMap, HashSet};
use trace_model::{Access, MemoryAccess, MemorySpace};

use super::hlo::{Instruction, ScheduledComputation, ScheduledProgram};
use super::shape::{self, HBM, ScheduleArray, ShapeSize, VMEM, arrays, first_array};

/// Deepest nesting of fusions that is followed.
const MAX_DEPTH: usize = 32;

/// Maximum number of window positions that are counted one by one. For larger windows, all positions are assumed to be
/// inside the operand.
const MAX_POSITIONS: u64 = 1 << 20;

/// Maximum number of counted positions in all windows of a program; real programs have a few thousand.
const MAX_POSITIONS_IN_ALL: u64 = 1 << 27;

/// Counts for one program; each computation is counted once.
pub(super) struct CostAnalysis<'p, 'a> {
    program: &'p ScheduledProgram<'a>,
    flops: HashMap<usize, InstructionFlops>,
    reads: HashMap<usize, ParameterReads>,
    views: HashMap<usize, bool>,
    /// Remaining budget of window positions.
    positions: u64,
    /// Number of windows that exceeded the budget.
    rounded: u64,
}

/// Bytes that a computation reads from each of its parameters, by number.
type ParameterReads = Rc<HashMap<usize, u64>>;

/// Operations of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InstructionFlops {
    /// All operations: two per multiplication of a matrix product, one per element of other arithmetic. Like XLA's cost
    /// analysis, without transcendentals.
    pub all: u64,
    /// Operations of matrix products.
    pub products: u64,
}

impl InstructionFlops {
    fn plus(self, other: Self) -> Self {
        Self {
            all: self.all.saturating_add(other.all),
            products: self.products.saturating_add(other.products),
        }
    }

    fn elements(all: u64) -> Self {
        Self { all, products: 0 }
    }

    fn product(all: u64) -> Self {
        Self { all, products: all }
    }
}

impl<'p, 'a> CostAnalysis<'p, 'a> {
    pub(crate) fn new(program: &'p ScheduledProgram<'a>) -> Self {
        let (flops, reads, views) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self {
            program,
            flops,
            reads,
            views,
            positions: MAX_POSITIONS_IN_ALL,
            rounded: 0,
        }
    }

    /// Operations of one execution; those of a loop are in its body.
    pub(crate) fn flops(
        &mut self,
        computation: &ScheduledComputation<'a>,
        instruction: &Instruction<'a>,
    ) -> InstructionFlops {
        self.flops_at(computation, instruction, 0)
    }

    fn flops_at(
        &mut self,
        computation: &ScheduledComputation<'a>,
        instruction: &Instruction<'a>,
        depth: usize,
    ) -> InstructionFlops {
        match instruction.opcode {
            "fusion" => instruction
                .computation("calls")
                .map(|name| self.flops_of(name, depth + 1))
                .unwrap_or_default(),
            "convolution" => InstructionFlops::product(self.convolution(computation, instruction)),
            "dot" => InstructionFlops::product(dot(computation, instruction)),
            "all-reduce" | "all-reduce-start" | "reduce-scatter" | "reduce" => {
                let operand = instruction
                    .operand_names()
                    .next()
                    .and_then(|name| computation.size(name));
                InstructionFlops::elements(operand.map_or(0, |size| size.elements))
            }
            // Scalars belong to the scalar unit and do not count.
            opcode if is_arithmetic(opcode) => InstructionFlops::elements(
                Some(elements(instruction.shape))
                    .filter(|&all| all > 1)
                    .unwrap_or(0),
            ),
            _ => InstructionFlops::default(),
        }
    }

    /// Operations of a convolution; only positions inside the operand count.
    fn convolution(
        &mut self,
        computation: &ScheduledComputation<'a>,
        instruction: &Instruction<'a>,
    ) -> u64 {
        let (input, kernel) = (
            operand_dims(computation, instruction, 0),
            operand_dims(computation, instruction, 1),
        );
        let output = first_array(instruction.shape)
            .map(|array| array.dims)
            .unwrap_or_default();
        let labels = instruction
            .attribute("dim_labels")
            .and_then(|labels| labels.split_once("->"));
        let Some(((from, of), to)) =
            labels.and_then(|(operands, to)| Some((operands.split_once('_')?, to)))
        else {
            return 0;
        };
        let size = |labels: &str, dims: &[u64], label: char| {
            labels.find(label).and_then(|at| dims.get(at)).copied()
        };
        let (Some(batch), Some(features), Some(summed)) = (
            size(to, &output, 'b'),
            size(to, &output, 'f'),
            size(of, &kernel, 'i'),
        ) else {
            return 0;
        };
        let mut multiplications = batch.saturating_mul(features).saturating_mul(summed);
        let window = instruction.attribute("window").unwrap_or_default();
        for (number, digit) in ('0'..='9').enumerate() {
            let (Some(from), Some(to)) = (size(from, &input, digit), size(to, &output, digit))
            else {
                break;
            };
            let window = WindowDims::of(window, number, size(of, &kernel, digit).unwrap_or(1));
            let (positions, is_exact) = window.positions(from, to, &mut self.positions);
            self.rounded += u64::from(!is_exact);
            multiplications = multiplications.saturating_mul(positions);
        }
        multiplications.saturating_mul(2)
    }

    /// Number of windows that were counted approximately, on the assumption that they are inside their operand.
    pub(crate) fn rounded(&self) -> u64 {
        self.rounded
    }

    fn flops_of(&mut self, name: &str, depth: usize) -> InstructionFlops {
        let program = self.program;
        let Some(index) = program.find(name).filter(|_| depth < MAX_DEPTH) else {
            return InstructionFlops::default();
        };
        if let Some(&known) = self.flops.get(&index) {
            return known;
        }
        let Some(computation) = program.computation(index) else {
            return InstructionFlops::default();
        };
        let mut sum = InstructionFlops::default();
        for instruction in &computation.instructions {
            sum = sum.plus(self.flops_at(computation, instruction, depth));
        }
        self.flops.insert(index, sum);
        sum
    }

    /// Bytes accessed per execution: each operand once and the result once. Of an operand that is only sliced, only the
    /// slices count.
    pub(crate) fn bytes(
        &mut self,
        computation: &ScheduledComputation<'a>,
        instruction: &Instruction<'a>,
    ) -> Vec<MemoryAccess> {
        let mut out = Vec::new();
        let body = instruction
            .computation("calls")
            .filter(|_| instruction.opcode == "fusion");
        let body = body.and_then(|name| self.program.find(name));
        let reads = body.map(|body| self.reads_of(body, 0));
        let mut seen = HashSet::new();
        for (number, name) in instruction.operand_names().enumerate() {
            let Some(operand) = computation.find(name).filter(|_| seen.insert(name)) else {
                continue;
            };
            let whole = computation.size(name).unwrap_or_default().bytes;
            let read = match &reads {
                Some(reads) => reads.get(&number).copied().unwrap_or(whole).min(whole),
                None => read_by(instruction, name, whole),
            };
            if let Some(array) = first_array(operand.shape) {
                add(&mut out, array.space, Access::Read, read);
            }
        }
        for array in arrays(instruction.shape) {
            let written = self.written(body, instruction, computation, &array);
            add(&mut out, array.space, Access::Write, written);
        }
        out
    }

    /// Bytes that a computation reads from each of its parameters, by number.
    fn reads_of(&mut self, index: usize, depth: usize) -> ParameterReads {
        if let Some(known) = self.reads.get(&index) {
            return Rc::clone(known);
        }
        let program = self.program;
        let mut reads: HashMap<usize, u64> = HashMap::new();
        let Some(computation) = program.computation(index).filter(|_| depth < MAX_DEPTH) else {
            return Rc::default();
        };
        // Values that are parameters or only reinterpret one, with the number and size of the parameter.
        let mut values: HashMap<&str, (usize, u64)> = HashMap::new();
        for user in &computation.instructions {
            if let Some(number) = user.parameter_number() {
                values.insert(user.name, (number, shape::bytes(user.shape)));
                reads.insert(number, 0);
                continue;
            }
            let body = user
                .computation("calls")
                .and_then(|name| program.find(name));
            let body = body.filter(|_| user.opcode == "fusion");
            let is_view = user.opcode == "bitcast" || body.is_some_and(|body| self.is_view(body));
            for (at, operand) in user.operand_names().enumerate() {
                let Some(&(number, whole)) = values.get(operand) else {
                    continue;
                };
                let read = match body {
                    _ if is_view => {
                        values.insert(user.name, (number, whole));
                        continue;
                    }
                    Some(body) => self
                        .reads_of(body, depth + 1)
                        .get(&at)
                        .copied()
                        .unwrap_or(whole),
                    None => read_by(user, operand, whole),
                };
                let sum = reads.entry(number).or_default();
                // Bytes that two instructions read count once.
                *sum = sum.saturating_add(read).min(whole);
            }
        }
        let reads = Rc::new(reads);
        self.reads.insert(index, Rc::clone(&reads));
        reads
    }

    /// Whether a fusion only reinterprets its operand.
    fn is_view(&mut self, index: usize) -> bool {
        let program = self.program;
        *self.views.entry(index).or_insert_with(|| {
            let is_view = |it: &Instruction<'_>| matches!(it.opcode, "parameter" | "bitcast");
            program
                .computation(index)
                .is_some_and(|it| it.instructions.iter().all(is_view))
        })
    }

    /// Bytes written to a result; for a result that is updated in place, only the update.
    fn written(
        &self,
        body: Option<usize>,
        instruction: &Instruction<'a>,
        computation: &ScheduledComputation<'a>,
        array: &ScheduleArray<'a>,
    ) -> u64 {
        let inner = body.and_then(|body| self.program.computation(body));
        let (computation, root) = match inner {
            Some(inner) => (inner, inner.root()),
            None => (computation, Some(instruction)),
        };
        let update = root
            .filter(|root| root.opcode == "dynamic-update-slice")
            .and_then(|root| root.operand_names().nth(1));
        let update = update
            .and_then(|name| computation.size(name))
            .map(|size| size.bytes);
        update.unwrap_or_else(|| array.bytes())
    }
}

/// Bytes of an operand that an instruction reads.
fn read_by(user: &Instruction<'_>, operand: &str, whole: u64) -> u64 {
    let is_first = user.operand_names().next() == Some(operand);
    match user.opcode {
        "slice" | "dynamic-slice" if is_first => shape::bytes(user.shape).min(whole),
        "dynamic-update-slice" if is_first => 0,
        "tuple" | "get-tuple-element" => 0,
        _ => whole,
    }
}

fn add(out: &mut Vec<MemoryAccess>, space: u32, access: Access, bytes: u64) {
    let space = match space {
        HBM => MemorySpace::Hbm,
        VMEM => MemorySpace::Vmem,
        // Flags and scalars.
        _ => return,
    };
    match out
        .iter_mut()
        .find(|known| known.space == space && known.access == access)
    {
        Some(known) => known.bytes = known.bytes.saturating_add(bytes),
        None if bytes > 0 => out.push(MemoryAccess {
            space,
            access,
            bytes,
        }),
        None => {}
    }
}

fn elements(shape: &str) -> u64 {
    ShapeSize::of(shape).elements
}

/// Elementwise opcodes that XLA's cost analysis counts as one operation per element.
fn is_arithmetic(opcode: &str) -> bool {
    matches!(
        opcode,
        "abs"
            | "add"
            | "and"
            | "ceil"
            | "clamp"
            | "clz"
            | "compare"
            | "convert"
            | "divide"
            | "floor"
            | "maximum"
            | "minimum"
            | "multiply"
            | "negate"
            | "not"
            | "or"
            | "popcnt"
            | "remainder"
            | "round-nearest-afz"
            | "round-nearest-even"
            | "select"
            | "shift-left"
            | "shift-right-arithmetic"
            | "shift-right-logical"
            | "sign"
            | "subtract"
            | "xor"
    )
}

fn operand_dims<'a>(
    computation: &ScheduledComputation<'a>,
    instruction: &Instruction<'a>,
    number: usize,
) -> Vec<u64> {
    let operand = instruction
        .operand_names()
        .nth(number)
        .and_then(|name| computation.find(name));
    operand
        .and_then(|operand| first_array(operand.shape))
        .map(|array| array.dims)
        .unwrap_or_default()
}

/// Two operations for each element of the result and each element that is summed over.
fn dot(computation: &ScheduledComputation<'_>, instruction: &Instruction<'_>) -> u64 {
    let dims = operand_dims(computation, instruction, 0);
    let contracting = instruction
        .attribute("lhs_contracting_dims")
        .unwrap_or_default();
    let numbers = contracting
        .trim_matches(['{', '}'])
        .split(',')
        .filter_map(|number| number.trim().parse().ok());
    let summed = numbers
        .filter_map(|number: usize| dims.get(number))
        .fold(1_u64, |all, &dim| all.saturating_mul(dim));
    elements(instruction.shape)
        .saturating_mul(summed)
        .saturating_mul(2)
}

/// One dimension of `{size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=2x2}`.
struct WindowDims {
    size: u64,
    stride: u64,
    pad: i64,
    base_dilation: u64,
    dilation: u64,
}

impl WindowDims {
    fn of(text: &str, number: usize, size: u64) -> Self {
        let pairs = || {
            text.trim_matches(['{', '}'])
                .split(' ')
                .filter_map(|pair| pair.split_once('='))
        };
        let value = |key| {
            pairs()
                .find(|(name, _)| *name == key)
                .and_then(|(_, values)| values.split('x').nth(number))
        };
        let or_one = |key| {
            value(key)
                .and_then(|value| value.parse().ok())
                .filter(|&n: &u64| n > 0)
                .unwrap_or(1)
        };
        let pad = value("pad")
            .and_then(|pad| pad.split('_').next()?.parse().ok())
            .unwrap_or(0);
        let (stride, base_dilation, dilation) =
            (or_one("stride"), or_one("lhs_dilate"), or_one("rhs_dilate"));
        Self {
            size,
            stride,
            pad,
            base_dilation,
            dilation,
        }
    }

    /// Number of pairs of an output position and a window position that fall on an input element. If counting exceeds
    /// the budget, returns the number of all pairs and `false`.
    fn positions(&self, input: u64, output: u64, budget: &mut u64) -> (u64, bool) {
        let all = self.size.saturating_mul(output);
        // For a window of size 0, counting would still loop over all outputs.
        if self.size == 0 || all > MAX_POSITIONS.min(*budget) {
            return (all, self.size == 0);
        }
        *budget -= all;
        let dilation = i128::from(self.base_dilation);
        let reach = (i128::from(input) - 1)
            .saturating_mul(dilation)
            .saturating_add(1);
        let meets = |at: u64, tap: u64| {
            let moved = i128::from(at).saturating_mul(i128::from(self.stride));
            let tapped = i128::from(tap).saturating_mul(i128::from(self.dilation));
            let place = moved
                .saturating_add(tapped)
                .saturating_sub(i128::from(self.pad));
            (0..reach).contains(&place) && place % dilation == 0
        };
        let taps = |at| (0..self.size).filter(move |&tap| meets(at, tap)).count() as u64;
        ((0..output).map(taps).sum(), true)
    }
}

#[cfg(test)]
mod tests;
