//! Renders an `xla.HloModuleProto` as HLO text, as far as this importer and the analyses read it.

use std::cell::Cell;
use std::fmt::Write as _;
use std::rc::Rc;

use hashbrown::HashMap;
use importer_common::names::BoundedNames;

use super::proto::{TextProtoMessage, unquoted};

/// Maximum length of a name.
const MAX_NAME: usize = 1024;
/// Maximum length of a list of names. Names are stored once and referred to by number, so the text could be much longer
/// than the file.
const MAX_LIST: usize = 1 << 20;

/// Instructions and computations by the compiler's id.
#[derive(Default)]
pub(super) struct InstructionNames {
    /// Name of the computation, and of the instruction.
    pub instructions: HashMap<u64, (Rc<str>, String)>,
    pub computations: HashMap<u64, Rc<str>>,
    /// Number of truncated names and lists.
    cut: Cell<u64>,
}

/// A valid name for HLO text.
fn name_of(message: &TextProtoMessage<'_>) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    message
        .text("name")
        .chars()
        .take(MAX_NAME)
        .map(|c| if is_part(c) { c } else { '_' })
        .collect()
}

/// Whether [`name_of`] cuts it.
fn is_cut(message: &TextProtoMessage<'_>) -> bool {
    message.text("name").chars().nth(MAX_NAME).is_some()
}

impl InstructionNames {
    pub(crate) fn of(module: &TextProtoMessage<'_>) -> Self {
        let mut names = Self::default();
        for computation in module.all("computations") {
            let all = || std::iter::once(computation).chain(computation.all("instructions"));
            names
                .cut
                .set(names.cut.get() + all().filter(|it| is_cut(it)).count() as u64);
            let name: Rc<str> = name_of(computation).into();
            for instruction in computation.all("instructions") {
                let id = instruction.number("id").unwrap_or(0);
                names
                    .instructions
                    .insert(id, (Rc::clone(&name), name_of(instruction)));
            }
            names
                .computations
                .insert(computation.number("id").unwrap_or(0), name);
        }
        names
    }

    fn operands(&self, instruction: &TextProtoMessage<'_>) -> String {
        let ids = instruction.numbers("operand_ids");
        self.references(
            ids.iter()
                .filter_map(|id| self.instructions.get(id))
                .map(|(_, name)| name.as_str()),
        )
    }

    /// `%a, %b`.
    fn references<'n>(&self, names: impl Iterator<Item = &'n str>) -> String {
        let mut out = BoundedNames::new(MAX_LIST);
        let mut separator = "";
        for name in names {
            out.push_all(&[separator, "%", name]);
            separator = ", ";
            if out.is_full() {
                self.cut.set(self.cut.get() + 1);
                break;
            }
        }
        out.finish()
    }

    /// Number of truncated names and lists so far.
    pub(crate) fn cut(&self) -> u64 {
        self.cut.get()
    }
}

/// The text of a module; `None` if it would be longer than `most`.
pub(super) fn text(
    module: &TextProtoMessage<'_>,
    names: &InstructionNames,
    most: usize,
) -> Option<String> {
    let mut out = format!("HloModule {}, is_scheduled=true", name_of(module));
    if let Some(devices) = module.message("device_assignment") {
        let (replicas, partitions) = (
            devices.number("replica_count"),
            devices.number("computation_count"),
        );
        let (replicas, partitions) = (replicas.unwrap_or(1_u64), partitions.unwrap_or(1_u64));
        let _ = write!(
            out,
            ", replica_count={replicas}, num_partitions={partitions}"
        );
    }
    out.push_str("\n\n");
    tables(module, &mut out);
    let entry = module.number("entry_computation_id").unwrap_or(0);
    for computation in module.all("computations") {
        let id: u64 = computation.number("id").unwrap_or(0);
        let prefix = if id == entry { "ENTRY " } else { "" };
        let _ = writeln!(out, "{prefix}%{} () -> () {{", name_of(computation));
        let root: u64 = computation.number("root_id").unwrap_or(0);
        for instruction in computation.all("instructions") {
            let is_root = instruction.number("id").unwrap_or(0) == root;
            let _ = writeln!(
                out,
                "  {}{}",
                if is_root { "ROOT " } else { "" },
                line(instruction, names)
            );
            if out.len() > most {
                return None;
            }
        }
        out.push_str("}\n\n");
    }
    Some(out)
}

/// The four tables of source positions.
fn tables(module: &TextProtoMessage<'_>, out: &mut String) {
    let Some(index) = module.message("stack_frame_index") else {
        return;
    };
    for (title, field) in [
        ("FileNames", "file_names"),
        ("FunctionNames", "function_names"),
    ] {
        let _ = writeln!(out, "{title}");
        for (at, name) in index.scalars(field).enumerate() {
            let _ = writeln!(out, "{} {}", at + 1, quoted(&unquoted(name)));
        }
        out.push('\n');
    }
    for (title, field) in [
        ("FileLocations", "file_locations"),
        ("StackFrames", "stack_frames"),
    ] {
        let _ = writeln!(out, "{title}");
        for (at, row) in index.all(field).enumerate() {
            let cells: Vec<String> = row
                .every_scalar()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            let _ = writeln!(out, "{} {{{}}}", at + 1, cells.join(" "));
        }
        out.push('\n');
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r', '"'], " ")
}

/// A text between quotes.
fn quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
        .replace('\r', "\\r");
    format!("\"{escaped}\"")
}

fn list(numbers: &[u64]) -> String {
    numbers
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

/// `%name = shape opcode(operands), attributes`.
fn line(instruction: &TextProtoMessage<'_>, names: &InstructionNames) -> String {
    let opcode = one_line(&instruction.text("opcode"));
    let shape = instruction
        .message("shape")
        .map_or_else(|| "()".to_owned(), |shape| shape_text(shape, 0));
    let operands = match opcode.as_str() {
        "parameter" => instruction
            .number::<u64>("parameter_number")
            .unwrap_or(0)
            .to_string(),
        "constant" => "{...}".to_owned(),
        _ => names.operands(instruction),
    };
    let mut out = format!("%{} = {shape} {opcode}({operands})", name_of(instruction));
    let mut add = |key: &str, value: String| {
        if !value.is_empty() {
            let _ = write!(out, ", {key}={value}");
        }
    };
    add("kind", instruction.text("fusion_kind").into_owned());
    called(instruction, &opcode, names, &mut add);
    communication(instruction, &mut add);
    dimensions(instruction, &opcode, &mut add);
    if let Some(target) = instruction.scalars("custom_call_target").next() {
        add("custom_call_target", quoted(&unquoted(target)));
    }
    if let Some(metadata) = instruction.message("metadata") {
        let mut cells = Vec::new();
        for (key, value) in metadata.every_scalar() {
            match key {
                "op_name" | "source_file" => {
                    cells.push(format!("{key}={}", quoted(&unquoted(value))));
                }
                "stack_frame_id" | "source_line" => cells.push(format!("{key}={value}")),
                _ => {}
            }
        }
        add(
            "metadata",
            if cells.is_empty() {
                String::new()
            } else {
                format!("{{{}}}", cells.join(" "))
            },
        );
    }
    let config = instruction.text("backend_config");
    if config.starts_with('{') {
        add("backend_config", config.replace(['\n', '\r'], " "));
    }
    out
}

fn called(
    instruction: &TextProtoMessage<'_>,
    opcode: &str,
    names: &InstructionNames,
    add: &mut impl FnMut(&str, String),
) {
    let ids = instruction.numbers("called_computation_ids");
    let mut called = ids
        .iter()
        .filter_map(|id| names.computations.get(id))
        .map(|name| format!("%{name}"));
    match opcode {
        "fusion" => add("calls", called.next().unwrap_or_default()),
        "while" => {
            let body = called.next().unwrap_or_default();
            add("condition", called.next().unwrap_or_default());
            add("body", body);
        }
        "conditional" => {
            let branches = ids
                .iter()
                .filter_map(|id| names.computations.get(id))
                .map(|name| &**name);
            add(
                "branch_computations",
                format!("{{{}}}", names.references(branches)),
            );
        }
        _ if opcode.starts_with("async-") => add("calls", called.next().unwrap_or_default()),
        _ => add("to_apply", called.next().unwrap_or_default()),
    }
}

fn communication(instruction: &TextProtoMessage<'_>, add: &mut impl FnMut(&str, String)) {
    if let Some(channel) = instruction.number::<u64>("channel_id").filter(|&id| id > 0) {
        add("channel_id", channel.to_string());
    }
    let devices = instruction.message("collective_device_list");
    let listed = devices.unwrap_or(instruction).all("replica_groups");
    let groups: Vec<String> = listed
        .map(|group| format!("{{{}}}", list(&group.numbers("replica_ids"))))
        .collect();
    if !groups.is_empty() {
        add("replica_groups", format!("{{{}}}", groups.join(",")));
    } else if let Some(iota) =
        devices.and_then(|devices| devices.message("iota_replica_group_list"))
    {
        let number = |key| iota.number::<u64>(key).unwrap_or(1);
        let mut text = format!(
            "[{},{}]",
            number("num_replica_groups"),
            number("num_devices_per_group")
        );
        let _ = write!(text, "<=[{}]", list(&iota.numbers("iota_reshape_dims")));
        let perm = iota.numbers("iota_transpose_perm");
        if perm.len() > 1 {
            let _ = write!(text, "T({})", list(&perm));
        }
        add("replica_groups", text);
    }
    let pair = |pair: &TextProtoMessage<'_>| {
        let end = |key| pair.number::<u64>(key).unwrap_or(0);
        format!("{{{},{}}}", end("source"), end("target"))
    };
    let pairs: Vec<String> = instruction.all("source_target_pairs").map(pair).collect();
    add(
        "source_target_pairs",
        if pairs.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", pairs.join(","))
        },
    );
}

fn dimensions(
    instruction: &TextProtoMessage<'_>,
    opcode: &str,
    add: &mut impl FnMut(&str, String),
) {
    let braces = |numbers: Vec<u64>| {
        if numbers.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", list(&numbers))
        }
    };
    add("dimensions", braces(instruction.numbers("dimensions")));
    add(
        "dynamic_slice_sizes",
        braces(instruction.numbers("dynamic_slice_sizes")),
    );
    if opcode == "get-tuple-element" {
        add(
            "index",
            instruction
                .number::<u64>("tuple_index")
                .unwrap_or(0)
                .to_string(),
        );
    }
    if let Some(dot) = instruction.message("dot_dimension_numbers") {
        for (key, field) in [
            ("lhs_contracting_dims", "lhs_contracting_dimensions"),
            ("rhs_contracting_dims", "rhs_contracting_dimensions"),
            ("lhs_batch_dims", "lhs_batch_dimensions"),
            ("rhs_batch_dims", "rhs_batch_dimensions"),
        ] {
            add(key, braces(dot.numbers(field)));
        }
    }
    if let Some(numbers) = instruction.message("convolution_dimension_numbers") {
        let windows: Vec<&TextProtoMessage<'_>> = instruction
            .message("window")
            .into_iter()
            .flat_map(|window| window.all("dimensions"))
            .collect();
        add("window", window_text(&windows));
        let labels = |letters: [(char, &str); 2], spatial: &str| {
            let mut places: Vec<(u64, String)> = letters
                .iter()
                .map(|&(letter, key)| (numbers.number(key).unwrap_or(0), letter.to_string()))
                .collect();
            places.extend(
                numbers
                    .numbers(spatial)
                    .into_iter()
                    .zip(0..)
                    .map(|(at, digit)| (at, digit.to_string())),
            );
            places.sort();
            places
                .into_iter()
                .map(|(_, label)| label)
                .collect::<String>()
        };
        let input = labels(
            [
                ('b', "input_batch_dimension"),
                ('f', "input_feature_dimension"),
            ],
            "input_spatial_dimensions",
        );
        let kernel = labels(
            [
                ('i', "kernel_input_feature_dimension"),
                ('o', "kernel_output_feature_dimension"),
            ],
            "kernel_spatial_dimensions",
        );
        let output = labels(
            [
                ('b', "output_batch_dimension"),
                ('f', "output_feature_dimension"),
            ],
            "output_spatial_dimensions",
        );
        add("dim_labels", format!("{input}_{kernel}->{output}"));
        for key in ["feature_group_count", "batch_group_count"] {
            add(
                key,
                instruction
                    .number::<u64>(key)
                    .filter(|&count| count > 1)
                    .map_or(String::new(), |n| n.to_string()),
            );
        }
    }
}

fn window_text(windows: &[&TextProtoMessage<'_>]) -> String {
    if windows.is_empty() {
        return String::new();
    }
    let each = |of: &dyn Fn(&TextProtoMessage<'_>) -> String| {
        windows
            .iter()
            .map(|it| of(it))
            .collect::<Vec<_>>()
            .join("x")
    };
    let number = |key: &'static str| each(&|it| it.number::<i64>(key).unwrap_or(0).to_string());
    let positive =
        |key: &'static str| each(&|it| it.number::<i64>(key).unwrap_or(1).max(1).to_string());
    let pad = each(&|it| {
        let edge = |key| it.number::<i64>(key).unwrap_or(0);
        format!("{}_{}", edge("padding_low"), edge("padding_high"))
    });
    format!(
        "{{size={} stride={} pad={pad} lhs_dilate={} rhs_dilate={}}}",
        number("size"),
        positive("stride"),
        positive("base_dilation"),
        positive("window_dilation")
    )
}

/// `bf16[8,128]{1,0:T(8,128)S(1)}`; tuples of more than 64 levels are cut.
fn shape_text(shape: &TextProtoMessage<'_>, depth: usize) -> String {
    let kind = shape.text("element_type").to_ascii_lowercase();
    if kind == "tuple" {
        let parts: Vec<String> = shape
            .all("tuple_shapes")
            .filter(|_| depth < 64)
            .map(|part| shape_text(part, depth + 1))
            .collect();
        return format!("({})", parts.join(", "));
    }
    let kind: String = kind.chars().filter(char::is_ascii_alphanumeric).collect();
    let mut out = format!("{kind}[{}]", list(&shape.numbers("dimensions")));
    if let Some(layout) = shape.message("layout") {
        let tiles: Vec<String> = layout
            .all("tiles")
            .map(|tile| format!("({})", list(&tile.numbers("dimensions"))))
            .collect();
        let tiles = tiles.concat();
        let space = layout
            .number::<u32>("memory_space")
            .filter(|&space| space > 0);
        let space = space.map_or(String::new(), |space| format!("S({space})"));
        let tiles = if tiles.is_empty() {
            tiles
        } else {
            format!("T{tiles}")
        };
        let colon = if tiles.is_empty() && space.is_empty() {
            ""
        } else {
            ":"
        };
        let _ = write!(
            out,
            "{{{}{colon}{tiles}{space}}}",
            list(&layout.numbers("minor_to_major"))
        );
    }
    out
}
