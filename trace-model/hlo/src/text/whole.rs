//! Builds a module from the text of a whole program: `HloModule …`, source tables, computations.

use std::collections::HashMap;

use crate::syntax::{BEGIN, HloText, ProgramPart, ProgramText};
use trace_model::ProgramBytes;

use super::instruction;
use crate::index::HloIndex;
use crate::instruction::{ComputationId, InstructionId};
use crate::module::{Computation, DeviceAssignment, HloModule, HloOrigin};
use crate::{HloError, Instruction};

/// A program as text.
#[derive(Debug, Default)]
pub struct TextProgram<'a> {
    /// The program.
    pub module: HloModule,
    /// The line of each of its instructions.
    pub lines: Vec<HloText<'a>>,
    /// What is outside the computations, except for the stack frames.
    pub text: ProgramText<'a>,
    /// Number and text of lines that should be instructions but are not.
    pub broken: Vec<(usize, &'a str)>,
}

/// The current computation, and its instructions by name.
struct OpenComputation<'a> {
    computation: Computation,
    is_entry: bool,
    local: HashMap<&'a str, InstructionId>,
}

#[derive(Default)]
struct TextReader<'a> {
    read: TextProgram<'a>,
    computations: HashMap<&'a str, ComputationId>,
    open: Option<OpenComputation<'a>>,
}

impl<'a> TextProgram<'a> {
    /// Reads a text; `None` if it is not a program. An operand that comes after its user and a computation that comes
    /// after its caller are left out: programs are acyclic, and so is what is returned. If the text ends too early,
    /// the part that is there is returned.
    pub fn read(text: &'a str) -> Option<Self> {
        let mut reader = TextReader::default();
        let mut text = ProgramText::read(text, |part| reader.part(part))?;
        let mut read = reader.read;
        let module = &mut read.module;
        module.origin = HloOrigin::Proto;
        text.name.clone_into(&mut module.name);
        let count = |key| text.attribute(key).and_then(|count| count.parse().ok());
        let (replicas, partitions) = (count("replica_count"), count("num_partitions"));
        if replicas.is_some() || partitions.is_some() {
            let (replicas, partitions) = (replicas.unwrap_or(1), partitions.unwrap_or(1));
            module.devices = Some(DeviceAssignment {
                replicas,
                partitions,
                devices: Vec::new(),
            });
        }
        module.frames = std::mem::take(&mut text.frames);
        module.frame_rings = module.frames.cut_rings();
        module.index = HloIndex::new(&module.instructions, Vec::new());
        module.cut = match (text.cut_in, module.entry) {
            (Some(computation), _) => Some(format!("inside computation {computation}")),
            (None, None) => Some("before the ENTRY computation".to_owned()),
            (None, Some(_)) => None,
        };
        read.text = text;
        Some(read)
    }
}

impl HloModule {
    /// Whether a program is stored as text.
    pub(crate) fn is_text(blob: &ProgramBytes) -> bool {
        blob.bytes().starts_with(BEGIN.as_bytes())
    }

    /// Parses the text of a program (see [`TextProgram::read`]). `program` is its name for the error.
    pub(crate) fn from_whole_text(blob: &ProgramBytes, program: &str) -> Result<Self, HloError> {
        let text = String::from_utf8_lossy(blob.bytes());
        let module = TextProgram::read(&text).map(|read| read.module);
        let module = module.filter(|module| !module.instructions.is_empty());
        module.ok_or_else(|| HloError::Damaged {
            program: program.to_owned(),
            why: "there is no instruction",
            message: "HLO text",
            at: text.len(),
            len: text.len(),
        })
    }
}

impl<'a> TextReader<'a> {
    fn part(&mut self, part: ProgramPart<'a>) {
        match part {
            ProgramPart::Begin { name, is_entry } => self.begin(name, is_entry),
            ProgramPart::Instruction(hlo) => self.instruction(&hlo),
            ProgramPart::Broken { line, text } => self.read.broken.push((line, text)),
            ProgramPart::End => self.close(),
        }
    }

    fn begin(&mut self, name: &'a str, is_entry: bool) {
        let id = ComputationId(self.read.module.computations.len() as u32);
        let first = self.read.module.instructions.len();
        let computation = Computation {
            name: name.to_owned(),
            instructions: first..first,
            ..Computation::default()
        };
        self.computations.insert(name, id);
        self.read.module.computations.push(Computation::default());
        self.open = Some(OpenComputation {
            computation,
            is_entry,
            local: HashMap::new(),
        });
    }

    fn instruction(&mut self, hlo: &HloText<'a>) {
        let Some(open) = &mut self.open else { return };
        let parent = (self.read.module.computations.len() as u32).saturating_sub(1);
        let id = InstructionId(self.read.module.instructions.len() as u32);
        let operands = hlo
            .operand_names()
            .filter_map(|name| open.local.get(name).copied())
            .collect();
        let called: Vec<ComputationId> = hlo
            .called()
            .filter_map(|name| self.computations.get(name).copied())
            .filter(|id| id.index() < parent as usize)
            .collect();
        for callee in called.iter().filter(|_| hlo.opcode == "fusion") {
            if let Some(callee) = self.read.module.computations.get_mut(callee.index()) {
                callee.is_fusion = true;
            }
        }
        let read = Instruction {
            computation: ComputationId(parent),
            operands,
            called,
            ..instruction(hlo)
        };
        open.local.insert(hlo.name, id);
        if hlo.is_root {
            open.computation.root = Some(id);
        }
        self.read.module.instructions.push(read);
        self.read.lines.push(*hlo);
    }

    fn close(&mut self) {
        let Some(OpenComputation {
            mut computation,
            is_entry,
            ..
        }) = self.open.take()
        else {
            return;
        };
        let all = &mut computation.instructions;
        all.end = self.read.module.instructions.len();
        // As in the compiler's own reader.
        let last = all.end.checked_sub(1).filter(|last| all.contains(last));
        let last = last.map(|last| InstructionId(last as u32));
        computation.root = computation.root.or(last);
        let index = self.read.module.computations.len().saturating_sub(1);
        if is_entry {
            self.read.module.entry = Some(ComputationId(index as u32));
        }
        if let Some(slot) = self.read.module.computations.get_mut(index) {
            *slot = computation;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const TEXT: &str = r#"HloModule jit_f, is_scheduled=true, num_partitions=4

FileNames
1 "train.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3}
2 {file_name_id=1 function_name_id=1 line=7 end_line=7}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

%fused (p.1: bf16[8,4], p.2: bf16[4,16]) -> f32[8,16] {
  %p.1 = bf16[8,4]{1,0} parameter(0)
  %p.2 = bf16[4,16]{1,0} parameter(1)
  ROOT %conv = f32[8,16]{1,0} convolution(%p.1, %p.2), dim_labels=bf_io->bf
}

ENTRY %main (a: bf16[8,4], b: bf16[4,16]) -> f32[8,16] {
  %a = bf16[8,4]{1,0} parameter(0)
  %b = bf16[4,16]{1,0} parameter(1)
  ROOT %fusion.1 = f32[8,16]{1,0:T(8,128)S(1)} fusion(%a, /*index=1*/%b), kind=kOutput, calls=%fused, metadata={op_name="jit(f)/dot" stack_frame_id=2}
}
"#;

    fn read(text: &str) -> Result<HloModule, HloError> {
        let blob = ProgramBytes::new(Arc::new(text.to_owned()), 0..text.len());
        assert!(HloModule::is_text(&blob));
        HloModule::from_whole_text(&blob, "jit_f")
    }

    #[test]
    fn fusion_shows_its_product_and_source() {
        let module = read(TEXT).unwrap();
        assert_eq!(
            (
                module.name.as_str(),
                module.origin,
                module.computations.len()
            ),
            ("jit_f", HloOrigin::Proto, 2)
        );
        let fusion = module
            .instruction(module.find("fusion.1").unwrap())
            .unwrap();
        let products = module.products(fusion).unwrap();
        assert_eq!(
            products
                .iter()
                .map(|it| (it.m, it.k, it.n))
                .collect::<Vec<_>>(),
            [(8, 4, 16)]
        );
        assert_eq!(module.source(fusion).as_deref(), Some("train.py:7"));
        let lines: Vec<u64> = module
            .stack(fusion)
            .iter()
            .map(|frame| frame.line)
            .collect();
        assert_eq!(lines, [7, 3]);
        assert_eq!(module.devices.as_ref().unwrap().partitions, 4);
        assert_eq!(
            module.root(module.entry.unwrap()).unwrap().name,
            fusion.name
        );
        assert!(module.computations[0].is_fusion);
        assert_eq!(module.parameters().len(), 2);
    }

    #[test]
    fn cycles_are_cut_and_truncated_text_is_damaged() {
        let ring = TEXT.replace(
            "convolution(%p.1, %p.2)",
            "fusion(%conv, %p.2), calls=%fused",
        );
        let module = read(&ring).unwrap();
        let inner = module.instruction(module.find("conv").unwrap()).unwrap();
        assert_eq!((inner.called.len(), inner.operands.len()), (0, 1));
        let cut = read(&TEXT[..TEXT.find("ROOT %conv").unwrap()]).unwrap();
        let names: Vec<&str> = cut.instructions.iter().map(|it| &*it.name).collect();
        assert_eq!(
            (names.as_slice(), cut.entry),
            (["p.1", "p.2"].as_slice(), None)
        );
        assert_eq!(cut.cut.as_deref(), Some("inside computation fused"));
        let ended = TEXT.find("ENTRY").unwrap();
        assert_eq!(
            read(&TEXT[..ended]).unwrap().cut.as_deref(),
            Some("before the ENTRY computation")
        );
        let error = read(&TEXT[..300]).unwrap_err().to_string();
        assert!(error.contains("there is no instruction"), "{error}");
        for cut in "HloModule ".len()..TEXT.len() {
            let _ = read(&TEXT[..cut]);
        }
    }
}
