//! Labels and ops for the instructions of a program.

use hashbrown::HashMap;
use importer_common::names::BoundedNames;
use trace_model::{IssueKind, LabelId, Op, ProgramId, TraceBuilder};

use super::cost::CostAnalysis;
use super::hlo::{Instruction, ScheduledComputation, ScheduledProgram, profile_text};
use super::simulate::InstructionIndex;

/// Labels created so far, one per instruction.
pub(super) struct ScheduleLabels<'p, 'a> {
    program: &'p ScheduledProgram<'a>,
    id: ProgramId,
    costs: CostAnalysis<'p, 'a>,
    known: HashMap<InstructionIndex, LabelId>,
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
    pub(crate) fn new(program: &'p ScheduledProgram<'a>, id: ProgramId) -> Self {
        let room = program
            .len
            .saturating_mul(TEXTS_OF_PROGRAM)
            .saturating_add(MAX_TEXT);
        Self {
            program,
            id,
            costs: CostAnalysis::new(program),
            known: HashMap::new(),
            room,
            cut: 0,
        }
    }

    /// The label of an instruction; `None` if the index is invalid.
    pub(crate) fn of(
        &mut self,
        out: &mut TraceBuilder,
        place: InstructionIndex,
    ) -> Option<LabelId> {
        if let Some(&known) = self.known.get(&place) {
            return Some(known);
        }
        let program = self.program;
        let computation = program.computation(place.0)?;
        let instruction = computation.instructions.get(place.1)?;
        let op = self.op(out, computation, instruction);
        let op = out.op(op);
        let label = out.label(instruction.name, Some(op));
        self.known.insert(place, label);
        Some(label)
    }

    /// Logs truncated texts, approximated costs, and cyclic stacks.
    pub(crate) fn log(&self, out: &mut TraceBuilder) {
        let log = out.log_mut();
        let rings = self.program.frame_rings();
        log.add_many(IssueKind::FrameRing, rings, || {
            format!("stack frames of {}", self.program.name)
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

    fn op(
        &mut self,
        out: &mut TraceBuilder,
        computation: &ScheduledComputation<'a>,
        instruction: &Instruction<'a>,
    ) -> Op {
        let stack = self.program.stack(instruction);
        let mut lines = BoundedNames::new(self.most());
        for (at, (file, line)) in stack.iter().enumerate() {
            lines.push_all(&[if at > 0 { "\n" } else { "" }, file, ":", &line.to_string()]);
        }
        self.cut += u64::from(lines.is_full());
        let lines = lines.finish();
        self.room = self.room.saturating_sub(lines.len());
        let text = profile_text(instruction, computation, self.most());
        self.cut += u64::from(text.is_full());
        let text = text.finish();
        self.room = self.room.saturating_sub(text.len());
        // The work of these ops is in the computations that they call.
        let is_opaque = matches!(
            instruction.opcode,
            "while" | "call" | "conditional" | "custom-call"
        );
        // The awaited op did the work.
        let is_done = instruction.opcode.ends_with("-done");
        let counts = !is_opaque && !is_done;
        let flops = self.costs.flops(computation, instruction);
        let memory = if counts {
            self.costs.bytes(computation, instruction)
        } else {
            Vec::new()
        };
        let bytes = memory
            .iter()
            .fold(0_u64, |sum, access| sum.saturating_add(access.bytes));
        // The compiler uses this category for its own fusions of products; for other fusions it follows from the text.
        let is_product = instruction.opcode == "fusion" && flops.products > 0;
        Op {
            name: out.intern(instruction.name),
            program: Some(self.id),
            category: is_product.then(|| out.intern("convolution fusion")),
            hlo_text: Some(out.intern(&text)),
            flops: counts.then_some(flops.all),
            model_flops: counts.then_some(flops.all),
            bytes_accessed: counts.then_some(bytes),
            memory,
            shape: Some(out.intern(instruction.shape)),
            framework_name: instruction
                .metadata("op_name")
                .map(|name| out.intern(&name)),
            source: lines.lines().next().map(|line| out.intern(line)),
            source_stack: (!lines.is_empty()).then(|| out.intern(&lines)),
            ..Op::default()
        }
    }
}
