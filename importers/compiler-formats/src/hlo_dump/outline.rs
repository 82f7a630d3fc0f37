//! Name, id and instructions of a program, from its protobuf (`xla.HloProto`) or its text.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use hlo::{BEGIN, HloError, HloModule, Instruction, TextProgram};
use importer_common::prelude::*;
use input::SharedBytes;
use trace_model::ProgramBytes;
use trace_model::wire::{WireCursor, WireValue, tag};

/// What tells programs apart.
pub(super) struct ProgramOutline {
    pub name: String,
    /// The number of the module in its process; a program id only on some platforms.
    pub id: Option<u64>,
    /// Sizes of the result of each instruction; `None` if it is not one array.
    pub results: HashMap<String, Option<Vec<u64>>>,
    /// Digest of the computations.
    digest: u64,
}

/// The name of the program that begins with `head`; `None` if it is no program.
pub(crate) fn module_name(head: &[u8]) -> Option<String> {
    if head.starts_with(BEGIN.as_bytes()) {
        let text = String::from_utf8_lossy(&head[BEGIN.len()..]);
        let name = text.split([',', ' ', '\r', '\n']).next()?;
        return Some(name.to_owned()).filter(|name| !name.is_empty());
    }
    // HloProto.hlo_module, and in it HloModuleProto.name. The module itself is longer than the head.
    let in_message = || {
        let mut cursor = WireCursor::new(head, 0..head.len());
        let tag = cursor.tag().ok()??;
        cursor.varint().ok().filter(|_| tag == tag::bytes(1))?;
        name_field(head, &mut cursor, 1)
    };
    // A HloModuleProto without the message around it, as `as_serialized_hlo_module_proto()` makes it in JAX: its name, that
    // of its entry computation, and its computations.
    let bare = || {
        let mut cursor = WireCursor::new(head, 0..head.len());
        let name = name_field(head, &mut cursor, 1)?;
        name_field(head, &mut cursor, 2)?;
        (cursor.tag().ok()?? == tag::bytes(3)).then_some(name)
    };
    in_message().or_else(bare).map(str::to_owned)
}

/// The next field, if it is a name with this number.
fn name_field<'a>(bytes: &'a [u8], cursor: &mut WireCursor<'_>, field: u64) -> Option<&'a str> {
    if cursor.tag().ok()?? != tag::bytes(field) {
        return None;
    }
    let name = std::str::from_utf8(bytes.get(cursor.length_delimited().ok()?)?).ok()?;
    Some(name).filter(|name| !name.is_empty() && !name.contains(char::is_control))
}

impl ProgramOutline {
    /// Reads a program. The error says what is wrong.
    pub fn read(bytes: &SharedBytes) -> Result<Self, String> {
        let content = (**bytes).as_ref();
        let mut digest = DefaultHasher::new();
        let module = if content.starts_with(BEGIN.as_bytes()) {
            let text = String::from_utf8_lossy(content);
            let read = TextProgram::read(&text).ok_or("line 1: no HloModule")?;
            if let Some(computation) = read.cut_in {
                return Err(format!(
                    "the text ends inside computation {computation}: dump it again"
                ));
            }
            for line in &read.lines {
                (line.name, line.opcode, line.operands, line.attributes).hash(&mut digest);
            }
            read.module
        } else {
            let blob = ProgramBytes::new(SharedBytes::clone(bytes), 0..content.len());
            hash_computations(content, &mut digest);
            HloModule::from_proto(blob, "").map_err(|error| match error {
                HloError::Damaged { why, at, .. } => {
                    format!("{why} at byte {at}: copy or dump it again")
                }
                other => other.to_string(),
            })?
        };
        let dims = |it: &Instruction| Some(it.shape.as_ref()?.array()?.dims.clone());
        let results = module.instructions.iter();
        Ok(Self {
            id: module.id,
            results: results.map(|it| (it.name.to_string(), dims(it))).collect(),
            name: module.name,
            digest: digest.finish(),
        })
    }

    /// Whether both have the same computations, whatever their numbers.
    pub fn is_same(&self, other: &Self) -> bool {
        self.digest == other.digest && self.results == other.results
    }
}

/// Adds the computations of a serialized program to its digest, as they are written.
fn hash_computations(bytes: &[u8], digest: &mut DefaultHasher) {
    let fields = |range, wanted| {
        let mut cursor = WireCursor::new(bytes, range);
        let fields = std::iter::from_fn(move || cursor.next().ok()?);
        fields.filter_map(move |(number, value)| match value {
            WireValue::Bytes(range) if number == wanted => Some(range),
            _ => None,
        })
    };
    // HloProto.hlo_module, and in it HloModuleProto.computations; or these alone.
    let whole = 0..bytes.len();
    let is_bare = fields(whole.clone(), 2).next().is_some();
    let inside = fields(whole.clone(), 1).filter(|_| !is_bare);
    let modules = inside.chain(is_bare.then_some(whole));
    let computations = modules.flat_map(|module| fields(module, 3));
    for computation in computations {
        bytes.get(computation).unwrap_or_default().hash(digest);
    }
}
