//! Name, id and instructions of a program, from its protobuf (`xla.HloProto`) or its text.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use hashbrown::HashMap;
use hlo::{BEGIN, HloError, HloModule, Instruction, TextProgram};
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
    let mut cursor = WireCursor::new(head, 0..head.len());
    if cursor.tag().ok()?? != tag::bytes(1) {
        return None;
    }
    cursor.varint().ok()?;
    name_field(head, &mut cursor, 1).map(str::to_owned)
}

/// Whether a module begins without the message around it: `HloModuleProto`, as
/// `compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto()` makes it in JAX.
pub(crate) fn is_bare_module(head: &[u8]) -> bool {
    let mut cursor = WireCursor::new(head, 0..head.len());
    // Its name and that of its entry computation.
    [1, 2]
        .into_iter()
        .all(|field| name_field(head, &mut cursor, field).is_some())
}

/// The next field, if it is a name with this number.
fn name_field<'a>(bytes: &'a [u8], cursor: &mut WireCursor<'_>, field: u64) -> Option<&'a str> {
    if cursor.tag().ok()?? != tag::bytes(field) {
        return None;
    }
    let name = std::str::from_utf8(bytes.get(cursor.length_delimited().ok()?)?).ok()?;
    Some(name).filter(|name| !name.is_empty() && !name.contains(char::is_control))
}

/// The `HloProto` around a module.
pub(crate) fn with_message_around(module: &[u8]) -> Vec<u8> {
    let mut out = vec![tag::bytes(1) as u8];
    let mut len = module.len();
    while len >= 128 {
        out.push((len % 128) as u8 | 128);
        len /= 128;
    }
    out.push(len as u8);
    out.extend_from_slice(module);
    out
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
    // HloProto.hlo_module, and in it HloModuleProto.computations.
    let computations = fields(0..bytes.len(), 1).flat_map(|module| fields(module, 3));
    for computation in computations {
        bytes.get(computation).unwrap_or_default().hash(digest);
    }
}
