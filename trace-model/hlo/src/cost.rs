//! Operations and bytes of an instruction, counted from shapes.
//!
//! | quantity | counted as | source |
//! |---|---|---|
//! | operations of matrix products | two for each multiplication, see [`MatrixProduct`](crate::MatrixProduct) | `HloCostAnalysis` of XLA |
//! | operations of kernels | as declared (`cost_estimate`), otherwise unknown | the author of the kernel |
//! | other operations | one for each element of the result, of the operand for reductions; no transcendentals | `HloCostAnalysis`, which does not count the elements that reductions start with |
//! | bytes | each operand is read once and the result written once; of slices, gathers, scatters and updates, what they touch | shapes |

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use trace_model::{Access, MemoryAccess, MemorySpace};

use crate::{ComputationId, HBM, HloModule, Instruction, InstructionId, NoProduct, Shape, VMEM};

/// Deepest nesting of fusions that is followed.
const MAX_DEPTH: usize = 32;

/// Counts for one program; each computation is counted once.
#[derive(Debug)]
pub struct CostAnalysis<'m> {
    module: &'m HloModule,
    flops: HashMap<ComputationId, Option<InstructionFlops>>,
    reads: HashMap<ComputationId, ParameterReads>,
    rounded: u64,
}

/// Bytes that a computation reads from each of its parameters, by number.
type ParameterReads = Rc<HashMap<usize, u64>>;

/// Operations of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionFlops {
    /// All operations, without transcendentals.
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

impl<'m> CostAnalysis<'m> {
    /// Counts nothing yet.
    pub fn new(module: &'m HloModule) -> Self {
        Self {
            module,
            flops: HashMap::new(),
            reads: HashMap::new(),
            rounded: 0,
        }
    }

    /// Operations of one execution; those of a loop are in its body, those of a kernel as its author declares them. `None`
    /// if a matrix product in it cannot be counted, or a kernel declares none.
    pub fn flops(&mut self, instruction: &Instruction) -> Option<InstructionFlops> {
        self.flops_at(instruction, 0)
    }

    /// Number of convolutions that were counted as if no window crossed an edge.
    pub fn rounded(&self) -> u64 {
        self.rounded
    }

    fn flops_at(&mut self, instruction: &Instruction, depth: usize) -> Option<InstructionFlops> {
        Some(match &*instruction.opcode {
            "fusion" => match fused(instruction) {
                Some(body) => self.flops_of(body, depth + 1)?,
                None => InstructionFlops::default(),
            },
            "convolution" | "dot" | "ragged-dot" => {
                InstructionFlops::product(self.product_flops(instruction)?)
            }
            "all-reduce" | "all-reduce-start" | "reduce-scatter" | "reduce" => {
                let operand = self.module.operands(instruction).next();
                InstructionFlops::elements(operand.map_or(0, elements))
            }
            // Scalars belong to the scalar unit and do not count.
            opcode if is_arithmetic(opcode) => InstructionFlops::elements(
                Some(elements(instruction))
                    .filter(|&all| all > 1)
                    .unwrap_or(0),
            ),
            "custom-call" if instruction.is_kernel() => {
                InstructionFlops::elements(instruction.attributes().declared_flops?)
            }
            _ => InstructionFlops::default(),
        })
    }

    fn product_flops(&mut self, instruction: &Instruction) -> Option<u64> {
        match self.module.product(instruction) {
            Ok(product) => product.flops(),
            Err(NoProduct::TooLarge) => {
                self.rounded += 1;
                let kernel = self.module.operands(instruction).nth(1)?;
                let features = instruction.attributes().convolution.as_ref()?;
                let features = usize::try_from(features.kernel_output_feature).ok()?;
                let features = *kernel.arrays().first()?.dims.get(features)?;
                // Each element of the result sums over the kernel of its feature.
                let summed = elements(kernel).checked_div(features)?;
                elements(instruction).checked_mul(summed)?.checked_mul(2)
            }
            Err(_) => None,
        }
    }

    fn flops_of(&mut self, body: ComputationId, depth: usize) -> Option<InstructionFlops> {
        if let Some(&known) = self.flops.get(&body) {
            return known;
        }
        if depth >= MAX_DEPTH {
            return None;
        }
        let all = self.module.instructions_of(body).iter();
        let sum = all
            .map(|inner| self.flops_at(inner, depth))
            .try_fold(InstructionFlops::default(), |sum, flops| {
                Some(sum.plus(flops?))
            });
        self.flops.insert(body, sum);
        sum
    }

    /// Bytes accessed per execution: each operand once and the result once. Of an operand that is only sliced, only the
    /// slices count, and of a result that is updated in place, only the update.
    pub fn bytes(&mut self, instruction: &Instruction) -> Vec<MemoryAccess> {
        let mut out = Vec::new();
        let body = fused(instruction);
        let reads = body.map(|body| self.reads_of(body, 0));
        let mut seen = HashSet::new();
        for (number, &id) in instruction.operands.iter().enumerate() {
            let Some(operand) = self.module.instruction(id).filter(|_| seen.insert(id)) else {
                continue;
            };
            let whole = operand.bytes();
            let read = match &reads {
                Some(reads) => reads.get(&number).copied().unwrap_or(whole).min(whole),
                None => self.read_by(instruction, number, whole),
            };
            if let Some(array) = operand.arrays().first() {
                add(&mut out, array.memory_space, Access::Read, read);
            }
        }
        let updates = self.module.updates_in_place(instruction);
        for (part, array) in instruction.arrays().into_iter().enumerate() {
            let update = updates.iter().find(|it| it.part == part);
            let written = update.map_or_else(|| array.bytes().unwrap_or(0), |it| it.bytes);
            add(&mut out, array.memory_space, Access::Write, written);
        }
        out
    }

    /// Bytes that a program reads from each of its parameters that is an array, by number. Of those that are handed on to
    /// loops, all count.
    pub fn parameter_reads(&mut self) -> BTreeMap<u64, u64> {
        let Some(entry) = self.module.entry else {
            return BTreeMap::new();
        };
        let reads = self.reads_of(entry, 0);
        let parameters = self.module.instructions_of(entry).iter().filter_map(|it| {
            let is_array = matches!(it.shape.as_deref(), Some(Shape::Array(_)));
            let is_parameter = &*it.opcode == "parameter" && is_array;
            let number = it.parameter_number.filter(|_| is_parameter)?;
            let read = reads.get(&(number as usize)).copied().unwrap_or_default();
            Some((u64::from(number), read))
        });
        parameters.collect()
    }

    /// Bytes that a computation reads from each of its parameters, by number.
    fn reads_of(&mut self, body: ComputationId, depth: usize) -> ParameterReads {
        if let Some(known) = self.reads.get(&body) {
            return Rc::clone(known);
        }
        if depth >= MAX_DEPTH {
            return Rc::default();
        }
        let module = self.module;
        let root = module.computation(body).and_then(|body| body.root);
        let mut reads: HashMap<usize, u64> = HashMap::new();
        // Values that are parameters or only reinterpret one, with the number and size of the parameter.
        let mut values: HashMap<InstructionId, (usize, u64)> = HashMap::new();
        for (id, user) in module.iter_of(body) {
            if &*user.opcode == "parameter" {
                let number = user.parameter_number.unwrap_or(0) as usize;
                values.insert(id, (number, user.bytes()));
                reads.insert(number, 0);
                continue;
            }
            let inner = fused(user);
            let is_view = module.is_view(user);
            for (index, &operand) in user.operands.iter().enumerate() {
                let Some(&(number, whole)) = values.get(&operand) else {
                    continue;
                };
                let read = match inner {
                    _ if is_view => {
                        values.insert(id, (number, whole));
                        continue;
                    }
                    Some(inner) => self
                        .reads_of(inner, depth + 1)
                        .get(&index)
                        .copied()
                        .unwrap_or(whole),
                    // What is handed on to a loop or a call, and is no result.
                    None if &*user.opcode == "tuple" && Some(id) != root => whole,
                    None => self.read_by(user, index, whole),
                };
                let sum = reads.entry(number).or_default();
                // Bytes that two instructions read count once.
                *sum = sum.saturating_add(read).min(whole);
            }
        }
        let reads = Rc::new(reads);
        self.reads.insert(body, Rc::clone(&reads));
        reads
    }

    /// Bytes of an operand that an instruction reads.
    fn read_by(&self, user: &Instruction, operand: usize, whole: u64) -> u64 {
        match &*user.opcode {
            "slice" | "dynamic-slice" | "gather" if operand == 0 => user.bytes().min(whole),
            "dynamic-update-slice" if operand == 0 => 0,
            // What is there is combined with the updates.
            "scatter" => {
                let update = self.module.update_of(user, operand);
                update.map_or(whole, |it| it.bytes().min(whole))
            }
            "tuple" | "get-tuple-element" => 0,
            _ => whole,
        }
    }
}

/// The computation that a fusion runs.
fn fused(instruction: &Instruction) -> Option<ComputationId> {
    let is_fusion = &*instruction.opcode == "fusion";
    instruction.called.first().copied().filter(|_| is_fusion)
}

fn add(out: &mut Vec<MemoryAccess>, space: u64, access: Access, bytes: u64) {
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

fn elements(instruction: &Instruction) -> u64 {
    instruction
        .arrays()
        .iter()
        .map(|array| array.elements().unwrap_or(u64::MAX))
        .fold(0, u64::saturating_add)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextProgram;

    fn flops(line: &str, operands: [&str; 2]) -> Option<InstructionFlops> {
        let text = format!(
            "HloModule m\n\nENTRY %main (a: f32[1], b: f32[1]) -> f32[1] {{\n  %a = {} parameter(0)\n  %b = {} \
             parameter(1)\n  ROOT %r = {line}\n}}\n",
            operands[0], operands[1]
        );
        let module = TextProgram::read(&text).unwrap().module;
        CostAnalysis::new(&module).flops(module.instructions.last().unwrap())
    }

    #[test]
    fn counts_flops_of_every_matmul_form() {
        let two = |flops: u64| Some(InstructionFlops::product(2 * flops));
        let dot = "f32[8,16]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
        assert_eq!(flops(dot, ["bf16[8,4]", "bf16[4,16]"]), two(8 * 4 * 16));
        let plain = "f32[8,16] convolution(%a, %b), dim_labels=bf_io->bf";
        assert_eq!(flops(plain, ["bf16[8,4]", "bf16[4,16]"]), two(8 * 4 * 16));
        // A batch dimension that is written as a dilated window.
        let batched = "f32[6,8,16] convolution(%a, %b), window={size=6 stride=5 lhs_dilate=6}, dim_labels=0bf_0io->0bf";
        assert_eq!(
            flops(batched, ["bf16[6,8,4]", "bf16[6,4,16]"]),
            two(6 * 8 * 4 * 16)
        );
        let slides = "bf16[2,8,8,16] convolution(%a, %b), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f";
        assert_eq!(
            flops(slides, ["bf16[2,8,8,4]", "bf16[3,3,4,16]"]),
            two(2 * 22 * 22 * 4 * 16)
        );
        // A window of size 0 has no place to count, however long the result.
        let empty =
            "f32[1,4294967295,1] convolution(%a, %b), window={size=0}, dim_labels=b0f_i0o->b0f";
        assert_eq!(flops(empty, ["f32[1,1,1]", "f32[1,0,1]"]), two(0));
        let huge = "f32[9999999999,9999999999] convolution(%a, %b), dim_labels=bf_io->bf";
        assert_eq!(
            flops(huge, ["bf16[9999999999,4]", "bf16[4,9999999999]"]),
            None
        );
        assert_eq!(
            flops("f32[8,4] add(%a, %b)", ["f32[8,4]", "f32[8,4]"]),
            Some(InstructionFlops::elements(32))
        );
        assert_eq!(
            flops("f32[8,4] tanh(%a)", ["f32[8,4]", "f32[8,4]"]),
            Some(InstructionFlops::default())
        );
        assert_eq!(
            flops("f32[8,4] convolution(%c)", ["f32[8,4]", "f32[8,4]"]),
            None
        );
    }

    /// Windows that are too long to be counted are assumed to be inside their operand.
    #[test]
    fn flops_of_huge_windows_are_rounded() {
        let text = "HloModule m\n\nENTRY %main (a: f32[1], b: f32[1]) -> f32[1] {\n  \
            %a = f32[2,9000,3] parameter(0)\n  %b = f32[9000,3,5] parameter(1)\n  \
            ROOT %r = f32[2,9000,5] convolution(%a, %b), window={size=9000 pad=4500_4499}, \
            dim_labels=b0f_0io->b0f\n}\n";
        let module = TextProgram::read(text).unwrap().module;
        let mut costs = CostAnalysis::new(&module);
        let flops = costs.flops(module.instructions.last().unwrap()).unwrap();
        assert_eq!(flops.all, 2 * (2 * 9000 * 5) * (9000 * 3));
        assert_eq!(costs.rounded(), 1);
    }

    #[test]
    fn sliced_operand_counts_only_the_slice() {
        let text = "HloModule m\n\n%view (v: bf16[64,64]) -> bf16[64,64] {\n  %v = bf16[64,64]{1,0} parameter(0)\n  \
            ROOT %bc = bf16[64,64]{1,0} bitcast(%v)\n}\n\n%f (p: bf16[64,64], i: s32[]) -> bf16[8,64] {\n  \
            %p = bf16[64,64]{1,0} parameter(0)\n  %w = bf16[64,64]{1,0} fusion(%p), kind=kLoop, calls=%view\n  \
            %i = s32[] parameter(1)\n  ROOT %ds = bf16[8,64]{1,0} dynamic-slice(%w, %i, %i), \
            dynamic_slice_sizes={8,64}\n}\n\nENTRY %main (w: bf16[64,64], i: s32[]) -> bf16[8,64] {\n  \
            %w.1 = bf16[64,64]{1,0} parameter(0)\n  %i.1 = s32[]{:S(6)} parameter(1)\n  \
            ROOT %fu = bf16[8,64]{1,0:S(1)} fusion(%w.1, %i.1), kind=kLoop, calls=%f\n}\n";
        let module = TextProgram::read(text).unwrap().module;
        let access = |space, access| MemoryAccess {
            space,
            access,
            bytes: 1024,
        };
        let expected = [
            access(MemorySpace::Hbm, Access::Read),
            access(MemorySpace::Vmem, Access::Write),
        ];
        assert_eq!(
            CostAnalysis::new(&module).bytes(module.instructions.last().unwrap()),
            expected
        );
    }
}
