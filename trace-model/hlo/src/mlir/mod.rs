//! Programs before compilation: `StableHLO` text, as `jax.jit(f).lower(…).as_text()` prints it.
//!
//! ```text
//! module @jit_f attributes {mhlo.num_partitions = 4 : i32} {
//!   func.func public @main(%arg0: tensor<8x16xf32>) -> tensor<8x4xf32> {
//!     %0 = stablehlo.dot_general %arg0, %cst, contracting_dims = [1] x [0] : (…) -> tensor<8x4xf32> loc(#loc3)
//!     return %0 : tensor<8x4xf32>
//! ```
//!
//! An op becomes an instruction with the opcode of HLO, and one of another dialect keeps its name. A region becomes a
//! computation, its arguments parameters. Ignored: types that are no tensors, and most attributes, of which only a digest
//! is kept. Functions are read where they are called, once; a function that calls itself is not followed.

mod locations;
mod ops;
mod scan;
mod types;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use crate::counter::CounterPart;
use crate::index::HloIndex;
use crate::instruction::{ComputationId, Instruction, InstructionId};
use crate::module::{BufferAlias, DeviceAssignment, HloModule};
use crate::{Attributes, HloError, HloOrigin, Shape};
use locations::Locations;
use ops::MlirOp;
use trace_model::ProgramBytes;

/// Deepest nesting of regions and calls that is followed.
const MAX_DEPTH: usize = 64;

/// Whether a text begins as a program in MLIR.
pub fn is_mlir(head: &[u8]) -> bool {
    let end = head.len().min(4096);
    let text = String::from_utf8_lossy(head.get(..end).unwrap_or(head));
    let text = text.trim_start();
    let starts = ["module ", "module{", "#loc", "func.func", "builtin.module"];
    let dialects = ["func.func", "stablehlo.", "mhlo.", "sdy."];
    starts.iter().any(|start| text.starts_with(start))
        && dialects.iter().any(|dialect| text.contains(dialect))
}

impl HloModule {
    /// Reads a program in MLIR.
    pub(crate) fn from_mlir(blob: &ProgramBytes, program: &str) -> Result<Self, HloError> {
        let text = String::from_utf8_lossy(blob.bytes());
        let module = read(&text);
        if module.instructions.is_empty() {
            return Err(HloError::empty(program, "StableHLO text", &text));
        }
        Ok(module)
    }
}

/// Name of the module of a text: `jit_f` of `module @jit_f attributes {…} {`.
pub fn mlir_name(text: &str) -> Option<&str> {
    let name = text.split("module @").nth(1)?;
    let end = name.find(|c: char| !(c.is_alphanumeric() || "_.$-".contains(c)));
    Some(name.get(..end.unwrap_or(name.len()))?).filter(|name| !name.is_empty())
}

fn read(text: &str) -> HloModule {
    let mut reader = MlirReader {
        module: HloModule {
            name: mlir_name(text).unwrap_or("module").to_owned(),
            is_stablehlo: true,
            origin: HloOrigin::Proto,
            ..HloModule::default()
        },
        functions: scan::functions(text),
        known: HashMap::new(),
        locations: Locations::of(text),
        numbers: HashMap::new(),
    };
    let devices = |key: &str| scan::number_after(text, key);
    if let Some(partitions) = devices("mhlo.num_partitions = ") {
        reader.module.devices = Some(DeviceAssignment {
            replicas: devices("mhlo.num_replicas = ").unwrap_or(1),
            partitions,
            devices: Vec::new(),
        });
    }
    let main = reader.functions.get("main").map(|_| "main");
    let main = main.or_else(|| scan::first_function(text));
    reader.module.entry = main.and_then(|main| reader.function(main, 0));
    if main.is_some_and(|main| reader.functions.get(main).is_some_and(|it| it.is_cut)) {
        reader.module.cut = Some("inside function main".to_owned());
    }
    let module = &mut reader.module;
    module.axis_names.add_shardy(text);
    module.name_axes();
    module.index = HloIndex::new(&module.instructions, Vec::new());
    reader.module
}

struct MlirReader<'a> {
    module: HloModule,
    functions: HashMap<&'a str, scan::Function<'a>>,
    /// Functions that were read, or are being read.
    known: HashMap<&'a str, Option<ComputationId>>,
    locations: Locations<'a>,
    /// Instructions with a name so far, to make names unique in the program.
    numbers: HashMap<String, usize>,
}

/// A computation that is being read.
#[derive(Default)]
struct OpenBlock<'a> {
    instructions: Vec<Instruction>,
    /// Values of this block: the instruction, by its position.
    values: HashMap<&'a str, usize>,
    root: Option<usize>,
}

impl<'a> MlirReader<'a> {
    fn function(&mut self, name: &'a str, depth: usize) -> Option<ComputationId> {
        if let Some(&known) = self.known.get(name) {
            return known;
        }
        self.known.insert(name, None);
        let function = *self.functions.get(name)?;
        let is_main = depth == 0;
        if is_main {
            self.donations(function.arguments);
        }
        let block = self.block(name, (function.arguments, None), function.body, depth)?;
        self.known.insert(name, Some(block));
        Some(block)
    }

    /// What the arguments of the program say of their memory.
    fn donations(&mut self, arguments: &'a str) {
        for (number, argument) in (0..).zip(scan::split(arguments)) {
            if let Some(output) = scan::number_after(argument, "tf.aliasing_output = ") {
                self.module.aliases.push(BufferAlias {
                    output_index: vec![output],
                    parameter: number,
                    ..BufferAlias::default()
                });
            }
            if argument.contains("jax.buffer_donor = true") {
                self.module.donors.push((number, Vec::new()));
            }
        }
    }

    /// Reads a block: its arguments are parameters, of `shapes` if they do not state theirs.
    fn block(
        &mut self,
        name: &str,
        (arguments, shapes): (&'a str, Option<&Shape<'static>>),
        body: &'a str,
        depth: usize,
    ) -> Option<ComputationId> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut open = OpenBlock::default();
        for (number, argument) in (0..).zip(scan::split(arguments)) {
            let (value, rest) = argument.split_once(':').unwrap_or((argument, ""));
            // The region of a loop names its arguments only.
            let value = value.split('=').next().unwrap_or(value).trim();
            let mut parameter = self.blank(value, "parameter");
            parameter.parameter_number = Some(number);
            let typed = shapes
                .and_then(|it| it.parts().get(number as usize))
                .cloned();
            parameter.shape = types::first(rest).or(typed).map(Arc::new);
            self.locate(&mut parameter, scan::location(rest));
            if let Some(sharding) = types::sharding(rest) {
                let mut hasher = DefaultHasher::new();
                sharding.hash(&mut hasher);
                parameter.content = hasher.finish();
                parameter.attributes = Some(Box::new(Attributes {
                    sharding: Some(sharding),
                    ..Attributes::default()
                }));
            }
            open.values.insert(value, open.instructions.len());
            open.instructions.push(parameter);
        }
        for statement in scan::statements(body) {
            if let Some(op) = MlirOp::parse(statement) {
                self.op(&mut open, &op, depth);
            }
        }
        Some(self.close(name, open))
    }

    fn op(&mut self, open: &mut OpenBlock<'a>, op: &MlirOp<'a>, depth: usize) {
        let mut called = Vec::new();
        called.extend(
            op.callee
                .and_then(|callee| self.function(callee, depth + 1)),
        );
        let shapes = op.shape().filter(|_| op.opcode == "while");
        for region in &op.regions {
            let arguments = (region.arguments, shapes.as_ref());
            called.extend(self.block(op.opcode.as_str(), arguments, region.body, depth + 1));
        }
        if op.opcode == "while" {
            // As in HLO: the body comes first.
            called.reverse();
        }
        let mut operands = Vec::with_capacity(op.operands.len());
        for &operand in &op.operands {
            operands.extend(self.value(open, operand));
        }
        if op.is_return {
            self.return_of(open, operands);
            return;
        }
        let mut made = self.blank(op.name, &op.opcode);
        made.shape = op.shape().map(Arc::new);
        made.operands = operands
            .into_iter()
            .map(|index| InstructionId(index as u32))
            .collect();
        made.called = called;
        made.content = op.digest();
        made.counter = op.counter();
        self.locate(&mut made, op.location);
        made.attributes = Some(op.attributes())
            .filter(|it| *it != Attributes::default())
            .map(Box::new);
        open.values.insert(op.name, open.instructions.len());
        open.instructions.push(made);
    }

    /// Position of the instruction that makes a value: `%0`, or a part of it, `%0#2`.
    fn value(&mut self, open: &mut OpenBlock<'a>, value: &'a str) -> Option<usize> {
        if let Some(&at) = open.values.get(value) {
            return Some(at);
        }
        let (whole, part) = value.split_once('#')?;
        let &at = open.values.get(whole)?;
        let part: usize = part.parse().ok()?;
        let of = open.instructions.get(at)?;
        let shape = match of.shape.as_deref() {
            Some(Shape::Tuple(parts)) => parts.get(part).cloned(),
            _ => None,
        };
        let (name, source) = (Arc::clone(&of.op_name), of.clone());
        let mut element = self.blank(value, "get-tuple-element");
        element.shape = shape.map(Arc::new);
        element.operands = vec![InstructionId(at as u32)];
        element.content = part as u64 + 1;
        element.counter = CounterPart::Element(part as u32);
        element.op_name = name;
        element.source_file = source.source_file;
        element.source_line = source.source_line;
        let position = open.instructions.len();
        open.values.insert(value, position);
        open.instructions.push(element);
        Some(position)
    }

    fn return_of(&mut self, open: &mut OpenBlock<'a>, results: Vec<usize>) {
        if let [only] = results[..] {
            open.root = Some(only);
            return;
        }
        let mut tuple = self.blank("%results", "tuple");
        let shape = |&index: &usize| Some(open.instructions.get(index)?.shape.as_deref()?.clone());
        let shapes: Option<Vec<_>> = results.iter().map(shape).collect();
        tuple.shape = shapes.map(Shape::Tuple).map(Arc::new);
        tuple.operands = results
            .into_iter()
            .map(|index| InstructionId(index as u32))
            .collect();
        open.root = Some(open.instructions.len());
        open.instructions.push(tuple);
    }

    fn close(&mut self, name: &str, open: OpenBlock<'a>) -> ComputationId {
        let root = open.root.or(open.instructions.len().checked_sub(1));
        self.module
            .add_computation(name.to_owned(), open.instructions, root)
    }

    /// An instruction whose name is that of its value, with a number from the second of this name on.
    fn blank(&mut self, value: &str, opcode: &str) -> Instruction {
        let name = value.trim_start_matches('%');
        let name = if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
            format!("{opcode}.{name}")
        } else {
            name.to_owned()
        };
        let seen = self.numbers.entry(name.clone()).or_insert(0);
        *seen += 1;
        let name = if *seen == 1 {
            name
        } else {
            format!("{name}.{seen}")
        };
        Instruction {
            name: Arc::from(name),
            opcode: Arc::from(opcode),
            ..Instruction::blank(&Arc::from(""), ComputationId(0))
        }
    }

    fn locate(&mut self, instruction: &mut Instruction, location: Option<&'a str>) {
        let Some(source) = location.map(|it| self.locations.resolve(it)) else {
            return;
        };
        instruction.op_name = Arc::from(source.name);
        instruction.source_file = Arc::from(source.file);
        instruction.source_line = source.line;
    }
}

#[cfg(test)]
mod tests;
