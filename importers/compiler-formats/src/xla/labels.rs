//! Labels and ops for the instructions of a program.

use hlo::{CostAnalysis, Instruction, InstructionId};
use importer_common::names::BoundedNames;
use importer_common::prelude::*;
use trace_model::{Access, MemoryAccess};

use super::program::ScheduledProgram;

/// Labels created so far, one per instruction.
pub(super) struct ScheduleLabels<'p, 'a> {
    program: &'p ScheduledProgram<'a>,
    id: ProgramId,
    costs: CostAnalysis<'a>,
    known: HashMap<InstructionId, LabelId>,
    /// Remaining bytes for strings.
    room: usize,
    /// Number of strings that did not fit.
    cut: u64,
}

/// Maximum length of the text of an op, and of its source lines.
const MAX_TEXT: usize = 1 << 16;
/// Every op may have at least this much text.
const MIN_TEXT: usize = 256;
/// Limit of all strings as a multiple of the program's size: strings repeat shapes of operands and file names of
/// frames.
const TEXTS_OF_PROGRAM: usize = 8;

impl<'p, 'a> ScheduleLabels<'p, 'a> {
    pub fn new(program: &'p ScheduledProgram<'a>, id: ProgramId) -> Self {
        let room = program
            .len
            .saturating_mul(TEXTS_OF_PROGRAM)
            .saturating_add(MAX_TEXT);
        Self {
            program,
            id,
            costs: CostAnalysis::new(program.module),
            known: HashMap::new(),
            room,
            cut: 0,
        }
    }

    /// The label of an instruction; `None` if the index is invalid.
    pub fn of(&mut self, out: &mut TraceBuilder, place: InstructionId) -> Option<LabelId> {
        if let Some(&known) = self.known.get(&place) {
            return Some(known);
        }
        let instruction = self.program.instruction(place)?;
        let op = self.op(out, place, instruction);
        let op = out.op(op);
        let label = out.label(&instruction.name, Some(op));
        self.known.insert(place, label);
        Some(label)
    }

    /// Logs truncated texts, approximated costs, and cyclic stacks.
    pub fn log(&self, out: &mut TraceBuilder) {
        let log = out.log_mut();
        let module = self.program.module;
        log.add_many(IssueKind::FrameRing, module.frame_rings, || {
            format!("stack frames of {}", module.name)
        });
        log.add_many(IssueKind::TextCut, self.cut, || {
            "op texts or source locations were truncated".to_owned()
        });
        log.add_many(IssueKind::CostRounded, self.costs.rounded(), || {
            "convolution windows are counted as if none crossed an edge".to_owned()
        });
    }

    /// Maximum length of the text of the next op.
    fn most(&self) -> usize {
        self.room.clamp(MIN_TEXT, MAX_TEXT)
    }

    /// Bytes of the transfer that an op awaits: what its start reads, and the result.
    fn transfer(&mut self, done: &Instruction) -> Vec<MemoryAccess> {
        let start = done.operands.first();
        let start = start.and_then(|&start| self.program.module.instruction(start));
        let mut moved = start.map_or_else(Vec::new, |start| self.costs.bytes(start));
        moved.retain(|access| access.access == Access::Read);
        let accesses = self.costs.bytes(done).into_iter();
        moved.extend(accesses.filter(|access| access.access == Access::Write));
        moved
    }

    fn op(&mut self, out: &mut TraceBuilder, id: InstructionId, instruction: &Instruction) -> Op {
        let mut lines = BoundedNames::new(self.most());
        for (index, frame) in self.program.module.stack(instruction).iter().enumerate() {
            let separator = if index > 0 { "\n" } else { "" };
            lines.push_all(&[separator, frame.file, ":", &frame.line.to_string()]);
        }
        self.cut += u64::from(lines.is_full());
        let lines = lines.finish();
        self.room = self.room.saturating_sub(lines.len());
        let text = self.program.profile_text(id, self.most());
        self.cut += u64::from(text.is_full());
        let text = text.finish();
        self.room = self.room.saturating_sub(text.len());
        // The work of these ops is in the computations that they call, that of kernels is what they declare.
        let is_opaque = match &*instruction.opcode {
            "while" | "call" | "conditional" => true,
            "custom-call" => instruction.attributes().declared_flops.is_none(),
            _ => false,
        };
        // The awaited op did the work, and its transfer is over when its end is awaited.
        let is_done = instruction.opcode.ends_with("-done");
        let is_start = instruction.opcode.ends_with("-start");
        let counts = !is_opaque && !is_done;
        let flops = self.costs.flops(instruction);
        let memory = if is_done {
            self.transfer(instruction)
        } else if counts && !is_start {
            self.costs.bytes(instruction)
        } else {
            Vec::new()
        };
        let bytes = memory
            .iter()
            .fold(0_u64, |sum, access| sum.saturating_add(access.bytes));
        // The compiler uses this category for its own fusions of products; for other fusions it follows from the text.
        let is_product =
            &*instruction.opcode == "fusion" && flops.is_some_and(|flops| flops.products > 0);
        let flops = flops.filter(|_| counts).map(|flops| flops.all);
        Op {
            name: out.intern(&instruction.name),
            program: Some(self.id),
            category: is_product.then(|| out.intern("convolution fusion")),
            hlo_text: Some(out.intern(&text)),
            flops,
            model_flops: flops,
            bytes_accessed: (is_done || counts && !is_start).then_some(bytes),
            memory,
            shape: Some(out.intern(self.program.line(id).shape)),
            framework_name: Some(&*instruction.op_name)
                .filter(|name| !name.is_empty())
                .map(|name| out.intern(name)),
            source: lines.lines().next().map(|line| out.intern(line)),
            source_stack: (!lines.is_empty()).then(|| out.intern(&lines)),
            ..Op::default()
        }
    }
}
