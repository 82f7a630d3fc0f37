//! Name, id and instructions of a program, from its protobuf (`xla.HloProto`) or its text.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use hashbrown::HashMap;
use hlo::{BEGIN, ProgramPart, ProgramText};
use trace_model::wire::{BrokenMessage, WireCursor, WireValue, tag};

/// What tells programs apart.
pub(super) struct ProgramOutline {
    pub(super) name: String,
    /// The number of the module in its process; a program id only on some platforms.
    pub(super) id: Option<u64>,
    /// Sizes of the result of each instruction; `None` if it is not one array.
    pub(super) results: HashMap<String, Option<Vec<u64>>>,
    /// Digest of the computations.
    digest: u64,
}

/// The name of the program that begins with `head`; `None` if it is no program.
pub(super) fn module_name(head: &[u8]) -> Option<String> {
    if head.starts_with(BEGIN.as_bytes()) {
        let text = String::from_utf8_lossy(&head[BEGIN.len()..]);
        let name = text.split([',', ' ', '\r', '\n']).next()?;
        return Some(name.to_owned()).filter(|name| !name.is_empty());
    }
    // HloProto.hlo_module, and in it HloModuleProto.name. The module itself is longer than the head.
    let mut cursor = WireCursor::new(head, 0..head.len());
    if cursor.tag().ok()?? != tag::bytes(1) {
        return None;
    }
    cursor.varint().ok()?;
    if cursor.tag().ok()?? != tag::bytes(1) {
        return None;
    }
    let name = std::str::from_utf8(head.get(cursor.length_delimited().ok()?)?).ok()?;
    (!name.is_empty() && !name.contains(char::is_control)).then(|| name.to_owned())
}

impl ProgramOutline {
    /// Reads a program. The error says what is wrong.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        if bytes.starts_with(BEGIN.as_bytes()) {
            return of_text(&String::from_utf8_lossy(bytes));
        }
        of_proto(bytes).map_err(|BrokenMessage { at, why }| {
            format!("{why} at byte {at}: copy or dump it again")
        })
    }

    /// Whether both have the same computations, whatever their numbers.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.digest == other.digest && self.results == other.results
    }
}

fn of_text(text: &str) -> Result<ProgramOutline, String> {
    let mut results = HashMap::new();
    let mut digest = DefaultHasher::new();
    let read = ProgramText::read(text, |part| {
        if let ProgramPart::Instruction(instruction) = part {
            let dims = instruction
                .result()
                .and_then(|shape| Some(shape.array()?.dims.clone()));
            results.insert(instruction.name.to_owned(), dims);
            (
                instruction.name,
                instruction.opcode,
                instruction.operands,
                instruction.attributes,
            )
                .hash(&mut digest);
        }
    });
    let read = read.ok_or_else(|| "line 1: no HloModule".to_owned())?;
    if let Some(computation) = read.cut_in {
        return Err(format!(
            "the text ends inside computation {computation}: dump it again"
        ));
    }
    let digest = digest.finish();
    Ok(ProgramOutline {
        name: read.name.to_owned(),
        id: None,
        results,
        digest,
    })
}

fn of_proto(bytes: &[u8]) -> Result<ProgramOutline, BrokenMessage> {
    let mut outline = ProgramOutline {
        name: String::new(),
        id: None,
        results: HashMap::new(),
        digest: 0,
    };
    let mut digest = DefaultHasher::new();
    let mut file = WireCursor::new(bytes, 0..bytes.len());
    while let Some(field) = file.next()? {
        let (1, WireValue::Bytes(module)) = field else {
            continue;
        };
        let mut module = WireCursor::new(bytes, module);
        while let Some(field) = module.next()? {
            match field {
                (1, WireValue::Bytes(name)) => outline.name = text(bytes, name),
                (5, WireValue::Varint(id)) => outline.id = Some(id),
                (3, WireValue::Bytes(computation)) => {
                    bytes
                        .get(computation.clone())
                        .unwrap_or_default()
                        .hash(&mut digest);
                    add_instructions(bytes, computation, &mut outline)?;
                }
                _ => {}
            }
        }
    }
    outline.digest = digest.finish();
    Ok(outline)
}

fn text(bytes: &[u8], range: Range<usize>) -> String {
    String::from_utf8_lossy(bytes.get(range).unwrap_or_default()).into_owned()
}

fn add_instructions(
    bytes: &[u8],
    computation: Range<usize>,
    outline: &mut ProgramOutline,
) -> Result<(), BrokenMessage> {
    let mut computation = WireCursor::new(bytes, computation);
    while let Some(field) = computation.next()? {
        let (2, WireValue::Bytes(instruction)) = field else {
            continue;
        };
        let (mut name, mut dims) = (String::new(), None);
        let mut instruction = WireCursor::new(bytes, instruction);
        while let Some(field) = instruction.next()? {
            match field {
                (1, WireValue::Bytes(range)) => name = text(bytes, range),
                (3, WireValue::Bytes(shape)) => dims = dimensions(bytes, shape)?,
                _ => {}
            }
        }
        outline.results.insert(name, dims);
    }
    Ok(())
}

/// Sizes of an array; `None` for a tuple. They may be packed or not.
fn dimensions(bytes: &[u8], shape: Range<usize>) -> Result<Option<Vec<u64>>, BrokenMessage> {
    let mut dims = Vec::new();
    let mut shape = WireCursor::new(bytes, shape);
    while let Some(field) = shape.next()? {
        match field {
            (3, WireValue::Varint(size)) => dims.push(size),
            (3, WireValue::Bytes(sizes)) => {
                let mut packed = WireCursor::new(bytes, sizes.clone());
                while packed.position() < sizes.end {
                    dims.push(packed.varint()?);
                }
            }
            (4, _) => return Ok(None),
            _ => {}
        }
    }
    Ok(Some(dims))
}
