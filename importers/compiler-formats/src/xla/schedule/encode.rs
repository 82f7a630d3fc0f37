//! A module as text (`hlo_module { … }`) in the wire format, as `xla.HloProto`, so that it is read like any other
//! program. Fields that are not named here are left out.

use trace_model::wire::tag;

use super::proto::{TextProtoMessage, TextProtoValue, unquoted};
use FieldKind::{ElementType, Message, Number, Text};

/// The fields of a message that are kept: name and number in `xla/service/hlo.proto` and `xla/xla_data.proto`.
type Schema = [(&'static str, u64, FieldKind)];

enum FieldKind {
    /// A whole number or a truth value.
    Number,
    Text,
    /// A name of `xla.PrimitiveType`.
    ElementType,
    Message(&'static Schema),
}

const MODULE: &Schema = &[
    ("name", 1, Text),
    ("entry_computation_name", 2, Text),
    ("computations", 3, Message(COMPUTATION)),
    ("entry_computation_id", 6, Number),
    ("device_assignment", 15, Message(DEVICES)),
    ("stack_frame_index", 17, Message(FRAMES)),
];
const DEVICES: &Schema = &[
    ("replica_count", 1, Number),
    ("computation_count", 2, Number),
];
const FRAMES: &Schema = &[
    ("file_names", 1, Text),
    ("function_names", 2, Text),
    ("file_locations", 3, Message(LOCATION)),
    ("stack_frames", 4, Message(FRAME)),
];
const LOCATION: &Schema = &[
    ("file_name_id", 1, Number),
    ("function_name_id", 2, Number),
    ("line", 3, Number),
];
const FRAME: &Schema = &[
    ("file_location_id", 1, Number),
    ("parent_frame_id", 2, Number),
];
const COMPUTATION: &Schema = &[
    ("name", 1, Text),
    ("instructions", 2, Message(INSTRUCTION)),
    ("id", 5, Number),
    ("root_id", 6, Number),
    ("is_fusion_computation", 7, Number),
];
const INSTRUCTION: &Schema = &[
    ("name", 1, Text),
    ("opcode", 2, Text),
    ("shape", 3, Message(&SHAPE)),
    ("metadata", 7, Message(METADATA)),
    ("parameter_number", 9, Number),
    ("fusion_kind", 11, Text),
    ("window", 15, Message(WINDOW)),
    ("convolution_dimension_numbers", 16, Message(CONVOLUTION)),
    ("dynamic_slice_sizes", 20, Number),
    ("channel_id", 26, Number),
    ("custom_call_target", 28, Text),
    ("dot_dimension_numbers", 30, Message(DOT)),
    ("id", 35, Number),
    ("operand_ids", 36, Number),
    ("called_computation_ids", 38, Number),
    ("backend_config", 43, Text),
    ("replica_groups", 49, Message(GROUP)),
    ("feature_group_count", 50, Number),
    ("source_target_pairs", 52, Message(PAIR)),
    ("batch_group_count", 58, Number),
    ("use_global_device_ids", 71, Number),
    ("collective_device_list", 87, Message(DEVICE_LIST)),
];
static SHAPE: [(&str, u64, FieldKind); 4] = [
    ("element_type", 2, ElementType),
    ("dimensions", 3, Number),
    ("tuple_shapes", 4, Message(&SHAPE)),
    ("layout", 5, Message(LAYOUT)),
];
const LAYOUT: &Schema = &[
    ("minor_to_major", 1, Number),
    ("tiles", 6, Message(TILE)),
    ("element_size_in_bits", 7, Number),
    ("memory_space", 8, Number),
];
const TILE: &Schema = &[("dimensions", 1, Number)];
const METADATA: &Schema = &[
    ("op_name", 2, Text),
    ("source_file", 3, Text),
    ("source_line", 4, Number),
    ("stack_frame_id", 15, Number),
];
const WINDOW: &Schema = &[("dimensions", 1, Message(WINDOW_DIMENSION))];
const WINDOW_DIMENSION: &Schema = &[
    ("size", 1, Number),
    ("stride", 2, Number),
    ("padding_low", 3, Number),
    ("padding_high", 4, Number),
    ("window_dilation", 5, Number),
    ("base_dilation", 6, Number),
    ("window_reversal", 7, Number),
];
const CONVOLUTION: &Schema = &[
    ("kernel_input_feature_dimension", 3, Number),
    ("kernel_output_feature_dimension", 4, Number),
    ("kernel_spatial_dimensions", 6, Number),
    ("input_batch_dimension", 7, Number),
    ("input_feature_dimension", 8, Number),
    ("output_batch_dimension", 9, Number),
    ("output_feature_dimension", 10, Number),
    ("input_spatial_dimensions", 11, Number),
    ("output_spatial_dimensions", 12, Number),
];
const DOT: &Schema = &[
    ("lhs_contracting_dimensions", 1, Number),
    ("rhs_contracting_dimensions", 2, Number),
    ("lhs_batch_dimensions", 3, Number),
    ("rhs_batch_dimensions", 4, Number),
];
const GROUP: &Schema = &[("replica_ids", 1, Number)];
const PAIR: &Schema = &[("source", 1, Number), ("target", 2, Number)];
const DEVICE_LIST: &Schema = &[
    ("replica_groups", 1, Message(GROUP)),
    ("iota_replica_group_list", 2, Message(IOTA)),
];
const IOTA: &Schema = &[
    ("num_replica_groups", 1, Number),
    ("num_devices_per_group", 2, Number),
    ("iota_reshape_dims", 3, Number),
    ("iota_transpose_perm", 4, Number),
];

/// The `xla.HloProto` of a module.
pub(super) fn program(module: &TextProtoMessage<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    push_bytes(&mut out, 1, &encoded(module, MODULE));
    out
}

fn encoded(message: &TextProtoMessage<'_>, schema: &Schema) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in &message.fields {
        let Some((_, number, kind)) = schema.iter().find(|(known, ..)| known == name) else {
            continue;
        };
        match (kind, value) {
            (Message(schema), TextProtoValue::Message(inner)) => {
                push_bytes(&mut out, *number, &encoded(inner, schema));
            }
            (Text, TextProtoValue::Scalar(text)) => {
                push_bytes(&mut out, *number, unquoted(text).as_bytes());
            }
            (Number | ElementType, TextProtoValue::Scalar(word)) => {
                let value = match kind {
                    ElementType => hlo::dtype_number(&word.to_ascii_lowercase()),
                    _ => whole_number(word),
                };
                push_number(&mut out, tag::varint(*number));
                push_number(&mut out, value);
            }
            _ => {}
        }
    }
    out
}

/// A number as it is encoded, 0 for anything else.
fn whole_number(word: &str) -> u64 {
    let signed = || word.parse::<i64>().ok().map(i64::cast_unsigned);
    let number = word.parse().ok().or_else(signed);
    number.unwrap_or(u64::from(word == "true"))
}

fn push_bytes(out: &mut Vec<u8>, number: u64, content: &[u8]) {
    push_number(out, tag::bytes(number));
    push_number(out, content.len() as u64);
    out.extend_from_slice(content);
}

fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
