//! Builds a module from the text of a whole program: `HloModule …`, source tables, computations.

use std::borrow::Cow;
use std::collections::HashMap;

use trace_model::ProgramBytes;

use super::{header, instruction};
use crate::index::HloIndex;
use crate::instruction::{ComputationId, InstructionId};
use crate::module::{DeviceAssignment, HloModule, HloOrigin};
use crate::syntax::{
    HloText, Statement, Statements, attribute, computation_head, is_inline, split_commas,
};
use crate::{HloError, Instruction};

/// The text that every HLO module starts with.
pub const BEGIN: &str = "HloModule ";

/// A program as text.
#[derive(Debug, Default)]
pub struct TextProgram<'a> {
    /// The program.
    pub module: HloModule,
    /// The line of each of its instructions.
    pub lines: Vec<HloText<'a>>,
    /// The first line.
    header: &'a str,
    /// The computation in which the text ends.
    pub cut_in: Option<&'a str>,
    /// Number and text of lines that should be instructions but are not.
    pub broken: Vec<(usize, &'a str)>,
    computations: HashMap<Cow<'a, str>, ComputationId>,
}

/// A computation whose end is not read yet. Its instructions refer to each other by their position in it.
struct OpenComputation<'a> {
    name: Cow<'a, str>,
    is_entry: bool,
    positions: HashMap<&'a str, InstructionId>,
    instructions: Vec<Instruction>,
    lines: Vec<HloText<'a>>,
}

/// Deepest nesting of computations that are written where they are called.
const MAX_DEPTH: usize = 32;

impl<'a> TextProgram<'a> {
    /// Reads a text; `None` if it is not a program. An operand that comes after its user and a computation that comes
    /// after its caller are left out: programs are acyclic, and so is what is returned. If the text ends too early,
    /// the part that is there is returned.
    pub fn read(text: &'a str) -> Option<Self> {
        let mut statements = Statements::of(text);
        let header = statements.next()?.text.strip_prefix(BEGIN)?;
        let mut read = Self {
            header,
            ..Self::default()
        };
        read.module.origin = HloOrigin::Proto;
        split_commas(header)
            .next()?
            .clone_into(&mut read.module.name);
        read.module.devices = read.device_counts();
        read.module.is_in_order = read.is_scheduled();
        read.module.aliases = header::aliases(header);
        read.module.donors = header::donors(header);
        let (mut table, mut open) = ("", None);
        for statement in statements {
            let text = statement.text;
            if text.starts_with('}') {
                read.close(open.take());
            } else if let Some(open) = &mut open {
                read.add(open, statement, 0);
            } else if let Some((name, is_entry)) = computation_head(text) {
                open = Some(OpenComputation::new(Cow::Borrowed(name), is_entry));
                read.cut_in = Some(name);
            } else if text.starts_with(|c: char| c.is_ascii_digit()) {
                read.module.frames.add_row(table, text);
            } else {
                table = text;
            }
        }
        read.cut_in = read.cut_in.filter(|_| open.is_some());
        read.close(open);
        let module = &mut read.module;
        header::meshes(header).for_each(|text| module.axis_names.add_shardy(&text));
        module.name_axes();
        module.frames.count_callers_from_zero();
        module.frame_rings = module.frames.cut_rings();
        module.index = HloIndex::new(&module.instructions, Vec::new());
        module.cut = match (read.cut_in, module.entry) {
            (Some(computation), _) => Some(format!("inside computation {computation}")),
            (None, None) => Some("before the ENTRY computation".to_owned()),
            (None, Some(_)) => None,
        };
        Some(read)
    }

    /// Whether the instructions are in the order of execution.
    pub fn is_scheduled(&self) -> bool {
        attribute(self.header, "is_scheduled") == Some("true")
    }

    fn device_counts(&self) -> Option<DeviceAssignment> {
        let count = |key| attribute(self.header, key).and_then(|count| count.parse().ok());
        let (replicas, partitions) = (count("replica_count"), count("num_partitions"));
        (replicas.is_some() || partitions.is_some()).then(|| DeviceAssignment {
            replicas: replicas.unwrap_or(1),
            partitions: partitions.unwrap_or(1),
            devices: Vec::new(),
        })
    }

    /// Adds a statement of a computation.
    fn add(&mut self, open: &mut OpenComputation<'a>, statement: Statement<'a>, depth: usize) {
        let Statement {
            line,
            text,
            is_last,
        } = statement;
        let Some(hlo) = HloText::parse(text).filter(|hlo| !hlo.is_cut) else {
            if !is_last {
                self.broken.push((line, text));
            }
            return;
        };
        let mut called: Vec<ComputationId> = Vec::new();
        for (key, value) in hlo.called() {
            called.extend(if is_inline(value) {
                let position = text.find(value).unwrap_or(0);
                let lines = text
                    .get(..position)
                    .map_or(0, |before| before.matches('\n').count());
                let name = Cow::Owned(format!("{}.{key}", hlo.name));
                self.add_inline(name, value, line + lines, depth + 1)
            } else {
                self.computations.get(value).copied()
            });
        }
        for callee in called.iter().filter(|_| hlo.opcode == "fusion") {
            if let Some(callee) = self.module.computations.get_mut(callee.index()) {
                callee.is_fusion = true;
            }
        }
        let operands = hlo.operand_names();
        let operands = operands.filter_map(|name| open.positions.get(name).copied());
        let read = Instruction {
            operands: operands.collect(),
            called,
            ..instruction(&hlo)
        };
        let position = InstructionId(open.instructions.len() as u32);
        open.positions.insert(hlo.name, position);
        open.instructions.push(read);
        open.lines.push(hlo);
    }

    /// Adds a computation that is written, in braces, where it is called.
    fn add_inline(
        &mut self,
        name: Cow<'a, str>,
        text: &'a str,
        first_line: usize,
        depth: usize,
    ) -> Option<ComputationId> {
        let body = text.strip_prefix('{')?.strip_suffix('}')?;
        if depth > MAX_DEPTH {
            return None;
        }
        let mut open = OpenComputation::new(name, false);
        for mut statement in Statements::of(body) {
            statement.line += first_line - 1;
            self.add(&mut open, statement, depth);
        }
        self.close(Some(open))
    }

    fn close(&mut self, open: Option<OpenComputation<'a>>) -> Option<ComputationId> {
        let open = open?;
        let root = open.lines.iter().rposition(|line| line.is_root);
        // As in the compiler's own reader, the last one if none is marked.
        let root = root.or_else(|| open.lines.len().checked_sub(1));
        self.lines.extend(open.lines);
        let name = open.name.to_string();
        let id = self.module.add_computation(name, open.instructions, root);
        if open.is_entry {
            self.module.entry = Some(id);
        }
        self.computations.insert(open.name, id);
        Some(id)
    }
}

impl<'a> OpenComputation<'a> {
    fn new(name: Cow<'a, str>, is_entry: bool) -> Self {
        Self {
            name,
            is_entry,
            positions: HashMap::new(),
            instructions: Vec::new(),
            lines: Vec::new(),
        }
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
        module.ok_or_else(|| HloError::empty(program, "HLO text", &text))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Computations that the compiler prints where they are called, one of them inside another.
    #[test]
    fn computations_may_be_written_where_they_are_called() {
        let text = "HloModule m\n\nENTRY %main (a: bf16[8,4], b: bf16[4,16]) -> f32[8,16] {\n  \
            %a = bf16[8,4]{1,0} parameter(0)\n  %b = bf16[4,16]{1,0} parameter(1)\n  \
            %f = f32[8,16]{1,0} fusion(%a, %b), kind=kOutput, calls=\n  {\n    \
            %x = bf16[8,4]{1,0} parameter(0)\n    %y = bf16[4,16]{1,0} parameter(1)\n    \
            not an instruction\n    ROOT %inner = f32[8,16]{1,0} fusion(%x, %y), kind=kLoop, calls=\n    {\n      \
            %l = bf16[8,4]{1,0} parameter(0)\n      %r = bf16[4,16]{1,0} parameter(1)\n      \
            ROOT %d = f32[8,16]{1,0} dot(%l, %r), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n    }\n  \
            }, metadata={op_name=\"f\"}\n  ROOT %w = f32[8,16]{1,0} while(%f), condition=\n  {\n    \
            %c = f32[8,16]{1,0} parameter(0)\n    ROOT %p = pred[] constant(false)\n  }, body=\n  {\n    \
            ROOT %s = f32[8,16]{1,0} parameter(0)\n  }\n}\n";
        let read = TextProgram::read(text).unwrap();
        assert_eq!(read.broken, [(10, "not an instruction")]);
        let module = read.module;
        let names: Vec<&str> = module
            .computations
            .iter()
            .map(|it| it.name.as_str())
            .collect();
        assert_eq!(
            names,
            ["inner.calls", "f.calls", "w.body", "w.condition", "main"]
        );
        let of = |name: &str| module.instruction(module.find(name).unwrap()).unwrap();
        assert_eq!(&*of("f").op_name, "f");
        let products = module.products(of("f")).unwrap();
        assert_eq!(
            products
                .iter()
                .map(|it| (it.m, it.k, it.n))
                .collect::<Vec<_>>(),
            [(8, 4, 16)]
        );
        let (body, condition) = module.loop_body(of("w")).unwrap();
        let roots = [body, condition].map(|id| &*module.root(id).unwrap().name);
        assert_eq!(roots, ["s", "p"]);
        assert_eq!(
            module.root(module.entry.unwrap()).unwrap().name,
            of("w").name
        );
        for cut in 0..text.len() {
            let _ = TextProgram::read(&text[..cut]);
        }
    }

    const TEXT: &str = r#"HloModule jit_f, is_scheduled=true, num_partitions=4

FileNames
1 "tr\"ain.py"

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
        assert_eq!(module.source(fusion).as_deref(), Some("tr\"ain.py:7"));
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
